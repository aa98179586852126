//! `Gate::Assembly`: where inline assembly stands and how it is written; what it says is read by
//! [`super::ptx`].

use super::facts::Pair;
use super::ptx;
use super::tokens::{Kind, Token};
use crate::gates::{Gate, Rejection};
use std::collections::HashSet;
use std::ops::Range;

/// The gate: each statement is the baseline's, or of known opcodes.
pub fn check(pair: &Pair) -> Result<(), Rejection> {
    let known: HashSet<String> = statements(&pair.old.code)
        .into_iter()
        .map(|range| template(&pair.old.code[range]).0)
        .collect();
    let code = &pair.new.code;
    for range in statements(code) {
        let line = code[range.start].line;
        let wrong = |what: String| Err(pair.reject(Gate::Assembly, line, what));
        if let Err(what) = check_form(pair, range.clone()) {
            return wrong(what);
        }
        let (text, _) = template(&code[range]);
        if known.contains(&text) {
            continue;
        }
        if let Err(what) = ptx::check(&text) {
            return wrong(what);
        }
    }
    Ok(())
}

/// The `asm` statements of a code: from the word to behind its closing bracket.
pub fn statements(code: &[Token]) -> Vec<Range<usize>> {
    let words = code.iter().enumerate().filter(|(_, token)| token.is("asm"));
    let ends = words.map(|(at, _)| {
        let open = at + 1 + usize::from(code.get(at + 1).is_some_and(|t| t.is("volatile")));
        at..end_of_brackets(code, open)
    });
    ends.collect()
}

/// Behind the bracket that closes the one at `open`; `open` if there is none.
pub fn end_of_brackets(code: &[Token], open: usize) -> usize {
    let mut depth = 0usize;
    for (at, token) in code.iter().enumerate().skip(open) {
        match token.text {
            "(" | "[" | "{" => depth += 1,
            ")" | "]" | "}" => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth == 0 {
            return if at == open { open } else { at + 1 };
        }
    }
    code.len().max(open)
}

/// The text of the strings at the head of a statement, and the tokens behind them.
pub fn template<'t, 'a>(statement: &'t [Token<'a>]) -> (String, &'t [Token<'a>]) {
    let from = statement
        .iter()
        .position(|token| token.is("("))
        .map_or(statement.len(), |at| at + 1);
    let strings = statement[from..]
        .iter()
        .take_while(|token| token.kind == Kind::Text);
    let count = strings.clone().count();
    let text: String = strings.map(|token| content(token)).collect();
    (text, &statement[from + count..])
}

/// A string without its quotes; the escapes are line breaks and blanks.
fn content(token: &Token) -> String {
    token
        .text
        .trim_matches('"')
        .replace("\\n", "\n")
        .replace("\\t", "\t")
}

/// `asm [volatile] ("text" : "=r"(out) : "r"(in) : "memory");`
fn check_form(pair: &Pair, range: Range<usize>) -> Result<(), String> {
    let statement = &pair.new.code[range.clone()];
    let (text, rest) = template(statement);
    let within = |at: usize| at > range.start && at < range.end;
    if pair
        .new
        .directives
        .iter()
        .any(|directive| within(directive.at))
    {
        return Err("a directive within asm; write the statement once a branch".into());
    }
    if text.trim().is_empty() {
        return Err("asm without a string of instructions; take it out".into());
    }
    if !rest
        .first()
        .is_some_and(|token| matches!(token.text, ":" | "::" | ")"))
    {
        return Err("asm of more than strings; write the instructions out".into());
    }
    let end = pair.new.code.get(range.end);
    if !end.is_some_and(|token| token.is(";")) {
        return Err("asm that is no statement; end it with ;".into());
    }
    for (at, token) in rest
        .iter()
        .enumerate()
        .filter(|(_, t)| t.kind == Kind::Text)
    {
        let is_operand = rest.get(at + 1).is_some_and(|next| next.is("("));
        let text = content(token);
        let is_known = match is_operand {
            true => is_constraint(&text),
            false => text == "memory",
        };
        if !is_known {
            return Err(format!(
                "asm with \"{text}\"; operands are of h, r, l, f, d, n"
            ));
        }
    }
    Ok(())
}

/// `=r`, `+l`, `n`, `0`.
fn is_constraint(text: &str) -> bool {
    let letter = text.trim_start_matches(['=', '+', '&']);
    text.len() - letter.len() <= 2
        && letter.len() == 1
        && letter.starts_with(['h', 'r', 'l', 'f', 'd', 'q', 'n', '0', '1', '2', '3'])
}
