//! What `-h` shows: one screen with the flags that most people need, each in a sentence. `--help`
//! shows all flags, with all that there is to say, under headings.
//!
//! Commands say everything about a flag where they define it. What is shown at first is said here,
//! for all commands, so that a flag that is added does not grow the first screen.

use clap::{Arg, Command};

/// The flags of the first screen, by command, beside those that must be given. A command that is
/// not listed shows all of its flags.
const FIRST: [(&str, &str); 13] = [
    (
        "train",
        "output preset iterations budget quality_target max_gaussians max_size images test_every \
         background view resume overwrite backend",
    ),
    (
        "poses",
        "output in_place overwrite matching mapper camera_model cameras max_size frames colmap \
         python",
    ),
    (
        "eval",
        "dataset split test_every images max_size lpips report json backend",
    ),
    (
        "render",
        "output dataset cameras orbit split up distance size background path seconds depth backend \
         start",
    ),
    (
        "bench",
        "dataset cameras orbit size pipeline backward passes paper json backend",
    ),
    (
        "view",
        "dataset images up start distance port listen no_browser backend",
    ),
    (
        "export",
        "output title views path site hotspots turn up start distance background sh_degree \
         max_size",
    ),
    (
        "convert",
        "output overwrite dry_run up crop filter scale rotate translate sh_degree decimate stats \
         dataset",
    ),
    (
        "prune",
        "dataset keep finetune sh_degree output overwrite max_size backend",
    ),
    (
        "demo",
        "output photos_only iterations no_view overwrite backend",
    ),
    (
        "lab new",
        "scene held_out size pipeline task candidates device_seconds",
    ),
    ("lab run", "proposer llm guidance wall_seconds on device"),
    (
        "make",
        "output preset iterations budget max_gaussians max_size images frames view overwrite \
         backend",
    ),
];

/// Headings of flags that several commands have, for `--help`.
const HEADINGS: [(&str, &str); 3] = [
    (
        "Computing",
        "backend device memory photo_memory threads half_scene deterministic moments",
    ),
    (
        "Viewer",
        "view view_share allow_control port listen no_browser no_view",
    ),
    (
        "Files that are written",
        "spz_axes spz_version spz_sh_bits sog_palette keep_order keep_properties lod",
    ),
];

/// Whether a flag is one of these.
fn is_one_of(flags: &str, flag: &str) -> bool {
    flags.split(' ').any(|known| known == flag)
}

/// The command with a first screen, and those below it.
pub fn arranged(command: Command) -> Command {
    below(command, "")
}

fn below(command: Command, path: &str) -> Command {
    let first = FIRST.iter().find(|(name, _)| *name == path);
    let inside = |name: &str| match path {
        "" => name.to_owned(),
        path => format!("{path} {name}"),
    };
    let mut hides = false;
    let command = command
        .mut_args(|arg| {
            let is_first = first.is_none_or(|(_, flags)| is_one_of(flags, arg.get_id().as_str()));
            let shown = is_first || arg.is_positional() || arg.is_required_set();
            hides |= !shown && !arg.is_hide_set();
            in_a_sentence(under_its_heading(arg)).hide_short_help(!shown)
        })
        .mut_subcommands(|sub| {
            let path = inside(sub.get_name());
            below(sub, &path)
        });
    match hides {
        true => command
            .after_help(format!("More flags: splatcore {path} --help"))
            .after_long_help(""),
        false => command,
    }
}

fn under_its_heading(arg: Arg) -> Arg {
    let id = arg.get_id().as_str();
    let heading = HEADINGS.iter().find(|(_, flags)| is_one_of(flags, id));
    match heading {
        Some((heading, _)) if arg.get_help_heading().is_none() => arg.help_heading(*heading),
        _ => arg,
    }
}

/// So much of a sentence says something even without what follows a colon.
const MIN_BEFORE_COLON: usize = 45;

/// `-h` gets the first sentence or its first part, `--help` keeps all.
fn in_a_sentence(arg: Arg) -> Arg {
    let Some(all) = arg.get_help().map(ToString::to_string) else {
        return arg;
    };
    let long = arg.get_long_help().cloned();
    let first = end_of_first(&all).map(|end| all[..end].to_owned());
    match (first, long) {
        (None, _) => arg,
        (Some(first), Some(_)) => arg.help(first),
        (Some(first), None) => arg.help(first).long_help(all),
    }
}

/// Where the first sentence ends, or its part before a semicolon, or a long part before a colon;
/// none if that is the whole text. Not inside brackets.
fn end_of_first(text: &str) -> Option<usize> {
    let mut depth = 0;
    let bytes = text.as_bytes();
    for (at, &byte) in bytes.iter().enumerate() {
        let before_space = bytes.get(at + 1) == Some(&b' ');
        match byte {
            b'(' | b'[' | b'{' => depth += 1,
            b')' | b']' | b'}' => depth -= 1,
            b'.' | b';' if depth == 0 && before_space => return Some(at),
            b':' if depth == 0 && before_space && at >= MIN_BEFORE_COLON => return Some(at),
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command_line;

    /// Lines and columns of a small terminal.
    const SCREEN: [usize; 2] = [40, 100];

    fn for_all(command: &mut Command, path: &str, check: &mut impl FnMut(&mut Command, &str)) {
        check(command, path);
        let names: Vec<String> = command
            .get_subcommands()
            .filter(|sub| !sub.is_hide_set() && sub.get_name() != "help")
            .map(|sub| sub.get_name().to_owned())
            .collect();
        for name in names {
            let inside = format!("{path} {name}");
            let sub = command.find_subcommand_mut(&name).unwrap();
            for_all(sub, inside.trim_start(), check);
        }
    }

    #[test]
    fn the_short_help_of_every_command_fits_a_screen() {
        let mut command = command_line::arranged().term_width(SCREEN[1]);
        command.build();
        for_all(&mut command, "", &mut |command, path| {
            let help = command.render_help().to_string();
            let lines = help.trim_end().lines();
            let widest = lines.clone().map(|line| line.chars().count()).max();
            assert!(lines.count() <= SCREEN[0], "{path}: {help}");
            assert!(widest <= Some(SCREEN[1]), "{path}: {help}");
        });
    }

    #[test]
    fn first_parts_make_sense_alone() {
        let first = |text: &'static str| end_of_first(text).map(|end| &text[..end]);
        assert_eq!(first("Steps, one each. More"), Some("Steps, one each"));
        assert_eq!(first("Only one (a; b. c: d)"), None);
        assert_eq!(first("Where: here, there"), None);
        assert_eq!(first("Files a.b and c; 0 is none"), Some("Files a.b and c"));
        let long = "Go on from the checkpoint in DIR with its settings: the result is the same";
        assert_eq!(
            first(long),
            Some("Go on from the checkpoint in DIR with its settings")
        );
    }

    #[test]
    fn the_long_help_has_every_flag() {
        let mut command = command_line::arranged();
        command.build();
        for_all(&mut command, "", &mut |command, path| {
            let help = command.render_long_help().to_string();
            for arg in command.get_arguments().filter(|arg| !arg.is_hide_set()) {
                let said = arg
                    .get_long_help()
                    .or(arg.get_help())
                    .map(ToString::to_string);
                let flag = arg.get_long().map(|long| format!("--{long}"));
                assert!(flag.is_none_or(|flag| help.contains(&flag)), "{path} {arg}");
                assert!(said.is_some(), "{path} {arg} says nothing");
            }
            assert!(!help.contains("More flags:"), "{path}: {help}");
        });
    }

    #[test]
    fn the_first_screen_leads_to_the_rest() {
        let mut command = command_line::arranged();
        command.build();
        let train = command.find_subcommand_mut("train").unwrap();
        let help = train.render_help().to_string();
        assert_contains!(help, "More flags: splatcore train --help");
        assert!(
            help.contains("--iterations") && !help.contains("--lr-means"),
            "{help}"
        );
        // A sentence of what `--help` says in three.
        assert_contains!(help, "Training steps, of --batch photos each");
        assert!(!help.contains("Time grows in proportion"), "{help}");
    }
}
