//! Wide f32 arithmetic, chosen at run time.
//!
//! Kernels are written once, generic over [`Lanes`], and marked `#[inline(always)]`. `dispatch!`
//! instantiates a kernel for each instruction set inside a function that has the matching
//! `#[target_feature]`, so that everything inlines into code for that instruction set, and calls
//! the one for a [`Level`].
//!
//! A `Lanes` value exists only inside such a function; that is the safety argument for every
//! intrinsic here.

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
#[cfg(target_arch = "aarch64")]
mod neon;
mod portable;

mod columns;
mod dispatch;
mod functions;
mod lanes;
mod level;
#[cfg(test)]
mod tests;

#[cfg(target_arch = "x86_64")]
pub use avx2::{F32x8, Mask8};
#[cfg(target_arch = "x86_64")]
pub use avx512::{F32x16, Mask16};
#[cfg(target_arch = "aarch64")]
pub use neon::{F32x4, Mask4};
pub use portable::{Portable, PortableMask};

pub use columns::{Rows, load_all, load_columns, store_columns};
pub(crate) use dispatch::dispatch;
pub(crate) use functions::{ceil, log2_one_plus_exp2};
pub use functions::{constant, dot3};
pub use lanes::{Arithmetic, Functions, Lanes, Mask};
pub use level::{Level, detected};
