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

    /// `None` if it is not drawn.
    pub fn fragment(&self, x: usize, y: usize, alpha_max: F) -> Option<Fragment<F>> {
        let [dx, dy] = self.delta(x, y);
        let [a, b, c] = self.conic;
        let sigma = F::of(0.5) * (a * dx * dx + c * dy * dy) + b * dx * dy;
        if !(sigma >= F::zero() && sigma <= self.most_sigma) {
            return None;
        }
        let falloff = (-sigma).exp();
        let alpha = alpha_max.min(self.opacity * falloff);
        (alpha >= F::of(ALPHA_MIN)).then_some(Fragment { alpha, falloff })
    }

    /// Where in a block it can be drawn.
    pub fn window(&self, block: &Block) -> Window {
        let [a, b, c] = self.conic.map(F::wide);
        let determinant = a * c - b * b;
        let window = Window {
            at: [self.x.wide(), self.y.wide()],
            most: 2.0 * self.most_sigma.wide(),
            a,
            b,
            determinant,
            columns: block.x.clone(),
            rows: block.y.clone(),
        };
        // An ellipse: its extent in y is sqrt(most a / determinant). Other conics reach anywhere.
        match a > 0.0 && determinant > 0.0 {
            true => {
                let reach = (window.most * a / determinant).sqrt();
                Window {
                    rows: between(window.at[1], reach, &block.y),
                    ..window
                }
            }
            false => Window { a: 0.0, ..window },
        }
    }
}

/// The middle of a pixel.
fn middle<F: Real>(pixel: usize) -> F {
    F::of(pixel as f64 + 0.5)
}

/// The pixels of a range whose middles are at most so far from a place, and one more at each side.
fn between(at: f64, reach: f64, within: &Range<usize>) -> Range<usize> {
    if !(at.is_finite() && reach.is_finite()) {
        return within.clone();
    }
    // Casts of floats saturate.
    let first = (at - reach - 1.5).ceil().max(0.0) as usize;
    let end = ((at + reach + 0.5).floor().max(-1.0) + 1.0) as usize;
    let first = first.clamp(within.start, within.end);
    first..end.clamp(first, within.end)
}

/// The pixels of a block where a splat can be drawn: those of an ellipse.
pub(super) struct Window {
    at: [f64; 2],
    /// Twice the largest sigma.
    most: f64,
    /// The conic's first value, 0 if it is no ellipse.
    a: f64,
    b: f64,
    determinant: f64,
    columns: Range<usize>,
    rows: Range<usize>,
}

impl Window {
    pub fn rows(&self) -> Range<usize> {
        self.rows.clone()
    }

    /// The pixels of a row. With dy given, sigma is at its largest where
    /// a dx = -b dy ± sqrt(most a - determinant dy²).
    pub fn columns(&self, row: usize) -> Range<usize> {
        if self.a == 0.0 {
            return self.columns.clone();
        }
        // The rows reach a pixel beyond the ellipse.
        let dy = self.at[1] - (row as f64 + 0.5);
        let square = (self.most * self.a - self.determinant * dy * dy).max(0.0);
        let middle = self.at[0] + self.b * dy / self.a;
        between(middle, square.sqrt() / self.a, &self.columns)
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
            for x in window.columns(y) {
                let pixel = block.index(x, y);
                if self.done[pixel] {
                    continue;
                }
                let Some(fragment) = splat.fragment(x, y, alpha_max) else {
                    continue;
                };
                let before = self.transmittance[pixel];
                match behind(before, fragment.alpha) {
                    Some(left) => {
                        draw([x, y], pixel, &fragment, before);
                        self.transmittance[pixel] = left;
                    }
                    None => {
                        self.done[pixel] = true;
                        self.live -= 1;
                    }
                }
            }
        }
    }
}
