//! How cameras move while they read their photos, found beside the scene.
//!
//! [`ROUNDS`] times in a run each photo is rendered with the motion that it has now and with each
//! of its six numbers (a turn and a shift) a little larger. The differences are the derivative of
//! the image by the motion, and a step of Gauss-Newton goes where the photo's residual is smallest:
//! turn and shift, which make up for each other where all is equally far away, are solved for
//! together. Between rounds the scene learns with the motions found.
//! docs/methods/rolling-shutter.md has the equations.

mod normal;

use normal::{NUMBERS, Normal};
use splatcore_core::backend::{BackendError, RenderOptions, Renderer};
use splatcore_core::shutter::{Readout, Shutter};
use splatcore_core::{Camera, Lens, Photo, View};

/// Rounds in a run ...
pub const ROUNDS: u32 = 16;
/// ... from this share of it on, as the scene has to be there,
pub const FROM: f64 = 0.1;
/// ... and up to this one, so that the scene ends with cameras that stand still.
pub const UNTIL: f64 = 0.9;
/// Steps by which the motion of a photo is fitted to a finished scene.
pub const FIT_STEPS: u32 = 10;
/// Photos are compared at a size whose longer side is at most this many pixels.
const MAX_SIDE: u32 = 400;
/// By how much a number of the motion is changed to see what it does to the image: what moves the
/// image's first and last row by half as many pixels.
const CHANGE: f64 = 2.0;
/// A step moves the first and the last row by at most half as many pixels: farther away the image
/// is another one.
const MAX_STEP: f64 = 8.0;
/// How large motions are for sure, as a share of the image's height: a weak pull towards the
/// dataset's, which holds what the photo says nothing of.
const EXPECTED: f64 = 0.1;
/// Residuals of so many pixels are one: what the scene does not show is not noise of the pixel.
const CORRELATED: f64 = 50.0;

/// A turn (radians) and a shift (world units), as [`Shutter`] has them.
pub type Numbers = [f64; NUMBERS];

/// What a run knows of its photos' motions besides the dataset.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MotionState {
    /// Rounds done.
    pub rounds: u32,
    /// Of each view.
    pub motions: Vec<Numbers>,
}

/// The motions of the photos' cameras.
pub struct Motions {
    given: Vec<Numbers>,
    state: MotionState,
}

impl Motions {
    /// As the cameras have them.
    pub fn new<'a>(cameras: impl Iterator<Item = &'a Camera>) -> Self {
        let given: Vec<Numbers> = cameras.map(numbers).collect();
        let state = MotionState {
            rounds: 0,
            motions: given.clone(),
        };
        Self { given, state }
    }

    /// As it left off; none if the state is of another number of photos.
    pub fn with_state(self, state: MotionState) -> Option<Self> {
        (state.motions.len() == self.given.len()).then_some(Self { state, ..self })
    }

    /// What a checkpoint holds.
    pub fn state(&self) -> &MotionState {
        &self.state
    }

    /// Gives the views' cameras, one for each, the present motions.
    pub fn apply(&self, cameras: &mut [Camera]) {
        for (camera, motion) in cameras.iter_mut().zip(&self.state.motions) {
            *camera = with_numbers(camera, motion);
        }
    }

    /// Takes a step of Gauss-Newton for each of these views, whose cameras as they are now are
    /// given, and notes that so many rounds are done.
    ///
    /// # Errors
    /// What the renderer reports.
    pub fn round(
        &mut self,
        rounds: u32,
        renderer: &mut dyn Renderer,
        options: &RenderOptions,
        views: impl Iterator<Item = Result<(usize, Camera, Photo), BackendError>>,
    ) -> Result<(), BackendError> {
        let mut moved = Vec::new();
        for view in views {
            let (view, camera, photo) = view?;
            let given = &self.given[view];
            if let Some(found) = step(renderer, options, &camera, given, &photo)? {
                moved.push((view, camera, found));
            }
        }
        // All or nothing: a round that failed is taken again.
        self.take(&moved);
        self.state.rounds = rounds;
        Ok(())
    }

    /// Takes the motions found for these views, without what all of them share. A view that this
    /// would give a motion that cannot be keeps the one it had.
    fn take(&mut self, moved: &[(usize, Camera, Numbers)]) {
        let before = self.state.motions.clone();
        for (view, _, found) in moved {
            self.state.motions[*view] = *found;
        }
        let views: Vec<usize> = moved.iter().map(|(view, ..)| *view).collect();
        self.hold(&views);
        for (view, camera, _) in moved {
            let held = with_numbers(camera, &self.state.motions[*view]);
            if held.defect().is_some() {
                self.state.motions[*view] = before[*view];
            }
        }
    }

    /// Takes what these views share, in their cameras' axes, back to what they were given: the
    /// scene follows such a motion, stretched or bent.
    fn hold(&mut self, views: &[usize]) {
        let count = views.len().max(1) as f64;
        for k in 0..NUMBERS {
            let away = |&view: &usize| self.state.motions[view][k] - self.given[view][k];
            let shared = views.iter().map(away).sum::<f64>() / count;
            for &view in views {
                self.state.motions[view][k] -= shared;
            }
        }
    }
}

/// Whether a view's photo has lines that are read one after another, of which its camera knows
/// nothing yet; photos all around have none.
pub fn lacks_shutter(view: &View) -> bool {
    view.camera.shutter.is_none() && view.camera.lens != Lens::Equirectangular
}

/// Gives views a shutter that reads lines in this order wherever the dataset knows none.
pub fn rolling(views: &mut [View], readout: Readout) {
    for view in views.iter_mut().filter(|view| lacks_shutter(view)) {
        view.camera.shutter = Some(Shutter {
            readout,
            turn: [0.0; 3],
            shift: [0.0; 3],
        });
    }
}

/// The cameras of photos with the motions by which a finished scene shows them best; `progress`
/// hears how many photos are done.
///
/// # Errors
/// What the renderer reports.
pub fn fit(
    renderer: &mut dyn Renderer,
    options: &RenderOptions,
    views: &[View],
    progress: &dyn Fn(usize),
) -> Result<Vec<Camera>, BackendError> {
    let fitted = |(index, view): (usize, &View)| {
        let (given, photo) = (
            numbers(&view.camera),
            compared(&*view.photo.held()?, options),
        );
        let mut camera = view.camera.clone();
        for _ in 0..FIT_STEPS {
            match step(renderer, options, &camera, &given, &photo)? {
                Some(found) => camera = with_numbers(&camera, &found),
                None => break,
            }
        }
        progress(index + 1);
        Ok(camera)
    };
    views.iter().enumerate().map(fitted).collect()
}

/// A photo as it is compared: small, and opaque.
pub fn compared(photo: &Photo, options: &RenderOptions) -> Photo {
    let divisor = photo.width.max(photo.height).div_ceil(MAX_SIDE);
    let small = photo.reduced(divisor);
    match small.alpha {
        Some(_) => small.on(splatcore_core::image::to_bytes(options.background)),
        None => small,
    }
}

/// The motion after a step of Gauss-Newton; `None` of a camera without a shutter, of a photo that
/// shows nothing of the scene, and where the step leads to what cannot be.
fn step(
    renderer: &mut dyn Renderer,
    options: &RenderOptions,
    camera: &Camera,
    given: &Numbers,
    photo: &Photo,
) -> Result<Option<Numbers>, BackendError> {
    if camera.shutter.is_none() || photo.counted_pixels() == 0 {
        return Ok(None);
    }
    let camera = camera.resized(photo.width, photo.height);
    let seen = renderer.render(&camera, &options.clone().with_inverse_depth(true))?;
    let Some(pixels) = pixels_per_unit(&camera, &seen.inverse_depth.unwrap_or_default()) else {
        return Ok(None);
    };
    let now = numbers(&camera);
    let mut changed = Vec::with_capacity(NUMBERS);
    for k in 0..NUMBERS {
        let mut motion = now;
        motion[k] += CHANGE / pixels[k];
        let camera = with_numbers(&camera, &motion);
        changed.push(renderer.render(&camera, options)?.image);
    }
    let normal = Normal::new(photo, &seen.image, &changed, CHANGE);
    let away = std::array::from_fn(|k| pixels[k] * (now[k] - given[k]));
    let expected = EXPECTED * f64::from(photo.height);
    let Some(step) = normal.solve(&away, expected, CORRELATED) else {
        return Ok(None);
    };
    let largest = step.iter().fold(0.0, |most: f64, by| most.max(by.abs()));
    let share = (MAX_STEP / largest).min(1.0);
    let found = std::array::from_fn(|k| now[k] + share * step[k] / pixels[k]);
    let possible = with_numbers(&camera, &found).defect().is_none();
    Ok(possible.then_some(found))
}

/// By how many pixels an image moves for each radian and each world unit, about; none if it shows
/// nothing.
fn pixels_per_unit(camera: &Camera, inverse_depth: &[f32]) -> Option<Numbers> {
    let focal = (camera.fx * camera.fy).sqrt();
    let sum: f64 = inverse_depth.iter().map(|&v| f64::from(v)).sum();
    let of_shift = focal * sum / inverse_depth.len().max(1) as f64;
    let usable = of_shift.is_finite() && of_shift > 0.0;
    usable.then_some([focal, focal, focal, of_shift, of_shift, of_shift])
}

fn numbers(camera: &Camera) -> Numbers {
    camera.shutter.map_or([0.0; NUMBERS], |shutter| {
        let ([a, b, c], [x, y, z]) = (shutter.turn, shutter.shift);
        [a, b, c, x, y, z]
    })
}

fn with_numbers(camera: &Camera, &[a, b, c, x, y, z]: &Numbers) -> Camera {
    Camera {
        shutter: camera.shutter.map(|shutter| Shutter {
            turn: [a, b, c],
            shift: [x, y, z],
            ..shutter
        }),
        ..camera.clone()
    }
}

#[cfg(test)]
mod tests;
