//! The search without a model.

use splatcore_lab::experiment::Experiment;
use splatcore_lab::propose::Proposer;
use splatcore_lab::search::{self, SearchProposer};

/// The proposer of an experiment. It stops the run if nothing in the files is declared as tunable.
pub fn proposer(strategy: &StrategyName, experiment: &Experiment) -> Box<dyn Proposer> {
    let strategy = search::Strategy::named(&strategy.0).unwrap_or_default();
    Box::new(SearchProposer::new(strategy, experiment.seed))
}

/// A strategy's name.
#[derive(Clone, Debug)]
pub struct StrategyName(pub String);

impl std::str::FromStr for StrategyName {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        match search::Strategy::named(name) {
            Some(_) => Ok(Self(name.into())),
            None => Err(format!(
                "give one of {}",
                search::Strategy::NAMES.join(", ")
            )),
        }
    }
}
