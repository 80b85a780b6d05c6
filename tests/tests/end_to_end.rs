//! From source to a checked result: what the demo does, and what it is made of.

use offkit_tests::{Folder, need, npy_f32, npy_i32, read_f32, read_i32, root};

/// The worked example's two files, linked.
fn linked_example(folder: &Folder) {
    folder.compiled_example();
    folder.offkit("link app.bc -o app.syclbin").ok();
    folder
        .offkit("link library.bc -o library.syclbin --format syclbin,v2")
        .ok();
}

#[test]
fn a_kernel_and_a_shared_library_become_a_result() {
    need!("clang-22", "llc");
    let folder = Folder::new();
    linked_example(&folder);
    let count = 4096;
    folder.write("x.npy", npy_f32("(4096,)", (0..count).map(|i| i as f32)));
    folder.write(
        "y.npy",
        npy_f32("(4096,)", (0..count).map(|i| (count - i) as f32)),
    );
    folder
        .offkit(
            "run app.syclbin saxpy --link library.syclbin --global 4096 --arg f32:2 --arg x.npy --arg y.npy --out z.npy",
        )
        .ok();
    let expected: Vec<f32> = (0..count).map(|i| 2.0 * i as f32 + (count - i) as f32).collect();
    assert_eq!(read_f32(&folder.read("z.npy")), expected);
}

#[test]
fn local_memory_and_barriers_work_across_the_library() {
    need!("clang-22", "llc");
    let folder = Folder::new();
    linked_example(&folder);
    let n = 32;
    let a: Vec<f32> = (0..n * n).map(|i| (i % 7) as f32).collect();
    let b: Vec<f32> = (0..n * n).map(|i| (i % 5) as f32 - 2.0).collect();
    folder.write("a.npy", npy_f32("(32, 32)", a.iter().copied()));
    folder.write("b.npy", npy_f32("(32, 32)", b.iter().copied()));
    folder
        .offkit(
            "run app.syclbin matmul --link library.syclbin --global 32,32 --local 16,16 \
             --arg u32:32 --arg a.npy --arg b.npy --arg f32[32,32] --out c.npy",
        )
        .ok();
    let c = read_f32(&folder.read("c.npy"));
    for row in 0..n {
        for column in 0..n {
            let expected: f32 = (0..n).map(|i| a[row * n + i] * b[i * n + column]).sum();
            assert_eq!(c[row * n + column], expected, "row {row}, column {column}");
        }
    }

    folder.write("x.npy", npy_f32("(1024,)", (0..1024).map(|i| i as f32)));
    folder
        .offkit(
            "run app.syclbin reduce --link library.syclbin --global 1024 --local 128 \
             --arg x.npy --arg f32[8] --arg local:512 --out 1=sums.npy",
        )
        .ok();
    let sums: Vec<f32> = (0..8)
        .map(|group| (0..128).map(|i| (group * 128 + i) as f32).sum())
        .collect();
    assert_eq!(read_f32(&folder.read("sums.npy")), sums);
}

#[test]
fn what_is_inside_is_listed() {
    need!("clang-22", "llc");
    let folder = Folder::new();
    linked_example(&folder);
    // One kernel requires a size of work-groups, and would get an image of its own.
    folder.offkit("link app.bc -o app.syclbin --split none").ok();
    let listing = folder.offkit("ls --json app.syclbin library.syclbin").json();
    let [app, library] = listing.as_slice() else {
        panic!("{listing:#?}")
    };
    assert_eq!(app["location"], "app.syclbin!0/ir/0");
    assert_eq!((&app["version"], &library["version"]), (&1.into(), &2.into()));
    assert_eq!(app["format"], "spirv");
    assert_eq!(app["kernels"], serde_json::json!(["saxpy", "matmul", "reduce"]));
    assert_eq!(
        app["imports"],
        serde_json::json!(["axpy", "multiply_add", "combine"])
    );
    assert_eq!(library["exports"], app["imports"]);
    assert_eq!(library["kernels"], serde_json::json!([]));
    let offset = app["offset"].as_u64().unwrap() as usize;
    assert_eq!(
        folder.read("app.syclbin")[offset..][..4],
        [3, 2, 0x23, 7],
        "the offset is where SPIR-V begins"
    );

    let tree = folder.offkit("ls --kernels app.syclbin library.syclbin").ok();
    assert!(
        tree.contains("saxpy(f32, global const f32*, global f32*)"),
        "{tree}"
    );
    assert!(tree.contains("exports  axpy, multiply_add, combine"), "{tree}");
    assert!(!tree.contains('\u{1b}'), "no colours where there is no terminal");
}

#[test]
fn the_same_input_makes_the_same_bytes() {
    need!("clang-22", "llc");
    let folder = Folder::new();
    folder.compiled_example();
    for format in ["syclbin,v1", "syclbin,v2", "offload,v1", "offload,v2"] {
        for split in ["none", "source", "kernel"] {
            let link = |output| {
                folder
                    .offkit(&format!(
                        "link app.bc -o {output} --format {format} --split {split} --state object"
                    ))
                    .ok()
            };
            link("first");
            link("second");
            assert!(folder.read("first") == folder.read("second"), "{format} {split}");
        }
    }
}

/// Two sources that call each other, each with a helper of its own under the same name.
const PING: &str = "int pong(int n);
static int step(int n) { return n - 1; }
int ping(int n) { return n <= 0 ? 1 : 2 * pong(step(n)); }
kernel void first(global int *a) { size_t i = get_global_id(0); a[i] = ping(a[i]); }";
const PONG: &str = "int ping(int n);
static int step(int n) { return n - 2; }
int pong(int n) { return n <= 0 ? 1 : 3 * ping(step(n)); }
kernel void second(global int *a) { size_t i = get_global_id(0); a[i] = pong(a[i]); }";

#[test]
fn every_way_of_splitting_gives_the_same_results() {
    need!("clang-22", "llc");
    let folder = Folder::new();
    folder.bitcode("ping", PING);
    folder.bitcode("pong", PONG);
    folder.write("a.npy", npy_i32("(10,)", 0..10));
    fn ping(n: i32) -> i32 {
        if n <= 0 { 1 } else { 2 * pong(n - 1) }
    }
    fn pong(n: i32) -> i32 {
        if n <= 0 { 1 } else { 3 * ping(n - 2) }
    }
    // Of a complete file, functions that only others could call have no images.
    let images = [("none", 1), ("source", 2), ("kernel", 2)];
    for (split, images) in images {
        folder
            .offkit(&format!(
                "link ping.bc pong.bc -o {split}.syclbin --split {split} --state executable"
            ))
            .ok();
        let listing = folder.offkit(&format!("ls --json {split}.syclbin")).json();
        assert_eq!(listing.len(), images, "{split}: {listing:#?}");
        for (kernel, expected) in [("first", ping as fn(i32) -> i32), ("second", pong)] {
            folder
                .offkit(&format!(
                    "run {split}.syclbin {kernel} --global 10 --arg a.npy --out b.npy"
                ))
                .ok();
            let expected: Vec<i32> = (0..10).map(expected).collect();
            assert_eq!(read_i32(&folder.read("b.npy")), expected, "{split} {kernel}");
        }
    }
    // By kernel, each kernel's image is complete by itself.
    let listing = folder.offkit("ls --json kernel.syclbin").json();
    for image in listing
        .iter()
        .filter(|image| image["kernels"] != serde_json::json!([]))
    {
        assert_eq!(image["imports"], serde_json::json!([]), "{image:#?}");
        assert_eq!(image["exports"], serde_json::json!([]), "{image:#?}");
    }
}

#[test]
fn checking_answers_with_the_exit_code() {
    need!("clang-22", "llc");
    let folder = Folder::new();
    folder.syclbin(
        "k",
        "kernel void twice(global int *a) { a[get_global_id(0)] *= 2; }",
        "",
    );
    folder.write("a.npy", npy_i32("(4,)", [1, 2, 3, 4]));
    folder.write("right.npy", npy_i32("(4,)", [2, 4, 6, 8]));
    folder.write("wrong.npy", npy_i32("(4,)", [2, 4, 7, 8]));
    let run = "run k.syclbin twice --global 4 --arg a.npy";
    folder.offkit(&format!("{run} --check right.npy")).ok();
    folder.offkit(&format!("{run} --check right.npy --repeat 3")).ok();
    let difference = folder
        .offkit(&format!("{run} --check 0=wrong.npy --out b.npy"))
        .fails(1);
    assert!(
        difference.contains("1 of 4 elements differ, the first at index 2: 6, expected 7"),
        "{difference}"
    );
    assert_eq!(
        read_i32(&folder.read("b.npy")),
        [2, 4, 6, 8],
        "the result is written all the same"
    );
}

#[test]
fn the_demo_runs() {
    need!("clang-22", "llc", "bash");
    let folder = Folder::new();
    let script = root().join("examples/shared-library/demo.sh");
    let mut command = std::process::Command::new(script);
    let programs = offkit_tests::programs();
    command
        .env("OFFKIT_DEMO_FOLDER", folder.path("demo"))
        .env("OFFKIT_DEMO_PROGRAMS", programs);
    let text = folder.run_command(&mut command).ok();
    assert!(text.contains("the demo passed"), "{text}");
}

#[test]
fn arguments_of_every_kind_reach_the_kernel() {
    need!("clang-22", "llc");
    let folder = Folder::new();
    folder.syclbin(
        "k",
        "typedef struct { int x; float y[2]; char c; } S;
         kernel void k(S s, double d, short3 v, constant int *table, global float *o, local int *scratch) {
           scratch[get_local_id(0)] = table[1];
           barrier(CLK_LOCAL_MEM_FENCE);
           o[0] = s.x; o[1] = s.y[1]; o[2] = s.c; o[3] = d; o[4] = v.z; o[5] = scratch[1];
           if (get_global_id(0) == 0) printf(\"%d of %v3hd\\n\", s.x, v);
         }",
        "",
    );
    folder.write("table.npy", npy_i32("(2,)", [10, 20]));
    // int 7, floats 1 and 2.5, char 9 with three bytes of padding.
    let printed = folder
        .offkit(
            "run k.syclbin k --global 2 --local 2 --arg bytes:070000000000803f0000204009000000 --arg f64:0.5 \
             --arg i16:-1,-2,-3 --arg table.npy --arg f32[6] --arg local:8 --out o.npy",
        )
        .ok();
    assert_eq!(printed, "7 of -1,-2,-3\n");
    assert_eq!(read_f32(&folder.read("o.npy")), [7.0, 2.5, 9.0, 0.5, -3.0, 20.0]);
}

#[test]
fn a_reader_that_has_seen_enough_is_no_error() {
    use std::process::{Command, Stdio};
    need!("clang-22", "llc");
    let folder = Folder::new();
    linked_example(&folder);
    let mut command = Command::new(offkit_tests::offkit());
    command
        .args(["ls", "--json"])
        .args([folder.path("app.syclbin"); 1])
        .stdout(Stdio::piped());
    let mut child = command.spawn().unwrap();
    drop(child.stdout.take());
    assert!(child.wait().unwrap().success());
}

/// LLVM 22's back end chooses the extension by the type converted to; offkit puts that right.
#[test]
fn integers_are_converted_as_opencl_says() {
    need!("clang-22", "llc");
    let folder = Folder::new();
    folder.syclbin(
        "k",
        "kernel void k(global const char *a, global const uchar *b, global const int *c, global int *o) {
           o[0] = convert_int(a[0]); o[1] = convert_int(b[0]);
           o[2] = convert_uint(b[0]); o[3] = convert_uint(a[0]);
           o[4] = convert_char_sat(c[0]); o[5] = convert_uchar_sat(c[0]); o[6] = convert_uchar_sat(c[1]);
           int4 v = convert_int4(vload4(0, a)); o[7] = v.x + v.w;
           o[8] = convert_int_sat(convert_ulong(c[0])); o[9] = convert_uint_sat(c[0]);
           o[10] = convert_long(c[0]) < 0; o[11] = convert_short_sat((uint)c[0]);
         }",
        "",
    );
    let bytes = |name: &str, kind: &str, values: [u8; 4]| {
        let mut file = npy_i32("(1,)", [i32::from_le_bytes(values)]);
        let text = String::from_utf8_lossy(&file[..128]).into_owned();
        assert!(text.contains("<i4"));
        for (from, to) in [(&b"<i4"[..], kind.as_bytes()), (b"(1,)", b"(4,)")] {
            let at = file
                .windows(from.len())
                .position(|window| window == from)
                .unwrap();
            file[at..at + from.len()].copy_from_slice(to);
        }
        folder.write(name, file);
    };
    bytes("a.npy", "|i1", [0xff, 1, 2, 0xfe]);
    bytes("b.npy", "|u1", [200, 0, 0, 0]);
    folder.write("c.npy", npy_i32("(2,)", [-5, 300]));
    folder
        .offkit("run k.syclbin k --global 1 --arg a.npy --arg b.npy --arg c.npy --arg i32[12] --out 3=o.npy")
        .ok();
    let expected = [-1, 200, 200, -1, -5, 0, 255, -3, i32::MAX, 0, 1, 32767];
    assert_eq!(read_i32(&folder.read("o.npy")), expected);
}

#[test]
fn arrays_keep_their_elements_in_every_order() {
    need!("clang-22", "llc");
    let folder = Folder::new();
    folder.syclbin(
        "k",
        "kernel void number(global int *a) { a[get_global_id(0)] += 100 * get_global_id(0); }",
        "",
    );
    // What numpy.save writes of an array with the elements 10 * i + j, big endian and in Fortran's order.
    let header = "{'descr': '>i4', 'fortran_order': True, 'shape': (2, 3), }\n";
    let mut file = b"\x93NUMPY\x01\x00".to_vec();
    file.extend_from_slice(&(header.len() as u16).to_le_bytes());
    file.extend_from_slice(header.as_bytes());
    file.extend(
        [0_i32, 10, 1, 11, 2, 12]
            .iter()
            .flat_map(|element| element.to_be_bytes()),
    );
    folder.write("a.npy", file);
    folder
        .offkit("run k.syclbin number --global 6 --arg a.npy --out b.npy")
        .ok();
    let result = folder.read("b.npy");
    assert_eq!(read_i32(&result), [0, 101, 202, 310, 411, 512]);
    let shape = "'<i4', 'fortran_order': False, 'shape': (2, 3)";
    assert!(String::from_utf8_lossy(&result).contains(shape));
}
