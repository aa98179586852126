//! Settings of a role's endpoint.

pub use super::key::Keys;

use super::model::{ModelError, Parameters, Role, Usage};
use serde::{Deserialize, Serialize};

/// Where a role's model is and what it costs. In `experiment.toml`:
///
/// ```toml
/// [llm.coder]
/// base_url = "http://127.0.0.1:8080/v1"
/// model = "some-model"
/// key_env = "LAB_CODER_KEY"
/// price = { input = 0.5, output = 2.0 }
/// timeout_s = 600
///
/// [llm.coder.parameters]
/// max_tokens = 16000
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Endpoint {
    /// The address that `/chat/completions` is appended to.
    pub base_url: String,
    /// The model's name, as the endpoint knows it.
    pub model: String,
    /// Name of the environment variable that holds the key; none for an endpoint without keys.
    #[serde(default)]
    pub key_env: Option<String>,
    /// Further fields of the request's body, passed on unchanged.
    #[serde(default)]
    pub parameters: Parameters,
    /// What tokens cost; without it no budget of money can be kept.
    #[serde(default)]
    pub price: Option<Price>,
    /// Seconds for one answer.
    #[serde(default = "timeout_s")]
    pub timeout_s: u64,
    /// How often a request is sent, at most, if the endpoint is busy or the answer breaks off.
    #[serde(default = "attempts")]
    pub attempts: u32,
}

fn timeout_s() -> u64 {
    600
}

fn attempts() -> u32 {
    5
}

/// Price of a million tokens, in the currency of the budget.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Price {
    /// Of tokens that the model reads.
    pub input: f64,
    /// Of tokens that it writes.
    pub output: f64,
}

impl Price {
    /// The price of a request and its reply.
    pub fn of(&self, usage: Usage) -> f64 {
        (usage.tokens_in as f64 * self.input + usage.tokens_out as f64 * self.output) / 1e6
    }
}

impl Endpoint {
    /// Fields of the request's body besides the messages: the parameters and `model`.
    pub fn body(&self) -> Parameters {
        let mut body = self.parameters.clone();
        body.insert("model".into(), self.model.as_str().into());
        body
    }

    /// Refuses settings that cannot be right, before anything is sent.
    ///
    /// # Errors
    /// [`ModelError::Setting`] with the setting's name.
    pub fn check(&self, role: Role) -> Result<(), ModelError> {
        let wrong = |what: &str| {
            Err(ModelError::Setting {
                role,
                what: what.to_owned(),
            })
        };
        let rest = ["http://", "https://"]
            .iter()
            .find_map(|scheme| self.base_url.strip_prefix(scheme));
        let Some(rest) = rest.filter(|rest| !rest.is_empty()) else {
            return wrong("base_url does not start with http:// or https://");
        };
        let host = rest.split('/').next().unwrap_or_default();
        if host.contains('@') || self.base_url.contains(['?', '#']) {
            return wrong(
                "base_url holds more than an address: put the key into the environment \
                          and name its variable in key_env",
            );
        }
        if self.base_url.ends_with("/chat/completions") {
            return wrong(
                "base_url ends with /chat/completions, which is appended to it: leave \
                          it out",
            );
        }
        let reserved = ["messages", "model", "stream", "n"];
        if let Some(name) = reserved.iter().find(|n| self.parameters.contains_key(**n)) {
            return wrong(&format!(
                "parameters may not hold {name}: the lab sets it or needs its default"
            ));
        }
        let sensible = |price: f64| price.is_finite() && price >= 0.0;
        if self
            .price
            .is_some_and(|p| !sensible(p.input) || !sensible(p.output))
        {
            return wrong("price is negative or no number");
        }
        if self.timeout_s == 0 || self.attempts == 0 {
            return wrong("timeout_s and attempts must be at least 1");
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn endpoint(text: &str) -> Endpoint {
        toml::from_str(text).unwrap()
    }

    #[test]
    fn settings_are_read_and_passed_on() {
        let text = "base_url = 'https://models.example/v1'\nmodel = 'm'\n\
                    price = { input = 1, output = 10 }\n[parameters]\nmax_tokens = 5\n";
        let read = endpoint(text);
        assert_eq!(read.check(Role::Coder), Ok(()));
        assert_eq!((read.timeout_s, read.attempts), (600, 5));
        let body = serde_json::to_string(&read.body()).unwrap();
        assert_eq!(body, r#"{"max_tokens":5,"model":"m"}"#);
        let usage = Usage {
            tokens_in: 1_000_000,
            tokens_out: 200_000,
            estimated: false,
        };
        assert_eq!(read.price.unwrap().of(usage), 3.0);
        let unknown = toml::from_str::<Endpoint>("base_url = 'http://a'\nmodel = 'm'\nkey = 'k'");
        assert!(unknown.unwrap_err().to_string().contains("unknown field"));
    }

    #[test]
    fn settings_that_cannot_be_right_are_refused() {
        let cases = [
            ("ftp://a", "", "base_url does not start"),
            ("https://", "", "base_url does not start"),
            ("https://user:secret@a/v1", "", "key_env"),
            ("https://a/v1?key=secret", "", "key_env"),
            ("http://a/v1/chat/completions", "", "leave it out"),
            ("http://a", "timeout_s = 0", "at least 1"),
            ("http://a", "price = { input = -1, output = 0 }", "negative"),
            ("http://a", "parameters = { stream = true }", "stream"),
        ];
        for (url, more, says) in cases {
            let wrong = endpoint(&format!("base_url = '{url}'\nmodel = 'm'\n{more}"));
            let error = wrong.check(Role::Checker).unwrap_err().to_string();
            assert!(error.starts_with("the checker's "), "{error}");
            assert!(error.contains(says), "{error}");
            assert!(!error.contains("secret"), "{error}");
        }
    }
}
