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
}
