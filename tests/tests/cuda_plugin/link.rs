//! Programs that the driver links.

use super::*;

/// A kernel that needs a function, and the function, as PTX; `app.ptx` and `library.ptx` in the folder.
pub(super) fn parts(folder: &Folder) -> [Vec<u8>; 2] {
    let app = "int twice(int);
        kernel void saxpy(float a, global const float *x, global float *y) { y[0] = a * x[twice(3)]; }";
    let library = "int twice(int n) { return 2 * n; }";
    [("app", app), ("library", library)]
        .map(|(name, source)| std::fs::read(folder.ptx(name, source, "sm_80", "83")).unwrap())
}

/// Links programs of code, and says what kernels there are or why there are none.
fn link(device: &Device, codes: &[&[u8]]) -> Result<Vec<String>, String> {
    let context = Context::new(&[device]).unwrap();
    let programs = codes.iter().map(|code| {
        let program = context.program_with_binary(device, code).unwrap();
        program.compile("").unwrap();
        program
    });
    let programs: Vec<_> = programs.collect();
    let all: Vec<_> = programs.iter().collect();
    let linked = context.link(&all, "").map_err(|error| error.to_string())?;
    linked.kernel("saxpy").map_err(|error| error.to_string())?;
    Ok(linked.kernel_names().unwrap())
}

#[test]
fn ptx_is_linked() {
    need!("clang-22");
    if !is_inside("link::ptx_is_linked", &[], &[]) {
        return;
    }
    let [app, library] = parts(&Folder::new());
    let (stand_in, device) = (StandIn::new(), devices().remove(0));
    assert_eq!(link(&device, &[&app, &library]).unwrap(), ["saxpy"]);
    let alone = link(&device, &[&app]).unwrap_err();
    assert!(alone.contains("Undefined reference to 'twice'"), "{alone}");
    assert_eq!(stand_in.live(), "");
}

#[test]
fn cubins_are_linked_with_each_other_and_with_ptx() {
    need!("clang-22");
    let Some(cuda) = Cuda::get() else { return };
    if !is_inside("link::cubins_are_linked_with_each_other_and_with_ptx", &[], &[]) {
        return;
    }
    let folder = Folder::new();
    let ptx = parts(&folder);
    let cubins = ["app", "library"].map(|name| {
        let (from, to) = (format!("{name}.ptx"), format!("{name}.cubin"));
        cuda.cubin(&folder, &from, "sm_90", &to, &["-c"]);
        folder.read(&to)
    });
    let (stand_in, device) = (StandIn::new(), devices().remove(0));
    for [app, library] in [
        [&cubins[0], &cubins[1]],
        [&cubins[0], &ptx[1]],
        [&ptx[0], &cubins[1]],
    ] {
        assert_eq!(link(&device, &[app, library]).unwrap(), ["saxpy"]);
    }
    let alone = link(&device, &[&cubins[0]]).unwrap_err();
    assert!(alone.contains("Undefined reference to 'twice'"), "{alone}");
    // Machine code that is whole cannot be linked any more.
    cuda.cubin(&folder, "library.ptx", "sm_90", "whole.cubin", &[]);
    let whole = link(&device, &[&cubins[0], &folder.read("whole.cubin")]).unwrap_err();
    assert!(whole.contains("not relocatable"), "{whole}");
    assert_eq!(stand_in.live(), "");
}
