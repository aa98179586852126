//! Differences of inverse depths.

use super::entry::Entry;

pub(super) const ENTRY: Entry = Entry {
    name: "inverse",
    about: "by differences of inverse depths, so that what is near counts most",
    residual: |rendered, known, unit| [(rendered - known) * unit, unit],
};
