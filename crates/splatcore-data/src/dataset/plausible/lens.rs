//! Whether a lens forms an image of the photo.

use super::camera::field_of_view;
use crate::dataset::finding::{Finding, number};
use splatcore_core::{Camera, Lens};

/// Positions along each side of the photo at which the lens is tried.
const POSITIONS: usize = 5;
/// A lens must reach this share of the photo; a fisheye's circle may be small.
const REACHED: f64 = 0.25;
const REACHED_BY_FISHEYE: f64 = 0.1;
/// What lenses that a calibration fitted to photos reach.
const USUALLY_REACHED: f64 = 0.6;
/// How much longer or shorter a polynomial makes the way from the axis: more than this, and the
/// pinhole photo that is made of it would have nothing of the size of its pixels.
const POSSIBLE_FACTOR: f64 = 8.0;
const USUAL_FACTOR: f64 = 3.0;

/// Judges lenses; remembers the latest, as neighbours usually share one.
#[derive(Default)]
pub struct Judge {
    latest: Option<(Camera, Option<Finding>)>,
}

impl Judge {
    /// What is wrong with the field of view and the lens of a camera that is one otherwise.
    pub fn finding(&mut self, camera: &Camera) -> Option<Finding> {
        if let Some((known, finding)) = &self.latest
            && known.same_intrinsics(camera)
        {
            return finding.clone();
        }
        let finding = judge(camera);
        self.latest = Some((camera.clone(), finding.clone()));
        finding
    }
}

fn judge(camera: &Camera) -> Option<Finding> {
    let lens = &camera.lens;
    if lens.defect().is_some() {
        let (name, value) = worst(lens);
        let expected = match lens {
            Lens::Fov { omega } if omega.is_finite() => "less than pi",
            Lens::Eucm { alpha, beta } if alpha.is_finite() && beta.is_finite() => {
                "alpha from 0 to 1 and beta above 0"
            }
            _ => "a finite number",
        };
        return Some(Finding::refused(name, number(value), expected));
    }
    if lens.polynomial().is_some_and(|of| of.plane.is_straight()) {
        // They have no coefficients, and any focal length makes an image.
        return None;
    }
    let of_view = field_of_view(camera, lens.is_fisheye());
    if *lens == Lens::Pinhole || of_view.is_some() {
        return of_view;
    }
    let Tried { reached, factors } = try_at_positions(camera);
    let (name, value) = worst(lens);
    let least = if lens.is_fisheye() {
        REACHED_BY_FISHEYE
    } else {
        REACHED
    };
    let share = format!(
        "{} (the lens forms an image on {:.0} % of the photo)",
        number(value),
        100.0 * reached
    );
    if reached < least {
        return Some(Finding::refused(
            name,
            share,
            "a lens that reaches the whole photo",
        ));
    }
    let [low, high] = factors;
    let factor = if high > 1.0 / low { high } else { low };
    let bends = format!(
        "{} (the lens moves what is seen to {} times its distance from the axis)",
        number(value),
        number(factor)
    );
    let expected = |limit: f64| format!("{} to {limit} times", number(1.0 / limit));
    if high > POSSIBLE_FACTOR || low < 1.0 / POSSIBLE_FACTOR {
        return Some(Finding::refused(name, bends, expected(POSSIBLE_FACTOR)));
    }
    if high > USUAL_FACTOR || low < 1.0 / USUAL_FACTOR {
        return Some(Finding::doubtful(name, bends, expected(USUAL_FACTOR)));
    }
    (reached < USUALLY_REACHED && !lens.is_fisheye())
        .then(|| Finding::doubtful(name, share, "a lens that reaches the whole photo"))
}

/// The coefficient that stands for the lens in a message: one that is not finite, else the largest.
fn worst(lens: &Lens) -> (String, f64) {
    let all = lens.coefficients();
    let odd = all.iter().find(|(_, v)| !v.is_finite());
    let largest = all.iter().max_by(|a, b| a.1.abs().total_cmp(&b.1.abs()));
    let (name, value) = odd.or(largest).copied().unwrap_or(("", 0.0));
    (format!("lens coefficient {name}"), value)
}

struct Tried {
    /// Share of the positions to which a ray belongs.
    reached: f64,
    /// Smallest and largest ratio of distances from the axis, in the plane where a polynomial acts:
    /// with the lens to without it. 1 for lenses that are no polynomials.
    factors: [f64; 2],
}

fn try_at_positions(camera: &Camera) -> Tried {
    let c = camera;
    let polynomial = camera.lens.polynomial().is_some();
    let (mut reached, mut factors) = (0, [1.0f64; 2]);
    let share = |i: usize| i as f64 / (POSITIONS - 1) as f64;
    for row in 0..POSITIONS {
        for column in 0..POSITIONS {
            let pixel = [
                share(column) * f64::from(c.width),
                share(row) * f64::from(c.height),
            ];
            let Some(ray) = camera.ray(pixel) else {
                continue;
            };
            let bent = [(pixel[0] - c.cx) / c.fx, (pixel[1] - c.cy) / c.fy];
            if bent[0] * ray[0] + bent[1] * ray[1] < 0.0 {
                // Behind the fold, where a polynomial has changed its sign.
                continue;
            }
            reached += 1;
            let bent = bent[0].hypot(bent[1]);
            let straight = ray[0].hypot(ray[1]);
            let straight = match camera.lens.is_fisheye() {
                true => straight.atan(),
                false => straight,
            };
            let factor = bent / straight;
            // On the axis there is nothing to compare.
            if polynomial && straight > 1e-9 && factor.is_finite() {
                factors = [factors[0].min(factor), factors[1].max(factor)];
            }
        }
    }
    Tried {
        reached: f64::from(reached) / (POSITIONS * POSITIONS) as f64,
        factors,
    }
}
