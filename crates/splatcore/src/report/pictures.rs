//! The pictures of a report: small JPEGs inside the page, and the error as a heat map.

use base64::Engine;
use splatcore_core::heat::error_map;
use splatcore_core::{Image, Photo, View};
use splatcore_data::picture::small_jpeg;
use splatcore_train::evaluate::ViewScore;

/// Larger pictures are scaled so that the longer side has this many pixels.
const MAX_SIDE: u32 = 800;
/// Of their JPEGs.
const QUALITY: u8 = 85;

/// One row of the report: photo, render and error as `data:` URIs.
pub struct ViewPictures {
    /// What was measured, and the photo's name.
    pub score: ViewScore,
    /// The photo; ignored pixels are grey.
    pub photo: String,
    /// The render.
    pub render: String,
    /// See [`error_map`].
    pub error: String,
}

impl ViewPictures {
    /// Encodes the pictures of one view, at the same time. The render has the photo's size.
    pub fn new(view: &View, render: &Image, score: &ViewScore) -> anyhow::Result<Self> {
        let size = [view.photo.width, view.photo.height];
        let (photo, (render, error)) = rayon::join(
            || data_uri(size, greyed(&view.photo)),
            || {
                rayon::join(
                    || data_uri(size, render.to_bytes()),
                    || data_uri(size, error_map(render, &view.photo)),
                )
            },
        );
        Ok(Self {
            score: score.clone(),
            photo: photo?,
            render: render?,
            error: error?,
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

/// `[height][width][3]` bytes as a JPEG inside a URI, scaled down when large.
fn data_uri(size: [u32; 2], rgb: Vec<u8>) -> anyhow::Result<String> {
    let bytes = small_jpeg(rgb, size, MAX_SIDE, QUALITY)?;
    Ok(format!(
        "data:image/jpeg;base64,{}",
        base64::engine::general_purpose::STANDARD.encode(bytes)
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_pictures_are_scaled() {
        let uri = data_uri([2000, 1000], vec![90; 6_000_000]).unwrap();
        let bytes = base64::engine::general_purpose::STANDARD
            .decode(uri.strip_prefix("data:image/jpeg;base64,").unwrap())
            .unwrap();
        let picture = image::load_from_memory(&bytes).unwrap();
        assert_eq!((picture.width(), picture.height()), (800, 400));
    }
}
