//! Edits of text: a passage that stands once is replaced by another.

use super::id::Texts;
use serde::{Deserialize, Serialize};

/// One replacement.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Edit {
    /// The file, by its name.
    pub file: String,
    /// What to find: must stand exactly once in the file, to the byte.
    pub search: String,
    /// What to put in its place.
    pub replace: String,
}

/// Why edits were not made.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EditError {
    /// The reply holds none.
    #[error("no edit found: give each as FILE, <<<<<<< SEARCH, =======, >>>>>>> REPLACE")]
    None,
    /// Markers in a wrong order.
    #[error("line {line}: {what}")]
    Malformed {
        /// Counted from 1.
        line: usize,
        /// What is wrong.
        what: &'static str,
    },
    /// The file is none of the task's.
    #[error("{file} is none of the files that may be changed: {known}")]
    UnknownFile {
        /// The name that was given.
        file: String,
        /// Those that there are.
        known: String,
    },
    /// The passage does not stand in the file.
    #[error(
        "{file}: the passage to replace is not there, in the text that is edited (the baseline's, \
         or the parent's if one is named); {nearest}"
    )]
    NotFound {
        /// The file.
        file: String,
        /// Where lines of the file that are most like the passage differ from it.
        nearest: String,
    },
    /// The passage stands there more than once.
    #[error("{file}: the passage to replace stands there {times} times; give more lines around it")]
    Ambiguous {
        /// The file.
        file: String,
        /// How often.
        times: usize,
    },
}

/// Lines that are shown before and after the first that differs.
const AROUND: usize = 3;

const SEARCH: &str = "<<<<<<< SEARCH";
const DIVIDER: &str = "=======";
const REPLACE: &str = ">>>>>>> REPLACE";

/// The edits in a text. Each is a line with the file's name, then the passages between markers:
///
/// ```text
/// blend_scalar.cu
/// <<<<<<< SEARCH
/// old lines
/// =======
/// new lines
/// >>>>>>> REPLACE
/// ```
///
/// An edit without a file name is of the file of the edit before. Other text, and fences of
/// Markdown, are passed over.
///
/// # Errors
/// If there is none, or the markers are out of order.
pub fn parse(text: &str) -> Result<Vec<Edit>, EditError> {
    let mut edits: Vec<Edit> = Vec::new();
    let mut name: Option<String> = None;
    let mut lines = (1..).zip(text.lines());
    while let Some((line, content)) = lines.next() {
        if content.trim() != SEARCH {
            if let Some(found) = file_name(content) {
                name = Some(found);
            }
            continue;
        }
        let file = name.clone().ok_or(EditError::Malformed {
            line,
            what: "no file is named before this edit",
        })?;
        let mut passage = |end: &str, what| {
            let mut passage = String::new();
            for (line, content) in lines.by_ref() {
                let marker = content.trim_end();
                if marker == end {
                    return Ok(passage);
                }
                if [SEARCH, REPLACE].contains(&marker) {
                    return Err(EditError::Malformed { line, what });
                }
                passage.push_str(content);
                passage.push('\n');
            }
            Err(EditError::Malformed { line, what })
        };
        let search = passage(DIVIDER, "this edit has no line of seven =")?;
        let replace = passage(REPLACE, "this edit does not end with >>>>>>> REPLACE")?;
        edits.push(Edit {
            file,
            search,
            replace,
        });
    }
    match edits.is_empty() {
        true => Err(EditError::None),
        false => Ok(edits),
    }
}

/// A line that is the name of a kernel file, with what people put around it.
fn file_name(line: &str) -> Option<String> {
    let name = line
        .trim()
        .trim_matches(|c: char| matches!(c, '#' | '*' | '`' | ':' | ' '))
        .trim_start_matches("file: ");
    let name = name.rsplit('/').next()?;
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    let kernel = name.ends_with(".cu") || name.ends_with(".cuh");
    (kernel && name.chars().all(plain)).then(|| name.to_owned())
}

/// `texts` after these edits, one after the other.
///
/// # Errors
/// If one names a file that is not in `texts`, or its passage does not stand there exactly once:
/// then nothing is changed.
pub fn apply(texts: &Texts, edits: &[Edit]) -> Result<Texts, EditError> {
    let mut texts = texts.clone();
    for edit in edits {
        let Some(text) = texts.get_mut(&edit.file) else {
            return Err(EditError::UnknownFile {
                file: edit.file.clone(),
                known: texts.keys().cloned().collect::<Vec<_>>().join(", "),
            });
        };
        let times = match edit.search.is_empty() {
            true => 0,
            false => text.matches(&edit.search).count(),
        };
        match times {
            1 => *text = text.replacen(&edit.search, &edit.replace, 1),
            0 => {
                return Err(EditError::NotFound {
                    file: edit.file.clone(),
                    nearest: nearest(text, &edit.search),
                });
            }
            times => {
                return Err(EditError::Ambiguous {
                    file: edit.file.clone(),
                    times,
                });
            }
        }
    }
    Ok(texts)
}

/// Where the lines of `text` that have most words in common with the passage differ from it.
fn nearest(text: &str, passage: &str) -> String {
    let lines: Vec<&str> = text.lines().collect();
    let wanted: Vec<&str> = passage.trim_end_matches('\n').lines().collect();
    let height = wanted.len().clamp(1, lines.len().max(1));
    let alike = |window: &[&str]| -> usize {
        let both = window.iter().zip(&wanted);
        both.map(|(have, want)| {
            let words = want.split_whitespace();
            words.filter(|word| have.contains(word)).count() + usize::from(have == want)
        })
        .sum()
    };
    let best = lines
        .windows(height)
        .enumerate()
        .max_by_key(|(at, window)| (alike(window), std::cmp::Reverse(*at)));
    let (Some((top, window)), false) = (best, wanted.is_empty()) else {
        return "the passage or the file is empty".into();
    };
    let same = window.iter().zip(&wanted).take_while(|(a, b)| a == b);
    let at = same.count();
    let Some(want) = wanted.get(at) else {
        return format!(
            "at line {} it is, but for what it ends with: leave out empty lines there",
            top + 1
        );
    };
    let around = window[at.saturating_sub(AROUND)..(at + AROUND + 1).min(height)].join("\n");
    format!(
        "of the nearest lines, which begin at line {}, the first {at} are those of the passage, \
         whose line {} is\n{want}\nand the file has there\n{around}",
        top + 1,
        at + 1
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    const REPLY: &str = "Two changes.\n\n### `blend.cu`\n```\n<<<<<<< SEARCH\nfloat a;\n=======\n\
                         float b;\n>>>>>>> REPLACE\n```\nand\n<<<<<<< SEARCH\nint c;\nint d;\n\
                         =======\n>>>>>>> REPLACE\n";

    fn texts(text: &str) -> Texts {
        Texts::from([("blend.cu".into(), text.into())])
    }

    #[test]
    fn edits_are_read_and_made() {
        let edits = parse(REPLY).unwrap();
        assert_eq!(edits.len(), 2);
        assert_eq!(edits[0].search, "float a;\n");
        assert_eq!(edits[1].replace, "");
        let after = apply(&texts("float a;\nint c;\nint d;\nend\n"), &edits).unwrap();
        assert_eq!(after["blend.cu"], "float b;\nend\n");
    }

    #[test]
    fn what_is_no_edit_is_said() {
        assert_eq!(parse("I would rather not."), Err(EditError::None));
        let unnamed = parse("<<<<<<< SEARCH\na\n=======\nb\n>>>>>>> REPLACE\n");
        assert!(matches!(unnamed, Err(EditError::Malformed { line: 1, .. })));
        let torn = parse("a.cu\n<<<<<<< SEARCH\na\n=======\nb\n");
        assert!(matches!(torn, Err(EditError::Malformed { .. })), "{torn:?}");
        let twice = parse("a.cu\n<<<<<<< SEARCH\na\n<<<<<<< SEARCH\n");
        assert!(matches!(twice, Err(EditError::Malformed { line: 4, .. })));
    }

    #[test]
    fn a_passage_must_stand_once() {
        let edit = |search: &str| Edit {
            file: "blend.cu".into(),
            search: search.into(),
            replace: "x\n".into(),
        };
        let made = |text: &str, search: &str| apply(&texts(text), &[edit(search)]);
        let twice = made("a\na\n", "a\n");
        assert!(matches!(twice, Err(EditError::Ambiguous { times: 2, .. })));
        let Err(EditError::NotFound { nearest, .. }) =
            made("int one = 1;\nint two = 2;\n", "int two = 3;\n")
        else {
            panic!("found");
        };
        assert_eq!(
            nearest,
            "of the nearest lines, which begin at line 2, the first 0 are those of the passage, \
             whose line 1 is\nint two = 3;\nand the file has there\nint two = 2;"
        );
        assert!(matches!(made("", ""), Err(EditError::NotFound { .. })));
        // The passage is longer than the file, and then by an empty line at its end.
        let Err(EditError::NotFound { nearest, .. }) = made("a\nb\nc\nd\ne\n", "b\nc\nd\ne\n\n")
        else {
            panic!("found");
        };
        assert!(nearest.starts_with("at line 2 it is"), "{nearest}");
        assert!(matches!(
            made("a\n", "a\nb\n"),
            Err(EditError::NotFound { .. })
        ));
        let other = Edit {
            file: "sort.cu".into(),
            ..edit("a")
        };
        let error = apply(&texts("a"), &[other]).unwrap_err();
        assert!(matches!(error, EditError::UnknownFile { .. }), "{error}");
    }
}
