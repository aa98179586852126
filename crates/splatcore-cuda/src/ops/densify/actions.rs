//! What a refinement does with each Gaussian: bits of its action, a u8 a Gaussian on the device, as
//! in gaussian_actions.cuh.

/// Its gradient equals the smallest that the limit on growth admits.
pub const EQUAL: u32 = 2;
/// It stays.
pub const KEPT: u32 = 4;
/// A copy of it is appended.
pub const CLONED: u32 = 8;
/// Two children of it are appended.
pub const SPLIT: u32 = 16;
/// MCMC: it is to be relocated.
pub const DEAD: u32 = 32;
