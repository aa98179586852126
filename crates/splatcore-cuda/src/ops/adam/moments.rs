//! How a Gaussian's parameters and Adam's moments lie on the device; the kernels' side is
//! `ops/adam/moments.cuh`, and of harmonics `ops/shared/harmonic_rows.cuh`.
//!
//! A Gaussian at SH degree 3 has 59 numbers: 236 bytes of parameters, 8 of statistics, and 472 of
//! moments in f32, 188 compact or 70 of second moments alone, in all 716, 432 or 314; with 48
//! harmonics as halves 218. What is rounded is rounded by chance so that its expectation is right.
//! What rounding costs:
//! - First moments as [`Format::Bf16`] differ from the true ones by some 1 %, without bias.
//! - Second moments of the harmonics as [`Format::Log8`]: decay by 0.001 a step now and then takes
//!   a whole step down the codes, so a second moment wanders about its expectation, the true one.
//!   Simulated, 6000 steps, gradients normal: by 39 %, the step length by 19 %, and steps are 5 %
//!   longer on average; seen in 3 % of the steps only: 54, 25 and 9 %. A gradient pulls a low one
//!   up at once, so of 20,000 none took steps more than 3 times Adam's.
//!
//! The range of [`Format::Log8`], 3.5e-31 to 64, follows from the gradients. Above: a second moment
//! is at most the largest squared gradient, and a harmonic's gradient at most the basis, 1.1, times
//! the sum of the loss's over one channel of all pixels: 1/3 of 0.8 for L1 and of 0.2 * 100 for
//! SSIM, whose slope is at most some 1 / sqrt(C1), in black surroundings. That is below 8. Below:
//! the square of Adam's epsilon, 1e-30. Beneath that epsilon rules the quotient, and taking 0 for a
//! second moment changes little; a higher bottom would let tiny first moments be divided by epsilon
//! alone, a huge step.

use crate::ops::constants::float;
use crate::ops::groups;
use crate::ops::project::half;
use rayon::prelude::*;

/// How moments are stored, and harmonics.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Moments {
    /// f32, 8 bytes a number.
    #[default]
    Full,
    /// First moments bf16; second moments bf16, of spherical harmonics 8 bits; 3 to 4 bytes a
    /// number.
    Compact,
    /// Second moments as of [`Moments::Compact`], no first ones; 1 to 2 bytes a number. For steps
    /// in which the first decay is 0 ([`splatcore_core::backend::StepPlan::betas`]).
    Second,
    /// As [`Moments::Second`], and harmonics of degree 3 as halves, 2 bytes in place of 4.
    Small,
}

impl Moments {
    /// Formats of parameters, first and second moments of a group (see [`groups::GROUPS`]), of
    /// Gaussians whose harmonics have this degree.
    pub fn formats(self, group: usize, sh_degree: u8) -> [Format; 3] {
        let is_sh = group == groups::SH;
        let parameters = match is_sh && self.has_halves(sh_degree) {
            true => Format::Half,
            false => Format::F32,
        };
        let compact = match is_sh {
            true => Format::Log8,
            false => Format::Bf16,
        };
        let [first, second] = match self {
            Self::Full => [Format::F32; 2],
            Self::Compact => [Format::Bf16, compact],
            Self::Second | Self::Small => [Format::Nothing, compact],
        };
        [parameters, first, second]
    }

    /// Whether first moments are kept.
    pub fn keeps_first(self) -> bool {
        matches!(self, Self::Full | Self::Compact)
    }

    /// Whether harmonics of this degree are halves: where rows of them have the length of rows of
    /// floats, and are whole pieces of 16 bytes.
    pub fn has_halves(self, sh_degree: u8) -> bool {
        self == Self::Small && sh_degree == 3
    }
}

/// How one number is stored. All bits zero is 0 in every format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Format {
    /// As it is.
    F32,
    /// The high half of an f32.
    Bf16,
    /// IEEE 754 binary16; what is beyond its range is the largest there is.
    Half,
    /// Code 0 is 0; code c is `2^(6 - 27/64 (255 - c))`, neighbours a factor 1.34 apart. For values
    /// that are not negative.
    Log8,
    /// Not at all: every number is read as 0.
    Nothing,
}

/// Exponent of the largest value of [`Format::Log8`].
const LOG8_TOP: f64 = 6.0;
/// Exponent between two codes: a fraction of a power of two, so that exponents are exact.
const LOG8_STEP: f64 = 27.0 / 64.0;

/// The constants of moments.cuh.
pub(super) fn constants() -> [(&'static str, String); 3] {
    [
        float("LOG8_TOP", LOG8_TOP),
        float("LOG8_STEP", LOG8_STEP),
        float("LOG8_RATIO", LOG8_STEP.exp2()),
    ]
}

impl Format {
    /// Bytes of a number.
    pub fn bytes(self) -> usize {
        match self {
            Self::F32 => 4,
            Self::Bf16 | Self::Half => 2,
            Self::Log8 => 1,
            Self::Nothing => 0,
        }
    }

    /// Numbers as they are stored, each rounded to nearest (of two equally near ones bf16 takes the
    /// even one). What [`Format::decode`] gave becomes what it was.
    pub fn encode(self, numbers: &[f32]) -> Vec<u8> {
        match self {
            Self::F32 => bytemuck::cast_slice(numbers).to_vec(),
            Self::Bf16 => {
                let halves = numbers.par_iter().map(|&v| bf16(v).to_ne_bytes());
                halves.collect::<Vec<[u8; 2]>>().into_flattened()
            }
            Self::Half => {
                let half = |&v: &f32| half::bits(v).to_ne_bytes();
                let halves = numbers.par_iter().map(half);
                halves.collect::<Vec<[u8; 2]>>().into_flattened()
            }
            Self::Log8 => {
                let values = log8_values();
                // From here on the next code is nearer.
                let middles: Vec<f64> = values
                    .windows(2)
                    .map(|pair| (pair[0] as f64 + pair[1] as f64) / 2.0)
                    .collect();
                let code = |&v: &f32| middles.partition_point(|&middle| middle < v as f64) as u8;
                numbers.par_iter().map(code).collect()
            }
            Self::Nothing => Vec::new(),
        }
    }

    /// Numbers from how they are stored; as many as there are both places and bytes for. Of
    /// [`Format::Nothing`] all.
    pub fn decode(self, stored: &[u8], numbers: &mut [f32]) {
        match self {
            Self::F32 => {
                for (number, &bytes) in numbers.iter_mut().zip(stored.as_chunks().0) {
                    *number = f32::from_ne_bytes(bytes);
                }
            }
            Self::Bf16 => {
                let of = |bytes| f32::from_bits((u16::from_ne_bytes(bytes) as u32) << 16);
                let halves = numbers.par_iter_mut().zip(stored.as_chunks().0);
                halves.for_each(|(number, &bytes)| *number = of(bytes));
            }
            Self::Half => {
                let halves = numbers.par_iter_mut().zip(stored.as_chunks().0);
                halves.for_each(|(number, &bytes)| {
                    *number = half::number(u16::from_ne_bytes(bytes));
                });
            }
            Self::Log8 => {
                let values = log8_values();
                let codes = numbers.par_iter_mut().zip(stored);
                codes.for_each(|(number, &code)| *number = values[code as usize]);
            }
            Self::Nothing => numbers.fill(0.0),
        }
    }
}

/// The nearest bf16.
fn bf16(value: f32) -> u16 {
    let bits = value.to_bits();
    let high = (bits >> 16) as u16;
    if value.is_nan() {
        // Its low half may be all that tells it from an infinity.
        return if high & 0x7f == 0 { high | 0x40 } else { high };
    }
    // Half a unit, less a little for the even ones, so that they keep what lies half-way.
    ((bits + 0x7fff + (high & 1) as u32) >> 16) as u16
}

/// The value of every code.
fn log8_values() -> [f32; 256] {
    std::array::from_fn(|code| match code {
        0 => 0.0,
        _ => (LOG8_TOP - LOG8_STEP * (255 - code) as f64).exp2() as f32,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decoded(format: Format, stored: &[u8]) -> Vec<f32> {
        let mut numbers = vec![f32::NAN; stored.len() / format.bytes()];
        format.decode(stored, &mut numbers);
        numbers
    }

    #[test]
    fn every_code_comes_back() {
        let all: Vec<u8> = (0..=u16::MAX).flat_map(u16::to_ne_bytes).collect();
        for (format, stored) in [
            (Format::Bf16, all),
            (Format::Log8, (0..=255).collect()),
            (
                Format::F32,
                [1.5f32, -0.0, f32::NAN, 1e-45]
                    .map(f32::to_ne_bytes)
                    .concat(),
            ),
        ] {
            assert!(
                format.encode(&decoded(format, &stored)) == stored,
                "{format:?}"
            );
        }
        let values = log8_values();
        assert!(
            values.is_sorted() && values[1] > 3.5e-31 && values[1] < 3.6e-31 && values[255] == 64.0
        );
    }

    #[test]
    fn to_nearest() {
        let bf16 = |v: f32| decoded(Format::Bf16, &Format::Bf16.encode(&[v]))[0];
        let unit = 1.0 / 128.0;
        for (value, want) in [
            (1.0 + 0.49 * unit, 1.0),
            (1.0 + 0.5 * unit, 1.0),
            (1.0 + 0.51 * unit, 1.0 + unit),
            (-1.0 - 1.5 * unit, -1.0 - 2.0 * unit),
            (f32::INFINITY, f32::INFINITY),
            (f32::MAX, f32::INFINITY),
        ] {
            assert_eq!(bf16(value), want, "{value}");
        }
        assert!(bf16(f32::from_bits(0x7f80_0001)).is_nan());
        let values = log8_values();
        let log8 = |v: f32| Format::Log8.encode(&[v])[0];
        for code in 0..255 {
            let (low, high) = (values[code], values[code + 1]);
            assert_eq!(log8(low + 0.49 * (high - low)) as usize, code);
            assert_eq!(log8(low + 0.51 * (high - low)) as usize, code + 1);
        }
        assert_eq!([log8(1e9), log8(f32::INFINITY), log8(-1.0)], [255, 255, 0]);
    }
}
