//! A training loop of one's own: rates, densification and the order of the photos by hand, on the
//! traits that every backend implements.
//!
//! ```sh
//! cargo run --release --example own_loop
//! ```
//!
//! The trainer (`splatcore::train::Trainer`) does the same with schedules, checkpoints and
//! resuming; this is where to start for a method that it does not have.

use splatcore::core::backend::{LearningRates, Refine, RenderOptions, Statistic, StepPlan};
use splatcore::core::{Backend, Learner, View, camera};
use splatcore::cpu::CpuBackend;
use splatcore::data::dataset::{Dataset, LoadOptions, OpenOptions, Split};
use splatcore::data::procedural::{ProceduralOptions, write_dataset};
use splatcore::train::{Config, init};
use std::sync::Arc;

const STEPS: u32 = 288;
/// Twice through the 24 photos, so that the loss is printed for the same one every time.
const DENSIFY_EVERY: u32 = 48;
const DENSIFY_UNTIL: u32 = 240;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let dataset = paint_dataset()?;
    let all = dataset.select(Split::All, 0);
    let views = dataset.load_views(&all, &LoadOptions::default(), &|_, _| {})?;
    let views: Arc<Vec<View>> = Arc::new(views);
    // Half the diameter of what the cameras enclose: rates of means and sizes are in its units.
    let extent = camera::extent(views.iter().map(|view| &view.camera)) as f32;

    // One Gaussian a point of the dataset, harmonics of degree 1.
    let config = Config {
        sh_degree: Some(1),
        ..Config::default()
    }
    .resolve()?;
    let points = &dataset.points;
    let start = init::from_points(
        &points.positions,
        &points.colours,
        &config,
        f64::from(extent),
    );
    let backend = CpuBackend::new(None);
    let mut learner = backend.learner(&start.gaussians, Arc::clone(&views))?;
    println!("{} Gaussians at the start", learner.count());

    for step in 1..=STEPS {
        // Every photo in turn. A step renders it, compares, and moves every parameter.
        let view = (7 * step as usize) % views.len();
        learner.step(&plan(step, view, extent))?;
        if step % DENSIFY_EVERY == 0 && step < DENSIFY_UNTIL {
            densify(&mut *learner, step, extent)?;
        }
        // Asking for the loss waits for the device: not in every step.
        if step % DENSIFY_EVERY == 0 {
            let loss = learner.last_loss()?;
            println!(
                "step {step:3}: loss {loss:.4}, {} Gaussians",
                learner.count()
            );
        }
    }
    let scene = learner.scene()?;
    println!("{} Gaussians at the end", scene.len());
    Ok(())
}

/// What one step does. Rates of means fall from 1.6e-4 to 1.6e-6 of the extent, on a logarithmic
/// scale, as in INRIA's code.
fn plan(step: u32, view: usize, extent: f32) -> StepPlan {
    let done = step as f32 / STEPS as f32;
    let render = RenderOptions {
        // Degree 0 first: what does not depend on the direction of view.
        sh_degree: u8::from(step > STEPS / 3),
        ..RenderOptions::default()
    };
    StepPlan {
        rates: LearningRates {
            means: 1.6e-4 * 0.01f32.powf(done) * extent,
            log_scales: 5e-3,
            rotations: 1e-3,
            opacity_logits: 2.5e-2,
            sh_base: 2.5e-3,
            sh_rest: 1.25e-4,
        },
        statistics: (step < DENSIFY_UNTIL).then_some(Statistic::Mean),
        ..StepPlan::of(step, vec![view], render)
    }
}

/// One round of adaptive density control.
fn densify(
    learner: &mut dyn Learner,
    step: u32,
    extent: f32,
) -> Result<(), Box<dyn std::error::Error>> {
    let report = learner.refine(&Refine::Adc {
        gradient_threshold: 2e-4,
        split_scale: 0.01 * extent,
        min_opacity: 0.005,
        max_scale: None,
        max_gaussians: 20_000,
        budget: None,
        region: None,
        seed: 0,
        step,
    })?;
    println!(
        "step {step:3}: {} cloned, {} split, {} pruned",
        report.cloned, report.split, report.pruned
    );
    Ok(())
}

/// 24 small photos of the procedural scene in a temporary folder.
fn paint_dataset() -> Result<Dataset, Box<dyn std::error::Error>> {
    let folder = std::env::temp_dir().join("splatcore-own-loop");
    let options = ProceduralOptions {
        width: 96,
        height: 72,
        views: 24,
        ..ProceduralOptions::default()
    };
    write_dataset(&folder, &options, &|_, _| {})?;
    Ok(Dataset::open(&folder, &OpenOptions::default())?)
}
