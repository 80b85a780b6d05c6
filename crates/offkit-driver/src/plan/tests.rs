//! Plans of whole command lines.

use super::super::inputs::Content;
use super::*;
use crate::Files;
use offkit_devlib::Abi;

/// `-ldevice` is bitcode in the first folder, by the name of the target; other libraries are for hosts only.
struct OneLibrary;

impl Files for OneLibrary {
    fn look(&self, _: &Path) -> Content {
        Content::Unknown
    }

    fn find_device_library(
        &self,
        name: &str,
        folders: &[PathBuf],
        target: &offkit_object::Target,
        _: Option<u32>,
    ) -> Result<Vec<(PathBuf, Abi)>, UsageError> {
        let found = (name == "device").then(|| folders[0].join(format!("libdevice-{target}.bc")));
        let abi = Abi {
            code_object_version: Some(600),
            ..Abi::default()
        };
        Ok(found.map(|path| (path, abi)).into_iter().collect())
    }

    fn commands(&self, words: &[OsString], temporary: &Path) -> Vec<Vec<OsString>> {
        let words: Vec<_> = words.iter().map(|word| word.to_string_lossy()).collect();
        let is_device =
            "-cc1 -triple amdgcn-amd-amdhsa -target-cpu gfx90a -target-feature +xnack -fcuda-is-device";
        let lines = [
            format!("clang {is_device} -emit-obj -o {}/d.o a.hip", temporary.display()),
            format!(
                "clang {is_device} -emit-llvm-bc -o {}/d.bc a.hip",
                temporary.display()
            ),
            format!("clang -cc1 -o a.o a.hip {}", words[1..].join(" ")),
            "clang-offload-packager -o d.out".to_owned(),
        ];
        let words = |line: String| line.split(' ').map(OsString::from).collect();
        lines.map(words).into()
    }
}

/// The commands of a line, with short names for clang and the header's folder.
fn commands(line: &str) -> Result<Vec<String>, UsageError> {
    commands_beside(None, line)
}

/// The same where offkit's runtime is in a folder.
fn commands_beside(runtime: Option<&str>, line: &str) -> Result<Vec<String>, UsageError> {
    let joined = |words: &[OsString]| {
        let words: Vec<_> = words.iter().map(|word| word.to_string_lossy()).collect();
        words.join(" ").replace("-isystem inc ", "")
    };
    Ok(match work_beside(runtime, line)? {
        Work::Clang(words) => vec![joined(&words)],
        Work::Plan(plan) => {
            let steps = plan.steps.iter();
            steps
                .map(|step| {
                    let words = step.action.words(&plan.offkit);
                    format!("{} {:?}", joined(&words), step.needs)
                })
                .collect()
        }
    })
}

/// What is to be done for a line.
fn work_beside(runtime: Option<&str>, line: &str) -> Result<Work, UsageError> {
    let words = line.split_whitespace().map(OsString::from).collect();
    let command_line = CommandLine::read(words, &|_| None)?;
    let environment = Environment {
        clang: vec!["clang++".into()],
        offkit: "offkit".into(),
        include: Some("inc".into()),
        runtime: runtime.map(PathBuf::from),
        tools: "tools".into(),
        temporary: "tmp".into(),
        suffix: String::new(),
        files: &OneLibrary,
    };
    command_line.plan(&environment)
}

#[track_caller]
fn check(line: &str, expected: &[&str]) {
    assert_eq!(commands(line).expect("a good command line"), expected, "{line}");
}

const CXX: &str = "clang++ -Qunused-arguments -fsycl -fsycl-device-only -fno-unroll-loops -fno-vectorize \
                   -fno-slp-vectorize";
const OPENCL: &str = "clang++ -Qunused-arguments --target=spirv64-unknown-unknown -cl-std=CL3.0 -O2 -fno-unroll-loops \
                      -fno-vectorize -fno-slp-vectorize -nogpulib -emit-llvm";
const MODULE: &str = "tmp/a-sycl-spirv64-unknown-unknown.bc";
const MARKED: &str = "tmp/a-sycl-spirv64-unknown-unknown.marked.bc";

#[test]
fn what_is_not_for_offloading_is_as_it_was() {
    check(
        "-c a.cpp -o a.o -MD -DX='y z'",
        &["-c a.cpp -o a.o -MD -DX='y z'"],
    );
    check("-c a.cpp --offload-rdc", &["-c a.cpp -fgpu-rdc"]);
    check("-fsycl --version", &["-fsycl --version"]);
    check("-fsycl -E -- a.cpp", &["-fsycl -E -- a.cpp"]);
    check("-fsyclbin -print-prog-name=ld", &["-print-prog-name=ld"]);
}

#[test]
fn command_lines_of_other_compilers_are_clangs() {
    for (line, expected) in [
        ("-c a.cpp", false),
        ("--driver-mode=cl -fsycl /c a.cpp", false),
        ("--driver-mode=cl --offload-rdc a.cpp", false),
        ("--driver-mode=g++ -fsycl a.cpp", true),
        ("-fsycl-targets=spir64 a.o", true),
        ("--offload-rdc a.o", true),
    ] {
        let words = line.split_whitespace().map(OsString::from).collect();
        let command_line = CommandLine::read(words, &|_| None).expect("a good command line");
        assert_eq!(command_line.is_for_offloading(), expected, "{line}");
    }
}

#[test]
fn an_object_holds_the_device_code() {
    check(
        "-fsycl -O1 -MD -Iinc -c src/a.cpp -o out/a.o",
        &[
            &format!("{CXX} -O1 -Iinc -c src/a.cpp -o {MODULE} []"),
            &format!("offkit mark --module-id=src/a.cpp {MODULE} -o {MARKED} [0]"),
            &format!(
                "offkit pack -o tmp/a-sycl.out --image=file={MARKED},\
                 triple=spirv64-unknown-unknown,arch=generic,kind=sycl [1]"
            ),
            "clang++ -fsycl -fsycl-host-only -O1 -MD -Iinc -c src/a.cpp -o out/a.o \
             -Xclang -fembed-offload-object=tmp/a-sycl.out [2]",
        ],
    );
}

#[test]
fn sources_for_devices_alone_make_objects_without_host_code() {
    let made =
        commands("-fsycl -fPIC -std=c++20 -march=native -DX -MD -c a.cl").expect("a good command line");
    assert_eq!(
        made[0],
        format!("{OPENCL} -fPIC -DX -MD -MF a.d -MT a.o -c a.cl -o {MODULE} []")
    );
    assert_eq!(
        made[3],
        "clang++ -Qunused-arguments -march=native -x c -c /dev/null -o a.o \
         -Xclang -fembed-offload-object=tmp/a-sycl.out [2]"
    );
    let made = commands("-fsyclbin -c a.cpp").expect("a good command line");
    assert!(made[3].contains("-x c -c /dev/null -o a.o"), "{made:#?}");
    let made = commands("-fsycl -emit-llvm -c a.cpp").expect("a good command line");
    assert!(made[3].contains(" -emit-llvm -c a.cpp -o a.bc "), "{made:#?}");
    // An assembler knows no device code.
    check("-fsycl -c a.S", &["clang++ -c a.S -o a.o []"]);
}

#[test]
fn a_syclbin_needs_no_host() {
    check(
        "-fsycl -fsyclbin a.cpp",
        &[
            &format!("{CXX} -c a.cpp -o {MODULE} []"),
            &format!("offkit mark --module-id=a.cpp {MODULE} -o {MARKED} [0]"),
            &format!("offkit link -q --state=executable -o a.syclbin {MARKED} [1]"),
        ],
    );
    check(
        "-fsyclbin=input a.o b.bc libc.a -Ldir -ldevice -o x.syclbin -fsycl-device-code-split=per_kernel \
         -fsycl-targets=nvptx64,spir64 -Xsycl-target-backend=nvptx64 -g",
        &[
            "offkit mark --module-id=b.bc --only-annotated b.bc \
             -o tmp/b-sycl-nvptx64-nvidia-cuda.marked.bc []",
            "offkit link -q --state=input --target=nvptx64-nvidia-cuda --target=spirv64-unknown-unknown --split=kernel \
             --backend-option=-g -o x.syclbin -Ldir a.o tmp/b-sycl-nvptx64-nvidia-cuda.marked.bc libc.a -ldevice [0]",
        ],
    );
}

#[test]
fn a_program_is_linked_with_its_images() {
    let made = commands(
        "-fsycl -fsycl-allow-device-image-dependencies a.cpp main.S b.o k.syclbin libs.so -Llib -larchive -lm -shared \
         -o app",
    );
    let made = made.expect("a good command line");
    let programs: Vec<_> = made
        .iter()
        .map(|line| line.split(' ').take(2).collect::<Vec<_>>().join(" "))
        .collect();
    assert_eq!(
        programs,
        [
            "clang++ -fsycl",
            "clang++ -Qunused-arguments",
            "offkit mark",
            "clang++ -Qunused-arguments",
            "offkit link",
            "clang++ -Qunused-arguments"
        ]
    );
    assert_eq!(
        made[4],
        format!(
            "{LINK} --allow-undefined --allow-device-image-dependencies --prefer-shared-libraries \
             -o tmp/app-device.o -Llib {MARKED} b.o k.syclbin -larchive -lm [2]"
        )
    );
    assert_eq!(
        made[5],
        "clang++ -Qunused-arguments tmp/a-host.o tmp/main-host.o b.o libs.so -Llib tmp/app-device.o -larchive -lm \
         -shared -o app [0, 3, 4]"
    );
}

#[test]
fn dependencies_are_not_those_of_temporary_files() {
    let made = commands("-fsycl -MD a.cpp -o bin/app").expect("a good command line");
    assert!(
        made[0].contains(" -MD -MF bin/app.d -MT bin/app -c a.cpp -o tmp/a-host.o"),
        "{made:#?}"
    );
    assert!(!made[1].contains("-MD"), "{made:#?}");
}

#[test]
fn one_compiler_writes_the_dependencies() {
    let made = commands("-fsyclbin -MD -fsycl-targets=spir64,nvptx64 a.cpp").expect("a good command line");
    let writers: Vec<_> = made.iter().filter(|line| line.contains(" -MD ")).collect();
    assert_eq!(writers, [&made[0]], "{made:#?}");
}

const LINK: &str =
    "offkit link -q --state=executable --format=object,sycl-v3 --archive-kernels --allow-empty";

#[test]
fn a_link_of_objects_keeps_clangs_own_warnings() {
    check(
        "-fsycl a.o -o app",
        &[
            &format!("{LINK} -o tmp/app-device.o a.o []"),
            "clang++ a.o -o app tmp/app-device.o [0]",
        ],
    );
    // Objects that are joined keep their device code for the link proper.
    check("-fsycl -r a.o b.o -o ab.o", &["clang++ -r a.o b.o -o ab.o []"]);
    assert!(commands("-fsycl -r a.cpp").is_err());
}

#[test]
fn whole_archives_are_whole_for_devices_too() {
    for archives in [
        "-Wl,--whole-archive libx.a -Wl,--no-whole-archive",
        "-Wl,--whole-archive,libx.a,--no-whole-archive",
    ] {
        let made = commands(&format!("-fsycl a.o {archives} libc.a -o app")).expect("a good command line");
        assert!(
            made[0].ends_with("a.o --whole-archive libx.a --no-whole-archive libc.a []"),
            "{made:#?}"
        );
    }
    let grouped = commands("-fsycl a.o -Wl,--start-group,libx.a,liby.a,--end-group -o app").expect("good");
    assert!(grouped[0].ends_with("a.o libx.a liby.a []"), "{grouped:#?}");
}

#[test]
fn archives_are_chosen_from_by_the_hosts_objects() {
    let made = commands("-fsycl a.c lib.a -o app").expect("a good command line");
    let link = made
        .iter()
        .find(|line| line.starts_with(LINK))
        .expect("a device link");
    assert!(link.contains(" --host-program "), "{link}");
    // The link waits for the host's object.
    let inputs = "tmp/a-host.o tmp/a-sycl-spirv64-unknown-unknown.marked.bc lib.a [0, 2]";
    assert!(link.ends_with(inputs), "{link}");
    // Without archives there is nothing to choose, and nothing to wait for.
    let made = commands("-fsycl a.c b.o -lm -o app").expect("a good command line");
    assert!(
        !made.iter().any(|line| line.contains("--host-program")),
        "{made:#?}"
    );
}

#[test]
fn a_program_that_names_no_runtime_gets_offkits() {
    let places = "-Llib -Wl,-rpath,lib";
    let default = format!("{places} -Wl,--push-state,--as-needed,-loffkit,--pop-state");
    for (line, expected) in [
        ("-fsycl a.o", &*default),
        ("-fsycl a.o -lm", &*default),
        ("-fsycl a.o -loffkit", places),
        ("-fsycl -shared a.o -loffkit", places),
        ("-fsycl a.o -lsycl", ""),
        ("-fsycl -shared a.o", ""),
        ("-fsycl -static a.o", ""),
        ("-fsycl --target=aarch64-linux-gnu a.o", ""),
    ] {
        let commands = commands_beside(Some("lib"), line).expect("a good command line");
        let link = commands.last().expect("the host's link");
        let (words, _needs) = link.rsplit_once(" [").expect("the steps it needs");
        let added = words.find(places).map_or("", |at| &words[at..]);
        assert_eq!(added, expected, "{link}");
    }
    let device_code = commands_beside(Some("lib"), "-fsyclbin a.o").expect("a good command line");
    assert!(!device_code.concat().contains(places));
}

#[test]
fn libraries_keep_their_place() {
    let line = "-fsycl a.o -Wl,--whole-archive -lx -Wl,--no-whole-archive -ly b.o -static -o app";
    let made = commands(line).expect("a good command line");
    assert!(
        made[0].ends_with(
            "--allow-empty -o tmp/app-device.o a.o --whole-archive -lx --no-whole-archive -ly b.o []"
        ),
        "{made:#?}"
    );
}

#[test]
fn objects_are_linked_with_device_libraries_early() {
    let made = commands("-fsycl --offload-arch=sm_70,gfx90a -c a.cpp -Llib -ldevice -lmpi");
    let made = made.expect("a good command line");
    let library = |target: &str| {
        format!(
            " -Xclang -mlink-builtin-bitcode -Xclang lib/libdevice-{target}.bc -Wno-linker-warnings -c a.cpp"
        )
    };
    assert!(
        made[0].contains(&library("nvptx64-nvidia-cuda-sm_70")),
        "{made:#?}"
    );
    assert!(
        made[2].contains(&library("amdgcn-amd-amdhsa-gfx90a")),
        "{made:#?}"
    );
    // What must agree does, before anything is compiled.
    let line = "-fsycl --offload-arch=gfx90a -Xarch_device -mcode-object-version=5 -c a.cl -Llib -ldevice";
    let error = commands(line)
        .expect_err("another version of code objects")
        .to_string();
    assert!(
        error.contains("a.cl and lib/libdevice-amdgcn-amd-amdhsa-gfx90a.bc cannot be linked together"),
        "{error}"
    );
    // They have had their use: clang need not say that it has none for them.
    assert_eq!(made[5].matches(" -l").count(), 0, "{made:#?}");
    // A link that follows takes what is needed.
    let made = commands("-fsyclbin a.cpp -Llib -ldevice").expect("a good command line");
    assert!(!made[0].contains("-mlink-builtin-bitcode"), "{made:#?}");
    assert!(
        made[2].ends_with(&format!("-Llib {MARKED} -ldevice [1]")),
        "{made:#?}"
    );
}

#[test]
fn clangs_front_ends_for_devices_link_libraries_early() {
    let device =
        "clang -cc1 -triple amdgcn-amd-amdhsa -target-cpu gfx90a -target-feature +xnack -fcuda-is-device";
    let library =
        "-mlink-builtin-bitcode lib/libdevice-amdgcn-amd-amdhsa-gfx90a:xnack+.bc -Wno-linker-warnings";
    // The libraries have had their use: clang need not say that it has none for them.
    check(
        "-c a.hip -Llib -ldevice -lmpi",
        &[
            &format!("{device} -emit-obj {library} -o tmp/d.o a.hip []"),
            &format!("{device} -emit-llvm-bc {library} -o tmp/d.bc a.hip [0]"),
            "clang -cc1 -o a.o a.hip -c a.hip [1]",
            "clang-offload-packager -o d.out [2]",
        ],
    );
    // What is not clang takes none of its options, such as one for colours.
    let Ok(Work::Plan(plan)) = work_beside(None, "-c a.hip -Llib -ldevice") else {
        panic!("a plan was expected");
    };
    let is_clang = plan.steps.iter().map(|step| match &step.action {
        Action::Clang(clang) => clang.is_clang,
        _ => false,
    });
    assert_eq!(is_clang.collect::<Vec<_>>(), [true, true, true, false]);
    // What stays bitcode is linked with the program, which host libraries are for, too.
    let made = commands("a.hip -Llib -ldevice -lmpi").expect("a good command line");
    assert_eq!(made[1], format!("{device} -emit-llvm-bc -o tmp/d.bc a.hip [0]"));
    assert!(made[2].contains("-ldevice -lmpi"), "{made:#?}");
    // Without a library for devices there is nothing to add.
    check("-c a.hip -lmpi", &["-c a.hip"]);
    check("a.hip -lmpi", &["-Btools a.hip -lmpi"]);
}

/// Which loops are worth it, only the compiler for a known device can tell.
#[test]
fn loops_are_kept_for_unknown_devices() {
    for (target, is_kept) in [
        ("spirv64", true),
        ("nvidia_gpu_sm_80", false),
        ("amd_gpu_gfx90a", false),
    ] {
        for source in ["a.cl", "a.cpp"] {
            let line = format!("-fsycl -fsycl-targets={target} -c {source}");
            let made = commands(&line).expect("a good command line");
            assert_eq!(made[0].contains("-fno-unroll-loops"), is_kept, "{made:#?}");
        }
    }
}

#[test]
fn openmp_stays_bitcode_until_the_program_is_linked() {
    for (line, is_told) in [
        ("-fopenmp --offload-arch=sm_80 -c a.c", true),
        ("-fopenmp -fopenmp-targets=spirv64-intel -c a.c", true),
        ("-fopenmp --offload-arch=gfx90a -c a.c", false),
        ("-fopenmp -fopenmp-targets=x86_64-pc-linux-gnu -c a.c", false),
        ("-fopenmp --offload-arch=sm_80 -fno-offload-lto -c a.c", false),
        ("--offload-arch=sm_80 -c a.cu", false),
        ("-fopenmp --offload-arch=sm_80 -c a.cu", false),
        ("-fopenmp --offload-arch=sm_80 -x cuda -c a.cpp", false),
    ] {
        let made = commands(line).expect("a good command line");
        assert_eq!(made[0].starts_with("-foffload-lto "), is_told, "{made:#?}");
    }
    // What is for SPIR-V alone is told to no other device.
    let made = commands("-fopenmp -fopenmp-targets=spirv64-intel,nvptx64-nvidia-cuda -c a.c")
        .expect("a good command line");
    let told = "-foffload-lto -Xopenmp-target=spirv64-intel -Xclang=-disable-llvm-passes -nogpulib -fopenmp ";
    assert!(made[0].starts_with(told), "{made:#?}");
}

#[test]
fn device_code_is_linked_alone() {
    check("-fsycl -fsycl-link b.o", &[&format!("{LINK} -o a.o b.o []")]);
    check(
        "-fsycl-link a.syclbin b.syclbin -o c.syclbin",
        &["offkit link -q --state=executable -o c.syclbin a.syclbin b.syclbin []"],
    );
    check(
        "-fsycl-link -fsyclbin=object a.syclbin b.syclbin",
        &["offkit link -q --state=object -o a.syclbin a.syclbin b.syclbin []"],
    );
}

#[test]
fn options_reach_the_compilers_of_their_devices() {
    let made = commands(
        "-fsycl -fsycl-targets=spir64,amd_gpu_gfx90a --target=aarch64-linux-gnu a.o -o app \
         -Xsycl-target-backend=spir64 -cl-fast -Xsycl-target-backend=amdgcn --some -Xs -both -Xsycl-target-linker -l",
    );
    let made = made.expect("a good command line");
    assert!(
        made[0].contains(
            " --host-triple=aarch64-linux-gnu --compile-options=-cl-fast -both --link-options=-l \
             --backend-option=--some --backend-option=-both -o "
        ),
        "{made:#?}"
    );
}

#[test]
fn every_target_is_compiled_for() {
    let made =
        commands("-fsycl -fsycl-targets=spir64 --offload-arch=gfx90a:xnack+ -fsycl-targets=amdgcn -c a.cpp");
    let made = made.expect("a good command line");
    assert_eq!(
        made[2],
        "clang++ -Qunused-arguments -fsycl -fsycl-device-only -Xclang -triple -Xclang amdgcn-amd-amdhsa \
         -Xclang -target-cpu -Xclang gfx90a -Xclang -target-feature -Xclang +xnack \
         -c a.cpp -o tmp/a-sycl-amdgcn-amd-amdhsa-gfx90a-xnack+.bc []"
    );
    assert!(
        made[4].contains("triple=amdgcn-amd-amdhsa,arch=gfx90a:xnack+,kind=sycl"),
        "{made:#?}"
    );
    let made = commands("-fsycl --offload-arch=gfx90a -c a.cl").expect("a good command line");
    assert!(
        made[0].contains("--target=amdgcn-amd-amdhsa -mcpu=gfx90a"),
        "{made:#?}"
    );
    let made = commands("-fsycl --offload-arch=sm_70 -c a.cl").expect("a good command line");
    assert!(
        made[0].contains("--target=nvptx64-nvidia-cuda -march=sm_70 --cuda-feature=+ptx61"),
        "{made:#?}"
    );
}

#[test]
fn device_only_leaves_marked_bitcode() {
    check(
        "-fsycl -fsycl-device-only -c a.cpp -o a.bc",
        &[
            &format!("{CXX} -c a.cpp -o {MODULE} []"),
            &format!("offkit mark --module-id=a.cpp {MODULE} -o a.bc [0]"),
        ],
    );
    check(
        "-fsycl -fsycl-host-only -c a.cpp",
        &["-fsycl -fsycl-host-only -c a.cpp"],
    );
    check(
        "-fsycl-device-only -S a.cpp",
        &["-fsycl -fsycl-device-only -S a.cpp"],
    );
    check("-fsycl -E a.cpp", &["-fsycl -E a.cpp"]);
    let made = commands("-fsycl -E a.cl").expect("a good command line");
    assert_eq!(made, [format!("{OPENCL} -E a.cl []")]);
}

#[test]
fn clangs_own_offloading_is_linked_by_our_tool() {
    check(
        "-fopenmp -fopenmp-targets=x86_64-pc-linux-gnu a.c -o app",
        &["-Btools -fopenmp -fopenmp-targets=x86_64-pc-linux-gnu a.c -o app"],
    );
    check(
        "-fopenmp --offload-arch=gfx90a -c a.c",
        &["-fopenmp --offload-arch=gfx90a -c a.c"],
    );
    check("--offload-rdc a.hip", &["-Btools -fgpu-rdc a.hip"]);
}

#[test]
fn names_of_temporary_files_differ() {
    let made = commands("-fsyclbin x/a.cl y/a.cl").expect("a good command line");
    assert!(
        made[4].ends_with(&format!(
            "{MARKED} tmp/a-2-sycl-spirv64-unknown-unknown.marked.bc [1, 3]"
        )),
        "{made:#?}"
    );
}

#[test]
fn one_output_is_not_for_two() {
    for line in [
        "-fsycl -c a.cpp b.cpp -o x.o",
        "-fsycl -fsycl-device-only a.cpp -fsycl-targets=spirv64,nvptx64 -o x",
    ] {
        let error = commands(line).expect_err(line).to_string();
        assert_eq!(error, "cannot specify -o when generating multiple output files");
    }
}

#[test]
fn instrumentation_of_the_host_is_not_for_devices() {
    let made = commands("-fsycl -fsanitize=address -fcf-protection -flto -Xarch_host -O0 -c a.cpp");
    let made = made.expect("a good command line");
    assert!(
        made[0].starts_with(&format!("{CXX} -Xarch_host -O0 -c a.cpp")),
        "{made:#?}"
    );
    assert!(
        made[3].contains("-fsanitize=address -fcf-protection -flto -Xarch_host -O0"),
        "{made:#?}"
    );
}
