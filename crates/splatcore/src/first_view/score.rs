//! How much a small picture shows.

use splatcore_core::backend::Rendered;

/// A pixel shows something if it hides so much of what is behind the scene.
const COVERED: f32 = 0.5;
/// What is nearer than this share of the scene's radius is in the way.
const NEAR: f64 = 0.12;
/// A difference between neighbours above this is noise as much as detail.
const STRONGEST: f32 = 0.2;

/// Of a picture whose border lies in the scene all around this share counts: more than of one that
/// shows the whole as something small.
const CUT: f64 = 0.02;
/// How much of what is shown may go on behind the border before the picture counts much less: a
/// neck is a quarter of the side of the square that is as large as a person.
const TOUCHED: f64 = 0.15;

/// A view of which this share is covered ends at something everywhere; a photo whose scene lacks a
/// ceiling is filled so far.
const ENCLOSED: f64 = 0.9;
const FILLED: f64 = 0.87;
/// Inside of something there is room: this share of the views at most is close.
const CLOSE: f64 = 0.08;

/// What a picture shows, each from 0 on.
#[derive(Clone, Copy, Debug)]
pub struct Score {
    /// Share of the picture that the scene covers.
    coverage: f64,
    /// How many times as far as the near things the far ones are, as a logarithm.
    depth: f64,
    /// Mean difference of neighbouring pixels.
    detail: f64,
    /// Pixels of the picture's border that the scene covers, for each pixel of the side of a square
    /// as large as all that it covers.
    border: f64,
    /// Share of the picture that something close to the camera covers.
    blocked: f64,
}

impl Score {
    /// Of a picture with its inverse depth; `radius` is the scene's.
    pub fn of(rendered: &Rendered, [width, height]: [u32; 2], radius: f64) -> Self {
        let (width, height) = (width as usize, height as usize);
        let pixels = (width * height) as f64;
        let depths = rendered.depth().unwrap_or_default();
        let covered = |i: usize| 1.0 - rendered.transmittance[i] >= COVERED;
        let mut logs: Vec<f64> = (0..width * height)
            .filter(|&i| covered(i) && depths.get(i).is_some_and(|&depth| depth > 0.0))
            .map(|i| f64::from(depths[i]).ln())
            .collect();
        logs.sort_unstable_by(f64::total_cmp);
        let at = |share: f64| {
            let i = (logs.len().saturating_sub(1) as f64 * share).round() as usize;
            logs.get(i).copied().unwrap_or(0.0)
        };
        // Light, and two differences of colours: a face is more than a pattern in black and white.
        let seen = |i: usize| {
            let [r, g, b] = rendered.image.data[i].map(|v| v.clamp(0.0, 1.0));
            [0.3 * r + 0.6 * g + 0.1 * b, r - g, g - b]
        };
        let mut detail = 0.0;
        for y in 0..height - 1 {
            for x in 0..width - 1 {
                let i = y * width + x;
                for other in [i + 1, i + width] {
                    for (a, b) in seen(i).into_iter().zip(seen(other)) {
                        detail += f64::from((a - b).abs().min(STRONGEST));
                    }
                }
            }
        }
        let border = (0..width)
            .flat_map(|x| [x, (height - 1) * width + x])
            .chain((0..height).flat_map(|y| [y * width, y * width + width - 1]))
            .filter(|&i| covered(i))
            .count();
        let near = logs.partition_point(|&log| log < (NEAR * radius).ln());
        let shown: f64 = rendered
            .transmittance
            .iter()
            .map(|t| f64::from(1.0 - t))
            .sum();
        Self {
            coverage: shown / pixels,
            border: border as f64 / shown.max(1.0).sqrt(),
            depth: at(0.95) - at(0.05),
            detail: detail / (2.0 * pixels),
            blocked: near as f64 / pixels,
        }
    }

    /// Whether the scene fills the picture.
    pub fn is_filled(&self) -> bool {
        self.coverage >= FILLED
    }

    /// Whether the scene is all around a place, by the views from there to all sides: all but one
    /// of them are covered, and hardly anything is close.
    pub fn is_all_around(views: &[Self]) -> bool {
        let covered = views
            .iter()
            .filter(|view| view.coverage >= ENCLOSED)
            .count();
        let blocked: f64 = views.iter().map(|view| view.blocked).sum();
        covered + 1 >= views.len() && blocked <= CLOSE * views.len() as f64
    }

    /// A factor for views from outside: less where the picture's border cuts through the scene.
    pub fn uncut(&self) -> f64 {
        CUT + (1.0 - CUT) * (-self.border / TOUCHED).exp()
    }

    /// One number; more is better.
    pub fn value(&self) -> f64 {
        let depth = 1.0 + self.depth.min(2.0);
        let clear = (1.0 - self.blocked).powi(4);
        self.detail * self.coverage.sqrt() * depth * clear
    }
}
