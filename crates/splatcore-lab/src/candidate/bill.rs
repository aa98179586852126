//! What an answer of a model cost.

use super::Id;
use serde::{Deserialize, Serialize};

/// An answer of a model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Bill {
    /// Digest of the question, as `models.jsonl` has it: an answer that is repeated from there is
    /// the same one.
    pub request: String,
    /// What the model was asked for: `planner`, `coder` or `checker`.
    pub role: String,
    /// The try that asked ([`super::Origin::number`]); 0 for plans and for checks.
    pub number: u64,
    /// The candidate that was asked about, of a checker.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<Id>,
    /// The model, as the endpoint calls it in its answer; else as `--model` does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The version of the model or of its serving, as the endpoint calls it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// Tokens that the model read.
    pub tokens_in: u64,
    /// Tokens that it wrote, thoughts included.
    pub tokens_out: u64,
    /// Nobody said how many tokens: they are estimated from bytes.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub estimated: bool,
    /// What was paid, in the currency of the price; unknown without a price.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<f64>,
    /// Seconds from question to answer.
    pub seconds: f64,
}
