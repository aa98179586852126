//! [`ProjectionKind`]: ways to see from the place of a camera, whatever lens it has.

use crate::{Camera, Lens, panorama};
use serde::{Deserialize, Serialize};
use std::f64::consts::PI;

/// How the place of a camera is seen. `render --projection` and the viewer call them so.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ProjectionKind {
    /// As a camera without distortion sees.
    #[default]
    Pinhole,
    /// Angles from the axis become distances in the image (equidistant), 180 degrees from top to
    /// bottom.
    Fisheye,
    /// 360 degrees around.
    Equirect,
    /// With parallel rays, as a map or a plan.
    Ortho,
}

impl ProjectionKind {
    /// A camera at the same place. Parallel rays show what lies as far away as `centre` as large as
    /// the camera shows it.
    pub fn of(self, camera: &Camera, centre: [f64; 3]) -> Camera {
        match self {
            Self::Pinhole => camera.without_lens(),
            Self::Fisheye => Self::fisheye(camera, PI),
            Self::Equirect => panorama::whole(camera, camera.width, camera.height),
            Self::Ortho => {
                let [x, y, z] = camera.to_view(centre);
                let distance = (x * x + y * y + z * z).sqrt();
                let depth = if z > 0.1 * distance { z } else { distance };
                let depth = if depth > 0.0 { depth } else { 1.0 };
                Camera {
                    fx: camera.fx / depth,
                    fy: camera.fy / depth,
                    lens: Lens::Orthographic,
                    shutter: None,
                    ..camera.clone()
                }
            }
        }
    }

    /// An equidistant fisheye at the place of a camera, of its size, its axis in the middle of the
    /// image; `angle` radians from top to bottom.
    pub fn fisheye(camera: &Camera, angle: f64) -> Camera {
        let (width, height) = (f64::from(camera.width), f64::from(camera.height));
        Camera {
            fx: height / angle,
            fy: height / angle,
            cx: width / 2.0,
            cy: height / 2.0,
            lens: Lens::Fisheye {
                k: [0.0; 4],
                p: [0.0; 2],
                s: [0.0; 2],
            },
            shutter: None,
            ..camera.clone()
        }
    }
}
