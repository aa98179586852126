//! Columns: numbers that a learner keeps of each Gaussian beside the parameters that a scene file
//! has.
//!
//! [`Column::entry`] says which there are. Checkpoints, refinements, pruning, Adam and a card's
//! memory walk over them and name none; only the ops that compute with a column know what its
//! numbers mean. A column exists from the step or refinement on that first needs it.

mod entry;
pub mod learned_masks;
pub mod smoothing;

pub use entry::{Entry, Learns, Rule};

use crate::gaussians::{Gaussians, logit};
use std::ops::{Index, IndexMut};

/// A column, by its place in the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Column {
    /// Log standard deviations of the 3D filter ([`smoothing`]).
    Filter,
    /// Logits of learned masks ([`learned_masks`]).
    Mask,
}

/// Opacity logit of a Gaussian that a column says is drawn no more: an opacity of 1e-13, far below
/// the 1/255 that is drawn.
pub const OFF_OPACITY_LOGIT: f32 = -30.0;

/// How a column learns in a step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ColumnPlan {
    /// Weight of the column's term in the loss.
    pub weight: f32,
    /// Adam's learning rate.
    pub rate: f32,
}

const ENTRIES: [&Entry; 2] = [&smoothing::ENTRY, &learned_masks::ENTRY];

impl Column {
    /// All of them.
    pub const ALL: [Self; ENTRIES.len()] = [Self::Filter, Self::Mask];

    /// What is known of it.
    pub fn entry(self) -> &'static Entry {
        ENTRIES[self as usize]
    }
}

/// Something of each column, by the column.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Each<T>([T; ENTRIES.len()]);

impl<T> Each<T> {
    /// Made for each column.
    pub fn of(make: impl FnMut(Column) -> T) -> Self {
        Self(Column::ALL.map(make))
    }

    /// All, with their columns.
    pub fn iter(&self) -> impl Iterator<Item = (Column, &T)> {
        Column::ALL.into_iter().zip(&self.0)
    }

    /// As [`Each::iter`].
    pub fn iter_mut(&mut self) -> impl Iterator<Item = (Column, &mut T)> {
        Column::ALL.into_iter().zip(&mut self.0)
    }
}

impl<T> Index<Column> for Each<T> {
    type Output = T;

    fn index(&self, column: Column) -> &T {
        &self.0[column as usize]
    }
}

impl<T> IndexMut<Column> for Each<T> {
    fn index_mut(&mut self, column: Column) -> &mut T {
        &mut self.0[column as usize]
    }
}

/// The values of columns, `[n][width]` each; empty of one that does not exist.
pub type Values<'a> = Each<&'a [f32]>;

impl Values<'_> {
    /// Those of the Gaussians `first..first + rows`.
    pub fn rows(&self, first: usize, rows: usize) -> Self {
        Self::of(|column| match self[column] {
            [] => &[],
            values => {
                let width = column.entry().width;
                &values[first * width..(first + rows) * width]
            }
        })
    }

    /// The Gaussians as they are drawn, with what columns change of them in their parameters.
    pub fn fuse(&self, gaussians: Gaussians) -> Gaussians {
        smoothing::fuse(gaussians, self[Column::Filter])
    }

    /// The logit that caps the opacity of Gaussian `i` as it is drawn at `ceiling`.
    pub fn ceiling_logit(&self, ceiling: f32, log_scales: [f32; 3], i: usize) -> f32 {
        match self[Column::Filter].get(i) {
            Some(&filter) => smoothing::ceiling_logit(ceiling, log_scales, filter),
            None => logit(ceiling),
        }
    }

    /// Whether a column that learns draws Gaussian `i`, as one does that does not exist or not
    /// learn.
    pub fn draws(&self, column: Column, i: usize) -> bool {
        let number = self[column].get(i);
        let learns = column.entry().learns.as_ref();
        (learns.zip(number)).is_none_or(|(learns, &number)| learns.draws(number))
    }
}

/// How columns learn in a step; `None` leaves a column as it is.
pub type ColumnPlans = Each<Option<ColumnPlan>>;

impl ColumnPlans {
    /// The columns that a step learns, each with what its numbers are before the first such step.
    pub fn starts(&self) -> impl Iterator<Item = (Column, f32)> {
        let learned = self.iter().filter(|(_, plan)| plan.is_some());
        learned.filter_map(|(column, _)| Some((column, column.entry().learns.as_ref()?.start)))
    }
}

/// The columns of some Gaussians.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Columns {
    /// `[array][n][width]`, the arrays in the order of [`Entry::arrays`]; no array of a column
    /// that does not exist.
    arrays: Each<Vec<Vec<f32>>>,
}

impl Columns {
    /// Whether a column exists.
    pub fn has(&self, column: Column) -> bool {
        !self.arrays(column).is_empty()
    }

    /// The values of a column, `[n][width]`; empty if it does not exist.
    pub fn values(&self, column: Column) -> &[f32] {
        self.arrays(column).first().map_or(&[], Vec::as_slice)
    }

    /// The values of each column.
    pub fn all_values(&self) -> Values<'_> {
        Values::of(|column| self.values(column))
    }

    /// The arrays of a column, `[n][width]` each, in the order of [`Entry::arrays`]; none if it
    /// does not exist.
    pub fn arrays(&self, column: Column) -> &[Vec<f32>] {
        &self.arrays[column]
    }

    /// The arrays of all columns.
    pub fn all_mut(&mut self) -> &mut Each<Vec<Vec<f32>>> {
        &mut self.arrays
    }

    /// Gives a column these values, `[n][width]`, with moments of zero.
    pub fn set(&mut self, column: Column, values: Vec<f32>) {
        let mut arrays = vec![vec![0.0; values.len()]; column.entry().arrays.len()];
        arrays[0] = values;
        self.arrays[column] = arrays;
    }

    /// Gives a column these arrays, one for each of [`Entry::arrays`].
    pub fn set_arrays(&mut self, column: Column, arrays: Vec<Vec<f32>>) {
        debug_assert_eq!(arrays.len(), column.entry().arrays.len());
        self.arrays[column] = arrays;
    }

    /// Gives `n` Gaussians the columns that a step learns, as far as they do not exist.
    pub fn start(&mut self, plans: &ColumnPlans, n: usize) {
        for (column, start) in plans.starts() {
            if !self.has(column) {
                self.set(column, vec![start; n]);
            }
        }
    }

    /// A column that exists and is not of `n` Gaussians.
    pub fn misshapen(&self, n: usize) -> Option<Column> {
        let fits = |&column: &Column| {
            let arrays = self.arrays(column);
            arrays
                .iter()
                .all(|array| array.len() == n * column.entry().width)
        };
        Column::ALL.into_iter().find(|column| !fits(column))
    }

    /// Appends a Gaussian that is made of Gaussian `i`.
    pub fn push_copy(&mut self, i: usize) {
        self.each(|rule, width, array| rule.push(array, width, i));
    }

    /// Gaussian `to` is made of Gaussian `from` now.
    pub fn overwrite(&mut self, to: usize, from: usize) {
        self.each(|rule, width, array| rule.overwrite(array, width, (to, from)));
    }

    /// Clears the moments of Gaussian `i`.
    pub fn clear_moments(&mut self, i: usize) {
        self.each(|rule, width, array| rule.overwrite(array, width, (i, i)));
    }

    /// Clears all moments.
    pub fn clear_all_moments(&mut self) {
        self.each(|rule, _, array| {
            if rule == Rule::Zeroed {
                array.fill(0.0);
            }
        });
    }

    /// Removes the Gaussians that `keep` does not want.
    pub fn retain(&mut self, keep: impl Fn(usize) -> bool) {
        self.each(|_, width, array| entry::retain(array, width, &keep));
    }

    /// Calls `change` for each array that exists, with its rule and the numbers of a Gaussian.
    fn each(&mut self, change: impl Fn(Rule, usize, &mut Vec<f32>)) {
        for (column, arrays) in self.arrays.iter_mut() {
            let entry = column.entry();
            for (array, &(_, rule)) in arrays.iter_mut().zip(entry.arrays) {
                change(rule, entry.width, array);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_follow_their_gaussians() {
        let mut columns = Columns::default();
        columns.set_arrays(
            Column::Mask,
            vec![
                vec![1.0, 2.0, 3.0],
                vec![0.1, 0.2, 0.3],
                vec![0.4, 0.5, 0.6],
            ],
        );
        columns.push_copy(1);
        columns.overwrite(0, 2);
        columns.retain(|i| i != 2);
        let want: [&[f32]; 3] = [&[3.0, 2.0, 2.0], &[0.0, 0.2, 0.0], &[0.0, 0.5, 0.0]];
        assert_eq!(columns.arrays(Column::Mask), want);
        columns.clear_moments(1);
        assert_eq!(columns.arrays(Column::Mask)[2], [0.0; 3]);
        assert!(!columns.has(Column::Filter) && columns.values(Column::Filter).is_empty());
        assert_eq!(columns.misshapen(3), None);
        columns.set(Column::Filter, vec![0.5; 2]);
        assert_eq!(columns.misshapen(3), Some(Column::Filter));
        assert_eq!(columns.values(Column::Filter), [0.5; 2]);
    }

    #[test]
    fn what_a_step_learns_starts() {
        let plan = ColumnPlan {
            weight: 0.0,
            rate: 0.0,
        };
        let plans = ColumnPlans::of(|column| (column == Column::Mask).then_some(plan));
        let mut columns = Columns::default();
        columns.start(&plans, 2);
        let start = [learned_masks::START; 2];
        assert_eq!(columns.arrays(Column::Mask), [start, [0.0; 2], [0.0; 2]]);
        columns.set(Column::Mask, vec![7.0; 2]);
        columns.start(&plans, 2);
        assert_eq!(columns.values(Column::Mask), [7.0; 2]);
        assert!(!columns.has(Column::Filter));
    }

    #[test]
    fn the_table_is_sound() {
        let entries = Column::ALL.map(Column::entry);
        let mut names: Vec<_> = entries
            .iter()
            .flat_map(|entry| entry.arrays.iter().map(|(name, _)| name))
            .collect();
        let all = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), all, "names are told apart");
        for entry in entries {
            let rules: Vec<Rule> = entry.arrays.iter().map(|(_, rule)| *rule).collect();
            let sound = match entry.learns {
                Some(_) => rules[1..] == [Rule::Zeroed; 2] && entry.width == 1,
                None => rules.len() == 1 && entry.width > 0,
            };
            assert!(sound && rules[0] == Rule::Copied, "{}", entry.name);
        }
    }
}
