//! A device that watches another, the emulator or a card: it counts calls and memory, and can run
//! out of memory or be taken away.

use crate::CudaBackend;
use crate::device::emulated::Emulated;
use crate::device::{Allocations, Device, DeviceError, HostAllocations};
use crate::forward::{Call, forward};
use splatcore_core::{Camera, Gaussians, Photo, View};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// What has been seen so far, and what is to happen.
#[derive(Default)]
pub struct Watch {
    /// Calls of methods that can fail.
    pub calls: usize,
    /// Which of these calls fail.
    pub failing: std::ops::Range<usize>,
    /// Calls of `allocate`.
    pub allocations: usize,
    /// Which calls of `allocate` find no memory.
    pub no_memory: std::ops::Range<usize>,
    /// Bytes that can be allocated.
    pub limit: Option<usize>,
    /// What the device says is free, if not the truth.
    pub said_free: Option<u64>,
    /// Bytes uploaded and downloaded.
    pub moved: usize,
    /// How often the queue was waited for to its end.
    pub waits: usize,
    /// Bytes allocated now.
    pub bytes: usize,
    /// Most bytes at a time.
    pub peak: usize,
    /// Calls of `allocate_pinned`.
    pub pinned: usize,
    /// Which of them find no memory.
    pub no_pinned: std::ops::Range<usize>,
    /// Events that were not discarded.
    pub events: usize,
    sizes: HashMap<u64, usize>,
}

impl Watch {
    /// From now on there is memory.
    pub fn plenty(&mut self) {
        (self.no_memory, self.limit) = (0..0, None);
    }

    /// From now on a new peak counts.
    pub fn forget_peak(&mut self) {
        self.peak = self.bytes;
    }
}

/// A device under watch.
pub struct Watched {
    device: Arc<dyn Device>,
    watch: Mutex<Watch>,
}

impl Watched {
    /// The emulator; `None`, with a line that says why, where there is none.
    pub fn new() -> Option<Arc<Self>> {
        let emulated = Emulated::new().inspect_err(|error| eprintln!("skipped: {error}"));
        emulated.ok().map(|emulated| Self::on(Arc::new(emulated)))
    }

    /// Any device.
    pub fn on(device: Arc<dyn Device>) -> Arc<Self> {
        Arc::new(Self {
            device,
            watch: Mutex::default(),
        })
    }

    /// A backend on it, with sums in a fixed order.
    pub fn backend(self: &Arc<Self>) -> CudaBackend {
        CudaBackend::on(self.clone(), true)
    }

    /// What has been seen, to be read or changed.
    pub fn watch(&self) -> MutexGuard<'_, Watch> {
        self.watch.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn seen(&self, call: Call) -> Result<(), DeviceError> {
        let mut watch = self.watch();
        if let Call::Discard = call {
            watch.events -= 1;
            return Ok(());
        }
        watch.calls += 1;
        if watch.failing.contains(&(watch.calls - 1)) {
            return Err(DeviceError::Failed("the card was taken away".into()));
        }
        match call {
            Call::Upload(bytes) => watch.moved += bytes,
            Call::Download(bytes) => {
                watch.moved += bytes;
                watch.waits += 1;
            }
            Call::Wait => watch.waits += 1,
            Call::Record => watch.events += 1,
            Call::Discard | Call::Other => {}
        }
        Ok(())
    }
}

impl Allocations for Watched {
    fn allocate(&self, bytes: usize) -> Result<u64, DeviceError> {
        self.seen(Call::Other)?;
        let mut watch = self.watch();
        watch.allocations += 1;
        // The few bytes of an empty buffer are always there, as in the driver's pages.
        let free = watch
            .limit
            .map_or(usize::MAX, |limit| limit.saturating_sub(watch.bytes));
        if bytes > 4 && (bytes > free || watch.no_memory.contains(&(watch.allocations - 1))) {
            let (free, wanted) = (free as u64, bytes as u64);
            return Err(DeviceError::OutOfMemory {
                bytes: wanted,
                free,
            });
        }
        let address = self.device.allocate(bytes)?;
        watch.sizes.insert(address, bytes);
        watch.bytes += bytes;
        watch.peak = watch.peak.max(watch.bytes);
        Ok(address)
    }
    unsafe fn release(&self, address: u64) {
        let mut watch = self.watch();
        let bytes = watch.sizes.remove(&address);
        watch.bytes -= bytes.expect("released twice");
        // SAFETY: the caller's, here and below.
        unsafe { self.device.release(address) }
    }
    fn memory(&self) -> (u64, u64) {
        let (free, all) = self.device.memory();
        (self.watch().said_free.unwrap_or(free), all)
    }
}

impl HostAllocations for Watched {
    fn allocate_pinned(&self, bytes: usize) -> Result<*mut u8, DeviceError> {
        self.seen(Call::Other)?;
        let mut watch = self.watch();
        watch.pinned += 1;
        if watch.no_pinned.contains(&(watch.pinned - 1)) {
            let (bytes, free) = (bytes as u64, 0);
            return Err(DeviceError::OutOfMemory { bytes, free });
        }
        self.device.allocate_pinned(bytes)
    }
    unsafe fn release_pinned(&self, address: *mut u8) {
        unsafe { self.device.release_pinned(address) }
    }
    unsafe fn reach(
        &self,
        address: *mut u8,
        bytes: usize,
        is_reached: bool,
    ) -> Result<(), DeviceError> {
        // SAFETY: the caller's promise.
        unsafe { self.device.reach(address, bytes, is_reached) }
    }
}

forward!(Watched, watched by seen);

/// A camera at the origin that looks along z, as wide as long.
pub fn camera(width: u32, height: u32) -> Camera {
    Camera::pinhole(width, height, f64::from(width.max(height)))
}

/// Gaussians so large that each covers the whole image of [`camera`].
pub fn huge(count: usize) -> Gaussians {
    let mut scene = Gaussians::zeros(count, 0);
    scene.rotations.fill([1.0, 0.0, 0.0, 0.0]);
    scene.log_scales.fill([4.0; 3]);
    scene.opacity_logits.fill(3.0);
    for i in 0..count {
        scene.means[i] = [
            0.1 * (i % 3) as f32,
            0.1 * (i % 5) as f32,
            4.0 + 0.01 * i as f32,
        ];
        scene.sh[i] = [(i % 7) as f32 * 0.3 - 1.0, 0.5, (i % 2) as f32];
    }
    scene
}

/// A view with some photo; masked if `mask`.
pub fn view(camera: Camera, mask: bool) -> View {
    let (width, height) = (camera.width, camera.height);
    let pixels = width as usize * height as usize;
    View {
        name: format!("{width}x{height}.png"),
        camera,
        photo: Photo {
            mask: mask.then(|| (0..pixels).map(|i| (i % 5 > 1) as u8).collect()),
            ..Photo::opaque(
                width,
                height,
                (0..3 * pixels).map(|i| (i * 37 % 251) as u8).collect(),
            )
        },
    }
}
