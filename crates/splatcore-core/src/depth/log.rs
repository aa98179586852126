//! Differences of logarithms.

use super::entry::Entry;

pub(super) const ENTRY: Entry = Entry {
    name: "log",
    about: "by shares of the depth, near and far alike",
    residual: |rendered, known, _| [(rendered / known).ln(), 1.0 / rendered],
};
