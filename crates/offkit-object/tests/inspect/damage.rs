//! Images that are not as they should be.

use super::*;

/// One small image of each format.
fn samples() -> Vec<(&'static str, Vec<u8>)> {
    let mut samples: Vec<_> = CUBINS
        .iter()
        .map(|(_, bytes)| ("cubin", bytes.to_vec()))
        .collect();
    samples.push(("PTX", include_bytes!("../data/inspect/kernels.ptx").to_vec()));
    samples.push(("old bitcode", old_bitcode::bytes()));
    samples.extend(zebin().map(|bytes| ("zebin", bytes)));
    if tools::is_there("clang") {
        let folder = Folder::new();
        for (name, options) in [
            ("SPIR-V", "--target=spirv64 -c"),
            ("bitcode", "--target=spirv64 -emit-llvm -c"),
            ("AMDGPU", "--target=amdgcn-amd-amdhsa -mcpu=gfx90a"),
        ] {
            let options = format!("{options} -O1");
            samples.push((name, compile(&folder, AMDGPU, &options, "image")));
        }
    }
    samples
}

#[test]
fn without_details_the_rest_is_the_same() {
    let limits = Limits::default();
    for (name, bytes) in samples() {
        let format = ImageFormat::detect(&bytes);
        for length in (0..bytes.len()).step_by(97).chain([bytes.len()]) {
            let part = &bytes[..length];
            let (mut whole, mut brief) = (
                inspect(part, format, &limits),
                inspect_for_resources(part, format, &limits),
            );
            assert!(brief.details.is_empty(), "{name}");
            whole.details.clear();
            for kernel in whole.kernels.iter_mut().chain(&mut brief.kernels) {
                kernel.details.clear();
            }
            assert_eq!(whole, brief, "{name} cut to {length}");
        }
    }
}

#[test]
fn every_truncation_shows_no_more_than_the_whole() {
    for (name, bytes) in samples() {
        let format = ImageFormat::detect(&bytes);
        let whole = look(&bytes);
        assert_eq!(whole.problems, [], "{name}");
        let known = sorted(whole.kernel_names());
        for length in 0..bytes.len() {
            let part = inspect(&bytes[..length], format, &Limits::default());
            assert!(
                sorted(part.kernel_names()).is_subset(&known),
                "{name} cut to {length}: {part:#?}"
            );
            let _ = header_target(&bytes[..length], format);
        }
    }
}

#[test]
fn every_flipped_bit_is_harmless() {
    for (name, mut bytes) in samples() {
        let format = ImageFormat::detect(&bytes);
        let limits = Limits::default();
        // All bits of small images, and of larger ones two of each byte.
        let step = if bytes.len() < 3000 { 1 } else { 4 };
        for position in 0..bytes.len() {
            for bit in (position % step..8).step_by(step) {
                bytes[position] ^= 1 << bit;
                let inspection = inspect(&bytes, format, &limits);
                assert!(
                    inspection.kernels.len() <= bytes.len(),
                    "{name} {position:#x}.{bit}"
                );
                assert!(inspection.problems.len() <= limits.max_problems);
                bytes[position] ^= 1 << bit;
            }
        }
    }
}

/// Many symbols with the same endless name.
#[test]
fn work_is_bounded_where_everything_refers_to_the_same_bytes() {
    let count = 20_000_usize;
    let name_size = 400_000_usize;
    let mut bytes = vec![0; 64];
    bytes[..16].copy_from_slice(b"\x7fELF\x02\x01\x01\x40\x03\0\0\0\0\0\0\0");
    bytes[18] = 224;
    let symbols = bytes.len();
    for _ in 0..count {
        let mut symbol = [0_u8; 24];
        symbol[0] = 1;
        symbol[4] = 0x11;
        symbol[6] = 1;
        bytes.extend(symbol);
    }
    let strings = bytes.len();
    bytes.push(0);
    bytes.extend(vec![b'x'; name_size]);
    bytes.push(0);
    let table = bytes.len();
    let mut section = |kind: u32, at: usize, size: usize, link: u32| {
        let mut header = [0_u8; 64];
        header[4..8].copy_from_slice(&kind.to_le_bytes());
        header[24..32].copy_from_slice(&(at as u64).to_le_bytes());
        header[32..40].copy_from_slice(&(size as u64).to_le_bytes());
        header[40..44].copy_from_slice(&link.to_le_bytes());
        bytes.extend(header);
    };
    section(0, 0, 0, 0);
    section(2, symbols, count * 24, 2);
    section(3, strings, name_size + 2, 0);
    bytes[40..48].copy_from_slice(&(table as u64).to_le_bytes());
    bytes[58..64].copy_from_slice(&[64, 0, 3, 0, 2, 0]);
    let inspection = look(&bytes);
    let kept: usize = inspection.exports.iter().map(String::len).sum();
    assert!(kept < 9 * bytes.len());
    assert!(
        inspection
            .problems
            .iter()
            .any(|error| error.kind() == offkit_object::ErrorKind::LimitExceeded),
        "{:?}",
        inspection.problems
    );
}

/// One long name for very many symbols, by way of a decoration group.
#[test]
fn a_name_counts_for_each_symbol_that_has_it() {
    let mut linkage = vec![1, 41];
    linkage.extend([u32::from_le_bytes(*b"name"); 10_000]);
    linkage.extend([0, 0]);
    let targets: Vec<u32> = (1..30_000).collect();
    let bytes = assembled(&[(71, &linkage), (73, &[1]), (74, &targets)]);
    let inspection = look(&bytes);
    let kept: usize = inspection.exports.iter().map(String::len).sum();
    assert!((1..9 * bytes.len()).contains(&kept), "{kept}");
    assert!(
        inspection
            .problems
            .iter()
            .any(|error| error.kind() == offkit_object::ErrorKind::LimitExceeded)
    );
}

#[test]
fn the_names_of_an_image_follow_one_rule_in_every_format() {
    let limits = Limits::default();
    for (name, bytes) in samples() {
        let own = look(&bytes);
        let mut image = DeviceImage::new(bytes);
        let symbols = image.symbols(&limits);
        assert!(
            own.kernel_names().eq(symbols.kernels.iter().map(String::as_str)),
            "{name}"
        );
        assert_eq!(
            (&symbols.imports, &symbols.exports),
            (&own.imports, &own.exports),
            "{name}"
        );
        assert!(
            std::ptr::eq(image.inspect(&limits), image.inspect(&limits)),
            "{name} is looked into once"
        );
        // The container's word counts, but what the device supplies is no import.
        image.imports = vec!["_Z22__spirv_ControlBarrierjjj".into(), "scale".into()];
        image.kernels = vec!["told".into()];
        let told = image.symbols(&limits);
        assert_eq!(
            (told.imports, told.exports),
            (vec!["scale".to_owned()], Vec::new()),
            "{name}"
        );
        let is_module = image.format == ImageFormat::Spirv;
        assert_eq!(told.kernels == ["told"], !is_module, "{name}");
    }
}
