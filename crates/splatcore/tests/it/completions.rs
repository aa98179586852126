//! Completion scripts and manual pages agree with the command line.

use crate::common::{fails, splatcore, succeeds, text};
use std::process::Command;

/// The commands that the help lists.
fn commands() -> Vec<String> {
    let help = succeeds(&["-h"]);
    let listed = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    let names = listed.map_while(|line| line.split_whitespace().next());
    names
        .filter(|name| *name != "help")
        .map(str::to_owned)
        .collect()
}

#[test]
fn every_shell_gets_a_script_that_knows_all_commands() {
    let commands = commands();
    assert!(commands.len() >= 10, "{commands:?}");
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let script = succeeds(&["completions", shell]);
        for command in &commands {
            assert!(script.contains(command.as_str()), "{shell}: {command}");
        }
        assert!(script.contains("max-gaussians"), "{shell}");
    }
    splatcore(&["completions", "csh"]).assert().code(2);
}

#[test]
fn bash_completes_commands_and_flags() {
    let script = succeeds(&["completions", "bash"]);
    let complete = |line: &str| {
        let words: Vec<&str> = line.split(' ').collect();
        let (last, before) = (words[words.len() - 1], words[words.len() - 2]);
        let ask = format!(
            "COMP_WORDS=({line}); COMP_CWORD={}; _splatcore splatcore '{last}' '{before}'; \
             echo \"${{COMPREPLY[@]}}\"",
            words.len() - 1
        );
        Command::new("bash")
            .args(["-c", &format!("{script}\n{ask}")])
            .output()
    };
    let Ok(output) = complete("splatcore tra") else {
        return eprintln!("skipped: bash not found");
    };
    assert_eq!(String::from_utf8_lossy(&output.stdout).trim(), "train");
    let output = complete("splatcore train --max-g").unwrap();
    assert_eq!(
        String::from_utf8_lossy(&output.stdout).trim(),
        "--max-gaussians"
    );
}

#[test]
fn every_command_has_a_manual_page_with_its_flags() {
    let folder = tempfile::tempdir().unwrap();
    let pages = folder.path().join("share/man1");
    let answer = succeeds(&["man", text(&pages)]);
    let commands = commands();
    // Commands of commands, of which the lab has some, have pages too; what is hidden has none.
    let written = std::fs::read_dir(&pages).unwrap().count();
    let more = usize::from(cfg!(feature = "lab"));
    assert!(written > commands.len() + more, "{written}");
    assert!(
        answer.starts_with(&format!("{written} manual pages in ")),
        "{answer}"
    );
    assert_eq!(
        pages.join("splatcore-lab-check.1").exists(),
        cfg!(feature = "lab")
    );
    assert!(!pages.join("splatcore-lab-worker.1").exists());
    let version = succeeds(&["--version"]);
    let page = |name: &str| std::fs::read_to_string(pages.join(name)).unwrap();
    let main = page("splatcore.1");
    for command in &commands {
        let own = page(&format!("splatcore-{command}.1"));
        assert_contains!(own, format!(".TH splatcore-{command} 1"));
        assert!(own.contains(version.trim()), "{own}");
        assert_contains!(main, format!("splatcore\\-{command}(1)"));
        let help = succeeds(&[command, "--help"]);
        let words = help.split(|c: char| !(c.is_alphanumeric() || c == '-'));
        for flag in words.filter(|word| word.starts_with("--") && word.len() > 2) {
            let escaped = flag.replace('-', "\\-");
            assert!(
                own.contains(&escaped) || own.contains(flag),
                "{command}: {flag}"
            );
        }
    }
    std::fs::write(folder.path().join("file"), "").unwrap();
    fails(&["man", text(&folder.path().join("file"))]);
}
