//! Shared objects of this process.

use std::ffi::{CStr, CString, c_int, c_void};

/// The program or library that an address is in.
#[derive(Default)]
pub(crate) struct SharedObject {
    /// Its file; the program's own, and what is in no file, have other names.
    pub(crate) path: String,
    /// The names of the libraries that it was linked with.
    needed: Vec<String>,
}

/// What an address is looked for with.
struct Search {
    address: u64,
    found: SharedObject,
}

const PROGRAM_LOADED: u32 = libc::PT_LOAD;
const PROGRAM_DYNAMIC: u32 = libc::PT_DYNAMIC;
const DYNAMIC_END: i64 = 0;
const DYNAMIC_NEEDED: i64 = 1;
const DYNAMIC_TEXTS: i64 = 5;

/// An entry of an object's dynamic section.
#[repr(C)]
struct Dynamic {
    tag: i64,
    value: u64,
}

impl SharedObject {
    /// The object that an address is in.
    pub(crate) fn at(address: usize) -> Self {
        let mut search = Search {
            address: address as u64,
            found: Self {
                path: "memory".to_owned(),
                needed: Vec::new(),
            },
        };
        // SAFETY: the function is given what it expects, and nobody else uses that meanwhile.
        unsafe { libc::dl_iterate_phdr(Some(look_at), (&raw mut search).cast()) };
        search.found
    }

    /// The whole name of a needed library that begins like this.
    pub(crate) fn needs(&self, name: &str) -> Option<&str> {
        let mut needed = self.needed.iter();
        needed.find(|needed| needed.starts_with(name)).map(String::as_str)
    }
}

/// Looks at one object, and ends the search if it is the one.
///
/// # Safety
///
/// `info` must describe an object that is loaded, and `data` must be a [`Search`].
unsafe extern "C" fn look_at(info: *mut libc::dl_phdr_info, _: usize, data: *mut c_void) -> c_int {
    // SAFETY: by the caller's promise.
    let (info, search) = unsafe { (&*info, &mut *data.cast::<Search>()) };
    // SAFETY: the object has as many program headers as it says.
    let headers = unsafe { std::slice::from_raw_parts(info.dlpi_phdr, info.dlpi_phnum.into()) };
    let base = info.dlpi_addr;
    let has_address = headers.iter().any(|header| {
        let start = base.wrapping_add(header.p_vaddr);
        header.p_type == PROGRAM_LOADED && search.address.wrapping_sub(start) < header.p_memsz
    });
    if !has_address {
        return 0;
    }
    // SAFETY: names are texts.
    let name = unsafe { text(info.dlpi_name) };
    search.found.path = match name.is_empty() {
        true => std::env::current_exe().map_or("program".to_owned(), |path| path.display().to_string()),
        false => name,
    };
    let dynamic = headers.iter().find(|header| header.p_type == PROGRAM_DYNAMIC);
    if let Some(dynamic) = dynamic {
        // SAFETY: the header says where the dynamic section is.
        search.found.needed = unsafe { needed(base, base.wrapping_add(dynamic.p_vaddr)) };
    }
    1
}

/// The names of the libraries that an object needs.
///
/// # Safety
///
/// The dynamic section of an object that is loaded must be at the address.
unsafe fn needed(base: u64, dynamic: u64) -> Vec<String> {
    let mut entry = pointer::<Dynamic>(dynamic);
    let (mut names, mut texts) = (Vec::new(), None);
    // SAFETY: the section ends with an entry that says so; the table of texts has the names.
    unsafe {
        while (*entry).tag != DYNAMIC_END {
            match (*entry).tag {
                DYNAMIC_NEEDED => names.push((*entry).value),
                // Most loaders have made an address of it; some leave it as it is in the file.
                DYNAMIC_TEXTS if (*entry).value < base => texts = Some(base + (*entry).value),
                DYNAMIC_TEXTS => texts = Some((*entry).value),
                _ => {}
            }
            entry = entry.add(1);
        }
        let texts = texts
            .into_iter()
            .flat_map(|texts| names.iter().map(move |name| texts + name));
        texts.map(|name| text(pointer(name))).collect()
    }
}

fn pointer<T>(address: u64) -> *const T {
    std::ptr::with_exposed_provenance(usize::try_from(address).unwrap_or_default())
}

/// # Safety
///
/// The pointer must be null or to a text.
unsafe fn text(pointer: *const libc::c_char) -> String {
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
