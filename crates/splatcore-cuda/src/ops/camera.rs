//! A camera as the kernels want it.

use bytemuck::{Pod, Zeroable};
use splatcore_core::Camera;
use splatcore_core::backend::RenderOptions;
use splatcore_core::semantics::{FRUSTUM_CLAMP, TILE};

/// `Camera` of ops/shared/splat.cuh, field by field; frames and units there.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub struct KernelCamera {
    rotation: [[f32; 3]; 3],
    translation: [f32; 3],
    position: [f32; 3],
    focal: [f32; 2],
    centre: [f32; 2],
    clamp: [f32; 2],
    near_plane: f32,
    alpha_max: f32,
    background: [f32; 3],
    /// Width and height in pixels.
    pub size: [u32; 2],
    /// Width and height in tiles, rounded up.
    pub tiles: [u32; 2],
}

impl KernelCamera {
    /// Rounds a camera to f32.
    pub fn new(camera: &Camera, options: &RenderOptions) -> Self {
        let size = [camera.width, camera.height];
        Self {
            rotation: camera.rotation.map(|row| row.map(|v| v as f32)),
            translation: camera.translation.map(|v| v as f32),
            position: camera.position().map(|v| v as f32),
            focal: [camera.fx as f32, camera.fy as f32],
            centre: [camera.cx as f32, camera.cy as f32],
            clamp: camera.tan_half_fov().map(|t| (FRUSTUM_CLAMP * t) as f32),
            near_plane: options.semantics.near_plane,
            alpha_max: options.semantics.alpha_max,
            background: options.background,
            size,
            tiles: size.map(|side| side.div_ceil(TILE as u32)),
        }
    }

    /// Pixels.
    pub fn pixels(&self) -> usize {
        self.size[0] as usize * self.size[1] as usize
    }

    /// Tiles.
    pub fn tile_count(&self) -> usize {
        self.tiles[0] as usize * self.tiles[1] as usize
    }
}
