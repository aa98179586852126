//! USD out: text (.usda), and the text in a zip archive (.usdz).
//!
//! The schema is `ParticleField3DGaussianSplat` of OpenUSD's UsdVol, from version 26.03 on:
//! positions, unit quaternions, linear standard deviations, opacities, and spherical harmonics in
//! INRIA's order and with its constants, a Gaussian after the other, all as f32. The stage has y
//! up, and the Gaussians are turned as for glTF. USD is not read.

mod layer;
mod package;

use super::rows::Rows;
use super::written::{Progress, WriteOptions, Written, size_of};
use crate::{DataError, file};
use std::path::Path;

/// Largest length that a zip archive without extensions can have: .usdz allows no others.
const MAX_PACKAGE: u64 = u32::MAX as u64;

/// Writes a text layer. Every f32 is the shortest text that reads back as it. The rows are read
/// once for each array.
///
/// # Errors
/// If the file cannot be written; then nothing is left under its name but what was there before.
pub fn write_usda(
    path: &Path,
    rows: &dyn Rows,
    options: &WriteOptions,
    progress: Progress,
) -> Result<Written, DataError> {
    let mut clamped = 0;
    file::write_atomically(path, |writer| {
        clamped = layer::write(writer, rows, progress)?;
        Ok(())
    })?;
    written(path, clamped, options)
}

/// Writes a package: a zip archive, stored, with the text layer alone.
///
/// # Errors
/// If the text is longer than 4 GiB, which a package cannot hold, or the file cannot be written;
/// then nothing is left under its name but what was there before.
pub fn write_usdz(
    path: &Path,
    rows: &dyn Rows,
    options: &WriteOptions,
    progress: Progress,
) -> Result<Written, DataError> {
    write_package(path, rows, options, progress, MAX_PACKAGE)
}

fn write_package(
    path: &Path,
    rows: &dyn Rows,
    options: &WriteOptions,
    progress: Progress,
    largest: u64,
) -> Result<Written, DataError> {
    let mut clamped = 0;
    let mut too_long = false;
    let result = file::write_atomically(path, |writer| {
        let layer = |writer: &mut dyn std::io::Write| {
            clamped = layer::write(writer, rows, progress)?;
            Ok(())
        };
        package::write(writer, largest, &mut too_long, layer)
    });
    if too_long {
        let problem = "is longer than the 4 GiB that a .usdz holds";
        let remedy = "write a .usda, or fewer Gaussians or spherical harmonics";
        return Err(DataError::new(path, problem, remedy));
    }
    result?;
    written(path, clamped, options)
}

fn written(path: &Path, clamped: usize, options: &WriteOptions) -> Result<Written, DataError> {
    let mut notes = Vec::new();
    if options.antialiased {
        notes.push("USD cannot say that the scene wants Mip-Splatting's 2D filter".into());
    }
    notes.extend(super::linear::clamped_note(clamped));
    Ok(Written {
        bytes: size_of(path)?,
        notes,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use splatcore_core::Gaussians;

    #[test]
    fn a_package_that_would_be_too_long_is_not_written() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.usdz");
        std::fs::write(&path, "old").unwrap();
        let rows = Gaussians::zeros(100, 0);
        let write = |largest| {
            write_package(
                &path,
                &rows,
                &WriteOptions::default(),
                &|_, _, _| (),
                largest,
            )
        };
        let message = write(2000).unwrap_err().to_string();
        assert!(message.contains("4 GiB"), "{message}");
        assert_eq!(std::fs::read(&path).unwrap(), b"old");
        let written = write(1 << 20).unwrap();
        assert_eq!(written.bytes, std::fs::metadata(&path).unwrap().len());
    }
}
