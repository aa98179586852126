//! Vectors from rows of memory, and back.

use super::lanes::Lanes;

/// One vector from each array.
#[inline(always)]
pub fn load_all<L: Lanes, const N: usize>(arrays: &[[f32; 16]; N]) -> [L; N] {
    let mut out = [L::splat(0.0); N];
    for i in 0..N {
        out[i] = L::load(&arrays[i]);
    }
    out
}

/// Row numbers, one a lane; only the first `WIDTH` are used.
pub type Rows = [u32; 16];

/// Sets `out[c]`, for `c` in 0..columns, to lane-wise `data[rows[lane] * stride + c]`: reads
/// `WIDTH` rows and transposes them.
#[inline(always)]
pub fn load_columns<L: Lanes>(
    data: &[f32],
    stride: usize,
    rows: &Rows,
    columns: usize,
    out: &mut [L],
) {
    let mut c = 0;
    while c + L::WIDTH <= columns {
        for lane in 0..L::WIDTH {
            out[c + lane] = L::load(&data[rows[lane] as usize * stride + c..]);
        }
        L::transpose(&mut out[c..c + L::WIDTH]);
        c += L::WIDTH;
    }
    let mut lanes = [0.0f32; 16];
    while c < columns {
        for lane in 0..L::WIDTH {
            lanes[lane] = data[rows[lane] as usize * stride + c];
        }
        out[c] = L::load(&lanes);
        c += 1;
    }
}

/// The inverse of [`load_columns`] for the first `lanes` lanes. Overwrites `columns`.
#[inline(always)]
pub fn store_columns<L: Lanes>(
    columns: &mut [L],
    data: &mut [f32],
    stride: usize,
    rows: &Rows,
    lanes: usize,
) {
    let mut c = 0;
    while c + L::WIDTH <= columns.len() {
        L::transpose(&mut columns[c..c + L::WIDTH]);
        for lane in 0..lanes {
            columns[c + lane].store(&mut data[rows[lane] as usize * stride + c..]);
        }
        c += L::WIDTH;
    }
    let mut values = [0.0f32; 16];
    while c < columns.len() {
        columns[c].store(&mut values);
        for lane in 0..lanes {
            data[rows[lane] as usize * stride + c] = values[lane];
        }
        c += 1;
    }
}
