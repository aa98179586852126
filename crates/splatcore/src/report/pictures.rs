//! The pictures of a report: small JPEGs inside the page, and the error as a heat map.

use base64::Engine;
use splatcore_core::{Image, Photo, View};
use splatcore_train::evaluate::ViewScore;

/// Larger pictures are scaled so that the longer side has this many pixels.
const MAX_SIDE: u32 = 800;
/// Error (mean over the channels of |render - photo|) at which the heat map is brightest.
pub const BRIGHTEST_ERROR: f32 = 0.25;

/// One row of the report: photo, render and error as `data:` URIs.
pub struct ViewPictures {
    /// What was measured, and the photo's name.
    pub score: ViewScore,
    /// The photo; ignored pixels are grey.
    pub photo: String,
    /// The render.
    pub render: String,
    /// See [`heat`].
    pub error: String,
}

impl ViewPictures {
    /// Encodes the pictures of one view. The render has the photo's size.
    pub fn new(view: &View, render: &Image, score: &ViewScore) -> anyhow::Result<Self> {
        let (width, height) = (view.photo.width, view.photo.height);
        Ok(Self {
            score: score.clone(),
            photo: data_uri(width, height, greyed(&view.photo))?,
            render: data_uri(width, height, render.to_bytes())?,
            error: data_uri(width, height, error_map(render, &view.photo))?,
        })
    }
}

/// The photo's bytes with ignored pixels in grey.
fn greyed(photo: &Photo) -> Vec<u8> {
    let mut rgb = photo.rgb.clone();
    if let Some(mask) = &photo.mask {
        for (pixel, _) in rgb.chunks_exact_mut(3).zip(mask).filter(|(_, m)| **m == 0) {
            pixel.fill(128);
        }
    }
    rgb
}

/// The heat map of |render - photo|, `[height][width][3]` bytes; ignored pixels have no error.
fn error_map(render: &Image, photo: &Photo) -> Vec<u8> {
    let mut out = Vec::with_capacity(photo.rgb.len());
    for (i, (a, b)) in render
        .data
        .iter()
        .zip(photo.rgb.chunks_exact(3))
        .enumerate()
    {
        let ignored = photo.mask.as_ref().is_some_and(|mask| mask[i] == 0);
        let error: f32 = (0..3)
            .map(|c| (a[c].clamp(0.0, 1.0) - b[c] as f32 / 255.0).abs())
            .sum();
        out.extend(heat(if ignored {
            0.0
        } else {
            error / 3.0 / BRIGHTEST_ERROR
        }));
    }
    out
}

/// Colours of the heat map at 0, 1/4, 1/2, 3/4 and 1: dark to bright, readable without colour
/// vision too.
pub const HEAT: [[u8; 3]; 5] = [
    [4, 4, 16],
    [84, 18, 108],
    [187, 55, 84],
    [249, 142, 9],
    [252, 253, 164],
];

/// The colour for a value in 0 to 1 (clamped).
fn heat(value: f32) -> [u8; 3] {
    let at = (if value.is_nan() {
        1.0
    } else {
        value.clamp(0.0, 1.0)
    }) * (HEAT.len() - 1) as f32;
    let i = (at as usize).min(HEAT.len() - 2);
    let t = at - i as f32;
    std::array::from_fn(|c| (HEAT[i][c] as f32 * (1.0 - t) + HEAT[i + 1][c] as f32 * t + 0.5) as u8)
}

/// `[height][width][3]` bytes as a JPEG inside a URI, scaled down when large.
fn data_uri(width: u32, height: u32, rgb: Vec<u8>) -> anyhow::Result<String> {
    let mut picture = image::RgbImage::from_raw(width, height, rgb).ok_or_else(|| {
        anyhow::anyhow!("a picture of {width}x{height} has the wrong number of bytes")
    })?;
    let longer = width.max(height);
    if longer > MAX_SIDE {
        let side = |s: u32| ((s as u64 * MAX_SIDE as u64 / longer as u64) as u32).max(1);
        picture = image::imageops::thumbnail(&picture, side(width), side(height));
    }
    let mut bytes = Vec::new();
    image::codecs::jpeg::JpegEncoder::new_with_quality(&mut bytes, 85).encode_image(&picture)?;
    Ok(format!(
        "data:image/jpeg;base64,{}",
        base64::engine::general_purpose::STANDARD.encode(bytes)
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heat_runs_from_dark_to_bright() {
        assert_eq!(heat(0.0), HEAT[0]);
        assert_eq!(heat(1.0), HEAT[4]);
        assert_eq!(heat(7.0), HEAT[4]);
        assert_eq!(heat(0.5), HEAT[2]);
        let brightness = |v: f32| heat(v).iter().map(|&c| c as u32).sum::<u32>();
        assert!((0..20).all(|i| brightness(i as f32 / 20.0) < brightness((i + 1) as f32 / 20.0)));
    }

    #[test]
    fn ignored_pixels_show_no_error() {
        let photo = Photo {
            mask: Some(vec![0, 255]),
            ..Photo::opaque(2, 1, vec![0; 6])
        };
        let map = error_map(&Image::filled(2, 1, [1.0; 3]), &photo);
        assert_eq!(map, [HEAT[0], HEAT[4]].concat());
    }

    #[test]
    fn large_pictures_are_scaled() {
        let uri = data_uri(2000, 1000, vec![90; 6_000_000]).unwrap();
        let bytes = base64::engine::general_purpose::STANDARD
            .decode(uri.strip_prefix("data:image/jpeg;base64,").unwrap())
            .unwrap();
        let picture = image::load_from_memory(&bytes).unwrap();
        assert_eq!((picture.width(), picture.height()), (800, 400));
    }
}
