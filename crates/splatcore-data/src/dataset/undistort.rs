//! Removing lens distortion: a pinhole camera for a lens camera, and the photo that it would have
//! taken.

use image::{GrayImage, ImageBuffer, Pixel, RgbImage};
use splatcore_core::{Camera, Lens};

/// The pinhole's focal length is at least this share of the lens camera's: a wider view would
/// spread the middle of the photo over too few pixels.
const MIN_ZOOM: f64 = 0.5;
/// And at most this many times as long.
const MAX_ZOOM: f64 = 8.0;
/// The principal point is put in the middle unless that costs this much more zoom than keeping it.
const CENTRING_COST: f64 = 1.25;

/// The pinhole camera, of the same size and pose, that sees as much as possible of what the lens
/// camera sees and nothing else: every pixel's centre lies inside the photo. Its principal point is
/// in the middle (or stays, where it is far off). If no zoom makes the view fit, the lens camera's
/// own pinhole part is returned, and [`undistort`] masks what the photo does not show.
pub fn pinhole_for(source: &Camera) -> Camera {
    let own = &source.without_lens();
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

/// Smallest factor on the focal lengths of `target` with which its border lies inside the source.
/// Inside the fold radius the lens maps without overlap, so that the border decides for the whole
/// image.
fn smallest_zoom(source: &Camera, target: &Camera, fold: f64) -> Option<f64> {
    let border = border(target);
    let (right, bottom) = (source.width as f64 - 0.5, source.height as f64 - 0.5);
    let slack = 1e-6;
    let fits = |zoom: f64| {
        border.iter().all(|&[x, y]| {
            let ray = [
                (x - target.cx) / (target.fx * zoom),
                (y - target.cy) / (target.fy * zoom),
            ];
            ray[0].hypot(ray[1]) <= fold
                && source.pixel(ray).is_some_and(|[x, y]| {
                    (0.5 - slack..=right + slack).contains(&x)
                        && (0.5 - slack..=bottom + slack).contains(&y)
                })
        })
    };
    if fits(MIN_ZOOM) {
        return Some(MIN_ZOOM);
    }
    if !fits(MAX_ZOOM) {
        return None;
    }
    let (mut low, mut high) = (MIN_ZOOM, MAX_ZOOM);
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

/// Resamples a photo (of the source's size) and its mask to a pinhole of the same pose: bicubic for
/// colours, nearest for the mask. Pixels that the photo does not show become masked out.
pub fn undistort(
    source: &Camera,
    target: &Camera,
    photo: &RgbImage,
    mask: Option<&GrayImage>,
) -> (RgbImage, Option<GrayImage>) {
    let fold = source.lens.fold_radius().powi(2);
    resample(target, photo, mask, |[x, y]| {
        let ray = [(x - target.cx) / target.fx, (y - target.cy) / target.fy];
        (ray[0] * ray[0] + ray[1] * ray[1] <= fold)
            .then(|| source.pixel(ray))
            .flatten()
            .filter(|&at| source.inside(at))
    })
}

/// Resamples a panorama (of the source's size) and its mask to a camera at the same place that
/// looks elsewhere, as [`undistort`] does; pixels that are the panorama's own stay as they are.
pub fn part(
    source: &Camera,
    target: &Camera,
    photo: &RgbImage,
    mask: Option<&GrayImage>,
) -> (RgbImage, Option<GrayImage>) {
    // Beyond either edge a panorama goes on with the other one.
    let (photo, mask) = (around(photo), mask.map(around));
    let shown = shown(source, target);
    resample(target, &photo, mask.as_ref(), |pixel| {
        shown(pixel).map(|[x, y]| [x + f64::from(AROUND), y])
    })
}

/// Where a panorama shows what a pixel of a camera at the same place shows, if anywhere.
pub fn shown(source: &Camera, target: &Camera) -> impl Fn([f64; 2]) -> Option<[f64; 2]> {
    let (from, to) = (&source.rotation, &target.rotation);
    // Rows are the source's axes in those of the target.
    let turn = from.map(|a| to.map(|b| a[0] * b[0] + a[1] * b[1] + a[2] * b[2]));
    move |pixel| {
        let [x, y, z] = target.direction(pixel)?;
        let [u, v] = source
            .lens
            .image(turn.map(|row| row[0] * x + row[1] * y + row[2] * z))?;
        let at = [source.fx * u + source.cx, source.fy * v + source.cy];
        source.inside(at).then_some(at)
    }
}

/// Pixels beyond a pixel that interpolation needs.
const AROUND: u32 = 2;

/// A panorama with some of its other edge beside each edge.
fn around<P: Pixel>(image: &ImageBuffer<P, Vec<P::Subpixel>>) -> ImageBuffer<P, Vec<P::Subpixel>> {
    let width = image.width();
    let beyond = width - AROUND % width;
    ImageBuffer::from_fn(width + 2 * AROUND, image.height(), |x, y| {
        *image.get_pixel((x + beyond) % width, y)
    })
}

/// A camera's photo of another photo's pixels, `shown` for each of its own if there is one.
fn resample(
    target: &Camera,
    photo: &RgbImage,
    mask: Option<&GrayImage>,
    shown: impl Fn([f64; 2]) -> Option<[f64; 2]>,
) -> (RgbImage, Option<GrayImage>) {
    let mut colours = RgbImage::new(target.width, target.height);
    let mut counted = GrayImage::from_pixel(target.width, target.height, image::Luma([255]));
    let mut any_ignored = mask.is_some();
    for (x, y, pixel) in colours.enumerate_pixels_mut() {
        let counts = match shown([x as f64 + 0.5, y as f64 + 0.5]) {
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

/// The mask of a photo as it was taken: the given one without the pixels at which the lens forms no
/// image, such as those beyond a fisheye's circle. `None` if all count.
pub fn imaged(camera: &Camera, mask: Option<GrayImage>) -> Option<GrayImage> {
    let whole = camera.lens == Lens::Pinhole
        || border(camera)
            .into_iter()
            .all(|pixel| camera.direction(pixel).is_some());
    if whole {
        return mask;
    }
    let all = || GrayImage::from_pixel(camera.width, camera.height, image::Luma([255]));
    let mut mask = mask.unwrap_or_else(all);
    for (x, y, counts) in mask.enumerate_pixels_mut() {
        if camera.direction([x as f64 + 0.5, y as f64 + 0.5]).is_none() {
            counts.0 = [0];
        }
    }
    Some(mask)
}

fn nearest(mask: &GrayImage, at: [f64; 2]) -> u8 {
    let [x, y] = pixel_at(at, [mask.width(), mask.height()]);
    mask.get_pixel(x, y).0[0]
}

/// The pixel that holds a place inside an image of this width and height, whose lower and right
/// edge are still inside.
pub(super) fn pixel_at(at: [f64; 2], size: [u32; 2]) -> [u32; 2] {
    [0, 1].map(|k| (at[k] as u32).min(size[k] - 1))
}

/// Catmull-Rom interpolation (Keys 1981, a = -1/2) at a position in pixels, centres at +0.5; the
/// edge is repeated.
fn bicubic(photo: &RgbImage, [x, y]: [f64; 2]) -> [u8; 3] {
    // The pixel to the left of and above the position; positions are not negative, so a cast is a
    // floor.
    let (x, y) = (x + 0.5, y + 0.5);
    let (left, top) = (x as i32 - 1, y as i32 - 1);
    let (wx, wy) = (
        keys((x - (left + 1) as f64) as f32),
        keys((y - (top + 1) as f64) as f32),
    );
    let (left, top) = (left - 1, top - 1);
    let (width, height) = (photo.width() as i32, photo.height() as i32);
    let (bytes, stride) = (photo.as_raw(), width as usize * 3);
    let whole = left >= 0 && left + 4 <= width;
    let mut sum = [0.5f32; 3];
    for (j, weight_y) in wy.into_iter().enumerate() {
        let row = &bytes[(top + j as i32).clamp(0, height - 1) as usize * stride..][..stride];
        let mut four = [0u8; 12];
        if whole {
            four.copy_from_slice(&row[left as usize * 3..][..12]);
        } else {
            for (i, pixel) in four.chunks_exact_mut(3).enumerate() {
                let at = (left + i as i32).clamp(0, width - 1) as usize * 3;
                pixel.copy_from_slice(&row[at..at + 3]);
            }
        }
        for c in 0..3 {
            let line = wx[0] * four[c] as f32
                + wx[1] * four[3 + c] as f32
                + wx[2] * four[6 + c] as f32
                + wx[3] * four[9 + c] as f32;
            sum[c] += weight_y * line;
        }
    }
    // The cast saturates at 0 and 255.
    sum.map(|v| v as u8)
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
