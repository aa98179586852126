//! Nine patterns of details about as large as the distance between samples. None may be
//! interpolated: alone, and in front of a scene that is interpolated.

use super::{Rendered, SMOOTH_SEED, images, is_blended, pixel, smooth_scene};
use splatcore_core::gaussians::logit;
use splatcore_core::precision::INTERPOLATED;
use splatcore_core::random::Rng;
use splatcore_core::{Camera, Gaussians, sh};
use splatcore_reference::conformance::scenes::plain_camera;

const SIZE: [u32; 2] = [192, 128];
/// View-space depth of the patterns, in front of everything else, in world units. The plain camera
/// is at z = -4.
const DEPTH: f32 = 0.5;

/// A splat in the plane of the patterns.
struct Dot {
    /// Pixels from the image's top left corner.
    mean: [f32; 2],
    /// Standard deviations in pixels, along `angle` and across it.
    sigma: [f32; 2],
    /// Radians.
    angle: f32,
    colour: [f32; 3],
    opacity: f32,
}

fn scene_of(dots: &[Dot]) -> Gaussians {
    let pixel = DEPTH / (0.9 * SIZE[0] as f32);
    let mut scene = Gaussians::zeros(dots.len(), 0);
    for (i, dot) in dots.iter().enumerate() {
        let [x, y] = [0, 1].map(|k| (dot.mean[k] - SIZE[k] as f32 / 2.0) * pixel);
        scene.means[i] = [x, y, DEPTH - 4.0];
        let [along, across] = dot.sigma.map(|sigma| (sigma * pixel).ln());
        scene.log_scales[i] = [along, across, -12.0];
        scene.rotations[i] = [(0.5 * dot.angle).cos(), 0.0, 0.0, (0.5 * dot.angle).sin()];
        scene.opacity_logits[i] = logit(dot.opacity);
        scene.sh[i] = dot.colour.map(sh::from_colour);
    }
    scene
}

/// Black and white lines, `period / 2` pixels wide each, at an angle, in the columns from `left`.
fn stripes(period: f32, angle: f32, left: f32) -> Vec<Dot> {
    let [width, height] = SIZE.map(|side| side as f32);
    let length = width.hypot(height);
    let count = (2.0 * length / period) as i32;
    let (sin, cos) = angle.sin_cos();
    // Pieces, so that the lines end at `left`.
    let piece = 12.0;
    let pieces = (length / piece) as i32;
    let mut dots = Vec::new();
    for (line, part) in
        (-count / 2..count / 2).flat_map(|line| (-pieces / 2..=pieces / 2).map(move |p| (line, p)))
    {
        let (across, along) = (line as f32 * period / 2.0, part as f32 * piece);
        let mean = [
            width / 2.0 + along * cos - across * sin,
            height / 2.0 + along * sin + across * cos,
        ];
        if (left..width).contains(&mean[0]) && (0.0..height).contains(&mean[1]) {
            dots.push(Dot {
                mean,
                sigma: [piece / 2.0, period / 5.0],
                angle,
                colour: [(line.rem_euclid(2)) as f32; 3],
                opacity: 0.9,
            });
        }
    }
    dots
}

/// Round splats on a grid of `pitch` pixels, in the columns from `left`; `colour` says which.
fn grid(
    pitch: f32,
    left: f32,
    sigma: f32,
    opacity: f32,
    mut colour: impl FnMut(i32, i32) -> Option<[f32; 3]>,
) -> Vec<Dot> {
    let [columns, rows] = SIZE.map(|side| (side as f32 / pitch) as i32);
    let mut dots = Vec::new();
    for (y, x) in (0..rows).flat_map(|y| (0..columns).map(move |x| (y, x))) {
        let mean = [x, y].map(|k| (k as f32 + 0.5) * pitch);
        if let (true, Some(colour)) = (mean[0] >= left, colour(x, y)) {
            dots.push(Dot {
                mean,
                sigma: [sigma; 2],
                angle: 0.0,
                colour,
                opacity,
            });
        }
    }
    dots
}

/// The nine patterns in the columns from `left`.
fn patterns(left: f32) -> Vec<(&'static str, Vec<Dot>)> {
    let check = |x: i32, y: i32| Some([((x + y) % 2) as f32; 3]);
    let mut rng = Rng::new(11, 3);
    let noise = |_: i32, _: i32| Some([0; 3].map(|_| rng.uniform()));
    let mut sparse = Rng::new(12, 3);
    let sparkle = |_: i32, _: i32| (sparse.uniform() < 0.1).then_some([1.0; 3]);
    let mut green = Rng::new(13, 3);
    let blades = |_: i32, _: i32| Some([0.1, 0.3 + 0.6 * green.uniform(), 0.1]);
    vec![
        ("stripes of 2 pixels", stripes(4.0, 0.0, left)),
        ("stripes of 4 pixels", stripes(8.0, 0.0, left)),
        ("slanted stripes of 2 pixels", stripes(4.0, 0.6, left)),
        ("slanted stripes of 4 pixels", stripes(8.0, 0.6, left)),
        (
            "checkerboard of 3 pixels",
            grid(3.0, left, 1.0, 0.95, check),
        ),
        (
            "checkerboard of 6 pixels",
            grid(6.0, left, 2.0, 0.95, check),
        ),
        ("coloured noise", grid(3.0, left, 1.2, 0.9, noise)),
        ("sparkles", grid(4.0, left, 0.6, 0.9, sparkle)),
        ("a lawn", grid(5.0, left, 1.5, 0.8, blades)),
    ]
}

fn camera() -> Camera {
    plain_camera(SIZE[0], SIZE[1])
}

/// How far apart the two images are, at worst.
fn worst([interpolated, blended]: &[Rendered; 2], columns: std::ops::Range<usize>) -> f64 {
    let mut worst = 0.0f64;
    for (y, x) in (0..SIZE[1] as usize).flat_map(|y| columns.clone().map(move |x| (y, x))) {
        let [got, wanted] = [interpolated, blended].map(|image| pixel(image, x, y));
        for (got, wanted) in got.iter().zip(wanted) {
            // Not a number is infinitely far.
            worst = worst.max(super::distance(*got, wanted));
        }
    }
    worst
}

#[test]
fn images_of_details_are_blended() {
    for (name, dots) in patterns(0.0) {
        let Some(images) = images(&scene_of(&dots), &camera()) else {
            return;
        };
        assert!(
            is_blended(&images),
            "{name}: {}",
            worst(&images, 0..SIZE[0] as usize)
        );
    }
}

/// The right half shows the pattern, the left half the scene, of which squares are interpolated.
#[test]
fn details_in_front_of_smooth_surfaces_are_seen() {
    let (width, middle) = (SIZE[0] as usize, SIZE[0] as usize / 2);
    let smooth = smooth_scene(SMOOTH_SEED);
    for (name, dots) in patterns(middle as f32) {
        let mut scene = smooth.clone();
        let details = scene_of(&dots);
        for i in 0..details.len() {
            scene.push_from(&details, i);
        }
        let Some(images) = images(&scene, &camera()) else {
            return;
        };
        let interpolated = worst(&images, 0..middle);
        assert!(interpolated > 1e-4, "{name}: nothing is interpolated");
        let off = worst(&images, 0..width);
        assert!(off < INTERPOLATED, "{name}: {off} off");
    }
}
