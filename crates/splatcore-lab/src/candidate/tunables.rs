//! Tunables: numbers in kernel text with the values that a search may give them.
//!
//! A comment behind the number declares them, in one of two places:
//!
//! ```text
//! #define BATCH 64      // tune: 32 64 128; when BATCH % WARP == 0
//! #pragma unroll 4      // tune UNROLL_PIXELS: 1 2 4 8
//! ```
//!
//! The condition behind `when` is an [`Expression`] over tunables and plain integer `#define`s of
//! the same file, or of another file of the task if only one declares the name. `tune: 0 1` on a
//! `#define VARIANT 0` chooses between passages of the file in `#if VARIANT`.

use super::code::is_name;
use super::expression::Expression;
use super::id::Texts;
use super::splice::{Splice, splice};
use std::collections::BTreeMap;
use std::ops::Range;

/// A declared tunable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tunable {
    /// Its name, or `FILE:NAME` if several files declare the name. No two tunables share one.
    pub name: String,
    /// The file.
    pub file: String,
    /// The line of the declaration, from 1.
    pub line: usize,
    /// The values it may have, in the order of the declaration; each once.
    pub values: Vec<i64>,
    /// The index in `values` of the value that stands in the text.
    pub current: usize,
    /// What must hold; names are those of tunables as in `name`, constants are numbers.
    pub condition: Option<Expression>,
    /// The bytes of the number in the file's text.
    pub range: Range<usize>,
}

/// A declaration or mark that cannot be used, or a value that was not declared.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{file}:{line}: {what}")]
pub struct DeclarationError {
    /// The file.
    pub file: String,
    /// The line, from 1; 0 for the whole file.
    pub line: usize,
    /// What is wrong, and what to write instead.
    pub what: String,
}

/// Values of tunables by their names, as in [`Tunable::name`].
pub type Assignment = BTreeMap<String, i64>;

/// A tunable before names are resolved.
struct Declared {
    tunable: Tunable,
    condition: Option<Expression>,
}

/// Integers that a file defines: name, value (None: several values), by file.
type Constants = BTreeMap<String, BTreeMap<String, Option<i64>>>;

/// All tunables of the texts, by file and line.
///
/// # Errors
/// If a declaration is malformed, its current value is none of its values, its condition uses an
/// unknown or ambiguous name, or does not hold for the current values.
pub fn parse(texts: &Texts) -> Result<Vec<Tunable>, DeclarationError> {
    let mut declared = Vec::new();
    let mut constants = Constants::new();
    for (file, text) in texts {
        let mut start = 0;
        for (line, content) in (1..).zip(text.split_inclusive('\n')) {
            let fail = |what: String| DeclarationError {
                file: file.clone(),
                line,
                what,
            };
            if let Some(found) = declaration(content).map_err(fail)? {
                let range = start + found.0.start..start + found.0.end;
                declared.push(resolve_value(file, line, range, text, found.1).map_err(fail)?);
            } else if let Some((name, value)) = constant(content) {
                let of_file = constants.entry(file.clone()).or_default();
                let known = of_file.entry(name.to_owned()).or_insert(Some(value));
                *known = known.filter(|known| *known == value);
            }
            start += content.len();
        }
    }
    name(&mut declared, &constants)?;
    bind(declared, &constants)
}

/// What a line declares: the bytes of the number in the line, and the rest.
type Found<'a> = (Range<usize>, Comment<'a>);

struct Comment<'a> {
    name: &'a str,
    values: &'a str,
    condition: Option<&'a str>,
}

/// The declaration in a line, None if its comment does not begin with `tune`.
fn declaration(line: &str) -> Result<Option<Found<'_>>, String> {
    let Some((code, comment)) = line.split_once("//") else {
        return Ok(None);
    };
    let comment = comment.trim();
    let Some(after) = comment.strip_prefix("tune") else {
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
    let (defined, number) = match number_of(code)? {
        (Some(name), number) if given.is_empty() || given == name => (name, number),
        (Some(name), _) => {
            return Err(format!(
                "the line defines {name}: write `// tune: ...` without a name"
            ));
        }
        (None, _) if !is_name(given) => {
            return Err("name it: `// tune UNROLL_NAME: 1 2 4`".into());
        }
        (None, number) => (given, number),
    };
    let comment = Comment {
        name: defined,
        values,
        condition,
    };
    Ok(Some((number, comment)))
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

/// The name and value of `#define NAME INTEGER`.
fn constant(line: &str) -> Option<(&str, i64)> {
    let code = line.split("//").next()?;
    let (name, range) = number_of(code).ok()?;
    Some((name?, code[range].parse().ok()?))
}

fn resolve_value(
    file: &str,
    line: usize,
    range: Range<usize>,
    text: &str,
    comment: Comment<'_>,
) -> Result<Declared, String> {
    let name = comment.name;
    let mut values: Vec<i64> = Vec::new();
    for word in comment.values.split_whitespace() {
        match word.parse() {
            Ok(value) if values.contains(&value) => {
                return Err(format!("{name}: {value} is listed twice: delete one"));
            }
            Ok(value) => values.push(value),
            Err(_) => return Err(format!("{name}: `{word}` is no integer: list integers")),
        }
    }
    let number: Option<i64> = text[range.clone()].parse().ok();
    let Some(current) = values.iter().position(|value| Some(*value) == number) else {
        let number = &text[range];
        return Err(format!(
            "{name}: its value {number} is not listed: add {number}"
        ));
    };
    let condition = match comment.condition.map(str::parse::<Expression>) {
        None => None,
        Some(Ok(condition)) => Some(condition),
        Some(Err(error)) => return Err(format!("{name}: the condition, {error}")),
    };
    let tunable = Tunable {
        name: name.to_owned(),
        file: file.to_owned(),
        line,
        values,
        current,
        condition: None,
        range,
    };
    Ok(Declared { tunable, condition })
}

/// Gives tunables names of their own.
fn name(declared: &mut [Declared], constants: &Constants) -> Result<(), DeclarationError> {
    let mut files: BTreeMap<String, Vec<(String, usize)>> = BTreeMap::new();
    for Declared { tunable, .. } in declared.iter() {
        let of_name = files.entry(tunable.name.clone()).or_default();
        let twice = of_name.iter().find(|(file, _)| *file == tunable.file);
        let constant = constants
            .get(&tunable.file)
            .is_some_and(|c| c.contains_key(&tunable.name));
        let what = match twice {
            Some((_, line)) => format!("{} is declared in line {line} too", tunable.name),
            None if constant => format!("{} is also defined without `tune`", tunable.name),
            None => {
                of_name.push((tunable.file.clone(), tunable.line));
                continue;
            }
        };
        return Err(DeclarationError {
            file: tunable.file.clone(),
            line: tunable.line,
            what: format!("{what}: rename one"),
        });
    }
    for Declared { tunable, .. } in declared {
        if files[&tunable.name].len() > 1 {
            tunable.name = format!("{}:{}", tunable.file, tunable.name);
        }
    }
    Ok(())
}

/// A name of the build's, which no text defines. Such a condition is left to the build: a candidate
/// that breaks it does not compile.
const UNKNOWN: &str = "unknown";

/// Resolves the names in conditions and checks that they hold.
fn bind(declared: Vec<Declared>, constants: &Constants) -> Result<Vec<Tunable>, DeclarationError> {
    let current: Vec<(String, String, i64)> = declared
        .iter()
        .map(|Declared { tunable: t, .. }| (t.file.clone(), t.name.clone(), t.values[t.current]))
        .collect();
    let lookup = |file: &str, name: &str| -> Result<Expression, String> {
        let plain = |full: &str| full.rsplit(':').next() == Some(name);
        let tunables = current.iter().filter(|(_, full, _)| plain(full));
        let tunables = tunables.map(|(of, full, _)| (of, Some(Expression::Name(full.clone()))));
        let numbers = constants.iter().filter_map(|(of, names)| {
            names
                .get(name)
                .map(|value| (of, value.map(Expression::Number)))
        });
        let all: Vec<_> = tunables.chain(numbers).collect();
        let here: Vec<_> = all.iter().filter(|(of, _)| *of == file).collect();
        let chosen = match (here.as_slice(), all.as_slice()) {
            ([one], _) => &one.1,
            ([], [one]) => &one.1,
            (_, []) => return Err(UNKNOWN.into()),
            _ => {
                return Err(format!(
                    "several files define {name}: define it in this one"
                ));
            }
        };
        let several = || format!("{name} is defined with several values: use another name");
        chosen.clone().ok_or_else(several)
    };
    let values: Assignment = current
        .iter()
        .map(|(_, name, value)| (name.clone(), *value))
        .collect();
    let mut tunables = Vec::with_capacity(declared.len());
    for Declared {
        mut tunable,
        condition,
    } in declared
    {
        let fail = |what: String| DeclarationError {
            file: tunable.file.clone(),
            line: tunable.line,
            what: format!("{}: {what}", tunable.name),
        };
        if let Some(condition) = condition {
            let bound = condition.bind(&mut |name: &String| lookup(&tunable.file, name));
            if bound.as_ref().is_err_and(|what| what == UNKNOWN) {
                tunables.push(tunable);
                continue;
            }
            let bound = bound.map_err(fail)?;
            if !bound.holds(&|name: &String| values.get(name).copied().unwrap_or(0)) {
                return Err(fail(
                    "the condition does not hold for the values in the text: mend either".into(),
                ));
            }
            tunable.condition = Some(bound);
        }
        tunables.push(tunable);
    }
    Ok(tunables)
}

/// The replacement that gives a tunable the value of this index.
pub(crate) fn assign(tunable: &Tunable, index: usize) -> Splice {
    Splice {
        file: tunable.file.clone(),
        range: tunable.range.clone(),
        text: tunable.values[index].to_string(),
    }
}

/// The texts with these values of tunables; nothing but the numbers changes. Tunables that are not
/// named keep their value. Conditions are not looked at.
///
/// # Errors
/// As [`parse`]; and if a name is not declared, or a value not listed.
pub fn set(texts: &Texts, assignment: &Assignment) -> Result<Texts, DeclarationError> {
    let tunables = parse(texts)?;
    let mut splices = Vec::new();
    for (name, value) in assignment {
        let Some(tunable) = tunables.iter().find(|tunable| tunable.name == *name) else {
            let known: Vec<&str> = tunables
                .iter()
                .map(|tunable| tunable.name.as_str())
                .collect();
            return Err(DeclarationError {
                file: texts.keys().next().cloned().unwrap_or_default(),
                line: 0,
                what: format!("{name} is not declared; declared are: {}", known.join(", ")),
            });
        };
        let fail = |what: String| DeclarationError {
            file: tunable.file.clone(),
            line: tunable.line,
            what,
        };
        let Some(index) = tunable.values.iter().position(|listed| listed == value) else {
            let listed: Vec<String> = tunable.values.iter().map(i64::to_string).collect();
            let listed = listed.join(" ");
            return Err(fail(format!(
                "{name}: {value} is not listed; listed are {listed}"
            )));
        };
        splices.push(assign(tunable, index));
    }
    splice(texts, splices).ok_or_else(|| DeclarationError {
        file: texts.keys().next().cloned().unwrap_or_default(),
        line: 0,
        what: "two tunables share a number".into(),
    })
}

#[cfg(test)]
#[path = "tunables_tests.rs"]
mod tests;
