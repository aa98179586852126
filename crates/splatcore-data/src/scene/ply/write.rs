//! Writing INRIA's layout.

use crate::scene::rows::{Extra, Rows, in_pieces};
use crate::scene::written::{Progress, WriteOptions, Written, size_of};
use crate::{DataError, file};
use splatcore_core::{Gaussians, sh};
use std::fmt::Write as _;
use std::io::Write;
use std::path::Path;

/// Writes Gaussians as INRIA's trainer does: binary little-endian f32, `x y z nx ny nz f_dc_*
/// f_rest_* opacity scale_* rot_*` with zero normals and channel-major `f_rest_*`. Every bit of
/// every parameter is kept. That a scene is to be shown with Mip-Splatting's 2D filter stands in
/// comments, as Brush and Postshot write and read them.
///
/// # Errors
/// If the file cannot be written; then nothing is left under its name but what was there before.
pub fn write(
    path: &Path,
    rows: &dyn Rows,
    options: &WriteOptions,
    progress: Progress,
) -> Result<Written, DataError> {
    let higher = sh::coefficients(rows.sh_degree()) - 1;
    file::write_atomically(path, |writer| {
        let extras: &[Extra] = match options.keep_extras {
            true => rows.extras(),
            false => &[],
        };
        let header = header(rows.len(), higher, options.antialiased, extras);
        writer.write_all(header.as_bytes())?;
        let extra: usize = extras.iter().map(|extra| extra.scalar.size()).sum();
        let mut row: Vec<f32> = Vec::with_capacity(17 + 3 * higher);
        let mut values = Vec::new();
        in_pieces(rows, |start, piece| {
            if extra > 0 {
                let which: Vec<u32> = (start as u32..(start + piece.len()) as u32).collect();
                values.clear();
                rows.gather_extras(&which, &mut values)?;
            }
            for i in 0..piece.len() {
                fill(&mut row, piece, i);
                writer.write_all(bytemuck::cast_slice(&row))?;
                writer.write_all(&values[i * extra..(i + 1) * extra])?;
            }
            progress("writing", (start + piece.len()) as u64, rows.len() as u64);
            Ok(())
        })
    })?;
    Ok(Written {
        bytes: size_of(path)?,
        notes: Vec::new(),
    })
}

/// [`write()`] for Gaussians in memory; `antialiased` as in [`WriteOptions`].
///
/// # Errors
/// As [`write()`].
pub fn write_ply(path: &Path, gaussians: &Gaussians, antialiased: bool) -> Result<(), DataError> {
    let options = WriteOptions {
        antialiased,
        ..WriteOptions::default()
    };
    write(path, gaussians, &options, &|_, _, _| ())?;
    Ok(())
}

/// One Gaussian's values in the order of the header, in the file's byte order.
fn fill(row: &mut Vec<f32>, gaussians: &Gaussians, i: usize) {
    let sh = gaussians.sh_of(i);
    row.clear();
    row.extend(gaussians.means[i]);
    row.extend([0.0; 3]);
    row.extend(sh[0]);
    for channel in 0..3 {
        row.extend(sh[1..].iter().map(|coefficient| coefficient[channel]));
    }
    row.push(gaussians.opacity_logits[i]);
    row.extend(gaussians.log_scales[i]);
    row.extend(gaussians.rotations[i]);
    if cfg!(target_endian = "big") {
        row.iter_mut()
            .for_each(|v| *v = f32::from_bits(v.to_bits().swap_bytes()));
    }
}

/// The header for `count` Gaussians with `higher` coefficients a channel above degree 0.
fn header(count: usize, higher: usize, antialiased: bool, extras: &[Extra]) -> String {
    let mut names: Vec<String> = ["x", "y", "z", "nx", "ny", "nz"].map(String::from).into();
    let mut numbered = |name: &str, n: usize| names.extend((0..n).map(|i| format!("{name}_{i}")));
    numbered("f_dc", 3);
    numbered("f_rest", 3 * higher);
    names.push("opacity".into());
    let mut numbered = |name: &str, n: usize| names.extend((0..n).map(|i| format!("{name}_{i}")));
    numbered("scale", 3);
    numbered("rot", 4);
    let comments = mip_comments(antialiased);
    let mut header =
        format!("ply\nformat binary_little_endian 1.0\n{comments}element vertex {count}\n");
    for name in names {
        // Writing into a String cannot fail.
        let _ = writeln!(header, "property float {name}");
    }
    for Extra { name, scalar } in extras {
        let _ = writeln!(header, "property {} {name}", scalar.name());
    }
    header.push_str("end_header\n");
    header
}

/// The lines of a header that say that a scene is to be shown with Mip-Splatting's 2D filter.
pub fn mip_comments(antialiased: bool) -> &'static str {
    match antialiased {
        true => "comment SplatRenderMode: mip\ncomment antialiased 1\n",
        false => "",
    }
}
