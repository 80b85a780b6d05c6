//! OpenCL's drivers.

use super::*;

#[test]
fn opencl_drivers_that_are_listed_and_not_there_are_named() {
    let machine = Machine {
        folder: Folder::new(),
    };
    let folder = &machine.folder;
    std::fs::create_dir(folder.path("vendors")).expect("a folder");
    folder.write("vendors/intel.icd", "/opt/nowhere/libintelocl.so\n");
    folder.write("vendors/libc.icd", "libc.so.6\n");
    let vendors = folder.path("vendors").display().to_string();
    let findings = machine.findings("OpenCL drivers", &[("OCL_ICD_VENDORS", &vendors)]);
    says(
        &findings,
        "/opt/nowhere/libintelocl.so",
        "problem",
        &[
            "intel.icd",
            "is not there",
            "Install the Python package intel-opencl-rt",
        ],
    );
    says(&findings, "libc.so.6", "ok", &[]);
}
