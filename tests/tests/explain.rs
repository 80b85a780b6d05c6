//! `offkit explain` and `offkit graph`: why a kernel gets the images that it gets, and which images need which.

use std::process::Command;

use offkit_tests::drivers::alone;
use offkit_tests::{Folder, need, npy_i32, offkit, read_i32, tool};
use serde_json::json;

const APP: &str = "int scale(int x);
    kernel void app(global int *a) { a[get_global_id(0)] = scale(a[get_global_id(0)]); }";
const LIBRARY: &str = "int shift(int x, int by); int scale(int x) { return shift(x, 3); }";
const HELPER: &str = "int shift(int x, int by) { return x << by; }";

/// An app, a library that it needs, and a helper that this one needs.
fn prepared() -> Folder {
    let folder = Folder::new();
    for (name, source) in [("app", APP), ("library", LIBRARY), ("helper", HELPER)] {
        folder.syclbin(name, source, "");
    }
    folder
}

#[track_caller]
fn says(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(text.contains(part), "no `{part}` in {text}");
    }
}

#[test]
fn explain_names_images_exporters_and_what_is_built() {
    need!("clang-22", "llc");
    let folder = prepared();
    let line = "explain app.syclbin app --link library.syclbin --link helper.syclbin --link library.bc";
    let text = folder.offkit(line).ok();
    says(
        &text,
        &[
            "kernel `app` on offkit CPU",
            "app.syclbin!0/ir/0 (SPIR-V for spirv64-unknown-unknown): chosen",
            "`scale`: from library.syclbin!0/ir/0, for app.syclbin!0/ir/0",
            "not from library.bc (LLVM bitcode",
            "another format",
            "`shift`: from helper.syclbin!0/ir/0, for library.syclbin!0/ir/0",
            "the device compiles and links app.syclbin!0/ir/0, library.syclbin!0/ir/0, helper.syclbin!0/ir/0",
        ],
    );
    let lines = folder.offkit(&format!("{line} --json")).json();
    assert_eq!(lines.len(), 1);
    assert_eq!(lines[0]["schema"], 1);
    assert_eq!(lines[0]["images"][0]["chosen"], true);
    assert_eq!(lines[0]["symbols"][0]["others"][0]["refused"], "another format");
    let build = [
        "app.syclbin!0/ir/0",
        "library.syclbin!0/ir/0",
        "helper.syclbin!0/ir/0",
    ];
    assert_eq!(lines[0]["build"], json!(build));

    // What is missing is an error, after what is known.
    let missing = folder
        .offkit("explain app.syclbin app --link library.syclbin")
        .fails(2);
    says(
        &missing,
        &[
            "kernel `app` needs `shift`",
            "which `library.syclbin!0/ir/0` imports and no image exports",
        ],
    );
}

#[test]
fn explain_asks_a_device_about_each_image_once() {
    need!("clang-22", "llc");
    let folder = prepared();
    let asked = |line: &str| {
        let mut command = Command::new(offkit());
        let command = alone(command.args(line.split(' '))).env("SYCL_PI_TRACE", "2");
        let outcome = folder.run_command(command);
        let lines = outcome.stderr.lines();
        lines
            .filter(|line| line.contains("piextDeviceSelectBinary("))
            .count()
    };
    let libraries = "--link library.syclbin --link helper.syclbin";
    assert_eq!(
        asked(&format!("explain app.syclbin app {libraries} --device cpu")),
        3
    );
    folder.write("k.cl", "kernel void app(global int *a) { a[0] *= 2; }");
    let line = "--target=nvptx64-nvidia-cuda -march=sm_80 --cuda-feature=+ptx80 -nogpulib -cl-std=CL3.0 -O1 -S k.cl -o k.ptx";
    let clang = tool("clang-22").expect("asked for before");
    folder.run(clang, line.split_whitespace()).ok();
    assert_eq!(asked("explain k.ptx app --device cpu"), 1);
    // Both devices of the CPU, each once.
    assert_eq!(asked("explain k.ptx app"), 2);
}

#[test]
fn explain_says_why_no_device_takes_a_kernel() {
    need!("clang-22", "llc", "llvm-offload-binary");
    let folder = Folder::new();
    folder.write("k.cl", "kernel void twice(global int *a) { a[0] *= 2; }");
    let line = "--target=nvptx64-nvidia-cuda -march=sm_80 --cuda-feature=+ptx80 -nogpulib -cl-std=CL3.0 -O1 -S k.cl -o k.ptx";
    folder
        .run(
            tool("clang-22").expect("asked for before"),
            line.split_whitespace(),
        )
        .ok();
    let outcome = folder.offkit("explain k.ptx twice --device cpu --json");
    let lines = outcome.json();
    assert_eq!(lines[0]["images"][0]["refused"], "it is for another architecture");
    assert_eq!(lines[0]["images"][0]["chosen"], false);
    says(&outcome.fails(3), &["takes no image of kernel `twice`"]);
}

#[test]
fn graph_draws_images_arrows_and_what_is_missing() {
    need!("clang-22", "llc");
    let folder = prepared();
    let all = "graph app.syclbin library.syclbin helper.syclbin";
    let lines = folder.offkit(&format!("{all} --json")).json();
    let [app, library, helper] = ["app", "library", "helper"].map(|name| format!("{name}.syclbin!0/ir/0"));
    assert_eq!(lines.len(), 3);
    assert_eq!(lines[0]["location"], json!(app));
    assert_eq!(lines[0]["imports"], json!(["scale"]));
    assert_eq!(lines[0]["closure"], json!([app, library, helper]));
    assert_eq!(lines[1]["exports"], json!(["scale"]));
    assert_eq!(lines[1]["closure"], json!([library, helper]));
    assert_eq!(lines[2]["closure"], json!([helper]));
    assert!(lines.iter().all(|line| line["missing"] == json!([])));
    says(
        &folder.offkit(all).ok(),
        &[
            "`scale`: library.syclbin!0/ir/0",
            "`shift`: helper.syclbin!0/ir/0",
        ],
    );

    // Without the helper: red, wherever it is drawn.
    let some = "graph app.syclbin library.syclbin";
    says(&folder.offkit(some).ok(), &["`shift`: missing ("]);
    folder.offkit(&format!("{some} -o deps.dot")).ok();
    let dot = String::from_utf8(folder.read("deps.dot")).expect("text");
    says(
        &dot,
        &[
            "i0 -> i1 [label=\"scale\"];",
            "m0 [label=\"`shift`\\nmissing\", color=\"red\"];",
            "i1 -> m0 [color=\"red\"];",
        ],
    );
    folder.offkit(&format!("{some} -o deps.svg")).ok();
    let svg = String::from_utf8(folder.read("deps.svg")).expect("text");
    assert!(
        svg.contains("<svg") && svg.trim_end().ends_with("</svg>"),
        "{svg}"
    );
    says(&svg, &["app.syclbin!0/ir/0", "missing", "scale", "#ff0000"]);
}

#[test]
fn a_rule_chooses_among_libraries_that_export_the_same() {
    need!("clang-22", "llc");
    let folder = prepared();
    // Both supply `scale`, and each something that the other does not.
    folder.syclbin(
        "first",
        "int scale(int x) { return x * 10; } int one(int x) { return scale(x) + 1; }",
        "",
    );
    folder.syclbin(
        "second",
        "int scale(int x) { return x * 100; } int two(int x) { return scale(x) + 2; }",
        "",
    );
    folder.syclbin(
        "all",
        "int scale(int x); int one(int x); int two(int x);
         kernel void all(global int *a) {
           size_t i = get_global_id(0); int x = a[i];
           a[i] = scale(x) * 1000000 + one(x) * 1000 + two(x);
         }",
        "",
    );
    folder.write("a.npy", npy_i32("(1,)", [3]));
    let run = "run all.syclbin all --global 1 --arg a.npy --out b.npy";
    let message = folder
        .offkit(&format!("{run} --link first.syclbin --link second.syclbin"))
        .fails(2);
    says(
        &message,
        &[
            "`scale`, which several images export: `first.syclbin!0/ir/0`, `second.syclbin!0/ir/0`",
            "--exporter first",
        ],
    );
    // Each library's own calls stay inside; the app gets that of the first.
    for (order, expected) in [
        (["first", "second"], 30_031_302),
        (["second", "first"], 300_031_302),
    ] {
        let [first, second] = order.map(|name| format!("--link {name}.syclbin"));
        folder
            .offkit(&format!("{run} {first} {second} --exporter first"))
            .ok();
        assert_eq!(read_i32(&folder.read("b.npy")), [expected], "{order:?}");
    }
    let explained =
        folder.offkit("explain all.syclbin all --exporter first --link second.syclbin --link first.syclbin");
    says(
        &explained.ok(),
        &[
            "`scale`: from second.syclbin!0/ir/0, for all.syclbin!0/ir/0",
            "not from first.syclbin!0/ir/0 (SPIR-V for spirv64-unknown-unknown): the other comes first",
        ],
    );
}
