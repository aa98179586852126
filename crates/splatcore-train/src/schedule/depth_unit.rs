//! In which unit depths are compared.

use splatcore_core::View;
use splatcore_core::ranked::median;

/// A depth of about the scene's size: the middle of the photos' own.
pub(super) fn unit_of(views: &[&View]) -> Option<f32> {
    let of_photo = |view: &&View| view.photo.known_depths()?.median();
    median(views.iter().filter_map(of_photo).map(f64::from)).map(|depth| depth as f32)
}
