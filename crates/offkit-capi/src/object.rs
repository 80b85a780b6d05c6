//! Programs and shared libraries of this process, as its loader knows them.

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom};
use std::ops::Range;
use std::os::fd::{FromRawFd, OwnedFd};
use std::os::unix::fs::FileExt;

use offkit_host::files;
use offkit_runtime::SharedObjectId;

/// A program or library of this process.
pub(crate) struct SharedObject {
    pub(crate) id: SharedObjectId,
    /// Its file; the program's own, and what is in no file, have other names.
    pub(crate) path: String,
    is_program: bool,
    /// What other objects call it.
    name: Option<String>,
    /// The names of the libraries that it was linked with.
    needed: Vec<String>,
    /// Where its code and data are.
    segments: Vec<Segment>,
    /// A few of the host symbols that it defines for others.
    pub(crate) defined: Vec<CString>,
    /// Whether it calls a function that registers device images.
    pub(crate) registers: bool,
}

/// A part of an object, where it was loaded.
struct Segment {
    memory: Range<u64>,
    is_constant: bool,
    /// How much of it comes from the file; the rest was zero.
    file_size: u64,
}

/// What is looked for among the objects.
struct Search {
    /// The only one that counts is where this address is.
    address: Option<usize>,
    found: Vec<SharedObject>,
}

const PROGRAM_LOADED: u32 = libc::PT_LOAD;
const PROGRAM_DYNAMIC: u32 = libc::PT_DYNAMIC;

const DYNAMIC_END: i64 = 0;
const DYNAMIC_NEEDED: i64 = 1;
const DYNAMIC_SIZE_OF_CALLS: i64 = 2;
const DYNAMIC_TEXTS: i64 = 5;
const DYNAMIC_SYMBOLS: i64 = 6;
const DYNAMIC_RELOCATIONS: i64 = 7;
const DYNAMIC_SIZE_OF_RELOCATIONS: i64 = 8;
const DYNAMIC_NAME: i64 = 14;
const DYNAMIC_CALLS: i64 = 23;
const DYNAMIC_HASHES: i64 = 0x6fff_fef5;

/// An entry of an object's dynamic section.
#[repr(C)]
struct Dynamic {
    tag: i64,
    value: u64,
}

/// `Elf64_Rela`.
#[repr(C)]
struct Relocation {
    place: u64,
    info: u64,
    addend: i64,
}

/// `Elf64_Sym`.
#[repr(C)]
struct Symbol {
    name: u32,
    info: u8,
    other: u8,
    section: u16,
    value: u64,
    size: u64,
}

const BINDING_LOCAL: u8 = 0;
const TYPE_FUNCTION: u8 = 2;
const TYPE_DATA: u8 = 1;

/// How many symbols of an object are looked at to learn whether it is global.
const PROBED: usize = 16;

impl SharedObject {
    /// The object that an address is in.
    pub(crate) fn at(address: usize) -> Self {
        // Code that was made at run time, and registers images, is in no object.
        let found = Self::search(Some(address)).pop();
        found.unwrap_or_else(|| Self {
            id: SharedObjectId(0),
            path: "memory".to_owned(),
            is_program: false,
            name: None,
            needed: Vec::new(),
            segments: Vec::new(),
            defined: Vec::new(),
            registers: false,
        })
    }

    /// All objects, in the order in which they were loaded; the program is the first.
    pub(crate) fn all() -> Vec<Self> {
        Self::search(None)
    }

    fn search(address: Option<usize>) -> Vec<Self> {
        let mut search = Search {
            address,
            found: Vec::new(),
        };
        // SAFETY: the function is given what it expects, and nobody else uses that meanwhile.
        unsafe { libc::dl_iterate_phdr(Some(note), (&raw mut search).cast()) };
        search.found
    }

    /// How many objects were loaded and unloaded so far.
    pub(crate) fn changes() -> (u64, u64) {
        let mut changes = (0, 0);
        // SAFETY: the function is given what it expects, and nobody else uses that meanwhile.
        unsafe { libc::dl_iterate_phdr(Some(note_changes), (&raw mut changes).cast()) };
        changes
    }

    /// Opens the file that the object was loaded from. If its name leads to another by now, or to none, this is one in
    /// memory with what was loaded of it.
    ///
    /// # Errors
    ///
    /// The system's.
    pub(crate) fn open(&self) -> io::Result<File> {
        let name = match self.is_program {
            // This leads to the file itself, whatever became of its name.
            true => "/proc/self/exe",
            false => &self.path,
        };
        match File::open(name) {
            Ok(file) if self.is_loaded_from(&file)? => Ok(file),
            _ => self.loaded(),
        }
    }

    /// Whether it is this file that the object was loaded from.
    fn is_loaded_from(&self, file: &File) -> io::Result<bool> {
        // The system may number a file otherwise for who asks about a mapping than for who asks about the file (where file
        // systems are layers, or parts of one another). So the file is mapped, too, and mappings are compared.
        let Ok(mapped) = files::map(file) else {
            return Ok(false);
        };
        let Ok(mappings) = fs::read("/proc/self/maps") else {
            // Without that there is no way to tell, nor to read what was loaded.
            return Ok(true);
        };
        // Names of files may be any bytes; what is looked for is in front of them.
        let mappings = String::from_utf8_lossy(&mappings);
        let loaded = self.segments.first();
        let loaded = loaded.and_then(|segment| mapped_file(&mappings, segment.memory.start));
        let opened = mapped_file(&mappings, mapped.as_ptr().addr() as u64);
        Ok(loaded.is_some() && loaded == opened)
    }

    /// What was loaded, as the file of a program that has fixed addresses: those where it is.
    fn loaded(&self) -> io::Result<File> {
        const HEADER: usize = size_of::<libc::Elf64_Ehdr>();
        const SEGMENT: usize = size_of::<libc::Elf64_Phdr>();
        // SAFETY: the name is a text.
        let file = unsafe { libc::memfd_create(c"offkit".as_ptr(), libc::MFD_CLOEXEC) };
        if file < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: nobody else has the descriptor.
        let mut file = File::from(unsafe { OwnedFd::from_raw_fd(file) });
        // Read as a file, since another thread may unload the object: what is not there any more is an error then, and no fault.
        let mut memory = File::open("/proc/self/mem")?;
        let mut offset = (HEADER + self.segments.len() * SEGMENT) as u64;
        file.seek(SeekFrom::Start(offset))?;
        let mut table = Vec::new();
        for segment in &self.segments {
            let (address, size) = (segment.memory.start, segment.file_size);
            memory.seek(SeekFrom::Start(address))?;
            if io::copy(&mut (&memory).take(size), &mut file)? != size {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            table.extend([PROGRAM_LOADED, libc::PF_R].map(u32::to_le_bytes).concat());
            // The physical address is the same, and nothing is aligned.
            let numbers = [offset, address, address, size, size, 1];
            table.extend(numbers.map(u64::to_le_bytes).concat());
            offset += size;
        }
        // Something else may be there by now.
        let start = self.segments.first().map(|segment| segment.memory.start);
        let now = start.and_then(|start| usize::try_from(start).ok()).map(Self::at);
        if now.is_none_or(|now| now.id != self.id || now.path != self.path) {
            return Err(io::Error::other("it was unloaded while it was read"));
        }
        // The object's own header, which is at its beginning, with other tables: those segments, and no sections.
        let mut header = [0; HEADER];
        file.read_exact_at(&mut header, (HEADER + table.len()) as u64)?;
        let count = u16::try_from(self.segments.len()).map_err(io::Error::other)?;
        // Its type, where the program headers are, where those of sections are, how many of the first there are, and
        // what is said of the others.
        header[16..18].copy_from_slice(&libc::ET_EXEC.to_le_bytes());
        header[32..40].copy_from_slice(&(HEADER as u64).to_le_bytes());
        header[40..48].fill(0);
        header[56..58].copy_from_slice(&count.to_le_bytes());
        header[58..64].fill(0);
        file.write_all_at(&[&header[..], &table].concat(), 0)?;
        Ok(file)
    }

    pub(crate) fn has(&self, address: usize) -> bool {
        let mut segments = self.segments.iter();
        segments.any(|segment| segment.memory.contains(&(address as u64)))
    }

    /// The part of the object around an address that was loaded from its file and does not change.
    pub(crate) fn around(&self, address: usize) -> Option<Range<usize>> {
        // What can be written may change while it is looked at, and what is behind the file's part
        // of a segment is nothing but zeros.
        let constant = self.segments.iter().filter(|segment| segment.is_constant);
        let mut ranges = constant.filter_map(|segment| {
            let start = usize::try_from(segment.memory.start).ok()?;
            Some(start..start.checked_add(usize::try_from(segment.file_size).ok()?)?)
        });
        ranges.find(|range| range.contains(&address))
    }

    /// The whole name of a needed library that begins like this.
    pub(crate) fn needs(&self, name: &str) -> Option<&str> {
        let mut needed = self.needed.iter();
        needed.find(|needed| needed.starts_with(name)).map(String::as_str)
    }

    /// The names of all libraries that the object was linked with.
    pub(crate) fn needed(&self) -> impl Iterator<Item = &str> {
        self.needed.iter().map(String::as_str)
    }

    /// Whether this is some release of a library: its name begins like that.
    pub(crate) fn is_release_of(&self, library: &str) -> bool {
        self.names().any(|name| name.starts_with(library))
    }

    /// What others call this object: by its own name, by its file's, by its path.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        let file = self.path.rsplit('/').next();
        [self.name.as_deref(), file, Some(self.path.as_str())]
            .into_iter()
            .flatten()
    }
}

/// Notes one object, and ends the search if it is the only one that counts.
///
/// # Safety
///
/// `info` must describe an object that is loaded, and `data` must be a [`Search`].
unsafe extern "C" fn note(info: *mut libc::dl_phdr_info, _: usize, data: *mut c_void) -> c_int {
    // SAFETY: by the caller's promise.
    let (info, search) = unsafe { (&*info, &mut *data.cast::<Search>()) };
    // SAFETY: the object has as many program headers as it says.
    let headers = unsafe { std::slice::from_raw_parts(info.dlpi_phdr, info.dlpi_phnum.into()) };
    let base = info.dlpi_addr;
    let loaded = headers.iter().filter(|header| header.p_type == PROGRAM_LOADED);
    let segments = loaded.map(|header| {
        let start = base.wrapping_add(header.p_vaddr);
        Segment {
            memory: start..start.wrapping_add(header.p_memsz),
            is_constant: header.p_flags & (libc::PF_R | libc::PF_W) == libc::PF_R,
            file_size: header.p_filesz,
        }
    });
    let segments: Vec<_> = segments.collect();
    let has = |address| segments.iter().any(|segment| segment.memory.contains(&address));
    if search.address.is_some_and(|address| !has(address as u64)) {
        return 0;
    }
    // SAFETY: names are texts.
    let path = unsafe { text(info.dlpi_name) };
    // The loader has a name for every object but the program.
    let is_program = path.is_empty();
    let path = match is_program {
        true => std::env::current_exe().map_or("program".to_owned(), |path| path.display().to_string()),
        false => path,
    };
    let mut object = SharedObject {
        // No two objects have their program headers in one place.
        id: SharedObjectId(info.dlpi_phdr.addr()),
        path,
        is_program,
        name: None,
        needed: Vec::new(),
        segments,
        defined: Vec::new(),
        registers: false,
    };
    let dynamic = headers.iter().find(|header| header.p_type == PROGRAM_DYNAMIC);
    if let Some(dynamic) = dynamic {
        // SAFETY: the header says where the dynamic section is.
        unsafe { object.note_dynamic(base, base.wrapping_add(dynamic.p_vaddr)) };
    }
    search.found.push(object);
    // What is not 0 ends the search.
    search.address.is_some().into()
}

/// Notes how often something was loaded and unloaded; the first object tells.
///
/// # Safety
///
/// `info` must describe an object that is loaded, and `data` must be two numbers.
unsafe extern "C" fn note_changes(info: *mut libc::dl_phdr_info, _: usize, data: *mut c_void) -> c_int {
    // SAFETY: by the caller's promise.
    let (info, changes) = unsafe { (&*info, &mut *data.cast::<(u64, u64)>()) };
    *changes = (info.dlpi_adds, info.dlpi_subs);
    1
}

impl SharedObject {
    /// Notes what the dynamic section says.
    ///
    /// # Safety
    ///
    /// The dynamic section of the object must be at the address.
    unsafe fn note_dynamic(&mut self, base: u64, dynamic: u64) {
        let mut entry = pointer::<Dynamic>(dynamic);
        let (mut needed, mut name) = (Vec::new(), None);
        let (mut texts, mut symbols, mut hashes) = (None, None, None);
        // Where relocations are, and how many bytes of them: those of functions that are called, and the others.
        let (mut calls, mut others) = ((None, 0), (None, 0));
        // Most loaders have made an address of it; some leave it as it is in the file.
        let address = |value: u64| Some(if value < base { base + value } else { value });
        // SAFETY: the section ends with an entry that says so.
        unsafe {
            while (*entry).tag != DYNAMIC_END {
                let value = (*entry).value;
                match (*entry).tag {
                    DYNAMIC_NEEDED => needed.push(value),
                    DYNAMIC_NAME => name = Some(value),
                    DYNAMIC_TEXTS => texts = address(value),
                    DYNAMIC_SYMBOLS => symbols = address(value),
                    DYNAMIC_HASHES => hashes = address(value),
                    DYNAMIC_CALLS => calls.0 = address(value),
                    DYNAMIC_SIZE_OF_CALLS => calls.1 = value,
                    DYNAMIC_RELOCATIONS => others.0 = address(value),
                    DYNAMIC_SIZE_OF_RELOCATIONS => others.1 = value,
                    _ => {}
                }
                entry = entry.add(1);
            }
        }
        let Some(texts) = texts else { return };
        // SAFETY: the table of texts has the names.
        let name_at = |place: u64| unsafe { text(pointer(texts + place)) };
        self.name = name.map(name_at);
        self.needed = needed.into_iter().map(name_at).collect();
        if let (Some(symbols), Some(hashes)) = (symbols, hashes) {
            // SAFETY: the dynamic section says where symbols and hashes are.
            unsafe { self.note_symbols(symbols, texts, hashes) };
        }
        if let Some(symbols) = symbols {
            let tables = [calls, others].into_iter();
            let mut tables = tables.filter_map(|(address, size)| Some((address?, size)));
            // SAFETY: the dynamic section says where symbols and relocations are.
            self.registers =
                tables.any(|(address, size)| unsafe { has_registration(symbols, texts, address, size) });
        }
    }

    /// Notes a few symbols that are defined, by the table of their hashes.
    ///
    /// # Safety
    ///
    /// The symbols, texts and hashes of the object must be at the addresses.
    unsafe fn note_symbols(&mut self, symbols: u64, texts: u64, hashes: u64) {
        let symbols = pointer::<Symbol>(symbols);
        // SAFETY: four numbers, then the filter, 64 bits an element, then the buckets.
        let (buckets, first_defined) = unsafe {
            let [buckets, first, filter, _] = pointer::<[u32; 4]>(hashes).read();
            let start = hashes + 16 + u64::from(filter) * 8;
            let buckets = std::slice::from_raw_parts(pointer::<u32>(start), buckets as usize);
            (buckets, first as usize)
        };
        // A bucket without symbols has 0.
        let defined = buckets.iter().filter(|first| **first as usize >= first_defined);
        // SAFETY: buckets lead to symbols.
        let defined = defined.map(|first| unsafe { &*symbols.add(*first as usize) });
        let is_plain = |symbol: &&Symbol| {
            let (binding, kind) = (symbol.info >> 4, symbol.info & 15);
            let is_visible = symbol.other & 3 == 0;
            symbol.section != 0
                && is_visible
                && binding != BINDING_LOCAL
                && matches!(kind, TYPE_FUNCTION | TYPE_DATA)
        };
        let defined = defined.filter(is_plain).take(PROBED);
        // SAFETY: the table of texts has the names.
        let name = |symbol: &Symbol| unsafe { name_of(symbol, texts) };
        self.defined = defined.map(|symbol| name(symbol).to_owned()).collect();
    }
}

/// Whether one of an object's relocations is for a function that registers device images. The table of hashes does not
/// tell which symbols are not defined: GNU ld counts none in front of it where nothing is defined, and has some in it.
///
/// # Safety
///
/// The symbols, texts and `size` bytes of relocations of the object must be at the addresses.
unsafe fn has_registration(symbols: u64, texts: u64, relocations: u64, size: u64) -> bool {
    let symbols = pointer::<Symbol>(symbols);
    let count = usize::try_from(size).unwrap_or_default() / size_of::<Relocation>();
    // SAFETY: by the caller's promise.
    let relocations = unsafe { std::slice::from_raw_parts(pointer::<Relocation>(relocations), count) };
    let numbers = relocations.iter().map(|relocation| relocation.info >> 32);
    // The symbol with number 0 is none.
    numbers.filter(|number| *number != 0).any(|number| {
        // SAFETY: relocations name symbols by their numbers.
        let symbol = unsafe { &*symbols.add(number as usize) };
        // SAFETY: the table of texts has the names.
        let name = || unsafe { name_of(symbol, texts) };
        symbol.section == 0 && [c"__sycl_register_lib", c"__tgt_register_lib"].contains(&name())
    })
}

/// # Safety
///
/// The table of texts must be at the address, and have the symbol's name. It must stay while the name is used.
unsafe fn name_of<'a>(symbol: &Symbol, texts: u64) -> &'a CStr {
    // SAFETY: by the caller's promise.
    unsafe { CStr::from_ptr(pointer::<c_char>(texts + u64::from(symbol.name))) }
}

/// Device and number of the file that is mapped at an address.
fn mapped_file(mappings: &str, address: u64) -> Option<(&str, &str)> {
    mappings.lines().find_map(|line| {
        // From and to, rights, offset, device, number, and perhaps a name.
        let mut words = line.split_ascii_whitespace();
        let (from, to) = words.next()?.split_once('-')?;
        let number = |digits| u64::from_str_radix(digits, 16).ok();
        let is_it = (number(from)?..number(to)?).contains(&address);
        let file = (words.nth(2)?, words.next()?);
        (is_it && file.1 != "0").then_some(file)
    })
}

fn pointer<T>(address: u64) -> *const T {
    std::ptr::with_exposed_provenance(usize::try_from(address).unwrap_or_default())
}

/// # Safety
///
/// The pointer must be null or to a text.
unsafe fn text(pointer: *const c_char) -> String {
    match pointer.is_null() {
        true => String::new(),
        // SAFETY: by the caller's promise.
        false => unsafe { CStr::from_ptr(pointer) }.to_string_lossy().into_owned(),
    }
}

/// A function of a library that is loaded.
pub(crate) fn function_of(library: &str, function: &CStr) -> Option<*mut c_void> {
    let library = CString::new(library).ok()?;
    // SAFETY: both names are texts; the library is there already, and stays because of what was linked with it.
    unsafe {
        let handle = libc::dlopen(library.as_ptr(), libc::RTLD_LAZY | libc::RTLD_NOLOAD);
        if handle.is_null() {
            return None;
        }
        let found = libc::dlsym(handle, function.as_ptr());
        libc::dlclose(handle);
        (!found.is_null()).then_some(found)
    }
}

/// Where a symbol is that every object of the process sees: in the program, in what it was linked with, or in what was
/// loaded with `RTLD_GLOBAL`.
pub(crate) fn global_symbol(name: &CStr) -> Option<usize> {
    // SAFETY: no name means the program and all that is global.
    unsafe {
        let global = libc::dlopen(std::ptr::null(), libc::RTLD_LAZY | libc::RTLD_NOLOAD);
        if global.is_null() {
            return None;
        }
        let found = libc::dlsym(global, name.as_ptr());
        libc::dlclose(global);
        (!found.is_null()).then(|| found.addr())
    }
}

#[cfg(test)]
mod tests {
    use std::env;
    use std::os::unix::ffi::OsStrExt;
    use std::process::Command;

    use super::*;

    #[test]
    #[expect(clippy::print_stderr, reason = "a test that is skipped says so")]
    fn an_object_without_symbols_of_its_own_is_seen_to_register_images() {
        let folder = tempfile::tempdir().unwrap();
        let [source, library] = ["hidden.c", "hidden.so"].map(|name| folder.path().join(name));
        fs::write(
            &source,
            "void __sycl_register_lib(void *, unsigned long);
             __attribute__((used)) static void start(void) { __sycl_register_lib(0, 0); }",
        )
        .unwrap();
        let mut compile = Command::new("cc");
        compile
            .args(["-shared", "-fPIC", "-Wl,-z,lazy", "-o"])
            .args([&library, &source]);
        match compile.status() {
            Ok(status) => assert!(status.success(), "{compile:?}"),
            Err(error) => {
                let required = env::var_os("OFFKIT_REQUIRE_TOOLS").is_some_and(|value| value == "1");
                assert!(!required, "cc: {error}");
                return eprintln!("SKIPPED: cc: {error}");
            }
        }
        let name = CString::new(library.as_os_str().as_bytes()).unwrap();
        // SAFETY: nothing of it runs as it is loaded; what it calls need not be there before it does.
        let handle = unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_LAZY | libc::RTLD_LOCAL) };
        assert!(!handle.is_null());
        let path = library.to_str().unwrap();
        let found = SharedObject::all().into_iter().find(|object| object.path == path);
        assert!(found.is_some_and(|object| object.registers));
    }
}
