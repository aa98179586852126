//! `ppisp`: exposure, vignetting, colour and response, in this order, as a camera's signal
//! processor has them (PPISP, nv-tlabs/ppisp, sections 4.1 to 4.4).
//!
//! Exposure and colour are a photo's, vignetting and response a camera's. Numbers here are offsets
//! from those that change nothing, so that training starts with the very colours of the image:
//! a formula is written so that it is exact there (`x^1 = x`, `H = I`).

use super::model::{Gauge, Model, Rates};
use super::number::{Real, clamped};

/// With the response curve, or without it.
pub struct Ppisp<const RESPONSE: bool>;

/// Numbers of a photo: the exposure in stops, then two for each of the points of [`COLOURS`].
const PHOTO_NUMBERS: usize = 9;
/// Numbers of a camera for each channel's vignetting: the centre, and the coefficients of the
/// second, fourth and sixth power of the distance from it.
const VIGNETTE: usize = 5;
/// Numbers of a camera for each channel's response: toe, shoulder, gamma, centre.
const RESPONSE: usize = 4;

/// Where the vignetting's factors begin, behind the exposure's.
const FIRST_VIGNETTE: usize = 1;
/// The homography's: its columns but for the last one's last number, which is 1.
const FIRST_COLOUR: usize = FIRST_VIGNETTE + 3 * VIGNETTE;
/// The response's, for each channel toe, shoulder, gamma, centre, and the value at the centre.
const FIRST_RESPONSE: usize = FIRST_COLOUR + 8;
const CURVE: usize = 5;

/// From a photo's latents to the moves of the chromaticities of blue, red, green and grey:
/// symmetric 2x2 matrices (PPISP's zero-phase whitening; published values).
const COLOURS: [[f64; 3]; 4] = [
    [0.0481, -0.0044, 0.0481],
    [0.0581, -0.0180, 0.0431],
    [0.0433, -0.0181, 0.0581],
    [0.0128, -0.0035, 0.0128],
];

/// Keeps the quotient of sums finite where a pixel is black.
const MIN_SUM: f64 = 1e-5;
/// The homography brightens red and green at most so many times before the sum is restored.
const MAX_GAIN: f64 = 10.0;
/// Powers are taken of at least this.
const MIN_BASE: f64 = 1e-6;
/// Three times the area of the triangles of chromaticities is taken as at least this.
const MIN_AREA: f64 = 0.05;
/// ln(e^0.7 - 1) and ln(e^0.9 - 1): what makes toe and shoulder 0.3 + softplus and gamma
/// 0.1 + softplus 1.
const START: f64 = 0.013_658_997_191_615;
const START_GAMMA: f64 = 0.378_164_557_091_278;

/// Weights of the penalty: of the vignetting's centre, of what channels differ in, of coefficients
/// that brighten; of what the response's channels differ in.
const CENTRE: f64 = 0.02;
const DIFFERENCE: f64 = 0.1;
const BRIGHTENS: f64 = 0.01;

impl<const HAS_RESPONSE: bool> Model for Ppisp<HAS_RESPONSE> {
    const NAME: &'static str = match HAS_RESPONSE {
        true => "ppisp",
        false => "ppisp-linear",
    };
    const ABOUT: &'static str = match HAS_RESPONSE {
        true => "exposure and colour a photo, vignetting and response curve a camera",
        false => "the same without the curve",
    };
    const PHOTO: &'static [f32] = &[0.0; PHOTO_NUMBERS];
    const CAMERA: &'static [f32] = match HAS_RESPONSE {
        true => &[0.0; 3 * (VIGNETTE + RESPONSE)],
        false => &[0.0; 3 * VIGNETTE],
    };
    const FACTORS: usize = match HAS_RESPONSE {
        true => FIRST_RESPONSE + 3 * CURVE,
        false => FIRST_RESPONSE,
    };
    const GAUGE: Gauge = Gauge::ZeroMean;
    // PPISP's Adam moves every photo in every step, by 2e-3 at most. One seen once in N steps then
    // moves by up to about sqrt(N) times this a visit: 0.02 to 0.06 of 100 to 1,000 photos.
    const RATES: Rates = Rates::Travel {
        photo: 3.0,
        camera: 3.0,
        visit: 0.05,
        photo_from: 0.0,
    };

    fn factors<T: Real>(photo: &[T], camera: &[T], factors: &mut [T]) {
        let one = T::of(1.0);
        factors[0] = (photo[0] * T::of(std::f64::consts::LN_2)).exp();
        factors[FIRST_VIGNETTE..FIRST_COLOUR].copy_from_slice(&camera[..3 * VIGNETTE]);
        factors[FIRST_COLOUR..FIRST_RESPONSE].copy_from_slice(&homography(&photo[1..]));
        let curves = factors[FIRST_RESPONSE..].chunks_exact_mut(CURVE);
        for (curve, numbers) in curves.zip(camera[3 * VIGNETTE..].chunks_exact(RESPONSE)) {
            let toe = one + softplus_offset(numbers[0], START);
            let shoulder = one + softplus_offset(numbers[1], START);
            let gamma = one + softplus_offset(numbers[2], START_GAMMA);
            let centre = one / (one + (-numbers[3]).exp());
            let value = shoulder * centre / (toe + centre * (shoulder - toe));
            curve.copy_from_slice(&[toe, shoulder, gamma, centre, value]);
        }
    }

    fn colour<T: Real>(factors: &[T], place: [T; 2], rgb: [T; 3]) -> [T; 3] {
        let mut x = rgb;
        for (c, x) in x.iter_mut().enumerate() {
            let numbers = &factors[FIRST_VIGNETTE + VIGNETTE * c..];
            *x = *x * (factors[0] * clamped(Falloff::of(numbers, place).value));
        }
        let mut y = Tinted::of(&factors[FIRST_COLOUR..], x).colour.map(clamped);
        let curves = factors[FIRST_RESPONSE..].chunks_exact(CURVE);
        for (y, curve) in y.iter_mut().zip(curves) {
            let half = Half::of(curve, *y);
            *y = power(half.value, curve[2]);
        }
        y
    }

    fn expose(photo: &mut [f32], stops: f32) {
        photo[0] = stops;
    }

    fn backward(
        factors: &[f32],
        place: [f32; 2],
        rgb: [f32; 3],
        gradient: [f32; 3],
        sums: &mut [f64],
    ) -> [f32; 3] {
        let falloffs =
            [0, 1, 2].map(|c| Falloff::of(&factors[FIRST_VIGNETTE + VIGNETTE * c..], place));
        let exposure = factors[0];
        let x = [0, 1, 2].map(|c: usize| rgb[c] * (exposure * clamped(falloffs[c].value)));
        let tinted = Tinted::of(&factors[FIRST_COLOUR..], x);
        let mut by = gradient;
        for c in 0..3 {
            let y = tinted.colour[c];
            if HAS_RESPONSE {
                let at = FIRST_RESPONSE + CURVE * c;
                let curve = &factors[at..at + CURVE];
                by[c] = response_backward(curve, clamped(y), by[c], &mut sums[at..at + CURVE]);
            }
            if !(0.0..=1.0).contains(&y) {
                by[c] = 0.0;
            }
        }
        let by = tinted.backward(&factors[FIRST_COLOUR..], x, by, &mut sums[FIRST_COLOUR..]);
        let mut by_rgb = [0.0; 3];
        for c in 0..3 {
            let falloff = clamped(falloffs[c].value);
            by_rgb[c] = by[c] * exposure * falloff;
            sums[0] += (by[c] * rgb[c] * falloff) as f64;
            let at = FIRST_VIGNETTE + VIGNETTE * c;
            let numbers = &factors[at..at + VIGNETTE];
            let by_falloff = by[c] * rgb[c] * exposure;
            falloffs[c].backward(numbers, by_falloff, &mut sums[at..at + VIGNETTE]);
        }
        by_rgb
    }

    /// The weights are PPISP's. The centre's is of the mean over the channels of its squared
    /// distance from the image's; that of brightening coefficients of the mean over all nine.
    fn penalty<T: Real>(camera: &[T]) -> T {
        let (vignette, response) = camera.split_at(3 * VIGNETTE);
        let mut sum = T::of(0.0);
        for numbers in vignette.chunks_exact(VIGNETTE) {
            let squares = numbers[0] * numbers[0] + numbers[1] * numbers[1];
            sum = sum + T::of(CENTRE / 3.0) * squares;
            for &number in &numbers[2..] {
                if number > T::of(0.0) {
                    sum = sum + T::of(BRIGHTENS / 9.0) * number;
                }
            }
        }
        for (numbers, width) in [(vignette, VIGNETTE), (response, RESPONSE)] {
            for k in 0..if numbers.is_empty() { 0 } else { width } {
                let [a, b, c] = [0, 1, 2].map(|channel: usize| numbers[width * channel + k]);
                let mean = (a + b + c) * T::of(1.0 / 3.0);
                for value in [a, b, c] {
                    let off = value - mean;
                    sum = sum + T::of(DIFFERENCE / (3 * width) as f64) * off * off;
                }
            }
        }
        sum
    }
}

fn larger<T: Real>(a: T, b: T) -> T {
    if a > b { a } else { b }
}

/// softplus(start + offset) - softplus(start), exactly 0 without an offset.
fn softplus_offset<T: Real>(offset: T, start: f64) -> T {
    let softplus = |x: T| {
        let size = if x < T::of(0.0) { x } else { -x };
        larger(x, T::of(0.0)) + (T::of(1.0) + size.exp()).ln()
    };
    softplus(T::of(start) + offset) - softplus(T::of(start))
}

/// `x^exponent`, exactly x for an exponent of 1; a straight line from 0 to [`MIN_BASE`].
fn power<T: Real>(x: T, exponent: T) -> T {
    x * ((exponent - T::of(1.0)) * larger(x, T::of(MIN_BASE)).ln()).exp()
}

/// [`power`]'s value and its derivatives by x and by the exponent.
fn power_slopes(x: f32, exponent: f32) -> [f32; 3] {
    let log = x.max(MIN_BASE as f32).ln();
    let factor = ((exponent - 1.0) * log).exp();
    let by_x = match x > MIN_BASE as f32 {
        true => exponent * factor,
        false => factor,
    };
    [x * factor, by_x, x * factor * log]
}

/// A channel's vignetting at a place: `1 + a d^2 + b d^4 + c d^6`, d from its own centre.
struct Falloff<T> {
    off: [T; 2],
    square: T,
    value: T,
}

impl<T: Real> Falloff<T> {
    fn of(numbers: &[T], place: [T; 2]) -> Self {
        let off = [place[0] - numbers[0], place[1] - numbers[1]];
        let square = off[0] * off[0] + off[1] * off[1];
        let inner = numbers[2] + square * (numbers[3] + square * numbers[4]);
        let value = T::of(1.0) + square * inner;
        Self { off, square, value }
    }
}

impl Falloff<f32> {
    fn backward(&self, numbers: &[f32], by: f32, sums: &mut [f64]) {
        if !(0.0..=1.0).contains(&self.value) {
            return;
        }
        let d = self.square;
        let by_square = by * (numbers[2] + d * (2.0 * numbers[3] + d * 3.0 * numbers[4]));
        sums[0] -= (2.0 * by_square * self.off[0]) as f64;
        sums[1] -= (2.0 * by_square * self.off[1]) as f64;
        sums[2] += (by * d) as f64;
        sums[3] += (by * d * d) as f64;
        sums[4] += (by * d * d * d) as f64;
    }
}

/// The homography that moves the chromaticities (r, g) of blue (0, 0), red (1, 0), green (0, 1) and
/// grey (1/3, 1/3) by the latents' offsets, of (r, g, sum): its columns but for the last number, 1.
///
/// With `t` the moved points, `H = [a t_red - t_blue, b t_green - t_blue, t_blue]`, where a and b
/// are quotients of areas of triangles of these points (Cramer's rule for the weights that make
/// grey). Areas are written as their offsets from 1/3, which are exactly 0 without a move.
fn homography<T: Real>(latents: &[T]) -> [T; 8] {
    let (one, three) = (T::of(1.0), T::of(3.0));
    let third = T::of(1.0 / 3.0);
    let point = |p: usize| {
        let [a, b, c] = COLOURS[p].map(T::of);
        let (u, v) = (latents[2 * p], latents[2 * p + 1]);
        [a * u + b * v, b * u + c * v]
    };
    let [[b0, b1], [r0, r1], [g0, g1], [n0, n1]] = [point(0), point(1), point(2), point(3)];
    // Cross products of two points, but for what they are without a move.
    let grey_green = n0 + third * (g1 - g0) + n0 * g1 - n1 * g0;
    let red_grey = n1 + third * (r0 - r1) + r0 * n1 - r1 * n0;
    let blue_grey = third * (b0 - b1) + b0 * n1 - b1 * n0;
    let red_green = r0 + g1 + r0 * g1 - r1 * g0;
    let of_blue = red_green - red_grey - grey_green;
    let of_red = grey_green + blue_grey + g0 * b1 - b0 - g1 * b0;
    let of_green = red_grey - blue_grey + b0 * r1 - b1 - b1 * r0;
    let [area, red, green] = [of_blue, of_red, of_green].map(|area| {
        larger(one + three * area, T::of(MIN_AREA)) // Of the triangle, in thirds.
    });
    let (a, b) = (red / area, green / area);
    [
        a * (one + r0) - b0,
        a * r1 - b1,
        a - one,
        b * g0 - b0,
        b * (one + g1) - b1,
        b - one,
        b0,
        b1,
    ]
}

/// A colour after the homography. Red and green are scaled so that the sum stays; blue is what is
/// left of it, written so that it is exactly blue where red and green stay.
struct Tinted<T> {
    /// Red and green before they are scaled.
    mapped: [T; 2],
    sum: T,
    gain: T,
    denominator: T,
    is_cut: bool,
    colour: [T; 3],
}

impl<T: Real> Tinted<T> {
    fn of(h: &[T], [r, g, b]: [T; 3]) -> Self {
        let sum = r + g + b;
        let mapped = [
            h[0] * r + h[3] * g + h[6] * sum,
            h[1] * r + h[4] * g + h[7] * sum,
        ];
        let kept = sum + T::of(MIN_SUM);
        let third = h[2] * r + h[5] * g + kept;
        let least = kept * T::of(1.0 / MAX_GAIN);
        let denominator = larger(third, least);
        let gain = kept / denominator;
        let [red, green] = mapped.map(|v| v * gain);
        Self {
            mapped,
            sum,
            gain,
            denominator,
            is_cut: third < least,
            colour: [red, green, b + ((r - red) + (g - green))],
        }
    }
}

impl Tinted<f32> {
    fn backward(&self, h: &[f32], [r, g, _]: [f32; 3], by: [f32; 3], sums: &mut [f64]) -> [f32; 3] {
        let (by_red, by_green) = (by[0] - by[2], by[1] - by[2]);
        let by_mapped = [by_red * self.gain, by_green * self.gain];
        let by_gain = by_red * self.mapped[0] + by_green * self.mapped[1];
        // Where the gain is cut, it is a constant.
        let [by_kept, by_third] = match self.is_cut {
            true => [0.0, 0.0],
            false => [
                by_gain * (1.0 - self.gain) / self.denominator,
                -by_gain * self.gain / self.denominator,
            ],
        };
        let [u, v] = by_mapped;
        let by_sum = h[6] * u + h[7] * v + by_kept;
        for (k, factor) in [(0, r), (3, g)] {
            sums[k] += (u * factor) as f64;
            sums[k + 1] += (v * factor) as f64;
            sums[k + 2] += (by_third * factor) as f64;
        }
        sums[6] += (u * self.sum) as f64;
        sums[7] += (v * self.sum) as f64;
        [
            by[2] + by_sum + (h[0] * u + h[1] * v + h[2] * by_third),
            by[2] + by_sum + (h[3] * u + h[4] * v + h[5] * by_third),
            by[2] + by_sum,
        ]
    }
}

/// A channel's response before gamma: `a (x/c)^toe` below the centre c, `1 - (1 - a) ((1 - x) /
/// (1 - c))^shoulder` from it on.
struct Half<T> {
    is_toe: bool,
    base: T,
    value: T,
}

impl<T: Real> Half<T> {
    fn of(curve: &[T], x: T) -> Self {
        let one = T::of(1.0);
        let &[toe, shoulder, _, centre, value] = curve else {
            return Self {
                is_toe: true,
                base: x,
                value: x,
            };
        };
        if x < centre {
            let base = x / centre;
            return Self {
                is_toe: true,
                base,
                value: value * power(base, toe),
            };
        }
        let base = (one - x) / (one - centre);
        let value = one - (one - value) * power(base, shoulder);
        Self {
            is_toe: false,
            base,
            value,
        }
    }
}

/// The gradient by x, given that by the response's value.
fn response_backward(curve: &[f32], x: f32, by: f32, sums: &mut [f64]) -> f32 {
    let half = Half::of(curve, x);
    let [_, by_y, by_gamma] = power_slopes(half.value, curve[2]);
    sums[2] += (by * by_gamma) as f64;
    let (by, centre, at_centre) = (by * by_y, curve[3], curve[4]);
    let exponent = if half.is_toe { 0 } else { 1 };
    let [value, by_base, by_exponent] = power_slopes(half.base, curve[exponent]);
    // What the power is multiplied by, and what the base is divided by.
    let (scale, width) = match half.is_toe {
        true => (at_centre, centre),
        false => (at_centre - 1.0, centre - 1.0),
    };
    sums[exponent] += (by * scale * by_exponent) as f64;
    sums[3] -= (by * scale * by_base * half.base / width) as f64;
    sums[4] += (by * value) as f64;
    by * scale * by_base / width
}
