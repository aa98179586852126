//! `--projection`: how the places of cameras are seen.

use crate::cameras::{NamedCamera, Size};
use crate::output::WrongUsage;
use anyhow::Result;
use splatcore_core::{Camera, Lens, panorama};

/// `--projection`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Projection {
    /// As a camera without distortion sees
    Pinhole,
    /// 360 degrees around
    Equirect,
    /// With parallel rays, as a map or a plan
    Ortho,
}

impl Projection {
    /// A camera at the same place. Parallel rays show what lies as far away as `centre` as large as
    /// the camera shows it.
    pub fn of(self, camera: &Camera, centre: [f64; 3]) -> Camera {
        match self {
            Self::Pinhole => camera.without_lens(),
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
                    ..camera.clone()
                }
            }
        }
    }

    /// Cameras of pictures seen so; a place that has several, as the parts of a panorama have, is
    /// seen all around once.
    ///
    /// # Errors
    /// If a size was typed that is no panorama's.
    pub fn of_all(
        self,
        mut cameras: Vec<NamedCamera>,
        typed: Option<Size>,
        centre: [f64; 3],
    ) -> Result<Vec<NamedCamera>> {
        if self == Self::Equirect {
            check(typed)?;
            let mut places: Vec<[f64; 3]> = Vec::new();
            cameras.retain(|named| {
                let place = named.camera.position();
                let same = |known: &[f64; 3]| (0..3).all(|k| (known[k] - place[k]).abs() < 1e-9);
                let known = places.iter().any(same);
                places.push(place);
                !known
            });
        }
        for named in &mut cameras {
            let camera = &mut named.camera;
            if self == Self::Equirect && typed.is_none() && !panorama::is_whole(camera) {
                [camera.width, camera.height] = size(camera.width);
            }
            *camera = self.of(camera, centre);
        }
        Ok(cameras)
    }
}

/// The size of a panorama about as wide as this.
pub fn size(width: u32) -> [u32; 2] {
    let width = width.max(16).next_multiple_of(2);
    [width, width / 2]
}

/// Whether a size is a panorama's.
///
/// # Errors
/// If it is not.
pub fn check(typed: Option<Size>) -> Result<()> {
    match typed {
        Some(Size(width, height)) if width != 2 * height => {
            let message =
                format!("--projection equirect is twice as wide as high, not {width}x{height}");
            Err(WrongUsage(message).into())
        }
        _ => Ok(()),
    }
}
