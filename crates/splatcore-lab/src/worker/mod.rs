//! A worker: a process of its own that renders with a candidate's kernels.
//!
//! The parent never loads a candidate. It starts a worker whose environment names the candidate's
//! files, tells it what to render, and looks at the results itself. A worker that crashes, hangs or
//! takes too much memory is killed with all that it started, and costs its candidate only.
//!
//! ```text
//! parent: Child --- Ask, a JSON object a line, stdin ---> worker: serve
//!               <-- Answer, stdout; arrays as files in the worker's own folder ---
//! ```

pub(crate) mod arrays;
mod child;
mod error;
mod protocol;
mod sandbox;
mod serve;

pub use child::{Child, Limits, Program};
pub use error::WorkerError;
pub use protocol::{Answer, Ask, FrameSpec};
pub use sandbox::{Confined, confine, has_landlock};
pub use serve::{Watch, refuse, serve};
