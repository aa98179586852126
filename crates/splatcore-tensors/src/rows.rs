//! Which splats are drawn, and rows of tensors, taken out and put back: from all splats to those
//! that are drawn, and gradients the other way.

use crate::Result;
use crate::error::{check_len, wrong};
use crate::parallel::{ROWS, Work};
use rayon::prelude::*;

/// Whether a splat of these radii is drawn.
pub(crate) fn is_drawn(radii: &[i32]) -> bool {
    radii.iter().all(|&radius| radius > 0)
}

/// How many splats of radii `[M, 2]` are drawn: those whose radii are positive.
pub fn count_drawn(radii: &[i32]) -> usize {
    radii.chunks_exact(2).filter(|of| is_drawn(of)).count()
}

/// Writes the splats of radii `[M, 2]` that are drawn, in ascending order, and their images, of
/// which each has `per_image` splats in a row. Places that are left get 0.
///
/// # Errors
/// Lengths that do not fit.
pub fn list_drawn(radii: &[i32], per_image: usize, rows: &mut [i64], images: &mut [i64]) -> Result {
    check_len("images", images, &[rows.len()])?;
    rows.fill(0);
    images.fill(0);
    let splats = radii.chunks_exact(2).enumerate();
    let drawn = splats.filter_map(|(splat, of)| is_drawn(of).then_some(splat));
    for ((row, image), splat) in rows.iter_mut().zip(images).zip(drawn) {
        *row = splat as i64;
        *image = (splat / per_image.max(1)) as i64;
    }
    Ok(())
}

/// Writes the rows of `from`, `[M, width]`, that `rows` names, to `to`, `[rows, width]`.
///
/// # Errors
/// A length that does not fit, a row that is not there.
pub fn gather<T: Copy + Send + Sync>(
    rows: &[i64],
    width: usize,
    from: &[T],
    to: &mut [T],
) -> Result {
    check(rows, width, from.len())?;
    check_len("to", to, &[rows.len(), width])?;
    if to.is_empty() {
        return Ok(());
    }
    let copies = to.par_chunks_exact_mut(width).zip(rows);
    copies.with_min_len(ROWS).each(|(to, &row)| {
        let start = row as usize * width;
        to.copy_from_slice(&from[start..start + width]);
    });
    Ok(())
}

/// Writes `from`, `[rows, width]`, to the rows of `to`, `[M, width]`, that `rows` names, and zeros
/// to the others. A row that is named twice gets the last of its values.
///
/// # Errors
/// As [`gather`].
pub fn scatter<T: Copy + Default>(rows: &[i64], width: usize, from: &[T], to: &mut [T]) -> Result {
    check(rows, width, to.len())?;
    check_len("from", from, &[rows.len(), width])?;
    to.fill(T::default());
    if from.is_empty() {
        return Ok(());
    }
    for (from, &row) in from.chunks_exact(width).zip(rows) {
        let start = row as usize * width;
        to[start..start + width].copy_from_slice(from);
    }
    Ok(())
}

/// That all rows lie in a tensor of `values` values.
fn check(rows: &[i64], width: usize, values: usize) -> Result {
    let count = values.checked_div(width).unwrap_or(0);
    let outside = |row: &&i64| usize::try_from(**row).map_or(true, |row| row >= count);
    match rows.iter().find(outside) {
        Some(row) => wrong("rows", format_args!("below {count}"), row),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_gathered_goes_back_to_its_place() {
        let from = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0];
        let rows = [2, 0];
        let mut packed = [f64::NAN; 4];
        gather(&rows, 2, &from, &mut packed).unwrap();
        assert_eq!(packed, [5.0, 6.0, 1.0, 2.0]);
        let mut back = [f64::NAN; 6];
        scatter(&rows, 2, &packed, &mut back).unwrap();
        assert_eq!(back, [1.0, 2.0, 0.0, 0.0, 5.0, 6.0]);
        scatter(&[], 2, &[], &mut back).unwrap();
        assert_eq!(back, [0.0; 6]);
    }

    #[test]
    fn drawn_splats_come_in_order_with_their_images() {
        let radii = [1, 1, 0, 3, 2, 2, 5, 0, -1, 4, 9, 9];
        assert_eq!(count_drawn(&radii), 3);
        let (mut rows, mut images) = ([7; 4], [7; 4]);
        list_drawn(&radii, 3, &mut rows, &mut images).unwrap();
        assert_eq!((rows, images), ([0, 2, 5, 0], [0, 0, 1, 0]));
        assert!(list_drawn(&radii, 3, &mut rows, &mut images[1..]).is_err());
    }

    #[test]
    fn rows_outside_are_refused() {
        let (from, mut to) = ([1, 2, 3], [0]);
        for row in [-1, 3, i64::MAX] {
            let error = gather(&[row], 1, &from, &mut to).unwrap_err().to_string();
            assert!(error.contains("rows must be below 3"), "{error}");
        }
        assert!(gather(&[0, 1], 1, &from, &mut to).is_err());
        assert!(scatter(&[0], 1, &from, &mut to).is_err());
    }
}
