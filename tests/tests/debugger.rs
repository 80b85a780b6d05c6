//! Compiled kernels in gdb, which is told their names and lines when that is asked for.

use std::process::Command;

use offkit_tests::{Folder, need, skip};

/// The header's function is inlined.
const HEADER: &str = "inline float scaled(float factor, float x) {
  return factor * x;
}
";

const SOURCE: &str = "#include \"scaled.h\"
kernel void stretch(global float *x, float factor, uint size) {
  size_t i = get_global_id(0);
  if (i < size)
    x[i] = scaled(factor, x[i]);
}
";

/// What gdb says when it runs the kernel with these commands before.
fn debug(folder: &Folder, asked: bool, commands: &[&str]) -> String {
    let mut gdb = Command::new("gdb");
    gdb.args(["-batch", "-nx", "-ex", "set breakpoint pending on"]);
    for command in commands {
        gdb.args(["-ex", command]);
    }
    gdb.args([
        "-ex",
        "run",
        "-ex",
        "backtrace",
        "-ex",
        "delete",
        "-ex",
        "continue",
        "--args",
    ]);
    gdb.arg(offkit_tests::offkit()).args(["run", "--device", "cpu"]);
    gdb.args("k.syclbin stretch --global 4096 --arg f32[4096] --arg f32:2 --arg u32:4096".split(' '));
    if asked {
        gdb.env("OFFKIT_GDB", "1");
    }
    // Nothing that was kept before is run.
    gdb.env("OFFKIT_CACHE", "off").current_dir(folder.path("."));
    let output = offkit_tests::output(&mut gdb);
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

#[test]
fn gdb_stops_at_lines_of_a_kernel_and_shows_them() {
    need!("clang-22", "llvm-config-22", "gdb");
    let folder = Folder::new();
    folder.write("scaled.h", HEADER);
    folder.write("k.cl", SOURCE);
    let line = "--target=spirv64 -cl-std=CL3.0 -O1 -g -emit-llvm -c k.cl -o k.bc";
    folder.run("clang-22", line.split(' ')).ok();
    folder.offkit("link k.bc -o k.syclbin").ok();
    let said = debug(&folder, true, &["break stretch"]);
    if !said.contains("exited") {
        skip(&format!("gdb cannot run programs here: {said}"));
        return;
    }
    assert!(said.contains("stretch () at "), "{said}");
    // In the kernel's file, and in the header's, both of which are one function now.
    for (place, shown) in [("k.cl:4", "k.cl:4"), ("scaled.h:2", "scaled.h:2")] {
        let said = debug(&folder, true, &[&format!("break {place}")]);
        let stopped = said.lines().find(|line| line.starts_with("#0"));
        let stopped = stopped.unwrap_or_else(|| panic!("{place}: {said}"));
        assert!(
            stopped.contains("stretch () at ") && stopped.ends_with(shown),
            "{said}"
        );
        // The launch goes on behind it.
        assert!(said.contains("exited normally"), "{said}");
    }
    // Only where it is asked for.
    let said = debug(&folder, false, &["break k.cl:4"]);
    assert!(!said.contains("#0") && said.contains("exited normally"), "{said}");
}
