//! Columns: numbers that a learner keeps of each Gaussian beside the parameters that a scene file
//! has.
//!
//! [`Column::entry`] says which there are. Checkpoints, refinements, pruning and a card's memory
//! walk over them and name none; only the ops that compute with a column know what its numbers
//! mean. A column exists from the step on that first needs it.

/// A column, by its place in the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Column {
    /// Log standard deviations of the 3D filter ([`crate::smoothing`]).
    Filter,
    /// Logits of learned masks ([`crate::learned_masks`]).
    Mask,
}

/// What is known of a column.
#[derive(Debug)]
pub struct Entry {
    /// What messages call its numbers.
    pub name: &'static str,
    /// Its arrays as checkpoints name them, one number a Gaussian each: the values, then, of one
    /// that learns, Adam's first and second moments. Values follow their Gaussian where it is
    /// copied, moments start at zero there.
    pub arrays: &'static [&'static str],
}

const ENTRIES: [Entry; 2] = [
    Entry {
        name: "smoothing filters",
        arrays: &["smoothing"],
    },
    Entry {
        name: "learned masks",
        arrays: &["mask.logits", "mask.first", "mask.second"],
    },
];

impl Column {
    /// All of them.
    pub const ALL: [Self; ENTRIES.len()] = [Self::Filter, Self::Mask];

    /// What is known of it.
    pub fn entry(self) -> &'static Entry {
        &ENTRIES[self as usize]
    }
}

/// The columns of some Gaussians.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Columns {
    /// `[column][array][n]`, the arrays in the order of [`Entry::arrays`]; no array of a column
    /// that does not exist.
    arrays: [Vec<Vec<f32>>; ENTRIES.len()],
}

impl Columns {
    /// Whether a column exists.
    pub fn has(&self, column: Column) -> bool {
        !self.arrays(column).is_empty()
    }

    /// The values of a column, `[n]`; empty if it does not exist.
    pub fn values(&self, column: Column) -> &[f32] {
        self.arrays(column).first().map_or(&[], Vec::as_slice)
    }

    /// The arrays of a column, `[n]` each, in the order of [`Entry::arrays`]; none if it does not
    /// exist.
    pub fn arrays(&self, column: Column) -> &[Vec<f32>] {
        &self.arrays[column as usize]
    }

    /// The arrays of all columns, in the order of [`Column::ALL`].
    pub fn arrays_mut(&mut self) -> [&mut [Vec<f32>]; ENTRIES.len()] {
        self.arrays.each_mut().map(Vec::as_mut_slice)
    }

    /// Gives a column these values, `[n]`, with moments of zero.
    pub fn set(&mut self, column: Column, values: Vec<f32>) {
        let mut arrays = vec![vec![0.0; values.len()]; column.entry().arrays.len()];
        arrays[0] = values;
        self.arrays[column as usize] = arrays;
    }

    /// Gives a column these arrays, one for each of [`Entry::arrays`].
    pub fn set_arrays(&mut self, column: Column, arrays: Vec<Vec<f32>>) {
        debug_assert_eq!(arrays.len(), column.entry().arrays.len());
        self.arrays[column as usize] = arrays;
    }

    /// A column that exists and is not of `n` Gaussians.
    pub fn misshapen(&self, n: usize) -> Option<Column> {
        let fits = |column: Column| {
            let arrays = self.arrays(column);
            arrays.iter().all(|array| array.len() == n)
        };
        Column::ALL.into_iter().find(|&column| !fits(column))
    }

    /// Appends a Gaussian that is a copy of Gaussian `i`.
    pub fn push_copy(&mut self, i: usize) {
        for (k, array) in self.each() {
            array.push(if k == 0 { array[i] } else { 0.0 });
        }
    }

    /// Gaussian `to` becomes a copy of Gaussian `from`.
    pub fn overwrite(&mut self, to: usize, from: usize) {
        for (k, array) in self.each() {
            array[to] = if k == 0 { array[from] } else { 0.0 };
        }
    }

    /// Clears the moments of Gaussian `i`.
    pub fn clear_moments(&mut self, i: usize) {
        for (_, array) in self.each().filter(|(k, _)| *k > 0) {
            array[i] = 0.0;
        }
    }

    /// Clears all moments.
    pub fn clear_all_moments(&mut self) {
        for (_, array) in self.each().filter(|(k, _)| *k > 0) {
            array.fill(0.0);
        }
    }

    /// Removes the Gaussians that `keep` does not want.
    pub fn retain(&mut self, keep: impl Fn(usize) -> bool) {
        for (_, array) in self.each() {
            let mut rows = 0..;
            array.retain(|_| rows.next().is_some_and(&keep));
        }
    }

    /// The arrays that exist, each with its place in its column.
    fn each(&mut self) -> impl Iterator<Item = (usize, &mut Vec<f32>)> {
        let columns = self.arrays.iter_mut();
        columns.flat_map(|arrays| arrays.iter_mut().enumerate())
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
    fn names_are_told_apart() {
        let mut names: Vec<_> = Column::ALL.iter().flat_map(|c| c.entry().arrays).collect();
        let all = names.len();
        names.sort_unstable();
        names.dedup();
        assert!(names.len() == all && Column::ALL.iter().all(|c| !c.entry().arrays.is_empty()));
    }
}
