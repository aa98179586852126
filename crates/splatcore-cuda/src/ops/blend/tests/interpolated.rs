//! ops/blend/blend_interpolated.cu and blend_refined.cu: what of a large image is interpolated is
//! the natural spline through samples, in f64 here; everything else is blended, and all that is
//! more than interpolation can tell is.

use crate::CudaBackend;
use crate::tests::support::device::device;
use splatcore_core::backend::{RenderOptions, Rendered};
use splatcore_core::precision::INFERENCE_MIN_TRANSMITTANCE;
use splatcore_core::{Backend, Camera, Gaussians, Renderer, sh};
use splatcore_reference::conformance::scenes::{odd_camera, plain_camera, random_scene};

mod details;

/// A seed of [`smooth_scene`] whose images are interpolated in part.
const SMOOTH_SEED: u64 = 1;
const TILE: usize = 16;
const SQUARE: usize = 8;
/// Where the samples of a tile are, along a side, in pixels from the centre of the first.
const SAMPLES: [f64; 8] = [0.0, 2.0, 4.25, 6.5, 8.5, 10.75, 13.0, 15.0];
/// Their parts of a pixel.
const PARTS: usize = 4;
/// What two blends may differ by at a pixel whose colour is at most 1 or so: they stop at different
/// fragments, and round.
const ROUNDING: f64 = INFERENCE_MIN_TRANSMITTANCE + 1e-3;

/// Takes every image for a large one.
fn renderer(scene: &Gaussians) -> Option<Box<dyn Renderer>> {
    let backend = CudaBackend::on(device()?, true).with_large_images_from(0);
    Some(backend.renderer(scene).unwrap())
}

fn image(renderer: &mut dyn Renderer, camera: &Camera, interpolate: bool) -> Rendered {
    let options = RenderOptions {
        interpolate,
        ..RenderOptions::default()
    };
    renderer.render(camera, &options).unwrap()
}

/// The interpolated image, and the one of which every pixel is blended; each by a renderer of its
/// own, so that neither finds the other's pixels.
fn images(scene: &Gaussians, camera: &Camera) -> Option<[Rendered; 2]> {
    let of = |interpolate| Some(image(renderer(scene)?.as_mut(), camera, interpolate));
    Some([of(true)?, of(false)?])
}

/// Of two values; what is not a number, as pixels are that nobody wrote, is far from everything.
fn distance(a: f64, b: f64) -> f64 {
    match (a - b).abs() {
        distance if distance.is_nan() => f64::INFINITY,
        distance => distance,
    }
}

/// Red, green, blue and transmittance.
fn pixel(image: &Rendered, x: usize, y: usize) -> [f64; 4] {
    let i = y * image.image.width as usize + x;
    let [r, g, b] = image.image.data[i];
    [r, g, b, image.transmittance[i]].map(f64::from)
}

/// How much each sample is of pixel `x` of a tile: the natural cubic spline, from its second
/// derivatives.
fn spline(x: usize) -> [f64; 8] {
    let at = SAMPLES;
    std::array::from_fn(|sample| {
        let value: [f64; 8] = std::array::from_fn(|k| (k == sample) as u8 as f64);
        // Thomas' algorithm over the inner knots.
        let (mut above, mut right) = ([0.0; 8], [0.0; 8]);
        for k in 1..7 {
            let (before, after) = (at[k] - at[k - 1], at[k + 1] - at[k]);
            let bend = (value[k + 1] - value[k]) / after - (value[k] - value[k - 1]) / before;
            let pivot = 2.0 * (before + after) - before * above[k - 1];
            above[k] = after / pivot;
            right[k] = (6.0 * bend - before * right[k - 1]) / pivot;
        }
        let mut second = [0.0; 8];
        for k in (1..7).rev() {
            second[k] = right[k] - above[k] * second[k + 1];
        }
        let k = (0..7).rfind(|&k| SAMPLES[k] <= x as f64).unwrap();
        let (h, to, from) = (at[k + 1] - at[k], at[k + 1] - x as f64, x as f64 - at[k]);
        (second[k] * to.powi(3) + second[k + 1] * from.powi(3)) / (6.0 * h)
            + (value[k] / h - second[k] * h / 6.0) * to
            + (value[k + 1] / h - second[k + 1] * h / 6.0) * from
    })
}

/// The same of the cubic polynomial through the four nearest samples.
fn cubic(x: usize) -> [f64; 8] {
    let first = SAMPLES
        .iter()
        .filter(|&&p| p < x as f64)
        .count()
        .clamp(2, 6)
        - 2;
    let near = first..first + 4;
    std::array::from_fn(|sample| {
        let factor = |k: usize| {
            let at = SAMPLES[k];
            (x as f64 - at) / (SAMPLES[sample] - at)
        };
        match near.contains(&sample) {
            true => near.clone().filter(|&k| k != sample).map(factor).product(),
            false => 0.0,
        }
    })
}

/// A table of the kernel's source.
fn table(name: &str) -> Vec<Vec<f64>> {
    let source = include_str!("../blend_interpolated.cu");
    let start = source.find(&format!("{name}[8][SAMPLES] = {{")).unwrap();
    let rows = source[start..]
        .lines()
        .skip(1)
        .take_while(|line| *line != "};");
    let row = |line: &str| {
        let numbers = line.trim().trim_start_matches('{').trim_end_matches("},");
        numbers
            .split(',')
            .map(|number| number.trim().trim_end_matches('f').parse().unwrap())
            .collect()
    };
    rows.map(row).collect()
}

#[test]
fn weights_are_those_of_the_spline() {
    let (splines, beyond) = (table("SPLINE"), table("BEYOND_CUBIC"));
    assert_eq!([splines.len(), beyond.len()], [8, 8]);
    for x in 0..8 {
        let (wanted, less) = (spline(x), cubic(x));
        for sample in 0..8 {
            let unit = 32.0;
            assert!(
                (splines[x][sample] - wanted[sample]).abs() < 1e-6,
                "{x}, {sample}"
            );
            assert!(
                (beyond[x][sample] - unit * (wanted[sample] - less[sample])).abs() < unit * 1e-6,
                "{x}, {sample}: {} beyond",
                beyond[x][sample]
            );
        }
    }
}

/// What of pixels between samples there are in a square: how far the large image is from the
/// other and from the spline, and these from each other.
struct Square {
    from_blended: f64,
    from_spline: f64,
    between: f64,
}

/// Images of `splatcore` whose pixels lie so many quarters of a pixel further right and down: row
/// by row.
fn shifted(scene: &Gaussians, camera: &Camera) -> Vec<Rendered> {
    let mut renderer = renderer(scene).unwrap();
    let mut render = |down: usize, right: usize| {
        let camera = Camera {
            cx: camera.cx - right as f64 / PARTS as f64,
            cy: camera.cy - down as f64 / PARTS as f64,
            ..camera.clone()
        };
        image(renderer.as_mut(), &camera, false)
    };
    (0..PARTS * PARTS)
        .map(|k| render(k / PARTS, k % PARTS))
        .collect()
}

/// Of all squares of whole tiles.
fn squares([large, plain]: &[Rendered; 2], shifted: &[Rendered]) -> Vec<Square> {
    let weights: Vec<[f64; 8]> = (0..TILE).map(spline).collect();
    let [width, height] = [plain.image.width as usize, plain.image.height as usize];
    let mut all = Vec::new();
    for (tile_y, tile_x) in (0..height / TILE).flat_map(|y| (0..width / TILE).map(move |x| (y, x)))
    {
        let [left, top] = [tile_x * TILE, tile_y * TILE];
        let interpolated = |x: usize, y: usize| {
            let mut sum = [0.0; 4];
            for (&sample_y, down) in SAMPLES.iter().zip(&weights[y]) {
                for (&sample_x, across) in SAMPLES.iter().zip(&weights[x]) {
                    let part = |at: f64| (at.fract() * PARTS as f64) as usize;
                    let image = &shifted[part(sample_y) * PARTS + part(sample_x)];
                    let sample = pixel(image, left + sample_x as usize, top + sample_y as usize);
                    for (to, value) in sum.iter_mut().zip(sample) {
                        *to += down * across * value;
                    }
                }
            }
            sum
        };
        for (square_y, square_x) in [(0, 0), (0, SQUARE), (SQUARE, 0), (SQUARE, SQUARE)] {
            let mut square = Square {
                from_blended: 0.0,
                from_spline: 0.0,
                between: 0.0,
            };
            for (y, x) in
                (0..SQUARE).flat_map(|y| (0..SQUARE).map(move |x| (square_y + y, square_x + x)))
            {
                let (got, blended) = (
                    pixel(large, left + x, top + y),
                    pixel(plain, left + x, top + y),
                );
                let wanted = interpolated(x, y);
                for k in 0..4 {
                    square.from_blended = square.from_blended.max(distance(got[k], blended[k]));
                    square.from_spline = square.from_spline.max(distance(got[k], wanted[k]));
                    square.between = square.between.max(distance(wanted[k], blended[k]));
                }
            }
            all.push(square);
        }
    }
    all
}

/// Gaussians many of which are so large, and tiles' lists of them so long, that large images of
/// them are sampled.
fn smooth_scene(seed: u64) -> Gaussians {
    let mut scene = random_scene(seed, 200, 0);
    for (i, scales) in scene.log_scales.iter_mut().enumerate() {
        let more = if i % 2 == 1 { -0.9 } else { 0.8 };
        *scales = scales.map(|scale| scale + more);
    }
    let haze = random_scene(seed + 100, 400, 0);
    for i in 0..haze.len() {
        scene.push_from(&haze, i);
        let last = scene.len() - 1;
        scene.log_scales[last] = haze.log_scales[i].map(|scale| scale + 1.5);
        scene.opacity_logits[last] = -4.0;
    }
    scene
}

#[test]
fn every_square_is_blended_or_the_spline_through_samples() {
    // Sizes that end within a tile; rows of an odd number of pixels, and of an even one.
    for (seed, camera) in [
        (SMOOTH_SEED, odd_camera(181, 93, 0.7)),
        (2, plain_camera(208, 70)),
    ] {
        let scene = smooth_scene(seed);
        let Some(images) = images(&scene, &camera) else {
            return;
        };
        let squares = squares(&images, &shifted(&scene, &camera));
        let (mut interpolated, mut blended) = (0, 0);
        for (i, square) in squares.iter().enumerate() {
            let is_blended = square.from_blended < ROUNDING;
            assert!(
                is_blended || square.from_spline < ROUNDING,
                "square {i}: {} from the blended one, {} from the spline",
                square.from_blended,
                square.from_spline
            );
            assert!(
                is_blended || square.between < 0.02,
                "square {i}: interpolated, which is {} off",
                square.between
            );
            interpolated += (square.from_spline + 1e-3 < square.from_blended) as usize;
            blended += (square.from_blended + 1e-3 < square.from_spline) as usize;
        }
        assert!(
            interpolated > 10 && blended > 10,
            "{interpolated} of {} squares are the spline rather, {blended} the blended ones",
            squares.len()
        );
    }
}

#[test]
fn a_star_between_samples_is_seen() {
    let mut scene = smooth_scene(3);
    for logit in &mut scene.opacity_logits {
        *logit = (*logit - 3.0).max(-4.0);
    }
    // Points with a sigma of half a pixel, as small as they get.
    let mut stars = random_scene(4, 250, 0);
    for (i, scales) in stars.log_scales.iter_mut().enumerate() {
        *scales = [-12.0; 3];
        stars.opacity_logits[i] = 1.5;
        stars.sh[i] = [1.0; 3].map(sh::from_colour);
    }
    let camera = plain_camera(320, 240);
    let without = images(&scene, &camera);
    for star in 0..stars.means.len() {
        scene.push_from(&stars, star);
    }
    let (Some(images), Some([_, without])) = (images(&scene, &camera), without) else {
        return;
    };
    let (mut seen, mut worst) = (0, 0.0f64);
    for (y, x) in (0..240).flat_map(|y| (0..320).map(move |x| (y, x))) {
        let [large, plain, dark] =
            [&images[0], &images[1], &without].map(|image| pixel(image, x, y));
        seen += ((plain[0] - dark[0]).abs() > 0.3) as usize;
        for k in 0..4 {
            worst = worst.max(distance(large[k], plain[k]));
        }
    }
    assert!(seen > 30, "{seen} pixels with stars");
    assert!(!is_blended(&images), "nothing is interpolated");
    // What they may take of the light without being searched: FINE_LIGHT.
    assert!(worst < 0.1, "{worst} off");
}

/// Whether no pixel of the large image is interpolated.
fn is_blended([large, plain]: &[Rendered; 2]) -> bool {
    let [width, height] = [plain.image.width as usize, plain.image.height as usize];
    (0..height)
        .flat_map(|y| (0..width).map(move |x| (y, x)))
        .all(|(y, x)| {
            let [got, wanted] = [large, plain].map(|image| pixel(image, x, y));
            got.iter()
                .zip(wanted)
                .all(|(got, wanted)| (got - wanted).abs() < ROUNDING)
        })
}

#[test]
fn pictures_of_details_and_of_short_lists_are_blended() {
    // Tiles without splats too, and those of which only a part is in the image; rows that are
    // filled four pixels at a time, and one by one.
    for camera in [plain_camera(300, 200), odd_camera(181, 93, 0.7)] {
        let mut details = random_scene(5, 9000, 0);
        for scale in details.log_scales.as_flattened_mut() {
            *scale -= 1.5;
        }
        let few = random_scene(6, 25, 0);
        for scene in [details, few] {
            let Some(images) = images(&scene, &camera) else {
                return;
            };
            assert!(is_blended(&images), "{} Gaussians", scene.len());
        }
    }
}
