//! A lens, and a rolling shutter, as the kernels want them.

use crate::device::params::shared_struct;
use bytemuck::Zeroable;
use splatcore_core::Camera;
use splatcore_core::camera::{dot, normalize};
use splatcore_core::lens::{Projection, Rolling};

/// What kernels are compiled for: their constant `LENS`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum LensKind {
    /// A pinhole with a global shutter.
    #[default]
    Pinhole,
    /// A lens with a global shutter.
    Lens,
    /// A rolling shutter, with a lens or without.
    Rolling,
}

impl LensKind {
    /// Each.
    pub const ALL: [Self; 3] = [Self::Pinhole, Self::Lens, Self::Rolling];

    /// Of a camera.
    pub fn of(camera: &Camera) -> Self {
        match camera.shutter {
            _ if camera.is_pinhole() => Self::Pinhole,
            None => Self::Lens,
            Some(_) => Self::Rolling,
        }
    }
}

shared_struct! {
    /// `Lens` of ops/shared/lens.cuh, field by field.
    pub struct KernelLens as "Lens" {
        radial: [f32; 6],
        odd: [f32; 6],
        divisor: [f32; 3],
        tangential: [f32; 2],
        growth: [f32; 2],
        prism: [f32; 4],
        skew: [f32; 2],
        has_odd: u32,
        radial_first: u32,
        plane: u32,
        max_angle: f32,
        edge: f32,
        slope: f32,
        centre_cosine: f32,
        sigma_cosine: f32,
        period: f32,
        turn_axis: [f32; 3],
        turn: f32,
        shift: [f32; 3],
        row_time: f32,
        time_slope: [f32; 2],
    }
}

impl KernelLens {
    /// Rounds a camera's lens and shutter to f32; `None` for a pinhole with a global shutter.
    pub fn of(camera: &Camera) -> Option<Self> {
        match camera.is_pinhole() {
            true => None,
            false => Self::unscented(camera),
        }
    }

    /// The same, and of a pinhole the lens that bends nothing; `None` for a lens that is no
    /// polynomial.
    pub fn unscented(camera: &Camera) -> Option<Self> {
        let projection = Projection::new(camera)?;
        let polynomial = projection.polynomial;
        let still = Self {
            radial: polynomial.radial.map(|v| v as f32),
            odd: polynomial.odd.map(|v| v as f32),
            divisor: polynomial.divisor.map(|v| v as f32),
            tangential: polynomial.tangential.map(|v| v as f32),
            growth: polynomial.growth.map(|v| v as f32),
            prism: polynomial.prism.map(|v| v as f32),
            skew: polynomial.skew.map(|v| v as f32),
            has_odd: (polynomial.odd != [0.0; 6]).into(),
            radial_first: polynomial.radial_first.into(),
            plane: polynomial.plane as u32,
            max_angle: projection.max_angle as f32,
            edge: projection.edge as f32,
            slope: projection.slope as f32,
            centre_cosine: projection.centre_cosine as f32,
            sigma_cosine: projection.sigma_cosine as f32,
            period: projection.period as f32,
            ..Self::zeroed()
        };
        let Some(Rolling { shutter, times }) = projection.rolling else {
            return Some(still);
        };
        let turn = dot(shutter.turn, shutter.turn).sqrt();
        let axis = normalize(shutter.turn).unwrap_or([0.0; 3]);
        let [x, y] = [0, 1].map(|i| times.slope[i] * projection.centre[i]);
        Some(Self {
            turn_axis: axis.map(|v| v as f32),
            turn: turn as f32,
            shift: shutter.shift.map(|v| v as f32),
            row_time: (times.first + x + y) as f32,
            time_slope: times.slope.map(|v| v as f32),
            ..still
        })
    }

    /// Which kernels take it.
    pub fn kind(&self) -> LensKind {
        match self.time_slope {
            [0.0, 0.0] => LensKind::Lens,
            _ => LensKind::Rolling,
        }
    }
}
