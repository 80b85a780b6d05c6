//! Device libraries of clang's own CUDA and HIP, whose device code is finished when it is compiled or, with `-fgpu-rdc`,
//! when the program is linked.

use super::*;

/// A kernel that calls a function of a library of the user's and one of the library that comes with offkit.
const KERNEL: &str = "struct dim3 { unsigned x, y, z; };
    extern \"C\" int LAUNCH(const void *, dim3, dim3, void **, unsigned long, void *);
    extern \"C\" __attribute__((device)) float half_of(float);
    extern \"C\" __attribute__((device)) float sinf(float);
    __attribute__((global)) void k(float *a) { a[0] = half_of(sinf(a[0])); }";

const HALF: &str = "float half_of(float x) { return x / 2; }";

const LIBRARIES: &str = "-Llib -lhalf -lm";

const HIP: &str = "--offload-arch=gfx90a -nogpuinc -nogpulib -fPIC";

const CUDA: &str = "--cuda-path=cuda --offload-arch=sm_70 -nogpuinc -nocudalib -nocudainc -fPIC";

/// Sources and libraries, and something in the place of NVIDIA's tools: the cubin is the PTX, the fatbinary is all cubins.
fn sources() -> Folder {
    let folder = Folder::new();
    folder.write("app.hip", KERNEL.replace("LAUNCH", "hipLaunchKernel"));
    folder.write("app.cu", KERNEL.replace("LAUNCH", "cudaLaunchKernel"));
    for processor in ["gfx90a", "gfx906"] {
        compile(
            &folder,
            HALF,
            processor,
            &[],
            &format!("lib/libhalf-amdgcn-{processor}.bc"),
        );
    }
    let newer = ["-Xclang", "-target-feature", "-Xclang", "+ptx60"];
    compile(&folder, HALF, "sm_70", &newer, "lib/libhalf-nvptx-sm_70.bc");
    // The host has a library of this name.
    folder.write("lib/libhalf.a", "!<arch>\n");
    for path in ["cuda/include", "cuda/bin"] {
        fs::create_dir_all(folder.path(path)).expect("a folder");
    }
    folder.write("cuda/include/cuda.h", "#define CUDA_VERSION 12080\n");
    folder.script(
        "cuda/bin/ptxas",
        "while [ $# -gt 0 ]; do\n\
           case $1 in --output-file) out=$2; shift;; *.s | *.ptx | *.ptx.*) in=$1;; esac\n\
           shift\n\
         done\n\
         cp \"$in\" \"$out\"",
    );
    folder.script(
        "cuda/bin/fatbinary",
        "for word; do\n\
           case $word in\n\
             --create) is_next=1;;\n\
             --image*) file=${word##*file=}; cat \"${file%%,*}\" >> cubins;;\n\
             *) [ -n \"$is_next\" ] && out=$word && is_next=;;\n\
           esac\n\
         done\n\
         mv cubins \"$out\"",
    );
    folder
}

/// Builds without a word.
#[track_caller]
fn build(folder: &Folder, line: &str) {
    let built = alone(folder, &format!("cc {line}"), "");
    assert_eq!((built.code, &*built.stderr), (0, ""), "{line}: {built:#?}");
}

/// The image for a device in a file, of which nothing is open.
#[track_caller]
fn closed_image(folder: &Folder, file: &str, processor: &str) {
    let images = folder.offkit(&format!("ls --json {file}")).json();
    let image = images.iter().find(|image| image["arch"] == processor);
    let image = image.unwrap_or_else(|| panic!("{file}: no image for {processor}: {images:#?}"));
    assert_eq!(
        image["kernels"],
        serde_json::json!(["_Z1kPf"]),
        "{file}: {image:#}"
    );
    assert_eq!(image["imports"], serde_json::json!([]), "{file}: {image:#}");
}

#[test]
fn hip_finishes_device_code_when_it_is_compiled() {
    need!("clang-22", "ld.lld");
    let folder = sources();
    for more in ["", "--offload-new-driver", "--offload-arch=gfx906"] {
        build(&folder, &format!("{HIP} {more} -c app.hip -o app.o {LIBRARIES}"));
        closed_image(&folder, "app.o", "gfx90a");
        if more == "--offload-arch=gfx906" {
            closed_image(&folder, "app.o", "gfx906");
        }
    }
    // A program in one go.
    build(
        &folder,
        &format!("{HIP} app.hip -shared -nostdlib -o app.so {LIBRARIES}"),
    );
    closed_image(&folder, "app.so", "gfx90a");
    let error = alone(&folder, &format!("cc {HIP} -c app.hip -o app.o -Llib -lm"), "");
    assert!(error.code != 0 && error.stderr.contains("half_of"), "{error:#?}");
}

#[test]
fn hips_relocatable_device_code_gets_libraries_early_and_late() {
    need!("clang-22", "ld.lld");
    let folder = sources();
    for more in ["", "--offload-new-driver"] {
        build(
            &folder,
            &format!("{HIP} -fgpu-rdc {more} -c app.hip -o early.o {LIBRARIES}"),
        );
        closed_image(&folder, "early.o", "gfx90a");
    }
    let rdc = format!("{HIP} -fgpu-rdc --offload-new-driver");
    build(
        &folder,
        &format!("{rdc} app.hip -shared -nostdlib -o app.so {LIBRARIES}"),
    );
    closed_image(&folder, "app.so", "gfx90a");
    build(&folder, &format!("{rdc} -c app.hip -o app.o"));
    let link = "cc -fgpu-rdc --offload-new-driver --hip-link app.o -shared -nostdlib -o app.so";
    alone(&folder, &format!("{link} {LIBRARIES}"), "").ok();
    closed_image(&folder, "app.so", "gfx90a");
    let error = alone(&folder, &format!("{link} -Llib -lm"), "").fails(1);
    assert!(
        error.contains("undefined symbol `half_of`, needed by `_Z1kPf`"),
        "{error}"
    );
}

/// Checks whether the PTX in a file leaves functions of the libraries for others to define.
#[track_caller]
fn ptx(folder: &Folder, file: &str, is_closed: bool) {
    let content = String::from_utf8_lossy(&folder.read(file)).into_owned();
    assert!(content.contains(".entry _Z1kPf("), "{file}");
    for name in ["half_of", "sinf"] {
        let is_open = |line: &str| line.contains(".extern .func") && line.contains(name);
        assert_eq!(content.lines().any(is_open), !is_closed, "{file}: {name}");
    }
}

#[test]
fn cuda_finishes_device_code_when_it_is_compiled() {
    need!("clang-22");
    let folder = sources();
    for (libraries, is_closed) in [(LIBRARIES, true), ("", false)] {
        build(&folder, &format!("{CUDA} -c app.cu -o app.o {libraries}"));
        ptx(&folder, "app.o", is_closed);
    }
    build(
        &folder,
        &format!("{CUDA} app.cu -shared -nostdlib -o app.so {LIBRARIES}"),
    );
    ptx(&folder, "app.so", true);
}

#[test]
fn cudas_relocatable_device_code_gets_libraries_early_and_late() {
    need!("clang-22");
    let folder = sources();
    for more in ["", "-foffload-lto"] {
        build(
            &folder,
            &format!("{CUDA} -fgpu-rdc {more} -c app.cu -o early.o {LIBRARIES}"),
        );
        let listed = folder.offkit("ls --kernels early.o").stdout;
        assert!(
            listed.contains("kernel ") && !listed.contains("imports"),
            "{listed}"
        );
    }
    // Late where the code is bitcode: what links PTX is NVIDIA's.
    let rdc = format!("{CUDA} -fgpu-rdc -foffload-lto");
    build(
        &folder,
        &format!("{rdc} app.cu -shared -nostdlib -o app.so {LIBRARIES}"),
    );
    ptx(&folder, "app.so", true);
    build(&folder, &format!("{rdc} -c app.cu -o app.o"));
    let link = "cc --cuda-path=cuda -foffload-lto --offload-link app.o -shared -nostdlib -o app.so";
    alone(&folder, &format!("{link} {LIBRARIES}"), "").ok();
    ptx(&folder, "app.so", true);
    let error = alone(&folder, &format!("{link} -Llib -lm"), "").fails(1);
    assert!(
        error.contains("undefined symbol `half_of`, needed by `_Z1kPf`"),
        "{error}"
    );
}
