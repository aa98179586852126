//! Tunables: numbers in kernel text with the values that they may have there.
//!
//! A comment behind the number declares them, in one of two places:
//!
//! ```text
//! #define BATCH 64      // tune: 32 64 128; when BATCH % WARP == 0
//! #pragma unroll 4      // tune UNROLL_PIXELS: 1 2 4 8
//! ```
//!
//! The condition behind `when` is an [`Expression`]. `tune: 0 1` on a `#define VARIANT 0` chooses
//! between passages of the file in `#if VARIANT`.

use crate::expression::Expression;
use std::ops::Range;

/// What a line declares.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Declaration<'a> {
    /// The macro's name, or the one that the comment on a `#pragma` gives.
    pub name: &'a str,
    /// Whether the line is a `#define`.
    pub is_macro: bool,
    /// The bytes of the number in the line.
    pub number: Range<usize>,
    /// The values that it may have, in the order of the comment; each once.
    pub values: Vec<i64>,
    /// The index in `values` of the value that stands in the line.
    pub current: usize,
    /// What must hold.
    pub condition: Option<Expression>,
}

/// The declaration in a line, `None` if its comment does not begin with `tune`.
///
/// # Errors
/// What is wrong with a declaration, and what to write instead.
pub fn declaration(line: &str) -> Result<Option<Declaration<'_>>, String> {
    let Some((code, comment)) = line.split_once("//") else {
        return Ok(None);
    };
    let Some(after) = comment.trim().strip_prefix("tune") else {
        return Ok(None);
    };
    if after.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_') {
        return Ok(None);
    }
    let Some((given, after)) = after.split_once(':') else {
        return Err("write the values behind a colon: `// tune: 1 2 4`".into());
    };
    let given = given.trim();
    let (values, condition) = match after.split_once(';') {
        None => (after, None),
        Some((values, condition)) => match condition.trim().strip_prefix("when ") {
            Some(condition) => (values, Some(condition)),
            None => return Err("behind `;` write `when` and a condition".into()),
        },
    };
    let (macro_name, number) = number_of(code)?;
    let name = match macro_name {
        Some(name) if given.is_empty() || given == name => name,
        Some(name) => {
            return Err(format!(
                "the line defines {name}: write `// tune: ...` without a name"
            ));
        }
        None if is_name(given) => given,
        None => return Err("name it: `// tune UNROLL_NAME: 1 2 4`".into()),
    };
    let values = listed(name, values)?;
    let written = &code[number.clone()];
    let is_written = |value: &i64| written.parse() == Ok(*value);
    let Some(current) = values.iter().position(is_written) else {
        return Err(format!(
            "{name}: its value {written} is not listed: add {written}"
        ));
    };
    let condition = condition.map(str::parse).transpose();
    Ok(Some(Declaration {
        name,
        is_macro: macro_name.is_some(),
        number,
        values,
        current,
        condition: condition.map_err(|error| format!("{name}: the condition, {error}"))?,
    }))
}

/// The name and value of `#define NAME INTEGER`.
pub fn constant(line: &str) -> Option<(&str, i64)> {
    let code = line.split("//").next()?;
    let (name, range) = number_of(code).ok()?;
    Some((name?, code[range].parse().ok()?))
}

/// The name that a line of code defines, if it has one, and the bytes of its number.
fn number_of(code: &str) -> Result<(Option<&str>, Range<usize>), String> {
    let mut words = code.split_whitespace();
    let (name, number) = match (words.next(), words.next(), words.next(), words.next()) {
        (Some("#define"), Some(name), Some(number), None) if is_name(name) => (Some(name), number),
        (Some("#pragma"), Some("unroll"), Some(number), None) => (None, number),
        _ => {
            return Err(
                "a tunable stands on `#define NAME NUMBER` or `#pragma unroll NUMBER`; \
                        begin other comments with another word than `tune`"
                    .into(),
            );
        }
    };
    // A suffix such as `u` stays as it is.
    let digits = number.trim_end_matches(['u', 'U', 'l', 'L']);
    let end = code.trim_end().len() - (number.len() - digits.len());
    match digits.parse::<i64>() {
        Ok(_) => Ok((name, end - digits.len()..end)),
        Err(_) => Err(format!(
            "`{number}` is no decimal integer: write the number itself"
        )),
    }
}

fn listed(name: &str, words: &str) -> Result<Vec<i64>, String> {
    let mut values: Vec<i64> = Vec::new();
    for word in words.split_whitespace() {
        match word.parse() {
            Ok(value) if values.contains(&value) => {
                return Err(format!("{name}: {value} is listed twice: delete one"));
            }
            Ok(value) => values.push(value),
            Err(_) => return Err(format!("{name}: `{word}` is no integer: list integers")),
        }
    }
    Ok(values)
}

/// Whether a text is one name of C.
pub fn is_name(text: &str) -> bool {
    let mut chars = text.chars();
    chars
        .next()
        .is_some_and(|c| c.is_ascii_alphabetic() || c == '_')
        && chars.all(|c| c.is_ascii_alphanumeric() || c == '_')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_declares_a_number() {
        let line = "#define BLOCK 64u // tune: 32 64; when BLOCK % WARP == 0\n";
        let found = declaration(line).unwrap().unwrap();
        assert_eq!((found.name, found.is_macro), ("BLOCK", true));
        assert_eq!(&line[found.number.clone()], "64");
        assert_eq!((found.values, found.current), (vec![32, 64], 1));
        assert!(found.condition.is_some());
        let line = "    #pragma unroll 4  // tune UNROLL_J: 1 2 4";
        let found = declaration(line).unwrap().unwrap();
        assert_eq!((found.name, found.is_macro), ("UNROLL_J", false));
        for line in ["#define A 3", "// A header", "int x; // tuned by hand"] {
            assert_eq!(declaration(line), Ok(None));
        }
        assert_eq!(constant("#define WARP 32 // lanes"), Some(("WARP", 32)));
        assert_eq!(constant("#define HALF (WARP / 2)"), None);
    }
}
