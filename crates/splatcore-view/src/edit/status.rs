//! [`EditStatus`]: what browsers are told.

use serde::Serialize;

/// What was changed of the scene so far.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct EditStatus {
    /// Whether the scene can be edited; not while it is trained.
    pub enabled: bool,
    /// Gaussians that are not deleted.
    pub left: usize,
    /// Gaussians that are selected.
    pub selected: usize,
    /// Gaussians that are deleted.
    pub deleted: usize,
    /// Steps that can be undone.
    pub undo: usize,
    /// Steps that can be redone.
    pub redo: usize,
    /// What lengths are multiplied by on saving.
    pub scale: f64,
    /// The direction that is turned up on saving.
    pub up: Option<[f64; 3]>,
    /// The actions of `splatcore convert` that scale and turn the scene as saving does.
    pub command: String,
    /// Edits that were not saved.
    pub unsaved: usize,
    /// A name to save under; none where nothing can be saved.
    pub proposal: Option<String>,
}
