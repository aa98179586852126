//! The search without a model.

use splatcore_lab::experiment::Experiment;
use splatcore_lab::propose::Proposer;
use splatcore_lab::search::{SearchProposer, Strategy};

/// The proposer of an experiment. It stops the run if nothing in the files is declared as tunable.
pub fn proposer(strategy: &Strategy, experiment: &Experiment) -> Box<dyn Proposer> {
    Box::new(SearchProposer::new(strategy.clone(), experiment.seed))
}
