//! One image, one answer: every form of image, bare and in every container, through everything that says what it is.
//!
//! clang makes the images. `ls`, `show`, `devlib query` and the registry of the runtime say the same target, kernels,
//! imports and exports of each, whatever it is in; `link` and `wrap` write containers of which the same holds.

use std::collections::BTreeSet;

use offkit_image::Target;
use offkit_object::{Inspect, Limits};
use offkit_runtime::ImageRegistry;
use offkit_tests::{Folder, need};
use serde_json::Value;

/// A kernel, a function that it imports, and one that it exports.
const SOURCE: &str = "int imported_function(int x);
    int exported_function(int x) { return x * 3; }
    kernel void the_kernel(global int *p) { p[0] = imported_function(p[0]) + exported_function(2); }";

/// An image as clang makes it.
struct Form {
    file: &'static str,
    options: &'static str,
    /// What everybody is to say, spelt in any way that means the same.
    target: &'static str,
    /// Whether the format tells which of its symbols others define and may use.
    has_symbols: bool,
}

const FORMS: &[Form] = &[
    Form {
        file: "spirv64.spv",
        options: "--target=spirv64 -c",
        target: "spirv64",
        has_symbols: true,
    },
    Form {
        file: "spirv32.spv",
        options: "--target=spirv32 -c",
        target: "spirv32",
        has_symbols: true,
    },
    Form {
        file: "spirv64.bc",
        options: "--target=spirv64 -emit-llvm -c",
        target: "spirv64",
        has_symbols: true,
    },
    Form {
        file: "spirv32.bc",
        options: "--target=spirv32 -emit-llvm -c",
        target: "spirv32",
        has_symbols: true,
    },
    Form {
        file: "nvptx.ptx",
        options: "--target=nvptx64-nvidia-cuda -march=sm_90a --cuda-feature=+ptx80 -nogpulib -S",
        target: "sm_90a",
        has_symbols: true,
    },
    Form {
        file: "nvptx.bc",
        options: "--target=nvptx64-nvidia-cuda -march=sm_70 --cuda-feature=+ptx60 -nogpulib -emit-llvm -c",
        target: "sm_70",
        has_symbols: true,
    },
    Form {
        file: "amdgpu.bc",
        options: "--target=amdgcn-amd-amdhsa -mcpu=gfx90a -nogpulib -emit-llvm -c",
        target: "gfx90a",
        has_symbols: true,
    },
    Form {
        file: "amdgpu.o",
        options: "--target=amdgcn-amd-amdhsa -mcpu=gfx90a -nogpulib -c",
        target: "gfx90a",
        has_symbols: false,
    },
];

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

    fn without_symbols(mut self) -> Self {
        self.imports.clear();
        self.exports.clear();
        self
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

#[test]
fn all_say_the_same_of_an_image_whatever_it_is_in() {
    need!("clang-22", "llc", "spirv-val");
    let folder = Folder::new();
    folder.write("source.cl", SOURCE);
    let clang = offkit_tests::tool("clang-22").expect("asked for before");
    for form in FORMS {
        let file = form.file;
        let line = format!("-cl-std=CL3.0 -O1 {} source.cl -o {file}", form.options);
        folder.run(&clang, line.split_whitespace()).ok();
        let set = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        let mut expected = Answer {
            target: meaning(&Target::named(form.target)),
            kernels: set(&["the_kernel"]),
            imports: set(&["imported_function"]),
            exports: set(&["exported_function"]),
        };
        if !form.has_symbols {
            expected = expected.without_symbols();
        }
        check(&folder, file, &expected);

        // Where a container may leave the target to the bytes, it does.
        let target = Target::named(form.target);
        let told = format!(
            "file={file},triple={},arch={}",
            target.triple,
            target.arch_or_generic()
        );
        for (output, options) in [
            ("silent.v1", format!("--image=file={file},kind=sycl")),
            (
                "silent.v2",
                format!("--to offload,v2 --image=file={file},kind=sycl"),
            ),
            (
                "silent.syclbin",
                format!("--to syclbin,v1 --image=file={file},kind=sycl"),
            ),
            ("told.v3", format!("--to offload,v3 --image={told},kind=openmp")),
            (
                "told.bundle",
                format!("--to bundle,binary --image={told},kind=hip"),
            ),
            (
                "told.ccob",
                format!("--to bundle,compressed --image={told},kind=hip"),
            ),
        ] {
            folder
                .offkit(&format!("pack -o {output} --allow-loss {options}"))
                .ok();
            check(&folder, output, &expected);
        }
        folder
            .offkit(&format!("wrap {file} -o wrapped.o --runtime sycl-v3"))
            .ok();
        check(&folder, "wrapped.o", &expected);
    }
}

#[test]
fn a_link_keeps_what_an_image_is() {
    need!("clang-22", "llc", "spirv-val");
    let folder = Folder::new();
    folder.write("source.cl", SOURCE);
    let clang = offkit_tests::tool("clang-22").expect("asked for before");
    for form in FORMS.iter().filter(|form| form.file.starts_with("spirv")) {
        let line = format!("-cl-std=CL3.0 -O1 {} source.cl -o {}", form.options, form.file);
        folder.run(&clang, line.split_whitespace()).ok();
        let before = answers(&folder, form.file);
        folder
            .offkit(&format!("link {} -o linked.syclbin --state object", form.file))
            .ok();
        check(&folder, "linked.syclbin", &before[0].1);
    }
}
