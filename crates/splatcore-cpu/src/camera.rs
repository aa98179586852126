//! A camera as the kernels want it: f32, with what they would otherwise derive for each Gaussian.

use splatcore_core::Camera;
use splatcore_core::backend::RenderOptions;
use splatcore_core::semantics::{FRUSTUM_CLAMP, TILE};

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
        }
    }
}
