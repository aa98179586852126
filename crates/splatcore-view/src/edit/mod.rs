//! What browsers change of a finished scene: selections, deletions, scale and up, undo and redo.
//!
//! Nothing here renders or knows a browser. The thread that draws owns the [`Editor`]; it draws
//! what is left with what is selected highlighted, and writes it when a browser asks for that.
//!
//! | question | file |
//! | --- | --- |
//! | which Gaussians does a box, a sphere, a stroke take | `region.rs` |
//! | which Gaussians does a view hide behind others | `sight.rs` |
//! | how are sets of Gaussians kept | `mask.rs` |
//! | how is a step undone | `history.rs` |
//! | how do two points and a plane become scale and up | `moves.rs` |
//! | which names may be saved, what is written | `save.rs` |

mod editor;
mod history;
mod mask;
mod moves;
mod region;
mod save;
mod sight;
mod status;
mod stroke;

pub use editor::{Edit, Editor, Join};
pub use history::State;
pub use mask::Mask;
pub use moves::{FILE_UP, Moves, Up};
pub use region::Region;
pub use save::{AfterSave, NotSaved, SavePlace, Saved};
pub use sight::Sight;
pub use status::EditStatus;
pub use stroke::Stroke;
