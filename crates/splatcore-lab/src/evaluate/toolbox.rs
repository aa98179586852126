//! What the lab needs of the build that it is part of.

use super::Turns;
use crate::candidate::Texts;
use crate::gates::Rejection;
use crate::gates::machine_code::Compiled;
use crate::gates::sanitizer::Tool;
use crate::worker::Program;
use splatcore_core::{Backend, Pipeline};
use std::path::Path;

/// What a worker computes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Role {
    /// The device, as users have it: for times.
    Timed,
    /// The device, with memory that is not a number when it is allocated and guarded on both
    /// sides.
    Guarded,
    /// The same, but memory holds numbers when it is allocated.
    Filled,
    /// The emulator, every access checked, threads in order.
    Checked,
    /// The same, threads of a block in the opposite order.
    CheckedBackwards,
}

/// What a frame is like: by it launches choose among kernels and their variants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrameKind {
    /// Width and height of the image, pixels.
    pub size: [u32; 2],
    /// Gaussians of the scene.
    pub gaussians: usize,
}

/// What the lab needs of the build that it is part of.
pub trait Toolbox {
    /// The device, its driver and compiler, in words.
    fn describe(&self) -> String;
    /// All kernel files.
    fn kernels(&self) -> &Texts;
    /// The machine code of everything that a pipeline launches for these frames, or for a usual one
    /// if there are none; `None` where no compiler for a card is at hand.
    ///
    /// # Errors
    /// The rejection: it does not compile.
    fn compile(
        &self,
        changed: &Texts,
        pipeline: Pipeline,
        training: bool,
        frames: &[FrameKind],
    ) -> Result<Option<Compiled>, Rejection>;
    /// A worker whose kernel files are replaced by those of a folder.
    ///
    /// # Errors
    /// Why there can be none here: no compiler, no card.
    fn worker(&self, kernels: &Path, role: Role) -> Result<Program, String>;
    /// A worker on the card under a tool of compute-sanitizer, which writes
    /// [`super::REPORT`] in the worker's folder. `None` where kernels run on no card.
    ///
    /// # Errors
    /// Why there can be none here.
    fn sanitized(&self, kernels: &Path, tool: Tool) -> Option<Result<Program, String>>;
    /// The backend that references are rendered with: none of a candidate's text is in it.
    fn reference(&self) -> &dyn Backend;
    /// The turns at the card, where times mean something; `None` for its emulation.
    fn turns(&self) -> Option<&Turns>;
}
