//! Deterministic transformations of kernel text, at places that a person marked.
//!
//! ```text
//! // mark: loop SPLATS                       // mark: load MEANS
//! for (u32 k = 0; k < count && !done; ++k) { float4 mean = args.means[index];
//! ```
//!
//! A mark stands in a line of its own, in front of the line that it marks. Each transformation
//! that applies there is an axis of the search, beside the tunables; calls of `expf` need no mark.
//! Whether one applies is decided from the text alone: a transformed kernel computes the same but
//! for rounding (`expf`) as long as no other thread writes what a marked loop's condition or a
//! marked load reads, and a marked load reads global memory. A person who marks a place says so;
//! the gates check it.

use super::code::{self, blank};
use super::id::Texts;
use super::splice::Splice;
use super::tunables::DeclarationError;
use std::collections::BTreeSet;

/// What a transformation does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Other calls in place of `expf`, in a whole file.
    Exponential,
    /// `#pragma unroll` in front of a marked loop that has none.
    Unroll,
    /// `!flag` in the condition of a marked loop becomes the body's first statement.
    Exit,
    /// Another way to load what a marked line reads.
    Load,
}

/// An entry of the catalogue.
#[derive(Clone, Copy, Debug)]
pub struct Transformation {
    /// What it does.
    pub kind: Kind,
    /// Part of the axis' name: behind the mark's name, or alone.
    pub name: &'static str,
    /// What may take the place of the text as it is written.
    pub choices: &'static [&'static str],
    /// What it may gain and cost, for reports and for planners.
    pub effect: &'static str,
}

/// All transformations.
pub const CATALOGUE: [Transformation; 4] = [
    Transformation {
        kind: Kind::Exponential,
        name: "expf",
        choices: &["__expf"],
        effect: "one special-function instruction and a multiplication in place of a correctly \
                 scaled exponential; error 2 + |1.16 x| units in the last place",
    },
    Transformation {
        kind: Kind::Unroll,
        name: "unroll",
        choices: &["1", "2", "4", "8"],
        effect: "fewer branches and more independent instructions, for more registers and code",
    },
    Transformation {
        kind: Kind::Exit,
        name: "exit",
        choices: &["break", "continue"],
        effect: "a loop condition without the flag: `break` tests it in the body, `continue` keeps \
                 the loop's length the same for all threads of a warp",
    },
    Transformation {
        kind: Kind::Load,
        name: "load",
        choices: &["__ldg", "__ldcg", "__ldcs"],
        effect: "read-only, past the first-level cache, or first to be evicted",
    },
];

/// A place where a transformation applies: an axis of the search. Choice 0 is the text as written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Site {
    /// The axis' name: `SPLATS.exit`, `expf`; no two sites share one.
    pub name: String,
    /// What is done there.
    pub kind: Kind,
    /// The file.
    pub file: String,
    /// The first line that changes, from 1.
    pub line: usize,
    /// For each choice behind 0 its name and its replacements in the text.
    pub choices: Vec<(&'static str, Vec<Splice>)>,
}

/// Where a transformation would change a text.
struct Place<'a> {
    file: &'a str,
    text: &'a str,
    /// The text with blanks for comments, strings and characters; offsets agree.
    code: &'a str,
    /// The first byte of the marked line, and the byte behind its end.
    start: usize,
    end: usize,
}

/// All places of the texts where a transformation applies, by file and line.
///
/// # Errors
/// If a mark is malformed, its name is used twice, or no transformation applies to its line.
pub fn find(texts: &Texts) -> Result<Vec<Site>, DeclarationError> {
    let mut sites = Vec::new();
    let mut names = BTreeSet::new();
    for (file, text) in texts {
        let code = blank(text);
        let mut start = 0;
        for (line, content) in (1..).zip(text.split_inclusive('\n')) {
            let fail = |what: String| DeclarationError {
                file: file.clone(),
                line,
                what,
            };
            let end = start + content.len();
            if let Some((kind, name)) = mark(content).map_err(fail)? {
                if !names.insert(name) {
                    return Err(fail(format!("another mark is called {name}: rename one")));
                }
                let next = text[end..]
                    .find('\n')
                    .map_or(text.len(), |length| end + length + 1);
                let place = Place {
                    file,
                    text,
                    code: &code,
                    start: end,
                    end: next,
                };
                let found = match kind {
                    "loop" => [place.unroll(), place.exit()],
                    _ => [place.load(), None],
                };
                let before = sites.len();
                for (kind, splices) in found.into_iter().flatten() {
                    sites.push(site(kind, Some(name), file, line + 1, splices));
                }
                if sites.len() == before {
                    return Err(fail(format!(
                        "nothing applies to the line behind the mark of a {kind}: put it in front \
                         of `for (` or of `name = array[index];`, or delete it"
                    )));
                }
            }
            start = end;
        }
        if let Some((line, splices)) = exponentials(file, &code) {
            sites.push(site(Kind::Exponential, None, file, line, splices));
        }
    }
    // As tunables: the file's name only where it is needed.
    let exponential = |site: &&mut Site| site.kind == Kind::Exponential;
    if sites.iter_mut().filter(exponential).count() > 1 {
        for site in sites.iter_mut().filter(exponential) {
            site.name = format!("{}:{}", site.file, site.name);
        }
    }
    Ok(sites)
}

/// For each choice of the catalogue, its replacements.
type Choices = Vec<Vec<Splice>>;

fn site(kind: Kind, mark: Option<&str>, file: &str, line: usize, splices: Choices) -> Site {
    let entry = CATALOGUE.iter().find(|entry| entry.kind == kind);
    let (name, choices) = entry.map_or(("", [].as_slice()), |entry| (entry.name, entry.choices));
    Site {
        name: mark.map_or(name.to_owned(), |mark| format!("{mark}.{name}")),
        kind,
        file: file.to_owned(),
        line,
        choices: choices.iter().copied().zip(splices).collect(),
    }
}

/// The catalogue's choices of a kind.
fn choices(kind: Kind) -> impl Iterator<Item = &'static str> {
    let entries = CATALOGUE.iter().filter(move |entry| entry.kind == kind);
    entries.flat_map(|entry| entry.choices.iter().copied())
}

/// The kind and name of a mark, None if the line is none.
fn mark(line: &str) -> Result<Option<(&str, &str)>, String> {
    let Some(words) = line.trim().strip_prefix("// mark:") else {
        return Ok(None);
    };
    let words: Vec<&str> = words.split_whitespace().collect();
    match words.as_slice() {
        [kind @ ("loop" | "load"), name] if code::is_name(name) => Ok(Some((kind, name))),
        _ => Err("write `// mark: loop NAME` or `// mark: load NAME`".into()),
    }
}

/// The first line with a call of `expf`, and the replacements of all calls.
fn exponentials(file: &str, code: &str) -> Option<(usize, Choices)> {
    let calls: Vec<usize> = code::calls(code, "expf").collect();
    let line = code[..*calls.first()?].matches('\n').count() + 1;
    let with = |name: &str| {
        let splice = |&at: &usize| Splice {
            file: file.to_owned(),
            range: at..at + "expf".len(),
            text: name.to_owned(),
        };
        calls.iter().map(splice).collect()
    };
    Some((line, choices(Kind::Exponential).map(with).collect()))
}

impl Place<'_> {
    fn splice(&self, range: std::ops::Range<usize>, text: String) -> Splice {
        Splice {
            file: self.file.to_owned(),
            range,
            text,
        }
    }

    fn indent(&self) -> &str {
        let line = &self.text[self.start..self.end];
        &line[..line.len() - line.trim_start().len()]
    }

    /// The byte of the `for` behind the mark, a line with `#pragma unroll` between them or not.
    fn for_at(&self) -> Option<usize> {
        let line = self.code[self.start..].split_inclusive('\n').next()?;
        let start = match line.trim_start().starts_with("#pragma unroll") {
            true => self.start + line.len(),
            false => self.start,
        };
        let rest = &self.code[start..];
        let at = start + (rest.len() - rest.trim_start_matches([' ', '\t']).len());
        let after = self.code[at..].strip_prefix("for")?.trim_start();
        after.starts_with('(').then_some(at)
    }

    fn unroll(&self) -> Option<(Kind, Choices)> {
        let at = self.for_at()?;
        // One with a number of its own is a tunable's place.
        if at >= self.end {
            return None;
        }
        let line = |count| {
            let text = format!("{}#pragma unroll {count}\n", self.indent());
            vec![self.splice(self.start..self.start, text)]
        };
        Some((Kind::Unroll, choices(Kind::Unroll).map(line).collect()))
    }

    /// `for (T v = a; c && !flag; ++v) {` with a condition `c` that has no effects.
    fn exit(&self) -> Option<(Kind, Choices)> {
        let at = self.for_at()?;
        let open = at + self.code[at..].find('(')?;
        let close = code::matching(self.code, open)?;
        let parts = code::split(self.code, open + 1..close, ";");
        let [first, condition, step] = parts.as_slice() else {
            return None;
        };
        let [first, step] = [first, step].map(|range| self.code[range.clone()].trim());
        let variable = code::declared(first)?;
        let text = &self.code[condition.clone()];
        if text.contains("||") || text.contains(['?', '(', ',']) || code::has_effect(text) {
            return None;
        }
        let terms = code::split(self.code, condition.clone(), "&&");
        let terms: Vec<&str> = terms
            .into_iter()
            .map(|range| self.text[range].trim())
            .collect();
        let flag = |term: &&&str| term.strip_prefix('!').is_some_and(code::is_name);
        let flags: Vec<&&str> = terms.iter().filter(flag).collect();
        let [flag] = flags.as_slice() else {
            return None;
        };
        let others: Vec<&str> = terms
            .iter()
            .filter(|term| *term != *flag)
            .copied()
            .collect();
        // Only the loop's own variable moves, and it cannot be seen behind the loop.
        let simple = code::steps(step, variable) && !others.is_empty();
        let brace = self.code[close + 1..].trim_start();
        let brace = self.code.len() - brace.len();
        if !simple || !self.code[brace..].starts_with('{') {
            return None;
        }
        let name = &flag[1..];
        let with = |leave: &str| {
            let indent = self.indent();
            let statement = format!("\n{indent}    if ({name}) {leave};");
            vec![
                self.splice(condition.clone(), format!(" {}", others.join(" && "))),
                self.splice(brace + 1..brace + 1, statement),
            ]
        };
        Some((Kind::Exit, choices(Kind::Exit).map(with).collect()))
    }

    /// `x = path[index];` in one line.
    fn load(&self) -> Option<(Kind, Choices)> {
        let line = self.code[self.start..self.end].trim_end();
        let body = line.strip_suffix(';')?;
        if body.contains(['{', '}', ';']) {
            return None;
        }
        let (left, right) = body.split_once('=')?;
        let assigned = !left.trim().is_empty() && !left.ends_with(['!', '<', '>', '=']);
        let path = right.trim();
        let bracket = path.find('[')?;
        let array = path[..bracket].replace("->", ".");
        let whole = code::matching(path, bracket) == Some(path.len() - 1);
        let plain = array.split('.').all(code::is_name);
        // Shared memory has no such loads.
        let owner = array.split('.').next().unwrap_or_default();
        let global = !code::shared(self.code).any(|name| name == owner);
        if !assigned || !whole || !plain || !global || code::has_effect(&path[bracket..]) {
            return None;
        }
        let start = self.start + body.len() - right.trim_start().len();
        let end = start + path.len();
        let with = |name: &str| {
            let text = format!("{name}(&{})", &self.text[start..end]);
            vec![self.splice(start..end, text)]
        };
        Some((Kind::Load, choices(Kind::Load).map(with).collect()))
    }
}

#[cfg(test)]
#[path = "transforms_tests.rs"]
mod tests;
