//! A card as a device: memory, copies, kernels and events through the driver.

use super::{MIN_CAPABILITY, NoCard, driver_info, no_such_card, pageable, words};
use crate::device::machine_code::{self, Code, Origin};
use crate::device::{Allocations, Copies, Device, Events, HostAllocations, Launches};
use crate::device::{DeviceError, Event, Kernel, Program, Signature, Tuned};
use cudarc::driver::{result, sys};
use std::ffi::{c_int, c_void};

/// A card with one queue. Kernels of loaded modules stay for the life of the process.
pub struct Card {
    /// The device's primary context, which the CUDA runtime and thus torch use too.
    context: sys::CUcontext,
    stream: sys::CUstream,
    /// Whether the stream is another library's ([`Card::on_stream`]).
    is_borrowed: bool,
    name: String,
    capability: u32,
    multiprocessors: u32,
    driver: i32,
    /// Whether a kernel may be launched before the one in front of it has ended.
    overlaps: bool,
}

// SAFETY: the driver's calls are thread-safe once the context is current, which every method sees
// to.
unsafe impl Send for Card {}
// SAFETY: as above.
unsafe impl Sync for Card {}

pub(super) fn failed(what: &str) -> impl Fn(result::DriverError) -> DeviceError + '_ {
    move |error| {
        let remedy = match error.0 {
            sys::CUresult::CUDA_ERROR_ILLEGAL_ADDRESS
            | sys::CUresult::CUDA_ERROR_LAUNCH_FAILED
            | sys::CUresult::CUDA_ERROR_MISALIGNED_ADDRESS => {
                "; this is a defect of splatcore, please report it; the last checkpoint is still \
                 good"
            }
            sys::CUresult::CUDA_ERROR_LAUNCH_TIMEOUT => {
                "; the system ends kernels on cards that drive a display after some seconds: use \
                 smaller photos"
            }
            sys::CUresult::CUDA_ERROR_INVALID_CONTEXT
            | sys::CUresult::CUDA_ERROR_DEVICE_UNAVAILABLE
            | sys::CUresult::CUDA_ERROR_NO_DEVICE
            | sys::CUresult::CUDA_ERROR_ECC_UNCORRECTABLE
            | sys::CUresult::CUDA_ERROR_UNKNOWN => {
                "; the card may have been taken away or reset: check nvidia-smi, then go \
                 on from the last checkpoint"
            }
            _ => "",
        };
        DeviceError::Failed(format!("{what}: {}{remedy}", words(error)))
    }
}

/// Least compute capability on which a kernel can await its predecessor by itself.
const OVERLAPPING_CAPABILITY: u32 = 90;
/// The variable that, set to 0, has every kernel launched only when the one before it has ended, to
/// see what that costs.
const OVERLAP_VARIABLE: &str = "SPLATCORE_OVERLAP";

impl Card {
    /// Opens a card by its number, or the first.
    ///
    /// # Errors
    /// If there is no driver, no such card, or it is too old.
    pub fn open(ordinal: Option<usize>) -> Result<Self, NoCard> {
        let info = driver_info()?;
        let ordinal = ordinal.unwrap_or(0);
        let Some((name, capability, _)) = info.cards.get(ordinal) else {
            return Err(no_such_card(ordinal, &info.cards));
        };
        if *capability < MIN_CAPABILITY {
            return Err(NoCard {
                reason: format!(
                    "{name} has compute capability {}.{}, at least 7.5 (Turing) is needed",
                    capability / 10,
                    capability % 10
                ),
                remedy: "compute on the processor".into(),
            });
        }
        let stuck = |error| NoCard {
            reason: format!("{name} cannot be opened: {}", words(error)),
            remedy: "check nvidia-smi for other programs that hold it".into(),
        };
        // SAFETY: the device is valid; the primary context stays for the life of the process.
        unsafe {
            let device = result::device::get(ordinal as c_int).map_err(stuck)?;
            let context = result::primary_ctx::retain(device).map_err(stuck)?;
            result::ctx::set_current(context).map_err(stuck)?;
            let stream =
                result::stream::create(result::stream::StreamKind::NonBlocking).map_err(stuck)?;
            let multiprocessors = result::device::get_attribute(
                device,
                sys::CUdevice_attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT,
            )
            .map_err(stuck)?;
            Ok(Self {
                context,
                stream,
                is_borrowed: false,
                name: name.clone(),
                capability: *capability,
                overlaps: *capability >= OVERLAPPING_CAPABILITY
                    && std::env::var_os(OVERLAP_VARIABLE).is_none_or(|wish| wish != "0"),
                multiprocessors: multiprocessors as u32,
                driver: info.version,
            })
        }
    }

    /// From now on memory that [`Card::on_stream`]'s queues free is kept for their next
    /// allocations, where it would go back to the system at every wait for the card: taking it anew
    /// costs more than a sort. It is the device's default pool, which CUDA's runtime has too.
    ///
    /// # Errors
    /// If the driver refuses.
    pub fn keep_freed_memory(&self) -> Result<(), DeviceError> {
        self.current()?;
        let wrong = failed("the memory pool");
        let mut pool = std::ptr::null_mut();
        let mut threshold = u64::MAX;
        let attribute = sys::CUmemPool_attribute::CU_MEMPOOL_ATTR_RELEASE_THRESHOLD;
        // SAFETY: the context is current, and the attribute's value is a u64.
        unsafe {
            let mut device = 0;
            sys::cuCtxGetDevice(&mut device).result().map_err(&wrong)?;
            sys::cuDeviceGetDefaultMemPool(&mut pool, device)
                .result()
                .map_err(&wrong)?;
            let value = (&raw mut threshold).cast();
            sys::cuMemPoolSetAttribute(pool, attribute, value)
                .result()
                .map_err(&wrong)
        }
    }

    /// The same card with another library's stream, a raw `CUstream`, as its queue; 0 is the legacy
    /// default stream. Memory is allocated and freed in the order of the stream, so that neither
    /// waits for the card. Each kernel is launched when the one in front of it has ended, because
    /// that one may be another library's.
    ///
    /// # Safety
    /// The stream belongs to the primary context of this card and lives as long as the result.
    pub unsafe fn on_stream(&self, stream: u64) -> Self {
        Self {
            context: self.context,
            stream: stream as usize as sys::CUstream,
            is_borrowed: true,
            name: self.name.clone(),
            capability: self.capability,
            multiprocessors: self.multiprocessors,
            driver: self.driver,
            overlaps: false,
        }
    }

    /// The queue as the driver knows it, for experiments that talk to the driver themselves.
    pub fn stream(&self) -> sys::CUstream {
        self.stream
    }

    /// The context, for libraries that are given the stream too.
    pub fn context(&self) -> sys::CUcontext {
        self.context
    }

    fn current(&self) -> Result<(), DeviceError> {
        // SAFETY: the context lives as long as self.
        unsafe { result::ctx::set_current(self.context) }.map_err(failed("the card"))
    }
}

impl Drop for Card {
    fn drop(&mut self) {
        if !self.is_borrowed && self.current().is_ok() {
            // SAFETY: nobody else has the stream.
            let _ = unsafe { result::stream::destroy(self.stream) };
        }
    }
}

impl Device for Card {
    fn describe(&self) -> String {
        format!(
            "{}, compute capability {}.{}, driver for CUDA {}.{}",
            self.name,
            self.capability / 10,
            self.capability % 10,
            self.driver / 1000,
            self.driver % 1000 / 10
        )
    }

    fn capability(&self) -> u32 {
        self.capability
    }

    fn multiprocessors(&self) -> u32 {
        self.multiprocessors
    }
}

impl Allocations for Card {
    fn allocate(&self, bytes: usize) -> Result<u64, DeviceError> {
        self.current()?;
        // SAFETY: the context is current.
        let memory = unsafe {
            match self.is_borrowed {
                true => result::malloc_async(self.stream, bytes),
                false => result::malloc_sync(bytes),
            }
        };
        memory.map_err(|error| match error.0 {
            sys::CUresult::CUDA_ERROR_OUT_OF_MEMORY => DeviceError::OutOfMemory {
                bytes: bytes as u64,
                free: self.memory().0,
            },
            _ => failed("allocating memory")(error),
        })
    }

    unsafe fn release(&self, address: u64) {
        if self.current().is_ok() {
            // SAFETY: the caller's promise. `free_sync` waits for the device.
            let _ = unsafe {
                match self.is_borrowed {
                    true => result::free_async(address, self.stream),
                    false => result::free_sync(address),
                }
            };
        }
    }

    fn memory(&self) -> (u64, u64) {
        let read = || {
            self.current().ok()?;
            result::mem_get_info().ok()
        };
        read().map_or((0, 0), |(free, total)| (free as u64, total as u64))
    }
}

impl HostAllocations for Card {
    fn allocate_pinned(&self, bytes: usize) -> Result<*mut u8, DeviceError> {
        self.current()?;
        // SAFETY: the context is current; the memory is written before it is given away.
        unsafe {
            let address = result::malloc_host(bytes, 0).map_err(|error| match error.0 {
                sys::CUresult::CUDA_ERROR_OUT_OF_MEMORY => DeviceError::OutOfMemory {
                    bytes: bytes as u64,
                    free: 0,
                },
                _ => failed("allocating pinned host memory")(error),
            })?;
            std::ptr::write_bytes(address.cast::<u8>(), 0, bytes);
            Ok(address.cast())
        }
    }

    unsafe fn release_pinned(&self, address: *mut u8) {
        if self.current().is_ok() {
            // SAFETY: the caller's promise.
            let _ = unsafe { result::free_host(address.cast()) };
        }
    }

    unsafe fn reach(&self, _: *mut u8, _: usize, is_reached: bool) -> Result<(), DeviceError> {
        self.current()?;
        // SAFETY: the context is current.
        match is_reached {
            true => unsafe { pageable::check() },
            false => Ok(()),
        }
    }
}

impl Copies for Card {
    unsafe fn upload(&self, to: u64, from: &[u8]) -> Result<(), DeviceError> {
        self.current()?;
        // SAFETY: the caller's promise. From pageable memory the driver copies before it returns.
        unsafe { result::memcpy_htod_async(to, from, self.stream) }
            .map_err(failed("copying to the card"))?;
        self.synchronize()
    }

    unsafe fn upload_pinned(
        &self,
        to: u64,
        from: *const u8,
        bytes: usize,
    ) -> Result<(), DeviceError> {
        self.current()?;
        // SAFETY: the caller's promise.
        unsafe {
            result::memcpy_htod_async(to, std::slice::from_raw_parts(from, bytes), self.stream)
        }
        .map_err(failed("copying to the card"))
    }

    unsafe fn download(&self, to: &mut [u8], from: u64) -> Result<(), DeviceError> {
        self.current()?;
        // SAFETY: the caller's promise.
        unsafe { result::memcpy_dtoh_async(to, from, self.stream) }
            .map_err(failed("copying from the card"))?;
        self.synchronize()
    }

    unsafe fn download_pinned(
        &self,
        to: *mut u8,
        from: u64,
        bytes: usize,
    ) -> Result<(), DeviceError> {
        self.current()?;
        // SAFETY: the caller's promise.
        unsafe {
            result::memcpy_dtoh_async(std::slice::from_raw_parts_mut(to, bytes), from, self.stream)
        }
        .map_err(failed("copying from the card"))
    }

    unsafe fn copy(&self, to: u64, from: u64, bytes: usize) -> Result<(), DeviceError> {
        self.current()?;
        // SAFETY: the caller's promise.
        unsafe { result::memcpy_dtod_async(to, from, bytes, self.stream) }
            .map_err(failed("copying on the card"))
    }

    unsafe fn fill(&self, to: u64, byte: u8, bytes: usize) -> Result<(), DeviceError> {
        self.current()?;
        // SAFETY: the caller's promise.
        unsafe { result::memset_d8_async(to, byte, bytes, self.stream) }
            .map_err(failed("filling memory"))
    }
}

/// Loads code into the current context.
fn module(code: Code) -> Result<sys::CUmodule, result::DriverError> {
    // PTX is text that ends with a NUL; machine code knows its length.
    let mut bytes = code.bytes;
    bytes.push(0);
    // SAFETY: the bytes are a complete module.
    unsafe { result::module::load_data(bytes.as_ptr().cast()) }
}

impl Launches for Card {
    // A step that waits for its compiler leaves the card idle for a second.
    fn compiles_ahead(&self) -> bool {
        true
    }

    fn load(&self, program: &Program) -> Result<Vec<Kernel>, DeviceError> {
        self.current()?;
        let what = format!("loading {}", program.name());
        let tuned = Tuned::of(program).map_err(DeviceError::Failed)?;
        let awaits = self.overlaps && Program::awaits(&program.source());
        let (capability, driver) = (self.capability, self.driver);
        let code = machine_code::of(program, capability, driver)?;
        let origin = code.origin;
        let module = match (module(code), origin) {
            // A driver may be too old for machine code of a newer compiler.
            (Err(_), Origin::BuiltIn) => {
                module(machine_code::of_compiler(program, capability, driver)?)
            }
            (module, _) => module,
        };
        let module = module.map_err(failed(&what))?;
        // SAFETY: the module was loaded just now.
        unsafe {
            let find = |kernel: &Signature| {
                let name = std::ffi::CString::new(kernel.name)
                    .map_err(|_| DeviceError::Failed("a kernel's name holds a NUL".into()))?;
                let function = result::module::get_function(module, name).map_err(failed(&what))?;
                Ok(Kernel {
                    address: function as usize,
                    awaits,
                    params: kernel.params,
                    tuned,
                })
            };
            program.kernels.iter().map(find).collect()
        }
    }

    unsafe fn launch(
        &self,
        kernel: Kernel,
        grid: u32,
        block: u32,
        arguments: &mut [*mut c_void],
    ) -> Result<(), DeviceError> {
        self.current()?;
        let function = kernel.address as sys::CUfunction;
        if !kernel.awaits || self.is_borrowed {
            // SAFETY: the kernel came from `load`, the arguments are the caller's promise.
            return unsafe {
                result::launch_kernel(
                    function,
                    (grid, 1, 1),
                    (block, 1, 1),
                    0,
                    self.stream,
                    arguments,
                )
            }
            .map_err(failed("launching a kernel"));
        }
        let mut early = sys::CUlaunchAttribute {
            id: sys::CUlaunchAttributeID::CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION,
            pad: [0; 4],
            value: sys::CUlaunchAttributeValue {
                programmaticStreamSerializationAllowed: 1,
            },
        };
        let config = sys::CUlaunchConfig {
            gridDimX: grid,
            gridDimY: 1,
            gridDimZ: 1,
            blockDimX: block,
            blockDimY: 1,
            blockDimZ: 1,
            sharedMemBytes: 0,
            hStream: self.stream,
            attrs: &raw mut early,
            numAttrs: 1,
        };
        // SAFETY: as above; drivers know this call from CUDA 11.8 on, as they do the cards that
        // await.
        unsafe {
            sys::cuLaunchKernelEx(
                &raw const config,
                function,
                arguments.as_mut_ptr(),
                std::ptr::null_mut(),
            )
        }
        .result()
        .map_err(failed("launching a kernel"))
    }

    fn synchronize(&self) -> Result<(), DeviceError> {
        self.current()?;
        // SAFETY: the stream lives as long as self.
        unsafe { result::stream::synchronize(self.stream) }.map_err(failed("the card"))
    }
}

impl Events for Card {
    fn record(&self) -> Result<Event, DeviceError> {
        self.current()?;
        let event = result::event::create(sys::CUevent_flags::CU_EVENT_DEFAULT)
            .map_err(failed("an event"))?;
        let event = Event(event as usize);
        self.record_again(&event)?;
        Ok(event)
    }

    fn record_again(&self, event: &Event) -> Result<(), DeviceError> {
        self.current()?;
        // SAFETY: the event came from `record`.
        unsafe { result::event::record(event.0 as sys::CUevent, self.stream) }
            .map_err(failed("an event"))
    }

    fn passed(&self, event: &Event) -> Result<bool, DeviceError> {
        self.current()?;
        // SAFETY: the event came from `record`.
        match unsafe { result::event::query(event.0 as sys::CUevent) } {
            Ok(()) => Ok(true),
            Err(error) if error.0 == sys::CUresult::CUDA_ERROR_NOT_READY => Ok(false),
            Err(error) => Err(failed("the card")(error)),
        }
    }

    fn wait(&self, event: &Event) -> Result<(), DeviceError> {
        self.current()?;
        // SAFETY: the event came from `record`.
        unsafe { result::event::synchronize(event.0 as sys::CUevent) }.map_err(failed("the card"))
    }

    fn seconds(&self, from: &Event, to: &Event) -> Result<f64, DeviceError> {
        self.current()?;
        // SAFETY: the events came from `record`.
        unsafe { result::event::elapsed(from.0 as sys::CUevent, to.0 as sys::CUevent) }
            .map(|ms| ms as f64 * 1e-3)
            .map_err(failed("an event"))
    }

    fn discard(&self, event: Event) {
        if self.current().is_ok() {
            // SAFETY: the event came from `record` and is given up.
            let _ = unsafe { result::event::destroy(event.0 as sys::CUevent) };
        }
    }
}
