//! NVIDIA's linker of LTO-IR, `libnvJitLink.so`, where it is installed: LTO-IR becomes machine code, all modules as one.
//!
//! It belongs to CUDA's toolkit, not to the driver, and is opened when there is LTO-IR for the first time. Every version
//! exports its functions under names with numbers of all versions since the first of its major one.

use core::ffi::{CStr, c_char, c_int, c_void};
use core::ptr::null_mut;
use offkit_image::ImageFormat;
use offkit_pi::driver::{Library, open_resolved};
use offkit_sync::LazyLock;
use std::env;
use std::ffi::CString;
use std::path::PathBuf;

use crate::driver::{Input, JitOptions};

/// The major versions whose functions are known, the newest first. A linker takes what compilers before it have made.
const MAJORS: [u32; 2] = [13, 12];

/// Variables that name the folder of the toolkit.
const TOOLKIT_VARIABLES: [&str; 2] = ["CUDA_HOME", "CUDA_PATH"];

/// Where the toolkit is if nothing says it.
const TOOLKIT: &str = "/usr/local/cuda";

type Handle = *mut c_void;

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

/// The linker.
pub(crate) struct JitLinker(Functions);

/// Finds the linker.
///
/// # Errors
///
/// Where it was looked for.
pub(crate) fn find() -> Result<&'static JitLinker, &'static str> {
    static FOUND: LazyLock<Result<JitLinker, String>> = LazyLock::new(open);
    FOUND.as_ref().map_err(String::as_str)
}

fn open() -> Result<JitLinker, String> {
    let toolkits = TOOLKIT_VARIABLES
        .iter()
        .filter_map(env::var_os)
        .map(PathBuf::from);
    let toolkits: Vec<_> = toolkits
        .chain([TOOLKIT.into()])
        .map(|folder| folder.join("lib64"))
        .collect();
    let mut unusable = Vec::new();
    for major in MAJORS {
        let name = format!("libnvJitLink.so.{major}");
        // The loader's own folders first.
        let places = [PathBuf::from(&name)]
            .into_iter()
            .chain(toolkits.iter().map(|folder| folder.join(&name)));
        for place in places {
            // SAFETY: opening a library runs its initialisers. This one is the system's, or in a folder that the user names.
            let Ok(library) = (unsafe { open_resolved(&place) }) else {
                continue;
            };
            // It stays: nothing is gained by loading 100 MB again.
            let library: &'static Library = Box::leak(Box::new(library));
            // SAFETY: a library of that name is NVIDIA's, of that version.
            match unsafe { Functions::of(library, major) } {
                Some(functions) => return Ok(JitLinker(functions)),
                None => unusable.push(format!(
                    "{} lacks functions of version {major}.0",
                    place.display()
                )),
            }
        }
    }
    let names = MAJORS
        .map(|major| format!("libnvJitLink.so.{major}"))
        .join(" or ");
    let folders: Vec<String> = toolkits
        .iter()
        .map(|folder| folder.display().to_string())
        .collect();
    unusable.insert(0, format!(
        "it has to be linked by {names}, which is neither where libraries are looked for nor in {}: install CUDA's \
         toolkit or the Python package nvidia-nvjitlink, and name its folder in LD_LIBRARY_PATH",
        folders.join(", ")
    ));
    Err(unusable.join("; "))
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
    /// The thing as bytes; none if there is none.
    fn of(&self, handle: Handle) -> Vec<u8> {
        let mut size = 0;
        // SAFETY: the handle is there; one place for the size, then as many bytes as that says.
        unsafe {
            if (self.size)(handle, &raw mut size) != 0 || size == 0 {
                return Vec::new();
            }
            let mut bytes = vec![0u8; size];
            match (self.get)(handle, bytes.as_mut_ptr().cast()) {
                0 => bytes,
                _ => Vec::new(),
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
        let bytes = of.of(self.handle);
        let text = CStr::from_bytes_until_nul(&bytes).map_or(bytes.as_slice(), CStr::to_bytes);
        String::from_utf8_lossy(text).trim().to_owned()
    }
}

/// What the linker calls a kind of input.
fn kind(format: ImageFormat) -> c_int {
    match format {
        ImageFormat::Ptx => 2,
        ImageFormat::LtoIr => 3,
        _ => 1,
    }
}

/// What the linker is told.
fn options(processor: &str, jit: &JitOptions) -> Vec<CString> {
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
    pub(crate) fn link(
        &self,
        processor: &str,
        inputs: &[Input<'_>],
        jit: &JitOptions,
    ) -> (Result<Vec<u8>, String>, String) {
        let functions = &self.0;
        let failed = |what: &str, code: c_int| format!("nvJitLink cannot {what} (error {code})");
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
                0 => Ok(functions.cubin.of(handle)),
                code => Err(failed("link", code)),
            }
        });
        let said = [state.log(&functions.errors), state.log(&functions.infos)];
        let said: Vec<String> = said.into_iter().filter(|text| !text.is_empty()).collect();
        (linked, said.join("\n"))
    }
}
