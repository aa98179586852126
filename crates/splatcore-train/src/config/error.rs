//! What can be wrong with a config.

use std::borrow::Cow;
use std::fmt;
use std::path::{Path, PathBuf};

/// What can be wrong with a config: prints as one line.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// The config file.
    #[error("{}: {problem}; {remedy}", place(path, *line))]
    File {
        /// The file.
        path: PathBuf,
        /// Line from 1, if known.
        line: Option<usize>,
        /// What is wrong.
        problem: String,
        /// What to do.
        remedy: String,
    },
    /// A value in the config file that its key does not take.
    #[error("{}: {}{problem}", place(path, *line), before(key.as_deref()))]
    NotAccepted {
        /// The file.
        path: PathBuf,
        /// Line from 1, if known.
        line: Option<usize>,
        /// The key, if known.
        key: Option<String>,
        /// What is wrong.
        problem: String,
    },
    /// A value that makes no sense, alone or beside others.
    #[error("{}", self.spelled(&|setting| setting.to_string()))]
    Value {
        /// Key in the file.
        key: &'static str,
        /// Its value.
        value: String,
        /// What is expected.
        problem: Cow<'static, str>,
        /// Another setting with which the value would make sense.
        instead: Option<Setting<'static>>,
    },
    /// A setting that was chosen and that nothing looks at, given the others.
    #[error("{}", self.spelled(&|setting| setting.to_string()))]
    Idle {
        /// Key of the setting.
        key: String,
        /// Why.
        reason: Idle,
    },
    /// The config could not be turned into text or back (a defect of the program).
    #[error("the config cannot be converted: {0}")]
    Convert(String),
}

/// A setting of which an error speaks. Prints as in a file: `key = value`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Setting<'a> {
    /// Its key.
    pub key: &'a str,
    /// Its value; `None` for any that switches it on.
    pub value: Option<&'a str>,
}

impl<'a> Setting<'a> {
    pub(super) const fn new(key: &'a str, value: &'a str) -> Self {
        let value = Some(value);
        Self { key, value }
    }

    pub(super) const fn on(key: &'a str) -> Self {
        Self { key, value: None }
    }
}

impl fmt::Display for Setting<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.value {
            Some(value) => write!(f, "{} = {value}", self.key),
            None => f.write_str(self.key),
        }
    }
}

/// Why a setting has no effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Idle {
    /// Only these look at it.
    Only(&'static [Setting<'static>]),
    /// With this setting the scene has no harmonics for it.
    NoHarmonics(Setting<'static>),
    /// What it begins has ended by then.
    Ended(Setting<'static>),
}

impl ConfigError {
    /// The error, with the settings that it speaks of spelled in another way than in a file.
    pub fn spelled(&self, spell: &dyn Fn(Setting<'_>) -> String) -> String {
        match self {
            Self::Value {
                key,
                value,
                problem,
                instead,
            } => {
                let setting = spell(Setting::new(key, value));
                let instead = instead.map(|other| format!("; or use {}", spell(other)));
                format!("{setting}: {problem}{}", instead.unwrap_or_default())
            }
            Self::Idle { key, reason } => {
                let (reason, instead) = match reason {
                    Idle::NoHarmonics(by) => (
                        format!("{} has no harmonics for it", spell(*by)),
                        "change that".to_owned(),
                    ),
                    Idle::Ended(by) => (
                        format!("it is after {}", spell(*by)),
                        "give an earlier step".to_owned(),
                    ),
                    Idle::Only(those) => {
                        let names: Vec<String> = those.iter().map(|one| spell(*one)).collect();
                        match names.as_slice() {
                            [one] => (format!("only {one} looks at it"), format!("give {one}")),
                            [others @ .., last] => (
                                format!("only {} and {last} look at it", others.join(", ")),
                                "give one of them".to_owned(),
                            ),
                            [] => ("nothing looks at it".into(), "give another".into()),
                        }
                    }
                };
                format!(
                    "{} has no effect here: {reason}; leave it out, or {instead}",
                    spell(Setting::on(key))
                )
            }
            _ => self.to_string(),
        }
    }
}

fn before(key: Option<&str>) -> String {
    key.map_or(String::new(), |key| format!("{key}: "))
}

fn place(path: &Path, line: Option<usize>) -> String {
    let line = line.map(|line| format!(", line {line}"));
    format!("{}{}", path.display(), line.unwrap_or_default())
}
