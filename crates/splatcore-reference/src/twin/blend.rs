//! `blend`: a pixel walks its tile's list front to back (Kerbl et al. 2023, equation 3 and its
//! rasterizer).
//!
//! Four comparisons make the image discontinuous or kinked: alpha below 1/255, alpha above its cap,
//! transmittance below 1e-4, and the order of depths. Two remedies, for two uses. [`CutOffs::None`]
//! leaves the first three out, so that finite differences are valid everywhere. And [`Doubt`] tells
//! for each pixel how far it could move if roundings tipped a comparison, so that a test can be
//! strict with all the others.

pub use super::cut_offs::{ALPHA_WINDOW, CutOffs, DEPTH_WINDOW, Doubt, TRANSMITTANCE_WINDOW};
use super::intersect::{Found, TileLists, oriented_box};
use super::project::Splat;
use super::ray_order::Ray;
use super::sky;
use splatcore_core::Camera;
use splatcore_core::backend::RenderOptions;
use splatcore_core::pipeline::{Blend, Fragments};
use splatcore_core::semantics::{ALPHA_MIN, TILE, TRANSMITTANCE_MIN};

/// One (pixel, Gaussian) that changed its pixel.
#[derive(Clone, Copy, Debug)]
pub struct Fragment {
    /// Index into the sorted splats.
    pub splat: usize,
    /// Pixel centre minus the splat's centre.
    pub offset: [f64; 2],
    /// After the cap.
    pub alpha: f64,
    /// Whether the cap changed it.
    pub capped: bool,
    /// Transmittance in front of it.
    pub transmittance: f64,
}

/// What [`blend`] gives, everything `[height * width]`.
pub struct Blended {
    /// Background included.
    pub image: Vec<[f64; 3]>,
    /// Behind the last fragment.
    pub transmittance: Vec<f64>,
    /// Sum of 1/z by the weights of the colours.
    pub inverse_depth: Vec<f64>,
    /// See [`Doubt`].
    pub doubts: Vec<Doubt>,
    /// Fragments that changed their pixel.
    pub fragments_blended: u64,
}

/// Blends every pixel.
pub fn blend(
    splats: &[Splat],
    tiles: &TileLists,
    camera: &Camera,
    options: &RenderOptions,
    cut_offs: CutOffs,
) -> Blended {
    let (width, height) = (camera.width as usize, camera.height as usize);
    let mut out = Blended {
        image: Vec::with_capacity(width * height),
        transmittance: Vec::with_capacity(width * height),
        inverse_depth: Vec::with_capacity(width * height),
        doubts: Vec::with_capacity(width * height),
        fragments_blended: 0,
    };
    for y in 0..height {
        for x in 0..width {
            let pixel = walk(x, y, splats, tiles, options, cut_offs);
            let behind = sky::behind(options, camera, [x, y]);
            let mut colour = behind.map(|b| pixel.transmittance * b);
            for f in &pixel.fragments {
                for c in 0..3 {
                    colour[c] += f.transmittance * f.alpha * splats[f.splat].colour[c];
                }
            }
            out.image.push(colour);
            out.transmittance.push(pixel.transmittance);
            let weighted = |f: &Fragment| f.transmittance * f.alpha / splats[f.splat].depth;
            out.inverse_depth
                .push(pixel.fragments.iter().map(weighted).sum());
            out.doubts.push(pixel.doubt);
            out.fragments_blended += pixel.fragments.len() as u64;
        }
    }
    out
}

/// With more splats in doubt than this, all of a pixel is.
const MAX_TIPS: usize = 24;

/// A pixel's fragments, front to back.
pub struct Pixel {
    /// Those that changed it.
    pub fragments: Vec<Fragment>,
    /// Behind the last of them.
    pub transmittance: f64,
    /// See [`Doubt`].
    pub doubt: Doubt,
}

/// Walks the list of the tile of pixel (x, y).
pub fn walk(
    x: usize,
    y: usize,
    splats: &[Splat],
    tiles: &TileLists,
    options: &RenderOptions,
    cut_offs: CutOffs,
) -> Pixel {
    let cap = options.semantics.alpha_max as f64;
    let tile = (y / TILE) * tiles.columns + x / TILE;
    let centre = [x as f64 + 0.5, y as f64 + 0.5];
    let blend = options.pipeline.blend;
    let shared_point = shared_point(blend, [x, y], tiles.size);
    // No colour that this pixel could show is brighter: bounds what lies behind.
    let brightest = sky::brightest(options).max(tiles.brightest[tile]);
    let mut pixel = Pixel {
        fragments: Vec::new(),
        transmittance: 1.0,
        doubt: Doubt::default(),
    };
    let along_ray = blend.method().fragments == Fragments::AlongRay;
    let ray = (along_ray && cut_offs == CutOffs::Reference).then_some(Ray {
        splats,
        pixel: [x, y],
        size: tiles.size,
        tipped: None,
    });
    let mut tips = Vec::new();
    let by_ray = ray.map(|ray| ray.order(&tiles.lists[tile], &mut tips));
    for &k in by_ray.as_ref().unwrap_or(&tiles.lists[tile]) {
        let splat = &splats[k];
        let (offset, uncapped) = alpha(splat, centre);
        if cut_offs == CutOffs::None {
            pixel.push(k, offset, uncapped, false);
            continue;
        }
        let found = sub_tile(blend, splat, [x, y]);
        if found.doubtful() && uncapped >= ALPHA_MIN * (1.0 - ALPHA_WINDOW) {
            pixel.doubt(uncapped.min(cap), brightest);
        }
        if !found.inside() {
            continue;
        }
        let tested = shared_point.map_or(uncapped, |point| alpha(splat, point).1);
        if (tested / ALPHA_MIN - 1.0).abs() < ALPHA_WINDOW {
            pixel.doubt(uncapped.min(cap), brightest);
        }
        if tested < ALPHA_MIN {
            continue;
        }
        pixel.doubt.any |= (uncapped / cap - 1.0).abs() < ALPHA_WINDOW;
        if ray.is_none() {
            pixel.doubt_order(splats, k, uncapped.min(cap));
        }
        let behind = pixel.transmittance * (1.0 - uncapped.min(cap));
        if (behind / TRANSMITTANCE_MIN - 1.0).abs() < TRANSMITTANCE_WINDOW {
            pixel.doubt(uncapped.min(cap), brightest);
        }
        if behind < TRANSMITTANCE_MIN {
            break;
        }
        pixel.push(k, offset, uncapped.min(cap), uncapped > cap);
    }
    if let Some(ray) = ray {
        let lists = [&tiles.lists[tile], &tiles.doubtful[tile]];
        pixel.doubt_tips(ray, lists, tips, cap, brightest);
    }
    for &k in &tiles.doubtful[tile] {
        let (_, alpha) = alpha(&splats[k], centre);
        if alpha >= ALPHA_MIN * (1.0 - ALPHA_WINDOW) {
            pixel.doubt.any = true;
            pixel.doubt.colour +=
                alpha * brightest.max(splats[k].colour.into_iter().fold(0.0, f64::max));
            pixel.doubt.transmittance += alpha;
        }
    }
    pixel
}

/// Where a blend that tests alpha once for several pixels tests it, so that it loses fragments and
/// blends others that are below 1/255; `None` of all that test it at each pixel.
pub fn shared_point(blend: Blend, pixel: [usize; 2], size: [usize; 2]) -> Option<[f64; 2]> {
    // Of a group that reaches out of the image, the point of the image that is nearest to the
    // group's centre.
    let centre_of_group = |sides: [usize; 2]| {
        [0, 1].map(|k| {
            let centre = (pixel[k] / sides[k] * sides[k]) as f64 + 0.5 * sides[k] as f64;
            centre.min(size[k] as f64 - 0.5)
        })
    };
    match blend.method().fragments {
        Fragments::OfGroup(sides) => Some(centre_of_group(sides)),
        Fragments::Listed | Fragments::OfSubTile(_) | Fragments::AlongRay => None,
    }
}

/// Whether the pixels of this pixel's sub-tile may blend a splat: always, but with a blend that
/// tests its box for sub-tiles, so that it loses fragments.
pub fn sub_tile(blend: Blend, splat: &Splat, pixel: [usize; 2]) -> Found {
    match blend.method().fragments {
        Fragments::OfSubTile(side) => oriented_box(splat, pixel.map(|p| p / side), side),
        Fragments::Listed | Fragments::OfGroup(_) | Fragments::AlongRay => Found::Sure,
    }
}

/// Offset of a pixel centre from the splat's, and alpha there before the cap: o exp(-dᵀ Q d / 2).
pub fn alpha(splat: &Splat, centre: [f64; 2]) -> ([f64; 2], f64) {
    let d = [centre[0] - splat.mean[0], centre[1] - splat.mean[1]];
    let [a, b, c] = splat.conic;
    let power = -0.5 * (a * d[0] * d[0] + c * d[1] * d[1]) - b * d[0] * d[1];
    (d, splat.opacity * power.exp())
}

impl Pixel {
    fn push(&mut self, splat: usize, offset: [f64; 2], alpha: f64, capped: bool) {
        self.fragments.push(Fragment {
            splat,
            offset,
            alpha,
            capped,
            transmittance: self.transmittance,
        });
        self.transmittance *= 1.0 - alpha;
    }

    /// A fragment of this alpha may or may not be there: it takes `alpha` of the transmittance that
    /// its own colour and all that is behind would share.
    fn doubt(&mut self, alpha: f64, brightest: f64) {
        self.doubt.any = true;
        self.doubt.colour += self.transmittance * alpha * brightest;
        self.doubt.transmittance += self.transmittance * alpha;
    }

    /// What the image would be if roundings tipped one of the comparisons by which the order along
    /// the ray came to be, for one splat after the other: to first order the changes add up.
    fn doubt_tips(
        &mut self,
        ray: Ray,
        [list, doubtful]: [&Vec<usize>; 2],
        mut tips: Vec<usize>,
        cap: f64,
        brightest: f64,
    ) {
        tips.sort_unstable();
        tips.dedup();
        self.doubt.any |= !tips.is_empty();
        if tips.len() > MAX_TIPS {
            self.doubt.colour += brightest;
            self.doubt.transmittance += 1.0;
            return;
        }
        let centre = ray.pixel.map(|p| p as f64 + 0.5);
        let blended = |list: &[usize], tipped| {
            let order = Ray { tipped, ..ray }.order(list, &mut Vec::new());
            let (mut colour, mut transmittance) = ([0.0; 3], 1.0);
            for k in order {
                let alpha = alpha(&ray.splats[k], centre).1.min(cap);
                let behind = transmittance * (1.0 - alpha);
                if behind < TRANSMITTANCE_MIN {
                    break;
                }
                for (sum, c) in colour.iter_mut().zip(ray.splats[k].colour) {
                    *sum += transmittance * alpha * c;
                }
                transmittance = behind;
            }
            (colour, transmittance)
        };
        let (colour, transmittance) = blended(list, None);
        let mut compare = |(other, behind): ([f64; 3], f64)| {
            let moved = (0..3).map(|c| (colour[c] - other[c]).abs());
            let of_background = (behind - transmittance).abs();
            self.doubt.colour += moved.fold(0.0, f64::max) + of_background * brightest;
            self.doubt.transmittance += of_background;
        };
        for tip in tips {
            for nearer in [true, false] {
                compare(blended(list, Some((tip, nearer))));
            }
        }
        // A splat that is in a backend's list and not in this one, or the other way round, moves
        // the others in the windows.
        for &k in doubtful {
            let mut other = list.clone();
            match other.binary_search(&k) {
                Ok(place) => drop(other.remove(place)),
                Err(place) => other.insert(place, k),
            }
            compare(blended(&other, None));
        }
    }

    /// Exchanging two neighbours in depth moves the pixel by T a1 a2 (c1 - c2). Equal depths are no
    /// doubt: their order is the index.
    fn doubt_order(&mut self, splats: &[Splat], next: usize, alpha: f64) {
        let Some(last) = self.fragments.last() else {
            return;
        };
        let (a, b) = (&splats[last.splat], &splats[next]);
        if a.depth == b.depth || b.depth - a.depth > DEPTH_WINDOW * (1.0 + b.depth) {
            return;
        }
        self.doubt.any = true;
        let difference = (0..3)
            .map(|c| (a.colour[c] - b.colour[c]).abs())
            .fold(0.0, f64::max);
        self.doubt.colour += last.transmittance * last.alpha * alpha * difference;
    }
}

#[cfg(test)]
mod tests {
    use super::super::along_ray::AlongRay;
    use super::*;

    /// A round splat with this standard deviation in pixels.
    fn round(mean: [f64; 2], sigma: f64, opacity: f64) -> Splat {
        let variance = sigma * sigma;
        Splat {
            index: 0,
            depth: 1.0,
            mean,
            covariance: [variance, 0.0, variance],
            conic: [1.0 / variance, 0.0, 1.0 / variance],
            three_sigma: 3.0 * sigma,
            opacity,
            compensation: 1.0,
            colour: [1.0; 3],
            colour_clamped: [false; 3],
            sh_degree: 0,
            along_ray: AlongRay::default(),
        }
    }

    /// Whether a splat is visible in these pixels.
    fn visible<const N: usize>(blend: Blend, splat: Splat, pixels: [[usize; 2]; N]) -> [bool; N] {
        let tiles = TileLists {
            size: [16; 2],
            columns: 1,
            rows: 1,
            lists: vec![vec![0]],
            doubtful: vec![vec![]],
            brightest: vec![1.0],
        };
        let mut options = RenderOptions::default();
        options.pipeline.blend = blend;
        let (splats, cut_offs) = ([splat], CutOffs::Reference);
        pixels.map(|[x, y]| walk(x, y, &splats, &tiles, &options, cut_offs).transmittance < 1.0)
    }

    /// The groups' centres are (6, 1) and (10, 1), 2.5 and 6.5 from the mean, squared. Pixel (4, 0)
    /// is 10 from it and blends what its group blends.
    #[test]
    fn seele_tests_alpha_at_the_centre_of_a_group() {
        // Alpha is 1/255 at this squared distance from the mean.
        let seele = |square: f64| {
            let opacity: f64 = 0.8;
            let sigma = (square / (2.0 * (opacity / ALPHA_MIN).ln())).sqrt();
            let splat = round([7.5, 1.5], sigma, opacity);
            visible(Blend::Seele, splat, [[6, 1], [8, 1], [4, 0]])
        };
        assert_eq!(seele(2.49), [false, false, false]);
        assert_eq!(seele(2.51), [true, false, true]);
        assert_eq!(seele(6.49), [true, false, true]);
        assert_eq!(seele(6.51), [true, true, true]);
    }

    /// Pixel (8, 3) is 6.6 and 6.4 from the mean, where alpha is above 1/255, in another sub-tile
    /// than the mean. 3 sigma are 6 pixels.
    #[test]
    fn gscore_skips_sub_tiles_beyond_the_box() {
        let pixels = [[7, 3], [8, 3]];
        let splat = |x| round([x, 3.5], 2.0, 0.99);
        assert_eq!(visible(Blend::Scalar, splat(1.9), pixels), [true, true]);
        assert_eq!(visible(Blend::GsCore, splat(1.9), pixels), [true, false]);
        assert_eq!(visible(Blend::GsCore, splat(2.1), pixels), [true, true]);
    }
}
