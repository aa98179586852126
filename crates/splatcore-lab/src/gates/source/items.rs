//! The declarations of a file: what stands outside all brackets, one after the other.
//!
//! Kernel files hold functions, kernels, types, aliases and assertions; [`Shape`] names these. What
//! is none of them is a variable, or something that the lab does not know, and both are refused
//! unless the baseline has the same. The split does not depend on values of macros, since in each
//! branch of a conditional group the brackets balance, no group begins or ends within a declaration
//! ([`check_brackets`]), and macros are expressions ([`super::macros`]).

use super::facts::Pair;
use super::names;
use super::tokens::{Directive, Kind, Lexed, Token};
use crate::gates::{Gate, Rejection};
use std::ops::Range;

/// Brackets within brackets that the lab reads; compilers have limits too.
const DEEPEST: usize = 100;

/// What a declaration is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// `extern "C" __global__ ...`
    Kernel,
    /// `__device__ ... name(...) {...}`, or a template of one.
    Function,
    /// `struct`, `union`, `enum`.
    Type,
    /// `typedef`, `using`.
    Alias,
    /// `static_assert(...)`.
    Assertion,
    /// `constexpr u32 NAME = 3;`
    Constant,
    /// All else.
    Other,
}

/// A declaration.
#[derive(Clone, Debug)]
pub struct Item<'a> {
    /// What it is.
    pub shape: Shape,
    /// The name that it declares, if the lab knows.
    pub name: &'a str,
    /// Its tokens in the file's code.
    pub range: Range<usize>,
}

impl<'a> Item<'a> {
    /// Its tokens.
    pub fn tokens<'t>(&self, lexed: &'t Lexed<'a>) -> &'t [Token<'a>] {
        &lexed.code[self.range.clone()]
    }

    /// The spelling of its tokens, and of the directives among them.
    pub fn spelling(&self, lexed: &Lexed<'a>) -> Vec<&'a str> {
        let mut spelling = Vec::new();
        let mut from = self.range.start;
        let within = |at: usize| at > self.range.start && at < self.range.end;
        for directive in lexed.directives.iter().filter(|d| within(d.at)) {
            spelling.extend(lexed.code[from..directive.at].iter().map(|t| t.text));
            from = directive.at;
            spelling.extend(["#", directive.name]);
            spelling.extend(directive.tokens.iter().map(|token| token.text));
        }
        spelling.extend(lexed.code[from..self.range.end].iter().map(|t| t.text));
        spelling
    }
}

/// The declarations of a file. Its brackets balance.
pub fn items<'a>(lexed: &Lexed<'a>) -> Vec<Item<'a>> {
    let mut items = Vec::new();
    let mut start = 0;
    let mut depth = 0usize;
    for (at, token) in lexed.code.iter().enumerate() {
        match token.text {
            "{" | "(" | "[" => depth += 1,
            "}" | ")" | "]" => depth = depth.saturating_sub(1),
            _ => {}
        }
        let is_end = || token.is(";") || token.is("}") && ends_function(&lexed.code[start..=at]);
        if depth == 0 && is_end() {
            items.push(item(lexed, start..at + 1));
            start = at + 1;
        }
    }
    if start < lexed.code.len() {
        items.push(item(lexed, start..lexed.code.len()));
    }
    items
}

/// Whether the `}` at the end closes a function's body, and so the declaration.
fn ends_function(tokens: &[Token]) -> bool {
    let head = head(tokens);
    let opens = tokens[head.end..]
        .first()
        .is_some_and(|token| token.is("{"));
    let last = tokens[head].last().map_or("", |token| token.text);
    opens && matches!(last, ")" | "const" | "noexcept")
}

/// What stands in front of the body, the value or the end, without `template <...>`.
fn head(tokens: &[Token]) -> Range<usize> {
    let start = length_of_template(tokens);
    let mut depth = 0usize;
    for (at, token) in tokens.iter().enumerate().skip(start) {
        match token.text {
            "{" | "=" | ";" if depth == 0 => return start..at,
            "(" | "[" => depth += 1,
            ")" | "]" => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    start..tokens.len()
}

fn item<'a>(lexed: &Lexed<'a>, range: Range<usize>) -> Item<'a> {
    let tokens = &lexed.code[range.clone()];
    let head = &tokens[head(tokens)];
    let rest = &tokens[length_of_template(tokens)..];
    let word = |at: usize| rest.get(at).map_or("", |token| token.text);
    let ends_in = |text: &str| rest.last().is_some_and(|token| token.is(text));
    let (shape, name) = match word(0) {
        "extern" if word(1) == "\"C\"" && word(2) == "__global__" && ends_in("}") => {
            (Shape::Kernel, name_of_function(head))
        }
        "struct" | "union" | "enum" | "class" => match name_of_type(rest) {
            Some(name) => (Shape::Type, name),
            None => (Shape::Other, ""),
        },
        "typedef" if !rest.iter().any(|token| token.is("{")) => (Shape::Alias, ""),
        "using" if word(2) == "=" => (Shape::Alias, word(1)),
        "static_assert" if word(1) == "(" && ends_in(";") => (Shape::Assertion, ""),
        "constexpr" if is_constant(rest) => (Shape::Constant, ""),
        _ if ends_in("}") && is_function(head) => (Shape::Function, name_of_function(head)),
        _ => (Shape::Other, ""),
    };
    Item { shape, name, range }
}

/// Tokens of `template <...>` in front of a declaration.
fn length_of_template(tokens: &[Token]) -> usize {
    let mut at = 0;
    while tokens.get(at).is_some_and(|token| token.is("template")) {
        let mut depth = 0i32;
        at += 1;
        for (k, token) in tokens.iter().enumerate().skip(at) {
            depth += match token.text {
                "<" => 1,
                ">" => -1,
                ">>" => -2,
                _ => 0,
            };
            at = k + 1;
            if depth <= 0 {
                break;
            }
        }
    }
    at
}

/// The name of `struct NAME {...};`: no variable stands behind the bracket.
fn name_of_type<'a>(tokens: &[Token<'a>]) -> Option<&'a str> {
    let [.., last_but_one, last] = tokens else {
        return None;
    };
    if !last_but_one.is("}") || !last.is(";") {
        return None;
    }
    let head = tokens
        .iter()
        .position(|token| matches!(token.text, "{" | ":" | ";" | "="))?;
    // The bracket in front of the end is the one that the head opens.
    let opened = tokens.iter().position(|token| token.is("{"))?;
    let mut depth = 0usize;
    let closed = tokens.iter().skip(opened).position(|token| {
        depth += usize::from(token.is("{"));
        depth -= usize::from(token.is("}"));
        depth == 0
    })?;
    if opened + closed + 2 != tokens.len() {
        return None;
    }
    let name = tokens[..head].last()?;
    name.is_word().then_some(name.text)
}

/// `constexpr TYPE NAME = VALUE;`, one number.
fn is_constant(tokens: &[Token]) -> bool {
    let Some(equal) = tokens.iter().position(|token| token.is("=")) else {
        return false;
    };
    let is_plain = |token: &Token| token.is_word() && !names::is_macro_name(token.text);
    let (name, types) = match &tokens[1..equal] {
        [types @ .., name] => (name, types),
        [] => return false,
    };
    let ends = tokens.iter().position(|token| token.is(";"));
    name.is_word()
        && !types.is_empty()
        && types.iter().all(is_plain)
        && !tokens
            .iter()
            .any(|token| matches!(token.text, "{" | "[" | "__device__" | ","))
        && ends == Some(tokens.len() - 1)
}

/// Whether a head is `__device__ ... TYPE name(...)`.
fn is_function(head: &[Token]) -> bool {
    let Some(([front @ .., name], behind)) = opening(head).map(|open| head.split_at(open)) else {
        return false;
    };
    let is_of_type = |token: &Token| {
        token.is_word()
            || token.kind == Kind::Number
            || matches!(token.text, "*" | "&" | "<" | ">" | "," | "::" | "(" | ")")
    };
    let types = front
        .iter()
        .filter(|token| token.is_word() && !names::is_reserved(token.text));
    let last = behind.last().map_or("", |token| token.text);
    name.is_word()
        && !names::is_macro_name(name.text)
        && matches!(last, ")" | "const" | "noexcept")
        && types.count() > 0
        && front.iter().any(|token| token.is("__device__"))
        && front.iter().all(is_of_type)
}

/// Where the parameters open: the first bracket that is no attribute's.
fn opening(head: &[Token]) -> Option<usize> {
    let mut depth = 0usize;
    for (at, token) in head.iter().enumerate() {
        match token.text {
            "(" if depth == 0 => {
                let before = head[..at].last().map_or("", |token| token.text);
                if !matches!(before, "__launch_bounds__" | "__align__" | "alignas") {
                    return Some(at);
                }
                depth += 1;
            }
            "(" => depth += 1,
            ")" => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    None
}

fn name_of_function<'a>(head: &[Token<'a>]) -> &'a str {
    let name = opening(head).and_then(|open| head[..open].last());
    name.map_or("", |token| token.text)
}

/// No conditional group begins or ends within a declaration, outside its brackets.
pub fn check_whole(pair: &Pair, items: &[Item]) -> Result<(), Rejection> {
    for item in items {
        let mut depth = 0usize;
        let mut at = item.range.start;
        let within = |d: &&Directive| d.at > item.range.start && d.at < item.range.end;
        for directive in pair.new.directives.iter().filter(within) {
            for token in &pair.new.code[at..directive.at] {
                match token.text {
                    "{" | "(" | "[" => depth += 1,
                    "}" | ")" | "]" => depth = depth.saturating_sub(1),
                    _ => {}
                }
            }
            at = directive.at;
            if depth == 0 && directive.is_conditional() {
                return Err(pair.reject(
                    Gate::Directives,
                    directive.line,
                    "a condition within a declaration; write the declaration once a branch",
                ));
            }
        }
    }
    Ok(())
}

/// Brackets balance, in the file and in each branch of each conditional group: so what is in which
/// bracket does not depend on conditions.
pub fn check_brackets(pair: &Pair) -> Result<(), Rejection> {
    let wrong = |line: usize, what: &str| Err(pair.reject(Gate::Directives, line, what));
    let code = &pair.new.code;
    let mut open: Vec<&str> = Vec::new();
    let mut groups: Vec<usize> = Vec::new();
    let mut directives = pair.new.directives.iter().peekable();
    for at in 0..=code.len() {
        while let Some(directive) = directives.next_if(|d| d.at == at && d.at <= code.len()) {
            if !directive.is_conditional() {
                continue;
            }
            if directive.opens() {
                groups.push(open.len());
            } else if groups.last().is_none() {
                return wrong(directive.line, "a branch without its #if; take it out");
            } else if groups.last() != Some(&open.len()) {
                return wrong(
                    directive.line,
                    "brackets do not balance in a branch; close in it what it opens",
                );
            }
            if directive.name == "endif" {
                groups.pop();
            }
        }
        let Some(token) = code.get(at) else { break };
        let inner = groups.last().copied().unwrap_or_default();
        match token.text {
            "{" | "(" | "[" if open.len() >= DEEPEST => {
                return wrong(
                    token.line,
                    "brackets within 100 brackets; write it in parts",
                );
            }
            "{" => open.push("}"),
            "(" => open.push(")"),
            "[" => open.push("]"),
            "}" | ")" | "]" if open.len() <= inner || open.pop() != Some(token.text) => {
                return wrong(
                    token.line,
                    "a bracket that closes none of its kind; mend it",
                );
            }
            _ => {}
        }
    }
    match (open.last(), groups.last(), code.last()) {
        (Some(_), _, Some(last)) => wrong(last.line, "a bracket is never closed; close it"),
        (_, Some(_), _) => wrong(1, "an #if without its #endif; write it"),
        _ => Ok(()),
    }
}
