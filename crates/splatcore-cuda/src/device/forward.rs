//! What devices that stand before another leave to it.

/// Copies, launches and events of a type whose field `device` is the device behind it.
macro_rules! forward {
    ($before:ty) => {
        const _: () = {
            use std::ffi::c_void;
            use $crate::device::{Copies, DeviceError, Event, Events, Kernel, Launches, Program};

            impl Copies for $before {
                unsafe fn upload(&self, to: u64, from: &[u8]) -> Result<(), DeviceError> {
                    // SAFETY: the caller's promise, here and below.
                    unsafe { self.device.upload(to, from) }
                }

                unsafe fn upload_pinned(
                    &self,
                    to: u64,
                    from: *const u8,
                    bytes: usize,
                ) -> Result<(), DeviceError> {
                    unsafe { self.device.upload_pinned(to, from, bytes) }
                }

                unsafe fn download(&self, to: &mut [u8], from: u64) -> Result<(), DeviceError> {
                    unsafe { self.device.download(to, from) }
                }

                unsafe fn download_pinned(
                    &self,
                    to: *mut u8,
                    from: u64,
                    bytes: usize,
                ) -> Result<(), DeviceError> {
                    unsafe { self.device.download_pinned(to, from, bytes) }
                }

                unsafe fn copy(&self, to: u64, from: u64, bytes: usize) -> Result<(), DeviceError> {
                    unsafe { self.device.copy(to, from, bytes) }
                }

                unsafe fn fill(&self, to: u64, byte: u8, bytes: usize) -> Result<(), DeviceError> {
                    unsafe { self.device.fill(to, byte, bytes) }
                }
            }

            impl Launches for $before {
                fn compiles_ahead(&self) -> bool {
                    self.device.compiles_ahead()
                }

                fn load(&self, program: &Program) -> Result<Vec<Kernel>, DeviceError> {
                    self.device.load(program)
                }

                unsafe fn launch(
                    &self,
                    kernel: Kernel,
                    grid: u32,
                    block: u32,
                    arguments: &mut [*mut c_void],
                ) -> Result<(), DeviceError> {
                    unsafe { self.device.launch(kernel, grid, block, arguments) }
                }

                fn synchronize(&self) -> Result<(), DeviceError> {
                    self.device.synchronize()
                }
            }

            impl Events for $before {
                fn record(&self) -> Result<Event, DeviceError> {
                    self.device.record()
                }

                fn record_again(&self, event: &Event) -> Result<(), DeviceError> {
                    self.device.record_again(event)
                }

                fn passed(&self, event: &Event) -> Result<bool, DeviceError> {
                    self.device.passed(event)
                }

                fn wait(&self, event: &Event) -> Result<(), DeviceError> {
                    self.device.wait(event)
                }

                fn seconds(&self, from: &Event, to: &Event) -> Result<f64, DeviceError> {
                    self.device.seconds(from, to)
                }

                fn discard(&self, event: Event) {
                    self.device.discard(event);
                }
            }
        };
    };
}

pub(super) use forward;
