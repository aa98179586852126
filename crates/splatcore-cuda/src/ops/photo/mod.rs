//! What a step learns from, made of the photo that is kept: `ops/photo/photo.cu`. Twin:
//! `splatcore_core::Photo`'s `reduced` and `on`.

use crate::device::Kernels;
use crate::device::error::{device_error, failed};
use crate::device::params::{Address, Params, kernel_params};
use crate::device::queue::launch;
use crate::device::{Buffer, Device, Kernel, Program};
use crate::ops::sources;
use splatcore_core::{BackendError, Photo, reduce};
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;

kernel_params! {
    /// Parameters of `photo` (photo.cu).
    pub struct PhotoParams {
        rgb: Address,
        alpha: Address,
        mask: Address,
        width: u32,
        height: u32,
        to_width: u32,
        to_height: u32,
        background: [f32; 3],
        behind: Address,
        rgb_out: Address,
        mask_out: Address,
    }
}

/// A photo's pixels and mask on the device (0: none), and the number of pixels that count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DevicePhoto {
    /// `[height][width][3]` u8.
    pub rgb: u64,
    /// `[height][width]` u8, nonzero where the pixel counts; 0 for none.
    pub mask: u64,
    /// `[height][width]` u8, how opaque each pixel is; 0 for none.
    pub alpha: u64,
    /// Pixels that count.
    pub counted: u64,
}

const BLOCK: u32 = 256;

/// The kernel, its result, and what was counted.
pub struct StepPhoto {
    device: Arc<dyn Device>,
    /// Loaded when first needed.
    kernel: Option<Kernel>,
    rgb: Buffer,
    mask: Buffer,
    /// Pixels that count in a photo with a mask at a scale.
    counted: HashMap<(usize, u32), u64>,
}

/// `photo`.
pub fn program() -> Program {
    sources::program(
        "photo.cu",
        vec![("BLOCK", BLOCK.to_string())],
        [PhotoParams::kernel("photo")],
    )
}

impl StepPhoto {
    /// No memory yet.
    ///
    /// # Errors
    /// If the device failed.
    pub fn new(device: Arc<dyn Device>) -> Result<Self, BackendError> {
        Ok(Self {
            kernel: None,
            rgb: Buffer::new(&device, "the photo of a step", 0)?,
            mask: Buffer::new(&device, "the mask of a step", 0)?,
            counted: HashMap::new(),
            device,
        })
    }

    /// Whether there is nothing left to compile.
    pub fn is_compiled(&self) -> bool {
        self.kernel.is_some()
    }

    /// Photo `index`, which lies there as `kept`, with each side divided by `scale`, if it has
    /// alpha on a background; at the address `behind` is what its colour model makes of that (0: it
    /// has none): from the queue's present place on until the next call. Unless it needs neither it
    /// is made in the queue.
    ///
    /// # Errors
    /// If memory is short, the kernel does not compile or the device failed.
    pub fn make(
        &mut self,
        kernels: &Kernels,
        kept: DevicePhoto,
        index: usize,
        photo: &Photo,
        scale: u32,
        background: [f32; 3],
        behind: u64,
    ) -> Result<DevicePhoto, BackendError> {
        if scale == 1 && kept.alpha == 0 {
            return Ok(kept);
        }
        let kernel = match self.kernel {
            Some(kernel) => kernel,
            None => {
                let loaded = kernels.get(&program()).map_err(failed)?;
                let &[kernel] = &loaded[..] else {
                    return Err(device_error(
                        "the program of photo has other kernels than asked for".into(),
                    ));
                };
                *self.kernel.insert(kernel)
            }
        };
        let [width, height] = [photo.width, photo.height].map(|side| reduce::side(side, scale));
        let pixels = width as usize * height as usize;
        self.rgb.reserve_exactly(3 * pixels)?;
        let masked = kept.mask != 0;
        if masked {
            self.mask.reserve_exactly(pixels)?;
        }
        let mut made = DevicePhoto {
            rgb: self.rgb.address(),
            mask: if masked { self.mask.address() } else { 0 },
            ..kept
        };
        if scale != 1 {
            made.counted = match masked {
                true => match self.counted.entry((index, scale)) {
                    Entry::Occupied(known) => *known.get(),
                    Entry::Vacant(unknown) => {
                        let counted = photo.held()?.counted_pixels_reduced(scale);
                        *unknown.insert(counted as u64)
                    }
                },
                false => pixels as u64,
            };
        }
        launch(
            &*self.device,
            kernel,
            (pixels as u32).div_ceil(BLOCK),
            BLOCK,
            &PhotoParams {
                rgb: kept.rgb,
                alpha: kept.alpha,
                mask: kept.mask,
                width: photo.width,
                height: photo.height,
                to_width: width,
                to_height: height,
                background,
                behind,
                rgb_out: made.rgb,
                mask_out: made.mask,
            },
        )?;
        Ok(made)
    }
}
