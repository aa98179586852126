//! New definitions of macros, and why the other gates may read text that is not expanded.
//!
//! A gate that looks at tokens as they are written is right about the program that is compiled
//! because of the following:
//!
//! - No `#`, `##`, `#undef`, `_Pragma`, `__VA_ARGS__` (lexer, [`super::directives`]): a macro
//!   cannot make a token that is not spelled in some kernel file. So a name that is forbidden
//!   anywhere in the text, in definitions and in branches that are not taken too, is nowhere in the
//!   program.
//! - A new definition takes no parameters and is a whole expression: brackets balance, no
//!   `;`, no braces, no assignment, no string, no declaration (two words side by side), no word
//!   that declares or attributes. It does not begin with `[` and is not empty. So no use of it
//!   begins, ends or splits a statement, a declaration, an attribute, an `asm` or a list of
//!   parameters, and what these look like unexpanded is what they are.
//! - A macro's name has capitals only and, unless the file defined it before, stands in no file
//!   that is ever compiled together with this one: so it changes no keyword, function, parameter,
//!   field or constant there, and nothing in what Rust adds behind the file.
//! - Definitions of the baseline are what they were, word by word, or new by these rules.
//!
//! What a macro can still hide is a number; [`Numbers`] looks through definitions for those.

use super::facts::{Pair, defined};
use super::names;
use super::tokens::{Directive, Kind, Token};
use crate::gates::{Gate, Rejection};
use std::collections::{HashMap, HashSet};

/// Tokens that one use may become.
const MAX_TOKENS: u64 = 4096;

/// New definitions of a file keep the rules above.
pub fn check(pair: &Pair) -> Result<(), Rejection> {
    let spelled = |directive: &Directive| -> Vec<String> {
        directive
            .tokens
            .iter()
            .map(|token| token.text.to_owned())
            .collect()
    };
    let is_definition = |directive: &&Directive| directive.name == "define";
    let old: HashSet<Vec<String>> = pair
        .old
        .directives
        .iter()
        .filter(is_definition)
        .map(spelled)
        .collect();
    let own: HashSet<&str> = pair.old.directives.iter().filter_map(defined).collect();
    for directive in pair.new.directives.iter().filter(is_definition) {
        if !old.contains(&spelled(directive)) {
            check_definition(pair, directive, &own)
                .map_err(|what| pair.reject(Gate::Directives, directive.line, what))?;
        }
    }
    check_growth(pair)
}

fn check_definition(pair: &Pair, directive: &Directive, own: &HashSet<&str>) -> Result<(), String> {
    let Some((name, body)) = directive.tokens.split_first() else {
        return Err("#define without a name; take it out".into());
    };
    let text = name.text;
    if !names::is_macro_name(text) {
        return Err(format!(
            "the macro {text} is not in capitals; write a function or rename it"
        ));
    }
    if names::is_guard(text) || text == "HAS_SM80" {
        return Err(format!("{text} is the build's own name; choose another"));
    }
    if !own.contains(text) && pair.facts.is_taken(pair, text) {
        return Err(format!(
            "{text} already means something in another place; choose another name"
        ));
    }
    let Some(first) = body.first() else {
        return Err(format!("the macro {text} is empty; give it a value"));
    };
    // `#define F(x)` has no blank; a value in brackets stands behind one.
    if first.is("(") && is_next_to(name, first) {
        return Err(format!(
            "the macro {text} takes parameters; write a __device__ function"
        ));
    }
    check_body(body).map_err(|what| format!("the macro {text} {what}"))
}

fn is_next_to(first: &Token, second: &Token) -> bool {
    first.text.as_ptr().wrapping_add(first.text.len()) == second.text.as_ptr()
}

/// A definition's body is one expression.
fn check_body(body: &[Token]) -> Result<(), String> {
    if body.first().is_some_and(|token| token.is("[")) {
        return Err("begins with [; write it out where it is used".into());
    }
    let mut open = Vec::new();
    for (at, token) in body.iter().enumerate() {
        match token.text {
            "(" => open.push(")"),
            "[" => open.push("]"),
            ")" | "]" if open.pop() != Some(token.text) => {
                return Err("has brackets that do not balance; balance them".into());
            }
            text if is_no_part_of_an_expression(token) => {
                return Err(format!("holds {text}; only an expression may be a macro"));
            }
            _ => {}
        }
        let next = body
            .get(at + 1)
            .filter(|next| next.is_word() && token.is_word());
        if let Some(next) = next {
            let are_types = names::TYPE_KEYWORDS.contains(token.text)
                && (names::TYPE_KEYWORDS.contains(next.text) || token.is("const"));
            if !are_types {
                return Err(format!(
                    "holds {} {}, which is no expression; write it out where it is used",
                    token.text, next.text
                ));
            }
        }
        let is_pointer = token.is("(") && body.get(at + 1).is_some_and(|next| next.is("*"));
        if is_pointer {
            return Err("holds (*, which may declare; write it out where it is used".into());
        }
    }
    match open.is_empty() {
        true => Ok(()),
        false => Err("has brackets that do not balance; balance them".into()),
    }
}

fn is_no_part_of_an_expression(token: &Token) -> bool {
    const WORDS: [&str; 22] = [
        "struct",
        "union",
        "class",
        "enum",
        "typedef",
        "using",
        "template",
        "typename",
        "operator",
        "return",
        "if",
        "else",
        "for",
        "while",
        "do",
        "switch",
        "case",
        "break",
        "continue",
        "auto",
        "constexpr",
        "inline",
    ];
    let is_effect = matches!(
        token.text,
        ";" | "{"
            | "}"
            | "..."
            | "::"
            | "="
            | "++"
            | "--"
            | "+="
            | "-="
            | "*="
            | "/="
            | "%="
            | "&="
            | "|="
            | "^="
            | "<<="
            | ">>="
    );
    let is_word_apart = token.is_word()
        && (WORDS.contains(&token.text)
            || token.is("asm")
            || token.is("begin_kernel")
            || names::is_size(token.text)
            || (names::is_reserved(token.text) && !names::is_arithmetic(token.text)));
    token.kind == Kind::Text || is_effect || is_word_apart
}

/// What macros without parameters become, through the definitions of a program as the candidate has
/// them.
pub struct Numbers<'a> {
    bodies: HashMap<&'a str, Vec<Vec<Token<'a>>>>,
}

impl<'a> Numbers<'a> {
    /// Of all definitions that a changed file may see: its own, and those of files that are
    /// compiled together with it. Other files may define the same name as something else.
    pub fn of(pair: &Pair<'a>) -> Self {
        let mut bodies: HashMap<&'a str, Vec<Vec<Token<'a>>>> = HashMap::new();
        let program = pair.program();
        let texts = program.iter().filter_map(|file| pair.text(file));
        for directive in texts.flat_map(|lexed| &lexed.directives) {
            if let Some(name) = defined(directive) {
                bodies
                    .entry(name)
                    .or_default()
                    .push(directive.tokens[1..].to_vec());
            }
        }
        Self { bodies }
    }

    /// The value of a number, or the largest that a macro may have if it is only a number.
    pub fn value(&self, token: &Token) -> Option<u64> {
        self.value_within(token, 8)
    }

    fn value_within(&self, token: &Token, deep: usize) -> Option<u64> {
        if token.kind == Kind::Number {
            return number(token.text);
        }
        let bodies = self.bodies.get(token.text).filter(|_| deep > 0)?;
        let values = bodies.iter().filter_map(|body| {
            // Through brackets, casts and signs: the largest number of a short expression.
            let inner = body
                .iter()
                .filter(|t| t.is_word() || t.kind == Kind::Number);
            inner.filter_map(|t| self.value_within(t, deep - 1)).max()
        });
        values.max()
    }
}

/// The value of a whole number, suffix or not; of others the whole part.
pub fn number(text: &str) -> Option<u64> {
    let text = text.replace('\'', "").to_ascii_lowercase();
    let (digits, radix) = match text.as_bytes() {
        [b'0', b'x', ..] => (&text[2..], 16),
        [b'0', b'b', ..] => (&text[2..], 2),
        [b'0', b'0'..=b'7', ..] => (&text[1..], 8),
        _ => (&text[..], 10),
    };
    let end = digits
        .find(|c: char| !c.is_digit(radix))
        .unwrap_or(digits.len());
    if radix == 10 && digits[end..].starts_with(['.', 'e']) {
        let number = digits.trim_end_matches(['f', 'l']);
        return number.parse::<f64>().ok().map(|value| value as u64);
    }
    u64::from_str_radix(&digits[..end], radix).ok()
}

/// No use becomes an enormous text.
fn check_growth(pair: &Pair) -> Result<(), Rejection> {
    let numbers = Numbers::of(pair);
    let mut known: HashMap<&str, u64> = HashMap::new();
    // Each round looks one definition deeper; what still grows after that many is endless.
    for _ in 0..=64 {
        let mut next = HashMap::new();
        for (name, bodies) in &numbers.bodies {
            let of = |body: &Vec<Token>| {
                let tokens = body
                    .iter()
                    .map(|token| known.get(token.text).copied().unwrap_or(1));
                tokens.fold(0u64, u64::saturating_add)
            };
            next.insert(*name, bodies.iter().map(of).max().unwrap_or(0));
        }
        let largest = next.iter().max_by_key(|(_, tokens)| **tokens);
        if let Some((name, _)) = largest.filter(|(_, tokens)| **tokens > MAX_TOKENS) {
            let line = pair
                .new
                .directives
                .iter()
                .find(|d| defined(d) == Some(*name));
            let line = line.map_or(1, |directive| directive.line);
            return Err(pair.reject(
                Gate::Directives,
                line,
                format!("the macro {name} becomes more than {MAX_TOKENS} tokens; shorten it"),
            ));
        }
        if next == known {
            break;
        }
        known = next;
    }
    Ok(())
}
