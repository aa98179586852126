//! The config as text: `config.toml`, and what a checkpoint holds.

use super::{Config, ConfigError, Flags, ResolvedConfig, retired};
use clap::Args;
use std::path::Path;
use toml::{Table, Value};

/// Keys that may differ when a run is resumed: they change neither the data nor the sequence of
/// steps. (`backend` is checked by what was really used, `auto` and `cpu` may be the same;
/// `moments` are floats in a checkpoint, which every way to keep them can take over; another
/// `budget` or `quality-target` only moves the end.)
pub const HARMLESS_ON_RESUME: [&str; 8] = [
    "budget",
    "quality-target",
    "threads",
    "backend",
    "deterministic",
    "moments",
    "checkpoint-every",
    "eval-every",
];

const HEADER: &str = "\
# Settings of a splatcore training run; `splatcore train DATASET --config THIS_FILE` trains with
# them again. What is no setting is not here and must be typed again: --upright, --init, --images,
# --time-limit.
# What follows from `iterations` is written out: when you change it, delete those lines
# (coarse-until, sh-every, densify-from, densify-until, densify-every, opacity-reset-every,
# prune-every, growth, init-scale, lr-means, lr-means-final) to let them follow again.
";

impl Config {
    /// The settings that the file of a run gives, which may be of an earlier version: what that
    /// asked for and is gone is left out. Values are not yet checked.
    ///
    /// # Errors
    /// As [`ResolvedConfig::from_layers`], but for settings that are gone.
    pub fn from_file(path: &Path) -> Result<Self, ConfigError> {
        Self::parsed(&text_of(path)?, path)
    }

    /// The settings that a text gives, to train with. Values are not yet checked (flags may still
    /// replace them). `path` is only named in errors.
    ///
    /// # Errors
    /// As [`ResolvedConfig::from_layers`].
    pub fn from_toml(text: &str, path: &Path) -> Result<Self, ConfigError> {
        retired::refuse(text, path)?;
        Self::parsed(text, path)
    }

    fn parsed(text: &str, path: &Path) -> Result<Self, ConfigError> {
        let text = &retired::without(text);
        let failed = |line: Option<usize>, problem: String, remedy: String| ConfigError::File {
            path: path.into(),
            line,
            problem,
            remedy,
        };
        let at = |e: &toml::de::Error| e.span().map(|span| line_of(text, span.start));
        let one_line =
            |e: &toml::de::Error| e.message().split_whitespace().collect::<Vec<_>>().join(" ");
        let table: Table = toml::from_str(text).map_err(|e| {
            failed(
                at(&e),
                format!("is not TOML ({})", one_line(&e)),
                "write `key = value` lines".into(),
            )
        })?;
        let known = Self::keys();
        if let Some(unknown) = table.keys().find(|key| !known.contains(key)) {
            let line = text.lines().position(|line| {
                line.trim_start()
                    .trim_start_matches(['[', '"'])
                    .starts_with(unknown)
            });
            return Err(failed(
                line.map(|i| i + 1),
                format!("unknown key `{unknown}`"),
                instead_of(unknown, &known),
            ));
        }
        toml::from_str(text).map_err(|e| {
            let line = at(&e);
            let key = line
                .and_then(|line| text.lines().nth(line - 1))
                .and_then(|line| line.split('=').next());
            ConfigError::NotAccepted {
                path: path.into(),
                line,
                key: key.map(|key| key.trim().to_owned()),
                problem: one_line(&e),
            }
        })
    }

    /// Keys and values of what is given.
    ///
    /// # Errors
    /// Only a value that TOML cannot hold (see [`ResolvedConfig::check`]).
    pub fn to_table(&self) -> Result<Table, ConfigError> {
        Table::try_from(self).map_err(|e| ConfigError::Convert(e.to_string()))
    }

    /// Every key, in the order of the struct.
    pub(super) fn keys() -> Vec<String> {
        let command = Self::augment_args(clap::Command::new("train"));
        let key = |argument: &clap::Arg| argument.get_id().as_str().replace('_', "-");
        command.get_arguments().map(key).collect()
    }
}

impl ResolvedConfig {
    /// The settings as a file that reproduces the run: every setting that has a value, each under a
    /// line that says what it does.
    ///
    /// # Errors
    /// As [`Config::to_table`].
    pub fn to_toml(&self) -> Result<String, ConfigError> {
        let text = toml::to_string(&self.to_settings())
            .map_err(|e| ConfigError::Convert(e.to_string()))?;
        let command = Flags::augment_args(clap::Command::new("train"));
        let mut out = String::from(HEADER);
        for line in text.lines() {
            let key = line.split(' ').next().unwrap_or_default();
            let argument = command
                .get_arguments()
                .find(|a| a.get_id().as_str().replace('_', "-") == key);
            if let Some(help) = argument.and_then(|a| a.get_help()) {
                out.push_str(&format!("\n# {help}.\n"));
            }
            out.push_str(line);
            out.push('\n');
        }
        Ok(out)
    }

    /// The first key, in order of the alphabet, in which two runs differ though it matters to the
    /// sequence of steps, with both values: `(key, self's, other's)`.
    ///
    /// # Errors
    /// As [`Config::to_table`].
    pub fn difference(
        &self,
        other: &Self,
    ) -> Result<Option<(String, String, String)>, ConfigError> {
        let (mine, theirs) = (
            self.to_settings().to_table()?,
            other.to_settings().to_table()?,
        );
        let text = |value: Option<&Value>| value.map_or("not set".to_owned(), Value::to_string);
        let mut names: Vec<&String> = mine.keys().chain(theirs.keys()).collect();
        // What was typed rather than what follows from it: `iterations` before the steps derived
        // from it.
        names.sort_by_key(|key| {
            (
                !["preset", "iterations", "strategy"].contains(&key.as_str()),
                key.as_str(),
            )
        });
        Ok(names
            .into_iter()
            .filter(|key| !HARMLESS_ON_RESUME.contains(&key.as_str()))
            .find(|key| mine.get(*key) != theirs.get(*key))
            .map(|key| (key.clone(), text(mine.get(key)), text(theirs.get(key)))))
    }
}

/// What a file holds.
pub(super) fn text_of(path: &Path) -> Result<String, ConfigError> {
    std::fs::read_to_string(path).map_err(|e| ConfigError::File {
        path: path.into(),
        line: None,
        problem: format!("cannot be read ({e})"),
        remedy: "check that it exists, that you may read it and that it is text".into(),
    })
}

/// What may have been meant by an unknown key.
fn instead_of(unknown: &str, known: &[String]) -> String {
    let nearest = known.iter().min_by_key(|key| edits(unknown, key));
    match nearest {
        Some(key) if edits(unknown, key) <= unknown.len().div_ceil(2) => {
            format!("did you mean `{key}`?")
        }
        _ => format!("known keys: {}", known.join(", ")),
    }
}

fn line_of(text: &str, byte: usize) -> usize {
    1 + text.bytes().take(byte).filter(|&b| b == b'\n').count()
}

/// Levenshtein distance in bytes.
fn edits(a: &str, b: &str) -> usize {
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.bytes().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, y) in b.bytes().enumerate() {
            let replaced = diagonal + usize::from(x != y);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}
