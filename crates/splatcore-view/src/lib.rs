//! The live viewer: draws a scene for browsers.
//!
//! One thread owns the renderer and calls [`Hub::take`] for what a browser asks to see, draws it
//! ([`drawing`]) and hands it back ([`Hub::draw`]): for a finished scene, which it also edits, in a
//! loop of its own ([`serve`]), while training between two steps ([`Hub::draw_between_steps`]). The
//! web server ([`Server`]) runs on threads of its own. Of each browser only the newest request for
//! a view is kept, and one frame is under way at a time, so that a slow link delays nothing.
//!
//! | question | file |
//! | --- | --- |
//! | what do browser and server say to each other | `protocol/` |
//! | who may connect | `access.rs`, `token.rs` |
//! | how many connections are there, when is one cut | `connections.rs` |
//! | what does one browser's connection do | `session.rs` |
//! | who is drawn next, when does a training step wait | `hub.rs` |
//! | how does a request become an image | `drawing/` |
//! | what can be changed of a scene, undone, saved | `edit/` |
//! | what does the page do | `page/`, and `shared/` of `splatcore-page` |

mod access;
mod budget;
mod connections;
pub mod drawing;
pub mod edit;
mod hub;
pub mod protocol;
mod serve;
mod server;
mod session;
mod shared;
mod token;

pub use access::Listen;
pub use budget::Budget;
pub use hub::{Hub, Moment, Work};
pub use serve::serve;
pub use server::{Port, Server, ServerError, ServerOptions};
pub use shared::{Photos, StoreStart};
pub use token::Token;
