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
//! | who makes candidates | [`propose`], [`search`], [`llm`] |
//! | where does the baseline's time go, what could be changed | [`profile`], [`plan`] |
//! | why was a candidate rejected | [`gates`] |
//! | what happened in a run | [`journal`] |
//!
//! This crate knows backends by the traits of `splatcore-core` only: the binary opens them.

pub mod candidate;
pub mod gates;
pub mod journal;
pub mod llm;
pub mod plan;
pub mod profile;
pub mod propose;

pub use candidate::{Candidate, Id, Operator, Texts};
pub use gates::{Gate, Rejection, Verdict};
