//! A language model as proposer: a plan once, then one candidate a try.

use super::coder::{self, Assignment};
use super::islands;
use super::model::{Model, ModelError, Role};
use super::planner::{self, Guidance};
use super::question::Setting;
use crate::candidate::{Bill, Candidate, Followed, Origin, Texts};
use crate::plan::Plan;
use crate::profile::to_markdown;
use crate::propose::{History, ProposeError, Proposer};

/// Proposes what a planner advises and a coder writes.
///
/// It keeps nothing between two calls but the plan, which it can make again from the record: the
/// next candidate is a function of the history, the seed and the answers on record.
pub struct LlmProposer<M> {
    model: M,
    setting: Setting,
    guidance: Guidance,
    seed: u64,
    plan: Option<Plan>,
    bills: Vec<Bill>,
}

impl<M: Model> LlmProposer<M> {
    /// A proposer. The model should be behind a record: a plain one would be asked again after a
    /// restart.
    pub fn new(model: M, setting: Setting, guidance: Guidance, seed: u64) -> Self {
        Self {
            model,
            setting,
            guidance,
            seed,
            plan: None,
            bills: Vec::new(),
        }
    }

    /// The plan. Made at the first call.
    ///
    /// # Errors
    /// Those of the model.
    pub fn plan(&mut self, baseline: &Texts) -> Result<&Plan, ModelError> {
        let plan = match self.plan.take() {
            Some(plan) => plan,
            None => planner::plan(&mut self.model, &self.setting, &self.guidance, baseline)?,
        };
        Ok(self.plan.insert(plan))
    }

    fn write(&mut self, history: &History) -> Result<Result<Candidate, String>, ModelError> {
        let kept = self.plan(&history.baseline)?.kept.clone();
        let numbers: Vec<usize> = kept.iter().map(|advice| advice.number).collect();
        let number = history.proposed;
        let choice = islands::choose(history, self.seed, number, &numbers);
        let profile = self.guidance.profile().map(to_markdown);
        let mut advice = kept.iter();
        let advice = advice.find(|advice| Some(advice.number) == choice.advice);
        let origin = Origin {
            number,
            model: self.setting.model_of(Role::Coder),
            guided: self.guidance.guided(),
            advice: advice.map(|advice| Followed {
                number: advice.number,
                what: advice.what.clone(),
                predicted_percent: advice.predicted_percent,
            }),
        };
        let assignment = Assignment {
            origin: &origin,
            advice,
            parent: choice.parent.as_ref().and_then(|id| history.find(id)),
            profile: profile.as_deref(),
        };
        let written = coder::write(&mut self.model, &self.setting, history, assignment)?;
        self.bills.extend(self.model.take_bills());
        let mut coders = self.bills.iter().rev();
        let last = coders.find(|bill| bill.role == Role::Coder.name());
        let name = last.and_then(|bill| bill.model.clone());
        Ok(written.map(|mut candidate| {
            if let (Some(origin), Some(name)) = (&mut candidate.origin, name) {
                origin.model = name;
            }
            candidate
        }))
    }
}

impl<M: Model> Proposer for LlmProposer<M> {
    fn propose(&mut self, history: &History) -> Result<Candidate, ProposeError> {
        match self.write(history) {
            Ok(Ok(candidate)) => Ok(candidate),
            Ok(Err(problem)) => Err(ProposeError::Failed(problem)),
            Err(error @ ModelError::Stopped(_)) => {
                Err(ProposeError::Interrupted(error.to_string()))
            }
            Err(error) => Err(ProposeError::Stop(error.to_string())),
        }
    }

    fn take_bills(&mut self) -> Vec<Bill> {
        self.bills.extend(self.model.take_bills());
        std::mem::take(&mut self.bills)
    }
}
