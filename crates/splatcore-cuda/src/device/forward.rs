//! What devices that stand before another leave to it.

/// A call that is about to be forwarded, for devices that watch.
#[cfg(test)]
pub enum Call {
    /// Of so many bytes.
    Upload(usize),
    /// Of so many bytes.
    Download(usize),
    /// Of the queue's end.
    Wait,
    /// Of a new event.
    Record,
    /// Of an event; cannot fail.
    Discard,
    /// Any other that can fail.
    Other,
}

/// All but memory of a type whose field `device` is the device behind it; the description says more
/// by the literal. With `watched by`, this method is told of each [`Call`] first and may fail it.
macro_rules! forward {
    ($before:ty $(, $more:literal)? $(, watched by $watch:ident)?) => {
        const _: () = {
            use std::ffi::c_void;
            use $crate::device::{Copies, DeviceError, Event, Events, Kernel, Launches, Program};

            impl Device for $before {
                fn describe(&self) -> String {
                    self.device.describe() $(+ $more)?
                }

                fn capability(&self) -> u32 {
                    self.device.capability()
                }

                fn multiprocessors(&self) -> u32 {
                    self.device.multiprocessors()
                }
            }

            impl Copies for $before {
                unsafe fn upload(&self, to: u64, from: &[u8]) -> Result<(), DeviceError> {
                    $(self.$watch(Call::Upload(from.len()))?;)?
                    // SAFETY: the caller's promise, here and below.
                    unsafe { self.device.upload(to, from) }
                }

                unsafe fn upload_pinned(
                    &self,
                    to: u64,
                    from: *const u8,
                    bytes: usize,
                ) -> Result<(), DeviceError> {
                    $(self.$watch(Call::Other)?;)?
                    unsafe { self.device.upload_pinned(to, from, bytes) }
                }

                unsafe fn download(&self, to: &mut [u8], from: u64) -> Result<(), DeviceError> {
                    $(self.$watch(Call::Download(to.len()))?;)?
                    unsafe { self.device.download(to, from) }
                }

                unsafe fn download_pinned(
                    &self,
                    to: *mut u8,
                    from: u64,
                    bytes: usize,
                ) -> Result<(), DeviceError> {
                    $(self.$watch(Call::Other)?;)?
                    unsafe { self.device.download_pinned(to, from, bytes) }
                }

                unsafe fn copy(&self, to: u64, from: u64, bytes: usize) -> Result<(), DeviceError> {
                    $(self.$watch(Call::Other)?;)?
                    unsafe { self.device.copy(to, from, bytes) }
                }

                unsafe fn fill(&self, to: u64, byte: u8, bytes: usize) -> Result<(), DeviceError> {
                    $(self.$watch(Call::Other)?;)?
                    unsafe { self.device.fill(to, byte, bytes) }
                }
            }

            impl Launches for $before {
                fn compiles_ahead(&self) -> bool {
                    self.device.compiles_ahead()
                }

                fn load(&self, program: &Program) -> Result<Vec<Kernel>, DeviceError> {
                    $(self.$watch(Call::Other)?;)?
                    self.device.load(program)
                }

                unsafe fn launch(
                    &self,
                    kernel: Kernel,
                    grid: u32,
                    block: u32,
                    arguments: &mut [*mut c_void],
                ) -> Result<(), DeviceError> {
                    $(self.$watch(Call::Other)?;)?
                    unsafe { self.device.launch(kernel, grid, block, arguments) }
                }

                fn synchronize(&self) -> Result<(), DeviceError> {
                    $(self.$watch(Call::Wait)?;)?
                    self.device.synchronize()
                }
            }

            impl Events for $before {
                fn record(&self) -> Result<Event, DeviceError> {
                    $(self.$watch(Call::Record)?;)?
                    self.device.record()
                }

                fn record_again(&self, event: &Event) -> Result<(), DeviceError> {
                    $(self.$watch(Call::Other)?;)?
                    self.device.record_again(event)
                }

                fn passed(&self, event: &Event) -> Result<bool, DeviceError> {
                    $(self.$watch(Call::Other)?;)?
                    self.device.passed(event)
                }

                fn wait(&self, event: &Event) -> Result<(), DeviceError> {
                    $(self.$watch(Call::Other)?;)?
                    self.device.wait(event)
                }

                fn seconds(&self, from: &Event, to: &Event) -> Result<f64, DeviceError> {
                    $(self.$watch(Call::Other)?;)?
                    self.device.seconds(from, to)
                }

                fn discard(&self, event: Event) {
                    $(let _ = self.$watch(Call::Discard);)?
                    self.device.discard(event);
                }
            }
        };
    };
}

/// The host's memory of such a type.
macro_rules! forward_host_memory {
    ($before:ty) => {
        impl $crate::device::HostAllocations for $before {
            fn allocate_pinned(&self, bytes: usize) -> Result<*mut u8, DeviceError> {
                self.device.allocate_pinned(bytes)
            }

            unsafe fn release_pinned(&self, address: *mut u8) {
                // SAFETY: the caller's promise, here and below.
                unsafe { self.device.release_pinned(address) }
            }

            fn allocate_host(&self, bytes: usize) -> Result<*mut u8, DeviceError> {
                self.device.allocate_host(bytes)
            }

            unsafe fn release_host(&self, address: *mut u8) {
                unsafe { self.device.release_host(address) }
            }

            unsafe fn reach(
                &self,
                address: *mut u8,
                bytes: usize,
                is_reached: bool,
            ) -> Result<(), DeviceError> {
                unsafe { self.device.reach(address, bytes, is_reached) }
            }
        }
    };
}

pub(crate) use {forward, forward_host_memory};
