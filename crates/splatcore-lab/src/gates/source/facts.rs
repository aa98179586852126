//! What the gates know of the build, and a changed file beside its old text.

use super::tokens::{Directive, Lexed, Token, Unreadable, lex};
use crate::gates::{Gate, Rejection};
use std::collections::{BTreeMap, BTreeSet, HashSet};

/// Every kernel file of the baseline.
pub struct Facts<'a> {
    /// Tokens by file.
    pub files: BTreeMap<&'a str, Lexed<'a>>,
    /// Words of `#if` and `#elif` lines.
    pub asked: HashSet<&'a str>,
    /// Words that `#ifdef`, `#ifndef` or `defined` ask for.
    pub asked_whether: HashSet<&'a str>,
    /// Macros that kernel files define.
    pub macros: HashSet<&'a str>,
}

impl<'a> Facts<'a> {
    /// Of these texts, by file.
    pub fn of(texts: impl Iterator<Item = (&'a str, &'a str)>) -> Result<Self, Rejection> {
        let mut facts = Self {
            files: BTreeMap::new(),
            asked: HashSet::new(),
            asked_whether: HashSet::new(),
            macros: HashSet::new(),
        };
        for (file, text) in texts {
            let lexed = lex(text).map_err(|error| unreadable(file, &error))?;
            for directive in &lexed.directives {
                facts.asked.extend(asked(directive));
                facts.asked_whether.extend(asked_whether(directive));
                facts.macros.extend(defined(directive));
            }
            facts.files.insert(file, lexed);
        }
        Ok(facts)
    }

    /// Whether a file that is compiled together with a changed one has this word.
    pub fn is_taken(&self, pair: &Pair, word: &str) -> bool {
        let has = |file: &str| {
            let all = self.files.get(file).map(Lexed::all).unwrap_or_default();
            all.iter().any(|t| t.is_word() && t.text == word)
        };
        pair.program().into_iter().any(has)
    }
}

/// The files that a text includes.
fn included<'a>(text: &Lexed<'a>) -> Vec<&'a str> {
    let includes = text.directives.iter().filter(|d| d.name == "include");
    let names = includes.filter_map(|d| Some(d.tokens.first()?.text.trim_matches('"')));
    names.collect()
}

/// A changed file beside the baseline's.
#[derive(Clone, Copy)]
pub struct Pair<'a> {
    /// The file's name.
    pub file: &'a str,
    /// The baseline's tokens.
    pub old: &'a Lexed<'a>,
    /// The candidate's tokens.
    pub new: &'a Lexed<'a>,
    /// All of the baseline.
    pub facts: &'a Facts<'a>,
    /// Every file of the candidate.
    pub changed: &'a [(&'a str, Lexed<'a>)],
}

impl<'a> Pair<'a> {
    /// The tokens of a file as the candidate has it.
    pub fn text(&self, file: &str) -> Option<&'a Lexed<'a>> {
        let mut changed = self.changed.iter();
        let own = changed.find(|(name, _)| *name == file);
        own.map(|(_, text)| text).or(self.facts.files.get(file))
    }

    /// The files that are ever compiled together with the changed one, which is among them. A
    /// program is a file and what it includes, in the baseline or in the candidate.
    pub fn program(&self) -> BTreeSet<&'a str> {
        let mut all = BTreeSet::from([self.file]);
        for root in self.facts.files.keys() {
            let mut program = vec![*root];
            let mut at = 0;
            while let Some(&file) = program.get(at) {
                let texts = [self.facts.files.get(file), self.text(file)];
                let more = texts.into_iter().flatten().flat_map(included);
                let new: Vec<&str> = more.filter(|name| !program.contains(name)).collect();
                program.extend(new);
                at += 1;
            }
            if program.contains(&self.file) {
                all.extend(program);
            }
        }
        all
    }

    /// A rejection of a line of the file; `what` ends with the remedy.
    pub fn reject(&self, gate: Gate, line: usize, what: impl AsRef<str>) -> Rejection {
        Rejection::new(gate, format!("{}:{line}: {}", self.file, what.as_ref()))
    }
}

/// The rejection of a text that cannot be read.
pub fn unreadable(file: &str, error: &Unreadable) -> Rejection {
    Rejection::new(Gate::Files, format!("{file}:{error}"))
}

/// Words of an `#if` or `#elif` that are replaced by values.
pub fn asked<'a>(directive: &Directive<'a>) -> Vec<&'a str> {
    if !matches!(directive.name, "if" | "elif") {
        return Vec::new();
    }
    let words = directive.tokens.iter().filter(|token| token.is_word());
    words
        .map(|token| token.text)
        .filter(|word| *word != "defined")
        .collect()
}

/// Words whose being defined a directive asks for.
pub fn asked_whether<'a>(directive: &Directive<'a>) -> Vec<&'a str> {
    match directive.name {
        "ifdef" | "ifndef" => directive.tokens.iter().map(|token| token.text).collect(),
        "if" | "elif" => {
            let words: Vec<&str> = directive.tokens.iter().map(|token| token.text).collect();
            let behind = words
                .iter()
                .enumerate()
                .filter(|(_, word)| **word == "defined");
            let named = behind
                .filter_map(|(at, _)| words[at + 1..].iter().find(|word| **word != "(").copied());
            named.collect()
        }
        _ => Vec::new(),
    }
}

/// The macro that a directive defines.
pub fn defined<'a>(directive: &Directive<'a>) -> Option<&'a str> {
    let name = directive.tokens.first()?;
    (directive.name == "define").then_some(name.text)
}

/// The first key, and its line, that the new text has more often than the old one; `key` names the
/// tokens that count.
pub fn first_new<'a, K: Ord>(
    old: &[Token<'a>],
    new: &[Token<'a>],
    key: impl Fn(&[Token<'a>], usize) -> Option<K>,
) -> Option<(K, usize)> {
    let places = |tokens: &[Token<'a>]| {
        let mut places: BTreeMap<K, Vec<Place<'a>>> = BTreeMap::new();
        for at in 0..tokens.len() {
            if let Some(key) = key(tokens, at) {
                places.entry(key).or_default().push(Place::of(tokens, at));
            }
        }
        places
    };
    let before = places(old);
    let mut first: Option<(K, usize)> = None;
    for (key, found) in places(new) {
        let known = before.get(&key).map_or(&[][..], Vec::as_slice);
        if found.len() <= known.len() {
            continue;
        }
        // One of them is new; most likely the one with other neighbours.
        let is_known = |place: &&Place| !known.iter().any(|known| known.around == place.around);
        let strange = found.iter().find(is_known).or(found.last());
        let line = strange.map_or(0, |place| place.line);
        if first.as_ref().is_none_or(|(_, least)| line < *least) {
            first = Some((key, line));
        }
    }
    first
}

/// A token with its neighbours, to find the place of a new one.
struct Place<'a> {
    around: [&'a str; 3],
    line: usize,
}

impl<'a> Place<'a> {
    fn of(tokens: &[Token<'a>], at: usize) -> Self {
        let text = |at: usize| tokens.get(at).map_or("", |token| token.text);
        Self {
            around: [text(at.wrapping_sub(1)), text(at), text(at + 1)],
            line: tokens[at].line,
        }
    }
}
