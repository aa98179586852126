//! Differences of logarithms.

use super::entry::Entry;

pub(super) const ENTRY: Entry = Entry {
    name: "log",
    residual: |rendered, known, _| [(rendered / known).ln(), 1.0 / rendered],
};
