//! Plugins that know nothing of this crate, one of each release, driven from the host's side. Their functions write
//! down what they are given.

mod releases;

use core::ffi::{CStr, c_char, c_void};
use offkit_pi::BuiltIn;
use offkit_pi::ffi::*;
use offkit_pi::host::{Context, Device, NativeQueue, PiError, Plugin, QueueProperties, UsmKind};
use releases::RELEASES;
use std::cell::RefCell;
use std::ptr::{null, null_mut};

/// Any handle.
type Handle = *mut c_void;

const PLATFORM: usize = 0x10;
const DEVICE: usize = 0x20;
const CONTEXT: usize = 0x30;
const QUEUE: usize = 0x40;
const MEMORY: usize = 0x50;
const PROGRAM: usize = 0x60;
const KERNEL: usize = 0x70;
const EVENT: usize = 0x80;

thread_local! {
    /// What this thread has called.
    static CALLS: RefCell<Vec<String>> = const { RefCell::new(Vec::new()) };
}

fn calls() -> Vec<String> {
    CALLS.take()
}

/// How a parameter is written down.
trait Shown {
    fn shown(&self) -> String;
}

macro_rules! shown {
    ($($type:ty: $value:ident => $text:expr;)*) => {$(
        impl Shown for $type {
            fn shown(&self) -> String {
                let $value = *self;
                $text
            }
        }
    )*};
}

/// A C++ `bool`: the lowest byte of a register.
type Bool = u8;
/// A list of queue properties.
type Properties = *const u64;

shown! {
    Handle: handle => format!("{:#x}", handle.addr());
    usize: number => format!("{number:#x}");
    u32: number => number.to_string();
    i32: number => number.to_string();
    u64: flags => format!("flags {flags:#x}");
    Bool: flag => (flag != 0).to_string();
    *const c_void: address => format!("address {:#x}", address.addr());
    *mut Handle: place => if place.is_null() { "null".to_owned() } else { "to".to_owned() };
    *mut usize: _place => "native to".to_owned();
    *mut i32: _place => "number to".to_owned();
    // SAFETY: hosts pass a handle.
    *const Handle: handles => unsafe { format!("[{:#x}]", handles.read().addr()) };
    // SAFETY: hosts pass a length.
    *const usize: lengths => unsafe { format!("[{}]", lengths.read()) };
    // SAFETY: the test's binaries are text.
    *mut *const u8: binaries => unsafe { format!("[{:?}]", CStr::from_ptr(binaries.read().cast())) };
    // SAFETY: three words up to the end of the list of flags, one where there are none.
    Properties: list => unsafe {
        match list.is_null() {
            true => "null".to_owned(),
            false if list.read() == 0 => "{0}".to_owned(),
            false => format!("{{{:#x}, {:#x}, {}}}", list.read(), list.add(1).read(), list.add(2).read()),
        }
    };
    *const Access: access => match access.is_null() {
        true => "null".to_owned(),
        // SAFETY: hosts pass a record.
        false => unsafe { format!("access {} {}", (*access).kind, (*access).access) },
    };
}

/// How a kernel uses a memory object.
#[repr(C)]
struct Access {
    kind: u32,
    next: *mut c_void,
    access: u32,
}

/// Where a function puts what it makes.
trait Place {
    fn fill(self, with: usize);
}

impl Place for *mut Handle {
    fn fill(self, with: usize) {
        // SAFETY: hosts pass a place.
        unsafe { self.write(with as Handle) };
    }
}

impl Place for *mut usize {
    fn fill(self, with: usize) {
        // SAFETY: hosts pass a place.
        unsafe { self.write(with) };
    }
}

impl Place for *mut i32 {
    fn fill(self, with: usize) {
        // SAFETY: hosts pass a place.
        unsafe { self.write(with as i32) };
    }
}

macro_rules! recorders {
    ($($name:ident($($parameter:ident: $type:ty),*) $(=> $($place:ident = $value:expr),*)?;)*) => {$(
        #[expect(non_snake_case, reason = "as in the C interface")]
        unsafe extern "C" fn $name($($parameter: $type),*) -> i32 {
            let arguments: &[String] = &[$($parameter.shown()),*];
            let call = format!("{}({})", stringify!($name), arguments.join(", "));
            CALLS.with_borrow_mut(|calls| calls.push(call));
            $($(Place::fill($place, $value);)*)?
            0
        }
    )*

    /// A function by its name with the letter of its revision.
    fn recorder(name: &str) -> Option<*const c_void> {
        Some(match name {
            $(stringify!($name) => $name as *const c_void,)*
            _ => return None,
        })
    }};
}

// The letters are those of the tables in `data`.
recorders! {
    piContextCreate_a(properties: *const c_void, count: u32, devices: *const Handle, notify: *const c_void, data: Handle, context: *mut Handle)
        => context = CONTEXT;
    piContextRelease_a(context: Handle);
    piQueueCreate_a(context: Handle, device: Handle, flags: u64, queue: *mut Handle) => queue = QUEUE;
    piextQueueCreate_a(context: Handle, device: Handle, properties: Properties, queue: *mut Handle) => queue = QUEUE;
    piextQueueCreate2_a(context: Handle, device: Handle, properties: Properties, queue: *mut Handle) => queue = QUEUE;
    piQueueFlush_a(queue: Handle);
    piQueueRelease_a(queue: Handle);
    piGetDeviceAndHostTimer_a(device: Handle, device_time: *mut usize, host_time: *mut usize) => device_time = 7, host_time = 8;
    piextQueueGetNativeHandle_a(queue: Handle, native: *mut usize) => native = 0x111;
    piextQueueGetNativeHandle_b(queue: Handle, native: *mut usize, kind: *mut i32) => native = 0x111, kind = 4;
    piextQueueGetNativeHandle2_a(queue: Handle, native: *mut usize, kind: *mut i32) => native = 0x111, kind = 5;
    piextQueueCreateWithNativeHandle_a(native: usize, context: Handle, queue: *mut Handle) => queue = QUEUE;
    piextQueueCreateWithNativeHandle_b(native: usize, context: Handle, queue: *mut Handle, owned: Bool) => queue = QUEUE;
    piextQueueCreateWithNativeHandle_c(native: usize, context: Handle, device: Handle, owned: Bool, queue: *mut Handle)
        => queue = QUEUE;
    piextQueueCreateWithNativeHandle_d(native: usize, kind: i32, context: Handle, device: Handle, owned: Bool, properties: Properties, queue: *mut Handle)
        => queue = QUEUE;
    piextQueueCreateWithNativeHandle2_a(native: usize, kind: i32, context: Handle, device: Handle, owned: Bool, properties: Properties, queue: *mut Handle)
        => queue = QUEUE;
    piextContextCreateWithNativeHandle_a(native: usize, count: u32, devices: *const Handle, context: *mut Handle)
        => context = CONTEXT;
    piextContextCreateWithNativeHandle_b(native: usize, count: u32, devices: *const Handle, owned: Bool, context: *mut Handle)
        => context = CONTEXT;
    piextMemGetNativeHandle_a(memory: Handle, native: *mut usize) => native = 0x222;
    piextMemGetNativeHandle_b(memory: Handle, device: Handle, native: *mut usize) => native = 0x222;
    piextMemCreateWithNativeHandle_a(native: usize, memory: *mut Handle) => memory = MEMORY;
    piextMemCreateWithNativeHandle_b(native: usize, context: Handle, owned: Bool, memory: *mut Handle) => memory = MEMORY;
    piProgramCreateWithBinary_a(context: Handle, count: u32, devices: *const Handle, lengths: *const usize, binaries: *mut *const u8, status: *mut i32, program: *mut Handle)
        => program = PROGRAM;
    piProgramCreateWithBinary_b(context: Handle, count: u32, devices: *const Handle, lengths: *const usize, binaries: *mut *const u8, entries: usize, metadata: *const c_void, status: *mut i32, program: *mut Handle)
        => program = PROGRAM;
    piextProgramCreateWithNativeHandle_a(native: usize, context: Handle, program: *mut Handle) => program = PROGRAM;
    piextProgramCreateWithNativeHandle_b(native: usize, context: Handle, owned: Bool, program: *mut Handle) => program = PROGRAM;
    piextEventCreateWithNativeHandle_a(native: usize, event: *mut Handle) => event = EVENT;
    piextEventCreateWithNativeHandle_b(native: usize, context: Handle, owned: Bool, event: *mut Handle) => event = EVENT;
    piEventCreate_a(context: Handle, event: *mut Handle) => event = EVENT;
    piEventRelease_a(event: Handle);
    piextKernelSetArgMemObj_a(kernel: Handle, index: u32, memory: *const Handle);
    piextKernelSetArgMemObj_b(kernel: Handle, index: u32, access: *const Access, memory: *const Handle);
    piextUSMHostAlloc_a(address: *mut Handle, context: Handle, properties: Properties, size: usize, alignment: u32)
        => address = 0x1000;
    piextUSMFree_a(context: Handle, address: Handle);
    piextUSMEnqueueMemAdvise_a(queue: Handle, start: *const c_void, size: usize, advice: u32, event: *mut Handle) => event = EVENT;
}

// Functions that are not written down, or do more.

unsafe extern "C" fn one_handle<const HANDLE: usize>(
    room: u32,
    handles: *mut Handle,
    count: *mut u32,
) -> i32 {
    // SAFETY: hosts pass room for the handles, or null, and a place for their number, or null.
    unsafe {
        if room > 0 && !handles.is_null() {
            handles.write(HANDLE as Handle);
        }
        if let Some(count) = count.as_mut() {
            *count = 1;
        }
    }
    0
}

unsafe extern "C" fn devices(_: Handle, _: u64, room: u32, handles: *mut Handle, count: *mut u32) -> i32 {
    // SAFETY: as above.
    unsafe { one_handle::<DEVICE>(room, handles, count) }
}

/// As libpi_opencl of 15.47 answers: bit sets say 4 bytes and write 8; truth values take a room of 4 bytes, end the
/// process at 8, and some of them crash at a null pointer.
unsafe extern "C" fn device_info(
    _: Handle,
    name: u32,
    room: usize,
    value: *mut c_void,
    size: *mut usize,
) -> i32 {
    let (answered, bytes): (usize, u64) = match name {
        PI_DEVICE_INFO_EXECUTION_CAPABILITIES => (4, 3),
        PI_DEVICE_INFO_AVAILABLE | PI_DEVICE_INFO_ATOMIC_64 => {
            assert!(
                room == 4 && !value.is_null(),
                "a real plugin would end the process"
            );
            // SAFETY: the room is of 4 bytes.
            unsafe { value.cast::<u32>().write(1) };
            return 0;
        }
        _ => return -30,
    };
    // SAFETY: a real plugin writes this much.
    unsafe {
        if !value.is_null() {
            assert!(room >= answered);
            value.cast::<u64>().write(bytes);
        }
        if let Some(size) = size.as_mut() {
            *size = answered;
        }
    }
    0
}

/// Fails in a way that only words tell, where the version has them.
unsafe extern "C" fn see_last_error(_: Handle, _: u32, _: usize, _: *mut c_void, _: *mut usize) -> i32 {
    -996
}

unsafe extern "C" fn last_error(text: *mut *const c_char) -> i32 {
    // SAFETY: hosts pass a place for a pointer.
    unsafe { text.write(c"the driver is on holiday".as_ptr()) };
    -6
}

unsafe extern "C" fn tear_down(parameter: *mut c_void) -> i32 {
    let call = if parameter.is_null() {
        "torn down"
    } else {
        "torn down and said so"
    };
    CALLS.with_borrow_mut(|calls| calls.push(call.to_owned()));
    if !parameter.is_null() {
        // SAFETY: a place for a `bool`.
        unsafe { parameter.cast::<u8>().write(1) };
    }
    0
}

unsafe extern "C" fn unsupported() -> i32 {
    -59
}

/// `piPluginInit` of a release. Like the real ones it compares versions as text, and takes hosts that seem newer:
/// it then writes the record of its own version, whatever was offered.
unsafe extern "C" fn init<const RELEASE: usize>(record: *mut c_void) -> pi_result {
    let release = &RELEASES[RELEASE];
    // SAFETY: hosts leave room for the record of any version, which begins with theirs.
    unsafe {
        let offered = CStr::from_ptr(record.cast()).to_str().unwrap();
        if offered < release.version {
            return PI_INVALID_OPERATION;
        }
        let version = format!(
            "{}{}\0",
            release.version,
            if release.version.len() > 3 { ".1" } else { "" }
        );
        let place = record.cast::<u8>().add(release.plugin_version_offset);
        place.copy_from_nonoverlapping(version.as_ptr(), version.len());
        for slot in release.slots() {
            let function = match slot.function {
                "piPlatformsGet" => one_handle::<PLATFORM> as *const c_void,
                "piDevicesGet" => devices as *const c_void,
                "piDeviceGetInfo" => device_info as *const c_void,
                "piPlatformGetInfo" => see_last_error as *const c_void,
                "piPluginGetLastError" => last_error as *const c_void,
                "piTearDown" => tear_down as *const c_void,
                // Never filled in by the real ones.
                "piextContextSetExtendedDeleter" => null(),
                name => {
                    recorder(&format!("{name}_{}", slot.revision)).unwrap_or(unsupported as *const c_void)
                }
            };
            record
                .cast::<u8>()
                .add(slot.offset)
                .cast::<*const c_void>()
                .write(function);
        }
    }
    PI_SUCCESS
}

/// `piPluginInit` of DPC++ 2022.2.1, which is none of the releases that hosts here speak: its version takes 10 bytes.
unsafe extern "C" fn init_of_9_11(record: *mut c_void) -> pi_result {
    // SAFETY: as above.
    unsafe {
        if CStr::from_ptr(record.cast()) < c"9.11" {
            return PI_INVALID_OPERATION;
        }
        let place = record.cast::<u8>().add(10);
        place.copy_from_nonoverlapping(c"9.11".as_ptr().cast(), 5);
    }
    PI_SUCCESS
}

#[test]
fn a_plugin_that_refuses_all_versions_is_asked_for_its_own() {
    // SAFETY: it fills in nothing but the version, and nobody calls it then.
    let plugin = unsafe { BuiltIn::new("foreign", init_of_9_11, None) };
    assert_eq!(
        Plugin::built_in(&plugin).unwrap_err().to_string(),
        "plugin foreign speaks PI 9.11; this host speaks PI 2.3, 6.8, 12.27, 15.47"
    );
}

/// The plugin of a release; a test has it for itself.
fn plugin(release: usize) -> Plugin {
    let init = [init::<0>, init::<1>, init::<2>, init::<3>][release];
    // SAFETY: it fills in the record as the release's plugins do.
    let plugin = unsafe { BuiltIn::new("foreign", init, None) };
    Plugin::built_in(&plugin).unwrap()
}

fn device(plugin: &Plugin) -> Device {
    plugin.platforms().unwrap()[0]
        .devices(PI_DEVICE_TYPE_ALL)
        .unwrap()
        .remove(0)
}

fn version(release: usize) -> &'static str {
    RELEASES[release].version
}

/// One after the other: a plugin is there once in a process.
#[test]
fn every_release_is_driven_in_its_own_way() {
    for release in 0..RELEASES.len() {
        assert_eq!(plugin(release).version(), version(release));
        assert_eq!(
            calls(),
            [if release == 3 {
                "torn down and said so"
            } else {
                "torn down"
            }]
        );
        objects(release);
        native_handles(release);
        hints(release);
        answers(release);
    }
}

fn objects(release: usize) {
    let plugin = plugin(release);
    let device = device(&plugin);
    let context = Context::new(&[&device]).unwrap();
    calls();
    let properties = QueueProperties {
        out_of_order: true,
        profiling: true,
    };
    let flushed = context.queue(&device, properties).unwrap().flush();
    let list = "{0xffffffffffffffff, 0x3, 0}";
    let queue = match version(release) {
        "12.27" => format!("piextQueueCreate2_a(0x30, 0x20, {list}, to)"),
        "15.47" => format!("piextQueueCreate_a(0x30, 0x20, {list}, to)"),
        _ => "piQueueCreate_a(0x30, 0x20, flags 0x3, to)".to_owned(),
    };
    let release_queue = "piQueueRelease_a(0x40)";
    if release > 0 {
        flushed.unwrap();
        assert_eq!(calls(), [queue.as_str(), "piQueueFlush_a(0x40)", release_queue]);
    } else {
        let text = "plugin foreign has no piQueueFlush: it speaks PI 2.3, which has none";
        assert_eq!(flushed.unwrap_err().to_string(), text);
        assert_eq!(calls(), [queue.as_str(), release_queue]);
    }

    match device.timers() {
        Ok(times) => assert_eq!((times, release > 1), ((7, 8), true)),
        Err(error) => assert!(
            release < 2 && error.to_string().contains("has no piGetDeviceAndHostTimer"),
            "{error}"
        ),
    }
    calls();

    let _ = context.program_with_binary(&device, b"code\0").unwrap();
    let start = r#"(0x30, 1, [0x20], [5], ["code"], "#;
    let program = match version(release) {
        "2.3" => format!("piProgramCreateWithBinary_a{start}number to, to)"),
        _ => format!("piProgramCreateWithBinary_b{start}0x0, address 0x0, number to, to)"),
    };
    assert_eq!(calls(), [program]);

    drop(context.usm(UsmKind::Host, &device, 0x40, 16).unwrap());
    assert_eq!(
        calls(),
        [
            "piextUSMHostAlloc_a(to, 0x30, {0}, 0x40, 16)",
            "piextUSMFree_a(0x30, 0x1000)"
        ]
    );

    let event = context.user_event();
    if release < 2 {
        drop(event.unwrap());
        assert_eq!(calls(), ["piEventCreate_a(0x30, to)", "piEventRelease_a(0x80)"]);
    } else {
        let text = format!(
            "foreign cannot make an event that the host completes: it speaks PI {}",
            version(release)
        );
        assert_eq!(event.unwrap_err().message(), Some(text.as_str()));
        assert_eq!(calls(), [""; 0]);
    }
    drop((context, device, plugin));
    calls();
}

/// Every function with several revisions that has to do with the handles of the driver, in the release's revision.
fn native_handles(release: usize) {
    let plugin = plugin(release);
    let version = version(release);
    let [device, context, queue, memory, kernel] =
        [DEVICE, CONTEXT, QUEUE, MEMORY, KERNEL].map(|handle| handle as Handle);
    let (device, context): (pi_device, pi_context) = (device.cast(), context.cast());
    let handle = 0x777;
    // The first revisions always take the native object over.
    let (is_owned, keeps) = (true, |first: bool, error: PiError| {
        assert!(first, "{error}");
        let text = format!("foreign cannot leave the native object to the host: it speaks PI {version}");
        assert_eq!(error.message(), Some(text.as_str()));
    });

    // SAFETY: the recorders follow no handles.
    unsafe {
        plugin
            .create_context_with_native_handle(handle, &[device], is_owned)
            .unwrap();
        plugin
            .create_context_with_native_handle(handle, &[device], false)
            .map(|_| assert!(release > 0))
            .unwrap_or_else(|error| keeps(release == 0, error));
        assert_eq!(
            calls(),
            match release {
                0 => vec!["piextContextCreateWithNativeHandle_a(0x777, 1, [0x20], to)"],
                _ => vec![
                    "piextContextCreateWithNativeHandle_b(0x777, 1, [0x20], true, to)",
                    "piextContextCreateWithNativeHandle_b(0x777, 1, [0x20], false, to)",
                ],
            }
        );

        let (native, kind) = plugin.native_handle_of_queue(queue.cast()).unwrap();
        assert_eq!((native, kind), (0x111, [0, 0, 5, 4][release]));
        assert_eq!(
            calls(),
            [[
                "piextQueueGetNativeHandle_a(0x40, native to)",
                "piextQueueGetNativeHandle_a(0x40, native to)",
                "piextQueueGetNativeHandle2_a(0x40, native to, number to)",
                "piextQueueGetNativeHandle_b(0x40, native to, number to)",
            ][release]]
        );

        let native = NativeQueue {
            handle,
            kind: 0,
            context,
            device,
            owned: true,
            flags: 0,
        };
        assert_eq!(
            plugin.create_queue_with_native_handle(&native).unwrap().addr(),
            QUEUE
        );
        let list = "{0xffffffffffffffff, 0x0, 0}";
        assert_eq!(
            calls(),
            [[
                "piextQueueCreateWithNativeHandle_a(0x777, 0x30, to)".to_owned(),
                "piextQueueCreateWithNativeHandle_b(0x777, 0x30, to, true)".to_owned(),
                format!("piextQueueCreateWithNativeHandle2_a(0x777, 0, 0x30, 0x20, true, {list}, to)"),
                format!("piextQueueCreateWithNativeHandle_d(0x777, 0, 0x30, 0x20, true, {list}, to)"),
            ][release]
                .clone()]
        );
        let special = plugin.create_queue_with_native_handle(&NativeQueue {
            kind: 3,
            flags: 2,
            owned: false,
            ..native
        });
        match special {
            Ok(_) => {
                let list = "{0xffffffffffffffff, 0x2, 0}";
                let name = [
                    "",
                    "",
                    "piextQueueCreateWithNativeHandle2_a",
                    "piextQueueCreateWithNativeHandle_d",
                ][release];
                assert_eq!(
                    calls(),
                    [format!("{name}(0x777, 3, 0x30, 0x20, false, {list}, to)")]
                );
            }
            Err(error) => {
                assert!(release < 2, "{error}");
                assert_eq!(calls(), [""; 0]);
            }
        }

        assert_eq!(
            plugin.native_handle_of_memory(memory.cast(), device).unwrap(),
            0x222
        );
        assert_eq!(
            calls(),
            [match release {
                3 => "piextMemGetNativeHandle_b(0x50, 0x20, native to)",
                _ => "piextMemGetNativeHandle_a(0x50, native to)",
            }]
        );

        assert_eq!(
            plugin
                .create_memory_with_native_handle(handle, context, true)
                .unwrap()
                .addr(),
            MEMORY
        );
        assert_eq!(
            calls(),
            [match release {
                0 | 1 => "piextMemCreateWithNativeHandle_a(0x777, to)",
                _ => "piextMemCreateWithNativeHandle_b(0x777, 0x30, true, to)",
            }]
        );
        match plugin.create_memory_with_native_handle(handle, context, false) {
            Ok(_) => assert_eq!(
                calls(),
                ["piextMemCreateWithNativeHandle_b(0x777, 0x30, false, to)"]
            ),
            Err(error) => keeps(release < 2, error),
        }

        assert_eq!(
            plugin
                .create_program_with_native_handle(handle, context, true)
                .unwrap()
                .addr(),
            PROGRAM
        );
        assert_eq!(
            calls(),
            [match release {
                0 => "piextProgramCreateWithNativeHandle_a(0x777, 0x30, to)",
                _ => "piextProgramCreateWithNativeHandle_b(0x777, 0x30, true, to)",
            }]
        );

        assert_eq!(
            plugin
                .create_event_with_native_handle(handle, context, true)
                .unwrap()
                .addr(),
            EVENT
        );
        assert_eq!(
            calls(),
            [match release {
                0 => "piextEventCreateWithNativeHandle_a(0x777, to)",
                _ => "piextEventCreateWithNativeHandle_b(0x777, 0x30, true, to)",
            }]
        );

        let property = pi_mem_obj_property {
            property_type: PI_KERNEL_ARG_MEM_OBJ_ACCESS,
            next: null_mut(),
            mem_access: PI_ACCESS_READ_ONLY,
        };
        plugin
            .set_memory_argument(kernel.cast(), 7, Some(&property), memory.cast())
            .unwrap();
        plugin
            .set_memory_argument(kernel.cast(), 8, None, memory.cast())
            .unwrap();
        assert_eq!(
            calls(),
            match release {
                3 => [
                    "piextKernelSetArgMemObj_b(0x70, 7, access 27 4, [0x50])",
                    "piextKernelSetArgMemObj_b(0x70, 8, null, [0x50])",
                ],
                _ => [
                    "piextKernelSetArgMemObj_a(0x70, 7, [0x50])",
                    "piextKernelSetArgMemObj_a(0x70, 8, [0x50])"
                ],
            }
        );

        // With metadata, which the first revision leaves out.
        let metadata = [null_mut::<pi_device_binary_property_struct>()];
        plugin
            .create_program_with_binary(context, device, b"x\0", &metadata)
            .unwrap();
        let start = r#"(0x30, 1, [0x20], [2], ["x"], "#;
        assert_eq!(
            calls(),
            [match release {
                0 => format!("piProgramCreateWithBinary_a{start}number to, to)"),
                _ => format!(
                    "piProgramCreateWithBinary_b{start}0x1, address {:#x}, number to, to)",
                    metadata.as_ptr().addr()
                ),
            }]
        );
    }
    drop(plugin);
    calls();
}

fn hints(release: usize) {
    let plugin = plugin(release);
    let advise = |advice| {
        // SAFETY: the recorder follows no address.
        let advised = unsafe { plugin.advise_usm(QUEUE as pi_queue, 0x1000 as *const c_void, 0x40, advice) };
        advised
            .map(|_| calls().remove(0))
            .map_err(|error| error.message().unwrap().to_owned())
    };
    let call = |number: u32| {
        Ok(format!(
            "piextUSMEnqueueMemAdvise_a(0x40, address 0x1000, 0x40, {number}, to)"
        ))
    };
    let refused = |hint| {
        Err(format!(
            "foreign cannot take the hint {hint}: it speaks PI {}",
            version(release)
        ))
    };
    let (reset, read_mostly, coarse) = (
        PI_MEM_ADVICE_RESET,
        PI_MEM_ADVICE_CUDA_SET_READ_MOSTLY,
        PI_MEM_ADVICE_HIP_SET_COARSE_GRAINED,
    );
    let expected = match release {
        3 => [call(0), call(1), call(0x400)],
        2 => [call(0), call(101), refused("0x400")],
        _ => [refused("0x0"), call(101), refused("0x400")],
    };
    assert_eq!([reset, read_mostly, coarse].map(advise), expected);
    drop(plugin);
    calls();
}

fn answers(release: usize) {
    let plugin = plugin(release);
    let device = device(&plugin);
    assert_eq!(
        device.info(PI_DEVICE_INFO_EXECUTION_CAPABILITIES).unwrap(),
        [3, 0, 0, 0]
    );
    assert_eq!(device.info_integer(PI_DEVICE_INFO_AVAILABLE).unwrap(), 1);
    assert_eq!(device.info_integer(PI_DEVICE_INFO_ATOMIC_64).unwrap(), 1);

    let error = plugin.platforms().unwrap()[0].name().unwrap_err();
    assert_eq!(
        error.to_string(),
        match release {
            0 | 1 => "piPlatformGetInfo: PI_PLUGIN_SPECIFIC_ERROR (-996)",
            _ => "piPlatformGetInfo: PI_OUT_OF_HOST_MEMORY (-6): the driver is on holiday",
        }
    );
    drop((device, plugin));
    calls();
}
