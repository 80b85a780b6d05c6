//! Programs with device code of CUDA and HIP, made by clang, NVIDIA's assembler and the system's linkers.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::cuda::NVCC;
use crate::{Folder, skip, tool};

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
  if (((struct wrapper *)w)->magic == 0x4849504b) {
    const char *at = memchr(d, '.', 200);
    while (at && memcmp(at, ".kpack/", 7)) at = memchr(at + 1, '.', 200);
    printf("reference %lu: %d %.*s\n", (unsigned long)((struct wrapper *)w)->more, *d & 0xff, 24, at ? at : "");
    return &handle;
  }
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

/// How what [`Workshop`] compiled is linked.
pub const LINKED: &str = "one.o two.o three.o -L. -lruntime -Wl,-rpath,$ORIGIN";

/// A conda package, whose compressor does not know the size of a tar file before its end, as conda's own.
const CONDA: &str = r#"import hashlib, io, json, tarfile, zipfile, zstandard
def tar(files):
  out = io.BytesIO()
  with tarfile.open(fileobj=out, mode='w') as archive:
    for name, data in files.items():
      info = tarfile.TarInfo(name)
      info.size, info.mode, info.mtime = len(data), 0o775, 1600000000
      archive.addfile(info, io.BytesIO(data))
  compressor = zstandard.ZstdCompressor(19).compressobj()
  return compressor.compress(out.getvalue()) + compressor.flush()
files = {'lib/lib.so': open('lib.so', 'rb').read(), 'share/' + 'long' * 40: b'text'}
paths = [{'_path': n, 'path_type': 'hardlink', 'sha256': hashlib.sha256(d).hexdigest(), 'size_in_bytes': len(d)} for n, d in files.items()]
info = {'info/index.json': b'{}', 'info/paths.json': json.dumps({'paths': paths, 'paths_version': 1}).encode()}
with zipfile.ZipFile('a-1-0.conda', 'w', zipfile.ZIP_STORED) as package:
  package.writestr('metadata.json', '{"conda_pkg_format_version": 2}')
  package.writestr('info-a-1-0.tar.zst', tar(info))
  package.writestr('pkg-a-1-0.tar.zst', tar(files))"#;

const WHEEL: &str = "import base64, hashlib, zipfile
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

/// Compilers, and what they compile.
pub struct Workshop {
    /// Where they work.
    pub folder: Folder,
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

    /// Runs clang.
    pub fn clang(&self, line: &str) {
        self.folder.run(&self.clang, line.split_whitespace()).ok();
    }

    /// Objects with one kernel each for three processors of NVIDIA's.
    pub fn cuda(options: &str) -> Option<Self> {
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
    pub fn hip(options: &str) -> Option<Self> {
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
    pub fn registers(&self, file: &str) -> String {
        let mut command = match file.contains(".so") {
            true => {
                let mut loader = Command::new(self.folder.path("loader"));
                loader.arg(self.folder.path(file));
                loader
            }
            false => Command::new(self.folder.path(file)),
        };
        // The runtime is here, wherever the file is.
        command.env("LD_LIBRARY_PATH", self.folder.path(""));
        self.folder.run_command(&mut command).ok()
    }

    /// Runs `offkit thin`.
    pub fn thin(&self, words: &str) -> String {
        self.folder.offkit(&format!("thin {words}")).ok()
    }

    /// The size of a file.
    pub fn size(&self, file: &str) -> usize {
        self.folder.read(file).len()
    }

    /// Makes the wheel `pack-1.0-py3-none-any.whl` of `lib.so`.
    pub fn wheel(&self, python: &Path) {
        self.wheel_with(python, "");
    }

    /// Makes the conda package `a-1-0.conda` of `lib.so`, with Python that has `zstandard`.
    pub fn conda(&self, python: &Path) {
        self.folder.run(python, ["-c", CONDA]).ok();
    }

    /// The same after other lines of Python.
    pub fn wheel_with(&self, python: &Path, before: &str) {
        self.folder
            .run(python, ["-c", &format!("{before}\n{WHEEL}")])
            .ok();
    }
}

/// What registers when there are fatbins with these entries.
pub fn fatbins(targets: &str) -> String {
    let one = |name: &str| format!("fatbin ba55ed50: {targets}\nkernel {name}\n");
    ["_Z3onePfi", "_Z3twoPfi", "_Z5threePfi"].map(one).concat()
}
