//! `Gate::Conditions`: nothing that tells tests from timing, and no state that outlives a launch.

use super::facts::{Pair, asked, asked_whether, defined, first_new};
use super::items::{Item, Shape};
use super::macros::Numbers;
use super::names;
use super::tokens::{Directive, Kind, Lexed, Token};
use crate::gates::{Gate, Rejection};
use std::collections::HashSet;

/// Literals up to this are tile and warp sizes.
const MAX_SMALL: u64 = 64;

/// The gate.
pub fn check(pair: &Pair, items: &[Item], old: &[Item]) -> Result<(), Rejection> {
    check_words(pair)?;
    check_asked(pair)?;
    check_groups(pair, items, old)?;
    check_inside(pair, items)?;
    check_constants(pair, old)?;
    check_sizes(pair)
}

/// No more uses of the build's names and of words for state than there were.
fn check_words(pair: &Pair) -> Result<(), Rejection> {
    let (old, new) = (pair.old.all(), pair.new.all());
    let guards = |tokens: &[Token], at: usize| {
        let token = &tokens[at];
        (token.is_word() && names::is_guard(token.text)).then(|| token.text.to_owned())
    };
    if let Some((word, line)) = first_new(&old, &new, guards) {
        let what = format!("a new use of {word}; a kernel is the same wherever it runs");
        return Err(pair.reject(Gate::Conditions, line, what));
    }
    let state = |tokens: &[Token], at: usize| {
        let token = &tokens[at];
        let is_of_asm = token.is("volatile") && at > 0 && tokens[at - 1].is("asm");
        let counts = names::STATE.contains(token.text) && !is_of_asm;
        (token.is_word() && counts).then(|| token.text.to_owned())
    };
    if let Some((word, line)) = first_new(&old, &new, state) {
        let what = match &word[..] {
            "volatile" | "store_same" => format!(
                "a new use of {word}, which hides races from the checks; use barriers or atomics"
            ),
            _ => format!("a new use of {word}: state outlives the launch; use a local variable"),
        };
        return Err(pair.reject(Gate::Conditions, line, what));
    }
    check_counters(pair)
}

/// Of the counters that outlive a frame, kernels use those that they used before: these tell a
/// training from a test.
fn check_counters(pair: &Pair) -> Result<(), Rejection> {
    let near =
        |tokens: &[Token], at: usize| tokens.get(at).map_or("", |token| token.text).to_owned();
    let field = |tokens: &[Token], at: usize| {
        let is_access = tokens[at].is("counters") && near(tokens, at + 1) == "->";
        let name = near(tokens, at + 2);
        (is_access && names::LASTING.contains(&name[..])).then_some(name)
    };
    let old = &pair.old.code;
    let known: HashSet<String> = (0..old.len()).filter_map(|at| field(old, at)).collect();
    let other =
        |tokens: &[Token], at: usize| field(tokens, at).filter(|name| !known.contains(name));
    let pointed = |tokens: &[Token], at: usize| {
        let is_pointer = tokens[at].is("counters") && near(tokens, at + 1) != "->";
        is_pointer.then(|| near(tokens, at))
    };
    let new = &pair.new.code;
    match first_new(old, new, other).or_else(|| first_new(old, new, pointed)) {
        None => Ok(()),
        Some((name, line)) => {
            let what = format!(
                "a new use of {name}, which the device counts over frames; a kernel is the same in \
                 each"
            );
            Err(pair.reject(Gate::Conditions, line, what))
        }
    }
}

/// New conditions ask for macros of kernel files and for the build's constants only: other names
/// are a compiler's or a header's.
fn check_asked(pair: &Pair) -> Result<(), Rejection> {
    let mut groups = 0usize;
    let mut own: HashSet<&str> = HashSet::new();
    for directive in &pair.new.directives {
        let facts = pair.facts;
        let wrong = |word: &str, what: &str| {
            let what = format!("a condition on {word}, {what}");
            Err(pair.reject(Gate::Conditions, directive.line, what))
        };
        let whether = asked_whether(directive);
        if let Some(word) = whether
            .iter()
            .find(|word| !facts.asked_whether.contains(*word))
        {
            return wrong(
                word,
                "which no kernel asks for; use #if of a macro with a value",
            );
        }
        let is_known = |word: &&str| {
            let is_value = facts.asked.contains(word) || facts.macros.contains(word);
            is_value || own.contains(word) || whether.contains(word)
        };
        if let Some(word) = asked(directive).into_iter().find(|word| !is_known(word)) {
            return wrong(
                word,
                "which is not defined above; #define it, outside conditions",
            );
        }
        match directive.name {
            "endif" => groups = groups.saturating_sub(1),
            _ if directive.opens() => groups += 1,
            _ => {}
        }
        if groups == 0 {
            own.extend(defined(directive));
        }
    }
    Ok(())
}

/// A conditional group on what only the build knows, and what emulated kernels take of it.
#[derive(PartialEq, Eq)]
struct Guarded {
    within: String,
    spelling: Vec<String>,
    line: usize,
}

/// Groups on guards are those of the baseline, in its order, in the same function, with the same
/// text for emulated kernels.
fn check_groups(pair: &Pair, items: &[Item], old: &[Item]) -> Result<(), Rejection> {
    let old = guarded(pair.old, old);
    let mut left = old.iter();
    for group in guarded(pair.new, items) {
        let same = |one: &Guarded| one.within == group.within && one.spelling == group.spelling;
        if !left.any(same) {
            return Err(pair.reject(
                Gate::Conditions,
                group.line,
                "a condition on the build that is not where, or as, it was; leave it, and its \
                 emulated branch, alone",
            ));
        }
    }
    Ok(())
}

fn guarded(lexed: &Lexed, items: &[Item]) -> Vec<Guarded> {
    let is_of_compilers = |word: &str| names::is_guard(word) && word != "COUNT";
    let mut groups = Vec::new();
    for (at, first) in lexed
        .directives
        .iter()
        .enumerate()
        .filter(|(_, d)| d.opens())
    {
        let branches = branches(&lexed.directives[at..]);
        let tokens = || branches.iter().flat_map(|branch| &branch.tokens);
        if !tokens().any(|token| is_of_compilers(token.text)) {
            continue;
        }
        let holds = |item: &&Item| item.range.start < first.at && first.at < item.range.end;
        let within = items.iter().find(holds);
        let mut spelling: Vec<String> = Vec::new();
        for branch in &branches {
            spelling.extend(["#", branch.name].map(str::to_owned));
            spelling.extend(branch.tokens.iter().map(|token| token.text.to_owned()));
        }
        let emulated = match (first.name, first.tokens.first().map(|token| token.text)) {
            ("ifdef", Some("EMULATED")) => branches.first().zip(branches.get(1)),
            ("ifndef", Some("EMULATED")) if branches.len() > 2 => {
                branches.get(1).zip(branches.get(2))
            }
            _ => None,
        };
        if let Some((from, to)) = emulated {
            let code = &lexed.code[from.at..to.at];
            spelling.extend(code.iter().map(|token| token.text.to_owned()));
        }
        groups.push(Guarded {
            within: within.map_or("", |item| item.name).to_owned(),
            spelling,
            line: first.line,
        });
    }
    groups
}

/// The directives of the group that the first one begins, its `#endif` among them.
fn branches<'d, 'a>(directives: &'d [Directive<'a>]) -> Vec<&'d Directive<'a>> {
    let mut branches = Vec::new();
    let mut depth = 0usize;
    for directive in directives.iter().filter(|d| d.is_conditional()) {
        if directive.opens() {
            depth += 1;
        }
        if depth == 1 {
            branches.push(directive);
        }
        if directive.name == "endif" {
            depth = depth.saturating_sub(1);
            if depth == 0 {
                break;
            }
        }
    }
    branches
}

/// Within functions nothing is declared for the device as a whole.
fn check_inside(pair: &Pair, items: &[Item]) -> Result<(), Rejection> {
    for item in items {
        let mut depth = 0usize;
        for token in item.tokens(pair.new) {
            match token.text {
                "{" | "(" | "[" => depth += 1,
                "}" | ")" | "]" => depth = depth.saturating_sub(1),
                "__device__" if depth > 0 && item.shape != Shape::Type => {
                    let what = "__device__ within a function: state outlives the launch; use a \
                                local variable, or move the function out";
                    return Err(pair.reject(Gate::Conditions, token.line, what));
                }
                "__shared__" if depth == 0 || item.shape == Shape::Type => {
                    let what = "__shared__ outside a function; declare it in the kernel";
                    return Err(pair.reject(Gate::Conditions, token.line, what));
                }
                _ => {}
            }
        }
    }
    Ok(())
}

/// Arrays of constants in device memory are indexed, never pointed to: the memory can be written,
/// and would keep it.
fn check_constants(pair: &Pair, old: &[Item]) -> Result<(), Rejection> {
    let constants: HashSet<&str> = old
        .iter()
        .filter(|item| item.shape == Shape::Other)
        .flat_map(|item| {
            let tokens = item.tokens(pair.old);
            let end = tokens
                .iter()
                .position(|t| matches!(t.text, "[" | "=" | ";" | "{"));
            end.and_then(|end| end.checked_sub(1))
                .map(|name| tokens[name].text)
                // Behind the parameters of an operator's function stands no name.
                .filter(|name| *name != ")")
        })
        .collect();
    let pointed = |tokens: &[Token], at: usize| {
        let near = |at: usize| tokens.get(at).map_or("", |token| token.text);
        let is_indexed = matches!(near(at + 1), "[" | ".");
        let is_pointed = matches!(near(at.wrapping_sub(1)), "&" | "*" | ")") || !is_indexed;
        (constants.contains(tokens[at].text) && is_pointed).then(|| tokens[at].text.to_owned())
    };
    if let Some((word, line)) = first_new(&pair.old.code, &pair.new.code, pointed) {
        let what = format!("{word} is a constant; read its elements, by index");
        return Err(pair.reject(Gate::Conditions, line, what));
    }
    Ok(())
}

/// No new comparison of a size with a literal that no tile has: it may be a test image's.
fn check_sizes(pair: &Pair) -> Result<(), Rejection> {
    let numbers = Numbers::of(pair);
    let of = |tokens: &[Token], aliases: &HashSet<String>, at: usize| {
        let (size, value) = comparison(tokens, aliases, &numbers, at)?;
        Some((size, tokens[at].text.to_owned(), value))
    };
    let old_aliases = aliases(&pair.old.code);
    let new_aliases = aliases(&pair.new.code);
    // The old text's names and the new one's, so that a renamed variable is no news.
    let names: HashSet<String> = old_aliases.union(&new_aliases).cloned().collect();
    let key = |tokens: &[Token], at: usize| of(tokens, &names, at);
    if let Some(((size, sign, value), line)) = first_new(&pair.old.code, &pair.new.code, key) {
        let what = format!(
            "{size} {sign} {value} may single out one image or scene; make the code right and fast \
             for all sizes"
        );
        return Err(pair.reject(Gate::Conditions, line, what));
    }
    let switched = |tokens: &[Token], at: usize| {
        let near = tokens[at..]
            .iter()
            .take(10)
            .take_while(|token| !token.is("{"));
        let is_size = |token: &Token| names::is_size(token.text) || names.contains(token.text);
        (tokens[at].is("switch") && near.into_iter().any(is_size)).then_some(())
    };
    if let Some(((), line)) = first_new(&pair.old.code, &pair.new.code, switched) {
        let what = "a switch over a size; make the code right and fast for all sizes";
        return Err(pair.reject(Gate::Conditions, line, what));
    }
    Ok(())
}

/// Local names of sizes: `u32 w = args.camera.width`, `w * h` and the like.
fn aliases(code: &[Token]) -> HashSet<String> {
    let mut found: HashSet<String> = HashSet::new();
    // Twice, for a name of a name.
    for _ in 0..2 {
        for (at, _) in code.iter().enumerate().filter(|(_, token)| token.is("=")) {
            let Some(name) = at
                .checked_sub(1)
                .map(|at| &code[at])
                .filter(|t| t.is_word())
            else {
                continue;
            };
            let value = code[at + 1..].iter().take(12);
            let value: Vec<&Token> = value
                .take_while(|t| !matches!(t.text, ";" | "," | "{" | "?"))
                .collect();
            let is_size = |t: &&Token| names::is_size(t.text) && !t.is("count");
            let is_plain =
                |t: &&Token| t.is_word() || matches!(t.text, "." | "->" | "(" | ")" | "*" | "&");
            let holds = value.iter().any(|t| is_size(t) || found.contains(t.text));
            if holds && value.iter().all(is_plain) {
                found.insert(name.text.to_owned());
            }
        }
    }
    found
}

/// The size and the literal that an operator at `at` compares, the literal above 64.
fn comparison(
    tokens: &[Token],
    aliases: &HashSet<String>,
    numbers: &Numbers,
    at: usize,
) -> Option<(String, u64)> {
    const SIGNS: [&str; 9] = ["==", "!=", "<", ">", "<=", ">=", "-", "^", "%"];
    if !SIGNS.contains(&tokens[at].text) {
        return None;
    }
    let is_size = |token: &&Token| names::is_size(token.text) || aliases.contains(token.text);
    let is_link = |token: &&Token| {
        let is_sign = matches!(token.text, "." | "->" | "(" | ")" | "[" | "]" | "*" | "::");
        token.is_word() || token.kind == Kind::Number || is_sign
    };
    let large = |token: Option<&Token>| {
        token
            .and_then(|token| numbers.value(token))
            .filter(|value| *value > MAX_SMALL)
    };
    let is_bracket = |token: &&Token| matches!(token.text, "(" | ")");
    let before = || tokens[..at].iter().rev();
    let behind = || tokens[at + 1..].iter();
    // The first operand that is no bracket, on either side.
    let left = large(before().find(|token| !is_bracket(token)));
    let right = large(behind().find(|token| !is_bracket(token)));
    let size_left = || before().take(12).take_while(is_link).find(is_size);
    let size_right = || behind().take(12).take_while(is_link).find(is_size);
    let found = |size: Option<&Token>, value: Option<u64>| Some((size?.text.to_owned(), value?));
    found(size_left(), right).or_else(|| found(size_right(), left))
}
