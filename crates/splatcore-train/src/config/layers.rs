//! The layers of one run: flags over a file. The preset that they name, and the defaults, come in
//! when they are resolved.

use super::{Config, ConfigError, ResolvedConfig};
use std::path::Path;

impl ResolvedConfig {
    /// The settings that were typed over those of `file`, resolved.
    ///
    /// # Errors
    /// An unreadable file, bad TOML, an unknown key (with the nearest known one), a value out of
    /// range, settings that contradict each other, a typed setting without effect.
    pub fn from_layers(file: Option<&Path>, typed: &Config) -> Result<Self, ConfigError> {
        let below = match file {
            Some(path) => Config::from_file(path)?,
            None => Config::UNSET,
        };
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
