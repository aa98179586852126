//! Where answers come from, as people name it.

use super::command::Program;
use super::endpoint::{Endpoint, Keys, Price};
use super::files::Files;
use super::http::Http;
use super::model::{Model, ModelError, Parameters, Role};
use super::pause::Pause;
use super::record::{self, Record};
use super::recorder::Models;
use super::replay::Replay;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

/// The endpoints of an experiment, by role.
pub type Endpoints = BTreeMap<Role, Endpoint>;

/// Seconds that a program has for an answer.
const PROGRAM_TIMEOUT: Duration = Duration::from_secs(3600);

/// Where answers come from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// Endpoints, one for each role: `http`.
    Http,
    /// A program with arguments: `command:PROGRAM ARGUMENT ...`, parted by spaces.
    Command(String, Vec<String>),
    /// Files in a folder: `files:FOLDER`.
    Files(PathBuf),
    /// The record of another run: `replay:FILE`.
    Replay(PathBuf),
}

impl FromStr for Source {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || {
            format!(
                "{text:?} is no source of answers: give http, command:PROGRAM, files:FOLDER or \
                     replay:FILE"
            )
        };
        let (kind, rest) = text.split_once(':').unwrap_or((text, ""));
        let mut words = rest.split_whitespace().map(str::to_owned);
        match (kind, rest.trim().is_empty()) {
            ("http", true) => Ok(Self::Http),
            ("command", false) => {
                let program = words.next().ok_or_else(wrong)?;
                Ok(Self::Command(program, words.collect()))
            }
            ("files", false) => Ok(Self::Files(rest.into())),
            ("replay", false) => Ok(Self::Replay(rest.into())),
            _ => Err(wrong()),
        }
    }
}

/// A model, and what goes into its requests and bills.
pub struct Opened {
    /// The model. Put it behind a [`super::recorder::Recorder`].
    pub model: Box<dyn Model + Send>,
    /// Parameters of requests, for [`super::question::Setting`].
    pub parameters: BTreeMap<Role, Parameters>,
    /// Prices, for the recorder. Those of programs and files are not known.
    pub prices: BTreeMap<Role, Price>,
}

impl Source {
    /// Opens the source for an experiment with this record.
    ///
    /// # Errors
    /// [`ModelError::NoModel`] for `http` without any endpoint, [`ModelError::Setting`] for
    /// settings that cannot be right, [`ModelError::File`] for a record that cannot be read.
    pub fn open(
        &self,
        endpoints: &Endpoints,
        keys: &Keys,
        record: &Record,
        pause: &Pause,
    ) -> Result<Opened, ModelError> {
        let asked = record.exchanges().len();
        let bodies = |endpoints: &Endpoints| {
            let body = |(role, endpoint): (&Role, &Endpoint)| (*role, endpoint.body());
            endpoints.iter().map(body).collect()
        };
        let mut prices = BTreeMap::new();
        let mut parameters = bodies(endpoints);
        let model: Box<dyn Model + Send> = match self {
            Self::Http => {
                if endpoints.is_empty() {
                    return Err(ModelError::NoModel(Role::Coder));
                }
                let mut models = Models::default();
                for (&role, endpoint) in endpoints {
                    prices.extend(endpoint.price.map(|price| (role, price)));
                    let http = Http::new(role, endpoint.clone(), keys.clone(), pause.clone())?;
                    models = models.with(role, http);
                }
                Box::new(models)
            }
            Self::Command(program, arguments) => {
                let (program, arguments) = (program.clone(), arguments.clone());
                Box::new(Program::new(
                    program,
                    arguments,
                    PROGRAM_TIMEOUT,
                    pause.clone(),
                ))
            }
            Self::Files(folder) => Box::new(Files::new(folder, asked, None, pause.clone())),
            Self::Replay(path) => {
                let replay = Replay::new(record::read(path)?, asked);
                parameters = replay.parameters();
                Box::new(replay)
            }
        };
        Ok(Opened {
            model,
            parameters,
            prices,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{exchange, request};
    use super::*;

    fn open(source: &str, endpoints: &str) -> Result<Opened, ModelError> {
        let folder = tempfile::tempdir().unwrap();
        let record = Record::open(folder.path().join("llm.jsonl")).unwrap();
        let source: Source = source.parse().unwrap();
        let endpoints = toml::from_str(endpoints).unwrap();
        source.open(&endpoints, &Keys::of(|_| None), &record, &Pause::default())
    }

    #[test]
    fn sources_read_as_people_name_them() {
        let program = Source::Command("agent".into(), vec!["-p".into(), "x".into()]);
        for (text, source) in [
            ("http", Source::Http),
            ("command:agent -p x", program),
            ("files:a/b c", Source::Files("a/b c".into())),
            ("replay:llm.jsonl", Source::Replay("llm.jsonl".into())),
        ] {
            assert_eq!(text.parse(), Ok(source));
        }
        for text in ["", "command:", "files", "http:x", "gpt"] {
            let error = text.parse::<Source>().unwrap_err();
            assert!(error.contains("give http, command:PROGRAM"), "{error}");
        }
    }

    #[test]
    fn endpoints_give_parameters_and_prices() {
        let endpoints = "[coder]\nbase_url = 'http://127.0.0.1:9/v1'\nmodel = 'm'\n\
                         key_env = 'LAB_KEY'\nprice = { input = 1, output = 2 }\n\
                         [planner]\nbase_url = 'http://127.0.0.1:9/v1'\nmodel = 'p'\n";
        let mut opened = open("http", endpoints).ok().unwrap();
        assert_eq!(opened.parameters[&Role::Planner]["model"], "p");
        assert_eq!(opened.prices.len(), 1);
        let error = opened.model.ask(&request(0, "a")).unwrap_err().to_string();
        assert!(error.contains("LAB_KEY"), "{error}");
        let none = open("http", "").err().unwrap().to_string();
        assert!(none.starts_with("no model is set"), "{none}");
        assert!(open("files:x", "").is_ok());
    }

    #[test]
    fn a_replay_brings_its_parameters() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("llm.jsonl");
        let mut record = Record::open(&path).unwrap();
        record.append(exchange(0, "a", "b")).unwrap();
        let source = format!("replay:{}", path.display());
        let mut opened = open(&source, "").ok().unwrap();
        assert_eq!(opened.parameters[&Role::Coder]["model"], "m");
        assert_eq!(opened.model.ask(&request(0, "a")).unwrap().text, "b");
        assert!(open("replay:no-such-file", "").is_err());
    }
}
