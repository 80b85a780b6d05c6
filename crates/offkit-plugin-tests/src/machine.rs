//! What a test has: a device, with a context and a queue.

use std::sync::mpsc::channel;
use std::time::Duration;

use offkit_pi::ffi::{PI_DEVICE_TYPE_ALL, PI_INVALID_OPERATION, PI_UNSUPPORTED_FEATURE, pi_result};
use offkit_pi::host::{
    Buffer, CommandStatus, Context, Device, Event, PiError, Plugin, Program, Queue, QueueProperties,
};

use crate::Code;

/// Long enough for a test that would otherwise hang.
pub(crate) const LIMIT: Duration = Duration::from_secs(60);

/// The first device of a plugin.
pub(crate) struct Machine<'a> {
    pub(crate) device: Device,
    pub(crate) context: Context,
    pub(crate) queue: Queue,
    code: Option<&'a Code>,
}

impl<'a> Machine<'a> {
    pub(crate) fn new(plugin: &Plugin, code: Option<&'a Code>) -> Result<Machine<'a>, PiError> {
        let mut devices = Vec::new();
        for platform in plugin.platforms()? {
            devices.extend(platform.devices(PI_DEVICE_TYPE_ALL)?);
        }
        assert!(!devices.is_empty(), "the plugin has no device");
        let device = devices.remove(0);
        let context = Context::new(&[&device])?;
        let queue = context.queue(&device, QueueProperties::default())?;
        Ok(Machine {
            device,
            context,
            queue,
            code,
        })
    }

    pub(crate) fn code(&self) -> &'a Code {
        self.code.expect("the test says that it needs code")
    }

    /// Another queue, whose commands come in any order.
    pub(crate) fn out_of_order(&self) -> Result<Queue, PiError> {
        let properties = QueueProperties {
            out_of_order: true,
            ..QueueProperties::default()
        };
        self.context.queue(&self.device, properties)
    }

    /// The kernels, built; of PTX where the device takes no SPIR-V and there is some.
    pub(crate) fn kernels(&self) -> Result<Program, PiError> {
        let Code { kernels, ptx, .. } = self.code();
        let program = match ptx {
            Some(ptx) if !self.device.il_version()?.contains("SPIR-V") => {
                self.context.program_with_binary(&self.device, ptx)?
            }
            _ => self.context.program_with_il(kernels)?,
        };
        program.build("")?;
        Ok(program)
    }

    /// All that a buffer has.
    pub(crate) fn read(&self, buffer: &Buffer) -> Result<Vec<u8>, PiError> {
        let mut bytes = vec![0; buffer.size()];
        self.queue.read_buffer(buffer, 0, &mut bytes, &[])?;
        Ok(bytes)
    }
}

/// Waits for a command, but not for ever.
pub(crate) fn end_of(event: &Event) -> Result<CommandStatus, PiError> {
    let (sender, receiver) = channel();
    event.on_completion(move |status| {
        // Nobody may be waiting any more.
        let _ = sender.send(status);
    })?;
    Ok(receiver.recv_timeout(LIMIT).expect("the command never ends"))
}

/// Floats as they lie in memory.
pub(crate) fn bytes(values: &[f32]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_ne_bytes()).collect()
}

/// Numbers, of the bytes that a buffer has.
pub(crate) fn words(bytes: &[u8]) -> Vec<i32> {
    let words = bytes.as_chunks().0.iter();
    words.map(|word| i32::from_ne_bytes(*word)).collect()
}

/// Whether a plugin says that it does not have something.
pub(crate) fn is_unsupported(error: &PiError) -> bool {
    [PI_INVALID_OPERATION, PI_UNSUPPORTED_FEATURE].contains(&error.result())
}

/// Has the commands so far started, where hosts can ask for that: in PI 2.3 they cannot.
pub(crate) fn flush(queue: &Queue) -> Result<(), PiError> {
    match queue.flush() {
        Err(PiError::NotInVersion { .. }) => Ok(()),
        flushed => flushed,
    }
}

/// Sees to it that something is refused with that result. A plugin that cannot do it at all says so.
pub(crate) fn refused<T>(what: &str, result: Result<T, PiError>, expected: pi_result) -> Result<(), PiError> {
    match result {
        Ok(_) => panic!("{what} is not refused"),
        Err(error) if error.result() == expected => Ok(()),
        Err(error) if is_unsupported(&error) => Err(error),
        Err(error) => panic!("{what} is refused with {error}, not {expected}"),
    }
}
