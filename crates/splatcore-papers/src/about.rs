//! Which paper it is.

use serde::{Deserialize, Serialize};

/// What the head of a page says about a paper.
#[derive(Deserialize, Serialize)]
pub struct About {
    /// Short name.
    pub name: String,
    /// Title, without the short name where that comes first.
    pub title: String,
    /// Who and where.
    pub reference: String,
    /// What it was measured on.
    pub card: String,
}
