//! `experiment.toml`.

use crate::candidate::{Texts, hex};
use crate::llm::budget::Limits;
use crate::llm::source::Endpoints;
use crate::proposers::Proposers;
use crate::starts;
use crate::timing::Plan;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// What is searched, on what, within which budget.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Experiment {
    /// Version of this file's layout: 1.
    pub version: u32,
    /// Seed of everything random: proposals, test scenes, order of frames.
    pub seed: u64,
    /// The commit that the baseline's kernels are of, if it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
    /// Digest of all kernel files of the baseline.
    pub kernels: String,
    /// Who makes candidates, where `lab run` is not told; a search, or the model of `--llm`,
    /// without it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proposer: Option<Proposers>,
    /// What is searched.
    pub task: Task,
    /// On what.
    pub scenes: Scenes,
    /// Within which budget.
    #[serde(default)]
    pub budget: Budget,
    /// How sure a verdict is.
    #[serde(default)]
    pub timing: Plan,
    /// What models may cost, over all runs.
    #[serde(default)]
    pub models: Limits,
    /// Endpoints of models, by role.
    #[serde(default, skip_serializing_if = "Endpoints::is_empty")]
    pub llm: Endpoints,
}

impl Experiment {
    /// What is wrong with the settings, in words.
    ///
    /// # Errors
    /// The first setting that nothing can be judged with.
    pub fn check(&self) -> Result<(), String> {
        if self.version != 1 {
            let version = self.version;
            return Err(format!("version {version} of the file, and only 1 is read"));
        }
        let files = &self.task.files;
        if files.is_empty() {
            return Err("task.files names no kernel file".into());
        }
        if let Some((_, file)) = files
            .iter()
            .enumerate()
            .find(|(n, f)| files[..*n].contains(f))
        {
            return Err(format!("task.files names {file:?} twice"));
        }
        self.task.check_start()?;
        let Budget {
            device_seconds,
            wall_seconds,
            ..
        } = self.budget;
        for (name, seconds) in [
            ("device_seconds", device_seconds),
            ("wall_seconds", wall_seconds),
        ] {
            if seconds.is_nan() || seconds < 0.0 {
                return Err(format!("budget.{name} is {seconds}; give 0 or more"));
            }
        }
        self.timing.check()
    }

    /// Digest of what verdicts depend on: seed, task, scenes and timing. A journal keeps to it.
    pub fn identity(&self) -> String {
        let of = (&self.seed, &self.task, &self.scenes, &self.timing);
        let text = serde_json::to_string(&of).unwrap_or_default();
        hex(&Sha256::digest(text))
    }
}

/// Kernels that may be changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Task {
    /// The pipeline whose kernels run.
    pub pipeline: String,
    /// What is timed.
    pub workload: Workload,
    /// The start whose files take the place of built-in ones ([`starts`]); without one the search
    /// starts from the built-in files.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start: Option<String>,
    /// Kernel files that may be changed.
    pub files: Vec<String>,
}

impl Task {
    /// Texts that the baseline has in the place of built-in ones.
    ///
    /// # Errors
    /// If there is no such start.
    pub fn start_texts(&self) -> Result<Texts, String> {
        self.start
            .as_deref()
            .map_or(Ok(Texts::new()), starts::texts)
    }

    /// What is wrong with the start, in words.
    fn check_start(&self) -> Result<(), String> {
        let Some(start) = &self.start else {
            return Ok(());
        };
        let texts = self
            .start_texts()
            .map_err(|error| format!("task.start: {error}"))?;
        match self.files.iter().find(|file| !texts.contains_key(*file)) {
            Some(file) => Err(format!(
                "task.files names {file}, which the start {start} lacks"
            )),
            None => Ok(()),
        }
    }
}

/// What is timed, always as a whole: work must not move out of the part that is looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Workload {
    /// A frame.
    Frame,
    /// A frame of training and its backward pass.
    Step,
}

/// Scenes, by files of models and datasets of cameras.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scenes {
    /// What candidates are timed on.
    pub search: Vec<Scene>,
    /// What only `lab accept` looks at.
    #[serde(default)]
    pub held_out: Vec<Scene>,
}

/// A model with cameras.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scene {
    /// The model's file.
    pub model: String,
    /// The dataset whose held-out cameras are used; eight of an orbit without one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dataset: Option<String>,
    /// Pixels; the cameras' own without it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<[u32; 2]>,
}

/// When a run ends.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Budget {
    /// Candidates proposed.
    pub candidates: u64,
    /// Seconds of the device, over all runs of the experiment.
    pub device_seconds: f64,
    /// Seconds of one run.
    pub wall_seconds: f64,
}

impl Budget {
    /// No end.
    pub const UNLIMITED: Self = Self {
        candidates: u64::MAX,
        device_seconds: f64::INFINITY,
        wall_seconds: f64::INFINITY,
    };
}

impl Default for Budget {
    fn default() -> Self {
        Self {
            candidates: 1000,
            device_seconds: 1800.0,
            wall_seconds: 86_400.0,
        }
    }
}
