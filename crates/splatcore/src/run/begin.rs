//! What a run begins with, and the trainer that begins with it.

use super::memory::plan_memory;
use super::photos::Photos;
use crate::output::thousands;
use anyhow::Result;
use splatcore_core::{Backend, Gaussians, View, camera};
use splatcore_data::dataset::Dataset;
use splatcore_train::{Checkpoint, ResolvedConfig, Trainer, init};
use std::sync::Arc;

/// What a run begins with.
pub enum Begin {
    /// These Gaussians, at the first step.
    Fresh(Gaussians),
    /// Where a checkpoint left off.
    Resumed(Box<Checkpoint>),
}

impl Begin {
    /// The state of a checkpoint, else these Gaussians.
    pub fn of(checkpoint: Option<Checkpoint>, first: Option<Gaussians>) -> Self {
        match checkpoint {
            Some(checkpoint) => Self::Resumed(Box::new(checkpoint)),
            None => Self::Fresh(first.unwrap_or_default()),
        }
    }

    /// How many Gaussians that are.
    pub fn gaussians(&self) -> usize {
        match self {
            Self::Fresh(start) => start.len(),
            Self::Resumed(checkpoint) => checkpoint.state.gaussians.len(),
        }
    }
}

/// A trainer that is ready to take steps.
pub fn start(
    config: &ResolvedConfig,
    backend: &dyn Backend,
    photos: &Photos,
    begin: Begin,
) -> Result<Trainer> {
    let train = &photos.train;
    let mut trainer = match begin {
        Begin::Resumed(checkpoint) => {
            let planned = checkpoint.course.map(|course| course.iterations);
            eprintln!(
                "resuming at step {} of {}",
                checkpoint.step,
                planned.unwrap_or(config.iterations)
            );
            plan_memory(config, backend, checkpoint.state.gaussians.len(), photos);
            Trainer::resume(config, backend, Arc::clone(train), *checkpoint)?
        }
        Begin::Fresh(start) => {
            plan_memory(config, backend, start.len(), photos);
            let mut trainer = Trainer::new(config, backend, Arc::clone(train), start)?;
            if let Some(exposures) = &photos.exposures {
                trainer.expose(exposures)?;
            }
            trainer
        }
    };
    if !photos.tracks.is_empty() {
        trainer.hold_poses_by(photos.tracks.clone())?;
    }
    if let Some(region) = trainer.region() {
        eprintln!("region: the set grows inside {region} only");
    }
    Ok(trainer)
}

/// The Gaussians of the dataset's points.
pub fn of_points(config: &ResolvedConfig, dataset: &Dataset, train: &[View]) -> Gaussians {
    let extent = camera::extent(train.iter().map(|view| &view.camera));
    let points = &dataset.points;
    let start = init::from_points(&points.positions, &points.colours, config, extent);
    if start.surplus > 0 {
        eprintln!(
            "{} starting points are left out: --max-gaussians",
            thousands(start.surplus as u64)
        );
    }
    start.gaussians
}
