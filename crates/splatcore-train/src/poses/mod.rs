//! The photos' poses, refined beside the scene: when, how fast, how far, and what holds them.
//!
//! A photo's pose is what the dataset says, followed by an [`Offset`]. Every [`EVERY`] steps each
//! gradient that steps have given since ([`splatcore_core::backend::Posed::pose_gradients`]) moves
//! its photo by a step of Adam in the camera's axes: three angles, three lengths. Then offsets are
//! cut to their limits, and what all of them share, which the scene could as well, is taken away
//! (`gauge.rs`). docs/methods/poses.md has the equations and their sources.

mod gauge;
mod held_out;
mod offset;

pub use held_out::{Fit, Fitted, ROUNDS, fit};
pub use offset::Offset;

use crate::config::PoseSettings;
use splatcore_core::{Camera, PoseGradient};

/// Steps between two moves of the cameras: the device has to be waited for, and a photo is rarely
/// seen twice in so few.
pub const EVERY: u32 = 10;
/// Poses are refined from this share of a run on. A scene that is not formed yet pulls all cameras
/// the same way in their own axes, and then stays where they look.
pub const FROM: f64 = 0.2;
/// ... and up to this one, so that the scene ends with cameras that stand still.
pub const UNTIL: f64 = 0.95;
/// What the rate has fallen to by then, exponentially.
pub const FINAL_SHARE: f64 = 0.01;
/// After adc has reset all opacities, this share of the time to the next reset passes without: the
/// scene is a haze.
pub const AFTER_RESET: f64 = 0.25;
/// This share of what all cameras turn by in their own axes is taken back in every move. The scene
/// follows such a turn, but for the parallax of its depth, so photos hardly see it, and whatever is
/// not learnt yet pulls that way.
const HELD: f64 = 0.9;
/// Adam's decays. A photo is seen some hundred times: the second moment must forget sooner than
/// that of the Gaussians.
const BETAS: [f64; 2] = [0.9, 0.99];
const EPSILON: f64 = 1e-15;

/// What a run knows of its photos' poses besides the dataset; one of each for each view.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PoseState {
    /// From the dataset's pose to the present one.
    pub offsets: Vec<Offset>,
    /// Adam's first moments: rotation, translation, the camera's axes.
    pub first: Vec<[f64; 6]>,
    /// Adam's second moments.
    pub second: Vec<[f64; 6]>,
    /// Steps taken, the exponent of Adam's bias correction.
    pub seen: Vec<u32>,
    /// Not 0 if the offset has been at a limit.
    pub limited: Vec<u32>,
    /// Views of the gradients that wait for the next move.
    pub waiting_views: Vec<u32>,
    /// Those gradients.
    pub waiting: Vec<[f64; 6]>,
}

impl PoseState {
    fn fresh(views: usize) -> Self {
        Self {
            offsets: vec![Offset::NONE; views],
            first: vec![[0.0; 6]; views],
            second: vec![[0.0; 6]; views],
            seen: vec![0; views],
            limited: vec![0; views],
            waiting_views: Vec::new(),
            waiting: Vec::new(),
        }
    }
}

/// How a photo's pose has changed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PoseChange {
    /// Angle between the rotations.
    pub degrees: f64,
    /// Distance between the positions, as a share of the cameras' extent.
    pub share: f64,
    /// A limit holds it.
    pub at_limit: bool,
}

impl PoseChange {
    /// From one camera to another, where the extent is so large.
    pub fn between(before: &Camera, after: &Camera, extent: f64, limits: &PoseSettings) -> Self {
        let offset = Offset::between(before, after);
        let (degrees, share) = (offset.angle().to_degrees(), offset.distance() / extent);
        Self {
            degrees,
            share,
            // Whatever the gauge has moved it by since.
            at_limit: degrees > 0.99 * limits.max_degrees || share > 0.99 * limits.max_shift,
        }
    }
}

/// The photos' poses.
pub struct Poses {
    /// As the dataset has them.
    given: Vec<Camera>,
    /// Which of them share a gauge: all that are trained on, or none.
    together: Vec<usize>,
    extent: f64,
    settings: PoseSettings,
    state: PoseState,
}

impl Poses {
    /// Poses as given; `together` are those whose common motion is taken away.
    pub fn new(
        given: Vec<Camera>,
        together: Vec<usize>,
        extent: f64,
        settings: PoseSettings,
    ) -> Self {
        Self {
            state: PoseState::fresh(given.len()),
            given,
            together,
            extent,
            settings,
        }
    }

    /// As it left off; none if the state is of another number of photos.
    pub fn with_state(self, state: PoseState) -> Option<Self> {
        let n = self.given.len();
        let fits = [
            state.offsets.len(),
            state.first.len(),
            state.second.len(),
            state.seen.len(),
            state.limited.len(),
        ] == [n; 5]
            && state.waiting.len() == state.waiting_views.len()
            && state.waiting_views.iter().all(|&view| (view as usize) < n);
        fits.then_some(Self { state, ..self })
    }

    /// What a checkpoint holds.
    pub fn state(&self) -> &PoseState {
        &self.state
    }

    /// The cameras as they are now.
    pub fn cameras(&self) -> Vec<Camera> {
        let all = self.given.iter().zip(&self.state.offsets);
        all.map(|(camera, offset)| offset.of(camera)).collect()
    }

    /// Puts a view's pose somewhere, and forgets what its gradients were.
    fn begin_at(&mut self, view: usize, offset: Offset) {
        let state = &mut self.state;
        state.offsets[view] = offset;
        (state.first[view], state.second[view]) = ([0.0; 6], [0.0; 6]);
        state.seen[view] = 0;
    }

    /// Keeps gradients for the next move. One that is not finite is left out.
    pub fn note(&mut self, gradients: Vec<(usize, PoseGradient)>) {
        for (view, gradient) in gradients {
            let ([a, b, c], [x, y, z]) = (gradient.rotation, gradient.translation);
            let six = [a, b, c, x, y, z];
            if six.iter().all(|g| g.is_finite()) && view < self.given.len() {
                self.state.waiting_views.push(view as u32);
                self.state.waiting.push(six);
            }
        }
    }

    /// Moves the photos whose gradients wait, by at most about `rate` radians each, and times the
    /// extent in world units. Returns those that come to a limit for the first time.
    pub fn step(&mut self, rate: f64) -> Vec<usize> {
        let views = std::mem::take(&mut self.state.waiting_views);
        let gradients = std::mem::take(&mut self.state.waiting);
        let mut limited = Vec::new();
        let before = gauge::common_turn(&self.given, &self.state.offsets, &self.together);
        for (view, gradient) in views.into_iter().zip(gradients) {
            let view = view as usize;
            let step = self.adam(view, &gradient, rate);
            let offset = &mut self.state.offsets[view];
            *offset = offset.moved(&self.given[view], step);
            if self.limit(view) && self.state.limited[view] == 0 {
                self.state.limited[view] = 1;
                limited.push(view);
            }
        }
        let offsets = &mut self.state.offsets;
        let after = gauge::common_turn(&self.given, offsets, &self.together);
        let back = std::array::from_fn(|k| HELD * (before[k] - after[k]));
        gauge::turn_each(&self.given, offsets, &self.together, back);
        gauge::remove(&self.given, offsets, &self.together);
        limited
    }

    /// Adam's step of one view: a motion of view space.
    fn adam(&mut self, view: usize, gradient: &[f64; 6], rate: f64) -> [f64; 6] {
        let state = &mut self.state;
        state.seen[view] = state.seen[view].saturating_add(1);
        let taken = state.seen[view].min(1 << 20) as i32;
        let corrections = BETAS.map(|beta| 1.0 - beta.powi(taken));
        let (first, second) = (&mut state.first[view], &mut state.second[view]);
        std::array::from_fn(|k| {
            let g = gradient[k];
            first[k] = BETAS[0] * first[k] + (1.0 - BETAS[0]) * g;
            second[k] = BETAS[1] * second[k] + (1.0 - BETAS[1]) * g * g;
            let rate = if k < 3 { rate } else { rate * self.extent };
            let root = (second[k] / corrections[1]).sqrt();
            -rate * first[k] / corrections[0] / (root + EPSILON)
        })
    }

    /// Cuts an offset to the limits; whether it was beyond one.
    fn limit(&mut self, view: usize) -> bool {
        let (angle, distance) = (
            self.settings.max_degrees.to_radians(),
            self.settings.max_shift * self.extent,
        );
        let offset = &mut self.state.offsets[view];
        let beyond = offset.angle() > angle || offset.distance() > distance;
        *offset = offset.within(angle, distance);
        beyond
    }
}

#[cfg(test)]
mod tests;
