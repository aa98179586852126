//! The photos' poses, refined beside the scene: when, how fast, how far, and what holds them.
//!
//! A photo's pose is what the dataset says, followed by an [`Offset`]. Every [`EVERY`] steps each
//! gradient that steps have given since ([`splatcore_core::backend::Posed::pose_gradients`]) moves
//! its photo by a step of Adam in the camera's axes: three angles, three lengths. Then offsets are
//! cut to their limits, and what all of them share, which the scene could as well, is taken away
//! (`gauge.rs`). Where the dataset has tracks, points of its model hold the photos that show them
//! (`anchor.rs`). docs/methods/poses.md has the equations and their sources.

mod anchor;
mod gauge;
mod held_out;
mod offset;

pub use anchor::mean_errors;
pub use held_out::{Fit, Fitted, ROUNDS, fit};
pub use offset::Offset;

use crate::config::PoseSettings;
use crate::refined::{Names, Refined};
use anchor::Pull;

use splatcore_core::{Camera, PoseGradient, Tracks};

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
/// How far a move turns a photo at most at first, in pixels for each degree of `--pose-travel`.
/// Adam's first moves are of full length whatever the gradient; where photos are seen so rarely
/// that a run's travel would need longer ones, they blur the scene by more than they mend.
pub const PIXELS_A_MOVE: f64 = 0.125;
/// A photo that is seen less often than this while poses move has moves that are shorter in
/// proportion: so many gradients are averaged by Adam's first moment of decay 0.9, (1 + 0.9) /
/// (1 - 0.9), and of fewer mostly noise is left.
pub const AVERAGED: f64 = 19.0;
/// After adc has reset all opacities, this share of the time to the next reset passes without: the
/// scene is a haze.
pub const AFTER_RESET: f64 = 0.25;
/// This share of what all cameras turn by in their own axes is taken back in every move. The scene
/// follows such a turn, but for the parallax of its depth, so photos hardly see it, and whatever is
/// not learnt yet pulls that way.
const HELD: f64 = 0.9;
/// A pose is off if most points are farther from their places than so many pixels of the image in
/// which they were found.
const OFF: f64 = 2.0;
/// What a run knows of its photos' poses besides the dataset, a row for each view: offsets from the
/// dataset's poses, moved by rotations and translations in the camera's axes.
pub type PoseState = Refined<Offset, 6, 1>;

/// [`PoseState`] in a checkpoint.
pub(crate) const NAMES: Names = Names {
    table: "pose",
    values: "offsets",
    moves: "seen",
    earlier: &[],
};

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
    /// What holds each photo; none if nothing holds any.
    tracks: Vec<Tracks>,
    /// All cameras as they are now, with whatever else is refined, if points hold photos.
    seen: Vec<Camera>,
    /// Pulls on photos as they are now, as far as they are known.
    pulls: Vec<(usize, Option<Pull>)>,
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
            state: PoseState::fresh(given.len(), Offset::NONE),
            given,
            together,
            extent,
            settings,
            tracks: Vec::new(),
            seen: Vec::new(),
            pulls: Vec::new(),
        }
    }

    /// Lets points hold the photos that show them, one of `tracks` for each photo; without any all
    /// is as it was. A photo is not held by points that are farther off than its pose may go. If
    /// most photos are off, the mean of their poses says nothing of the frame of the world, which
    /// the points fix then: no motion is taken for a common one.
    pub fn hold_by(&mut self, tracks: Vec<Tracks>) {
        let (angle, distance) = self.limits();
        let cameras = self.given.iter();
        let held = cameras.zip(&tracks).map(|(camera, tracks)| {
            let pull = anchor::pull(tracks, camera);
            pull.is_some_and(|pull| pull.is_within([angle, distance]))
        });
        let held: Vec<bool> = held.collect();
        if !held.contains(&true) {
            return;
        }
        let used = tracks.into_iter().zip(&held);
        let used = used.map(|(tracks, held)| if *held { tracks } else { Tracks::default() });
        self.tracks = used.collect();
        let off = self
            .together
            .iter()
            .filter(|&&view| self.is_off(view, &self.given[view]));
        if 2 * off.count() > self.together.len() {
            self.together = Vec::new();
        }
    }

    /// Puts photos whose poses are off where their points say, if most of these are in their places
    /// there and the limits allow it.
    pub fn begin_by_points(&mut self) {
        let (angle, distance) = self.limits();
        for (view, given) in self.given.iter().enumerate() {
            let tracks = self.tracks.get(view).filter(|_| self.is_off(view, given));
            let found = tracks.and_then(|tracks| anchor::resected(tracks, given));
            let found = found.filter(|found| {
                let allowed = found.angle() <= angle && found.distance() <= distance;
                allowed && !self.is_off(view, &found.of(given))
            });
            if let Some(found) = found {
                self.state.values[view] = found;
            }
        }
    }

    /// Whether most points of a photo are out of their places through a camera, or cannot be seen.
    fn is_off(&self, view: usize, camera: &Camera) -> bool {
        self.tracks.get(view).is_some_and(|tracks| {
            let pull = anchor::pull(tracks, camera);
            !tracks.points.is_empty() && pull.is_none_or(|pull| pull.scale > OFF * tracks.pixel)
        })
    }

    /// Whether points hold photos.
    pub fn are_held(&self) -> bool {
        !self.tracks.is_empty()
    }

    /// Lets points see all cameras as they are now, whenever one has changed.
    pub fn see(&mut self, cameras: Vec<Camera>) {
        if self.are_held() {
            (self.seen, self.pulls) = (cameras, Vec::new());
        }
    }

    /// Computes the pulls on some photos, which the next move needs: while a device is at work.
    pub fn prepare(&mut self, views: &[usize]) {
        for &view in if self.are_held() { views } else { &[] } {
            let pull = self.pull(view);
            self.pulls.push((view, pull));
        }
    }

    /// The pull on a photo.
    fn pull(&self, view: usize) -> Option<Pull> {
        if let Some((_, known)) = self.pulls.iter().find(|(known, _)| *known == view) {
            return *known;
        }
        anchor::pull(self.tracks.get(view)?, self.seen.get(view)?)
    }

    /// As it left off; none if the state is of another number of photos.
    pub fn with_state(self, state: PoseState) -> Option<Self> {
        let n = self.given.len();
        state.fits(n, n).then_some(Self { state, ..self })
    }

    /// What a checkpoint holds.
    pub fn state(&self) -> &PoseState {
        &self.state
    }

    /// The cameras as they are now.
    pub fn cameras(&self) -> Vec<Camera> {
        let all = self.given.iter().zip(&self.state.values);
        all.map(|(camera, offset)| offset.of(camera)).collect()
    }

    /// Puts a view's pose somewhere, and forgets what its gradients were.
    fn begin_at(&mut self, view: usize, offset: Offset) {
        self.state.begin_at(view, offset);
    }

    /// Keeps gradients for the next move. One that is not finite is left out.
    pub fn note(&mut self, gradients: Vec<(usize, PoseGradient)>) {
        for (view, gradient) in gradients {
            let ([a, b, c], [x, y, z]) = (gradient.rotation, gradient.translation);
            if view < self.given.len() {
                self.state.note(view, [a, b, c, x, y, z]);
            }
        }
    }

    /// Moves the photos whose gradients wait, by at most about `rate` radians each, and times the
    /// extent in world units. Photos that points hold move by what these say too, and move the
    /// points by at most `share` of how far off they are; [`Poses::see`] comes first then. Returns
    /// those that come to a limit for the first time.
    pub fn step(&mut self, rate: f64, share: f64) -> Vec<usize> {
        let shift = rate * self.extent;
        let rates = [rate, rate, rate, shift, shift, shift];
        let mut limited = Vec::new();
        let before = gauge::common_turn(&self.given, &self.state.values, &self.together);
        for (view, mut gradient) in self.state.take_waiting() {
            let mut rates = rates;
            if let Some(pull) = self.pull(view) {
                pull.add_to(&mut gradient);
                rates = pull.bound(rates, share);
            }
            let step = self.state.adam(view, &gradient, rates.map(Some));
            let offset = &mut self.state.values[view];
            *offset = offset.moved(&self.given[view], step);
            if self.limit(view) && self.state.note_limit(view) {
                limited.push(view);
            }
        }
        let offsets = &mut self.state.values;
        let after = gauge::common_turn(&self.given, offsets, &self.together);
        let back = std::array::from_fn(|k| HELD * (before[k] - after[k]));
        gauge::turn_each(&self.given, offsets, &self.together, back);
        gauge::remove(&self.given, offsets, &self.together);
        limited
    }

    /// How far a pose may turn and shift, radians and world units.
    fn limits(&self) -> (f64, f64) {
        let angle = self.settings.max_degrees.to_radians();
        (angle, self.settings.max_shift * self.extent)
    }

    /// Cuts an offset to the limits; whether it was beyond one.
    fn limit(&mut self, view: usize) -> bool {
        let (angle, distance) = self.limits();
        let offset = &mut self.state.values[view];
        let beyond = offset.angle() > angle || offset.distance() > distance;
        *offset = offset.within(angle, distance);
        beyond
    }
}

#[cfg(test)]
mod tests;
