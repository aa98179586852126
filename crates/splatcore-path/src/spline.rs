//! Cubic splines through points at knots.

/// The piecewise cubic Hermite curve between two points a knot step apart: value at `u` from 0 to 1
/// of the points `a` and `b` with the tangents `ta` and `tb`, both per unit of the knots.
pub fn hermite<const N: usize>(
    [a, b]: [[f64; N]; 2],
    [ta, tb]: [[f64; N]; 2],
    step: f64,
    u: f64,
) -> [f64; N] {
    let v = 1.0 - u;
    std::array::from_fn(|k| {
        a[k] * (1.0 + 2.0 * u) * v * v
            + b[k] * u * u * (3.0 - 2.0 * u)
            + (ta[k] * v - tb[k] * u) * u * v * step
    })
}

/// Tangents of the Catmull-Rom spline through points at any knots (Barry & Goldman 1988): that of
/// the parabola through a point and its neighbours; at the ends that of the first or last parabola.
/// Steps between knots may be 0: the points are then the same, and the spline on the other side
/// begins there.
pub fn catmull_rom<const N: usize>(points: &[[f64; N]], steps: &[f64]) -> Vec<[f64; N]> {
    let slope = |i: usize| -> [f64; N] {
        std::array::from_fn(|k| (points[i + 1][k] - points[i][k]) / steps[i])
    };
    let inner = |i: usize| -> Option<[f64; N]> {
        if i == 0 || i + 1 >= points.len() || steps[i - 1] == 0.0 || steps[i] == 0.0 {
            return None;
        }
        let (a, b) = (slope(i - 1), slope(i));
        let whole = steps[i - 1] + steps[i];
        Some(std::array::from_fn(|k| {
            (steps[i] * a[k] + steps[i - 1] * b[k]) / whole
        }))
    };
    // At an end the parabola of the neighbour, mirrored about the step; without one the step.
    let end = |i: usize, neighbour: usize| -> [f64; N] {
        let step = slope(i.min(neighbour));
        match inner(neighbour) {
            Some(other) => std::array::from_fn(|k| 2.0 * step[k] - other[k]),
            None => step,
        }
    };
    (0..points.len())
        .map(|i| {
            if let Some(tangent) = inner(i) {
                tangent
            } else if i + 1 < points.len() && steps[i] > 0.0 {
                end(i, i + 1)
            } else if i > 0 && steps[i - 1] > 0.0 {
                end(i, i - 1)
            } else {
                [0.0; N]
            }
        })
        .collect()
}

/// Slopes of a curve through values at knots that neither overshoots nor turns between them
/// (Fritsch & Butland 1984): weighted harmonic means, 0 at a turn. Steps are above 0.
pub fn monotone(values: &[f64], steps: &[f64]) -> Vec<f64> {
    let slope = |i: usize| (values[i + 1] - values[i]) / steps[i];
    (0..values.len())
        .map(|i| match (i > 0, i + 1 < values.len()) {
            (true, true) => {
                let (a, b) = (slope(i - 1), slope(i));
                if a * b <= 0.0 {
                    return 0.0;
                }
                let [wa, wb] = [2.0 * steps[i] + steps[i - 1], steps[i] + 2.0 * steps[i - 1]];
                (wa + wb) / (wa / a + wb / b)
            }
            (false, true) => slope(0),
            (true, false) => slope(i - 1),
            (false, false) => 0.0,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A parabola is its own Catmull-Rom spline, whatever the knots, ends included.
    #[test]
    fn a_parabola_is_reproduced() {
        let knots = [0.0, 0.3, 1.0, 1.2, 3.0];
        let at = |t: f64| [2.0 * t * t - t + 1.0];
        let points = knots.map(at);
        let steps: Vec<f64> = knots.windows(2).map(|w| w[1] - w[0]).collect();
        let tangents = catmull_rom(&points, &steps);
        for (i, step) in steps.iter().enumerate() {
            for u in [0.0, 0.2, 0.5, 0.9, 1.0] {
                let pair = [i, i + 1];
                let value = hermite(pair.map(|k| points[k]), pair.map(|k| tangents[k]), *step, u);
                assert!((value[0] - at(knots[i] + u * step)[0]).abs() < 1e-12);
            }
        }
    }

    #[test]
    fn equal_points_end_one_spline_and_begin_another() {
        let points = [[0.0], [1.0], [1.0], [3.0]];
        let tangents = catmull_rom(&points, &[1.0, 0.0, 1.0]);
        assert_eq!(tangents, [[1.0], [1.0], [2.0], [2.0]]);
        assert_eq!(catmull_rom(&[[4.0]], &[]), [[0.0]]);
    }

    #[test]
    fn monotone_values_stay_so() {
        let values = [0.0, 0.01, 5.0, 5.0, 5.1, 2.0];
        let steps = [1.0, 0.1, 2.0, 1.0, 1.0];
        let slopes = monotone(&values, &steps);
        assert_eq!(slopes[2..5], [0.0, 0.0, 0.0]);
        for i in 0..5 {
            let mut before = values[i];
            for j in 1..=50 {
                let value = hermite(
                    [[values[i]], [values[i + 1]]],
                    [[slopes[i]], [slopes[i + 1]]],
                    steps[i],
                    f64::from(j) / 50.0,
                )[0];
                let rises = values[i + 1] >= values[i];
                assert!(if rises {
                    value >= before - 1e-12
                } else {
                    value <= before + 1e-12
                });
                before = value;
            }
        }
    }
}
