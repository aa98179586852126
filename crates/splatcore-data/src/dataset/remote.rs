//! Cameras so far from the origin that numbers of single precision cannot place Gaussians.

/// Distance from the origin in multiples of the cameras' own spread. Beyond it a step of an f32
/// (2^-24 of the value) is more than 1/1000 of the spread.
const FAR: f64 = 1.6e4;

/// What to say of camera centres that are so far away; nothing if they are not, or if there are
/// fewer than two.
pub(super) fn distance(centres: impl Iterator<Item = [f64; 3]>) -> Option<String> {
    let mut count = 0.0;
    let (mut low, mut high) = ([f64::INFINITY; 3], [f64::NEG_INFINITY; 3]);
    for centre in centres {
        count += 1.0;
        for i in 0..3 {
            low[i] = low[i].min(centre[i]);
            high[i] = high[i].max(centre[i]);
        }
    }
    let length = |v: [f64; 3]| v.iter().map(|v| v * v).sum::<f64>().sqrt();
    let away = length(std::array::from_fn(|i| 0.5 * (low[i] + high[i])));
    let spread = length(std::array::from_fn(|i| high[i] - low[i]));
    let far = count > 1.0 && spread > 0.0 && away > FAR * spread;
    far.then(|| {
        format!(
            "the cameras are {away:.0} units from the origin and {spread:.1} apart, too far for \
             single precision"
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_of_single_precision_is_compared_with_the_spread() {
        let pair = |away: f64| [[away, 0.0, 0.0], [away + 10.0, 0.0, 0.0]];
        assert_eq!(distance(pair(0.0).into_iter()), None);
        assert_eq!(distance(pair(1e5).into_iter()), None);
        let line = distance(pair(6.4e6).into_iter()).unwrap();
        assert!(line.contains("6400005 units"), "{line}");
        // There a step of an f32 is half a unit.
        assert_eq!(6.4e6f32.next_up() - 6.4e6f32, 0.5);
        assert_eq!(distance(pair(6.4e6).into_iter().take(1)), None);
        assert_eq!(distance([[f64::NAN; 3]; 2].into_iter()), None);
    }
}
