//! LTO-IR, which NVIDIA's linker makes machine code of before the driver gets it.

use super::*;
use offkit_image::ImageFormat;
use offkit_tests::cuda::{NVJITLINK, lto_ir, nvrtc};
use offkit_tests::drivers;

const APP: &str = r#"
    extern __device__ float scaled(float, float);
    extern "C" __global__ void saxpy(float a, const float *x, float *y) { y[threadIdx.x] += scaled(a, x[threadIdx.x]); }"#;
const LIBRARY: &str = "__device__ float scaled(float a, float x) { return a * x; }";

/// The kernel and its function in one module.
fn whole() -> String {
    format!(
        "{LIBRARY} {}",
        APP.replace("extern __device__ float scaled(float, float);", "")
    )
}

/// A folder as that of CUDA's toolkit, with the linker.
fn toolkit() -> Option<Folder> {
    nvrtc()?;
    let linker = NVJITLINK.file("/libnvJitLink.so.13")?;
    let folder = Folder::new();
    std::fs::create_dir(folder.path("lib64")).unwrap();
    std::os::unix::fs::symlink(linker, folder.path("lib64/libnvJitLink.so.13")).unwrap();
    Some(folder)
}

/// As `is_inside`, with a toolkit; `false` where it cannot be had.
fn is_inside_with_toolkit(test: &str) -> bool {
    if std::env::var_os(drivers::INSIDE).is_some() {
        return true;
    }
    toolkit().is_some_and(|toolkit| {
        let root = toolkit.path("");
        let variables = [("CUDA_PATH", root.to_str().unwrap())];
        is_inside(&format!("lto::{test}"), &[], &variables)
    })
}

#[test]
fn it_is_linked_and_runs() {
    need!("clang-22");
    if !is_inside_with_toolkit("it_is_linked_and_runs") {
        return;
    }
    let folder = Folder::new();
    let Some(code) = lto_ir(&folder, &whole()) else {
        return;
    };
    let device = devices().remove(0);
    // What the driver takes by itself goes first.
    let ptx = ptx("83");
    let told = |bytes: &[u8], format| {
        let mut image = DeviceImage::of_format(bytes.to_vec(), format);
        image.target = offkit_image::Target::named("sm_80");
        image
    };
    let (lto, compiled) = (told(&code, ImageFormat::LtoIr), told(&ptx, ImageFormat::Ptx));
    assert_eq!(device.select_binary(&[&lto, &compiled]).unwrap(), Some(1));
    assert_eq!(device.select_binary(&[&lto]).unwrap(), Some(0));
    assert_eq!(saxpy(&device, &code).unwrap(), SUM);

    let context = Context::new(&[&device]).unwrap();
    let program = context.program_with_binary(&device, &code).unwrap();
    program.build("-v").unwrap();
    assert_eq!(program.kernel_names().unwrap(), ["saxpy"]);
    // Machine code for this device.
    let [cubin] = program.binaries().unwrap().try_into().unwrap();
    let contents = offkit_object::read("linked", &cubin, &offkit_object::Limits::default());
    assert_eq!(contents.images[0].format, ImageFormat::Cubin);
    assert_eq!(contents.images[0].target.arch, "sm_90");
}

#[test]
fn several_are_linked_with_each_other_and_with_ptx() {
    need!("clang-22");
    if !is_inside_with_toolkit("several_are_linked_with_each_other_and_with_ptx") {
        return;
    }
    let folder = Folder::new();
    let Some(app) = lto_ir(&folder, APP) else { return };
    let Some(library) = lto_ir(&folder, LIBRARY) else {
        return;
    };
    let device = devices().remove(0);
    let context = Context::new(&[&device]).unwrap();
    let [app, library] = [&app, &library].map(|code| context.program_with_binary(&device, code).unwrap());
    let other = context.program_with_binary(&device, &ptx("83")).unwrap();
    for program in [&app, &library, &other] {
        program.compile("").unwrap();
    }
    let program = context.link(&[&app, &library], "-O3").unwrap();
    assert_eq!(program.build_status(&device).unwrap(), BuildStatus::Success);
    assert_eq!(program.kernel_names().unwrap(), ["saxpy"]);
    // Alone it lacks a function, and the log has the linker's words.
    let alone = context.link(&[&app], "");
    let log = match &alone {
        Ok(program) => program.build_log(&device).unwrap(),
        Err(error) => error.to_string(),
    };
    assert!(
        log.contains("scaled") && log.contains("nvJitLink cannot link"),
        "{log}"
    );
    // Two kernels of one name.
    let twice = context.link(&[&app, &library, &other], "");
    let log = match &twice {
        Ok(program) => program.build_log(&device).unwrap(),
        Err(error) => error.to_string(),
    };
    assert!(log.contains("saxpy"), "{log}");
}

#[test]
fn without_the_linker_its_package_is_named() {
    need!("clang-22");
    if nvrtc().is_none() {
        return;
    }
    if !is_inside(
        "lto::without_the_linker_its_package_is_named",
        &[],
        &[("CUDA_HOME", "/nowhere")],
    ) {
        return;
    }
    let folder = Folder::new();
    let Some(code) = lto_ir(&folder, &whole()) else {
        return;
    };
    let device = devices().remove(0);
    let context = Context::new(&[&device]).unwrap();
    let error = context
        .program_with_binary(&device, &code)
        .map(drop)
        .unwrap_err()
        .to_string();
    for part in [
        "libnvJitLink.so.13",
        "/nowhere/lib64",
        "nvidia-nvjitlink",
        "LD_LIBRARY_PATH",
    ] {
        assert!(error.contains(part), "{part}: {error}");
    }
}

#[test]
fn that_it_has_a_kernel_is_not_denied() {
    let folder = Folder::new();
    let Some(_) = lto_ir(&folder, &whole()) else {
        return;
    };
    let run = folder.offkit("run k.ltoir saxpy --global 1");
    assert_eq!(run.code, 2, "{run:#?}");
    let said = "what kernels LTO-IR has is known only once it is linked: `k.ltoir`";
    assert!(run.stderr.contains(said), "{run:#?}");
    assert!(run.stderr.contains("nvcc -dlto -dlink"), "{run:#?}");
}
