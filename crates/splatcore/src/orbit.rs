//! The circle around a scene that `--orbit` stands on and `--path orbit` follows.

use crate::cameras::named::{NamedCamera, Size};
use crate::cameras::surroundings::surroundings;
use crate::up::ground;
use anyhow::{Result, bail};
use splatcore_core::{Camera, Gaussians};
use splatcore_path::generate::Orbit;

/// Vertical field of view of an orbit's cameras, degrees (the smaller side's, for portrait sizes).
const ORBIT_FOV: f64 = 50.0;
/// An orbit looks down on the scene at this angle, degrees.
const ORBIT_ELEVATION: f64 = 15.0;

/// A circle around what [`surroundings`] finds, looked inwards from; `up` has unit length.
///
/// # Errors
/// If the scene is empty.
pub fn circle(scene: &Gaussians, up: [f64; 3], distance: f64, size: Size) -> Result<Orbit> {
    let Some((centre, radius)) = surroundings(scene) else {
        bail!("the scene has no Gaussian to look at; give --dataset or --cameras");
    };
    let Size(width, height) = size;
    let narrow = ORBIT_FOV.to_radians();
    // For portrait sizes the given angle is the horizontal one.
    let fov_y = match height > width {
        true => 2.0 * ((narrow / 2.0).tan() * height as f64 / width as f64).atan(),
        false => narrow,
    };
    Ok(Orbit {
        centre,
        up,
        ground: ground(up),
        distance: distance * radius / (narrow / 2.0).sin(),
        elevation: ORBIT_ELEVATION.to_radians(),
        fov: fov_y,
    })
}

/// `count` cameras on a circle, evenly.
pub fn cameras(circle: &Orbit, count: u32, Size(width, height): Size) -> Vec<NamedCamera> {
    let camera = |i: u32| {
        let pose = circle.pose(f64::from(i) / f64::from(count));
        NamedCamera::new(format!("orbit_{i:04}"), pose.camera(width, height))
    };
    (0..count).map(camera).collect()
}

/// The first camera of an orbit with this direction up.
///
/// # Errors
/// If the scene is empty.
pub fn overview(scene: &Gaussians, up: [f64; 3]) -> Result<Camera> {
    let size = Size(1280, 720);
    let circle = circle(scene, up, 1.0, size)?;
    Ok(circle.pose(0.0).camera(size.0, size.1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::up::Direction;

    #[test]
    fn an_orbit_sees_the_scene_from_all_sides_with_up_pointing_up() {
        let mut scene = Gaussians::zeros(101, 0);
        for (i, mean) in scene.means.iter_mut().enumerate() {
            *mean = [i as f32 / 100.0 + 4.0, 2.0, 1.0];
        }
        // One far outlier must not matter.
        scene.means[100] = [1e6, 0.0, 0.0];
        for up in ["-y", "z", "x", "1,-2,0.5"] {
            let Direction(up) = up.parse().unwrap();
            let size = Size(100, 200);
            for named in cameras(&circle(&scene, up, 1.0, size).unwrap(), 8, size) {
                let camera = &named.camera;
                assert_eq!(camera.defect(), None);
                let centre = camera.to_view([4.5, 2.0, 1.0]);
                assert!(
                    centre[0].abs() < 1e-6 && centre[1].abs() < 1e-6 && centre[2] > 0.1,
                    "{centre:?}"
                );
                // Image y points down, so a point above the centre has a smaller y.
                let above =
                    camera.to_view(std::array::from_fn(|k| [4.5, 2.0, 1.0][k] + 0.1 * up[k]));
                assert!(above[1] < -0.05, "{above:?}");
            }
        }
        let x = [1.0, 0.0, 0.0];
        assert!(circle(&Gaussians::empty(0), x, 1.0, Size(8, 8)).is_err());
    }
}
