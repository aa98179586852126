//! What ranks other than rank 0 say: nothing but what went wrong with them, on stderr, with their
//! number. Rank 0 says the rest for all.
//!
//! `--cards` reads what its processes say ([`pass_on`]). A rank that a launcher started has a
//! process of its own for that ([`super::lowered`]), whoever in the rank says it.

use std::io::{BufRead, Write};

/// How lines begin with which the system or a library ends a process.
const LAST_WORDS: [&str; 5] = [
    "error",
    "memory allocation of",
    "fatal runtime error",
    "terminate called",
    "  what():",
];

/// What this rank itself says of what goes on in it: a line that passes.
pub fn line(rank: usize, text: &str) -> String {
    format!("rank {rank}: {text}")
}

/// Reads lines to their end and writes those that say what went wrong, each with the rank.
pub fn pass_on(rank: usize, lines: impl BufRead, to: &mut impl Write) {
    let own = line(rank, "");
    // Behind the place of a panic come its message, of any number of lines, and a backtrace.
    let mut panicked = false;
    // Not all need be UTF-8: libraries print paths.
    for bytes in lines.split(b'\n').map_while(Result::ok) {
        let text = String::from_utf8_lossy(&bytes);
        panicked |= text.starts_with("thread '");
        let is_wrong = LAST_WORDS.iter().any(|words| text.starts_with(words));
        let written = match text.strip_prefix(&own) {
            Some(_) => writeln!(to, "{text}"),
            None if panicked || is_wrong || text.contains(" NCCL ") => writeln!(to, "{own}{text}"),
            None => Ok(()),
        };
        // Lines are read to their end, or who writes them would wait.
        drop(written);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_went_wrong_passes_with_the_rank() {
        let said = "backend: cuda\nwarning: of the photos\nresuming at step 5\n\
                    error: no memory\n\
                    node1:7:9 [1] NCCL WARN Call to connect \u{e9} failed\n\
                    rank 3: memory: the card's is short\nrank 0 gave 5 MiB\n\
                    memory allocation of 8 bytes failed\n\
                    thread 'main' panicked at src/a.rs:1:2:\nassertion failed\n  left: 1\n";
        // A byte that is no UTF-8 ends nothing.
        let said: Vec<u8> = said.bytes().filter(|&byte| byte != 0xa9).collect();
        let mut passed = Vec::new();
        pass_on(3, &*said, &mut passed);
        assert_eq!(
            String::from_utf8(passed).unwrap(),
            "rank 3: error: no memory\n\
             rank 3: node1:7:9 [1] NCCL WARN Call to connect \u{fffd} failed\n\
             rank 3: memory: the card's is short\n\
             rank 3: memory allocation of 8 bytes failed\n\
             rank 3: thread 'main' panicked at src/a.rs:1:2:\n\
             rank 3: assertion failed\n\
             rank 3:   left: 1\n"
        );
    }
}
