//! How long a run still takes after its last step: a budget of time is for all of it.

use crate::report::{ViewPictures, pictured};
use crate::sharing::MAX_IN_REPORT;
use splatcore_core::backend::{RenderOptions, Renderer};
use splatcore_core::{Camera, View};
use splatcore_train::evaluate::{psnr, score};
use splatcore_train::poses::ROUNDS;
use splatcore_train::trainer::{Afterwards, Residuals};
use std::sync::Arc;
use std::time::Instant;

/// Bytes of a Gaussian in scene.ply and in the checkpoint, at SH degree 3, and how many a disk
/// takes in a second, with the copies that come before.
const SCENE_BYTES: f64 = 248.0;
const STATE_BYTES: f64 = 716.0;
const BYTES_A_SECOND: f64 = 8e8;
/// How many of these bytes come from a card in a second. Nothing is measured before all are here.
const FETCHED_A_SECOND: f64 = 1.5e9;
/// Seconds to pack a Gaussian for the page in the report, on one core.
const PACKING: f64 = 4e-5;
/// Times a render that a step takes.
const STEP: f64 = 4.0;
/// Seconds of all else: the other files, the end of the process; and until a card's driver lets a
/// process go.
const REST: f64 = 0.05;
const REST_OF_CARD: f64 = 0.13;
/// What is tried is tried with each side divided by this, if that leaves enough of it.
const DIVISOR: u32 = 4;
const MIN_SIDE: u32 = 32;
/// Channels of an image, which are scored at the same time where there are as many threads.
const CHANNELS: usize = 3;
/// Pictures of a view in the report, which are made at the same time.
const PICTURES: usize = 3;

/// Tries one of the views that will be measured, and reckons the rest by it. Whoever trains waits
/// for it, so that it is tried small. So many photos are trained on, in so many seconds, on a card
/// or not.
pub fn afterwards(
    views: Arc<Vec<View>>,
    (align_colour, fits_poses): (bool, bool),
    (trained, budget, on_card): (usize, f64, bool),
) -> Afterwards {
    let rest = REST + if on_card { REST_OF_CARD } else { 0.0 };
    let tried = views.iter().find(|view| view.photo.counted_pixels() > 0);
    let tried = tried.and_then(|view| Some((view.camera.clone(), reduced(&*view.held().ok()?))));
    Box::new(move |renderer, options, gaussians| {
        let count = gaussians as f64;
        let scene = SCENE_BYTES * count / BYTES_A_SECOND;
        let state = STATE_BYTES * count / BYTES_A_SECOND;
        let page = match gaussians <= MAX_IN_REPORT {
            true => PACKING * count,
            false => 0.0,
        };
        let extras = (align_colour, fits_poses);
        let measured = tried.as_ref().and_then(|(camera, small)| {
            measuring(renderer, options, (camera, small), views.len(), extras)
        });
        let measured = measured.map(|measured: Measuring| {
            let [all, few] =
                [trained, Residuals::FEWEST].map(|photos| measured.comparing * photos as f64);
            let comparing = all.min(few.max(Residuals::SHARE * budget));
            Measuring {
                alone: measured.alone + comparing,
                waiting: measured.waiting + comparing,
                ..measured
            }
        });
        let fetching = (SCENE_BYTES + STATE_BYTES) * count / FETCHED_A_SECOND;
        let measured = measured.unwrap_or_default().behind(fetching);
        together([scene, state, page], measured, threads()) + rest
    })
}

/// Seconds to render and score views.
#[derive(Clone, Copy, Default)]
struct Measuring {
    /// By the clock, if nothing else is done.
    alone: f64,
    /// Of these, those in which the processor waits for the card.
    waiting: f64,
    /// Of the processor, on one core.
    work: f64,
    /// By the clock, to render a view and to compare it by its pixels.
    comparing: f64,
}

impl Measuring {
    /// The same, begun after so many seconds without work.
    fn behind(self, seconds: f64) -> Self {
        Self {
            alone: seconds + self.alone,
            waiting: seconds + self.waiting,
            ..self
        }
    }
}

/// Seconds of all that follows the last step: to write scene and state, to pack the scene for the
/// page once it is written, in seconds of one core, and to measure. They go on at the same time, as
/// far as there are threads.
fn together([scene, state, page]: [f64; 3], measuring: Measuring, threads: f64) -> f64 {
    let busy = measuring.waiting + (measuring.work + page) / threads;
    let packed = scene + page / threads;
    [scene + state, packed, measuring.alone, busy]
        .into_iter()
        .fold(0.0, f64::max)
}

/// A view at a size at which little time is lost.
fn reduced(view: &View) -> View {
    let fits = view.photo.width.min(view.photo.height) >= DIVISOR * MIN_SIDE;
    let divisor = if fits { DIVISOR } else { 1 };
    View {
        name: view.name.clone(),
        camera: view.camera.reduced(divisor),
        photo: view.photo.reduced(divisor),
    }
}

/// What it takes to render and score so many views, and to make the pictures of the report; by a
/// view's camera and the small view.
fn measuring(
    renderer: &mut dyn Renderer,
    options: &RenderOptions,
    (camera, small): (&Camera, &View),
    views: usize,
    (align_colour, fits_poses): (bool, bool),
) -> Option<Measuring> {
    let image = renderer.render(&small.camera, options).ok()?.image;
    // The first image of its size may need kernels and memory.
    renderer.render(camera, options).ok()?;
    let begun = Instant::now();
    renderer.render(camera, options).ok()?;
    let rendered = begun.elapsed().as_secs_f64();
    let pixels = |camera: &Camera| f64::from(camera.width) * f64::from(camera.height);
    let larger = pixels(camera) / pixels(&small.camera);
    let begun = Instant::now();
    psnr(small, &image).ok()?;
    let comparing = rendered + larger * begun.elapsed().as_secs_f64();
    let begun = Instant::now();
    let found = score(small, &image, align_colour).ok()?;
    let scored = larger * begun.elapsed().as_secs_f64();
    let begun = Instant::now();
    ViewPictures::new(small, &image, &found).ok()?;
    let pictures = larger * begun.elapsed().as_secs_f64();
    let fitting = match fits_poses {
        true => f64::from(ROUNDS) * STEP * rendered * views as f64,
        false => 0.0,
    };
    let rounds = |count: usize| (count as f64 / threads()).ceil();
    let shown = pictured(views).len();
    // The channels of an image are scored at the same time, as are the pictures of a view made.
    let at_once = |count: usize| threads().min(count as f64);
    let each = |seconds: f64, parts: usize, count: usize| {
        seconds * at_once(parts) / parts as f64 * rounds(parts * count)
    };
    // A view is scored while the next ones are rendered.
    let rendering = rendered * views as f64 + scored + pictures;
    let scoring = rendered + each(scored, CHANNELS, views) + each(pictures, PICTURES, shown);
    Some(Measuring {
        alone: fitting + rendering.max(scoring),
        waiting: fitting + rendered,
        work: scored * at_once(CHANNELS) * views as f64
            + pictures * at_once(PICTURES) * shown as f64,
        comparing,
    })
}

fn threads() -> f64 {
    rayon::current_num_threads().max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_done_at_the_same_time_takes_as_long_as_the_longest_or_as_all_threads() {
        let measuring = Measuring {
            alone: 0.5,
            waiting: 0.1,
            work: 4.0,
            comparing: 0.0,
        };
        let near = |found: f64, wanted: f64| assert!((found - wanted).abs() < 1e-12, "{found}");
        // Small files, and threads for all.
        near(together([0.1, 0.2, 1.0], measuring, 16.0), 0.5);
        near(together([0.25, 0.75, 1.0], measuring, 16.0), 1.0);
        // The page fills all threads once the scene is written.
        near(together([0.5, 0.0, 8.0], measuring, 16.0), 1.0);
        near(together([0.1, 0.2, 1.0], measuring.behind(0.4), 16.0), 0.9);
        // Too few threads for measuring and packing.
        near(together([0.1, 0.2, 2.0], measuring, 4.0), 0.1 + 6.0 / 4.0);
    }
}
