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
use crate::refined::{Names, Refined};
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
/// What a run knows of its lenses besides the dataset, a row for each lens: changes of the
/// dataset's numbers, each of which counts its own moves.
pub type IntrinsicsState =
    Refined<Numbers, { IntrinsicsGradient::NUMBERS }, { IntrinsicsGradient::NUMBERS }>;

/// [`IntrinsicsState`] in a checkpoint.
pub(crate) const NAMES: Names = Names {
    table: "intrinsics",
    values: "changes",
    moves: "moves",
    // Focal lengths, principal point, four radial and two tangential coefficients; the others were
    // held then.
    earlier: &[0, 1, 2, 3, 4, 5, 6, 7, 19, 20],
};

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
        Self {
            scales: given.iter().map(change::scales).collect(),
            state: IntrinsicsState::fresh(given.len(), [0.0; _]),
            given,
            photos,
            lens_of,
            settings,
        }
    }

    /// As it left off; none if the state is of other photos.
    pub fn with_state(self, state: IntrinsicsState) -> Option<Self> {
        let (n, views) = (self.given.len(), self.lens_of.len());
        state.fits(n, views).then_some(Self { state, ..self })
    }

    /// What a checkpoint holds.
    pub fn state(&self) -> &IntrinsicsState {
        &self.state
    }

    /// Gives the views' cameras, one for each, the present intrinsics.
    pub fn apply(&self, cameras: &mut [Camera]) {
        for (camera, &lens) in cameras.iter_mut().zip(&self.lens_of) {
            *camera = change::changed(camera, &self.state.values[lens]);
        }
    }

    /// What has become of each lens.
    pub fn changes(&self) -> Vec<LensChange> {
        let of_lens = |lens: usize| LensChange {
            photos: self.photos[lens].clone(),
            before: self.given[lens].clone(),
            after: change::changed(&self.given[lens], &self.state.values[lens]),
            at_limit: self.state.limited[lens] != 0,
        };
        (0..self.given.len()).map(of_lens).collect()
    }

    /// Keeps gradients for the next move. One that is not finite is left out.
    pub fn note(&mut self, gradients: Vec<(usize, IntrinsicsGradient)>) {
        for (view, gradient) in gradients {
            if view < self.lens_of.len() {
                self.state.note(view, gradient.numbers());
            }
        }
    }

    /// Moves the lenses whose gradients wait, each number by at most about its rate. Returns the
    /// first view of each lens that comes to a limit for the first time.
    pub fn step(&mut self, rates: Rates) -> Vec<usize> {
        let waiting = self.state.take_waiting();
        let mut limited = Vec::new();
        for lens in 0..self.given.len() {
            let of_lens = waiting
                .iter()
                .filter(|(view, _)| self.lens_of[*view] == lens);
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
            if self.limit(lens) && self.state.note_limit(lens) {
                limited.extend(self.photos[lens].first());
            }
        }
        limited
    }

    fn adam(&mut self, lens: usize, gradient: Numbers, rates: Rates) {
        let rate = |k: usize| rates[rate_of(k)] * self.scales[lens][k];
        let rates = std::array::from_fn(|k| Some(rate(k)).filter(|&rate| rate != 0.0));
        let step = self.state.adam(lens, &gradient, rates);
        let changes = self.state.values[lens].iter_mut();
        changes.zip(step).for_each(|(change, by)| *change += by);
    }

    /// Cuts changes to the limit; whether one was beyond.
    fn limit(&mut self, lens: usize) -> bool {
        let mut beyond = false;
        let changes = self.state.values[lens].iter_mut();
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
