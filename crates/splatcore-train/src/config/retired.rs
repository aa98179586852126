//! Settings of earlier versions. A file that has them still loads: what they did when nobody asked
//! for anything is what happens without them.

use std::path::Path;
use toml::{Table, Value};

use super::ConfigError;

/// Keys that are gone, and the value with which nothing was asked for; none if another of them
/// decided whether this one had an effect.
const RETIRED: [(&str, Option<&str>); 6] = [
    ("densify-score", Some("gradient")),
    ("score-views", None),
    ("score-error", None),
    ("score-threshold", None),
    ("prune-importance", Some("0.0")),
    ("prune-bad-share", Some("1.0")),
];

/// The line's key and value, if it sets what is gone, and whether that asks for something.
fn retired(line: &str) -> Option<(String, String, bool)> {
    let (key, value) = toml::from_str::<Table>(line).ok()?.into_iter().next()?;
    let (_, idle) = RETIRED.iter().find(|(gone, _)| *gone == key)?;
    let value = match value {
        Value::String(text) => text,
        Value::Integer(whole) => format!("{whole}.0"),
        other => other.to_string(),
    };
    let asks = idle.is_some_and(|idle| idle != value);
    Some((key, value, asks))
}

/// The text with an empty line in place of each that sets what is gone.
pub(super) fn without(text: &str) -> String {
    let kept = |line| if retired(line).is_some() { "" } else { line };
    text.lines()
        .map(|line| format!("{}\n", kept(line)))
        .collect()
}

/// Refuses a text that asks for what is gone.
pub(super) fn refuse(text: &str, path: &Path) -> Result<(), ConfigError> {
    let asked = text.lines().enumerate().find_map(|(i, line)| {
        let (key, value, asks) = retired(line)?;
        asks.then(|| (i + 1, format!("{key} = {value}")))
    });
    match asked {
        Some((line, setting)) => Err(ConfigError::File {
            path: path.into(),
            line: Some(line),
            problem: format!("{setting} is an option of an earlier version, which is gone"),
            remedy: "train anew without it; `splatcore prune` removes from the trained scene what \
                     photos hardly show"
                .into(),
        }),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use crate::config::{Config, ResolvedConfig};
    use std::path::Path;

    #[test]
    fn what_asks_for_nothing_loads_and_what_asks_is_refused() {
        let parse = |text: &str| Config::from_toml(text, Path::new("run.toml"));
        let idle = "densify-score = \"gradient\"\nscore-views = 3\nscore-error = 0.5\n\
                    score-threshold = 9\nseed = 4\nprune-importance = 0\nprune-bad-share = 1.0";
        assert_eq!(parse(idle).unwrap(), parse("seed = 4").unwrap());
        for (text, wanted) in [
            (
                "seed = 1\ndensify-score = \"consistent\"",
                "run.toml, line 2: densify-score = consistent is an option of an earlier version, \
                 which is gone; train anew",
            ),
            ("prune-importance = 0.5", "prune-importance = 0.5 is an"),
            ("prune-bad-share = 0", "prune-bad-share = 0.0 is an"),
        ] {
            let error = parse(text).unwrap_err().to_string();
            assert!(
                error.contains(wanted) && !error.contains('\n'),
                "{text}: {error}"
            );
        }
    }

    #[test]
    fn a_run_that_asked_is_looked_at_and_not_trained_on() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("config.toml");
        std::fs::write(&path, "prune-importance = 0.5\ntest-every = 4\nsed = 1").unwrap();
        let error = Config::from_file(&path).unwrap_err().to_string();
        assert!(error.contains("line 3: unknown key `sed`"), "{error}");
        std::fs::write(&path, "prune-importance = 0.5\ntest-every = 4").unwrap();
        assert_eq!(Config::from_file(&path).unwrap().test_every, Some(4));
        assert!(ResolvedConfig::from_layers(Some(&path), &Config::UNSET).is_err());
    }
}
