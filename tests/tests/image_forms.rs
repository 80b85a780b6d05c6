//! One image, one answer: every form of image, bare and in every container, through everything that says what it is.
//!
//! clang makes most of the images. `ls`, `show`, `devlib query` and the registry of the runtime say the same target,
//! kernels, imports and exports of each, whatever it is in; `link` and `wrap` write containers of which the same holds.
//! Where a form cannot be in a container or go through a command, the test says why, and that offkit says so.

use std::collections::BTreeSet;

use offkit_image::Target;
use offkit_image::target::Family;
use offkit_object::{Inspect, Limits};
use offkit_runtime::ImageRegistry;
use offkit_tests::cuda::{Cuda, lto_ir};
use offkit_tests::{Folder, need};
use serde_json::Value;

/// A kernel, a function that it imports, and one that it exports.
const SOURCE: &str = "int imported_function(int x);
    int exported_function(int x) { return x * 3; }
    kernel void the_kernel(global int *p) { p[0] = imported_function(p[0]) + exported_function(2); }";

/// The function that it imports, where code cannot be linked without.
const LIBRARY: &str = "int imported_function(int x) { return x + 1; }";

/// The same as OpenMP's code for the host's processor.
const HOST_SOURCE: &str = "int imported_function(int x);
    int exported_function(int x) { return x * 3; }
    void __omp_offloading_1_2_go_l3(int *p) { p[0] = imported_function(p[0]) + exported_function(2); }";

/// A kernel in CUDA C++.
const CUDA_SOURCE: &str = r#"extern "C" __global__ void the_kernel(int *p) { p[0] = 1; }"#;

/// Data of the tests of the crate that reads images; its README says how they were made.
macro_rules! data {
    ($name:literal) => {
        concat!("../../crates/offkit-object/tests/data/inspect/", $name)
    };
}

/// An image.
#[derive(Clone, Copy)]
struct Form {
    file: &'static str,
    made: Made,
    /// What everybody is to say, spelt in any way that means the same.
    target: &'static str,
    alone: Alone,
    kernels: &'static [&'static str],
    imports: &'static [&'static str],
    exports: &'static [&'static str],
    link: Link,
}

/// How an image is made.
#[derive(Clone, Copy)]
enum Made {
    /// By clang, of OpenCL C.
    Clang(&'static str),
    /// By clang, of C.
    ClangOfC(&'static str),
    /// By NVIDIA's assembler, of PTX: checked in.
    Cubin(&'static [u8]),
    /// By NVIDIA's compiler as a library, of CUDA C++.
    LtoIr,
    /// By LLVM's tool for ELF, as Intel's compiler lays it out.
    Zebin,
}

/// What an image is without a container that says what it is for.
#[derive(Clone, Copy)]
enum Alone {
    /// The same: the bytes say it.
    Same,
    /// For an architecture, of which the bytes name no triple.
    Architecture(&'static str),
    /// An image of which the bytes tell no target.
    Unknown,
    /// The host's code: an ELF file for the host's processor has nothing that tells a device image apart.
    Host,
}

/// What `offkit link` makes of an image.
#[derive(Clone, Copy)]
enum Link {
    /// The same, with what it imports.
    Same,
    /// Its code has no imports when it is loaded, so that the library is linked with it. What both export stays visible
    /// if the format tells so.
    WithLibrary,
    /// An error, with these words.
    Refused(&'static str),
}

/// A kernel, an import and an export, all of which the format tells.
const USUAL: Form = Form {
    file: "",
    made: Made::Clang(""),
    target: "",
    alone: Alone::Same,
    kernels: &["the_kernel"],
    imports: &["imported_function"],
    exports: &["exported_function"],
    link: Link::Same,
};

const FORMS: &[Form] = &[
    Form {
        file: "spirv64.spv",
        made: Made::Clang("--target=spirv64 -c"),
        target: "spirv64",
        ..USUAL
    },
    Form {
        file: "spirv32.spv",
        made: Made::Clang("--target=spirv32 -c"),
        target: "spirv32",
        ..USUAL
    },
    Form {
        file: "spirv64.bc",
        made: Made::Clang("--target=spirv64 -emit-llvm -c"),
        target: "spirv64",
        ..USUAL
    },
    Form {
        file: "spirv32.bc",
        made: Made::Clang("--target=spirv32 -emit-llvm -c"),
        target: "spirv32",
        ..USUAL
    },
    Form {
        file: "nvptx.ptx",
        made: Made::Clang("--target=nvptx64-nvidia-cuda -march=sm_90a --cuda-feature=+ptx80 -nogpulib -S"),
        target: "sm_90a",
        ..USUAL
    },
    Form {
        file: "nvptx.bc",
        made: Made::Clang(
            "--target=nvptx64-nvidia-cuda -march=sm_70 --cuda-feature=+ptx60 -nogpulib -emit-llvm -c",
        ),
        target: "sm_70",
        ..USUAL
    },
    Form {
        file: "nvptx.cubin",
        made: Made::Cubin(include_bytes!(data!("kernels-sm_90a-cuda-13.5.cubin"))),
        target: "sm_90a",
        kernels: &["reduce", "saxpy"],
        // It is linked already.
        imports: &[],
        exports: &[],
        ..USUAL
    },
    Form {
        file: "relocatable.cubin",
        made: Made::Cubin(include_bytes!(data!("kernels-sm_80-rdc-cuda-13.5.cubin"))),
        target: "sm_80",
        kernels: &["reduce", "saxpy"],
        imports: &[],
        exports: &["thrice"],
        ..USUAL
    },
    Form {
        file: "nvptx.ltoir",
        made: Made::LtoIr,
        target: "sm_80",
        alone: Alone::Unknown,
        // NVIDIA does not document what is in it.
        kernels: &[],
        imports: &[],
        exports: &[],
        ..USUAL
    },
    Form {
        file: "amdgpu.bc",
        made: Made::Clang("--target=amdgcn-amd-amdhsa -mcpu=gfx90a -nogpulib -emit-llvm -c"),
        target: "gfx90a",
        link: Link::WithLibrary,
        ..USUAL
    },
    Form {
        file: "amdgpu.o",
        made: Made::Clang("--target=amdgcn-amd-amdhsa -mcpu=gfx90a -nogpulib -c"),
        target: "gfx90a",
        // An object's symbols are for its linker: whether one outlives that, only the linked code tells.
        imports: &[],
        exports: &[],
        link: Link::WithLibrary,
        ..USUAL
    },
    Form {
        file: "intel.zebin",
        made: Made::Zebin,
        target: "spir64_gen,12.60.7",
        alone: Alone::Architecture("12.60.7"),
        kernels: &["saxpy"],
        imports: &["elsewhere"],
        exports: &["helper"],
        ..USUAL
    },
    Form {
        file: "host.so",
        made: Made::ClangOfC("--target=x86_64-unknown-linux-gnu -fPIC -shared -nostdlib -fuse-ld=lld"),
        target: "x86_64-unknown-linux-gnu",
        alone: Alone::Host,
        kernels: &["__omp_offloading_1_2_go_l3"],
        link: Link::Refused("no device code in `host.so`"),
        ..USUAL
    },
];

impl Form {
    /// Makes the file; `false`, loudly, where its tools cannot be had.
    fn make(&self, folder: &Folder) -> bool {
        let clang = |options: &str, source: &str| {
            let clang = offkit_tests::tool("clang-22").expect("asked for before");
            let line = format!("-O1 {options} {source} -o {}", self.file);
            folder.run(&clang, line.split_whitespace()).ok();
        };
        match self.made {
            Made::Clang(options) => clang(&format!("-cl-std=CL3.0 {options}"), "source.cl"),
            Made::ClangOfC(options) => clang(options, "source.c"),
            Made::Cubin(bytes) => {
                folder.write(self.file, bytes);
            }
            Made::LtoIr => {
                let Some(code) = lto_ir(folder, CUDA_SOURCE) else {
                    return false;
                };
                folder.write(self.file, code);
            }
            Made::Zebin => {
                let Some(tool) = offkit_tests::tool("yaml2obj") else {
                    return false;
                };
                let info = include_str!(data!("zebin-info.yaml"));
                let info: String = info.bytes().map(|byte| format!("{byte:02x}")).collect();
                let elf = include_str!(data!("zebin.yaml"));
                folder.write("zebin.yaml", elf.replace("@INFO@", &info));
                folder.run(tool, ["zebin.yaml", "-o", self.file]).ok();
            }
        }
        true
    }

    /// What everybody is to say where a container says what the image is for.
    fn target(&self) -> Target {
        match self.target.split_once(',') {
            Some((triple, arch)) => Target::new(triple, arch),
            None => Target::named(self.target),
        }
    }

    fn expected(&self, target: &Target) -> Answer {
        let set = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        Answer {
            target: meaning(target),
            kernels: set(self.kernels),
            imports: set(self.imports),
            exports: set(self.exports),
        }
    }

    /// What everybody is to say where only the bytes tell what the image is for.
    fn expected_alone(&self) -> Answer {
        self.expected(&match self.alone {
            Alone::Same => self.target(),
            Alone::Architecture(arch) => Target::new("", arch),
            Alone::Unknown | Alone::Host => Target::default(),
        })
    }
}

/// What somebody says of an image.
#[derive(Debug, PartialEq, Eq)]
struct Answer {
    /// The family and the processor, for triples have several spellings.
    target: String,
    kernels: BTreeSet<String>,
    imports: BTreeSet<String>,
    exports: BTreeSet<String>,
}

fn meaning(target: &Target) -> String {
    format!("{:?} {}", target.family(), target.processor())
}

fn names(value: &Value) -> BTreeSet<String> {
    let names = value.as_array().into_iter().flatten();
    names
        .map(|name| name.as_str().expect("a name").to_owned())
        .collect()
}

impl Answer {
    fn of_json(image: &Value) -> Self {
        let text = |key: &str| image[key].as_str().unwrap_or_default();
        Self {
            target: meaning(&Target::new(text("triple"), text("arch"))),
            kernels: names(&image["kernels"]),
            imports: names(&image["imports"]),
            exports: names(&image["exports"]),
        }
    }
}

/// What everybody says of the only image in a file.
fn answers(folder: &Folder, file: &str) -> Vec<(&'static str, Answer)> {
    let mut answers = Vec::new();
    for (who, command) in [
        ("ls", "ls --json"),
        ("show", "show --json"),
        ("devlib query", "devlib query --symbols --json"),
    ] {
        let outcome = folder.offkit(&format!("{command} {file}"));
        let mut images = outcome.json();
        // The host's code that the image is in is another answer.
        images.retain(|image| image["producer"] != "host");
        assert_eq!(images.len(), 1, "{who} {file}: {images:?}, {}", outcome.stderr);
        answers.push((who, Answer::of_json(&images[0])));
    }
    let registry = ImageRegistry::new();
    let registered = registry
        .open(folder.path(file), &Limits::default())
        .expect("a file");
    assert!(
        registered.problems.is_empty(),
        "{file}: {:?}",
        registered.problems
    );
    let [id] = registered.images.as_slice() else {
        panic!("{file}: {} images", registered.images.len())
    };
    let image = registry.image(*id).expect("the image is there");
    let symbols = image.symbols(&Limits::default());
    let set = |names: Vec<String>| names.into_iter().collect();
    answers.push((
        "the registry",
        Answer {
            target: meaning(&offkit_object::target_of(&image)),
            kernels: set(symbols.kernels),
            imports: set(symbols.imports),
            exports: set(symbols.exports),
        },
    ));
    answers
}

/// Checks that all say of the only image in a file what is expected.
#[track_caller]
fn check(folder: &Folder, file: &str, expected: &Answer) {
    for (who, answer) in answers(folder, file) {
        assert_eq!(&answer, expected, "{who} of {file}");
    }
}

/// The forms, made in a folder with the library of both kinds of processors that need it.
fn made() -> (Folder, Vec<Form>) {
    let folder = Folder::new();
    for (file, source) in [
        ("source.cl", SOURCE),
        ("source.c", HOST_SOURCE),
        ("library.cl", LIBRARY),
    ] {
        folder.write(file, source);
    }
    let forms = FORMS.iter().filter(|form| form.make(&folder)).copied().collect();
    (folder, forms)
}

#[test]
fn all_say_the_same_of_an_image_whatever_it_is_in() {
    need!("clang-22", "llc", "ld.lld", "spirv-val");
    let (folder, forms) = made();
    for form in &forms {
        let (file, target) = (form.file, form.target());
        let (expected, alone) = (form.expected(&target), form.expected_alone());
        match form.alone {
            Alone::Host => {
                let message = folder.offkit(&format!("show {file}")).fails(2);
                assert!(message.contains("no device code there"), "{message}");
            }
            _ => check(&folder, file, &alone),
        }
        // Where a container may leave the target to the bytes, it does.
        let silent = format!("file={file},kind=sycl");
        let told = format!(
            "file={file},triple={},arch={}",
            target.triple,
            target.arch_or_generic()
        );
        let sycl = format!("{told},kind=sycl");
        let openmp = format!("{told},kind=openmp");
        let hip = format!("{told},kind=hip");
        for (output, container, image, expected) in [
            ("silent.v1", "offload,v1", &silent, &alone),
            ("silent.v2", "offload,v2", &silent, &alone),
            ("silent.syclbin", "syclbin,v1", &silent, &alone),
            ("silent2.syclbin", "syclbin,v2", &silent, &alone),
            ("told.syclbin", "syclbin,v1", &sycl, &expected),
            ("told2.syclbin", "syclbin,v2", &sycl, &expected),
            ("told.v3", "offload,v3", &openmp, &expected),
        ] {
            let line = format!("pack -o {output} --allow-loss --to {container} --image={image}");
            folder.offkit(&line).ok();
            check(&folder, output, expected);
        }
        let bundles = [
            ("told.bundle", "bundle,binary"),
            ("told.ccob", "bundle,compressed"),
            ("told.text", "bundle,text"),
        ];
        for (output, container) in bundles {
            let line = format!("pack -o {output} --to {container} --image={hip}");
            if target.family() == Family::IntelGpu {
                // Dots and letters are no architecture in the IDs of bundles: it would be a part of the triple.
                let message = folder.offkit(&line).fails(1);
                assert!(
                    message.contains("the exact target spir64_gen-12.60.7 is lost"),
                    "{message}"
                );
                continue;
            }
            folder.offkit(&line).ok();
            check(&folder, output, &expected);
        }
        // A runtime takes images of its own language; those of CUDA and HIP take their containers whole.
        let mut wraps = vec![
            ("told.syclbin", "sycl-v2"),
            ("told.syclbin", "sycl-v3"),
            ("told.syclbin", "sycl-llvm"),
            ("told.syclbin", "offload"),
            ("told.v3", "openmp"),
        ];
        if target.family() != Family::IntelGpu {
            wraps.extend([("told.bundle", "hip"), ("told.ccob", "hip")]);
        }
        if matches!(form.alone, Alone::Same) {
            wraps.push((file, "sycl-v3"));
        }
        for (input, runtime) in wraps {
            let line = format!("wrap {input} -o wrapped.o --runtime {runtime}");
            folder.offkit(&line).ok();
            // SYCL's descriptors name no processor. Neither does LTO-IR, so there nobody knows it any more.
            let is_lost = matches!(form.made, Made::LtoIr) && runtime.starts_with("sycl-");
            match is_lost {
                true => check(
                    &folder,
                    "wrapped.o",
                    &form.expected(&Target::new(&*target.triple, "")),
                ),
                false => check(&folder, "wrapped.o", &expected),
            }
        }
        for (input, runtime) in [("told.syclbin", "openmp"), ("told.v3", "sycl-v3")] {
            let line = format!("wrap {input} -o wrapped.o --runtime {runtime}");
            let message = folder.offkit(&line).fails(2);
            assert!(message.contains("does not register"), "{message}");
        }
        for (input, runtime) in [("told.syclbin", "hip"), ("told.bundle", "cuda")] {
            if input == "told.bundle" && target.family() == Family::IntelGpu {
                continue;
            }
            let line = format!("wrap {input} -o wrapped.o --runtime {runtime}");
            let message = folder.offkit(&line).fails(2);
            assert!(message.contains("starts with the magic number"), "{message}");
        }
    }
}

#[test]
fn fatbins_say_the_same() {
    need!("clang-22", "llc", "ld.lld");
    let Some(cuda) = Cuda::get() else { return };
    let (folder, forms) = made();
    // Only CUDA's code can be in them. Its bitcode cannot: NVIDIA's program takes what NVIDIA's compilers write.
    for (file, kind, arch) in [
        ("nvptx.ptx", "ptx", "90a"),
        ("nvptx.cubin", "elf", "90a"),
        ("relocatable.cubin", "elf", "80"),
        ("nvptx.ltoir", "nvvm", "80"),
    ] {
        let Some(form) = forms.iter().find(|form| form.file == file) else {
            continue;
        };
        let image = [(kind, arch, file.to_owned())];
        cuda.fatbin(&folder, "packed.fatbin", &[], &image);
        let expected = form.expected(&form.target());
        check(&folder, "packed.fatbin", &expected);
        let wrap = "wrap packed.fatbin -o wrapped.o --runtime cuda";
        folder.offkit(wrap).ok();
        check(&folder, "wrapped.o", &expected);
    }
}

#[test]
fn a_link_keeps_what_an_image_is() {
    need!("clang-22", "llc", "ld.lld", "spirv-val");
    let (folder, forms) = made();
    for form in &forms {
        let file = form.file;
        let expected = form.expected_alone();
        match form.link {
            Link::Same => {
                folder
                    .offkit(&format!("link {file} -o linked.syclbin --state object"))
                    .ok();
                check(&folder, "linked.syclbin", &expected);
            }
            Link::WithLibrary => {
                let Made::Clang(options) = form.made else {
                    unreachable!("the library is made as the image is")
                };
                let library = Form {
                    file: "library.o",
                    ..*form
                };
                let clang = offkit_tests::tool("clang-22").expect("asked for before");
                let line = format!("-O1 -cl-std=CL3.0 {options} library.cl -o {}", library.file);
                folder.run(&clang, line.split_whitespace()).ok();
                folder
                    .offkit(&format!(
                        "link {file} library.o -o linked.syclbin --split none --state executable"
                    ))
                    .ok();
                let mut expected = expected;
                if expected.imports.contains("imported_function") {
                    expected.imports.clear();
                    expected.exports.insert("imported_function".to_owned());
                }
                check(&folder, "linked.syclbin", &expected);
            }
            Link::Refused(words) => {
                let message = folder.offkit(&format!("link {file} -o refused.syclbin")).fails(2);
                assert!(message.contains(words), "{message}");
            }
        }
    }
}
