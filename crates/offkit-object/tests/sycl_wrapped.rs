//! SYCL images in programs for Linux and Windows that clang and lld made: found without symbols, through relocations.

#![cfg(feature = "default")]

mod common;

use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;

use common::{limits, put_u64, u64_at};
use offkit_object::property_set::names;
use offkit_object::{
    ByteArray, Compression, ContainerKind, Contents, DeviceImage, ErrorKind, ImageFormat, Location, Producer,
    PropertyValue,
};

/// Where the LLVM 22 packages keep the programs that have no versioned name.
const LLVM_PROGRAMS: &str = "/usr/lib/llvm-22/bin";

/// Leaves the test unless clang and lld are there.
macro_rules! need_tools {
    () => {
        if !has_tools() {
            return;
        }
    };
}

#[expect(clippy::print_stderr, reason = "a skipped test says so")]
fn has_tools() -> bool {
    let missing = ["clang-22", "ld.lld", "lld-link", "llvm-objcopy"]
        .into_iter()
        .find(|name| !Path::new(LLVM_PROGRAMS).join(name).is_file());
    if let Some(missing) = missing {
        assert!(
            std::env::var("OFFKIT_REQUIRE_TOOLS").as_deref() != Ok("1"),
            "{missing} of LLVM 22 is required and missing"
        );
        eprintln!("SKIPPED: {missing} of LLVM 22 is missing");
    }
    missing.is_none()
}

fn run(directory: &Path, program: &str, arguments: &[&str]) {
    let output = Command::new(Path::new(LLVM_PROGRAMS).join(program))
        .args(arguments)
        .current_dir(directory)
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{program} {arguments:?}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
}

/// How a program is compiled and linked.
#[derive(Debug, Clone, Copy)]
struct Build {
    target: &'static str,
    compile: &'static [&'static str],
    /// `None` for the object file itself.
    link: Option<&'static [&'static str]>,
}

const X86_64: &str = "--target=x86_64-linux-gnu";
const AARCH64: &str = "--target=aarch64-linux-gnu";
const PIC: &[&str] = &["-fPIC"];
const NO_PIC: &[&str] = &["-fno-pic", "-fno-pie"];
const SHARED: &[&str] = &["-shared"];

/// A program for every way that pointers are stored.
fn builds() -> Vec<Build> {
    let links: [(&[&str], Option<&[&str]>); 8] = [
        (PIC, None),
        (NO_PIC, None),
        (PIC, Some(SHARED)),
        // Symbols that others may replace: relocations name them.
        (&["-fPIC", "-DVISIBLE="], Some(SHARED)),
        (PIC, Some(&["-shared", "--pack-dyn-relocs=relr"])),
        (
            PIC,
            Some(&["-pie", "--pack-dyn-relocs=relr", "-z", "separate-code"]),
        ),
        (NO_PIC, Some(&["-no-pie"])),
        (
            NO_PIC,
            Some(&["-no-pie", "-z", "separate-code", "--image-base=0x7000000"]),
        ),
    ];
    let targets = [X86_64, AARCH64].into_iter();
    targets
        .flat_map(|target| {
            links.into_iter().map(move |(compile, link)| Build {
                target,
                compile,
                link,
            })
        })
        .collect()
}

const WINDOWS: &str = "--target=x86_64-pc-windows-msvc";

/// The same for Windows: with base relocations, and without.
const WINDOWS_BUILDS: [Build; 3] = [
    windows(&["-dll", "-noentry", "-include:_start"]),
    windows(&["-entry:_start", "-subsystem:console"]),
    windows(&["-entry:_start", "-subsystem:console", "-fixed"]),
];

const fn windows(link: &'static [&'static str]) -> Build {
    Build {
        target: WINDOWS,
        compile: &[],
        link: Some(link),
    }
}

const X86_64_LIBRARY: Build = Build {
    target: X86_64,
    compile: PIC,
    link: Some(SHARED),
};

/// What differs between the releases of the toolchain.
#[derive(Debug, Clone, Copy)]
struct Layout {
    version: u16,
    new_entries: bool,
}

const V2: Layout = Layout {
    version: 2,
    new_entries: false,
};
const V3: Layout = Layout {
    version: 3,
    new_entries: true,
};

/// A SPIR-V module with an entry point of each of these names.
fn spirv(entry_points: &[&str]) -> Vec<u8> {
    let mut words = vec![0x0723_0203, 0x1_0100, 0, 10, 0];
    words.extend([2 << 16 | 17, 4, 3 << 16 | 14, 2, 2]);
    for name in entry_points {
        let mut bytes = name.as_bytes().to_vec();
        bytes.resize((name.len() + 1).next_multiple_of(4), 0);
        words.extend([((3 + bytes.len() as u32 / 4) << 16) | 15, 6, 1]);
        words.extend(
            bytes
                .as_chunks::<4>()
                .0
                .iter()
                .map(|word| u32::from_le_bytes(*word)),
        );
    }
    words.push(1 << 16);
    words.into_iter().flat_map(u32::to_le_bytes).collect()
}

fn first_code() -> Vec<u8> {
    spirv(&["kernel_a", "kernel_b"])
}

fn array(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte},");
        text
    })
}

/// Two descriptors, of three images and of one, as the toolchain's wrapper makes them.
fn program(layout: Layout) -> String {
    let compressed = zstd::bulk::compress(&spirv(&["packed"]), 3).unwrap();
    let Layout { version, new_entries } = layout;
    let image = |target: &str, options: &str, format: u8, code: &str, entries: &str, sets: &str| {
        let head = format!("{version}, 4, {format}, 0, \"{target}\", \"{options}\"");
        let code = format!("{code}, {code} + sizeof {code}");
        let entries = match entries {
            "" => "0, 0".to_owned(),
            name => format!("{name}, {name} + sizeof {name} / sizeof *{name}"),
        };
        let sets = match sets {
            "" => "0, 0".to_owned(),
            name => format!("{name}, {name} + sizeof {name} / sizeof *{name}"),
        };
        match version {
            1 => format!("{{ {head}, 0, 0, {code}, {entries} }}"),
            2 => format!("{{ {head}, \"-link\", 0, 0, {code}, {entries}, {sets} }}"),
            _ => format!("{{ {head}, \"-link\", {code}, {entries}, {sets} }}"),
        }
    };
    let entry = |name: &str| match new_entries {
        true => format!("{{ 0, 1, 8, 0, 0, \"{name}\", 0, 0, 0 }}"),
        false => format!("{{ 0, \"{name}\", 0, 0, 0 }}"),
    };
    let entry_type = match new_entries {
        true => {
            "u64 reserved; u16 version, kind; u32 flags; void *address; const char *name; u64 size, data; void *aux;"
        }
        false => "void *address; const char *name; u64 size; int flags, reserved;",
    };
    let options = if version == 1 {
        "const char *options; "
    } else {
        "const char *compile, *link; "
    };
    let manifest = if version == 3 {
        ""
    } else {
        "const char *manifest, *manifest_end; "
    };
    let properties = if version == 1 {
        ""
    } else {
        "const struct set *sets, *sets_end;"
    };
    format!(
        r#"
#ifndef VISIBLE
#define VISIBLE static
#endif
typedef unsigned short u16; typedef unsigned u32; typedef unsigned long long u64;
struct property {{ const char *name; const void *value; u32 type; u64 size; }};
struct set {{ const char *name; const struct property *begin, *end; }};
struct entry {{ {entry_type} }};
struct image {{ u16 version; unsigned char kind, format; u32 padding; const char *target; {options}{manifest}
  const unsigned char *code, *code_end; const struct entry *entries, *entries_end; {properties} }};
struct descriptor {{ u16 version, count; u32 padding; const struct image *images; const void *host, *host_end; }};

VISIBLE const unsigned char code_0[] __attribute__((aligned(16))) = {{ {code_0} }};
VISIBLE const unsigned char code_1[] __attribute__((aligned(16))) = {{ {code_1} }};
VISIBLE const unsigned char code_2[] __attribute__((aligned(16))) = {{ {code_2} }};
VISIBLE const unsigned char code_3[] = "!<arch>\n";

VISIBLE const struct entry entries_0[] = {{ {a}, {b}, {exported} }};
VISIBLE const struct entry entries_1[] = {{ {c}, {function} }};
VISIBLE const struct entry entries_2[] = {{ {packed} }};
static const unsigned char bits[] = {{ 5, 0, 0, 0, 0, 0, 0, 0, 0x16 }};
static const unsigned char aspects[] = {{ 32, 0, 0, 0, 0, 0, 0, 0, 6, 0, 0, 0 }};
VISIBLE const struct property exports[] = {{ {{ "exported", 0, 1, 1 }} }};
VISIBLE const struct property imports[] = {{ {{ "needed", 0, 1, 1 }} }};
VISIBLE const struct property optimization[] = {{ {{ "kernel_a", bits, 2, 9 }} }};
VISIBLE const struct property requirements[] = {{ {{ "aspects", aspects, 2, 12 }} }};
VISIBLE const struct set sets_0[] = {{
  {{ "SYCL/exported symbols", exports, exports + 1 }},
  {{ "SYCL/imported symbols", imports, imports + 1 }},
  {{ "SYCL/kernel param opt", optimization, optimization + 1 }},
  {{ "SYCL/device requirements", requirements, requirements + 1 }},
  {{ "SYCL/misc properties", 0, 0 }},
}};

VISIBLE const struct image images_0[] = {{
  {image_0},
  {image_1},
  {image_2},
}};
VISIBLE const struct image images_1[] = {{ {image_3} }};
VISIBLE const struct descriptor descriptor_0 = {{ 1, 3, 0, images_0, 0, 0 }};
VISIBLE const struct descriptor descriptor_1 = {{ 1, 1, 0, images_1, 0, 0 }};

#define RETAIN __attribute__((used, retain, section(".tgtimg"), aligned(16)))
struct listed {{ const void *address; u64 size; }};
VISIBLE struct listed listed_0 RETAIN = {{ code_0, sizeof code_0 }};
VISIBLE struct listed listed_1 RETAIN = {{ code_1, sizeof code_1 }};
VISIBLE struct listed listed_2 RETAIN = {{ code_2, {inflated} }};
VISIBLE struct listed listed_3 RETAIN = {{ code_3, sizeof code_3 }};

void __sycl_register_lib(const void *descriptor) {{ __asm__ volatile("" :: "r"(descriptor) : "memory"); }}
void _start(void) {{ __sycl_register_lib(&descriptor_0); __sycl_register_lib(&descriptor_1); }}
"#,
        code_0 = array(&first_code()),
        code_1 = array(&spirv(&["kernel_c"])),
        code_2 = array(&compressed),
        inflated = spirv(&["packed"]).len(),
        a = entry("kernel_a"),
        b = entry("kernel_b"),
        exported = entry("exported"),
        c = entry("kernel_c"),
        function = entry("function"),
        packed = entry("packed"),
        image_0 = image("spir64", "-options", 0, "code_0", "entries_0", "sets_0"),
        image_1 = image("spir64", "", 2, "code_1", "entries_1", ""),
        image_2 = image("spir64", "", 4, "code_2", "entries_2", ""),
        image_3 = image("spir64_gen", "", 1, "code_3", "", ""),
    )
}

fn build(layout: Layout, build: Build) -> Vec<u8> {
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("program.c"), program(layout)).unwrap();
    let mut arguments = vec![
        build.target,
        "-c",
        "-O1",
        "-fno-asynchronous-unwind-tables",
        "program.c",
        "-o",
        "program.o",
    ];
    arguments.extend(build.compile);
    run(directory.path(), "clang-22", &arguments);
    let Some(link) = build.link else {
        return std::fs::read(directory.path().join("program.o")).unwrap();
    };
    if build.target == WINDOWS {
        let arguments = [&["program.o", "-out:program", "-nodefaultlib"], link].concat();
        run(directory.path(), "lld-link", &arguments);
        return std::fs::read(directory.path().join("program")).unwrap();
    }
    let mut arguments = vec![
        "program.o",
        "-o",
        "program",
        "-z",
        "noseparate-code",
        "--strip-all",
    ];
    arguments.extend(link);
    run(directory.path(), "ld.lld", &arguments);
    std::fs::read(directory.path().join("program")).unwrap()
}

fn read(bytes: &[u8]) -> Contents<'_> {
    offkit_object::read("program", bytes, &limits())
}

fn wrapped<'c, 'data>(contents: &'c Contents<'data>) -> Vec<&'c DeviceImage<'data>> {
    let images = contents.images.iter();
    images
        .filter(|image| image.container == ContainerKind::SyclWrapped)
        .collect()
}

/// Everything that is said about an image, but where its bytes are.
fn facts(image: &DeviceImage<'_>) -> impl PartialEq + std::fmt::Debug + use<> {
    (
        image.bytes().unwrap().to_vec(),
        (
            image.format,
            image.target.clone(),
            image.producer,
            image.container_version,
        ),
        (
            image.properties.clone(),
            image.entries.clone(),
            image.kernels.clone(),
        ),
        (image.imports.clone(), image.exports.clone()),
        image
            .strings
            .iter()
            .map(|(key, value)| (key.to_owned(), value.to_vec()))
            .collect::<Vec<_>>(),
        (image.compression(), image.location.to_string()),
    )
}

fn check(contents: &Contents<'_>, version: u16) {
    assert_eq!(contents.problems, []);
    let images = wrapped(contents);
    let [first, second, third, fourth] = images.as_slice() else {
        panic!("{} images", images.len());
    };
    for image in &images {
        assert_eq!(image.producer, Producer::Sycl);
        assert_eq!(image.container_version, Some(version.into()));
        assert_eq!(image.strings.get("link-opts"), (version > 1).then_some("-link"));
        assert!(image.offset.is_some());
    }
    assert_eq!(first.location.to_string(), "program!sycl/0/0");
    assert_eq!(*first.bytes().unwrap(), *first_code());
    assert_eq!(
        (first.format, first.target.to_string().as_str()),
        (ImageFormat::Spirv, "spir64")
    );
    assert_eq!(first.strings.get("compile-opts"), Some("-options"));
    assert_eq!(
        first.entries.as_deref().unwrap(),
        ["kernel_a", "kernel_b", "exported"]
    );
    assert_eq!(first.kernels, ["kernel_a", "kernel_b"]);
    assert_eq!(first.exports, ["exported"], "with and without properties");
    if version > 1 {
        assert_eq!(first.imports, ["needed"]);
        let sets = &first.properties;
        assert_eq!(
            sets.get(names::KERNEL_PARAMETER_OPTIMIZATION, "kernel_a"),
            Some(&PropertyValue::Bytes(ByteArray::with_bits(5, [0x16]).unwrap()))
        );
        let aspects = sets.get(names::DEVICE_REQUIREMENTS, "aspects").unwrap();
        assert_eq!(aspects.as_u32s().unwrap(), [6]);
        assert!(sets.set(names::MISC_PROPERTIES).unwrap().is_empty());
        assert_eq!(
            sets.get(names::EXPORTED_SYMBOLS, "exported"),
            Some(&PropertyValue::U32(1))
        );
    }

    assert_eq!(second.location.to_string(), "program!sycl/0/1");
    assert_eq!(second.strings.get("compile-opts"), None);
    assert_eq!(
        (second.kernels.as_slice(), second.exports.as_slice()),
        (&["kernel_c".to_owned()][..], &["function".to_owned()][..])
    );

    assert_eq!(third.compression(), Some(Compression::Zstd));
    assert_eq!(*third.bytes().unwrap(), *spirv(&["packed"]));
    assert_eq!(third.kernels, ["packed"]);

    assert_eq!(fourth.location.to_string(), "program!sycl/1/0");
    assert_eq!(
        (fourth.format, fourth.target.triple.as_str()),
        (ImageFormat::Archive, "spir64_gen")
    );
    assert_eq!(fourth.entries.as_deref(), Some(&[][..]));
}

#[test]
fn images_are_found_however_pointers_are_stored() {
    need_tools!();
    for how in builds().into_iter().chain(WINDOWS_BUILDS) {
        for layout in [V2, V3] {
            let bytes = build(layout, how);
            let contents = read(&bytes);
            assert_eq!(contents.problems, [], "{how:?} {layout:?}");
            check(&contents, layout.version);
        }
    }
}

#[test]
fn every_version_of_images_goes_with_every_form_of_entries() {
    need_tools!();
    for version in 1..=3 {
        for new_entries in [false, true] {
            let layout = Layout { version, new_entries };
            check(&read(&build(layout, X86_64_LIBRARY)), version);
        }
    }
}

#[test]
fn section_headers_are_not_needed() {
    need_tools!();
    for how in builds().into_iter().filter(|how| how.link.is_some()) {
        let directory = tempfile::tempdir().unwrap();
        std::fs::write(directory.path().join("program"), build(V2, how)).unwrap();
        run(directory.path(), "llvm-objcopy", &["--strip-sections", "program"]);
        let bytes = std::fs::read(directory.path().join("program")).unwrap();
        assert_eq!(u64_at(&bytes, 40), 0, "no section headers are left");
        check(&read(&bytes), 2);
        let cut = read(&bytes[..bytes.len() / 2]);
        assert!(!cut.problems.is_empty(), "a program that is cut off says so");
    }
}

/// The front end of clang 22 and its wrapper make programs with real kernels.
#[test]
fn programs_that_clang_compiles_as_sycl_have_their_kernels() {
    need_tools!();
    let source = "
template <typename Name, typename F> [[clang::sycl_kernel_entry_point(Name)]] void launch(F f) { f(); }
template <typename Name, typename... T> void sycl_kernel_launch(const char *, T...) {}
extern \"C\" void __sycl_register_lib(void *) {}
extern \"C\" void __sycl_unregister_lib(void *) {}
struct First;
struct Second;
int main() { launch<First>([] {}); launch<Second>([] {}); }
";
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("app.cpp"), source).unwrap();
    for options in [
        &["-pie", "-fPIE"][..],
        &["-no-pie", "-fno-pie"],
        &["-shared", "-fPIC"],
    ] {
        let mut arguments = vec!["-fsycl", "app.cpp", "-o", "app"];
        arguments.extend(options);
        run(directory.path(), "clang++", &arguments);
        let bytes = std::fs::read(directory.path().join("app")).unwrap();
        let contents = read(&bytes);
        let images = wrapped(&contents);
        let [image] = images.as_slice() else {
            panic!("{} images", images.len());
        };
        assert_eq!(image.kernels, ["_ZTS5First", "_ZTS6Second"]);
        assert_eq!(image.format, ImageFormat::Spirv);
        assert_eq!(image.target.triple, "spirv64-unknown-unknown");
        assert_eq!(image.container_version, Some(3));
        assert_eq!(contents.problems, []);
    }
}

#[test]
fn an_image_is_replaced_by_one_of_the_same_size_only() {
    need_tools!();
    let replace = |bytes: &[u8], part: &str, new: &[u8]| {
        let location: Location = format!("program!sycl/{part}").parse().unwrap();
        offkit_object::replace(bytes, &location, new, &limits())
    };
    for how in [X86_64_LIBRARY, builds()[0], WINDOWS_BUILDS[0]] {
        let bytes = build(V2, how);
        let mut new = first_code();
        *new.last_mut().unwrap() ^= 0xff;
        let changed = replace(&bytes, "0/0", &new).unwrap();
        assert_eq!(changed.len(), bytes.len());
        assert_eq!(*read(&changed).images[0].bytes().unwrap(), *new);
        let differing = changed.iter().zip(&bytes).filter(|(new, old)| new != old).count();
        assert_eq!(differing, 1);
        for (part, new) in [("0/0", &new[4..]), ("0/2", &new)] {
            let error = replace(&bytes, part, new).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Unrepresentable, "{error}");
            assert!(error.message().contains("linked program"), "{error}");
        }
    }
}

#[test]
fn one_damaged_image_does_not_hide_the_others() {
    need_tools!();
    let bytes = build(V2, X86_64_LIBRARY);
    let whole = read(&bytes);
    let needle = b"function\0";
    let position = bytes
        .windows(needle.len())
        .position(|window| window == needle)
        .unwrap();
    let mut damaged = bytes.clone();
    damaged[position] = 0xff;
    let contents = read(&damaged);
    assert_eq!(wrapped(&contents).len(), 4);
    assert!(
        contents
            .problems
            .iter()
            .any(|problem| problem.error.message() == "text is not UTF-8"),
        "{:?}",
        contents.problems
    );
    let kept = wrapped(&contents);
    assert_eq!(facts(kept[0]), facts(&whole.images[0]));
    assert_eq!(facts(kept[3]), facts(&whole.images[3]));
}

#[test]
fn a_property_that_is_said_to_be_huge_does_not_hide_the_others() {
    need_tools!();
    let bytes = build(V2, X86_64_LIBRARY);
    let whole = read(&bytes);
    // Type and size of the bits of `SYCL/kernel param opt`, which no other property has.
    let position = (0..bytes.len() - 16)
        .step_by(8)
        .find(|at| u64_at(&bytes, *at) == 2 && u64_at(&bytes, *at + 8) == 9)
        .unwrap();
    let mut damaged = bytes.clone();
    put_u64(&mut damaged, position + 8, 1 << 60);
    let contents = read(&damaged);
    let kept = wrapped(&contents);
    assert_eq!(kept.len(), 4);
    assert_eq!(kept[0].imports, ["needed"]);
    assert_eq!(facts(kept[3]), facts(&whole.images[3]));
    let [problem] = contents.problems.as_slice() else {
        panic!("{:?}", contents.problems);
    };
    assert_eq!(problem.error.message(), "SYCL image points outside of the file");
}

#[test]
fn the_list_of_images_must_agree() {
    need_tools!();
    let mut bytes = build(V2, X86_64_LIBRARY);
    let size = first_code().len() as u64;
    // The only word with this value is the size in the list.
    let position = (0..bytes.len() - 8)
        .step_by(8)
        .find(|at| u64_at(&bytes, *at) == size)
        .unwrap();
    put_u64(&mut bytes, position, size + 1);
    let contents = read(&bytes);
    assert_eq!(wrapped(&contents).len(), 4);
    let [problem] = contents.problems.as_slice() else {
        panic!("{:?}", contents.problems);
    };
    assert_eq!(problem.error.context(), Some(".tgtimg"));
    let text = problem.error.to_string();
    assert!(
        text.contains("4 images") && text.contains(&format!("{size:#x} bytes")),
        "{text}"
    );
}

#[test]
fn every_truncation_and_every_flipped_bit_is_harmless() {
    need_tools!();
    for how in [X86_64_LIBRARY, builds()[0]] {
        let mut bytes = build(V3, how);
        let whole = read(&bytes);
        let count = whole.images.len();
        let known: Vec<_> = whole
            .images
            .iter()
            .map(|image| image.bytes().unwrap().to_vec())
            .collect();
        for length in 0..bytes.len() {
            let contents = read(&bytes[..length]);
            for image in wrapped(&contents) {
                assert!(
                    known.contains(&image.bytes().unwrap().to_vec()),
                    "cut to {length}: {}",
                    image.location
                );
            }
        }
        for position in 0..bytes.len() {
            for bit in [0, 6] {
                bytes[position] ^= 1 << bit;
                let contents = read(&bytes);
                assert!(contents.images.len() <= 2 * count + 8, "{position:#x}.{bit}");
                bytes[position] ^= 1 << bit;
            }
        }
    }
}

#[test]
fn segments_at_the_end_of_the_address_space_are_harmless() {
    need_tools!();
    let bytes = build(V2, builds()[6]);
    let headers = u64_at(&bytes, 32) as usize;
    for number in 0..usize::from(bytes[56]) {
        for address in [u64::MAX, u64::MAX - 7, u64::MAX - 64] {
            let mut damaged = bytes.clone();
            put_u64(&mut damaged, headers + number * 56 + 16, address);
            assert!(read(&damaged).images.len() <= 4);
        }
    }
}

#[test]
fn images_are_left_out_of_linked_programs() {
    need_tools!();
    let placeless = |image: &DeviceImage<'_>| {
        let mut image = image.clone();
        image.location = Location::of_file("program");
        facts(&image)
    };
    for layout in [V2, V3] {
        for build_of in builds().into_iter().chain(WINDOWS_BUILDS) {
            let bytes = build(layout, build_of);
            let contents = read(&bytes);
            let before = wrapped(&contents);
            for goes in [
                &[0][..],
                &[1],
                &[2],
                &[3],
                &[0, 1],
                &[1, 2],
                &[0, 2, 3],
                &[0, 1, 2],
            ] {
                let dropped: Vec<Location> = goes.iter().map(|at| before[*at].location.clone()).collect();
                let thinning = offkit_object::Thinning::default();
                let thinned = offkit_object::thin("program", &bytes, &dropped, thinning, &limits(), &|_| {});
                let is_symbolic = build_of.compile.contains(&"-DVISIBLE=");
                if build_of.link.is_none() || is_symbolic && thinned.is_err() {
                    assert!(thinned.is_err(), "{build_of:?} {goes:?}");
                    continue;
                }
                let thinned = thinned.unwrap_or_else(|error| panic!("{build_of:?} {goes:?}: {error}"));
                assert_eq!(thinned.bytes.len(), bytes.len());
                let after = read(&thinned.bytes);
                assert_eq!(after.problems, [], "{build_of:?} {goes:?}");
                let left = before.iter().enumerate().filter(|(at, _)| !goes.contains(at));
                let left: Vec<_> = left.map(|(_, image)| placeless(image)).collect();
                let after: Vec<_> = wrapped(&after).into_iter().map(placeless).collect();
                assert_eq!(after, left, "{build_of:?} {goes:?}");
            }
        }
    }
}
