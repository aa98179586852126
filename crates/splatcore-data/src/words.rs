//! What files and other crates' errors say, made fit for one line of a message.

/// Most characters that a message takes from another crate's error, which may quote the file.
const LONGEST: usize = 200;

/// Most characters that a message quotes of a file.
const LONGEST_QUOTE: usize = 40;

/// What a file says, as a message quotes it: in quotes, of bounded length, without line breaks or
/// a terminal's control characters.
pub(crate) fn quoted(text: &str) -> String {
    let start: String = text.chars().take(LONGEST_QUOTE).collect();
    match start.len() < text.len() {
        true => format!("{start:?}..."),
        false => format!("{start:?}"),
    }
}

/// The same text with control characters replaced: in a name that a file gives they could write
/// over the terminal's lines.
pub(crate) fn visible(text: String) -> String {
    text.replace(char::is_control, "\u{fffd}")
}

/// An error's words on one line, its middle left out if it is long: the end often says what was
/// expected, or where.
pub(crate) fn one_line(error: &dyn std::fmt::Display) -> String {
    let words = error.to_string();
    let words: Vec<&str> = words.split_whitespace().collect();
    let line = words.join(" ");
    let line: Vec<char> = visible(line).chars().collect();
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
    fn quotes_are_short_and_of_one_line() {
        assert_eq!(quoted("vertex"), "\"vertex\"");
        assert_eq!(quoted("a\n\x1b[2J\"b"), r#""a\n\u{1b}[2J\"b""#);
        assert_eq!(
            quoted(&"é".repeat(9000)),
            format!("\"{}\"...", "é".repeat(40))
        );
    }

    #[test]
    fn long_errors_keep_their_ends() {
        assert_eq!(one_line(&"a\n  b\x1b[2J"), "a b\u{fffd}[2J");
        let long = format!("invalid \"{}\", expected f64", "é".repeat(9000));
        let line = one_line(&long);
        assert!(line.starts_with("invalid \"é"), "{line}");
        assert!(line.ends_with("é\", expected f64"), "{line}");
        assert_eq!(line.chars().count(), LONGEST + 5);
    }
}
