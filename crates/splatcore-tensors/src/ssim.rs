//! Structural similarity (Wang et al. 2004) with a Gaussian window of 11x11 pixels, sigma 1.5, and
//! zeros around the images, for each pixel and channel, and its gradient for the first image.

use crate::error::{check_len, check_maybe, product, wrong};
use crate::parallel::Work;
use crate::{Real, Result};
use rayon::prelude::*;
use splatcore_core::metrics::{SSIM_C1, SSIM_C2, SSIM_RADIUS, ssim_window};

/// Which pixels a map has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Padding {
    /// All.
    Same,
    /// Those whose window lies in the image: five fewer at each side.
    Valid,
}

/// Two stacks of images.
#[derive(Clone, Copy, Debug)]
pub struct Images<'a, F> {
    /// B C: images of one channel.
    pub planes: usize,
    /// H.
    pub height: usize,
    /// W.
    pub width: usize,
    /// `[B, C, H, W]`.
    pub img1: &'a [F],
    /// `[B, C, H, W]`.
    pub img2: &'a [F],
    /// Which pixels the map has: all `[B, C, H, W]`, or `[B, C, H - 10, W - 10]`.
    pub padding: Padding,
}

impl<F: Real> Images<'_, F> {
    /// Pixels around the map at each side.
    fn margin(&self) -> usize {
        match self.padding {
            Padding::Same => 0,
            Padding::Valid => SSIM_RADIUS,
        }
    }

    /// The sides of the map of one plane.
    fn map_sides(&self) -> Result<[usize; 2]> {
        let margin = 2 * self.margin();
        match (
            self.height.checked_sub(margin),
            self.width.checked_sub(margin),
        ) {
            (Some(height), Some(width)) => Ok([height, width]),
            _ => wrong(
                "img1",
                "of 10 x 10 pixels or more for padding \"valid\"",
                format_args!("{} x {}", self.height, self.width),
            ),
        }
    }

    fn check(&self) -> Result<[usize; 2]> {
        let sides = [self.planes, self.height, self.width];
        check_len("img1", self.img1, &sides)?;
        check_len("img2", self.img2, &sides)?;
        self.map_sides()
    }

    fn area(&self) -> usize {
        product(&[self.height, self.width]).unwrap_or(0)
    }

    fn plane<'b>(&self, all: &'b [F], plane: usize) -> &'b [F] {
        let area = self.area();
        &all[plane * area..][..area]
    }
}

/// Weighted means of `COUNT` images over the window of each pixel, `[H][W][COUNT]`, row by row;
/// `row` writes the images' values in a row.
fn blur<F: Real, const COUNT: usize>(
    height: usize,
    width: usize,
    row: impl Fn(usize, &mut [[F; COUNT]]) + Sync,
) -> Vec<[F; COUNT]> {
    let window = ssim_window().map(F::of);
    let mut across = vec![[F::zero(); COUNT]; height * width];
    let rows = across.par_chunks_exact_mut(width).enumerate();
    rows.each_with(
        || vec![[F::zero(); COUNT]; width],
        |values, (y, out)| {
            row(y, values);
            for (x, out) in out.iter_mut().enumerate() {
                let first = x.saturating_sub(SSIM_RADIUS);
                let taps = &window[first + SSIM_RADIUS - x..];
                weigh(out, taps, &values[first..width.min(x + SSIM_RADIUS + 1)]);
            }
        },
    );
    let mut out = vec![[F::zero(); COUNT]; height * width];
    let rows = out.par_chunks_exact_mut(width).enumerate();
    rows.each(|(y, out)| {
        let first = y.saturating_sub(SSIM_RADIUS);
        let taps = &window[first + SSIM_RADIUS - y..];
        let lines = across[first * width..width * height.min(y + SSIM_RADIUS + 1)]
            .chunks_exact(width)
            .zip(taps);
        for (line, &tap) in lines {
            for (out, values) in out.iter_mut().zip(line) {
                (0..COUNT).for_each(|k| out[k] += tap * values[k]);
            }
        }
    });
    out
}

/// Adds up values times their taps.
fn weigh<F: Real, const COUNT: usize>(out: &mut [F; COUNT], taps: &[F], values: &[[F; COUNT]]) {
    for (values, &tap) in values.iter().zip(taps) {
        (0..COUNT).for_each(|k| out[k] += tap * values[k]);
    }
}

/// Writes the map, and for the backward pass `partials` `[3, B, C, H, W]`: its derivatives by the
/// weighted means of x, x² and x y, where x is the first image and y the second.
///
/// # Errors
/// A length that does not fit, or images smaller than the window.
pub fn forward<F: Real>(
    images: &Images<'_, F>,
    map: &mut [F],
    partials: Option<&mut [F]>,
) -> Result {
    let [map_height, map_width] = images.check()?;
    let (height, width, area) = (images.height, images.width, images.area());
    check_len("map", map, &[images.planes, map_height, map_width])?;
    check_maybe(
        "partials",
        partials.as_deref(),
        &[3, images.planes, height, width],
    )?;
    if area == 0 || images.planes == 0 {
        return Ok(());
    }
    let mut partials = partials.map(|all| {
        let mut thirds = all.chunks_exact_mut(images.planes * area);
        std::array::from_fn::<_, 3, _>(|_| thirds.next().unwrap_or_default())
    });
    for plane in 0..images.planes {
        let (x, y) = (
            images.plane(images.img1, plane),
            images.plane(images.img2, plane),
        );
        let means = blur(height, width, |row, out: &mut [[F; 5]]| {
            let pairs = x[row * width..].iter().zip(&y[row * width..]);
            for (out, (&x, &y)) in out.iter_mut().zip(pairs) {
                *out = [x, y, x * x, y * y, x * y];
            }
        });
        let margin = images.margin();
        let each = map_height * map_width;
        let map = &mut map[plane * each..][..each];
        if each > 0 {
            let rows = map.par_chunks_exact_mut(map_width).enumerate();
            rows.each(|(row, out)| {
                let means = &means[(row + margin) * width + margin..];
                let pixels = out.iter_mut().zip(means);
                pixels.for_each(|(out, means)| *out = Similarity::of(means).value());
            });
        }
        if let Some([of_x, of_xx, of_xy]) = &mut partials {
            let at = plane * area..(plane + 1) * area;
            let outputs = of_x[at.clone()].par_iter_mut();
            let outputs = outputs.zip(&mut of_xx[at.clone()]).zip(&mut of_xy[at]);
            outputs.zip(&means).each(|(((x, xx), xy), means)| {
                [*x, *xx, *xy] = Similarity::of(means).partials(means);
            });
        }
    }
    Ok(())
}

/// The factors of a pixel's similarity: (a b) / (c d).
struct Similarity<F> {
    a: F,
    b: F,
    c: F,
    d: F,
}

impl<F: Real> Similarity<F> {
    /// Of the means of x, y, x², y², x y.
    fn of(&[x, y, xx, yy, xy]: &[F; 5]) -> Self {
        let two = F::of(2.0);
        Self {
            a: two * x * y + F::of(SSIM_C1),
            b: two * (xy - x * y) + F::of(SSIM_C2),
            c: x * x + y * y + F::of(SSIM_C1),
            d: (xx - x * x) + (yy - y * y) + F::of(SSIM_C2),
        }
    }

    fn value(&self) -> F {
        self.a * self.b / (self.c * self.d)
    }

    /// The derivatives by the means of x, x² and x y.
    fn partials(&self, &[x, y, ..]: &[F; 5]) -> [F; 3] {
        let two = F::of(2.0);
        let below = (self.c * self.d).recip();
        let value = self.value();
        let of_x =
            two * y * (self.b - self.a) * below - two * x * value * (self.d - self.c) * below;
        [of_x, -value / self.d, two * self.a * below]
    }
}

/// The gradient of the first image `[B, C, H, W]` from that of the map, with the partials that
/// [`forward`] wrote.
///
/// # Errors
/// A length that does not fit.
pub fn backward<F: Real>(
    images: &Images<'_, F>,
    partials: &[F],
    v_map: &[F],
    v_img1: &mut [F],
) -> Result {
    let [map_height, map_width] = images.check()?;
    let (height, width, area) = (images.height, images.width, images.area());
    check_len("partials", partials, &[3, images.planes, height, width])?;
    check_len("v_map", v_map, &[images.planes, map_height, map_width])?;
    check_len("v_img1", v_img1, &[images.planes, height, width])?;
    if area == 0 || images.planes == 0 {
        return Ok(());
    }
    let third = images.planes * area;
    let margin = images.margin();
    for (plane, out) in v_img1.chunks_exact_mut(area).enumerate() {
        let of = [0, 1, 2].map(|k| images.plane(&partials[k * third..][..third], plane));
        let v_map = &v_map[plane * map_height * map_width..][..map_height * map_width];
        let means = blur(height, width, |row, out: &mut [[F; 3]]| {
            out.fill([F::zero(); 3]);
            let rows = row.checked_sub(margin).filter(|&row| row < map_height);
            let Some(map_row) = rows else { return };
            let v_row = &v_map[map_row * map_width..][..map_width];
            for (i, &v) in v_row.iter().enumerate() {
                out[margin + i] = of.map(|of| v * of[row * width + margin + i]);
            }
        });
        let (x, y) = (
            images.plane(images.img1, plane),
            images.plane(images.img2, plane),
        );
        let pixels = out.par_iter_mut().zip(&means).zip(x).zip(y);
        pixels.each(|(((out, means), &x), &y)| {
            *out = means[0] + F::of(2.0) * x * means[1] + y * means[2];
        });
    }
    Ok(())
}
