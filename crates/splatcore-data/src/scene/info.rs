//! What `splatcore info` says of a scene file.

use super::edit::{Stats, stats};
use super::open::open;
use super::read::ReadOptions;
use super::rows::{Rows, in_pieces};
use crate::DataError;
use serde::Serialize;
use splatcore_core::sh;
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
    /// Statistics of every property, if they were asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stats: Option<Stats>,
}

/// An axis-aligned box, world units.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Bounds {
    /// Smallest x, y, z.
    pub min: [f32; 3],
    /// Largest x, y, z.
    pub max: [f32; 3],
}

/// Reads a scene file in pieces and describes it. Memory grows by 4 bytes a Gaussian where the
/// format can stay in the file ([`open`]).
///
/// # Errors
/// As [`super::read`].
pub fn info(path: &Path) -> Result<SceneInfo, DataError> {
    described(path, false)
}

/// As [`info`], with [`SceneInfo::stats`], in three more passes.
///
/// # Errors
/// As [`super::read`].
pub fn info_with_stats(path: &Path) -> Result<SceneInfo, DataError> {
    described(path, true)
}

fn described(path: &Path, with_stats: bool) -> Result<SceneInfo, DataError> {
    let options = ReadOptions {
        sh_degree_limit: sh::MAX_STORED_DEGREE,
        ..ReadOptions::default()
    };
    let scene = open(path, &options)?;
    let (bounds, median_scale) = extent(scene.rows.as_ref())?;
    Ok(SceneInfo {
        kind: "scene",
        format: scene.format,
        bytes: scene.bytes,
        gaussians: scene.rows.len(),
        sh_degree: scene.rows.sh_degree(),
        dropped: scene.dropped,
        bounds,
        median_scale,
        antialiased: scene.antialiased,
        notes: scene.notes,
        stats: with_stats.then(|| stats(scene.rows.as_ref())).transpose()?,
    })
}

/// The box around all centres and the median size, in one pass; none for an empty scene.
fn extent(rows: &dyn Rows) -> Result<(Option<Bounds>, Option<f32>), DataError> {
    let mut bounds: Option<Bounds> = None;
    let mut logs: Vec<f32> = Vec::with_capacity(rows.len());
    in_pieces(rows, |_, piece| {
        for &mean in &piece.means {
            let b = bounds.unwrap_or(Bounds {
                min: mean,
                max: mean,
            });
            bounds = Some(Bounds {
                min: std::array::from_fn(|k| b.min[k].min(mean[k])),
                max: std::array::from_fn(|k| b.max[k].max(mean[k])),
            });
        }
        // Thirds before sums: log scales near f32's limits must not overflow.
        let log = |s: &[f32; 3]| s[0] / 3.0 + s[1] / 3.0 + s[2] / 3.0;
        logs.extend(piece.log_scales.iter().map(log));
        Ok::<(), DataError>(())
    })?;
    Ok((bounds, median_scale(logs)))
}

/// The median of log scales, as a length.
fn median_scale(mut logs: Vec<f32>) -> Option<f32> {
    if logs.is_empty() {
        return None;
    }
    let (middle, is_even) = (logs.len() / 2, logs.len().is_multiple_of(2));
    let (below, &mut upper, _) = logs.select_nth_unstable_by(middle, f32::total_cmp);
    let largest_below = below.iter().copied().max_by(f32::total_cmp);
    let lower = largest_below.filter(|_| is_even).unwrap_or(upper);
    // JSON has no infinity.
    Some((lower / 2.0 + upper / 2.0).exp().min(f32::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;
    use splatcore_core::Gaussians;

    #[test]
    fn median_and_bounds() {
        let mut g = Gaussians::zeros(4, 0);
        for (i, scale) in [1.0f32, 8.0, 2.0, 4.0].into_iter().enumerate() {
            g.means[i] = [i as f32, -(i as f32), 0.5];
            g.log_scales[i] = [scale.ln() + 0.3, scale.ln() - 0.3, scale.ln()];
        }
        // Middle values 2 and 4: their geometric mean.
        assert!((extent(&g).unwrap().1.unwrap() - 8.0f32.sqrt()).abs() < 1e-5);
        let want = Bounds {
            min: [0.0, -3.0, 0.5],
            max: [3.0, 0.0, 0.5],
        };
        assert_eq!(extent(&g).unwrap().0, Some(want));
        g.retain(|i| i != 1);
        assert!((extent(&g).unwrap().1.unwrap() - 2.0).abs() < 1e-5);
        assert_eq!(extent(&Gaussians::empty(0)).unwrap(), (None, None));
    }
}
