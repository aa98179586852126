//! What a run writes beside scene and checkpoint.

use super::metrics::Written;
use crate::output::{self, duration, thousands};
use crate::report::{
    Chart, Line, MeasuredPoses, Report, Scene, ViewPictures, decibels, weak_views,
};
use anyhow::Result;
use splatcore_core::exposure::Exposure;
use splatcore_train::Trainer;
use std::collections::BTreeMap;
use std::path::Path;

/// `exposures.json`: by name of the photo, the rows of `[A | b]` that turn a rendered colour into
/// the photo's.
pub fn write_exposures(path: &Path, exposures: Vec<(String, Exposure)>) -> Result<()> {
    let rows = |e: Exposure| [0, 4, 8].map(|at| [e[at], e[at + 1], e[at + 2], e[at + 3]]);
    let table: BTreeMap<String, [[f32; 4]; 3]> = exposures
        .into_iter()
        .map(|(name, exposure)| (name, rows(exposure)))
        .collect();
    output::write_json(path, &table)
}

/// The page about a run.
pub fn report(
    metrics: &Written,
    about: &[(&str, String)],
    trainer: &Trainer,
    scene: Scene,
    views: Vec<ViewPictures>,
) -> Result<Report> {
    let held_out = metrics.split == "test";
    let kind = if held_out { "held-out" } else { "training" };
    let found = &metrics.evaluation;
    let mut summary = vec![
        (
            format!("PSNR, {kind} photos"),
            format!("{} dB", decibels(found.psnr)),
        ),
        (format!("SSIM, {kind} photos"), format!("{:.4}", found.ssim)),
        ("Gaussians".into(), thousands(found.gaussians as u64)),
        ("Steps".into(), thousands(metrics.steps.into())),
        ("Time trained".into(), duration(metrics.seconds)),
    ];
    if let Some(psnr) = found.psnr_aligned {
        summary.push((
            "PSNR, colours aligned".into(),
            format!("{} dB", decibels(psnr)),
        ));
    }
    summary.extend(metrics.poses.iter().flat_map(MeasuredPoses::summary));
    if let Some(reason) = metrics.stopped {
        summary.push(("Stopped by".into(), reason.into()));
    }
    summary.extend(
        about
            .iter()
            .map(|(name, value)| (name.to_string(), value.clone())),
    );
    let curve = trainer.curve();
    let chart = |title: &str, points: Vec<(f64, f64)>| Chart {
        title: title.into(),
        x_label: "step".into(),
        lines: vec![Line {
            name: title.into(),
            points,
        }],
    };
    let mut charts = vec![
        chart(
            "Loss (smoothed)",
            curve.iter().map(|p| (p.step.into(), p.loss)).collect(),
        ),
        chart(
            "Gaussians",
            curve
                .iter()
                .map(|p| (p.step.into(), p.gaussians as f64))
                .collect(),
        ),
    ];
    let measured = metrics.measured.iter();
    let psnr: Vec<(f64, f64)> = measured.map(|p| (p.step.into(), p.psnr)).collect();
    if psnr.len() > 1 {
        charts.push(chart(&format!("PSNR of {kind} photos, dB"), psnr));
    }
    Ok(Report {
        title: "splatcore training run".into(),
        summary,
        scene,
        charts,
        views_title: if held_out {
            "Held-out views".into()
        } else {
            "Training views (none is held out)".into()
        },
        views,
        weak: weak_views(&found.views),
        poses: metrics.poses.clone(),
        config: Some(trainer.config().to_toml()?),
    })
}
