//! How exact a blend's arithmetic is: what its images are held to.

use crate::semantics::TRANSMITTANCE_MIN;

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
/// What a pixel may be off by besides with [`crate::backend::RenderOptions::interpolate`], as it
/// may be interpolated from its neighbours, in scenes made to break it. Found: less than 0.007,
/// even where images of details and of short lists are sampled too. Where points are smaller than a
/// pixel it is the alpha that they can have without being looked for, a tenth.
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
    /// The local origin is near the middle of a square of so many tiles a side.
    pub tiles: usize,
    /// Pixels from that middle, a corner of four pixels, to the local origin, right and down: 0, or
    /// 0.5 if it is a pixel's centre. The coefficients, their errors and the monomials that those
    /// are multiplied by depend on it.
    pub off_middle: f64,
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
    /// Of the transmittance as a pixel keeps it from one fragment to the next; 0 where `weight`
    /// covers it.
    pub transmittance: f64,
    /// Of a colour as it is multiplied with that.
    pub colour: f64,
    /// Of the sum of colours, by each fragment that is added to it.
    pub sum: f64,
    /// At inference a pixel may stop behind the fragment that leaves a transmittance below this,
    /// and need not stop where the reference does (before the one that would leave less than 1e-4);
    /// 0 if it stops there.
    pub min_transmittance: f64,
}

impl Half {
    /// Coefficients of this relative error, everything else in f32, about the middle of the tile.
    pub const fn scores(coefficient: f64, psnr: f64) -> Self {
        Self {
            psnr: Some(psnr),
            tiles: 1,
            off_middle: 0.0,
            coefficient,
            score: 4.0 * SINGLE,
            alpha: 4.0 * SINGLE,
            weight: 4.0 * SINGLE,
            batch: 1,
            transmittance: 0.0,
            colour: SINGLE,
            sum: 2.0 * SINGLE,
            min_transmittance: 0.0,
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

/// dB that a method promises whose coefficients are halves about the middle of a tile, and whose
/// scores may be too: 47 to 60 dB are what TC-GS's authors' code reaches.
const PLAIN_HALVES: f64 = 45.0;

pub(crate) const TC_GS: Half = Half {
    score: HALF,
    ..Half::scores(HALF, PLAIN_HALVES)
};

/// What is left of [`PLAIN_HALVES`] where the transmittance is rounded to a half behind every
/// fragment. A rounding moves the pixel by its error times the colour behind, at most 1: by T 2^-11
/// at most, T 2^-11 / sqrt(3) as the root of the mean square. T shrinks by 254/255 or faster, so
/// that the sum of T^2 is 128 at most, and independent roundings add up to 3.2e-3, 50 dB. With an
/// independent error at 45 dB that is 43.8 dB.
pub(crate) const TC_GS_HALF_PSNR: f64 = 43.5;

/// What is left of [`TC_GS_HALF_PSNR`] where the sums of colour are halves as well. A sum is 1 at
/// most, so that each of n fragments moves it by 2^-11 / sqrt(3) as the root of the mean square:
/// 500 of them by 6.3e-3, 44 dB. With an independent error at 43.5 dB that is 40.7 dB.
const TC_GS_RELEASED_PSNR: f64 = 40.5;

/// The arithmetic of the code that TC-GS's authors released.
pub(crate) const TC_GS_RELEASED: Half = Half {
    psnr: Some(TC_GS_RELEASED_PSNR),
    alpha: EXP_IN_HALF + HALF,
    weight: 2.0 * HALF,
    transmittance: HALF,
    colour: HALF,
    sum: HALF,
    min_transmittance: TRANSMITTANCE_MIN,
    ..TC_GS
};

/// About eight roundings on a weight's way through a batch. Inference keeps the transmittance in
/// halves from batch to batch, whose errors add up at random; they are held to the same.
pub(crate) const SPLATCORE: Half = Half {
    score: HALF,
    alpha: EXP_IN_HALF + HALF,
    weight: 8.0 * HALF,
    batch: 16,
    colour: HALF,
    min_transmittance: INFERENCE_MIN_TRANSMITTANCE,
    ..Half::scores(TWO_HALVES, EQUAL_QUALITY)
};

/// [`Half::off_middle`] of TensorGS. About a pixel's centre coordinates are whole, up to 32, and
/// halves hold their squares; about the middle those of 4x4 tiles have 12 bits.
const PIXEL_CENTRE: f64 = 0.5;

pub(crate) fn tensor_gs(tiles: usize) -> Precision {
    Precision::Half(Half {
        tiles,
        off_middle: PIXEL_CENTRE,
        ..Half::scores(TWO_HALVES, EQUAL_QUALITY)
    })
}

/// With 1x1 tiles the coefficients are those of `frag2mat`, and nothing else is a half. A
/// score is a sum of terms of second order in the distance of pixel and mean from the origin, which
/// grows with the side of the macro-tile: twice the side is four times the error, 12 dB.
pub(crate) fn tensor_gs_half(tiles: usize) -> Precision {
    let psnr = PLAIN_HALVES - 40.0 * (tiles as f64).log10();
    Precision::Half(Half {
        tiles,
        off_middle: PIXEL_CENTRE,
        ..Half::scores(HALF, psnr)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pipeline::Blend;

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

    /// The derivation of [`TC_GS_HALF_PSNR`], with a pixel's roundings summed one by one.
    #[test]
    fn what_a_transmittance_in_halves_costs() {
        let (mut transmittance, mut square) = (1.0f64, 0.0);
        while transmittance >= 1e-4 {
            transmittance *= 1.0 - 1.0 / 255.0;
            square += (transmittance * HALF).powi(2) / 3.0;
        }
        let both = square + 10f64.powf(-0.1 * PLAIN_HALVES);
        let left = -10.0 * both.log10();
        assert!(
            left > TC_GS_HALF_PSNR && left < TC_GS_HALF_PSNR + 0.5,
            "{left}"
        );
    }
}
