//! What every backend refuses before it computes: inputs that contradict each other.

use crate::backend::LearnerState;
use crate::choice::Choice;
use crate::colour::{ColourState, camera_count};
use crate::columns::{ColumnPlans, Entry};
use crate::pipeline::Blend;
use crate::{BackendError, Camera, Gaussians, Lens, Photo, Pipeline, View, sh, sky};

/// Arrays of different lengths in a scene.
///
/// # Errors
/// [`BackendError::Input`] with the lengths.
pub fn scene(scene: &Gaussians) -> Result<(), BackendError> {
    let n = scene.len();
    let fits = scene.log_scales.len() == n
        && scene.rotations.len() == n
        && scene.opacity_logits.len() == n
        && scene.sh_degree <= sh::MAX_DEGREE
        && scene.sh.len() == n * scene.coefficients();
    if fits {
        return Ok(());
    }
    Err(BackendError::Input(format!(
        "the scene's arrays do not belong together: {n} means, {} scales, {} rotations, {} \
         opacities, {} \
         coefficients of degree {}",
        scene.log_scales.len(),
        scene.rotations.len(),
        scene.opacity_logits.len(),
        scene.sh.len(),
        scene.sh_degree
    )))
}

/// A pipeline of which no gradients are computed as it is named.
///
/// # Errors
/// [`BackendError::Unsupported`] with the reason ([`Pipeline::check_gradients`]).
pub fn gradients(backend: &'static str, pipeline: Pipeline) -> Result<(), BackendError> {
    pipeline
        .check_gradients()
        .map_err(|reason| BackendError::Unsupported {
            backend,
            what: format!("gradients of {pipeline}: {reason}"),
            depends_on: &[],
        })
}

/// A blend that sums no depths.
///
/// # Errors
/// [`BackendError::Unsupported`] with its name.
pub fn inverse_depth(backend: &'static str, blend: Blend) -> Result<(), BackendError> {
    match blend.method().inverse_depth {
        true => Ok(()),
        false => Err(BackendError::Unsupported {
            backend,
            what: format!("inverse depth by the blend method '{blend}'"),
            depends_on: &[Choice::Pipeline],
        }),
    }
}

/// A lens that no backend projects through.
///
/// # Errors
/// [`BackendError::Unsupported`] with the lens's name.
pub fn lens(backend: &'static str, camera: &Camera) -> Result<(), BackendError> {
    if camera.lens.polynomial().is_some() {
        return Ok(());
    }
    Err(BackendError::Unsupported {
        backend,
        what: format!(
            "projection through a lens of the model '{}'",
            camera.lens.name()
        ),
        depends_on: &[Choice::Lens],
    })
}

/// Cameras with a lens or a rolling shutter where only pinholes are known. `what` is a plural.
///
/// # Errors
/// [`BackendError::Unsupported`] with what the first of them has.
pub fn pinholes<'a>(
    backend: &'static str,
    what: &str,
    mut cameras: impl Iterator<Item = &'a Camera>,
) -> Result<(), BackendError> {
    let Some(camera) = cameras.find(|camera| !camera.is_pinhole()) else {
        return Ok(());
    };
    let (has, depends_on): (String, &[Choice]) = match camera.lens {
        Lens::Pinhole => ("a rolling shutter".into(), &[Choice::Pipeline]),
        lens => (format!("the lens '{}'", lens.name()), &[Choice::Lens]),
    };
    Err(BackendError::Unsupported {
        backend,
        what: format!("{what} of cameras with {has}, only of pinholes"),
        depends_on,
    })
}

/// A photo or mask of another size than its camera, or depths that are none.
///
/// # Errors
/// [`BackendError::Input`] with the photo's name and the sizes.
pub fn views(views: &[View]) -> Result<(), BackendError> {
    for view in views {
        let (camera, photo) = (&view.camera, &view.photo);
        let pixels = camera.width as usize * camera.height as usize;
        if [camera.width, camera.height] != [photo.width, photo.height]
            || (photo.elsewhere.is_none() && !fills(photo, pixels))
        {
            return Err(BackendError::Input(format!(
                "{}: the photo is {}x{}, its camera {}x{}",
                view.name, photo.width, photo.height, camera.width, camera.height
            )));
        }
        if photo.depth.as_ref().is_some_and(|map| !map.is_sound()) {
            return Err(BackendError::Input(format!(
                "{}: its depths are not as many as their size says, or not all finite and at least \
                 0",
                view.name
            )));
        }
    }
    Ok(())
}

/// Whether pixels, mask and alpha of a photo are so many.
fn fills(photo: &Photo, pixels: usize) -> bool {
    let full = |plane: &Option<Vec<u8>>| plane.as_ref().is_none_or(|plane| plane.len() == pixels);
    photo.rgb.len() == 3 * pixels && full(&photo.mask) && full(&photo.alpha)
}

/// Cameras in place of others that differ in more than their poses.
///
/// # Errors
/// [`BackendError::Input`] with the first of them, or the numbers.
pub fn moved(before: &[Camera], after: &[Camera]) -> Result<(), BackendError> {
    if before.len() != after.len() {
        let (before, after) = (before.len(), after.len());
        return Err(BackendError::Input(format!(
            "{after} cameras in place of {before}"
        )));
    }
    for (i, (before, after)) in before.iter().zip(after).enumerate() {
        let kind = |camera: &Camera| {
            let model = std::mem::discriminant(&camera.lens);
            let readout = camera.shutter.map(|shutter| shutter.readout);
            let lens = (model, camera.lens.is_fisheye());
            (camera.width, camera.height, lens, readout)
        };
        let problem = match kind(before) == kind(after) {
            true => after.defect(),
            false => Some("it differs in size, in the model of its lens, or in its shutter".into()),
        };
        if let Some(problem) = problem {
            return Err(BackendError::Input(format!("camera {i}: {problem}")));
        }
    }
    Ok(())
}

/// A snapshot whose parts do not belong together.
///
/// # Errors
/// [`BackendError::Input`] that says which part.
pub fn snapshot(state: &LearnerState) -> Result<(), BackendError> {
    let n = state.gaussians.len();
    let refused = |part: &str| {
        Err(BackendError::Input(format!(
            "the snapshot's {part} do not belong to its Gaussians"
        )))
    };
    for gaussians in [&state.gaussians, &state.first, &state.second] {
        scene(gaussians)?;
        if gaussians.len() != n || gaussians.sh_degree != state.gaussians.sh_degree {
            return refused("moments");
        }
    }
    if state.gradient_sum.len() != n || state.seen.len() != n {
        return refused("statistics");
    }
    if let Some(column) = state.columns.misshapen(n) {
        return refused(column.entry().name);
    }
    if !sky::is_state(&state.sky) {
        return Err(BackendError::Input("the snapshot's sky is none".into()));
    }
    Ok(())
}

/// A plan that learns a column which an op computes.
///
/// # Errors
/// [`BackendError::Input`] with what the column's numbers are called.
pub fn learned_columns(plans: &ColumnPlans) -> Result<(), BackendError> {
    for (column, plan) in plans.iter() {
        let Entry { name, learns, .. } = column.entry();
        if plan.is_some() && learns.is_none() {
            return Err(BackendError::Input(format!(
                "a step that learns {name}, which are computed from the other numbers of a \
                 Gaussian: plan no rate for them"
            )));
        }
    }
    Ok(())
}

/// Numbers of a colour model for other views than there are.
///
/// # Errors
/// [`BackendError::Input`] with the numbers.
pub fn colours(colours: &ColourState, views: &[View]) -> Result<(), BackendError> {
    let Some(model) = colours.model else {
        return Ok(());
    };
    let entry = model.entry();
    let cameras = camera_count(views);
    if colours.photos.has_shape(views.len(), entry.photo.len())
        && colours.cameras.has_shape(cameras, entry.camera.len())
    {
        return Ok(());
    }
    Err(BackendError::Input(format!(
        "the snapshot holds the colours ({model}) of {} photos of {} cameras, or parts of them; \
         there are {} of {cameras}",
        colours.photos.rows(),
        colours.cameras.rows(),
        views.len(),
    )))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::columns::{Column, ColumnPlan};

    #[test]
    fn what_is_computed_cannot_be_learned() {
        let plan = ColumnPlan {
            weight: 1.0,
            rate: 0.1,
        };
        for column in Column::ALL {
            let plans = ColumnPlans::of(|other| (other == column).then_some(plan));
            let learns = column.entry().learns.is_some();
            match learned_columns(&plans) {
                Ok(()) => assert!(learns),
                Err(error) => {
                    assert!(!learns);
                    let (error, name) = (error.to_string(), column.entry().name);
                    assert!(error.contains(&format!("learns {name}")), "{error}");
                    assert!(error.ends_with("plan no rate for them"), "{error}");
                }
            }
        }
        assert!(learned_columns(&ColumnPlans::default()).is_ok());
    }
}
