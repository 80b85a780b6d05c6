//! SYCLBIN: the property sets of the format itself, as read from all revisions and as refused.

#![cfg(feature = "default")]

mod common;

use common::{SPIRV, SYCLBIN_VERSIONS, limits, program, put_u64, u64_at, v2_after};
use offkit_object::property_set::names;
use offkit_object::{
    AbstractModule, BundleState, Error, ErrorKind, IrModule, IrType, Limits, PropertySets, SyclBin,
    SyclBinVersion, property_set,
};

fn parse(bytes: &[u8]) -> Result<SyclBin<'_>, Error> {
    SyclBin::parse(bytes, &limits())
}

fn text(sets: &PropertySets) -> String {
    property_set::to_text(sets).unwrap()
}

/// The five programs that the reference implementation's own test writes and reads.
/// A version 1 file with these texts as global, abstract module's and IR module's metadata.
fn v1_of(global: &str, module: &str, ir: &str) -> Vec<u8> {
    let mut bytes = SyclBin {
        modules: vec![AbstractModule {
            ir_modules: vec![IrModule::new(IrType::SPIRV, "", SPIRV)],
            ..Default::default()
        }],
        ..SyclBin::new(BundleState::Input)
    }
    .write(SyclBinVersion::V1)
    .unwrap();
    bytes.truncate(56 + 32 + 32);
    let metadata = [global, module, ir].concat();
    put_u64(&mut bytes, 24, metadata.len() as u64);
    put_u64(&mut bytes, 48, global.len() as u64);
    put_u64(&mut bytes, 56, global.len() as u64);
    put_u64(&mut bytes, 64, module.len() as u64);
    put_u64(&mut bytes, 88, (global.len() + module.len()) as u64);
    put_u64(&mut bytes, 96, ir.len() as u64);
    bytes.extend(metadata.bytes());
    bytes.resize(bytes.len().next_multiple_of(8), 0);
    bytes.extend(SPIRV);
    bytes
}

const GLOBAL: &str = "[SYCLBIN/global metadata]\nstate=1|2\n";
const IR: &str = "[SYCLBIN/ir module metadata]\ntype=1|0\n";

#[test]
fn ir_modules_that_repeat_what_others_say_are_read_and_counted_as_these() {
    let spirv = || IrModule::new(IrType::SPIRV, "spir64-unknown-unknown", SPIRV);
    let ptx = || IrModule::new(IrType::PTX, "nvptx64-nvidia-cuda", b"//\n.version 8.0\n");
    let module = |ir_modules| AbstractModule {
        ir_modules,
        ..Default::default()
    };
    let program = SyclBin {
        modules: vec![
            module(vec![spirv(), spirv()]),
            module(vec![spirv()]),
            module(vec![ptx(), spirv()]),
            module(vec![spirv(), ptx()]),
        ],
        ..SyclBin::new(BundleState::Object)
    };
    for version in SYCLBIN_VERSIONS {
        assert_eq!(parse(&program.write(version).unwrap()).unwrap(), program);
    }
    let bytes = program.write(SyclBinVersion::V1).unwrap();
    let metadata = u64_at(&bytes, 24);
    let most = |max_metadata_bytes| Limits {
        max_metadata_bytes,
        ..limits()
    };
    assert!(SyclBin::parse(&bytes, &most(metadata)).is_ok());
    let error = SyclBin::parse(&bytes, &most(metadata - 1)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::LimitExceeded);
}

#[test]
fn metadata_is_read_as_written_by_all_revisions() {
    let bytes = v1_of(GLOBAL, "", IR);
    let program = parse(&bytes).unwrap();
    assert_eq!(program.state, BundleState::Executable);
    assert_eq!(
        program.modules[0].ir_modules[0].target, "",
        "the target came with a later revision"
    );

    let more_global = format!("[first]\n{GLOBAL}future=1|7\n[other]\n");
    let more_ir = format!("{IR}future=1|7\n");
    let bytes = v1_of(&more_global, "", &more_ir);
    let program = parse(&bytes).unwrap();
    assert_eq!(
        text(&program.properties),
        "[first]\n[SYCLBIN/global metadata]\nfuture=1|7\n[other]\n"
    );
    for version in SYCLBIN_VERSIONS {
        let again = program.write(version).unwrap();
        assert_eq!(parse(&again).unwrap(), program, "what is not known is kept");
    }

    let documented = "[SYCLBIN/native device code image module metadata]\narch=2|gAAAAAAAAAQYzFmb\n";
    let bytes = v2_after(|entries| {
        let payload = [
            (documented.len() as u64).to_le_bytes().as_slice(),
            documented.as_bytes(),
            b"code",
        ]
        .concat();
        entries[3].image = payload.into();
    });
    let native = &parse(&bytes).unwrap().modules[0].native_images[0];
    assert_eq!(
        (native.arch.as_str(), native.bytes.as_ref()),
        ("asan", b"code".as_slice())
    );
    assert!(native.properties.is_empty());
}

#[test]
fn metadata_that_does_not_fit_is_refused() {
    let cases = [
        (v1_of("", "", IR), "SYCLBIN has no valid state", "none"),
        (
            v1_of("[SYCLBIN/global metadata]\nstate=1|3\n", "", IR),
            "SYCLBIN has no valid state",
            "3",
        ),
        (
            v1_of("[SYCLBIN/global metadata]\nstate=2|AAAAAAAAAAA\n", "", IR),
            "SYCLBIN has no valid state",
            "bytes",
        ),
        (
            v1_of(GLOBAL, "", ""),
            "SYCLBIN IR module has no valid type",
            "none",
        ),
        (
            v1_of(GLOBAL, "", "[SYCLBIN/ir module metadata]\ntype=1|0\ntarget=1|1\n"),
            "SYCLBIN property 'target' is not text",
            "",
        ),
        (
            v1_of(GLOBAL, GLOBAL, IR),
            "abstract module has a property set of the SYCLBIN format itself",
            "",
        ),
    ];
    for (bytes, message, found) in cases {
        let error = parse(&bytes).unwrap_err();
        assert_eq!(error.message(), message);
        assert_eq!(error.found().unwrap_or_default(), found, "{error}");
        let contents = offkit_object::read("x", &bytes, &limits());
        assert_eq!(contents.images.len(), 1, "the image is still there: {message}");
        assert_eq!(contents.problems.len(), 1);
    }
}

#[test]
fn what_cannot_be_stored_is_refused() {
    let refusals: [fn(&mut SyclBin<'_>); 4] = [
        |program| {
            drop(
                program.modules[1]
                    .properties
                    .insert(names::SYCLBIN_GLOBAL_METADATA, "state", 1),
            )
        },
        |program| drop(program.modules[1].properties.insert("set", "a=b", 1)),
        |program| {
            drop(
                program
                    .properties
                    .insert(names::SYCLBIN_GLOBAL_METADATA, "state", 1),
            )
        },
        |program| {
            drop(program.modules[0].ir_modules[0].properties.insert(
                names::SYCLBIN_IR_MODULE_METADATA,
                "type",
                1,
            ))
        },
    ];
    for (number, change) in refusals.into_iter().enumerate() {
        let mut changed = program();
        change(&mut changed);
        for version in SYCLBIN_VERSIONS {
            assert!(changed.write(version).is_err(), "{number} {version:?}");
        }
    }
}
