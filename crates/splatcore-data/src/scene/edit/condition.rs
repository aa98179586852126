//! [`Condition`]: a comparison of a Gaussian's property with a number.

use splatcore_core::gaussians::sigmoid;
use splatcore_core::{Gaussians, sh};
use std::str::FromStr;

/// A property that every Gaussian has, by name: a value of units that people think in, or as a PLY
/// stores it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Property {
    Mean(usize),
    /// Standard deviation along an axis of its own, world units.
    Scale(usize),
    /// Smallest, geometric mean and largest of the three standard deviations.
    Smallest,
    Size,
    Largest,
    /// Largest standard deviation over the smallest.
    Elongation,
    /// 0 to 1.
    Opacity,
    /// Colour of degree 0, 0 to 1 for what can be shown.
    Colour(usize),
    LogScale(usize),
    Logit,
    Rotation(usize),
    Dc(usize),
}

/// Names, in the order in which people read them; the parts of a name stand in the order x, y, z or
/// r, g, b or 0, 1, 2, 3.
pub(super) const PROPERTIES: [(&str, Property); 25] = [
    ("x", Property::Mean(0)),
    ("y", Property::Mean(1)),
    ("z", Property::Mean(2)),
    ("opacity", Property::Opacity),
    ("size", Property::Size),
    ("smallest", Property::Smallest),
    ("largest", Property::Largest),
    ("elongation", Property::Elongation),
    ("r", Property::Colour(0)),
    ("g", Property::Colour(1)),
    ("b", Property::Colour(2)),
    ("sx", Property::Scale(0)),
    ("sy", Property::Scale(1)),
    ("sz", Property::Scale(2)),
    ("opacity_raw", Property::Logit),
    ("scale_0", Property::LogScale(0)),
    ("scale_1", Property::LogScale(1)),
    ("scale_2", Property::LogScale(2)),
    ("rot_0", Property::Rotation(0)),
    ("rot_1", Property::Rotation(1)),
    ("rot_2", Property::Rotation(2)),
    ("rot_3", Property::Rotation(3)),
    ("f_dc_0", Property::Dc(0)),
    ("f_dc_1", Property::Dc(1)),
    ("f_dc_2", Property::Dc(2)),
];

impl Property {
    /// The value of Gaussian `i`.
    pub(super) fn of(self, gaussians: &Gaussians, i: usize) -> f64 {
        let scales = gaussians.log_scales[i].map(f64::from);
        let [least, most] = [f64::min, f64::max].map(|pick| scales.into_iter().reduce(pick));
        let (least, most) = (least.unwrap_or(0.0), most.unwrap_or(0.0));
        match self {
            Property::Mean(axis) => f64::from(gaussians.means[i][axis]),
            Property::Scale(axis) => scales[axis].exp(),
            Property::Smallest => least.exp(),
            Property::Size => (scales.iter().sum::<f64>() / 3.0).exp(),
            Property::Largest => most.exp(),
            Property::Elongation => (most - least).exp(),
            Property::Opacity => f64::from(sigmoid(gaussians.opacity_logits[i])),
            Property::Colour(channel) => f64::from(sh::to_colour(gaussians.sh_of(i)[0][channel])),
            Property::LogScale(axis) => scales[axis],
            Property::Logit => f64::from(gaussians.opacity_logits[i]),
            Property::Rotation(part) => f64::from(gaussians.rotations[i][part]),
            Property::Dc(channel) => f64::from(gaussians.sh_of(i)[0][channel]),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Comparison {
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    Equal,
    NotEqual,
}

/// The longer words first, so that `<=` is not read as `<`.
const COMPARISONS: [(&str, Comparison); 6] = [
    ("<=", Comparison::LessOrEqual),
    (">=", Comparison::GreaterOrEqual),
    ("!=", Comparison::NotEqual),
    ("<", Comparison::Less),
    (">", Comparison::Greater),
    ("=", Comparison::Equal),
];

/// What `--filter` asks of a Gaussian: `opacity>=0.05`.
#[derive(Clone, Debug, PartialEq)]
pub struct Condition {
    property: Property,
    comparison: Comparison,
    value: f64,
}

impl Condition {
    /// Whether it holds for Gaussian `i`.
    pub fn holds(&self, gaussians: &Gaussians, i: usize) -> bool {
        let is = self.property.of(gaussians, i);
        match self.comparison {
            Comparison::Less => is < self.value,
            Comparison::LessOrEqual => is <= self.value,
            Comparison::Greater => is > self.value,
            Comparison::GreaterOrEqual => is >= self.value,
            Comparison::Equal => is == self.value,
            Comparison::NotEqual => is != self.value,
        }
    }
}

impl FromStr for Condition {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = |what: String| {
            let names: Vec<&str> = PROPERTIES.iter().map(|(name, _)| *name).collect();
            format!(
                "{what}; write NAME, one of < <= > >= = !=, and a number, such as \
                 'opacity>=0.05'; names are {}",
                names.join(", ")
            )
        };
        let found = COMPARISONS
            .iter()
            .filter_map(|&(word, comparison)| text.find(word).map(|at| (at, word, comparison)))
            .min_by_key(|&(at, word, _)| (at, std::cmp::Reverse(word.len())));
        let Some((at, word, comparison)) = found else {
            return Err(wrong(format!("'{text}' compares nothing")));
        };
        let (name, value) = (text[..at].trim(), text[at + word.len()..].trim());
        let Some(&(_, property)) = PROPERTIES.iter().find(|(known, _)| *known == name) else {
            return Err(wrong(format!("'{name}' is no property of a Gaussian")));
        };
        match value.parse::<f64>() {
            Ok(value) if !value.is_nan() => Ok(Self {
                property,
                comparison,
                value,
            }),
            _ => Err(wrong(format!("'{value}' is no number"))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conditions_compare_in_units_of_people() {
        let mut g = Gaussians::zeros(1, 0);
        g.means[0] = [1.0, -2.0, 3.0];
        g.log_scales[0] = [0.5f32.ln(), 2.0f32.ln(), 1.0f32.ln()];
        g.sh[0] = [sh::from_colour(0.25), 0.0, 0.0];
        for (text, holds) in [
            ("x=1", true),
            ("y < -1.5", true),
            ("z>=3.5", false),
            ("opacity>0.4", true),
            ("opacity<=0.49", false),
            ("opacity_raw=0", true),
            ("size<1.001", true),
            ("size<0.999", false),
            ("smallest<0.51", true),
            ("largest>1.99", true),
            ("elongation>=3.999", true),
            ("sx<0.6", true),
            ("scale_1>0.69", true),
            ("r<0.26", true),
            ("g!=0.5", false),
            ("f_dc_1=0", true),
            ("rot_0!=0", false),
        ] {
            let condition: Condition = text.parse().unwrap();
            assert_eq!(condition.holds(&g, 0), holds, "{text}");
        }
    }

    #[test]
    fn wrong_conditions_say_what_is_wrong() {
        for (text, says) in [
            ("opacity", "compares nothing"),
            ("alpha>1", "'alpha' is no property"),
            ("opacity>", "'' is no number"),
            ("opacity>nan", "'nan' is no number"),
            ("opacity=>0.5", "'>0.5' is no number"),
            ("", "compares nothing"),
        ] {
            let message = text.parse::<Condition>().unwrap_err();
            assert!(
                message.contains(says) && message.contains("elongation"),
                "{message}"
            );
        }
    }
}
