//! Values by their rank.

/// The value below which `share` of the values lie; `None` of none.
pub fn percentile(values: impl IntoIterator<Item = f64>, share: f64) -> Option<f64> {
    let mut values: Vec<f64> = values.into_iter().collect();
    let at = (values.len().checked_sub(1)? as f64 * share).round() as usize;
    Some(*values.select_nth_unstable_by(at, f64::total_cmp).1)
}

/// The middle value, of an even number the upper of the two; `None` of none.
pub fn median(values: impl IntoIterator<Item = f64>) -> Option<f64> {
    percentile(values, 0.5)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_are_rounded() {
        let values = [5.0, -1.0, 3.0, 2.0];
        assert_eq!(median(values), Some(3.0));
        assert_eq!(median(values[..3].iter().copied()), Some(3.0));
        let of = |share| percentile(values, share);
        assert_eq!(
            [of(0.0), of(0.2), of(1.0)],
            [Some(-1.0), Some(2.0), Some(5.0)]
        );
        assert_eq!(median([]), None);
    }
}
