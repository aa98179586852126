//! Language models that plan, write and check candidates.
//!
//! A *model* answers requests ([`Model`]): an endpoint that speaks the chat completions protocol
//! ([`http`]), a program ([`command`]), or whoever answers files ([`files`]). Everything that was
//! asked and answered is on record ([`record`]), so that a run that was killed asks nothing twice
//! and a recorded run can be repeated without a model ([`replay`]).
//!
//! | question | place |
//! | --- | --- |
//! | what is asked, what is answered, what can go wrong | [`model`] |
//! | where do answers come from | [`source`] |
//! | which endpoint, which key, which price has a role | [`endpoint`] |
//! | what was asked and answered so far | [`record`] |
//! | what may it cost | [`budget`] |
//! | how do record, budget and models go together | [`recorder`] |
//! | what do prompts say, what may they not | [`prompts`], [`question`], [`verdict`] |
//! | which advice is followed | [`planner`] |
//! | who follows it, from which parent | [`islands`], [`coder`], [`proposer`] |
//! | who objects | [`checker`] |
//! | how is the way over HTTP tested | [`server`] |

pub mod budget;
pub mod checker;
pub mod coder;
pub mod command;
pub mod endpoint;
pub mod files;
pub mod http;
pub mod islands;
pub mod model;
pub mod pause;
pub mod planner;
pub mod prompts;
pub mod proposer;
pub mod question;
pub mod record;
pub mod recorder;
pub mod replay;
pub mod server;
pub mod source;
pub mod verdict;

mod chat;
mod key;
#[cfg(test)]
pub(crate) mod testing;

pub use model::{By, Message, Model, ModelError, Parameters, Reply, Request, Role, Usage};
