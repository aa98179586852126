//! Which paper it is.

use serde::Serialize;

/// What the head of a page says about a paper.
#[derive(Serialize)]
pub struct About {
    /// Short name.
    pub name: &'static str,
    /// Title, without the short name where that comes first.
    pub title: &'static str,
    /// Who and where.
    pub reference: &'static str,
    /// What it was measured on.
    pub card: &'static str,
}
