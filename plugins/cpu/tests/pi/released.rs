//! Handles that are none: released, of another kind, of another plugin, and wild. They are refused, wherever they are
//! passed. Under the address sanitizer (`./dev asan`) this also shows that nothing of what is gone is touched.

use crate::raw::{Raw, call};
use crate::support::{library, spirv};
use offkit_pi::ffi::*;
use offkit_pi::host::Plugin;
use std::ptr::{null, null_mut, with_exposed_provenance_mut as handle};
use std::time::{Duration, Instant};

/// A range of one work-item.
static ONE: [usize; 1] = [1];

/// Long enough for a test that would otherwise hang.
const LIMIT: Duration = Duration::from_secs(60);

/// One live object of each kind, by the error that another handle in its place is refused with.
struct Objects {
    raw: Raw,
    handles: [(pi_result, usize); 8],
}

/// A place where a function takes a handle of a kind.
struct Place<'a> {
    /// The error of a handle that is none of the kind.
    error: pi_result,
    name: &'static str,
    call: Box<dyn Fn(usize) -> pi_result + 'a>,
}

impl Objects {
    fn new(plugin: &Plugin, spirv: &[u8]) -> Objects {
        let raw = Raw::new(plugin.api());
        let (mut platform, mut device) = (null_mut(), null_mut());
        let (mut program, mut kernel, mut event) = (null_mut(), null_mut(), null_mut());
        call!(raw, piPlatformsGet(1, &raw mut platform, null_mut()));
        call!(
            raw,
            piDevicesGet(platform, PI_DEVICE_TYPE_ALL, 1, &raw mut device, null_mut())
        );
        let memory = raw.buffer(PI_MEM_FLAGS_ACCESS_RW, 64, null_mut());
        let il = spirv.as_ptr().cast();
        call!(
            raw,
            piProgramCreate(raw.context, il, spirv.len(), &raw mut program)
        );
        call!(raw, piProgramBuild(program, 0, null(), null(), None, null_mut()));
        call!(raw, piKernelCreate(program, c"fill".as_ptr(), &raw mut kernel));
        call!(raw, piextKernelSetArgMemObj(kernel, 0, &raw const memory));
        call!(
            raw,
            piEnqueueKernelLaunch(
                raw.queue,
                kernel,
                1,
                null(),
                ONE.as_ptr(),
                null(),
                0,
                null(),
                &raw mut event
            )
        );
        call!(raw, piEventsWait(1, &raw const event));
        let handles = [
            (PI_INVALID_PLATFORM, platform.expose_provenance()),
            (PI_INVALID_DEVICE, device.expose_provenance()),
            (PI_INVALID_CONTEXT, raw.context.expose_provenance()),
            (PI_INVALID_QUEUE, raw.queue.expose_provenance()),
            (PI_INVALID_MEM_OBJECT, memory.expose_provenance()),
            (PI_INVALID_PROGRAM, program.expose_provenance()),
            (PI_INVALID_KERNEL, kernel.expose_provenance()),
            (PI_INVALID_EVENT, event.expose_provenance()),
        ];
        Objects { raw, handles }
    }

    fn get(&self, error: pi_result) -> usize {
        self.handles.iter().find(|(kind, _)| *kind == error).unwrap().1
    }

    /// The places where functions take handles; the others that they need are live.
    fn places(&self) -> Vec<Place<'_>> {
        let mut places = Vec::new();
        // Each `$h` stands for the handle in question.
        macro_rules! places {
            ($($error:ident { $($function:ident($($argument:expr),* $(,)?) with $h:ident;)* })*) => {$($(
                places.push(Place {
                    error: $error,
                    name: stringify!($function),
                    call: Box::new(move |$h: usize| {
                        let function = self.raw.api.$function.unwrap();
                        let _ = $h;
                        // SAFETY: handles may be anything; what else is passed is valid during the call.
                        unsafe { function($($argument),*) }
                    }),
                });
            )*)*};
        }
        let (context, queue): (pi_context, pi_queue) = (self.raw.context, self.raw.queue);
        let memory: pi_mem = handle(self.get(PI_INVALID_MEM_OBJECT));
        let kernel: pi_kernel = handle(self.get(PI_INVALID_KERNEL));
        let device: pi_device = handle(self.get(PI_INVALID_DEVICE));
        let one = (&raw const ONE).cast::<usize>();
        // A query may have the name of another: what is wrong is found before it is looked at.
        places! {
            PI_INVALID_PLATFORM {
                piPlatformGetInfo(handle(h), PI_PLATFORM_INFO_NAME, 0, null_mut(), null_mut()) with h;
                piDevicesGet(handle(h), PI_DEVICE_TYPE_ALL, 0, null_mut(), &mut 0) with h;
            }
            PI_INVALID_DEVICE {
                piDeviceGetInfo(handle(h), PI_DEVICE_INFO_NAME, 0, null_mut(), null_mut()) with h;
                piDeviceRetain(handle(h)) with h;
                piDeviceRelease(handle(h)) with h;
                piContextCreate(null(), 1, &handle(h), None, null_mut(), &mut null_mut()) with h;
                piQueueCreate(context, handle(h), 0, &mut null_mut()) with h;
            }
            PI_INVALID_CONTEXT {
                piContextGetInfo(handle(h), PI_CONTEXT_INFO_NUM_DEVICES, 0, null_mut(), null_mut()) with h;
                piContextRetain(handle(h)) with h;
                piContextRelease(handle(h)) with h;
                piQueueCreate(handle(h), device, 0, &mut null_mut()) with h;
                piMemBufferCreate(handle(h), PI_MEM_FLAGS_ACCESS_RW, 4, null_mut(), &mut null_mut(), null()) with h;
                piProgramCreate(handle(h), one.cast(), 8, &mut null_mut()) with h;
                piEventCreate(handle(h), &mut null_mut()) with h;
                piextUSMHostAlloc(&mut null_mut(), handle(h), null_mut(), 4, 0) with h;
                piextUSMFree(handle(h), null_mut()) with h;
            }
            PI_INVALID_QUEUE {
                piQueueGetInfo(handle(h), PI_QUEUE_INFO_DEVICE, 0, null_mut(), null_mut()) with h;
                piQueueRetain(handle(h)) with h;
                piQueueRelease(handle(h)) with h;
                piQueueFinish(handle(h)) with h;
                piEnqueueKernelLaunch(handle(h), kernel, 1, null(), one, null(), 0, null(), null_mut()) with h;
                piEnqueueEventsWait(handle(h), 0, null(), null_mut()) with h;
                piextUSMEnqueueMemset(handle(h), one.cast_mut().cast(), 0, 0, 0, null(), null_mut()) with h;
            }
            PI_INVALID_MEM_OBJECT {
                piMemGetInfo(handle(h), PI_MEM_INFO_SIZE as _, 0, null_mut(), null_mut()) with h;
                piMemRetain(handle(h)) with h;
                piMemRelease(handle(h)) with h;
                piextKernelSetArgMemObj(kernel, 0, &handle(h)) with h;
                piEnqueueMemBufferCopy(queue, handle(h), memory, 0, 8, 8, 0, null(), null_mut()) with h;
                piEnqueueMemBufferCopy(queue, memory, handle(h), 0, 8, 8, 0, null(), null_mut()) with h;
                piEnqueueMemUnmap(queue, handle(h), null_mut(), 0, null(), null_mut()) with h;
            }
            PI_INVALID_PROGRAM {
                piProgramGetInfo(handle(h), PI_PROGRAM_INFO_NUM_DEVICES, 0, null_mut(), null_mut()) with h;
                piProgramRetain(handle(h)) with h;
                piProgramRelease(handle(h)) with h;
                piProgramBuild(handle(h), 0, null(), null(), None, null_mut()) with h;
                piKernelCreate(handle(h), c"fill".as_ptr(), &mut null_mut()) with h;
                piProgramLink(context, 0, null(), null(), 1, &handle(h), None, null_mut(), &mut null_mut()) with h;
            }
            PI_INVALID_KERNEL {
                piKernelGetInfo(handle(h), PI_KERNEL_INFO_NUM_ARGS, 0, null_mut(), null_mut()) with h;
                piKernelRetain(handle(h)) with h;
                piKernelRelease(handle(h)) with h;
                piKernelSetArg(handle(h), 0, 8, one.cast()) with h;
                piextKernelSetArgMemObj(handle(h), 0, &memory) with h;
                piEnqueueKernelLaunch(queue, handle(h), 1, null(), one, null(), 0, null(), null_mut()) with h;
            }
            PI_INVALID_EVENT {
                piEventGetInfo(handle(h), PI_EVENT_INFO_COMMAND_TYPE, 0, null_mut(), null_mut()) with h;
                piEventRetain(handle(h)) with h;
                piEventRelease(handle(h)) with h;
                piEventsWait(1, &handle(h)) with h;
                piEventSetStatus(handle(h), PI_EVENT_COMPLETE) with h;
            }
            PI_INVALID_EVENT_WAIT_LIST {
                piEnqueueEventsWait(queue, 1, &handle(h), null_mut()) with h;
                piEnqueueKernelLaunch(queue, kernel, 1, null(), one, null(), 1, &handle(h), null_mut()) with h;
            }
        }
        places
    }

    /// Passes a handle wherever it is none of the kind.
    fn refuse(&self, what: &str, value: usize, kind: Option<pi_result>) {
        for place in self.places() {
            let right = kind == Some(place.error)
                || kind == Some(PI_INVALID_EVENT) && place.error == PI_INVALID_EVENT_WAIT_LIST;
            if !right {
                assert_eq!((place.call)(value), place.error, "{what} given to {}", place.name);
            }
        }
    }

    /// Gives back all that can be, and waits until it is gone: what commands use goes when they are done. Returns the
    /// stale handles.
    fn release(self) -> Vec<(pi_result, usize)> {
        let released: Vec<_> = self.handles[2..].to_vec();
        let take_back = |name: &str, (error, value): (pi_result, usize)| {
            let places = self.places();
            let mut of_the_kind = places.iter().filter(|place| place.error == error);
            (of_the_kind.find(|place| place.name.ends_with(name)).unwrap().call)(value)
        };
        for object in released.iter().rev() {
            assert_eq!(take_back("Release", *object), PI_SUCCESS);
        }
        let start = Instant::now();
        for object in &released {
            while take_back("GetInfo", *object) == PI_SUCCESS {
                assert!(start.elapsed() < LIMIT, "{object:?} is still there");
                std::thread::yield_now();
            }
        }
        released
    }
}

#[test]
fn what_is_no_handle_of_the_kind_is_refused_everywhere() {
    let spirv = spirv!("kernel void fill(global uchar *p) { p[get_global_id(0)] = 7; }");
    let built_in = Plugin::built_in(&offkit_plugin_cpu::plugin::BUILT_IN).unwrap();
    let loaded = Plugin::load(library()).unwrap();
    for (plugin, other) in [(&built_in, &loaded), (&loaded, &built_in)] {
        let (objects, others) = (Objects::new(plugin, &spirv), Objects::new(other, &spirv));
        for (kind, value) in others.handles {
            objects.refuse("a handle of another plugin", value, None);
            objects.refuse("an address in an object of another plugin", value + 64, None);
            let own = objects.get(kind);
            objects.refuse("a handle of another kind", own, Some(kind));
            objects.refuse("an address in an object", own + 16, None);
        }
        let on_the_stack = [0usize; 32];
        let stack = on_the_stack.as_ptr().expose_provenance();
        for wild in [1, 8, 16, 4096, stack, stack + 1, usize::MAX, usize::MAX - 7] {
            objects.refuse("a wild number", wild, None);
        }
        for (_, value) in others.release() {
            objects.refuse("a released handle of another plugin", value, None);
        }
        for (_, value) in Objects::new(plugin, &spirv).release() {
            objects.refuse("a released handle", value, None);
        }
        objects.release();
    }
}

#[test]
fn arguments_set_by_several_threads_at_a_time_are_set_or_refused() {
    let spirv = spirv!("kernel void fill(global uchar *p) { p[get_global_id(0)] = 7; }");
    let plugin = Plugin::built_in(&offkit_plugin_cpu::plugin::BUILT_IN).unwrap();
    let objects = Objects::new(&plugin, &spirv);
    let (memory, kernel) = (objects.get(PI_INVALID_MEM_OBJECT), objects.get(PI_INVALID_KERNEL));
    let queue = objects.get(PI_INVALID_QUEUE);
    let api = objects.raw.api;
    let (set, launch) = (
        api.piextKernelSetArgMemObj.unwrap(),
        api.piEnqueueKernelLaunch.unwrap(),
    );
    let work = || {
        for _ in 0..2000 {
            // SAFETY: live handles; what is passed with them is valid during the calls.
            let results = unsafe {
                let (queue, kernel) = (handle(queue), handle(kernel));
                let size = ONE.as_ptr();
                [
                    set(kernel, 0, &handle(memory)),
                    launch(queue, kernel, 1, null(), size, null(), 0, null(), null_mut()),
                ]
            };
            let expected = |result| [PI_SUCCESS, PI_INVALID_OPERATION].contains(&result);
            assert!(results.into_iter().all(expected), "{results:?}");
        }
    };
    std::thread::scope(|scope| {
        scope.spawn(work);
        work();
    });
    call!(objects.raw, piQueueFinish(objects.raw.queue));
    call!(
        objects.raw,
        piextKernelSetArgMemObj(handle(kernel), 0, &handle(memory))
    );
    objects.release();
}

#[test]
fn an_error_says_what_the_handle_is() {
    let spirv = spirv!("kernel void fill(global uchar *p) { p[get_global_id(0)] = 7; }");
    let plugin = Plugin::built_in(&offkit_plugin_cpu::plugin::BUILT_IN).unwrap();
    let objects = Objects::new(&plugin, &spirv);
    let message = |value: usize| {
        call_of(&objects, "piEventRetain", value);
        let mut text = null();
        // SAFETY: a place for a pointer, which is to a text that stays until this thread's next call.
        unsafe {
            assert_eq!(offkit_pi::plugin::get_last_error(&raw mut text), PI_SUCCESS);
            std::ffi::CStr::from_ptr(text).to_string_lossy().into_owned()
        }
    };
    assert_eq!(message(0), "a null handle, not an event");
    assert_eq!(message(4096), "not an event of plugin cpu");
    assert_eq!(message(objects.get(PI_INVALID_KERNEL)), "a kernel, not an event");
    let event = objects.get(PI_INVALID_EVENT);
    let stale = Objects::new(&plugin, &spirv).release();
    assert_ne!(stale.last().unwrap().1, event);
    assert_eq!(
        message(stale.last().unwrap().1),
        "an event that has been released"
    );
    objects.release();
}

fn call_of(objects: &Objects, name: &str, value: usize) {
    let places = objects.places();
    let place = places.iter().find(|place| place.name == name).unwrap();
    assert_eq!((place.call)(value), place.error);
}
