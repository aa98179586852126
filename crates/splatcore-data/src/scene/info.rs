//! What `splatcore info` says of a scene file.

use super::read::{ReadOptions, read_with};
use super::scene_file::SceneFile;
use crate::DataError;
use serde::Serialize;
use splatcore_core::{Gaussians, sh};
use std::path::Path;

/// A scene file in numbers.
#[derive(Clone, Debug, Serialize)]
pub struct SceneInfo {
    /// Always "scene".
    pub kind: &'static str,
    /// The format found: "PLY, binary little-endian", "SPZ version 3".
    pub format: String,
    /// Size of the file; for unbundled SOG of all its files.
    pub bytes: u64,
    /// Gaussians read.
    pub gaussians: usize,
    /// Degree of the spherical harmonics in the file, 0 to 4.
    pub sh_degree: u8,
    /// Gaussians left out because a value was NaN or infinite.
    pub dropped: usize,
    /// The box around all centres, world units; none for an empty scene.
    pub bounds: Option<Bounds>,
    /// Median over the Gaussians of the geometric mean of their three standard deviations, world
    /// units; none for an empty scene.
    pub median_scale: Option<f32>,
    /// Whether the file says that the scene was trained with Mip-Splatting's 2D filter.
    pub antialiased: bool,
    /// What else there is to know, a line each.
    pub notes: Vec<String>,
}

/// An axis-aligned box, world units.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Bounds {
    /// Smallest x, y, z.
    pub min: [f32; 3],
    /// Largest x, y, z.
    pub max: [f32; 3],
}

/// Reads a scene file and describes it.
///
/// # Errors
/// As [`super::read`].
pub fn info(path: &Path) -> Result<SceneInfo, DataError> {
    let options = ReadOptions {
        sh_degree_limit: sh::MAX_STORED_DEGREE,
        ..ReadOptions::default()
    };
    let SceneFile {
        gaussians,
        format,
        bytes,
        dropped,
        notes,
        antialiased,
    } = read_with(path, &options)?;
    Ok(SceneInfo {
        kind: "scene",
        format,
        bytes,
        gaussians: gaussians.len(),
        sh_degree: gaussians.sh_degree,
        dropped,
        bounds: bounds(&gaussians),
        median_scale: median_scale(&gaussians),
        antialiased,
        notes,
    })
}

fn bounds(gaussians: &Gaussians) -> Option<Bounds> {
    let (&first, rest) = gaussians.means.split_first()?;
    let start = Bounds {
        min: first,
        max: first,
    };
    Some(rest.iter().fold(start, |b, mean| Bounds {
        min: std::array::from_fn(|k| b.min[k].min(mean[k])),
        max: std::array::from_fn(|k| b.max[k].max(mean[k])),
    }))
}

fn median_scale(gaussians: &Gaussians) -> Option<f32> {
    // Halves and thirds before sums: log scales near f32's limits must not overflow.
    let mut logs: Vec<f32> = gaussians
        .log_scales
        .iter()
        .map(|s| s[0] / 3.0 + s[1] / 3.0 + s[2] / 3.0)
        .collect();
    if logs.is_empty() {
        return None;
    }
    let middle = logs.len() / 2;
    let (below, &mut upper, _) = logs.select_nth_unstable_by(middle, f32::total_cmp);
    let lower = match gaussians.len() % 2 {
        0 => below
            .iter()
            .copied()
            .max_by(f32::total_cmp)
            .unwrap_or(upper),
        _ => upper,
    };
    // JSON has no infinity.
    Some((lower / 2.0 + upper / 2.0).exp().min(f32::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn median_and_bounds() {
        let mut g = Gaussians::zeros(4, 0);
        for (i, scale) in [1.0f32, 8.0, 2.0, 4.0].into_iter().enumerate() {
            g.means[i] = [i as f32, -(i as f32), 0.5];
            g.log_scales[i] = [scale.ln() + 0.3, scale.ln() - 0.3, scale.ln()];
        }
        // Middle values 2 and 4: their geometric mean.
        assert!((median_scale(&g).unwrap() - 8.0f32.sqrt()).abs() < 1e-5);
        let want = Bounds {
            min: [0.0, -3.0, 0.5],
            max: [3.0, 0.0, 0.5],
        };
        assert_eq!(bounds(&g), Some(want));
        g.retain(|i| i != 1);
        assert!((median_scale(&g).unwrap() - 2.0).abs() < 1e-5);
        assert_eq!(median_scale(&Gaussians::empty(0)), None);
        assert_eq!(bounds(&Gaussians::empty(0)), None);
    }
}
