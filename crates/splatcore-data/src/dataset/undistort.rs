//! Removing lens distortion: a pinhole camera for a lens camera, and the photo that it would have taken.

use super::LensCamera;
use image::{GrayImage, RgbImage};
use splatcore_core::Camera;

/// The pinhole's focal length is at least this share of the lens camera's: a wider view would spread the middle of
/// the photo over too few pixels.
const SMALLEST_ZOOM: f64 = 0.5;
/// And at most this many times as long.
const LARGEST_ZOOM: f64 = 8.0;
/// The principal point is put in the middle unless that costs this much more zoom than keeping it.
const CENTRING_COST: f64 = 1.25;

/// The pinhole camera, of the same size and pose, that sees as much as possible of what the lens camera sees and
/// nothing else: every pixel's centre lies inside the photo. Its principal point is in the middle (or stays, where
/// it is far off). If no zoom makes the view fit, the lens camera's own pinhole part is returned, and
/// [`undistort`] masks what the photo does not show.
pub fn pinhole_for(source: &LensCamera) -> Camera {
    let own = &source.camera;
    let fold = source.lens.fold_radius();
    let centred = Camera {
        cx: own.width as f64 / 2.0,
        cy: own.height as f64 / 2.0,
        ..own.clone()
    };
    let middle = smallest_zoom(source, &centred, fold);
    let kept = smallest_zoom(source, own, fold);
    match (middle, kept) {
        (Some(zoom), None) => zoomed(&centred, zoom),
        (Some(zoom), Some(other)) if zoom <= other * CENTRING_COST => zoomed(&centred, zoom),
        (_, Some(zoom)) => zoomed(own, zoom),
        (None, None) => own.clone(),
    }
}

fn zoomed(camera: &Camera, zoom: f64) -> Camera {
    Camera {
        fx: camera.fx * zoom,
        fy: camera.fy * zoom,
        ..camera.clone()
    }
}

/// Smallest factor on the focal lengths of `target` with which its border lies inside the source. Inside the fold
/// radius the lens maps without overlap, so that the border decides for the whole image.
fn smallest_zoom(source: &LensCamera, target: &Camera, fold: f64) -> Option<f64> {
    let border = border(target);
    let (right, bottom) = (
        source.camera.width as f64 - 0.5,
        source.camera.height as f64 - 0.5,
    );
    let slack = 1e-6;
    let fits = |zoom: f64| {
        border.iter().all(|&[x, y]| {
            let ray = [
                (x - target.cx) / (target.fx * zoom),
                (y - target.cy) / (target.fy * zoom),
            ];
            ray[0].hypot(ray[1]) <= fold
                && source.pixel(ray).is_some_and(|[x, y]| {
                    (0.5 - slack..=right + slack).contains(&x) && (0.5 - slack..=bottom + slack).contains(&y)
                })
        })
    };
    if fits(SMALLEST_ZOOM) {
        return Some(SMALLEST_ZOOM);
    }
    if !fits(LARGEST_ZOOM) {
        return None;
    }
    let (mut low, mut high) = (SMALLEST_ZOOM, LARGEST_ZOOM);
    for _ in 0..40 {
        let middle = 0.5 * (low + high);
        if fits(middle) {
            high = middle;
        } else {
            low = middle;
        }
    }
    Some(high)
}

/// Centres of 65 pixels of each side.
fn border(camera: &Camera) -> Vec<[f64; 2]> {
    let (right, bottom) = (camera.width as f64 - 0.5, camera.height as f64 - 0.5);
    let mut points = Vec::new();
    for step in 0..=64 {
        let share = step as f64 / 64.0;
        let (x, y) = (0.5 + (right - 0.5) * share, 0.5 + (bottom - 0.5) * share);
        points.extend([[x, 0.5], [x, bottom], [0.5, y], [right, y]]);
    }
    points
}

/// Resamples a photo (of the source's size) and its mask to a pinhole of the same pose: bicubic for colours,
/// nearest for the mask. Pixels that the photo does not show become masked out.
pub fn undistort(
    source: &LensCamera,
    target: &Camera,
    photo: &RgbImage,
    mask: Option<&GrayImage>,
) -> (RgbImage, Option<GrayImage>) {
    let fold = source.lens.fold_radius();
    let mut colours = RgbImage::new(target.width, target.height);
    let mut counted = GrayImage::from_pixel(target.width, target.height, image::Luma([255]));
    let mut any_ignored = mask.is_some();
    for (x, y, pixel) in colours.enumerate_pixels_mut() {
        let ray = [
            (x as f64 + 0.5 - target.cx) / target.fx,
            (y as f64 + 0.5 - target.cy) / target.fy,
        ];
        let shown = (ray[0].hypot(ray[1]) <= fold)
            .then(|| source.pixel(ray))
            .flatten()
            .filter(|&at| source.inside(at));
        let counts = match shown {
            Some(at) => {
                pixel.0 = bicubic(photo, at);
                mask.is_none_or(|mask| nearest(mask, at) >= 128)
            }
            None => false,
        };
        if !counts {
            any_ignored = true;
            counted.put_pixel(x, y, image::Luma([0]));
        }
    }
    (colours, any_ignored.then_some(counted))
}

fn nearest(mask: &GrayImage, [x, y]: [f64; 2]) -> u8 {
    let x = (x as u32).min(mask.width() - 1);
    let y = (y as u32).min(mask.height() - 1);
    mask.get_pixel(x, y).0[0]
}

/// Catmull-Rom interpolation (Keys 1981, a = -1/2) at a position in pixels, centres at +0.5; the edge is repeated.
fn bicubic(photo: &RgbImage, [x, y]: [f64; 2]) -> [u8; 3] {
    let (x, y) = (x - 0.5, y - 0.5);
    let (left, top) = (x.floor(), y.floor());
    let (wx, wy) = (keys((x - left) as f32), keys((y - top) as f32));
    let clamped = |start: f64, size: u32| -> [usize; 4] {
        std::array::from_fn(|i| (start as i64 + i as i64 - 1).clamp(0, size as i64 - 1) as usize)
    };
    let columns = clamped(left, photo.width());
    let rows = clamped(top, photo.height());
    let (bytes, stride) = (photo.as_raw(), photo.width() as usize * 3);
    let mut sum = [0.0f32; 3];
    for (row, weight_y) in rows.iter().zip(wy) {
        let mut line = [0.0f32; 3];
        for (column, weight_x) in columns.iter().zip(wx) {
            let at = row * stride + column * 3;
            for c in 0..3 {
                line[c] += weight_x * bytes[at + c] as f32;
            }
        }
        for c in 0..3 {
            sum[c] += weight_y * line[c];
        }
    }
    sum.map(|v| (v.clamp(0.0, 255.0) + 0.5) as u8)
}

fn keys(t: f32) -> [f32; 4] {
    let (t2, t3) = (t * t, t * t * t);
    [
        -0.5 * t + t2 - 0.5 * t3,
        1.0 - 2.5 * t2 + 1.5 * t3,
        0.5 * t + 2.0 * t2 - 1.5 * t3,
        -0.5 * t2 + 0.5 * t3,
    ]
}
