//! How far a pixel may be from the twin when exponents are computed in few digits.
//!
//! A fragment's base-2 exponent is s = sum of v_i u_i over the monomials u = (1, x, y, x², xy, y²)
//! of the pixel about a local origin. A backend that rounds v_i by a relative eps and s by eps_s is
//! off by at most
//!     E = sum of eps |v_i u_i| + eps_s |s|,
//! to which comes what f32 loses before (`before`). With exp and alpha rounded by rho, alpha = 2^s
//! lies within alpha 2^±E (1 ± rho): to first order its relative error is ln 2 · E. A fragment
//! whose alpha is off by D moves the pixel by at most T D times the brightest colour, T being the
//! transmittance in front of it, and the transmittance itself lies in an interval whose ends are
//! the products of the ends of 1 - alpha. A fragment whose interval of alpha holds 1/255 may be
//! there or not: D is its whole alpha. A pixel whose interval of T holds 1e-4 may stop or not: D is
//! all that is left; so it is behind the fragment with which a pixel may stop at inference
//! ([`Half::min_transmittance`]). These two are kept apart, as `cut_offs`.

use crate::twin::blend::{CutOffs, alpha, shared_point, sub_tile, walk};
use crate::twin::intersect::{Found, smallest_distance};
use crate::twin::project::Splat;
use crate::twin::{Doubt, Lists, Scene};
use rayon::prelude::*;
use splatcore_core::backend::RenderOptions;
use splatcore_core::pipeline::Fragments;
use splatcore_core::precision::{HALF, Half, Precision, SINGLE};
use splatcore_core::semantics::{ALPHA_MIN, TILE, TRANSMITTANCE_MIN};
use splatcore_core::{Camera, Gaussians};
use std::collections::VecDeque;
use std::f64::consts::LOG2_E;

/// Smallest step of a half below 2^-14, halved: what rounding loses of the smallest numbers.
const HALF_SUBNORMAL: f64 = 1.0 / (1u64 << 25) as f64;
/// Roundings of f32 in a chain of operations like these: about as many go into a projected centre,
/// into a projected covariance and back out of its inverse, and into a polynomial.
const ROUNDINGS: f64 = 16.0;

/// A view of a scene in f64, pixel by pixel.
pub struct Reference {
    lists: Lists,
    /// Of each splat of the lists.
    shapes: Vec<Shape>,
    /// As the lists, and whatever a backend may put into its own besides: the margins of its tests
    /// are smaller than this one, but errors of an exponent may be larger than they.
    reach: Vec<Vec<usize>>,
    /// Brightest colour in reach of each tile, or behind.
    brightest: Vec<f64>,
}

/// Splats with no alpha of this much of 1/255 in a tile are in no backend's list unless in the
/// twin's.
const REACH: f64 = 0.5;

/// First and last pixel centre of a tile, one axis.
fn range(tile: usize, size: u32) -> [f64; 2] {
    let from = tile * TILE;
    [
        from as f64 + 0.5,
        (from + TILE).min(size as usize) as f64 - 0.5,
    ]
}

/// What the twin says of a pixel, and how far from it is right.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Expected {
    /// Background included.
    pub colour: [f64; 3],
    /// Behind the last fragment.
    pub transmittance: f64,
    /// From roundings, of a colour channel and of the transmittance.
    pub rounding: [f64; 2],
    /// From comparisons that roundings may tip, likewise.
    pub cut_offs: [f64; 2],
    /// Fragments that may be blended or not.
    pub doubtful: u64,
}

/// What is right in some pixels of an image.
#[derive(Clone, Debug)]
pub struct ExpectedPixels {
    /// Width and height of the image.
    pub size: [usize; 2],
    /// For a backend of this precision.
    pub precision: Precision,
    /// Where, and what.
    pub pixels: Vec<([usize; 2], Expected)>,
}

/// The interval in which a backend's alpha lies, before the cap.
struct Interval {
    low: f64,
    high: f64,
}

/// Errors of transmittance that stem from errors of weights. Where T is what the weights leave, an
/// error shrinks with T as soon as weights are made from the T that has it, and not before: within
/// a batch it stays whole.
struct Loose {
    batch: usize,
    fresh: VecDeque<f64>,
    old: f64,
}

impl Loose {
    fn new(batch: usize) -> Self {
        Self {
            batch,
            fresh: VecDeque::new(),
            old: 0.0,
        }
    }

    /// A fragment of at least this alpha, whose weight is off by `error`.
    fn add(&mut self, error: f64, alpha: f64) {
        self.old *= 1.0 - alpha;
        self.fresh.push_back(error);
        if self.fresh.len() > self.batch {
            self.old += self.fresh.pop_front().unwrap_or(0.0);
        }
    }

    fn sum(&self) -> f64 {
        self.old + self.fresh.iter().sum::<f64>()
    }
}

impl Reference {
    /// Projects, sorts and intersects.
    pub fn new(scene: &Gaussians, camera: &Camera, options: &RenderOptions) -> Self {
        Self::of(Lists::new(
            &Scene::from(scene),
            camera,
            options,
            CutOffs::Reference,
        ))
    }

    /// What is left to do where lists are there.
    pub fn of(lists: Lists) -> Self {
        let (camera, splats, tiles) = (&lists.camera, &lists.splats, &lists.tiles);
        let reach: Vec<Vec<usize>> = (0..tiles.lists.len())
            .map(|tile| {
                let x = range(tile % tiles.columns, camera.width);
                let y = range(tile / tiles.columns, camera.height);
                let near = |k: &usize| {
                    let splat = &splats[*k];
                    let largest = splat.opacity * (-0.5 * smallest_distance(splat, x, y)).exp();
                    largest >= REACH * ALPHA_MIN || tiles.lists[tile].binary_search(k).is_ok()
                };
                (0..splats.len()).filter(near).collect()
            })
            .collect();
        let behind = lists.options.background.map(f64::from);
        let brightest = |list: &Vec<usize>| {
            let colours = list.iter().flat_map(|&k| splats[k].colour);
            colours.chain(behind).fold(0.0, f64::max)
        };
        Self {
            shapes: splats
                .iter()
                .map(|splat| Shape::new(splat, camera))
                .collect(),
            brightest: reach.iter().map(brightest).collect(),
            reach,
            lists,
        }
    }

    /// Some pixels, for a backend of this precision.
    pub fn pixels(&self, precision: Precision, pixels: Vec<[usize; 2]>) -> ExpectedPixels {
        let mut expected = self.pixels_of(&[precision], &pixels);
        expected.swap_remove(0)
    }

    /// Some pixels, for backends of each of these precisions.
    pub fn pixels_of(
        &self,
        precisions: &[Precision],
        pixels: &[[usize; 2]],
    ) -> Vec<ExpectedPixels> {
        let one = |&[x, y]: &[usize; 2]| self.pixel(x, y, precisions);
        let found: Vec<Vec<Expected>> = pixels.par_iter().map(one).collect();
        let of = |(k, &precision)| ExpectedPixels {
            size: [self.lists.camera.width, self.lists.camera.height].map(|side| side as usize),
            precision,
            pixels: pixels
                .iter()
                .zip(&found)
                .map(|(&at, found)| (at, found[k]))
                .collect(),
        };
        precisions.iter().enumerate().map(of).collect()
    }

    /// One pixel, for backends of each of these precisions.
    fn pixel(&self, x: usize, y: usize, precisions: &[Precision]) -> Vec<Expected> {
        let Lists {
            options,
            splats,
            tiles,
            ..
        } = &self.lists;
        let pixel = walk(x, y, splats, tiles, options, CutOffs::Reference);
        let background = options.background.map(f64::from);
        let mut colour = background.map(|b| pixel.transmittance * b);
        for f in &pixel.fragments {
            for (sum, c) in colour.iter_mut().zip(splats[f.splat].colour) {
                *sum += f.transmittance * f.alpha * c;
            }
        }
        let mut expected = Expected {
            colour,
            transmittance: pixel.transmittance,
            ..Expected::default()
        };
        // Depths and tiles that f32 alone does not tell apart.
        expected.doubt(&pixel.doubt);
        let tile = (y / TILE) * tiles.columns + x / TILE;
        let centre = [x as f64 + 0.5, y as f64 + 0.5];
        let mut reach = self.reach[tile].clone();
        if options.pipeline.blend.method().fragments == Fragments::AlongRay {
            // About in its order: bounds change little with it.
            let depth = |k: usize| splats[k].along_ray.depth(centre);
            reach.sort_by(|&a, &b| depth(a).total_cmp(&depth(b)));
        }
        let list: Vec<(usize, Exponent)> = reach
            .into_iter()
            .map(|k| (k, self.shapes[k].exponent(&splats[k], centre)))
            .collect();
        let bound = |&precision: &Precision| {
            let mut expected = expected;
            self.bound([x, y], precision, &list, &mut expected);
            expected
        };
        precisions.iter().map(bound).collect()
    }

    /// A pixel's list.
    #[cfg(test)]
    pub fn of_pixel(&self, x: usize, y: usize) -> impl Iterator<Item = &Splat> {
        let Lists { splats, tiles, .. } = &self.lists;
        let list = &tiles.lists[(y / TILE) * tiles.columns + x / TILE];
        list.iter().map(|&k| &splats[k])
    }

    /// Walks the list of all that the pixel may blend, with intervals for alpha and transmittance.
    fn bound(
        &self,
        pixel: [usize; 2],
        precision: Precision,
        list: &[(usize, Exponent)],
        expected: &mut Expected,
    ) {
        let half = match precision {
            Precision::Half(half) => Some(half),
            Precision::Single => None,
        };
        // In f32 the numbers are those of a blend whose scores alone are halves.
        let of = half.unwrap_or(Half::scores(SINGLE, 0.0));
        let (weight, colour, sum, batch) = (of.weight, of.colour, of.sum, of.batch);
        let (kept, least_left) = (of.transmittance, of.min_transmittance);
        let cap = self.lists.options.semantics.alpha_max as f64;
        let [x, y] = pixel;
        let tile = (y / TILE) * self.lists.tiles.columns + x / TILE;
        let brightest = self.brightest[tile];
        let centre = [x as f64 + 0.5, y as f64 + 0.5];
        // The backend's transmittance: an interval from errors of alpha, and what errors of weights
        // do to it besides.
        let (mut low, mut high) = (1.0f64, 1.0f64);
        let mut loose = Loose::new(batch);
        for (place, &(k, ref exponent)) in list.iter().enumerate() {
            let Some((found, least_tested)) = self.find(k, exponent, pixel, half.as_ref()) else {
                continue;
            };
            let (_, exact) = alpha(&self.lists.splats[k], centre);
            let (least, exact, most) = (found.low.min(cap), exact.min(cap), found.high.min(cap));
            let doubtful = least_tested < ALPHA_MIN;
            let before = high + loose.sum();
            let sure = if doubtful { 0.0 } else { least };
            // What rounding the transmittance behind the fragment takes or gives shrinks from there
            // on as what an error of the weight does.
            let taken = before * most;
            let off = taken * weight + before * (1.0 - sure) * kept;
            loose.add(off, sure);
            let behind_high = high * (1.0 - sure);
            let behind_low = low * (1.0 - most);
            let stops = behind_high + loose.sum() < TRANSMITTANCE_MIN && !doubtful;
            if stops && least_left == 0.0 {
                break;
            }
            if behind_low - loose.sum() < TRANSMITTANCE_MIN {
                // Whether it stops here or later, it and the twin share out no more than what is
                // left.
                expected.cut_offs[0] += before * brightest;
                expected.cut_offs[1] += before + loose.sum();
                expected.doubtful += if stops {
                    0
                } else {
                    (list.len() - place) as u64
                };
                break;
            }
            if doubtful {
                expected.cut_offs[0] += taken * brightest;
                expected.doubtful += 1;
            } else {
                expected.rounding[0] += before * (most - exact).max(exact - least) * brightest;
            }
            // An error of a weight changes the transmittance behind it; one of the colour or of the
            // sum does not.
            expected.rounding[0] += (off + taken * colour + sum) * brightest;
            if colour >= HALF {
                expected.rounding[0] += HALF_SUBNORMAL * brightest;
            }
            (low, high) = (behind_low, behind_high);
            if low - loose.sum() < least_left {
                // It may stop behind this one, and share out what is left here in another way than
                // the twin.
                expected.cut_offs[0] += (high + loose.sum()) * brightest;
                expected.cut_offs[1] += high + loose.sum();
                break;
            }
        }
        // Doubtful fragments are in it too.
        expected.rounding[1] += high - low + loose.sum();
    }

    /// Alpha as a backend may find it at a pixel, and the least that it may find where a blend
    /// compares alpha with 1/255: at the shared point of several pixels, if there is one, else at
    /// the pixel. `None` if all of what is compared is below 1/255.
    fn find(
        &self,
        k: usize,
        exponent: &Exponent,
        pixel: [usize; 2],
        half: Option<&Half>,
    ) -> Option<(Interval, f64)> {
        let (shape, lists) = (&self.shapes[k], &self.lists);
        let blend = lists.options.pipeline.blend;
        let in_sub_tile = sub_tile(blend, &lists.splats[k], pixel);
        if in_sub_tile == Found::Not {
            return None;
        }
        let Some(point) = shared_point(blend, pixel, lists.tiles.size) else {
            let found = shape.interval(exponent, pixel, half, ALPHA_MIN)?;
            let least = if in_sub_tile.doubtful() {
                0.0
            } else {
                found.low
            };
            return Some((found, least));
        };
        let there = shape.exponent(&lists.splats[k], point);
        let there = shape.interval(&there, [0; 2], None, ALPHA_MIN)?;
        Some((shape.interval(exponent, pixel, half, 0.0)?, there.low))
    }
}

/// What the bounds ask of a splat at every pixel.
struct Shape {
    /// a, b, c of log2 alpha = log2 opacity + a dx² + b dx dy + c dy².
    power: [f64; 3],
    log2_opacity: f64,
    /// Of both eigenvalues of the covariance, about: 1 where nothing cancels.
    ratio: f64,
    /// Sizes of the terms that the centre is the sum of.
    centre: [f64; 2],
}

/// Of a splat at a pixel.
struct Exponent {
    /// From the splat's centre.
    offset: [f64; 2],
    /// log2 alpha.
    score: f64,
    /// What f32 loses of it whatever the blend does.
    before: f64,
}

impl Shape {
    fn new(splat: &Splat, camera: &Camera) -> Self {
        let [a, b, c] = splat.conic;
        let [xx, xy, yy] = splat.covariance;
        let (middle, root) = (
            0.5 * (xx + yy),
            (0.25 * (xx - yy) * (xx - yy) + xy * xy).sqrt(),
        );
        let smaller = (xx * yy - xy * xy) / (middle + root);
        let reach = camera
            .translation
            .iter()
            .fold(0.0, |m: f64, t| m.max(t.abs()))
            / splat.depth;
        let centre = |mean: f64, principal: f64, focal: f64| {
            (mean - principal).abs() + principal.abs() + focal * reach
        };
        Self {
            power: [-0.5 * LOG2_E * a, -LOG2_E * b, -0.5 * LOG2_E * c],
            log2_opacity: splat.opacity.log2(),
            // Without an entry off the diagonal nothing cancels.
            ratio: 1.0 + xy.abs() / smaller,
            centre: [
                centre(splat.mean[0], camera.cx, camera.fx),
                centre(splat.mean[1], camera.cy, camera.fy),
            ],
        }
    }

    /// Log2 alpha, and what f32 loses of it whatever the blend does. The centre is off by roundings
    /// of the terms that it is the sum of; the covariance by roundings of its larger eigenvalue,
    /// which the inverse turns into the ratio of both eigenvalues; the polynomial by roundings of
    /// its terms; the opacity by roundings of its logarithm.
    fn exponent(&self, splat: &Splat, point: [f64; 2]) -> Exponent {
        let [a, b, c] = self.power;
        let d = [0, 1].map(|k| point[k] - splat.mean[k]);
        let terms = [a * d[0] * d[0], b * d[0] * d[1], c * d[1] * d[1]];
        let polynomial: f64 = terms.iter().map(|t| t.abs()).sum();
        let shape = self.ratio * terms.iter().sum::<f64>().abs();
        let slope = [2.0 * a * d[0] + b * d[1], 2.0 * c * d[1] + b * d[0]];
        let shift = slope[0].abs() * self.centre[0] + slope[1].abs() * self.centre[1];
        Exponent {
            offset: d,
            score: self.log2_opacity + terms[0] + terms[1] + terms[2],
            before: ROUNDINGS
                * SINGLE
                * (polynomial + shape + shift + self.log2_opacity.abs().min(64.0)),
        }
    }

    /// See the module's documentation; `None` if all of it is below `least`.
    fn interval(
        &self,
        exponent: &Exponent,
        pixel: [usize; 2],
        half: Option<&Half>,
        least: f64,
    ) -> Option<Interval> {
        let mut error = exponent.before;
        let mut rho = 4.0 * SINGLE;
        if let Some(half) = half {
            error += self.product(exponent, pixel, half);
            rho = half.alpha;
        }
        // In logarithms: far from a splat alpha is 0 in f64, and 2^E infinite. Most splats are far
        // from most pixels; log2(1 + rho) is less than 2 rho.
        let most = exponent.score + error;
        if most < least.log2() - 2.0 * rho {
            return None;
        }
        let interval = Interval {
            low: (exponent.score - error).exp2() * (1.0 - rho),
            high: most.exp2() * (1.0 + rho),
        };
        if interval.high < least {
            return None;
        }
        Some(interval)
    }

    /// E of the product.
    fn product(&self, exponent: &Exponent, pixel: [usize; 2], half: &Half) -> f64 {
        let [a, b, c] = self.power;
        let side = TILE * half.tiles;
        // The pixel from the local origin, the local origin from the mean.
        let origin = 0.5 * side as f64 + half.off_middle;
        let [x, y] = pixel.map(|p| (p % side) as f64 + 0.5 - origin);
        let (ox, oy) = (exponent.offset[0] - x, exponent.offset[1] - y);
        let terms = [
            (
                self.log2_opacity.abs() + (a * ox * ox + b * ox * oy + c * oy * oy).abs(),
                1.0,
            ),
            (2.0 * a * ox + b * oy, x),
            (2.0 * c * oy + b * ox, y),
            (a, x * x),
            (b, x * y),
            (c, y * y),
        ];
        let sum: f64 = terms.iter().map(|(v, u)| (v * u).abs()).sum();
        let monomials: f64 = terms.iter().map(|(_, u)| u.abs()).sum();
        // Matrix units add in f32 and cut what does not fit.
        (half.coefficient + ROUNDINGS * SINGLE) * sum
            + HALF_SUBNORMAL * monomials
            + half.score * exponent.score.abs()
    }
}

impl Expected {
    fn doubt(&mut self, doubt: &Doubt) {
        self.cut_offs[0] += doubt.colour;
        self.cut_offs[1] += doubt.transmittance;
    }
}
