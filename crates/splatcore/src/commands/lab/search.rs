//! The search without a model.

use anyhow::{Result, bail};
use splatcore_lab::Texts;
use splatcore_lab::experiment::Experiment;
use splatcore_lab::propose::Proposer;

/// The proposer of an experiment.
///
/// # Errors
/// If nothing in the files is declared as tunable.
pub fn proposer(_experiment: &Experiment, _baseline: &Texts) -> Result<Box<dyn Proposer>> {
    bail!("the search is not part of this build")
}
