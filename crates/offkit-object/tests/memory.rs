//! Memory that small files which describe huge things make the readers take.

#![cfg(feature = "default")]

mod common;

use std::alloc::{GlobalAlloc, Layout, System};
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use offkit_object::host::{NewSection, ObjectFormat, write_object};
use offkit_object::{
    ImageKind, Item, Limits, OffloadBinary, OffloadBinaryVersion, OffloadEntry, OffloadKind, walk,
};

/// Counts what is in use, and the most that was.
struct Counting;

static USED: AtomicUsize = AtomicUsize::new(0);
static MOST: AtomicUsize = AtomicUsize::new(0);

// SAFETY: all is left to the system's allocator; counters are no memory of anybody's.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let used = USED.fetch_add(layout.size(), Relaxed) + layout.size();
        MOST.fetch_max(used, Relaxed);
        // SAFETY: the caller's promises are those that the system's allocator asks for.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        USED.fetch_sub(layout.size(), Relaxed);
        // SAFETY: as above.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

const SIZE: usize = 400_000;
const IMAGE: &[u8] = b"BC\xc0\xde";

fn member(out: &mut Vec<u8>, name: &str, content: &[u8]) {
    let size = content.len();
    out.extend(format!("{name:<16}{:<12}{:<6}{:<6}{:<8}{size:<10}`\n", 0, 0, 0, 644).bytes());
    out.extend_from_slice(content);
    out.resize(out.len().next_multiple_of(2), b'\n');
}

fn archive_of(names: &[u8], members: &[(String, &[u8])]) -> Vec<u8> {
    let mut out = b"!<arch>\n".to_vec();
    member(&mut out, "//", names);
    for (name, content) in members {
        member(&mut out, name, content);
    }
    out
}

/// An ELF object whose section headers, as many as fit, have names that begin one after the other in `names`,
/// with a step between.
fn object(names: &str, step: usize) -> Vec<u8> {
    let format = ObjectFormat::for_triple("x86_64-unknown-linux-gnu").unwrap();
    let mut object = write_object(format, &[NewSection::excluded(names, IMAGE)]).unwrap();
    let headers = u64::from_le_bytes(object[40..48].try_into().unwrap()) as usize;
    let count = u16::from_le_bytes(object[60..62].try_into().unwrap()) as usize;
    let section = (0..count)
        .map(|index| object[headers + index * 64..][..64].to_vec())
        .find(|header| header[32..40] == 4_u64.to_le_bytes())
        .unwrap();
    let first = u32::from_le_bytes(section[..4].try_into().unwrap()) as usize;
    object.truncate(headers + count * 64);
    let more = SIZE / 64;
    for number in 0..more {
        let name = (first + number * step % (names.len() - 2000)) as u32;
        object.extend(name.to_le_bytes());
        object.extend_from_slice(&section[4..]);
    }
    object[60..62].fill(0);
    object[headers + 32..][..8].copy_from_slice(&((count + more) as u64).to_le_bytes());
    object
}

fn bundle(count: usize, id: &[u8]) -> Vec<u8> {
    let mut out = b"__CLANG_OFFLOAD_BUNDLE__".to_vec();
    out.extend((count as u64).to_le_bytes());
    for _ in 0..count {
        for number in [0, 24, id.len() as u64] {
            out.extend(number.to_le_bytes());
        }
        out.extend_from_slice(id);
    }
    out
}

/// AdaptiveCpp's container: many images whose node has a long name.
fn nodes() -> Vec<u8> {
    let mut out = b"object-id=1\ngenerator=hipSYCL SSCP\n".to_vec();
    out.extend_from_slice(b"{.");
    out.resize(SIZE / 16, b'n');
    out.push(b'\n');
    out.extend(b"{.__binary\nstart=0\nsize=0\n}.\n".repeat(1_500));
    out.extend_from_slice(b"__acpp_hcf_binary_appendix");
    out
}

fn files() -> Vec<(&'static str, Vec<u8>)> {
    let member_count = SIZE / 64;
    let slashes = "a/".repeat(SIZE / 4);
    let long: Vec<_> = (0..member_count)
        .map(|number| (format!("/{}", number * 2 % 100_000), IMAGE))
        .collect();
    let short: Vec<_> = (0..member_count).map(|_| ("x/".to_owned(), IMAGE)).collect();
    let inner = archive_of(b"", &short);
    let entry = OffloadEntry::new(ImageKind::NONE, OffloadKind::NONE, IMAGE);
    let entries = vec![entry; SIZE / 40];
    vec![
        ("members with many folders", archive_of(slashes.as_bytes(), &long)),
        (
            "an archive in a member with many folders",
            archive_of(slashes.as_bytes(), &[("/0".to_owned(), &inner)]),
        ),
        (
            "sections of containers",
            object(&".llvm.offloading_".repeat(SIZE / 17), 17),
        ),
        (
            "sections of a bundle",
            object(&"__CLANG_OFFLOAD_BUNDLE__".repeat(SIZE / 24), 24),
        ),
        ("bundle with one ID", bundle(SIZE / 25, b"x")),
        ("bundle without IDs", bundle(SIZE / 24, b"")),
        ("empty bundles", bundle(0, b"").repeat(SIZE / 32)),
        (
            "offload binary",
            OffloadBinary { entries }.write(OffloadBinaryVersion::V2).unwrap(),
        ),
        ("bundle magics", b"CCOB".repeat(SIZE / 4)),
        (
            "texts",
            "# __CLANG_OFFLOAD_BUNDLE____START__ x\n\n# __CLANG_OFFLOAD_BUNDLE____END__ x\n"
                .repeat(SIZE / 75)
                .into(),
        ),
    ]
}

/// The most memory that `work` has at once, besides what there was before.
fn most_of<T>(work: impl FnOnce() -> T) -> usize {
    let before = USED.load(Relaxed);
    MOST.store(before, Relaxed);
    drop(work());
    MOST.load(Relaxed) - before
}

#[test]
fn memory_is_bounded_by_a_multiple_of_the_file() {
    // All in one test: others would be counted too.
    let limits = Limits::default();
    for (name, file) in files() {
        let mut items = 0;
        let walking = most_of(|| {
            let _ = walk("f", &file, None, &limits, &mut |item| {
                items += usize::from(!matches!(item, Item::Problem(_)));
                ControlFlow::Continue(())
            });
        });
        let reading = most_of(|| offkit_object::read("f", &file, &limits));
        let constant = Limits::FREE_METADATA as usize;
        assert!(items > 0, "{name}");
        assert!(
            walking <= 2 * Limits::METADATA_PER_BYTE as usize * file.len() + constant,
            "{name}: walking takes {walking} bytes for {}",
            file.len()
        );
        assert!(
            reading <= 4 * Limits::METADATA_PER_BYTE as usize * file.len() + constant,
            "{name}: reading takes {reading} bytes for {}",
            file.len()
        );
    }
    // Verifying opens what walking hands over, and could keep it.
    let file = nodes();
    let verifying = most_of(|| offkit_object::verify("f", &file, &limits));
    let bound = 2 * Limits::METADATA_PER_BYTE as usize * file.len() + Limits::FREE_METADATA as usize;
    assert!(
        verifying <= bound,
        "verifying takes {verifying} bytes for {}",
        file.len()
    );
}
