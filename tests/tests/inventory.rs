//! `offkit size`, `check` and `diff`: what device code costs, where it runs, and what differs between two builds.
//!
//! The files are made here: cubins by CUDA's assembler, code objects by clang, a library by the linker, a wheel of it.

use std::collections::BTreeMap;
use std::fmt::Write;

use offkit_tests::cuda::{CUOBJDUMP, Cuda};
use offkit_tests::documentation::{blocks, commands};
use offkit_tests::{Folder, need, programs, tool};
use serde_json::{Value, json};

/// Makes `NAME.ARCH.cubin` of `NAME.ptx`; what ptxas says of it.
fn cubin(cuda: &Cuda, folder: &Folder, name: &str, arch: &str, options: &[&str]) -> String {
    let options: Vec<_> = ["-v"].iter().chain(options).copied().collect();
    cuda.cubin(
        folder,
        &format!("{name}.ptx"),
        arch,
        &format!("{name}.{arch}.cubin"),
        &options,
    )
}

/// A fatbin of images, each `KIND ARCH FILE`, all compressed in a way.
fn fatbin(cuda: &Cuda, folder: &Folder, output: &str, mode: &str, images: &[(&str, &str, String)]) {
    let mode = format!("--compress-mode={mode}");
    cuda.fatbin(folder, output, &["--compress-all", &mode], images);
}

/// PTX with kernels: each loads so many numbers, which all live until they are stored again.
fn ptx(target: &str, kernels: &[(&str, usize)]) -> String {
    let mut text = format!(".version 8.8\n.target {target}\n.address_size 64\n");
    for (name, count) in kernels {
        write!(
            text,
            ".visible .entry {name}(.param .u64 p) {{\n.reg .f32 %f<{count}>;\n.reg .b64 %rd<2>;\n\
             .shared .align 4 .b8 {name}_tile[4096];\nld.param.u64 %rd1, [p];\n"
        )
        .unwrap();
        for number in 0..*count {
            writeln!(text, "ld.volatile.global.f32 %f{number}, [%rd1+{}];", 4 * number).unwrap();
        }
        for number in (0..*count).rev() {
            writeln!(text, "st.volatile.global.f32 [%rd1+{}], %f{number};", 4 * number).unwrap();
        }
        writeln!(
            text,
            "mov.u64 %rd1, {name}_tile;\nst.volatile.shared.f32 [%rd1], %f0;\nret;\n}}"
        )
        .unwrap();
    }
    text
}

/// The one object that a command wrote.
fn object(outcome: offkit_tests::Outcome) -> Value {
    let text = outcome.stdout.clone();
    let mut lines = outcome.json();
    assert_eq!(lines.len(), 1, "{text}");
    lines.remove(0)
}

fn kernels(folder: &Folder, file: &str) -> Vec<Value> {
    let found = object(folder.offkit(&format!("size --json --top 1000 {file}")));
    found["kernels"].as_array().unwrap().clone()
}

#[test]
fn spills_are_those_that_ptxas_counts() {
    let Some(cuda) = Cuda::get() else { return };
    let folder = Folder::new();
    for arch in ["sm_75", "sm_80", "sm_90", "sm_100", "sm_120"] {
        folder.write("heavy.ptx", ptx(arch, &[("heavy", 96), ("light", 4)]));
        let said = cubin(&cuda, &folder, "heavy", arch, &["-maxrregcount=24"]);
        // "0 bytes stack frame, 552 bytes spill stores, 608 bytes spill loads" below the name of the function.
        let mut counted = BTreeMap::new();
        let mut name = "";
        for line in said.lines() {
            if let Some((_, rest)) = line.split_once("Function properties for ") {
                name = rest.trim();
            } else if line.contains("bytes spill stores") {
                let numbers = line
                    .split(',')
                    .map(|part| part.split_whitespace().next().unwrap());
                let numbers: Vec<u64> = numbers.map(|number| number.parse().unwrap()).collect();
                counted.insert(name.to_owned(), [numbers[1], numbers[2]]);
            }
        }
        assert!(counted["heavy"][0] > 0, "{said}");
        assert_eq!(counted["light"], [0, 0], "{said}");
        let found = kernels(&folder, &format!("heavy.{arch}.cubin"));
        assert_eq!(found.len(), 2);
        for kernel in found {
            let name = kernel["name"].as_str().unwrap();
            let spilled =
                [&kernel["spill_stores"], &kernel["spill_loads"]].map(|number| number.as_u64().unwrap());
            assert_eq!(spilled, counted[name], "{name} for {arch}");
        }
    }
}

#[test]
fn resources_of_cubins_are_those_that_cuobjdump_shows() {
    let Some(cuda) = Cuda::get() else { return };
    let Some(cuobjdump) = CUOBJDUMP.file("/bin/cuobjdump") else {
        return;
    };
    let folder = Folder::new();
    for arch in ["sm_80", "sm_90", "sm_120"] {
        folder.write("app.ptx", ptx(arch, &[("heavy", 96), ("light", 4)]));
        cubin(&cuda, &folder, "app", arch, &["-maxrregcount=32"]);
        let file = format!("app.{arch}.cubin");
        let said = folder.run(&cuobjdump, ["-res-usage", &file]).ok();
        let mut expected = Vec::new();
        let mut name = "";
        for line in said.lines() {
            let line = line.trim();
            if let Some(rest) = line.strip_prefix("Function ") {
                name = rest.trim_end_matches(':');
            } else if line.starts_with("REG:") {
                let number = |key: &str| {
                    let mut words = line.split(' ');
                    let word = words.find_map(|word| word.strip_prefix(key)).unwrap();
                    word.parse::<u64>().unwrap()
                };
                expected.push((name.to_owned(), ["REG:", "STACK:", "SHARED:"].map(number)));
            }
        }
        expected.sort();
        let mut found: Vec<_> = kernels(&folder, &file)
            .iter()
            .map(|kernel| {
                let numbers = ["registers", "stack", "shared"].map(|key| kernel[key].as_u64().unwrap());
                (kernel["name"].as_str().unwrap().to_owned(), numbers)
            })
            .collect();
        found.sort();
        assert_eq!(found.len(), 2);
        assert_eq!(found, expected, "{arch}");
    }
}

#[test]
fn resources_of_code_objects_are_those_of_their_metadata() {
    need!("clang-22", "llvm-readelf", "ld.lld");
    let folder = Folder::new();
    folder.write(
        "k.cl",
        "kernel void tile(global float *p, local float *unused) {\n  local float t[256];\n\
         \x20 for (int i = 0; i < 256; i++) t[i] = p[i];\n\
         \x20 for (int i = 0; i < 256; i++) p[255 - i] = t[i];\n}\nkernel void one(global float *p) { *p = 1; }\n",
    );
    for arch in ["gfx90a", "gfx1100"] {
        let mcpu = format!("-mcpu={arch}");
        let options = [
            "--target=amdgcn-amd-amdhsa",
            &mcpu,
            "-nogpulib",
            "-O2",
            "k.cl",
            "-o",
            "k.hsaco",
        ];
        folder.run(tool("clang-22").unwrap(), options).ok();
        let readelf = tool("llvm-readelf").unwrap();
        let said = folder
            .run(readelf, ["--notes", "--symbols", "--wide", "k.hsaco"])
            .ok();
        let found = kernels(&folder, "k.hsaco");
        assert_eq!(found.len(), 2);
        for kernel in found {
            let name = kernel["name"].as_str().unwrap();
            // The metadata are YAML with the keys of a kernel in alphabetical order.
            let item = said
                .split("\n  - ")
                .find(|item| item.contains(&format!(".name:           {name}\n")))
                .unwrap_or_else(|| panic!("{name}: {said}"));
            let number = |key: &str| -> u64 {
                let line = item.lines().find_map(|line| line.trim().strip_prefix(key));
                line.unwrap_or_else(|| panic!("{key}: {item}"))
                    .trim()
                    .parse()
                    .unwrap()
            };
            assert_eq!(kernel["registers"], number(".vgpr_count:"), "{name}");
            assert_eq!(kernel["scalar_registers"], number(".sgpr_count:"), "{name}");
            assert_eq!(kernel["shared"], number(".group_segment_fixed_size:"), "{name}");
            assert_eq!(kernel["stack"], number(".private_segment_fixed_size:"), "{name}");
            assert_eq!(kernel["spilled"], number(".vgpr_spill_count:"), "{name}");
            let symbol = said
                .lines()
                .find(|line| line.contains(" FUNC ") && line.ends_with(&format!(" {name}")))
                .unwrap();
            let size = symbol.split_whitespace().nth(2).unwrap();
            assert_eq!(kernel["code"].to_string(), size, "{name}");
        }
    }
    // What this clang writes is of version 6.
    folder.offkit("check k.hsaco --targets gfx1100").ok();
    folder.offkit("check k.hsaco --targets gfx1100 --rocm 6.3").ok();
    let outcome = folder.offkit("check k.hsaco --targets gfx1100 --rocm 6.2.4");
    assert!(
        outcome
            .stdout
            .contains("its driver is ROCm 6.2.4, and it needs ROCm 6.3 or later"),
        "{outcome:#?}"
    );
    outcome.fails(1);
    folder
        .offkit("check k.hsaco --targets gfx1100 --driver 6.3")
        .fails(2);
    folder
        .offkit("check k.hsaco --targets gfx1100 --rocm 550")
        .fails(2);
    // Functions that claim to be larger than the file take no more than there is, and can be summed up.
    let mut bytes = folder.read("k.hsaco");
    claim_huge_functions(&mut bytes);
    let length = bytes.len() as u64;
    folder.write("huge.hsaco", bytes);
    let found = kernels(&folder, "huge.hsaco");
    assert_eq!(found.len(), 2);
    assert!(
        found
            .iter()
            .all(|kernel| kernel["code"].as_u64().unwrap() < length),
        "{found:#?}"
    );
}

/// Sets the size of all functions in the symbol tables of an ELF file to 2^63.
fn claim_huge_functions(bytes: &mut [u8]) {
    let number = |bytes: &[u8], at: usize| {
        usize::try_from(u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap())).unwrap()
    };
    let (sections, count) = (number(bytes, 0x28), usize::from(bytes[0x3c]));
    let mut changed = 0;
    for section in (0..count).map(|place| sections + place * 64) {
        if !matches!(bytes[section + 4], 2 | 11) {
            continue;
        }
        let (start, size) = (number(bytes, section + 0x18), number(bytes, section + 0x20));
        for symbol in (start..start + size).step_by(24) {
            if bytes[symbol + 4] & 0xf == 2 {
                bytes[symbol + 16..symbol + 24].copy_from_slice(&(1_u64 << 63).to_le_bytes());
                changed += 1;
            }
        }
    }
    assert!(changed >= 2, "{changed}");
}

/// A wheel of a library with code for sm_80, sm_86 and sm_90, and PTX for sm_80; `extra` is for sm_80 and sm_86 alone.
fn wheel(cuda: &Cuda, folder: &Folder, name: &str, count: usize) {
    for (arch, kernels) in [
        ("sm_80", &[("scale", count), ("extra", 4)][..]),
        ("sm_86", &[("scale", count), ("extra", 4)]),
        ("sm_90", &[("scale", count)]),
    ] {
        folder.write("app.ptx", ptx(arch, kernels));
        cubin(cuda, folder, "app", arch, &["-maxrregcount=40"]);
    }
    folder.write("portable.ptx", ptx("sm_80", &[("scale", count)]));
    let cubin = |arch: &'static str| ("elf", arch, format!("app.{arch}.cubin"));
    let images = [
        cubin("sm_80"),
        cubin("sm_86"),
        cubin("sm_90"),
        ("ptx", "sm_80", "portable.ptx".to_owned()),
    ];
    fatbin(cuda, folder, "app.fatbin", "size", &images);
    folder.write(
        "app.s",
        ".section .nv_fatbin,\"a\"\n.balign 8\n.incbin \"app.fatbin\"\n.text\n.globl f\nf: ret\n",
    );
    folder
        .run(
            tool("clang-22").unwrap(),
            [
                "-shared",
                "-nostdlib",
                "-fuse-ld=lld",
                "app.s",
                "-o",
                "libkernels.so",
            ],
        )
        .ok();
    folder
        .run("python3", ["-m", "zipfile", "-c", name, "libkernels.so"])
        .ok();
}

#[test]
fn sizes_say_what_is_redundant_and_what_removing_it_costs() {
    need!("clang-22", "ld.lld", "python3");
    let Some(cuda) = Cuda::get() else { return };
    let folder = Folder::new();
    wheel(&cuda, &folder, "a.whl", 64);
    let found = object(folder.offkit("size --json a.whl"));
    assert_eq!(found["schema"], 1);
    assert_eq!(found["problems"], Value::Array(Vec::new()));
    let sum = |key: &str| -> u64 {
        let totals = found["totals"].as_array().unwrap();
        totals.iter().map(|total| total[key].as_u64().unwrap()).sum()
    };
    for key in ["images", "stored", "unpacked", "kernels", "code"] {
        assert_eq!(found["total"][key], sum(key), "{key}");
    }
    assert_eq!((sum("images"), sum("kernels")), (4, 6));
    let library = &found["libraries"][0];
    let stored = library["stored"].as_u64().unwrap();
    assert_eq!(stored, sum("stored"));
    assert_eq!(
        library["host"].as_u64().unwrap() + stored,
        folder.read("libkernels.so").len() as u64
    );
    // Unpacked sizes are those of the cubins.
    let unpacked = |arch: &str| {
        let totals = found["totals"].as_array().unwrap();
        let total = totals
            .iter()
            .find(|total| total["arch"] == arch && total["format"] == "cubin");
        total.unwrap()["unpacked"].as_u64().unwrap()
    };
    for arch in ["sm_80", "sm_86", "sm_90"] {
        assert_eq!(
            unpacked(arch),
            folder.read(&format!("app.{arch}.cubin")).len() as u64
        );
    }
    let redundant = found["redundant"].as_array().unwrap();
    let [covered] = redundant.as_slice() else {
        panic!("{redundant:#?}")
    };
    assert_eq!(covered["kind"], "covered-arch");
    assert!(
        covered["what"]
            .as_str()
            .unwrap()
            .contains("sm_86 repeats 2 kernels of sm_80")
    );
    let removal = |arch: &str, format: &str| {
        let removals = found["removals"].as_array().unwrap();
        let mut removals = removals.iter();
        removals
            .find(|removal| removal["arch"] == arch && removal["format"] == format)
            .unwrap()
            .clone()
    };
    let list = |value: &Value| -> Vec<String> { serde_json::from_value(value.clone()).unwrap() };
    assert_eq!(list(&removal("sm_90", "cubin")["fall_to_jit"]), ["sm_90"]);
    assert!(list(&removal("sm_86", "cubin")["fall_to_jit"]).is_empty());
    let lost = list(&removal("sm_80", "ptx")["lose_all"]);
    assert!(
        lost.contains(&"sm_120".to_owned()) && !lost.contains(&"sm_90".to_owned()),
        "{lost:?}"
    );

    // Headers are enough for architectures: bytes that cannot be unpacked do no harm.
    let mut damaged = folder.read("app.fatbin");
    let payload = damaged.len() / 2;
    damaged[payload..payload + 64].fill(0xff);
    folder.write("damaged.fatbin", damaged);
    let by_arch = folder.offkit("size --by arch damaged.fatbin").ok();
    assert!(by_arch.contains("sm_86"), "{by_arch}");
    let message = folder.offkit("size damaged.fatbin").fails(2);
    assert!(message.contains("not everything could be read"), "{message}");
    folder.offkit("size --diff damaged.fatbin app.fatbin").fails(2);
    // No verdict and no baseline rest on half a file.
    folder.write("none.toml", "");
    let outcome = folder.offkit("check --json --policy none.toml damaged.fatbin");
    assert!(
        outcome.stdout.contains("\"passed\":false") && outcome.code == 2,
        "{outcome:#?}"
    );
    folder.write("kernels.txt", "before");
    let outcome = folder.offkit("check --policy none.toml --write-baseline kernels.txt damaged.fatbin");
    assert!(outcome.stdout.starts_with("undecided"), "{outcome:#?}");
    outcome.fails(2);
    assert_eq!(folder.read("kernels.txt"), b"before");
}

#[test]
fn sizes_are_written_for_people_and_for_pull_requests() {
    need!("clang-22", "ld.lld", "python3");
    let Some(cuda) = Cuda::get() else { return };
    let folder = Folder::new();
    wheel(&cuda, &folder, "old.whl", 64);
    wheel(&cuda, &folder, "new.whl", 90);
    let text = folder.offkit("size --top 1 old.whl").ok();
    assert!(
        text.contains("By arch and format") && text.contains("and 3 more: --top 4"),
        "{text}"
    );
    let markdown = folder.offkit("size --markdown --diff old.whl new.whl").ok();
    assert!(markdown.contains("### Images\n\n|  | library"), "{markdown}");
    assert!(markdown.contains("| ~ |  | sm_80 | cubin | 1 |"), "{markdown}");
    folder.offkit("size --html page.html new.whl").ok();
    let page = String::from_utf8(folder.read("page.html")).unwrap();
    assert!(
        !page.contains("\"DATA\"") && !page.contains("http"),
        "one page without others"
    );
    assert!(page.contains("\"scale\""));
    // All files of a folder, and no error for those that are something else.
    std::fs::create_dir(folder.path("wheels")).unwrap();
    std::fs::rename(folder.path("old.whl"), folder.path("wheels/old.whl")).unwrap();
    folder.write("wheels/README", "text");
    folder.write("wheels/empty", "");
    let text = folder.offkit("size --recursive --by arch wheels").ok();
    assert!(text.contains("old.whl") && !text.contains("README"), "{text}");
    let message = folder.offkit("size wheels").fails(2);
    assert!(message.contains("--recursive"), "{message}");
    let message = folder.offkit("size wheels/README").fails(2);
    assert!(message.contains("README"), "{message}");
}

#[test]
fn libraries_without_ptx_are_named() {
    let Some(cuda) = Cuda::get() else { return };
    let folder = Folder::new();
    folder.write("app.ptx", ptx("sm_80", &[("scale", 8)]));
    cubin(&cuda, &folder, "app", "sm_80", &[]);
    let cubin = ("elf", "sm_80", "app.sm_80.cubin".to_owned());
    let ptx = ("ptx", "sm_80", "app.ptx".to_owned());
    fatbin(&cuda, &folder, "old.fatbin", "size", std::slice::from_ref(&cubin));
    fatbin(&cuda, &folder, "both.fatbin", "size", &[cubin, ptx]);

    for options in ["", "--by arch", "--markdown"] {
        let text = folder
            .offkit(&format!("size {options} old.fatbin both.fatbin"))
            .ok();
        assert!(
            text.contains("no PTX in old.fatbin (1 cubin): later GPUs cannot run it"),
            "{text}"
        );
    }
    folder.offkit("size --html page.html old.fatbin both.fatbin").ok();
    let page = String::from_utf8(folder.read("page.html")).unwrap();
    assert!(page.contains("no PTX in old.fatbin (1 cubin)"));
    let found = object(folder.offkit("size --json old.fatbin both.fatbin"));
    let libraries = found["libraries"].as_array().unwrap().iter();
    let said: Vec<_> = libraries
        .map(|library| {
            (
                &library["images"],
                &library["portable_images"],
                &library["lacks_ptx"],
            )
        })
        .collect();
    assert_eq!(json!(said), json!([[1, 0, true], [2, 1, false]]));
    let text = folder.offkit("size both.fatbin").ok();
    assert!(
        !text.contains("no PTX") && text.contains("1 of 2 images"),
        "{text}"
    );
}

#[test]
fn many_files_at_a_time_give_the_sums_of_each() {
    need!("clang-22", "ld.lld", "python3");
    let Some(cuda) = Cuda::get() else { return };
    let folder = Folder::new();
    wheel(&cuda, &folder, "old.whl", 64);
    wheel(&cuda, &folder, "new.whl", 90);
    folder.write("plain.whl", "");
    folder
        .run("python3", ["-m", "zipfile", "-c", "plain.whl", "app.s"])
        .ok();
    std::fs::create_dir(folder.path("wheels")).unwrap();
    for number in 0..12 {
        let name = ["old.whl", "new.whl", "plain.whl"][number % 3];
        folder.write(&format!("wheels/{number:02}.whl"), folder.read(name));
    }
    // Without device code a file is no error where all that is there was asked for.
    folder.offkit("size plain.whl").fails(2);
    let none = object(folder.offkit("size --recursive --json plain.whl"));
    assert_eq!(
        (
            none["total"]["images"].as_u64(),
            none["problems"].as_array().unwrap().len()
        ),
        (Some(0), 0)
    );
    let all = object(folder.offkit("size --recursive --json --top 1000 wheels"));
    let each =
        ["old.whl", "new.whl"].map(|name| object(folder.offkit(&format!("size --json --top 1000 {name}"))));
    for key in ["images", "stored", "unpacked", "kernels", "code", "spilling"] {
        let sum: u64 = each.iter().map(|one| one["total"][key].as_u64().unwrap()).sum();
        assert_eq!(all["total"][key], 4 * sum, "{key}");
    }
    let files: Vec<_> = all["files"]
        .as_array()
        .unwrap()
        .iter()
        .map(|file| file["file"].as_str().unwrap())
        .collect();
    assert_eq!(files.len(), 8);
    assert!(files.is_sorted(), "{files:?}");
    // Every kernel is in the image that it was found in.
    for (number, one) in each.iter().enumerate() {
        let of = |kernels: &Value, file: &str| {
            let kernels = kernels["kernels"].as_array().unwrap().iter();
            let place = |kernel: &Value| {
                kernel["location"]
                    .as_str()
                    .unwrap()
                    .strip_prefix(file)
                    .map(str::to_owned)
            };
            let mut found: Vec<_> = kernels
                .filter_map(|kernel| {
                    Some((
                        place(kernel)?,
                        kernel["name"].to_string(),
                        kernel["code"].to_string(),
                    ))
                })
                .collect();
            found.sort();
            found
        };
        let [alone, among] = [
            of(one, ["old.whl", "new.whl"][number]),
            of(&all, &format!("wheels/{number:02}.whl")),
        ];
        assert_eq!(alone.len(), 6);
        assert_eq!(alone, among);
    }
}

#[test]
fn checks_give_a_verdict_for_each_device() {
    need!("clang-22", "ld.lld", "python3");
    let Some(cuda) = Cuda::get() else { return };
    let folder = Folder::new();
    wheel(&cuda, &folder, "a.whl", 64);
    let check = |options: &str| folder.offkit(&format!("check --json a.whl {options}"));
    let verdicts = |options: &str| -> Vec<String> {
        let found = object(check(options));
        let coverage = found["coverage"].as_array().unwrap().iter();
        coverage
            .map(|one| one["verdict"].as_str().unwrap().to_owned())
            .collect()
    };
    assert_eq!(
        verdicts("--targets sm_80,sm_89,orin,h100,sm_120,t4"),
        [
            "native",
            "native (sm_86 code)",
            "probably native (sm_86 code)",
            "no code for 1 of 2",
            "no code for 1 of 2",
            "no code"
        ]
    );
    check("--targets sm_80,sm_86").ok();
    let found = object(check("--targets h100"));
    let hole = &found["coverage"][0]["holes"][0];
    assert_eq!(hole["kernel"], "extra");
    assert_eq!(
        hole["reason"],
        "it is machine code for another generation of processors"
    );
    assert_eq!(found["passed"], false);
    check("--targets h100").fails(1);
    let found = object(check("--targets sm_120 --kernels"));
    let verdicts = found["coverage"][0]["kernel_verdicts"].as_array().unwrap();
    let verdicts: Vec<_> = verdicts
        .iter()
        .map(|one| ["kernel", "verdict"].map(|key| one[key].as_str().unwrap()))
        .collect();
    assert_eq!(verdicts, [["extra", "no code"], ["scale", "JIT"]]);
    // One kernel has no PTX; Tegra is promised nothing; a device of another vendor has no code at all.
    check("--targets sm_80+ptx").fails(1);
    check("--targets orin").ok();
    check("--targets orin --strict").fails(1);
    let found = object(check("--targets gfx90a"));
    assert_eq!(found["no_code_for"][0], "gfx90a");
    // Entries that are compressed by zstd need a driver that reads them.
    check("--targets sm_80 --driver 550.54.14").ok();
    let found = object(check("--targets sm_80 --driver 535.54.03"));
    let reason = &found["coverage"][0]["holes"][0]["reason"];
    assert_eq!(reason, "its driver is 535.54.03, and it needs 550.54.14 or later");
    for wrong in ["--targets sm_9O", "--driver new --targets sm_80", ""] {
        check(wrong).fails(2);
    }
}

#[test]
fn checks_by_headers_alone_are_about_containers() {
    need!("clang-22", "ld.lld", "python3");
    let Some(cuda) = Cuda::get() else { return };
    let folder = Folder::new();
    wheel(&cuda, &folder, "a.whl", 64);
    let check = |options: &str| folder.offkit(&format!("check --json a.whl --images {options}"));
    let known = |options: &str| {
        let found = object(check(options));
        let one = &found["coverage"][0];
        assert_eq!(found["totals"][0]["kernels"], Value::Null);
        assert_eq!(found["images_without_kernels"], 0);
        ["native", "jit", "containers"].map(|key| one[key].as_u64().unwrap())
    };
    // There is code or PTX for these, and that a kernel has none is for those who look for kernels.
    check("--targets sm_80,h100,sm_120").ok();
    assert_eq!(known("--targets sm_80"), [1, 0, 1]);
    assert_eq!(known("--targets h100"), [1, 0, 1]);
    assert_eq!(known("--targets sm_120"), [0, 1, 1]);
    check("--targets t4").fails(1);
    let found = object(check("--targets t4"));
    let hole = &found["coverage"][0]["holes"][0];
    assert_eq!(hole["kernel"], Value::Null);
    let container = hole["container"].as_str().unwrap();
    assert!(container.contains("libkernels.so/"), "{container}");
    assert_eq!(hole["reason"], "it is for newer processors");
    // What cannot be told from headers is no part of such a check.
    for other in ["--kernels", "--write-baseline new.txt", "--policy offkit.toml"] {
        check(&format!("--targets sm_80 {other}")).fails(2);
    }
    let text = folder.offkit("check a.whl --images --targets sm_80").ok();
    assert!(
        text.starts_with("passed: every container has an image that runs on sm_80"),
        "{text}"
    );
    assert!(text.contains("kernels were not looked into"), "{text}");
}

#[test]
fn a_device_takes_one_image_of_a_fatbin_and_what_only_others_have_is_not_there() {
    let Some(cuda) = Cuda::get() else { return };
    let folder = Folder::new();
    for (arch, kernels) in [
        ("sm_80", &[("scale", 4), ("extra", 4)][..]),
        ("sm_86", &[("scale", 4)]),
    ] {
        folder.write("app.ptx", ptx(arch, kernels));
        cubin(&cuda, &folder, "app", arch, &[]);
    }
    let image = |arch: &'static str| ("elf", arch, format!("app.{arch}.cubin"));
    fatbin(
        &cuda,
        &folder,
        "app.fatbin",
        "none",
        &[image("sm_80"), image("sm_86")],
    );
    let found = object(folder.offkit("check --json app.fatbin --targets sm_80,sm_86"));
    assert_eq!(found["coverage"][0]["verdict"], "native");
    let [hole] = found["coverage"][1]["holes"].as_array().unwrap().as_slice() else {
        panic!("{found:#}")
    };
    assert_eq!(hole["kernel"], "extra");
    let reason = hole["reason"].as_str().unwrap();
    assert!(reason.contains("takes another image"), "{reason}");

    // PTX of the same number is what stays for 8.6 when its machine code goes: that is no repetition.
    for arch in ["sm_80", "sm_86"] {
        folder.write("app.ptx", ptx(arch, &[("scale", 4)]));
        cubin(&cuda, &folder, "app", arch, &[]);
    }
    let portable = ("ptx", "sm_86", "app.ptx".to_owned());
    fatbin(
        &cuda,
        &folder,
        "b.fatbin",
        "none",
        &[image("sm_80"), image("sm_86"), portable],
    );
    let found = object(folder.offkit("size --json b.fatbin"));
    let kinds: Vec<_> = found["redundant"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| &one["kind"])
        .collect();
    assert!(!kinds.contains(&&Value::from("covered-arch")), "{found:#}");
    let removals = found["removals"].as_array().unwrap();
    let of_cubins = removals
        .iter()
        .find(|removal| removal["arch"] == "sm_86" && removal["format"] == "cubin")
        .unwrap();
    let fall = of_cubins["fall_to_jit"].as_array().unwrap();
    assert!(fall.contains(&Value::from("sm_86")), "{of_cubins:#}");
}

#[test]
fn devices_of_this_machine_say_which_spirv_they_take() {
    need!("clang-22");
    let folder = Folder::new();
    folder.write("k.cl", "kernel void saxpy(global int *p) { p[0] = 1; }");
    let words = "--target=spirv64 -x cl -c k.cl -o k.spv";
    folder
        .run(tool("clang-22").unwrap(), words.split_whitespace())
        .ok();
    folder.offkit("check k.spv --device offkit:0").ok();
    let mut devices = 0;
    for device in folder.offkit("devices --json").json() {
        let name = format!(
            "{}:{}",
            device["backend"].as_str().unwrap(),
            device["backend_number"]
        );
        let takes = device["il_version"].as_str().unwrap().contains("SPIR-V");
        let outcome = folder.offkit(&format!("check --json k.spv --device {name}"));
        assert_eq!(outcome.code, i32::from(!takes), "{outcome:#?}");
        let found = object(outcome);
        let coverage = &found["coverage"][0];
        assert_eq!(coverage["target"], name.as_str());
        match takes {
            true => assert_eq!(coverage["verdict"], "JIT"),
            false => assert_eq!(coverage["holes"][0]["reason"], "the device takes no SPIR-V"),
        }
        devices += 1;
    }
    assert!(devices > 0);
    let message = folder.offkit("check k.spv --device opencl:99").fails(3);
    assert!(message.contains("offkit devices"), "{message}");
    // Intel's are asked for by both names, and shown by one.
    for name in ["bdw", "intel_gpu_bdw"] {
        let found = object(folder.offkit(&format!("check --json k.spv --targets {name}")));
        assert_eq!(found["coverage"][0]["target"], "intel_gpu_bdw");
    }
}

#[test]
fn spirv_that_computes_in_doubles_runs_on_no_gpu_without_them() {
    need!("clang-22");
    let folder = Folder::new();
    for number in ["double", "float"] {
        folder.write(
            "k.cl",
            format!("kernel void scale(global {number} *p) {{ p[0] *= 2; }}"),
        );
        let words = format!("--target=spirv64 -x cl -cl-std=CL3.0 -c k.cl -o {number}.spv");
        folder
            .run(tool("clang-22").unwrap(), words.split_whitespace())
            .ok();
    }
    let verdicts = |file: &str| {
        let outcome = folder.offkit(&format!("check --json {file} --targets a770,max1100"));
        let coverage = object(outcome)["coverage"].clone();
        let coverage = coverage.as_array().unwrap().iter();
        let verdicts: Vec<_> = coverage
            .map(|one| match one["holes"].get(0) {
                Some(hole) => hole["reason"].as_str().unwrap().to_owned(),
                None => one["verdict"].as_str().unwrap().to_owned(),
            })
            .collect();
        verdicts
    };
    assert_eq!(verdicts("float.spv"), ["JIT", "JIT"]);
    assert_eq!(verdicts("double.spv"), ["the device has no fp64", "JIT"]);
}

#[test]
fn libraries_that_are_needed_are_checked_when_that_is_asked() {
    need!("clang-22", "ld.lld", "python3");
    let Some(cuda) = Cuda::get() else { return };
    let folder = Folder::new();
    wheel(&cuda, &folder, "a.whl", 30);
    let link = |source: &str, output: &str, options: &str| {
        let words =
            format!("-shared -nostdlib -fuse-ld=lld -Wl,--no-as-needed {source} -L. {options} -o {output}");
        folder
            .run(tool("clang-22").unwrap(), words.split_whitespace())
            .ok();
    };
    folder.write("plain.s", ".text\n.globl g\ng: ret\n");
    link("plain.s", "libgone.so", "");
    link("plain.s", "libplain.so", "-lkernels -Wl,-rpath,$ORIGIN");
    // A library without code of its own has that of those it needs.
    folder.offkit("check libplain.so --targets sm_80").fails(2);
    let found = object(folder.offkit("check --json libplain.so --needed --targets sm_80"));
    assert_eq!(found["coverage"].as_array().unwrap().len(), 1, "{found:#}");
    assert!(
        found["coverage"][0]["location"]
            .as_str()
            .unwrap()
            .contains("libkernels.so")
    );
    folder.offkit("check libplain.so --needed --targets sm_80").ok();
    folder.offkit("check libplain.so --needed --targets t4").fails(1);
    // What was not looked into is said.
    folder.write(
        "own.s",
        ".section .nv_fatbin,\"a\"\n.balign 8\n.incbin \"app.fatbin\"\n",
    );
    link("own.s", "libown.so", "-lkernels -lgone -Wl,-rpath,$ORIGIN");
    std::fs::remove_file(folder.path("libgone.so")).unwrap();
    let outcome = folder.offkit("check libown.so --targets sm_80");
    assert!(
        outcome
            .stderr
            .contains("not looked into: libgone.so, libkernels.so; --needed"),
        "{outcome:#?}"
    );
    outcome.ok();
    let outcome = folder.offkit("check --json libown.so --needed --targets sm_80");
    assert!(
        outcome
            .stderr
            .contains("not found, and not looked into: libgone.so"),
        "{outcome:#?}"
    );
    let found = object(outcome);
    assert_eq!(found["coverage"].as_array().unwrap().len(), 2, "{found:#}");
    assert_eq!(found["not_looked_into"].as_array().unwrap().len(), 1, "{found:#}");
    assert_eq!(found["not_looked_into"][0]["needed_by"], "libown.so");
}

#[test]
fn two_libraries_of_one_name_are_told_apart() {
    need!("clang-22", "ld.lld", "python3");
    let Some(cuda) = Cuda::get() else { return };
    let folder = Folder::new();
    wheel(&cuda, &folder, "a.whl", 30);
    wheel(&cuda, &folder, "b.whl", 90);
    let found = object(folder.offkit("size --json --by library a.whl b.whl"));
    let mut names: Vec<_> = found["totals"]
        .as_array()
        .unwrap()
        .iter()
        .map(|total| total["library"].as_str().unwrap())
        .collect();
    names.sort_unstable();
    assert_eq!(names, ["a.whl!libkernels.so", "b.whl!libkernels.so"]);
}

#[test]
fn policies_and_baselines_gate_a_build() {
    need!("clang-22", "ld.lld", "python3");
    let Some(cuda) = Cuda::get() else { return };
    let folder = Folder::new();
    wheel(&cuda, &folder, "old.whl", 30);
    wheel(&cuda, &folder, "new.whl", 90);
    folder.offkit("check old.whl --write-baseline kernels.txt").ok();
    let check = |policy: &str, file: &str| {
        folder.write("offkit.toml", policy);
        folder.offkit(&format!(
            "check {file} --policy offkit.toml --baseline kernels.txt"
        ))
    };
    let devices = "[check]\ntargets = ['sm_80', 'sm_90']\n";
    check(devices, "old.whl").fails(1);
    let waived = format!(
        "{devices}ignore = [{{ kernel = 'extra', target = 'sm_90', why = 'guarded in the host code' }}]\n"
    );
    check(&waived, "old.whl").ok();
    // Holes that are let be are not passed over in silence, and no code at all is no hole.
    let text = check(&format!("{devices}holes = 'warn'\n"), "old.whl").ok();
    assert!(text.starts_with("passed, but not every kernel runs"), "{text}");
    assert!(text.contains("1 of 2 kernels has no code for sm_90"), "{text}");
    let text = check(&format!("{devices}holes = 'off'\n"), "old.whl").ok();
    assert!(!text.contains("no code for sm_90"), "{text}");
    check("[check]\ntargets = ['gfx90a']\nholes = 'off'\n", "old.whl").fails(1);
    // Where every kernel may be without code there is none all the same.
    let all = devices.replace("'sm_80', 'sm_90'", "'sm_75'")
        + "ignore = [{ kernel = '*', why = 'sold for new devices' }]\n";
    let text = check(&all, "old.whl").ok();
    assert!(text.contains("no code, 2 waived"), "{text}");
    // A waiver that is about nothing any more is said.
    let stale = waived.replace("'extra'", "'gone'");
    let outcome = check(&stale, "old.whl");
    assert!(
        outcome.stdout.contains("no kernel is without code that `gone`"),
        "{outcome:#?}"
    );
    check("[check]\nnative = ['sm_120']\n", "old.whl").fails(1);
    check("[check]\nptx = 'newest'\n", "old.whl").fails(1);
    check("[size]\nmax = '1M'\nmax-per-arch = { sm_90 = '1M' }\n", "old.whl").ok();
    check("[size]\nmax-per-arch = { sm_90 = 100 }\n", "old.whl").fails(1);
    check("[size]\nredundant = 'error'\n", "old.whl").fails(1);
    check("[size]\nmax-growth = 'no-increase'\n", "old.whl").ok();
    check("[size]\nmax-growth = '+900%'\n", "new.whl").ok();
    let outcome = check("[size]\nmax-growth = '+1%'\n", "new.whl");
    assert!(outcome.stdout.contains("size.max-growth"), "{outcome:#?}");
    assert!(outcome.stdout.contains("cubin for sm_80: "), "{outcome:#?}");
    outcome.fails(1);
    check("[size]\nredundant = 'warn'\n", "old.whl").ok();
    check(
        "[kernels]\nmax-registers = 255\nspills = 'no-increase'\n",
        "old.whl",
    )
    .ok();
    check("[kernels]\nspills = 'no-increase'\n", "new.whl").fails(1);
    check(
        "[kernels]\nspills = 'no-increase'\nfamilies = ['other*']\n",
        "new.whl",
    )
    .ok();
    folder.write("offkit.toml", "[kernels]\nspills = 'no-increase'\n");
    let text = folder.offkit("check new.whl --policy offkit.toml").ok();
    assert!(text.contains("kernels.spills was not checked"), "{text}");
    // So is a baseline of something else, and a second library does not hide the first.
    folder.write("other.ptx", ptx("sm_80", &[("other", 4)]));
    cubin(&cuda, &folder, "other", "sm_80", &[]);
    folder
        .offkit("check other.sm_80.cubin --write-baseline other.txt")
        .ok();
    let text = folder
        .offkit("check new.whl --policy offkit.toml --baseline other.txt")
        .ok();
    assert!(
        text.contains("no kernel of the baseline is in these files"),
        "{text}"
    );
    folder
        .offkit("check other.sm_80.cubin new.whl --policy offkit.toml --baseline kernels.txt")
        .fails(1);
    // Each file is as large as it is.
    folder.write(
        "offkit.toml",
        format!("[size]\nmax = {}\n", folder.read("new.whl").len()),
    );
    folder.offkit("check old.whl new.whl --policy offkit.toml").ok();
    let message = check("[check]\ntarget = ['sm_80']\n", "old.whl").fails(2);
    assert!(message.contains("target"), "{message}");
    // The same from a pyproject.toml.
    let project = "[project]\nname = 'x'\n[tool.offkit.size]\nmax = 10\n";
    check(project, "old.whl").fails(1);
}

#[test]
fn builds_are_compared() {
    need!("clang-22", "ld.lld", "python3");
    let Some(cuda) = Cuda::get() else { return };
    let folder = Folder::new();
    wheel(&cuda, &folder, "old.whl", 30);
    std::fs::copy(folder.path("app.sm_80.cubin"), folder.path("old.cubin")).unwrap();
    wheel(&cuda, &folder, "new.whl", 90);
    assert_eq!(
        folder.offkit("diff --kernels old.whl old.whl").ok(),
        "no differences\n"
    );
    let text = folder.offkit("diff old.whl old.whl").ok();
    assert!(text.contains("--kernels compares kernels too"), "{text}");
    let found = object(folder.offkit("diff --kernels --json old.whl new.whl"));
    let changed = found["kernels"].as_array().unwrap();
    let mut names: Vec<_> = changed
        .iter()
        .map(|change| {
            (
                change["arch"].as_str().unwrap(),
                change["kernel"].as_str().unwrap(),
            )
        })
        .collect();
    names.sort_unstable();
    // PTX says nothing of what its kernels take.
    assert_eq!(
        names,
        [("sm_80", "scale"), ("sm_86", "scale"), ("sm_90", "scale")]
    );
    assert!(changed[0]["new"]["spills"].as_u64() > changed[0]["old"]["spills"].as_u64());
    folder
        .offkit("diff --fail-on gone,new,shared old.whl new.whl")
        .ok();
    folder.offkit("diff --fail-on stack old.whl new.whl").fails(1);
    folder.offkit("diff --fail-on new old.cubin new.whl").fails(1);
    let message = folder
        .offkit("diff --fail-on spills,size old.whl new.whl")
        .fails(1);
    assert!(message.contains("3 kernels that spill more"), "{message}");
    // A cubin has one architecture of the three, and a baseline does for a file.
    let text = folder.offkit("diff --kernels --fail-on gone new.whl old.cubin");
    assert_eq!(text.code, 1, "{text:#?}");
    folder.offkit("check old.whl --write-baseline old.txt").ok();
    assert_eq!(
        folder.offkit("diff --kernels old.txt old.whl").ok(),
        "no differences\n"
    );
}

#[test]
fn the_page_for_package_maintainers_shows_what_happens() {
    need!("clang-22", "ld.lld", "python3");
    let Some(cuda) = Cuda::get() else { return };
    let folder = Folder::new();
    wheel(&cuda, &folder, "kernels-1.0.whl", 30);
    wheel(&cuda, &folder, "kernels-1.1.whl", 90);
    let policy = blocks("docs/packages.md")
        .into_iter()
        .find(|(language, _)| language == "toml");
    folder.write("offkit.toml", policy.expect("a policy").1);
    // Numbers are those of one machine's linker.
    let shape = |text: &str| {
        let text = text.trim_end().replace(|c: char| c.is_ascii_digit(), "0");
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let mut typed = 0;
    for example in commands("docs/packages.md") {
        let line = example.line.replace("\\\n", "").trim().to_owned();
        let Some(line) = line.strip_prefix("offkit ") else {
            continue;
        };
        typed += 1;
        let outcome = folder.offkit(line);
        assert!(outcome.code < 2, "{line}: {outcome:#?}");
        let said: Vec<String> = outcome
            .stdout
            .lines()
            .chain(outcome.stderr.lines())
            .map(shape)
            .collect();
        let shown = example.output.lines().map(shape);
        for shown in shown.filter(|shown| !shown.is_empty() && shown != "…") {
            assert!(said.contains(&shown), "{line}: `{shown}` is not in {outcome:#?}");
        }
    }
    assert!(typed >= 6, "{typed}");
    // The step of a pipeline, as it is there; `kernels.txt` was written before.
    std::fs::create_dir(folder.path("dist")).unwrap();
    std::fs::copy(
        folder.path("kernels-1.1.whl"),
        folder.path("dist/kernels-1.1.whl"),
    )
    .unwrap();
    let (_, step) = blocks("docs/packages.md")
        .into_iter()
        .find(|(language, _)| language == "yaml")
        .expect("a step");
    let (_, script) = step.split_once("run: |\n").expect("a script");
    let script = format!(
        "PATH='{}':$PATH\nGITHUB_STEP_SUMMARY=summary.md\n{script}",
        programs().display()
    );
    let outcome = folder.run("sh", ["-ec", &script]);
    assert_eq!(outcome.code, 1, "{outcome:#?}");
    let summary = String::from_utf8(folder.read("summary.md")).unwrap();
    assert!(summary.starts_with("**failed**\n\n### Devices"), "{summary}");
    assert!(summary.contains("| error | kernels.spills |"), "{summary}");
}
