//! What a refinement does with each Gaussian: bits of its action, a u8 a Gaussian on the device.

/// It grows: it is cloned or split.
const CHOSEN: u32 = 1;
/// Its gradient equals the smallest that the limit on growth admits.
pub const EQUAL: u32 = 2;
/// It stays.
pub const KEPT: u32 = 4;
/// A copy of it is appended.
pub const CLONED: u32 = 8;
/// Its children are appended.
pub const SPLIT: u32 = 16;
/// MCMC: it is to be relocated.
pub const DEAD: u32 = 32;

/// The bits as constants of the kernels.
pub fn constants() -> [(&'static str, String); 6] {
    [
        ("CHOSEN", CHOSEN),
        ("EQUAL", EQUAL),
        ("KEPT", KEPT),
        ("CLONED", CLONED),
        ("SPLIT", SPLIT),
        ("DEAD", DEAD),
    ]
    .map(|(name, bit)| (name, format!("{bit}u")))
}
