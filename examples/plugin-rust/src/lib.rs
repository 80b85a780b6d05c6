//! A plugin in Rust: a device that knows one kernel, saxpy, and runs it on this machine.
//!
//! ```console
//! $ cargo build -p offkit-example-plugin
//! $ OFFKIT_PLUGINS=target/debug/liboffkit_example_plugin.so offkit devices
//! ```
//!
//! Commands are done before they are submitted, so events are always complete. What is left out, offkit-pi answers with
//! an error that says so.

use offkit_image::DeviceImage;
use offkit_pi::NdRange;
use offkit_pi::ffi::*;
use offkit_pi::plugin::{
    Argument, BufferRequest, Command, Context, Device, Done, Error, Info, Kernel, Memory, NewEvent, Platform,
    Plugin, Program, Queue, Ref, Result, Unsupported,
};
use std::sync::{Arc, LazyLock, Mutex};

/// The plugin: its name, and which type is which kind of object.
struct Example;

impl Plugin for Example {
    type Platform = HostPlatform;
    type Device = HostDevice;
    type Context = HostContext;
    type Queue = HostQueue;
    type Memory = HostBuffer;
    type Sampler = Unsupported;
    type Program = HostProgram;
    type Kernel = Saxpy;
    type Event = Done;
    const NAME: &'static str = "example";

    fn platforms() -> Result<Vec<Arc<HostPlatform>>> {
        static PLATFORM: LazyLock<Arc<HostPlatform>> =
            LazyLock::new(|| Arc::new(HostPlatform(Arc::new(HostDevice))));
        Ok(vec![Arc::clone(&PLATFORM)])
    }
}

// The functions of the plugin as the interface has them, and the one that the library exports.
offkit_pi::define_plugin! {
    /// For programs that link the plugin in.
    pub const EXAMPLE: Example;
}
offkit_pi::export_plugin!(Example);

struct HostPlatform(Arc<HostDevice>);

impl Platform<Example> for HostPlatform {
    fn info(&self, name: pi_platform_info) -> Result<Info> {
        match name {
            PI_PLATFORM_INFO_NAME => Ok("Example".into()),
            PI_PLATFORM_INFO_VENDOR => Ok("offkit".into()),
            name => Err(Error::unknown_query(name)),
        }
    }

    fn devices(&self) -> Result<Vec<Arc<HostDevice>>> {
        Ok(vec![Arc::clone(&self.0)])
    }
}

struct HostDevice;

/// Code is good if it has the name of the kernel in it, as text or as SPIR-V.
fn is_known(code: &[u8]) -> bool {
    code.windows(5).any(|part| part == b"saxpy")
}

impl Device<Example> for HostDevice {
    fn kind(&self) -> pi_device_type {
        PI_DEVICE_TYPE_ACC
    }

    fn info(&self, name: pi_device_info) -> Result<Info> {
        match name {
            PI_DEVICE_INFO_NAME => Ok("Example in Rust".into()),
            PI_DEVICE_INFO_VENDOR => Ok("offkit".into()),
            PI_DEVICE_INFO_DRIVER_VERSION => Ok("1.0".into()),
            PI_DEVICE_INFO_MAX_WORK_GROUP_SIZE => Ok(256usize.into()),
            name => Err(Error::unknown_query(name)),
        }
    }

    fn select_binary(&self, images: &[DeviceImage<'_>]) -> Result<Option<usize>> {
        let suits = |image: &DeviceImage<'_>| image.bytes().is_ok_and(is_known);
        Ok(images.iter().position(suits))
    }
}

struct HostContext;

impl Context<Example> for HostContext {
    fn create(_: &[Arc<HostDevice>]) -> Result<HostContext> {
        Ok(HostContext)
    }

    fn create_queue(_: &Ref<HostContext>, _: &Arc<HostDevice>, _: pi_queue_properties) -> Result<HostQueue> {
        Ok(HostQueue)
    }

    fn create_buffer(_: &Ref<HostContext>, request: BufferRequest<'_>) -> Result<HostBuffer> {
        if request.storage.is_some() {
            return Err(Error::unsupported("a buffer in the host's memory"));
        }
        let bytes = request.copy.map_or_else(|| vec![0; request.size], <[u8]>::to_vec);
        Ok(HostBuffer(Mutex::new(bytes)))
    }

    fn create_program(_: &Ref<HostContext>, il: &[u8]) -> Result<HostProgram> {
        Ok(HostProgram(is_known(il)))
    }
}

struct HostBuffer(Mutex<Vec<u8>>);

/// A buffer as an argument that may not be set yet.
type Buffer = Option<Ref<HostBuffer>>;

impl Memory<Example> for HostBuffer {}

struct HostProgram(bool);

impl Program<Example> for HostProgram {
    fn build(&self, _: &[Arc<HostDevice>], _: &str) -> Result<()> {
        let error = || Error::new(PI_BUILD_PROGRAM_FAILURE, "there is no saxpy in it");
        self.0.then_some(()).ok_or_else(error)
    }

    fn kernel_names(&self) -> Result<Vec<String>> {
        Ok(vec!["saxpy".to_owned()])
    }

    fn create_kernel(_: &Ref<HostProgram>, name: &str) -> Result<Saxpy> {
        match name {
            "saxpy" => Ok(Saxpy::default()),
            _ => Err(Error::new(PI_INVALID_KERNEL_NAME, "the kernel is saxpy")),
        }
    }
}

/// `y[i] += a * x[i]`: `a`, and the buffers `x` and `y`, as far as they are set.
#[derive(Default)]
struct Saxpy(Mutex<(Option<f32>, [Buffer; 2])>);

impl Kernel<Example> for Saxpy {
    fn name(&self) -> String {
        "saxpy".to_owned()
    }

    fn num_args(&self) -> u32 {
        3
    }

    fn set_argument(&self, index: u32, value: Argument<'_, Example>) -> Result<()> {
        let mut arguments = self.0.lock().unwrap();
        match (index, value) {
            (0, Argument::Bytes(&[a, b, c, d])) => arguments.0 = Some(f32::from_ne_bytes([a, b, c, d])),
            (1, Argument::Memory(memory)) => arguments.1[0] = memory,
            (2, Argument::Memory(memory)) => arguments.1[1] = memory,
            (0..=2, value) => return Err(Error::new(PI_INVALID_ARG_VALUE, value)),
            _ => return Err(Error::new(PI_INVALID_ARG_INDEX, "saxpy takes three arguments")),
        }
        Ok(())
    }
}

impl Saxpy {
    fn run(&self, range: &NdRange) -> Result<()> {
        let (Some(a), [Some(x), Some(y)]) = &*self.0.lock().unwrap() else {
            return Err(Error::new(PI_INVALID_KERNEL_ARGS, "not all arguments are set"));
        };
        // A copy, for x may be y.
        let x = x.0.lock().unwrap().clone();
        let mut y = y.0.lock().unwrap();
        let items = range.offset[0]..range.offset[0].saturating_add(range.global[0]);
        if range.dimensions != 1 || items.end > x.len().min(y.len()) / 4 {
            return Err(Error::new(
                PI_INVALID_GLOBAL_WORK_SIZE,
                "it is not within x and y",
            ));
        }
        let (x, y) = (x.as_chunks().0, y.as_chunks_mut().0);
        for (x, y) in x[items.clone()].iter().zip(&mut y[items]) {
            *y = (f32::from_ne_bytes(*y) + a * f32::from_ne_bytes(*x)).to_ne_bytes();
        }
        Ok(())
    }
}

struct HostQueue;

impl Queue<Example> for HostQueue {
    fn enqueue(
        _: &Ref<HostQueue>,
        command: Command<Example>,
        _: &[Ref<Done>],
        event: NewEvent<'_, Example>,
    ) -> Result<()> {
        use Command::{Barrier, Launch, Marker, ReadBuffer, WriteBuffer};
        match command {
            Launch { kernel, range } => kernel.run(&range)?,
            ReadBuffer {
                buffer,
                offset,
                mut target,
            } => {
                target.write(0, &buffer.0.lock().unwrap()[offset..][..target.size()]);
            }
            WriteBuffer {
                buffer,
                offset,
                source,
            } => {
                source.read(0, &mut buffer.0.lock().unwrap()[offset..][..source.size()]);
            }
            Marker | Barrier => {}
            _ => return Err(Error::unsupported("this command")),
        }
        event.create(|| Done).map(drop)
    }

    fn finish(&self) -> Result<()> {
        Ok(())
    }
}
