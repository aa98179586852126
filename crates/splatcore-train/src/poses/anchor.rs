//! What holds poses where the dataset has tracks: points of its model, which stand still, and where
//! a photo shows them. docs/methods/poses.md has the equations.

use super::offset::Offset;
use splatcore_core::camera::cross;
use splatcore_core::lens::Projection;
use splatcore_core::linear::eigen;
use splatcore_core::ranked::median;
use splatcore_core::{Camera, TrackedPoint, Tracks};

/// A photo that shows fewer points is not held: three determine a pose, and this many still do when
/// half of them are wrong.
pub(super) const MIN_POINTS: usize = 8;

/// Rounds of a resection: from five degrees away it converges in ten.
const ROUNDS: usize = 20;
/// Eigenvalues below this, of 6 in all, are roundings.
const SINGULAR: f64 = 1e-9;

/// How the places of a photo's points change with a motion of view space, rotation and translation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Pull {
    /// Of the robust mean of their errors in pixels.
    pub gradient: [f64; 6],
    /// By how many pixels each of the six motions moves the points, root of the mean square.
    pub pixels: [f64; 6],
    /// How far off the points are, pixels: a pixel of the image in which they were found, or the
    /// median of their errors if that is more.
    pub scale: f64,
}

impl Pull {
    /// Adds the pull to the gradient of a photo's loss. It weighs as much as the photo loses for a
    /// pixel: the mean square over the six motions.
    pub fn add_to(&self, gradient: &mut [f64; 6]) {
        let a_pixel = |k: usize| match self.pixels[k] > 0.0 {
            true => gradient[k] / self.pixels[k],
            false => 0.0,
        };
        let square = (0..6).map(|k| a_pixel(k).powi(2)).sum::<f64>() / 6.0;
        let weight = square.sqrt();
        for (sum, pull) in gradient.iter_mut().zip(self.gradient) {
            *sum += weight * pull;
        }
    }

    /// Rates by which no motion moves the points by more than a share of how far off they are.
    pub fn bound(&self, mut rates: [f64; 6], share: f64) -> [f64; 6] {
        for (rate, pixels) in rates.iter_mut().zip(self.pixels) {
            if pixels > 0.0 {
                *rate = rate.min(share * self.scale / pixels);
            }
        }
        rates
    }

    /// Whether a pose that turns and shifts no more than this, radians and world units, can bring
    /// most points to their places.
    pub fn is_within(&self, [angle, distance]: [f64; 2]) -> bool {
        let [a, b, c, x, y, z] = self.pixels;
        let most = |pixels: [f64; 3]| pixels.into_iter().fold(0.0, f64::max);
        self.scale < angle * most([a, b, c]) + distance * most([x, y, z])
    }
}

/// A point that a camera shows.
struct Shown {
    /// From where it was found to where it is, pixels.
    error: [f64; 2],
    /// Its place by the point in the camera's axes.
    rows: [[f64; 3]; 2],
    /// The point in the camera's axes.
    view: [f64; 3],
}

/// The points that a camera shows, and how far off they are ([`Pull::scale`]); `None` of too few.
fn shown(tracks: &Tracks, camera: &Camera) -> Option<(Vec<Shown>, f64)> {
    let projection = Projection::new(camera)?;
    let shown = |point: &TrackedPoint| {
        let view = camera.to_view(point.position);
        if !(projection.sees_centre(view) && projection.depth(view) > 0.0) {
            return None;
        }
        let (pixel, rows) = projection.jacobian(view);
        let error = [0, 1].map(|i| pixel[i] - point.pixel[i]);
        let mut numbers = error.iter().chain(rows.as_flattened());
        numbers
            .all(|v| v.is_finite())
            .then_some(Shown { error, rows, view })
    };
    let shown: Vec<Shown> = tracks.points.iter().filter_map(shown).collect();
    if shown.len() < MIN_POINTS {
        return None;
    }
    let errors = shown
        .iter()
        .map(|point| point.error[0].hypot(point.error[1]));
    let scale = median(errors)?.max(tracks.pixel);
    Some((shown, scale))
}

/// For each coordinate of each point its weight, the error in pixels, and by what motions move
/// it. Errors beyond `scale` pixels weigh less and less.
fn coordinates(shown: &[Shown], scale: f64) -> impl Iterator<Item = (f64, f64, [f64; 6])> {
    shown.iter().flat_map(move |Shown { error, rows, view }| {
        let [x, y] = error.map(|v| v / scale);
        let weight = (1.0 + x * x + y * y).powi(-2);
        [0, 1].map(|i| {
            let ([a, b, c], [d, e, f]) = (cross(*view, rows[i]), rows[i]);
            (weight, error[i], [a, b, c, d, e, f])
        })
    })
}

/// The pull of the points that a camera shows; `None` of too few.
pub(super) fn pull(tracks: &Tracks, camera: &Camera) -> Option<Pull> {
    let (shown, scale) = shown(tracks, camera)?;
    let share = 1.0 / shown.len() as f64;
    let (mut gradient, mut squares) = ([0.0; 6], [0.0; 6]);
    for (weight, error, by_motion) in coordinates(&shown, scale) {
        for k in 0..6 {
            gradient[k] += 2.0 * share * weight * error / scale * by_motion[k];
            squares[k] += share * by_motion[k] * by_motion[k];
        }
    }
    let pull = Pull {
        gradient,
        pixels: squares.map(f64::sqrt),
        scale,
    };
    let mut numbers = pull.gradient.iter().chain(&pull.pixels);
    numbers.all(|v| v.is_finite()).then_some(pull)
}

/// Where a photo was taken if most points are in their places: the minimum of the robust error near
/// a camera, by Gauss and Newton's method with weights that follow the errors.
pub(super) fn resected(tracks: &Tracks, given: &Camera) -> Option<Offset> {
    let mut offset = Offset::NONE;
    for _ in 0..ROUNDS {
        let (shown, scale) = shown(tracks, &offset.of(given))?;
        let (mut matrix, mut right) = ([[0.0; 6]; 6], [0.0; 6]);
        for (weight, error, by_motion) in coordinates(&shown, scale) {
            for (k, row) in matrix.iter_mut().enumerate() {
                right[k] -= weight * error * by_motion[k];
                (0..6).for_each(|l| row[l] += weight * by_motion[k] * by_motion[l]);
            }
        }
        offset = offset.moved(given, solved(&matrix, &right)?);
    }
    let numbers = offset.rotation.iter().chain(&offset.shift);
    numbers.copied().all(f64::is_finite).then_some(offset)
}

/// Solves equations of a symmetric matrix that is positive; motions that no point tells apart are
/// left out.
fn solved(matrix: &[[f64; 6]; 6], right: &[f64; 6]) -> Option<[f64; 6]> {
    // Angles and lengths have units of their own.
    let units: [f64; 6] = std::array::from_fn(|k| matrix[k][k].sqrt());
    let known = |unit: &f64| unit.is_finite() && *unit > 0.0;
    if !units.iter().all(known) {
        return None;
    }
    let scaled = |k: usize, l: usize| matrix[k][l] / (units[k] * units[l]);
    let scaled = std::array::from_fn(|k| std::array::from_fn(|l| scaled(k, l)));
    let (values, vectors) = eigen::<6>(scaled);
    let mut found = [0.0; 6];
    for (value, vector) in values.iter().zip(&vectors) {
        if *value > SINGULAR {
            let along: f64 = (0..6).map(|k| vector[k] * right[k] / units[k]).sum();
            (0..6).for_each(|k| found[k] += along / value * vector[k] / units[k]);
        }
    }
    Some(found)
}

/// The mean error of all points in the pixels in which they were found, through some cameras and
/// through others, of points that both show; `None` if there are none.
pub fn mean_errors(tracks: &[Tracks], before: &[Camera], after: &[Camera]) -> Option<[f64; 2]> {
    let (mut sums, mut count) = ([0.0; 2], 0u64);
    for (tracks, (before, after)) in tracks.iter().zip(before.iter().zip(after)) {
        for both in tracks.errors(before).zip(tracks.errors(after)) {
            if let (Some(before), Some(after)) = both {
                sums[0] += before;
                sums[1] += after;
                count += 1;
            }
        }
    }
    (count > 0).then(|| sums.map(|sum| sum / count as f64))
}

#[cfg(test)]
mod tests;
