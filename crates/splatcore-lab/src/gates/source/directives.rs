//! `Gate::Directives`: no directive, attribute, literal or name that a kernel has no use for.

use super::assembly;
use super::facts::{Pair, first_new};
use super::items::{Item, Shape};
use super::macros::{self, number};
use super::names;
use super::tokens::{Directive, Kind, Token};
use crate::gates::{Gate, Rejection};
use std::collections::HashSet;
use std::ops::Range;

/// Bytes that a kernel's variable may be aligned to.
const MAX_ALIGNED: u64 = 256;

/// The gate.
pub fn check(pair: &Pair) -> Result<(), Rejection> {
    for directive in &pair.new.directives {
        check_directive(pair, directive)?;
    }
    check_includes(pair)?;
    macros::check(pair)?;
    check_words(pair)?;
    check_sequences(pair)
}

fn check_directive(pair: &Pair, directive: &Directive) -> Result<(), Rejection> {
    let wrong = |what: String| Err(pair.reject(Gate::Directives, directive.line, what));
    let spelled: Vec<&str> = directive.tokens.iter().map(|token| token.text).collect();
    match directive.name {
        "include" | "define" | "if" | "ifdef" | "ifndef" | "elif" | "else" | "endif" => Ok(()),
        "pragma" => match spelled[..] {
            ["once"] => Ok(()),
            ["unroll", ref count @ ..] if count.iter().all(|part| is_of_count(part)) => Ok(()),
            _ => wrong("a #pragma other than unroll and once; take it out".into()),
        },
        name => wrong(format!(
            "#{name} is none of a kernel's directives; take it out"
        )),
    }
}

/// Parts of `#pragma unroll (4 * BATCH)`.
fn is_of_count(part: &str) -> bool {
    names::is_macro_name(part)
        || part.starts_with(|c: char| c.is_ascii_digit())
        || matches!(part, "(" | ")" | "*" | "/" | "+" | "-" | "?" | ":")
}

/// Includes are of headers of the build. New ones stand outside conditions, as the build puts the
/// text in their place whatever the condition.
fn check_includes(pair: &Pair) -> Result<(), Rejection> {
    let spelled = |d: &Directive| -> Vec<String> {
        d.tokens.iter().map(|token| token.text.to_owned()).collect()
    };
    let is_include = |d: &&Directive| d.name == "include";
    let mut old: Vec<(Vec<String>, bool)> = Vec::new();
    let mut groups = 0usize;
    for directive in &pair.old.directives {
        groups = groups_after(groups, directive);
        if is_include(&directive) {
            old.push((spelled(directive), groups > 0));
        }
    }
    let mut groups = 0usize;
    let mut depth = 0usize;
    let mut from = 0;
    for directive in &pair.new.directives {
        for token in &pair.new.code[from..directive.at] {
            match token.text {
                "{" | "(" | "[" => depth += 1,
                "}" | ")" | "]" => depth = depth.saturating_sub(1),
                _ => {}
            }
        }
        from = directive.at;
        groups = groups_after(groups, directive);
        if !is_include(&directive) {
            continue;
        }
        let wrong = |what: &str| Err(pair.reject(Gate::Directives, directive.line, what));
        let name = match &directive.tokens[..] {
            [one] if one.kind == Kind::Text => one.text.trim_matches('"'),
            _ => return wrong("an #include is of \"NAME.cuh\"; mend it"),
        };
        if depth > 0 {
            return wrong("an #include within brackets; put it at the head of the file");
        }
        let known = old
            .iter()
            .position(|one| *one == (spelled(directive), groups > 0));
        match known {
            Some(at) => drop(old.remove(at)),
            None if !pair.facts.files.contains_key(name) || !name.ends_with(".cuh") => {
                return wrong("an #include of no header of the build; take it out");
            }
            None if groups > 0 => {
                return wrong("an #include under a condition; put it at the head of the file");
            }
            None => {}
        }
    }
    Ok(())
}

fn groups_after(groups: usize, directive: &Directive) -> usize {
    match directive.name {
        "endif" => groups.saturating_sub(1),
        _ => groups + usize::from(directive.opens()),
    }
}

/// Names of hosts and compilers: no more of them than there were.
fn check_words(pair: &Pair) -> Result<(), Rejection> {
    let (old, new) = (pair.old.all(), pair.new.all());
    let own: HashSet<&str> = old.iter().map(|token| token.text).collect();
    let clocks = |tokens: &[Token], at: usize| {
        let word = tokens[at].text;
        (tokens[at].is_word() && names::CLOCKS.contains(word)).then(|| word.to_owned())
    };
    if let Some((word, line)) = first_new(&old, &new, clocks) {
        let what = format!("{word} reaches a clock, a wait or a trap; take it out");
        return Err(pair.reject(Gate::Assembly, line, what));
    }
    // A variable that the file has anyway, like `free` of antialias.cuh, is none of the host's.
    let is_variable = |tokens: &[Token], at: usize| {
        let near = |at: usize| tokens.get(at).map_or("", |token| token.text);
        let is_called = near(at + 1) == "(" || near(at.wrapping_sub(1)) == "::";
        names::is_host_function(tokens[at].text) && !is_called && own.contains(tokens[at].text)
    };
    let host = |tokens: &[Token], at: usize| {
        let token = &tokens[at];
        let is_host = names::HOST_KEYWORDS.contains(token.text)
            || names::is_host_function(token.text)
            || is_unknown(token.text);
        (token.is_word() && is_host && !is_variable(tokens, at)).then(|| token.text.to_owned())
    };
    if let Some((word, line)) = first_new(&old, &new, host) {
        let what = match names::is_reserved(&word) && !names::HOST_KEYWORDS.contains(&word[..]) {
            true => format!("{word} is no name that a kernel may use; use another or none"),
            false => format!("{word} is a host's; a kernel computes and does nothing else"),
        };
        return Err(pair.reject(Gate::Directives, line, what));
    }
    Ok(())
}

/// A reserved name that is neither CUDA's nor of another gate.
fn is_unknown(word: &str) -> bool {
    names::is_reserved(word)
        && !names::is_cuda_name(word)
        && !names::is_guard(word)
        && !names::STATE.contains(word)
}

/// Where strings may stand, attributes, pointers to functions, addresses as numbers.
fn check_sequences(pair: &Pair) -> Result<(), Rejection> {
    let code = &pair.new.code;
    let allowed = ranges_of_strings(code);
    for (at, token) in code.iter().enumerate() {
        let is_of_linkage = token.is("\"C\"") && at > 0 && code[at - 1].is("extern");
        let is_allowed = is_of_linkage || allowed.iter().any(|range| range.contains(&at));
        if token.kind == Kind::Text && !is_allowed {
            let what = "a string other than of extern \"C\" and asm; take it out";
            return Err(pair.reject(Gate::Directives, token.line, what));
        }
    }
    type Key = fn(&[Token], usize) -> Option<()>;
    let rules: [(Key, &str); 8] = [
        (is_attribute, "an [[attribute]]; take it out"),
        (
            is_function_pointer,
            "a pointer to a function; call the function by its name",
        ),
        (
            is_fixed_address,
            "an address that is a number; use a parameter's",
        ),
        (
            is_far_aligned,
            "an alignment above 256; 16 is the widest access",
        ),
        (is_named_asm, "an asm(\"name\"); take it out"),
        (
            is_long_double,
            "a long double, which is another type on another machine; use double",
        ),
        (
            is_question,
            "a question about an expression, which compilers answer differently; write the type \
             or the number",
        ),
        (
            is_not_called,
            "a name of CUDA's that is not called; choose another name for what is your own",
        ),
    ];
    for (key, what) in rules {
        if let Some(((), line)) = first_new(&pair.old.code, code, key) {
            return Err(pair.reject(Gate::Directives, line, what));
        }
    }
    Ok(())
}

/// Tokens between the brackets of `asm(...)` and `static_assert(...)`.
fn ranges_of_strings(code: &[Token]) -> Vec<Range<usize>> {
    let mut ranges = assembly::statements(code);
    for (at, token) in code.iter().enumerate() {
        if token.is("static_assert") {
            ranges.push(at..assembly::end_of_brackets(code, at + 1));
        }
    }
    ranges
}

fn texts<'a, const N: usize>(tokens: &[Token<'a>], at: usize) -> [&'a str; N] {
    std::array::from_fn(|k| tokens.get(at + k).map_or("", |token| token.text))
}

fn is_attribute(tokens: &[Token], at: usize) -> Option<()> {
    (texts(tokens, at) == ["[", "["]).then_some(())
}

/// `(*)(`, `(*name)(`, `(&name)(`, `::*`.
fn is_function_pointer(tokens: &[Token], at: usize) -> Option<()> {
    let is_name = |k: usize| tokens.get(at + k).is_some_and(|t| t.is_word());
    let found = match texts(tokens, at) {
        ["(", "*" | "&", ")", "(", _] => true,
        ["(", "*" | "&", _, ")", "("] => is_name(2),
        ["::", "*", ..] => true,
        _ => false,
    };
    found.then_some(())
}

/// `(u32*)0x1234`.
fn is_fixed_address(tokens: &[Token], at: usize) -> Option<()> {
    let [star, bracket, value] = texts(tokens, at);
    let value = (star == "*" && bracket == ")").then(|| number(value))??;
    (value > 0).then_some(())
}

/// `alignas(4096)`.
fn is_far_aligned(tokens: &[Token], at: usize) -> Option<()> {
    if !matches!(tokens[at].text, "alignas" | "__align__") {
        return None;
    }
    let inside = &tokens[at..assembly::end_of_brackets(tokens, at + 1)];
    let is_far = |token: &Token| number(token.text).is_some_and(|n| n > MAX_ALIGNED);
    let is_shifted = inside.iter().any(|t| matches!(t.text, "<<" | "+"));
    (is_shifted || inside.iter().any(is_far)).then_some(())
}

/// `int x asm("name")`: what follows a declarator rather than begins a statement.
fn is_named_asm(tokens: &[Token], at: usize) -> Option<()> {
    if !tokens[at].is("asm") || at == 0 {
        return None;
    }
    let before = tokens[at - 1].text;
    (!matches!(before, ";" | "{" | "}" | ")" | ":" | "else" | "do")).then_some(())
}

/// `long double`, `1.0L`.
fn is_long_double(tokens: &[Token], at: usize) -> Option<()> {
    let is_long = match texts(tokens, at) {
        ["long", "double"] | ["double", "long"] => true,
        [text, _] => {
            let is_real = !text.starts_with("0x") && text.contains(['.', 'e', 'E']);
            tokens[at].kind == Kind::Number && is_real && text.ends_with(['l', 'L'])
        }
    };
    is_long.then_some(())
}

/// `decltype`, `noexcept`, and `sizeof` of what is called: whether it has a meaning, and which,
/// depends on headers.
fn is_question(tokens: &[Token], at: usize) -> Option<()> {
    match tokens[at].text {
        "decltype" | "noexcept" => Some(()),
        "sizeof" | "alignof" => {
            let inside = &tokens[at + 1..assembly::end_of_brackets(tokens, at + 1)];
            let is_number = |token: &Token| token.kind == Kind::Number;
            let is_call = inside.iter().skip(1).any(|token| token.is("("));
            (inside.is_empty() || is_call || inside.iter().any(is_number)).then_some(())
        }
        _ => None,
    }
}

/// The name of a function of CUDA's without a bracket behind it: something else of this name, which
/// may hide the function on a card and not where kernels are emulated, or its address.
fn is_not_called(tokens: &[Token], at: usize) -> Option<()> {
    let is_called = tokens.get(at + 1).is_some_and(|token| token.is("("));
    (tokens[at].is_word() && names::is_called(tokens[at].text) && !is_called).then_some(())
}

/// Declarations that are none of a kernel file's.
pub fn check_items(pair: &Pair, items: &[Item], old: &[Item]) -> Result<(), Rejection> {
    let known: Vec<_> = old.iter().map(|item| item.spelling(pair.old)).collect();
    if let Some(item) = items.iter().find(|item| names::is_reserved(item.name)) {
        let line = item.tokens(pair.new).first().map_or(1, |token| token.line);
        let what = format!("{} is a compiler's name; choose another", item.name);
        return Err(pair.reject(Gate::Directives, line, what));
    }
    for item in items.iter().filter(|item| item.shape == Shape::Other) {
        if known.contains(&item.spelling(pair.new)) {
            continue;
        }
        let tokens = item.tokens(pair.new);
        let line = tokens.first().map_or(1, |token| token.line);
        if tokens.first().is_some_and(|token| token.is("asm")) {
            let what = "asm outside a function; take it out";
            return Err(pair.reject(Gate::Assembly, line, what));
        }
        let text: Vec<&str> = tokens.iter().take(6).map(|token| token.text).collect();
        let what = format!(
            "`{} ...` declares a variable outside functions, or what a kernel file may not; pass \
             values as arguments, write constants as `constexpr u32 NAME = 3;` or #define, and \
             helpers as `__device__ __forceinline__ TYPE name(...) {{...}}`",
            text.join(" ")
        );
        return Err(pair.reject(Gate::Conditions, line, what));
    }
    Ok(())
}
