//! The gradients of splats from those of pixels.
//!
//! A tile is drawn again and its fragments are kept, so that the backward pass has every
//! transmittance as the forward pass had it. Sums are made for each pair of tile and splat and then
//! added up in the lists' order.

use super::splat::{Light, Splat};
use super::{Block, Drawn};
use crate::error::{check_len, check_maybe};
use crate::parallel::Work;
use crate::{Real, Result};
use rayon::prelude::*;

/// Pixels of a tile whose fragments are kept at a time. A pixel has at most 2347 of them:
/// ln(1e-4) / ln(1 - 1/255).
const PIXELS: usize = 1024;
/// Sums that are kept at a time.
const SUMS: usize = 1 << 23;
/// Sums of a pair before those of its colours: mean (2), absolute values of mean (2), conic (3),
/// opacity.
const GEOMETRY: usize = 8;

/// The gradients of pixels.
#[derive(Clone, Copy, Debug)]
pub struct Backward<'a, F> {
    /// As the forward pass wrote it, `[I, H, W]`.
    pub last_ids: &'a [i32],
    /// `[I, H, W, D]`.
    pub v_colors: &'a [F],
    /// `[I, H, W]`; without it, 0.
    pub v_alphas: Option<&'a [F]>,
}

/// The gradients of splats. That of backgrounds is the sum of `v_colors` (1 - alphas).
#[derive(Debug)]
pub struct Gradients<'a, F> {
    /// `[M, 2]`.
    pub v_means2d: &'a mut [F],
    /// The sums over pixels of the absolute values (AbsGS, Ye et al. 2024), `[M, 2]`.
    pub v_means2d_abs: Option<&'a mut [F]>,
    /// `[M, 3]`.
    pub v_conics: &'a mut [F],
    /// `[M, D]`.
    pub v_colors: &'a mut [F],
    /// `[M]`.
    pub v_opacities: &'a mut [F],
}

/// A fragment that was drawn.
struct Kept<F> {
    x: u32,
    y: u32,
    /// Its place in the tile's list.
    splat: u32,
    alpha: F,
    falloff: F,
    /// The transmittance in front of it.
    before: F,
}

/// What a pixel's fragments further back tell those in front.
struct Pixel<F> {
    /// The gradient of the transmittance behind the last fragment, times that.
    through: F,
    /// The sum of the colours further back, weighted, times the gradient of the pixel's colour.
    further: F,
}

/// Fills the gradients, in an order that does not depend on the number of threads. An alpha at its
/// upper limit passes no gradient on to opacity, mean and conic.
///
/// # Errors
/// As [`super::forward`].
pub fn backward<F: Real>(
    drawn: &Drawn<'_, F>,
    input: &Backward<'_, F>,
    mut out: Gradients<'_, F>,
) -> Result {
    drawn.check()?;
    let lists = &drawn.lists;
    let (m, d) = (lists.opacities.len(), drawn.channels);
    let sides = [lists.images, lists.height, lists.width, d];
    check_len("last_ids", input.last_ids, &sides[..3])?;
    check_len("v_render_colors", input.v_colors, &sides)?;
    check_maybe("v_render_alphas", input.v_alphas, &sides[..3])?;
    check_len("v_means2d", out.v_means2d, &[m, 2])?;
    check_maybe("v_means2d_abs", out.v_means2d_abs.as_deref(), &[m, 2])?;
    check_len("v_conics", out.v_conics, &[m, 3])?;
    check_len("v_colors", out.v_colors, &[m, d])?;
    check_len("v_opacities", out.v_opacities, &[m])?;
    out.clear();
    if lists.is_empty() {
        return Ok(());
    }
    let width = GEOMETRY + d;
    let mut first = 0;
    while first < lists.tile_offsets.len() {
        let mut end = first + 1;
        let mut pairs = lists.list(first).len();
        while end < lists.tile_offsets.len() {
            pairs += lists.list(end).len();
            if pairs.saturating_mul(width) > SUMS {
                break;
            }
            end += 1;
        }
        let tiles = (first..end).into_par_iter().with_max_len(1);
        let sums: Vec<Vec<F>> = tiles.made(|tile| of_tile(drawn, input, tile));
        for (tile, sums) in (first..end).zip(&sums) {
            out.add(&lists.flatten_ids[lists.list(tile)], sums, width);
        }
        first = end;
    }
    Ok(())
}

impl<F: Real> Gradients<'_, F> {
    fn clear(&mut self) {
        self.v_means2d.fill(F::zero());
        self.v_conics.fill(F::zero());
        self.v_colors.fill(F::zero());
        self.v_opacities.fill(F::zero());
        if let Some(out) = &mut self.v_means2d_abs {
            out.fill(F::zero());
        }
    }

    /// Adds a tile's sums, `width` for each splat of its list.
    fn add(&mut self, list: &[i32], sums: &[F], width: usize) {
        let d = width - GEOMETRY;
        for (&id, sums) in list.iter().zip(sums.chunks_exact(width)) {
            let (id, (geometry, colors)) = (id as usize, sums.split_at(GEOMETRY));
            plus(&mut self.v_means2d[2 * id..][..2], &geometry[..2]);
            if let Some(out) = &mut self.v_means2d_abs {
                plus(&mut out[2 * id..][..2], &geometry[2..4]);
            }
            plus(&mut self.v_conics[3 * id..][..3], &geometry[4..7]);
            self.v_opacities[id] += geometry[7];
            plus(&mut self.v_colors[d * id..][..d], colors);
        }
    }
}

fn plus<F: Real>(out: &mut [F], values: &[F]) {
    out.iter_mut().zip(values).for_each(|(out, &v)| *out += v);
}

/// The sums of a tile, [`GEOMETRY`] and D for each splat of its list up to the last that was drawn.
fn of_tile<F: Real>(drawn: &Drawn<'_, F>, input: &Backward<'_, F>, tile: usize) -> Vec<F> {
    let lists = &drawn.lists;
    let (row, column) = (tile / lists.tile_width, tile % lists.tile_width);
    let (image, row) = (row / lists.tile_height, row % lists.tile_height);
    let block = lists.block(row, column);
    let list = lists.list(tile);
    if drawn.masked(tile) || list.is_empty() || block.area() == 0 {
        return Vec::new();
    }
    let pixels = Pixels {
        drawn,
        input,
        image,
    };
    let last = pixels.last(&block).clamp(list.start, list.end - 1);
    let ids = &lists.flatten_ids[list.start..=last];
    let mut sums = vec![F::zero(); ids.len() * (GEOMETRY + drawn.channels)];
    let (mut light, mut kept) = (Light::new(), Vec::new());
    for part in block.parts(PIXELS) {
        kept.clear();
        light.start(part.area());
        for (place, &id) in ids.iter().enumerate() {
            if light.is_dark() {
                break;
            }
            if let Some(splat) = Splat::new(lists, id as usize) {
                light.pass(
                    &splat,
                    &part,
                    lists.alpha_max,
                    |[x, y], _, fragment, before| {
                        kept.push(Kept {
                            x: x as u32,
                            y: y as u32,
                            splat: place as u32,
                            alpha: fragment.alpha,
                            falloff: fragment.falloff,
                            before,
                        });
                    },
                );
            }
        }
        pixels.back(&part, &light.transmittance, &kept, ids, &mut sums);
    }
    sums
}

/// An image's pixels and their gradients.
struct Pixels<'a, F> {
    drawn: &'a Drawn<'a, F>,
    input: &'a Backward<'a, F>,
    image: usize,
}

impl<F: Real> Pixels<'_, F> {
    fn place(&self, x: usize, y: usize) -> usize {
        (self.image * self.drawn.lists.height + y) * self.drawn.lists.width + x
    }

    /// Where in `flatten_ids` the last splat of a block stands.
    fn last(&self, block: &Block) -> usize {
        let rows = block.y.clone().map(|y| {
            let row = &self.input.last_ids[self.place(block.x.start, y)..][..block.x.len()];
            row.iter().max().copied().unwrap_or(0)
        });
        rows.max().unwrap_or(0).max(0) as usize
    }

    fn v_color(&self, place: usize) -> &[F] {
        let d = self.drawn.channels;
        &self.input.v_colors[place * d..][..d]
    }

    /// The pixels behind all fragments.
    fn start(&self, block: &Block, transmittances: &[F]) -> Vec<Pixel<F>> {
        let background = self.drawn.background(self.image);
        let rows = block.y.clone();
        rows.flat_map(|y| block.x.clone().map(move |x| (x, y)))
            .zip(transmittances)
            .map(|((x, y), &transmittance)| {
                let place = self.place(x, y);
                let shown = background.map(|background| dot(background, self.v_color(place)));
                let of_alpha = self.input.v_alphas.map_or(F::zero(), |v| v[place]);
                let v = of_alpha - shown.unwrap_or(F::zero());
                Pixel {
                    through: v * transmittance,
                    further: F::zero(),
                }
            })
            .collect()
    }

    /// Adds a block's gradients to the sums, fragments back to front.
    ///
    /// A pixel's colour is C = sum of c_i alpha_i T_i + T b, so
    /// dC/dalpha_i = c_i T_i - (sum over j > i of c_j alpha_j T_j + T b) / (1 - alpha_i).
    fn back(
        &self,
        block: &Block,
        transmittances: &[F],
        kept: &[Kept<F>],
        ids: &[i32],
        sums: &mut [F],
    ) {
        let (lists, d) = (&self.drawn.lists, self.drawn.channels);
        let mut pixels = self.start(block, transmittances);
        for of_splat in kept.chunk_by(|a, b| a.splat == b.splat).rev() {
            let Some(place) = of_splat.first().map(|kept| kept.splat as usize) else {
                continue;
            };
            let id = ids[place] as usize;
            let Some(splat) = Splat::new(lists, id) else {
                continue;
            };
            let color = self.drawn.color(id);
            let sums = &mut sums[place * (GEOMETRY + d)..][..GEOMETRY + d];
            let (sums, v_splat_color) = sums.split_at_mut(GEOMETRY);
            for kept in of_splat {
                let (x, y) = (kept.x as usize, kept.y as usize);
                let v_color = self.v_color(self.place(x, y));
                let pixel = &mut pixels[block.index(x, y)];
                let weight = kept.alpha * kept.before;
                let seen = dot(color, v_color);
                let v_alpha =
                    seen * kept.before + (pixel.through - pixel.further) / (F::one() - kept.alpha);
                pixel.further += seen * weight;
                let values = v_splat_color.iter_mut().zip(v_color);
                values.for_each(|(sum, &v)| *sum += weight * v);
                if splat.opacity() * kept.falloff <= lists.alpha_max {
                    add_geometry(sums, &splat, kept, v_alpha);
                }
            }
        }
    }
}

/// Adds the gradients of mean, conic and opacity from that of a fragment's alpha.
fn add_geometry<F: Real>(sums: &mut [F], splat: &Splat<F>, kept: &Kept<F>, v_alpha: F) {
    let delta = splat.delta(kept.x as usize, kept.y as usize);
    let [slope_x, slope_y] = splat.slope(delta);
    let v_sigma = -splat.opacity() * kept.falloff * v_alpha;
    let [x, y] = [v_sigma * slope_x, v_sigma * slope_y];
    let half = F::of(0.5) * v_sigma;
    let values = [
        x,
        y,
        x.abs(),
        y.abs(),
        half * delta[0] * delta[0],
        v_sigma * delta[0] * delta[1],
        half * delta[1] * delta[1],
        kept.falloff * v_alpha,
    ];
    plus(sums, &values);
}

fn dot<F: Real>(a: &[F], b: &[F]) -> F {
    let pairs = a.iter().zip(b);
    pairs.fold(F::zero(), |sum, (&a, &b)| sum + a * b)
}
