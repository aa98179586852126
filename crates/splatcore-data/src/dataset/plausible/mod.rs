//! What cannot be a camera, and what hardly is one: the one place that judges what the readers of
//! all formats give ([`Found`]).
//!
//! A photo whose camera cannot be one is left out, and said; the others are used. What is only
//! unlikely is said. Limits follow from what cameras are, not from what datasets were seen.
//!
//! | question | file |
//! | --- | --- |
//! | which values are judged while a file is read, as a [`Camera`] does not hold them | `values.rs` |
//! | can this be a camera | `camera.rs`, `lens.rs` |
//! | do the cameras of a dataset go together | `together.rs` |
//!
//! [`Found`]: super::found::Found
//! [`Camera`]: splatcore_core::Camera

mod camera;
mod lens;
mod together;
pub(super) mod values;

pub(super) use together::points;

use super::finding::{Finding, Severity};
use super::found::Entry;

/// Judges each camera and all together. Entries that cannot be used are removed; what is wrong or
/// unlikely is appended to `findings`.
pub(super) fn check(entries: &mut Vec<Entry>, findings: &mut Vec<Finding>) {
    let mut lenses = lens::Judge::default();
    entries.retain(|entry| {
        let mut own = camera::findings(&entry.camera.without_lens());
        if own
            .iter()
            .all(|finding| finding.severity != Severity::Refused)
        {
            own.extend(lenses.finding(&entry.camera));
            own.extend(camera::motion(&entry.camera));
        }
        let refused = own.iter().find(|f| f.severity == Severity::Refused);
        match refused {
            // One reason is enough.
            Some(reason) => findings.push(reason.clone().of(&entry.name)),
            None => findings.extend(own.iter().map(|finding| finding.clone().of(&entry.name))),
        }
        refused.is_none()
    });
    together::check(entries, findings);
}
