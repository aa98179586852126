//! What a language model is asked and what it answers.

use crate::candidate::{Bill, hex};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// What a model is asked for. Each role may have another model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    /// Reads kernels and gives advice; drops advice that the profile speaks against.
    Planner,
    /// Writes candidates.
    Coder,
    /// Compares a candidate with the baseline.
    Checker,
}

impl Role {
    /// All roles.
    pub const ALL: [Self; 3] = [Self::Planner, Self::Coder, Self::Checker];

    /// Its name in files: `planner`, `coder`, `checker`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Planner => "planner",
            Self::Coder => "coder",
            Self::Checker => "checker",
        }
    }
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Who wrote a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Author {
    /// The frame that the lab sets.
    System,
    /// The lab.
    User,
    /// The model, in an earlier reply.
    Assistant,
}

impl Author {
    /// Its name in the chat completions protocol.
    pub fn name(self) -> &'static str {
        match self {
            Self::System => "system",
            Self::User => "user",
            Self::Assistant => "assistant",
        }
    }
}

/// A message, as the chat completions protocol has it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Message {
    /// Who wrote it.
    #[serde(rename = "role")]
    pub author: Author,
    /// Its text, usually Markdown.
    pub content: String,
}

impl Message {
    /// A message.
    pub fn new(author: Author, content: impl Into<String>) -> Self {
        Self {
            author,
            content: content.into(),
        }
    }
}

/// Fields of a request's body besides the messages, `model` among them. They reach the endpoint
/// unchanged: models differ in what they accept, and the lab does not guess.
pub type Parameters = BTreeMap<String, Value>;

/// A question to a model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Request {
    /// Which model is asked.
    pub role: Role,
    /// The number of the try that asks. Two tries with equal messages are two requests, so that a
    /// model may answer them differently.
    pub number: u64,
    /// The conversation so far; the last message is the question.
    pub messages: Vec<Message>,
    /// What else the endpoint gets.
    pub parameters: Parameters,
}

impl Request {
    /// SHA-256 of role, number, messages and parameters, in hexadecimal.
    pub fn hash(&self) -> String {
        let all = json!({
            "role": self.role,
            "number": self.number,
            "messages": self.messages,
            "parameters": self.parameters,
        });
        let mut text = String::new();
        canonical(&all, &mut text);
        hex(&Sha256::digest(text))
    }

    /// The conversation as one Markdown text, for programs and people. A single message stands
    /// alone; otherwise each has its author as heading.
    pub fn to_markdown(&self) -> String {
        if let [only] = self.messages.as_slice() {
            return only.content.clone();
        }
        let part = |m: &Message| format!("# {}\n\n{}\n", m.author.name(), m.content.trim_end());
        self.messages
            .iter()
            .map(part)
            .collect::<Vec<_>>()
            .join("\n")
    }

    /// Bytes of all messages.
    pub fn bytes(&self) -> usize {
        self.messages.iter().map(|m| m.content.len()).sum()
    }
}

/// JSON with sorted keys and without spaces: equal values have equal texts.
fn canonical(value: &Value, out: &mut String) {
    match value {
        Value::Object(map) => {
            let sorted: BTreeMap<_, _> = map.iter().collect();
            out.push('{');
            for (at, (key, value)) in sorted.into_iter().enumerate() {
                if at > 0 {
                    out.push(',');
                }
                out.push_str(&Value::from(key.as_str()).to_string());
                out.push(':');
                canonical(value, out);
            }
            out.push('}');
        }
        Value::Array(values) => {
            out.push('[');
            for (at, value) in values.iter().enumerate() {
                if at > 0 {
                    out.push(',');
                }
                canonical(value, out);
            }
            out.push(']');
        }
        other => out.push_str(&other.to_string()),
    }
}

/// Tokens of a request and its reply.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    /// Tokens that the model read.
    pub tokens_in: u64,
    /// Tokens that it wrote, thoughts included.
    pub tokens_out: u64,
    /// The model did not say: both are counted as [`tokens_of`] does.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub estimated: bool,
}

impl Usage {
    /// An estimate from texts.
    pub fn estimate(request: &Request, reply: &str) -> Self {
        Self {
            tokens_in: tokens_of(request.bytes()),
            tokens_out: tokens_of(reply.len()),
            estimated: true,
        }
    }
}

/// Tokens of so many bytes, rather too many than too few: three bytes each. Source code has three
/// to four.
pub fn tokens_of(bytes: usize) -> u64 {
    (bytes as u64).div_ceil(3)
}

/// Who answered, as far as it was said.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct By {
    /// The model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The version of it or of its serving.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
}

/// An answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reply {
    /// Its text.
    pub text: String,
    /// What it took.
    pub usage: Usage,
    /// Who answered.
    #[serde(default, flatten)]
    pub by: By,
    /// The model stopped at its limit of tokens: the text is not whole.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cut: bool,
}

/// Bytes that a reply may have; longer ones are an error.
pub const MAX_REPLY_BYTES: usize = 1 << 20;

/// Why there is no answer. Each is one line and says what to do.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ModelError {
    /// No model was set for a role.
    #[error("no model is set for the {0}: give it an endpoint in the experiment's settings")]
    NoModel(Role),
    /// A setting that cannot be right.
    #[error("the {role}'s {what}")]
    Setting {
        /// Whose setting.
        role: Role,
        /// Its name, what is wrong with it, and what to do.
        what: String,
    },
    /// Nobody answers at the address.
    #[error("{url} cannot be reached ({why}): start the endpoint or correct base_url, then resume")]
    Down {
        /// Where.
        url: String,
        /// What the system said.
        why: String,
    },
    /// The environment lacks the key.
    #[error("the key of the {role} is missing: set the environment variable {variable}")]
    KeyMissing {
        /// Whose key.
        role: Role,
        /// Which variable.
        variable: String,
    },
    /// The key was about to leave by another way than the header.
    #[error(
        "the {role}'s request holds the key of {variable} in its text: take it out of prompts, \
         kernel files and parameters"
    )]
    KeyInRequest {
        /// Whose request.
        role: Role,
        /// The variable that holds the key.
        variable: String,
    },
    /// 401 or 403.
    #[error("{url} answers {status} and refuses the key: check {}", keys(.variable))]
    Refused {
        /// Where.
        url: String,
        /// The status.
        status: u16,
        /// The variable that holds the key, if one was sent.
        variable: Option<String>,
    },
    /// 429 or 5xx, also after waiting.
    #[error(
        "{url} answers {status} after {attempts} attempts and {waited:.0?} of waiting ({why}): \
         resume later, or use another endpoint"
    )]
    Busy {
        /// Where.
        url: String,
        /// The last status.
        status: u16,
        /// How often it was asked.
        attempts: u32,
        /// How long was waited in all.
        waited: Duration,
        /// What the endpoint said.
        why: String,
    },
    /// Any other status.
    #[error("{url} answers {status} ({why}): correct base_url, model or parameters")]
    Status {
        /// Where.
        url: String,
        /// The status.
        status: u16,
        /// What the endpoint said.
        why: String,
    },
    /// An answer that is none.
    #[error("{url} answers, but not with a chat completion ({why}): check base_url and model")]
    Malformed {
        /// Where.
        url: String,
        /// What is wrong.
        why: String,
    },
    /// The connection broke in the middle of an answer.
    #[error("the answer of {url} breaks off ({why}): resume; if it happens again, check proxies")]
    BrokenOff {
        /// Where.
        url: String,
        /// What the system said.
        why: String,
    },
    /// No answer in time.
    #[error("{who} does not answer within {limit:.0?}: raise the {role}'s timeout_s, or resume")]
    Timeout {
        /// Who was asked.
        who: String,
        /// The limit.
        limit: Duration,
        /// Whose setting.
        role: Role,
    },
    /// A program failed.
    #[error("{program} {what}: run it by hand with a prompt on its standard input")]
    Program {
        /// Which.
        program: String,
        /// What it did.
        what: String,
    },
    /// An answer of more than [`MAX_REPLY_BYTES`].
    #[error("{who} answers with more than {} KiB: ask it for edits only", MAX_REPLY_BYTES >> 10)]
    TooLong {
        /// Who.
        who: String,
    },
    /// A prompt that may not be sent.
    #[error("{0}")]
    Prompt(String),
    /// A budget would be exceeded.
    #[error("{0}")]
    Budget(String),
    /// The record does not hold what is asked.
    #[error("{0}")]
    Differs(String),
    /// A file could not be read or written, or holds what it should not.
    #[error("{0}")]
    File(String),
    /// Waiting was interrupted.
    #[error("stopped while waiting for the {0}: resume to go on")]
    Stopped(Role),
}

fn keys(variable: &Option<String>) -> String {
    match variable {
        Some(variable) => format!("the environment variable {variable}"),
        None => {
            "whether the endpoint wants one, and name its environment variable in key_env".into()
        }
    }
}

/// Answers requests.
pub trait Model {
    /// The answer to a request.
    ///
    /// # Errors
    /// See [`ModelError`]: no error is worth asking again at once; what is, was asked again.
    fn ask(&mut self, request: &Request) -> Result<Reply, ModelError>;

    /// What the answers since the last call cost, of a model that keeps count.
    fn take_bills(&mut self) -> Vec<Bill> {
        Vec::new()
    }
}

impl<M: Model + ?Sized> Model for Box<M> {
    fn ask(&mut self, request: &Request) -> Result<Reply, ModelError> {
        (**self).ask(request)
    }

    fn take_bills(&mut self) -> Vec<Bill> {
        (**self).take_bills()
    }
}

/// One model for several askers, which take turns.
impl<M: Model + ?Sized> Model for Arc<Mutex<M>> {
    fn ask(&mut self, request: &Request) -> Result<Reply, ModelError> {
        let mut model = self.lock().unwrap_or_else(|broken| broken.into_inner());
        model.ask(request)
    }

    fn take_bills(&mut self) -> Vec<Bill> {
        let mut model = self.lock().unwrap_or_else(|broken| broken.into_inner());
        model.take_bills()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request() -> Request {
        Request {
            role: Role::Coder,
            number: 3,
            messages: vec![
                Message::new(Author::System, "Be brief."),
                Message::new(Author::User, "Hello\n"),
            ],
            parameters: Parameters::from([("model".into(), "m".into())]),
        }
    }

    #[test]
    fn all_parts_decide_the_hash() {
        let hash = request().hash();
        assert_eq!(hash.len(), 64);
        assert_eq!(hash, request().hash());
        let changes: [fn(&mut Request); 5] = [
            |r| r.role = Role::Checker,
            |r| r.number = 4,
            |r| r.messages[1].content.push('!'),
            |r| r.messages[1].author = Author::Assistant,
            |r| drop(r.parameters.insert("top_p".into(), json!(0.5))),
        ];
        for change in changes {
            let mut other = request();
            change(&mut other);
            assert_ne!(other.hash(), hash);
        }
        let read: Request =
            serde_json::from_value(serde_json::to_value(request()).unwrap()).unwrap();
        assert_eq!(read.hash(), hash);
    }

    #[test]
    fn the_order_of_nested_parameters_does_not_matter() {
        let with = |text: &str| {
            let mut request = request();
            let extra: Value = serde_json::from_str(text).unwrap();
            request.parameters.insert("extra".into(), extra);
            request.hash()
        };
        assert_eq!(with(r#"{"a":1,"b":[{}]}"#), with(r#"{"b":[{}],"a":1}"#));
        assert_ne!(with(r#"{"a":1,"b":[{}]}"#), with(r#"{"a":1,"b":[]}"#));
    }

    #[test]
    fn a_conversation_reads_as_markdown() {
        assert_eq!(
            request().to_markdown(),
            "# system\n\nBe brief.\n\n# user\n\nHello\n"
        );
        assert_eq!(request().bytes(), 15);
    }
}
