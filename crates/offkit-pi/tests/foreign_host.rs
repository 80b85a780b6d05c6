//! A host that knows nothing of this crate: it offers a plugin the record of each release, finds functions by their
//! slots, and calls them with the types that the release's headers have.

mod mock;
mod releases;

use core::ffi::{CStr, c_char, c_int, c_void};
use mock::ADDER;
use releases::{RELEASES, Release};
use std::ptr::{null, null_mut};

/// Any handle.
type Handle = *mut c_void;
type Query = (usize, *mut c_void, *mut usize);

const SUCCESS: i32 = 0;
const INVALID_VALUE: i32 = -30;
const INVALID_DEVICE: i32 = -33;
const INVALID_CONTEXT: i32 = -34;
const INVALID_QUEUE_PROPERTIES: i32 = -35;
const INVALID_OPERATION: i32 = -59;
const UNSUPPORTED: i32 = -995;
const SEE_LAST_ERROR: i32 = -996;

/// A plugin as the host of a release sees it.
struct Host {
    release: &'static Release,
    record: Vec<u64>,
}

/// Bytes behind the record, which nobody may write to.
const GUARD: usize = 64;

impl Host {
    fn new(release: &'static Release) -> Host {
        let mut record = vec![0xaaaa_aaaa_aaaa_aaaa_u64; (release.record_size + GUARD) / 8];
        let start = record.as_mut_ptr().cast::<u8>();
        // SAFETY: the text fits into the record, and what is there is any bytes.
        let result = unsafe {
            start.copy_from_nonoverlapping(release.version.as_ptr(), release.version.len());
            start.add(release.version.len()).write(0);
            ADDER.init()(start.cast())
        };
        assert_eq!(result.0, SUCCESS, "{}", release.version);
        Host { release, record }
    }

    fn bytes(&self) -> &[u8] {
        // SAFETY: as many bytes as the words have.
        unsafe { core::slice::from_raw_parts(self.record.as_ptr().cast(), 8 * self.record.len()) }
    }

    fn has(&self, function: &str) -> bool {
        self.release.offset(function).is_some()
    }

    /// The function in a slot.
    ///
    /// # Safety
    ///
    /// `F` must be the function's type in this release.
    unsafe fn function<F: Copy>(&self, name: &str) -> F {
        let offset = self.release.offset(name).expect(name);
        assert_eq!(size_of::<F>(), 8);
        // SAFETY: the table has a function in each slot, whose type the caller vouches for.
        unsafe { self.record.as_ptr().cast::<F>().add(offset / 8).read() }
    }

    fn is_late(&self) -> bool {
        matches!(self.release.version, "12.27" | "15.47")
    }

    /// Words about the last failing call of this thread, by offkit's own function.
    fn message(&self) -> String {
        let mut text = null();
        // SAFETY: there is room for a pointer.
        assert!(unsafe { offkit_pi::plugin::get_last_error(&raw mut text) }.is_success());
        // SAFETY: a text that is there until the next call.
        unsafe { CStr::from_ptr(text) }.to_str().unwrap().to_owned()
    }
}

/// Calls a function of a release by its slot, with these types.
macro_rules! call {
    ($host:expr, $name:ident($($value:expr => $type:ty),* $(,)?)) => {
        // SAFETY: the types are those of the release's header; the values are what its hosts pass.
        unsafe { $host.function::<unsafe extern "C" fn($($type),*) -> i32>(stringify!($name))($($value),*) }
    };
}

/// [`call!`] that must succeed.
macro_rules! done {
    ($host:expr, $name:ident($($arguments:tt)*)) => {
        assert_eq!(call!($host, $name($($arguments)*)), SUCCESS, "{}: {}", $host.release.version, $host.message())
    };
}

/// Objects that every test needs.
struct Machine {
    host: Host,
    platform: Handle,
    device: Handle,
    context: Handle,
    queue: Handle,
}

impl Machine {
    fn new(release: &'static Release) -> Machine {
        let host = Host::new(release);
        let (mut platform, mut device) = (null_mut(), null_mut());
        done!(host, piPlatformsGet(1 => u32, &raw mut platform => *mut Handle, null_mut() => *mut u32));
        let any = 0xffff_ffff;
        done!(host, piDevicesGet(platform => Handle, any => u64, 1 => u32, &raw mut device => *mut Handle, null_mut() => *mut u32));
        let mut machine = Machine {
            host,
            platform,
            device,
            context: null_mut(),
            queue: null_mut(),
        };
        machine.context = machine.new_context();
        machine.queue = machine.new_queue(1);
        machine
    }

    fn new_context(&self) -> Handle {
        let mut context = null_mut();
        done!(self.host, piContextCreate(
            null() => *const isize, 1 => u32, &raw const self.device => *const Handle,
            null() => *const c_void, null_mut() => *mut c_void, &raw mut context => *mut Handle,
        ));
        context
    }

    /// In the way of the release.
    fn new_queue(&self, flags: u64) -> Handle {
        let mut queue = null_mut();
        let mut list = [u64::MAX, flags, 0];
        let (context, device, list) = (self.context, self.device, list.as_mut_ptr());
        let to = &raw mut queue;
        match self.host.release.version {
            "12.27" => {
                done!(self.host, piextQueueCreate2(context => Handle, device => Handle, list => *mut u64, to => *mut Handle));
            }
            "15.47" => {
                done!(self.host, piextQueueCreate(context => Handle, device => Handle, list => *mut u64, to => *mut Handle));
            }
            _ => {
                done!(self.host, piQueueCreate(context => Handle, device => Handle, flags => u64, to => *mut Handle));
            }
        }
        queue
    }

    fn queue_flags(&self, queue: Handle) -> u64 {
        let mut flags = 0_u64;
        let (size, to, _): Query = (8, (&raw mut flags).cast(), null_mut());
        done!(self.host, piQueueGetInfo(queue => Handle, 0x1093 => u32, size => usize, to => *mut c_void, null_mut() => *mut usize));
        flags
    }

    fn buffer(&self, bytes: &mut [u8]) -> Handle {
        let mut buffer = null_mut();
        let (read_write, copy) = (1, 32);
        done!(self.host, piMemBufferCreate(
            self.context => Handle, read_write | copy => u64, bytes.len() => usize, bytes.as_mut_ptr().cast() => *mut c_void,
            &raw mut buffer => *mut Handle, null() => *const u64,
        ));
        buffer
    }

    /// A program in machine code: for the mock this is a list of kernels, as the intermediate language is.
    fn program(&self, names: &str) -> Handle {
        let mut program = null_mut();
        let (length, mut binary, mut status) = (names.len(), names.as_ptr(), 7_i32);
        let (devices, lengths, binaries) = (&raw const self.device, &raw const length, &raw mut binary);
        let (to, metadata) = (&raw mut program, [null_mut()]);
        if self.host.release.version == "2.3" {
            done!(self.host, piProgramCreateWithBinary(
                self.context => Handle, 1 => u32, devices => *const Handle, lengths => *const usize,
                binaries => *mut *const u8, &raw mut status => *mut i32, to => *mut Handle,
            ));
        } else {
            done!(self.host, piProgramCreateWithBinary(
                self.context => Handle, 1 => u32, devices => *const Handle, lengths => *const usize,
                binaries => *mut *const u8, 1 => usize, metadata.as_ptr() => *const *mut c_void,
                &raw mut status => *mut i32, to => *mut Handle,
            ));
        }
        assert_eq!(status, SUCCESS);
        done!(self.host, piProgramBuild(
            program => Handle, 1 => u32, devices => *const Handle, c"".as_ptr() => *const c_char,
            null() => *const c_void, null_mut() => *mut c_void,
        ));
        program
    }

    fn set_memory_argument(&self, kernel: Handle, index: u32, memory: Handle) {
        let value = &raw const memory;
        if self.host.release.version == "15.47" {
            // 27 is access, 2 is to write.
            let property = [27_u64, 0, 2];
            done!(self.host, piextKernelSetArgMemObj(
                kernel => Handle, index => u32, property.as_ptr().cast() => *const c_void, value => *const Handle,
            ));
        } else {
            done!(self.host, piextKernelSetArgMemObj(kernel => Handle, index => u32, value => *const Handle));
        }
    }

    /// Starts the kernel `add`, which adds 10 to this many bytes.
    fn launch(&self, buffer: Handle, items: usize) -> Handle {
        let program = self.program("add");
        let (mut kernel, mut event) = (null_mut(), null_mut());
        done!(self.host, piKernelCreate(program => Handle, c"add".as_ptr() => *const c_char, &raw mut kernel => *mut Handle));
        self.set_memory_argument(kernel, 0, buffer);
        let ten = 10_u8;
        done!(self.host, piKernelSetArg(kernel => Handle, 1 => u32, 1 => usize, (&raw const ten).cast() => *const c_void));
        done!(self.host, piEnqueueKernelLaunch(
            self.queue => Handle, kernel => Handle, 1 => u32, null() => *const usize, &raw const items => *const usize,
            null() => *const usize, 0 => u32, null() => *const Handle, &raw mut event => *mut Handle,
        ));
        event
    }

    fn wait(&self, event: Handle) -> i32 {
        call!(self.host, piEventsWait(1 => u32, &raw const event => *const Handle))
    }

    fn event_status(&self, event: Handle) -> i32 {
        let mut status = 77_i32;
        let (size, to, _): Query = (4, (&raw mut status).cast(), null_mut());
        done!(self.host, piEventGetInfo(event => Handle, 0x11d3 => u32, size => usize, to => *mut c_void, null_mut() => *mut usize));
        status
    }
}

fn each_release(test: impl Fn(&Machine)) {
    for release in &RELEASES {
        test(&Machine::new(release));
    }
}

#[test]
fn the_record_is_filled_to_the_end_of_its_table_and_no_further() {
    for release in &RELEASES {
        let host = Host::new(release);
        let slots = release.slots();
        for slot in &slots {
            let pointer = u64::from_ne_bytes(host.bytes()[slot.offset..][..8].try_into().unwrap());
            assert!(
                pointer != 0 && pointer != 0xaaaa_aaaa_aaaa_aaaa,
                "{}",
                slot.function
            );
        }
        let version = &host.bytes()[release.plugin_version_offset..][..release.version.len() + 1];
        assert_eq!(
            CStr::from_bytes_with_nul(version).unwrap().to_str(),
            Ok(release.version)
        );
        let end = slots.last().unwrap().offset + 8;
        // In 15.47 the sanitizer that the host has written, and padding.
        assert!(host.bytes()[end..].iter().all(|byte| *byte == 0xaa));
        let targets = slots[0].offset - 8;
        assert_eq!(host.bytes()[targets..][..8], [0xaa; 8]);
    }
}

#[test]
fn a_kernel_runs() {
    each_release(|machine| {
        let buffer = machine.buffer(&mut [1, 2, 3, 4]);
        let event = machine.launch(buffer, 3);
        assert_eq!(machine.wait(event), SUCCESS);
        let mut out = [0_u8; 4];
        done!(machine.host, piEnqueueMemBufferRead(
            machine.queue => Handle, buffer => Handle, 1 => u32, 0 => usize, 4 => usize,
            out.as_mut_ptr().cast() => *mut c_void, 0 => u32, null() => *const Handle, null_mut() => *mut Handle,
        ));
        assert_eq!(out, [11, 12, 13, 4]);
        if machine.host.has("piQueueFlush") {
            done!(machine.host, piQueueFlush(machine.queue => Handle));
            assert_eq!(call!(machine.host, piQueueFlush(buffer => Handle)), -36);
        }
        done!(machine.host, piQueueFinish(machine.queue => Handle));
        done!(machine.host, piEventRelease(event => Handle));
        done!(machine.host, piMemRelease(buffer => Handle));
        done!(machine.host, piQueueRelease(machine.queue => Handle));
    });
}

/// As libsycl does with a plugin that it takes for OpenCL's.
#[test]
fn a_buffer_can_be_the_value_of_an_argument() {
    each_release(|machine| {
        let buffer = machine.buffer(&mut [1]);
        let program = machine.program("add");
        let mut kernel = null_mut();
        done!(machine.host, piKernelCreate(program => Handle, c"add".as_ptr() => *const c_char, &raw mut kernel => *mut Handle));
        let set = |value: Handle| {
            let value = &raw const value;
            call!(machine.host, piKernelSetArg(kernel => Handle, 0 => u32, 8 => usize, value.cast() => *const c_void))
        };
        assert_eq!(set(buffer), SUCCESS);
        assert_eq!(set(null_mut()), SUCCESS);
        let invalid_value = if machine.host.is_late() {
            SEE_LAST_ERROR
        } else {
            -50
        };
        assert_eq!(set(machine.queue), invalid_value);
        assert_eq!(machine.host.message(), "a buffer, and then a byte");
    });
}

#[test]
fn queues_take_flags_or_lists() {
    each_release(|machine| {
        for flags in [0, 1, 2, 3] {
            assert_eq!(machine.queue_flags(machine.new_queue(flags)), flags);
        }
        if !machine.host.is_late() {
            return;
        }
        // Hints are taken: discarding events, priorities, immediate command lists.
        assert_eq!(machine.queue_flags(machine.new_queue(0x1f2)), 2);
        let mut queue = null_mut();
        let mut create = |list: Option<&mut [u64]>| {
            let list = list.map_or(null_mut(), <[u64]>::as_mut_ptr);
            call!(machine.host, piextQueueCreate(
                machine.context => Handle, machine.device => Handle, list => *mut u64, &raw mut queue => *mut Handle,
            ))
        };
        let (flags, index) = (u64::MAX, u64::MAX - 1);
        assert_eq!(create(None), SUCCESS);
        assert_eq!(create(Some(&mut [0])), SUCCESS);
        assert_eq!(create(Some(&mut [index, 0, flags, 2, 0])), SUCCESS);
        assert_eq!(create(Some(&mut [index, 1, 0])), INVALID_QUEUE_PROPERTIES);
        assert_eq!(create(Some(&mut [5, 1, 0])), INVALID_QUEUE_PROPERTIES);
        assert_eq!(machine.host.message(), "queue property 0x5 with value 0x1");
    });
}

#[test]
fn events_of_the_host_wait_for_it_up_to_6_8_and_are_complete_later() {
    each_release(|machine| {
        let mut event = null_mut();
        done!(machine.host, piEventCreate(machine.context => Handle, &raw mut event => *mut Handle));
        let (submitted, complete) = (2, 0);
        if machine.host.is_late() {
            assert_eq!(machine.event_status(event), complete);
        } else {
            assert_eq!(machine.event_status(event), submitted);
            done!(machine.host, piEventSetStatus(event => Handle, complete => i32));
            assert_eq!(machine.event_status(event), complete);
        }
    });
}

#[test]
fn hints_about_memory_are_the_same_whatever_their_number() {
    each_release(|machine| {
        let mut memory = null_mut();
        let none = 0_u64;
        let properties = if machine.host.is_late() {
            &raw const none
        } else {
            null()
        };
        done!(machine.host, piextUSMHostAlloc(
            &raw mut memory => *mut *mut c_void, machine.context => Handle, properties => *const u64, 64 => usize, 0 => u32,
        ));
        // The mock refuses hints, and says which has arrived.
        let advise = |advice: u32| {
            let mut event = null_mut();
            let result = call!(machine.host, piextUSMEnqueueMemAdvise(
                machine.queue => Handle, memory => *const c_void, 64 => usize, advice => u32, &raw mut event => *mut Handle,
            ));
            assert_eq!((result, event), (INVALID_VALUE, null_mut()));
            machine.host.message()
        };
        let (reset, unknown) = ("advice 0x0", "advice 0x7fffffff");
        let (first, last) = ("advice 0x1", "advice 0x200");
        match machine.host.release.version {
            "15.47" => {
                let found = [0, 1, 0x200, 0x400, 0x7fff_ffff].map(advise);
                assert_eq!(found, [reset, first, last, "advice 0x400", unknown]);
            }
            "12.27" => {
                let found = [0, 101, 110, 999, 111, 1].map(advise);
                assert_eq!(found, [reset, first, last, unknown, unknown, unknown]);
            }
            _ => {
                let found = [0, 101, 110, 111].map(advise);
                assert_eq!(found, [unknown, first, last, unknown]);
            }
        }
    });
}

#[test]
fn what_is_made_of_an_object_of_another_context_is_refused() {
    each_release(|machine| {
        let (host, other) = (&machine.host, machine.new_context());
        let mut made = null_mut();
        let to = &raw mut made;
        // RGBA, a byte each; a row of two elements.
        let format = [0x10b5_u32, 0x10da];
        let buffer = machine.buffer(&mut [0; 8]).expose_provenance();
        let shape = [0x10f1_usize, 2, 1, 0, 0, 0, 0, 0, buffer];
        let result = call!(host, piMemImageCreate(
            other => Handle, 1 => u64, format.as_ptr() => *const u32, shape.as_ptr() => *const usize,
            null_mut() => *mut c_void, to => *mut Handle,
        ));
        assert_eq!(result, INVALID_CONTEXT, "{}", host.message());
        if host.has("piextKernelCreateWithNativeHandle") {
            let result = call!(host, piextKernelCreateWithNativeHandle(
                0x1234 => usize, other => Handle, machine.program("add") => Handle, true => bool, to => *mut Handle));
            assert_eq!(result, INVALID_CONTEXT, "{}", host.message());
        }
        assert!(made.is_null());
    });
}

#[test]
fn memory_of_a_part_of_a_device_tells_which_it_is_of() {
    each_release(|machine| {
        let host = &machine.host;
        let (mut part, mut memory) = (null_mut(), null_mut());
        let equally = [0x1086_isize, 1, 0];
        done!(host, piDevicePartition(
            machine.device => Handle, equally.as_ptr() => *const isize, 1 => u32, &raw mut part => *mut Handle,
            null_mut() => *mut u32,
        ));
        done!(host, piextUSMDeviceAlloc(
            &raw mut memory => *mut *mut c_void, machine.context => Handle, part => Handle, null() => *const u64,
            64 => usize, 0 => u32,
        ));
        let device = || {
            let mut device = null_mut::<c_void>();
            let (size, to, _): Query = (8, (&raw mut device).cast(), null_mut());
            done!(host, piextUSMGetMemAllocInfo(
                machine.context => Handle, memory.wrapping_byte_add(8) => *const c_void, 0x419d => u32,
                size => usize, to => *mut c_void, null_mut() => *mut usize,
            ));
            device
        };
        assert_eq!(device(), part);
        done!(host, piextUSMFree(machine.context => Handle, memory => *mut c_void));
        assert!(device().is_null());
    });
}

#[test]
fn native_handles_go_both_ways_in_every_revision() {
    each_release(|machine| {
        native_handles_are_given(machine);
        for owned in [true, false] {
            native_handles_are_taken(machine, owned);
        }
    });
}

fn native_handles_are_given(machine: &Machine) {
    let (host, queue) = (&machine.host, machine.queue);
    let buffer = machine.buffer(&mut [0]);
    let (mut handle, mut kind) = (0_usize, 0_i32);
    let (to, kind_to) = (&raw mut handle, &raw mut kind);
    let is_last = host.release.version == "15.47";
    if is_last {
        done!(host, piextQueueGetNativeHandle(queue => Handle, to => *mut usize, kind_to => *mut i32));
    } else {
        done!(host, piextQueueGetNativeHandle(queue => Handle, to => *mut usize));
    }
    assert_eq!(handle, 0x71);
    if is_last {
        done!(host, piextMemGetNativeHandle(buffer => Handle, machine.device => Handle, to => *mut usize));
    } else {
        done!(host, piextMemGetNativeHandle(buffer => Handle, to => *mut usize));
    }
    assert_eq!(handle, 0x72);
    if host.has("piextQueueGetNativeHandle2") {
        done!(host, piextQueueGetNativeHandle2(queue => Handle, to => *mut usize, kind_to => *mut i32));
        assert_eq!(handle, 0x71);
    }
    // Platforms and devices are found again.
    let (platform, device) = (machine.platform, machine.device);
    let mut found = null_mut();
    done!(host, piextPlatformGetNativeHandle(platform => Handle, to => *mut usize));
    done!(host, piextPlatformCreateWithNativeHandle(handle => usize, &raw mut found => *mut Handle));
    assert_eq!(found, platform);
    done!(host, piextDeviceGetNativeHandle(device => Handle, to => *mut usize));
    done!(host, piextDeviceCreateWithNativeHandle(
        handle => usize, null_mut() => Handle, &raw mut found => *mut Handle));
    assert_eq!(found, device);
    let unknown = call!(host, piextDeviceCreateWithNativeHandle(
        1 => usize, platform => Handle, &raw mut found => *mut Handle));
    assert_eq!(unknown, INVALID_DEVICE);
    // What the mock has none of.
    let context = machine.context;
    let result = call!(host, piextContextGetNativeHandle(context => Handle, to => *mut usize));
    assert_eq!(
        (result, host.message().as_str()),
        (INVALID_OPERATION, "a native handle is not supported")
    );
}

/// The mock refuses native objects, and says what has arrived.
fn native_handles_are_taken(machine: &Machine, owned: bool) {
    let host = &machine.host;
    let (context, device) = (machine.context, machine.device);
    let version = host.release.version;
    let (native, untouched) = (0x1234_usize, 0x55 as Handle);
    let mut made = untouched;
    let to = &raw mut made;
    let devices = &raw const device;
    let list = [u64::MAX, 0, 0];
    let list = list.as_ptr();
    let arrived = |function: &str, result: i32| {
        // The first revisions give the object away.
        let owned = owned || version == "2.3";
        assert_eq!(result, INVALID_VALUE, "{version} {function}");
        assert_eq!(
            host.message(),
            format!("native 0x1234, owned: {owned}"),
            "{version} {function}"
        );
    };
    let without_context = |function: &str, result: i32| {
        assert_eq!(result, INVALID_OPERATION, "{version} {function}");
        assert_eq!(
            host.message(),
            format!("{function} is not supported by plugin adder")
        );
    };
    arrived(
        "piextContextCreateWithNativeHandle",
        match version {
            "2.3" => {
                call!(host, piextContextCreateWithNativeHandle(native => usize, 1 => u32, devices => *const Handle, to => *mut Handle))
            }
            _ => {
                call!(host, piextContextCreateWithNativeHandle(native => usize, 1 => u32, devices => *const Handle, owned => bool, to => *mut Handle))
            }
        },
    );
    arrived(
        "piextQueueCreateWithNativeHandle",
        match version {
            "2.3" => {
                call!(host, piextQueueCreateWithNativeHandle(native => usize, context => Handle, to => *mut Handle))
            }
            "6.8" => {
                call!(host, piextQueueCreateWithNativeHandle(native => usize, context => Handle, to => *mut Handle, owned => bool))
            }
            "12.27" => call!(host, piextQueueCreateWithNativeHandle(
                native => usize, context => Handle, device => Handle, owned => bool, to => *mut Handle)),
            _ => call!(host, piextQueueCreateWithNativeHandle(
                native => usize, 0 => i32, context => Handle, device => Handle, owned => bool, list => *const u64, to => *mut Handle)),
        },
    );
    match version {
        "2.3" | "6.8" => without_context(
            "piextMemCreateWithNativeHandle",
            call!(host, piextMemCreateWithNativeHandle(native => usize, to => *mut Handle)),
        ),
        _ => arrived(
            "piextMemCreateWithNativeHandle",
            call!(host, piextMemCreateWithNativeHandle(native => usize, context => Handle, owned => bool, to => *mut Handle)),
        ),
    }
    arrived(
        "piextProgramCreateWithNativeHandle",
        match version {
            "2.3" => {
                call!(host, piextProgramCreateWithNativeHandle(native => usize, context => Handle, to => *mut Handle))
            }
            _ => {
                call!(host, piextProgramCreateWithNativeHandle(native => usize, context => Handle, owned => bool, to => *mut Handle))
            }
        },
    );
    match version {
        "2.3" => without_context(
            "piextEventCreateWithNativeHandle",
            call!(host, piextEventCreateWithNativeHandle(native => usize, to => *mut Handle)),
        ),
        _ => arrived(
            "piextEventCreateWithNativeHandle",
            call!(host, piextEventCreateWithNativeHandle(native => usize, context => Handle, owned => bool, to => *mut Handle)),
        ),
    }
    if host.has("piextKernelCreateWithNativeHandle") {
        arrived(
            "piextKernelCreateWithNativeHandle",
            call!(host, piextKernelCreateWithNativeHandle(
                native => usize, context => Handle, null_mut() => Handle, owned => bool, to => *mut Handle)),
        );
    }
    if host.has("piextQueueCreateWithNativeHandle2") {
        arrived(
            "piextQueueCreateWithNativeHandle2",
            call!(host, piextQueueCreateWithNativeHandle2(
                native => usize, 0 => i32, context => Handle, device => Handle, owned => bool, list => *const u64, to => *mut Handle)),
        );
    }
    assert_eq!(made, untouched);
}

#[test]
fn what_a_plugin_leaves_out_says_so_in_the_words_of_the_version() {
    each_release(|machine| {
        let host = &machine.host;
        let (context, device, queue) = (machine.context, machine.device, machine.queue);
        let none = null_mut::<c_void>();
        let mut made = null_mut();
        if host.has("piextPluginGetOpaqueData") {
            let result =
                call!(host, piextPluginGetOpaqueData(none => *mut c_void, &raw mut made => *mut Handle));
            assert_eq!(result, INVALID_OPERATION);
            assert_eq!(
                host.message(),
                "piextPluginGetOpaqueData is not supported by plugin adder"
            );
        }
        if host.is_late() {
            // Hosts ask for these three before they use the functions.
            for name in [0x30000_u32, 0x30001, 0x30002] {
                let mut supported = 7_u32;
                let (size, to, _): Query = (4, (&raw mut supported).cast(), null_mut());
                done!(host, piContextGetInfo(context => Handle, name => u32, size => usize, to => *mut c_void, null_mut() => *mut usize));
                assert_eq!(supported, 0);
            }
            let result = call!(host, piextUSMEnqueueMemset2D(
                queue => Handle, none => *mut c_void, 8 => usize, 0 => c_int, 4 => usize, 2 => usize,
                0 => u32, null() => *const Handle, null_mut() => *mut Handle,
            ));
            assert_eq!(result, INVALID_OPERATION);
        }
        if host.release.version == "15.47" {
            let result = call!(host, piextCommandBufferCreate(
                context => Handle, device => Handle, null() => *const c_void, &raw mut made => *mut Handle,
            ));
            assert_eq!(result, UNSUPPORTED);
            assert_eq!(
                host.message(),
                "piextCommandBufferCreate is not supported by plugin adder"
            );
        }
    });
}

#[test]
fn words_reach_hosts_that_ask_for_them() {
    each_release(|machine| {
        let host = &machine.host;
        let event = machine.launch(machine.buffer(&mut [0; 4]), 5);
        let (result, failed_wait) = (machine.wait(event), -14);
        let said = "work-item 4 is past the end";
        if !host.is_late() {
            assert_eq!(result, failed_wait);
            assert_eq!(host.message(), said);
            return;
        }
        assert_eq!(result, SEE_LAST_ERROR);
        let mut text: *mut c_char = null_mut();
        assert_eq!(
            call!(host, piPluginGetLastError(&raw mut text => *mut *mut c_char)),
            failed_wait
        );
        // SAFETY: a text that is there until the next call.
        assert_eq!(unsafe { CStr::from_ptr(text) }.to_str(), Ok(said));

        // Results that hosts act on by themselves stay as they are.
        let mut kernel = null_mut();
        let program = machine.program("add");
        let result = call!(host, piKernelCreate(program => Handle, c"sub".as_ptr() => *const c_char, &raw mut kernel => *mut Handle));
        assert_eq!(result, -46);
        assert_eq!(
            call!(host, piPluginGetLastError(&raw mut text => *mut *mut c_char)),
            -46
        );
        assert_eq!(
            call!(host, piPluginGetLastError(null_mut() => *mut *mut c_char)),
            INVALID_VALUE
        );
    });
}

#[test]
fn later_hosts_get_times_and_options() {
    each_release(|machine| {
        let host = &machine.host;
        if host.is_late() {
            let (mut device_time, mut host_time) = (0_u64, 0_u64);
            let time = |device_to, host_to| call!(host, piGetDeviceAndHostTimer(machine.device => Handle, device_to => *mut u64, host_to => *mut u64));
            assert_eq!(time(null_mut(), null_mut()), SUCCESS);
            assert_eq!(time(&raw mut device_time, &raw mut host_time), SUCCESS);
            let first = host_time;
            assert_eq!(device_time, 42);
            assert_eq!(time(null_mut(), &raw mut host_time), SUCCESS);
            assert!(0 < first && first <= host_time);
        }
        if host.has("piPluginGetBackendOption") {
            let mut option = null();
            let mut ask = |frontend: &CStr| {
                call!(host, piPluginGetBackendOption(
                    machine.platform => Handle, frontend.as_ptr() => *const c_char, &raw mut option => *mut *const c_char,
                ))
            };
            assert_eq!(ask(c"-O3"), SUCCESS);
            assert_eq!(ask(c"-Owhatever"), INVALID_VALUE);
            // SAFETY: a text of the plugin's.
            assert_eq!(unsafe { CStr::from_ptr(option) }, c"");
        }
    });
}

#[test]
fn a_plugin_says_that_it_is_torn_down_where_it_is_asked() {
    for release in &RELEASES {
        let host = Host::new(release);
        let mut is_torn_down = [0_u8, 0xaa];
        if release.version == "15.47" {
            done!(host, piTearDown(is_torn_down.as_mut_ptr().cast() => *mut c_void));
            assert_eq!(is_torn_down, [1, 0xaa], "a `bool` has one byte");
        }
        done!(host, piTearDown(null_mut() => *mut c_void));
    }
}
