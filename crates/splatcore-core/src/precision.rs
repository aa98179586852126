//! How exact a blend's arithmetic is: what its images are held to.

use crate::pipeline::{Backward, Blend, Pipeline};

/// Unit roundoff of an f32, relative.
pub const SINGLE: f64 = 1.0 / (1 << 24) as f64;
/// Of a half: half a unit in the last of its 11 bits.
pub const HALF: f64 = 1.0 / (1 << 11) as f64;
/// Of the sum of two halves, the second of which holds what the first leaves.
pub const TWO_HALVES: f64 = HALF * HALF;
/// Relative error of `ex2.approx.f16x2` (PTX ISA: 2^-9.9).
pub const EXP_IN_HALF: f64 = 1.05e-3;
/// Transmittance at which the fastest blend may stop at inference: a step of 8 bits.
pub const INFERENCE_MIN_TRANSMITTANCE: f64 = 1.0 / 256.0;
/// What a pixel of a large image of [`Blend::Samples`] may be off by besides, as it may be
/// interpolated from its neighbours, in scenes made to break it. Found: less than 0.007, even where
/// images of details and of short lists are sampled too. Where points are smaller than a pixel it
/// is the alpha that they can have without being looked for, a tenth.
pub const INTERPOLATED: f64 = 0.02;
/// PSNR in dB, against the same pipeline's image in f32, from which on an image counts as of equal
/// quality.
pub const EQUAL_QUALITY: f64 = 60.0;

/// The class of a blend.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Precision {
    /// f32 throughout.
    Single,
    /// Exponents as products of halves on matrix units.
    Half(Half),
}

/// Where halves enter, as relative errors. The base-2 exponent of a fragment is a polynomial in the
/// pixel's coordinates about a local origin, whose six coefficients a Gaussian has for each tile or
/// macro-tile.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Half {
    /// What the method promises, dB against the same pipeline's image in f32; `None` for an
    /// ablation that its paper shows to fail.
    pub psnr: Option<f64>,
    /// The local origin is the middle of a square of so many tiles a side.
    pub tiles: usize,
    /// Of the coefficients as the product takes them.
    pub coefficient: f64,
    /// Of the exponent as the product leaves it.
    pub score: f64,
    /// Of alpha: exp, and the format that holds it.
    pub alpha: f64,
    /// Of a fragment's weight, alpha times transmittance.
    pub weight: f64,
    /// So many fragments are weighted by a transmittance in halves before it is brought up to date
    /// in f32.
    pub batch: usize,
    /// Of a colour as it is multiplied with that.
    pub colour: f64,
    /// At inference a pixel may stop behind the fragment that leaves a transmittance below this,
    /// and need not stop where the reference does (before the one that would leave less than 1e-4);
    /// 0 if it stops there.
    pub min_transmittance: f64,
    /// What a pixel may be off by besides, as it may be interpolated; 0 if none is.
    pub interpolated: f64,
}

impl Half {
    /// Coefficients of this relative error, everything else in f32, about the middle of the tile.
    pub const fn scores(coefficient: f64, psnr: f64) -> Self {
        Self {
            psnr: Some(psnr),
            tiles: 1,
            coefficient,
            score: 4.0 * SINGLE,
            alpha: 4.0 * SINGLE,
            weight: 4.0 * SINGLE,
            batch: 1,
            colour: SINGLE,
            min_transmittance: 0.0,
            interpolated: 0.0,
        }
    }
}

impl Precision {
    /// PSNR in dB that the method promises against the same pipeline's image in f32.
    pub fn psnr(self) -> Option<f64> {
        match self {
            Precision::Single => Some(EQUAL_QUALITY),
            Precision::Half(half) => half.psnr,
        }
    }
}

/// Largest relative L2 error of the gradient of a parameter group in f32 (docs/conventions.md).
pub const GRADIENT_IN_SINGLE: f64 = 1e-4;
/// The same where products of halves make it.
pub const GRADIENT_IN_HALF: f64 = 5e-3;
/// On real scenes, of a method in f32 behind a published blend in halves: what it takes for the
/// colour behind a fragment is off by the error of the image, which counts for much where the
/// transmittance is small. The bound of docs/conventions.md is for our own methods; these are here
/// to be compared. Found on five cut-outs of a photo: 6e-3 to 2.2e-2, the means' gradients.
pub const GRADIENT_BEHIND_PUBLISHED: f64 = 3e-2;

impl Pipeline {
    /// Relative L2 error that gradients may have, each parameter group for itself, on a backend
    /// that has matrix units. Of a forward pass in halves they inherit what is wrong with its
    /// image.
    pub fn gradient_tolerance(self) -> f64 {
        match (self.blend.precision(), self.backward) {
            (_, Backward::Splatcore) => GRADIENT_IN_HALF,
            // Gradients take in what the image lost: nothing is promised.
            _ if !self.blend.blends_as_scalar() => f64::INFINITY,
            // Such a pass runs in f32 in front of any other method.
            (Precision::Single, _) => GRADIENT_IN_SINGLE,
            _ if matches!(self.blend, Blend::Splatcore | Blend::Samples) => GRADIENT_IN_SINGLE,
            _ => GRADIENT_BEHIND_PUBLISHED,
        }
    }
}

impl Blend {
    /// How exact the method is on matrix units. A backend may be more exact
    /// ([`crate::Backend::precision`]).
    pub fn precision(self) -> Precision {
        match self {
            Blend::Scalar | Blend::EarlyCull | Blend::Subtile => Precision::Single,
            Blend::Seele | Blend::GsCore | Blend::StopThePop => Precision::Single,
            // 47 to 60 dB are what the authors' code reaches.
            Blend::Frag2Mat | Blend::TcGs => Precision::Half(Half {
                score: HALF,
                ..Half::scores(HALF, 45.0)
            }),
            Blend::TcGsGlobalFp16 | Blend::TcGsGlobalTf32 => Precision::Half(Half {
                psnr: None,
                ..Half::scores(HALF, 0.0)
            }),
            // The authors' code: 61 to 65 dB.
            Blend::GemmGs
            | Blend::GemmGs32
            | Blend::GemmGs64
            | Blend::GemmGs128
            | Blend::GemmGs512 => Precision::Half(Half::scores(HALF, EQUAL_QUALITY)),
            Blend::Splatcore => Precision::Half(SPLATCORE),
            Blend::Samples => Precision::Half(Half {
                interpolated: INTERPOLATED,
                ..SPLATCORE
            }),
            Blend::TensorGs1x1 => tensor_gs(1),
            Blend::TensorGs2x2 => tensor_gs(2),
            Blend::TensorGs4x4 => tensor_gs(4),
        }
    }
}

/// About eight roundings on a weight's way through a batch. Inference keeps the transmittance in
/// halves from batch to batch, whose errors add up at random; they are held to the same.
const SPLATCORE: Half = Half {
    score: HALF,
    alpha: EXP_IN_HALF + HALF,
    weight: 8.0 * HALF,
    batch: 16,
    colour: HALF,
    min_transmittance: INFERENCE_MIN_TRANSMITTANCE,
    ..Half::scores(TWO_HALVES, EQUAL_QUALITY)
};

fn tensor_gs(tiles: usize) -> Precision {
    Precision::Half(Half {
        tiles,
        ..Half::scores(TWO_HALVES, EQUAL_QUALITY)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Only the ablation that is to fail promises nothing.
    #[test]
    fn who_promises_what() {
        let least = |blend: &Blend| blend.precision().psnr();
        for blend in Blend::ALL {
            let fails = blend.name().starts_with("tc-gs-global");
            assert_eq!(least(blend).is_none(), fails, "{blend}");
        }
        assert_eq!(least(&Blend::Splatcore), Some(EQUAL_QUALITY));
        assert_eq!(Blend::Scalar.precision(), Precision::Single);
    }
}
