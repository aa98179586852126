//! The order that people count in: `2.jpg` before `10.jpg`.

use std::cmp::Ordering;

/// Compares names, digits by the number that they make. Names that differ only in leading zeros are
/// compared byte by byte, so that only equal names are equal.
pub fn compare(a: &str, b: &str) -> Ordering {
    let (mut x, mut y) = (a.as_bytes(), b.as_bytes());
    while let (Some(p), Some(q)) = (x.first(), y.first()) {
        if p.is_ascii_digit() && q.is_ascii_digit() {
            let (number, other) = (digits(&mut x), digits(&mut y));
            let order = number.len().cmp(&other.len()).then(number.cmp(other));
            if order.is_ne() {
                return order;
            }
        } else {
            if p != q {
                return p.cmp(q);
            }
            (x, y) = (&x[1..], &y[1..]);
        }
    }
    x.len().cmp(&y.len()).then_with(|| a.cmp(b))
}

/// Takes the digits at the start; returns them without leading zeros.
fn digits<'a>(text: &mut &'a [u8]) -> &'a [u8] {
    let end = text
        .iter()
        .position(|c| !c.is_ascii_digit())
        .unwrap_or(text.len());
    let (number, rest) = text.split_at(end);
    *text = rest;
    let zeros = number.iter().take_while(|c| **c == b'0').count();
    &number[zeros..]
}

/// Whether sorting names byte by byte, as COLMAP does, keeps them in the order that people count
/// in, and all count up: equal but for one number.
pub fn count_up<'a>(names: impl Iterator<Item = &'a str> + Clone) -> bool {
    let mut pairs = names.clone().zip(names.skip(1));
    let pattern = |name: &str| -> String {
        let letters = name.chars().filter(|c| !c.is_ascii_digit());
        letters.flat_map(char::to_lowercase).collect()
    };
    pairs.all(|(a, b)| a.as_bytes() < b.as_bytes() && pattern(a) == pattern(b))
}

/// Whether names that [count up](count_up) do so in equal steps, as those of frames that a program
/// took from a video.
pub fn equal_steps<'a>(names: impl Iterator<Item = &'a str>) -> bool {
    let mut steps = Steps::default();
    names.into_iter().all(|name| steps.goes_on(name))
}

#[derive(Default)]
struct Steps {
    last: Option<Vec<u64>>,
    step: Option<(usize, u64)>,
}

impl Steps {
    /// Whether the next name is one step on.
    fn goes_on(&mut self, name: &str) -> bool {
        let numbers: Option<Vec<u64>> = name
            .split(|c: char| !c.is_ascii_digit())
            .filter(|digits| !digits.is_empty())
            .map(|digits| digits.parse().ok())
            .collect();
        let Some(numbers) = numbers else {
            return false;
        };
        let Some(last) = self.last.replace(numbers.clone()) else {
            return true;
        };
        if last.len() != numbers.len() {
            return false;
        }
        let changed = last.iter().zip(&numbers).enumerate();
        let mut changed = changed.filter(|(_, (a, b))| a != b);
        let (Some((place, (a, b))), None) = (changed.next(), changed.next()) else {
            return false;
        };
        let step = b.checked_sub(*a).map(|step| (place, step));
        step.is_some()
            && *self.step.get_or_insert(step.unwrap_or_default()) == step.unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_count_as_numbers() {
        let mut names = [
            "b",
            "a10",
            "a2",
            "a02",
            "a1b",
            "a1",
            "",
            "a100000000000000000000000",
        ];
        names.sort_by(|a, b| compare(a, b));
        let wanted = [
            "",
            "a1",
            "a1b",
            "a02",
            "a2",
            "a10",
            "a100000000000000000000000",
            "b",
        ];
        assert_eq!(names, wanted);
        assert!(count_up(["a01.jpg", "a02.JPG", "a10.jpg"].into_iter()));
        assert!(!count_up(["a1.jpg", "a2.jpg", "a10.jpg"].into_iter()));
        assert!(!count_up(["a.jpg", "b.jpg"].into_iter()));
    }

    proptest::proptest! {
        #[test]
        fn it_is_an_order(a in "[0-9a]{0,6}", b in "[0-9a]{0,6}", c in "[0-9a]{0,6}") {
            assert_eq!(compare(&a, &b), compare(&b, &a).reverse());
            assert_eq!(compare(&a, &b).is_eq(), a == b);
            if compare(&a, &b).is_le() && compare(&b, &c).is_le() {
                assert!(compare(&a, &c).is_le());
            }
        }
    }

    #[test]
    fn frames_count_in_equal_steps() {
        let equal = |names: &[&str]| equal_steps(names.iter().copied());
        assert!(equal(&["v2-0001.jpg", "v2-0009.jpg", "v2-0017.jpg"]));
        assert!(!equal(&["a1.jpg", "a2.jpg", "a4.jpg"]), "one was deleted");
        assert!(!equal(&["a1b1.jpg", "a2b1.jpg", "a2b2.jpg"]));
        assert!(!equal(&["a3.jpg", "a2.jpg"]) && !equal(&["a.jpg", "a.jpg"]));
        assert!(!equal(&["99999999999999999999999.jpg"]));
    }
}
