//! `exposure`: each photo's affine transform of the rendered colour, `A rgb + b`, as the rows of
//! `[A | b]`.
//!
//! Between `blend` and `loss`; see [`splatcore_core::exposure`] for what it is for.

use super::adam::{moments, update};
use splatcore_core::exposure::{Exposures, IDENTITY, PULL};

/// What the loss sees in place of `image`.
pub fn apply(image: &[[f64; 3]], exposure: &[f64; 12]) -> Vec<[f64; 3]> {
    let row = |c: usize, rgb: &[f64; 3]| {
        exposure[4 * c] * rgb[0]
            + exposure[4 * c + 1] * rgb[1]
            + exposure[4 * c + 2] * rgb[2]
            + exposure[4 * c + 3]
    };
    image
        .iter()
        .map(|rgb| [0, 1, 2].map(|c| row(c, rgb)))
        .collect()
}

/// Gradients of a scalar with respect to `image` and to the transform, given that with respect to
/// [`apply`]'s result.
pub fn backward(
    image: &[[f64; 3]],
    exposure: &[f64; 12],
    gradient: &[[f64; 3]],
) -> (Vec<[f64; 3]>, [f64; 12]) {
    let mut of_exposure = [0.0; 12];
    for (rgb, g) in image.iter().zip(gradient) {
        for c in 0..3 {
            for k in 0..3 {
                of_exposure[4 * c + k] += g[c] * rgb[k];
            }
            of_exposure[4 * c + 3] += g[c];
        }
    }
    let of_pixel =
        |g: &[f64; 3]| [0, 1, 2].map(|k| (0..3).map(|c| exposure[4 * c + k] * g[c]).sum());
    (gradient.iter().map(of_pixel).collect(), of_exposure)
}

/// One view's transform and moments after a step, from the state before it: `(parameters, first,
/// second)`. Adam counts the steps on this view alone; then the mean of all views is pulled towards
/// the identity.
pub fn step(before: &Exposures, view: usize, gradient: &[f64; 12], rate: f64) -> [[f64; 12]; 3] {
    let wide = |values: &[f32; 12]| values.map(f64::from);
    let mut parameters = wide(&before.parameters[view]);
    let (mut first, mut second) = (wide(&before.first[view]), wide(&before.second[view]));
    let taken = before.seen[view] + 1;
    for k in 0..12 {
        let deviations = before
            .parameters
            .iter()
            .map(|p| p[k] as f64 - IDENTITY[k] as f64);
        let mean = deviations.sum::<f64>() / before.len() as f64;
        moments(&mut first[k], &mut second[k], gradient[k]);
        parameters[k] += update(first[k], second[k], rate, taken) - PULL as f64 * mean;
    }
    [parameters, first, second]
}

#[cfg(test)]
mod tests {
    use super::super::loss::loss;
    use super::*;
    use splatcore_core::Photo;
    use splatcore_core::random::Rng;

    const WIDTH: usize = 13;
    const HEIGHT: usize = 12;

    /// Loss of a random image through a transform that is no identity, some pixels masked.
    fn setting() -> (Vec<[f64; 3]>, [f64; 12], Photo) {
        let mut rng = Rng::new(8, 3);
        let image = (0..WIDTH * HEIGHT)
            .map(|_| [0; 3].map(|_| rng.uniform() as f64))
            .collect();
        let exposure = std::array::from_fn(|k| IDENTITY[k] as f64 + 0.3 * rng.normal() as f64);
        let photo = Photo {
            mask: Some((0..WIDTH * HEIGHT).map(|i| (i % 7 > 1) as u8).collect()),
            ..Photo::opaque(
                WIDTH as u32,
                HEIGHT as u32,
                (0..3 * WIDTH * HEIGHT)
                    .map(|_| rng.next_u32() as u8)
                    .collect(),
            )
        };
        (image, exposure, photo)
    }

    fn value(image: &[[f64; 3]], exposure: &[f64; 12], photo: &Photo) -> f64 {
        loss(&apply(image, exposure), photo, 0.2).value
    }

    /// The twelve numbers, and some pixels.
    #[test]
    fn gradients_match_finite_differences() {
        let (image, exposure, photo) = setting();
        let gradient = loss(&apply(&image, &exposure), &photo, 0.2).gradient;
        let (of_image, of_exposure) = backward(&image, &exposure, &gradient);
        // Smaller than the distance of any value to its photo's: L1 has a kink there.
        let h = 1e-7;
        for k in 0..12 {
            let at = |d: f64| {
                let mut moved = exposure;
                moved[k] += d;
                value(&image, &moved, &photo)
            };
            let slope = (at(h) - at(-h)) / (2.0 * h);
            assert!(
                (slope - of_exposure[k]).abs() < 1e-6,
                "{k}: {slope} {}",
                of_exposure[k]
            );
            assert!(slope.abs() > 1e-4, "{k} tests nothing");
        }
        for i in (0..WIDTH * HEIGHT).step_by(11) {
            for c in 0..3 {
                let at = |d: f64| {
                    let mut moved = image.clone();
                    moved[i][c] += d;
                    value(&moved, &exposure, &photo)
                };
                let slope = (at(h) - at(-h)) / (2.0 * h);
                assert!((slope - of_image[i][c]).abs() < 1e-7, "{i} {c}: {slope}");
            }
        }
        assert!(of_image.contains(&[0.0; 3]), "no pixel is masked");
    }

    /// By hand: the first step on a view is the rate against the gradient's sign, whatever other
    /// views have seen.
    #[test]
    fn a_view_counts_its_own_steps() {
        let mut exposures = Exposures::fresh(3);
        exposures.seen = vec![0, 700, 2];
        let [parameters, ..] = step(&exposures, 0, &[-3.0; 12], 0.01);
        for k in 0..12 {
            assert!((parameters[k] - IDENTITY[k] as f64 - 0.01).abs() < 1e-12);
        }
    }

    /// Without gradients the mean of all views returns to the identity while their differences
    /// stay.
    #[test]
    fn the_mean_returns_to_the_identity() {
        let mut exposures = Exposures::fresh(4);
        for (view, parameters) in exposures.parameters.iter_mut().enumerate() {
            parameters[0] += 0.3 + 0.1 * view as f32;
        }
        let spread = |e: &Exposures| e.parameters[3][0] - e.parameters[0][0];
        let before = spread(&exposures);
        for visit in 0..400 {
            let [parameters, ..] = step(&exposures, visit % 4, &[0.0; 12], 0.01);
            exposures.parameters[visit % 4] = parameters.map(|v| v as f32);
        }
        let mean: f32 = exposures.parameters.iter().map(|p| p[0]).sum::<f32>() / 4.0;
        assert!((mean - 1.0).abs() < 1e-3, "{mean}");
        // A view visited later in a round is pulled by less.
        assert!(
            (spread(&exposures) - before).abs() < 0.1,
            "{} {before}",
            spread(&exposures)
        );
    }
}
