//! The loss kernels against the f64 twin, run on the processor.

use crate::device::emulated::Emulated;
use crate::device::{Buffer, Device, Kernels};
use crate::ops::counters::Counters;
use crate::ops::loss::Loss;
use crate::tests::support::device::emulated as device;
use splatcore_core::Photo;
use splatcore_core::metrics::{SSIM_C1, SSIM_C2, ssim_window};
use splatcore_core::random::Rng;
use splatcore_reference::conformance::scenes::nearly_its_photo;
use splatcore_reference::twin::loss::loss;
use std::sync::Arc;

/// An image, beyond [0, 1] too, and a photo that is partly near it.
fn case(width: u32, height: u32, masked: bool) -> (Vec<[f32; 3]>, Photo) {
    let mut rng = Rng::new(3 + width as u64, height as u64);
    let n = (width * height) as usize;
    let rgb: Vec<u8> = (0..3 * n)
        .map(|i| {
            if i / 3 % 7 < 3 {
                200
            } else {
                rng.below(256) as u8
            }
        })
        .collect();
    let image = (0..n)
        .map(|i| {
            std::array::from_fn(|c| match i % 3 {
                0 => rng.uniform() * 1.4 - 0.2,
                _ => rgb[3 * i + c] as f32 / 255.0 + 0.1 * rng.uniform(),
            })
        })
        .collect();
    let mask = masked.then(|| (0..n).map(|_| 7 * (rng.uniform() < 0.6) as u8).collect());
    let photo = Photo {
        mask,
        ..Photo::opaque(width, height, rgb)
    };
    (image, photo)
}

/// Gradient `[height * width]` of r, g, b, and value.
fn on_device(
    device: &Arc<dyn Device>,
    loss: &mut Loss,
    image: &[[f32; 3]],
    photo: &Photo,
    weight: f32,
) -> (Vec<[f32; 3]>, f64) {
    let n = image.len();
    let planes: Vec<f32> = (0..3)
        .flat_map(|c| image.iter().map(move |p| p[c]))
        .collect();
    let planes = Buffer::from_slice(device, "image", &planes).unwrap();
    let rgb = Buffer::from_slice(device, "photo", &photo.rgb).unwrap();
    let mask = photo
        .mask
        .as_ref()
        .map(|mask| Buffer::from_slice(device, "mask", mask).unwrap());
    let gradient = Buffer::from_slice(device, "gradient", &vec![f32::NAN; 3 * n]).unwrap();
    let value = Buffer::from_slice(device, "value", &[f64::NAN]).unwrap();
    // SAFETY: buffers of the sizes asked for.
    unsafe {
        loss.launch(
            planes.address(),
            rgb.address(),
            mask.as_ref().map_or(0, Buffer::address),
            photo.counted_pixels() as u64,
            0,
            photo.width,
            photo.height,
            weight,
            gradient.address(),
            value.address(),
        )
    }
    .unwrap();
    device.synchronize().unwrap();
    let flat: Vec<f32> = gradient.to_vec(3 * n).unwrap();
    let gradient = (0..n)
        .map(|i| [flat[i], flat[n + i], flat[2 * n + i]])
        .collect();
    (gradient, value.to_vec::<f64>(1).unwrap()[0])
}

/// Relative error of the gradient, which must be 0 at ignored pixels. The value may be off by
/// [`value_bound`].
fn gradient_error(
    device: &Arc<dyn Device>,
    name: &str,
    image: &[[f32; 3]],
    photo: &Photo,
    weight: f32,
) -> f64 {
    let mut kernels = Loss::new(&Kernels::new(device.clone())).unwrap();
    let exact: Vec<[f64; 3]> = image.iter().map(|p| p.map(f64::from)).collect();
    let want = loss(&exact, photo, weight as f64);
    let (gradient, value) = on_device(device, &mut kernels, image, photo, weight);
    let bound = value_bound(&exact, photo, weight as f64);
    assert!(
        (value - want.value).abs() < bound,
        "{name}: {value} and {}, which may be {bound:.1e} off",
        want.value
    );
    let (mut error, mut norm) = (0.0f64, 0.0f64);
    for (i, (got, want)) in gradient.iter().zip(&want.gradient).enumerate() {
        for c in 0..3 {
            if photo.mask.as_ref().is_some_and(|mask| mask[i] == 0) {
                assert_eq!(got[c], 0.0, "{name}: an ignored pixel has a gradient");
            }
            error += (got[c] as f64 - want[c]).powi(2);
            norm += want[c] * want[c];
        }
    }
    let relative = (error / norm).sqrt();
    println!(
        "{name}: gradient {relative:.1e}, value {:.1e} of at most {:.1e}",
        value / want.value - 1.0,
        bound / want.value
    );
    relative
}

/// How far the value may be off: what f32 does to it, since nothing that is rounded to 16 bits has
/// a part in it.
///
/// Roundings add up as a random walk (Higham & Mary 2019, "A new approach to probabilistic rounding
/// error analysis"): a blur, 24 roundings of 2^-24 with those of the taps, is off by sqrt(24) 2^-24
/// of the blur of absolute values. With d = a - b, V the sum of both variances and E = blur(d^2) -
/// blur(d)^2 it is 1 - S = 1 - l (1 - E / (V + C2)). V and E are differences of blurs: V, of values
/// around 0.5, is off by the blur of their squares, and E by blur(d^2) and by what blur(d), as a
/// difference of two blurs, is off times 2 blur(d). Every pixel may be off the same way: errors of
/// flat surfaces do not average out.
fn value_bound(image: &[[f64; 3]], photo: &Photo, weight: f64) -> f64 {
    let (width, height) = (photo.width as i64, photo.height as i64);
    let window = ssim_window();
    let rounding = 24f64.sqrt() * 2f64.powi(-24);
    let counts = |i: usize| photo.mask.as_ref().is_none_or(|mask| mask[i] != 0);
    let mut total = 0.0;
    for channel in 0..3 {
        // (a, b) around 0.5, also where no pixel counts.
        let values = |x: i64, y: i64| {
            let i = (y * width + x) as usize;
            if x < 0 || y < 0 || x >= width || y >= height || !counts(i) {
                return [-0.5; 2];
            }
            [
                image[i][channel] - 0.5,
                photo.rgb[3 * i + channel] as f64 / 255.0 - 0.5,
            ]
        };
        for (x, y) in (0..height).flat_map(|y| (0..width).map(move |x| (x, y))) {
            if !counts((y * width + x) as usize) {
                continue;
            }
            let [mut a, mut b, mut size, mut squares, mut difference_squares] = [0.0f64; 5];
            for (k, row) in window.iter().enumerate() {
                for (j, column) in window.iter().enumerate() {
                    let [u, v] = values(x + j as i64 - 5, y + k as i64 - 5);
                    let tap = row * column;
                    a += tap * u;
                    b += tap * v;
                    size += tap * (u.abs() + v.abs());
                    squares += tap * (u * u + v * v);
                    difference_squares += tap * (u - v).powi(2);
                }
            }
            let difference = a - b;
            let unlike = difference_squares - difference * difference;
            let denominator = squares - a * a - b * b + SSIM_C2;
            let means = (a + 0.5).powi(2) + (b + 0.5).powi(2) + SSIM_C1;
            // What the difference of means is off, and with it what 1 - l is, whose own terms are
            // exact to a few roundings.
            let slack = rounding * size;
            let off_mean = 2.0 * difference.abs() * slack + slack * slack;
            let off_unlike = rounding * difference_squares + off_mean;
            let share = unlike / denominator;
            let off_denominator = 2.0 * rounding * squares;
            let off_l = off_mean / means + 4.0 * rounding * difference * difference / means;
            let dissimilar = share + difference * difference / means;
            total += weight
                * ((off_unlike + share * off_denominator) / denominator
                    + off_l
                    + rounding * dissimilar);
            let [u, v] = values(x, y);
            // Both are rounded, and so is what is taken from them; then the sum of a column.
            total +=
                (1.0 - weight) * (2f64.powi(-24) * (u.abs() + v.abs()) + rounding * (u - v).abs());
        }
    }
    total / (3 * photo.counted_pixels()) as f64
}

/// What gradients may be off. g is rounded to a half: a rounding is off by 2.1e-4 in the sense of
/// squares (2^-10 / sqrt(12) of the power of two below, over mantissas spread evenly in the
/// logarithm), and the blur, which adds up independent ones with weights whose squares add up to
/// 0.035, leaves 3.9e-5 of it. f32's own part is a fifth of that where terms cancel.
const GRADIENT_TOLERANCE: f64 = 5e-5;

/// Where an image is smaller than the window, or pixels are missing in it, fewer roundings average
/// out; that of a single pixel is 2^-11 at most.
const SMALL_TOLERANCE: f64 = 1.0 / 2048.0;

/// Sizes below, at and above the tile's 116 x 16, rows aligned and not, tiles inside and at the
/// rim.
#[test]
fn loss_and_gradient_match_the_twin() {
    let Some(device) = device() else { return };
    for (width, height, masked, weight) in [
        (130, 37, false, 0.2),
        (130, 37, true, 0.2),
        (240, 16, false, 0.2),
        (116, 8, true, 1.0),
        (117, 17, false, 0.0),
        (4, 23, true, 0.2),
        (1, 1, false, 0.2),
        (3, 2, false, 0.5),
    ] {
        let (image, photo) = case(width, height, masked);
        let name = format!("{width}x{height} masked {masked}");
        let error = gradient_error(&device, &name, &image, &photo, weight);
        // Without SSIM no map is read.
        let allowed = match weight {
            0.0 => 1e-6,
            _ if width.min(height) < 11 => SMALL_TOLERANCE,
            _ => GRADIENT_TOLERANCE,
        };
        assert!(error < allowed, "{name}: the gradient is {error:.1e} off");
    }
}

/// Halves alone would be 1e-3 to 6e-3 off here; what they lose must reach the first derivative. And
/// the value, which is small here, was 1.3e-4 off as long as variances came of values around 0 and
/// the two images' difference of three large blurs.
#[test]
fn the_gradient_is_right_where_its_terms_cancel() {
    let Some(device) = device() else { return };
    for noise in [0.05, 0.02, 0.005, 0.001] {
        let (image, photo) = nearly_its_photo(120, 40, noise);
        let name = format!("noise {noise}");
        let error = gradient_error(&device, &name, &image, &photo, 0.2);
        assert!(
            error < GRADIENT_TOLERANCE,
            "noise {noise}: the gradient is {error:.1e} off"
        );
    }
}

/// As images too large for all channels at once are done.
#[test]
fn one_channel_at_a_time_is_the_same() {
    let Some(device) = device() else { return };
    let (image, photo) = case(130, 37, true);
    let (gradient, value) = on_device(
        &device,
        &mut Loss::new(&Kernels::new(device.clone())).unwrap(),
        &image,
        &photo,
        0.2,
    );
    let mut frugal = Loss::new(&Kernels::new(device.clone())).unwrap().frugal();
    let (frugal_gradient, frugal_value) = on_device(&device, &mut frugal, &image, &photo, 0.2);
    assert_eq!(gradient, frugal_gradient);
    assert!((value - frugal_value).abs() < 1e-14 * value);
}

#[test]
fn ignored_pixels_change_nothing_even_when_not_numbers() {
    let Some(device) = device() else { return };
    let mut kernels = Loss::new(&Kernels::new(device.clone())).unwrap();
    let (mut image, mut photo) = case(40, 21, true);
    let before = on_device(&device, &mut kernels, &image, &photo, 0.2);
    let mask = photo.mask.clone().unwrap();
    for i in (0..image.len()).filter(|&i| mask[i] == 0) {
        image[i] = [f32::NAN; 3];
    }
    assert_eq!(
        on_device(&device, &mut kernels, &image, &photo, 0.2),
        before
    );
    photo.mask = Some(vec![0; image.len()]);
    let nothing = on_device(&device, &mut kernels, &image, &photo, 0.2);
    assert_eq!(nothing.1, 0.0);
    assert!(nothing.0.iter().flatten().all(|&g| g == 0.0));
}

/// An overflowed frame has no image to learn from.
#[test]
fn a_halted_device_computes_no_loss() {
    let Some(device) = device() else { return };
    let mut kernels = Loss::new(&Kernels::new(device.clone())).unwrap();
    let (image, photo) = case(20, 12, false);
    let n = image.len();
    let planes = Buffer::from_slice(&device, "image", image.as_flattened()).unwrap();
    let rgb = Buffer::from_slice(&device, "photo", &photo.rgb).unwrap();
    let gradient = Buffer::from_slice(&device, "gradient", &vec![7.0f32; 3 * n]).unwrap();
    let value = Buffer::from_slice(&device, "value", &[7.0f64]).unwrap();
    for overflowed in [1, 0] {
        let counters = Counters {
            overflowed,
            ..Counters::default()
        };
        let counters = Buffer::from_slice(&device, "counters", &[counters]).unwrap();
        // SAFETY: buffers of the sizes asked for.
        unsafe {
            kernels.launch(
                planes.address(),
                rgb.address(),
                0,
                n as u64,
                counters.address(),
                20,
                12,
                0.2,
                gradient.address(),
                value.address(),
            )
        }
        .unwrap();
        let gradient: Vec<f32> = gradient.to_vec(3 * n).unwrap();
        let untouched =
            gradient.iter().all(|&g| g == 7.0) && value.to_vec::<f64>(1).unwrap() == [7.0];
        assert_eq!(untouched, overflowed == 1);
    }
}

/// A missing barrier would show.
#[test]
fn the_order_of_threads_does_not_matter() {
    let Ok(emulated) = Emulated::new() else {
        return;
    };
    let emulated = Arc::new(emulated);
    let device: Arc<dyn Device> = emulated.clone();
    let mut kernels = Loss::new(&Kernels::new(device.clone())).unwrap();
    let (image, photo) = case(130, 20, true);
    let forward = on_device(&device, &mut kernels, &image, &photo, 0.2);
    emulated.set_backward(true);
    assert_eq!(
        on_device(&device, &mut kernels, &image, &photo, 0.2),
        forward
    );
}

#[test]
fn a_photo_beyond_32_bits_is_an_error() {
    let Some(device) = device() else { return };
    let mut kernels = Loss::new(&Kernels::new(device)).unwrap();
    // SAFETY: refused before any address is used.
    let error = unsafe { kernels.launch(0, 0, 0, 1, 0, 40_000, 40_000, 0.2, 0, 0) }.unwrap_err();
    assert!(error.to_string().contains("40000x40000"), "{error}");
}
