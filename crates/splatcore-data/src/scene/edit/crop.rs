//! [`ProposedCrop`]: the box around what most likely is the scene.

use super::shape::Shape;
use crate::DataError;
use crate::scene::rows::{Rows, in_pieces};
use serde::Serialize;

/// The box is wider than the middle 98 % of the means by this share of their extent on each side:
/// what lies just beyond them mostly belongs to the scene.
const MARGIN: f64 = 0.05;

/// A box to crop to.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ProposedCrop {
    /// As [`Shape`] is typed: `box:X0,Y0,Z0,X1,Y1,Z1`.
    pub shape: String,
    /// Gaussians inside.
    pub kept: usize,
}

/// The box around the 1st to the 99th percentile of the means along each axis, and a little more,
/// rounded outwards to a hundredth of its size; `middle` is these two percentiles of x, y and z.
///
/// # Errors
/// If the rows cannot be read.
pub(super) fn proposed(
    rows: &dyn Rows,
    middle: [[f64; 2]; 3],
) -> Result<Option<ProposedCrop>, DataError> {
    let sides = middle.map(|[low, high]| side(low, high));
    let [x, y, z] = &sides;
    let shape = format!("box:{},{},{},{},{},{}", x[0], y[0], z[0], x[1], y[1], z[1]);
    let Ok(inside) = shape.parse::<Shape>() else {
        return Ok(None);
    };
    let mut kept = 0;
    in_pieces(rows, |_, piece| {
        let means = piece.means.iter();
        kept += means
            .filter(|mean| inside.contains(mean.map(f64::from)))
            .count();
        Ok::<(), DataError>(())
    })?;
    Ok(Some(ProposedCrop { shape, kept }))
}

/// From and to along an axis, as text.
fn side(low: f64, high: f64) -> [String; 2] {
    let extent = high - low;
    if extent <= 0.0 || !extent.is_finite() {
        // Flat: the box has no extent there.
        return [low.to_string(), high.to_string()];
    }
    let power = extent.log10().floor() as i32 - 2;
    let step = 10f64.powi(power);
    let decimals = power.min(0).unsigned_abs() as usize;
    let low = ((low - MARGIN * extent) / step).floor() * step;
    let high = ((high + MARGIN * extent) / step).ceil() * step;
    [low, high].map(|v| format!("{v:.decimals$}"))
}

#[cfg(test)]
mod tests {
    use crate::scene::edit::stats;
    use splatcore_core::Gaussians;

    #[test]
    fn floaters_are_outside_and_the_scene_is_inside() {
        let mut g = Gaussians::zeros(1000, 0);
        for (i, mean) in g.means.iter_mut().enumerate() {
            let along = i as f32 / 999.0;
            *mean = [along, 10.0 * along - 5.0, 2.0];
        }
        g.means[3] = [-900.0, 0.0, 2.0];
        g.means[500] = [0.5, 4e5, 2.0];
        let crop = stats(&g).unwrap().crop.unwrap();
        let numbers = crop.shape.strip_prefix("box:").unwrap().split(',');
        let numbers: Vec<f64> = numbers.map(|n| n.parse().unwrap()).collect();
        let wanted = [-0.039, -5.39, 2.0, 1.039, 5.39, 2.0];
        for (got, wanted) in numbers.iter().zip(wanted) {
            assert!((got - wanted).abs() < 0.04, "{}", crop.shape);
        }
        // A hundredth of the size is written, and no more.
        assert!(crop.shape.len() < "box:-0.0390,-5.390,2,1.0390,5.390,2".len());
        assert_eq!(crop.kept, 998);
        assert!(stats(&Gaussians::empty(0)).unwrap().crop.is_none());
    }
}
