//! What all poses together may not do: turn, shift or scale the whole capture. The scene can follow
//! any such motion, so the photos say nothing of it, and noise would let it wander.

use super::offset::{Offset, exponential, norm};
use splatcore_core::Camera;
use splatcore_core::camera::dot;

/// Rounds in which the mean rotation, which is not linear, becomes zero.
const ROUNDS: usize = 8;
/// Below this share of the largest of them distances are roundings.
const NOTHING: f64 = 1e-18;

/// Moves the cameras of `together` as one, by a rotation about their middle, a scale and a shift,
/// so that afterwards the mean of their rotations' vectors and the mean of their shifts are zero
/// and they are as wide as they were given.
pub(super) fn remove(given: &[Camera], offsets: &mut [Offset], together: &[usize]) {
    if together.is_empty() {
        return;
    }
    let count = together.len() as f64;
    let mean = |values: &[[f64; 3]]| -> [f64; 3] {
        std::array::from_fn(|k| values.iter().map(|v| v[k]).sum::<f64>() / count)
    };
    let at: Vec<[f64; 3]> = together.iter().map(|&i| given[i].position()).collect();
    let middle = mean(&at);
    for _ in 0..ROUNDS {
        let vectors: Vec<[f64; 3]> = together.iter().map(|&i| offsets[i].vector()).collect();
        let turn = mean(&vectors).map(|v| -v);
        if norm(turn) == 0.0 {
            break;
        }
        // Once for all cameras: the device waits meanwhile.
        let rotation = exponential(turn);
        let matrix = Offset::NONE.followed_by(rotation).matrix();
        for (&i, at) in together.iter().zip(&at) {
            let from: [f64; 3] = std::array::from_fn(|k| at[k] + offsets[i].shift[k] - middle[k]);
            let turned = matrix.map(|row| dot(row, from));
            offsets[i].shift = std::array::from_fn(|k| middle[k] + turned[k] - at[k]);
            offsets[i] = offsets[i].followed_by(rotation);
        }
    }
    centre(offsets, together, &mean);
    let (mut wide, mut now) = (0.0, 0.0);
    for (&i, at) in together.iter().zip(&at) {
        for k in 0..3 {
            let arm = at[k] - middle[k];
            wide += arm * arm;
            now += arm * (arm + offsets[i].shift[k]);
        }
    }
    let largest = at.iter().map(|&at| norm(at)).fold(1.0, f64::max);
    if wide > NOTHING * largest * largest && now > 0.5 * wide {
        for (&i, at) in together.iter().zip(&at) {
            for k in 0..3 {
                let arm = at[k] - middle[k];
                offsets[i].shift[k] = wide / now * (arm + offsets[i].shift[k]) - arm;
            }
        }
        centre(offsets, together, &mean);
    }
}

/// What the cameras of `together` turn by in their own axes, on average: a vector, radians.
pub(super) fn common_turn(given: &[Camera], offsets: &[Offset], together: &[usize]) -> [f64; 3] {
    let count = together.len().max(1) as f64;
    let mut sum = [0.0; 3];
    for &i in together {
        let vector = offsets[i].vector();
        for (sum, row) in sum.iter_mut().zip(given[i].rotation) {
            *sum += dot(row, vector) / count;
        }
    }
    sum
}

/// Turns the cameras of `together`, each by this vector in its own axes.
pub(super) fn turn_each(
    given: &[Camera],
    offsets: &mut [Offset],
    together: &[usize],
    by: [f64; 3],
) {
    for &i in together {
        let r = &given[i].rotation;
        let world = std::array::from_fn(|k| (0..3).map(|j| r[j][k] * by[j]).sum());
        offsets[i] = offsets[i].turned(world);
    }
}

/// Takes the mean shift away.
fn centre(offsets: &mut [Offset], together: &[usize], mean: &dyn Fn(&[[f64; 3]]) -> [f64; 3]) {
    let shifts: Vec<[f64; 3]> = together.iter().map(|&i| offsets[i].shift).collect();
    let all = mean(&shifts);
    for &i in together {
        for (shift, all) in offsets[i].shift.iter_mut().zip(all) {
            *shift -= all;
        }
    }
}
