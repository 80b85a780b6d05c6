//! The README shows the code of the examples, which are tested where they are.

#![cfg(feature = "default")]

use std::fs;
use std::path::Path;

fn file(path: &str) -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(path)).unwrap()
}

#[test]
fn the_readme_shows_the_examples_as_they_are() {
    let readme = file("README.md");
    for (example, part) in [("ls", "list"), ("extract", "extract"), ("pack", "pack")] {
        let source = file(&format!("examples/{example}.rs"));
        let (_, rest) = source
            .split_once(&format!("// README: {part}\n"))
            .expect("the part has a beginning");
        let (code, _) = rest.split_once("// README: end\n").expect("the part has an end");
        assert!(!code.trim().is_empty());
        assert!(
            readme.contains(&format!("{code}```\n")),
            "README.md should have:\n{code}"
        );
    }
}
