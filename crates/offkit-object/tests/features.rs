//! What does not depend on how the crate is built: without a kind of compression, what needs it is not passed over.
//!
//! The other tests are about the whole crate and need its default features; these run with any. All streams are
//! written by hand and hold their content as it is, so that nothing has to compress it.

use offkit_object::{Compression, Error, ErrorKind, ImageFormat, Limits, Storage, read};

const PTX: &[u8] = b".version 8.4\n.target sm_90\n.address_size 64\n\0";

/// Data in one stored block of zlib.
fn zlib(data: &[u8]) -> Vec<u8> {
    let size = u16::try_from(data.len()).unwrap();
    let (a, b) = data.iter().fold((1_u32, 0_u32), |(a, b), byte| {
        let a = (a + u32::from(*byte)) % 65521;
        (a, (b + a) % 65521)
    });
    let mut out = vec![0x78, 0x01, 0x01];
    out.extend(size.to_le_bytes());
    out.extend((!size).to_le_bytes());
    out.extend(data);
    out.extend((b << 16 | a).to_be_bytes());
    out
}

/// Data in one raw block of a zstd frame that tells its size.
fn zstd(data: &[u8]) -> Vec<u8> {
    let mut out = vec![0x28, 0xb5, 0x2f, 0xfd, 0x20, u8::try_from(data.len()).unwrap()];
    let last_and_raw = u32::try_from(data.len()).unwrap() << 3 | 1;
    out.extend(&last_and_raw.to_le_bytes()[..3]);
    out.extend(data);
    out
}

/// Data as the literals of an LZ4 block.
fn lz4(data: &[u8]) -> Vec<u8> {
    let mut out = vec![0xf0, u8::try_from(data.len() - 15).unwrap()];
    out.extend(data);
    out
}

/// A bundle with one image, in binary form.
fn bundle() -> Vec<u8> {
    let id = "cuda-nvptx64-nvidia-cuda--sm_90";
    let start = 24 + 8 + 24 + id.len();
    let mut out = b"__CLANG_OFFLOAD_BUNDLE__".to_vec();
    for number in [1, start, PTX.len(), id.len()] {
        out.extend((number as u64).to_le_bytes());
    }
    out.extend(id.as_bytes());
    out.extend(PTX);
    out
}

/// The header of a compressed bundle of version 2, and the stream.
fn compressed_bundle(method: u16, stream: &[u8]) -> Vec<u8> {
    let mut out = b"CCOB\x02\0".to_vec();
    out.extend(method.to_le_bytes());
    out.extend((24 + stream.len() as u32).to_le_bytes());
    out.extend((bundle().len() as u32).to_le_bytes());
    out.extend([0; 8]);
    out.extend(stream);
    out
}

/// A fatbin with PTX in an LZ4 block.
fn fatbin(stream: &[u8]) -> Vec<u8> {
    let room = stream.len().next_multiple_of(8);
    let mut entry = [0; 64];
    entry[0] = 1;
    entry[2..6].copy_from_slice(&[1, 1, 64, 0]);
    entry[8] = u8::try_from(room).unwrap();
    entry[16] = u8::try_from(stream.len()).unwrap();
    entry[28] = 90;
    entry[40..42].copy_from_slice(&[0x11, 0x20]);
    entry[56] = u8::try_from(PTX.len()).unwrap();
    let mut out = vec![0x50, 0xed, 0x55, 0xba, 1, 0, 16, 0];
    out.extend((64 + room as u64).to_le_bytes());
    out.extend(entry);
    out.extend(stream);
    out.resize(16 + 64 + room, 0);
    out
}

fn assert_names_the_feature(error: &Error, feature: &str) {
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    let expected = format!("offkit-object with its feature `{feature}`");
    assert!(error.to_string().contains(&expected), "{error}");
}

#[test]
fn containers_that_cannot_be_decompressed_are_problems_that_name_the_feature() {
    let zlib = (zlib(&bundle()), 0, "zlib", cfg!(feature = "zlib"));
    let zstd = (zstd(&bundle()), 1, "zstd", cfg!(feature = "zstd"));
    for (stream, method, feature, is_there) in [zlib, zstd] {
        let file = compressed_bundle(method, &stream);
        let contents = read("kernels.hipfb", &file, &Limits::default());
        if is_there {
            assert!(contents.problems.is_empty(), "{:?}", contents.problems);
            let [image] = contents.images.as_slice() else {
                panic!("{:?}", contents.images)
            };
            assert_eq!(image.bytes().unwrap(), PTX);
        } else {
            assert!(contents.images.is_empty());
            let [problem] = contents.problems.as_slice() else {
                panic!("{:?}", contents.problems)
            };
            assert_names_the_feature(&problem.error, feature);
        }
    }
}

#[test]
fn images_that_cannot_be_decompressed_are_listed_and_their_bytes_are_an_error() {
    let file = fatbin(&lz4(PTX));
    let contents = read("kernels.fatbin", &file, &Limits::default());
    assert!(contents.problems.is_empty(), "{:?}", contents.problems);
    let [image] = contents.images.as_slice() else {
        panic!("{:?}", contents.images)
    };
    assert_eq!(image.location.to_string(), "kernels.fatbin!0/0");
    assert_eq!(image.format, ImageFormat::Ptx);
    assert_eq!(image.target.arch, "sm_90");
    assert_eq!(image.storage(), Storage::Compressed(Compression::Lz4));
    match image.bytes() {
        Ok(bytes) => assert!(cfg!(feature = "lz4") && bytes == PTX),
        Err(error) if cfg!(feature = "lz4") => panic!("{error}"),
        Err(error) => assert_names_the_feature(&error, "lz4"),
    }
}
