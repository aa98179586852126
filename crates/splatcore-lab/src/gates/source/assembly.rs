//! `Gate::Assembly`: inline assembly is the baseline's, to the letter. The emulator, which checks
//! races, cannot run any other.

use super::facts::Pair;
use super::tokens::Token;
use crate::gates::{Gate, Rejection};
use std::collections::HashSet;
use std::ops::Range;

/// The gate.
pub fn check(pair: &Pair) -> Result<(), Rejection> {
    let text = |code: &[Token], range: Range<usize>| -> Vec<String> {
        let tokens = code[range].iter();
        tokens.map(|token| token.text.to_owned()).collect()
    };
    let old = &pair.old.code;
    let known: HashSet<_> = statements(old).into_iter().map(|r| text(old, r)).collect();
    let code = &pair.new.code;
    for range in statements(code) {
        let line = code[range.start].line;
        let within = |at: usize| at > range.start && at < range.end;
        if pair.new.directives.iter().any(|d| within(d.at)) {
            let what = "a directive within asm; take it out";
            return Err(pair.reject(Gate::Assembly, line, what));
        }
        if !known.contains(&text(code, range)) {
            let what = "new inline assembly, which the emulator cannot run to check races; call \
                        a function of the headers that are there, or write C++";
            return Err(pair.reject(Gate::Assembly, line, what));
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
