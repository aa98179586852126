//! The data of a profile.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A profile of the baseline on the scenes that the search may see.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Profile {
    /// One line: the card, its multiprocessors, its memory.
    pub device: String,
    /// One line: which scenes, which image size.
    pub workload: String,
    /// Microseconds of a frame or a step.
    pub frame_us: f64,
    /// Its stages, in their order.
    pub stages: Vec<Stage>,
    /// The kernels of the task.
    pub kernels: Vec<Kernel>,
    /// How splats are spread over tiles.
    pub tiles: Option<Tiles>,
    /// The card's roofline and the task's place below it.
    pub roofline: Option<Roofline>,
    /// Whatever else was counted, by name.
    pub counters: BTreeMap<String, f64>,
}

/// A stage of a frame or a step.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Stage {
    /// Its name, for example `blend`.
    pub name: String,
    /// Microseconds.
    pub us: f64,
    /// Kernel files that it is compiled from, headers included.
    pub files: Vec<String>,
}

/// A kernel: what its machine code takes, and what was measured.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Kernel {
    /// Its name.
    pub name: String,
    /// Kernel files that it is compiled from, headers included.
    pub files: Vec<String>,
    /// Registers of a thread.
    pub registers: Option<u32>,
    /// Bytes of static shared memory of a block.
    pub shared_bytes: Option<u32>,
    /// Bytes that a thread spills.
    pub spill_bytes: Option<u32>,
    /// Threads of a block.
    pub block_threads: Option<u32>,
    /// What a profiler measured.
    pub metrics: Metrics,
}

/// Metrics of Nsight Compute that the paper's Table II lists, and those that the rules ask for.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Metrics {
    /// Microseconds of a launch.
    pub duration_us: Option<f64>,
    /// Warps that could be resident, percent of the card's limit.
    pub theoretical_occupancy: Option<f64>,
    /// Warps that were resident on average, percent of the card's limit.
    pub achieved_occupancy: Option<f64>,
    /// Blocks a multiprocessor that the limit of warps allows.
    pub block_limit_warps: Option<f64>,
    /// Blocks a multiprocessor that registers allow.
    pub block_limit_registers: Option<f64>,
    /// Blocks a multiprocessor that shared memory allows.
    pub block_limit_shared: Option<f64>,
    /// Cycles between two instructions of a warp.
    pub cycles_per_issue: Option<f64>,
    /// Throughput of the multiprocessors, percent of their peak.
    pub compute_percent: Option<f64>,
    /// Throughput of device memory, percent of its peak.
    pub dram_percent: Option<f64>,
    /// Throughput of the L2 cache, percent of its peak.
    pub l2_percent: Option<f64>,
    /// Sectors found in the L2 cache, percent.
    pub l2_hit_percent: Option<f64>,
    /// Warps that wait for a reason, for each issued instruction: `barrier`, `not_selected`, ...
    pub stalls: BTreeMap<String, f64>,
    /// Use of the multiprocessor's pipelines, percent of active cycles: `alu`, `fma`, `xu`, ...
    pub pipes: BTreeMap<String, f64>,
}

/// A pipeline and its use.
#[derive(Clone, Debug, PartialEq)]
pub struct Pipe {
    /// Its name.
    pub name: String,
    /// Percent of active cycles.
    pub percent: f64,
}

impl Metrics {
    /// The pipeline that is used most.
    pub fn busiest(&self) -> Option<Pipe> {
        let most = self.pipes.iter().max_by(|a, b| a.1.total_cmp(b.1))?;
        Some(Pipe {
            name: most.0.clone(),
            percent: *most.1,
        })
    }
}

/// A mean and a variance.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Spread {
    /// The mean.
    pub mean: f64,
    /// The variance.
    pub variance: f64,
}

/// How work is spread over tiles and threads, as in the paper's Table III.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Tiles {
    /// Tiles of an image.
    pub tiles: u64,
    /// Splats in a tile's list.
    pub splats: Spread,
    /// Splats in the longest list.
    pub longest: u64,
    /// Share of its tile's list that a pixel evaluates before it stops, 0 to 1.
    pub evaluated: Option<Spread>,
    /// Share of its tile's list that a pixel blends, 0 to 1.
    pub blended: Option<Spread>,
}

/// The card's roofline for 32-bit floats, and the task's place below it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Roofline {
    /// FLOP a byte at which the card's two limits meet.
    pub turning_intensity: f64,
    /// TFLOP/s there.
    pub turning_tflops: f64,
    /// FLOP a byte of the task.
    pub intensity: f64,
    /// TFLOP/s of the task.
    pub tflops: f64,
}

impl Profile {
    /// Percent of the frame that stages take which are compiled from one of these files; none if
    /// no stage is, or nothing was timed.
    pub fn share_percent(&self, files: &[String]) -> Option<f64> {
        let of = |stage: &&Stage| stage.files.iter().any(|file| files.contains(file));
        let stages: Vec<&Stage> = self.stages.iter().filter(of).collect();
        let us: f64 = stages.iter().map(|stage| stage.us).sum();
        let known = !stages.is_empty() && self.frame_us > 0.0;
        known.then(|| (100.0 * us / self.frame_us).min(100.0))
    }

    /// Kernels that are compiled from one of these files; all if there are none.
    pub fn kernels_of(&self, files: &[String]) -> Vec<&Kernel> {
        let of = |kernel: &&Kernel| kernel.files.iter().any(|file| files.contains(file));
        let found: Vec<&Kernel> = self.kernels.iter().filter(of).collect();
        match found.is_empty() {
            true => self.kernels.iter().collect(),
            false => found,
        }
    }

    /// Adds what a profiler measured, by kernel name. Kernels that the profile does not know are
    /// left out. Returns how many were known.
    pub fn add_metrics(&mut self, measured: &BTreeMap<String, Metrics>) -> usize {
        let mut known = 0;
        for kernel in &mut self.kernels {
            if let Some(metrics) = measured.get(&kernel.name) {
                kernel.metrics = metrics.clone();
                known += 1;
            }
        }
        known
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn profile() -> Profile {
        let text = r#"{
            "frame_us": 200, "device": "a card",
            "stages": [
                {"name": "project", "us": 50, "files": ["project.cu", "splat.cuh"]},
                {"name": "blend", "us": 120, "files": ["blend.cu", "splat.cuh"]}
            ],
            "kernels": [
                {"name": "project", "files": ["project.cu"]},
                {"name": "blend", "files": ["blend.cu"], "registers": 40}
            ]
        }"#;
        serde_json::from_str(text).unwrap()
    }

    #[test]
    fn files_have_a_share_of_the_frame() {
        let share = |names: &[&str]| {
            let names: Vec<String> = names.iter().map(|&n| n.into()).collect();
            profile().share_percent(&names)
        };
        assert_eq!(share(&["blend.cu"]), Some(60.0));
        assert_eq!(share(&["splat.cuh"]), Some(85.0));
        assert_eq!(share(&["other.cu"]), None);
        assert_eq!(profile().kernels_of(&["blend.cu".into()]).len(), 1);
        assert_eq!(profile().kernels_of(&[]).len(), 2);
    }

    #[test]
    fn metrics_go_to_their_kernels() {
        let mut profile = profile();
        let metrics = Metrics {
            pipes: BTreeMap::from([("alu".into(), 57.1), ("fma".into(), 20.0)]),
            ..Metrics::default()
        };
        let measured = BTreeMap::from([
            ("blend".to_owned(), metrics),
            ("memset".to_owned(), Metrics::default()),
        ]);
        assert_eq!(profile.add_metrics(&measured), 1);
        let busiest = profile.kernels[1].metrics.busiest().unwrap();
        assert_eq!((busiest.name.as_str(), busiest.percent), ("alu", 57.1));
    }
}
