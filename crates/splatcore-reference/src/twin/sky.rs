//! `sky`: what lies behind the scene at each pixel, and what a sky learns of the pixels' gradients,
//! by [`splatcore_core::sky`].

use super::adam::{moments, update};
use splatcore_core::Camera;
use splatcore_core::backend::{LearnerState, RenderOptions, StepPlan};
use splatcore_core::colour::ColourTable;
use splatcore_core::sh;
use splatcore_core::sky::{NUMBERS, Sky, SkyPlan, direction};
use std::sync::Arc;

/// How a step renders: with the sky that is known, if it learns one.
pub fn of_step(state: &LearnerState, plan: &StepPlan) -> RenderOptions {
    let mut render = plan.render.clone();
    if plan.sky.is_some() {
        render.sky = Sky::of(&state.sky).map(Arc::new);
    }
    render
}

/// The colour behind the scene at a pixel: the background, and the sky's if there is one.
pub fn behind(options: &RenderOptions, camera: &Camera, [x, y]: [usize; 2]) -> [f64; 3] {
    let background = options.background.map(f64::from);
    let Some(sky) = &options.sky else {
        return background;
    };
    let colour = sky.colour(direction(camera, [x as u32, y as u32]));
    [0, 1, 2].map(|c: usize| background[c] + colour[c])
}

/// No pixel has a brighter colour behind the scene.
pub fn brightest(options: &RenderOptions) -> f64 {
    /// More than any harmonic reaches.
    const MAX: f64 = 1.1;
    let of_channel = |c: usize| {
        let sky = options.sky.as_deref().map_or(0.0, |sky| {
            let sizes = sky.coefficients.iter().map(|row| f64::from(row[c]).abs());
            0.5 + MAX * sizes.sum::<f64>()
        });
        f64::from(options.background[c]) + sky
    };
    (0..3).map(of_channel).fold(0.0, f64::max)
}

/// The gradient of the sky's numbers, given the transmittance of each pixel and the gradient by its
/// colour.
pub fn backward(camera: &Camera, transmittance: &[f64], gradient: &[[f64; 3]]) -> Vec<f64> {
    let mut sums = vec![0.0; NUMBERS];
    for (i, (left, by)) in transmittance.iter().zip(gradient).enumerate() {
        let (i, width) = (i as u32, camera.width);
        let basis = sh::basis(direction(camera, [i % width, i / width]));
        for (at, sum) in sums.iter_mut().enumerate() {
            *sum += left * by[at % 3] * basis[at / 3];
        }
    }
    sums
}

/// What is known of the sky after a step, from what was known before it and the gradient. Adam
/// counts the steps that learn it.
pub fn step(before: &ColourTable, gradient: &[f64], plan: &SkyPlan) -> ColourTable {
    let mut after = before.clone();
    after.seen[0] += 1;
    for (at, gradient) in gradient.iter().enumerate() {
        let (mut first, mut second) = (after.first[at].into(), after.second[at].into());
        moments(&mut first, &mut second, *gradient);
        let moved = update(first, second, plan.rate.into(), after.seen[0]);
        after.parameters[at] = (f64::from(after.parameters[at]) + moved) as f32;
        (after.first[at], after.second[at]) = (first as f32, second as f32);
    }
    after
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conformance::scenes::random_scene;
    use crate::twin::{CutOffs, gradients_scene, render};
    use splatcore_core::random::Rng;

    fn setting() -> (
        splatcore_core::Gaussians,
        Camera,
        RenderOptions,
        Vec<[f64; 3]>,
    ) {
        let mut rng = Rng::new(12, 8);
        let scene = random_scene(7, 30, 1);
        let camera = Camera::look_at(
            [0.3, -0.2, -4.0],
            [0.0, 0.1, 0.0],
            [0.0, -1.0, 0.0],
            0.9,
            20,
            18,
        );
        let sky = Sky {
            coefficients: [(); 16].map(|()| [(); 3].map(|()| 0.3 * rng.normal())),
        };
        let options = RenderOptions {
            background: [0.1, 0.2, 0.0],
            sky: Some(Arc::new(sky)),
            ..RenderOptions::default()
        };
        let weights = (0..20 * 18).map(|_| [(); 3].map(|()| rng.normal().into()));
        (scene, camera, options, weights.collect())
    }

    fn value(image: &[[f64; 3]], weights: &[[f64; 3]]) -> f64 {
        let terms = image.as_flattened().iter().zip(weights.as_flattened());
        terms.map(|(value, weight)| value * weight).sum()
    }

    /// Of every number of the sky, by differences of a weighted sum of the pixels.
    #[test]
    fn gradients_match_finite_differences() {
        let (scene, camera, options, weights) = setting();
        let frame = render(&scene, &camera, &options);
        let found = backward(&camera, &frame.transmittance, &weights);
        let sky = options.sky.as_deref().unwrap();
        for at in 0..NUMBERS {
            let moved = |by: f32| {
                let mut sky = *sky;
                sky.coefficients[at / 3][at % 3] += by;
                let options = RenderOptions {
                    sky: Some(Arc::new(sky)),
                    ..options.clone()
                };
                let number = f64::from(sky.coefficients[at / 3][at % 3]);
                let image = render(&scene, &camera, &options).image;
                (value(&image, &weights), number)
            };
            let ([high, to], [low, from]) = (moved(0.25).into(), moved(-0.25).into());
            let slope = (high - low) / (to - from);
            assert!(
                (slope - found[at]).abs() < 1e-7 * found[at].abs().max(1.0),
                "{at}: {slope} {}",
                found[at]
            );
            assert!(slope.abs() > 1e-4, "{at} tests nothing");
        }
    }

    /// What stands before the sky learns by how much of it it hides.
    #[test]
    fn opacities_know_of_the_sky() {
        let (scene, camera, options, weights) = setting();
        let wide = crate::twin::Scene::from(&scene);
        let of = |scene: &crate::twin::Scene| {
            let frame = crate::twin::render_scene(scene, &camera, &options, CutOffs::None);
            value(&frame.image, &weights)
        };
        let found = gradients_scene(&wide, &camera, &options, CutOffs::None, &weights);
        let (mut tested, h) = (0, 1e-5);
        for i in 0..wide.len() {
            let moved = |by: f64| {
                let mut moved = wide.clone();
                moved.opacity_logits[i] += by;
                of(&moved)
            };
            let slope = (moved(h) - moved(-h)) / (2.0 * h);
            let got = found.scene.opacity_logits[i];
            assert!(
                (slope - got).abs() < 1e-5 * slope.abs().max(1.0),
                "{i}: {slope} {got}"
            );
            tested += usize::from(slope.abs() > 0.1);
        }
        assert!(tested > 5, "{tested}");
    }
}
