//! What launches with unified shared memory allocate, on the host's side and the device's: nothing. And when what they
//! used is let go of.

use core::alloc::{GlobalAlloc, Layout};
use offkit_pi::ffi::PI_DEVICE_TYPE_ALL;
use offkit_pi::host::{
    Argument, CommandStatus, Context, Device, Event, Kernel, NdRange, Plugin, Queue, QueueProperties,
    UserEvent, Usm, UsmKind,
};
use offkit_plugin_cpu::native::{NativeKernel, NativeLaunch, register};
use offkit_spirv::{Parameter, ParameterKind, Storage, Type};
use std::alloc::System;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The system's allocator, which counts.
struct Counting;

static ALLOCATIONS: AtomicUsize = AtomicUsize::new(0);
/// Allocations of [`LARGE`] bytes and more that are there.
static LARGE_ONES: AtomicUsize = AtomicUsize::new(0);

const LARGE: usize = 1 << 20;

// SAFETY: the system's allocator does the work.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
        LARGE_ONES.fetch_add(usize::from(layout.size() >= LARGE), Ordering::Relaxed);
        // SAFETY: by the caller's promise.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        LARGE_ONES.fetch_sub(usize::from(layout.size() >= LARGE), Ordering::Relaxed);
        // SAFETY: by the caller's promise.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

/// Adds 1 to what its argument points to.
unsafe extern "C" fn count(launch: *const NativeLaunch, _first: u64, _end: u64, _local: *mut u8) {
    // SAFETY: the launch has one argument, the address of a number.
    unsafe {
        let number = (*(*launch).arguments) as *mut u64;
        *number += 1;
    }
}

/// How a kernel is given an allocation.
type Given = fn(&Usm) -> Argument;

/// As such, and as a plain address, with which a kernel may use all others, too.
const WAYS: [Given; 2] = [|usm| usm.into(), |usm| Argument::Address(usm.address())];

struct Machine {
    device: Device,
    context: Context,
    queues: [Queue; 2],
    /// Is run by who submits it, if it need not wait.
    small: Kernel,
    /// Is run by the device's threads.
    other: Kernel,
}

impl Machine {
    fn new() -> Machine {
        let pointee = Type {
            name: "i64".to_owned(),
            layout: None,
        };
        let kind = ParameterKind::Pointer {
            storage: Storage::Global,
            pointee,
        };
        let kernel = |name| {
            // SAFETY: the function touches nothing but the number it is given.
            unsafe { NativeKernel::new(name, vec![Parameter::new(kind.clone(), 8)], count) }
        };
        register("count", [kernel("small").bounded(), kernel("other")]);
        let plugin = Plugin::built_in(&offkit_plugin_cpu::plugin::BUILT_IN).unwrap();
        let platform = plugin.platforms().unwrap().remove(0);
        let device = platform.devices(PI_DEVICE_TYPE_ALL).unwrap().remove(0);
        let context = Context::new(&[&device]).unwrap();
        let program = context.program_with_il(b"offkit-native:count").unwrap();
        program.build("").unwrap();
        let queues = [false, true].map(|out_of_order| {
            let properties = QueueProperties {
                out_of_order,
                ..QueueProperties::default()
            };
            context.queue(&device, properties).unwrap()
        });
        let [small, other] = ["small", "other"].map(|name| program.kernel(name).unwrap());
        Machine {
            device,
            context,
            queues,
            small,
            other,
        }
    }

    fn usm(&self, size: usize) -> Usm {
        self.context.usm(UsmKind::Shared, &self.device, size, 8).unwrap()
    }

    /// Launches a kernel with an allocation that is dropped right after.
    fn launch_with_large(&mut self, queue: usize, wait: &UserEvent, given: Given) -> Event {
        let kernel = &mut self.other;
        let usm = self.context.usm(UsmKind::Shared, &self.device, LARGE, 8).unwrap();
        kernel.set_argument(0, given(&usm)).unwrap();
        let event = self.queues[queue].launch(kernel, &NdRange::new([1]), &[wait.event()]);
        kernel.set_argument(0, Argument::Address(0)).unwrap();
        event.unwrap()
    }
}

fn wait_without_the_host(event: &Event) {
    while event.status().unwrap() != CommandStatus::Complete {
        std::thread::yield_now();
    }
}

/// One test, as what others allocate at the same time would count.
#[test]
fn launches_allocate_nothing_and_let_go_of_what_they_used() {
    let mut machine = Machine::new();
    let number = machine.usm(8);
    let range = NdRange::new([1]);
    let round = |machine: &Machine| {
        for queue in &machine.queues {
            let first = queue.launch(&machine.other, &range, &[]).unwrap();
            let then = queue.launch(&machine.small, &range, &[&first]).unwrap();
            let last = queue.launch(&machine.other, &range, &[&first, &then]).unwrap();
            last.try_clone().unwrap().wait().unwrap();
            for _ in 0..10 {
                queue.launch(&machine.small, &range, &[]).unwrap();
            }
            drop((first, then));
            last.wait().unwrap();
        }
    };
    for given in WAYS {
        machine.small.set_argument(0, given(&number)).unwrap();
        machine.other.set_argument(0, given(&number)).unwrap();
        (0..50).for_each(|_| round(&machine));
        let mut others: Vec<Usm> = Vec::new();
        // What a thread of the pool allocates as it wakes for the first time, and a list as it grows to the most that were ever
        // pending, falls into some of these; an allocation for each launch into all, and so does one for each time that there
        // are more allocations than ever.
        let allocated = [(); 5].map(|()| {
            let more = 64.max(3 * others.len());
            others.extend((0..more).map(|_| machine.usm(8)));
            let before = ALLOCATIONS.load(Ordering::SeqCst);
            (0..200).for_each(|_| round(&machine));
            ALLOCATIONS.load(Ordering::SeqCst) - before
        });
        assert!(allocated.contains(&0), "{allocated:?}");
    }

    let live = || LARGE_ONES.load(Ordering::SeqCst);
    for (queue, given) in [0, 1]
        .into_iter()
        .flat_map(|queue| WAYS.map(|given| (queue, given)))
    {
        let gate = machine.context.user_event().unwrap();
        let event = machine.launch_with_large(queue, &gate, given);
        assert_eq!(live(), 1, "used by a command");
        gate.complete().unwrap();
        event.wait().unwrap();
        assert_eq!(live(), 0, "its command has been waited for");

        let gate = machine.context.user_event().unwrap();
        machine.launch_with_large(queue, &gate, given);
        gate.complete().unwrap();
        machine.queues[queue].finish().unwrap();
        assert_eq!(live(), 0, "its queue is finished");

        let gate = machine.context.user_event().unwrap();
        let event = machine.launch_with_large(queue, &gate, given);
        gate.complete().unwrap();
        wait_without_the_host(&event);
        machine.queues[queue].launch(&machine.small, &range, &[]).unwrap();
        assert_eq!(live(), 0, "there was a later launch");
    }

    // What a command may use without being given it.
    machine.other.set_argument(0, &number).unwrap();
    let (gate, large) = (machine.context.user_event().unwrap(), machine.usm(LARGE));
    let event = machine.queues[0]
        .launch(&machine.other, &range, &[gate.event()])
        .unwrap();
    drop(large);
    assert_eq!(live(), 0, "it finds no addresses");
    machine.other.set_indirect_access(true).unwrap();
    let large = machine.usm(LARGE);
    let indirect = machine.queues[0]
        .launch(&machine.other, &range, &[gate.event()])
        .unwrap();
    drop(large);
    assert_eq!(live(), 1, "it may find one");
    gate.complete().unwrap();
    event.wait().unwrap();
    indirect.wait().unwrap();
    assert_eq!(live(), 0, "it is done");

    // A command that is done, and whose queue nobody has used since.
    let gate = machine.context.user_event().unwrap();
    let wait = [gate.event()];
    let done = machine.queues[0].launch(&machine.other, &range, &wait).unwrap();
    let then = machine.queues[1]
        .launch(&machine.other, &range, &[&done])
        .unwrap();
    gate.complete().unwrap();
    then.wait().unwrap();
    drop(machine.usm(LARGE));
    assert_eq!(live(), 0, "it is done");
    machine.other.set_indirect_access(false).unwrap();

    // Commands that are done behind one that is not.
    let gates = [(); 2].map(|()| machine.context.user_event().unwrap());
    let held_up = machine.launch_with_large(1, &gates[0], WAYS[0]);
    let events: Vec<Event> = (0..40)
        .map(|_| machine.launch_with_large(1, &gates[1], WAYS[0]))
        .collect();
    assert_eq!(live(), 41);
    let [gate, opened] = gates;
    opened.complete().unwrap();
    events.iter().for_each(wait_without_the_host);
    for _ in 0..events.len() {
        machine.queues[1].launch(&machine.small, &range, &[]).unwrap();
    }
    assert_eq!(live(), 1, "the first");

    // A queue that is gone has nobody else to let go.
    let [_, queue] = machine.queues;
    drop(queue);
    gate.complete().unwrap();
    drop(held_up);
    while live() > 0 {
        std::thread::yield_now();
    }
}
