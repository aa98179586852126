//! `loss`: (1 - w) L1 + w (1 - SSIM) and its gradient; launches `ops/loss/loss.cu`, which says how
//! and how fast. CPU twin: `splatcore_reference::twin`'s `loss`.

use crate::device::buffer::{device_error, failed};
use crate::device::params::{Address, Params, kernel_params};
use crate::device::queue::launch;
use crate::device::{Buffer, Device, Kernel, Kernels, Program};
use crate::ops::constants::{flag, float};
use crate::ops::sources;
use splatcore_core::metrics::{SSIM_C1, SSIM_C2, SSIM_RADIUS, ssim_window};
use splatcore_core::{BackendError, Choice};
use std::sync::Arc;

kernel_params! {
    /// Parameters of `loss_forward` (loss.cu).
    pub struct LossForwardParams {
        image: Address,
        photo: Address,
        mask: Address,
        maps: Address,
        partials: Address,
        width: u32,
        height: u32,
        ssim_weight: f32,
        first_channel: u32,
        channels: u32,
        counters: Address,
    }

    /// Parameters of `loss_backward` (loss.cu).
    pub struct LossBackwardParams {
        image: Address,
        photo: Address,
        mask: Address,
        maps: Address,
        gradient: Address,
        width: u32,
        height: u32,
        ssim_weight: f32,
        inverse_count: f32,
        first_channel: u32,
        channels: u32,
        counters: Address,
    }

    /// Parameters of `loss_sum` (loss.cu).
    pub struct LossSumParams {
        partials: Address,
        count: u32,
        inverse_count: f64,
        value: Address,
        counters: Address,
    }
}

/// Threads of a block of the two large kernels, a column of pixels each.
const THREADS: u32 = 128;
/// Columns that a block writes: without the halo of the window, and a multiple of four, which a
/// thread blurs along a row at a time.
const TILE_WIDTH: u32 = (THREADS - 2 * SSIM_RADIUS as u32) / 4 * 4;
/// Rows of pixels of a block.
const FORWARD_ROWS: u32 = 16;
const BACKWARD_ROWS: u32 = 16;
/// Threads of the one block of `loss_sum`.
const SUM_THREADS: u32 = 512;
/// Bytes of the derivatives of SSIM at a value: f32, and two numbers of 16 bits.
const DERIVATIVES_BYTES: u64 = 8;
/// Larger images go one channel at a time: a third of the memory, and blocks enough to fill a card.
const PIXELS_OF_ALL_CHANNELS: u64 = 1 << 22;

/// The kernels and the buffers between them.
pub struct Loss {
    device: Arc<dyn Device>,
    /// Forward and backward, for photos without and with a mask.
    kernels: [[Kernel; 2]; 2],
    sum: Kernel,
    frugal: bool,
    /// Derivatives of SSIM, `[channels at once][height * width]`.
    maps: Buffer,
    /// A block's share of the loss, f64.
    partials: Buffer,
}

/// What [`Loss`] compiles, for photos without or with a mask.
pub fn program(masked: bool) -> Program {
    let taps: Vec<String> = ssim_window()
        .iter()
        .map(|w| format!("{:e}f", *w as f32))
        .collect();
    sources::program(
        "loss.cu",
        vec![
            ("WINDOW_TAPS", format!("{{{}}}", taps.join(", "))),
            ("RADIUS", SSIM_RADIUS.to_string()),
            float("SSIM_C1", SSIM_C1),
            float("SSIM_C2", SSIM_C2),
            flag("MASKED", masked),
            ("THREADS", THREADS.to_string()),
            ("TILE_WIDTH", TILE_WIDTH.to_string()),
            ("FORWARD_ROWS", FORWARD_ROWS.to_string()),
            ("BACKWARD_ROWS", BACKWARD_ROWS.to_string()),
            ("SUM_THREADS", SUM_THREADS.to_string()),
        ],
        [
            LossForwardParams::kernel("loss_forward"),
            LossBackwardParams::kernel("loss_backward"),
            LossSumParams::kernel("loss_sum"),
        ],
    )
}

impl Loss {
    /// Compiles the kernels. Buffers come with the first launch.
    ///
    /// # Errors
    /// If compiling failed.
    pub fn new(kernels: &Kernels) -> Result<Self, BackendError> {
        let device = kernels.device().clone();
        let load = |masked| -> Result<[Kernel; 3], BackendError> {
            kernels
                .get(&program(masked))
                .map_err(failed)?
                .try_into()
                .map_err(|_| {
                    device_error("the program of loss has other kernels than asked for".into())
                })
        };
        let (plain, masked) = rayon::join(|| load(false), || load(true));
        let ([forward, backward, sum], [masked_forward, masked_backward, _]) = (plain?, masked?);
        Ok(Self {
            kernels: [[forward, backward], [masked_forward, masked_backward]],
            sum,
            frugal: false,
            maps: Buffer::new(&device, "derivative maps of the loss", 0)?,
            partials: Buffer::new(&device, "partial sums of the loss", 0)?,
            device,
        })
    }

    /// One channel at a time whatever the size of the image, for a third of the memory; same
    /// results but for the last bits of the value.
    pub fn frugal(mut self) -> Self {
        self.frugal = true;
        self
    }

    /// Bytes that an image of this size needs on the device, besides the image, the photo and the
    /// gradient.
    pub fn bytes(width: u32, height: u32) -> u64 {
        let plan = Plan::new(width, height, false);
        plan.map_bytes + plan.partial_bytes
    }

    /// Puts the loss of `image` (`[3][height * width]` f32) against `photo` (`[height * width][3]`
    /// u8) into the queue. `mask` is `[height * width]` u8, 0 where a pixel is ignored, or the
    /// address 0 if all count; `counted` is how many count. `counters` is the address of a frame's
    /// counters, or 0 for none: while they say that the device has overflowed nothing is written.
    /// Writes `gradient`, dL/dimage, `[3][height * width]` f32, 0 where ignored, and `value`, the
    /// loss, one f64. Nothing counted: all zero. The same inputs give the same bits.
    ///
    /// Does not wait; allocates only when the image is larger than all before.
    ///
    /// # Errors
    /// If the image has more than 2^32 / 3 pixels, memory is short, or the launch failed.
    ///
    /// # Safety
    /// The addresses are of this device and hold what is said above. `image` and `gradient` are
    /// aligned to 16.
    pub unsafe fn launch(
        &mut self,
        image: u64,
        photo: u64,
        mask: u64,
        counted: u64,
        counters: u64,
        width: u32,
        height: u32,
        ssim_weight: f32,
        gradient: u64,
        value: u64,
    ) -> Result<(), BackendError> {
        check_size(width, height)?;
        let plan = Plan::new(width, height, self.frugal);
        exactly(&self.device, &mut self.maps, plan.map_bytes)?;
        exactly(&self.device, &mut self.partials, plan.partial_bytes)?;
        let inverse_count = if counted == 0 {
            0.0
        } else {
            1.0 / (3 * counted) as f64
        };
        let (channels, maps) = (plan.channels, self.maps.address());
        let partials = self.partials.address();
        let forward = LossForwardParams {
            image,
            photo,
            mask,
            maps,
            partials,
            width,
            height,
            ssim_weight,
            first_channel: 0,
            channels,
            counters,
        };
        let backward = LossBackwardParams {
            image,
            photo,
            mask,
            maps,
            gradient,
            width,
            height,
            ssim_weight,
            inverse_count: inverse_count as f32,
            first_channel: 0,
            channels,
            counters,
        };
        if width > 0 && height > 0 {
            for first in (0..3).step_by(channels as usize) {
                self.launch_channels(&plan, first, forward, backward)?;
            }
        }
        launch(
            &*self.device,
            self.sum,
            1,
            SUM_THREADS,
            &LossSumParams {
                partials,
                count: 3 * plan.forward_tiles,
                inverse_count,
                value,
                counters,
            },
        )
    }

    /// Forward and backward of the channels of a launch, from channel `first` on.
    fn launch_channels(
        &self,
        plan: &Plan,
        first: u32,
        forward: LossForwardParams,
        backward: LossBackwardParams,
    ) -> Result<(), BackendError> {
        let [forward_kernel, backward_kernel] = self.kernels[(forward.mask != 0) as usize];
        launch(
            &*self.device,
            forward_kernel,
            plan.forward_tiles * plan.channels,
            THREADS,
            &LossForwardParams {
                partials: forward.partials + 8 * (first * plan.forward_tiles) as u64,
                first_channel: first,
                ..forward
            },
        )?;
        launch(
            &*self.device,
            backward_kernel,
            plan.backward_tiles * plan.channels,
            THREADS,
            &LossBackwardParams {
                first_channel: first,
                ..backward
            },
        )
    }
}

/// Kernels count values of an image in 32 bits.
fn check_size(width: u32, height: u32) -> Result<(), BackendError> {
    let pixels = width as u64 * height as u64;
    if pixels > u32::MAX as u64 / 3 || width.max(height) > i32::MAX as u32 / 2 {
        return Err(BackendError::TooLarge {
            what: format!("a photo of {width}x{height} pixels is too large to learn from"),
            depends_on: &[Choice::PhotoSize],
        });
    }
    Ok(())
}

/// What an image's size asks for.
struct Plan {
    /// Blocks a channel.
    forward_tiles: u32,
    backward_tiles: u32,
    /// Channels a launch.
    channels: u32,
    map_bytes: u64,
    partial_bytes: u64,
}

impl Plan {
    fn new(width: u32, height: u32, frugal: bool) -> Self {
        let pixels = width as u64 * height as u64;
        let across = width.div_ceil(TILE_WIDTH);
        let channels = if frugal || pixels > PIXELS_OF_ALL_CHANNELS {
            1
        } else {
            3
        };
        let forward_tiles = across * height.div_ceil(FORWARD_ROWS);
        Self {
            forward_tiles,
            backward_tiles: across * height.div_ceil(BACKWARD_ROWS),
            channels,
            map_bytes: channels as u64 * pixels * DERIVATIVES_BYTES,
            partial_bytes: 3 * forward_tiles as u64 * size_of::<f64>() as u64,
        }
    }
}

/// Makes a buffer at least this large, no larger than needed: photos of a scene mostly have one
/// size.
fn exactly(device: &Arc<dyn Device>, buffer: &mut Buffer, bytes: u64) -> Result<(), BackendError> {
    if bytes > buffer.bytes() as u64 {
        // The old memory goes first: both together may not fit.
        *buffer = Buffer::new(device, buffer.name(), 0)?;
        *buffer = Buffer::new(device, buffer.name(), bytes as usize)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests;
