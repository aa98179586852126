//! `Gate::Interface`: kernels, and structs that Rust shares, are what they were.

use super::facts::Pair;
use super::items::{Item, Shape};
use super::tokens::{Lexed, Token};
use crate::gates::{Gate, Rejection};
use std::collections::BTreeMap;

/// Texts that the loader counts in a program's source, in comments too: see `Program::awaits`.
const COUNTED: [&str; 2] = ["extern \"C\" __global__", "begin_kernel();"];

/// The gate.
pub fn check(pair: &Pair, items: &[Item], old: &[Item]) -> Result<(), Rejection> {
    check_kernels(pair, items, old)?;
    check_structs(pair, items, old)?;
    check_beginning(pair, items, old)
}

/// The texts that the loader counts are as many as before.
pub fn check_counts(file: &str, old: &str, new: &str) -> Result<(), Rejection> {
    for text in COUNTED {
        if old.matches(text).count() != new.matches(text).count() {
            let what = format!(
                "{file}:1: `{text}` does not stand there as often as before, comments included; \
                 each kernel has one"
            );
            return Err(Rejection::new(Gate::Interface, what));
        }
    }
    Ok(())
}

fn check_kernels(pair: &Pair, items: &[Item], old: &[Item]) -> Result<(), Rejection> {
    let of = |items: &[Item], lexed: &Lexed| -> Vec<(String, String, usize)> {
        let kernels = items.iter().filter(|item| item.shape == Shape::Kernel);
        let described = kernels.map(|item| {
            let tokens = item.tokens(lexed);
            let line = tokens.first().map_or(1, |token| token.line);
            (item.name.to_owned(), head(tokens), line)
        });
        described.collect()
    };
    let (before, after) = (of(old, pair.old), of(items, pair.new));
    let wrong = |line: usize, what: String| Err(pair.reject(Gate::Interface, line, what));
    for ((name, head, _), (new_name, new_head, line)) in before.iter().zip(&after) {
        if name != new_name {
            return wrong(
                *line,
                format!("the kernel {new_name} stands where {name} was; leave it"),
            );
        }
        if head != new_head {
            return wrong(
                *line,
                format!("{name} is declared as `{new_head}`; it was `{head}`"),
            );
        }
    }
    match (before.get(after.len()), after.get(before.len())) {
        (Some((name, ..)), _) => wrong(1, format!("the kernel {name} is gone; put it back")),
        (_, Some((name, _, line))) => wrong(*line, format!("{name} is a new kernel; take it out")),
        _ => Ok(()),
    }
}

/// A kernel's declaration without its launch bounds, which may change.
fn head(tokens: &[Token]) -> String {
    let mut head: Vec<&str> = Vec::new();
    let mut depth = 0usize;
    let mut in_bounds = false;
    for token in tokens {
        match token.text {
            "{" if depth == 0 => break,
            "__launch_bounds__" => in_bounds = true,
            _ => {}
        }
        depth += usize::from(token.is("("));
        if !in_bounds {
            head.push(token.text);
        }
        if token.is(")") {
            depth = depth.saturating_sub(1);
            in_bounds &= depth > 0;
        }
    }
    head.join(" ")
}

/// Tokens from the body's bracket on.
fn length_of_body(tokens: &[Token]) -> usize {
    let mut depth = 0usize;
    let body = tokens.iter().position(|token| {
        depth += usize::from(token.is("("));
        depth = depth.saturating_sub(usize::from(token.is(")")));
        depth == 0 && token.is("{")
    });
    body.map_or(0, |body| tokens.len() - body)
}

/// Structs that Rust declares too, by their names.
fn is_shared(name: &str) -> bool {
    name.ends_with("Params") || name.ends_with("Camera") || matches!(name, "Counters" | "Rates")
}

fn check_structs(pair: &Pair, items: &[Item], old: &[Item]) -> Result<(), Rejection> {
    let of = |items: &[Item], lexed: &Lexed| {
        let structs = items
            .iter()
            .filter(|item| item.shape == Shape::Type && is_shared(item.name));
        let spelled = structs.map(|item| {
            let line = item.tokens(lexed).first().map_or(1, |token| token.line);
            (item.name.to_owned(), (item.spelling(lexed).join(" "), line))
        });
        spelled.collect::<Vec<(String, (String, usize))>>()
    };
    let mut before: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (name, (text, _)) in of(old, pair.old) {
        before.entry(name).or_default().push(text);
    }
    for (name, (text, line)) in of(items, pair.new) {
        let same = before.get_mut(&name).and_then(|texts| {
            let at = texts.iter().position(|one| *one == text)?;
            Some(texts.remove(at))
        });
        if same.is_none() {
            let what = format!("struct {name} is not as Rust has it; leave it as it was");
            return Err(pair.reject(Gate::Interface, line, what));
        }
    }
    match before.iter().find(|(_, texts)| !texts.is_empty()) {
        Some((name, _)) => {
            let what = format!("struct {name}, which Rust has too, is gone; put it back");
            Err(pair.reject(Gate::Interface, 1, what))
        }
        None => Ok(()),
    }
}

/// Each kernel waits for its predecessor first, by the function that does.
fn check_beginning(pair: &Pair, items: &[Item], old: &[Item]) -> Result<(), Rejection> {
    for item in items.iter().filter(|item| item.shape == Shape::Kernel) {
        let tokens = item.tokens(pair.new);
        let line = tokens.first().map_or(1, |token| token.line);
        // Not a bracket of the launch bounds.
        let body = tokens.len() - length_of_body(tokens);
        let first: Vec<&str> = tokens[body..]
            .iter()
            .skip(1)
            .take(4)
            .map(|token| token.text)
            .collect();
        let from = item.range.start + body;
        let is_cut = pair
            .new
            .directives
            .iter()
            .any(|d| d.at > from && d.at < from + 5);
        if first != ["begin_kernel", "(", ")", ";"] || is_cut {
            let what = format!(
                "{} does not begin with begin_kernel(); put it first",
                item.name
            );
            return Err(pair.reject(Gate::Interface, line, what));
        }
    }
    let named = |items: &[Item], lexed: &Lexed| -> Vec<String> {
        let functions = items.iter().filter(|item| item.name == "begin_kernel");
        functions
            .map(|item| item.spelling(lexed).join(" "))
            .collect()
    };
    let uses = |lexed: &Lexed| lexed.all().iter().filter(|t| t.is("begin_kernel")).count();
    if named(items, pair.new) != named(old, pair.old) || uses(pair.new) != uses(pair.old) {
        let what = "begin_kernel is declared or used other than before; leave it alone";
        return Err(pair.reject(Gate::Interface, 1, what));
    }
    Ok(())
}
