//! The compiler, NVRTC: found at run time wherever it may be ([`find`]), its results cached on disk
//! ([`cache`]).
//!
//! Opened by hand and not through cudarc, because cudarc cannot be told where to look, and a Python
//! environment's wheels (`pip install nvidia-cuda-nvrtc`) are where most users have it.

mod cache;
mod compile;
mod find;
mod library;

pub use cache::{cache_folder, compiled};
pub use compile::compile;
pub use find::nvrtc;
pub use library::{CompileError, Compiled, Nvrtc, REMEDY};
