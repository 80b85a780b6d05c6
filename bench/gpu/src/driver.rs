//! The driver's interface as it is, with nothing of offkit between: what offkit is measured beside.

use core::ffi::{c_char, c_int, c_uint, c_void};
use std::ffi::{CStr, CString};
use std::path::Path;
use std::ptr::null_mut;

use offkit_pi::driver::{Library, open_resolved, text};

use crate::Result;

/// Declares the functions that are used, by the names that the library exports.
macro_rules! functions {
    ($($name:ident($($argument:ty),*);)*) => {
        #[expect(non_snake_case, reason = "the driver's own names")]
        struct Functions {
            $($name: unsafe extern "C" fn($($argument),*) -> c_int,)*
        }

        impl Functions {
            /// # Safety
            ///
            /// The library is NVIDIA's driver, or has the same functions.
            unsafe fn of(library: &'static Library) -> Result<Functions> {
                // SAFETY: by the caller's promise, functions of these names have these types.
                unsafe { Ok(Functions { $($name: find(library, stringify!($name))?),* }) }
            }
        }
    };
}

/// A function of the library.
///
/// # Safety
///
/// The function of that name has the type `F`.
unsafe fn find<F: Copy>(library: &'static Library, name: &str) -> Result<F> {
    // SAFETY: by the caller's promise.
    let found = unsafe { library.get::<F>(name.as_bytes()) };
    Ok(*found.map_err(|_| format!("the driver has no function {name}"))?)
}

functions! {
    cuInit(c_uint);
    cuDriverGetVersion(*mut c_int);
    cuGetErrorName(c_int, *mut *const c_char);
    cuDeviceGetCount(*mut c_int);
    cuDeviceGet(*mut c_int, c_int);
    cuDeviceGetName(*mut c_char, c_int, c_int);
    cuDeviceGetAttribute(*mut c_int, c_uint, c_int);
    cuDevicePrimaryCtxRetain(*mut usize, c_int);
    cuDevicePrimaryCtxRelease_v2(c_int);
    cuCtxPushCurrent_v2(usize);
    cuCtxPopCurrent_v2(*mut usize);
    cuModuleLoadDataEx(*mut usize, *const c_void, c_uint, *mut c_uint, *mut *mut c_void);
    cuModuleUnload(usize);
    cuModuleGetFunction(*mut usize, usize, *const c_char);
    cuLaunchKernel(usize, c_uint, c_uint, c_uint, c_uint, c_uint, c_uint, c_uint, usize, *mut *mut c_void, *mut *mut c_void);
    cuMemGetInfo_v2(*mut usize, *mut usize);
    cuMemAlloc_v2(*mut usize, usize);
    cuMemFree_v2(usize);
    cuMemcpyHtoDAsync_v2(usize, *const c_void, usize, usize);
    cuMemcpyDtoHAsync_v2(*mut c_void, usize, usize, usize);
    cuMemsetD8Async(usize, u8, usize, usize);
    cuStreamCreate(*mut usize, c_uint);
    cuStreamDestroy_v2(usize);
    cuStreamSynchronize(usize);
    cuEventCreate(*mut usize, c_uint);
    cuEventDestroy_v2(usize);
    cuEventRecord(usize, usize);
    cuEventSynchronize(usize);
    cuEventElapsedTime(*mut f32, usize, usize);
}

const NON_BLOCKING: c_uint = 1;
const CAPABILITY_MAJOR: c_uint = 75;
const CAPABILITY_MINOR: c_uint = 76;
const PROCESSORS: c_uint = 16;
const ERROR_LOG: c_uint = 5;
const ERROR_LOG_SIZE: c_uint = 6;

/// A device with its primary context, current on the thread that opened it, and a stream.
pub(crate) struct Gpu {
    functions: &'static Functions,
    device: c_int,
    stream: usize,
}

/// Code on the device.
pub(crate) struct Module<'g> {
    gpu: &'g Gpu,
    module: usize,
}

/// A kernel of a module.
#[derive(Clone, Copy)]
pub(crate) struct Function(usize);

/// Memory of the device.
pub(crate) struct Memory<'g> {
    gpu: &'g Gpu,
    pub(crate) address: usize,
    size: usize,
}

/// A point in a stream, with its time.
pub(crate) struct Event<'g> {
    gpu: &'g Gpu,
    event: usize,
}

/// Blocks, threads of a block, and the bytes of shared memory that the launch brings.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shape {
    pub(crate) blocks: [u32; 3],
    pub(crate) threads: [u32; 3],
    pub(crate) shared: u32,
}

impl Gpu {
    /// Opens the first device that the driver shows; `None`, and why, where there is none.
    pub(crate) fn open() -> Result<std::result::Result<Gpu, String>> {
        // SAFETY: opening a library runs its initialisers: NVIDIA's, by this name.
        let library = match unsafe { open_resolved(Path::new("libcuda.so.1")) } {
            Ok(library) => Box::leak(Box::new(library)),
            Err(_) => {
                return Ok(Err(
                    "NVIDIA's driver (libcuda.so.1) is not on this machine".to_owned()
                ));
            }
        };
        // SAFETY: a library of that name is NVIDIA's driver.
        let functions: &'static Functions = Box::leak(Box::new(unsafe { Functions::of(library) }?));
        let mut gpu = Gpu {
            functions,
            device: 0,
            stream: 0,
        };
        let (mut count, mut context) = (0, 0);
        // SAFETY: each place is as large as the function writes, and the context stays retained until the end.
        unsafe {
            if let Err(error) = gpu.check("cuInit", (functions.cuInit)(0)) {
                return Ok(Err(format!("NVIDIA's driver does not start: {error}")));
            }
            gpu.check("cuDeviceGetCount", (functions.cuDeviceGetCount)(&raw mut count))?;
            if count == 0 {
                return Ok(Err("NVIDIA's driver shows no device".to_owned()));
            }
            let got = (functions.cuDeviceGet)(&raw mut gpu.device, 0);
            gpu.check("cuDeviceGet", got)?;
            let retained = (functions.cuDevicePrimaryCtxRetain)(&raw mut context, gpu.device);
            gpu.check("cuDevicePrimaryCtxRetain", retained)?;
            gpu.check("cuCtxPushCurrent", (functions.cuCtxPushCurrent_v2)(context))?;
            let created = (functions.cuStreamCreate)(&raw mut gpu.stream, NON_BLOCKING);
            gpu.check("cuStreamCreate", created)?;
        }
        Ok(Ok(gpu))
    }

    fn check(&self, function: &str, code: c_int) -> Result<()> {
        if code == 0 {
            return Ok(());
        }
        let mut name = std::ptr::null();
        // SAFETY: a place for a pointer to a text that the driver keeps.
        let name = unsafe {
            (self.functions.cuGetErrorName)(code, &raw mut name);
            match name.is_null() {
                true => "an error without a name".into(),
                false => CStr::from_ptr(name).to_string_lossy(),
            }
        };
        Err(format!("{function}: {name} ({code})").into())
    }

    fn attribute(&self, number: c_uint) -> Result<u32> {
        let mut value = 0;
        // SAFETY: a place for one number.
        let code = unsafe { (self.functions.cuDeviceGetAttribute)(&raw mut value, number, self.device) };
        self.check("cuDeviceGetAttribute", code)?;
        Ok(value.unsigned_abs())
    }

    /// The compute capability: 90 for 9.0.
    pub(crate) fn capability(&self) -> Result<u32> {
        Ok(10 * self.attribute(CAPABILITY_MAJOR)? + self.attribute(CAPABILITY_MINOR)?)
    }

    /// How many multiprocessors there are.
    pub(crate) fn processors(&self) -> Result<u32> {
        self.attribute(PROCESSORS)
    }

    pub(crate) fn name(&self) -> Result<String> {
        let mut name = vec![0u8; 256];
        // SAFETY: a place for so many bytes.
        let code = unsafe { (self.functions.cuDeviceGetName)(name.as_mut_ptr().cast(), 256, self.device) };
        self.check("cuDeviceGetName", code)?;
        Ok(text(name))
    }

    /// The newest version of CUDA that the driver knows: `12.8`.
    pub(crate) fn cuda(&self) -> Result<String> {
        let mut version = 0;
        // SAFETY: a place for one number.
        let code = unsafe { (self.functions.cuDriverGetVersion)(&raw mut version) };
        self.check("cuDriverGetVersion", code)?;
        Ok(format!("{}.{}", version / 1000, version % 1000 / 10))
    }

    /// How many bytes of the device's memory are in use, by anybody.
    pub(crate) fn used_memory(&self) -> Result<usize> {
        let (mut free, mut total) = (0, 0);
        // SAFETY: two places for numbers.
        let code = unsafe { (self.functions.cuMemGetInfo_v2)(&raw mut free, &raw mut total) };
        self.check("cuMemGetInfo", code)?;
        Ok(total - free)
    }

    /// Loads PTX, which the driver compiles, or a cubin.
    pub(crate) fn load(&self, code: &[u8]) -> Result<Module<'_>> {
        let mut image = code.to_vec();
        image.push(0);
        let (mut module, mut log) = (0, vec![0u8; 8192]);
        let mut options = [ERROR_LOG, ERROR_LOG_SIZE];
        let mut values = [log.as_mut_ptr().cast(), log.len() as *mut c_void];
        // SAFETY: the image ends with a NUL, the options with their values are two, and the log is as large as it says.
        let done = unsafe {
            (self.functions.cuModuleLoadDataEx)(
                &raw mut module,
                image.as_ptr().cast(),
                2,
                options.as_mut_ptr(),
                values.as_mut_ptr(),
            )
        };
        self.check("cuModuleLoadDataEx", done)
            .map_err(|error| format!("{error} {}", text(log)))?;
        Ok(Module { gpu: self, module })
    }

    /// Memory of so many bytes.
    pub(crate) fn allocate(&self, size: usize) -> Result<Memory<'_>> {
        let mut address = 0;
        // SAFETY: a place for an address.
        self.check("cuMemAlloc", unsafe {
            (self.functions.cuMemAlloc_v2)(&raw mut address, size)
        })?;
        Ok(Memory {
            gpu: self,
            address,
            size,
        })
    }

    /// Submits a launch. Each argument is its bytes.
    pub(crate) fn launch(&self, function: Function, shape: Shape, arguments: &mut [Vec<u8>]) -> Result<()> {
        let mut places: Vec<*mut c_void> = arguments
            .iter_mut()
            .map(|bytes| bytes.as_mut_ptr().cast())
            .collect();
        let ([x, y, z], [width, height, depth]) = (shape.blocks, shape.threads);
        // SAFETY: the rows that launches are made of say what the kernels take, and the memory that arguments lead to lives
        // until the stream has been waited for.
        let code = unsafe {
            (self.functions.cuLaunchKernel)(
                function.0,
                x,
                y,
                z,
                width,
                height,
                depth,
                shape.shared,
                self.stream,
                places.as_mut_ptr(),
                null_mut(),
            )
        };
        self.check("cuLaunchKernel", code)
    }

    /// Waits for all that was submitted.
    pub(crate) fn finish(&self) -> Result<()> {
        // SAFETY: the stream is there.
        self.check("cuStreamSynchronize", unsafe {
            (self.functions.cuStreamSynchronize)(self.stream)
        })
    }

    pub(crate) fn event(&self) -> Result<Event<'_>> {
        let mut event = 0;
        // SAFETY: a place for a handle.
        self.check("cuEventCreate", unsafe {
            (self.functions.cuEventCreate)(&raw mut event, 0)
        })?;
        Ok(Event { gpu: self, event })
    }
}

impl Module<'_> {
    pub(crate) fn function(&self, name: &str) -> Result<Function> {
        let mut function = 0;
        let name = CString::new(name)?;
        // SAFETY: a place for a handle, and a text that ends.
        let code = unsafe {
            (self.gpu.functions.cuModuleGetFunction)(&raw mut function, self.module, name.as_ptr())
        };
        self.gpu.check("cuModuleGetFunction", code)?;
        Ok(Function(function))
    }
}

impl Memory<'_> {
    pub(crate) fn write(&self, bytes: &[u8]) -> Result<()> {
        assert_eq!(bytes.len(), self.size, "all of the memory");
        // SAFETY: the memory has so many bytes, and the bytes are there until the copy is done.
        let code = unsafe {
            (self.gpu.functions.cuMemcpyHtoDAsync_v2)(
                self.address,
                bytes.as_ptr().cast(),
                self.size,
                self.gpu.stream,
            )
        };
        self.gpu.check("cuMemcpyHtoDAsync", code)?;
        self.gpu.finish()
    }

    pub(crate) fn read(&self) -> Result<Vec<u8>> {
        let mut bytes = vec![0; self.size];
        // SAFETY: as for writing.
        let code = unsafe {
            (self.gpu.functions.cuMemcpyDtoHAsync_v2)(
                bytes.as_mut_ptr().cast(),
                self.address,
                self.size,
                self.gpu.stream,
            )
        };
        self.gpu.check("cuMemcpyDtoHAsync", code)?;
        self.gpu.finish()?;
        Ok(bytes)
    }

    pub(crate) fn clear(&self) -> Result<()> {
        // SAFETY: the memory has so many bytes.
        let code =
            unsafe { (self.gpu.functions.cuMemsetD8Async)(self.address, 0, self.size, self.gpu.stream) };
        self.gpu.check("cuMemsetD8Async", code)?;
        self.gpu.finish()
    }
}

impl Event<'_> {
    pub(crate) fn record(&self) -> Result<()> {
        // SAFETY: both handles are there.
        self.gpu.check("cuEventRecord", unsafe {
            (self.gpu.functions.cuEventRecord)(self.event, self.gpu.stream)
        })
    }

    /// Waits for it, and says how many seconds it was after another.
    pub(crate) fn seconds_since(&self, start: &Event<'_>) -> Result<f64> {
        let mut milliseconds = 0.0;
        // SAFETY: both events are there and were recorded.
        unsafe {
            let functions = self.gpu.functions;
            self.gpu
                .check("cuEventSynchronize", (functions.cuEventSynchronize)(self.event))?;
            let code = (functions.cuEventElapsedTime)(&raw mut milliseconds, start.event, self.event);
            self.gpu.check("cuEventElapsedTime", code)?;
        }
        Ok(f64::from(milliseconds) / 1e3)
    }
}

impl Drop for Gpu {
    fn drop(&mut self) {
        let mut popped = 0;
        // SAFETY: what was made when it was opened goes, in the order of its coming.
        unsafe {
            (self.functions.cuStreamDestroy_v2)(self.stream);
            (self.functions.cuCtxPopCurrent_v2)(&raw mut popped);
            (self.functions.cuDevicePrimaryCtxRelease_v2)(self.device);
        }
    }
}

impl Drop for Module<'_> {
    fn drop(&mut self) {
        // SAFETY: its functions are launched no more: what was submitted has been waited for.
        unsafe { (self.gpu.functions.cuModuleUnload)(self.module) };
    }
}

impl Drop for Memory<'_> {
    fn drop(&mut self) {
        // SAFETY: nobody has its address any more.
        unsafe { (self.gpu.functions.cuMemFree_v2)(self.address) };
    }
}

impl Drop for Event<'_> {
    fn drop(&mut self) {
        // SAFETY: it is used no more.
        unsafe { (self.gpu.functions.cuEventDestroy_v2)(self.event) };
    }
}
