//! Code that devices run as it is.

use super::*;

#[test]
fn amdgpu_code_objects_tell_their_target_and_kernels() {
    need!("clang");
    let folder = Folder::new();
    let cases = [
        ("gfx900", "4", "gfx900"),
        ("gfx90a:xnack+", "4", "gfx90a:xnack+"),
        ("gfx90a:sramecc-:xnack+", "5", "gfx90a:sramecc-:xnack+"),
        ("gfx908:sramecc+:xnack-", "6", "gfx908:sramecc+:xnack-"),
        ("gfx1100", "5", "gfx1100"),
        ("gfx11-generic", "6", "gfx11-generic"),
    ];
    for (processor, version, arch) in cases {
        let options =
            format!("--target=amdgcn-amd-amdhsa -mcpu={processor} -mcode-object-version={version} -O1");
        let bytes = compile(&folder, AMDGPU, &options, "kernels.hsaco");
        let inspection = look(&bytes);
        assert_eq!(inspection.problems, []);
        assert_eq!(inspection.target.triple, "amdgcn-amd-amdhsa");
        assert_eq!(inspection.target.arch_with_features(), arch);
        assert_eq!(header_target(&bytes, ImageFormat::Amdgpu), inspection.target);
        assert_eq!(inspection.version.as_deref(), Some(version));
        assert!(
            inspection
                .producer
                .as_ref()
                .is_some_and(|producer| producer.contains("clang version 22"))
        );
        assert_eq!(names(&inspection), ["saxpy", "reduce"]);
        let target = inspection
            .details
            .iter()
            .find(|detail| detail.name == "target id")
            .unwrap();
        assert_eq!(target.value.to_string(), format!("amdgcn-amd-amdhsa--{arch}"));

        // Every number is where LLVM's own dump of the metadata has it.
        let dump = folder.run("llvm-readobj --notes kernels.hsaco");
        let numbers = |key: &str| -> Vec<String> {
            let lines = dump
                .lines()
                .filter_map(|line| line.trim_start_matches([' ', '-']).strip_prefix(key));
            lines.map(|value| value.trim().to_owned()).collect()
        };
        for (name, key) in [
            ("argument bytes", ".kernarg_segment_size:"),
            ("local memory", ".group_segment_fixed_size:"),
            ("vector registers", ".vgpr_count:"),
            ("scalar registers", ".sgpr_count:"),
            ("wavefront size", ".wavefront_size:"),
        ] {
            let found: Vec<_> = inspection
                .kernels
                .iter()
                .flat_map(|kernel| &kernel.details)
                .filter(|detail| detail.name == name)
                .map(|detail| detail.value.to_string())
                .collect();
            assert_eq!(found, numbers(key), "{name}");
        }
        let reduce = facts(&inspection, "reduce");
        assert!(reduce.contains(&"local memory: 256".to_owned()), "{reduce:?}");
        assert!(
            reduce.contains(&"required work-group size: 64 x 1 x 1".to_owned()),
            "{reduce:?}"
        );
        assert!(
            facts(&inspection, "saxpy")
                .contains(&"arguments: by_value 4, global_buffer 8, global_buffer 8".to_owned())
        );
    }
}

#[test]
fn every_amdgpu_processor_of_llvm_is_known_by_its_number() {
    need!("llc", "llvm-mc");
    let folder = Folder::new();
    folder.write("empty.s", "");
    // The list comes on standard error.
    folder.write(
        "processors.sh",
        "PATH=/usr/lib/llvm-22/bin:$PATH; exec llc -march=amdgcn -mcpu=help </dev/null 2>&1",
    );
    let help = folder.run("sh processors.sh");
    let mut known = 0;
    for line in help.lines().filter(|line| line.contains(" - Select the gfx")) {
        let processor = line.split_whitespace().next().unwrap();
        folder.run(&format!(
            "llvm-mc -triple=amdgcn-amd-amdhsa -mcpu={processor} -filetype=obj empty.s -o out.o"
        ));
        let bytes = folder.read("out.o");
        assert_eq!(header_target(&bytes, ImageFormat::Amdgpu).arch, processor);
        known += 1;
    }
    assert!(known > 40, "{help}");
}

#[test]
fn cubins_of_both_layouts_tell_their_target_and_kernels() {
    for (arch, bytes) in CUBINS {
        let inspection = look(bytes);
        assert_eq!(inspection.problems, []);
        assert_eq!(
            inspection.target.to_string(),
            format!("nvptx64-nvidia-cuda-{arch}")
        );
        assert_eq!(header_target(bytes, ImageFormat::Cubin), inspection.target);
        assert_eq!(names(&inspection), ["reduce", "saxpy"]);
        let relocatable = arch == "sm_80";
        assert_eq!(
            inspection.exports,
            if relocatable { &["thrice"][..] } else { &[] }
        );
        // As `cuobjdump -res-usage` has them.
        let (registers, shared) = if relocatable { (24, 256) } else { (10, 1280) };
        let reduce = facts(&inspection, "reduce");
        assert!(reduce.contains(&format!("registers: {registers}")), "{reduce:?}");
        assert!(reduce.contains(&format!("shared memory: {shared}")), "{reduce:?}");
        let mut saxpy = facts(&inspection, "saxpy");
        // Not every kind of code says it.
        saxpy.retain(|fact| fact != "spilled bytes: 0");
        assert_eq!(
            saxpy,
            [
                "argument sizes: 4, 8, 8",
                "argument bytes: 24",
                "code size: 384",
                "registers: 10",
                "shared memory: 0",
                "stack: 0",
                "maximum block size: 128 x 1 x 1"
            ]
        );
    }
    let producer = look(CUBINS[3].1).producer;
    assert_eq!(
        producer.as_deref(),
        Some("ptxas, Cuda compilation tools, release 13.5, V13.5.37")
    );
}

#[test]
fn the_source_of_the_cubins_has_the_same_kernels() {
    let inspection = look(include_bytes!("../data/inspect/kernels.ptx"));
    assert_eq!(names(&inspection), ["saxpy", "reduce"]);
    assert_eq!(inspection.exports, ["thrice"]);
    assert_eq!(
        facts(&inspection, "saxpy"),
        ["argument sizes: 4, 8, 8", "maximum block size: 128 x 1 x 1"]
    );
}

#[test]
fn zebin_tells_its_device_and_kernels() {
    let Some(bytes) = zebin() else { return };
    assert_eq!(ImageFormat::detect(&bytes), ImageFormat::Zebin);
    let inspection = look(&bytes);
    assert_eq!(inspection.problems, []);
    assert_eq!(inspection.version.as_deref(), Some("1.53"));
    assert_eq!(inspection.target.arch, "12.60.7");
    assert_eq!(names(&inspection), ["saxpy"]);
    assert_eq!(
        facts(&inspection, "saxpy"),
        [
            "registers: 128",
            "SIMD width: 32",
            "required work-group size: [ 64, 1, 1 ]",
            "arguments: value 4, pointer 8",
            "code size: 4"
        ]
    );
    assert_eq!(inspection.exports, ["helper"]);
    assert_eq!(inspection.imports, ["elsewhere"]);
}

#[test]
fn a_target_is_read_from_the_first_sections_of_a_cubin_only() {
    let (_, whole) = CUBINS[3];
    let number = |at: usize, size: usize| {
        let bytes = whole[at..at + size].iter().rev();
        bytes.fold(0_usize, |number, byte| number << 8 | usize::from(*byte))
    };
    let (headers, count) = (number(40, 8), number(60, 2));
    let header = |number: usize| &whole[headers + number * 64..][..64];
    for (more, arch) in [(100, "sm_90a"), (5000, "sm_90")] {
        let mut bytes = whole.to_vec();
        bytes[40..48].copy_from_slice(&(whole.len() as u64).to_le_bytes());
        bytes[60..62].copy_from_slice(&((count + more) as u16).to_le_bytes());
        bytes.extend((0..4).flat_map(header));
        bytes.extend((0..more).flat_map(|_| header(4)));
        bytes.extend((4..count).flat_map(header));
        assert_eq!(header_target(&bytes, ImageFormat::Cubin).arch, arch);
        assert_eq!(look(&bytes).target.arch, "sm_90a");
    }
}
