//! What a client says of itself, for the journal.

use crate::candidate::{Bill, hex};
use crate::llm::model::tokens_of;
use serde_json::Value;
use sha2::{Digest, Sha256};
use std::time::Instant;

/// Characters of a model's name or version.
const MAX_NAME: usize = 200;

/// Tokens of one proposal that a client may claim.
const MAX_TOKENS: u64 = 1_000_000_000;

/// A client, between two proposals.
pub struct Client {
    /// Bytes of the answers that it got since then.
    told: usize,
    since: Instant,
}

impl Client {
    /// One that has asked nothing yet.
    pub fn new() -> Self {
        Self {
            told: 0,
            since: Instant::now(),
        }
    }

    /// It was given an answer of a tool.
    pub fn told(&mut self, text: &str) {
        self.told += text.len();
    }

    /// A proposal of it was judged: from here on counts for the next one.
    pub fn judged(&mut self) {
        *self = Self::new();
    }

    /// What the proposal of a try cost, as far as the arguments of the tool say. Tokens that are
    /// not said are estimated from the bytes that passed here, which are only a part of what the
    /// model read and wrote.
    ///
    /// # Errors
    /// If an argument cannot be read: what is wrong, for the client.
    pub fn bill(&self, number: u64, arguments: &Value) -> Result<Bill, String> {
        let written = arguments.to_string();
        let tokens_in = count(arguments, "tokens_in")?;
        let tokens_out = count(arguments, "tokens_out")?;
        Ok(Bill {
            request: hex(&Sha256::digest(format!("mcp {number} {written}"))),
            role: "coder".into(),
            number,
            id: None,
            model: name(arguments, "model")?,
            version: name(arguments, "version")?,
            tokens_in: tokens_in.unwrap_or_else(|| tokens_of(self.told)),
            tokens_out: tokens_out.unwrap_or_else(|| tokens_of(written.len())),
            estimated: tokens_in.and(tokens_out).is_none(),
            cost: None,
            seconds: self.since.elapsed().as_secs_f64(),
        })
    }
}

fn count(arguments: &Value, key: &str) -> Result<Option<u64>, String> {
    match arguments.get(key) {
        None | Some(Value::Null) => Ok(None),
        Some(value) => match value.as_u64() {
            Some(count) if count <= MAX_TOKENS => Ok(Some(count)),
            _ => Err(format!(
                "{key} is {value}; give a whole number up to {MAX_TOKENS}, or leave it out"
            )),
        },
    }
}

fn name(arguments: &Value, key: &str) -> Result<Option<String>, String> {
    let text = match arguments.get(key) {
        None | Some(Value::Null) => return Ok(None),
        Some(Value::String(text)) => text.trim(),
        Some(value) => return Err(format!("{key} is {value}; give a text, or leave it out")),
    };
    let is_line = text.chars().count() <= MAX_NAME && !text.contains(char::is_control);
    match (text.is_empty(), is_line) {
        (true, _) => Ok(None),
        (_, true) => Ok(Some(text.to_owned())),
        (_, false) => Err(format!(
            "{key}: give one line of at most {MAX_NAME} characters"
        )),
    }
}
