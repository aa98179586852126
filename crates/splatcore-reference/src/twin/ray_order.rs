//! The order of [`Blend::StopThePop`](splatcore_core::pipeline::Blend): by depth along the pixel's
//! own ray, through windows of finite size (Radl et al. 2024, "StopThePop").
//!
//! Four levels, each of which sorts what it receives by the depth along its own ray: the tile, the
//! sub-tile of 4x4 pixels, the quad of 2x2, the pixel. A window holds so many splats and passes the
//! nearest on; what it has passed on stays in front of what it receives later.

use super::along_ray::{ROUNDINGS, SplatCentre};
use super::cut_offs::ALPHA_WINDOW;
use super::intersect::{closest_point, smallest_distance};
use super::project::Splat;
use splatcore_core::precision::SINGLE;
use splatcore_core::semantics::{ALPHA_MIN, TILE};

/// Splats that a tile holds; it passes on half of them when it has so many.
pub const TILE_WINDOW: usize = 512;
/// Splats that a sub-tile holds, likewise.
pub const SUB_TILE_WINDOW: usize = 64;
/// Splats that a quad holds; it passes on the nearest when it gets one more.
pub const QUAD_QUEUE: usize = 8;
/// Fragments that a pixel holds, likewise.
pub const PIXEL_QUEUE: usize = 4;
/// Pixels a side of a sub-tile.
const SUB_TILE: usize = 4;
/// Pixels a side of a quad.
const QUAD: usize = 2;
/// A sub-tile drops a splat whose alpha is below 1/255 by more than this share everywhere.
const CULL_MARGIN: f64 = 7e-4;
/// What is asked of the order of a pixel.
#[derive(Clone, Copy)]
pub struct Ray<'a> {
    /// Front to back by their means.
    pub splats: &'a [Splat],
    /// The pixel.
    pub pixel: [usize; 2],
    /// Of the image.
    pub size: [usize; 2],
    /// A splat whose comparisons that roundings could tip are tipped: it is farther and fainter
    /// (false), or nearer and brighter (true).
    pub tipped: Option<(usize, bool)>,
}

/// A splat at some level.
#[derive(Clone, Copy)]
struct Entry {
    splat: usize,
    depth: f64,
    error: f64,
}

impl Ray<'_> {
    /// The fragments of a list in blending order. Adds to `doubtful` the splats with a comparison
    /// that roundings could tip.
    pub fn order(&self, list: &[usize], doubtful: &mut Vec<usize>) -> Vec<usize> {
        let corner = |side: usize| self.pixel.map(|p| (p / side * side) as f64);
        let middle = |side: usize| corner(side).map(|p| p + 0.5 * side as f64);
        let (tile, sub_tile) = (corner(TILE), corner(SUB_TILE));
        let of_tile = [0, 1].map(|k| {
            let end = (tile[k] + TILE as f64).min(self.size[k] as f64);
            [tile[k] + 0.5, end - 0.5]
        });
        let of_sub_tile = sub_tile.map(|p| [p + 0.5, p + SUB_TILE as f64 - 0.5]);
        let centre = self.pixel.map(|p| p as f64 + 0.5);

        let at_best = list.iter().map(|&k| {
            let (point, _) = closest_point(&self.splats[k], of_tile[0], of_tile[1]);
            self.entry(k, point, true)
        });
        let found = resorted(at_best, TILE_WINDOW, doubtful);
        let found = self.reaching(
            found,
            of_sub_tile,
            ALPHA_MIN * (1.0 - CULL_MARGIN),
            doubtful,
        );
        let at = |point| move |k| self.entry(k, point, false);
        let found = found.into_iter().map(at(middle(SUB_TILE)));
        let found = resorted(found, SUB_TILE_WINDOW, doubtful);
        let found = found.into_iter().map(at(middle(QUAD)));
        let found = queued(found, QUAD_QUEUE, doubtful);
        let found = self.reaching(found, centre.map(|p| [p, p]), ALPHA_MIN, doubtful);
        queued(found.into_iter().map(at(centre)), PIXEL_QUEUE, doubtful)
    }

    fn entry(&self, k: usize, point: [f64; 2], best: bool) -> Entry {
        let splat = &self.splats[k];
        // With one that is tipped, nobody asks for the errors of the others.
        let error = match self.tipped {
            Some((tipped, _)) if tipped != k => 0.0,
            _ => self.error(splat, point, best),
        };
        let tip = match self.tipped {
            Some((tipped, true)) if tipped == k => -2.0 * error,
            Some((tipped, false)) if tipped == k => 2.0 * error,
            _ => 0.0,
        };
        Entry {
            splat: k,
            depth: splat.along_ray.depth(point) + tip,
            error,
        }
    }

    /// How far f32 may be from a splat's depth on the ray through a point, which is where its alpha
    /// is `best`, or does not depend on it.
    fn error(&self, splat: &Splat, point: [f64; 2], best: bool) -> f64 {
        let [xx, xy, yy] = splat.covariance;
        let offset = [0, 1].map(|i| (point[i] - splat.mean[i]).abs());
        // The best point on a line depends on the shape, of which f32 loses digits where it is
        // thin, and on how far the line is from the mean.
        let thin = (xx * yy / (xx * yy - xy * xy)).sqrt();
        let of_best = [
            thin * (offset[0] + offset[1] * (xx / yy).sqrt()),
            thin * (offset[1] + offset[0] * (yy / xx).sqrt()),
        ];
        let shift = [0, 1].map(|i| {
            let centre = splat.mean[i].abs() + splat.along_ray.centre_terms[i];
            ROUNDINGS * SINGLE * (centre + if best { of_best[i] } else { 0.0 })
        });
        let of_splat = SplatCentre {
            mean: splat.mean,
            depth: splat.depth,
        };
        splat.along_ray.error(of_splat, point, shift)
    }

    /// Those whose largest alpha over a rectangle is at least `least`.
    fn reaching(
        &self,
        mut splats: Vec<usize>,
        [x, y]: [[f64; 2]; 2],
        least: f64,
        doubtful: &mut Vec<usize>,
    ) -> Vec<usize> {
        splats.retain(|&k| {
            let splat = &self.splats[k];
            let alpha = splat.opacity * (-0.5 * smallest_distance(splat, x, y)).exp();
            let is_doubtful = (alpha / least - 1.0).abs() < ALPHA_WINDOW;
            if is_doubtful {
                doubtful.push(k);
            }
            match self.tipped {
                Some((tipped, brighter)) if tipped == k && is_doubtful => brighter,
                _ => alpha >= least,
            }
        });
        splats
    }
}

/// Whether roundings could exchange a splat and a farther one. Equal depths are no doubt: they are
/// those of equal Gaussians.
fn is_close(near: &Entry, far: &Entry) -> bool {
    near.depth != far.depth && far.depth - near.depth <= near.error + far.error
}

/// Fills a window of so many, sorts it, and passes on the nearer half; at the end all. Equal depths
/// stay in the order in which they came.
fn resorted(
    entries: impl Iterator<Item = Entry>,
    window: usize,
    doubtful: &mut Vec<usize>,
) -> Vec<usize> {
    let (mut held, mut passed) = (Vec::with_capacity(window), Vec::new());
    let mut pass = |held: &mut Vec<Entry>, count: usize| {
        held.sort_by(|a, b| a.depth.total_cmp(&b.depth));
        let largest = held.iter().map(|entry| entry.error).fold(0.0, f64::max);
        for (i, a) in held.iter().enumerate() {
            for b in &held[i + 1..] {
                if b.depth - a.depth > a.error + largest {
                    break;
                }
                if is_close(a, b) {
                    doubtful.extend([a.splat, b.splat]);
                }
            }
        }
        passed.extend(held.drain(..count).map(|entry| entry.splat));
    };
    for entry in entries {
        held.push(entry);
        if held.len() == window {
            pass(&mut held, window / 2);
        }
    }
    let left = held.len();
    pass(&mut held, left);
    passed
}

/// A queue of so many, which passes on the nearest, of equal depths the first, when it gets one
/// more; at the end all.
fn queued(
    entries: impl Iterator<Item = Entry>,
    size: usize,
    doubtful: &mut Vec<usize>,
) -> Vec<usize> {
    let (mut held, mut passed): (Vec<Entry>, _) = (Vec::with_capacity(size + 1), Vec::new());
    let mut pass = |held: &mut Vec<Entry>| {
        let nearest = (0..held.len()).min_by(|&a, &b| held[a].depth.total_cmp(&held[b].depth));
        let Some(nearest) = nearest else { return };
        let entry = held.remove(nearest);
        for other in held.iter() {
            if is_close(&entry, other) {
                doubtful.extend([entry.splat, other.splat]);
            }
        }
        passed.push(entry.splat);
    };
    for entry in entries {
        held.push(entry);
        if held.len() > size {
            pass(&mut held);
        }
    }
    while !held.is_empty() {
        pass(&mut held);
    }
    passed
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::twin::{Scene, visible_splats};
    use splatcore_core::backend::RenderOptions;
    use splatcore_core::random::Rng;
    use splatcore_core::{Camera, Gaussians};

    fn entries(depths: &[f64]) -> impl Iterator<Item = Entry> {
        let entry = |(splat, &depth)| Entry {
            splat,
            depth,
            error: 1e-9,
        };
        depths.iter().enumerate().map(entry)
    }

    #[test]
    fn a_window_passes_on_the_nearer_half_when_it_is_full() {
        let mut doubtful = Vec::new();
        // The last comes too late for the front.
        let order = resorted(entries(&[4.0, 3.0, 2.0, 5.0, 1.0]), 4, &mut doubtful);
        assert_eq!(order, [2, 1, 4, 0, 3]);
        let order = resorted(entries(&[4.0, 3.0, 2.0, 5.0, 1.0]), 6, &mut doubtful);
        assert_eq!(order, [4, 2, 1, 0, 3]);
        assert!(doubtful.is_empty());
    }

    #[test]
    fn a_queue_passes_on_the_nearest_and_of_equal_depths_the_first() {
        let mut doubtful = Vec::new();
        let order = queued(entries(&[4.0, 3.0, 5.0, 3.0, 1.0]), 2, &mut doubtful);
        assert_eq!(order, [1, 3, 4, 0, 2]);
        assert!(doubtful.is_empty(), "equal depths are no doubt");
        queued(entries(&[4.0, 3.0, 3.0 + 1e-9]), 2, &mut doubtful);
        assert_eq!(doubtful, [1, 2]);
    }

    fn scene(count: usize) -> Gaussians {
        let mut rng = Rng::new(5, 96);
        let mut scene = Gaussians::empty(0);
        for _ in 0..count {
            scene
                .means
                .push([0, 0, 1].map(|k| [0.2, 1.0][k] * rng.normal()));
            scene
                .log_scales
                .push([0; 3].map(|_| -1.2 + 0.8 * rng.normal()));
            scene.rotations.push([0; 4].map(|_| rng.normal()));
            scene.opacity_logits.push(1.0);
            scene.sh.push([0.1; 3]);
        }
        scene
    }

    /// As many splats as a pixel's queue holds, of which the last pops when a fifth would come: the
    /// order is by depth along the ray, though by their means it is another.
    #[test]
    fn few_splats_are_in_the_order_of_the_ray() {
        let camera = Camera::look_at([0.2, 0.1, -4.0], [0.0; 3], [0.0, -1.0, 0.0], 0.5, 16, 16);
        let scene = scene(PIXEL_QUEUE + 1);
        let splats = visible_splats(&Scene::from(&scene), &camera, &RenderOptions::default());
        let list: Vec<usize> = (0..splats.len()).collect();
        let mut reordered = 0;
        for i in 0..256 {
            let ray = Ray {
                splats: &splats,
                pixel: [i % 16, i / 16],
                size: [16; 2],
                tipped: None,
            };
            let order = ray.order(&list, &mut Vec::new());
            let centre = ray.pixel.map(|p| p as f64 + 0.5);
            let depth = |k: &usize| splats[*k].along_ray.depth(centre);
            assert!(order.is_sorted_by_key(depth), "{order:?}");
            reordered += usize::from(!order.is_sorted());
        }
        assert!(reordered > 50, "{reordered}");
    }

    /// Long lists are nearly in that order: the share of neighbours that are not is small, and much
    /// smaller than by their means.
    #[test]
    fn windows_bring_long_lists_near_it() {
        let camera = Camera::look_at([0.2, 0.1, -4.0], [0.0; 3], [0.0, -1.0, 0.0], 0.5, 16, 16);
        let splats = visible_splats(
            &Scene::from(&scene(300)),
            &camera,
            &RenderOptions::default(),
        );
        let list: Vec<usize> = (0..splats.len()).collect();
        let (mut swapped, mut swapped_by_mean, mut all) = (0, 0, 0);
        for i in (0..256).step_by(5) {
            let ray = Ray {
                splats: &splats,
                pixel: [i % 16, i / 16],
                size: [16; 2],
                tipped: None,
            };
            let order = ray.order(&list, &mut Vec::new());
            let centre = ray.pixel.map(|p| p as f64 + 0.5);
            let mut by_mean = order.clone();
            by_mean.sort_unstable();
            let depth = |k: usize| splats[k].along_ray.depth(centre);
            let inversions = |order: &[usize]| {
                let pairs = order.windows(2);
                pairs.filter(|pair| depth(pair[0]) > depth(pair[1])).count()
            };
            swapped += inversions(&order);
            swapped_by_mean += inversions(&by_mean);
            all += order.len();
        }
        assert!(all > 2000, "{all}");
        assert!(
            4 * swapped < swapped_by_mean,
            "{swapped} of {swapped_by_mean}"
        );
    }
}
