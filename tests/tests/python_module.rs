//! The Python module: its wheel is built, installed into an environment of its own, and tested there by pytest. So is the
//! example that looks into a registry's worth of packages on a cluster.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use offkit_tests::documentation::blocks;
use offkit_tests::packages::python;
use offkit_tests::{Folder, need, programs, root, tool};

/// What builds the wheel, and what tests what is in it.
const PACKAGES: [&str; 17] = [
    "hatchling==1.33.0",
    "packaging==26.3",
    "pathspec==1.1.1",
    "trove-classifiers==2026.9.21.13",
    "pytest==9.2.0",
    "iniconfig==2.3.1",
    "pluggy==1.7.0",
    "pygments==2.21.0",
    "numpy==2.3.5",
    "pandas==3.1.1",
    "python-dateutil==4.0.0",
    "mypy==2.4.1",
    "ast-serialize==0.13.1",
    "librt==0.16.0",
    "mypy-extensions==1.2.0",
    "tzdata==2026.6",
    "typing_extensions==4.16.0",
];

/// What the example `registry-scan` needs besides, and what that needs: Dask and Arrow, 60 MB to fetch.
const CLUSTER: [&str; 21] = [
    "dask==2026.8.0",
    "distributed==2026.8.0",
    "pyarrow==26.0.1",
    "click==8.5.1",
    "cloudpickle==3.1.3",
    "fsspec==2026.9.0",
    "importlib_metadata==10.2.0",
    "jinja2==3.1.6",
    "lazy-importer==0.1.0",
    "locket==1.0.0",
    "markupsafe==3.0.4",
    "msgpack==1.2.4",
    "partd==1.4.2",
    "psutil==7.2.2",
    "pyyaml==6.0.4",
    "sortedcontainers==2.4.0",
    "tblib==3.2.2",
    "toolz==1.2.0",
    "tornado==6.6.1",
    "zict==3.0.0",
    "zipp==4.1.2",
];

/// AMD's code for two processors, PTX, a package of both, one of neither, and what is cut off.
fn make_inputs(folder: &Folder) {
    let clang = tool("clang-22").expect("it was asked for");
    folder.write("k.cl", "kernel void saxpy(global int *p) { p[0] = 1; }");
    for arch in ["gfx90a", "gfx1100"] {
        let options =
            format!("--target=amdgcn-amd-amdhsa -mcpu={arch} -nogpulib -x cl -c k.cl -o {arch}.hsaco");
        folder.run(&clang, options.split(' ')).ok();
    }
    let ptx =
        ".version 7.0\n.target sm_80\n.address_size 64\n.visible .entry saxpy(.param .u64 p) { ret; }\n";
    folder.write("k.ptx", ptx);
    std::fs::create_dir(folder.path("lib")).unwrap();
    let amd = ["gfx90a", "gfx1100"]
        .map(|arch| format!("--image=file={arch}.hsaco,triple=amdgcn-amd-amdhsa,arch={arch},kind=hip"));
    folder
        .offkit(&format!("pack -o lib/a.out {}", amd.join(" ")))
        .ok();
    folder
        .offkit("pack -o lib/b.out --image=file=k.ptx,triple=nvptx64-nvidia-cuda,arch=sm_80,kind=cuda")
        .ok();
    let python = tool("python3").expect("it was asked for");
    for (package, content) in [("kernels.whl", "lib"), ("none.whl", "k.cl")] {
        folder
            .run(&python, ["-m", "zipfile", "-c", package, content])
            .ok();
    }
    let whole = folder.read("lib/a.out");
    folder.write("damaged.out", &whole[..900]);
}

/// Builds the wheel of the programs under test and installs it.
fn install(folder: &Folder, python: &Path) {
    let mut build = Command::new(python);
    build
        .args([
            "-m",
            "pip",
            "wheel",
            "--quiet",
            "--no-deps",
            "--no-build-isolation",
        ])
        .args(["--wheel-dir", "wheels"])
        .arg(root().join("python"))
        .env("OFFKIT_WHEEL_PROGRAMS", programs());
    folder.run_command(&mut build).ok();
    let mut wheels = std::fs::read_dir(folder.path("wheels")).unwrap();
    let wheel = wheels.next().expect("a wheel is built").unwrap();
    let name = wheel.file_name().into_string().unwrap();
    let is_for_every_python = name.starts_with("offkit-") && name.contains("-py3-none-linux_");
    assert!(is_for_every_python, "{name}");
    let install = [
        "-m",
        "pip",
        "install",
        "--quiet",
        "--no-deps",
        "--force-reinstall",
    ];
    folder
        .run_command(Command::new(python).args(install).arg(wheel.path()))
        .ok();
}

/// The environment with the module in it, made once for all tests.
fn environment() -> Option<PathBuf> {
    static MADE: OnceLock<Option<PathBuf>> = OnceLock::new();
    MADE.get_or_init(|| {
        let packages: Vec<_> = PACKAGES.iter().chain(&CLUSTER).copied().collect();
        let python = python("python-offkit", &packages)?;
        install(&Folder::new(), &python);
        Some(python)
    })
    .clone()
}

/// Runs the tests of a file.
#[track_caller]
fn pytest(folder: &Folder, python: &Path, file: &str, variables: &[(&str, &str)]) {
    let mut pytest = Command::new(python);
    pytest
        .args(["-m", "pytest", "-q", "-p", "no:cacheprovider"])
        .arg(root().join("tests/python").join(file))
        .envs(variables.iter().copied())
        .env("PYTHONDONTWRITEBYTECODE", "1");
    let outcome = folder.run_command(&mut pytest);
    assert_eq!(outcome.code, 0, "{}", outcome.stdout);
}

#[test]
fn a_registry_is_scanned_on_two_workers_of_which_one_dies() {
    need!("clang-22", "python3");
    let Some(python) = environment() else { return };
    let folder = Folder::new();
    make_inputs(&folder);
    std::fs::create_dir(folder.path("wheels")).unwrap();
    for number in 0..5 {
        folder.write(&format!("wheels/code-{number}.whl"), folder.read("kernels.whl"));
    }
    folder.write("wheels/plain.whl", folder.read("none.whl"));
    folder.write("wheels/damaged.out", folder.read("damaged.out"));
    let wheels = folder.path("wheels");
    let wheels = wheels.to_str().expect("folders of tests have plain names");
    pytest(&folder, &python, "test_registry_scan.py", &[("WHEELS", wheels)]);
}

#[test]
fn the_module_answers_as_the_program_does() {
    need!("clang-22", "python3");
    let Some(python) = environment() else { return };
    let folder = Folder::new();
    make_inputs(&folder);
    let tests = root().join("tests/python");
    let files = [
        ("KERNELS", "kernels.whl"),
        ("NO_KERNELS", "none.whl"),
        ("DAMAGED", "damaged.out"),
    ];
    pytest(&folder, &python, "test_offkit.py", &files);
    // What the documentation shows.
    let (_, program) = blocks("docs/python.md")
        .into_iter()
        .find(|(language, _)| language == "python")
        .unwrap();
    folder.write("shown.py", program);
    let said = folder.run(&python, ["shown.py"]).ok();
    assert!(
        said.contains("3 images") && said.contains("gfx90a native") && said.ends_with("False\n"),
        "{said}"
    );
    // The types: those of the module, and what a program gets from them. Two lines of that are wrong.
    let mypy = |file: &Path| {
        let mut command = Command::new(&python);
        command
            .args(["-m", "mypy", "--cache-dir=/dev/null", "--config-file"])
            .arg(root().join("python/pyproject.toml"))
            .arg(file);
        folder.run_command(&mut command)
    };
    mypy(&root().join("python/src/offkit")).ok();
    let said = mypy(&tests.join("typed.py")).stdout;
    let wrong: Vec<_> = said.lines().filter(|line| line.contains(": error:")).collect();
    let text = std::fs::read_to_string(tests.join("typed.py")).unwrap();
    let lines = text
        .lines()
        .enumerate()
        .filter(|(_, line)| line.ends_with("# wrong"));
    let places: Vec<_> = lines
        .map(|(number, _)| format!("typed.py:{}: error:", number + 1))
        .collect();
    assert_eq!(wrong.len(), places.len(), "{said}");
    assert!(places.iter().all(|place| said.contains(place)), "{said}");
}
