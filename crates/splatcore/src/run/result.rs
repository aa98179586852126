//! What a run writes beside scene and checkpoint.

use super::metrics::Written;
use crate::commands::eval::in_region;
use crate::looks::{self, Looks};
use crate::output::{duration, thousands};
use crate::report::{
    Chart, Line, MeasuredColours, MeasuredPoses, Report, Scene, ViewPictures, WeakViews, decibels,
    weak_views,
};
use crate::scene_source::Files;
use crate::sky;
use anyhow::Result;
use splatcore_train::Trainer;

/// What a run learned of its photos' colours; writes it beside the scene. None if it learns none.
pub fn write_colours(trainer: &mut Trainer, files: &Files) -> Result<Option<MeasuredColours>> {
    let colours = trainer.colours()?;
    let Some(looks) = Looks::of(trainer.views(), &colours) else {
        return Ok(None);
    };
    looks.write(files)?;
    let left_out = looks::learn(trainer, &looks, files)?;
    let measured = MeasuredColours::of(&looks, left_out)?;
    measured.tell();
    Ok(Some(measured))
}

/// Writes the sky that a run learned beside the scene, if it learns one.
pub fn write_sky(trainer: &mut Trainer, files: &Files) -> Result<()> {
    match trainer.sky()? {
        Some(sky) => sky::write(&files.sky, &sky),
        None => Ok(()),
    }
}

/// Loss, number of Gaussians and quality over the steps.
fn charts(metrics: &Written, trainer: &Trainer, kind: &str) -> Vec<Chart> {
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
    charts
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
    summary.extend(found.region.map(in_region));
    let poses = metrics.cameras.poses.iter();
    summary.extend(poses.flat_map(MeasuredPoses::summary));
    if let Some(reason) = metrics.stopped {
        summary.push(("Stopped by".into(), reason.into()));
    }
    summary.extend(
        about
            .iter()
            .map(|(name, value)| (name.to_string(), value.clone())),
    );
    Ok(Report {
        title: "splatcore training run".into(),
        summary,
        scene,
        charts: charts(metrics, trainer, kind),
        views_title: if held_out {
            "Held-out views".into()
        } else {
            "Training views (none is held out)".into()
        },
        views,
        // Of those trained on the line below is enough.
        weak: match held_out {
            true => weak_views(&found.views),
            false => WeakViews::default(),
        },
        residuals: Some(metrics.residuals.clone()),
        poses: metrics.cameras.poses.clone(),
        intrinsics: metrics.cameras.intrinsics.clone(),
        colours: metrics.colours.clone(),
        config: Some(trainer.config().to_toml()?),
    })
}
