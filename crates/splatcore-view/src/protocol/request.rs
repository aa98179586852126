//! What a browser asks.

use super::edit::EditRequest;
use super::view::ViewRequest;
use serde::Deserialize;

/// A message of a browser. Anything else ends the connection.
#[derive(Clone, Debug, Deserialize)]
#[serde(tag = "type", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Request {
    /// The first message.
    Hello {
        /// The secret of the address.
        token: String,
    },
    /// Draw this; it replaces what was asked before and is not drawn yet.
    View(ViewRequest),
    /// A frame arrived: the next may come.
    Ack {
        /// The frame's.
        seq: u32,
    },
    /// Which point of the world does a pixel show?
    Pick {
        /// The view that shows it.
        view: ViewRequest,
        /// Position in the view's window, pixels, x to the right.
        x: f64,
        /// The same, y down.
        y: f64,
        /// Comes back with the answer.
        #[serde(default)]
        tag: u32,
    },
    /// Draw a picture to keep, with the cut-offs of the reference and without loss.
    Picture {
        /// The view.
        view: ViewRequest,
    },
    /// A stroke over this view begins: what hides what in it will be asked for.
    Sight {
        /// The view.
        view: ViewRequest,
    },
    /// Change the scene.
    Edit {
        /// How.
        edit: EditRequest,
    },
    /// Write what is left of the scene.
    Save {
        /// Name of the file, in the scene's folder.
        name: String,
        /// A file of this name may be replaced.
        #[serde(default)]
        replace: bool,
    },
    /// Send a photo of the dataset.
    Photo {
        /// Which, in the order of the cameras.
        index: usize,
        /// Pixels of the longer side, at most.
        size: u32,
        /// As it was taken, not as a camera without distortion takes it.
        #[serde(default)]
        as_taken: bool,
    },
    /// Begin with this view from now on: it is stored with the scene.
    Start {
        /// The view.
        view: ViewRequest,
    },
    /// Change the training run.
    Control {
        /// How.
        action: Action,
    },
}

/// What a browser may do to a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Action {
    /// Take no further step for now.
    Pause,
    /// Go on.
    Resume,
    /// Save and end.
    Stop,
}
