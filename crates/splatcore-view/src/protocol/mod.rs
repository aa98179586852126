//! What browser and server say to each other.
//!
//! The browser sends JSON texts ([`Request`]), the token first. The server answers with JSON texts
//! ([`Reply`]) and binary messages ([`Header`] and an image). Cameras are OpenCV's: x right, y
//! down, z forward.

mod edit;
mod header;
mod reply;
mod request;
mod view;

pub use edit::{EditRequest, JoinRequest};
pub use header::{Codec, Header, Kind};
pub use reply::{CameraInfo, HeatScale, Reply, SceneInfo, Status};
pub use request::{Action, Request};
pub use view::{Channel, Look, Seen, Style, ViewRequest};
