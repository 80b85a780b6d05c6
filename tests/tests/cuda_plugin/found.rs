//! The devices as `offkit` shows them, and why there are none.

use super::*;
use std::path::{Path, PathBuf};

#[test]
fn offkit_lists_and_uses_the_devices() {
    need!("clang-22");
    let folder = Folder::new();
    let driver = folder.cuda_driver(&[]);
    folder.ptx("k", KERNELS, "sm_80", "83");
    folder.write("x.npy", npy_f32("(4,)", [1.0, 2.0, 3.0, 4.0]));
    folder.write("y.npy", npy_f32("(4,)", [10.0; 4]));
    let run = |line: &str| {
        let mut command = Command::new(offkit());
        command.args(line.split_whitespace());
        folder.run_command(with_cuda(&mut command, &driver))
    };
    let devices = run("devices").ok();
    assert!(
        devices.contains("NVIDIA Stand-in 0")
            && devices.contains("sm_90")
            && devices.contains("takes PTX 8.7, driver 570.26"),
        "{devices}"
    );
    let lines = run("devices --json");
    offkit_tests::schemas::check("devices", &lines.stdout);
    let newest: Vec<_> = lines
        .json()
        .iter()
        .map(|line| line["newest_ptx"].clone())
        .collect();
    // The CPU device takes none.
    assert!(
        newest.contains(&"8.7".into()) && newest.contains(&serde_json::Value::Null),
        "{newest:?}"
    );
    run("pack --image=file=k.ptx,triple=nvptx64-nvidia-cuda,arch=sm_80,kind=cuda -o k.bin").ok();
    for (file, device) in [("k.ptx", "gpu"), ("k.ptx", "cuda"), ("k.bin", "gpu")] {
        run(&format!(
            "run {file} saxpy --device {device} --global 4 --arg f32:2.5 --arg x.npy --arg y.npy --out 2=z.npy"
        ))
        .ok();
        assert_eq!(read_f32(&folder.read("z.npy")), SUM);
        std::fs::remove_file(folder.path("z.npy")).unwrap();
    }
    let doctor = run("doctor").stdout;
    let expected = "\
+ cuda:0 NVIDIA Stand-in 0
    driver 570.26 takes PTX up to 8.7, and is too old for newer: PTX 8.8 needs driver 575.51.03 or later
";
    assert!(doctor.contains(expected), "{doctor}");
    // What the driver is too old for.
    let new = String::from_utf8(folder.read("k.ptx"))
        .unwrap()
        .replace(".version 8.3", ".version 8.8");
    folder.write("new.ptx", new);
    let error =
        run("run new.ptx saxpy --device gpu --global 4 --arg f32:2.5 --arg x.npy --arg y.npy").fails(3);
    let expected = "its driver is 570.26, and it needs 575.51.03 or later";
    assert!(error.contains(expected), "{error}");
}

#[test]
fn a_driver_without_devices_says_why() {
    need!("clang-22");
    let folder = Folder::new();
    let driver = folder.cuda_driver(&[]);
    let doctor = |name: &str, value: &str| {
        let mut command = Command::new(offkit());
        command.arg("doctor");
        folder
            .run_command(with_cuda(&mut command, &driver).env(name, value))
            .stdout
    };
    for (name, value, words) in [
        (
            "CUDA_VISIBLE_DEVICES",
            "",
            "CUDA_VISIBLE_DEVICES is empty, which hides all",
        ),
        ("STANDIN_INIT", "100", "NVIDIA's driver shows no device"),
        (
            "STANDIN_INIT",
            "803",
            "libcuda.so.1 and the kernel's driver are of different versions",
        ),
        ("STANDIN_FAIL", "cuInit:1:46", "CUDA_ERROR_DEVICE_UNAVAILABLE"),
        ("STANDIN_DEVICES", "0", "NVIDIA's driver shows no device"),
    ] {
        let text = doctor(name, value);
        assert!(text.contains(words), "{name}={value}: {text}");
    }
    // A library that only has the name.
    let stub = folder.path("stub");
    std::fs::create_dir(&stub).unwrap();
    folder.write("stub.c", "int nothing;");
    let options = ["-shared", "-o", "stub/libcuda.so.1", "stub.c"];
    folder.run(tool("clang-22").unwrap(), options).ok();
    let mut command = Command::new(offkit());
    command.arg("doctor");
    let text = folder.run_command(with_cuda(&mut command, &stub)).stdout;
    assert!(text.contains("libcuda.so.1 has no function `cuInit`"), "{text}");
    // Without anything of NVIDIA's the plugin beside the program is not even loaded, and there is nothing to say.
    let text = folder.offkit("doctor").stdout;
    let is_here = Path::new("/dev/nvidiactl").exists();
    assert!(
        is_here || text.contains("not loaded: this machine has no libcuda.so.1"),
        "{text}"
    );
    let mut command = Command::new(offkit());
    command.arg("devices");
    let outcome = folder.run_command(with_cuda(&mut command, &folder.path("")));
    assert!(
        !outcome.stderr.contains("NVIDIA") && outcome.code == 0,
        "{outcome:?}"
    );
}

#[test]
fn an_old_driver_says_up_to_which_ptx_it_goes() {
    need!("clang-22");
    let folder = Folder::new();
    // It tells its version of CUDA alone.
    let driver = folder.cuda_driver(&["-DOLD"]);
    let run = |line: &str, cuda: &str| {
        let mut command = Command::new(offkit());
        let command = with_cuda(command.arg(line), &driver).env("STANDIN_CUDA", cuda);
        folder.run_command(command).stdout
    };
    for (cuda, newest, beyond) in [
        ("11040", "7.4", "7.5 needs driver 495.29"),
        ("12020", "8.2", "8.3 needs driver 545.23"),
    ] {
        let devices = run("devices", cuda);
        assert!(
            devices.contains(&format!("takes PTX {newest}, driver ")),
            "{devices}"
        );
        let doctor = run("doctor", cuda);
        assert!(
            doctor.contains(&format!(
                "takes PTX up to {newest}, and is too old for newer: PTX {beyond}"
            )),
            "{doctor}"
        );
    }
    // Newer than what is known.
    let doctor = run("doctor", "13040");
    assert!(
        doctor.contains("takes PTX 9.4, the newest that is known of here"),
        "{doctor}"
    );
}

/// A folder in the place of `/dev`, with nodes of NVIDIA's.
fn nodes(folder: &Folder, names: &[&str]) -> PathBuf {
    let dev = folder.path("dev");
    std::fs::create_dir_all(&dev).unwrap();
    for name in names {
        std::fs::write(dev.join(name), "").unwrap();
    }
    dev
}

/// What `offkit doctor` and `offkit devices` say with other nodes and variables; both have to give the reason.
#[track_caller]
fn both_say(folder: &Folder, (driver, dev): (&Path, &Path), variables: &[(&str, &str)], words: &str) {
    for line in ["doctor", "devices"] {
        let mut command = Command::new(offkit());
        command.arg(line);
        with_cuda(&mut command, driver)
            .env("OFFKIT_TEST_DEV", dev)
            .env_remove("CUDA_VISIBLE_DEVICES")
            .envs(variables.iter().copied());
        #[cfg(unix)]
        give_up_rights(&mut command);
        let outcome = folder.run_command(&mut command);
        let text = outcome.stdout + &outcome.stderr;
        assert!(text.contains(words), "{line} {variables:?}: {text}");
    }
}

/// Nothing is refused to the superuser: such a test goes on as nobody.
#[cfg(unix)]
fn give_up_rights(command: &mut Command) {
    use std::os::unix::fs::MetadataExt;
    use std::os::unix::process::CommandExt;
    if std::fs::metadata("/proc/self").is_ok_and(|own| own.uid() == 0) {
        command.uid(65_534);
    }
}

#[test]
#[cfg(unix)]
fn nodes_of_devices_tell_why_there_is_none() {
    use std::os::unix::fs::PermissionsExt;
    need!("clang-22");
    let folder = Folder::new();
    let driver = folder.cuda_driver(&[]);
    let allow = |path: &Path, mode| {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    };
    let dev = nodes(&folder, &["nvidia0", "nvidiactl", "nvidia-uvm"]);
    for path in [&folder.path(""), &driver, &dev] {
        allow(path, 0o755);
    }
    let all = ["nvidia0", "nvidiactl", "nvidia-uvm"];
    all.iter().for_each(|name| allow(&dev.join(name), 0o666));
    let no_device = ("STANDIN_INIT", "100");
    let at = (driver.as_path(), dev.as_path());
    both_say(
        &folder,
        at,
        &[no_device],
        "a GPU in MIG mode has none until an instance is made",
    );
    let instance = ("CUDA_VISIBLE_DEVICES", "MIG-5c1a");
    let words = "CUDA_VISIBLE_DEVICES=MIG-5c1a names a MIG instance that is not there";
    both_say(&folder, at, &[no_device, instance], words);
    // A node that others may open and this user may not.
    allow(&dev.join("nvidia0"), 0o000);
    let refused = format!(
        "this user cannot open {}/nvidia0 (Permission denied",
        dev.display()
    );
    both_say(&folder, at, &[no_device], &refused);
    // Not a group: nobody's rights would be changed by one.
    both_say(&folder, at, &[no_device], "Only its owner may open it (mode 0000");
    both_say(&folder, at, &[("STANDIN_INIT", "999")], &refused);
    // No nodes, as without the kernel's driver.
    let empty = folder.path("empty");
    std::fs::create_dir(&empty).unwrap();
    allow(&empty, 0o755);
    both_say(&folder, (&driver, &empty), &[no_device], "and /dev has none");
    // Nodes, and no library: a container that was started without.
    if !Path::new("/dev/nvidiactl").exists() {
        let words = format!(
            "{}/nvidia-uvm is there, and NVIDIA's driver library is not",
            dev.display()
        );
        both_say(&folder, (&empty, &dev), &[], &words);
    }
}
