//! How a gyroscope's axes and clock lie to those of the photos.
//!
//! Between two photos the camera turns by a rotation that their poses tell, and the sensor by one
//! that is summed up of its values; in the photos' axes both are the same. So the rotation from the
//! sensor's axes to the camera's is that which takes the rotation vectors of the ones to those of
//! the others (Horn 1987, "Closed-form solution of absolute orientation using unit quaternions"),
//! and the shift of the clock is that with which they fit best.

use splatcore_core::camera::{dot, length, rotation_from_quaternion, sub};
use splatcore_core::linear::{
    eigen, quaternion_from_rotation, quaternion_product, rotation_vector,
};

type Matrix = [[f64; 3]; 3];
/// When a photo was taken, seconds, and its rotation from the world to the camera.
type Pose = (f64, Matrix);
/// When a value of the sensor was taken, seconds, and radians a second about its axes.
type Turn = (f64, [f64; 3]);

/// Photos nearer than this many seconds are not compared: between them the camera turns by little
/// more than their poses are off.
const MIN_GAP: f64 = 0.4;
/// Nor those further apart: the sensor drifts.
const MAX_GAP: f64 = 2.0;
/// Fewer pairs of photos are not enough.
const ENOUGH: usize = 8;
/// The clocks of frames and sensor differ by at most this many seconds.
const MAX_SHIFT: f64 = 0.5;
/// The shift is found to this many seconds, and before that to that many.
const FINE: f64 = 0.002;
const COARSE: f64 = 0.02;
/// Pairs that fit worst, whose poses may be wrong, are left out: all but this share.
const KEPT: f64 = 0.8;
/// What does not fit, as a share of the turns, is at most this.
const MAX_MISFIT: f64 = 0.15;
/// The camera turns between photos by this many radians at least, on average.
const LEAST_TURN: f64 = 0.01;
/// The camera must turn about more than one axis: by how much the best rotation is better than the
/// second best, as a share.
const DISTINCT: f64 = 0.02;
/// The turn of a frame is the mean of the sensor's values so many seconds before and after.
const WINDOW: f64 = 0.01;

/// A gyroscope whose axes and clock are known.
#[derive(Clone, Debug, PartialEq)]
pub struct Aligned {
    /// From the sensor's axes to the camera's (x right, y down, z forward), by rows.
    pub axes: Matrix,
    /// What is added to a photo's time to get the sensor's.
    pub shift: f64,
    /// What the sensor shows at rest, radians a second in its axes.
    pub bias: [f64; 3],
    /// What of the turns between photos the sensor does not tell, as a share.
    pub misfit: f64,
}

/// Why a gyroscope is of no use.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Misfit {
    /// Too few photos have a pose and values between them.
    Few,
    /// The camera hardly turned, or about one axis only.
    Still,
    /// The turns differ by this share.
    Differs(f64),
}

impl Aligned {
    /// Radians a second about the camera's axes at a photo's time; nothing where the sensor has no
    /// values.
    pub fn velocity(&self, turns: &[Turn], seconds: f64) -> Option<[f64; 3]> {
        let at = seconds + self.shift;
        let from = turns.partition_point(|turn| turn.0 < at - WINDOW);
        let near = turns[from..]
            .iter()
            .take_while(|turn| turn.0 <= at + WINDOW);
        let (mut sum, mut count) = ([0.0; 3], 0.0);
        for (_, turn) in near {
            sum = [0, 1, 2].map(|k| sum[k] + turn[k]);
            count += 1.0;
        }
        let mean = [0, 1, 2].map(|k| sum[k] / count - self.bias[k]);
        (count > 0.0).then(|| self.axes.map(|row| dot(row, mean)))
    }
}

/// Aligns a gyroscope's values (`seconds, radians a second`, ascending) with the poses of photos
/// (`seconds, world to camera`).
///
/// # Errors
/// Why it cannot be.
pub fn align(turns: &[Turn], poses: &[Pose]) -> Result<Aligned, Misfit> {
    let mut poses = poses.to_vec();
    poses.sort_by(|a, b| a.0.total_cmp(&b.0));
    let pairs: Vec<Pair> = (0..poses.len())
        .filter_map(|first| Pair::from(&poses[first..]))
        .collect();
    let whole = Orientations::of(turns);
    if pairs.len() < ENOUGH || turns.len() < 2 {
        return Err(Misfit::Few);
    }
    let around = |middle: f64, reach: f64, step: f64| {
        let count = (reach / step).round() as i32;
        (-count..=count).map(move |i| middle + step * f64::from(i))
    };
    let best = |shifts: &mut dyn Iterator<Item = f64>| {
        let tried = shifts.filter_map(|shift| fit(&pairs, &whole, shift));
        tried.min_by(|a, b| a.0.misfit.total_cmp(&b.0.misfit))
    };
    let (rough, _) = best(&mut around(0.0, MAX_SHIFT, COARSE)).ok_or(Misfit::Few)?;
    let (fine, distinct) = best(&mut around(rough.shift, COARSE, FINE)).ok_or(Misfit::Few)?;
    let turned = pairs.iter().map(|pair| length(pair.turn)).sum::<f64>() / pairs.len() as f64;
    match fine.misfit {
        _ if turned < LEAST_TURN || distinct < DISTINCT => Err(Misfit::Still),
        misfit if misfit <= MAX_MISFIT => Ok(fine),
        misfit => Err(Misfit::Differs(misfit)),
    }
}

/// Two photos soon after one another.
struct Pair {
    times: [f64; 2],
    /// From the first one's axes to the second's, as a rotation vector in them.
    turn: [f64; 3],
}

impl Pair {
    /// The first of these photos and the next one that is far enough from it.
    fn from(poses: &[Pose]) -> Option<Self> {
        let (begin, from) = poses.first()?;
        let (end, to) = poses.iter().find(|(time, _)| time - begin >= MIN_GAP)?;
        // Camera to world of the second, in the axes of the first.
        let relative = from.map(|row| to.map(|other| dot(row, other)));
        (end - begin <= MAX_GAP).then(|| Self {
            times: [*begin, *end],
            turn: rotation_vector(quaternion_from_rotation(&relative)),
        })
    }
}

/// The sensor's orientation when each of its values begins, from the first one on.
struct Orientations<'a> {
    turns: &'a [Turn],
    sums: Vec<[f64; 4]>,
}

impl<'a> Orientations<'a> {
    fn of(turns: &'a [Turn]) -> Self {
        let mut sums = vec![[1.0, 0.0, 0.0, 0.0]];
        for pair in turns.windows(2) {
            let step = turned(pair[0].1, pair[1].0 - pair[0].0);
            let last = sums[sums.len() - 1];
            sums.push(quaternion_product(last, step));
        }
        Self { turns, sums }
    }

    fn at(&self, seconds: f64) -> Option<[f64; 4]> {
        let after = self.turns.partition_point(|turn| turn.0 <= seconds);
        if after == 0 || after == self.turns.len() {
            return None;
        }
        let (begin, rate) = self.turns[after - 1];
        let step = turned(rate, seconds - begin);
        Some(quaternion_product(self.sums[after - 1], step))
    }

    /// The rotation vector from one time to another, in the sensor's axes.
    fn between(&self, [begin, end]: [f64; 2]) -> Option<[f64; 3]> {
        let [w, x, y, z] = self.at(begin)?;
        Some(rotation_vector(quaternion_product(
            [w, -x, -y, -z],
            self.at(end)?,
        )))
    }
}

/// The best axes and bias for a shift of the clock, and how much better the axes are than others.
fn fit(pairs: &[Pair], whole: &Orientations<'_>, shift: f64) -> Option<(Aligned, f64)> {
    // What the camera turned, what the sensor, in how many seconds.
    let seen: Vec<([f64; 3], [f64; 3], f64)> = pairs
        .iter()
        .filter_map(|pair| {
            let turn = whole.between(pair.times.map(|time| time + shift))?;
            Some((pair.turn, turn, pair.times[1] - pair.times[0]))
        })
        .collect();
    if seen.len() < ENOUGH {
        return None;
    }
    let mut kept: Vec<usize> = (0..seen.len()).collect();
    let mut found = Aligned {
        axes: [[0.0; 3]; 3],
        shift,
        bias: [0.0; 3],
        misfit: 0.0,
    };
    let mut distinct = 0.0;
    // Few rounds are enough: what the bias changes of a turn is small.
    for _ in 0..6 {
        let without = |turn: [f64; 3], time: f64| [0, 1, 2].map(|k| turn[k] - time * found.bias[k]);
        let vectors = kept.iter().map(|&i| {
            let (camera, sensor, time) = seen[i];
            (without(sensor, time), camera)
        });
        (found.axes, distinct) = rotation(vectors)?;
        let own = |v: [f64; 3]| [0, 1, 2].map(|j| dot(found.axes.map(|row| row[j]), v));
        let (mut excess, mut seconds) = ([0.0; 3], 0.0);
        for &i in &kept {
            let (camera, sensor, time) = seen[i];
            let more = sub(sensor, own(camera));
            excess = [0, 1, 2].map(|k| excess[k] + more[k]);
            seconds += time;
        }
        found.bias = excess.map(|v| v / seconds);
        let off = |i: usize| {
            let (camera, sensor, time) = seen[i];
            let turn = [0, 1, 2].map(|k| sensor[k] - time * found.bias[k]);
            length(sub(found.axes.map(|row| dot(row, turn)), camera))
        };
        let mut order: Vec<(f64, usize)> = (0..seen.len()).map(|i| (off(i), i)).collect();
        order.sort_by(|a, b| a.0.total_cmp(&b.0));
        order.truncate(((KEPT * seen.len() as f64) as usize).max(ENOUGH));
        let squares: f64 = order.iter().map(|(off, _)| off * off).sum();
        let all: f64 = order.iter().map(|&(_, i)| dot(seen[i].0, seen[i].0)).sum();
        found.misfit = (squares / all.max(1e-12)).sqrt();
        kept = order.into_iter().map(|(_, i)| i).collect();
    }
    Some((found, distinct))
}

/// The rotation that takes the first vectors nearest to the second, and by what share of the
/// greatest sum of products it is better than a half turn after it.
fn rotation(pairs: impl Iterator<Item = ([f64; 3], [f64; 3])>) -> Option<(Matrix, f64)> {
    let mut s = [[0.0; 3]; 3];
    for (a, b) in pairs {
        for i in 0..3 {
            for j in 0..3 {
                s[i][j] += a[i] * b[j];
            }
        }
    }
    let [[xx, xy, xz], [yx, yy, yz], [zx, zy, zz]] = s;
    let n = [
        [xx + yy + zz, yz - zy, zx - xz, xy - yx],
        [yz - zy, xx - yy - zz, xy + yx, zx + xz],
        [zx - xz, xy + yx, yy - xx - zz, yz + zy],
        [xy - yx, zx + xz, yz + zy, zz - xx - yy],
    ];
    let (values, vectors) = eigen(n);
    let mut order = [0, 1, 2, 3];
    order.sort_by(|&a, &b| values[b].total_cmp(&values[a]));
    let (first, second) = (values[order[0]], values[order[1]]);
    let rotation = rotation_from_quaternion(vectors[order[0]])?;
    Some((rotation, (first - second) / first.max(1e-300)))
}

/// The quaternion of a turn at this rate for these seconds.
fn turned(rate: [f64; 3], seconds: f64) -> [f64; 4] {
    let angle = length(rate) * seconds;
    // sin(a/2) / a is near 1/2 for small angles.
    let share = match angle.abs() < 1e-9 {
        true => 0.5 * seconds,
        false => (0.5 * angle).sin() / angle * seconds,
    };
    let [x, y, z] = rate.map(|v| share * v);
    [(0.5 * angle).cos(), x, y, z]
}

#[cfg(test)]
mod tests {
    use super::*;

    const RATE: f64 = 200.0;
    const SHIFT: f64 = 0.137;
    const BIAS: [f64; 3] = [0.01, -0.02, 0.005];

    /// How the camera turns, radians a second about its axes.
    fn truth(seconds: f64) -> [f64; 3] {
        [
            0.4 * (1.1 * seconds).sin() + 0.05 * (31.0 * seconds).sin(),
            0.5 * (0.7 * seconds + 1.0).cos() + 0.04 * (23.0 * seconds).cos(),
            0.2 * (1.7 * seconds).cos(),
        ]
    }

    fn axes() -> Matrix {
        rotation_from_quaternion([0.3, -0.5, 0.7, 0.4]).unwrap()
    }

    /// Values of the sensor for half a minute, and poses each half second.
    fn data(noise: f64) -> (Vec<Turn>, Vec<Pose>) {
        let mut random = 7u64;
        let mut next = || {
            random = random
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            (random >> 40) as f64 / (1 << 23) as f64 - 1.0
        };
        let axes = axes();
        let turns = (0..(30.0 * RATE) as usize).map(|i| {
            let at = i as f64 / RATE;
            let rate = truth(at - SHIFT);
            let own = [0, 1, 2].map(|j| dot(axes.map(|row| row[j]), rate));
            (at, [0, 1, 2].map(|k| own[k] + BIAS[k] + noise * next()))
        });
        let turns = turns.collect();
        let (mut orientation, mut poses) = ([1.0, 0.0, 0.0, 0.0], Vec::new());
        for i in 0..28_000 {
            if i % 500 == 0 {
                let world = rotation_from_quaternion(orientation).unwrap();
                let camera = [0, 1, 2].map(|j| world.map(|row: [f64; 3]| row[j]));
                poses.push((0.001 * f64::from(i), camera));
            }
            let rate = truth(0.001 * (f64::from(i) + 0.5));
            orientation = quaternion_product(orientation, turned(rate, 0.001));
        }
        (turns, poses)
    }

    #[test]
    fn axes_clock_and_bias_are_found() {
        let (turns, mut poses) = data(0.02);
        // Some poses are wrong.
        for i in [5, 23] {
            poses[i].1 = axes();
        }
        let found = align(&turns, &poses).unwrap();
        assert!((found.shift - SHIFT).abs() < 0.004, "{found:?}");
        assert!(found.misfit < 0.02, "{found:?}");
        for k in 0..3 {
            assert!((found.bias[k] - BIAS[k]).abs() < 0.004, "{found:?}");
            assert!(length(sub(found.axes[k], axes()[k])) < 0.02, "{found:?}");
        }
        for seconds in [3.0, 7.25, 20.1] {
            let velocity = found.velocity(&turns, seconds).unwrap();
            let off = length(sub(velocity, truth(seconds)));
            assert!(off < 0.04, "{seconds}: {off}");
        }
        assert_eq!(found.velocity(&turns, 31.0), None);
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        let (turns, poses) = data(0.0);
        assert_eq!(align(&turns, &poses[..8]), Err(Misfit::Few));
        assert_eq!(align(&turns[..400], &poses), Err(Misfit::Few));
        // Another video's.
        let other: Vec<_> = turns
            .iter()
            .map(|&(t, [x, y, z])| (t, [y, z * t.sin(), -x]))
            .collect();
        assert!(matches!(align(&other, &poses), Err(Misfit::Differs(_))));
        // About one axis only.
        let one: Vec<_> = turns.iter().map(|&(t, _)| (t, [0.0, 0.3, 0.0])).collect();
        let turning: Vec<_> = (0..40)
            .map(|i| {
                let (sin, cos) = (0.15 * f64::from(i)).sin_cos();
                let camera = [[cos, 0.0, -sin], [0.0, 1.0, 0.0], [sin, 0.0, cos]];
                (0.5 * f64::from(i), camera)
            })
            .collect();
        assert_eq!(align(&one, &turning), Err(Misfit::Still));
        let still: Vec<_> = turning.iter().map(|&(t, _)| (t, axes())).collect();
        assert_eq!(align(&one, &still), Err(Misfit::Still));
    }
}
