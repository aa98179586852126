//! [`Rows`]: Gaussians that are read in pieces, so that a scene need not fit in memory.

use super::ply::header::Scalar;
use crate::DataError;
use splatcore_core::Gaussians;

/// Gaussians that a piece holds: 15 MB at degree 3.
pub const PIECE: usize = 1 << 16;

/// A scene whose Gaussians are made when they are asked for: in memory, in a file, or edits of
/// other rows. Parameters are those of [`Gaussians`]: PLY space, log scales, logits.
pub trait Rows: Send + Sync {
    /// Number of Gaussians, at most 2³² - 1.
    fn len(&self) -> usize;

    /// Whether there is no Gaussian.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Degree of the spherical harmonics, 0 to 4.
    fn sh_degree(&self) -> u8;

    /// Appends the Gaussians `which` (each below [`Rows::len`], in any order, repeats allowed) to
    /// `to`, whose degree is [`Rows::sh_degree`].
    ///
    /// # Errors
    /// The file cannot be read, or was cut short since it was opened; what `to` holds then is of no
    /// use.
    fn gather(&self, which: &[u32], to: &mut Gaussians) -> Result<(), DataError>;

    /// Properties beside the parameters, which only PLY has.
    fn extras(&self) -> &[Extra] {
        &[]
    }

    /// Appends the extra properties of `which`, little-endian, a Gaussian after the other.
    ///
    /// # Errors
    /// As [`Rows::gather`].
    fn gather_extras(&self, _which: &[u32], _to: &mut Vec<u8>) -> Result<(), DataError> {
        Ok(())
    }
}

/// A property that is no parameter of a Gaussian.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Extra {
    /// Its name in the file.
    pub name: String,
    /// Its type in the file.
    pub scalar: Scalar,
}

impl Rows for Gaussians {
    fn len(&self) -> usize {
        Gaussians::len(self)
    }

    fn sh_degree(&self) -> u8 {
        self.sh_degree
    }

    fn gather(&self, which: &[u32], to: &mut Gaussians) -> Result<(), DataError> {
        for &i in which {
            to.push_from(self, i as usize);
        }
        Ok(())
    }
}

impl<R: Rows + ?Sized> Rows for Box<R> {
    fn len(&self) -> usize {
        (**self).len()
    }

    fn sh_degree(&self) -> u8 {
        (**self).sh_degree()
    }

    fn gather(&self, which: &[u32], to: &mut Gaussians) -> Result<(), DataError> {
        (**self).gather(which, to)
    }

    fn extras(&self) -> &[Extra] {
        (**self).extras()
    }

    fn gather_extras(&self, which: &[u32], to: &mut Vec<u8>) -> Result<(), DataError> {
        (**self).gather_extras(which, to)
    }
}

/// Calls `each` with the Gaussians in order, [`PIECE`] at a time, and with the index of the first.
///
/// # Errors
/// The first error of `each`, or of reading.
pub fn in_pieces<E: From<DataError>>(
    rows: &dyn Rows,
    each: impl FnMut(usize, &Gaussians) -> Result<(), E>,
) -> Result<(), E> {
    in_ordered_pieces(rows, None, each)
}

/// [`in_pieces`] with the Gaussians `order[0]`, `order[1]`, and so on, if there is an order: a
/// permutation of all indices.
///
/// # Errors
/// As [`in_pieces`].
pub fn in_ordered_pieces<E: From<DataError>>(
    rows: &dyn Rows,
    order: Option<&[u32]>,
    mut each: impl FnMut(usize, &Gaussians) -> Result<(), E>,
) -> Result<(), E> {
    let mut piece = Gaussians::empty(rows.sh_degree());
    let mut which = Vec::with_capacity(PIECE.min(rows.len()));
    for start in (0..rows.len()).step_by(PIECE) {
        let end = (start + PIECE).min(rows.len());
        which.clear();
        match order {
            Some(order) => which.extend_from_slice(&order[start..end]),
            None => which.extend(start as u32..end as u32),
        }
        piece.resize(0);
        rows.gather(&which, &mut piece)?;
        each(start, &piece)?;
    }
    Ok(())
}

/// All Gaussians in memory, in order.
///
/// # Errors
/// As [`Rows::gather`].
pub fn whole(rows: &dyn Rows) -> Result<Gaussians, DataError> {
    let mut all = Gaussians::empty(rows.sh_degree());
    let which: Vec<u32> = (0..rows.len() as u32).collect();
    for piece in which.chunks(PIECE) {
        rows.gather(piece, &mut all)?;
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_hold_every_row_once_and_in_order() {
        let mut scene = Gaussians::zeros(2 * PIECE + 3, 1);
        for (i, mean) in scene.means.iter_mut().enumerate() {
            mean[0] = i as f32;
        }
        let mut seen = Gaussians::empty(1);
        in_pieces(&scene, |start, piece| {
            assert_eq!(start, seen.len());
            assert!(piece.len() <= PIECE);
            (0..piece.len()).for_each(|i| seen.push_from(piece, i));
            Ok::<(), DataError>(())
        })
        .unwrap();
        assert_eq!(seen, scene);
        assert_eq!(whole(&scene).unwrap(), scene);
        let back: Vec<u32> = (0..scene.len() as u32).rev().collect();
        let mut seen = Gaussians::empty(1);
        in_ordered_pieces(&scene, Some(&back), |start, piece| {
            assert_eq!(start, seen.len());
            (0..piece.len()).for_each(|i| seen.push_from(piece, i));
            Ok::<(), DataError>(())
        })
        .unwrap();
        assert_eq!(seen, scene.in_order(&back));
        let stopped = in_pieces(&scene, |start, _| match start {
            0 => Ok(()),
            _ => Err(DataError::new("x".as_ref(), format!("at {start}"), "")),
        });
        assert_eq!(stopped.unwrap_err().problem, format!("at {PIECE}"));
        assert_eq!(whole(&Gaussians::empty(2)).unwrap(), Gaussians::empty(2));
    }
}
