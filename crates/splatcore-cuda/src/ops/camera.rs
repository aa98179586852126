//! A camera as the kernels want it.

use crate::device::params::shared_struct;
use bytemuck::Zeroable;
use splatcore_core::Camera;
use splatcore_core::backend::RenderOptions;
use splatcore_core::semantics::{FRUSTUM_CLAMP, TILE};

shared_struct! {
    /// `Camera` of ops/shared/splat.cuh, field by field; frames and units there.
    pub struct KernelCamera as "Camera" {
        rotation: [[f32; 3]; 3],
        translation: [f32; 3],
        position: [f32; 3],
        focal: [f32; 2],
        centre: [f32; 2],
        clamp: [f32; 2],
        near_plane: f32,
        alpha_max: f32,
        background: [f32; 3],
        /// Pixels.
        pub width: u32,
        /// Pixels.
        pub height: u32,
        /// Tiles, rounded up.
        pub tiles_x: u32,
        /// Tiles, rounded up.
        pub tiles_y: u32,
    }
}

impl KernelCamera {
    /// Rounds a camera to f32.
    pub fn new(camera: &Camera, options: &RenderOptions) -> Self {
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
            width: camera.width,
            height: camera.height,
            tiles_x: camera.width.div_ceil(TILE as u32),
            tiles_y: camera.height.div_ceil(TILE as u32),
        }
    }

    /// Sizes and the cap on alpha alone, of images with at least as many tiles as they need.
    pub fn of_images(size: [u32; 2], tiles: [u32; 2], alpha_max: f32) -> Self {
        let [width, height] = size;
        let [tiles_x, tiles_y] = tiles;
        Self {
            alpha_max,
            width,
            height,
            tiles_x,
            tiles_y,
            ..Self::zeroed()
        }
    }

    /// The same in front of another colour.
    pub fn on_background(self, background: [f32; 3]) -> Self {
        Self { background, ..self }
    }

    /// Pixels.
    pub fn pixels(&self) -> usize {
        self.width as usize * self.height as usize
    }

    /// Tiles.
    pub fn tile_count(&self) -> usize {
        self.tiles_x as usize * self.tiles_y as usize
    }
}
