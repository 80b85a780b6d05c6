//! `include/offkit_pi.h`: the plugin interface for C, made from the Rust side of it. `OFFKIT_UPDATE=1` writes it anew.

use std::fmt::Write;
use std::mem::{offset_of, size_of};

use offkit_pi::ffi::*;
use offkit_pi::table::{Layout, Revision};
use offkit_tests::{Folder, need, root, tool};

/// Where the types are, in the order in which C needs them.
const SOURCES: [&str; 4] = ["result.rs", "info.rs", "mod.rs", "binary.rs"];

const RELEASES: [&str; 4] = ["2021.2", "2022.1", "2023.2", "2024.2"];

const START: &str = "\
// offkit_pi.h: the plugin interface between runtimes and devices, for plugins and hosts in C and C++.
//
// A plugin is a shared library with one function, piPluginInit. It is given a record that begins with the version of
// the interface that the host speaks, and fills in its own version and a table of functions. There are four versions:
// each has a record (pi_plugin_2_3) and a table (pi_functions_2_3). A null pointer in a table is a function that the
// plugin does not have; offkit takes that, other hosts call every function without looking.
//
// Every function has a type named after it (piQueueFinish_fn), with which one's own can be declared:
//
//   static piQueueFinish_fn finish;
//
// Where versions have other parameters, or mean something else by them, the later type has a letter:
// piextMemGetNativeHandle_b_fn. Three have the same parameters and another meaning:
//
//   piEventCreate             the host completes the event; b: it is complete from the start
//   piTearDown                the parameter is null; b: it points to a bool that the plugin sets
//   piextUSMEnqueueMemAdvise  hints are numbers, 0 for none; b: numbers, 0 to reset; c: bits
//
// docs/plugins.md shows how a plugin is written. This file is made from crates/offkit-pi; do not edit it:
//
//   OFFKIT_UPDATE=1 cargo test -p offkit-tests --test pi_header
#ifndef OFFKIT_PI_H
#define OFFKIT_PI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#if defined(_WIN32)
#define OFFKIT_PI_EXPORT __declspec(dllexport)
#elif defined(__GNUC__)
#define OFFKIT_PI_EXPORT __attribute__((visibility(\"default\")))
#else
#define OFFKIT_PI_EXPORT
#endif

#ifdef __cplusplus
extern \"C\" {
#endif
";

const END: &str = "
// What a plugin exports: fills in the record of the version that its first bytes name, and refuses others.
OFFKIT_PI_EXPORT pi_result piPluginInit(void *record);

// What a plugin may export for hosts of versions without piPluginGetLastError: what went wrong in this thread's last
// failing call, as text that stays until the thread's next call.
OFFKIT_PI_EXPORT pi_result offkitPluginGetLastError(const char **message);

// Says in a plugin's file which versions it speaks, separated by spaces, so that hosts know before they load it:
// OFFKIT_PI_NOTE(\"2.3\");
#if defined(__ELF__)
#define OFFKIT_PI_NOTE(versions) \\
  static const struct { \\
    uint32_t owner_size, size, kind; \\
    char owner[8], text[(sizeof(versions) + 3) / 4 * 4]; \\
  } offkit_pi_note __attribute__((used, aligned(4), section(\".note.offkit.pi\"))) = \\
    {7, sizeof(versions), 1, \"offkit\", versions}
#else
#define OFFKIT_PI_NOTE(versions) struct offkit_pi_note
#endif

#ifdef __cplusplus
}
#endif

#endif
";

/// A declaration of the Rust side.
enum Item {
    /// Another name for a type.
    Type(String, String),
    /// A pointer to what only plugins know.
    Handle(String, String),
    Struct(String, Vec<Field>),
    /// A type of numbers, and their names.
    Numbers(String, String, Vec<(String, String)>),
    /// One name for a number: its type and value.
    Number(String, String, String),
}

struct Field {
    docs: Vec<String>,
    name: String,
    kind: String,
}

/// The declarations of a source file with their documentation.
fn items(source: &str) -> Vec<(Vec<String>, Item)> {
    let (mut items, mut docs) = (Vec::new(), Vec::new());
    // Comments that are no documentation are the source's own.
    let is_plain = |line: &&str| line.starts_with("//") && !line.starts_with("///");
    let mut lines = source
        .lines()
        .map(str::trim)
        .filter(|line| !line.contains('$') && !is_plain(line));
    while let Some(line) = lines.next() {
        if let Some(text) = line.strip_prefix("///") {
            docs.push(plain(text));
            continue;
        }
        if line.starts_with("#[") {
            continue;
        }
        let docs = std::mem::take(&mut docs);
        let body = |lines: &mut dyn Iterator<Item = &str>| -> Vec<String> {
            lines.take_while(|line| *line != "}").map(str::to_owned).collect()
        };
        let item = if let Some(line) = line.strip_prefix("pub type ") {
            let (name, kind) = line.trim_end_matches(';').split_once(" = ").unwrap();
            Item::Type(name.to_owned(), kind.to_owned())
        } else if let Some(name) = enclosed(line, "pub struct ", " {") {
            Item::Struct(name, fields(&body(&mut lines)))
        } else if line.starts_with("pub struct pi_result(") {
            Item::Type("pi_result".to_owned(), "i32".to_owned())
        } else if let Some(line) = enclosed(line, "pub const ", ";") {
            let (name, rest) = line.split_once(": ").unwrap();
            let (kind, value) = rest.split_once(" = ").unwrap();
            Item::Number(name.to_owned(), kind.to_owned(), value.to_owned())
        } else if let Some((name, kind)) = enclosed(line, "pi_", " {")
            .as_deref()
            .and_then(|line| line.split_once(": "))
        {
            let number = |line: &String| {
                let (name, value) = line.trim_end_matches(',').split_once(" = ").unwrap();
                (name.to_owned(), value.replace('_', ""))
            };
            let numbers = body(&mut lines).iter().map(number).collect();
            Item::Numbers(format!("pi_{name}"), kind.to_owned(), numbers)
        } else if let Some((name, value)) = enclosed(line, "PI_", ";")
            .as_deref()
            .and_then(|line| line.split_once(" = "))
        {
            Item::Number(format!("PI_{name}"), "pi_result".to_owned(), value.to_owned())
        } else if let Some((name, object)) = enclosed(line, "pi_", ";")
            .as_deref()
            .and_then(|line| line.split_once(" = "))
        {
            Item::Handle(format!("pi_{name}"), object.to_owned())
        } else {
            continue;
        };
        items.push((docs, item));
    }
    items
}

fn enclosed(line: &str, before: &str, after: &str) -> Option<String> {
    Some(line.strip_prefix(before)?.strip_suffix(after)?.to_owned())
}

fn fields(body: &[String]) -> Vec<Field> {
    let (mut fields, mut docs) = (Vec::new(), Vec::new());
    for line in body {
        if let Some(text) = line.strip_prefix("///") {
            docs.push(plain(text));
        } else if let Some((name, kind)) = line.strip_prefix("pub ").and_then(|line| line.split_once(": ")) {
            fields.push(Field {
                docs: std::mem::take(&mut docs),
                name: name.to_owned(),
                kind: kind.trim_end_matches(',').to_owned(),
            });
        }
    }
    fields
}

/// What examples begin and end with; they are in Rust, and left out.
const FENCE: &str = "```";

/// A line of documentation without the marks of links and code.
fn plain(text: &str) -> String {
    if text.contains(FENCE) {
        return FENCE.to_owned();
    }
    text.trim().replace("[`", "").replace("`]", "").replace('`', "")
}

/// A variable of a type, as C declares it.
fn declared(kind: &str, name: &str) -> String {
    let (mut kind, mut pointers) = (kind.trim(), Vec::new());
    while let Some(rest) = kind.strip_prefix('*') {
        let rest = rest.trim_start();
        pointers.push(rest.starts_with("const "));
        kind = rest.split_once(' ').unwrap().1.trim();
    }
    let base = match kind {
        "i32" => "int32_t",
        "u8" => "uint8_t",
        "u16" => "uint16_t",
        "u32" => "uint32_t",
        "u64" => "uint64_t",
        "f32" => "float",
        "isize" => "intptr_t",
        "usize" => "size_t",
        "c_char" => "char",
        "c_void" => "void",
        "c_int" => "int",
        "c_uint" => "unsigned int",
        "cxx_bool" => "bool",
        name => name,
    };
    // What a pointer points to is constant if the pointer says so; the innermost one is the last.
    let mut text = match pointers.pop() {
        Some(true) => format!("const {base} *"),
        Some(false) => format!("{base} *"),
        None => format!("{base} "),
    };
    while let Some(constant) = pointers.pop() {
        text += if constant { "const *" } else { "*" };
    }
    (text + name).trim_end().to_owned()
}

/// A function's parameters.
fn parameters<'a>(list: impl Iterator<Item = (&'a str, &'a str)>) -> String {
    list.map(|(kind, name)| declared(kind, name))
        .collect::<Vec<_>>()
        .join(", ")
}

/// A number in C.
fn number(kind: &str, value: &str) -> String {
    let kind = declared(kind, "");
    match value.starts_with('-') {
        true => format!("(({kind})({value}))"),
        false => format!("(({kind}){value})"),
    }
}

fn comment(header: &mut String, indent: &str, docs: &[String]) {
    let end = docs.iter().position(|line| line == FENCE).unwrap_or(docs.len());
    let mut lines = &docs[..end];
    while let [rest @ .., last] = lines
        && last.is_empty()
    {
        lines = rest;
    }
    for line in lines {
        writeln!(header, "{}", format!("{indent}// {line}").trim_end()).unwrap();
    }
}

fn write_item(header: &mut String, docs: &[String], item: &Item, follows_number: bool) {
    if !(follows_number && matches!(item, Item::Number(..))) {
        header.push('\n');
    }
    comment(header, "", docs);
    let line = match item {
        Item::Type(name, kind) => match kind.strip_prefix("Option<unsafe extern \"C\" fn(") {
            Some(rest) => {
                let list = rest.trim_end_matches(")>").split(", ");
                format!(
                    "typedef void (*{name})({});",
                    parameters(list.map(|kind| (kind, "")))
                )
            }
            // The one that is for addresses.
            None if kind == "usize" => format!("typedef uintptr_t {name};"),
            None => format!("typedef {};", declared(kind, name)),
        },
        Item::Handle(name, object) => format!("typedef struct {object} *{name};"),
        Item::Struct(name, fields) => {
            let mut text = format!("typedef struct {name} {{\n");
            for field in fields {
                comment(&mut text, "  ", &field.docs);
                writeln!(text, "  {};", declared(&field.kind, &field.name)).unwrap();
            }
            text + &format!("}} {name};")
        }
        Item::Numbers(name, kind, numbers) => {
            let mut text = format!("typedef {};", declared(kind, name));
            for (constant, value) in numbers {
                write!(text, "\n#define {constant} {}", number(name, value)).unwrap();
            }
            text
        }
        Item::Number(name, kind, value) => format!("#define {name} {}", number(kind, value)),
    };
    header.push_str(&line);
    header.push('\n');
}

/// A line that ends before column 118, and goes on in the next.
fn wrapped(line: &str) -> String {
    let (mut text, mut column) = (String::new(), 0);
    for part in line.split_inclusive(", ") {
        if column + part.len() > 118 {
            text.truncate(text.trim_end().len());
            text += "\n    ";
            column = 4;
        }
        text += part;
        column += part.len();
    }
    text
}

/// The declarations of all sources, base types first.
fn all_items() -> Vec<(Vec<String>, Item)> {
    let mut all = Vec::new();
    for file in SOURCES {
        let path = root().join("crates/offkit-pi/src/ffi").join(file);
        all.extend(items(
            &std::fs::read_to_string(path).expect("a source of the interface"),
        ));
    }
    let is_base = |item: &Item| matches!(item, Item::Type(_, kind) if !kind.contains(['*', '<']));
    let (base, rest): (Vec<_>, Vec<_>) = all.into_iter().partition(|(_, item)| is_base(item));
    let (handles, rest): (Vec<_>, Vec<_>) = rest
        .into_iter()
        .partition(|(_, item)| matches!(item, Item::Handle(..)));
    base.into_iter().chain(handles).chain(rest).collect()
}

fn header() -> String {
    let mut header = START.to_owned();
    let mut follows_number = false;
    for (docs, item) in all_items() {
        write_item(&mut header, &docs, &item, follows_number);
        follows_number = matches!(item, Item::Number(..));
    }
    header.push_str("\n// The functions, with the versions that have them like this.\n");
    for revision in Revision::ALL {
        let versions: Vec<_> = Layout::ALL
            .into_iter()
            .filter(|layout| layout.functions.contains(revision))
            .collect();
        let versions: Vec<_> = versions.iter().map(|layout| layout.version()).collect();
        let list = revision.types().iter().zip(revision.parameters());
        let list = parameters(list.map(|(kind, name)| (*kind, *name)));
        let line = wrapped(&format!("typedef pi_result {revision:?}_fn({list});"));
        writeln!(header, "\n// {}\n{line}", versions.join(", ")).unwrap();
    }
    for (layout, release) in Layout::ALL.into_iter().zip(RELEASES) {
        let (version, length) = (layout.version(), layout.version_length);
        let name = version.replace('.', "_");
        writeln!(
            header,
            "\n// The functions of PI {version}, which is that of release {release} of DPC++."
        )
        .unwrap();
        writeln!(header, "typedef struct pi_functions_{name} {{").unwrap();
        for revision in layout.functions {
            writeln!(header, "  {revision:?}_fn *{};", revision.function().name()).unwrap();
        }
        writeln!(
            header,
            "}} pi_functions_{name};\n\n#define PI_VERSION_{name} \"{version}\"\n"
        )
        .unwrap();
        writeln!(header, "// What piPluginInit is given by hosts of PI {version}.").unwrap();
        writeln!(header, "typedef struct pi_plugin_{name} {{").unwrap();
        writeln!(header, "  // The host's version.\n  char PiVersion[{length}];").unwrap();
        writeln!(
            header,
            "  // The plugin's version, which the plugin writes.\n  char PluginVersion[{length}];"
        )
        .unwrap();
        writeln!(header, "  // Unused.\n  char *Targets;").unwrap();
        writeln!(
            header,
            "  // The functions, which the plugin writes.\n  pi_functions_{name} PiFunctionTable;"
        )
        .unwrap();
        if layout.trailer > 0 {
            writeln!(header, "  // Which sanitizer the host works with, and padding.").unwrap();
            writeln!(header, "  unsigned char Trailer[{}];", layout.trailer).unwrap();
        }
        writeln!(header, "}} pi_plugin_{name};").unwrap();
    }
    header + END
}

#[test]
fn the_header_is_what_the_rust_side_says() {
    let (path, header) = (root().join("include/offkit_pi.h"), header());
    if std::env::var_os("OFFKIT_UPDATE").is_some() {
        std::fs::write(&path, &header).expect("the header can be written");
    }
    let found = std::fs::read_to_string(&path).unwrap_or_default();
    let differs = found
        .lines()
        .zip(header.lines())
        .find(|(found, made)| found != made);
    assert!(
        found == header,
        "include/offkit_pi.h is not up to date: run this with OFFKIT_UPDATE=1 ({differs:?})"
    );
}

macro_rules! layouts {
    ($($name:ident { $($field:ident),* })*) => {
        /// The structs as Rust has them: names, sizes, and where their fields are.
        const STRUCTS: &[(&str, usize, &[(&str, usize)])] = &[$((
            stringify!($name),
            size_of::<$name>(),
            &[$((stringify!($field), offset_of!($name, $field))),*],
        )),*];
    };
}

layouts! {
    pi_buffer_region_struct { origin, size }
    pi_buff_rect_offset_struct { x_bytes, y_scalar, z_scalar }
    pi_buff_rect_region_struct { width_bytes, height_scalar, depth_scalar }
    pi_image_offset_struct { x, y, z }
    pi_image_region_struct { width, height, depth }
    pi_image_format { image_channel_order, image_channel_data_type }
    pi_image_desc {
        image_type, image_width, image_height, image_depth, image_array_size, image_row_pitch, image_slice_pitch,
        num_mip_levels, num_samples, buffer
    }
    pi_mem_obj_property { property_type, next, mem_access }
    pi_ext_command_buffer_desc { structure_type, next, properties }
    pi_offload_entry_struct { addr, name, size, flags, reserved }
    pi_device_binary_property_struct { Name, ValAddr, Type, ValSize }
    pi_device_binary_property_set_struct { Name, PropertiesBegin, PropertiesEnd }
    pi_device_binary_struct {
        Version, Kind, Format, DeviceTargetSpec, CompileOptions, LinkOptions, ManifestStart, ManifestEnd, BinaryStart,
        BinaryEnd, EntriesBegin, EntriesEnd, PropertySetsBegin, PropertySetsEnd
    }
    pi_device_binaries_struct { Version, NumDeviceBinaries, DeviceBinaries, HostEntriesBegin, HostEntriesEnd }
}

/// A C file that compiles if everything is where Rust has it.
fn checks() -> String {
    let mut source =
        "#include <offkit_pi.h>\n#define CHECK(name, holds) typedef char name[(holds) ? 1 : -1]\n".to_owned();
    let mut check = |holds: String| {
        let number = source.lines().count();
        writeln!(source, "CHECK(check_{number}, {holds});").unwrap();
    };
    for (name, size, fields) in STRUCTS {
        check(format!("sizeof({name}) == {size}"));
        for (field, offset) in *fields {
            check(format!("offsetof({name}, {field}) == {offset}"));
        }
    }
    for layout in Layout::ALL {
        let name = layout.version().replace('.', "_");
        check(format!("sizeof(pi_plugin_{name}) == {}", layout.record_size()));
        check(format!(
            "offsetof(pi_plugin_{name}, PluginVersion) == {}",
            layout.version_length
        ));
        check(format!(
            "offsetof(pi_plugin_{name}, PiFunctionTable) == {}",
            layout.table_offset()
        ));
        for (index, revision) in layout.functions.iter().enumerate() {
            let function = revision.function().name();
            check(format!(
                "offsetof(pi_functions_{name}, {function}) == {}",
                8 * index
            ));
        }
    }
    for (name, size) in [
        ("pi_result", size_of::<pi_result>()),
        ("pi_device_type", size_of::<pi_device_type>()),
        ("pi_native_handle", size_of::<pi_native_handle>()),
        ("pi_context_properties", size_of::<pi_context_properties>()),
        ("pi_device_info", size_of::<pi_device_info>()),
        ("pi_kernel", size_of::<pi_kernel>()),
    ] {
        check(format!("sizeof({name}) == {size}"));
    }
    check(format!("PI_DEVICE_TYPE_ALL == {PI_DEVICE_TYPE_ALL}u"));
    check(format!("PI_QUEUE_FLAGS == {PI_QUEUE_FLAGS}u"));
    check(format!("PI_ERROR_UNKNOWN == {}", PI_ERROR_UNKNOWN.0));
    source
}

#[test]
fn the_checks_know_every_struct() {
    let structs = all_items().into_iter().filter_map(|(_, item)| match item {
        Item::Struct(name, fields) => Some((name, fields.len())),
        _ => None,
    });
    let known: Vec<_> = STRUCTS
        .iter()
        .map(|(name, _, fields)| ((*name).to_owned(), fields.len()))
        .collect();
    assert_eq!(structs.collect::<Vec<_>>(), known);
}

#[test]
fn the_header_is_valid_c_and_cxx_and_has_the_layout_of_rust() {
    need!("cc", "c++");
    let folder = Folder::new();
    folder.write("checks.c", checks());
    folder.write("checks.cpp", checks());
    let include = format!("-I{}", root().join("include").display());
    for (compiler, line) in [
        (
            "cc",
            "-std=c99 -Wall -Wextra -pedantic -Werror -c checks.c -o c.o",
        ),
        (
            "c++",
            "-std=c++11 -Wall -Wextra -pedantic -Werror -c checks.cpp -o cxx.o",
        ),
    ] {
        let options = line.split(' ').chain([include.as_str()]);
        folder.run(tool(compiler).unwrap(), options).ok();
    }
    // A wrong place is seen.
    folder.write(
        "wrong.c",
        checks().replace("sizeof(pi_image_desc) == 72", "sizeof(pi_image_desc) == 71"),
    );
    let wrong = folder.run(tool("cc").unwrap(), ["-c", "wrong.c", include.as_str()]);
    assert_ne!(wrong.code, 0);
}
