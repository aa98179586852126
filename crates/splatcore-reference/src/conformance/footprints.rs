//! Which (tile, splat) pairs the `intersect` methods find, on splats made to be difficult: random,
//! needle-thin, tiny, huge, at the border and round ones, with opacities from 1/255 to 0.99.
//!
//! For any implementation: it projects the Gaussians of a [`Field`] and says which tiles each of
//! its splats touches. The judges are alpha at every pixel centre in f64, from the splat as the
//! blend will read it, and the twin, from the Gaussians.

use super::outcome::{Outcome, ensure, gather};
use crate::twin::intersect::smallest_distance;
use crate::twin::{self, CutOffs, along_ray::AlongRay, intersect::intersect};
use splatcore_core::gaussians::logit;
use splatcore_core::pipeline::Intersect;
use splatcore_core::random::Rng;
use splatcore_core::semantics::{ALPHA_MIN, TILE};
use splatcore_core::{Camera, Gaussians};
use std::cell::RefCell;
use std::f64::consts::{LN_2, PI};

/// Gaussians.
const COUNT: usize = 4200;
const SIZE: [usize; 2] = [330, 205];
const FOCAL: f64 = 1000.0;
/// All Gaussians are this far away.
const DEPTH: f64 = 2.0;

/// What the methods are asked about.
pub struct Field {
    /// To be projected without harmonics.
    pub gaussians: Gaussians,
    /// Tiles a row, and rows.
    pub tiles: [usize; 2],
    /// Where the Gaussians are seen from.
    pub camera: Camera,
    scene: twin::Scene,
}

/// A splat as the implementation's blend reads it.
#[derive(Clone, Copy, Debug)]
pub struct Splat {
    /// Row in [`Field::gaussians`].
    pub gaussian: u32,
    /// Centre in pixels.
    pub mean: [f32; 2],
    /// a, b, c of log2 alpha = log2_opacity + a dx² + b dx dy + c dy².
    pub power: [f32; 3],
    /// log2 of the opacity.
    pub log2_opacity: f32,
    /// INRIA's radius in pixels: 3 sigma along the longer axis, rounded up.
    pub radius: f32,
}

/// Tiles of every splat, in ascending order.
pub type Tiles = Vec<Vec<u32>>;

impl Field {
    /// A fixed set of Gaussians before a camera.
    pub fn new() -> Self {
        let gaussians = gaussians();
        let camera = Camera::pinhole(SIZE[0] as u32, SIZE[1] as u32, FOCAL);
        Self {
            scene: twin::Scene::from(&gaussians),
            gaussians,
            tiles: SIZE.map(|side| side.div_ceil(TILE)),
            camera,
        }
    }

    /// Pixel centres of a tile.
    fn pixels(&self, tile: u32) -> impl Iterator<Item = [f64; 2]> {
        let (column, row) = (tile as usize % self.tiles[0], tile as usize / self.tiles[0]);
        let (x0, y0) = (column * TILE, row * TILE);
        let (x1, y1) = ((x0 + TILE).min(SIZE[0]), (y0 + TILE).min(SIZE[1]));
        (y0..y1).flat_map(move |y| (x0..x1).map(move |x| [x as f64 + 0.5, y as f64 + 0.5]))
    }

    /// The tiles that hold a fragment with alpha >= 1/255.
    fn needed(&self, splat: &Splat) -> Vec<u32> {
        let tiles = 0..(self.tiles[0] * self.tiles[1]) as u32;
        tiles
            .filter(|&tile| self.pixels(tile).any(|pixel| above(splat, pixel) >= 0.0))
            .collect()
    }

    /// log2(255 alpha) at the best point of the rectangle of a tile's pixel centres.
    fn best(&self, splat: &Splat, tile: u32) -> f64 {
        let (column, row) = (tile as usize % self.tiles[0], tile as usize / self.tiles[0]);
        let rectangle =
            [column, row].map(|k| [(k * TILE) as f64 + 0.5, ((k + 1) * TILE) as f64 - 0.5]);
        let [a, b, c] = splat.power.map(f64::from);
        let shape = twin::project::Splat {
            index: 0,
            depth: 1.0,
            mean: splat.mean.map(f64::from),
            covariance: [0.0; 3],
            conic: [a, 0.5 * b, c].map(|v| -2.0 * LN_2 * v),
            three_sigma: 0.0,
            opacity: 1.0,
            compensation: 1.0,
            colour: [0.0; 3],
            colour_clamped: [false; 3],
            sh_degree: 0,
            along_ray: AlongRay::default(),
        };
        let fall = 0.5 * smallest_distance(&shape, rectangle[0], rectangle[1]) / LN_2;
        splat.log2_opacity as f64 - fall - ALPHA_MIN.log2()
    }
}

impl Default for Field {
    fn default() -> Self {
        Self::new()
    }
}

fn gaussians() -> Gaussians {
    let mut rng = Rng::new(41, 95);
    let mut scene = Gaussians::zeros(COUNT, 0);
    for i in 0..COUNT {
        let rng = RefCell::new(&mut rng);
        let between = |low: f64, high: f64| low + (high - low) * rng.borrow_mut().uniform() as f64;
        let mut centre = [0, 1].map(|k| between(-30.0, SIZE[k] as f64 + 30.0));
        // In pixels, on a logarithmic scale.
        let pixels = |low: f64, high: f64| between(low.ln(), high.ln()).exp();
        let scales = match i % 6 {
            0 => [0; 3].map(|_| pixels(0.3, 40.0)),
            1 => [pixels(50.0, 2000.0), 0.01, 0.01],
            2 => [1e-3; 3],
            3 => [0; 3].map(|_| pixels(100.0, 5000.0)),
            4 => [0; 3].map(|_| pixels(1.0, 30.0)),
            _ => [pixels(0.3, 60.0); 3],
        };
        if i % 6 == 4 {
            // About an edge of the image, or on an edge of a tile.
            let axis = i / 6 % 2;
            let edge = match i / 12 % 3 {
                0 => 0.0,
                1 => SIZE[axis] as f64,
                _ => 16.0 * between(0.0, 12.0).round(),
            };
            centre[axis] = edge + between(-2.0, 2.0) * between(0.0, 20.0).floor();
        }
        // Every third needle along an axis, or nearly so.
        let angle = match i % 18 {
            1 => 0.5 * PI * between(0.0, 4.0).floor() + 1e-4 * between(-1.0, 1.0).round(),
            _ => between(0.0, 2.0 * PI),
        };
        let opacity = match i / 6 % 5 {
            0 => (1.0 + pixels(1e-4, 1.0)) / 255.0,
            1 => 0.99,
            2 => between(0.3, 0.4),
            _ => between(0.01, 0.99),
        };
        let tilt = if i % 6 == 1 { 0.0 } else { 1.0 };
        scene.rotations[i] = [
            (0.5 * angle).cos(),
            tilt * between(-1.0, 1.0),
            tilt * between(-1.0, 1.0),
            (0.5 * angle).sin(),
        ]
        .map(|v| v as f32);
        let half = SIZE.map(|side| 0.5 * side as f64);
        let [x, y] = [0, 1].map(|k| ((centre[k] - half[k]) * DEPTH / FOCAL) as f32);
        scene.means[i] = [x, y, DEPTH as f32];
        scene.log_scales[i] = scales.map(|s| (s * DEPTH / FOCAL).ln() as f32);
        scene.opacity_logits[i] = logit(opacity as f32);
    }
    scene
}

/// log2(255 alpha) at a point, of the splat as stored.
fn above(splat: &Splat, [x, y]: [f64; 2]) -> f64 {
    let [a, b, c] = splat.power.map(f64::from);
    let (dx, dy) = (x - splat.mean[0] as f64, y - splat.mean[1] as f64);
    splat.log2_opacity as f64 + a * dx * dx + b * dx * dy + c * dy * dy - ALPHA_MIN.log2()
}

/// Whether INRIA's square may leave out a pixel: it lies outside, or within the pixel's width that
/// its rounding loses on the right and at the bottom.
fn outside_square(splat: &Splat, pixel: [f64; 2]) -> bool {
    let radius = splat.radius as f64;
    (0..2).any(|k| {
        let d = pixel[k] - splat.mean[k] as f64;
        d < -radius + 1e-3 || d > radius - 1.0 - 1e-3
    })
}

/// Whether a pixel lies beyond 3 sigma.
fn beyond_three_sigma(splat: &Splat, pixel: [f64; 2]) -> bool {
    let fall = splat.log2_opacity as f64 - ALPHA_MIN.log2() - above(splat, pixel);
    2.0 * LN_2 * fall > 9.0 * (1.0 - 1e-3)
}

fn missing_from(some: &[u32], all: &[u32]) -> Vec<u32> {
    some.iter()
        .copied()
        .filter(|tile| all.binary_search(tile).is_err())
        .collect()
}

/// Everything that theory says of the methods. `splats` are the field's Gaussians as the
/// implementation projects them, but for those that can change no pixel; `tiles_of` gives the tiles
/// of each splat that a method finds.
pub fn footprints_hold(
    field: &Field,
    splats: &[Splat],
    mut tiles_of: impl FnMut(Intersect) -> Tiles,
) -> Outcome {
    let found: Vec<Tiles> = Intersect::ALL
        .iter()
        .map(|&method| tiles_of(method))
        .collect();
    let of = |method: Intersect| -> &Tiles {
        let at = Intersect::ALL.iter().position(|&m| m == method);
        &found[at.unwrap_or(0)]
    };
    let needed: Tiles = splats.iter().map(|splat| field.needed(splat)).collect();
    let mut outcomes = vec![
        none_is_missing(field, splats),
        well_formed(field, splats, &found),
    ];
    for &method in Intersect::ALL {
        let tiles = of(method);
        outcomes.push(loses_what_it_says(field, splats, method, tiles, &needed));
        outcomes.push(matches_the_twin(field, splats, method, tiles));
    }
    use Intersect::{Aabb, Accutile, AdaptiveRadius, Exact, Obb, Snugbox, TileCull};
    for (smaller, larger) in [
        (Exact, Accutile),
        (Accutile, Snugbox),
        (TileCull, Snugbox),
        (AdaptiveRadius, Snugbox),
        (AdaptiveRadius, Aabb),
        (Obb, Aabb),
    ] {
        outcomes.push(contained(smaller, of(smaller), larger, of(larger)));
    }
    outcomes.push(faint_ones_fit(splats, of(Exact), of(Aabb), of(Obb)));
    outcomes.push(same_losses(of(AdaptiveRadius), of(Aabb), &needed));
    let (culled, exact) = (of(TileCull), of(Exact));
    outcomes.push(same_but_for_roundings(field, splats, culled, exact));
    gather(outcomes)
}

/// What f32 leaves of an ellipse so thin is not the twin's ellipse.
fn too_thin(splat: &twin::project::Splat) -> bool {
    let [xx, xy, yy] = splat.covariance;
    xx * yy > 1e3 * (xx * yy - xy * xy)
}

/// Every Gaussian of which the twin is sure that it changes a pixel has a splat.
fn none_is_missing(field: &Field, splats: &[Splat]) -> Outcome {
    let mut there = vec![false; field.gaussians.len()];
    for splat in splats {
        there[splat.gaussian as usize] = true;
    }
    let changes_pixels = |&gaussian: &usize| {
        let camera = &field.camera;
        let splat = twin::project::project(&field.scene, gaussian, camera, 0.2, 0);
        splat.filter(|splat| !too_thin(splat)).is_some_and(|splat| {
            let tiles = intersect(&[splat], camera, Intersect::Exact, CutOffs::Reference);
            let mut lists = tiles.lists.iter().zip(&tiles.doubtful);
            lists.any(|(inside, doubtful)| !inside.is_empty() && doubtful.is_empty())
        })
    };
    let mut without = (0..there.len()).filter(|&gaussian| !there[gaussian]);
    match without.find(changes_pixels) {
        Some(gaussian) => Err(format!("Gaussian {gaussian} has no splat")),
        None => Ok(()),
    }
}

fn well_formed(field: &Field, splats: &[Splat], found: &[Tiles]) -> Outcome {
    let tiles = (field.tiles[0] * field.tiles[1]) as u32;
    let good = |list: &Vec<u32>| {
        list.windows(2).all(|pair| pair[0] < pair[1])
            && list.last().is_none_or(|&tile| tile < tiles)
    };
    ensure(
        found
            .iter()
            .all(|lists| lists.len() == splats.len() && lists.iter().all(good)),
        || "a method's lists are not in order, or not as many as there are splats".into(),
    )
}

/// Conservative methods lose no tile that holds a fragment; the others only fragments beyond their
/// limit, and some of those.
fn loses_what_it_says(
    field: &Field,
    splats: &[Splat],
    method: Intersect,
    found: &Tiles,
    needed: &Tiles,
) -> Outcome {
    let mut losses = 0;
    for (i, splat) in splats.iter().enumerate() {
        for tile in missing_from(&needed[i], &found[i]) {
            losses += 1;
            let kept = |&pixel: &[f64; 2]| above(splat, pixel) >= 0.0;
            let excused = |pixel| match method {
                Intersect::Aabb | Intersect::AdaptiveRadius => outside_square(splat, pixel),
                Intersect::Obb => outside_square(splat, pixel) || beyond_three_sigma(splat, pixel),
                _ => false,
            };
            if let Some(pixel) = field
                .pixels(tile)
                .filter(kept)
                .find(|&pixel| !excused(pixel))
            {
                return Err(format!(
                    "{method} loses tile {tile} of splat {i}, whose alpha at {pixel:?} is {:.5}: \
                     {splat:?}",
                    ALPHA_MIN * above(splat, pixel).exp2()
                ));
            }
        }
    }
    let all: usize = needed.iter().map(Vec::len).sum();
    ensure(
        method.loses_nothing() == (losses == 0) && all > 20 * splats.len(),
        || format!("{method} loses {losses} of {all} pairs"),
    )
}

/// Every pair of which the twin is sure is found; what is found beyond the twin's is doubtful or,
/// for the ellipse's methods, rare: f32 adds a margin.
fn matches_the_twin(field: &Field, splats: &[Splat], method: Intersect, found: &Tiles) -> Outcome {
    let (mut extra, mut pairs) = (0, 0);
    for (i, splat) in splats.iter().enumerate() {
        let gaussian = splat.gaussian as usize;
        let Some(wide) = twin::project::project(&field.scene, gaussian, &field.camera, 0.2, 0)
        else {
            return Err(format!("the twin does not see Gaussian {gaussian}"));
        };
        if too_thin(&wide) {
            continue;
        }
        let lists = intersect(&[wide], &field.camera, method, CutOffs::Reference);
        pairs += found[i].len();
        for tile in 0..(field.tiles[0] * field.tiles[1]) as u32 {
            let (inside, doubtful) = (
                !lists.lists[tile as usize].is_empty(),
                !lists.doubtful[tile as usize].is_empty(),
            );
            match (found[i].binary_search(&tile).is_ok(), inside) {
                _ if doubtful => {}
                (false, true) => {
                    return Err(format!(
                        "{method} lacks tile {tile} of splat {i}, the twin has it: {splat:?}"
                    ));
                }
                (true, false) => extra += 1,
                _ => {}
            }
        }
    }
    ensure(extra <= pairs / 200, || {
        format!("{method}: {extra} of {pairs} pairs that the twin does not have")
    })
}

fn contained(smaller: Intersect, few: &Tiles, larger: Intersect, many: &Tiles) -> Outcome {
    let beyond: usize = few
        .iter()
        .zip(many)
        .map(|(few, many)| missing_from(few, many).len())
        .sum();
    let [few, many] = [few, many].map(|lists| lists.iter().map(Vec::len).sum::<usize>());
    ensure(beyond == 0 && few < many, || {
        format!(
            "{smaller} has {few} pairs, {larger} {many}; {beyond} of the former's are not the \
             latter's"
        )
    })
}

/// Where the ellipse alpha = 1/255 lies inside 3 sigma, `obb` has what `exact` and `aabb` both
/// have.
fn faint_ones_fit(splats: &[Splat], exact: &Tiles, aabb: &Tiles, obb: &Tiles) -> Outcome {
    let limit = 4.5f64.exp() * ALPHA_MIN;
    let mut faint = 0;
    for (i, splat) in splats.iter().enumerate() {
        // A little less, since `exact` has a margin.
        if splat.log2_opacity as f64 > (0.99 * limit).log2() {
            continue;
        }
        faint += 1;
        let lost = missing_from(&exact[i], &obb[i]);
        if let Some(tile) = lost
            .into_iter()
            .find(|tile| aabb[i].binary_search(tile).is_ok())
        {
            return Err(format!(
                "obb lacks tile {tile} of splat {i}, though it is faint: {splat:?}"
            ));
        }
    }
    ensure(faint > splats.len() / 4, || {
        format!("{faint} splats are faint")
    })
}

/// `adaptive-radius` gives the images that `aabb` gives.
fn same_losses(one: &Tiles, other: &Tiles, needed: &Tiles) -> Outcome {
    let kept = |lists: &Tiles, i: usize| missing_from(&needed[i], &lists[i]);
    let differs = (0..needed.len()).find(|&i| kept(one, i) != kept(other, i));
    ensure(differs.is_none(), || {
        format!("adaptive-radius and aabb differ in what splat {differs:?} loses")
    })
}

fn same_but_for_roundings(
    field: &Field,
    splats: &[Splat],
    culled: &Tiles,
    exact: &Tiles,
) -> Outcome {
    for (i, splat) in splats.iter().enumerate() {
        let differing = [
            missing_from(&culled[i], &exact[i]),
            missing_from(&exact[i], &culled[i]),
        ]
        .concat();
        for tile in differing {
            let best = field.best(splat, tile);
            ensure(best < 0.0 && best > -5e-3, || {
                format!(
                    "tile-cull and exact differ in tile {tile} of splat {i}, where log2(255 alpha) \
                     reaches {best:.5}: {splat:?}"
                )
            })?;
        }
    }
    Ok(())
}
