//! Device code that tests use, as clang and offkit make it.

use crate::{Folder, npy_f32, root, tool};

impl Folder {
    /// Compiles OpenCL C with clang 22 to LLVM bitcode, `NAME.bc`.
    ///
    /// # Panics
    ///
    /// If clang refuses the source.
    #[track_caller]
    pub fn bitcode(&self, name: &str, source: &str) {
        self.compile(
            name,
            source,
            "bc",
            "--target=spirv64 -fno-unroll-loops -emit-llvm",
        );
    }

    /// Compiles OpenCL C with clang 22 to SPIR-V 1.1, which drivers from 2021 on take: `NAME.spv`.
    ///
    /// # Panics
    ///
    /// If clang refuses the source.
    #[track_caller]
    pub fn spirv(&self, name: &str, source: &str) {
        self.compile(name, source, "spv", "--target=spirv64v1.1");
    }

    #[track_caller]
    fn compile(&self, name: &str, source: &str, ending: &str, options: &str) {
        let clang = tool("clang-22").expect("asked for before");
        self.write(&format!("{name}.cl"), source);
        let line = format!("-cl-std=CL3.0 -O1 {options} -c {name}.cl -o {name}.{ending}");
        self.run(clang, line.split_whitespace()).ok();
    }

    /// Compiles OpenCL C and links it into `NAME.syclbin`.
    ///
    /// # Panics
    ///
    /// If clang or offkit refuses it.
    #[track_caller]
    pub fn syclbin(&self, name: &str, source: &str, options: &str) {
        self.bitcode(name, source);
        self.offkit(&format!("link {name}.bc -o {name}.syclbin {options}"))
            .ok();
    }

    /// Compiles the two sources of the worked example: `app.bc`, which has saxpy, and `library.bc`, which has axpy.
    ///
    /// # Panics
    ///
    /// If clang refuses one.
    #[track_caller]
    pub fn compiled_example(&self) {
        self.write("library.h", example("library.h"));
        for name in ["app", "library"] {
            self.bitcode(name, &example(&format!("{name}.cl")));
        }
    }

    /// Links the worked example into `app.syclbin` and `library.syclbin`, and writes what saxpy takes: `x.npy`
    /// counts up from 0, `y.npy` down from 64.
    ///
    /// # Panics
    ///
    /// If clang or offkit refuses it.
    #[track_caller]
    pub fn linked_example(&self) {
        self.compiled_example();
        for name in ["app", "library"] {
            self.offkit(&format!("link {name}.bc -o {name}.syclbin")).ok();
        }
        self.write("x.npy", npy_f32("(64,)", (0..64).map(|i| i as f32)));
        self.write("y.npy", npy_f32("(64,)", (0..64).map(|i| (64 - i) as f32)));
    }

    /// Writes a SYCLBIN in input state: a kernel `scale` that multiplies numbers by the specialization constant `factor`,
    /// which is 5 by default, and adds the device global `offset`, which is the image's own.
    ///
    /// # Panics
    ///
    /// If clang or offkit refuses it.
    #[track_caller]
    pub fn constants(&self, file: &str) {
        self.spirv(
            "scale",
            "int __attribute__((overloadable)) __spirv_SpecConstant(int, int);
             global int offset;
             kernel void scale(global int *a) {
               size_t i = get_global_id(0);
               a[i] = a[i] * __spirv_SpecConstant(7, 3) + offset;
             }",
        );
        // As the SYCL toolchain writes it: the constant's number in SPIR-V, offset and size, and its value; the global's
        // size, and that it is the image's.
        let properties = "[SYCL/specialization constants]\nfactor=2|gBAAAAAAAAwBAAAAAAAAAQAAAAA\n\
             [SYCL/specialization constants default values]\nall=2|gAAAAAAAAAQBAAAA\n\
             [SYCL/device globals]\noffset=2|ABAAAAAAAAABAAAABAAAAA\n";
        self.write("scale.txt", properties);
        let image = "file=scale.spv,triple=spirv64-unknown-unknown,kind=sycl,properties=scale.txt";
        self.offkit(&format!(
            "pack --to syclbin,v1 --state input -o {file} --image {image}"
        ))
        .ok();
    }
}

/// OpenCL C as SPIR-V; as [`Folder::spirv`].
#[track_caller]
pub fn spirv(source: &str) -> Vec<u8> {
    let folder = Folder::new();
    folder.spirv("k", source);
    folder.read("k.spv")
}

/// The two sources of the worked example and the header they share.
///
/// # Panics
///
/// If the example is not there.
pub fn example(file: &str) -> String {
    let path = root().join("examples/shared-library").join(file);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}
