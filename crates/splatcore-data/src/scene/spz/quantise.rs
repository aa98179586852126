//! The attributes: from parameters to bytes.

use super::attributes::COLOUR_SCALE;
use super::axes::Change;
use super::container::strides;
use super::options::SpzOptions;
use crate::DataError;
use crate::scene::rows::{Rows, in_pieces};
use rayon::prelude::*;
use splatcore_core::Gaussians;
use splatcore_core::gaussians::sigmoid;
use std::f64::consts::FRAC_1_SQRT_2;

/// Bits behind the point that every reader knows: steps of 0.0002, up to 2048 from the origin.
const MAX_BITS: u8 = 12;
/// Steps of 0.004, up to 32768 from the origin. A few outliers do not make steps larger.
const BITS_FOR_OUTLIERS: u8 = 8;
/// One in so many Gaussians may be an outlier.
const OUTLIERS: u64 = 1000;
/// The largest 24-bit integer, and negated the smallest that is used.
const MAX: f32 = 8_388_607.0;

/// Gaussians that lost more than rounding takes.
#[derive(Clone, Copy, Debug, Default)]
pub struct Clamped {
    pub means: u64,
    pub colours: u64,
    pub scales: u64,
    pub sh: u64,
}

/// Rounds Gaussians to the bytes of an SPZ file.
pub struct Quantiser {
    pub fractional_bits: u8,
    strides: [usize; 6],
    change: Change,
    /// Distances of neighbouring bytes, of degree 1 and of higher degrees.
    sh_steps: [i32; 2],
}

impl Quantiser {
    pub fn new(options: &SpzOptions, sh_degree: u8, fractional_bits: u8) -> Self {
        Self {
            fractional_bits,
            strides: strides(options.version, sh_degree),
            change: Change::new(options.axes.into()),
            sh_steps: options.sh_bits.map(|bits| 1 << (8 - bits)),
        }
    }

    /// Replaces `to` by the bytes of each attribute, in the order of the file.
    pub fn round(&self, piece: &Gaussians, to: &mut [Vec<u8>; 6], clamped: &mut Clamped) {
        let [positions, alphas, colours, scales, rotations, sh] = to;
        let scale = f32::from(self.fractional_bits).exp2();
        clamped.means += fill(positions, self.strides[0], &piece.means, |mean, bytes| {
            let fixed = self.change.mean(*mean).map(|v| (v * scale).round());
            for (bytes, fixed) in bytes.chunks_exact_mut(3).zip(fixed) {
                let fixed = fixed.clamp(-MAX, MAX) as i32;
                bytes.copy_from_slice(&fixed.to_le_bytes()[..3]);
            }
            fixed.iter().all(|v| v.abs() <= MAX)
        });
        fill(alphas, 1, &piece.opacity_logits, |&logit, bytes| {
            bytes[0] = (sigmoid(logit) * 255.0).round() as u8;
            true
        });
        clamped.scales += fill(scales, 3, &piece.log_scales, |log_scales, bytes| {
            to_bytes(log_scales.map(|v| (v + 10.0) * 16.0), bytes)
        });
        fill(rotations, self.strides[4], &piece.rotations, |&q, bytes| {
            let q = unit(self.change.rotation(q));
            match bytes {
                [_, _, _] => first_three(q, bytes),
                _ => bytes.copy_from_slice(&smallest_three(q).to_le_bytes()),
            }
            true
        });
        let coefficients: Vec<&[[f32; 3]]> = piece.sh.chunks(piece.coefficients()).collect();
        clamped.colours += fill(colours, 3, &coefficients, |of_one, bytes| {
            to_bytes(of_one[0].map(|v| v * (COLOUR_SCALE * 255.0) + 127.5), bytes)
        });
        clamped.sh += fill(sh, self.strides[5], &coefficients, |of_one, bytes| {
            let mut kept = true;
            for (k, bytes) in (1..).zip(bytes.chunks_exact_mut(3)) {
                let step = self.sh_steps[usize::from(k > 3)];
                for (byte, v) in bytes.iter_mut().zip(of_one[k]) {
                    *byte = sh_byte(v * self.change.sign(k), step);
                    kept &= v.abs() <= 1.0;
                }
            }
            kept
        });
    }
}

/// Replaces `to` by `stride` bytes a value; how many values did not fit, for which `round` gives
/// false.
fn fill<T: Sync>(
    to: &mut Vec<u8>,
    stride: usize,
    values: &[T],
    round: impl Fn(&T, &mut [u8]) -> bool + Sync,
) -> u64 {
    to.clear();
    to.resize(values.len() * stride, 0);
    if stride == 0 {
        return 0;
    }
    let each = to.par_chunks_exact_mut(stride).zip(values);
    each.map(|(bytes, value)| u64::from(!round(value, bytes)))
        .sum()
}

/// Rounds three values to bytes; whether all were in range.
fn to_bytes(values: [f32; 3], bytes: &mut [u8]) -> bool {
    let rounded = values.map(f32::round);
    for (byte, v) in bytes.iter_mut().zip(rounded) {
        *byte = v as u8;
    }
    rounded.iter().all(|v| (0.0..=255.0).contains(v))
}

/// A coefficient over [-1, 1] as a multiple of `step`, 128 for 0. 255 stands for 256.
fn sh_byte(coefficient: f32, step: i32) -> u8 {
    let level = (coefficient * 128.0).round().clamp(-128.0, 128.0) as i32 + 128;
    ((level + step / 2) / step * step).min(255) as u8
}

/// A quaternion w, x, y, z of unit length, no rotation for one of no length.
fn unit(q: [f32; 4]) -> [f64; 4] {
    let q = q.map(f64::from);
    let length = q.iter().map(|v| v * v).sum::<f64>().sqrt();
    match length > 0.0 && length.is_finite() {
        true => q.map(|v| v / length),
        false => [1.0, 0.0, 0.0, 0.0],
    }
}

/// Version 2: x, y, z as bytes over [-1, 1], with the sign for which w is not negative.
fn first_three([w, x, y, z]: [f64; 4], bytes: &mut [u8]) {
    let sign = if w < 0.0 { -127.5 } else { 127.5 };
    for (byte, v) in bytes.iter_mut().zip([x, y, z]) {
        *byte = (v * sign + 127.5).round() as u8;
    }
}

/// From version 3: the index of the largest of x, y, z, w in the top two bits, then the three
/// others as a sign and 9 bits over [0, 1/√2] each, with the sign for which the largest is not
/// negative.
fn smallest_three([w, x, y, z]: [f64; 4]) -> u32 {
    let xyzw = [x, y, z, w];
    let mut largest = 0;
    for i in 1..4 {
        if xyzw[i].abs() > xyzw[largest].abs() {
            largest = i;
        }
    }
    let mut bits = largest as u32;
    for i in (0..4).filter(|&i| i != largest) {
        let negative = (xyzw[i] < 0.0) != (xyzw[largest] < 0.0);
        let size = (xyzw[i].abs() / FRAC_1_SQRT_2 * 511.0).round() as u32;
        bits = bits << 10 | u32::from(negative) << 9 | size.min(511);
    }
    bits
}

/// The bits behind the point with which a scene's means fit into 24 bits: at most 12, and no fewer
/// than 8 for the sake of one Gaussian in a thousand.
pub fn fractional_bits(rows: &dyn Rows) -> Result<u8, DataError> {
    // Gaussians by the most bits with which they fit; the last are those that never do.
    let mut fitting = [0u64; MAX_BITS as usize + 2];
    let never = fitting.len() - 1;
    in_pieces(rows, |_, piece| {
        for mean in &piece.means {
            let furthest = mean.iter().fold(0.0f32, |far, v| far.max(v.abs()));
            let fits = |&bits: &u8| (furthest * f32::from(bits).exp2()).round() <= MAX;
            let most = (0..=MAX_BITS).rev().find(fits);
            fitting[most.map_or(never, usize::from)] += 1;
        }
        Ok::<(), DataError>(())
    })?;
    // The most bits with which all but so many Gaussians fit.
    let all_but = |outliers: u64| {
        let mut outside = fitting[never];
        for bits in 0..MAX_BITS {
            outside += fitting[usize::from(bits)];
            if outside > outliers {
                return bits;
            }
        }
        MAX_BITS
    };
    let outliers = rows.len() as u64 / OUTLIERS;
    Ok(all_but(0).max(all_but(outliers).min(BITS_FOR_OUTLIERS)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bits_of(means: &[f32]) -> u8 {
        let mut scene = Gaussians::zeros(means.len(), 0);
        for (to, &x) in scene.means.iter_mut().zip(means) {
            *to = [0.0, -x, 0.5];
        }
        fractional_bits(&scene).unwrap()
    }

    /// 2²³ - 1 steps of 2⁻ᵇ to either side.
    #[test]
    fn bits_are_as_many_as_the_means_allow() {
        for (means, bits) in [
            (&[][..], 12),
            (&[0.0], 12),
            (&[2047.999, 1.0], 12),
            (&[2048.0], 11),
            (&[4095.999], 11),
            (&[500_000.0, 3.0], 4),
            (&[8_388_607.0], 0),
            (&[1e9, 5.0], 0),
            (&[f32::INFINITY], 0),
        ] {
            assert_eq!(bits_of(means), bits, "{means:?}");
        }
    }

    #[test]
    fn outliers_cost_no_more_than_four_bits() {
        let mut means = vec![100.0; 2000];
        means[7] = 30_000.0;
        assert_eq!(bits_of(&means), 8);
        means[8] = 1e30;
        assert_eq!(bits_of(&means), 8);
        means[9..11].fill(1e6);
        assert_eq!(bits_of(&means), 3, "more than one in a thousand");
    }

    #[test]
    fn coefficients_go_to_the_nearest_level() {
        for (v, step, byte) in [
            (0.0, 16, 128),
            (0.0, 8, 128),
            (0.02, 8, 128),
            (0.04, 8, 136),
            (-0.07, 16, 112),
            (1.0, 1, 255),
            (-1.0, 16, 0),
            (3.0, 16, 255),
            (f32::NEG_INFINITY, 1, 0),
            (0.25, 1, 160),
            (-1.0, 128, 0),
        ] {
            assert_eq!(sh_byte(v, step), byte, "{v} {step}");
        }
    }
}
