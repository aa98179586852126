//! How good a scene is in a region.

use serde::Serialize;
use splatcore_core::backend::Rendered;
use splatcore_core::depth::MIN_ALPHA;
use splatcore_core::metrics::psnr_where;
use splatcore_core::{Region, View};

/// A view that shows less than this share of its pixels in the region says nothing of it.
const MIN_SHARE: f64 = 0.01;

/// PSNR of the pixels that show a region, in the words of metrics.json. A pixel shows it if its
/// alpha is at least a half and the point at its rendered depth lies in it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct RegionScore {
    /// In dB over these pixels, at most [`MAX_PSNR`](super::MAX_PSNR).
    #[serde(rename = "psnr_region")]
    pub psnr: f64,
    /// Their share of the pixels that count.
    #[serde(rename = "region_share")]
    pub share: f64,
}

impl RegionScore {
    /// Of a frame with inverse depth, of at most `most` dB; `None` if the view shows nearly nothing
    /// of the region.
    pub(crate) fn of(rendered: &Rendered, view: &View, region: Region, most: f64) -> Option<Self> {
        let (photo, image) = (&view.photo, &rendered.image);
        let size = [photo.width, photo.height];
        if [image.width, image.height] != size || size.contains(&0) {
            return None;
        }
        let depth = rendered.depth()?;
        let width = photo.width as usize;
        let is_distance = view.camera.depth_is_distance();
        let shows = |i: usize| {
            let pixel = [(i % width) as f64 + 0.5, (i / width) as f64 + 0.5];
            let opaque = 1.0 - f64::from(rendered.transmittance[i]) >= MIN_ALPHA;
            let point = || (view.camera).point_with(is_distance, pixel, depth[i].into());
            opaque && point().is_some_and(|point| region.contains(point.map(|v| v as f32)))
        };
        let counts = |i: usize| photo.mask.as_ref().is_none_or(|mask| mask[i] != 0);
        let shown: Vec<bool> = (0..depth.len()).map(|i| counts(i) && shows(i)).collect();
        let pixels = shown.iter().filter(|&&shown| shown).count();
        let share = pixels as f64 / photo.counted_pixels().max(1) as f64;
        let psnr = || match psnr_where(image, photo, |i| shown[i]) {
            psnr if psnr.is_nan() => 0.0,
            psnr => psnr.min(most),
        };
        (share >= MIN_SHARE).then(|| Self {
            psnr: psnr(),
            share,
        })
    }

    /// The mean over views; `None` of none.
    pub(super) fn mean(all: &[Self]) -> Option<Self> {
        let mean = |value: fn(&Self) -> f64| all.iter().map(value).sum::<f64>() / all.len() as f64;
        (!all.is_empty()).then(|| Self {
            psnr: mean(|s| s.psnr),
            share: mean(|s| s.share),
        })
    }
}
