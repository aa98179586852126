//! The pixels.

use super::splat::{Light, Splat};
use super::{Block, Drawn};
use crate::error::check_len;
use crate::parallel::Work;
use crate::{Real, Result};
use rayon::prelude::*;

/// Images.
#[derive(Debug)]
pub struct Pixels<'a, F> {
    /// `[I, H, W, D]`.
    pub colors: &'a mut [F],
    /// 1 - the transmittance behind the last fragment, `[I, H, W]`.
    pub alphas: &'a mut [F],
    /// Where in `flatten_ids` the last fragment's splat stands, 0 without one, `[I, H, W]`.
    pub last_ids: &'a mut [i32],
}

/// A row of tiles of one image.
struct Band<'a, F> {
    colors: &'a mut [F],
    alphas: &'a mut [F],
    last_ids: &'a mut [i32],
}

/// Draws.
///
/// # Errors
/// A length that does not fit, or lists of splats that do not exist.
pub fn forward<F: Real>(drawn: &Drawn<'_, F>, out: Pixels<'_, F>) -> Result {
    drawn.check()?;
    let lists = &drawn.lists;
    let sides = [lists.images, lists.height, lists.width, drawn.channels];
    check_len("render_colors", out.colors, &sides)?;
    check_len("render_alphas", out.alphas, &sides[..3])?;
    check_len("last_ids", out.last_ids, &sides[..3])?;
    if lists.is_empty() {
        return Ok(());
    }
    let colors = lists.cut(out.colors, drawn.channels);
    let outputs = colors.into_iter().zip(lists.cut(out.alphas, 1));
    let outputs = outputs.zip(lists.cut(out.last_ids, 1));
    let bands: Vec<Band<'_, F>> = outputs
        .map(|((colors, alphas), last_ids)| Band {
            colors,
            alphas,
            last_ids,
        })
        .collect();
    let bands = bands.into_par_iter().with_max_len(1).enumerate();
    bands.each_with(Light::new, |light, (i, mut band)| {
        let (image, row) = (i / lists.bands(), i % lists.bands());
        band.colors.fill(F::zero());
        band.last_ids.fill(0);
        for column in 0..lists.width.div_ceil(lists.tile_size) {
            let tile = (image * lists.tile_height + row) * lists.tile_width + column;
            band.tile(drawn, light, tile, &lists.block(row, column));
        }
        band.finish(drawn.background(image));
    });
    Ok(())
}

impl<F: Real> Band<'_, F> {
    /// Draws a tile: colours without background, and transmittances in the place of alphas.
    fn tile(&mut self, drawn: &Drawn<'_, F>, light: &mut Light<F>, tile: usize, block: &Block) {
        let (lists, channels) = (&drawn.lists, drawn.channels);
        light.start(block.area());
        let list = match drawn.masked(tile) {
            true => 0..0,
            false => lists.list(tile),
        };
        let place = |x: usize, y: usize| (y - block.y.start) * lists.width + x;
        for at in list {
            if light.is_dark() {
                break;
            }
            let id = lists.flatten_ids[at] as usize;
            let Some(splat) = Splat::new(lists, id) else {
                continue;
            };
            let color = drawn.color(id);
            light.pass(
                &splat,
                block,
                lists.alpha_max,
                |[x, y], _, fragment, before| {
                    let place = place(x, y);
                    let out = &mut self.colors[place * channels..][..channels];
                    add(out, color, fragment.alpha * before);
                    self.last_ids[place] = at as i32;
                },
            );
        }
        for y in block.y.clone() {
            let row = &light.transmittance[block.index(block.x.start, y)..][..block.x.len()];
            self.alphas[place(block.x.start, y)..][..row.len()].copy_from_slice(row);
        }
    }

    /// Puts the background behind everything.
    fn finish(&mut self, background: Option<&[F]>) {
        if let Some(background) = background {
            let pixels = self.colors.chunks_exact_mut(background.len());
            for (color, &transmittance) in pixels.zip(&*self.alphas) {
                add(color, background, transmittance);
            }
        }
        self.alphas.iter_mut().for_each(|v| *v = F::one() - *v);
    }
}

/// Adds a colour times its weight.
fn add<F: Real>(out: &mut [F], color: &[F], weight: F) {
    // With a known length the loop is unrolled.
    if let (Ok(out), Ok(color)) = (
        <&mut [F; 3]>::try_from(&mut *out),
        <&[F; 3]>::try_from(color),
    ) {
        (0..3).for_each(|k| out[k] += weight * color[k]);
        return;
    }
    let values = out.iter_mut().zip(color);
    values.for_each(|(out, &c)| *out += weight * c);
}
