//! `render --projection`: pictures of cameras that are seen otherwise.

use crate::cameras::{NamedCamera, Size};
use crate::output::WrongUsage;
use crate::projection::Projection;
use anyhow::Result;
use splatcore_core::panorama;

/// Cameras of pictures seen so; the parts of a panorama are one.
///
/// # Errors
/// If a size was typed that is no panorama's.
pub fn of_all(
    projection: Projection,
    mut cameras: Vec<NamedCamera>,
    typed: Option<Size>,
    centre: [f64; 3],
) -> Result<Vec<NamedCamera>> {
    let around = projection == Projection::Equirect;
    if around {
        check(typed)?;
        cameras = uncut(cameras);
    }
    for named in &mut cameras {
        let camera = &mut named.camera;
        if around && typed.is_none() && !panorama::is_whole(camera) {
            [camera.width, camera.height] = size(camera.width);
        }
        *camera = projection.kind().of(camera, centre);
    }
    Ok(cameras)
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
