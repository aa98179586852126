//! Settings of earlier versions. A file that has them still loads: what they did when nobody asked
//! for anything is what happens without them.

use super::ConfigError;
use std::path::Path;
use toml::{Table, Value};

const PRUNE: &str = "train anew without it; `splatcore prune` removes from the trained scene what \
                     photos hardly show";
const FEWER_HARMONICS: &str = "train anew without it; with fewer harmonics (`sh-degree`) colours \
                               depend less on the direction";

/// A setting that is gone.
struct Retired {
    key: &'static str,
    /// The value with which nothing was asked for; none if another setting decided whether this
    /// one had an effect.
    idle: Option<&'static str>,
    remedy: &'static str,
}

impl Retired {
    const fn new(key: &'static str, idle: Option<&'static str>, remedy: &'static str) -> Self {
        Self { key, idle, remedy }
    }
}

const RETIRED: [Retired; 7] = [
    Retired::new("densify-score", Some("gradient"), PRUNE),
    Retired::new("score-views", None, PRUNE),
    Retired::new("score-error", None, PRUNE),
    Retired::new("score-threshold", None, PRUNE),
    Retired::new("prune-importance", Some("0.0"), PRUNE),
    Retired::new("prune-bad-share", Some("1.0"), PRUNE),
    Retired::new("sh-regulariser", Some("0.0"), FEWER_HARMONICS),
];

/// What is gone and is set by this line, and its value.
fn retired(line: &str) -> Option<(&'static Retired, String)> {
    let (key, value) = toml::from_str::<Table>(line).ok()?.into_iter().next()?;
    let setting = RETIRED.iter().find(|setting| setting.key == key)?;
    let value = match value {
        Value::String(text) => text,
        Value::Integer(whole) => format!("{whole}.0"),
        other => other.to_string(),
    };
    Some((setting, value))
}

/// The text with an empty line in place of each that sets what is gone.
pub(super) fn without(text: &str) -> String {
    let kept = |line| if retired(line).is_some() { "" } else { line };
    text.lines().fold(String::new(), |mut all, line| {
        all.push_str(kept(line));
        all.push('\n');
        all
    })
}

/// Refuses a text that asks for what is gone.
pub(super) fn refuse(text: &str, path: &Path) -> Result<(), ConfigError> {
    for (i, line) in text.lines().enumerate() {
        let Some((setting, value)) = retired(line) else {
            continue;
        };
        if setting.idle.is_some_and(|idle| idle != value) {
            let key = setting.key;
            return Err(ConfigError::File {
                path: path.into(),
                line: Some(i + 1),
                problem: format!(
                    "{key} = {value} is an option of an earlier version, which is gone"
                ),
                remedy: setting.remedy.into(),
            });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use crate::config::{Config, ResolvedConfig};
    use std::path::Path;

    #[test]
    fn what_asks_for_nothing_loads_and_what_asks_is_refused() {
        let parse = |text: &str| Config::from_toml(text, Path::new("run.toml"));
        let idle = "densify-score = \"gradient\"\nscore-views = 3\nscore-error = 0.5\n\
                    score-threshold = 9\nseed = 4\nprune-importance = 0\nprune-bad-share = 1.0\n\
                    sh-regulariser = 0.0";
        assert_eq!(parse(idle).unwrap(), parse("seed = 4").unwrap());
        for (text, wanted) in [
            (
                "seed = 1\ndensify-score = \"consistent\"",
                "run.toml, line 2: densify-score = consistent is an option of an earlier version, \
                 which is gone; train anew",
            ),
            ("prune-importance = 0.5", "prune-importance = 0.5 is an"),
            ("prune-bad-share = 0", "prune-bad-share = 0.0 is an"),
            ("sh-regulariser = 3.0", "with fewer harmonics"),
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
