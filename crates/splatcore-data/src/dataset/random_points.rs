//! Points to start from when a dataset has none: random, inside what the cameras see.

use super::found::{Entry, Points};
use super::options::OpenOptions;
use super::photo;
use splatcore_core::Camera;
use splatcore_core::camera::extent;
use splatcore_core::linear::nearest_to_lines;
use splatcore_core::random::Rng;

/// Half the cube's side as a share of what the cameras see at the focus. 0.9 makes it 1.3 for the
/// NeRF-synthetic scenes, the cube that INRIA's loader uses for them.
const CUBE: f64 = 0.9;
/// Share of the points that go between and behind what the cameras look at, where there is a
/// background.
const BEYOND: f32 = 0.3;
/// Draws in the cube before a point is put on a camera's ray instead.
const DRAWS: usize = 20;
/// Stream of the generator, so that other users of the seed draw other numbers.
const STREAM: u64 = 0x706f_696e;

/// Grey points, as many as the options say, each seen by at least one camera.
///
/// Cameras that look at a common place fill a cube around the point closest to all optical axes; if
/// the photos have a background (no alpha channel), some points lie along random pixels' rays, up
/// to four times as far. Other cameras (looking outwards, or in parallel, or just one) get all
/// their points along rays, uniform in log depth: between the declared depths if the files have
/// them, else in terms of the cameras' extent.
pub(super) fn inside_what_is_seen(
    entries: &[Entry],
    options: &OpenOptions,
    declared: Option<[f64; 2]>,
) -> Points {
    let count = options.random_points;
    let cameras: Vec<&Camera> = entries.iter().map(|e| &e.camera).collect();
    let mut rng = Rng::new(options.seed, STREAM);
    let focus = focus(&cameras);
    let (beyond, depths) = match focus {
        Some(ref focus) => {
            let has_background = entries.first().is_some_and(|e| !photo::has_alpha(&e.image));
            let share = if has_background { BEYOND } else { 0.0 };
            (share, [0.25 * focus.distance, 4.0 * focus.distance])
        }
        None => {
            let size = extent(cameras.iter().copied());
            // One camera, or all in one place: nothing tells the scale.
            let size = if size > 2e-3 { size } else { 1.0 };
            (1.0, declared.unwrap_or([0.5 * size, 10.0 * size]))
        }
    };
    let mut positions = Vec::with_capacity(count.min(1 << 24));
    for _ in 0..count {
        let in_cube = match focus {
            Some(ref focus) if rng.uniform() >= beyond => draw_in_cube(&cameras, focus, &mut rng),
            _ => None,
        };
        let point = in_cube.unwrap_or_else(|| draw_on_ray(&cameras, depths, &mut rng));
        positions.push(point.map(|v| v as f32));
    }
    Points {
        colours: vec![[128; 3]; positions.len()],
        positions,
        random: true,
    }
}

struct Focus {
    centre: [f64; 3],
    half_side: f64,
    /// Mean distance of the cameras.
    distance: f64,
}

/// The place that most cameras look at, if there is one.
fn focus(cameras: &[&Camera]) -> Option<Focus> {
    let centre = closest_to_axes(cameras)?;
    let n = cameras.len() as f64;
    let seen = cameras.iter().filter(|c| c.sees(centre)).count() as f64;
    if seen < 0.7 * n {
        return None;
    }
    let (mut half_side, mut distance) = (0.0, 0.0);
    for camera in cameras {
        let p = camera.position();
        let away = (0..3)
            .map(|i| (p[i] - centre[i]).powi(2))
            .sum::<f64>()
            .sqrt();
        let [x, y] = camera.tan_half_fov();
        half_side += CUBE * away * x.min(y).min(1.0) / n;
        distance += away / n;
    }
    let usable = half_side.is_finite() && half_side > 0.0 && distance.is_finite();
    usable.then_some(Focus {
        centre,
        half_side,
        distance,
    })
}

/// The point with the least sum of squared distances to the optical axes; `None` if they are
/// (nearly) parallel.
fn closest_to_axes(cameras: &[&Camera]) -> Option<[f64; 3]> {
    let axes: Vec<_> = cameras
        .iter()
        .map(|camera| [camera.position(), camera.forward()])
        .collect();
    let (a, b) = nearest_to_lines(&axes);
    let det3 = |m: [[f64; 3]; 3]| {
        m[0][0] * (m[1][1] * m[2][2] - m[1][2] * m[2][1])
            - m[0][1] * (m[1][0] * m[2][2] - m[1][2] * m[2][0])
            + m[0][2] * (m[1][0] * m[2][1] - m[1][1] * m[2][0])
    };
    let det = det3(a);
    // The product of the eigenvalues; two are near 1, the smallest is the mean squared sine between
    // the axes.
    if det.is_nan() || det < 1e-3 {
        return None;
    }
    let centre: [f64; 3] = std::array::from_fn(|column| {
        let mut m = a;
        for row in 0..3 {
            m[row][column] = b[row];
        }
        det3(m) / det
    });
    centre.iter().all(|v| v.is_finite()).then_some(centre)
}

fn draw_in_cube(cameras: &[&Camera], focus: &Focus, rng: &mut Rng) -> Option<[f64; 3]> {
    for _ in 0..DRAWS {
        let point = focus
            .centre
            .map(|c| c + focus.half_side * (2.0 * rng.uniform() as f64 - 1.0));
        let first = rng.below(cameras.len());
        let (before, from) = cameras.split_at(first);
        // As f32, as it will be stored.
        let stored = point.map(|v| v as f32 as f64);
        if from.iter().chain(before).any(|c| c.sees(stored)) {
            return Some(point);
        }
    }
    None
}

/// A point on the ray of a random pixel of a random camera, uniform in log depth.
fn draw_on_ray(cameras: &[&Camera], [near, far]: [f64; 2], rng: &mut Rng) -> [f64; 3] {
    let camera = cameras[rng.below(cameras.len())];
    let mut ray = None;
    for _ in 0..DRAWS {
        // Not on the outermost 1 %, so that rounding to f32 does not push the point out of view.
        let mut share = || 0.01 + 0.98 * rng.uniform() as f64;
        ray = camera.ray([
            share() * camera.width as f64,
            share() * camera.height as f64,
        ]);
        if ray.is_some() {
            break;
        }
    }
    let [x, y] = ray.unwrap_or_default();
    let depth = near * (far / near).powf(rng.uniform() as f64);
    camera.to_world([x * depth, y * depth, depth])
}
