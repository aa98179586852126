//! The lexer on what it takes, on what it refuses, and on noise.

use super::*;

fn words(text: &str) -> Vec<&str> {
    let lexed = lex(text).unwrap();
    lexed.code.iter().map(|token| token.text).collect()
}

fn refused(text: &str) -> String {
    check_characters(text)
        .and_then(|()| lex(text).map(drop))
        .unwrap_err()
        .to_string()
}

#[test]
fn tokens_are_those_of_the_language() {
    assert_eq!(
        words("a+++b->c.*d<<=1e-5f ...x::y 0x1fu .5 1'000 a>>b /* c */ '\\0' \"s\\n\" // end"),
        [
            "a", "++", "+", "b", "->", "c", ".*", "d", "<<=", "1e-5f", "...", "x", "::", "y",
            "0x1fu", ".5", "1'000", "a", ">>", "b", "'\\0'", "\"s\\n\""
        ]
    );
    assert!(words("").is_empty());
    let lexed = lex("a\n/* b\nc */ d\n  e").unwrap();
    let lines: Vec<usize> = lexed.code.iter().map(|token| token.line).collect();
    assert_eq!(lines, [1, 3, 4]);
}

#[test]
fn directives_stand_apart_from_code() {
    let text = "int a;\n  #define F(x) \\\n    (x + 1)  // one more\nint b;\n#\n#if A // no\n";
    let lexed = lex(text).unwrap();
    assert_eq!(lexed.code.len(), 6);
    let names: Vec<_> = lexed.directives.iter().map(|d| (d.name, d.at)).collect();
    assert_eq!(names, [("define", 3), ("", 6), ("if", 6)]);
    let body: Vec<&str> = lexed.directives[0].tokens.iter().map(|t| t.text).collect();
    assert_eq!(body, ["F", "(", "x", ")", "(", "x", "+", "1", ")"]);
    assert_eq!(lexed.directives[2].line, 6);
    let all: Vec<&str> = lexed.all().iter().map(|t| t.text).collect();
    assert_eq!(all[..6], ["int", "a", ";", "#", "define", "F"]);
}

#[test]
fn what_hides_something_is_refused() {
    for (text, line, what) in [
        ("a\n#define A b ## c\n", 2, "join names"),
        ("#define A(x) #x\n", 1, "join names"),
        ("ab\\\nc", 1, "backslash"),
        ("// a \\\nb", 1, "hides the next line"),
        ("// a \\ \nb", 1, "hides the next line"),
        ("#define A a\\\nb", 1, "backslash"),
        ("#define A a \\ \nb", 1, "backslash"),
        ("#if A \\\n&& B\n#endif", 1, "backslash"),
        ("\\u0061sm(x);", 1, "backslash"),
        ("\n\n%:define A", 3, "digraph"),
        ("a<:0:>", 1, "digraph"),
        ("R\"(a)\"", 1, "prefix"),
        ("u8\"a\"", 1, "prefix"),
        ("\"a\"_s", 1, "suffix"),
        ("\"a", 1, "without an end"),
        ("\"a\n\"", 1, "without an end"),
        ("\"\\x63lock\"", 1, "escape"),
        ("\"cl\\\nock\"", 1, "escape"),
        ("/* a", 1, "without an end"),
        ("/*\n#include \"a.cuh\"\n*/", 2, "begins with #"),
        ("#define A /*\n*/ b", 1, "goes over lines"),
        ("int a; # define A", 1, "first thing"),
        ("/* */ #define A", 1, "first thing"),
        ("a$b", 1, "none of C++'s"),
        ("а", 1, "none of C++'s"), // Cyrillic
        ("a @ b", 1, "none of C++'s"),
        ("// a\u{202e}b", 1, "U+202E"),
        ("a\rb", 1, "U+000D"),
        ("a\0b", 1, "U+0000"),
        ("a\n// ??/\nb", 2, "trigraph"),
        ("#1 \"a\"", 1, "a directive begins with a word"),
    ] {
        let said = refused(text);
        assert!(said.starts_with(&format!("{line}: ")), "{text:?}: {said}");
        assert!(said.contains(what), "{text:?}: {said}");
    }
}

/// Whatever the text, the lexer ends and every token is a piece of it on its line.
#[test]
fn noise_does_not_stop_the_lexer() {
    let pieces = [
        "a", "#", "define", "\n", "\\", "\"", "'", "/*", "*/", "//", " ", "<:", "1e", "+", "??",
        "/", "é", "\u{202e}", "{", "}", "(", ")", "asm", "\t", "0x", ".", "if", "R\"", ";", "*",
    ];
    let mut state = 7u64;
    let mut random = |below: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 11) as usize % below
    };
    let mut taken = 0;
    for _ in 0..20_000 {
        let length = random(24);
        let text: String = (0..length).map(|_| pieces[random(pieces.len())]).collect();
        let _ = check_characters(&text);
        if let Ok(lexed) = lex(&text) {
            taken += 1;
            let lines: Vec<&str> = text.split('\n').collect();
            for token in &lexed.code {
                assert!(lines[token.line - 1].contains(token.text), "{text:?}");
            }
        }
    }
    assert!(taken > 1000, "{taken}");
}
