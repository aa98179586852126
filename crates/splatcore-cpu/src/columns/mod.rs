//! Columns ([`splatcore_core::columns`]): what computes them, and the step of Adam of those that
//! learn.

mod learned_masks;
mod smoothing;

pub(crate) use smoothing::{grown, grown_backward};

use crate::adam::{Correction, Group, adam};
use crate::scene::Scene;
use crate::shared::Disjoint;
use crate::simd::Level;
use splatcore_core::columns::{Column, ColumnPlan, Learns};
use splatcore_core::{Camera, Gaussians};
use std::ops::Range;

/// Whether columns change how a scene's Gaussians are drawn.
pub(crate) fn grow(scene: &Scene<'_>) -> bool {
    !scene.columns[Column::Filter].is_empty()
}

/// The values of a column that is computed from the cameras, `[n][width]`.
pub(crate) fn compute(
    column: Column,
    gaussians: &Gaussians,
    cameras: &[Camera],
) -> Option<Vec<f32>> {
    match column {
        Column::Filter => Some(smoothing::filters(gaussians, cameras)),
        Column::Mask => None,
    }
}

/// The gradient of a column that learns.
fn gradient_of(column: Column) -> Option<Gradient> {
    match column {
        Column::Filter => None,
        Column::Mask => Some(learned_masks::gradient),
    }
}

/// dL/dnumber of some rows from the numbers, the weight of the column's term for each Gaussian, the
/// opacity logits, and the image's gradients of the parameters.
type Gradient = fn(numbers: &[f32], share: f32, logits: &[f32], image: &Gaussians) -> Vec<f32>;

/// A column that a step learns, in slices that threads share by disjoint rows.
pub(crate) struct LearnedColumn<'a> {
    /// Values, first and second moments.
    arrays: [Disjoint<'a, f32>; 3],
    learns: &'static Learns,
    gradient: Gradient,
    plan: ColumnPlan,
}

impl<'a> LearnedColumn<'a> {
    /// Of the column's values, first and second moments; `None` of one that does not learn.
    pub fn new(column: Column, arrays: [&'a mut [f32]; 3], plan: ColumnPlan) -> Option<Self> {
        Some(Self {
            arrays: arrays.map(Disjoint::new),
            learns: column.entry().learns.as_ref()?,
            gradient: gradient_of(column)?,
            plan,
        })
    }

    /// dL/dnumber of as many Gaussians as there are opacity logits, from row `first` on, of `count`
    /// in all, given the image's gradients.
    ///
    /// # Safety
    /// No one may change these rows meanwhile.
    pub unsafe fn gradients(
        &self,
        first: usize,
        count: usize,
        logits: &[f32],
        image: &Gaussians,
    ) -> Vec<f32> {
        // SAFETY: the caller's promise.
        let numbers = unsafe { self.arrays[0].get(first, logits.len()) };
        (self.gradient)(numbers, self.plan.weight / count as f32, logits, image)
    }

    /// Adam for the Gaussians from row `first` on that are `taken`.
    ///
    /// # Safety
    /// No one else may use these rows.
    pub unsafe fn learn(
        &self,
        (level, correction): (Level, Correction),
        taken: &[Range<usize>],
        first: usize,
        gradients: &[f32],
    ) {
        let arrays = self.arrays.each_ref();
        // SAFETY: the caller's promise.
        let [values, of_first, of_second] =
            arrays.map(|array| unsafe { array.get(first, gradients.len()) });
        let mut group = Group::plain(values, of_first, of_second, gradients, 1, self.plan.rate);
        for rows in taken {
            adam(level, &mut group.rows(rows), correction);
        }
    }

    /// Whether the Gaussian of a row is drawn.
    ///
    /// # Safety
    /// No one may change this row meanwhile.
    pub unsafe fn draws(&self, row: usize) -> bool {
        // SAFETY: the caller's promise.
        self.learns.draws(unsafe { self.arrays[0].get(row, 1) }[0])
    }
}
