//! Long listings on a terminal: to a pager, as Git shows them.

#![cfg(target_os = "linux")]

use std::fmt::Write;

use offkit_tests::{Folder, Outcome, need, offkit};

/// A package with so many images.
fn package(folder: &Folder, images: usize) {
    folder.write("image", "not much");
    let mut line = String::from("pack -o images.bin");
    for number in 0..images {
        write!(
            line,
            " --image file=image,triple=amdgcn-amd-amdhsa,arch=gfx{number},kind=hip"
        )
        .unwrap();
    }
    folder.offkit(&line).ok();
}

/// Runs a line on a terminal with 20 rows; the pager writes what it gets to a file.
fn on_a_terminal(folder: &Folder, setting: &str, line: &str) -> Outcome {
    let typed = format!(
        "stty rows 20 cols 100; env -u OFFKIT_PAGER -u PAGER -u LESS {setting} {} {line}",
        offkit().display()
    );
    folder.run("script", ["-qec", &typed, "/dev/null"])
}

const KEEP: &str = "OFFKIT_PAGER='tee paged >shown'";

#[test]
fn what_is_longer_than_the_terminal_goes_to_the_pager() {
    need!("script");
    let folder = Folder::new();
    package(&folder, 30);
    let outcome = on_a_terminal(&folder, KEEP, "ls images.bin --color never");
    assert_eq!(outcome.code, 0, "{outcome:#?}");
    assert_eq!(outcome.stdout, "");
    let paged = String::from_utf8(folder.read("paged")).unwrap();
    assert_eq!(paged, folder.offkit("ls images.bin").ok());
    // The options before the file do not matter, nor which listing it is.
    on_a_terminal(
        &folder,
        "PAGER='cat >shown'",
        "size --by arch --top 99 images.bin --color never",
    );
    let paged = String::from_utf8(folder.read("shown")).unwrap();
    assert_eq!(paged, folder.offkit("size --by arch --top 99 images.bin").ok());
}

#[test]
fn colours_go_to_the_pager() {
    need!("script");
    let folder = Folder::new();
    package(&folder, 30);
    on_a_terminal(&folder, KEEP, "ls images.bin --color always");
    assert!(
        String::from_utf8(folder.read("paged"))
            .unwrap()
            .contains("\u{1b}[")
    );
}

#[test]
fn no_pager_where_none_is_wanted_or_needed() {
    need!("script");
    let folder = Folder::new();
    package(&folder, 30);
    let is_direct = |setting: &str, line: &str| {
        let outcome = on_a_terminal(&folder, setting, line);
        assert!(
            outcome.stdout.contains("images.bin"),
            "{setting} {line}: {outcome:#?}"
        );
        assert!(!folder.list().contains(&"paged".to_owned()), "{setting} {line}");
    };
    is_direct(KEEP, "--no-pager ls images.bin");
    is_direct(KEEP, "ls images.bin --no-pager");
    is_direct(KEEP, "ls images.bin --arch gfx7");
    is_direct("OFFKIT_PAGER= PAGER='tee paged'", "ls images.bin");
    is_direct("OFFKIT_PAGER=cat", "ls images.bin");
    // One that is not there is no reason to show nothing.
    is_direct("OFFKIT_PAGER=no-such-pager", "ls images.bin");
    // Not a terminal.
    let typed = format!("{KEEP} {} ls images.bin | cat", offkit().display());
    let outcome = folder.run("script", ["-qec", &typed, "/dev/null"]);
    assert!(outcome.stdout.contains("gfx29"), "{outcome:#?}");
    assert!(!folder.list().contains(&"paged".to_owned()));
}

#[test]
fn the_end_of_the_pager_is_the_end_of_the_listing() {
    need!("script");
    let folder = Folder::new();
    package(&folder, 30);
    let outcome = on_a_terminal(&folder, "OFFKIT_PAGER=true", "ls images.bin");
    assert_eq!((outcome.code, outcome.stdout.as_str()), (0, ""));
    // What failed is said behind it.
    folder.write("broken", b"\x10\xff\x10\xad broken");
    let outcome = on_a_terminal(&folder, KEEP, "ls images.bin broken --color never");
    assert_eq!(outcome.code, 2, "{outcome:#?}");
    assert!(outcome.stdout.contains("error"), "{outcome:#?}");
}
