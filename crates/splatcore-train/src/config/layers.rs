//! Defaults, preset, file, flags: which of them counts; and the config as text.

use super::{Config, ConfigError, DEFAULT, Preset};
use clap::parser::ValueSource;
use clap::{Args, FromArgMatches, ValueEnum};
use std::path::Path;
use toml::{Table, Value};

/// The number of iterations for which the literature states its schedules.
pub const REFERENCE_ITERATIONS: u32 = 30_000;

/// Keys that may differ when a run is resumed: they change neither the data nor the sequence of
/// steps. (`backend` is checked by what was really used, `auto` and `cpu` may be the same;
/// `moments` are floats in a checkpoint, which every way to keep them can take over.)
pub const HARMLESS_ON_RESUME: [&str; 6] = [
    "threads",
    "backend",
    "deterministic",
    "moments",
    "checkpoint-every",
    "eval-every",
];

/// A step of the 30,000-iteration schedule in a run of `iterations`: rounded, at least 1.
pub fn scaled_steps(steps: u32, iterations: u32) -> u32 {
    let scaled = (steps as f64 * iterations as f64 / REFERENCE_ITERATIONS as f64).round();
    (scaled as u32).max(1)
}

impl Config {
    /// Defaults, overridden by the preset that flags or `file` name, overridden by the keys of
    /// `file`, overridden by the flags that were really typed; validated. `matches` are those of
    /// the command that flattens [`Config`].
    ///
    /// # Errors
    /// An unreadable file, bad TOML, an unknown key (with the nearest known one), a value out of
    /// range, settings that contradict each other, a flag without effect.
    pub fn layered(file: Option<&Path>, matches: &clap::ArgMatches) -> Result<Self, ConfigError> {
        let mut table = match file {
            Some(path) => Self::explicit(&read(path)?, path)?,
            None => Table::new(),
        };
        let flags = Self::from_arg_matches(matches)
            .map_err(|e| ConfigError::Convert(e.to_string()))?
            .to_table()?;
        let defaults = DEFAULT.to_table()?;
        let mut typed = Vec::new();
        for id in matches.ids() {
            let key = id.as_str().replace('_', "-");
            if matches.value_source(id.as_str()) == Some(ValueSource::CommandLine)
                && let Some(value) = flags.get(&key)
            {
                if defaults.get(&key) != Some(value) {
                    typed.push(key.clone());
                }
                table.insert(key, value.clone());
            }
        }
        let config = Self::over_preset(table)?;
        config.validate()?;
        let idle = typed
            .into_iter()
            .find_map(|key| Some((config.idle(&key)?, key)));
        match idle {
            Some((reason, key)) => Err(ConfigError::Idle { key, reason }),
            None => Ok(config),
        }
    }

    /// Defaults or the preset that it names, overridden by the keys of a file. Values are not yet
    /// checked (flags may still replace them).
    ///
    /// # Errors
    /// As [`Config::layered`].
    pub fn from_file(path: &Path) -> Result<Self, ConfigError> {
        Self::from_toml(&read(path)?, path)
    }

    /// As [`Config::from_file`] for text at hand; `path` is only named in errors.
    ///
    /// # Errors
    /// As [`Config::layered`].
    pub fn from_toml(text: &str, path: &Path) -> Result<Self, ConfigError> {
        Self::over_preset(Self::explicit(text, path)?)
    }

    /// Settings over those of the preset that is among them, if there is one, else over the
    /// defaults.
    fn over_preset(settings: Table) -> Result<Self, ConfigError> {
        let name = settings.get("preset").and_then(Value::as_str);
        let preset = name.and_then(|name| Preset::from_str(name, false).ok());
        let mut table = preset.map_or(DEFAULT, Preset::config).to_table()?;
        table.extend(settings);
        table.try_into().map_err(convert)
    }

    /// The settings that a text names.
    fn explicit(text: &str, path: &Path) -> Result<Table, ConfigError> {
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
        let known = keys();
        if let Some(unknown) = table.keys().find(|key| !known.contains(key)) {
            let line = text.lines().position(|line| {
                line.trim_start()
                    .trim_start_matches(['[', '"'])
                    .starts_with(unknown)
            });
            let nearest = known.iter().min_by_key(|key| edits(unknown, key));
            let remedy = match nearest {
                Some(key) if edits(unknown, key) <= unknown.len().div_ceil(2) => {
                    format!("did you mean `{key}`?")
                }
                _ => format!("known keys: {}", known.join(", ")),
            };
            return Err(failed(
                line.map(|i| i + 1),
                format!("unknown key `{unknown}`"),
                remedy,
            ));
        }
        let read: Self = toml::from_str(text).map_err(|e| {
            let line = at(&e);
            let key = line
                .and_then(|line| text.lines().nth(line - 1))
                .and_then(|line| line.split('=').next())
                .map_or(String::new(), |key| format!("{}: ", key.trim()));
            failed(
                line,
                format!("{key}{}", one_line(&e)),
                "`splatcore train --help` lists what is accepted".into(),
            )
        })?;
        let named = |(key, _): &(String, Value)| table.contains_key(key);
        Ok(read.to_table()?.into_iter().filter(named).collect())
    }

    /// The complete config as a file that reproduces the run: every setting that has a value,
    /// resolved, each under a line that says what it does. Reading it back gives
    /// [`Config::resolved`].
    ///
    /// # Errors
    /// Only a config that TOML cannot hold (see [`Config::validate`]).
    pub fn to_toml(&self) -> Result<String, ConfigError> {
        let text =
            toml::to_string(&self.resolved()).map_err(|e| ConfigError::Convert(e.to_string()))?;
        let command = Self::augment_args(clap::Command::new("train"));
        let mut out = String::from(
            "# Settings of a splatcore training run; `splatcore train DATASET --config THIS_FILE` \
             repeats it.\n\
             # Steps that follow from `iterations` are written out: when you change it, delete \
             those lines\n\
             # (coarse-until, sh-every, densify-from, densify-until, opacity-reset-every, \
             prune-every) to let them follow again.\n",
        );
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

    /// Keys and values by name, as they are (call [`Config::resolved`] first to have the derived
    /// ones too).
    ///
    /// # Errors
    /// As [`Config::to_toml`].
    pub fn to_table(&self) -> Result<Table, ConfigError> {
        Table::try_from(self).map_err(|e| ConfigError::Convert(e.to_string()))
    }

    /// The first key, in order of the alphabet, in which two resolved configs differ though it
    /// matters to the sequence of steps, with both values: `(key, self's, other's)`.
    ///
    /// # Errors
    /// As [`Config::to_toml`].
    pub fn difference(
        &self,
        other: &Self,
    ) -> Result<Option<(String, String, String)>, ConfigError> {
        let (mine, theirs) = (self.resolved().to_table()?, other.resolved().to_table()?);
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

fn read(path: &Path) -> Result<String, ConfigError> {
    std::fs::read_to_string(path).map_err(|e| ConfigError::File {
        path: path.into(),
        line: None,
        problem: format!("cannot be read ({e})"),
        remedy: "check that it exists, that you may read it and that it is text".into(),
    })
}

fn convert(e: toml::de::Error) -> ConfigError {
    ConfigError::Convert(e.message().to_owned())
}

/// Every key, in the order of the struct.
fn keys() -> Vec<String> {
    Config::augment_args(clap::Command::new("train"))
        .get_arguments()
        .map(|argument| argument.get_id().as_str().replace('_', "-"))
        .collect()
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
