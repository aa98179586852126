//! Structural similarity and its gradient: launches ssim.cu.

#[cfg(test)]
mod tests;

use super::slice::optional;
use super::{Floats, OnStream, grid, word};
use crate::device::Program;
use crate::device::error::device_error;
use crate::device::params::{Address, Layout, Params, kernel_params};
use crate::ops::constants::float;
use crate::ops::sources;
use splatcore_core::BackendError;
use splatcore_core::metrics::{SSIM_C1, SSIM_C2, SSIM_RADIUS, ssim_window};

kernel_params! {
    /// Two stacks of images (ssim.cu).
    pub struct SsimImages {
        x: Address,
        y: Address,
        planes: u32,
        height: u32,
        width: u32,
        margin: u32,
    }

    /// Parameters of `ssim` (ssim.cu).
    pub struct SsimParams {
        images: SsimImages,
        map: Address,
        partials: Address,
    }

    /// Parameters of `ssim_backward` (ssim.cu).
    pub struct SsimBackwardParams {
        images: SsimImages,
        partials: Address,
        v_map: Address,
        v_img1: Address,
    }
}

/// Pixels along the side of a block; `SIDE` of ssim.cu.
const SIDE: usize = 16;
const BLOCK: u32 = (SIDE * SIDE) as u32;

/// Structs that kernels' parameters hold.
static SHARED: &[(&str, &Layout)] = &[("device.cuh", SsimImages::LAYOUT)];

/// What [`forward`] and [`backward`] launch.
pub(super) fn program() -> Program {
    let taps = ssim_window().map(|tap| format!("{:e}f", tap as f32));
    let mut program = sources::program(
        "ssim.cu",
        vec![
            ("WINDOW_TAPS", format!("{{{}}}", taps.join(", "))),
            float("SSIM_C1", SSIM_C1),
            float("SSIM_C2", SSIM_C2),
        ],
        [
            SsimParams::kernel("ssim"),
            SsimBackwardParams::kernel("ssim_backward"),
        ],
    );
    program.shared = SHARED;
    program
}

/// Which pixels a map has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Padding {
    /// All, H x W.
    Same,
    /// Those whose window lies in the image, (H - 10) x (W - 10).
    Valid,
}

/// Two stacks of B C images of one channel.
#[derive(Clone, Copy, Debug)]
pub struct Images {
    /// B C.
    pub planes: usize,
    /// H.
    pub height: usize,
    /// W.
    pub width: usize,
    /// `[B, C, H, W]`.
    pub img1: Floats,
    /// `[B, C, H, W]`.
    pub img2: Floats,
    /// Which pixels the map has.
    pub padding: Padding,
}

impl Images {
    fn values(&self) -> usize {
        self.planes * self.height * self.width
    }

    fn margin(&self) -> usize {
        match self.padding {
            Padding::Same => 0,
            Padding::Valid => SSIM_RADIUS,
        }
    }

    /// Values of the map.
    fn map_values(&self) -> Result<usize, BackendError> {
        let margin = 2 * self.margin();
        match [self.height, self.width].map(|side| side.checked_sub(margin)) {
            [Some(height), Some(width)] => Ok(self.planes * height * width),
            _ => Err(device_error(format!(
                "img1 has {} x {} pixels, padding \"valid\" needs 10 x 10 at least",
                self.height, self.width
            ))),
        }
    }

    fn params(&self) -> Result<SsimImages, BackendError> {
        Ok(SsimImages {
            x: self.img1.with_len("img1", self.values())?,
            y: self.img2.with_len("img2", self.values())?,
            planes: word("the number of images", self.planes)?,
            height: word("the height", self.height)?,
            width: word("the width", self.width)?,
            margin: self.margin() as u32,
        })
    }

    fn blocks(&self) -> Result<u32, BackendError> {
        grid(self.planes * self.height.div_ceil(SIDE) * self.width.div_ceil(SIDE))
    }
}

/// Writes the map and, for [`backward`], `partials` `[3, B, C, H, W]`.
///
/// # Errors
/// If lengths do not agree, images are smaller than the window with [`Padding::Valid`], or the
/// device failed.
pub fn forward(
    on: &OnStream,
    images: &Images,
    map: Floats,
    partials: Option<Floats>,
) -> Result<(), BackendError> {
    let params = SsimParams {
        images: images.params()?,
        map: map.with_len("map", images.map_values()?)?,
        partials: optional(partials, "partials", 3 * images.values())?,
    };
    let [forward, _] = on.kernels(&program())?;
    on.queue.launch(forward, images.blocks()?, BLOCK, &params)
}

/// Writes the gradient of the first image `[B, C, H, W]` from that of the map.
///
/// # Errors
/// As [`forward`].
pub fn backward(
    on: &OnStream,
    images: &Images,
    partials: Floats,
    v_map: Floats,
    v_img1: Floats,
) -> Result<(), BackendError> {
    let params = SsimBackwardParams {
        images: images.params()?,
        partials: partials.with_len("partials", 3 * images.values())?,
        v_map: v_map.with_len("v_map", images.map_values()?)?,
        v_img1: v_img1.with_len("v_img1", images.values())?,
    };
    let [_, backward] = on.kernels(&program())?;
    on.queue.launch(backward, images.blocks()?, BLOCK, &params)
}
