//! `docs/walkthrough.md`: what it shows is what happens, and what it names is there, as in `docs/architecture.md`.

use std::fs;
use std::path::{Path, PathBuf};

use offkit_tests::documentation::{blocks, commands};
use offkit_tests::{Folder, need, root};

const PAGE: &str = "docs/walkthrough.md";
const ARCHITECTURE: &str = "docs/architecture.md";

/// Types the commands of a page in a copy of the demo's folder.
fn type_commands(page: &str, least: usize) {
    let folder = Folder::new();
    for entry in fs::read_dir(root().join("examples/shared-library")).unwrap() {
        let path = entry.unwrap().path();
        fs::copy(&path, folder.path(&path.file_name().unwrap().to_string_lossy())).unwrap();
    }
    let commands = commands(page);
    assert!(commands.len() > least, "{}", commands.len());
    for command in commands {
        command.check(&folder);
    }
}

#[test]
fn its_commands_do_what_it_says() {
    need!("clang-22", "llc");
    type_commands(PAGE, 8);
}

#[test]
fn so_do_those_of_the_page_on_the_runtime() {
    need!("clang-22", "llc", "jq");
    type_commands("docs/runtime.md", 10);
}

#[test]
fn so_do_those_of_the_page_on_the_cpu_device() {
    need!("clang-22", "llc");
    type_for_scale("docs/cpu-device.md", 6);
}

#[test]
fn so_do_those_of_the_page_on_gpus() {
    need!("clang-22");
    type_for_scale("docs/gpu-compiler.md", 3);
}

/// Types the commands of a page, of which there are so many at least, where its first source is `scale.cl`.
fn type_for_scale(page: &str, least: usize) {
    let folder = Folder::new();
    let blocks = blocks(page).into_iter();
    let mut sources = blocks.filter(|(language, _)| language == "c");
    folder.write("scale.cl", sources.next().unwrap().1);
    let commands = commands(page);
    assert!(commands.len() >= least, "{}", commands.len());
    for command in commands {
        command.check(&folder);
    }
}

/// The sources of a package that is called so, or lies there.
fn sources(package: &str) -> Option<Vec<String>> {
    let folder = ["crates", "."].map(|within| root().join(within).join(package).join("src"));
    let mut folders: Vec<PathBuf> = folder.into_iter().filter(|folder| folder.is_dir()).collect();
    let mut sources = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                sources.push(fs::read_to_string(path).unwrap());
            }
        }
    }
    Some(sources).filter(|sources| !sources.is_empty())
}

#[test]
fn its_crates_and_names_are_there() {
    let mut rows = 0;
    let text = [PAGE, ARCHITECTURE]
        .map(|page| fs::read_to_string(root().join(page)).unwrap())
        .concat();
    for line in text.lines() {
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        let ["", _, package, name, ""] = cells.as_slice() else {
            continue;
        };
        let (Some(package), Some(name)) = (quoted(package), quoted(name)) else {
            continue;
        };
        let sources = sources(package).unwrap_or_else(|| panic!("there is no `{package}`"));
        let definitions = ["struct", "enum", "trait", "fn", "mod", "macro_rules!"];
        let is_there = definitions.iter().any(|kind| {
            let definition = format!("{kind} {name}");
            let is_definition = |line: &str| {
                line.split(&*definition)
                    .nth(1)
                    .is_some_and(|rest| !rest.starts_with(|c: char| c.is_alphanumeric() || c == '_'))
            };
            sources.iter().any(|source| source.lines().any(is_definition))
        });
        assert!(is_there, "`{package}` has no `{name}`");
        rows += 1;
    }
    assert!(rows > 30, "{rows}");
}

#[test]
fn it_names_every_request_of_the_worker() {
    let protocol = fs::read_to_string(root().join("crates/offkit-llvm/src/protocol.rs")).unwrap();
    let (_, requests) = protocol.split_once("pub enum Request {").unwrap();
    let (requests, _) = requests.split_once("\n}").unwrap();
    let is_end = |c: char| !c.is_alphanumeric();
    let requests: Vec<&str> = (requests.lines())
        .filter_map(|line| line.strip_prefix("    "))
        .filter(|line| line.starts_with(char::is_uppercase))
        .filter_map(|line| line.split(is_end).next())
        .collect();
    let page = fs::read_to_string(root().join(PAGE)).unwrap();
    let (_, table) = page.split_once("| Request | The worker |\n|---|---|\n").unwrap();
    let named: Vec<&str> = (table.lines().take_while(|line| !line.is_empty()))
        .filter_map(|line| quoted(line.split('|').nth(1)?.trim()))
        .collect();
    assert_eq!(named, requests);
}

fn quoted(cell: &str) -> Option<&str> {
    cell.strip_prefix('`')?.strip_suffix('`')
}

#[test]
fn its_links_lead_somewhere() {
    let text = fs::read_to_string(root().join(PAGE)).unwrap();
    let links: Vec<&str> = text
        .split("](")
        .skip(1)
        .filter_map(|rest| rest.split(')').next())
        .collect();
    assert!(links.len() > 4, "{links:?}");
    for link in links {
        assert!(root().join("docs").join(Path::new(link)).exists(), "{link}");
    }
}
