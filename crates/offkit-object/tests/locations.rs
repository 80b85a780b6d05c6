//! Every location that is listed leads back to its image, in any nesting of containers.

#![cfg(feature = "default")]

mod common;

use std::collections::HashSet;
use std::ops::ControlFlow;

use common::limits;
use offkit_object::bundle::{Bundle, BundleEntry, Comment, CompressedBundle, CompressedVersion};
use offkit_object::host::{NewSection, ObjectFormat, write_object};
use offkit_object::{
    Compression, ImageKind, Item, Location, OffloadBinary, OffloadBinaryVersion, OffloadEntry, OffloadKind,
    replace, walk,
};
use proptest::collection::vec;
use proptest::prelude::*;

/// A file to be made.
#[derive(Debug, Clone)]
enum Node {
    Image(u8),
    Archive(Vec<(Vec<u8>, Node)>),
    Object(Vec<(&'static str, Node)>),
    Offload(Vec<Node>),
    Bundle(Vec<(String, Node)>),
    Compressed(Box<Node>),
}

const SECTIONS: &[&str] = &[
    ".llvm.offloading",
    ".hip_fatbin",
    "__CLANG_OFFLOAD_BUNDLE__hip-amdgcn-amd-amdhsa--gfx90a",
    "__CLANG_OFFLOAD_BUNDLE__x",
    "__CLANG_OFFLOAD_BUNDLE__",
];

/// Names of members that are unlike those of files, or alike.
const MEMBERS: &[&[u8]] = &[
    b"a",
    b"a#1",
    b"a/b",
    b"a//b",
    b"/",
    b"x!y",
    b"100%",
    b"%21",
    b"\xff\xfe",
    b"\xff",
];

const IDS: &[&str] = &[
    "",
    "x",
    "x#0",
    "x#1",
    "hip-amdgcn-amd-amdhsa--gfx90a",
    "openmp-amdgcn-amd-amdhsa--gfx90a",
    "a/b!c%d",
];

fn node() -> impl Strategy<Value = Node> {
    let member = prop_oneof![
        proptest::sample::select(MEMBERS).prop_map(<[u8]>::to_vec),
        vec(11..=255_u8, 1..5),
    ];
    let id = prop_oneof![
        proptest::sample::select(IDS).prop_map(str::to_owned),
        "[ -~ä]{0,6}",
    ];
    any::<u8>()
        .prop_map(Node::Image)
        .prop_recursive(4, 40, 5, move |inner| {
            prop_oneof![
                2 => vec((member.clone(), inner.clone()), 1..6).prop_map(Node::Archive),
                2 => vec((proptest::sample::select(SECTIONS), inner.clone()), 1..4).prop_map(Node::Object),
                2 => vec(inner.clone(), 1..4).prop_map(Node::Offload),
                2 => vec((id.clone(), inner.clone()), 1..5).prop_map(Node::Bundle),
                1 => inner.prop_map(|node| Node::Compressed(Box::new(node))),
            ]
        })
}

fn bundle(entries: &[(String, Node)]) -> Vec<u8> {
    let entries = entries
        .iter()
        .map(|(id, node)| BundleEntry::new(id.clone(), bytes_of(node)));
    Bundle {
        entries: entries.collect(),
    }
    .write(8)
    .unwrap()
}

fn offload(image: &[u8]) -> Vec<u8> {
    OffloadBinary::from(OffloadEntry::new(ImageKind::NONE, OffloadKind::NONE, image))
        .write(OffloadBinaryVersion::V1)
        .unwrap()
}

fn bytes_of(node: &Node) -> Vec<u8> {
    match node {
        Node::Image(byte) => [b"BC\xc0\xde".as_slice(), &[*byte; 4]].concat(),
        Node::Archive(members) => archive(members),
        Node::Object(sections) => {
            let contents: Vec<_> = sections
                .iter()
                .map(|(name, node)| match *name {
                    ".llvm.offloading" => (*name, offload(&bytes_of(node))),
                    ".hip_fatbin" => (*name, bundle(&[("x".to_owned(), node.clone())])),
                    name => (name, bytes_of(node)),
                })
                .collect();
            let sections: Vec<_> = contents
                .iter()
                .map(|(name, bytes)| NewSection::excluded(*name, bytes))
                .collect();
            let format = ObjectFormat::for_triple("x86_64-unknown-linux-gnu").unwrap();
            write_object(format, &sections).unwrap()
        }
        Node::Offload(nodes) => nodes.iter().flat_map(|node| offload(&bytes_of(node))).collect(),
        Node::Bundle(entries) => bundle(entries),
        Node::Compressed(node) => {
            let content = bundle(&[("y".to_owned(), (**node).clone())]);
            CompressedBundle::write(&content, CompressedVersion::V2, Compression::Zstd, None).unwrap()
        }
    }
}

/// An archive with names that no writer would take, all of them in the table of long names.
fn archive(members: &[(Vec<u8>, Node)]) -> Vec<u8> {
    let mut table = Vec::new();
    let mut places = Vec::new();
    for (name, _) in members {
        places.push(table.len());
        table.extend_from_slice(name);
        table.extend_from_slice(b"/\n");
    }
    let mut out = b"!<arch>\n".to_vec();
    let mut member = |name: &str, content: &[u8]| {
        let size = content.len();
        out.extend(format!("{name:<16}{:<12}{:<6}{:<6}{:<8}{size:<10}`\n", 0, 0, 0, 644).bytes());
        out.extend_from_slice(content);
        out.resize(out.len().next_multiple_of(2), b'\n');
    };
    member("//", &table);
    for ((_, node), place) in members.iter().zip(places) {
        member(&format!("/{place}"), &bytes_of(node));
    }
    out
}

fn images(file: &[u8], goal: Option<&Location>) -> Vec<(Location, Vec<u8>)> {
    let mut images = Vec::new();
    let _ = walk("dir/f!le", file, goal, &limits(), &mut |item| {
        if let Item::Image(image) = item {
            images.push((image.location.clone(), image.bytes().unwrap().to_vec()));
        }
        ControlFlow::Continue(())
    });
    images
}

fn leaves(node: &Node) -> usize {
    match node {
        Node::Image(_) => 1,
        Node::Archive(members) => members.iter().map(|(_, node)| leaves(node)).sum(),
        Node::Object(sections) => sections.iter().map(|(_, node)| leaves(node)).sum(),
        Node::Offload(nodes) => nodes.iter().map(leaves).sum(),
        Node::Bundle(entries) => entries.iter().map(|(_, node)| leaves(node)).sum(),
        Node::Compressed(node) => leaves(node),
    }
}

/// Whether host code is where only device code is looked for, so that it counts as one image.
fn is_listed_whole(node: &Node, is_entry: bool) -> bool {
    let entries = |node| is_listed_whole(node, true);
    match node {
        Node::Image(_) => true,
        Node::Archive(_) | Node::Object(_) if is_entry => false,
        Node::Archive(members) => members.iter().all(|(_, node)| is_listed_whole(node, false)),
        Node::Object(sections) => sections.iter().map(|(_, node)| node).all(entries),
        Node::Offload(nodes) => nodes.iter().all(entries),
        Node::Bundle(members) => members.iter().map(|(_, node)| node).all(entries),
        Node::Compressed(node) => entries(node),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_location_leads_to_its_image(node in node()) {
        let file = bytes_of(&node);
        let all = images(&file, None);
        if is_listed_whole(&node, false) {
            prop_assert_eq!(all.len(), leaves(&node), "every image is listed");
        }
        let mut seen = HashSet::new();
        for (number, (location, bytes)) in all.iter().enumerate() {
            let text = location.to_string();
            prop_assert_eq!(&text.parse::<Location>().unwrap(), location, "{} is read back", &text);
            prop_assert!(seen.insert(text.clone()), "{} is there twice", &text);
            prop_assert_eq!(images(&file, Some(location)), [(location.clone(), bytes.clone())], "{}", &text);
            prop_assert!(replace(&file, location, bytes, &limits()).unwrap() == file, "{} stays", &text);
            for new in [b"BC\xc0\xdeof another size".as_slice(), b"BC\xc0\xdesame", b"BC\xc0\xde"] {
                let changed = match replace(&file, location, new, &limits()) {
                    Ok(changed) => changed,
                    Err(error) => return Err(TestCaseError::fail(format!("{text}: {error}"))),
                };
                let after = images(&changed, None);
                let mut expected = all.clone();
                expected[number].1 = new.to_vec();
                prop_assert_eq!(after, expected, "{}", &text);
            }
        }
    }
}

/// What a walk comes across, as text, until so many things were seen.
fn items(file: &[u8], most: usize) -> (Vec<String>, bool) {
    let mut items = Vec::new();
    let result = walk("file", file, None, &limits(), &mut |item| {
        items.push(format!("{item:?}"));
        match items.len() < most {
            true => ControlFlow::Continue(()),
            false => ControlFlow::Break(()),
        }
    });
    (items, result.is_break())
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_walk_ends_where_its_visitor_breaks_it_off(node in node()) {
        let file = bytes_of(&node);
        let (all, _) = items(&file, usize::MAX);
        for most in 1..=all.len() {
            prop_assert_eq!(items(&file, most), (all[..most].to_vec(), true));
        }
    }
}

#[test]
fn texts_are_found_by_their_names() {
    let ids = ["x", "x", "x#0", "", "a/b"];
    let entries = ids.iter().map(|id| BundleEntry::new(*id, b"text\n".as_slice()));
    let file = Bundle {
        entries: entries.collect(),
    }
    .write_text(Comment::Hash)
    .unwrap();
    let all = images(&file, None);
    assert_eq!(all.len(), ids.len());
    for (location, bytes) in &all {
        assert_eq!(images(&file, Some(location)), [(location.clone(), bytes.clone())]);
        assert!(replace(&file, location, bytes, &limits()).unwrap() == file);
        let changed = replace(&file, location, b"other", &limits()).unwrap();
        assert_eq!(
            images(&changed, Some(location)),
            [(location.clone(), b"other".to_vec())]
        );
    }
}
