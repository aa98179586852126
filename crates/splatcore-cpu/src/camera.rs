//! A camera as the kernels want it: f32, with what they would otherwise derive for each Gaussian.

use splatcore_core::backend::{BackendError, RenderOptions};
use splatcore_core::lens::Projection;
use splatcore_core::semantics::{FRUSTUM_CLAMP, TILE};
use splatcore_core::{Camera, Choice, checks};

/// Pixels of an image at most, the number that a card takes: 1.4 G, of 40 bytes or more each.
const MAX_PIXELS: u64 = u32::MAX as u64 / 3;

/// Refuses a camera that cannot be rendered.
///
/// # Errors
/// [`BackendError::Input`] for a defect, [`BackendError::Unsupported`] for a lens that is no
/// polynomial, [`BackendError::TooLarge`] for too many pixels.
pub fn check(camera: &Camera) -> Result<(), BackendError> {
    if let Some(defect) = camera.defect() {
        return Err(BackendError::Input(format!(
            "this camera cannot be rendered: {defect}"
        )));
    }
    checks::lens("cpu", camera)?;
    if u64::from(camera.width) * u64::from(camera.height) > MAX_PIXELS {
        return Err(BackendError::TooLarge {
            what: format!(
                "{}x{} pixels are more than the {MAX_PIXELS} that this backend renders",
                camera.width, camera.height
            ),
            depends_on: &[Choice::ImageSize],
        });
    }
    Ok(())
}

/// See [`Camera`] for the frame and units.
#[derive(Clone, Debug)]
pub struct KernelCamera {
    /// Image size in pixels.
    pub size: [usize; 2],
    /// Image size in tiles, rounded up.
    pub tiles: [usize; 2],
    /// Focal lengths in pixels.
    pub focal: [f32; 2],
    /// Principal point in pixels.
    pub centre: [f32; 2],
    /// World to camera, row-major.
    pub rotation: [[f32; 3]; 3],
    /// World to camera.
    pub translation: [f32; 3],
    /// Camera position in the world.
    pub position: [f32; 3],
    /// The Jacobian's clamp on x/z and y/z.
    pub clamp: [f32; 2],
    /// See `Semantics::near_plane`.
    pub near: f32,
    /// See `RenderOptions::antialias`.
    pub antialias: bool,
    /// Of a camera that is no pinhole.
    pub lens: Option<Projection>,
}

impl KernelCamera {
    /// Rounds a camera to f32.
    pub fn new(camera: &Camera, options: &RenderOptions) -> Self {
        let size = [camera.width as usize, camera.height as usize];
        Self {
            size,
            tiles: size.map(|s| s.div_ceil(TILE)),
            focal: [camera.fx as f32, camera.fy as f32],
            centre: [camera.cx as f32, camera.cy as f32],
            rotation: camera.rotation.map(|row| row.map(|v| v as f32)),
            translation: camera.translation.map(|v| v as f32),
            position: camera.position().map(|v| v as f32),
            clamp: camera.tan_half_fov().map(|t| (FRUSTUM_CLAMP * t) as f32),
            near: options.semantics.near_plane,
            antialias: options.antialias,
            lens: Self::lens(camera),
        }
    }

    /// `None` for a pinhole.
    pub fn lens(camera: &Camera) -> Option<Projection> {
        match camera.is_pinhole() {
            true => None,
            false => Projection::new(camera),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn images_beyond_any_memory_are_refused() {
        let of_size = |width, height| {
            Camera::look_at(
                [0.0, 0.0, -3.0],
                [0.0; 3],
                [0.0, -1.0, 0.0],
                0.8,
                width,
                height,
            )
        };
        assert!(check(&of_size(16_384, 16_384)).is_ok());
        for side in [60_000, u32::MAX] {
            let error = check(&of_size(side, side)).unwrap_err();
            assert!(matches!(error, BackendError::TooLarge { .. }), "{error}");
            assert!(error.to_string().contains(&format!("{side}x{side}")));
        }
    }
}
