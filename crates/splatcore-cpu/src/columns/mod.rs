//! Columns ([`splatcore_core::columns`]): what computes them, and the step of Adam of those that
//! learn.

mod learned_masks;
pub(crate) mod smoothing;

use crate::adam::{Correction, Group, adam};
use crate::shared::Disjoint;
use crate::simd::Level;
use splatcore_core::columns::{Column, ColumnPlan, Learns};
use splatcore_core::{Camera, Gaussians};
use std::ops::Range;

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

/// dL/dnumber of some rows, `[rows][width]`, from the numbers, the weight of the column's term for
/// each Gaussian, the opacity logits, and the image's gradients of the parameters.
type Gradient = fn(numbers: &[f32], share: f32, logits: &[f32], image: &Gaussians) -> Vec<f32>;

/// A column that a step learns, in slices that threads share by disjoint rows.
pub(crate) struct LearnedColumn<'a> {
    values: Disjoint<'a, f32>,
    moments: [Disjoint<'a, f32>; 2],
    width: usize,
    learns: &'static Learns,
    gradient: Gradient,
    plan: ColumnPlan,
}

impl<'a> LearnedColumn<'a> {
    /// Of the column's values, first and second moments; `None` of one that does not learn.
    pub fn new(
        column: Column,
        [values, first, second]: [&'a mut [f32]; 3],
        plan: ColumnPlan,
    ) -> Option<Self> {
        Some(Self {
            values: Disjoint::new(values),
            moments: [first, second].map(Disjoint::new),
            width: column.entry().width,
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
        let numbers = unsafe { self.of_rows(&self.values, first, logits.len()) };
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
        let rows = gradients.len() / self.width;
        let [of_first, of_second] = &self.moments;
        // SAFETY: the caller's promise.
        let [values, of_first, of_second] = unsafe {
            [&self.values, of_first, of_second].map(|array| self.of_rows(array, first, rows))
        };
        let (width, rate) = (self.width, self.plan.rate);
        let mut group = Group::plain(values, of_first, of_second, gradients, width, rate);
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
        let numbers = unsafe { self.of_rows(&self.values, row, 1) };
        self.learns.draws(numbers)
    }

    /// # Safety
    /// No two live results may overlap.
    #[allow(clippy::mut_from_ref)]
    unsafe fn of_rows<'b>(
        &'b self,
        array: &'b Disjoint<'_, f32>,
        first: usize,
        rows: usize,
    ) -> &'b mut [f32] {
        // SAFETY: the caller's promise.
        unsafe { array.get(first * self.width, rows * self.width) }
    }
}
