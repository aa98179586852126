//! `score`: how much of each Gaussian several views show, and how much of that where the image is
//! wrong. What the numbers mean: [`Scoring`] and [`Scores`].
//!
//! With an image gradient of 1 in a channel at some pixels, a splat's dL/dcolour of that channel is
//! the sum of its blending weights there. So one backward pass with the bad pixels in red and all
//! pixels in green counts both.

use crate::colour::{self, Coloured};
use crate::frame::Frame;
use crate::reduced::Reduced;
use crate::rows::chunk_of;
use crate::scene::Scene;
use crate::sky::under_sky;
use crate::workers::Workers;
use splatcore_core::backend::{BackendError, LearnerState, Scores, Scoring};
use splatcore_core::colour::Look;
use splatcore_core::random::draw_views;
use splatcore_core::{Camera, Photo, View, reduce};

/// Places of dL/dred and dL/dgreen in a pair's row of sums.
const RED: usize = 6;
const GREEN: usize = 7;

/// Renders the views and adds up. What is compared is what a step compares.
pub(crate) fn score(
    workers: &Workers,
    state: &LearnerState,
    (frame, reduced, coloured): (&mut Frame, &mut Reduced, &mut Coloured),
    (views, cameras, camera_of): (&[View], &[Camera], &[usize]),
    scoring: &Scoring,
) -> Result<Scores, BackendError> {
    reduce::check(scoring.scale)?;
    let n = state.gaussians.len();
    // Of a pixel of the reduced photos, in pixels of the whole ones.
    let area = (scoring.scale * scoring.scale) as f32;
    let drawn = draw_views(scoring.seed, scoring.step, views.len(), scoring.views);
    let render = &under_sky(state, &scoring.render);
    let mut scores = Scores {
        views: drawn.len(),
        bad: vec![0.0; n],
        weight: vec![0.0; n],
        largest: vec![0.0; n],
    };
    for view in drawn {
        let (colours, learned) = (&state.colours, scoring.colour == state.colours.model);
        let model = scoring.colour.filter(|_| learned);
        let look = model.map(|model| Look::of(model, colours, view, camera_of[view]));
        let behind = colour::background(look.as_ref(), scoring.render.background);
        let camera = &cameras[view].reduced(scoring.scale);
        let photo = reduced.get(view, &views[view], scoring.scale, behind)?;
        let degree = scoring.render.sh_degree;
        let scene = Scene::with_columns(&state.gaussians, state.columns.all_values(), degree);
        workers.pool.install(|| {
            frame.forward(workers.level, scene, camera, render, true)?;
            let colour = match &look {
                Some(look) => {
                    coloured.apply(look, camera, &frame.colour);
                    &coloured.image
                }
                None => &frame.colour,
            };
            let bad = bad_pixels(colour, &photo, scoring.error_threshold);
            let (ones, zeros) = (vec![1.0; bad.len()], vec![0.0; bad.len()]);
            frame.backward(
                workers.level,
                camera,
                &scoring.render,
                [&bad, &ones, &zeros],
            )
        })?;
        for chunk in 0..frame.counts.len() {
            let (splats, slots) = chunk_of(frame, chunk);
            for (splat, &[first, count]) in splats.iter().zip(slots) {
                let pairs = &frame.lists.pairs_of_splats[first as usize..(first + count) as usize];
                let sum = |place: usize| -> f32 {
                    let rows = pairs.iter().map(|&pair| frame.sums[pair as usize][place]);
                    rows.sum()
                };
                let (i, weight) = (splat.gaussian as usize, area * sum(GREEN));
                scores.bad[i] += area * sum(RED);
                scores.weight[i] += weight;
                scores.largest[i] = scores.largest[i].max(weight);
            }
        }
    }
    Ok(scores)
}

/// 1 where the L1 error of a counted pixel, min-max normalised over the counted pixels, is above
/// the threshold.
fn bad_pixels(colour: &[Vec<f32>; 3], photo: &Photo, threshold: f32) -> Vec<f32> {
    let error = |i: usize| -> f32 {
        let channel = |c: usize| (colour[c][i] - photo.rgb[3 * i + c] as f32 * (1.0 / 255.0)).abs();
        (channel(0) + channel(1) + channel(2)) * (1.0 / 3.0)
    };
    let counts = |i: usize| photo.mask.as_ref().is_none_or(|mask| mask[i] != 0);
    let pixels = photo.width as usize * photo.height as usize;
    let (least, most) = (0..pixels)
        .filter(|&i| counts(i))
        .map(error)
        .fold((f32::INFINITY, 0.0f32), |(least, most), e| {
            (least.min(e), most.max(e))
        });
    let limit = least + threshold * (most - least);
    let bad = |i: usize| counts(i) && error(i) > limit;
    (0..pixels)
        .map(|i| if bad(i) { 1.0 } else { 0.0 })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pixels_are_bad_relative_to_the_worst_that_counts() {
        let mut photo = Photo::opaque(4, 1, vec![0; 12]);
        let red = vec![0.1, 0.5, 0.9, 3.0];
        let colour = [red, vec![0.0; 4], vec![0.0; 4]];
        assert_eq!(bad_pixels(&colour, &photo, 0.2), [0.0, 0.0, 1.0, 1.0]);
        // The worst does not count: others become bad.
        photo.mask = Some(vec![1, 1, 1, 0]);
        assert_eq!(bad_pixels(&colour, &photo, 0.2), [0.0, 1.0, 1.0, 0.0]);
        // Nothing is worse than the rest, or nothing counts.
        photo.mask = Some(vec![1, 0, 0, 0]);
        assert_eq!(bad_pixels(&colour, &photo, 0.2), [0.0; 4]);
        photo.mask = Some(vec![0; 4]);
        assert_eq!(bad_pixels(&colour, &photo, 0.2), [0.0; 4]);
    }
}
