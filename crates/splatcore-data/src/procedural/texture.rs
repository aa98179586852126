//! Colours by position: noise and the paints made of it. Linear light, 0 to 1.

use super::vector::{V, mix, scale, smoothstep};
use splatcore_core::random;

/// How a surface is coloured.
#[derive(Clone, Copy, Debug)]
pub(super) enum Paint {
    Plain(V),
    /// Bands of two colours across the local y axis, `period` long in local units.
    Bands {
        period: f64,
        colours: [V; 2],
    },
    /// Wedges of two colours around the local y axis.
    Wedges {
        count: f64,
        colours: [V; 2],
    },
    /// A colour made uneven by noise with features of `grain` world units.
    Mottled {
        grain: f64,
        colours: [V; 2],
    },
    /// Planks with year rings along the local x axis.
    Wood,
}

impl Paint {
    /// The colour at a point of the world, `local` in the shape's own coordinates.
    pub(super) fn colour(&self, p: V, local: V) -> V {
        match *self {
            Paint::Plain(colour) => colour,
            Paint::Bands { period, colours } => {
                let phase = (local[1] / period).rem_euclid(1.0);
                colours[usize::from(phase >= 0.5)]
            }
            Paint::Wedges { count, colours } => {
                let turn = local[2].atan2(local[0]) / std::f64::consts::TAU;
                colours[usize::from((turn * count).rem_euclid(1.0) >= 0.5)]
            }
            Paint::Mottled { grain, colours } => mix(
                colours[0],
                colours[1],
                smoothstep(0.25, 0.75, clouds(scale(p, 1.0 / grain), 2)),
            ),
            Paint::Wood => {
                let [x, y, z] = local;
                let plank = (y / 0.2).floor();
                let bent = clouds([0.8 * x + 7.0 * plank, 3.0 * y, 3.0 * z], 2);
                let ring = (18.0 * (y - 0.2 * plank).hypot(z + 0.4) + 4.0 * bent).sin();
                let tone = mix([0.30, 0.14, 0.05], [0.55, 0.31, 0.13], 0.5 + 0.35 * ring);
                let gap = (y / 0.2 - plank).min(plank + 1.0 - y / 0.2);
                scale(tone, 0.55 + 0.45 * smoothstep(0.02, 0.10, gap))
            }
        }
    }
}

/// Smooth noise in [0, 1] with features of one unit, the same everywhere and always.
pub(super) fn noise(p: V) -> f64 {
    // The rounding instruction is missing on old processors, and the function that stands in for it
    // is slow.
    let whole = p.map(|v| v as i64 - i64::from(v < 0.0));
    let cell = whole.map(|c| c as f64);
    let f: V = std::array::from_fn(|i| smoothstep(0.0, 1.0, p[i] - cell[i]));
    let [x, y, z] = whole.map(|c| c as u64);
    let corner = |i: u64, j: u64, k: u64| {
        let at = x.wrapping_add(i).wrapping_mul(0x9E37_79B1)
            ^ y.wrapping_add(j).wrapping_mul(0x85EB_CA77).rotate_left(21)
            ^ z.wrapping_add(k).wrapping_mul(0xC2B2_AE3D).rotate_left(42);
        (random::mix(at) >> 40) as f64 / (1u64 << 24) as f64
    };
    let line = |j, k| {
        let (a, b) = (corner(0, j, k), corner(1, j, k));
        a + (b - a) * f[0]
    };
    let face = |k| {
        let (a, b) = (line(0, k), line(1, k));
        a + (b - a) * f[1]
    };
    let (a, b) = (face(0), face(1));
    a + (b - a) * f[2]
}

/// Noise with `octaves` halvings of the feature size, in [0, 1].
pub(super) fn clouds(p: V, octaves: u32) -> f64 {
    let (mut sum, mut weight, mut total, mut at) = (0.0, 1.0, 0.0, p);
    for _ in 0..octaves {
        sum += weight * noise(at);
        total += weight;
        weight *= 0.5;
        at = at.map(|v| 2.03 * v + 11.7);
    }
    sum / total
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn noise_is_continuous_and_fills_its_range() {
        let (mut low, mut high, mut before) = (1.0f64, 0.0f64, None::<f64>);
        for i in 0..20_000 {
            let n = noise([i as f64 * 0.01 - 70.0, 3.3, -2.2]);
            low = low.min(n);
            high = high.max(n);
            if let Some(b) = before {
                assert!((n - b).abs() < 0.02);
            }
            before = Some(n);
        }
        assert!(
            (0.0..0.2).contains(&low) && high > 0.8 && high <= 1.0,
            "{low} {high}"
        );
    }
}
