//! Offload bundles: against LLVM 22's own bundler, damaged, and round trips.

#![cfg(feature = "default")]

mod common;

use std::path::Path;
use std::process::Command;

use common::limits;
use offkit_object::bundle::{Bundle, BundleEntry, Comment, CompressedBundle, CompressedVersion, is_text};
use offkit_object::{Compression, ContainerKind, Contents, Producer};
use proptest::prelude::*;

const HOST: &str = "host-x86_64-unknown-linux-gnu-";
const GFX: &str = "hipv4-amdgcn-amd-amdhsa--gfx90a:xnack+";
const SM: &str = "openmp-nvptx64-nvidia-cuda-unknown-sm_60";

const VERSIONS: [CompressedVersion; 3] = [
    CompressedVersion::V1,
    CompressedVersion::V2,
    CompressedVersion::V3,
];

/// The name of LLVM 22's bundler, or `None` after saying that the test is skipped.
#[expect(clippy::print_stderr, reason = "a skipped test says so")]
fn bundler() -> Option<String> {
    let found = [
        "clang-offload-bundler-22",
        "/usr/lib/llvm-22/bin/clang-offload-bundler",
    ]
    .into_iter()
    .find(|name| {
        let output = Command::new(name).arg("--version").output();
        output.is_ok_and(|output| String::from_utf8_lossy(&output.stdout).contains("version 22"))
    });
    if found.is_none() {
        assert!(
            std::env::var("OFFKIT_REQUIRE_TOOLS").as_deref() != Ok("1"),
            "clang-offload-bundler of LLVM 22 is required and missing"
        );
        eprintln!("SKIPPED: clang-offload-bundler of LLVM 22 is missing");
    }
    found.map(str::to_owned)
}

fn run(program: &str, arguments: &[String], directory: &Path) {
    let output = Command::new(program)
        .args(arguments)
        .current_dir(directory)
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{arguments:?}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
}

/// Bundles the entries with the real tool.
fn bundle_with(tool: &str, directory: &Path, options: &[&str], bundle: &Bundle<'_>) -> Vec<u8> {
    let ids: Vec<&str> = bundle.entries.iter().map(|entry| &*entry.id).collect();
    let mut arguments: Vec<String> = options.iter().map(|option| (*option).to_owned()).collect();
    arguments.push(format!("-targets={}", ids.join(",")));
    for (index, entry) in bundle.entries.iter().enumerate() {
        std::fs::write(directory.join(index.to_string()), &entry.bytes).unwrap();
        arguments.push(format!("-input={index}"));
    }
    arguments.push("-output=out".to_owned());
    run(tool, &arguments, directory);
    std::fs::read(directory.join("out")).unwrap()
}

/// What the real tool gets out of a file for these IDs.
fn unbundle_with(tool: &str, directory: &Path, file_type: &str, file: &[u8], ids: &[&str]) -> Vec<Vec<u8>> {
    std::fs::write(directory.join("in"), file).unwrap();
    let mut arguments = vec![
        format!("-type={file_type}"),
        "-unbundle".to_owned(),
        "-input=in".to_owned(),
        format!("-targets={}", ids.join(",")),
    ];
    arguments.extend((0..ids.len()).map(|index| format!("-output={index}")));
    run(tool, &arguments, directory);
    let read = |index: usize| std::fs::read(directory.join(index.to_string())).unwrap();
    (0..ids.len()).map(read).collect()
}

fn bundle<'data>(entries: &[(&'data str, &'data [u8])]) -> Bundle<'data> {
    Bundle {
        entries: entries
            .iter()
            .map(|(id, bytes)| BundleEntry::new(*id, *bytes))
            .collect(),
    }
}

fn samples() -> Vec<Bundle<'static>> {
    vec![
        bundle(&[
            (HOST, b"host"),
            (GFX, b"BC\xc0\xde code"),
            (SM, b"//\n.version 7.8\n"),
        ]),
        bundle(&[(HOST, b""), (GFX, b"BC\xc0\xde"), (SM, b"")]),
        bundle(&[(GFX, b"alone")]),
        bundle(&[
            (SM, b"first"),
            (HOST, b"a longer text of the host's, but not very long"),
        ]),
    ]
}

fn read(bytes: &[u8]) -> Contents<'_> {
    offkit_object::read("f", bytes, &limits())
}

#[test]
fn binary_bundles_are_written_byte_for_byte_as_llvm_writes_them() {
    let Some(tool) = bundler() else { return };
    let directory = tempfile::tempdir().unwrap();
    for sample in samples() {
        for alignment in [1, 3, 8, 64, 4096] {
            let align = format!("-bundle-align={alignment}");
            let theirs = bundle_with(&tool, directory.path(), &["-type=bc", &align], &sample);
            assert_eq!(sample.write(alignment).unwrap(), theirs, "aligned to {alignment}");
            assert_eq!(Bundle::parse(&theirs, &limits()).unwrap(), sample);
        }
    }
}

#[test]
fn text_bundles_are_written_byte_for_byte_as_llvm_writes_them() {
    let Some(tool) = bundler() else { return };
    let directory = tempfile::tempdir().unwrap();
    for sample in samples() {
        for (file_type, comment) in [
            ("ii", Comment::Slashes),
            ("s", Comment::Hash),
            ("ll", Comment::Semicolon),
        ] {
            let option = format!("-type={file_type}");
            let theirs = bundle_with(&tool, directory.path(), &[&option], &sample);
            assert_eq!(sample.write_text(comment).unwrap(), theirs, "{file_type}");
            assert!(is_text(&theirs));
            assert_eq!(Bundle::parse_text(&theirs, &limits()).unwrap(), sample);
        }
    }
}

#[test]
fn compressed_bundles_are_read_by_llvm_and_from_llvm() {
    let Some(tool) = bundler() else { return };
    let directory = tempfile::tempdir().unwrap();
    let sample = &samples()[0];
    let content = sample.write(1).unwrap();
    let theirs = bundle_with(&tool, directory.path(), &["-type=bc", "-compress"], sample);
    let ours = CompressedBundle::write(&content, CompressedVersion::V3, Compression::Zstd, None).unwrap();
    let theirs_read = CompressedBundle::parse(&theirs).unwrap();
    let ours_read = CompressedBundle::parse(&ours).unwrap();
    assert_eq!(theirs_read.decompress(&limits()).unwrap(), content);
    assert_eq!(theirs_read.hash, ours_read.hash);
    assert_eq!(theirs_read.content_size, ours_read.content_size);
    assert_eq!(theirs_read.file_size, Some(theirs.len() as u64));
    assert_eq!(ours_read.file_size, Some(ours.len() as u64));

    let ids = [HOST, GFX, SM];
    let images: Vec<_> = sample.entries.iter().map(|entry| entry.bytes.to_vec()).collect();
    for version in VERSIONS {
        for compression in [Compression::Zlib, Compression::Zstd] {
            let file = CompressedBundle::write(&content, version, compression, None).unwrap();
            let got = unbundle_with(&tool, directory.path(), "bc", &file, &ids);
            assert_eq!(got, images, "{version} {compression}");
        }
    }
}

#[test]
fn entries_become_images_with_target_and_producer() {
    let file = samples()[0].write(4096).unwrap();
    let contents = read(&file);
    assert_eq!(contents.problems, []);
    assert_eq!(contents.container, ContainerKind::Bundle);
    let [host, gfx, sm] = contents.images.as_slice() else {
        panic!("{:?}", contents.images)
    };
    assert_eq!(host.producer, Producer::Host);
    assert_eq!(host.target.triple, "x86_64-unknown-linux-gnu");
    assert_eq!(gfx.location.to_string(), "f!0/gfx90a:xnack+");
    assert_eq!(gfx.target.to_string(), "amdgcn-amd-amdhsa-gfx90a:xnack+");
    assert_eq!(gfx.producer, Producer::Hip);
    assert_eq!(*gfx.bytes().unwrap(), *b"BC\xc0\xde code");
    assert_eq!(sm.target.to_string(), "nvptx64-nvidia-cuda-sm_60");
    assert_eq!(sm.producer, Producer::OpenMp);
}

#[test]
fn a_sequence_of_bundles_is_read_as_linkers_leave_it() {
    let content = samples()[0].write(1).unwrap();
    let mut file = vec![0; 16];
    for (number, version) in VERSIONS.into_iter().enumerate() {
        let compression = [Compression::Zstd, Compression::Zlib][number % 2];
        file.extend(CompressedBundle::write(&content, version, compression, None).unwrap());
        file.resize(file.len().next_multiple_of(4096), 0);
        file.extend(&content);
        file.resize(file.len().next_multiple_of(4096), 0);
    }
    // A file that begins with zeros says nothing of itself: sections do.
    let contents = read(&file[16..]);
    assert_eq!(contents.problems, []);
    let locations: Vec<_> = contents
        .images
        .iter()
        .map(|image| image.location.to_string())
        .collect();
    assert_eq!(locations.len(), 6 * 3);
    for number in 0..6 {
        assert_eq!(locations[number * 3 + 1], format!("f!{number}/gfx90a:xnack+"));
        assert_eq!(
            *contents.images[number * 3 + 1].bytes().unwrap(),
            *b"BC\xc0\xde code"
        );
    }
    let all = Bundle::parse_all(&file, &limits()).unwrap();
    assert_eq!(all.len(), 6);
    assert!(all.iter().all(|bundle| *bundle == samples()[0]));
}

#[test]
fn text_bundles_are_containers_of_their_own() {
    let file = bundle(&[(HOST, b"BC\xc0\xde host"), (GFX, b"BC\xc0\xde device")])
        .write_text(Comment::Slashes)
        .unwrap();
    let contents = read(&file);
    assert_eq!(contents.container, ContainerKind::TextBundle);
    assert_eq!(contents.problems, []);
    assert_eq!(contents.images[1].location.to_string(), "f!gfx90a:xnack+");
    assert_eq!(*contents.images[1].bytes().unwrap(), *b"BC\xc0\xde device");
}

#[test]
fn a_text_that_holds_a_marker_is_not_written() {
    let inner = bundle(&[(HOST, b"x")]).write_text(Comment::Hash).unwrap();
    let outer = bundle(&[(HOST, &inner)]);
    assert!(
        outer
            .write_text(Comment::Hash)
            .unwrap_err()
            .to_string()
            .contains("marker of its own")
    );
    let file = outer.write_text(Comment::Slashes).unwrap();
    assert_eq!(Bundle::parse_text(&file, &limits()).unwrap(), outer);
}

#[test]
fn headers_that_do_not_fit_are_errors_with_offset_and_field() {
    let good = samples()[0].write(1).unwrap();
    let error = |bytes: &[u8]| Bundle::parse(bytes, &limits()).unwrap_err().to_string();
    assert_eq!(
        error(&good[..40]),
        "offset 0x20: offload bundle has a header that does not fit (entry 0 of 3, offset, size and ID length): \
         expected to end at or before 0x28, found an end at 0x38"
    );
    let mut bytes = good.clone();
    common::put_u64(&mut bytes, 24, u64::MAX);
    assert!(
        error(&bytes).contains("entry 3 of 18446744073709551615"),
        "{}",
        error(&bytes)
    );
    let mut bytes = good.clone();
    common::put_u64(&mut bytes, 32, u64::MAX - 1);
    let text = error(&bytes);
    assert!(
        text.contains("image outside of the file (entry 0, image)"),
        "{text}"
    );
    // The other entries are still read.
    let contents = read(&bytes);
    assert_eq!((contents.images.len(), contents.problems.len()), (2, 1));
    let text = samples()[0].write_text(Comment::Hash).unwrap();
    let cut = Bundle::parse_text(&text[..text.len() - 60], &limits())
        .unwrap_err()
        .to_string();
    assert!(cut.contains("cut off (entry 2)"), "{cut}");
}

#[test]
fn a_small_file_cannot_claim_much() {
    let content = samples()[0].write(1).unwrap();
    let mut file = CompressedBundle::write(&content, CompressedVersion::V3, Compression::Zstd, None).unwrap();
    common::put_u64(&mut file, 16, 1 << 60);
    let contents = read(&file);
    assert_eq!(contents.images.len(), 0);
    assert!(
        contents.problems[0]
            .to_string()
            .contains("too much compressed data"),
        "{:?}",
        contents.problems
    );
}

/// Every form in small.
fn small_files() -> Vec<Vec<u8>> {
    let binary = samples()[0].write(8).unwrap();
    let mut files = vec![binary.clone()];
    for version in VERSIONS {
        files.push(CompressedBundle::write(&binary, version, Compression::Zstd, None).unwrap());
        files.push(CompressedBundle::write(&binary, version, Compression::Zlib, None).unwrap());
    }
    files.push([files[1].clone(), binary, files[4].clone()].concat());
    files.push(samples()[0].write_text(Comment::Semicolon).unwrap());
    files
}

#[test]
fn truncation_is_noticed_and_gives_no_half_images() {
    for file in small_files() {
        let whole = read(&file);
        assert_eq!(whole.problems, []);
        for length in 0..file.len() {
            let cut = read(&file[..length]);
            assert!(cut.images.len() <= whole.images.len());
            for image in &cut.images {
                assert!(
                    whole
                        .images
                        .iter()
                        .any(|other| other.bytes().unwrap() == image.bytes().unwrap()),
                    "cut to {length}: {}",
                    image.location
                );
            }
        }
        // Between two bundles nothing is missed, and not before the end of the next marker in a text.
        let harmless = if is_text(&file) { 100 } else { 2 };
        let unnoticed = (1..file.len()).filter(|length| read(&file[..*length]).problems.is_empty());
        assert!(unnoticed.count() <= harmless);
    }
}

#[test]
fn no_flipped_bit_is_a_panic() {
    for mut file in small_files() {
        for position in 0..file.len() {
            for bit in 0..8 {
                file[position] ^= 1 << bit;
                let contents = read(&file);
                assert!(contents.images.len() <= 32);
                let _ = Bundle::parse_all(&file, &limits());
                let _ = Bundle::parse_text(&file, &limits());
                file[position] ^= 1 << bit;
            }
        }
    }
}

fn any_bundle() -> impl Strategy<Value = Bundle<'static>> {
    let entry = (
        "[a-z0-9:+-]{0,40}",
        proptest::collection::vec(any::<u8>(), 0..200),
    )
        .prop_map(|(id, bytes)| BundleEntry::new(id, bytes));
    proptest::collection::vec(entry, 0..6).prop_map(|entries| Bundle { entries })
}

proptest! {
    #[test]
    fn what_is_written_is_read(bundle in any_bundle(), alignment in 1_u64..200) {
        let file = bundle.write(alignment).unwrap();
        prop_assert_eq!(&Bundle::parse(&file, &limits()).unwrap(), &bundle);
        let text = bundle.write_text(Comment::Hash).unwrap();
        prop_assert_eq!(&Bundle::parse_text(&text, &limits()).unwrap(), &bundle);
        for version in VERSIONS {
            let packed = CompressedBundle::write(&file, version, Compression::Zstd, None).unwrap();
            let read = CompressedBundle::parse(&packed).unwrap();
            prop_assert_eq!(read.decompress(&limits()).unwrap(), file.clone());
        }
    }
}
