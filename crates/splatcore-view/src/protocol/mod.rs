//! What browser and server say to each other.
//!
//! The browser sends JSON texts ([`Request`]), the token first. The server answers with JSON texts
//! ([`Reply`]) and binary messages ([`Header`] and an image). Cameras are OpenCV's: x right, y
//! down, z forward.

mod header;
mod reply;
mod request;

pub use header::{Codec, Header, Kind};
pub use reply::{CameraInfo, HeatScale, Reply, SceneInfo, Status};
pub use request::{Action, Channel, Look, Request, Style, ViewRequest};
