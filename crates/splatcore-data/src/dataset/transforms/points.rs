//! The points of a `transforms.json`.

use super::camera;
use super::json::{Transforms, plain};
use crate::DataError;
use crate::dataset::found::{Found, Points};
use crate::dataset::{colmap, folder, point_cloud, pose, visible};

/// So much more of the points must be seen after the declared transformation than before it for
/// them to be taken for untransformed.
const CLEARLY: f64 = 0.5;

/// Reads the points that the file names; without those, the points of nerfstudio's COLMAP model
/// beside it. Adds them and warnings to what was found, whose entries must be there already.
///
/// `applied_transform` moved the poses since COLMAP. nerfstudio 1.0 and later moves the points of
/// `ply_file_path` too; earlier versions moved them when they read them. So points of a PLY are
/// moved here only if far more of them are then in the view of a camera. Points of a COLMAP model
/// are always moved.
pub(super) fn read(found: &mut Found, transforms: &Transforms) -> Result<(), DataError> {
    let applied = match applied(transforms) {
        Ok(applied) => applied,
        Err(problem) => {
            found
                .warnings
                .push(format!("applied_transform is ignored, it is {problem}"));
            None
        }
    };
    let Some(name) = &transforms.ply_file_path else {
        return read_colmap(found, applied);
    };
    let path = found.root.join(plain(name));
    if !path.is_file() {
        found.warnings.push(format!(
            "the point cloud '{name}' does not exist, points are random"
        ));
        return Ok(());
    }
    found.points = point_cloud::parse(&folder::read(&path)?, &path)?;
    found.points_file = Some(path);
    let Some(applied) = applied else {
        return Ok(());
    };
    let positions = || found.points.positions.iter().copied();
    let as_they_are = visible::share(positions(), &found.entries);
    let moved = visible::share(
        positions().map(|p| pose::moved(&applied, p)),
        &found.entries,
    );
    if moved > as_they_are + CLEARLY {
        move_all(&mut found.points, &applied);
        found.warnings.push(format!(
            "'{name}': applied_transform is applied to the points, as {:.0} % of them are then in \
             the view of a camera, else {:.0} %",
            100.0 * moved,
            100.0 * as_they_are
        ));
    }
    Ok(())
}

/// The points of `colmap/sparse/0`, which `ns-process-data` leaves beside its file.
fn read_colmap(found: &mut Found, applied: Option<[[f64; 4]; 3]>) -> Result<(), DataError> {
    let model = found.root.join("colmap/sparse/0");
    let [binary, text] = ["points3D.bin", "points3D.txt"].map(|name| model.join(name));
    found.points = if binary.is_file() {
        colmap::parse_points_bin(&folder::read(&binary)?, &binary)?
    } else if text.is_file() {
        colmap::parse_points_txt(&folder::read(&text)?, &text)?
    } else {
        return Ok(());
    };
    if let Some(applied) = applied {
        move_all(&mut found.points, &applied);
    }
    Ok(())
}

fn move_all(points: &mut Points, by: &[[f64; 4]; 3]) {
    for position in &mut points.positions {
        *position = pose::moved(by, *position);
    }
}

/// `applied_transform`, then `applied_scale`; nothing if neither is given.
fn applied(transforms: &Transforms) -> Result<Option<[[f64; 4]; 3]>, &'static str> {
    let scale = transforms.applied_scale.unwrap_or(1.0);
    let rows = match &transforms.applied_transform {
        Some(matrix) => camera::rows(matrix).ok_or("not 4x4 or 3x4")?,
        None if transforms.applied_scale.is_none() => return Ok(None),
        None => [
            [1.0, 0.0, 0.0, 0.0],
            [0.0, 1.0, 0.0, 0.0],
            [0.0, 0.0, 1.0, 0.0],
        ],
    };
    let applied = rows.map(|row| row.map(|v| v * scale));
    if applied.iter().flatten().any(|v| !v.is_finite()) {
        return Err("not finite");
    }
    Ok(Some(applied))
}
