//! What goes with an installation: completions and manual pages, from the command line's own description.

use std::process::Command;

use offkit_tests::documentation::commands;
use offkit_tests::{Folder, need, offkit, tool};

#[test]
fn a_shell_completes_commands_and_options() {
    need!("bash");
    let folder = Folder::new();
    folder.write("offkit.bash", folder.offkit("completions bash").ok());
    let complete = |words: &[&str]| {
        let script = r#"source ./offkit.bash
COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
_offkit offkit "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}"
printf '%s\n' "${COMPREPLY[@]}""#;
        let options = ["-c", script, "bash"];
        let found = folder
            .run(tool("bash").unwrap(), options.iter().chain(words))
            .ok();
        found.lines().map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(complete(&["offkit", "po"]), ["post-link"]);
    assert_eq!(complete(&["offkit", "size", "--recu"]), ["--recursive"]);
    assert!(complete(&["offkit", "ls", "--kind", "c"]).contains(&"cuda".to_owned()));
    for (shell, word) in [
        ("zsh", "#compdef offkit"),
        ("fish", "complete -c offkit"),
        ("elvish", "offkit"),
    ] {
        let script = folder.offkit(&format!("completions {shell}")).ok();
        assert!(script.contains(word) && script.contains("recursive"), "{shell}");
    }
    folder.offkit("completions tcsh").fails(2);
}

#[test]
fn every_command_has_a_manual_page() {
    need!("man");
    let folder = Folder::new();
    folder.offkit("man pages/man1").ok();
    let pages = |name: &str| {
        let mut man = Command::new(tool("man").unwrap());
        man.args(["--warnings", "-l"])
            .arg(folder.path("pages/man1").join(name))
            .env("MANWIDTH", "100")
            .env("LC_ALL", "C.UTF-8");
        let outcome = folder.run_command(&mut man);
        assert_eq!((outcome.code, outcome.stderr.as_str()), (0, ""), "{name}");
        outcome.stdout
    };
    let help = folder.run(offkit(), ["--help"]).ok();
    let verbs: Vec<_> = help
        .lines()
        .take_while(|line| !line.starts_with("Options:"))
        .filter_map(|line| line.strip_prefix("  ")?.split_whitespace().next())
        .collect();
    assert!(verbs.len() > 20, "{help}");
    for verb in verbs {
        assert!(
            pages(&format!("offkit-{verb}.1")).contains("Examples:")
                || ["devlib", "cache", "icd"].contains(&verb)
        );
    }
    assert!(pages("offkit-cache-list.1").contains("offkit-cache-list"));
    let size = pages("offkit-size.1");
    assert!(
        size.contains("--recursive") && size.contains("offkit size --by arch wheel.whl"),
        "{size}"
    );
    folder.write("file", "");
    let message = folder.offkit("man file").fails(2);
    assert!(message.contains("cannot write pages into file"), "{message}");
}

#[test]
fn the_page_on_installing_shows_what_happens() {
    let folder = Folder::new();
    for example in commands("docs/install.md") {
        let home = folder.path(".").display().to_string();
        let line = example.line.replace('~', &home);
        offkit_tests::documentation::Example { line, ..example }.check(&folder);
    }
    assert!(folder.path(".local/share/man/man1/offkit.1").is_file());
}
