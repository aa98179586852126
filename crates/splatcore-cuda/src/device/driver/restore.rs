//! The calling thread's current context, put back when a call ends: another library, such as the
//! CUDA runtime below torch, takes its current device from it.

use cudarc::driver::{result, sys};

/// Makes the context that was current when this was made current again when this is dropped. Stays
/// in its thread.
pub struct RestoreContext(sys::CUcontext);

impl RestoreContext {
    /// Notes the current context, which may be none. The driver is open.
    pub fn new() -> Self {
        let current = result::ctx::get_current().ok().flatten();
        Self(current.unwrap_or(std::ptr::null_mut()))
    }
}

impl Default for RestoreContext {
    fn default() -> Self {
        Self::new()
    }
}

impl Drop for RestoreContext {
    fn drop(&mut self) {
        // SAFETY: the context was current, so it is valid or none; setting it fails at worst.
        let _ = unsafe { sys::cuCtxSetCurrent(self.0) };
    }
}
