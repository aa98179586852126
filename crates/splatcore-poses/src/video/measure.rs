//! What is kept of a frame: how sharp it is, and what it shows, very small.

/// Frames are measured at most so large, in pixels of the longer side.
pub const SMALL: usize = 640;
/// Size of what a frame shows, very small.
const THUMB: (usize, usize) = (32, 18);

/// A picture in grey, row by row.
#[derive(Clone, Debug, PartialEq)]
pub struct Luma {
    pub width: usize,
    pub height: usize,
    pub data: Vec<u8>,
}

/// A frame, measured.
#[derive(Clone, Debug, PartialEq)]
pub struct Measured {
    /// Variance of the Laplacian: the larger, the sharper. Comparable between frames of one video
    /// that show the same things.
    pub sharpness: f32,
    /// Mean grey values of 32x18 blocks.
    pub thumb: Vec<u8>,
}

impl Measured {
    pub fn of(frame: &Luma) -> Self {
        Self {
            sharpness: sharpness(frame),
            thumb: thumb(frame),
        }
    }

    /// Mean absolute difference of two frames' blocks, in grey values.
    pub fn difference(&self, other: &Self) -> f64 {
        let both = self.thumb.iter().zip(&other.thumb);
        let sum: u64 = both.map(|(a, b)| u64::from(a.abs_diff(*b))).sum();
        sum as f64 / self.thumb.len().max(1) as f64
    }
}

/// Variance of the Laplacian over the inner pixels (Pech-Pacheco et al., "Diatom autofocusing in
/// brightfield microscopy", ICPR 2000).
fn sharpness(frame: &Luma) -> f32 {
    let (w, h) = (frame.width, frame.height);
    if w < 3 || h < 3 {
        return 0.0;
    }
    let (mut sum, mut squares) = (0i64, 0i64);
    let row = |y: usize| &frame.data[y * w..(y + 1) * w];
    for y in 1..h - 1 {
        let (above, here, below) = (row(y - 1), row(y), row(y + 1));
        for x in 1..w - 1 {
            let neighbours = i64::from(here[x - 1])
                + i64::from(here[x + 1])
                + i64::from(above[x])
                + i64::from(below[x]);
            let laplacian = neighbours - 4 * i64::from(here[x]);
            sum += laplacian;
            squares += laplacian * laplacian;
        }
    }
    let count = ((w - 2) * (h - 2)) as f64;
    let mean = sum as f64 / count;
    (squares as f64 / count - mean * mean) as f32
}

fn thumb(frame: &Luma) -> Vec<u8> {
    let (w, h) = (frame.width, frame.height);
    let mut thumb = Vec::with_capacity(THUMB.0 * THUMB.1);
    for j in 0..THUMB.1 {
        // At least one row and column, also of frames that are smaller than the blocks.
        let rows = j * h / THUMB.1..((j + 1) * h / THUMB.1).max(j * h / THUMB.1 + 1);
        for i in 0..THUMB.0 {
            let left = i * w / THUMB.0;
            let right = ((i + 1) * w / THUMB.0).max(left + 1);
            let sum: u64 = rows
                .clone()
                .flat_map(|y| &frame.data[y * w + left..y * w + right])
                .map(|v| u64::from(*v))
                .sum();
            let count = (rows.len() * (right - left)) as u64;
            thumb.push(((sum + count / 2) / count) as u8);
        }
    }
    thumb
}

/// A grey picture at most [`SMALL`] pixels long, each the mean of a square of pixels.
pub fn shrink(width: usize, height: usize, data: &[u8]) -> Luma {
    let factor = width.max(height).div_ceil(SMALL).max(1);
    if factor == 1 {
        return Luma {
            width,
            height,
            data: data.to_vec(),
        };
    }
    let (w, h) = ((width / factor).max(1), (height / factor).max(1));
    let mut small = Vec::with_capacity(w * h);
    for y in 0..h {
        let rows = y * factor..((y + 1) * factor).min(height);
        for x in 0..w {
            let columns = x * factor..((x + 1) * factor).min(width);
            let sum: u64 = rows
                .clone()
                .flat_map(|row| &data[row * width + columns.start..row * width + columns.end])
                .map(|v| u64::from(*v))
                .sum();
            small.push((sum / (rows.len() * columns.len()) as u64) as u8);
        }
    }
    Luma {
        width: w,
        height: h,
        data: small,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blur_lowers_sharpness_and_shifts_change_the_blocks() {
        let data: Vec<u8> = (0..64 * 36)
            .map(|i| {
                if (i / 3 + i / 64 / 5) % 2 == 0 {
                    40
                } else {
                    200
                }
            })
            .collect();
        let sharp = Luma {
            width: 64,
            height: 36,
            data,
        };
        let mut blurred = sharp.clone();
        for i in 1..blurred.data.len() - 1 {
            let sum: u32 = sharp.data[i - 1..=i + 1]
                .iter()
                .map(|v| u32::from(*v))
                .sum();
            blurred.data[i] = (sum / 3) as u8;
        }
        let [sharp, blurred] = [&sharp, &blurred].map(Measured::of);
        assert!(sharp.sharpness > 2.0 * blurred.sharpness);
        assert_eq!(sharp.difference(&sharp), 0.0);
        let grey = Measured::of(&Luma {
            width: 64,
            height: 36,
            data: vec![120; 64 * 36],
        });
        assert_eq!(grey.sharpness, 0.0);
        assert_eq!(grey.thumb, vec![120; 576]);
        assert!(grey.difference(&sharp) > 10.0);
    }

    #[test]
    fn the_laplacian_of_a_checkerboard_is_known() {
        // 0 and 1: the Laplacian is 4 where the pixel is 0 and -4 where it is 1.
        let data = (0..36).map(|i| ((i % 6 + i / 6) % 2) as u8).collect();
        assert_eq!(
            sharpness(&Luma {
                width: 6,
                height: 6,
                data
            }),
            16.0
        );
    }

    #[test]
    fn shrunk_pictures_are_means_and_tiny_ones_stay() {
        let data: Vec<u8> = (0..1300 * 2)
            .map(|i| if i % 1300 < 3 { 30 } else { 90 })
            .collect();
        let small = shrink(1300, 2, &data);
        assert_eq!((small.width, small.height), (433, 1));
        assert_eq!(small.data[..2], [30, 90]);
        let tiny = shrink(1, 1, &[7]);
        assert_eq!(Measured::of(&tiny).thumb, vec![7; 576]);
        assert_eq!(Measured::of(&tiny).sharpness, 0.0);
    }
}
