//! The kernel lab: a search for faster kernels that never accepts a wrong one.
//!
//! A *candidate* is text of kernel files in place of the built-in text; nothing else can be
//! changed. A *proposer* makes candidates (a search over declared tunables, a language model, a
//! person). *Gates* reject a candidate that computes something else; *timing* compares a candidate
//! with the baseline, frame by frame. The *journal* holds everything that happened, and a run that
//! was killed goes on from it.
//!
//! | question | place |
//! | --- | --- |
//! | what is a candidate, what may it change | [`candidate`] |
//! | who makes candidates | [`propose`], [`search`], [`llm`]; by name [`proposers`] |
//! | where does the baseline's time go, what could be changed | [`profile`], [`plan`] |
//! | which value of a tunable is next | [`search`] |
//! | why was a candidate rejected | [`gates`], called in order by [`evaluate`] |
//! | where does a candidate run | [`worker`] |
//! | when is a candidate faster | [`timing`] |
//! | what does an experiment consist of | [`experiment`] |
//! | what can a search start from besides the built-in files | [`starts`] |
//! | what is a run, step by step | [`campaign`] |
//! | what happened in a run | [`journal`], [`summary`]; as the paper's figures [`figures`] |
//! | when may a candidate become a commit | [`acceptance`] |
//! | do the gates hold | [`cheats`] |
//!
//! This crate knows backends by the traits of `splatcore-core` only: the binary opens them.

pub mod acceptance;
pub mod campaign;
pub mod candidate;
pub mod cheats;
pub mod copy;
pub mod evaluate;
pub mod experiment;
pub mod figures;
pub mod gates;
pub mod journal;
pub mod llm;
pub mod mcp;
pub mod plan;
pub mod profile;
pub mod propose;
pub mod proposers;
pub mod search;
pub mod starts;
pub mod summary;
pub mod timing;
pub mod worker;

pub use candidate::{Candidate, Id, Operator, Texts};
pub use gates::{Gate, Rejection, Verdict};
