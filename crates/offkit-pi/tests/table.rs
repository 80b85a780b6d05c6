//! The plugin side, driven through the table as a host in C would: what goes wrong there must come back as a
//! code.

mod mock;

use core::ffi::{CStr, c_char, c_void};
use mock::ADDER;
use offkit_pi::BuiltIn;
use offkit_pi::ffi::*;
use offkit_pi::host::{LoadError, Plugin};
use offkit_pi::table::{Api, Layout};
use std::ptr::{null, null_mut};

/// The mock's functions.
fn api() -> Api {
    *Plugin::built_in(&ADDER).unwrap().api()
}

/// Calls a function of a table. Every function of the table is there.
macro_rules! call {
    ($api:expr, $function:ident($($argument:expr),*)) => {
        // SAFETY: the tests pass what the function's checks need to see; nothing dangles where it must not.
        unsafe { $api.$function.unwrap()($($argument),*) }
    };
}

fn first_device(api: &Api) -> (pi_platform, pi_device) {
    let (mut platform, mut device) = (null_mut(), null_mut());
    assert_eq!(
        call!(api, piPlatformsGet(1, &raw mut platform, null_mut())),
        PI_SUCCESS
    );
    assert_eq!(
        call!(
            api,
            piDevicesGet(platform, PI_DEVICE_TYPE_ALL, 1, &raw mut device, null_mut())
        ),
        PI_SUCCESS
    );
    (platform, device)
}

fn new_context(api: &Api) -> pi_context {
    let (_, device) = first_device(api);
    let mut context = null_mut();
    assert_eq!(
        call!(
            api,
            piContextCreate(null(), 1, &raw const device, None, null_mut(), &raw mut context)
        ),
        PI_SUCCESS
    );
    context
}

#[test]
fn no_slot_is_empty_and_what_is_left_out_says_so() {
    let api = api();
    for revision in Layout::V2_3.functions {
        assert!(api.slots()[*revision as usize].is_some(), "{revision:?}");
    }
    let plugin = Plugin::built_in(&ADDER).unwrap();
    assert_eq!(
        call!(api, piextContextSetExtendedDeleter(null_mut(), None, null_mut())),
        PI_INVALID_OPERATION
    );
    let platform = plugin.platforms().unwrap().remove(0);
    let context = new_context(&api);
    let mut native = 0;
    assert_eq!(
        call!(api, piextContextGetNativeHandle(context, &raw mut native)),
        PI_INVALID_OPERATION
    );
    assert_eq!(call!(api, piContextRelease(context)), PI_SUCCESS);
    drop(platform);
}

#[test]
fn queries_follow_the_protocol() {
    let api = api();
    let (_, device) = first_device(&api);
    let mut size = 0;
    let name = PI_DEVICE_INFO_NAME;
    assert_eq!(
        call!(api, piDeviceGetInfo(device, name, 0, null_mut(), &raw mut size)),
        PI_SUCCESS
    );
    assert_eq!(size, 6);

    let mut value = [0xffu8; 8];
    let to = value.as_mut_ptr().cast::<c_void>();
    size = 99;
    assert_eq!(
        call!(api, piDeviceGetInfo(device, name, 5, to, &raw mut size)),
        PI_INVALID_VALUE
    );
    assert_eq!(
        (value, size),
        ([0xff; 8], 99),
        "a destination that is too small is left alone"
    );
    assert_eq!(
        call!(api, piDeviceGetInfo(device, name, 8, to, null_mut())),
        PI_SUCCESS
    );
    assert_eq!(value, *b"Adder\0\xff\xff");
    assert_eq!(
        call!(api, piDeviceGetInfo(device, name, 0, null_mut(), null_mut())),
        PI_SUCCESS
    );
}

#[test]
fn a_panic_comes_back_as_a_code_and_a_message() {
    let api = api();
    let (_, device) = first_device(&api);
    let mut size = 0;
    let result = call!(
        api,
        piDeviceGetInfo(device, PI_DEVICE_INFO_VENDOR, 0, null_mut(), &raw mut size)
    );
    assert_eq!(result, PI_ERROR_UNKNOWN);
    let plugin = Plugin::built_in(&ADDER).unwrap();
    let device = plugin.platforms().unwrap()[0]
        .devices(PI_DEVICE_TYPE_ALL)
        .unwrap()
        .remove(0);
    let error = device.vendor().unwrap_err();
    assert_eq!(
        error.message(),
        Some("piDeviceGetInfo panicked: the vendor is a secret")
    );
    assert_eq!(device.name().unwrap(), "Adder", "the plugin goes on");
}

#[test]
fn handles_that_are_null_foreign_or_released_are_refused() {
    let api = api();
    let (platform, device) = first_device(&api);
    let context = new_context(&api);
    let mut queue = null_mut();
    assert_eq!(
        call!(api, piQueueCreate(null_mut(), device, 0, &raw mut queue)),
        PI_INVALID_CONTEXT
    );
    assert_eq!(
        call!(api, piQueueCreate(device.cast(), device, 0, &raw mut queue)),
        PI_INVALID_CONTEXT
    );
    assert_eq!(
        call!(api, piQueueCreate(context, platform.cast(), 0, &raw mut queue)),
        PI_INVALID_DEVICE
    );
    assert_eq!(
        call!(api, piQueueCreate(context, device, 0, null_mut())),
        PI_INVALID_VALUE
    );
    let foreign = 8 as pi_context;
    assert_eq!(call!(api, piContextRetain(foreign)), PI_INVALID_CONTEXT);

    assert_eq!(call!(api, piContextRetain(context)), PI_SUCCESS);
    assert_eq!(call!(api, piContextRelease(context)), PI_SUCCESS);
    assert_eq!(call!(api, piContextRelease(context)), PI_SUCCESS);
    assert_eq!(
        call!(api, piContextRelease(context)),
        PI_INVALID_CONTEXT,
        "released once too often"
    );
    assert_eq!(
        call!(api, piQueueCreate(context, device, 0, &raw mut queue)),
        PI_INVALID_CONTEXT
    );
}

#[test]
fn an_object_keeps_the_handle_of_what_it_was_made_from() {
    let api = api();
    let (_, device) = first_device(&api);
    let context = new_context(&api);
    let mut queue = null_mut();
    assert_eq!(
        call!(api, piQueueCreate(context, device, 0, &raw mut queue)),
        PI_SUCCESS
    );
    assert_eq!(call!(api, piContextRelease(context)), PI_SUCCESS);

    let mut found: pi_context = null_mut();
    let (size, to) = (size_of::<pi_context>(), (&raw mut found).cast());
    assert_eq!(
        call!(
            api,
            piQueueGetInfo(queue, PI_QUEUE_INFO_CONTEXT, size, to, null_mut())
        ),
        PI_SUCCESS
    );
    assert_eq!(found, context);
    assert_eq!(
        call!(api, piContextRetain(found)),
        PI_SUCCESS,
        "good for as long as the queue is there"
    );
    assert_eq!(call!(api, piContextRelease(found)), PI_SUCCESS);
    assert_eq!(
        call!(api, piContextRelease(found)),
        PI_INVALID_CONTEXT,
        "the queue's reference is not the host's to release"
    );

    let mut count = 0u32;
    let name = PI_QUEUE_INFO_REFERENCE_COUNT;
    assert_eq!(call!(api, piQueueRetain(queue)), PI_SUCCESS);
    assert_eq!(
        call!(
            api,
            piQueueGetInfo(queue, name, 4, (&raw mut count).cast(), null_mut())
        ),
        PI_SUCCESS
    );
    assert_eq!(count, 2);
    assert_eq!(call!(api, piQueueRelease(queue)), PI_SUCCESS);
    assert_eq!(call!(api, piQueueRelease(queue)), PI_SUCCESS);
    assert_eq!(
        call!(api, piContextRetain(context)),
        PI_INVALID_CONTEXT,
        "gone with the queue"
    );
}

#[test]
fn pointers_and_lists_are_checked() {
    let api = api();
    let (_, device) = first_device(&api);
    let context = new_context(&api);
    let mut queue = null_mut();
    assert_eq!(
        call!(api, piQueueCreate(context, device, 0, &raw mut queue)),
        PI_SUCCESS
    );
    let mut event = null_mut();
    assert_eq!(
        call!(api, piEnqueueEventsWait(queue, 1, null(), &raw mut event)),
        PI_INVALID_EVENT_WAIT_LIST
    );
    let foreign = [context.cast::<_pi_event>()];
    assert_eq!(
        call!(
            api,
            piEnqueueEventsWait(queue, 1, foreign.as_ptr(), &raw mut event)
        ),
        PI_INVALID_EVENT_WAIT_LIST
    );
    assert_eq!(call!(api, piEventsWait(1, foreign.as_ptr())), PI_INVALID_EVENT);
    assert_eq!(call!(api, piEventsWait(0, null())), PI_INVALID_VALUE);
    assert_eq!(
        call!(api, piPlatformsGet(0, null_mut(), null_mut())),
        PI_INVALID_VALUE
    );

    let mut memory = null_mut();
    let create = |flags, pointer: *mut c_void, memory| {
        call!(api, piMemBufferCreate(context, flags, 4, pointer, memory, null()))
    };
    let mut data = [1u8; 4];
    assert_eq!(
        create(PI_MEM_FLAGS_HOST_PTR_COPY, null_mut(), &raw mut memory),
        PI_INVALID_HOST_PTR
    );
    assert_eq!(
        create(PI_MEM_FLAGS_ACCESS_RW, data.as_mut_ptr().cast(), &raw mut memory),
        PI_INVALID_HOST_PTR
    );
    assert_eq!(
        create(PI_MEM_FLAGS_HOST_PTR_COPY, data.as_mut_ptr().cast(), null_mut()),
        PI_INVALID_VALUE
    );
    assert_eq!(
        create(
            PI_MEM_FLAGS_HOST_PTR_COPY,
            data.as_mut_ptr().cast(),
            &raw mut memory
        ),
        PI_SUCCESS
    );
    let blocking = PI_TRUE;
    assert_eq!(
        call!(
            api,
            piEnqueueMemBufferRead(queue, memory, blocking, 0, 4, null_mut(), 0, null(), null_mut())
        ),
        PI_INVALID_VALUE
    );

    let mut program = null_mut();
    assert_eq!(
        call!(api, piProgramCreate(context, null(), 4, &raw mut program)),
        PI_INVALID_VALUE
    );
    let mut kernel = null_mut();
    assert_eq!(
        call!(
            api,
            piProgramCreate(context, c"add".as_ptr().cast(), 3, &raw mut program)
        ),
        PI_SUCCESS
    );
    assert_eq!(
        call!(api, piKernelCreate(program, null(), &raw mut kernel)),
        PI_INVALID_VALUE
    );
    assert_eq!(
        call!(api, piKernelCreate(program, c"\xff".as_ptr(), &raw mut kernel)),
        PI_INVALID_VALUE
    );
    assert_eq!(
        call!(api, piKernelCreate(program, c"add".as_ptr(), &raw mut kernel)),
        PI_SUCCESS
    );
    let sizes = [1usize; 4];
    let launch = |dimensions, sizes| {
        call!(
            api,
            piEnqueueKernelLaunch(
                queue,
                kernel,
                dimensions,
                null(),
                sizes,
                null(),
                0,
                null(),
                null_mut()
            )
        )
    };
    assert_eq!(launch(0, sizes.as_ptr()), PI_INVALID_WORK_DIMENSION);
    assert_eq!(launch(4, sizes.as_ptr()), PI_INVALID_WORK_DIMENSION);
    assert_eq!(launch(1, null()), PI_INVALID_VALUE);

    for result in [
        call!(api, piKernelRelease(kernel)),
        call!(api, piProgramRelease(program)),
        call!(api, piMemRelease(memory)),
        call!(api, piQueueRelease(queue)),
        call!(api, piContextRelease(context)),
    ] {
        assert_eq!(result, PI_SUCCESS);
    }
}

#[test]
fn only_released_versions_are_accepted() {
    let unknown = [
        "1.2", "2.2", "2.4", "3.5", "15.4", "15.48", "12.21", "12.2", "~~~", "",
    ];
    for version in unknown {
        let mut record = [0u8; 1328];
        record[..version.len()].copy_from_slice(version.as_bytes());
        let offered = record;
        // SAFETY: the record has room for the table of any version.
        let result = unsafe { ADDER.init()(record.as_mut_ptr().cast()) };
        assert_eq!(result, PI_INVALID_OPERATION, "{version}");
        assert_eq!(record, offered);
    }
    // SAFETY: null is looked for.
    assert_eq!(unsafe { ADDER.init()(null_mut()) }, PI_INVALID_VALUE);
}

unsafe extern "C" fn refuses(_: *mut c_void) -> pi_result {
    PI_INVALID_OPERATION
}

/// Does what libpi_opencl of a release between two of ours does when it is offered "2.3": takes it, as it compares
/// text, and writes its own, longer record.
unsafe extern "C" fn speaks_another_version(record: *mut c_void) -> pi_result {
    let record = record.cast::<u8>();
    // SAFETY: hosts leave room for the record of any version.
    unsafe {
        record
            .add(20)
            .copy_from_nonoverlapping(c"14.38.1".as_ptr().cast(), 8);
        record.add(48).write_bytes(0x55, 1320 - 48);
    }
    PI_SUCCESS
}

/// Fills in a table with no functions at all.
unsafe extern "C" fn provides_nothing(record: *mut c_void) -> pi_result {
    // SAFETY: the host offers a record of this version.
    unsafe { record.cast::<[u8; 4]>().add(1).write(*b"2.3\0") };
    PI_SUCCESS
}

unsafe extern "C" fn says_why(message: *mut *const c_char) -> pi_result {
    let text: &'static CStr = c"the driver is on holiday";
    // SAFETY: hosts pass a place for a pointer.
    unsafe { message.write(text.as_ptr()) };
    PI_SUCCESS
}

#[test]
fn a_host_notices_plugins_it_cannot_use() {
    // SAFETY: these functions do what a host has to reckon with; none fills in functions of the wrong types
    // and says it were the right version.
    let [refuses, other, nothing] = unsafe {
        [
            BuiltIn::new("refuses", refuses, Some(says_why)),
            BuiltIn::new("other", speaks_another_version, None),
            BuiltIn::new("nothing", provides_nothing, None),
        ]
    };
    let error = Plugin::built_in(&refuses).unwrap_err();
    assert_eq!(
        error.to_string(),
        "plugin refuses refuses PI 2.3, 6.8, 12.27, 15.47: PI_INVALID_OPERATION (-59): the driver is on holiday"
    );
    let error = Plugin::built_in(&other).unwrap_err();
    assert_eq!(
        error.to_string(),
        "plugin other speaks PI 14.38.1; this host speaks PI 2.3, 6.8, 12.27, 15.47"
    );

    let error = Plugin::built_in(&nothing).unwrap().platforms().unwrap_err();
    assert_eq!(
        error.to_string(),
        "piPlatformsGet is not provided by plugin nothing"
    );
}

#[test]
fn libraries_that_are_no_plugins_are_named() {
    let error = Plugin::load("/nonexistent/libpi_none.so").unwrap_err();
    assert!(
        matches!(&error, LoadError::Open { path, .. } if path.ends_with("libpi_none.so")),
        "{error}"
    );
    #[cfg(target_os = "linux")]
    {
        let error = Plugin::load("libc.so.6").unwrap_err();
        assert_eq!(
            error.to_string(),
            "libc.so.6 is not a plugin: it has no symbol `piPluginInit`"
        );
    }
}

#[test]
fn a_program_is_for_its_own_devices() {
    let api = api();
    let (platform, _) = first_device(&api);
    let (mut devices, mut context, mut program) = ([null_mut(); 2], null_mut(), null_mut());
    let list = devices.as_mut_ptr();
    let done = |result| assert_eq!(result, PI_SUCCESS);
    done(call!(
        api,
        piDevicesGet(platform, PI_DEVICE_TYPE_ALL, 2, list, null_mut())
    ));
    let [first, second] = devices;
    done(call!(
        api,
        piContextCreate(null(), 2, devices.as_ptr(), None, null_mut(), &raw mut context)
    ));
    let (length, mut start) = (3, c"add".as_ptr().cast());
    done(call!(
        api,
        piProgramCreateWithBinary(
            context,
            1,
            &raw const second,
            &raw const length,
            &raw mut start,
            null_mut(),
            &raw mut program
        )
    ));
    let mut count = 0_u32;
    let (name, to) = (PI_PROGRAM_INFO_NUM_DEVICES, (&raw mut count).cast());
    done(call!(api, piProgramGetInfo(program, name, 4, to, null_mut())));
    assert_eq!(count, 1);
    let mut only: pi_device = null_mut();
    let (name, to) = (PI_PROGRAM_INFO_DEVICES, (&raw mut only).cast());
    done(call!(api, piProgramGetInfo(program, name, 8, to, null_mut())));
    assert_eq!(only, second);

    let build = |device: pi_device| {
        let (list, options) = (&raw const device, c"-g".as_ptr());
        call!(api, piProgramBuild(program, 1, list, options, None, null_mut()))
    };
    assert_eq!(build(first), PI_INVALID_DEVICE);
    assert_eq!(build(second), PI_SUCCESS);
    let options = |device| {
        let mut text = [0_u8; 64];
        let (name, to) = (PI_PROGRAM_BUILD_INFO_OPTIONS, text.as_mut_ptr().cast());
        let result = call!(
            api,
            piProgramGetBuildInfo(program, device, name, 64, to, null_mut())
        );
        let text = std::ffi::CStr::from_bytes_until_nul(&text).unwrap();
        (result, text.to_str().unwrap().to_owned())
    };
    assert_eq!(options(first).0, PI_INVALID_DEVICE);
    // The device's native handle: it is the one that the plugin is told of.
    assert_eq!(options(second), (PI_SUCCESS, "-g for 3".to_owned()));
    done(call!(api, piProgramRelease(program)));
    done(call!(api, piContextRelease(context)));
}
