//! Photos at a fraction of their size, for training from coarse to fine: each side divided and
//! rounded (as `--max-size` scales a side), pixels by a box filter of the area that each covers.
//! All in integers, so that every backend gets the same bytes.

use crate::{BackendError, Camera, Photo};

/// A side of an image divided: rounded, at least 1.
pub fn side(side: u32, divisor: u32) -> u32 {
    let divisor = u64::from(divisor.max(1));
    ((u64::from(side) + divisor / 2) / divisor).max(1) as u32
}

/// Refuses divisors that training does not have.
///
/// # Errors
/// [`BackendError::Input`] unless it is 1, 2 or 4.
pub fn check(divisor: u32) -> Result<(), BackendError> {
    if [1, 2, 4].contains(&divisor) {
        return Ok(());
    }
    Err(BackendError::Input(format!(
        "photos cannot be divided by {divisor} in training; 1, 2 and 4 are possible"
    )))
}

/// The pixels of a side of `from` pixels that pixel `x` of a side of `to` covers, first and last,
/// and how much of each: in units of 1/`to` of a pixel, which add up to `from`.
fn covered(from: u32, to: u32, x: u32) -> (u64, u64, impl Fn(u64) -> u64) {
    let (from, to, x) = (u64::from(from), u64::from(to), u64::from(x));
    let (start, end) = (x * from, (x + 1) * from);
    let share = move |j: u64| ((j + 1) * to).min(end) - (j * to).max(start);
    (start / to, (end - 1) / to, share)
}

/// Means of the areas that the pixels of a smaller image cover, each rounded once.
fn averages<const CHANNELS: usize>(bytes: &[u8], from: [u32; 2], to: [u32; 2]) -> Vec<u8> {
    let (stride, area) = (
        CHANNELS * from[0] as usize,
        u64::from(from[0]) * u64::from(from[1]),
    );
    let mut out = Vec::with_capacity(CHANNELS * to[0] as usize * to[1] as usize);
    let mut line = vec![0u64; stride];
    for y in 0..to[1] {
        let (first, last, share) = covered(from[1], to[1], y);
        line.fill(0);
        for j in first..=last {
            let (row, share) = (&bytes[j as usize * stride..][..stride], share(j));
            line.iter_mut()
                .zip(row)
                .for_each(|(sum, &v)| *sum += share * u64::from(v));
        }
        for x in 0..to[0] {
            let (first, last, share) = covered(from[0], to[0], x);
            let mut sums = [0; CHANNELS];
            for j in first..=last {
                let (pixel, share) = (&line[CHANNELS * j as usize..][..CHANNELS], share(j));
                sums.iter_mut()
                    .zip(pixel)
                    .for_each(|(sum, v)| *sum += share * v);
            }
            out.extend(sums.map(|sum| ((2 * sum + area) / (2 * area)) as u8));
        }
    }
    out
}

impl Camera {
    /// The same view with each side divided by `divisor`: rounded, at least 1.
    pub fn reduced(&self, divisor: u32) -> Self {
        self.resized(side(self.width, divisor), side(self.height, divisor))
    }
}

impl Photo {
    /// The photo, which holds its pixels, with each side divided by `divisor`. A pixel of it counts
    /// if all pixels that it covers count.
    pub fn reduced(&self, divisor: u32) -> Self {
        let from = [self.width, self.height];
        let to = from.map(|length| side(length, divisor));
        let mask_rows = |_| {
            (0..to[1])
                .flat_map(|y| self.reduced_mask_row(divisor, y))
                .collect()
        };
        Self {
            width: to[0],
            height: to[1],
            rgb: averages::<3>(&self.rgb, from, to),
            mask: self.mask.as_ref().map(mask_rows),
            alpha: self
                .alpha
                .as_ref()
                .map(|alpha| averages::<1>(alpha, from, to)),
            depth: self.depth.clone(),
            elsewhere: None,
        }
    }

    /// How many pixels of [`Photo::reduced`] count.
    pub fn counted_pixels_reduced(&self, divisor: u32) -> usize {
        let (width, height) = (side(self.width, divisor), side(self.height, divisor));
        match &self.mask {
            None => width as usize * height as usize,
            Some(_) => (0..height)
                .flat_map(|y| self.reduced_mask_row(divisor, y))
                .filter(|&counts| counts != 0)
                .count(),
        }
    }

    /// Row `y` of the reduced mask: 1 where the pixel counts. Without a mask nothing does.
    fn reduced_mask_row(&self, divisor: u32, y: u32) -> Vec<u8> {
        let (width, height) = (side(self.width, divisor), side(self.height, divisor));
        let mask = self.mask.as_deref().unwrap_or(&[]);
        let (top, bottom, _) = covered(self.height, height, y);
        (0..width)
            .map(|x| {
                let (left, right, _) = covered(self.width, width, x);
                let counts = (top..=bottom).all(|j| {
                    let row = j * u64::from(self.width);
                    mask.get((row + left) as usize..=(row + right) as usize)
                        .is_some_and(|pixels| pixels.iter().all(|&counts| counts != 0))
                });
                counts.into()
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn photo(width: u32, height: u32, mask: bool) -> Photo {
        let pixels = width as usize * height as usize;
        Photo {
            mask: mask.then(|| {
                (0..pixels)
                    .map(|i| !crate::random::mix(i as u64).is_multiple_of(9) as u8)
                    .collect()
            }),
            ..Photo::opaque(
                width,
                height,
                (0..3 * pixels)
                    .map(|i| crate::random::mix(i as u64) as u8)
                    .collect(),
            )
        }
    }

    #[test]
    fn sides_round_as_max_size_does() {
        for (from, divisor, want) in [
            (1080, 4, 270),
            (1081, 2, 541),
            (5, 4, 1),
            (6, 4, 2),
            (1, 4, 1),
            (7, 1, 7),
        ] {
            assert_eq!(side(from, divisor), want);
            let rounded = (from as f64 / divisor as f64).round().max(1.0);
            assert_eq!(side(from, divisor) as f64, rounded, "{from} by {divisor}");
        }
        assert!(check(3).is_err() && check(0).is_err() && check(4).is_ok());
    }

    /// Against the definition, in floating point: the mean over the area that a pixel covers.
    #[test]
    fn pixels_are_means_of_what_they_cover() {
        for (width, height, divisor) in [
            (8, 12, 4),
            (13, 7, 2),
            (11, 9, 4),
            (1, 3, 2),
            (2, 2, 4),
            (5, 4, 1),
        ] {
            let photo = photo(width, height, true);
            let small = photo.reduced(divisor);
            let (w, h) = (side(width, divisor), side(height, divisor));
            assert_eq!(
                (small.width, small.height, small.rgb.len()),
                (w, h, 3 * (w * h) as usize)
            );
            let [sx, sy] = [width as f64 / w as f64, height as f64 / h as f64];
            let share = |start: f64, end: f64, j: u32| {
                (end.min(j as f64 + 1.0) - start.max(j as f64)).max(0.0)
            };
            let mask = photo.mask.as_ref().unwrap();
            for (y, x) in (0..h).flat_map(|y| (0..w).map(move |x| (y, x))) {
                let (mut sums, mut counts) = ([0.0; 3], true);
                for (j, i) in (0..height).flat_map(|j| (0..width).map(move |i| (j, i))) {
                    let (y, x) = (y as f64, x as f64);
                    let weight =
                        share(y * sy, (y + 1.0) * sy, j) * share(x * sx, (x + 1.0) * sx, i);
                    let at = (j * width + i) as usize;
                    // Rounding may leave a sliver of a neighbour.
                    counts &= weight < 1e-9 || mask[at] != 0;
                    for c in 0..3 {
                        sums[c] += weight / (sx * sy) * photo.rgb[3 * at + c] as f64;
                    }
                }
                let at = (y * w + x) as usize;
                assert_eq!(small.mask.as_ref().unwrap()[at] != 0, counts, "{x}, {y}");
                for c in 0..3 {
                    let got = small.rgb[3 * at + c] as f64;
                    assert!(
                        (got - sums[c]).abs() <= 0.5 + 1e-6,
                        "{x}, {y}: {got} for {}",
                        sums[c]
                    );
                }
            }
            assert_eq!(
                photo.counted_pixels_reduced(divisor),
                small.counted_pixels()
            );
        }
        let plain = photo(8, 6, false);
        assert_eq!(plain.reduced(1), plain);
        assert_eq!(
            plain.reduced(2).counted_pixels(),
            plain.counted_pixels_reduced(2)
        );
    }
}
