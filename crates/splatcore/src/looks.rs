//! How photos show the scene, outside of training.
//!
//! | question | file |
//! | --- | --- |
//! | where are the looks of a run's photos, how are they read and written | `files.rs` |
//! | which look has a view without a photo | `controller.rs` |
//! | which look was asked for | `shown.rs` |
//! | how does a backend render in it | `through.rs` |

mod controller;
mod files;
mod shown;
mod through;

pub use controller::{Predicted, learn};
pub use files::Looks;
pub use shown::{LookArgs, Shown, cube};
pub use through::through;
