//! Tunables: numbers in kernel text with the values that a search may give them.
//!
//! A comment behind the number declares them ([`splatcore_core::tunables`]). Names in conditions
//! are tunables and plain integer `#define`s of the same file, or of another file of the task if
//! only one declares the name.

use super::id::Texts;
use super::splice::{Splice, splice};
use splatcore_core::expression::Expression;
use splatcore_core::tunables::{Declaration, constant, declaration};
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

impl Declared {
    /// A declaration in a line that begins at this byte of the file.
    fn new(file: &str, line: usize, start: usize, found: Declaration<'_>) -> Self {
        let tunable = Tunable {
            name: found.name.to_owned(),
            file: file.to_owned(),
            line,
            values: found.values,
            current: found.current,
            condition: None,
            range: start + found.number.start..start + found.number.end,
        };
        Self {
            tunable,
            condition: found.condition,
        }
    }
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
                declared.push(Declared::new(file, line, start, found));
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
