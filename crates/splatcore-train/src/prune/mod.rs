//! Fewer Gaussians and fewer harmonics for a scene that exists, whoever trained it.
//!
//! | question | file |
//! |---|---|
//! | how much does a Gaussian matter to the training views | `score` |
//! | how many are kept, and which | `keep` |
//! | what do lower degrees of harmonics look like | `harmonics` |
//! | how do the others make up for what went, and for what a file rounds | `finetune` |
//!
//! docs/methods/prune.md has the formulas and what was measured.

mod finetune;
mod harmonics;
mod keep;
mod score;

pub use finetune::{finetuning, settling, shared_out};
pub use harmonics::reduced;
pub use keep::{Keep, KeepError, best};
pub use score::{Score, visibility, weights};

#[cfg(test)]
mod tests;
