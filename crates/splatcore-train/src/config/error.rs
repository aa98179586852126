//! What can be wrong with a config.

use std::path::PathBuf;

/// What can be wrong with a config: prints as one line.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// The config file.
    #[error("{}{}: {problem}; {remedy}", path.display(), line.map(|line| format!(", line {line}")).unwrap_or_default())]
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
    /// A value that makes no sense.
    #[error("{key} = {value}: {problem}")]
    Value {
        /// Key in the file; the flag is `--key`.
        key: &'static str,
        /// Its value.
        value: String,
        /// What is expected.
        problem: &'static str,
    },
    /// A flag that nothing looks at, given the others.
    #[error("--{key} has no effect here: {reason}; leave it out, or change the other")]
    Idle {
        /// The flag.
        key: String,
        /// Why.
        reason: &'static str,
    },
    /// The config could not be turned into text or back (a defect of the program).
    #[error("the config cannot be converted: {0}")]
    Convert(String),
}
