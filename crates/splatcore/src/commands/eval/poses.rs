//! The measured photos' poses, fitted to the scene.

use crate::output::counted;
use crate::progress::Progress;
use anyhow::Result;
use splatcore_core::backend::RenderOptions;
use splatcore_core::{Backend, Gaussians, Pipeline, View, camera};
use splatcore_data::dataset::Dataset;
use splatcore_train::config::{PoseSettings, SSIM_WEIGHT};
use splatcore_train::poses::{Fit, ROUNDS, fit};
use std::sync::Arc;

/// The views, each with the pose near its own where the scene shows its photo best. The extent of
/// the dataset's cameras is what limits are shares of.
///
/// # Errors
/// What the backend reports; files of the dataset's model that cannot be read.
pub fn fitted(
    backend: &dyn Backend,
    scene: &Gaussians,
    views: &[View],
    dataset: &Dataset,
    options: &RenderOptions,
) -> Result<Vec<View>> {
    let pipeline = match options.pipeline.check_training() {
        Ok(()) => options.pipeline,
        Err(_) => Pipeline::MEASURED,
    };
    let how = Fit {
        render: RenderOptions {
            pipeline,
            ..options.clone()
        },
        ssim_weight: SSIM_WEIGHT as f32,
        extent: camera::extent(dataset.entries.iter().map(|entry| &entry.camera)),
        settings: PoseSettings::default(),
        tracks: dataset.tracks(views)?,
    };
    let photos = counted(views.len(), "photo");
    eprintln!("fitting the poses of {photos} to the scene: compare with other fitted poses only");
    let progress = Progress::new("fitting poses, rounds", ROUNDS.into());
    let done = |rounds: u32| progress.update(rounds.into(), String::new);
    let found = fit(backend, scene, &Arc::new(views.to_vec()), &how, &done);
    progress.finish();
    let with = |(view, fitted): (&View, splatcore_train::poses::Fitted)| View {
        camera: fitted.camera,
        ..view.clone()
    };
    Ok(views.iter().zip(found?).map(with).collect())
}
