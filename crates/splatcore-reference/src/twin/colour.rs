//! `colour`: what a colour model makes of the rendered image, between `blend` and `loss`.
//!
//! The formulas are those of [`splatcore_core::colour`], differentiated by pairs of a value and a
//! derivative, number by number; backends have gradients written by hand.

use super::adam::{moments, update};
use splatcore_core::colour::{ColourModel, ColourPlan, ColourState, ColourTable, Dual, Gauge};

/// A model with the numbers of a photo and its camera, for an image of a size.
#[derive(Clone, Debug)]
pub struct Look {
    /// Which model.
    pub model: ColourModel,
    /// Of the photo, and of the camera.
    pub numbers: [Vec<f64>; 2],
    /// Width and height.
    pub size: [usize; 2],
}

impl Look {
    /// Of a view and its camera; the model's start if the state has none of it.
    pub fn of(
        model: ColourModel,
        state: &ColourState,
        (view, camera): (usize, usize),
        size: [u32; 2],
    ) -> Self {
        let entry = model.entry();
        let known = state.numbers(model, view, camera);
        let numbers = known.unwrap_or([entry.photo, entry.camera]);
        Self {
            model,
            numbers: numbers.map(|row| row.iter().map(|&number| number.into()).collect()),
            size: size.map(|side| side as usize),
        }
    }

    /// The factors, differentiated by none of the numbers.
    fn factors(&self) -> Vec<Dual> {
        let rows = [0, 1].map(|k| Dual::row(&self.numbers[k], NONE));
        self.model.entry().dual_factors(&rows[0], &rows[1])
    }

    /// Where a pixel lies, as the model has places.
    fn place(&self, pixel: usize) -> [f64; 2] {
        let at = [pixel % self.size[0], pixel / self.size[0]];
        let sides = self.size.map(|side| side as f64);
        let units = self.model.entry().places.units(sides);
        [0, 1].map(|k: usize| (at[k] as f64 + 0.5 - sides[k] / 2.0) / units[k])
    }

    fn colour(&self, factors: &[Dual], pixel: usize, rgb: [Dual; 3]) -> [Dual; 3] {
        let place = self.place(pixel);
        self.model.entry().dual_colour(factors, place, rgb)
    }
}

const NONE: usize = usize::MAX;

/// What the loss sees in place of `image`.
pub fn apply(image: &[[f64; 3]], look: &Look) -> Vec<[f64; 3]> {
    let factors = look.factors();
    let colours = image.iter().enumerate().map(|(pixel, rgb)| {
        let seen = look.colour(&factors, pixel, rgb.map(Dual::constant));
        seen.map(|channel| channel.value)
    });
    colours.collect()
}

/// Gradients of a scalar with respect to `image` and to the numbers of the photo and the camera,
/// given that with respect to [`apply`]'s result; with the penalty's.
pub fn backward(
    image: &[[f64; 3]],
    look: &Look,
    gradient: &[[f64; 3]],
) -> (Vec<[f64; 3]>, [Vec<f64>; 2]) {
    let slope =
        |seen: [Dual; 3], g: &[f64; 3]| -> f64 { (0..3).map(|c| seen[c].slope * g[c]).sum() };
    let (fixed, entry) = (look.factors(), look.model.entry());
    let of_pixel = |pixel: usize| {
        [0, 1, 2].map(|channel| {
            let rgb = Dual::row(&image[pixel], channel);
            let seen = look.colour(&fixed, pixel, [rgb[0], rgb[1], rgb[2]]);
            slope(seen, &gradient[pixel])
        })
    };
    let (mut factors, mut of_factors) = (fixed.clone(), vec![0.0; fixed.len()]);
    for (pixel, (&rgb, g)) in image.iter().zip(gradient).enumerate() {
        for k in entry.factors_at(look.place(pixel), rgb) {
            factors[k].slope = 1.0;
            of_factors[k] += slope(look.colour(&factors, pixel, rgb.map(Dual::constant)), g);
            factors[k].slope = 0.0;
        }
    }
    let numbers = look.numbers.each_ref().map(Vec::as_slice);
    let of_numbers = entry.chain(numbers, &of_factors);
    ((0..image.len()).map(of_pixel).collect(), of_numbers)
}

/// The numbers of all views and cameras after a step on one view, from the state before it. Adam
/// counts the steps of each row alone.
pub fn step(
    before: &ColourState,
    (view, camera): (usize, usize),
    gradients: &[Vec<f64>; 2],
    plan: &ColourPlan,
) -> ColourState {
    let (entry, mut after) = (plan.model.entry(), before.clone());
    let back = match entry.gauge {
        Gauge::Pull(share) => {
            let off = mean_off(&before.photos, entry.photo).into_iter();
            off.map(|off| f64::from(share) * off).collect()
        }
        Gauge::ZeroMean => vec![0.0; entry.photo.len()],
    };
    row_step(
        &mut after.photos,
        view,
        &gradients[0],
        plan.photo_rate,
        &back,
    );
    if entry.gauge == Gauge::ZeroMean {
        let off = mean_off(&after.photos, entry.photo);
        for row in after.photos.parameters.chunks_exact_mut(off.len()) {
            for (number, off) in row.iter_mut().zip(&off) {
                *number = (f64::from(*number) - off) as f32;
            }
        }
    }
    if !entry.camera.is_empty() {
        let still = vec![0.0; entry.camera.len()];
        row_step(
            &mut after.cameras,
            camera,
            &gradients[1],
            plan.camera_rate,
            &still,
        );
    }
    after
}

fn mean_off(table: &ColourTable, start: &[f32]) -> Vec<f64> {
    let mean = |(k, start): (usize, &f32)| {
        let rows = table.parameters.chunks_exact(table.width);
        let off = rows.map(|row| f64::from(row[k]) - f64::from(*start));
        off.sum::<f64>() / table.rows() as f64
    };
    start.iter().enumerate().map(mean).collect()
}

fn row_step(table: &mut ColourTable, row: usize, gradient: &[f64], rate: f32, back: &[f64]) {
    table.seen[row] += 1;
    for (k, at) in table.places(row).enumerate() {
        let (mut first, mut second) = (table.first[at].into(), table.second[at].into());
        moments(&mut first, &mut second, gradient[k]);
        let moved = update(first, second, rate.into(), table.seen[row]) - back[k];
        table.parameters[at] = (f64::from(table.parameters[at]) + moved) as f32;
        (table.first[at], table.second[at]) = (first as f32, second as f32);
    }
}

#[cfg(test)]
mod tests {
    use super::super::loss::loss;
    use super::*;
    use splatcore_core::Photo;
    use splatcore_core::random::Rng;

    const WIDTH: usize = 13;
    const HEIGHT: usize = 12;

    /// Loss of a random image through a model in mid-training, some pixels masked.
    fn setting(model: ColourModel) -> (Vec<[f64; 3]>, Look, Photo) {
        let mut rng = Rng::new(8, 3);
        let image = (0..WIDTH * HEIGHT)
            .map(|_| [0; 3].map(|_| 0.2 + 0.5 * f64::from(rng.uniform())))
            .collect();
        let entry = model.entry();
        let mut row = |start: &[f32]| -> Vec<f64> {
            let numbers = start.iter();
            numbers
                .map(|&n| f64::from(n) + 0.2 * f64::from(rng.normal()))
                .collect()
        };
        let numbers = [row(entry.photo), row(entry.camera)];
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
        let size = [WIDTH, HEIGHT];
        (
            image,
            Look {
                model,
                numbers,
                size,
            },
            photo,
        )
    }

    fn value(image: &[[f64; 3]], look: &Look, photo: &Photo) -> f64 {
        let camera: Vec<Dual> = look.numbers[1].iter().map(|&n| Dual::constant(n)).collect();
        let entry = look.model.entry();
        let penalties = entry.penalty(&camera).value + entry.photo_penalty(&look.numbers[0]);
        loss(&apply(image, look), photo, 0.2).value + penalties
    }

    /// Of all numbers, of large tables some, and of some pixels.
    #[test]
    fn gradients_match_finite_differences() {
        for model in ColourModel::ALL {
            let (image, look, photo) = setting(model);
            let gradient = loss(&apply(&image, &look), &photo, 0.2).gradient;
            let (of_image, of_numbers) = backward(&image, &look, &gradient);
            // Smaller than the distance of any value to its photo's: L1 has a kink there.
            let h = 1e-7;
            for (table, gradients) in of_numbers.iter().enumerate() {
                // All, or some hundred.
                let tested = gradients.iter().enumerate();
                let tested = tested.step_by(1 + gradients.len() / 256);
                let (mut small, count) = (0, tested.len());
                for (k, gradient) in tested {
                    let at = |d: f64| {
                        let mut moved = look.clone();
                        moved.numbers[table][k] += d;
                        value(&image, &moved, &photo)
                    };
                    let slope = (at(h) - at(-h)) / (2.0 * h);
                    assert!(
                        (slope - gradient).abs() < 1e-6,
                        "{model}, {table} {k}: {slope} {gradient}"
                    );
                    small += usize::from(slope.abs() < 1e-5);
                }
                assert!(
                    small <= count / 40,
                    "{model}, {table}: {small} test nothing"
                );
            }
            for i in (0..WIDTH * HEIGHT).step_by(11) {
                for c in 0..3 {
                    let at = |d: f64| {
                        let mut moved = image.clone();
                        moved[i][c] += d;
                        value(&moved, &look, &photo)
                    };
                    let slope = (at(h) - at(-h)) / (2.0 * h);
                    let found = of_image[i][c];
                    assert!(
                        (slope - found).abs() < 1e-6,
                        "{model}, {i} {c}: {slope} {found}"
                    );
                }
            }
            assert!(of_image.contains(&[0.0; 3]), "no pixel is masked");
        }
    }

    fn gradients(model: ColourModel, value: f64) -> [Vec<f64>; 2] {
        let entry = model.entry();
        [
            vec![value; entry.photo.len()],
            vec![value; entry.camera.len()],
        ]
    }

    /// By hand: the first step on a view is the rate against the gradient's sign, whatever other
    /// views have seen.
    #[test]
    fn a_view_counts_its_own_steps() {
        let model = ColourModel::Affine;
        let mut state = ColourState::fresh(model, 3, 1);
        state.photos.seen = vec![0, 700, 2];
        let after = step(
            &state,
            (0, 0),
            &gradients(model, -3.0),
            &ColourPlan::affine(0.01),
        );
        for (number, start) in after.photos.row(0).iter().zip(model.entry().photo) {
            assert!((number - start - 0.01).abs() < 1e-6);
        }
    }

    /// Without gradients the mean of all views returns to the start while their differences stay.
    #[test]
    fn a_pulled_mean_returns_to_the_start() {
        let model = ColourModel::Affine;
        let mut state = ColourState::fresh(model, 4, 1);
        for view in 0..4 {
            state.photos.parameters[12 * view] += 0.3 + 0.1 * view as f32;
        }
        let spread = |s: &ColourState| s.photos.row(3)[0] - s.photos.row(0)[0];
        let before = spread(&state);
        for visit in 0..400 {
            let view = (visit % 4, 0);
            state = step(
                &state,
                view,
                &gradients(model, 0.0),
                &ColourPlan::affine(0.01),
            );
        }
        let mean: f32 = (0..4).map(|view| state.photos.row(view)[0]).sum::<f32>() / 4.0;
        assert!((mean - 1.0).abs() < 1e-3, "{mean}");
        // A view visited later in a round is pulled by less.
        let after = spread(&state);
        assert!((after - before).abs() < 0.1, "{after} {before}");
    }

    /// The mean of all views is zero after every step, whichever way all of them are pulled.
    #[test]
    fn a_zero_mean_stays_zero() {
        let model = ColourModel::PpispLinear;
        let mut state = ColourState::fresh(model, 4, 1);
        let plan = ColourPlan {
            model,
            photo_rate: 0.1,
            camera_rate: 0.0,
        };
        for visit in 0..40 {
            let view = if visit < 30 { visit % 4 } else { 0 };
            state = step(&state, (view, 0), &gradients(model, -1.0), &plan);
            let off = mean_off(&state.photos, model.entry().photo);
            assert!(off.iter().all(|off| off.abs() < 1e-6), "{off:?}");
        }
        assert!(state.photos.row(0)[0] > 0.5, "{:?}", state.photos.row(0));
    }
}
