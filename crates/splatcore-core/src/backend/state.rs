//! What a learner knows.

use crate::Gaussians;
use crate::colour::{ColourState, ColourTable};
use crate::columns::Columns;

/// All that a learner knows and a checkpoint must hold. Moments have the scene's shape.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LearnerState {
    /// Parameters.
    pub gaussians: Gaussians,
    /// Adam's first moments.
    pub first: Gaussians,
    /// Adam's second moments.
    pub second: Gaussians,
    /// Sum of NDC gradient norms (see [`super::Statistic`]) since the last refinement, `[n]`.
    pub gradient_sum: Vec<f32>,
    /// Times seen since the last refinement, `[n]`.
    pub seen: Vec<u32>,
    /// What the views' photos and cameras made of colours; empty if no step learned any.
    pub colours: ColourState,
    /// What is known of the sky ([`crate::sky`]), a row; empty if no step learned one.
    pub sky: ColourTable,
    /// What is kept of each Gaussian beside its parameters.
    pub columns: Columns,
}

impl LearnerState {
    /// The state in which training starts: moments and statistics zero.
    pub fn fresh(gaussians: Gaussians) -> Self {
        let (n, degree) = (gaussians.len(), gaussians.sh_degree);
        Self {
            gaussians,
            first: Gaussians::zeros(n, degree),
            second: Gaussians::zeros(n, degree),
            gradient_sum: vec![0.0; n],
            seen: vec![0; n],
            colours: ColourState::default(),
            sky: ColourTable::default(),
            columns: Columns::default(),
        }
    }
}
