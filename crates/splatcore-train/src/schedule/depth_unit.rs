//! In which unit depths are compared.

use splatcore_core::View;

/// A depth of about the scene's size: the middle of the photos' own.
pub(super) fn unit_of(views: &[&View]) -> Option<f32> {
    let of_photo = |view: &&View| view.photo.depth.as_ref()?.median();
    let mut all: Vec<f32> = views.iter().filter_map(of_photo).collect();
    let middle = all.len() / 2;
    (!all.is_empty()).then(|| *all.select_nth_unstable_by(middle, f32::total_cmp).1)
}
