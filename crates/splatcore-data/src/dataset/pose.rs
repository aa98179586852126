//! Poses of other programs, camera to world, as this one has them: world to camera.

/// The axes of a camera in a file; its x points right in both.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Axes {
    /// y down, z forward.
    OpenCv,
    /// y up, z backward.
    OpenGl,
}

/// World-to-camera rotation (rows) and translation, camera axes x right, y down, z forward.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Pose {
    pub rotation: [[f64; 3]; 3],
    pub translation: [f64; 3],
}

impl Pose {
    /// From the upper three rows of a camera-to-world matrix. A uniform scale of the rotation is
    /// divided out.
    ///
    /// # Errors
    /// Says what the matrix is: not finite, or degenerate.
    pub fn from_camera_to_world(m: &[[f64; 4]; 3], axes: Axes) -> Result<Self, &'static str> {
        if m.iter().flatten().any(|v| !v.is_finite()) {
            return Err("not finite");
        }
        let sign = match axes {
            Axes::OpenCv => [1.0; 3],
            Axes::OpenGl => [1.0, -1.0, -1.0],
        };
        // Columns of the camera-to-world rotation are rows of its inverse.
        let rows: [[f64; 3]; 3] =
            std::array::from_fn(|i| std::array::from_fn(|j| sign[i] * m[j][i]));
        let det = rows[0][0] * (rows[1][1] * rows[2][2] - rows[1][2] * rows[2][1])
            - rows[0][1] * (rows[1][0] * rows[2][2] - rows[1][2] * rows[2][0])
            + rows[0][2] * (rows[1][0] * rows[2][1] - rows[1][1] * rows[2][0]);
        let scale = det.abs().cbrt();
        if !(scale > 1e-9 && scale.is_finite()) {
            return Err("degenerate (its rotation has no volume)");
        }
        let rotation = rows.map(|row| row.map(|v| v / scale));
        let eye = [m[0][3], m[1][3], m[2][3]];
        let translation = std::array::from_fn(|i| {
            -(rotation[i][0] * eye[0] + rotation[i][1] * eye[1] + rotation[i][2] * eye[2])
        });
        Ok(Self {
            rotation,
            translation,
        })
    }
}

/// The product of two affine transformations, each the upper three rows of a 4x4 matrix.
pub(super) fn product(a: &[[f64; 4]; 3], b: &[[f64; 4]; 3]) -> [[f64; 4]; 3] {
    std::array::from_fn(|i| {
        std::array::from_fn(|j| {
            let linear: f64 = (0..3).map(|k| a[i][k] * b[k][j]).sum();
            linear + if j == 3 { a[i][3] } else { 0.0 }
        })
    })
}

/// A point moved by an affine transformation.
pub(super) fn moved(m: &[[f64; 4]; 3], p: [f32; 3]) -> [f32; 3] {
    let p = p.map(f64::from);
    std::array::from_fn(|i| (m[i][0] * p[0] + m[i][1] * p[1] + m[i][2] * p[2] + m[i][3]) as f32)
}
