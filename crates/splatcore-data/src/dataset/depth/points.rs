//! Points on the surfaces that depths show, to start from.

use crate::dataset::found::Points;
use splatcore_core::View;
use splatcore_core::image::PhotoError;
use splatcore_core::random::Rng;

/// About so many points of the depths of these views, as many of each view, at random places, with
/// the photos' colours. The same seed gives the same points.
///
/// # Errors
/// If a photo is not held and cannot be read.
pub fn points_of<'a>(
    views: impl IntoIterator<Item = &'a View>,
    count: usize,
    seed: u64,
) -> Result<Points, PhotoError> {
    let views: Vec<&View> = views.into_iter().collect();
    let with_depths = views
        .iter()
        .filter(|view| view.photo.known_depths().is_some());
    let of_view = count.div_ceil(with_depths.count().max(1));
    let mut points = Points::default();
    for (index, view) in views.iter().enumerate() {
        let Some(map) = view.photo.depths()? else {
            continue;
        };
        let is_distance = view.camera.depth_is_distance();
        let photo = view.photo.held()?;
        let known = (0..map.inverse.len()).filter(|&i| map.inverse[i] > 0.0);
        let mut known: Vec<usize> = known.collect();
        Rng::new(seed, index as u64).shuffle(&mut known);
        for &i in known.iter().take(of_view) {
            let [column, row] = [i % map.width as usize, i / map.width as usize];
            let pixel = [
                (column as f64 + 0.5) * f64::from(view.camera.width) / f64::from(map.width),
                (row as f64 + 0.5) * f64::from(view.camera.height) / f64::from(map.height),
            ];
            let depth = 1.0 / f64::from(map.inverse[i]);
            if let Some(position) = view.camera.point_with(is_distance, pixel, depth) {
                let [x, y] = pixel.map(|v| v as usize);
                let at = 3 * (y * view.photo.width as usize + x);
                points.positions.push(position.map(|v| v as f32));
                points.colours.push([0, 1, 2].map(|c| photo.rgb[at + c]));
            }
        }
    }
    Ok(points)
}
