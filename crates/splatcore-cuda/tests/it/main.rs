//! The one test that cannot be a unit test: it counts the bytes of the heap, so it needs a global
//! allocator and a process in which no other test allocates. All other tests of this crate are unit
//! tests in `src`.

mod long_run;
// What a helper of the unit tests forwards by.
#[path = "../../src/device/forward.rs"]
#[allow(unused)] // a watching device forwards no memory of the host
mod forward;
// A helper of the unit tests. It names this crate's items `crate::...`, hence the imports.
#[path = "../../src/tests/support/watched.rs"]
#[allow(dead_code)] // long_run does not use everything
mod watched;

use splatcore_cuda::{CudaBackend, device};
