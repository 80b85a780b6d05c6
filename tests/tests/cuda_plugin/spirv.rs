//! SPIR-V, which the plugin compiles before the driver gets it.

use super::*;
use offkit_tests::{drivers, programs};

const SAXPY: &str = "kernel void saxpy(float a, global const float *x, global float *y) {
    size_t i = get_global_id(0);
    y[i] += a * x[i];
}";

/// Compiles OpenCL C to SPIR-V.
fn spirv(folder: &Folder, name: &str, source: &str) -> Vec<u8> {
    folder.write(&format!("{name}.cl"), source);
    let line = format!("--target=spirv64 -cl-std=CL3.0 -O1 -c {name}.cl -o {name}.spv");
    folder.run(tool("clang-22").unwrap(), line.split(' ')).ok();
    folder.read(&format!("{name}.spv"))
}

/// As `is_inside`, where the compiler is.
fn is_inside_with_compiler(test: &str, variables: &[(&str, &str)]) -> bool {
    if std::env::var_os(drivers::INSIDE).is_some() {
        return true;
    }
    let worker = programs().join("offkit-llvm-worker");
    let mut all = vec![("OFFKIT_LLVM_WORKER", worker.to_str().unwrap())];
    all.extend_from_slice(variables);
    is_inside(&format!("spirv::{test}"), &[], &all)
}

#[test]
fn it_is_compiled_and_runs() {
    need!("clang-22");
    if !is_inside_with_compiler("it_is_compiled_and_runs", &[]) {
        return;
    }
    let folder = Folder::new();
    let (stand_in, device) = (StandIn::new(), devices().remove(0));
    let source =
        format!("{SAXPY} kernel void ids(global uint *out) {{ out[get_global_id(0)] = get_work_dim(); }}");
    let code = spirv(&folder, "k", &source);
    // PTX is taken before SPIR-V, which is taken before nothing.
    let ptx = ptx("83");
    let [of_spirv, of_ptx] = [&code, &ptx].map(|code| DeviceImage::new(code.as_slice()));
    assert_eq!(device.select_binary(&[&of_spirv, &of_ptx]).unwrap(), Some(1));
    assert_eq!(device.select_binary(&[&of_spirv]).unwrap(), Some(0));
    assert!(device.il_version().unwrap().contains("SPIR-V_1.4"));

    let context = Context::new(&[&device]).unwrap();
    let program = context.program_with_il(&code).unwrap();
    let error = program.kernel("saxpy").unwrap_err();
    assert_eq!(error.result(), PI_INVALID_PROGRAM_EXECUTABLE);
    program.build("-O2 -cl-mad-enable").unwrap();
    let log = program.build_log(&device).unwrap();
    assert!(log.contains("not for NVIDIA's driver: -cl-mad-enable"), "{log}");
    // Entries for launches whose ids begin elsewhere are no kernels.
    assert_eq!(program.kernel_names().unwrap(), ["saxpy", "ids"]);
    let queue = context.queue(&device, QueueProperties::default()).unwrap();
    let mut kernel = program.kernel("saxpy").unwrap();
    let x = context.buffer_from(&bytes(&[1.0, 2.0, 3.0, 4.0])).unwrap();
    let y = context.buffer_from(&bytes(&[10.0; 4])).unwrap();
    kernel.set_argument(0, 2.5f32).unwrap();
    kernel.set_argument(1, &x).unwrap();
    kernel.set_argument(2, &y).unwrap();
    queue
        .launch(&kernel, &NdRange::new([4]), &[])
        .unwrap()
        .wait()
        .unwrap();
    let mut out = vec![0; 16];
    queue.read_buffer(&y, 0, &mut out, &[]).unwrap();
    queue.finish().unwrap();
    assert_eq!(read_f32_raw(&out), SUM);

    // Where ids begin, and how many dimensions there are.
    drop(kernel);
    let mut kernel = program.kernel("ids").unwrap();
    assert_eq!(kernel.num_args().unwrap(), 1);
    kernel.set_argument(0, &y).unwrap();
    let range = NdRange::new([4, 4]).with_offset([100, 7]);
    queue.launch(&kernel, &range, &[]).unwrap().wait().unwrap();
    queue.read_buffer(&y, 0, &mut out, &[]).unwrap();
    queue.finish().unwrap();
    let (words, _) = out.as_chunks();
    let words: Vec<u32> = words.iter().map(|word| u32::from_ne_bytes(*word)).collect();
    assert_eq!(words, [100, 7, 0, 2]);
    let far = NdRange::new([4]).with_offset([1 << 32]);
    let error = queue.launch(&kernel, &far, &[]).unwrap_err();
    assert_eq!(error.result(), PI_INVALID_GLOBAL_OFFSET, "{error}");
    queue.finish().unwrap();
    drop((kernel, program, queue, x, y, context));
    assert_eq!(stand_in.live(), "");
}

#[test]
fn a_context_of_two_devices_has_a_program_on_both() {
    need!("clang-22");
    let test = "a_context_of_two_devices_has_a_program_on_both";
    if !is_inside_with_compiler(test, &[("STANDIN_DEVICES", "2")]) {
        return;
    }
    let folder = Folder::new();
    let (stand_in, devices) = (StandIn::new(), devices());
    let all: Vec<&Device> = devices.iter().collect();
    let context = Context::new(&all).unwrap();
    let program = context.program_with_il(&spirv(&folder, "k", SAXPY)).unwrap();
    program.build("").unwrap();
    let mut kernel = program.kernel("saxpy").unwrap();
    let (x, y) = (bytes(&[1.0, 2.0, 3.0, 4.0]), bytes(&[10.0; 4]));
    let [x, y] = [x, y].map(|values| context.buffer_from(&values).unwrap());
    kernel.set_argument(0, 2.5f32).unwrap();
    kernel.set_argument(1, &x).unwrap();
    kernel.set_argument(2, &y).unwrap();
    let mut out = vec![0; 16];
    for device in &devices {
        let queue = context.queue(device, QueueProperties::default()).unwrap();
        queue
            .launch(&kernel, &NdRange::new([4]), &[])
            .unwrap()
            .wait()
            .unwrap();
        queue.read_buffer(&y, 0, &mut out, &[]).unwrap();
        queue.finish().unwrap();
    }
    // Once by each.
    assert_eq!(read_f32_raw(&out), [15.0, 20.0, 25.0, 30.0]);
    drop((kernel, program, x, y, context));
    assert_eq!(stand_in.live(), "");
}

#[test]
fn programs_are_linked_and_missing_symbols_named() {
    need!("clang-22");
    if !is_inside_with_compiler("programs_are_linked_and_missing_symbols_named", &[]) {
        return;
    }
    let folder = Folder::new();
    let device = devices().remove(0);
    let context = Context::new(&[&device]).unwrap();
    let source = "float scaled(float, float);
        kernel void saxpy(float a, global const float *x, global float *y) {
            size_t i = get_global_id(0);
            y[i] += scaled(a, x[i]);
        }";
    let app = spirv(&folder, "app", source);
    let library = spirv(
        &folder,
        "library",
        "float scaled(float a, float x) { return a * x; }",
    );
    let [app, library] = [&app, &library].map(|code| context.program_with_il(code).unwrap());
    let error = context.link(&[&app, &library], "").map(drop).unwrap_err();
    assert!(error.to_string().contains("has not been compiled"), "{error}");
    app.compile("").unwrap();
    library.compile("").unwrap();
    let program = context.link(&[&app, &library], "").unwrap();
    assert_eq!(program.kernel_names().unwrap(), ["saxpy"]);
    assert_eq!(program.build_status(&device).unwrap(), BuildStatus::Success);

    // Without the library the log has what needs it, and how it is needed.
    let alone = context.link(&[&app], "");
    let log = match &alone {
        Ok(program) => program.build_log(&device).unwrap(),
        Err(error) => error.to_string(),
    };
    assert!(
        log.contains("unresolved symbol: ") && log.contains("scaled") && log.contains("saxpy"),
        "{log}"
    );

    // Code of NVIDIA's is another matter.
    let ptx = context.program_with_binary(&device, &ptx("83")).unwrap();
    ptx.compile("").unwrap();
    let error = context.link(&[&app, &ptx], "").map(drop).unwrap_err().to_string();
    assert!(error.contains("cannot be linked together"), "{error}");
}

/// A kernel that stores the specialization constant 7.
const STORES: &str = "
    OpCapability Addresses
    OpCapability Kernel
    OpMemoryModel Physical64 OpenCL
    OpEntryPoint Kernel %kernel \"ids\"
    OpDecorate %constant SpecId 7
    %int = OpTypeInt 32 0
    %void = OpTypeVoid
    %pointer = OpTypePointer CrossWorkgroup %int
    %type = OpTypeFunction %void %pointer
    %constant = OpSpecConstant %int 1234567
    %kernel = OpFunction %void None %type
    %out = OpFunctionParameter %pointer
    %entry = OpLabel
    OpStore %out %constant Aligned 4
    OpReturn
    OpFunctionEnd";

#[test]
fn constants_have_the_values_that_were_set() {
    need!("clang-22", "spirv-as");
    if !is_inside_with_compiler("constants_have_the_values_that_were_set", &[]) {
        return;
    }
    let folder = Folder::new();
    folder.write("k.spvasm", STORES);
    let line = "--target-env spv1.2 k.spvasm -o k.spv";
    folder.run(tool("spirv-as").unwrap(), line.split(' ')).ok();
    let (stand_in, device) = (StandIn::new(), devices().remove(0));
    let context = Context::new(&[&device]).unwrap();
    let program = context.program_with_il(&folder.read("k.spv")).unwrap();
    let mut before = "1234567";
    program.build("").unwrap();
    assert!(stand_in.has_code(before), "the value that the module has");
    for value in ["7654321", "4000000001"] {
        let number: u32 = value.parse().unwrap();
        program
            .set_specialization_constant(7, &number.to_le_bytes())
            .unwrap();
        program.build("").unwrap();
        let signed = number.cast_signed().to_string();
        assert!(stand_in.has_code(value) || stand_in.has_code(&signed), "{value}");
        assert!(!stand_in.has_code(before), "{before} is still there");
        before = value;
    }
    // Linked, it has the value from when it was compiled.
    program
        .set_specialization_constant(7, &2_222_222u32.to_le_bytes())
        .unwrap();
    program.compile("").unwrap();
    let linked = context.link(&[&program], "").unwrap();
    assert_eq!(linked.kernel_names().unwrap(), ["ids"]);
    assert!(stand_in.has_code("2222222"));
    let error = program.set_specialization_constant(7, &[0; 8]).unwrap_err();
    assert_eq!(error.result(), PI_INVALID_VALUE, "{error}");
}

#[test]
fn what_cannot_be_compiled_is_in_the_log() {
    need!("clang-22");
    if !is_inside_with_compiler("what_cannot_be_compiled_is_in_the_log", &[]) {
        return;
    }
    let folder = Folder::new();
    let device = devices().remove(0);
    let context = Context::new(&[&device]).unwrap();
    let error = context.program_with_il(b"neither").map(drop).unwrap_err();
    assert_eq!(error.result(), PI_INVALID_VALUE, "{error}");
    let group =
        "__attribute__((reqd_work_group_size(64, 64, 1))) kernel void wide(global int *x) { *x = 1; }";
    let program = context.program_with_il(&spirv(&folder, "wide", group)).unwrap();
    let error = program.build("").unwrap_err();
    assert_eq!(error.result(), PI_BUILD_PROGRAM_FAILURE);
    let log = program.build_log(&device).unwrap();
    assert!(log.contains("kernel `wide` can't be compiled"), "{log}");
    let error = program
        .set_specialization_constant(7, &1u32.to_le_bytes())
        .unwrap_err();
    assert_eq!(error.result(), PI_INVALID_SPEC_ID, "{error}");
    let mut damaged = spirv(&folder, "k", SAXPY);
    damaged.truncate(damaged.len() / 2);
    let program = context.program_with_il(&damaged).unwrap();
    let log = program.build("").unwrap_err().to_string();
    assert!(log.contains("not valid SPIR-V"), "{log}");
}

#[test]
fn offkit_runs_it_and_keeps_what_was_compiled() {
    need!("clang-22");
    let folder = Folder::new();
    let driver = folder.cuda_driver(&[]);
    spirv(&folder, "k", SAXPY);
    folder.write("x.npy", npy_f32("(4,)", [1.0, 2.0, 3.0, 4.0]));
    folder.write("y.npy", npy_f32("(4,)", [10.0; 4]));
    let run = |line: &str, worker: Option<&str>| {
        let mut command = Command::new(offkit());
        command.args(line.split_whitespace());
        with_cuda(&mut command, &driver).env("OFFKIT_CACHE_DIR", folder.path("cache"));
        if let Some(worker) = worker {
            command.env("OFFKIT_LLVM_WORKER", worker);
        }
        folder.run_command(&mut command)
    };
    folder.offkit("link --target spirv64 k.spv -o k.syclbin").ok();
    let saxpy = "saxpy --device gpu --global 4 --arg f32:2.5 --arg x.npy --arg y.npy --out 2=z.npy";
    for file in ["k.spv", "k.syclbin"] {
        run(&format!("run {file} {saxpy}"), None).ok();
        assert_eq!(read_f32(&folder.read("z.npy")), SUM);
        std::fs::remove_file(folder.path("z.npy")).unwrap();
    }
    let kept = run("cache list", None).ok();
    assert!(kept.contains("sm_90"), "{kept}");
    // Without the compiler there is PTX ahead of time, and this.
    let error = run(&format!("run k.spv {saxpy}"), Some("/nowhere/worker")).fails(2);
    for part in [
        "NVIDIA's driver takes no SPIR-V",
        "/nowhere/worker",
        "install `offkit-llvm-worker`",
    ] {
        assert!(error.contains(part), "{part}: {error}");
    }
    let devices = run("devices", None).ok();
    assert!(devices.contains("takes SPIR-V 1.6"), "{devices}");
}
