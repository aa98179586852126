//! The layers of one run: flags over a file. The preset that they name, and the defaults, come in
//! when they are resolved.

use super::files::text_of;
use super::from_steps::follows_from_steps;
use super::{Config, ConfigError, ResolvedConfig};
use std::path::Path;

impl Config {
    /// Without the values that its own number of steps leads to: those follow another number.
    fn without_what_follows(&self) -> Result<Self, ConfigError> {
        let follows = |name: &str| name != "iterations" && follows_from_steps(name);
        let following = self.filtered(|name| !follows(name)).complete();
        let (mine, theirs) = (self.to_table()?, following.to_settings().to_table()?);
        let same = |name: &str| {
            let key = name.replace('_', "-");
            mine.get(&key) == theirs.get(&key)
        };
        Ok(self.filtered(|name| !follows(name) || !same(name)))
    }
}

impl ResolvedConfig {
    /// The settings that were typed over those of `file`, resolved. A file names every setting;
    /// with another number of steps than its own, those that followed from its number follow from
    /// the typed one.
    ///
    /// # Errors
    /// An unreadable file, bad TOML, an unknown key (with the nearest known one), a setting of an
    /// earlier version that asks for what is gone, a value out of range, settings that contradict
    /// each other, a typed setting without effect.
    pub fn from_layers(file: Option<&Path>, typed: &Config) -> Result<Self, ConfigError> {
        let mut below = match file {
            Some(path) => Config::from_toml(&text_of(path)?, path)?,
            None => Config::UNSET,
        };
        if typed.iterations.is_some() && typed.iterations != below.iterations {
            below = below.without_what_follows()?;
        }
        let resolved = typed.over(&below).resolve()?;
        let defaults = Config::fixed_defaults().to_table()?;
        let typed = typed.to_table()?;
        // The default, said aloud, is what the user gets.
        let chosen = typed
            .iter()
            .filter(|(key, value)| defaults.get(*key) != Some(value));
        // In the order in which files have them.
        let mut chosen: Vec<&String> = chosen.map(|(key, _)| key).collect();
        let order = Config::keys();
        chosen.sort_by_key(|key| order.iter().position(|known| known == *key));
        let idle = chosen
            .into_iter()
            .find_map(|key| Some((resolved.idle(key)?, key)));
        match idle {
            Some((reason, key)) => Err(ConfigError::Idle {
                key: key.clone(),
                reason,
            }),
            None => Ok(resolved),
        }
    }
}
