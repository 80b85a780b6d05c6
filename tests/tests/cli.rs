//! The command line as scripts and people use it: streams, selections, and what is refused before any work.

#![cfg(unix)]

use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use offkit_object::{BundleState, DeviceImage, OutputFormat, property_set};
use offkit_tests::{Folder, Outcome, need, npy_f32, npy_i32, offkit, read_f32, read_i32};

const KERNELS: &str = "
    kernel void ids(global int *a) { size_t i = get_global_id(0); a[i] = i; }
    kernel void one(global char *o) { o[0] = 1; }
    kernel void copy(global float *a, global float *b) { size_t i = get_global_id(0); b[i] = a[i]; }";

/// Those kernels, as bitcode and linked.
fn prepared() -> Folder {
    let folder = Folder::new();
    folder.syclbin("k", KERNELS, "");
    folder
}

/// Runs a line of shell in which `offkit` is the program under test.
fn shell(folder: &Folder, line: &str) -> Outcome {
    let mut command = Command::new("sh");
    command
        .args([
            "-c",
            &format!("offkit() {{ '{}' \"$@\"; }}; {line}", offkit().display()),
        ])
        .env_remove("OFFKIT_LOG");
    folder.run_command(&mut command)
}

/// Checks that an error holds all these parts.
#[track_caller]
fn says(error: &str, parts: &[&str]) {
    for part in parts {
        assert!(error.contains(part), "`{part}` is missing in: {error}");
    }
}

#[test]
fn a_dash_is_standard_input_or_output() {
    need!("clang-22", "llc");
    let folder = prepared();
    let listing = shell(&folder, "offkit ls --json - < k.syclbin");
    assert_eq!(listing.json()[0]["location"], "-!0/ir/0");
    shell(&folder, "offkit ls -- '-!0/ir/0' < k.syclbin").ok();

    shell(
        &folder,
        "offkit run - ids --global 3 --arg 'i32[3]' --out - < k.syclbin > a.npy",
    )
    .ok();
    assert_eq!(read_i32(&folder.read("a.npy")), [0, 1, 2]);

    shell(&folder, "offkit link - -o - < k.bc > piped.syclbin").ok();
    assert!(folder.read("piped.syclbin") == folder.read("k.syclbin"));
    says(
        &shell(&folder, "offkit link - - -o x.syclbin < k.bc").fails(2),
        &["only once"],
    );
    folder.write("text", "no bitcode");
    says(
        &shell(&folder, "offkit link - -o x.syclbin < text").fails(2),
        &["standard input", "known format"],
    );
}

#[cfg(target_os = "linux")]
#[test]
fn output_that_cannot_be_written_is_an_error() {
    need!("clang-22", "llc");
    let folder = prepared();
    for line in [
        "offkit ls k.syclbin > /dev/full",
        "offkit ls --json k.syclbin > /dev/full",
        "offkit link k.bc -o - > /dev/full",
        "offkit run k.syclbin ids --global 1 --arg 'i32[1]' --out - > /dev/full",
        "offkit run k.syclbin ids --global 1 --arg 'i32[1]' --out /dev/full",
    ] {
        says(&shell(&folder, line).fails(2), &["No space left"]);
    }
    // Without a place to say so, the exit code still tells.
    for (line, code) in [
        ("offkit ls none 2> /dev/full", 2),
        ("offkit -v ls k.syclbin 2> /dev/full", 0),
        ("offkit link k.bc -o l.syclbin 2> /dev/full", 0),
    ] {
        assert_eq!(shell(&folder, line).code, code, "{line}");
    }
    for line in [
        "offkit link k.bc -o - | true",
        "offkit run k.syclbin ids --global 1 --arg 'i32[1]' --out - | true",
    ] {
        shell(&folder, line).ok();
    }
}

#[test]
fn a_location_stands_for_a_part_of_a_file() {
    need!("clang-22", "llc");
    let folder = Folder::new();
    folder.syclbin("f", "int f(int x) { return 1; }", "");
    folder.syclbin("g", "int f(int x) { return 2; }", "");
    folder.syclbin(
        "app",
        "int f(int x); kernel void k(global int *a) { a[0] = f(a[0]); }",
        "",
    );
    // Two SYCLBIN files one after the other are two offload binaries.
    folder.write(
        "both",
        [folder.read("f.syclbin"), folder.read("g.syclbin")].concat(),
    );
    let listing = folder.offkit("ls --json both!1").json();
    assert_eq!(listing.len(), 1);
    assert_eq!(listing[0]["location"], "both!1/0/ir/0");
    let run = "run app.syclbin!0/ir/0 k --global 1 --arg i32[1] --out a.npy --link both";
    says(&folder.offkit(run).fails(2), &["several images export"]);
    for (number, result) in [(0, 1), (1, 2)] {
        folder.offkit(&format!("{run}!{number}")).ok();
        assert_eq!(read_i32(&folder.read("a.npy")), [result]);
    }
    for line in [
        "ls both!2",
        "run app.syclbin!1 k --global 1",
        &format!("{run}!2/ir/0"),
    ] {
        says(&folder.offkit(line).fails(2), &["no device code there"]);
    }
    says(
        &folder.offkit("ls none!0").fails(2),
        &["`none!0`", "No such file"],
    );
    // A file of that very name comes first.
    folder.write("both!1", folder.read("both"));
    assert_eq!(folder.offkit("ls --json both!1").json().len(), 2);
}

#[test]
fn a_file_that_cannot_be_listed_does_not_hide_the_others() {
    need!("clang-22", "llc");
    let folder = prepared();
    let outcome = folder.offkit("ls --json k.syclbin nope k.syclbin");
    assert_eq!(outcome.json().len(), 2);
    says(&outcome.fails(2), &["`nope`", "No such file"]);
}

#[test]
fn properties_and_names_are_shown_as_asked() {
    need!("clang-22", "llc");
    let folder = Folder::new();
    folder.syclbin(
        "k",
        "void __attribute__((overloadable)) helper(int x) {}
         __attribute__((reqd_work_group_size(4, 1, 1))) kernel void k(global int *a) { a[0] = 1; }",
        "",
    );
    let listing = folder.offkit("ls --properties k.syclbin").ok();
    says(
        &listing,
        &["[SYCL/kernel names]", "k = 1", "k@reqd_work_group_size = 0x"],
    );
    says(
        &folder.offkit("ls --kernels k.syclbin").ok(),
        &["kernel   k(", "exports  helper(int)"],
    );
    says(
        &folder.offkit("ls --kernels --mangled k.syclbin").ok(),
        &["exports  _Z6helperi"],
    );

    // A C++ kernel: its name is changed in the module, of the same length.
    folder.syclbin("c", "kernel void xxxxxxx(global int *a) { a[0] = 1; }", "");
    let mut bytes = folder.read("c.syclbin");
    while let Some(at) = bytes.windows(7).position(|window| window == b"xxxxxxx") {
        bytes[at..at + 7].copy_from_slice(b"_Z2okPi");
    }
    folder.write("c.syclbin", bytes);
    says(
        &folder.offkit("ls -k c.syclbin").ok(),
        &["ok(int*) (global i32*)"],
    );
    let mangled = folder.offkit("ls -k --mangled c.syclbin").ok();
    says(&mangled, &["_Z2okPi(global i32*)"]);
}

/// A package with one image of each of these processors.
fn package(folder: &Folder, name: &str, archs: &[&str]) {
    folder.write("image", "16 bytes of code");
    let image = |arch: &&str| format!(" --image file=image,triple=amdgcn-amd-amdhsa,arch={arch},kind=hip");
    let images: String = archs.iter().map(image).collect();
    folder.offkit(&format!("pack -o {name}{images}")).ok();
}

#[test]
fn a_listing_has_a_line_for_each_image_and_ends_with_totals() {
    let folder = Folder::new();
    folder.syclbin("k", KERNELS, "");
    let lines = |line: &str| -> Vec<String> {
        let listing = folder.offkit(line).ok();
        listing.lines().map(str::to_owned).collect()
    };
    const NAMES: &str = "--kernels shows the names of kernels, imports and exports";
    let listing = lines("ls k.syclbin");
    assert_eq!(listing.len(), 4, "{listing:#?}");
    assert!(listing[1].starts_with("└── 0/ir/0  SPIR-V  "), "{listing:#?}");
    assert!(listing[2].starts_with("1 image, "), "{listing:#?}");
    assert_eq!(listing[3], NAMES);
    let names = lines("ls --kernels k.syclbin");
    assert_eq!(names.len(), 6, "{names:#?}");
    assert_eq!(names[5], listing[2], "nothing is left out");

    // Architectures are summed up where that is shorter than the list, over all files.
    package(&folder, "two", &["gfx90a", "gfx942"]);
    package(&folder, "same", &["gfx90a", "gfx90a", "gfx90a"]);
    assert_eq!(lines("ls two")[3..], ["2 images, 32 B", NAMES]);
    assert_eq!(lines("ls same")[4..], ["3 images, 48 B", NAMES]);
    let both = lines("ls two same");
    let end = both.iter().position(|line| line == "5 images, 80 B").unwrap();
    assert_eq!(both.iter().filter(|line| line.contains(" images, ")).count(), 1);
    let sums: Vec<Vec<&str>> = both[end..]
        .iter()
        .map(|line| line.split_whitespace().collect())
        .collect();
    let row = |arch, images, bytes| vec![arch, "unknown", images, bytes, "B", bytes, "B"];
    assert!(sums.contains(&row("gfx90a", "4", "64")), "{both:#?}");
    assert!(sums.contains(&row("gfx942", "1", "16")), "{both:#?}");
    assert_eq!(both.last().unwrap(), NAMES);
    let json = folder.offkit("ls --json two same").json();
    assert_eq!(json.len(), 5, "programs ask for totals");
}

#[test]
fn names_in_files_cannot_steer_the_terminal() {
    let folder = Folder::new();
    let mut properties = property_set::PropertySets::new();
    properties.insert_symbols(property_set::names::KERNEL_NAMES, ["\u{1b}[31mred"]);
    let image = DeviceImage::new(b"BC\xc0\xde\0\0\0\0".as_slice()).with_properties(properties);
    let packed = offkit_object::pack([image], OutputFormat::default(), BundleState::Object).unwrap();
    folder.write("k.syclbin", packed.content.into_bytes());
    for line in ["ls -k k.syclbin", "ls -p k.syclbin"] {
        let listing = folder.offkit(line).ok();
        assert!(!listing.contains('\u{1b}'), "{line}: {listing}");
        says(&listing, &[r"\u{1b}[31mred"]);
    }
    let error = folder.offkit("run k.syclbin re --global 1").fails(2);
    assert!(!error.contains('\u{1b}'), "{error}");
    says(&error, &[r"\u{1b}[31mred"]);
}

#[test]
fn colours_come_when_wanted() {
    need!("clang-22", "llc");
    let folder = prepared();
    let coloured = |line: &str| shell(&folder, line).ok().contains('\u{1b}');
    assert!(coloured("offkit ls --color always k.syclbin"));
    assert!(coloured("export CLICOLOR_FORCE=1; offkit ls k.syclbin"));
    assert!(!coloured(
        "export CLICOLOR_FORCE=1 NO_COLOR=1; offkit ls k.syclbin"
    ));
    assert!(!coloured(
        "export CLICOLOR_FORCE=1; offkit ls --color never k.syclbin"
    ));
}

#[test]
fn ranges_are_checked() {
    need!("clang-22", "llc");
    let folder = prepared();
    let run = |options: &str| folder.offkit(&format!("run k.syclbin ids --arg i32[5] {options}"));
    run("--global 2 --offset 3 --out a.npy").ok();
    assert_eq!(read_i32(&folder.read("a.npy")), [0, 0, 0, 3, 4]);
    // A range without work-items is no error and computes nothing.
    run("--global 0 --out a.npy").ok();
    assert_eq!(read_i32(&folder.read("a.npy")), [0; 5]);
    let most = u64::MAX;
    for options in [
        format!("--global {most}"),
        format!("--global {most},{most},{most}"),
        format!("--global 4 --local {most}"),
        format!("--global 4 --offset {most}"),
        format!("--global {most}0"),
        "--global 4 --local 0".into(),
        "--global 4 --local 2,2".into(),
        "--global 4 --offset 0,0".into(),
        "--global=-1".into(),
    ] {
        run(&options).fails(2);
    }
    for argument in [
        format!("i32[{most}]"),
        format!("i8[{most},{most}]"),
        format!("local:{most}"),
    ] {
        folder
            .offkit(&format!("run k.syclbin ids --global 1 --arg {argument}"))
            .fails(2);
    }
}

#[test]
fn an_array_without_elements_has_none_to_write() {
    need!("clang-22", "llc");
    let folder = prepared();
    says(
        &folder.offkit("run k.syclbin one --global 1 --arg i8[0]").fails(2),
        &["`one`", "null"],
    );
    folder
        .offkit("run k.syclbin copy --global 0 --arg f32[0] --arg f32[0] --out 1=b.npy")
        .ok();
    assert!(read_f32(&folder.read("b.npy")).is_empty());
}

#[test]
fn sizes_below_zero_are_no_options() {
    need!("clang-22", "llc");
    let folder = prepared();
    let expected = "`-1` is not a size: expected a whole number from 0";
    for sizes in ["--global -1", "--global 4,-1", "--global 4 --local -1"] {
        let line = format!("run k.syclbin ids --arg i32[1] {sizes}");
        says(&folder.offkit(&line).fails(2), &[expected]);
    }
}

#[test]
fn devices_are_selected_by_number_kind_and_name() {
    need!("clang-22", "llc");
    let folder = prepared();
    let run = |device: &str| {
        folder.offkit(&format!(
            "run k.syclbin ids --global 1 --arg i32[1] --device {device}"
        ))
    };
    for device in ["0", "cpu", "CPU"] {
        run(device).ok();
    }
    says(&run("nonsense").fails(3), &["`nonsense`", "the devices are 0 ("]);
    run("7").fails(3);
}

#[test]
fn a_plugin_that_is_none_is_a_warning() {
    need!("clang-22", "llc");
    let folder = prepared();
    let run = |device: &str| {
        let line =
            "export OFFKIT_PLUGINS=./k.cl; offkit run k.syclbin ids --global 1 --arg 'i32[1]' --out a.npy";
        shell(&folder, &format!("{line} --device {device}"))
    };
    says(&run("2").fails(3), &["warning: a plugin is left out", "k.cl"]);
    // It takes no other plugin to find the devices that are built in.
    let outcome = run("0");
    assert!(!outcome.stderr.contains("plugin"), "{}", outcome.stderr);
    outcome.ok();
    let outcome = shell(&folder, "OFFKIT_LOG=offkit=loud offkit ls k.syclbin");
    says(&outcome.stderr, &["warning: OFFKIT_LOG is ignored"]);
    outcome.ok();
}

#[test]
fn a_tolerance_is_relative_and_finite() {
    need!("clang-22", "llc");
    let folder = prepared();
    folder.write("a.npy", npy_f32("(2,)", [100.0, f32::MAX]));
    folder.write("near.npy", npy_f32("(2,)", [101.0, f32::MAX]));
    folder.write("infinite.npy", npy_f32("(2,)", [100.0, f32::INFINITY]));
    folder.write("square.npy", npy_f32("(1, 2)", [100.0, f32::MAX]));
    let run = |options: &str| {
        folder.offkit(&format!(
            "run k.syclbin copy --global 2 --arg a.npy --arg f32[2] {options}"
        ))
    };
    run("--check 1=near.npy --tolerance 0.02").ok();
    run("--check 1=near.npy --tolerance 0.005").fails(1);
    run("--check 1=near.npy").fails(1);
    run("--check 1=infinite.npy --tolerance 0.5").fails(1);
    says(
        &run("--check 1=square.npy").fails(1),
        &["shape (2,), expected (1, 2)"],
    );
    for tolerance in ["nan", "inf", "-0.1", "some"] {
        says(
            &run(&format!("--check 1=near.npy --tolerance={tolerance}")).fails(2),
            &["--tolerance"],
        );
    }
}

#[test]
fn outputs_are_checked_before_the_launch() {
    need!("clang-22", "llc");
    let folder = prepared();
    let before = folder.list();
    let run = |options: &str| {
        folder.offkit(&format!(
            "run k.syclbin copy --link k.bc --global 1 --arg f32[1] --arg f32[1] {options}"
        ))
    };
    says(&run("--out 1=missing/b.npy").fails(2), &["missing/b.npy"]);
    says(&run("--out 0=b.npy --out 1=./b.npy").fails(2), &["written twice"]);
    says(&run("--out 1=./k.syclbin").fails(2), &["k.syclbin"]);
    says(&run("--out 1=k.bc").fails(2), &["k.bc"]);
    says(
        &run("--out 99999999999999999999=b.npy").fails(2),
        &["99999999999999999999"],
    );
    assert_eq!(folder.list(), before);
    // An array is read before it is written: in place is fine.
    folder.write("a.npy", npy_i32("(2,)", [7, 7]));
    folder
        .offkit("run k.syclbin ids --global 2 --arg a.npy --out a.npy")
        .ok();
    assert_eq!(read_i32(&folder.read("a.npy")), [0, 1]);
}

#[test]
fn what_is_written_is_what_the_name_means() {
    need!("clang-22", "llc");
    let folder = prepared();
    folder.write("target.npy", "old");
    std::fs::set_permissions(folder.path("target.npy"), std::fs::Permissions::from_mode(0o600)).unwrap();
    std::os::unix::fs::symlink("target.npy", folder.path("link.npy")).unwrap();
    folder
        .offkit("run k.syclbin ids --global 2 --arg i32[2] --out link.npy")
        .ok();
    assert!(folder.path("link.npy").is_symlink());
    assert_eq!(read_i32(&folder.read("target.npy")), [0, 1]);
    let mode = folder.path("target.npy").metadata().unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
}

#[test]
fn bitcode_is_told_to_be_linked_first() {
    need!("clang-22", "llc");
    let folder = prepared();
    says(
        &folder.offkit("run k.bc ids --global 1 --arg i32[1]").fails(2),
        &["`offkit link k.bc -o k.syclbin`"],
    );
}

#[test]
fn no_command_replaces_its_input() {
    need!("clang-22");
    let folder = Folder::new();
    folder.bitcode("k", "kernel void k() {}");
    folder.write("names.prop", "[SYCL/misc]\n");
    let before = [folder.read("k.bc"), folder.read("names.prop")];
    for (line, input) in [
        ("wrap ./k.bc --kind sycl-v3 --triple spir64 -o k.bc", "./k.bc"),
        (
            "wrap k.bc --kind sycl-v3 --triple spir64 --properties names.prop -o names.prop",
            "names.prop",
        ),
        ("mark k.bc -o k.bc --module-id a", "k.bc"),
        ("pack --image file=k.bc,triple=spir64 -o k.bc", "k.bc"),
    ] {
        let error = folder.offkit(line).fails(2);
        says(&error, &[&format!("replace the input `{input}`")]);
    }
    assert_eq!(before, [folder.read("k.bc"), folder.read("names.prop")]);
}

#[test]
fn links_that_cannot_be_are_told_apart() {
    need!("clang-22", "llc");
    let folder = prepared();
    let bitcode = folder.read("k.bc");
    says(
        &folder.offkit("link k.bc -o ./k.bc").fails(2),
        &["replace the input `k.bc`"],
    );
    assert!(folder.read("k.bc") == bitcode);

    let odd = std::ffi::OsStr::from_bytes(b"odd\xff.bc");
    std::fs::write(folder.path("k.bc").with_file_name(odd), &bitcode).unwrap();
    let mut command = Command::new(offkit());
    command.arg("link").arg(odd).args(["-o", "odd.syclbin"]);
    folder.run_command(&mut command).ok();
    assert_eq!(folder.offkit("ls odd.syclbin").code, 0);

    let with = |environment: &str| {
        shell(
            &folder,
            &format!("export {environment}; offkit link k.bc -o l.syclbin"),
        )
    };
    let wrong = with("OFFKIT_LLVM_WORKER=/nowhere/worker").fails(3);
    says(&wrong, &["/nowhere/worker", "correct it, or unset it"]);
    says(
        &with("OFFKIT_LLVM_WORKER=/bin/cat").fails(3),
        &["another protocol", "build both programs"],
    );
}
