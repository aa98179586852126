//! What the table says of a column, and what becomes of its rows.

/// What is known of a column. Its numbers are f32.
#[derive(Debug)]
pub struct Entry {
    /// What messages call its numbers.
    pub name: &'static str,
    /// Numbers of a Gaussian in each array; 1 of one that learns.
    pub width: usize,
    /// The values, then, of one that learns, Adam's first and second moments: what checkpoints call
    /// each array, and what refinements do with it.
    pub arrays: &'static [(&'static str, Rule)],
    /// How it learns; `None` for one that an op computes.
    pub learns: Option<Learns>,
}

/// What a refinement does with an array where it puts a Gaussian in another's place or behind all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    /// The new row is that of the Gaussian that the new one is made of.
    Copied,
    /// The new row is zero, as is that of a Gaussian whose moments are cleared.
    Zeroed,
}

/// How a column learns.
#[derive(Debug)]
pub struct Learns {
    /// Every number before the first step that learns it.
    pub start: f32,
    /// A Gaussian whose number is below this, or that is not a number, is drawn no more: steps give
    /// it [`super::OFF_OPACITY_LOGIT`].
    pub min: f32,
}

impl Rule {
    /// Appends a row, of `width` numbers, that is made of row `from`.
    pub(super) fn push(self, array: &mut Vec<f32>, width: usize, from: usize) {
        match self {
            Self::Copied => array.extend_from_within(from * width..(from + 1) * width),
            Self::Zeroed => array.resize(array.len() + width, 0.0),
        }
    }

    /// Row `to` is made of row `from` now.
    pub(super) fn overwrite(self, array: &mut [f32], width: usize, (to, from): (usize, usize)) {
        match self {
            Self::Copied => array.copy_within(from * width..(from + 1) * width, to * width),
            Self::Zeroed => array[to * width..(to + 1) * width].fill(0.0),
        }
    }
}

impl Entry {
    /// Bytes of a Gaussian in each array.
    pub fn row_bytes(&self) -> usize {
        self.width * size_of::<f32>()
    }
}

impl Learns {
    /// Whether a Gaussian with this number is drawn.
    pub fn draws(&self, number: f32) -> bool {
        number >= self.min
    }
}

/// Removes the rows, of `width` numbers, that `keep` does not want.
pub(super) fn retain(array: &mut Vec<f32>, width: usize, keep: impl Fn(usize) -> bool) {
    let mut numbers = 0..;
    array.retain(|_| numbers.next().is_some_and(|k| keep(k / width)));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_may_be_wide() {
        let row = |i: u8| [f32::from(i), f32::from(i) + 0.5];
        let mut values: Vec<f32> = [1, 2, 3].map(row).concat();
        let mut moments = values.clone();
        for (rule, array) in [(Rule::Copied, &mut values), (Rule::Zeroed, &mut moments)] {
            rule.push(array, 2, 1);
            rule.overwrite(array, 2, (0, 2));
            retain(array, 2, |i| i != 2);
        }
        assert_eq!(values, [row(3), row(2), row(2)].concat());
        assert_eq!(moments, [[0.0; 2], row(2), [0.0; 2]].concat());
    }
}
