//! `experiment.toml`.

use crate::llm::budget::Limits;
use crate::llm::source::Endpoints;
use crate::proposers::Proposers;
use crate::timing::Plan;
use serde::{Deserialize, Serialize};

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

/// Kernels that may be changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Task {
    /// The pipeline whose kernels run.
    pub pipeline: String,
    /// What is timed.
    pub workload: Workload,
    /// Kernel files that may be changed.
    pub files: Vec<String>,
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
    /// What only `lab check --held-out` and `lab accept` look at.
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

impl Default for Budget {
    fn default() -> Self {
        Self {
            candidates: 1000,
            device_seconds: 1800.0,
            wall_seconds: 86_400.0,
        }
    }
}
