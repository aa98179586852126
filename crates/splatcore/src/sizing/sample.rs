//! Photos and points to time steps on where no cameras are known yet.

use splatcore_core::random::Rng;
use splatcore_core::{Camera, Photo, View};

/// Vertical field of view of the cameras, and how far they are from the ball of radius 1, which
/// fills most of a photo as what is photographed does.
const FOV: f64 = 0.9;
const DISTANCE: f64 = 2.2;
/// Pixels of one colour on each side: noise that is neither flat nor without any pattern.
const PATCH: usize = 8;

/// Points on a ball of radius 1, with colours.
pub fn ball(count: usize) -> (Vec<[f32; 3]>, Vec<[u8; 3]>) {
    let mut rng = Rng::new(1, 0);
    let mut positions = Vec::with_capacity(count);
    let mut colours = Vec::with_capacity(count);
    for _ in 0..count {
        let direction = [0; 3].map(|_| rng.normal());
        let length = direction.iter().map(|v| v * v).sum::<f32>().sqrt();
        positions.push(direction.map(|v| v / length.max(1e-6)));
        colours.push([0; 3].map(|_| (255.0 * rng.uniform()) as u8));
    }
    (positions, colours)
}

/// Photos of noise of a size, scaled to `most` pixels on the longer side, from around the ball.
pub fn views([width, height]: [u32; 2], most: Option<u32>, count: usize) -> Vec<View> {
    let longest = width.max(height).max(1);
    let scale = most.map_or(1.0, |most| (f64::from(most) / f64::from(longest)).min(1.0));
    let [width, height] = [width, height].map(|v| ((f64::from(v) * scale).round() as u32).max(1));
    let mut rng = Rng::new(2, 0);
    let view = |i: usize| {
        let (sin, cos) = (std::f64::consts::TAU * i as f64 / count as f64).sin_cos();
        let eye = [DISTANCE * cos, -0.5, DISTANCE * sin];
        let camera = Camera::look_at(eye, [0.0; 3], [0.0, -1.0, 0.0], FOV, width, height);
        View {
            name: format!("{i}"),
            camera,
            photo: noise(width, height, &mut rng),
        }
    };
    (0..count).map(view).collect()
}

fn noise(width: u32, height: u32, rng: &mut Rng) -> Photo {
    let [w, h] = [width, height].map(|v| v as usize);
    let across = w.div_ceil(PATCH);
    let patches: Vec<[u8; 3]> = (0..across * h.div_ceil(PATCH))
        .map(|_| [0; 3].map(|_| (255.0 * rng.uniform()) as u8))
        .collect();
    let rgb = (0..w * h).flat_map(|i| patches[i / w / PATCH * across + i % w / PATCH]);
    Photo::opaque(width, height, rgb.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn photos_have_the_size_and_see_the_ball() {
        let views = views([400, 300], Some(100), 3);
        let (positions, _) = ball(50);
        assert_eq!(views.len(), 3);
        for view in &views {
            assert_eq!((view.photo.width, view.photo.height), (100, 75));
            assert_eq!(view.photo.rgb.len(), 3 * 100 * 75);
            assert_eq!(view.camera.defect(), None);
            let [across, down] = view.camera.tan_half_fov();
            let seen = positions.iter().filter(|p| {
                let [x, y, z] = view.camera.to_view(p.map(f64::from));
                x.abs() < across * z && y.abs() < down * z
            });
            assert!(seen.count() > 40);
        }
    }
}
