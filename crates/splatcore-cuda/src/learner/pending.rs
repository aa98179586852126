//! What is in the queue, and not yet known to be done.

use crate::device::queue::Marks;
use crate::ops::densify::Launched;
use splatcore_core::backend::{Refine, StepPlan};

/// What is in the queue.
pub(super) enum Pending {
    Step(StepPlan),
    Refine {
        refine: Refine,
        launched: Launched,
        marks: Marks,
    },
}

/// What is asked for again.
pub(super) enum Missing {
    Step(StepPlan),
    Refine(Refine),
}
