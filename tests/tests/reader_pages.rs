//! The pages for one kind of reader each: what they type works, and prints what they show. And the index has all pages.

use std::fs;
use std::path::{Path, PathBuf};

use offkit_tests::documentation::commands;
use offkit_tests::{Folder, need, root};

#[track_caller]
fn type_page(page: &str, least: usize) {
    let commands = commands(page);
    assert!(commands.len() >= least, "{page}: {}", commands.len());
    let folder = Folder::new();
    for example in &commands {
        example.check(&folder);
    }
}

#[test]
fn what_finds_no_device_is_explained() {
    need!("clang-22", "llc", "ld.lld");
    type_page("docs/no-device.md", 12);
}

#[test]
fn device_functions_are_shipped() {
    need!("clang-22", "llc");
    type_page("docs/device-functions.md", 10);
}

#[test]
fn compilers_and_runtimes_find_their_parts() {
    need!("clang-22", "llc", "jq");
    type_page("docs/compilers.md", 12);
}

/// All Markdown files below a folder.
fn pages(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let (folders, files): (Vec<_>, Vec<_>) = entries.partition(|path| path.is_dir());
    let files = files
        .into_iter()
        .filter(|path| path.extension().is_some_and(|end| end == "md"));
    files
        .chain(folders.iter().flat_map(|folder| pages(folder)))
        .collect()
}

/// Where the links of a page lead in this repository.
fn links(page: &Path) -> Vec<PathBuf> {
    let text = fs::read_to_string(page).unwrap();
    // A link may be broken over two lines.
    let targets = text.split("](").skip(1).filter_map(|rest| rest.split_once(')'));
    let targets = targets.map(|(target, _)| target.split('#').next().unwrap_or_default());
    // `[=](id<1> i)` is C++.
    let is_own = |target: &&str| !target.is_empty() && !target.contains("://") && !target.contains(' ');
    let own = targets.filter(is_own);
    own.map(|target| page.parent().unwrap().join(target)).collect()
}

#[test]
fn the_index_has_every_page() {
    let linked: Vec<PathBuf> = links(&root().join("docs/README.md"))
        .iter()
        .map(|path| {
            path.canonicalize()
                .unwrap_or_else(|error| panic!("{}: {error}", path.display()))
        })
        .collect();
    let all = pages(&root().join("docs"));
    assert!(all.len() > 40, "{}", all.len());
    for page in all.iter().map(|page| page.canonicalize().unwrap()) {
        assert!(
            linked.contains(&page) || page.ends_with("docs/README.md"),
            "{}",
            page.display()
        );
    }
}

#[test]
fn links_lead_somewhere() {
    let mut all = pages(&root().join("docs"));
    all.extend(["README.md", "CONTRIBUTING.md"].map(|page| root().join(page)));
    for page in all {
        for link in links(&page) {
            assert!(
                link.exists(),
                "{}: {} is not there",
                page.display(),
                link.display()
            );
        }
    }
}
