//! The kernels of a pass, looked up when its kind changes and not launch by launch.

use crate::device::error::failed;
use crate::device::queue::wrong_program;
use crate::device::{Kernel, Kernels, Program};
use crate::ops::scene::SceneAddresses;
use splatcore_core::BackendError;
use splatcore_core::backend::RenderOptions;

/// A program of a pass; sorts go by their plans (`sorted_lists.rs`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Op {
    /// Zeroes scratch memory and counters.
    Clear,
    /// From Gaussians to splats.
    Project,
    /// From splats to (tile, splat) or (macro-tile, splat) pairs.
    Intersect,
    /// Bins splats with a large footprint.
    BinLargeSplats,
    /// Sorts bins and splits them into tiles.
    SortBins,
    /// From lists to pixels.
    Blend,
    /// From the pixels' gradients to sums.
    BlendBackward,
    /// From the sums of pairs to those of splats.
    SumPairs,
    /// From the sums that pixels added up to rows of splats.
    GatherSums,
    /// Gives splats the colours of depth; adds the sums behind them to those of the image.
    DepthSums,
    /// From the sums of splats to gradients of parameters.
    ProjectBackward,
    /// Counts the splats that several ranks projected; lets ranks know of an overflow.
    GatherSplats,
    /// Divides a frame among ranks.
    Strips,
}

/// What of a scene decides which kernels run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SceneKind {
    /// Degree of the harmonics as stored.
    pub stored: u8,
    /// Harmonics are stored as halves.
    pub half: bool,
    /// Columns change how its Gaussians are drawn.
    pub shaped: bool,
}

impl SceneKind {
    /// Of a scene.
    pub fn of(scene: SceneAddresses) -> Self {
        Self {
            stored: scene.sh_degree,
            half: scene.half,
            shaped: scene.shape.any(),
        }
    }
}

/// The options without background and sky, by which no kernel is specialised and which every frame
/// may change.
pub fn without_background(options: &RenderOptions) -> RenderOptions {
    RenderOptions {
        background: [0.0; 3],
        sky: None,
        ..options.clone()
    }
}

/// The kernels of a pass; `Kind` is everything that decides which they are.
pub struct Loaded<Kind> {
    kind: Option<Kind>,
    ops: Vec<(Op, Vec<Kernel>)>,
}

impl<Kind> Default for Loaded<Kind> {
    fn default() -> Self {
        Self {
            kind: None,
            ops: Vec::new(),
        }
    }
}

impl<Kind: PartialEq> Loaded<Kind> {
    /// Whether the kernels are of this kind.
    pub fn is_of(&self, kind: &Kind) -> bool {
        self.kind.as_ref() == Some(kind)
    }

    /// Looks up the kernels of these programs.
    ///
    /// # Errors
    /// If one does not compile.
    pub fn load(
        &mut self,
        kind: Kind,
        programs: &[(Op, Program)],
        kernels: &Kernels,
    ) -> Result<(), BackendError> {
        let mut ops = Vec::new();
        for (op, program) in programs {
            ops.push((*op, kernels.get(program).map_err(failed)?));
        }
        (self.kind, self.ops) = (Some(kind), ops);
        Ok(())
    }

    /// The kernels of an op.
    pub fn of(&self, op: Op) -> &[Kernel] {
        let found = self.ops.iter().find(|&&(known, _)| known == op);
        found.map_or(&[], |(_, kernels)| kernels)
    }

    /// The kernels of an op that has `N` of them.
    ///
    /// # Errors
    /// If the pass has loaded others.
    pub fn get<const N: usize>(&self, op: Op) -> Result<[Kernel; N], BackendError> {
        let kernels = self.of(op).try_into();
        kernels.map_err(|_| wrong_program(&format!("{op:?}")))
    }
}
