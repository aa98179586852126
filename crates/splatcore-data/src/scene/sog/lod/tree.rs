//! The tree of boxes over the Gaussians of all levels.

use splatcore_core::Gaussians;
use splatcore_core::camera::rotation_from_quaternion;

/// Nodes with no more Gaussians are not split, however far they reach.
const MIN: usize = 256;
/// Standard deviations to which a Gaussian reaches in its box.
const REACH: f32 = 3.0;

/// A Gaussian of a level.
#[derive(Clone, Copy)]
pub struct Item {
    pub level: u32,
    pub index: u32,
    mean: [f32; 3],
    /// Half the size of its box.
    half: [f32; 3],
}

/// A box with all that lies in it.
pub struct Node {
    pub min: [f32; 3],
    pub max: [f32; 3],
    pub inside: Inside,
}

pub enum Inside {
    Halves(Box<[Node; 2]>),
    Items(Vec<Item>),
}

/// When a node is split.
#[derive(Clone, Copy)]
pub struct Limits {
    pub gaussians: usize,
    pub extent: f32,
}

/// All Gaussians of all levels.
pub fn items(levels: &[Gaussians]) -> Vec<Item> {
    let mut items = Vec::with_capacity(levels.iter().map(Gaussians::len).sum());
    for (level, gaussians) in levels.iter().enumerate() {
        items.extend((0..gaussians.len()).map(|i| Item {
            level: level as u32,
            index: i as u32,
            mean: gaussians.means[i],
            half: half_box(gaussians, i),
        }));
    }
    items
}

/// The tree: nodes are halved at the median of their longest side, so it is as deep as the binary
/// logarithm of the number of Gaussians.
pub fn build(mut items: Vec<Item>, limits: Limits) -> Node {
    let (mut min, mut max) = ([f32::MAX; 3], [f32::MIN; 3]);
    let mut means = [[f32::MAX; 3], [f32::MIN; 3]];
    for item in &items {
        for c in 0..3 {
            // Kept finite: JSON has no infinity.
            min[c] = min[c].min((item.mean[c] - item.half[c]).max(f32::MIN));
            max[c] = max[c].max((item.mean[c] + item.half[c]).min(f32::MAX));
            means[0][c] = means[0][c].min(item.mean[c]);
            means[1][c] = means[1][c].max(item.mean[c]);
        }
    }
    if items.is_empty() {
        (min, max) = ([0.0; 3], [0.0; 3]);
    }
    let size = |c: usize| means[1][c] / 2.0 - means[0][c] / 2.0; // halves do not overflow
    let longest = (1..3).fold(0, |best, c| if size(c) > size(best) { c } else { best });
    let small = items.len() <= limits.gaussians && size(longest) <= limits.extent / 2.0;
    if small || items.len() <= MIN.min(limits.gaussians) {
        return Node {
            min,
            max,
            inside: Inside::Items(items),
        };
    }
    let half = items.len() / 2;
    items.select_nth_unstable_by(half, |a, b| {
        let place = a.mean[longest].total_cmp(&b.mean[longest]);
        place
            .then(a.level.cmp(&b.level))
            .then(a.index.cmp(&b.index))
    });
    let high = items.split_off(half);
    let (low, high) = rayon::join(|| build(items, limits), || build(high, limits));
    Node {
        min,
        max,
        inside: Inside::Halves(Box::new([low, high])),
    }
}

/// Half the size of the box around an ellipsoid: its reach along each axis of the world.
fn half_box(gaussians: &Gaussians, i: usize) -> [f32; 3] {
    let q = gaussians.rotations[i].map(f64::from);
    // Sound Gaussians have a rotation; without one the box is as large as can be.
    let rows = rotation_from_quaternion(q).unwrap_or([[f64::NAN; 3]; 3]);
    let scales = gaussians.log_scales[i].map(|s| f64::from(s).exp());
    rows.map(|row| {
        let square: f64 = (0..3).map(|k| (row[k] * scales[k]).powi(2)).sum();
        let half = REACH * square.sqrt() as f32;
        if half.is_nan() {
            f32::MAX
        } else {
            half.min(f32::MAX)
        }
    })
}
