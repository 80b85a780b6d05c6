//! The kernels in CUDA (`bench/gpu/kernels.cu`), compiled for the host: `host.cpp` has as much of CUDA as they use.

use std::collections::BTreeSet;
use std::ffi::{CString, c_char, c_int, c_uint, c_void};
use std::path::PathBuf;

use offkit_gpu::rows::{Data, Row};
use offkit_pi::driver::{Library, open_resolved};
use offkit_tests::{Folder, root, tool};

type Run = unsafe extern "C" fn(*const c_char, *const c_uint, *const c_uint, *mut *mut c_void) -> c_int;

pub(crate) struct Kernels(Library);

/// The source as the host's compiler takes it, with a table of kernels behind it.
fn source(rows: &[Row]) -> String {
    let kernels = std::fs::read_to_string(root().join("bench/gpu/kernels.cu")).expect("it is there");
    let mut source = include_str!("host.cpp").to_owned();
    for line in kernels.lines().filter(|line| !line.starts_with("#include")) {
        // The launch's own memory: `extern __shared__ float part[];`.
        let declared = line.trim().strip_prefix("extern __shared__ ");
        let declared = declared.and_then(|rest| rest.strip_suffix("[];")?.split_once(' '));
        source += &match declared {
            Some((element, name)) => format!("{element} *{name} = ({element} *)dynamic_shared;"),
            None => line.to_owned(),
        };
        source.push('\n');
    }
    let names: BTreeSet<&str> = rows.iter().map(|row| row.kernel).collect();
    let table: String = names
        .iter()
        .map(|name| {
            format!(
                "  if (!strcmp(name, \"{name}\"))\n    kernel = [](void **arguments) {{ call({name}, arguments); }};\n"
            )
        })
        .collect();
    source
        + "extern \"C\" int run(const char *name, const unsigned *blocks, const unsigned *threads, void **arguments) {\n  \
           kernel = nullptr;\n"
        + &table
        + "  given = arguments;\n  gridDim = {blocks[0], blocks[1], blocks[2]};\n  \
           blockDim = {threads[0], threads[1], threads[2]};\n  if (!kernel)\n    return 1;\n  grid();\n  return 0;\n}\n"
}

impl Kernels {
    pub(crate) fn compile(folder: &Folder, rows: &[Row]) -> Kernels {
        folder.write("kernels.cpp", source(rows));
        let line = "-O2 -std=c++20 -shared -fPIC -w kernels.cpp -o kernels.so";
        let clang = tool("clang++-22").expect("asked for before");
        folder.run(clang, line.split(' ')).ok();
        let library: PathBuf = folder.path("kernels.so");
        // SAFETY: it has no initialisers.
        Kernels(unsafe { open_resolved(&library) }.expect("it was just made"))
    }

    /// Runs a row's kernel; what its arguments hold then.
    pub(crate) fn run(&self, row: &Row, data: &[Data]) -> Vec<Data> {
        let mut memory: Vec<Vec<u8>> = data.iter().map(Data::bytes).collect();
        let is_array = |data: &Data| !matches!(data, Data::OneF32(_) | Data::OneI32(_) | Data::Local(_));
        // Vectors are as far apart as their size says.
        let mut aligned: Vec<Vec<u128>> = memory.iter().map(|bytes| vec![0; bytes.len() / 16 + 1]).collect();
        let mut addresses = Vec::new();
        for (bytes, place) in memory.iter().zip(&mut aligned) {
            let place = place.as_mut_ptr().cast::<u8>();
            // SAFETY: the place is at least as large.
            unsafe { place.copy_from_nonoverlapping(bytes.as_ptr(), bytes.len()) };
            addresses.push(place);
        }
        let given = || (0..data.len()).filter(|index| !matches!(data[*index], Data::Local(_)));
        let mut arguments: Vec<*mut c_void> = given()
            .map(|index| match is_array(&data[index]) {
                true => (&raw mut addresses[index]).cast(),
                false => addresses[index].cast(),
            })
            .collect();
        let blocks: [c_uint; 3] = std::array::from_fn(|axis| (row.global[axis] / row.local[axis]) as c_uint);
        let threads = row.local.map(|size| size as c_uint);
        let name = CString::new(row.kernel).expect("a name");
        // SAFETY: the row says what the kernel takes, and `host.cpp` has the function of that type.
        let code = unsafe {
            let run = self.0.get::<Run>(b"run").expect("the function");
            run(
                name.as_ptr(),
                blocks.as_ptr(),
                threads.as_ptr(),
                arguments.as_mut_ptr(),
            )
        };
        assert_eq!(code, 0, "{}", row.kernel);
        for (bytes, place) in memory.iter_mut().zip(&addresses) {
            // SAFETY: as above.
            unsafe { place.copy_to_nonoverlapping(bytes.as_mut_ptr(), bytes.len()) };
        }
        data.iter()
            .zip(&memory)
            .map(|(data, bytes)| data.with_bytes(bytes))
            .collect()
    }
}
