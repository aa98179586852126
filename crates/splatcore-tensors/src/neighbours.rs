//! How far a point's nearest neighbours are: what the first scales of Gaussians are made of.

use crate::error::{check_len, wrong};
use crate::parallel::Work;
use crate::{Real, Result};
use rayon::prelude::*;
use rstar::RTree;

/// Coordinates whose squares have a finite sum.
const MAX: f64 = 1e150;

/// Writes for each of `points` `[N, 3]` the mean squared distance to the 3 nearest others, `[N]`,
/// as `distCUDA2` of simple-knn. With fewer than 4 points the mean is over those there are; a lone
/// point gets 0. Another point at the same place is a neighbour at distance 0.
///
/// # Errors
/// A length that does not fit, or a coordinate that is not finite.
pub fn mean_squared_distances<F: Real>(points: &[F], out: &mut [F]) -> Result {
    let (rows, rest) = points.as_chunks::<3>();
    if !rest.is_empty() {
        return wrong(
            "points",
            "of shape [N, 3]",
            format_args!("{} values", points.len()),
        );
    }
    check_len("squared_distance", out, &[rows.len()])?;
    let bad = |row: &[F; 3]| !row.iter().all(|v| v.wide().abs() <= MAX);
    if let Some(row) = rows.iter().position(bad) {
        let found = format!("{:?} in row {row}", rows[row]);
        return wrong("points", "finite", found);
    }
    let places: Vec<[f64; 3]> = rows.par_iter().made(|row| row.map(F::wide));
    let tree = RTree::bulk_load(places.clone());
    let results = out.par_iter_mut().zip(&places).with_min_len(256);
    results.each(|(out, place)| {
        // The first is the point itself, or one at its place.
        let others = tree.nearest_neighbor_iter_with_distance_2(*place).skip(1);
        let (count, sum) = others.take(3).fold((0, 0.0), |(count, sum), (_, squared)| {
            (count + 1, sum + squared)
        });
        *out = F::of(sum / f64::from(count.max(1)));
    });
    Ok(())
}
