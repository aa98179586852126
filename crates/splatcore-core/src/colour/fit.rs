//! The affine transform that brings an image closest to a photo: what colour-corrected PSNR
//! ([`crate::metrics::psnr_aligned`]) goes through.

use crate::{Image, Photo};

/// The affine transform, rows of `[A | b]`, that brings the image closest to the photo in the sense
/// of least squares, over the pixels that count.
///
/// Where pixels do not determine it (an image of one colour) it is the one nearest to the identity:
/// the normal equations hold a billionth of the distance to that.
pub fn fit(image: &Image, photo: &Photo) -> [[f64; 4]; 3] {
    const TOWARDS_IDENTITY: f64 = 1e-9;
    // Normal equations of y = [A | b] (r, g, b, 1).
    let mut squares = [[0.0f64; 4]; 4];
    let mut products = [[0.0f64; 4]; 3];
    for (i, (colour, wanted)) in image.data.iter().zip(photo.rgb.chunks_exact(3)).enumerate() {
        if photo.mask.as_ref().is_some_and(|mask| mask[i] == 0) {
            continue;
        }
        let x = [colour[0] as f64, colour[1] as f64, colour[2] as f64, 1.0];
        for j in 0..4 {
            for k in 0..=j {
                squares[j][k] += x[j] * x[k];
            }
            for c in 0..3 {
                products[c][j] += x[j] * (wanted[c] as f64 / 255.0);
            }
        }
    }
    let weight = TOWARDS_IDENTITY * squares[3][3].max(1.0);
    for j in 0..4 {
        squares[j][j] += weight;
    }
    for c in 0..3 {
        products[c][c] += weight;
    }
    let factor = cholesky(&squares);
    products.map(|row| solve(&factor, row))
}

/// The image after a transform.
pub fn transformed(image: &Image, transform: &[[f64; 4]; 3]) -> Image {
    let data = image.data.iter().map(|colour| {
        let [r, g, b] = colour.map(f64::from);
        transform.map(|row| (row[0] * r + row[1] * g + row[2] * b + row[3]) as f32)
    });
    Image {
        width: image.width,
        height: image.height,
        data: data.collect(),
    }
}

/// The lower triangle L of L L^T = `matrix`, of which only the lower triangle is read.
fn cholesky(matrix: &[[f64; 4]; 4]) -> [[f64; 4]; 4] {
    let mut factor = [[0.0; 4]; 4];
    for j in 0..4 {
        for k in 0..=j {
            let known: f64 = (0..k).map(|m| factor[j][m] * factor[k][m]).sum();
            let rest = matrix[j][k] - known;
            factor[j][k] = if j == k {
                rest.sqrt()
            } else {
                rest / factor[k][k]
            };
        }
    }
    factor
}

/// x of L L^T x = `right`.
fn solve(factor: &[[f64; 4]; 4], right: [f64; 4]) -> [f64; 4] {
    let mut x = right;
    for j in 0..4 {
        let known: f64 = (0..j).map(|k| factor[j][k] * x[k]).sum();
        x[j] = (x[j] - known) / factor[j][j];
    }
    for j in (0..4).rev() {
        let known: f64 = (j + 1..4).map(|k| factor[k][j] * x[k]).sum();
        x[j] = (x[j] - known) / factor[j][j];
    }
    x
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics::{psnr, psnr_aligned};

    /// A photo and what another exposure would have made of it, by a known transform.
    fn pair(transform: &[[f64; 4]; 3]) -> (Image, Photo) {
        let pixels = 40 * 30;
        let rgb = (0..3 * pixels).map(|i| 20 + (i * 89 % 211) as u8).collect();
        let photo = Photo::opaque(40, 30, rgb);
        (transformed(&photo.to_image(), transform), photo)
    }

    const DARKER: [[f64; 4]; 3] = [
        [0.7, 0.05, 0.0, 0.02],
        [-0.03, 0.6, 0.02, 0.01],
        [0.0, 0.04, 0.8, -0.01],
    ];

    #[test]
    fn a_known_transform_is_undone() {
        let (image, photo) = pair(&DARKER);
        let undo = fit(&image, &photo);
        for (c, row) in DARKER.iter().enumerate() {
            // The composition of both is the identity, offset included.
            for k in 0..4 {
                let offset = if k == 3 { undo[c][3] } else { 0.0 };
                let composed: f64 = (0..3).map(|m| undo[c][m] * DARKER[m][k]).sum::<f64>() + offset;
                let wanted = f64::from(u8::from(c == k));
                assert!(
                    (composed - wanted).abs() < 1e-4,
                    "{c} {k}: {composed} ({row:?})"
                );
            }
        }
        assert!(psnr(&image, &photo) < 20.0 && psnr_aligned(&image, &photo) > 90.0);
    }

    /// Masked pixels may hold anything.
    #[test]
    fn ignored_pixels_do_not_count() {
        let (mut image, mut photo) = pair(&DARKER);
        photo.mask = Some((0..40 * 30).map(|i| (i % 3 != 0) as u8).collect());
        let clean = fit(&image, &photo);
        for i in (0..40 * 30).step_by(3) {
            image.data[i] = [9.0, -4.0, f32::NAN];
        }
        assert_eq!(fit(&image, &photo), clean);
        assert!(psnr_aligned(&image, &photo) > 90.0);
    }

    /// The fit minimises what it says: no small change of a coefficient lowers the squared error.
    #[test]
    fn the_fit_is_least_squares() {
        let (mut image, photo) = pair(&DARKER);
        for (i, colour) in image.data.iter_mut().enumerate() {
            *colour = colour.map(|v| v + 0.1 * ((i * 31 % 17) as f32 / 17.0 - 0.5));
        }
        let error = |transform: &[[f64; 4]; 3]| -> f64 {
            let wanted = photo.to_image();
            let values = transformed(&image, transform).data;
            let pairs = values.as_flattened().iter().zip(wanted.data.as_flattened());
            pairs.map(|(a, b)| ((a - b) as f64).powi(2)).sum()
        };
        let best = fit(&image, &photo);
        let least = error(&best);
        for c in 0..3 {
            for k in 0..4 {
                for change in [-1e-3, 1e-3] {
                    let mut other = best;
                    other[c][k] += change;
                    assert!(error(&other) > least, "{c} {k} {change}");
                }
            }
        }
    }

    /// One colour determines nothing: the answer is still finite, and right for that colour.
    #[test]
    fn an_image_of_one_colour_has_a_fit() {
        let (_, mut photo) = pair(&DARKER);
        photo.rgb.fill(128);
        let image = Image::filled(40, 30, [0.25; 3]);
        assert!(psnr_aligned(&image, &photo) > 80.0);
        let none = fit(
            &image,
            &Photo {
                mask: Some(vec![0; 40 * 30]),
                ..photo
            },
        );
        for (c, row) in none.iter().enumerate() {
            for (k, &value) in row.iter().enumerate() {
                assert!(
                    (value - f64::from(u8::from(c == k))).abs() < 1e-9,
                    "{none:?}"
                );
            }
        }
    }
}
