//! Photos of floats (EXR, TIFF) hold linear light of any range; what is trained on is sRGB from 0
//! to 1.

use image::{DynamicImage, ImageBuffer, Rgb, Rgba};

/// An image of floats as one of 16 bits: clamped to [0, 1], then on sRGB's curve (IEC 61966-2-1).
/// NaN is 0. Highlights above 1 are lost; tone-map such photos before. Alpha becomes straight if it
/// was associated (premultiplied), as EXR's is. Other images stay as they are.
pub(super) fn to_srgb(image: DynamicImage, associated: bool) -> DynamicImage {
    match image {
        DynamicImage::ImageRgb32F(linear) => {
            let (width, height) = linear.dimensions();
            DynamicImage::ImageRgb16(ImageBuffer::from_fn(width, height, |x, y| {
                Rgb(linear.get_pixel(x, y).0.map(curve))
            }))
        }
        DynamicImage::ImageRgba32F(linear) => {
            let (width, height) = linear.dimensions();
            DynamicImage::ImageRgba16(ImageBuffer::from_fn(width, height, |x, y| {
                let [r, g, b, alpha] = linear.get_pixel(x, y).0;
                // Of nothing no colour can be told.
                let by = if associated && alpha > 0.0 {
                    alpha
                } else {
                    1.0
                };
                let [r, g, b] = [r, g, b].map(|v| curve(v / by));
                Rgba([r, g, b, sixteen_bits(alpha)])
            }))
        }
        other => other,
    }
}

fn curve(linear: f32) -> u16 {
    let v = linear.clamp(0.0, 1.0);
    sixteen_bits(if v <= 0.003_130_8 {
        12.92 * v
    } else {
        1.055 * v.powf(1.0 / 2.4) - 0.055
    })
}

/// 0 for NaN.
fn sixteen_bits(v: f32) -> u16 {
    (v.clamp(0.0, 1.0) * 65535.0 + 0.5) as u16
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Values of IEC 61966-2-1: middle grey of 21.4 % is 0.5, and the ends stay.
    #[test]
    fn linear_light_is_put_on_srgbs_curve() {
        let pixels = [
            0.0,
            0.214_041,
            1.0,
            7.5,
            -1.0,
            f32::NAN,
            0.003_130_8,
            0.5,
            0.05,
        ];
        let image = ImageBuffer::from_vec(3, 1, pixels.to_vec()).unwrap();
        let srgb = to_srgb(DynamicImage::ImageRgb32F(image), false).into_rgb16();
        let got: Vec<f32> = srgb.as_raw().iter().map(|&v| v as f32 / 65535.0).collect();
        let wanted = [0.0, 0.5, 1.0, 1.0, 0.0, 0.0, 0.040_45, 0.735_357, 0.247_801];
        for (got, wanted) in got.iter().zip(wanted) {
            assert!((got - wanted).abs() < 2e-5, "{got}, wanted {wanted}");
        }
    }

    #[test]
    fn associated_alpha_becomes_straight() {
        let image = || ImageBuffer::from_vec(1, 1, vec![0.25f32, 0.0, 0.5, 0.5]).unwrap();
        let pixel = |associated| {
            let image = DynamicImage::ImageRgba32F(image());
            to_srgb(image, associated).into_rgba16().get_pixel(0, 0).0
        };
        assert_eq!(pixel(true), [curve(0.5), 0, 65535, 32768]);
        assert_eq!(pixel(false), [curve(0.25), 0, curve(0.5), 32768]);
    }
}
