//! What the server and all its sessions know.

use crate::access::Names;
use crate::hub::Hub;
use crate::protocol::SceneInfo;
use crate::token::Token;
use splatcore_page::Pose;
use std::sync::{Arc, Mutex};
use tokio::sync::watch;

/// Reads a photo by its index, at most so many pixels on the longer side, and either as it was
/// taken or as a camera without distortion takes it: r, g, b, a pixel after the other, width,
/// height; or one line that says why not.
pub type Photos =
    Arc<dyn Fn(usize, u32, bool) -> Result<(Vec<u8>, u32, u32), String> + Send + Sync>;

/// Stores a view to begin with: one line that says where, or why not.
pub type StoreStart = Arc<dyn Fn(Pose) -> Result<String, String> + Send + Sync>;

/// What all sessions share.
pub(crate) struct Shared {
    pub hub: Arc<Hub>,
    pub token: Token,
    pub control: bool,
    pub info: SceneInfo,
    pub photos: Option<Photos>,
    pub store_start: Option<StoreStart>,
    /// The view to begin with that a browser stored, in place of that of `info`.
    pub start: Mutex<Option<Pose>>,
    /// Changes when the server ends.
    pub ended: watch::Receiver<bool>,
    pub names: Names,
}
