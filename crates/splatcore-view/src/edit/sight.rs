//! [`Sight`]: which Gaussians a view hides behind others.

use super::stroke::Stroke;
use splatcore_core::backend::Rendered;
use splatcore_core::camera::rotation_from_quaternion;
use splatcore_core::semantics::NEAR_PLANE;
use splatcore_core::{Camera, Gaussians};

/// Longest side of a whole view as it is rendered to know what it shows, pixels.
const MAX_PIXELS: f64 = 640.0;
/// A place of a Gaussian is hidden if it lies farther behind what its pixel shows than this share
/// of the depth and two of its standard deviations along the view: a surface is no thinner, and the
/// depth of what is half transparent is that of its front.
const BEHIND: f64 = 0.03;
/// Pixels that are rendered around a stroke, for what stands out of it.
const MARGIN: f64 = 24.0;
/// What lets more light through hides nothing.
const MAX_TRANSMITTANCE: f32 = 0.5;

/// How far away is what a view shows.
#[derive(Clone, Debug, PartialEq)]
pub struct Sight {
    /// The view.
    pub camera: Camera,
    /// `[height][width]` along the camera's axis, world units; 0 where nothing solid is.
    pub depth: Vec<f32>,
}

impl Sight {
    /// A small view of all that a view shows.
    pub fn whole(view: &Camera) -> Camera {
        let longest = f64::from(view.width.max(view.height));
        let scale = (MAX_PIXELS / longest).min(1.0);
        let side = |pixels: u32| ((f64::from(pixels) * scale) as u32).max(1);
        view.resized(side(view.width), side(view.height))
    }

    /// A small view from the same place of the part of a view that a stroke covers.
    pub fn camera(stroke: &Stroke) -> Camera {
        let view = &stroke.camera;
        let whole = Self::whole(view);
        let scale = f64::from(whole.width) / f64::from(view.width);
        let [columns, rows] = [(0, view.width), (1, view.height)].map(|(axis, side)| {
            let places = stroke.points.iter().map(|point| point[axis]);
            let around = stroke.radius + MARGIN / scale;
            let low = places.clone().fold(f64::INFINITY, f64::min) - around;
            let high = places.fold(f64::NEG_INFINITY, f64::max) + around;
            [low, high].map(|v| v.clamp(0.0, f64::from(side)))
        });
        // The direction of a pixel, world axes.
        let direction = |x: f64, y: f64| -> [f64; 3] {
            let at = [(x - view.cx) / view.fx, (y - view.cy) / view.fy, 1.0];
            let r = &view.rotation;
            std::array::from_fn(|c| (0..3).map(|i| at[i] * r[i][c]).sum())
        };
        let middle = |[low, high]: [f64; 2]| (low + high) / 2.0;
        let (eye, ahead) = (view.position(), direction(middle(columns), middle(rows)));
        let target = std::array::from_fn(|c| eye[c] + ahead[c]);
        let up = view.rotation[1].map(|v| -v);
        let turned = Camera::look_at(eye, target, up, 1.0, 1, 1);
        let mut half = [0.0f64; 2];
        for (x, y) in columns.iter().flat_map(|&x| rows.map(|y| (x, y))) {
            let d = direction(x, y);
            let along = |axis: usize| (0..3).map(|c| turned.rotation[axis][c] * d[c]).sum::<f64>();
            let tangent = |axis| match along(2) > 0.0 {
                true => along(axis).abs() / along(2),
                false => f64::INFINITY,
            };
            half = [half[0].max(tangent(0)), half[1].max(tangent(1))];
        }
        let focal = whole.fx.max(whole.fy);
        // At a wide angle the turned view is larger than the whole.
        let size = half.map(|tangent| (2.0 * tangent * focal).ceil().max(1.0));
        if !(size[0] <= MAX_PIXELS && size[1] <= MAX_PIXELS) {
            return whole;
        }
        Camera {
            width: size[0] as u32,
            height: size[1] as u32,
            fx: focal,
            fy: focal,
            cx: size[0] / 2.0,
            cy: size[1] / 2.0,
            ..turned
        }
    }

    /// Of a view that was rendered with its inverse depth.
    pub fn new(camera: Camera, rendered: &Rendered) -> Self {
        let mut depth = rendered.depth().unwrap_or_default();
        for (depth, &transmittance) in depth.iter_mut().zip(&rendered.transmittance) {
            if transmittance > MAX_TRANSMITTANCE {
                *depth = 0.0;
            }
        }
        Self { camera, depth }
    }

    /// Whether a point of the view (right, down, forward) is not behind what its pixel shows by
    /// more than `behind`; no beside the view.
    fn shows(&self, [x, y, z]: [f64; 3], behind: f64) -> bool {
        let camera = &self.camera;
        let column = camera.fx * x / z + camera.cx;
        let row = camera.fy * y / z + camera.cy;
        let inside = column >= 0.0 && column < f64::from(camera.width);
        if !(inside && row >= 0.0 && row < f64::from(camera.height)) {
            return false;
        }
        let pixel = row as usize * camera.width as usize + column as usize;
        let shown = self.depth.get(pixel).copied().map_or(0.0, f64::from);
        shown <= 0.0 || z <= shown * (1.0 + BEHIND) + behind
    }

    /// Whether Gaussian `i` lies behind what the view shows, or outside it: its mean, and what is a
    /// standard deviation to its right, left, top and bottom.
    pub fn hides(&self, scene: &Gaussians, i: usize) -> bool {
        let camera = &self.camera;
        let [x, y, z] = camera.to_view(scene.means[i].map(f64::from));
        if z < NEAR_PLANE {
            return true;
        }
        // Most that are shown need no more than this.
        if self.shows([x, y, z], 0.0) {
            return false;
        }
        let [right, down, along] = camera.rotation.map(|axis| deviation(scene, i, axis));
        let places = [
            [0.0; 2],
            [right, 0.0],
            [-right, 0.0],
            [0.0, down],
            [0.0, -down],
        ];
        !places
            .into_iter()
            .any(|[dx, dy]| self.shows([x + dx, y + dy, z], 2.0 * along))
    }
}

/// A Gaussian's standard deviation along a direction of unit length.
fn deviation(scene: &Gaussians, i: usize, direction: [f64; 3]) -> f64 {
    let Some(axes) = rotation_from_quaternion(scene.rotations[i].map(f64::from)) else {
        return 0.0;
    };
    let parts = (0..3).map(|k| {
        let along: f64 = (0..3).map(|c| axes[c][k] * direction[c]).sum();
        (along * f64::from(scene.log_scales[i][k]).exp()).powi(2)
    });
    parts.sum::<f64>().sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stroke(points: &[[f64; 2]]) -> Stroke {
        Stroke {
            camera: Camera::look_at([1.0, 2.0, -5.0], [0.0; 3], [0.0, -1.0, 0.0], 1.0, 1280, 720),
            points: points.to_vec(),
            radius: 30.0,
            through: false,
        }
    }

    /// A thin disc has no depth from the front, and its radius from the side.
    #[test]
    fn a_deviation_is_that_along_the_view() {
        let mut scene = Gaussians::zeros(1, 0);
        scene.log_scales[0] = [3f32.ln(), 2f32.ln(), 0.1f32.ln()];
        // A quarter turn about x: the scene's y is the disc's -z.
        let half = std::f32::consts::FRAC_1_SQRT_2;
        scene.rotations[0] = [half, half, 0.0, 0.0];
        for (direction, want) in [
            ([1.0, 0.0, 0.0], 3.0),
            ([0.0, 1.0, 0.0], 0.1),
            ([0.0, 0.0, 1.0], 2.0),
        ] {
            let got = deviation(&scene, 0, direction);
            assert!((got - want).abs() < 1e-5, "{direction:?} {got}");
        }
    }

    /// Wherever the stroke is, its view has the same eye, as many pixels of a degree or more, holds
    /// all that the stroke covers, and is smaller than the whole.
    #[test]
    fn a_view_of_a_stroke_is_small_and_holds_it() {
        let far = [[-1e9, 1e9]];
        let corner = [[1270.0, 710.0], [1200.0, 650.0]];
        for (points, most) in [
            (&[[640.0, 360.0]][..], 80),
            (&corner, 120),
            (&far, 80),
            (&[[0.0, 0.0], [1280.0, 720.0]], 640),
        ] {
            let stroke = stroke(points);
            let camera = Sight::camera(&stroke);
            assert_eq!(camera.defect(), None);
            assert!(camera.width <= most && camera.height <= most, "{camera:?}");
            let (a, b) = (camera.position(), stroke.camera.position());
            assert!((0..3).all(|c| (a[c] - b[c]).abs() < 1e-9));
            for &[x, y] in points.iter().filter(|point| point[0] >= 0.0) {
                for z in [1.0, 40.0] {
                    let view = &stroke.camera;
                    let at = [(x - view.cx) / view.fx * z, (y - view.cy) / view.fy * z, z];
                    let world: [f64; 3] = std::array::from_fn(|c| {
                        (0..3).map(|i| at[i] * view.rotation[i][c]).sum::<f64>() + b[c]
                    });
                    let [x, y, z] = camera.to_view(world);
                    let x = camera.fx * x / z + camera.cx;
                    let y = camera.fy * y / z + camera.cy;
                    let inside = (-0.5..=f64::from(camera.width) + 0.5).contains(&x)
                        && (-0.5..=f64::from(camera.height) + 0.5).contains(&y);
                    assert!(inside, "{x} {y} {camera:?}");
                }
            }
        }
    }
}
