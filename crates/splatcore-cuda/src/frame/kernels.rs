//! The kernels that a frame runs, polled up when the kind of frame changes and not launch by
//! launch.

use super::pairs::Lists;
use super::{Frame, Purpose};
use crate::device::buffer::failed;
use crate::device::{Kernel, Program};
use crate::ops::blend::{self, InferenceRows};
use crate::ops::intersect::{self, macro_tiles};
use crate::ops::scene::SceneAddresses;
use crate::ops::sort::{self, Plan};
use crate::ops::{bin, blend_backward, clear, project, project_backward};
use splatcore_core::BackendError;
use splatcore_core::backend::{RenderOptions, Statistic};

/// A program of a frame; the sorts go by their plans.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Op {
    Clear,
    Project,
    Intersect,
    /// What makes the lists of macro-tiles of tiles, or bins pairs to them.
    MacroTiles,
    /// What sorts and splits these.
    SortLists,
    Blend,
    BlendBackward,
    SumPairs,
    ProjectBackward,
}

/// Everything that decides which kernels a frame runs.
#[derive(Clone, PartialEq)]
pub(super) struct Kind {
    /// The background, which no kernel is specialised by and every frame may change, left black.
    options: RenderOptions,
    purpose: Purpose,
    /// Degree of the harmonics as stored.
    stored: u8,
    half: bool,
    /// Gaussians have Mip-Splatting's 3D filter.
    smoothing: bool,
    lists: Lists,
    statistic: Statistic,
    /// Of a image.
    rows: InferenceRows,
}

impl Kind {
    pub(super) fn new(
        scene: SceneAddresses,
        options: &RenderOptions,
        purpose: Purpose,
        statistic: Statistic,
        rows: InferenceRows,
        lists: Lists,
    ) -> Self {
        Self {
            options: RenderOptions {
                background: [0.0; 3],
                ..options.clone()
            },
            purpose,
            stored: scene.sh_degree,
            half: scene.half,
            smoothing: scene.smoothing != 0,
            lists,
            statistic,
            rows,
        }
    }
}

/// What was polled up.
#[derive(Default)]
pub(super) struct Loaded {
    /// Of the last frame.
    kind: Option<Kind>,
    ops: Vec<(Op, Vec<Kernel>)>,
    /// Of every plan so far: photos of different sizes take turns.
    sorts: Vec<(Plan, Vec<Kernel>)>,
}

impl Loaded {
    fn has_sort(&self, plan: Plan) -> bool {
        self.sorts.iter().any(|&(known, _)| known == plan)
    }
}

impl Frame {
    /// Looks up the kernels of this kind of frame, and of sorts by the present layout, unless they
    /// are those of the last frame. What must be compiled is, together with `more`.
    pub(super) fn look_up(&mut self, kind: Kind, more: &[Program]) -> Result<(), BackendError> {
        let mut plans = vec![self.layout.depth_plan, self.layout.tile_plan];
        plans.dedup();
        plans.retain(|plan| plan.passes > 0);
        plans.retain(|&plan| !self.loaded.has_sort(plan));
        if plans.is_empty() && self.loaded.kind.as_ref() == Some(&kind) {
            return Ok(());
        }
        let ops = self.ops(&kind);
        let sorts: Vec<(Plan, Program)> = plans
            .iter()
            .map(|&plan| (plan, sort::program(plan)))
            .collect();
        let programs = ops.iter().map(|(_, program)| program);
        let programs = programs
            .chain(sorts.iter().map(|(_, program)| program))
            .chain(more);
        let programs: Vec<Program> = programs.cloned().collect();
        self.kernels.prepare(&programs).map_err(failed)?;
        let kernels_of = |program: &Program| self.kernels.get(program).map_err(failed);
        let mut loaded = Loaded {
            kind: Some(kind),
            ops: Vec::new(),
            sorts: std::mem::take(&mut self.loaded.sorts),
        };
        for (op, program) in &ops {
            loaded.ops.push((*op, kernels_of(program)?));
        }
        for (plan, program) in &sorts {
            loaded.sorts.push((*plan, kernels_of(program)?));
        }
        self.loaded = loaded;
        Ok(())
    }

    /// The programs of such a frame but for its sorts, if it is not a large image and pairs are
    /// not binned.
    pub(crate) fn programs(
        &self,
        scene: SceneAddresses,
        options: &RenderOptions,
        purpose: Purpose,
    ) -> impl Iterator<Item = Program> {
        let lists = Lists::sorted(options.pipeline, purpose);
        let kind = Kind::new(
            scene,
            options,
            purpose,
            self.statistic,
            InferenceRows::Four,
            lists,
        );
        let ops = self.ops(&kind);
        ops.into_iter().map(|(_, program)| program)
    }

    /// The programs of a kind of frame but for its sorts: all that they depend on is the kind.
    fn ops(&self, kind: &Kind) -> Vec<(Op, Program)> {
        let (stored, pipeline) = (kind.stored, kind.options.pipeline);
        let in_use = kind.options.sh_degree.min(stored);

        let filtered = |program| project::filtered(program, kind.options.antialias, kind.smoothing);
        let project = filtered(match kind.lists {
            Lists::Binned(macro_tiles) => {
                project::project_binned(in_use, stored, pipeline.intersect, macro_tiles)
            }
            _ => project::project(in_use, stored, pipeline.intersect),
        });
        let mut all = vec![
            (Op::Clear, clear::program()),
            (
                Op::Project,
                match kind.half {
                    true => project::of_half_scene(project, stored),
                    false => project,
                },
            ),
            (Op::Intersect, intersect::program(pipeline.intersect)),
            (
                Op::Blend,
                match kind.options.inverse_depth {
                    true => blend::blend_with_inverse_depth(pipeline.blend, kind.rows),
                    false => self.blend_program(pipeline, kind.purpose, kind.rows),
                },
            ),
        ];
        match kind.lists {
            Lists::Tiles => {}
            Lists::MacroTiles(side) => {
                all.push((
                    Op::MacroTiles,
                    macro_tiles::program(pipeline.intersect, side),
                ));
            }
            Lists::Binned(macro_tiles) => {
                all.push((
                    Op::MacroTiles,
                    bin::large_program(pipeline.intersect, macro_tiles),
                ));
                all.push((Op::SortLists, bin::sort_program(macro_tiles)));
            }
        }
        if kind.purpose == Purpose::Training {
            let method = self.backward_method(pipeline);
            let absolute =
                kind.statistic == Statistic::Absolute && blend_backward::has_pair_rows(method);
            all.push((Op::BlendBackward, blend_backward::blend_backward(method)));
            if blend_backward::has_pair_rows(method) {
                all.push((Op::SumPairs, blend_backward::sum_pairs(absolute)));
            }
            let program = project_backward::project_backward(in_use, stored, absolute);
            all.push((Op::ProjectBackward, filtered(program)));
        }
        all
    }

    /// The kernels of a program of the frame that was last polled up; none if it has no such
    /// program.
    pub(super) fn kernels_of(&self, op: Op) -> &[Kernel] {
        let found = self.loaded.ops.iter().find(|&&(known, _)| known == op);
        found.map_or(&[], |(_, kernels)| kernels)
    }

    /// The kernels of a sort of the present layout.
    pub(super) fn sort_kernels(&self, plan: Plan) -> &[Kernel] {
        let found = self.loaded.sorts.iter().find(|&&(known, _)| known == plan);
        found.map_or(&[], |(_, kernels)| kernels)
    }
}
