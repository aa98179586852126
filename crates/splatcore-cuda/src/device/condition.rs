//! Conditions on whole numbers, as `BLOCK % WARP == 0 && ITEMS <= 16`: sums, products, comparisons
//! and parentheses as in C.

/// Parentheses in parentheses that are still read.
const MOST_DEPTH: usize = 16;

/// Whether a condition holds; `value_of` tells what names stand for.
///
/// # Errors
/// If it cannot be read, a name stands for nothing, or a number is too large or divided by zero.
pub fn holds(text: &str, value_of: &dyn Fn(&str) -> Option<i64>) -> Result<bool, String> {
    let mut reader = Reader {
        rest: text,
        value_of,
        depth: 0,
    };
    let value = reader.any()?;
    match reader.rest.trim() {
        "" => Ok(value != 0),
        rest => Err(format!("'{rest}' is left over in '{text}'")),
    }
}

struct Reader<'a> {
    rest: &'a str,
    value_of: &'a dyn Fn(&str) -> Option<i64>,
    depth: usize,
}

impl Reader<'_> {
    /// Takes the first of these signs that comes next.
    fn take<'s>(&mut self, signs: &[&'s str]) -> Option<&'s str> {
        self.rest = self.rest.trim_start();
        let sign = signs.iter().find(|sign| self.rest.starts_with(**sign))?;
        self.rest = &self.rest[sign.len()..];
        Some(sign)
    }

    fn any(&mut self) -> Result<i64, String> {
        let mut value = self.all()?;
        while self.take(&["||"]).is_some() {
            let other = self.all()?;
            value = i64::from(value != 0 || other != 0);
        }
        Ok(value)
    }

    fn all(&mut self) -> Result<i64, String> {
        let mut value = self.comparison()?;
        while self.take(&["&&"]).is_some() {
            let other = self.comparison()?;
            value = i64::from(value != 0 && other != 0);
        }
        Ok(value)
    }

    fn comparison(&mut self) -> Result<i64, String> {
        let left = self.sum()?;
        let Some(sign) = self.take(&["==", "!=", "<=", ">=", "<", ">"]) else {
            return Ok(left);
        };
        let right = self.sum()?;
        Ok(i64::from(match sign {
            "==" => left == right,
            "!=" => left != right,
            "<=" => left <= right,
            ">=" => left >= right,
            "<" => left < right,
            _ => left > right,
        }))
    }

    fn sum(&mut self) -> Result<i64, String> {
        let mut value = self.product()?;
        while let Some(sign) = self.take(&["+", "-"]) {
            let other = self.product()?;
            let result = match sign {
                "+" => value.checked_add(other),
                _ => value.checked_sub(other),
            };
            value = result.ok_or("a number is too large")?;
        }
        Ok(value)
    }

    fn product(&mut self) -> Result<i64, String> {
        let mut value = self.atom()?;
        while let Some(sign) = self.take(&["*", "/", "%"]) {
            let other = self.atom()?;
            let result = match sign {
                "*" => value.checked_mul(other),
                "/" => value.checked_div(other),
                _ => value.checked_rem(other),
            };
            value = result.ok_or("a number is too large or divided by zero")?;
        }
        Ok(value)
    }

    fn atom(&mut self) -> Result<i64, String> {
        if self.take(&["("]).is_some() {
            self.depth += 1;
            if self.depth > MOST_DEPTH {
                return Err("too many parentheses".into());
            }
            let value = self.any()?;
            self.depth -= 1;
            return match self.take(&[")"]) {
                Some(_) => Ok(value),
                None => Err("a ) is missing".into()),
            };
        }
        self.rest = self.rest.trim_start();
        let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let end = self.rest.find(|c| !is_word(c)).unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at(end);
        self.rest = rest;
        match word.bytes().next() {
            None => Err(format!("a number or a name is missing before '{rest}'")),
            Some(b'0'..=b'9') => word.parse().map_err(|_| format!("{word} is no number")),
            Some(_) => (self.value_of)(word).ok_or(format!("{word} stands for no number")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(text: &str) -> Result<bool, String> {
        holds(text, &|name| match name {
            "BLOCK" => Some(96),
            "WARP" => Some(32),
            _ => None,
        })
    }

    #[test]
    fn conditions_are_those_of_c() {
        for (text, expected) in [
            ("BLOCK % WARP == 0", true),
            ("BLOCK % 64 == 0", false),
            ("1 + 2 * 3 == 7 && (1 + 2) * 3 == 9", true),
            ("BLOCK < 96 || WARP >= 32", true),
            ("10 - 4 - 3 != 3", false),
            ("BLOCK", true),
            ("BLOCK / 100", false),
        ] {
            assert_eq!(answer(text), Ok(expected), "{text}");
        }
    }

    #[test]
    fn what_is_none_is_refused() {
        let deep = "(".repeat(100_000);
        for text in [
            "",
            "BLOCK ==",
            "OTHER == 1",
            "(BLOCK",
            "BLOCK BLOCK",
            "1 / 0",
            "9999999999999999999",
            "9223372036854775807 + 1",
            "0x10",
            "\u{e9}",
            &deep,
        ] {
            assert!(answer(text).is_err(), "{text:.40}");
        }
    }
}
