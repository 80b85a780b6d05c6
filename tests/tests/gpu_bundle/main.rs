//! What `./dev gpu` takes to a machine with a GPU: made as it is there, and run on a stand-in for the driver
//! (`tests/cuda-driver`), as far as that goes. It knows few kernels, and its times mean nothing.

mod cuda_on_the_host;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use offkit_gpu::reference::{compare, expected};
use offkit_gpu::rows::{Data, Row, Scale, rows};
use offkit_object::Limits;
use offkit_pi::NdRange;
use offkit_pi::host::{Context, Device, QueueProperties};
use offkit_runtime::{Argument, Buffer, ImageRegistry, Runtime};
use offkit_tests::cuda::Cuda;
use offkit_tests::cuda_driver::with_cuda;
use offkit_tests::drivers::alone;
use offkit_tests::{Folder, Outcome, need, programs, root, skip, tool};

/// What `prepare.py` exits with if it can't fetch nvcc.
const NOT_FETCHED: i32 = 3;

/// The bundle, made once; `None`, loudly, if what it needs can't be had here.
fn bundle() -> Option<&'static Path> {
    static MADE: OnceLock<Option<PathBuf>> = OnceLock::new();
    let make = || {
        let python = tool("python3")?;
        tool("make")?;
        tool("clang-22")?;
        // For x86-64, as nvcc is.
        Cuda::get()?;
        let folder = programs().join("test-cache").join("gpu");
        let bundle = folder.join("bundle");
        let mut command = Command::new(python);
        command
            .arg(root().join("bench/gpu/prepare.py"))
            .arg(&bundle)
            .arg("--programs")
            .arg(programs())
            // Programs that are not optimised are larger.
            .args(["--limit", "1000"]);
        let outcome = Folder::new().run_command(alone(&mut command));
        if outcome.code == NOT_FETCHED {
            skip(&format!("nvcc cannot be fetched: {}", outcome.stderr));
            return None;
        }
        outcome.ok();
        Some(bundle)
    };
    MADE.get_or_init(make).as_deref()
}

/// Runs steps of the bundle, with a driver or without. What they write goes to `out` in the folder.
fn run(
    folder: &Folder,
    bundle: &Path,
    has_driver: bool,
    steps: &[&str],
    variables: &[(&str, &str)],
) -> Outcome {
    let mut command = Command::new(bundle.join("run.sh"));
    command
        .arg("--out")
        .arg(folder.path("out"))
        .args(steps)
        .envs(variables.iter().copied());
    match has_driver {
        true => with_cuda(&mut command, &folder.cuda_driver(&[])),
        false => alone(&mut command),
    };
    folder.run_command(&mut command)
}

/// The names of the kernels in PTX, but for those that offkit adds.
fn entries(ptx: &Path) -> BTreeSet<String> {
    let ptx = std::fs::read_to_string(ptx).expect("the bundle has it");
    let names = ptx.lines().filter_map(|line| line.split_once(".entry "));
    let names = names.filter_map(|(_, rest)| rest.split(['(', ' ']).next());
    names
        .filter(|name| !name.ends_with("_with_offset"))
        .map(str::to_owned)
        .collect()
}

#[test]
fn kernels_are_measured_beside_nvccs() {
    let Some(bundle) = bundle() else { return };
    let ours = entries(&bundle.join("code/kernels.sm_75.ptx"));
    assert_eq!(ours, entries(&bundle.join("code/nvcc.ptx")));
    let unknown: Vec<_> = rows(Scale::Full)
        .into_iter()
        .filter(|row| !ours.contains(row.kernel))
        .collect();
    assert!(unknown.is_empty(), "{unknown:?}");

    let folder = Folder::new();
    let variables = [("OFFKIT_GPU_MEASURE", "--small --seconds 0.01")];
    let outcome = run(&folder, bundle, true, &["devices", "measure"], &variables);
    // The stand-in runs few of the kernels, which is a failure.
    assert_eq!(outcome.code, 1, "{outcome:#?}");
    let text = |name: &str| String::from_utf8(folder.read(&format!("out/{name}"))).expect("text");
    assert!(text("devices.txt").contains("NVIDIA Stand-in 0"), "{outcome:#?}");
    let measured = text("measured.md");
    for line in [
        "**Not the whole of it**: inputs of a thousandth (`--small`), whose figures mean nothing; 0.01 s a row, instead of 1.",
        ": NVIDIA Stand-in 0 (sm_90, 132 multiprocessors), driver 570.26, CUDA 12.8; offkit ",
        "nvcc 13.0.88",
        "| an empty kernel, launched and finished |",
        "| vector add, 1 M | GB |",
        "| vector add, 64 M | GB |",
        "| geometric mean |",
        "Not measured: transposition, tiled: transpose of offkit: cuModuleGetFunction: CUDA_ERROR_NOT_FOUND",
    ] {
        assert!(measured.contains(line), "{line}: {measured}\n{outcome:#?}");
    }
    // Its saxpy is another one, which is seen.
    let wrong = measured
        .lines()
        .filter(|line| line.starts_with("Wrong results: "));
    let wrong: Vec<&str> = wrong.collect();
    assert!(
        wrong.iter().all(|line| line.contains("saxpy with a guard")),
        "{measured}"
    );
    assert_eq!(wrong.len(), 3, "{measured}");

    // The page takes it, and takes it again.
    folder.write(
        "gpu.md",
        std::fs::read_to_string(root().join("docs/gpu.md")).expect("a page"),
    );
    let page = |folder: &Folder| {
        let python = tool("python3").expect("asked for before");
        let script = root().join("bench/gpu/page.py").display().to_string();
        folder
            .run(python, [script.as_str(), "out/measured.md", "gpu.md"])
            .ok();
        String::from_utf8(folder.read("gpu.md")).expect("text")
    };
    let first = page(&folder);
    assert!(
        first.contains(measured.trim()) && first.contains("## Stress"),
        "{first}"
    );
    assert!(!first.contains("Not yet run on a GPU"), "{first}");
    assert_eq!(page(&folder), first);
}

#[test]
fn a_machine_without_a_driver_is_told_so() {
    let Some(bundle) = bundle() else { return };
    let folder = Folder::new();
    let outcome = run(&folder, bundle, false, &["measure"], &[]);
    assert_eq!(outcome.code, 3, "{outcome:#?}");
    assert!(outcome.stdout.contains("libcuda.so.1"), "{outcome:#?}");
    assert_eq!(run(&folder, bundle, false, &["stress"], &[]).code, 3);
    // A driver without a device.
    let hidden = [("CUDA_VISIBLE_DEVICES", "")];
    let outcome = run(&folder, bundle, true, &["devices", "measure", "demo"], &hidden);
    assert_eq!(outcome.code, 3, "{outcome:#?}");
    assert!(outcome.stdout.contains("CUDA_ERROR_NO_DEVICE"), "{outcome:#?}");
    assert!(!outcome.stdout.contains("== demo"), "{outcome:#?}");
}

#[test]
fn wrong_usage_and_a_damaged_folder_are_told_apart_from_failures() {
    let Some(bundle) = bundle() else { return };
    let folder = Folder::new();
    for (words, told) in [
        (
            &["nonesuch"][..],
            "there is no step nonesuch: the steps are devices, interface, measure",
        ),
        (&["measure", "--small"], "there is no step --small"),
        (&["--help"], "measured.md"),
        (&["--out"], "--out needs a folder"),
    ] {
        let outcome = folder.run(bundle.join("run.sh"), words);
        assert_eq!(outcome.code, 2, "{outcome:#?}");
        let text = outcome.stdout.clone() + &outcome.stderr;
        assert!(text.contains(told), "{told}: {outcome:#?}");
    }
    // Copied in part.
    let part = folder.path("part");
    std::fs::create_dir(&part).expect("a folder");
    std::fs::copy(bundle.join("run.sh"), part.join("run.sh")).expect("a copy");
    let outcome = run(&folder, &part, true, &["measure"], &[]);
    assert_eq!(outcome.code, 2, "{outcome:#?}");
    assert!(outcome.stderr.contains("lacks programs.tar.gz"), "{outcome:#?}");
    std::fs::copy(bundle.join("programs.tar.gz"), part.join("programs.tar.gz")).expect("a copy");
    let outcome = run(&folder, &part, true, &["measure"], &[]);
    assert_eq!(outcome.code, 2, "{outcome:#?}");
    assert!(outcome.stdout.contains("kernels.sm_"), "{outcome:#?}");
}

#[test]
fn without_a_network_it_is_said_what_cannot_be_fetched() {
    need!("python3");
    let folder = Folder::new();
    let script = root().join("bench/gpu/prepare.py").display().to_string();
    let mut command = Command::new(tool("python3").expect("asked for before"));
    command
        .args([&script, "bundle", "--programs", "."])
        .env("PIP_NO_INDEX", "1");
    let outcome = folder.run_command(&mut command);
    assert_eq!(outcome.code, NOT_FETCHED, "{outcome:#?}");
    assert!(
        outcome.stderr.contains("nvidia-cuda-nvcc==13.0.88, ")
            && outcome.stderr.contains("cannot be fetched"),
        "{outcome:#?}"
    );
    assert!(!folder.path("bundle").exists());
}

#[test]
fn commands_at_random_leave_what_the_host_expects() {
    let Some(bundle) = bundle() else { return };
    let folder = Folder::new();
    let options = "--interval 1 --threads 2 --known-kernels";
    let stress = |more: &[(&str, &str)]| {
        let variables = [("OFFKIT_GPU_SECONDS", "3"), ("OFFKIT_GPU_STRESS", options)];
        run(&folder, bundle, true, &["stress"], &[&variables, more].concat())
    };
    let outcome = stress(&[]);
    assert_eq!(outcome.code, 0, "{outcome:#?}");
    assert!(outcome.stdout.contains(" 0 faults; in use: "), "{outcome:#?}");

    // The driver runs out of memory in the middle.
    let fault = ("STANDIN_FAIL", "cuLaunchKernel:20:2");
    let outcome = stress(&[fault]);
    assert_eq!(outcome.code, 1, "{outcome:#?}");
    assert!(
        outcome.stdout.contains("CUDA_ERROR_OUT_OF_MEMORY"),
        "{outcome:#?}"
    );
    let tolerant = format!("{options} --faults");
    let outcome = stress(&[fault, ("OFFKIT_GPU_STRESS", &tolerant)]);
    assert_eq!(outcome.code, 0, "{outcome:#?}");
    assert!(outcome.stdout.contains(" 1 faults; in use: "), "{outcome:#?}");

    // A device that is lost ends it, and hangs nothing.
    let outcome = stress(&[("STANDIN_STICKY", "cuLaunchKernel:20:700")]);
    assert_eq!(outcome.code, 1, "{outcome:#?}");
    assert!(
        outcome.stdout.contains("CUDA_ERROR_ILLEGAL_ADDRESS"),
        "{outcome:#?}"
    );

    // One that doesn't come back ends it too.
    let impatient = format!("{options} --patience 1");
    let hang = ("STANDIN_FAIL", "cuLaunchKernel:20:-1");
    let outcome = stress(&[hang, ("OFFKIT_GPU_STRESS", &impatient)]);
    assert_eq!(outcome.code, 1, "{outcome:#?}");
    assert!(
        outcome
            .stdout
            .contains("nothing has come of a scene for 1 s:\nthread 0: "),
        "{outcome:#?}"
    );
}

#[test]
fn the_demo_and_examples_run() {
    let Some(bundle) = bundle() else { return };
    let folder = Folder::new();
    // Their SPIR-V is compiled by the worker that comes along, and what the stand-in runs instead computes the same.
    let known = [("OFFKIT_GPU_EXAMPLES", "saxpy-c saxpy-cpp wrapped-c")];
    let outcome = run(&folder, bundle, true, &["demo", "examples"], &known);
    assert_eq!(outcome.code, 0, "{outcome:#?}");
    assert!(outcome.stdout.contains("the demo passed"), "{outcome:#?}");
    assert!(outcome.stdout.contains("all is well"), "{outcome:#?}");
    assert_eq!(
        outcome.stdout.matches("\non NVIDIA Stand-in 0\n").count(),
        2,
        "{outcome:#?}"
    );

    // It knows nothing of the others' kernels, which is as far as they get.
    let unknown = ["wrapped", "saxpy", "nbody", "mandelbrot"];
    let others = [("OFFKIT_GPU_EXAMPLES", unknown.join(" "))];
    let others = others.each_ref().map(|(name, value)| (*name, value.as_str()));
    let outcome = run(&folder, bundle, true, &["examples"], &others);
    assert_eq!(outcome.code, 1, "{outcome:#?}");
    let not_found = outcome
        .stdout
        .matches(", and the driver has not made it\n")
        .count();
    assert_eq!(not_found, unknown.len(), "{outcome:#?}");
    let failed = format!("failed: {}\n", unknown.join(" "));
    assert!(outcome.stdout.contains(&failed), "{outcome:#?}");

    // Something else than on the CPU device is a failure.
    let spoilt = folder.path("programs");
    folder
        .run(
            "cp",
            [Path::new("-r"), &bundle.join("examples/programs"), &spoilt],
        )
        .ok();
    folder.write("programs/saxpy-c.expected", "2.5 * 1023 + 1 = 7\n");
    let mut command = Command::new(spoilt.join("examples.sh"));
    command
        .arg("saxpy-c")
        .env("LD_LIBRARY_PATH", bundle.join("bin"))
        .env("ONEAPI_DEVICE_SELECTOR", "offkit:*");
    let outcome = folder.run_command(alone(&mut command));
    assert_eq!(outcome.code, 1, "{outcome:#?}");
    assert!(
        outcome.stdout.contains("\n+2.5 * 1023 + 1 = 2558.5\n"),
        "{outcome:#?}"
    );
}

/// What an argument becomes on a device.
enum Given {
    Buffer(Buffer<u8>),
    Other(Argument),
}

fn on_the_cpu(row: &Row, data: &[Data], registry: &ImageRegistry, device: &Device) -> Vec<Data> {
    let context = Context::new(&[device]).unwrap();
    let queue = context.queue(device, QueueProperties::default()).unwrap();
    let found = registry.find_kernel(row.kernel, |_| true).unwrap();
    let chosen = registry.select(&found, device).unwrap();
    let mut kernel = registry
        .build(&registry.collect(&chosen).unwrap(), &context, device)
        .unwrap();
    let given: Vec<Given> = data
        .iter()
        .map(|data| match data {
            Data::OneF32(number) => Given::Other((*number).into()),
            Data::OneI32(number) => Given::Other((*number).into()),
            Data::Local(bytes) => Given::Other(Argument::Local(*bytes)),
            array => Given::Buffer(Buffer::from_slice(&context, &array.bytes()).unwrap()),
        })
        .collect();
    let arguments = given.iter().map(|given| match given {
        Given::Buffer(buffer) => buffer.into(),
        Given::Other(argument) => argument.clone(),
    });
    let arguments: Vec<Argument> = arguments.collect();
    let range = NdRange::new(row.global).with_local(row.local);
    let launch = kernel.launch(&queue, &range, &arguments, &[]).unwrap();
    kernel.wait(&launch).unwrap();
    let read = |(given, data): (&Given, &Data)| match given {
        Given::Buffer(buffer) => data.with_bytes(&buffer.read(&queue, &[]).unwrap()),
        Given::Other(_) => data.clone(),
    };
    given.iter().zip(data).map(read).collect()
}

/// What GPUs are measured by has to be right itself.
#[test]
fn the_host_computes_what_the_cpu_device_does() {
    need!("clang-22");
    let folder = Folder::new();
    let source = root().join("bench/cpu/kernels.cl").display().to_string();
    let line = format!("--target=spirv64v1.2 -cl-std=CL3.0 -O2 -c {source} -o kernels.spv");
    folder
        .run(tool("clang-22").expect("asked for before"), line.split(' '))
        .ok();
    let registry = ImageRegistry::new();
    registry
        .open(folder.path("kernels.spv"), &Limits::default())
        .unwrap();
    let mut runtime = Runtime::with_plugins(&[&offkit_plugin_cpu::plugin::BUILT_IN], &[]);
    let device = runtime.device(None).unwrap();
    for row in rows(Scale::Small) {
        let data = row.data();
        let found = on_the_cpu(&row, &data, &registry, &device);
        check(&row, &data, &found).unwrap_or_else(|difference| panic!("{}: {difference}", row.title));
        // Nothing computed is not taken for it.
        assert!(check(&row, &data, &data).is_err(), "{}", row.title);
    }
}

/// Whether a row's kernel wrote what it should, all of it.
fn check(row: &Row, data: &[Data], found: &[Data]) -> Result<(), String> {
    let expected = expected(row, data);
    row.outputs()
        .try_for_each(|index| compare(row, &found[index], &*expected, usize::MAX))
}

/// nvcc's code can't be run here: what is measured beside it has to compute the same.
#[test]
fn the_kernels_in_cuda_compute_it_too() {
    need!("clang++-22");
    let folder = Folder::new();
    let rows = rows(Scale::Small);
    let kernels = cuda_on_the_host::Kernels::compile(&folder, &rows);
    for row in &rows {
        let data = row.data();
        let found = kernels.run(row, &data);
        check(row, &data, &found).unwrap_or_else(|difference| panic!("{}: {difference}", row.title));
    }
}
