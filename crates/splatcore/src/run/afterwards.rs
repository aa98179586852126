//! How long a run still takes after its last step: a budget of time is for all of it.

use crate::report::{ViewPictures, pictured};
use crate::sharing::MAX_IN_REPORT;
use splatcore_core::View;
use splatcore_core::backend::{RenderOptions, Renderer};
use splatcore_train::evaluate::score;
use splatcore_train::poses::ROUNDS;
use splatcore_train::trainer::Afterwards;
use std::sync::Arc;
use std::time::Instant;

/// Bytes of a Gaussian in scene.ply and in the checkpoint, at SH degree 3, and how many a disk
/// takes in a second, with the copies that come before.
const BYTES: f64 = 248.0 + 716.0;
const BYTES_A_SECOND: f64 = 8e8;
/// Seconds to pack a Gaussian for the page in the report, on one core.
const PACKING: f64 = 4e-5;
/// Times a render that a step takes.
const STEP: f64 = 4.0;
/// Seconds of all else: the other files, the end of the process.
const REST: f64 = 0.05;

/// Tries one of the views that will be measured, and reckons the rest by it.
pub fn afterwards(views: Arc<Vec<View>>, align_colour: bool, fits_poses: bool) -> Afterwards {
    Box::new(move |renderer, options, gaussians| {
        let count = gaussians as f64;
        let files = BYTES * count / BYTES_A_SECOND;
        let page = match gaussians <= MAX_IN_REPORT {
            true => PACKING * count / threads(),
            false => 0.0,
        };
        let measured = measuring(renderer, options, &views, align_colour, fits_poses);
        let measured = measured.unwrap_or(0.0);
        files.max(measured) + page + REST
    })
}

/// Seconds to render and score all views, and to make the pictures of the report.
fn measuring(
    renderer: &mut dyn Renderer,
    options: &RenderOptions,
    views: &[View],
    align_colour: bool,
    fits_poses: bool,
) -> Option<f64> {
    let view = views.iter().find(|view| view.photo.counted_pixels() > 0)?;
    // The first image of its kind may need kernels.
    renderer.render(&view.camera, options).ok()?;
    let begun = Instant::now();
    let image = renderer.render(&view.camera, options).ok()?.image;
    let rendered = begun.elapsed().as_secs_f64();
    let found = score(view, &image, align_colour).ok()?;
    let scored = begun.elapsed().as_secs_f64() - rendered;
    ViewPictures::new(view, &image, &found).ok()?;
    let pictures = begun.elapsed().as_secs_f64() - rendered - scored;
    let fitting = match fits_poses {
        true => f64::from(ROUNDS) * STEP * rendered * views.len() as f64,
        false => 0.0,
    };
    let rounds = |count: usize| (count as f64 / threads()).ceil();
    let shown = pictured(views.len()).len();
    Some(
        fitting
            + rendered * views.len() as f64
            + scored * rounds(views.len())
            + pictures * rounds(shown),
    )
}

fn threads() -> f64 {
    rayon::current_num_threads().max(1) as f64
}
