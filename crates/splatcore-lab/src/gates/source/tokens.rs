//! Tokens of kernel text: C++17 without the parts that only serve to hide something.
//!
//! The lexer refuses what compilers read in more than one way, or other than people do: line
//! splices outside macro definitions, trigraphs, digraphs, raw and prefixed strings, escapes that
//! spell letters, names with `$` or `\u`, directives that are not the first thing on their line. So
//! every token of the compiled program is spelled in the text as one piece, on one line.

use std::fmt;

/// What a token is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A name or a keyword.
    Word,
    /// A number with its suffix.
    Number,
    /// A string with its quotes.
    Text,
    /// A character with its quotes.
    Character,
    /// An operator or a bracket.
    Sign,
}

/// A token of the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Token<'a> {
    /// What it is.
    pub kind: Kind,
    /// Its spelling.
    pub text: &'a str,
    /// The line, from 1.
    pub line: usize,
}

impl Token<'_> {
    /// Whether it is this sign or word.
    pub fn is(&self, text: &str) -> bool {
        self.text == text
    }

    /// Whether it is a name or a keyword.
    pub fn is_word(&self) -> bool {
        self.kind == Kind::Word
    }
}

/// A preprocessor line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Directive<'a> {
    /// The word behind `#`; empty if there is none.
    pub name: &'a str,
    /// What follows the word.
    pub tokens: Vec<Token<'a>>,
    /// The line of the `#`, from 1.
    pub line: usize,
    /// How many tokens of code stand in front of it.
    pub at: usize,
}

impl Directive<'_> {
    /// Whether it begins, divides or ends a conditional group.
    pub fn is_conditional(&self) -> bool {
        matches!(
            self.name,
            "if" | "ifdef" | "ifndef" | "elif" | "else" | "endif"
        )
    }

    /// Whether it begins a conditional group.
    pub fn opens(&self) -> bool {
        matches!(self.name, "if" | "ifdef" | "ifndef")
    }
}

/// A text as tokens, comments left out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Lexed<'a> {
    /// Tokens outside directives.
    pub code: Vec<Token<'a>>,
    /// Directives in their order.
    pub directives: Vec<Directive<'a>>,
}

impl<'a> Lexed<'a> {
    /// All tokens in their order, those of directives among them.
    pub fn all(&self) -> Vec<Token<'a>> {
        let mut all = Vec::new();
        let mut from = 0;
        for directive in &self.directives {
            all.extend_from_slice(&self.code[from..directive.at]);
            from = directive.at;
            all.push(Token {
                kind: Kind::Sign,
                text: "#",
                line: directive.line,
            });
            all.push(Token {
                kind: Kind::Word,
                text: directive.name,
                line: directive.line,
            });
            all.extend_from_slice(&directive.tokens);
        }
        all.extend_from_slice(&self.code[from..]);
        all
    }
}

/// Why a text is not one that the lab reads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unreadable {
    /// The line, from 1.
    pub line: usize,
    /// What is wrong and what to do.
    pub what: String,
}

impl fmt::Display for Unreadable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.line, self.what)
    }
}

/// Operators of more than one character, longest first.
const LONG_SIGNS: [&str; 25] = [
    "<<=", ">>=", "...", "->*", "::", "->", "++", "--", "<<", ">>", "<=", ">=", "==", "!=", "&&",
    "||", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", ".*",
];

/// Other spellings of brackets and `#`.
const DIGRAPHS: [&str; 5] = ["<%", "%>", "<:", ":>", "%:"];

/// What `??` and one of these once stood for.
const TRIGRAPHS: &str = "=/'()!<>-";

struct Lexer<'a> {
    text: &'a str,
    at: usize,
    line: usize,
    // Nothing but blanks since the line began.
    fresh: bool,
}

/// The tokens of a text.
///
/// # Errors
/// If the text has something that only hides what it says; see the module.
pub fn lex(text: &str) -> Result<Lexed<'_>, Unreadable> {
    let mut lexer = Lexer {
        text,
        at: 0,
        line: 1,
        fresh: true,
    };
    let mut lexed = Lexed::default();
    while lexer.skip_blanks(None)? {
        if lexer.rest().starts_with('#') {
            let directive = lexer.directive(lexed.code.len())?;
            lexed.directives.push(directive);
        } else {
            lexed.code.push(lexer.token()?);
        }
    }
    Ok(lexed)
}

impl<'a> Lexer<'a> {
    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn wrong<T>(&self, what: impl Into<String>) -> Result<T, Unreadable> {
        Err(Unreadable {
            line: self.line,
            what: what.into(),
        })
    }

    /// Passes over blanks and comments; false at the end of the text. Within a directive
    /// (`directive` is its name) also at the end of its line, in front of the line break.
    fn skip_blanks(&mut self, directive: Option<&str>) -> Result<bool, Unreadable> {
        loop {
            let rest = self.rest();
            match rest.chars().next() {
                None => return Ok(false),
                Some('\n') if directive.is_some() => return Ok(false),
                Some('\n') => {
                    self.at += 1;
                    self.line += 1;
                    self.fresh = true;
                }
                Some(' ' | '\t') => self.at += 1,
                Some('\\') => self.splice(directive)?,
                _ if rest.starts_with("//") => self.line_comment()?,
                _ if rest.starts_with("/*") => self.block_comment(directive.is_some())?,
                _ => return Ok(true),
            }
        }
    }

    /// A backslash where a token may begin.
    fn splice(&mut self, directive: Option<&str>) -> Result<(), Unreadable> {
        let is_apart = self.text[..self.at].ends_with([' ', '\t', '(', ')', ',']);
        match directive {
            Some("define") if self.rest().starts_with("\\\n") && is_apart => {
                self.at += 2;
                self.line += 1;
                Ok(())
            }
            Some("define") => self.wrong(
                "a backslash in a macro is the last character of its line, behind a blank; mend it",
            ),
            _ => self.wrong("a backslash outside a macro or a string; take it out"),
        }
    }

    fn line_comment(&mut self) -> Result<(), Unreadable> {
        let line = self.rest().lines().next().unwrap_or_default();
        if line.trim_end().ends_with('\\') {
            return self.wrong("a comment that ends in a backslash hides the next line; end it");
        }
        self.at += line.len();
        Ok(())
    }

    fn block_comment(&mut self, in_directive: bool) -> Result<(), Unreadable> {
        let Some(length) = self.rest()[2..].find("*/") else {
            return self.wrong("a comment without an end; write */");
        };
        let comment = &self.rest()[..length + 4];
        if in_directive && comment.contains('\n') {
            return self.wrong("a comment within a directive goes over lines; put it in front");
        }
        for (number, line) in comment.lines().enumerate().skip(1) {
            if line.trim_start().starts_with('#') {
                self.line += number;
                return self.wrong("a line of a comment begins with #; write // in front of it");
            }
        }
        self.line += comment.matches('\n').count();
        self.at += comment.len();
        self.fresh = false;
        Ok(())
    }

    fn directive(&mut self, at: usize) -> Result<Directive<'a>, Unreadable> {
        if !self.fresh {
            return self.wrong("a # that is not the first thing on its line; take it out");
        }
        let line = self.line;
        self.at += 1;
        let mut directive = Directive {
            name: "",
            tokens: Vec::new(),
            line,
            at,
        };
        while self.skip_blanks(Some(directive.name))? {
            if self.rest().starts_with('#') {
                return self.wrong("# and ## join names unseen; write the names out");
            }
            let token = self.token()?;
            if directive.name.is_empty() {
                if !token.is_word() {
                    return self.wrong("a directive begins with a word; take the line out");
                }
                directive.name = token.text;
            } else {
                directive.tokens.push(token);
            }
        }
        Ok(directive)
    }

    fn token(&mut self) -> Result<Token<'a>, Unreadable> {
        self.fresh = false;
        let rest = self.rest();
        let mut characters = rest.chars();
        let first = characters.next().unwrap_or_default();
        let second = characters.next().unwrap_or_default();
        let (kind, length) = if is_of_word(first) && !first.is_ascii_digit() {
            (Kind::Word, rest.find(|c| !is_of_word(c)))
        } else if first.is_ascii_digit() || (first == '.' && second.is_ascii_digit()) {
            (Kind::Number, Some(length_of_number(rest)))
        } else if first == '"' || first == '\'' {
            let kind = if first == '"' {
                Kind::Text
            } else {
                Kind::Character
            };
            (kind, Some(self.length_of_literal(first)?))
        } else {
            (Kind::Sign, Some(self.length_of_sign(first)?))
        };
        let text = &rest[..length.unwrap_or(rest.len())];
        let behind = rest[text.len()..].chars().next();
        let is_glued = match kind {
            Kind::Word => matches!(behind, Some('"' | '\'')),
            Kind::Text | Kind::Character => behind.is_some_and(is_of_word),
            _ => false,
        };
        if is_glued {
            return self.wrong(
                "a string or character with a prefix or a suffix; write it plain, with blanks",
            );
        }
        let token = Token {
            kind,
            text,
            line: self.line,
        };
        self.at += text.len();
        Ok(token)
    }

    /// Bytes of a string or a character, quotes included.
    fn length_of_literal(&self, quote: char) -> Result<usize, Unreadable> {
        let mut inside = self.rest().char_indices().skip(1);
        while let Some((at, c)) = inside.next() {
            match c {
                '\n' => break,
                c if c == quote => return Ok(at + 1),
                '\\' => {
                    let escaped = inside.next().map(|(_, c)| c);
                    let is_known = matches!(escaped, Some('n' | 't'))
                        || quote == '\'' && matches!(escaped, Some('0' | '\'' | '\\'));
                    if !is_known {
                        return self.wrong("an escape other than \\n and \\t; write it out");
                    }
                }
                c if !(' '..='~').contains(&c) => {
                    return self.wrong("a string holds more than ASCII; write it in ASCII");
                }
                _ => {}
            }
        }
        self.wrong("a string or character without an end on its line; end it")
    }

    fn length_of_sign(&self, first: char) -> Result<usize, Unreadable> {
        let rest = self.rest();
        if DIGRAPHS.iter().any(|digraph| rest.starts_with(digraph)) {
            return self.wrong("a digraph; write the bracket or the operators with a blank");
        }
        if let Some(sign) = LONG_SIGNS.iter().find(|sign| rest.starts_with(*sign)) {
            return Ok(sign.len());
        }
        match first {
            '{' | '}' | '(' | ')' | '[' | ']' | ';' | ':' | ',' | '.' | '?' | '+' | '-' | '*'
            | '/' | '%' | '&' | '|' | '^' | '~' | '!' | '=' | '<' | '>' => Ok(1),
            '#' => self.wrong("a # that is not the first thing on its line; take it out"),
            _ => self.wrong(format!(
                "the character {} is none of C++'s; take it out",
                first.escape_default()
            )),
        }
    }
}

fn is_of_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

/// Bytes of a number: what the standard calls a preprocessing number.
fn length_of_number(rest: &str) -> usize {
    let bytes = rest.as_bytes();
    let mut at = 1;
    while let Some(&byte) = bytes.get(at) {
        let sign_of_exponent =
            matches!(byte, b'+' | b'-') && matches!(bytes[at - 1], b'e' | b'E' | b'p' | b'P');
        let separator = byte == b'\'' && bytes.get(at + 1).is_some_and(u8::is_ascii_alphanumeric);
        if !(byte == b'.' || is_of_word(byte as char) || sign_of_exponent || separator) {
            break;
        }
        at += 1;
    }
    at
}

/// Whether the characters of a whole text, comments included, are what they look like.
///
/// # Errors
/// With the first that is not.
pub fn check_characters(text: &str) -> Result<(), Unreadable> {
    for (number, line) in (1..).zip(text.split('\n')) {
        let wrong = |what: String| Err(Unreadable { line: number, what });
        if let Some(bad) = line.chars().find(|&c| hides(c)) {
            if line.find(hides) == line.strip_suffix('\r').map(str::len) {
                return wrong("the line ends as on Windows (CR LF); save the file with LF".into());
            }
            let code = bad as u32;
            return wrong(format!(
                "the character U+{code:04X} shows other than it reads; take it out"
            ));
        }
        let trigraph = line.match_indices("??").find(|(at, _)| {
            let behind = line[at + 2..].chars().next();
            behind.is_some_and(|c| TRIGRAPHS.contains(c))
        });
        if trigraph.is_some() {
            return wrong("?? begins a trigraph; put a blank behind each ?".into());
        }
    }
    Ok(())
}

/// Control characters (a carriage return alone ends a line for some compilers), and characters that
/// reorder or hide their neighbours.
fn hides(c: char) -> bool {
    let is_invisible = matches!(c as u32,
        0x7f..=0x9f | 0xad | 0x61c | 0x115f..=0x1160 | 0x180e | 0x200b..=0x200f
        | 0x2028..=0x202e | 0x2060..=0x206f | 0x3164 | 0xfe00..=0xfe0f | 0xfeff | 0xffa0
        | 0xfff9..=0xfffb | 0xe0000..=0xe0fff);
    is_invisible || (c < ' ' && c != '\t' && c != '\n')
}

#[cfg(test)]
#[path = "tests/tokens.rs"]
mod tests;
