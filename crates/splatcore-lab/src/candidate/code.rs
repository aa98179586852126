//! Reading kernel text without a compiler: comments, brackets, simple statements.

pub use splatcore_core::tunables::is_name;
use std::ops::Range;

/// The text with a blank for each byte of a comment, string or character literal; line ends stay,
/// so that bytes and lines keep their numbers.
pub fn blank(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let rest = &text.as_bytes()[at..];
        let end = if rest.starts_with(b"//") {
            rest.iter().position(|&b| b == b'\n').unwrap_or(rest.len())
        } else if rest.starts_with(b"/*") {
            let close = rest[2..].windows(2).position(|pair| pair == b"*/");
            close.map_or(rest.len(), |close| close + 4)
        } else if matches!(rest[0], b'"' | b'\'') {
            literal(rest)
        } else {
            out.push(if rest[0].is_ascii() { rest[0] } else { b' ' });
            at += 1;
            continue;
        };
        out.extend(
            rest[..end]
                .iter()
                .map(|&b| if b == b'\n' { b } else { b' ' }),
        );
        at += end;
    }
    // Only ASCII is left.
    String::from_utf8_lossy(&out).into_owned()
}

/// The length of the literal that `rest` begins with; it ends at the latest with the line.
fn literal(rest: &[u8]) -> usize {
    let mut at = 1;
    while at < rest.len() && rest[at] != b'\n' {
        match rest[at] {
            b'\\' => at += 2,
            byte if byte == rest[0] => return at + 1,
            _ => at += 1,
        }
    }
    at.min(rest.len())
}

/// Where a function is called by its plain name: not as a part of a longer name, not as a member.
pub fn calls<'a>(code: &'a str, name: &'a str) -> impl Iterator<Item = usize> + 'a {
    code.match_indices(name)
        .map(|(at, _)| at)
        .filter(move |&at| {
            let before = code[..at].trim_end_matches(' ').chars().next_back();
            let part = code[..at].ends_with(|c: char| c.is_ascii_alphanumeric() || c == '_');
            let member = matches!(before, Some('.' | '>' | ':'));
            let opens = code[at + name.len()..]
                .trim_start_matches(' ')
                .starts_with('(');
            // A type in front of it would make it a declaration.
            let word = |c: char| c.is_ascii_alphanumeric() || c == '_';
            let declares =
                !part && before.is_some_and(word) && !code[..at].trim_end().ends_with("return");
            !part && !member && !declares && opens
        })
}

/// The byte of the bracket that closes the one at `open`.
pub fn matching(code: &str, open: usize) -> Option<usize> {
    let mut depth = 0usize;
    for (at, byte) in code.bytes().enumerate().skip(open) {
        match byte {
            b'(' | b'[' | b'{' => depth += 1,
            b')' | b']' | b'}' => {
                depth = depth.checked_sub(1)?;
                if depth == 0 {
                    return Some(at);
                }
            }
            _ => {}
        }
    }
    None
}

/// The parts of a range between separators that stand in no bracket.
pub fn split(code: &str, range: Range<usize>, separator: &str) -> Vec<Range<usize>> {
    let mut parts = Vec::new();
    let (mut depth, mut start, mut at) = (0i32, range.start, range.start);
    while at < range.end {
        match code.as_bytes()[at] {
            b'(' | b'[' | b'{' => depth += 1,
            b')' | b']' | b'}' => depth -= 1,
            _ if depth == 0 && code[at..range.end].starts_with(separator) => {
                parts.push(start..at);
                at += separator.len();
                start = at;
                continue;
            }
            _ => {}
        }
        at += 1;
    }
    parts.push(start..range.end);
    parts
}

/// Names that a text declares in shared memory.
pub fn shared(code: &str) -> impl Iterator<Item = &str> {
    let declarations = code.split("__shared__").skip(1);
    declarations.flat_map(|rest| {
        let end = rest.find(';').unwrap_or(rest.len());
        split(rest, 0..end, ",").into_iter().filter_map(|part| {
            // `Type name`, `Type name[N]`, `Type* name = ...`; attributes stand in front.
            let name = rest[part].split(['[', '=']).next()?;
            name.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'))
                .rfind(|w| is_name(w))
        })
    })
}

/// Whether an expression assigns, counts or calls.
pub fn has_effect(code: &str) -> bool {
    let mut plain = code.to_owned();
    for comparison in ["==", "!=", "<=", ">="] {
        plain = plain.replace(comparison, " ");
    }
    let call = plain.match_indices('(').any(|(at, _)| {
        let before = plain[..at].trim_end();
        before.ends_with(|c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | ')' | ']'))
    });
    plain.contains('=') || plain.contains("++") || plain.contains("--") || call
}

/// The variable of `TYPE NAME = VALUE`, if that is all.
pub fn declared(statement: &str) -> Option<&str> {
    let (left, value) = statement.split_once('=')?;
    let words: Vec<&str> = left.split_whitespace().collect();
    let names = words.len() >= 2 && words.iter().all(|word| is_name(word));
    let one = names && split(value, 0..value.len(), ",").len() == 1;
    words.last().copied().filter(|_| one)
}

/// Whether a statement only moves this variable: `++v`, `v--`, `v += e`, `v *= e` and the like.
pub fn steps(statement: &str, variable: &str) -> bool {
    let statement = statement.trim();
    let counted = ["++", "--"].iter().any(|sign| {
        let behind = statement
            .strip_suffix(sign)
            .is_some_and(|name| name.trim() == variable);
        behind
            || statement
                .strip_prefix(sign)
                .is_some_and(|name| name.trim() == variable)
    });
    let assigned = ["+=", "-=", "*=", "/=", ">>=", "<<="].iter().any(|sign| {
        let sides = statement.split_once(sign);
        sides.is_some_and(|(left, right)| {
            left.trim() == variable && !has_effect(right) && !right.contains(',')
        })
    });
    counted || assigned
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_literals_are_blank() {
        let text = "a /* b\n(*/ c // d \"\n\"e\\\"(\" '(' f\u{e9} \"open\ng";
        let code = blank(text);
        assert_eq!(code.len(), text.len());
        let words: Vec<&str> = code.split_whitespace().collect();
        assert_eq!(words, ["a", "c", "f", "g"]);
        assert_eq!(code.matches('\n').count(), 3);
        assert_eq!(blank("/* open"), "       ");
        assert_eq!(blank("'\\"), "  ");
    }

    #[test]
    fn calls_are_told_from_names() {
        let code = "expf(a) + __expf(b) + x.expf(c) + myexpf(d) + expf (e) + expf; float expf(f); \
                    return expf(g)";
        let found: Vec<usize> = calls(code, "expf").collect();
        let letters: Vec<&str> = found.iter().map(|&at| &code[at..at + 6]).collect();
        assert_eq!(letters, ["expf(a", "expf (", "expf(g"]);
    }

    #[test]
    fn brackets_and_statements() {
        assert_eq!(matching("f(a[0], (b)) c", 1), Some(11));
        assert_eq!(matching("(a", 0), None);
        let text = "__shared__ u32 a[2][N], b; extern __shared__ __align__(16) char c[]; int d;";
        assert_eq!(shared(text).collect::<Vec<_>>(), ["a", "b", "c"]);
        let parts = split("a(b;c);d;", 0..9, ";");
        assert_eq!(parts, [0..6, 7..8, 9..9]);
        assert!(has_effect("a = b") && has_effect("f(a)") && has_effect("a[i++]"));
        assert!(!has_effect("a <= b && (c + d) != e[(i)]"));
        assert_eq!(declared("u32 k = f(a, b)"), Some("k"));
        assert_eq!(declared("const u32 k = a"), Some("k"));
        assert_eq!(
            (declared("k = 0"), declared("u32 k = 0, j = 1")),
            (None, None)
        );
        assert!(steps("++k", "k") && steps("k++", "k") && steps("k += WARP", "k"));
        assert!(!steps("++k, ++j", "k") && !steps("k += f(x)", "k") && !steps("j += 1", "k"));
    }
}
