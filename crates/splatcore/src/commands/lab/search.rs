//! The search without a model.

use super::run::Strategy;
use splatcore_lab::experiment::Experiment;
use splatcore_lab::propose::Proposer;
use splatcore_lab::search::{self, SearchProposer};

/// The proposer of an experiment. It stops the run if nothing in the files is declared as tunable.
pub fn proposer(strategy: &Strategy, experiment: &Experiment) -> Box<dyn Proposer> {
    let strategy = search::Strategy::named(&strategy.0).unwrap_or(search::Strategy::Random);
    Box::new(SearchProposer::new(strategy, experiment.seed))
}
