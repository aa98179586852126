//! Points that a program exports as a PLY beside its cameras.

use super::found::{Found, Points};
use super::points_file::is_points_file;
use super::{folder, point_cloud, visible};
use std::path::{Path, PathBuf};

/// Fewer points than this share in the view of any camera: they hardly belong together.
const FEW: f64 = 0.1;

/// Reads the points beside a file of cameras: the PLY of the same name, else the only PLY of the
/// folder. What is wrong with it is a warning, as nobody has named the file. `remedy` says how to
/// export points that fit.
pub(super) fn read(found: &mut Found, cameras: &Path, remedy: &str) {
    let path = match find(cameras) {
        Ok(Some(path)) => path,
        Ok(None) => return,
        Err(count) => {
            found.warnings.push(format!(
                "{count} PLY files lie beside {}: none is read and the points are random; name one \
                 as that file",
                cameras.display()
            ));
            return;
        }
    };
    let points = folder::read(&path).and_then(|bytes| point_cloud::parse(&bytes, &path));
    match points {
        Ok(points) => found.points = points,
        Err(error) => {
            let line = format!("the points are random, as their file cannot be used: {error}");
            found.warnings.push(line);
            return;
        }
    }
    let share = visible::share(found.points.positions.iter().copied(), &found.entries);
    if share == 0.0 {
        found.points = Points::default();
        found.warnings.push(format!(
            "{}: none of the points is in the view of a camera, so random ones are used; {remedy}",
            path.display()
        ));
    } else if share < FEW {
        found.warnings.push(format!(
            "{}: only {:.0} % of the points are in the view of a camera; {remedy}",
            path.display(),
            100.0 * share
        ));
    }
    found.points_file = Some(path);
}

/// The file to read, or how many there are to choose from.
fn find(cameras: &Path) -> Result<Option<PathBuf>, usize> {
    let mut files = folder::with_ending(&folder::of_file(cameras), "ply");
    // What `train` writes is no dataset's.
    files.retain(|path| !path.ends_with("scene.ply") || is_points_file(path));
    let same = |path: &&PathBuf| path.file_stem() == cameras.file_stem();
    if let Some(path) = files.iter().find(same) {
        return Ok(Some(path.clone()));
    }
    match files.len() {
        0 | 1 => Ok(files.pop()),
        count => Err(count),
    }
}
