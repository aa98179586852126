//! Keys of endpoints. A key leaves the process in one header and in no other way.

use super::model::{ModelError, Request, Role};
use std::fmt;
use std::sync::Arc;

/// Signs that a key has at least. Shorter ones may stand in a text by chance: they could not be
/// kept out of it.
const MIN_SIGNS: usize = 8;

type Find = dyn Fn(&str) -> Option<String> + Send + Sync;

/// Where keys are looked up: the process' environment, or a table in tests.
#[derive(Clone)]
pub struct Keys(Arc<Find>);

impl Keys {
    /// Keys of the environment.
    pub fn of_environment() -> Self {
        Self(Arc::new(|variable| std::env::var(variable).ok()))
    }

    /// Keys that `find` returns for names of variables.
    pub fn of(find: impl Fn(&str) -> Option<String> + Send + Sync + 'static) -> Self {
        Self(Arc::new(find))
    }

    /// The key in `variable`.
    ///
    /// # Errors
    /// [`ModelError::KeyMissing`] if it is not set or empty, [`ModelError::Setting`] if it is too
    /// short or no header can hold it.
    pub(super) fn find(&self, variable: &str, role: Role) -> Result<Key, ModelError> {
        let found = (self.0)(variable).map(|key| key.trim().to_owned());
        let Some(key) = found.filter(|key| !key.is_empty()) else {
            return Err(ModelError::KeyMissing {
                role,
                variable: variable.to_owned(),
            });
        };
        if key.len() < MIN_SIGNS {
            return Err(ModelError::Setting {
                role,
                what: format!(
                    "key in {variable} has fewer than {MIN_SIGNS} signs: if the endpoint wants \
                     none, leave out key_env"
                ),
            });
        }
        if !key.chars().all(|c| c.is_ascii_graphic()) {
            return Err(ModelError::Setting {
                role,
                what: format!("key in {variable} has spaces or other signs that no header holds"),
            });
        }
        Ok(Key {
            variable: variable.to_owned(),
            key,
        })
    }
}

/// A key. It does not print.
pub(super) struct Key {
    pub(super) variable: String,
    key: String,
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "key of {}", self.variable)
    }
}

impl Key {
    /// The header that holds it.
    pub(super) fn header(&self) -> String {
        format!("Bearer {}", self.key)
    }

    /// `text` with `[key]` wherever the key stands: what an endpoint sends back may quote it.
    pub(super) fn scrub(&self, text: &str) -> String {
        text.replace(&self.key, "[key]")
    }

    /// Refuses a request that holds the key in a message or a parameter.
    pub(super) fn check(&self, request: &Request) -> Result<(), ModelError> {
        let held = request
            .messages
            .iter()
            .any(|message| message.content.contains(&self.key))
            || request.parameters.iter().any(|(name, value)| {
                name.contains(&self.key) || value.to_string().contains(&self.key)
            });
        match held {
            true => Err(ModelError::KeyInRequest {
                role: request.role,
                variable: self.variable.clone(),
            }),
            false => Ok(()),
        }
    }
}
