//! The attributes: from bytes to parameters, and from the file's axes to PLY's.

use super::axes::Change;
use super::container::Packed;
use crate::scene::opacity::logit_of_byte;
use half::f16;
use rayon::prelude::*;
use splatcore_core::Gaussians;

/// Standard colour coefficient of SPZ, in place of SH's 0.2821, so that a byte reaches beyond [0,
/// 1].
pub const COLOUR_SCALE: f32 = 0.15;

/// Decodes all attributes; their lengths are those that the header declares.
pub fn decode(packed: &Packed, change: &Change) -> Gaussians {
    let header = &packed.header;
    let [position, _, _, _, rotation, higher] = header.strides();
    let mut gaussians = Gaussians::zeros(header.count, header.sh_degree);
    let k = gaussians.coefficients();

    let step = (-f32::from(header.fractional_bits)).exp2();
    let positions = packed.positions().par_chunks_exact(position);
    gaussians
        .means
        .par_iter_mut()
        .zip(positions)
        .for_each(|(mean, bytes)| {
            *mean = change.mean(match bytes.as_chunks::<3>() {
                (&[x, y, z], _) => [x, y, z].map(|b| fixed_24(b) * step),
                _ => std::array::from_fn(|c| {
                    f16::from_le_bytes([bytes[2 * c], bytes[2 * c + 1]]).into()
                }),
            });
        });
    let scales = packed.scales().as_chunks::<3>().0.par_iter();
    gaussians
        .log_scales
        .par_iter_mut()
        .zip(scales)
        .for_each(|(log_scales, bytes)| {
            *log_scales = bytes.map(|b| f32::from(b) / 16.0 - 10.0);
        });
    let rotations = packed.rotations().par_chunks_exact(rotation);
    gaussians
        .rotations
        .par_iter_mut()
        .zip(rotations)
        .for_each(|(rotation, bytes)| {
            *rotation = change.rotation(match *bytes {
                [a, b, c, d] => smallest_three(u32::from_le_bytes([a, b, c, d])),
                _ => first_three([bytes[0], bytes[1], bytes[2]]),
            });
        });
    gaussians
        .opacity_logits
        .par_iter_mut()
        .zip(packed.alphas())
        .for_each(|(logit, &byte)| {
            *logit = logit_of_byte(byte);
        });
    gaussians
        .sh
        .par_chunks_exact_mut(k)
        .enumerate()
        .for_each(|(i, sh)| {
            sh[0] = std::array::from_fn(|c| {
                (f32::from(packed.colours()[3 * i + c]) / 255.0 - 0.5) / COLOUR_SCALE
            });
            let bytes = &packed.sh()[i * higher..(i + 1) * higher];
            for (to, from) in sh[1..].iter_mut().zip(bytes.as_chunks::<3>().0) {
                *to = from.map(|b| (f32::from(b) - 128.0) / 128.0);
            }
            change.sh(sh);
        });
    gaussians
}

/// A 24-bit two's complement integer.
fn fixed_24([a, b, c]: [u8; 3]) -> f32 {
    (i32::from_le_bytes([0, a, b, c]) >> 8) as f32
}

/// Versions 1 and 2: x, y, z as bytes over [-1, 1], w >= 0 from the unit length. Returns w, x, y,
/// z.
fn first_three(bytes: [u8; 3]) -> [f32; 4] {
    let [x, y, z] = bytes.map(|b| f32::from(b) * (1.0 / 127.5) - 1.0);
    [(1.0 - (x * x + y * y + z * z)).max(0.0).sqrt(), x, y, z]
}

/// From version 3: the index of the largest of x, y, z, w in the top two bits, then the three
/// others as a sign and 9 bits over [0, 1/√2] each; the largest is positive, from the unit length.
/// Returns w, x, y, z.
fn smallest_three(bits: u32) -> [f32; 4] {
    let largest = (bits >> 30) as usize;
    let mut xyzw = [0.0f32; 4];
    let mut squares = 0.0;
    let mut shift = 0;
    for i in (0..4).rev().filter(|&i| i != largest) {
        let field = bits >> shift;
        let size = std::f32::consts::FRAC_1_SQRT_2 * (field & 511) as f32 / 511.0;
        xyzw[i] = if field & 512 != 0 { -size } else { size };
        squares += size * size;
        shift += 10;
    }
    xyzw[largest] = (1.0f32 - squares).max(0.0).sqrt();
    let [x, y, z, w] = xyzw;
    [w, x, y, z]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fixed_point_keeps_its_sign() {
        assert_eq!(fixed_24([0x01, 0x02, 0x03]), 197_121.0);
        assert_eq!(fixed_24([0xff, 0xff, 0xff]), -1.0);
        assert_eq!(fixed_24([0x00, 0x00, 0x80]), -8_388_608.0);
    }

    /// Encodes as the format says, decodes, compares: all four positions of the largest component.
    #[test]
    fn rotations_survive_both_encodings() {
        let mut random = splatcore_core::random::Rng::new(7, 0);
        for _ in 0..1000 {
            let q: [f32; 4] = std::array::from_fn(|_| random.uniform() * 2.0 - 1.0);
            let length = q.iter().map(|v| v * v).sum::<f32>().sqrt();
            if length < 0.1 {
                continue;
            }
            let [w, x, y, z] = q.map(|v| v / length);
            let xyzw = [x, y, z, w];
            let largest = (0..4)
                .max_by(|&a, &b| xyzw[a].abs().total_cmp(&xyzw[b].abs()))
                .unwrap();
            let mut bits = largest as u32;
            for i in (0..4).filter(|&i| i != largest) {
                let negative = (xyzw[i] < 0.0) != (xyzw[largest] < 0.0);
                let size = (xyzw[i].abs() * 2.0f32.sqrt() * 511.0).round() as u32;
                bits = bits << 10 | u32::from(negative) << 9 | size;
            }
            let same = |a: [f32; 4]| (a[0] * w + a[1] * x + a[2] * y + a[3] * z).abs();
            assert!(same(smallest_three(bits)) > 0.99999);
            let sign = if w < 0.0 { -1.0 } else { 1.0 };
            let bytes = [x, y, z].map(|v| (v * sign * 127.5 + 127.5).round() as u8);
            // Near w = 0 rounding moves w a lot: bytes hold a rotation to some degrees only.
            assert!(same(first_three(bytes)) > 0.99);
        }
    }
}
