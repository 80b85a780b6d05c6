//! A plugin for tests. Its device adds: "IL" is a list of kernel names separated by spaces, and a kernel,
//! whatever its name, takes a buffer and a byte, and adds the byte to as many bytes of the buffer as there
//! are work-items. Commands are done when they are submitted.

use offkit_image::DeviceImage;
use offkit_pi::NdRange;
use offkit_pi::ffi::*;
use offkit_pi::host::UsmKind;
use offkit_pi::plugin::*;
use std::sync::{Arc, LazyLock, Mutex, OnceLock};

pub(crate) struct Adder;

impl Plugin for Adder {
    type Platform = MockPlatform;
    type Device = MockDevice;
    type Context = MockContext;
    type Queue = MockQueue;
    type Memory = MockBuffer;
    type Sampler = Unsupported;
    type Program = MockProgram;
    type Kernel = MockKernel;
    type Event = MockEvent;
    const NAME: &'static str = "adder";

    fn platforms() -> Result<Vec<Arc<MockPlatform>>> {
        static PLATFORM: LazyLock<Arc<MockPlatform>> = LazyLock::new(|| {
            Arc::new(MockPlatform {
                devices: [2, 3].map(|native| Arc::new(MockDevice { native })).into(),
            })
        });
        Ok(vec![Arc::clone(&PLATFORM)])
    }
}

offkit_pi::define_plugin! {
    pub(crate) const ADDER: Adder;
}

pub(crate) struct MockPlatform {
    devices: Vec<Arc<MockDevice>>,
}

impl Platform<Adder> for MockPlatform {
    fn info(&self, name: pi_platform_info) -> Result<Info> {
        match name {
            PI_PLATFORM_INFO_NAME => Ok("Adders".into()),
            name => Err(Error::unknown_query(name)),
        }
    }

    fn devices(&self) -> Result<Vec<Arc<MockDevice>>> {
        Ok(self.devices.clone())
    }

    fn native_handle(&self) -> Result<pi_native_handle> {
        Ok(0x70)
    }
}

pub(crate) struct MockDevice {
    native: pi_native_handle,
}

/// The native handle of a part of a device.
const PART: pi_native_handle = 9;

impl Device<Adder> for MockDevice {
    fn kind(&self) -> pi_device_type {
        PI_DEVICE_TYPE_ACC
    }

    fn info(&self, name: pi_device_info) -> Result<Info> {
        match name {
            PI_DEVICE_INFO_NAME => Ok("Adder".into()),
            PI_DEVICE_INFO_MAX_WORK_ITEM_SIZES => Ok([3usize, 2, 1].into()),
            PI_DEVICE_INFO_VENDOR => panic!("the vendor is a secret"),
            name => Err(Error::unknown_query(name)),
        }
    }

    fn partition(_: &Arc<Self>, _: &Partition) -> Result<Vec<Arc<MockDevice>>> {
        Ok(vec![Arc::new(MockDevice { native: PART })])
    }

    fn timer(&self) -> Result<u64> {
        Ok(42)
    }

    fn native_handle(&self) -> Result<pi_native_handle> {
        Ok(self.native)
    }

    fn select_binary(&self, images: &[DeviceImage<'_>]) -> Result<Option<usize>> {
        Ok(images
            .iter()
            .position(|image| image.target.sycl_name() == "adder" && image.size() > 0))
    }
}

pub(crate) struct MockContext;

impl Context<Adder> for MockContext {
    fn create(_: &[Arc<MockDevice>]) -> Result<MockContext> {
        Ok(MockContext)
    }

    fn create_queue(_: &Ref<Self>, _: &Arc<MockDevice>, _: pi_queue_properties) -> Result<MockQueue> {
        Ok(MockQueue)
    }

    fn create_buffer(_: &Ref<Self>, request: BufferRequest<'_>) -> Result<MockBuffer> {
        let data = request.copy.map_or_else(|| vec![0; request.size], <[u8]>::to_vec);
        Ok(MockBuffer(Mutex::new(data)))
    }

    fn create_program(_: &Ref<Self>, il: &[u8]) -> Result<MockProgram> {
        let text = String::from_utf8(il.to_vec()).map_err(|error| Error::new(PI_INVALID_VALUE, error))?;
        Ok(MockProgram {
            text,
            build: Mutex::default(),
        })
    }

    fn create_program_with_binary(
        context: &Ref<Self>,
        _: &Arc<MockDevice>,
        binary: &[u8],
    ) -> Result<MockProgram> {
        Self::create_program(context, binary)
    }

    fn from_native(native: NativeHandle, _: &[Arc<MockDevice>]) -> Result<MockContext> {
        Err(arrived(&native))
    }

    fn queue_from_native(
        _: &Ref<Self>,
        _: &Arc<MockDevice>,
        native: NativeHandle,
    ) -> Result<(MockQueue, pi_queue_properties)> {
        Err(arrived(&native))
    }

    fn memory_from_native(_: &Ref<Self>, native: NativeHandle) -> Result<NativeMemory<Adder>> {
        Err(arrived(&native))
    }

    fn program_from_native(_: &Ref<Self>, native: NativeHandle) -> Result<MockProgram> {
        Err(arrived(&native))
    }

    fn kernel_from_native(_: &Ref<Self>, native: NativeHandle) -> Result<(MockKernel, MockProgram)> {
        Err(arrived(&native))
    }

    fn event_from_native(_: &Ref<Self>, native: NativeHandle) -> Result<(MockEvent, pi_command_type)> {
        Err(arrived(&native))
    }

    fn create_user_event(_: &Ref<Self>) -> Result<MockEvent> {
        Ok(MockEvent(OnceLock::new()))
    }

    fn link(
        _: &Ref<Self>,
        _: &[Arc<MockDevice>],
        programs: &[Ref<MockProgram>],
        _: &str,
    ) -> Result<MockProgram> {
        let texts: Vec<&str> = programs.iter().map(|program| program.text.as_str()).collect();
        let program = MockProgram {
            text: texts.join(" "),
            build: Mutex::default(),
        };
        let mut names: Vec<&str> = program.text.split(' ').collect();
        names.sort_unstable();
        let twice = names.windows(2).find(|pair| pair[0] == pair[1]);
        let log = twice.map(|pair| format!("kernel {} is there twice\n", pair[0]));
        program.set_build(log);
        Ok(program)
    }

    fn allocate_usm(
        &self,
        kind: UsmKind,
        device: Option<&Arc<MockDevice>>,
        _: usize,
        _: usize,
    ) -> Result<usize> {
        match kind {
            UsmKind::Host => Ok(0x1000),
            _ if device.is_some_and(|device| device.native == PART) => Ok(0x2000),
            _ => Err(Error::unsupported("memory that is not the host's")),
        }
    }

    fn free_usm(&self, address: usize) -> Result<()> {
        if [0x1000, 0x2000].contains(&address) {
            Ok(())
        } else {
            Err(Error::new(PI_INVALID_VALUE, "not an allocation"))
        }
    }

    /// As a driver that does not know parts of devices by their objects.
    fn usm_allocation(&self, address: usize) -> Option<UsmAllocation<Adder>> {
        (0x2000..0x2040).contains(&address).then_some(UsmAllocation {
            kind: UsmKind::Device,
            base: 0x2000,
            size: 0x40,
            device: None,
        })
    }
}

/// Native objects are refused, so that tests see what has arrived.
fn arrived(native: &NativeHandle) -> Error {
    let message = format!("native {:#x}, owned: {}", native.handle(), native.is_owned());
    Error::new(PI_INVALID_VALUE, message)
}

pub(crate) struct MockBuffer(Mutex<Vec<u8>>);

impl Memory<Adder> for MockBuffer {
    fn native_handle(&self) -> Result<pi_native_handle> {
        Ok(0x72)
    }
}

pub(crate) struct MockProgram {
    text: String,
    build: Mutex<Build>,
}

impl MockProgram {
    fn set_build(&self, log: Option<String>) {
        let mut build = self.build.lock().unwrap();
        build.status = if log.is_none() {
            PI_PROGRAM_BUILD_STATUS_SUCCESS
        } else {
            PI_PROGRAM_BUILD_STATUS_ERROR
        };
        build.log = log.unwrap_or_default();
    }
}

impl Program<Adder> for MockProgram {
    fn compile(&self, devices: &[Arc<MockDevice>], options: &str) -> Result<()> {
        self.build(devices, options)
    }

    fn build(&self, devices: &[Arc<MockDevice>], options: &str) -> Result<()> {
        // So that tests see what has arrived.
        let only = devices.iter().map(|device| format!(" for {}", device.native));
        self.build.lock().unwrap().options = options.to_owned() + &only.collect::<String>();
        let wrong = self.text.contains('!').then(|| "no ! in names\n".to_owned());
        self.set_build(wrong.clone());
        wrong.map_or(Ok(()), |_| {
            Err(Error::new(PI_BUILD_PROGRAM_FAILURE, "it does not build"))
        })
    }

    fn build_info(&self, _: &Arc<MockDevice>) -> Build {
        self.build.lock().unwrap().clone()
    }

    fn kernel_names(&self) -> Result<Vec<String>> {
        Ok(self.text.split(' ').map(str::to_owned).collect())
    }

    fn create_kernel(program: &Ref<Self>, name: &str) -> Result<MockKernel> {
        if program.text.split(' ').any(|known| known == name) {
            Ok(MockKernel {
                name: name.to_owned(),
                arguments: Mutex::default(),
            })
        } else {
            Err(Error::new(
                PI_INVALID_KERNEL_NAME,
                format_args!("no kernel {name}"),
            ))
        }
    }
}

pub(crate) struct MockKernel {
    name: String,
    arguments: Mutex<(Option<Ref<MockBuffer>>, Option<u8>)>,
}

impl Kernel<Adder> for MockKernel {
    fn name(&self) -> String {
        self.name.clone()
    }

    fn num_args(&self) -> u32 {
        2
    }

    fn set_argument(&self, index: u32, value: Argument<'_, Adder>) -> Result<()> {
        let mut arguments = self.arguments.lock().unwrap();
        match (index, value) {
            (0, Argument::Memory(buffer)) => arguments.0 = buffer,
            (1, Argument::Bytes([value])) => arguments.1 = Some(*value),
            (0 | 1, _) => return Err(Error::new(PI_INVALID_ARG_VALUE, "a buffer, and then a byte")),
            _ => return Err(Error::new(PI_INVALID_ARG_INDEX, "two arguments")),
        }
        Ok(())
    }

    fn group_info(&self, _: &Arc<MockDevice>, name: pi_kernel_group_info) -> Result<Info> {
        match name {
            PI_KERNEL_GROUP_INFO_WORK_GROUP_SIZE => Ok(64usize.into()),
            PI_KERNEL_GROUP_INFO_COMPILE_WORK_GROUP_SIZE => Ok([0usize; 3].into()),
            name => Err(Error::unknown_query(name)),
        }
    }
}

pub(crate) struct MockQueue;

impl Queue<Adder> for MockQueue {
    fn enqueue(
        _: &Ref<Self>,
        command: Command<Adder>,
        _: &[Ref<MockEvent>],
        event: NewEvent<'_, Adder>,
    ) -> Result<()> {
        let done = match command {
            Command::Launch { kernel, range } => add(&kernel, &range)?,
            Command::ReadBuffer {
                buffer,
                offset,
                mut target,
            } => {
                let size = target.size();
                target.write(0, &buffer.0.lock().unwrap()[offset..offset + size]);
                Ok(())
            }
            Command::WriteBuffer {
                buffer,
                offset,
                source,
            } => {
                source.read(0, &mut buffer.0.lock().unwrap()[offset..offset + source.size()]);
                Ok(())
            }
            Command::FillBuffer {
                buffer,
                pattern,
                offset,
                size,
            } => {
                for part in buffer.0.lock().unwrap()[offset..offset + size].chunks_mut(pattern.len()) {
                    part.copy_from_slice(&pattern);
                }
                Ok(())
            }
            // There are no allocations to fill.
            Command::Marker | Command::FillUsm { .. } => Ok(()),
            // Refused, so that tests see what has arrived.
            Command::AdviseUsm { advice, .. } => {
                return Err(Error::new(PI_INVALID_VALUE, format_args!("advice {advice:#x}")));
            }
            _ => return Err(Error::unsupported("this command")),
        };
        event.create(|| MockEvent(OnceLock::from(done)))?;
        Ok(())
    }

    fn finish(&self) -> Result<()> {
        Ok(())
    }

    fn native_handle(&self) -> Result<pi_native_handle> {
        Ok(0x71)
    }
}

/// The outer result refuses the command, the inner one fails it.
fn add(kernel: &MockKernel, range: &NdRange) -> Result<Result<(), String>> {
    let (buffer, value) = kernel.arguments.lock().unwrap().clone();
    let (Some(buffer), Some(value)) = (buffer, value) else {
        return Err(Error::new(PI_INVALID_KERNEL_ARGS, "not all arguments are set"));
    };
    let mut data = buffer.0.lock().unwrap();
    let count = range.global.iter().product();
    Ok(match data.get_mut(..count) {
        Some(bytes) => {
            bytes.iter_mut().for_each(|byte| *byte = byte.wrapping_add(value));
            Ok(())
        }
        None => Err(format!("work-item {} is past the end", data.len())),
    })
}

/// Set when the command is done.
pub(crate) struct MockEvent(OnceLock<Result<(), String>>);

impl Event<Adder> for MockEvent {
    fn status(&self) -> Result<pi_event_status> {
        Ok(match self.0.get() {
            None => PI_EVENT_SUBMITTED,
            Some(Ok(())) => PI_EVENT_COMPLETE,
            Some(Err(_)) => PI_COMMAND_EXECUTION_FAILURE.0,
        })
    }

    fn failure(&self) -> Option<String> {
        self.0.get()?.clone().err()
    }

    fn wait(&self) -> Result<()> {
        Ok(())
    }

    fn set_status(&self, _: pi_event_status) -> Result<()> {
        self.0
            .set(Ok(()))
            .map_err(|_| Error::new(PI_INVALID_OPERATION, "the event is complete"))
    }
}
