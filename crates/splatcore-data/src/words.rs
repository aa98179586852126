//! What other crates' errors say, made fit for one line.

/// Most characters that a message takes from another crate's error, which may quote the file.
const LONGEST: usize = 200;

/// An error's words on one line, its middle left out if it is long: the end often says what was
/// expected, or where.
pub(crate) fn one_line(error: &dyn std::fmt::Display) -> String {
    let words = error.to_string();
    let words: Vec<&str> = words.split_whitespace().collect();
    let line: Vec<char> = words.join(" ").chars().collect();
    if line.len() <= LONGEST {
        return line.into_iter().collect();
    }
    let (start, end) = (&line[..LONGEST / 2], &line[line.len() - LONGEST / 2..]);
    start
        .iter()
        .chain(&[' ', '.', '.', '.', ' '])
        .chain(end)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_errors_keep_their_ends() {
        assert_eq!(one_line(&"a\n  b"), "a b");
        let long = format!("invalid \"{}\", expected f64", "é".repeat(9000));
        let line = one_line(&long);
        assert!(line.starts_with("invalid \"é"), "{line}");
        assert!(line.ends_with("é\", expected f64"), "{line}");
        assert_eq!(line.chars().count(), LONGEST + 5);
    }
}
