//! What host programs do around the device: they fork, end in the middle of things, compute with numbers in
//! their own way, and say how many threads there are to be.

use crate::support::{self, Machine, bytes, spirv, with_both};
use offkit_pi::host::{NdRange, QueueProperties};
use offkit_plugin_cpu::native::{NativeKernel, NativeLaunch, register};
use offkit_spirv::{Layout, Parameter, ParameterKind, Scalar, Storage, Type};
use std::collections::HashSet;
use std::process::{Command, Output};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread::ThreadId;
use std::time::{Duration, Instant};

/// Slow enough for all threads to join in.
const SUMS: &str = "kernel void sums(global float *out) {
    size_t i = get_global_id(0);
    float sum = 0;
    for (uint k = 0; k < 200; k++) sum += k * (i % 7);
    out[i] = sum;
}";

const COUNT: usize = 1 << 14;

/// Launches the kernel, and says whether its results are right.
fn sums_are_right(machine: &Machine, spirv: &[u8]) -> bool {
    let mut kernel = machine.build(spirv).kernel("sums").unwrap();
    let out = machine.context.buffer_from(&bytes(&vec![0.0; COUNT])).unwrap();
    kernel.set_argument(0, &out).unwrap();
    machine.run(&kernel, COUNT);
    let right = |(i, sum): (usize, &f32)| *sum == ((i % 7) * 199 * 100) as f32;
    machine.floats(&out).iter().enumerate().all(right)
}

fn built_in() -> Machine {
    Machine::new(support::built_in(), false)
}

fn threads_of_the_pool() -> usize {
    let tasks = std::fs::read_dir("/proc/self/task").unwrap();
    let names = tasks.filter_map(|task| std::fs::read_to_string(task.ok()?.path().join("comm")).ok());
    names
        .filter(|name| {
            name.trim()
                .strip_prefix("offkit cpu ")
                .is_some_and(|number| number.parse::<u32>().is_ok())
        })
        .count()
}

/// Runs an ignored test of this program in a process of its own.
pub(crate) fn alone(test: &str, wrapper: &[&str], threads: Option<&str>) -> Output {
    let program = std::env::current_exe().unwrap();
    let mut words = wrapper
        .iter()
        .map(std::ffi::OsStr::new)
        .chain([program.as_os_str()]);
    let mut command = Command::new(words.next().unwrap());
    command
        .args(words)
        .args(["--ignored", "--exact", test, "--nocapture"]);
    match threads {
        Some(threads) => command.env("OFFKIT_CPU_THREADS", threads),
        None => command.env_remove("OFFKIT_CPU_THREADS"),
    };
    command.output().unwrap()
}

#[track_caller]
pub(crate) fn passes(output: &Output) {
    let shown = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success() && shown.contains("1 passed"),
        "{:?}: {shown}",
        output.status
    );
}

#[test]
#[cfg(target_os = "linux")]
fn a_fork_has_threads_of_its_own() {
    let _spirv = spirv!(SUMS);
    passes(&alone("hosts::forks", &[], Some("3")));
}

#[test]
#[ignore = "run by a_fork_has_threads_of_its_own in a process of its own"]
#[cfg(target_os = "linux")]
fn forks() {
    let spirv = spirv!(SUMS);
    // What is interpreted is slow enough for all threads; a child has a compiler of its own as well.
    let [machine, compiles] = [true, false].map(|checks| Machine::new(support::built_in(), checks));
    for _ in 0..5 {
        assert!(sums_are_right(&machine, &spirv) && sums_are_right(&compiles, &spirv));
        assert_eq!(threads_of_the_pool(), 2);
        // SAFETY: the child uses no lock that another thread may have held: the others sleep, or the fork waits for them.
        let child = unsafe { libc::fork() };
        if child == 0 {
            // SAFETY: ends a child that hangs.
            unsafe { libc::alarm(60) };
            assert_eq!(threads_of_the_pool(), 0);
            let right = sums_are_right(&Machine::new(support::built_in(), true), &spirv)
                && sums_are_right(&built_in(), &spirv)
                && threads_of_the_pool() == 2;
            // SAFETY: always possible.
            unsafe { libc::_exit(if right { 0 } else { 1 }) };
        }
        assert!(child > 0);
        let mut status = 0;
        // SAFETY: `status` is valid for writing.
        assert_eq!(unsafe { libc::waitpid(child, &mut status, 0) }, child);
        assert_eq!(status, 0, "the child's results");
    }
    assert!(sums_are_right(&machine, &spirv));
}

#[test]
#[cfg(target_os = "linux")]
fn a_process_ends_while_a_kernel_runs() {
    let _spirv = spirv!("kernel void k(global float *a) { a[0] = 1; }");
    let start = Instant::now();
    let output = alone("hosts::ends_early", &[], Some("3"));
    assert_eq!(output.status.code(), Some(7), "{output:?}");
    assert!(start.elapsed() < Duration::from_secs(60));
}

#[test]
#[ignore = "run by a_process_ends_while_a_kernel_runs in a process of its own"]
fn ends_early() {
    let spirv = spirv!("kernel void endless(global float *a) { while (a[0] == 0) a[1] += 1; }");
    let machine = built_in();
    let mut kernel = machine.build(&spirv).kernel("endless").unwrap();
    let buffer = machine.context.buffer_from(&bytes(&[0.0; 64])).unwrap();
    kernel.set_argument(0, &buffer).unwrap();
    let _running = machine
        .queue
        .launch(&kernel, &NdRange::new([1 << 12]), &[])
        .unwrap();
    std::thread::sleep(Duration::from_millis(50));
    std::process::exit(7);
}

#[test]
#[cfg(target_os = "linux")]
fn threads_are_as_many_as_the_process_may_use() {
    let _spirv = spirv!(SUMS);
    passes(&alone("hosts::has_three_threads", &[], Some("3")));
    for useless in ["", "none", "0", "-1"] {
        passes(&alone("hosts::has_as_many_as_processors", &[], Some(useless)));
    }
    if Command::new("taskset").arg("--version").output().is_ok() {
        passes(&alone("hosts::has_one_thread", &["taskset", "-c", "0"], None));
    }
}

#[test]
#[ignore = "run by threads_are_as_many_as_the_process_may_use in a process of its own"]
fn has_three_threads() {
    has_threads(3);
}

#[test]
#[ignore = "run by threads_are_as_many_as_the_process_may_use in a process of its own"]
fn has_as_many_as_processors() {
    has_threads(std::thread::available_parallelism().unwrap().get());
}

#[test]
#[ignore = "run by threads_are_as_many_as_the_process_may_use in a process of its own"]
fn has_one_thread() {
    has_threads(1);
}

fn has_threads(count: usize) {
    let spirv = spirv!(SUMS);
    let machine = built_in();
    assert_eq!(machine.device.max_compute_units().unwrap() as usize, count);
    assert!(sums_are_right(&machine, &spirv));
    assert!(threads_of_the_pool() <= (count - 1).max(1));
    // A pool that has nothing to do costs nothing.
    let used = || {
        // SAFETY: the structure is valid for writing, and zeros are a value of it.
        let usage = unsafe {
            let mut usage: libc::rusage = std::mem::zeroed();
            libc::getrusage(libc::RUSAGE_SELF, &mut usage);
            usage
        };
        (usage.ru_utime.tv_sec * 1_000_000 + usage.ru_utime.tv_usec) as u64
    };
    std::thread::sleep(Duration::from_millis(20));
    let before = used();
    std::thread::sleep(Duration::from_millis(300));
    assert!(used() - before < 100_000, "{} us of 300 ms", used() - before);
}

/// Sums and products whose last bits tell the rounding, and whether small numbers are kept; and constants that the
/// device works out when the program is built.
#[cfg(target_arch = "x86_64")]
const ROUNDED: &str = "kernel void rounded(global float *out, float tiny, float third) {
    size_t i = get_global_id(0);
    float sum = 0;
    for (uint k = 0; k < 50; k++) sum += third * (i + 1);
    out[4 * i] = sum;
    out[4 * i + 1] = tiny * 0.5f;
    out[4 * i + 2] = exp(third * i) + sqrt(third * i);
    out[4 * i + 3] = (float)(i * 16777217 + 1) / 3;
}";

#[test]
#[cfg(target_arch = "x86_64")]
fn hosts_compute_in_their_own_way_and_keep_it() {
    use std::arch::asm;
    fn mode() -> u32 {
        let mut value = 0u32;
        // SAFETY: writes four bytes.
        unsafe { asm!("stmxcsr [{}]", in(reg) &raw mut value) };
        value
    }
    fn set(value: u32) {
        // SAFETY: the test computes with no numbers between this and the time it sets the old mode again.
        unsafe { asm!("ldmxcsr [{}]", in(reg) &raw const value) };
    }
    let spirv = spirv!(ROUNDED);
    with_both(|machine| {
        let run = |machine: &Machine| {
            let mut kernel = machine.build(&spirv).kernel("rounded").unwrap();
            let out = machine.context.buffer_from(&[0; 4 * 4 * 4096]).unwrap();
            kernel.set_argument(0, &out).unwrap();
            kernel.set_argument(1, f32::from_bits(5)).unwrap();
            kernel.set_argument(2, 1.0f32 / 3.0).unwrap();
            // A thread begins with the mode of the one that makes it.
            let properties = QueueProperties::default();
            let queue = machine.context.queue(&machine.device, properties).unwrap();
            let launched = queue.launch(&kernel, &NdRange::new([4096]), &[]).unwrap();
            launched.wait().unwrap();
            let mut bytes = vec![0; out.size()];
            machine.queue.read_buffer(&out, 0, &mut bytes, &[]).unwrap();
            bytes
        };
        let expected = run(machine);
        assert_eq!(expected[4..8], 2u32.to_le_bytes(), "a small number is kept");
        let before = mode();
        // Small numbers flushed on both sides, and rounding up, down, to zero; with a flag from before.
        for changed in [
            0x1f80 | 0x8040,
            0x1f80 | 0x4000,
            0x1f80 | 0x2000,
            0x1f80 | 0xe040 | 0x20,
        ] {
            set(changed);
            let results = run(machine);
            let after = mode();
            set(before);
            assert!(results == expected, "{changed:#x}");
            assert_eq!(after, changed);
        }
    });
}

/// Adds its group's number, and its place in local memory, to what the buffer has for it.
unsafe extern "C" fn number(launch: *const NativeLaunch, first: u64, end: u64, local: *mut u8) {
    // SAFETY: the device passes what the types say, and the test an address of so many words, a value, and local
    // memory of 256 bytes.
    unsafe {
        let launch = &*launch;
        let arguments = std::slice::from_raw_parts(launch.arguments, 4);
        let out = std::ptr::with_exposed_provenance_mut::<u64>(arguments[0] as usize);
        assert!(local.addr().is_multiple_of(128));
        local.add(arguments[3] as usize + 255).write(1);
        for group in first..end {
            out.add(group as usize)
                .write(group * arguments[1] + arguments[2] + arguments[3]);
        }
        let me = std::thread::current().id();
        THREADS.lock().unwrap().get_or_insert_default().insert(me);
        if launch.groups[0] > 1 {
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}

static THREADS: Mutex<Option<HashSet<ThreadId>>> = Mutex::new(None);

fn table() {
    let parameter = |kind, size| Parameter::new(kind, size);
    let word = Type {
        name: "i64".to_owned(),
        layout: Some(Layout {
            size: 8,
            alignment: 8,
        }),
    };
    let pointer = |storage| ParameterKind::Pointer {
        storage,
        pointee: word.clone(),
    };
    let parameters = vec![
        parameter(pointer(Storage::Global), 8),
        parameter(ParameterKind::Struct { value: word.clone() }, 16),
        parameter(pointer(Storage::Local), 0),
    ];
    // SAFETY: it does what it says with the arguments that the tests give it.
    let kernel = unsafe { NativeKernel::new("number", parameters, number) };
    register("numbers", [kernel.local_memory(40)]);
}

#[test]
fn native_functions_run_as_kernels() {
    table();
    let machine = built_in();
    let missing = machine
        .context
        .program_with_il(b"offkit-native:none")
        .unwrap_err();
    assert!(
        missing.to_string().contains("no native kernels as `none`"),
        "{missing}"
    );
    let program = machine.build(b"offkit-native:numbers");
    assert_eq!(program.kernel_names().unwrap(), ["number"]);
    let mut kernel = program.kernel("number").unwrap();
    let out = machine.context.buffer_from(&[0; 8 * 512]).unwrap();
    kernel.set_argument(0, &out).unwrap();
    assert!(kernel.set_argument(1, 7u64).is_err(), "it takes 16 bytes");
    let pair: Vec<u8> = [3u64, 1000].iter().flat_map(|word| word.to_ne_bytes()).collect();
    let value = offkit_pi::host::Argument::bytes(&pair);
    kernel.set_argument(1, value).unwrap();
    kernel
        .set_argument(2, offkit_pi::host::Argument::Local(256))
        .unwrap();
    for count in [64, 64 * 512] {
        THREADS.lock().unwrap().take();
        let range = NdRange {
            local: Some([64, 1, 1]),
            ..NdRange::new([count])
        };
        machine
            .queue
            .launch(&kernel, &range, &[])
            .unwrap()
            .wait()
            .unwrap();
        let mut read = vec![0; out.size()];
        machine.queue.read_buffer(&out, 0, &mut read, &[]).unwrap();
        for (group, bytes) in read.as_chunks().0.iter().enumerate().take(count / 64) {
            // Its local memory comes after 40 bytes of variables, at a multiple of 128.
            assert_eq!(u64::from_ne_bytes(*bytes), group as u64 * 3 + 1000 + 128);
        }
        let threads = THREADS.lock().unwrap().take().unwrap().len();
        // Of more groups others run some, unless other tests keep them busy.
        if count == 64 {
            assert_eq!(threads, 1);
        }
    }
}

/// Has each of two work-groups wait for the other, but no longer than its argument says, in milliseconds.
unsafe extern "C" fn meet(launch: *const NativeLaunch, first: u64, end: u64, _local: *mut u8) {
    // SAFETY: the launch has one argument, a number.
    let limit = Duration::from_millis(unsafe { *(*launch).arguments });
    for _ in first..end {
        let start = Instant::now();
        HERE.fetch_add(1, Ordering::SeqCst);
        while HERE.load(Ordering::SeqCst) < 2 && start.elapsed() < limit {
            std::thread::yield_now();
        }
        MET.fetch_add(u32::from(HERE.load(Ordering::SeqCst) == 2), Ordering::SeqCst);
        // The last one may still be looking.
        while MET.load(Ordering::SeqCst) == 1 && start.elapsed() < limit {
            std::thread::yield_now();
        }
        HERE.fetch_sub(1, Ordering::SeqCst);
    }
}

static HERE: AtomicU32 = AtomicU32::new(0);
static MET: AtomicU32 = AtomicU32::new(0);

#[test]
fn groups_of_a_kernel_that_is_known_to_be_slow_run_at_the_same_time() {
    if std::thread::available_parallelism().unwrap().get() == 1 {
        return;
    }
    let parameters = vec![Parameter::new(
        ParameterKind::Scalar(Scalar::Int { width: 64 }),
        8,
    )];
    // SAFETY: it touches nothing but its argument.
    register(
        "meeting",
        [unsafe { NativeKernel::new("meet", parameters, meet) }],
    );
    let machine = built_in();
    let mut kernel = machine.build(b"offkit-native:meeting").kernel("meet").unwrap();
    let range = NdRange {
        local: Some([1; 3]),
        ..NdRange::new([2])
    };
    // The first time the second group may wait for the first; the other time they would wait for a minute.
    for limit in [10u64, 60_000] {
        MET.store(0, Ordering::SeqCst);
        kernel.set_argument(0, limit).unwrap();
        let launch = machine.queue.launch(&kernel, &range, &[]).unwrap();
        launch.wait().unwrap();
    }
    assert_eq!(MET.load(Ordering::SeqCst), 2);
}
