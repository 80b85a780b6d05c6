//! NVIDIA's linker of LTO-IR, `libnvJitLink.so`, where it is installed: LTO-IR becomes machine code, all modules as one.
//!
//! It belongs to CUDA's toolkit, not to the driver, and is opened when there is LTO-IR for the first time. Every version
//! exports its functions under names with numbers of all versions since the first of its major one.

use core::ffi::{CStr, c_char, c_int, c_void};
use core::ptr::null_mut;
use offkit_host::{chain, program};
use offkit_image::ImageFormat;
use offkit_pi::driver::{Library, open_resolved};
use offkit_sync::LazyLock;
use std::ffi::CString;
use std::path::PathBuf;

use crate::driver::{Input, JitOptions};

/// The major versions whose functions are known. A linker takes LTO-IR of its own major version, and drivers may refuse the
/// cubins of a later one: that of the driver is tried first, then the other.
const MAJORS: [u32; 2] = [13, 12];

/// Variables that name the folder of the toolkit.
const TOOLKIT_VARIABLES: [&str; 2] = ["CUDA_HOME", "CUDA_PATH"];

/// Where the toolkit is if nothing says it.
const TOOLKIT: &str = "/usr/local/cuda";

type Handle = *mut c_void;

/// What the header calls the errors, by their numbers, without the beginning that all have.
const ERRORS: [&str; 16] = [
    "SUCCESS",
    "UNRECOGNIZED_OPTION",
    "MISSING_ARCH",
    "INVALID_INPUT",
    "PTX_COMPILE",
    "NVVM_COMPILE",
    "INTERNAL",
    "THREADPOOL",
    "UNRECOGNIZED_INPUT",
    "FINALIZE",
    "NULL_INPUT",
    "INCOMPATIBLE_OPTIONS",
    "INCORRECT_INPUT_TYPE",
    "ARCH_MISMATCH",
    "OUTDATED_LIBRARY",
    "MISSING_FATBIN",
];

/// The functions, as `nvJitLink.h` of CUDA 12.9 declares them. All return 0 or a number of an error.
struct Functions {
    create: unsafe extern "C" fn(*mut Handle, u32, *mut *const c_char) -> c_int,
    destroy: unsafe extern "C" fn(*mut Handle) -> c_int,
    add: unsafe extern "C" fn(Handle, c_int, *const c_void, usize, *const c_char) -> c_int,
    complete: unsafe extern "C" fn(Handle) -> c_int,
    cubin: Text<c_void>,
    errors: Text<c_char>,
    infos: Text<c_char>,
}

/// Two functions: for the size of something, and for the thing.
struct Text<T> {
    size: unsafe extern "C" fn(Handle, *mut usize) -> c_int,
    get: unsafe extern "C" fn(Handle, *mut T) -> c_int,
}

/// A linker.
struct JitLinker {
    major: u32,
    functions: Functions,
}

/// Whether there is a linker.
///
/// # Errors
///
/// Where it was looked for.
pub(crate) fn find() -> Result<(), &'static str> {
    found().map(|_| ())
}

fn found() -> Result<&'static [JitLinker], &'static str> {
    static FOUND: LazyLock<Result<Vec<JitLinker>, String>> = LazyLock::new(open);
    match &*FOUND {
        Ok(found) => Ok(found),
        Err(words) => Err(words),
    }
}

/// The folders of toolkits.
fn toolkits() -> Vec<PathBuf> {
    let variables = TOOLKIT_VARIABLES.iter();
    let named = variables.filter_map(|name| program::naming_variable(name));
    let named = named.map(PathBuf::from);
    // A relative one would be looked for in whatever folder the program is in.
    let all = named
        .filter(|folder| folder.is_absolute())
        .chain([TOOLKIT.into()]);
    all.map(|folder| folder.join("lib64")).collect()
}

fn open() -> Result<Vec<JitLinker>, String> {
    let toolkits = toolkits();
    let (mut linkers, mut unusable) = (Vec::new(), Vec::new());
    for major in MAJORS {
        let name = format!("libnvJitLink.so.{major}");
        // The loader's own folders first.
        let in_toolkits = toolkits.iter().map(|folder| folder.join(&name));
        let in_toolkits = in_toolkits.filter(|path| path.exists());
        let mut places = [PathBuf::from(&name)].into_iter().chain(in_toolkits);
        let linker = places.find_map(|place| {
            // SAFETY: opening a library runs its initialisers. This one is the system's, or in a folder that the user names.
            let library = match unsafe { open_resolved(&place) } {
                Ok(library) => library,
                Err(error) => {
                    // Of a bare name the loader says that it is not there, which is said below.
                    if place.is_absolute() {
                        unusable.push(chain(&error));
                    }
                    return None;
                }
            };
            // It stays: nothing is gained by loading 100 MB again.
            let library: &'static Library = Box::leak(Box::new(library));
            // SAFETY: a library of that name is NVIDIA's, of that version.
            let functions = unsafe { Functions::of(library, major) };
            if functions.is_none() {
                unusable.push(format!(
                    "{} lacks functions of version {major}.0",
                    place.display()
                ));
            }
            functions.map(|functions| JitLinker { major, functions })
        });
        linkers.extend(linker);
    }
    if !linkers.is_empty() {
        return Ok(linkers);
    }
    let names = MAJORS
        .map(|major| format!("libnvJitLink.so.{major}"))
        .join(" or ");
    let folders: Vec<String> = toolkits
        .iter()
        .map(|folder| folder.display().to_string())
        .collect();
    let missing = format!(
        "it has to be linked by {names}, which is neither where libraries are looked for nor in {}: install CUDA's \
         toolkit or the Python package nvidia-nvjitlink, and name its folder in LD_LIBRARY_PATH",
        folders.join(", ")
    );
    unusable.insert(0, missing);
    Err(unusable.join("; "))
}

/// Links code to a cubin for a processor, by the linker of a driver's major version or else another. What the linkers said
/// comes with either.
pub(crate) fn link(
    (major, processor): (u32, &str),
    inputs: &[Input<'_>],
    jit: &JitOptions,
) -> (Result<Vec<u8>, String>, String) {
    let found = match found() {
        Ok(found) => found,
        Err(missing) => return (Err(format!("LTO-IR: {missing}")), String::new()),
    };
    let (own, others): (Vec<_>, Vec<_>) = found.iter().partition(|linker| linker.major == major);
    let (mut logs, mut first) = (Vec::new(), None);
    for linker in own.into_iter().chain(others) {
        let (linked, log) = linker.link(processor, inputs, jit);
        match linked {
            Ok(cubin) => return (Ok(cubin), log),
            Err(words) => {
                let name = format!("libnvJitLink.so.{}", linker.major);
                logs.push(format!("{name}: {words}"));
                logs.extend(Some(log).filter(|log| !log.is_empty()));
                // The error is that of the driver's own version, if it is there; the log has all.
                first.get_or_insert(format!("{name}: {words}"));
            }
        }
    }
    (Err(first.unwrap_or_default()), logs.join("\n"))
}

impl Functions {
    /// # Safety
    ///
    /// The library is NVIDIA's.
    unsafe fn of(library: &'static Library, major: u32) -> Option<Functions> {
        /// # Safety
        ///
        /// The symbol is a function of that type.
        unsafe fn symbol<F: Copy>(library: &Library, name: &str, major: u32) -> Option<F> {
            let name = format!("__nvJitLink{name}_{major}_0\0");
            // SAFETY: the caller's.
            unsafe { library.get::<F>(name.as_bytes()).ok().map(|symbol| *symbol) }
        }
        // SAFETY: these are the types of the declarations.
        unsafe {
            Some(Functions {
                create: symbol(library, "Create", major)?,
                destroy: symbol(library, "Destroy", major)?,
                add: symbol(library, "AddData", major)?,
                complete: symbol(library, "Complete", major)?,
                cubin: Text {
                    size: symbol(library, "GetLinkedCubinSize", major)?,
                    get: symbol(library, "GetLinkedCubin", major)?,
                },
                errors: Text {
                    size: symbol(library, "GetErrorLogSize", major)?,
                    get: symbol(library, "GetErrorLog", major)?,
                },
                infos: Text {
                    size: symbol(library, "GetInfoLogSize", major)?,
                    get: symbol(library, "GetInfoLog", major)?,
                },
            })
        }
    }
}

impl<T> Text<T> {
    /// The thing as bytes, or the number of an error.
    fn of(&self, handle: Handle) -> Result<Vec<u8>, c_int> {
        let mut size = 0;
        // SAFETY: the handle is there; one place for the size, then as many bytes as that says.
        unsafe {
            match (self.size)(handle, &raw mut size) {
                0 if size == 0 => return Ok(Vec::new()),
                0 => {}
                code => return Err(code),
            }
            let mut bytes = vec![0u8; size];
            match (self.get)(handle, bytes.as_mut_ptr().cast()) {
                0 => Ok(bytes),
                code => Err(code),
            }
        }
    }
}

/// A link under way.
struct State<'a> {
    functions: &'a Functions,
    handle: Handle,
}

impl Drop for State<'_> {
    fn drop(&mut self) {
        // SAFETY: the handle is this value's.
        unsafe { (self.functions.destroy)(&raw mut self.handle) };
    }
}

impl State<'_> {
    /// What the linker says.
    fn log(&self, of: &Text<c_char>) -> String {
        let bytes = of.of(self.handle).unwrap_or_default();
        let text = CStr::from_bytes_until_nul(&bytes).map_or(bytes.as_slice(), CStr::to_bytes);
        String::from_utf8_lossy(text).trim().to_owned()
    }
}

/// What the linker calls a kind of input.
fn kind(format: ImageFormat) -> c_int {
    // As `nvJitLinkInputType` numbers them.
    match format {
        ImageFormat::Ptx => 2,
        ImageFormat::LtoIr => 3,
        _ => 1,
    }
}

/// What the linker is told.
fn options(processor: &str, jit: &JitOptions) -> Vec<CString> {
    // Without `-lto` it takes no LTO-IR, of which there is some among the inputs.
    let mut options = vec![format!("-arch={processor}"), "-lto".to_owned()];
    // Of LTO-IR it knows the levels 0 and 3.
    options.extend(
        jit.level
            .map(|level| format!("-O{}", if level == 0 { 0 } else { 3 })),
    );
    options.extend(jit.registers.map(|count| format!("-maxrregcount={count}")));
    let flags = [
        (jit.is_verbose, "-verbose"),
        (jit.has_lines, "-lineinfo"),
        (jit.has_debug, "-g"),
    ];
    options.extend(
        flags
            .iter()
            .filter(|(is_on, _)| *is_on)
            .map(|(_, flag)| (*flag).to_owned()),
    );
    options
        .into_iter()
        .filter_map(|option| CString::new(option).ok())
        .collect()
}

impl JitLinker {
    /// Links code to a cubin for a processor. What the linker said comes with either.
    fn link(
        &self,
        processor: &str,
        inputs: &[Input<'_>],
        jit: &JitOptions,
    ) -> (Result<Vec<u8>, String>, String) {
        let functions = &self.functions;
        let failed = |what: &str, code: c_int| {
            let name = usize::try_from(code).ok().and_then(|code| ERRORS.get(code));
            format!(
                "nvJitLink cannot {what} ({})",
                name.unwrap_or(&"an unknown error")
            )
        };
        let options = options(processor, jit);
        let mut pointers: Vec<*const c_char> = options.iter().map(|option| option.as_ptr()).collect();
        let mut handle = null_mut();
        // SAFETY: one place for the handle; as many options as are said, which are read now.
        let code =
            unsafe { (functions.create)(&raw mut handle, pointers.len() as u32, pointers.as_mut_ptr()) };
        if code != 0 {
            let told: Vec<_> = options.iter().map(|option| option.to_string_lossy()).collect();
            return (
                Err(failed(&format!("link with {}", told.join(" ")), code)),
                String::new(),
            );
        }
        let state = State { functions, handle };
        let add = |input: &Input<'_>| {
            let code = input.code.as_ptr().cast();
            // SAFETY: the handle is there, and so are the bytes until the end.
            let code = unsafe {
                (functions.add)(
                    handle,
                    kind(input.format),
                    code,
                    input.code.len(),
                    input.name.as_ptr(),
                )
            };
            match code {
                0 => Ok(()),
                code => Err(failed(&format!("read {}", input.name.to_string_lossy()), code)),
            }
        };
        let linked = inputs.iter().try_for_each(add).and_then(|()| {
            // SAFETY: the handle is there, and so are the inputs.
            match unsafe { (functions.complete)(handle) } {
                0 => functions
                    .cubin
                    .of(handle)
                    .map_err(|code| failed("give what it has linked", code)),
                code => Err(failed("link", code)),
            }
        });
        // While the handle is there, also where the link has failed: the logs go with it.
        let said = [state.log(&functions.errors), state.log(&functions.infos)];
        let said: Vec<String> = said.into_iter().filter(|text| !text.is_empty()).collect();
        (linked, said.join("\n"))
    }
}
