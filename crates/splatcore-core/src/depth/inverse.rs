//! Differences of inverse depths.

use super::entry::Entry;

pub(super) const ENTRY: Entry = Entry {
    name: "inverse",
    residual: |rendered, known, unit| [(rendered - known) * unit, unit],
};
