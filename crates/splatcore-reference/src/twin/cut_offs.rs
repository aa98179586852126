//! The rasterizer's thresholds, and how far roundings near one could move a pixel.

/// A comparison of alpha is in doubt within this relative distance.
pub const ALPHA_WINDOW: f64 = 1e-3;
/// A comparison of transmittance is in doubt within this relative distance: errors of many alphas
/// add up.
pub const TRANSMITTANCE_WINDOW: f64 = 2e-3;
/// The order of two different depths is in doubt within this relative distance.
pub const DEPTH_WINDOW: f64 = 4e-6;

/// Whether the rasterizer's thresholds apply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CutOffs {
    /// As published.
    Reference,
    /// No tile lists, no least alpha, no cap, no early stop: smooth in every parameter.
    None,
}

/// What roundings could do to a pixel.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Doubt {
    /// Most that a colour channel could move.
    pub colour: f64,
    /// Most that the transmittance could move.
    pub transmittance: f64,
    /// Whether any comparison is in doubt, those included that move only gradients (the cap on
    /// alpha).
    pub any: bool,
}
