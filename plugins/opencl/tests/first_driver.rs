//! What a host may ask for in OpenCL's ways, on the first driver that is found.

use offkit_pi::ffi::*;
use offkit_pi::host::{CommandStatus, Context, Plugin, QueueProperties};
use offkit_pi::table::{Api, Layout, Slot};
use std::ptr::{null, null_mut};
use std::sync::mpsc::channel;
use std::time::Duration;

/// Calls a function of the interface.
macro_rules! call {
    ($api:expr, $function:ident($($argument:expr),* $(,)?)) => {{
        let function = $api.$function.expect(stringify!($function));
        // SAFETY: handles as they are wanted, and memory as large as it is said to be.
        unsafe { function($($argument),*) }
    }};
}

/// The same, which must succeed.
macro_rules! done {
    ($api:expr, $function:ident($($argument:expr),* $(,)?)) => {
        assert_eq!(call!($api, $function($($argument),*)), PI_SUCCESS, stringify!($function))
    };
}

/// A context of the first device. Nothing here is released: each test has one of its own.
struct Machine {
    api: Api,
    device: pi_device,
    context: pi_context,
}

impl Machine {
    /// `None` if there is no driver.
    #[expect(clippy::print_stderr, reason = "why nothing was tested")]
    fn new() -> Option<Machine> {
        let plugin = Plugin::built_in(&offkit_plugin_opencl::BUILT_IN).unwrap();
        if plugin.platforms().map_or(true, |platforms| platforms.is_empty()) {
            assert!(
                std::env::var_os("OFFKIT_REQUIRE_TOOLS").is_none_or(|required| required != "1"),
                "no OpenCL driver is installed"
            );
            eprintln!("skipped: no OpenCL driver is installed");
            return None;
        }
        let api = *plugin.api();
        let (mut platform, mut device, mut context) = (null_mut(), null_mut(), null_mut());
        done!(api, piPlatformsGet(1, &raw mut platform, null_mut()));
        done!(
            api,
            piDevicesGet(platform, PI_DEVICE_TYPE_ALL, 1, &raw mut device, null_mut())
        );
        done!(
            api,
            piContextCreate(null(), 1, &raw const device, None, null_mut(), &raw mut context)
        );
        Some(Machine { api, device, context })
    }

    /// What making a program of so many texts, all of them this one, comes to.
    fn of_texts(&self, count: u32, text: &str, length: Option<usize>) -> (pi_result, pi_program) {
        let text = std::ffi::CString::new(text).unwrap();
        let (mut start, mut program) = (text.as_ptr(), null_mut());
        let lengths = length.as_ref().map_or(null(), |length| &raw const *length);
        let result = call!(
            self.api,
            piclProgramCreateWithSource(self.context, count, &raw mut start, lengths, &raw mut program)
        );
        (result, program)
    }
}

/// The plugin's functions in the newest version of the interface.
fn newest() -> Api {
    let layout = &Layout::V15_47;
    let mut record: Vec<Slot> = vec![None; layout.record_size().div_ceil(size_of::<Slot>())];
    let version = layout.version().as_bytes();
    // SAFETY: the version fits into the record, which is zeroed and as large as that version's is.
    let result = unsafe {
        let start = record.as_mut_ptr().cast::<u8>();
        start.copy_from_nonoverlapping(version.as_ptr(), version.len());
        offkit_plugin_opencl::BUILT_IN.init()(start.cast())
    };
    assert_eq!(result, PI_SUCCESS);
    // SAFETY: the plugin has filled in the table of that version.
    unsafe { Api::from_slots(layout, &record[layout.table_offset() / size_of::<Slot>()..]) }
}

#[test]
fn empty_texts_are_programs_and_no_texts_are_none() {
    let Some(machine) = Machine::new() else { return };
    for length in [None, Some(0)] {
        let (result, program) = machine.of_texts(1, "", length);
        assert_eq!(result, PI_SUCCESS);
        done!(machine.api, piProgramRelease(program));
    }
    assert_eq!(machine.of_texts(0, "", None).0, PI_INVALID_VALUE);
    // The host of this project, which has texts without a NUL.
    let plugin = Plugin::built_in(&offkit_plugin_opencl::BUILT_IN).unwrap();
    let platform = plugin.platforms().unwrap().remove(0);
    let device = platform.devices(PI_DEVICE_TYPE_ALL).unwrap().remove(0);
    let context = Context::new(&[&device]).unwrap();
    drop(context.program_with_source("").unwrap());
}

#[test]
fn a_handle_is_a_value_that_sets_a_buffer() {
    let Some(machine) = Machine::new() else { return };
    let Machine { api, device, context } = machine;
    let source = "kernel void k(global ulong *out, ulong number) { out[0] = number + 1; }";
    let (result, program) = machine.of_texts(1, source, None);
    assert_eq!(result, PI_SUCCESS);
    // So that the driver knows what the second argument is.
    let options = c"-cl-kernel-arg-info".as_ptr();
    done!(api, piProgramBuild(program, 0, null(), options, None, null_mut()));
    let (mut kernel, mut memory, mut queue) = (null_mut(), null_mut(), null_mut());
    done!(api, piKernelCreate(program, c"k".as_ptr(), &raw mut kernel));
    let access = PI_MEM_FLAGS_ACCESS_RW;
    done!(
        api,
        piMemBufferCreate(context, access, 8, null_mut(), &raw mut memory, null())
    );
    done!(api, piQueueCreate(context, device, 0, &raw mut queue));
    let handle = memory.addr().to_ne_bytes();
    // The same bytes, once a buffer and once a number.
    for index in 0..2 {
        done!(api, piKernelSetArg(kernel, index, 8, handle.as_ptr().cast()));
    }
    let (one, mut out) = (1_usize, [0_u8; 8]);
    done!(
        api,
        piEnqueueKernelLaunch(
            queue,
            kernel,
            1,
            null(),
            &raw const one,
            null(),
            0,
            null(),
            null_mut()
        )
    );
    done!(
        api,
        piEnqueueMemBufferRead(
            queue,
            memory,
            PI_TRUE,
            0,
            8,
            out.as_mut_ptr().cast(),
            0,
            null(),
            null_mut()
        )
    );
    assert_eq!(usize::from_ne_bytes(out), memory.addr() + 1);
}

#[test]
fn an_event_of_a_native_one_knows_what_its_command_does() {
    let Some(machine) = Machine::new() else { return };
    let Machine { api, device, context } = machine;
    let newest = newest();
    let (mut queue, mut memory, mut fill, mut user) = (null_mut(), null_mut(), null_mut(), null_mut());
    done!(api, piQueueCreate(context, device, 0, &raw mut queue));
    let access = PI_MEM_FLAGS_ACCESS_RW;
    done!(
        api,
        piMemBufferCreate(context, access, 4, null_mut(), &raw mut memory, null())
    );
    let byte = 1_u8;
    let pattern = (&raw const byte).cast();
    done!(
        api,
        piEnqueueMemBufferFill(queue, memory, pattern, 1, 0, 4, 0, null(), &raw mut fill)
    );
    done!(api, piEventCreate(context, &raw mut user));
    for (event, expected) in [
        (fill, PI_COMMAND_TYPE_MEM_BUFFER_FILL),
        (user, PI_COMMAND_TYPE_USER),
    ] {
        let (mut native, mut again) = (0, null_mut());
        done!(api, piextEventGetNativeHandle(event, &raw mut native));
        done!(
            newest,
            piextEventCreateWithNativeHandle_b(native, context, false.into(), &raw mut again)
        );
        let (mut command_type, mut queue) = (0_u32, 1_usize);
        let (name, to) = (PI_EVENT_INFO_COMMAND_TYPE, (&raw mut command_type).cast());
        done!(api, piEventGetInfo(again, name, 4, to, null_mut()));
        assert_eq!(command_type, expected);
        let (name, to) = (PI_EVENT_INFO_COMMAND_QUEUE, (&raw mut queue).cast());
        done!(api, piEventGetInfo(again, name, 8, to, null_mut()));
        assert_eq!(queue, 0);
    }
}

#[test]
fn what_waits_for_an_event_that_fails_is_said_to_have_failed() {
    if Machine::new().is_none() {
        return;
    }
    let plugin = Plugin::built_in(&offkit_plugin_opencl::BUILT_IN).unwrap();
    let platform = plugin.platforms().unwrap().remove(0);
    let device = platform.devices(PI_DEVICE_TYPE_ALL).unwrap().remove(0);
    let context = Context::new(&[&device]).unwrap();
    let queue = context.queue(&device, QueueProperties::default()).unwrap();
    let buffer = context.buffer(4).unwrap();
    let gate = context.user_event().unwrap();
    let fill = || queue.fill_buffer(&buffer, &[1], 0, 4, &[gate.event()]).unwrap();
    let (first, second) = (fill(), fill());
    // Long enough for a test that would otherwise hang.
    let limit = Duration::from_secs(60);
    // PoCL calls back nobody who has asked for it before a command fails.
    let waiting = std::thread::spawn(move || first.wait_for(limit).unwrap_err());
    std::thread::sleep(Duration::from_millis(50));
    drop(gate);
    waiting.join().unwrap();
    let (sender, receiver) = channel();
    second
        .on_completion(move |status| sender.send(status).unwrap_or(()))
        .unwrap();
    let told = receiver.recv_timeout(limit).unwrap();
    assert!(matches!(told, CommandStatus::Failed(_)), "{told:?}");
    assert!(matches!(second.status().unwrap(), CommandStatus::Failed(_)));
    second.wait().unwrap_err();
}
