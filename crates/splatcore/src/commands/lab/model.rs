//! `splatcore lab run --llm`: a model plans, writes and checks.

use super::opening::Opening;
use super::profile;
use anyhow::{Context, Result, bail};
use clap::ValueEnum;
use splatcore_lab::Candidate;
use splatcore_lab::campaign::{CampaignError, CrossCheck};
use splatcore_lab::candidate::Bill;
use splatcore_lab::experiment::{Experiment, Workload};
use splatcore_lab::journal::CrossChecked;
use splatcore_lab::llm::Role;
use splatcore_lab::llm::budget::{Budget, Limits};
use splatcore_lab::llm::checker;
use splatcore_lab::llm::endpoint::Keys;
use splatcore_lab::llm::model::{Model, ModelError, Parameters};
use splatcore_lab::llm::pause::Pause;
use splatcore_lab::llm::planner::Guidance;
use splatcore_lab::llm::prompts::Prompts;
use splatcore_lab::llm::proposer::LlmProposer;
use splatcore_lab::llm::question::Setting;
use splatcore_lab::llm::record::Record;
use splatcore_lab::llm::recorder::Recorder;
use splatcore_lab::llm::source::{Endpoints, Source};
use splatcore_lab::profile::read_ncu;
use splatcore_lab::propose::{History, Proposer};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

/// Flags of models.
#[derive(clap::Args)]
pub struct ModelArgs {
    /// A model makes candidates. http: the endpoints of experiment.toml ([llm.planner],
    /// [llm.coder], [llm.checker]); command:PROGRAM reads a prompt and prints the reply;
    /// files:FOLDER writes prompts there and awaits replies; replay:FILE repeats a recorded run
    #[arg(long, value_name = "SOURCE")]
    llm: Option<Source>,
    /// Name and version of the model behind command: or files:, for the journal; endpoints say
    /// theirs
    #[arg(long, value_name = "NAME", requires = "llm")]
    model: Option<String>,
    /// What the model is told before it writes
    #[arg(long, value_name = "WHAT", default_value = "profile", requires = "llm")]
    guidance: GuidanceName,
    /// What Nsight Compute measured, as `ncu --csv` prints it; goes into the profile
    #[arg(long, value_name = "FILE", requires = "llm")]
    ncu: Option<PathBuf>,
    /// A second model objects before a candidate is evaluated, while more than a third of the
    /// candidates are wrong
    #[arg(long, requires = "llm")]
    cross_check: bool,
}

/// Modes of figures 9 and 10 of Hu & Zhou 2025.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum GuidanceName {
    /// Advice of a planner, pruned by a profile
    Profile,
    /// Advice of a planner
    Planner,
    /// Nothing
    None,
}

/// A model whose answers are recorded.
pub type Recorded = Recorder<Box<dyn Model + Send>>;
type Shared = Arc<Mutex<Recorded>>;

/// A proposer, and a second opinion if one is wanted.
pub type Pair = (Box<dyn Proposer>, Option<Box<dyn CrossCheck>>);

impl ModelArgs {
    /// Whether a model makes candidates.
    pub fn is_asked(&self) -> bool {
        self.llm.is_some()
    }

    /// The proposer, and the second opinion. `pause` ends their waits.
    ///
    /// # Errors
    /// If an endpoint's settings cannot be right, or a file cannot be read.
    pub fn proposer(
        &self,
        open: &Opening,
        experiment: &Experiment,
        folder: &Path,
        pause: &Pause,
    ) -> Result<Pair> {
        let Some(source) = &self.llm else {
            bail!("no source of answers is named; give --llm");
        };
        let record = folder.join("models.jsonl");
        let limits = experiment.models;
        let (model, parameters) = recorded(source, &experiment.llm, limits, record, pause)?;
        let model = model.named(self.model.clone());
        let model: Shared = Arc::new(Mutex::new(model));
        let at = &experiment.task;
        let mut setting = Setting::new(task(&at.pipeline, at.workload, &at.files));
        setting.parameters = parameters;
        setting.hidden = hidden(experiment);
        setting.prompts = Prompts::in_folder(&folder.join("prompts"))?;
        let guidance = match self.guidance {
            GuidanceName::None => Guidance::None,
            GuidanceName::Planner => Guidance::Planner,
            GuidanceName::Profile => {
                Guidance::PlannerAndProfile(Box::new(self.profile(open, experiment, folder)?))
            }
        };
        let cross_check = self.cross_check.then(|| {
            let checker: Box<dyn CrossCheck> = Box::new(Checker {
                model: model.clone(),
                setting: setting.clone(),
                bills: Vec::new(),
            });
            checker
        });
        let proposer = LlmProposer::new(model, setting, guidance, experiment.seed);
        Ok((Box::new(proposer), cross_check))
    }

    fn profile(
        &self,
        open: &Opening,
        experiment: &Experiment,
        folder: &Path,
    ) -> Result<splatcore_lab::profile::Profile> {
        let mut profile = profile::kept(&open.build, experiment, folder)?;
        if let Some(file) = &self.ncu {
            let text = std::fs::read_to_string(file).with_context(|| file.display().to_string())?;
            let measured = read_ncu(&text).with_context(|| file.display().to_string())?;
            if profile.add_metrics(&measured) == 0 {
                bail!(
                    "{}: none of its kernels is one of the task's; measure the pipeline {}",
                    file.display(),
                    experiment.task.pipeline
                );
            }
        }
        Ok(profile)
    }
}

/// A source's model behind the record in a file, and its parameters.
///
/// # Errors
/// If an endpoint's settings cannot be right, or the record cannot be read.
pub fn recorded(
    source: &Source,
    endpoints: &Endpoints,
    limits: Limits,
    record: PathBuf,
    pause: &Pause,
) -> Result<(Recorded, BTreeMap<Role, Parameters>)> {
    let record = Record::open(record)?;
    let keys = Keys::of_environment();
    let opened = source.open(endpoints, &keys, &record, pause)?;
    let budget = Budget::new(limits, record.exchanges());
    let recorder = Recorder::new(record, budget, opened.prices, opened.model);
    Ok((recorder, opened.parameters))
}

/// What the kernels of a task compute, and the files that may be changed.
pub fn task(pipeline: &str, workload: Workload, files: &[String]) -> String {
    let what = match workload {
        Workload::Frame => "a frame: an image of a scene of 3D Gaussians",
        Workload::Step => {
            "a step of training: an image of a scene of 3D Gaussians and the \
                           gradients of its parameters"
        }
    };
    format!(
        "The kernels of the pipeline {pipeline} compute {what}. These files may be changed: {}.",
        files.join(", ")
    )
}

/// Names of scenes that no prompt may hold.
fn hidden(experiment: &Experiment) -> Vec<String> {
    let held_out = experiment.scenes.held_out.iter();
    let names = held_out.filter_map(|scene| {
        let name = Path::new(&scene.model).file_stem()?;
        Some(name.to_string_lossy().into_owned())
    });
    names.collect()
}

/// A second model's veto.
struct Checker {
    model: Shared,
    setting: Setting,
    bills: Vec<Bill>,
}

impl CrossCheck for Checker {
    fn check(
        &mut self,
        history: &History,
        candidate: &Candidate,
    ) -> Result<Option<CrossChecked>, CampaignError> {
        if !checker::asks_first(history) {
            return Ok(None);
        }
        let opinion = checker::check(&mut self.model, &self.setting, &history.baseline, candidate);
        self.bills.extend(self.model.take_bills());
        let opinion = opinion.map_err(|error| match error {
            ModelError::Stopped(_) => CampaignError::Interrupted(error.to_string()),
            _ => CampaignError::Stop(format!("the {}: {error}", Role::Checker)),
        })?;
        let said = self.bills.last().and_then(|bill| bill.model.clone());
        let by = said.unwrap_or_else(|| self.setting.model_of(Role::Checker));
        Ok(Some(opinion.checked(candidate.id(), by)))
    }

    fn take_bills(&mut self) -> Vec<Bill> {
        std::mem::take(&mut self.bills)
    }
}
