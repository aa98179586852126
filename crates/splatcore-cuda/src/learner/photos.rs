//! The photos to learn from, 8 bits a channel: on the device if they fit in a share of its memory,
//! else brought there one by one through pinned memory. The host need not hold them either
//! ([`splatcore_core::Photo::elsewhere`]).

use crate::device::error::{device_error, failed};
use crate::device::{Buffer, Device, Event, Pinned};
use crate::ops::photo::DevicePhoto;
use splatcore_core::image::elsewhere::in_order;
use splatcore_core::{BackendError, View};
use std::sync::Arc;

/// Photos on their way at a time.
const RING: usize = 4;

struct Slot {
    pinned: Pinned,
    buffer: Buffer,
    passed: Option<Event>,
}

impl Drop for Photos {
    fn drop(&mut self) {
        if let Store::Ring { slots, .. } = &mut self.store {
            for event in slots.iter_mut().filter_map(|slot| slot.passed.take()) {
                self.device.discard(event);
            }
        }
    }
}

/// A photo that stays.
struct Kept {
    rgb: Buffer,
    mask: Option<Buffer>,
    alpha: Option<Buffer>,
}

enum Store {
    Resident(Vec<Kept>),
    Ring { slots: Vec<Slot>, next: usize },
}

/// All photos of a training.
pub struct Photos {
    device: Arc<dyn Device>,
    views: Arc<Vec<View>>,
    counted: Vec<u64>,
    store: Store,
}

impl Photos {
    /// Uploads all photos if they take at most `share` of the memory that is free.
    ///
    /// # Errors
    /// If not even the ring fits.
    pub fn new(
        device: &Arc<dyn Device>,
        views: Arc<Vec<View>>,
        share: f64,
    ) -> Result<Self, BackendError> {
        let total: usize = views.iter().map(|view| view.photo.bytes()).sum();
        let store = if total as f64 <= share * device.memory().0 as f64 {
            let mut resident = Vec::with_capacity(views.len());
            let places: Vec<usize> = (0..views.len()).collect();
            in_order(&views, &places, false, |_, view| {
                let photo = view.photo.held()?;
                let rgb = Buffer::from_slice(device, "photos", &photo.rgb)?;
                let plane = |name, plane: &Option<Vec<u8>>| {
                    let upload = |plane| Buffer::from_slice(device, name, plane);
                    plane.as_deref().map(upload).transpose()
                };
                resident.push(Kept {
                    rgb,
                    mask: plane("masks", &photo.mask)?,
                    alpha: plane("alpha of the photos", &photo.alpha)?,
                });
                Ok::<_, BackendError>(())
            })?;
            Store::Resident(resident)
        } else {
            let largest = views
                .iter()
                .map(|view| view.photo.bytes())
                .max()
                .unwrap_or(0);
            let mut slots = Vec::with_capacity(RING);
            for _ in 0..RING {
                slots.push(Slot {
                    pinned: Pinned::new(device, largest)?,
                    buffer: Buffer::new(device, "photos", largest)?,
                    passed: None,
                });
            }
            Store::Ring { slots, next: 0 }
        };
        let counted = views
            .iter()
            .map(|view| view.photo.counted_pixels() as u64)
            .collect();
        Ok(Self {
            device: device.clone(),
            views,
            counted,
            store,
        })
    }

    /// The views.
    pub fn views(&self) -> &Arc<Vec<View>> {
        &self.views
    }

    /// Whether all photos stay on the device.
    pub fn resident(&self) -> bool {
        matches!(self.store, Store::Resident(_))
    }

    /// A photo, from the queue's present place on; at most the last of `RING` calls' photos are
    /// there. Call [`Photos::used`] once the launches that read it are in the queue.
    ///
    /// # Errors
    /// If there is no such view or the device failed.
    pub fn bring(&mut self, index: usize) -> Result<DevicePhoto, BackendError> {
        let counted = self.counted[index];
        match &mut self.store {
            Store::Resident(all) => {
                let Kept { rgb, mask, alpha } = &all[index];
                Ok(DevicePhoto {
                    rgb: rgb.address(),
                    mask: mask.as_ref().map_or(0, Buffer::address),
                    alpha: alpha.as_ref().map_or(0, Buffer::address),
                    counted,
                })
            }
            Store::Ring { slots, next } => {
                let slot = &mut slots[*next];
                if let Some(event) = &slot.passed {
                    self.device.wait(event).map_err(failed)?;
                }
                let photo = self.views[index].photo.held()?;
                let bytes = photo.bytes();
                if bytes > slot.buffer.bytes() {
                    return Err(device_error(format!(
                        "photo {index} has grown since the start"
                    )));
                }
                let mask = photo.mask.as_deref().unwrap_or(&[]);
                let alpha = photo.alpha.as_deref().unwrap_or(&[]);
                // SAFETY: the slot has room for the largest photo with its mask, and the queue has
                // passed its last use.
                unsafe {
                    slot.pinned.fill(&[&photo.rgb, mask, alpha]);
                    slot.pinned
                        .upload(slot.buffer.address(), bytes)
                        .map_err(failed)?;
                }
                let rgb = slot.buffer.address();
                let mask_at = rgb + photo.rgb.len() as u64;
                let alpha_at = mask_at + mask.len() as u64;
                Ok(DevicePhoto {
                    rgb,
                    mask: if photo.mask.is_some() { mask_at } else { 0 },
                    alpha: if photo.alpha.is_some() { alpha_at } else { 0 },
                    counted,
                })
            }
        }
    }

    /// What the last [`Photos::bring`] gave is in use up to here.
    ///
    /// # Errors
    /// If the device failed.
    pub fn used(&mut self) -> Result<(), BackendError> {
        if let Store::Ring { slots, next } = &mut self.store {
            let slot = &mut slots[*next];
            match &slot.passed {
                Some(event) => self.device.record_again(event).map_err(failed)?,
                None => slot.passed = Some(self.device.record().map_err(failed)?),
            }
            *next = (*next + 1) % RING;
        }
        Ok(())
    }

    /// Bytes on the device.
    pub fn bytes(&self) -> u64 {
        match &self.store {
            Store::Resident(all) => {
                let planes = |kept: &Kept| {
                    [&kept.mask, &kept.alpha].map(|plane| plane.as_ref().map_or(0, Buffer::bytes))
                };
                let each =
                    |kept: &Kept| (kept.rgb.bytes() + planes(kept).iter().sum::<usize>()) as u64;
                all.iter().map(each).sum()
            }
            Store::Ring { slots, .. } => slots.iter().map(|slot| slot.buffer.bytes() as u64).sum(),
        }
    }
}
