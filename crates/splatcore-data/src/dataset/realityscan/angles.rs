//! Heading, pitch and roll as a rotation.

/// Camera-to-world rotation of heading (yaw), pitch and roll in degrees, camera axes x right, y up,
/// z backward: roll about y, then pitch about x, then minus heading about z. At 0, 0, 0 the camera
/// looks down, with north (y) up in the image.
pub(super) fn to_world([heading, pitch, roll]: [f64; 3]) -> [[f64; 3]; 3] {
    let (sh, ch) = (-heading.to_radians()).sin_cos();
    let (sp, cp) = pitch.to_radians().sin_cos();
    let (sr, cr) = roll.to_radians().sin_cos();
    let about_z = [[ch, -sh, 0.0], [sh, ch, 0.0], [0.0, 0.0, 1.0]];
    let about_x = [[1.0, 0.0, 0.0], [0.0, cp, -sp], [0.0, sp, cp]];
    let about_y = [[cr, 0.0, sr], [0.0, 1.0, 0.0], [-sr, 0.0, cr]];
    product(about_z, product(about_x, about_y))
}

fn product(a: [[f64; 3]; 3], b: [[f64; 3]; 3]) -> [[f64; 3]; 3] {
    std::array::from_fn(|i| std::array::from_fn(|j| (0..3).map(|k| a[i][k] * b[k][j]).sum()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A camera that was exported both as CSV and as XMP, whose rotation is world to camera by rows
    /// (forums.unrealengine.com, "Different rotation of cameras in XMP and CSV", 710449).
    #[test]
    fn angles_are_those_of_the_same_camera_in_xmp() {
        let csv = [163.736597399311, 83.4154313461628, 174.386496244756];
        let xmp = [
            [0.982594073038806, 0.185426733553445, -0.0112166890261935],
            [-0.032113633044729, 0.11008102707942, -0.993403685341366],
            // The last number was cut short to 0.114 in the post.
            [-0.18296885582437, 0.976472781986697, 0.114],
        ];
        let to_world = to_world(csv);
        for (i, row) in xmp.into_iter().enumerate() {
            // XMP's axes are x right, y down, z forward.
            let sign = if i == 0 { 1.0 } else { -1.0 };
            for (j, want) in row.into_iter().enumerate() {
                let got = sign * to_world[j][i];
                let tolerance = if (i, j) == (2, 2) { 1e-3 } else { 1e-6 };
                assert!((got - want).abs() < tolerance, "{i} {j}: {got}, XMP {want}");
            }
        }
    }
}
