//! A lens as the kernels want it.

use crate::device::Layout;
use crate::device::params::layout;
use bytemuck::{Pod, Zeroable};
use splatcore_core::lens::Projection;
use splatcore_core::{Camera, Lens};

/// `Lens` of ops/shared/lens.cuh, field by field.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub struct KernelLens {
    radial: [f32; 6],
    divisor: [f32; 3],
    tangential: [f32; 2],
    growth: [f32; 2],
    prism: [f32; 4],
    skew: f32,
    radial_first: u32,
    plane: u32,
    max_angle: f32,
    edge: f32,
    slope: f32,
    centre_cosine: f32,
    sigma_cosine: f32,
    period: f32,
}

impl KernelLens {
    /// As CUDA must have it.
    pub(crate) const LAYOUT: &'static Layout = layout!(
        Self as "Lens";
        radial: [f32; 6],
        divisor: [f32; 3],
        tangential: [f32; 2],
        growth: [f32; 2],
        prism: [f32; 4],
        skew: f32,
        radial_first: u32,
        plane: u32,
        max_angle: f32,
        edge: f32,
        slope: f32,
        centre_cosine: f32,
        sigma_cosine: f32,
        period: f32,
    );

    /// Rounds a camera's lens to f32; `None` for a pinhole.
    pub fn of(camera: &Camera) -> Option<Self> {
        if camera.lens == Lens::Pinhole {
            return None;
        }
        let projection = Projection::new(camera)?;
        let polynomial = projection.polynomial;
        Some(Self {
            radial: polynomial.radial.map(|v| v as f32),
            divisor: polynomial.divisor.map(|v| v as f32),
            tangential: polynomial.tangential.map(|v| v as f32),
            growth: polynomial.growth.map(|v| v as f32),
            prism: polynomial.prism.map(|v| v as f32),
            skew: polynomial.skew as f32,
            radial_first: polynomial.radial_first.into(),
            plane: polynomial.plane as u32,
            max_angle: projection.max_angle as f32,
            edge: projection.edge as f32,
            slope: projection.slope as f32,
            centre_cosine: projection.centre_cosine as f32,
            sigma_cosine: projection.sigma_cosine as f32,
            period: projection.period as f32,
        })
    }
}
