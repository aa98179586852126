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
                    shutter: None,
                    ..camera.clone()
                }
            }
        }
    }

    /// Cameras of pictures seen so; the parts of a panorama are one.
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
            cameras = uncut(cameras);
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

/// Puts one camera in place of those that are parts of one photo.
fn uncut(cameras: Vec<NamedCamera>) -> Vec<NamedCamera> {
    let photos: Vec<_> = cameras
        .iter()
        .map(|named| panorama::photo_of(&named.name))
        .collect();
    let photo = |i: usize| photos[i].as_ref().map(|(photo, _)| photo);
    let same = |a: usize, b: usize| {
        let [p, q] = [a, b].map(|i| cameras[i].camera.position());
        photo(a).is_some() && photo(a) == photo(b) && (0..3).all(|k| (p[k] - q[k]).abs() < 1e-9)
    };
    // Names alone say nothing: a photo of a pinhole may be called so too.
    let others: Vec<Option<usize>> = (0..cameras.len())
        .map(|i| (0..cameras.len()).find(|&other| other != i && same(i, other)))
        .collect();
    let mut whole = Vec::new();
    for (i, mut named) in cameras.into_iter().enumerate() {
        match (others[i], &photos[i]) {
            (Some(other), _) if other < i => {}
            (Some(_), Some((photo, part))) => {
                named.camera = panorama::uncut(&named.camera, part);
                named.name = photo.clone();
                whole.push(named);
            }
            _ => whole.push(named),
        }
    }
    whole
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
