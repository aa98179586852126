//! The look of a view without a photo, from what the view shows.
//!
//! A camera chooses exposure and white balance by what it sees. So the renders of the views trained
//! on, and the looks of their photos, say which look belongs to another render. PPISP
//! (nv-tlabs/ppisp) trains a network for this, its controller. Here it is the mean of a Gaussian
//! process (Rasmussen and Williams 2006, Gaussian Processes for Machine Learning, equations 2.25
//! and 5.12): of the views' numbers, offsets from the mean look, those of similar renders count
//! most, and a render like none has the mean look. Nothing is trained step by step; how far a
//! render reaches, and how little one photo is trusted, is what predicts left-out photos best.

use crate::Image;

/// Cells of an image along each side.
const CELLS: usize = 5;
/// Numbers that tell a render from others: red, green and blue of its cells.
pub const FEATURES: usize = 3 * CELLS * CELLS;
/// Renders that are compared with at most; more take long to fit.
pub const MAX_PHOTOS: usize = 300;
/// Keeps the logarithm of black finite, at 5 bits of 8.
const DARK: f32 = 0.02;
/// How far a render reaches, in middle distances of two renders.
const REACHES: [f64; 5] = [0.1, 0.25, 0.5, 1.0, 2.0];
/// Variances of a photo's own part, which other photos do not tell, beside that of the look.
const NOISES: [f64; 5] = [1e-3, 1e-2, 0.1, 0.3, 1.0];

/// What tells a render from others: the logarithms of the mean colours of its cells.
pub fn features(image: &Image) -> Vec<f32> {
    let [width, height] = [image.width, image.height].map(|side| side as usize);
    let mut sums = [[0.0f64; 3]; CELLS * CELLS];
    let mut counts = [0.0f64; CELLS * CELLS];
    for (i, rgb) in image.data.iter().enumerate() {
        let (x, y) = (i % width, i / width);
        let cell = y * CELLS / height * CELLS + x * CELLS / width;
        counts[cell] += 1.0;
        for (sum, value) in sums[cell].iter_mut().zip(rgb) {
            *sum += f64::from(value.clamp(0.0, 1.0));
        }
    }
    let cells = sums.iter().zip(counts);
    let means = cells.flat_map(|(sums, count)| sums.map(|sum| (sum / count.max(1.0)) as f32));
    means.map(|mean| (mean + DARK).log2()).collect()
}

/// Which photos' looks a render takes.
#[derive(Clone, Debug, PartialEq)]
pub struct Controller {
    /// [`features`] of the renders of the photos' views.
    pub photos: Vec<Vec<f32>>,
    /// The distance of two renders at which one says little of the other: of the root of the mean
    /// squared difference of features.
    pub reach: f64,
    /// The variance of a photo's own part.
    pub noise: f64,
    /// The inverse of the matrix of likenesses, `[photos][photos]`.
    inverse: Vec<f64>,
}

/// How well looks are predicted: roots of the mean squared errors of left-out photos.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LeftOut {
    /// By a controller that does not know the photo.
    pub controller: f64,
    /// By the mean look.
    pub mean_look: f64,
}

impl Controller {
    /// With known settings.
    pub fn new(photos: Vec<Vec<f32>>, reach: f64, noise: f64) -> Self {
        let count = photos.len();
        let mut matrix = vec![0.0; count * count];
        for (i, a) in photos.iter().enumerate() {
            for (j, b) in photos.iter().enumerate() {
                let own = if i == j { noise } else { 0.0 };
                matrix[i * count + j] = likeness(a, b, reach) + own;
            }
        }
        invert(&mut matrix, count);
        Self {
            photos,
            reach,
            noise,
            inverse: matrix,
        }
    }

    /// With the settings that best predict what each photo's look does to colours, `targets`, from
    /// all others: three numbers for each photo, 0 for the mean look. Of two photos or more; `None`
    /// if the mean look predicts better.
    pub fn fit(photos: &[Vec<f32>], targets: &[[f64; 3]]) -> Option<(Self, LeftOut)> {
        let middle = middle_distance(photos)?;
        let root = |squares: f64| (squares / (3 * targets.len()) as f64).sqrt();
        let mean_look = root(targets.as_flattened().iter().map(|t| t * t).sum());
        let mut best: Option<(Self, LeftOut)> = None;
        for reach in REACHES {
            for noise in NOISES {
                let found = Self::new(photos.to_vec(), reach * middle, noise);
                let controller = root(found.left_out(targets));
                let least = best
                    .as_ref()
                    .map_or(mean_look, |(_, known)| known.controller);
                if controller < least {
                    let left_out = LeftOut {
                        controller,
                        mean_look,
                    };
                    best = Some((found, left_out));
                }
            }
        }
        best
    }

    /// By how much each photo's offsets count in the look of a render.
    pub fn weights(&self, render: &Image) -> Vec<f64> {
        let own = features(render);
        let like: Vec<f64> = self
            .photos
            .iter()
            .map(|photo| likeness(photo, &own, self.reach))
            .collect();
        let rows = self.inverse.chunks_exact(self.photos.len().max(1));
        rows.map(|row| row.iter().zip(&like).map(|(a, b)| a * b).sum())
            .collect()
    }

    /// The photo whose render is most like this one.
    pub fn nearest(&self, render: &Image) -> Option<usize> {
        let own = features(render);
        let distances = self.photos.iter().map(|photo| distance(photo, &own));
        let nearest = distances.enumerate().min_by(|a, b| a.1.total_cmp(&b.1));
        nearest.map(|(photo, _)| photo)
    }

    /// The sum of the squared errors of predictions of each photo from all others.
    fn left_out(&self, targets: &[[f64; 3]]) -> f64 {
        let count = targets.len();
        let rows = self.inverse.chunks_exact(count).enumerate();
        let of_row = |(i, row): (usize, &[f64])| -> f64 {
            let error = |c: usize| {
                let sum: f64 = row.iter().zip(targets).map(|(a, t)| a * t[c]).sum();
                (sum / row[i]).powi(2)
            };
            (0..3).map(error).sum()
        };
        rows.map(of_row).sum()
    }
}

/// The root of the mean squared difference.
fn distance(a: &[f32], b: &[f32]) -> f64 {
    let squares = a.iter().zip(b).map(|(a, b)| f64::from(a - b).powi(2));
    (squares.sum::<f64>() / a.len().max(1) as f64).sqrt()
}

/// 1 of two equal renders, 0 of two that have nothing in common.
fn likeness(a: &[f32], b: &[f32], reach: f64) -> f64 {
    (-0.5 * (distance(a, b) / reach).powi(2)).exp()
}

/// The middle one of the distances of two photos; none of one photo, or if all are the same.
fn middle_distance(photos: &[Vec<f32>]) -> Option<f64> {
    let pairs = (0..photos.len()).flat_map(|i| (0..i).map(move |j| (i, j)));
    let mut all: Vec<f64> = pairs
        .map(|(i, j)| distance(&photos[i], &photos[j]))
        .collect();
    all.sort_by(f64::total_cmp);
    all.get(all.len() / 2)
        .copied()
        .filter(|&middle| middle > 0.0)
}

/// The inverse of a symmetric positive definite matrix, in its place (Gauss and Jordan's
/// elimination, which needs no exchange of rows for such).
fn invert(matrix: &mut [f64], count: usize) {
    for pivot in 0..count {
        let own = pivot * count..(pivot + 1) * count;
        let scale = 1.0 / matrix[pivot * count + pivot];
        matrix[pivot * count + pivot] = 1.0;
        matrix[own.clone()].iter_mut().for_each(|v| *v *= scale);
        let row = matrix[own].to_vec();
        for (other, values) in matrix.chunks_exact_mut(count).enumerate() {
            if other == pivot {
                continue;
            }
            let share = std::mem::take(&mut values[pivot]);
            values
                .iter_mut()
                .zip(&row)
                .for_each(|(v, r)| *v -= share * r);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Views of a scene that gets brighter to the right, from left to right.
    fn renders(count: usize) -> Vec<Image> {
        let render = |i: usize| {
            let bright = 0.1 + 0.8 * i as f32 / count as f32;
            let pixels = (0..20 * 10).map(|p| [bright * (0.5 + 0.02 * (p % 20) as f32); 3]);
            Image {
                width: 20,
                height: 10,
                data: pixels.collect(),
            }
        };
        (0..count).map(render).collect()
    }

    /// An automatic exposure: half as bright for what is twice as bright.
    fn exposure(render: &Image) -> [f64; 3] {
        let mean = render.data.iter().map(|rgb| f64::from(rgb[0])).sum::<f64>() / 200.0;
        [-(mean / 0.3).log2(); 3]
    }

    #[test]
    fn an_automatic_exposure_is_predicted() {
        let all = renders(24);
        let known: Vec<&Image> = all
            .iter()
            .enumerate()
            .filter(|(i, _)| i % 4 != 1)
            .map(|(_, r)| r)
            .collect();
        let photos: Vec<Vec<f32>> = known.iter().map(|render| features(render)).collect();
        let targets: Vec<[f64; 3]> = known.iter().map(|render| exposure(render)).collect();
        let (controller, left_out) = Controller::fit(&photos, &targets).unwrap();
        assert!(
            left_out.controller < 0.2 * left_out.mean_look,
            "{left_out:?}"
        );
        for (i, render) in all.iter().enumerate().filter(|(i, _)| i % 4 == 1) {
            let weights = controller.weights(render).into_iter().zip(&targets);
            let found: f64 = weights.map(|(weight, target)| weight * target[0]).sum();
            let off = found - exposure(render)[0];
            assert!(off.abs() < 0.1, "{i}: {off}");
            assert_eq!(
                controller
                    .nearest(render)
                    .map(|near| near == i / 4 * 3 || near == i / 4 * 3 + 1),
                Some(true),
                "{i}"
            );
        }
        // What is out of reach of all has the mean look.
        let near = Controller::new(photos, 0.3, 0.1);
        let other = Image::filled(20, 10, [0.0, 1.0, 0.0]);
        assert!(near.weights(&other).iter().all(|w| w.abs() < 1e-3));
    }

    /// The formula of left-out photos against leaving them out.
    #[test]
    fn left_out_errors_are_those_of_leaving_out() {
        let all: Vec<Vec<f32>> = renders(7).iter().map(features).collect();
        let targets: Vec<[f64; 3]> = (0..7)
            .map(|i| [0, 1, 2].map(|c| ((3 * i + c) as f64).sin()))
            .collect();
        let whole = Controller::new(all.clone(), 0.3, 0.1);
        let mut want = 0.0;
        for i in 0..7 {
            let (mut photos, mut others) = (all.clone(), targets.clone());
            photos.remove(i);
            let target = others.remove(i);
            let part = Controller::new(photos, 0.3, 0.1);
            let weights = part.weights(&renders(7)[i]);
            for c in 0..3 {
                let found: f64 = weights.iter().zip(&others).map(|(w, t)| w * t[c]).sum();
                want += (found - target[c]).powi(2);
            }
        }
        let found = whole.left_out(&targets);
        assert!((found / want - 1.0).abs() < 1e-6, "{found} {want}");
    }

    /// Looks that have nothing to do with the renders; one photo; photos of one render.
    #[test]
    fn without_a_rule_there_is_no_controller() {
        let all: Vec<Vec<f32>> = renders(24).iter().map(features).collect();
        let chance: Vec<[f64; 3]> = (0..24)
            .map(|i| [if i % 2 == 0 { 0.5 } else { -0.5 }; 3])
            .collect();
        assert_eq!(Controller::fit(&all, &chance), None);
        assert_eq!(Controller::fit(&all[..1], &chance[..1]), None);
        assert_eq!(
            Controller::fit(&vec![all[0].clone(); 3], &chance[..3]),
            None
        );
    }
}
