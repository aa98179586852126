//! A lower degree of harmonics: for each Gaussian the coefficients whose colours come closest to
//! the old ones in the directions from which the views see it.
//!
//! Harmonics are orthogonal over the whole sphere, so that to cut the higher ones is the best fit
//! if all directions count alike. Photos see a Gaussian from a few directions, over which they are
//! not orthogonal: lower harmonics can take over much of what the higher ones said there.

use splatcore_core::backend::{BackendError, RenderOptions, Scored};
use splatcore_core::{Gaussians, View, camera, sh};

/// Pull towards the cut coefficients, as a share of the mean diagonal of the equations: directions
/// that no view has stay as they were.
const RIDGE: f64 = 1e-2;
/// Coefficients of the highest degree that is fitted to: 2, of 3.
const MAX: usize = 9;

/// The same scene with harmonics up to `degree`, which is lower than its own. `renderer` holds the
/// scene; a view counts by the Gaussian's share of its image, the sum of alpha T.
///
/// # Errors
/// What the renderer reports, or [`BackendError::Input`] for a degree that is not lower.
pub fn reduced<S: Scored + ?Sized>(
    scene: &Gaussians,
    degree: u8,
    renderer: &mut S,
    views: &[View],
    options: &RenderOptions,
    tell: &mut dyn FnMut(usize),
) -> Result<Gaussians, BackendError> {
    if degree >= scene.sh_degree || scene.sh_degree > sh::MAX_DEGREE {
        return Err(BackendError::Input(format!(
            "harmonics of degree {} cannot be reduced to degree {degree}",
            scene.sh_degree
        )));
    }
    let mut reduced = scene.with_sh_degree(degree);
    let mut sums = vec![Sums::default(); scene.len()];
    for (number, view) in views.iter().enumerate() {
        let weights = renderer.visibility(&view.camera, options)?.weights;
        let eye = view.camera.position();
        for (i, &weight) in weights.iter().enumerate() {
            // Most Gaussians are not in view.
            if weight.is_nan() || weight <= 0.0 {
                continue;
            }
            let mean = scene.means[i].map(f64::from);
            let direction = camera::normalize([0, 1, 2].map(|k| mean[k] - eye[k]));
            if let Some(direction) = direction {
                let basis = sh::basis(direction);
                let colours = [scene.sh_of(i), reduced.sh_of(i)].map(|row| colour(row, &basis));
                // What is drawn is not below 0.
                let [old, cut] = colours.map(|colour| colour.map(|c| c.max(-0.5)));
                let residual = [0, 1, 2].map(|c| old[c] - cut[c]);
                sums[i].add(weight, &basis[..sh::coefficients(degree)], residual);
            }
        }
        tell(number + 1);
    }
    let k = sh::coefficients(degree);
    for (row, sums) in reduced.sh.chunks_exact_mut(k).zip(&sums) {
        for (c, change) in sums.solve(k).into_iter().enumerate() {
            for (coefficient, change) in row.iter_mut().zip(change) {
                coefficient[c] += change as f32;
            }
        }
    }
    Ok(reduced)
}

/// What harmonics add to 0.5, before the limit at 0.
fn colour(row: &[[f32; 3]], basis: &[f64]) -> [f64; 3] {
    let mut colour = [0.0; 3];
    for (coefficient, b) in row.iter().zip(basis) {
        for c in 0..3 {
            colour[c] += b * f64::from(coefficient[c]);
        }
    }
    colour
}

/// The normal equations of one Gaussian: for the change x of its coefficients, in each channel, the
/// weighted sum of (b . x - residual)^2 over the directions. In f32, as there are as many as
/// Gaussians.
#[derive(Clone)]
struct Sums {
    /// Lower triangle, row by row.
    matrix: [f32; MAX * (MAX + 1) / 2],
    right: [[f32; MAX]; 3],
}

impl Default for Sums {
    fn default() -> Self {
        Self {
            matrix: [0.0; MAX * (MAX + 1) / 2],
            right: [[0.0; MAX]; 3],
        }
    }
}

/// Place of row `i`, column `j <= i` in a lower triangle.
const fn at(i: usize, j: usize) -> usize {
    i * (i + 1) / 2 + j
}

impl Sums {
    fn add(&mut self, weight: f64, basis: &[f64], residual: [f64; 3]) {
        for (i, bi) in basis.iter().enumerate() {
            for (j, bj) in basis[..=i].iter().enumerate() {
                self.matrix[at(i, j)] += (weight * bi * bj) as f32;
            }
            for c in 0..3 {
                self.right[c][i] += (weight * bi * residual[c]) as f32;
            }
        }
    }

    /// The change of the first `k` coefficients in each channel, by Cholesky's decomposition; none
    /// for a Gaussian that no view sees.
    fn solve(&self, k: usize) -> [[f64; MAX]; 3] {
        let mut lower = self.matrix.map(f64::from);
        let trace: f64 = (0..k).map(|i| lower[at(i, i)]).sum();
        let mut solution = self.right.map(|row| row.map(f64::from));
        if !(trace > 0.0 && trace.is_finite()) {
            return [[0.0; MAX]; 3];
        }
        for i in 0..k {
            lower[at(i, i)] += RIDGE * trace / k as f64;
            for j in 0..=i {
                let inner: f64 = (0..j).map(|m| lower[at(i, m)] * lower[at(j, m)]).sum();
                let rest = lower[at(i, j)] - inner;
                lower[at(i, j)] = match i == j {
                    // The ridge keeps it far from 0.
                    true => rest.sqrt(),
                    false => rest / lower[at(j, j)],
                };
            }
        }
        for x in &mut solution {
            for i in 0..k {
                let inner: f64 = (0..i).map(|m| lower[at(i, m)] * x[m]).sum();
                x[i] = (x[i] - inner) / lower[at(i, i)];
            }
            for i in (0..k).rev() {
                let inner: f64 = (i + 1..k).map(|m| lower[at(m, i)] * x[m]).sum();
                x[i] = (x[i] - inner) / lower[at(i, i)];
            }
        }
        solution
    }
}
