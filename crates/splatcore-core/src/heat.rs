//! The error of a render against its photo, as a picture.

use crate::{Image, Photo};

/// Error (mean over the channels of |render - photo|) at which the heat map is brightest.
pub const BRIGHTEST_ERROR: f32 = 0.25;

/// The heat map of |render - photo|, `[height][width][3]` bytes; ignored pixels have no error.
pub fn error_map(render: &Image, photo: &Photo) -> Vec<u8> {
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
}
