//! `-g`: where device code comes from.

use super::*;

/// The load in line 4 is the one that can fail; `KERNEL` is replaced by what a language calls one.
const SOURCE: &str = "#include <offkit/device.h>

static int chosen(OFFKIT_GLOBAL int *data, int index) {
  return data[index];
}

KERNEL void pick(OFFKIT_GLOBAL int *data, int index) {
  data[0] = 1;
  data[1] = chosen(data, index);
}
";

fn sources() -> Folder {
    let folder = Folder::new();
    folder.write("pick.cl", SOURCE.replace("KERNEL", "OFFKIT_KERNEL"));
    folder.write("pick.cpp", SOURCE.replace("KERNEL", "OFFKIT_C OFFKIT_KERNEL"));
    folder
}

/// The one image of a file, on its own.
fn image(folder: &Folder, file: &str, ending: &str) -> String {
    folder.offkit(&format!("extract -q {file} -o .")).ok();
    let mut files = folder.list().into_iter();
    let image = files.find(|name| name.starts_with(file) && name.ends_with(ending));
    image.expect("an image")
}

fn dump(folder: &Folder, program: &str, line: &str) -> String {
    folder.run(tool(program).unwrap(), line.split_whitespace()).ok()
}

#[test]
fn a_fault_names_its_line() {
    need!("clang-22", "llvm-config-22");
    let folder = sources();
    for source in ["pick.cl", "pick.cpp"] {
        for options in ["-g -O0", "-g -O2", "-gline-tables-only -O1"] {
            driver(&folder, &format!("c++ -fsyclbin {options} {source} -o k.syclbin")).ok();
            let launch = "run k.syclbin pick --device cpu-checked --global 1 --arg i32[4]";
            folder.offkit(&format!("{launch} --arg i32:3")).ok();
            let fault = folder.offkit(&format!("{launch} --arg i32:1000")).fails(2);
            assert!(fault.contains(&format!("{source}:4")), "{options}: {fault}");
        }
    }
}

#[test]
fn a_fault_in_another_file_names_that_file() {
    need!("clang-22", "llvm-config-22");
    let folder = sources();
    folder.write(
        "main.cl",
        "#include <offkit/device.h>\nOFFKIT_EXTERNAL int fetch(OFFKIT_GLOBAL int *data, int index);\n\
         OFFKIT_KERNEL void k(OFFKIT_GLOBAL int *data, int index) { data[1] = fetch(data, index); }",
    );
    folder.write(
        "library.cl",
        "#include <offkit/device.h>\n#include \"inner.h\"\nOFFKIT_EXPORT int fetch(OFFKIT_GLOBAL int *data, int i) { return inner(data, i); }",
    );
    folder.write(
        "inner.h",
        "\n\nstatic int inner(OFFKIT_GLOBAL int *data, int i) {\n  return data[i];\n}",
    );
    let run = "run main.syclbin k --device cpu-checked --global 1 --arg i32[4] --arg i32:1000";
    for options in ["-O0", "-O2"] {
        for file in ["main", "library"] {
            driver(
                &folder,
                &format!("cc -fsyclbin=object -g {options} {file}.cl -o {file}.syclbin"),
            )
            .ok();
        }
        // Linked when the kernel is loaded, and before.
        let fault = folder.offkit(&format!("{run} --link library.syclbin")).fails(2);
        assert!(fault.contains("inner.h:4"), "{fault}");
        driver(
            &folder,
            &format!("cc -fsyclbin -g {options} main.cl library.cl -o main.syclbin"),
        )
        .ok();
        let fault = folder.offkit(run).fails(2);
        assert!(fault.contains("inner.h:4"), "{fault}");
    }
}

#[test]
fn spirv_has_the_same_code_with_lines_and_without() {
    need!("clang-22", "llvm-config-22", "spirv-val", "spirv-dis");
    let folder = sources();
    for options in ["-O0", "-O2"] {
        let code = |output: &str, more: &str| {
            driver(
                &folder,
                &format!("cc -fsyclbin {options} {more} pick.cl -o {output}"),
            )
            .ok();
            let image = image(&folder, output, ".spv");
            dump(&folder, "spirv-val", &image);
            dump(&folder, "spirv-dis", &format!("--raw-id --no-header {image}"))
        };
        let (with, without) = (
            code(&format!("with{options}"), "-g"),
            code(&format!("without{options}"), ""),
        );
        let lines = |text: &str| text.lines().filter(|line| line.contains("Line ")).count();
        assert!(with.contains("pick.cl\""), "{with}");
        assert!(
            with.lines()
                .any(|line| line.contains("OpLine") && line.ends_with(" 4 10")),
            "{with}"
        );
        assert_eq!(lines(&without), 0, "{without}");
        let instructions = |text: &str| -> Vec<String> {
            let body = text
                .lines()
                .skip_while(|line| !line.contains("OpFunction "))
                .filter(|line| !line.contains("Line"));
            body.map(|line| {
                line.split_whitespace()
                    .filter(|word| !word.starts_with('%'))
                    .collect::<Vec<_>>()
                    .join(" ")
            })
            .collect()
        };
        assert_eq!(instructions(&with), instructions(&without));
        assert!(!with.contains("__offkit_line"), "{with}");
    }
}

#[test]
fn ptx_has_its_lines() {
    need!("clang-22", "llvm-config-22");
    let folder = sources();
    for source in ["pick.cl", "pick.cpp"] {
        let ptx = |options: &str| {
            driver(
                &folder,
                &format!("c++ -fsyclbin -fsycl-targets=nvidia_gpu_sm_75 {options} {source} -o k.syclbin"),
            )
            .ok();
            String::from_utf8(folder.read(&image(&folder, "k.syclbin", ".ptx"))).unwrap()
        };
        for (options, is_debugged) in [("-g -O0", true), ("-g -O2", false)] {
            let text = ptx(options);
            let file = text.lines().find(|line| line.trim().starts_with(".file"));
            assert!(
                file.is_some_and(|line| line.contains(source)),
                "{source} {options}: {text}"
            );
            assert!(
                text.lines().any(|line| line.trim().starts_with(".loc\t1 4 ")),
                "{source} {options}: {text}"
            );
            // Optimised code has lines alone, as clang has it for CUDA: `ptxas` cannot debug it.
            assert_eq!(
                text.contains("sm_75, debug") && text.contains(".debug_info"),
                is_debugged,
                "{source} {options}: {text}"
            );
        }
        let text = ptx("-O2");
        assert!(!text.contains(".loc") && !text.contains(".debug"), "{text}");
    }
}

#[test]
fn amd_code_objects_have_dwarf() {
    need!("clang-22", "llvm-config-22", "ld.lld", "llvm-dwarfdump-22");
    let folder = sources();
    for source in ["pick.cl", "pick.cpp"] {
        let lines = |options: &str| {
            driver(
                &folder,
                &format!("c++ -fsyclbin -fsycl-targets=amd_gpu_gfx90a {options} {source} -o k.syclbin"),
            )
            .ok();
            let image = image(&folder, "k.syclbin", ".hsaco");
            dump(&folder, "llvm-dwarfdump-22", &format!("--debug-line {image}"))
        };
        for options in ["-g -O0", "-g -O2"] {
            let table = lines(options);
            let is_line_4 = |row: &str| {
                let mut words = row.split_whitespace();
                words.next().is_some_and(|word| word.starts_with("0x")) && words.next() == Some("4")
            };
            assert!(
                table.contains(source) && table.lines().any(is_line_4),
                "{options}: {table}"
            );
        }
        let table = lines("-O2");
        assert!(!table.contains(source), "{table}");
    }
}
