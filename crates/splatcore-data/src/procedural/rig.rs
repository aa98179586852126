//! Where the cameras stand.

use super::options::ProceduralOptions;
use super::vector::{scale, unit};
use splatcore_core::shutter::Shutter;
use splatcore_core::{Camera, Lens, panorama, random};

/// Elevations of the three rings, degrees.
const ELEVATIONS: [f64; 3] = [12.0, 25.0, 41.0];
/// Distance of a camera from the point that it looks at, world units.
const DISTANCE: f64 = 6.6;

/// Cameras on three rings around the square, all of one kind. Consecutive cameras stand next to
/// each other and on different rings, so that leaving out every 8th takes from all rings and leaves
/// neighbours on each side.
pub(super) fn cameras(options: &ProceduralOptions) -> Vec<Camera> {
    let fov_y = {
        // An upright picture gets the field of view across, so that the square fits.
        let narrow = (options.field_of_view.to_radians() / 2.0).tan();
        let tall = (options.height as f64 / options.width as f64).max(1.0);
        2.0 * (narrow * tall).atan()
    };
    (0..options.views)
        .map(|i| {
            let wobble =
                |lane: u64| random::uniform_at(options.seed, 0, i as u64, lane) as f64 * 2.0 - 1.0;
            let turn = (i as f64 + 0.1 * wobble(0)) / options.views as f64 * std::f64::consts::TAU;
            let rise = (ELEVATIONS[i % ELEVATIONS.len()] + 0.8 * wobble(1)).to_radians();
            let target = [0.15 * wobble(2), -0.72 + 0.08 * wobble(3), 0.15 * wobble(4)];
            let distance = DISTANCE * (1.0 + 0.02 * wobble(5));
            let eye = [
                target[0] + distance * rise.cos() * turn.cos(),
                target[1] - distance * rise.sin(),
                target[2] + distance * rise.cos() * turn.sin(),
            ];
            let camera = Camera::look_at(
                eye,
                target,
                [0.0, -1.0, 0.0],
                fov_y,
                options.width,
                options.height,
            );
            let along = |lane: u64| unit([0, 1, 2].map(|axis| wobble(lane + axis)));
            let shutter = options.motion.map(|motion| Shutter {
                readout: motion.readout,
                turn: scale(along(6), motion.turn.to_radians()),
                shift: scale(along(9), motion.shift),
            });
            match options.lens {
                Lens::Equirectangular => panorama::whole(&camera, options.width, options.height),
                Lens::Orthographic => Camera {
                    lens: Lens::Orthographic,
                    fx: camera.fx / DISTANCE,
                    fy: camera.fy / DISTANCE,
                    ..camera
                },
                lens => Camera {
                    lens,
                    shutter,
                    ..camera
                },
            }
        })
        .collect()
}
