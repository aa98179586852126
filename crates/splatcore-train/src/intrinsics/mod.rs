//! The intrinsics of the photos' cameras, refined beside the scene: when, how fast, how far.
//!
//! Photos whose cameras have the same intrinsics in the dataset were taken through one lens, and
//! share what is found. Every [`crate::poses::EVERY`] steps the mean of the gradients that the
//! photos of a lens have given since moves its numbers by a step of Adam: first the principal
//! point, later the focal lengths too, at last the coefficients. docs/methods/intrinsics.md has the
//! equations.

mod change;

pub use change::{LensChange, Numbers};

use crate::config::IntrinsicsSettings;
use splatcore_core::{Camera, IntrinsicsGradient};

/// Focal lengths, principal points and coefficients are refined from these shares of a run on. The
/// sizes of Gaussians that still grow would take the focal lengths with them.
pub const FROM: [f64; 3] = [0.5, 0.2, 0.6];
/// All are refined up to this one.
pub const UNTIL: f64 = 0.95;
/// What rates have fallen to by then, exponentially.
pub const FINAL_SHARE: f64 = 0.01;
/// Focal lengths whose ratio is nearer to 1 than this are one number: pixels are square.
const SQUARE: f64 = 0.01;
/// Adam's decays, as those of poses.
const BETAS: [f64; 2] = [0.9, 0.99];
const EPSILON: f64 = 1e-15;

/// What a run knows of its lenses besides the dataset; one of each for each lens.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct IntrinsicsState {
    /// From the dataset's numbers to the present ones.
    pub changes: Vec<Numbers>,
    /// Adam's first moments.
    pub first: Vec<Numbers>,
    /// Adam's second moments.
    pub second: Vec<Numbers>,
    /// Moves of each number, the exponents of Adam's bias corrections.
    pub moves: Vec<[u32; IntrinsicsGradient::NUMBERS]>,
    /// Not 0 if a number has been at its limit.
    pub limited: Vec<u32>,
    /// Views of the gradients that wait for the next move.
    pub waiting_views: Vec<u32>,
    /// Those gradients.
    pub waiting: Vec<Numbers>,
}

/// Rates of focal lengths, principal points and coefficients; 0 of what stays as it is.
pub type Rates = [f64; 3];

/// Which of [`Rates`] is that of a number.
fn rate_of(number: usize) -> usize {
    match number {
        0 | 1 => 0,
        2 | 3 => 1,
        _ => 2,
    }
}

/// The lenses of the photos.
pub struct Intrinsics {
    /// A camera of each lens, as the dataset has it.
    given: Vec<Camera>,
    /// Which views each has.
    photos: Vec<Vec<usize>>,
    /// Of each view.
    lens_of: Vec<usize>,
    /// By how much each number of a lens moves.
    scales: Vec<Numbers>,
    settings: IntrinsicsSettings,
    state: IntrinsicsState,
}

impl Intrinsics {
    /// Of views with these cameras.
    pub fn new(cameras: &[Camera], settings: IntrinsicsSettings) -> Self {
        let (mut given, mut photos): (Vec<Camera>, Vec<Vec<usize>>) = (Vec::new(), Vec::new());
        let mut lens_of = Vec::with_capacity(cameras.len());
        for (view, camera) in cameras.iter().enumerate() {
            let known = given.iter().position(|lens| lens.same_intrinsics(camera));
            let lens = known.unwrap_or_else(|| {
                given.push(camera.clone());
                photos.push(Vec::new());
                given.len() - 1
            });
            photos[lens].push(view);
            lens_of.push(lens);
        }
        let n = given.len();
        const NONE: Numbers = [0.0; IntrinsicsGradient::NUMBERS];
        Self {
            scales: given.iter().map(change::scales).collect(),
            given,
            photos,
            lens_of,
            settings,
            state: IntrinsicsState {
                changes: vec![NONE; n],
                first: vec![NONE; n],
                second: vec![NONE; n],
                moves: vec![[0; IntrinsicsGradient::NUMBERS]; n],
                limited: vec![0; n],
                waiting_views: Vec::new(),
                waiting: Vec::new(),
            },
        }
    }

    /// As it left off; none if the state is of other photos.
    pub fn with_state(self, state: IntrinsicsState) -> Option<Self> {
        let (n, views) = (self.given.len(), self.lens_of.len());
        let fits = [
            state.changes.len(),
            state.first.len(),
            state.second.len(),
            state.moves.len(),
            state.limited.len(),
        ] == [n; 5]
            && state.waiting.len() == state.waiting_views.len()
            && state
                .waiting_views
                .iter()
                .all(|&view| (view as usize) < views);
        fits.then_some(Self { state, ..self })
    }

    /// What a checkpoint holds.
    pub fn state(&self) -> &IntrinsicsState {
        &self.state
    }

    /// Gives the views' cameras, one for each, the present intrinsics.
    pub fn apply(&self, cameras: &mut [Camera]) {
        for (camera, &lens) in cameras.iter_mut().zip(&self.lens_of) {
            *camera = change::changed(camera, &self.state.changes[lens]);
        }
    }

    /// What has become of each lens.
    pub fn changes(&self) -> Vec<LensChange> {
        let of_lens = |lens: usize| LensChange {
            photos: self.photos[lens].clone(),
            before: self.given[lens].clone(),
            after: change::changed(&self.given[lens], &self.state.changes[lens]),
            at_limit: self.state.limited[lens] != 0,
        };
        (0..self.given.len()).map(of_lens).collect()
    }

    /// Keeps gradients for the next move. One that is not finite is left out.
    pub fn note(&mut self, gradients: Vec<(usize, IntrinsicsGradient)>) {
        for (view, gradient) in gradients {
            let numbers = gradient.numbers();
            if numbers.iter().all(|g| g.is_finite()) && view < self.lens_of.len() {
                self.state.waiting_views.push(view as u32);
                self.state.waiting.push(numbers);
            }
        }
    }

    /// Moves the lenses whose gradients wait, each number by at most about its rate. Returns the
    /// first view of each lens that comes to a limit for the first time.
    pub fn step(&mut self, rates: Rates) -> Vec<usize> {
        let views = std::mem::take(&mut self.state.waiting_views);
        let gradients = std::mem::take(&mut self.state.waiting);
        let mut limited = Vec::new();
        for lens in 0..self.given.len() {
            let of_lens = views.iter().zip(&gradients);
            let of_lens = of_lens.filter(|(view, _)| self.lens_of[**view as usize] == lens);
            let (mut sum, mut count) = ([0.0; IntrinsicsGradient::NUMBERS], 0.0);
            for (_, gradient) in of_lens {
                sum.iter_mut().zip(gradient).for_each(|(sum, g)| *sum += g);
                count += 1.0;
            }
            if count == 0.0 {
                continue;
            }
            let ratio = self.given[lens].fx / self.given[lens].fy;
            if (ratio - 1.0).abs() < SQUARE {
                let both = sum[0] + sum[1];
                (sum[0], sum[1]) = (both, both);
            }
            self.adam(lens, sum.map(|g| g / count), rates);
            if self.limit(lens) && self.state.limited[lens] == 0 {
                self.state.limited[lens] = 1;
                limited.extend(self.photos[lens].first());
            }
        }
        limited
    }

    fn adam(&mut self, lens: usize, gradient: Numbers, rates: Rates) {
        let scales = &self.scales[lens];
        let state = &mut self.state;
        for (k, g) in gradient.into_iter().enumerate() {
            let rate = rates[rate_of(k)] * scales[k];
            if rate == 0.0 {
                continue;
            }
            let moves = &mut state.moves[lens][k];
            *moves = moves.saturating_add(1);
            let corrections = BETAS.map(|beta| 1.0 - beta.powi((*moves).min(1 << 20) as i32));
            let (first, second) = (&mut state.first[lens][k], &mut state.second[lens][k]);
            *first = BETAS[0] * *first + (1.0 - BETAS[0]) * g;
            *second = BETAS[1] * *second + (1.0 - BETAS[1]) * g * g;
            let root = (*second / corrections[1]).sqrt();
            state.changes[lens][k] -= rate * *first / corrections[0] / (root + EPSILON);
        }
    }

    /// Cuts changes to the limit; whether one was beyond.
    fn limit(&mut self, lens: usize) -> bool {
        let mut beyond = false;
        let changes = self.state.changes[lens].iter_mut();
        for (number, scale) in changes.zip(&self.scales[lens]) {
            let limit = self.settings.limit * scale;
            beyond |= number.abs() > limit;
            *number = number.clamp(-limit, limit);
        }
        beyond
    }
}

#[cfg(test)]
mod tests;
