//! [`Finding`]: a value of a dataset that is wrong or unlikely, as plain data and in words.

use crate::DataError;
use serde::Serialize;
use std::fmt;

/// So many photos are named that have the same finding.
const NAMED: usize = 3;

/// A value that is wrong or unlikely, as plain data.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// The photo, as `Entry::name` spells it; none if it is about the dataset as a whole.
    pub photo: Option<String>,
    /// Which value: "focal length fx", "the last row of transform_matrix".
    pub field: String,
    /// What it is, with its unit.
    pub value: String,
    /// What a camera, or a dataset, has there.
    pub expected: String,
    /// How bad it is.
    pub severity: Severity,
}

/// How bad a [`Finding`] is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Severity {
    /// A photo: its camera cannot be one, it is left out. The dataset: it cannot be trained on.
    Refused,
    /// Unlikely. It is used as it is.
    Doubtful,
}

impl Finding {
    /// A value that no camera has.
    pub fn refused(
        field: impl Into<String>,
        value: impl Into<String>,
        expected: impl Into<String>,
    ) -> Self {
        Self {
            photo: None,
            field: field.into(),
            value: value.into(),
            expected: expected.into(),
            severity: Severity::Refused,
        }
    }

    /// A value that few cameras have.
    pub fn doubtful(
        field: impl Into<String>,
        value: impl Into<String>,
        expected: impl Into<String>,
    ) -> Self {
        Self {
            severity: Severity::Doubtful,
            ..Self::refused(field, value, expected)
        }
    }

    /// The same finding about a photo.
    pub fn of(self, photo: &str) -> Self {
        Self {
            photo: Some(photo.to_owned()),
            ..self
        }
    }

    /// Whether both say the same, be it of different photos.
    fn agrees(&self, other: &Self) -> bool {
        self.severity == other.severity
            && self.field == other.field
            && self.value == other.value
            && self.expected == other.expected
    }
}

/// Without the photo's name.
impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (field, value, expected) = (&self.field, &self.value, &self.expected);
        write!(f, "{field} is {value}, expected {expected}")
    }
}

/// The findings as lines for people, those that say the same of several photos as one.
pub fn lines(findings: &[Finding]) -> Vec<String> {
    let mut groups: Vec<Vec<&Finding>> = Vec::new();
    for finding in findings {
        match groups.iter_mut().find(|group| group[0].agrees(finding)) {
            Some(group) => group.push(finding),
            None => groups.push(vec![finding]),
        }
    }
    groups.iter().map(|group| line(group)).collect()
}

fn line(group: &[&Finding]) -> String {
    let finding = group[0];
    let names: Vec<&str> = group.iter().filter_map(|f| f.photo.as_deref()).collect();
    let more = if names.len() > NAMED { ", ..." } else { "" };
    let listed = names[..names.len().min(NAMED)].join(", ");
    let left_out = match finding.severity {
        Severity::Refused => "left out, ",
        Severity::Doubtful => "",
    };
    match names.len() {
        0 => finding.to_string(),
        1 => format!("{listed}: {left_out}{finding}"),
        count => format!("{count} photos ({listed}{more}): {left_out}{finding}"),
    }
}

/// A number for a message: six digits, very large and very small ones with a power of ten.
pub fn number(v: f64) -> String {
    if v == 0.0 {
        // Not "-0".
        return "0".into();
    }
    if !v.is_finite() {
        return format!("{v}");
    }
    if !(1e-4..1e7).contains(&v.abs()) {
        // Five digits behind the point, and no zeros at their end.
        let text = format!("{v:.5e}");
        let (digits, power) = text.split_once('e').unwrap_or((&text, "0"));
        return format!("{}e{power}", short(digits));
    }
    let decimals = 5 - v.abs().log10().floor() as i32;
    let text = format!("{v:.*}", decimals.max(0) as usize);
    short(&text).to_owned()
}

/// Without zeros behind the last digit of a fraction.
fn short(text: &str) -> &str {
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.'),
        false => text,
    }
}

/// A place for a message.
pub fn place(p: [f64; 3]) -> String {
    let [x, y, z] = p.map(number);
    format!("({x}, {y}, {z})")
}

/// What to add to the error of the first of some photos: which others have the same defect, and
/// which another one.
pub(super) fn others_too(failed: &[(&str, &DataError)]) -> String {
    const SHOWN: usize = 5;
    let Some(((_, first), others)) = failed.split_first() else {
        return String::new();
    };
    // Sizes differ from photo to photo.
    let kind = |error: &DataError| error.problem.replace(|c: char| c.is_ascii_digit(), "");
    let (same, different): (Vec<_>, Vec<_>) = others
        .iter()
        .partition(|(_, error)| kind(error) == kind(first));
    let listed = |what: &str, of: &[&(&str, &DataError)]| {
        let names: Vec<&str> = of.iter().map(|(name, _)| *name).take(SHOWN).collect();
        let names = names.join(", ");
        let more = if of.len() > SHOWN { ", ..." } else { "" };
        match of.len() {
            0 => String::new(),
            1 => format!(" ({what} {names})"),
            n => format!(" ({what} {n} others: {names}{more})"),
        }
    };
    listed("the same goes for", &same) + &listed("another defect is that of", &different)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short() {
        let cases = [
            (64.0, "64"),
            (1e12, "1e12"),
            (-1e30, "-1e30"),
            (1e-9, "1e-9"),
            (0.125, "0.125"),
            (1_234.567_89, "1234.57"),
            (1.0 / 3.0, "0.333333"),
            (1.234_567_8e9, "1.23457e9"),
            (0.0, "0"),
            (f64::NAN, "NaN"),
        ];
        for (v, want) in cases {
            assert_eq!(number(v), want);
        }
    }

    #[test]
    fn photos_with_the_same_finding_are_one_line() {
        let odd = Finding::doubtful("k1", "9", "less");
        let mut all: Vec<Finding> = ["a", "b", "c", "d"].map(|n| odd.clone().of(n)).into();
        all.insert(1, Finding::refused("fx", "0", "more than 0").of("e"));
        all.push(Finding::doubtful("poses", "equal", "different ones"));
        assert_eq!(
            lines(&all),
            [
                "4 photos (a, b, c, ...): k1 is 9, expected less",
                "e: left out, fx is 0, expected more than 0",
                "poses is equal, expected different ones"
            ]
        );
    }
}
