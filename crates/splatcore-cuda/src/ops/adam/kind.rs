//! Which variant of `adam` a step runs.

use super::moments::Moments;
use super::rates;
use super::{of_batch, program};
use crate::device::Program;
use crate::ops::columns::kernels::{ShapeColumns, learning};
use crate::ops::lens::LensKind;
use crate::ops::project;
use crate::ops::state::State;
use splatcore_core::backend::{Statistic, StepPlan};

/// Everything that decides which kernels Adam's are.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct AdamKind {
    in_use: u8,
    stored: u8,
    moments: Moments,
    sparse: bool,
    absolute: bool,
    antialias: bool,
    shaped: bool,
    learns: bool,
    batch: bool,
    /// Other ranks have the other Gaussians.
    shard: bool,
    /// What the frame's camera is.
    lens: LensKind,
    /// The frame's loss depends on depth.
    depth: bool,
    /// Bits of the moments' decays.
    betas: [u64; 2],
}

impl AdamKind {
    /// For a step of such a state, of a camera of a kind; `shard` with other ranks.
    pub fn new(plan: &StepPlan, state: &State, lens: LensKind, shard: bool) -> Self {
        Self {
            in_use: plan.render.sh_degree.min(state.sh_degree),
            stored: state.sh_degree,
            moments: state.moments,
            sparse: plan.sparse_adam,
            absolute: plan.statistics == Some(Statistic::Absolute),
            antialias: plan.render.antialias,
            shaped: ShapeColumns::of(&state.columns).any(),
            learns: plan.columns.starts().next().is_some(),
            batch: plan.views.len() > 1,
            shard,
            lens: match plan.views.len() {
                1 => lens,
                _ => LensKind::Pinhole,
            },
            depth: plan.depth.is_some() && plan.views.len() == 1,
            betas: plan.betas.map(f64::to_bits),
        }
    }

    /// The same with this degree of the harmonics in use.
    pub fn with_degree(self, in_use: u8) -> Self {
        Self { in_use, ..self }
    }

    /// Its kernels.
    pub fn program(self) -> Program {
        let plain = program(
            self.in_use,
            self.stored,
            self.moments,
            self.sparse,
            self.absolute,
        );
        let filtered = project::filtered(plain, self.antialias, self.shaped);
        let program = project::through_lens(filtered, self.lens);
        let program = project::by_depth(program, self.depth);
        let mut program = learning(program, self.learns);
        if self.batch {
            program = of_batch(program);
        }
        if self.shard {
            program = project::of_shard(program);
        }
        rates::with_betas(program, self.betas.map(f64::from_bits))
    }
}
