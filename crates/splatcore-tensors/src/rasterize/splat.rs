//! A splat as a tile reads it: which pixels it can reach, and its fragments.

use super::{Block, Lists};
use crate::Real;
use splatcore_core::semantics::{ALPHA_MIN, TRANSMITTANCE_MIN};
use std::ops::Range;

/// Added to the largest sigma that is looked at, for the rounding of exp and ln. Whether a fragment
/// is drawn depends on its alpha alone.
const SLACK: f64 = 1e-3;

pub(super) struct Splat<F> {
    x: F,
    y: F,
    conic: [F; 3],
    opacity: F,
    /// No fragment with a larger sigma is drawn.
    most_sigma: F,
}

/// A splat at a pixel.
pub(super) struct Fragment<F> {
    pub alpha: F,
    /// exp(-sigma).
    pub falloff: F,
}

impl<F: Real> Splat<F> {
    /// `None` if it is drawn nowhere.
    pub fn new(lists: &Lists<'_, F>, id: usize) -> Option<Self> {
        let opacity = lists.opacities[id];
        let drawn = opacity >= F::of(ALPHA_MIN);
        drawn.then(|| Self {
            x: lists.means2d[2 * id],
            y: lists.means2d[2 * id + 1],
            conic: [0, 1, 2].map(|k| lists.conics[3 * id + k]),
            opacity,
            most_sigma: (opacity / F::of(ALPHA_MIN)).ln() + F::of(SLACK),
        })
    }

    /// From a pixel's middle to the mean.
    pub fn delta(&self, x: usize, y: usize) -> [F; 2] {
        [self.x - middle(x), self.y - middle(y)]
    }

    /// The derivatives of sigma by the two components of `delta`.
    pub fn slope(&self, [dx, dy]: [F; 2]) -> [F; 2] {
        let [a, b, c] = self.conic;
        [a * dx + b * dy, b * dx + c * dy]
    }

    pub fn opacity(&self) -> F {
        self.opacity
    }

    /// The splat at a row of pixels.
    pub fn row(&self, y: usize) -> Row<F> {
        let half = F::of(0.5);
        let [a, b, c] = self.conic;
        let dy = self.y - middle(y);
        Row {
            x: self.x,
            opacity: self.opacity,
            most_sigma: self.most_sigma,
            square: half * a,
            linear: b * dy,
            constant: half * c * dy * dy,
        }
    }

    /// Where in a block it can be drawn.
    pub fn window(&self, block: &Block) -> Window {
        let [a, b, c] = self.conic.map(F::wide);
        let most = 2.0 * self.most_sigma.wide();
        let determinant = a * c - b * b;
        let ellipse = a > 0.0 && determinant > 0.0;
        let at = [self.x.wide(), self.y.wide()];
        Window {
            at,
            ellipse: ellipse.then(|| Ellipse {
                slant: b / a,
                square: most / a,
                curve: determinant / (a * a),
            }),
            columns: block.x.clone(),
            rows: match ellipse {
                true => between(at[1], (most * a / determinant).sqrt(), &block.y),
                false => block.y.clone(),
            },
        }
    }
}

/// A splat at a row of pixels: sigma = (square dx + linear) dx + constant.
pub(super) struct Row<F> {
    x: F,
    opacity: F,
    most_sigma: F,
    square: F,
    linear: F,
    constant: F,
}

impl<F: Real> Row<F> {
    /// `None` if it is not drawn.
    #[inline]
    pub fn fragment(&self, x: usize, alpha_max: F) -> Option<Fragment<F>> {
        let dx = self.x - middle(x);
        let sigma = (self.square * dx + self.linear) * dx + self.constant;
        if !(sigma >= F::zero() && sigma <= self.most_sigma) {
            return None;
        }
        let falloff = (-sigma).exp();
        let alpha = alpha_max.min(self.opacity * falloff);
        (alpha >= F::of(ALPHA_MIN)).then_some(Fragment { alpha, falloff })
    }
}

/// The middle of a pixel.
fn middle<F: Real>(pixel: usize) -> F {
    F::of(pixel as f64 + 0.5)
}

/// The pixels of a range whose middles are at most so far from a place, and one or two more at each
/// side.
fn between(at: f64, reach: f64, within: &Range<usize>) -> Range<usize> {
    if !(at.is_finite() && reach.is_finite()) {
        return within.clone();
    }
    // Casts saturate, and round down what is not negative.
    let [first, end] = [at - reach - 1.5, at + reach + 1.5].map(|edge| edge.max(0.0) as usize);
    let first = first.clamp(within.start, within.end);
    first..end.clamp(first, within.end)
}

/// The pixels of a block where a splat can be drawn. If it is no ellipse, that can be anywhere.
pub(super) struct Window {
    at: [f64; 2],
    ellipse: Option<Ellipse>,
    columns: Range<usize>,
    rows: Range<usize>,
}

/// Where sigma is at its largest: with dy given, at
/// dx = -slant dy ± sqrt(square - curve dy²).
///
/// This solves a dx² + 2 b dx dy + c dy² = 2 sigma: slant is b / a, square 2 sigma / a, curve
/// (a c - b²) / a².
struct Ellipse {
    slant: f64,
    square: f64,
    curve: f64,
}

impl Window {
    pub fn rows(&self) -> Range<usize> {
        self.rows.clone()
    }

    /// The pixels of a row.
    pub fn columns(&self, row: usize) -> Range<usize> {
        let Some(ellipse) = &self.ellipse else {
            return self.columns.clone();
        };
        let dy = self.at[1] - (row as f64 + 0.5);
        let square = ellipse.square - ellipse.curve * dy * dy;
        if square.is_nan() {
            return self.columns.clone();
        }
        // The rows reach a pixel beyond the ellipse.
        let reach = square.max(0.0).sqrt();
        between(self.at[0] + ellipse.slant * dy, reach, &self.columns)
    }
}

/// What is left of the light behind a fragment; `None` if the pixel ends before it.
pub(super) fn behind<F: Real>(transmittance: F, alpha: F) -> Option<F> {
    let left = transmittance * (F::one() - alpha);
    (left > F::of(TRANSMITTANCE_MIN)).then_some(left)
}

/// The pixels of a block that are not finished yet.
pub(super) struct Light<F> {
    pub transmittance: Vec<F>,
    done: Vec<bool>,
    live: usize,
}

impl<F: Real> Light<F> {
    pub fn new() -> Self {
        Self {
            transmittance: Vec::new(),
            done: Vec::new(),
            live: 0,
        }
    }

    /// Begins with so many pixels.
    pub fn start(&mut self, pixels: usize) {
        self.transmittance.clear();
        self.transmittance.resize(pixels, F::one());
        self.done.clear();
        self.done.resize(pixels, false);
        self.live = pixels;
    }

    pub fn is_dark(&self) -> bool {
        self.live == 0
    }

    /// Calls `draw` with each fragment of a splat that is drawn in a block: the pixel (x, y), its
    /// number in the block, the fragment, and the transmittance in front of it.
    pub fn pass(
        &mut self,
        splat: &Splat<F>,
        block: &Block,
        alpha_max: F,
        mut draw: impl FnMut([usize; 2], usize, &Fragment<F>, F),
    ) {
        let window = splat.window(block);
        for y in window.rows() {
            let (columns, row) = (window.columns(y), splat.row(y));
            let first = block.index(columns.start, y);
            let pixels = first..first + columns.len();
            let light = &mut self.transmittance[pixels.clone()];
            let states = light.iter_mut().zip(&mut self.done[pixels.clone()]);
            for ((x, pixel), (light, done)) in columns.zip(pixels).zip(states) {
                if *done {
                    continue;
                }
                let Some(fragment) = row.fragment(x, alpha_max) else {
                    continue;
                };
                match behind(*light, fragment.alpha) {
                    Some(left) => {
                        draw([x, y], pixel, &fragment, *light);
                        *light = left;
                    }
                    None => {
                        *done = true;
                        self.live -= 1;
                    }
                }
            }
        }
    }
}
