//! Whether points and cameras belong together: how many of the points any camera sees.

use super::found::Entry;

/// At most so many points and cameras are looked at, evenly spaced.
const SAMPLED: usize = 400;

/// The share of the points, from 0 to 1, that at least one camera sees; 1 if there are no points.
pub(super) fn share(points: impl ExactSizeIterator<Item = [f32; 3]>, entries: &[Entry]) -> f64 {
    let entries: Vec<&Entry> = entries.iter().step_by(step(entries.len())).collect();
    let step = step(points.len());
    let (mut seen, mut all) = (0, 0);
    for point in points.step_by(step) {
        let point = point.map(f64::from);
        all += 1;
        seen += entries.iter().any(|entry| entry.camera.sees(point)) as usize;
    }
    if all == 0 {
        return 1.0;
    }
    seen as f64 / all as f64
}

fn step(count: usize) -> usize {
    count.div_ceil(SAMPLED).max(1)
}
