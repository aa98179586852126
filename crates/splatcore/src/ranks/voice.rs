//! What ranks other than rank 0 say: nothing but what went wrong with them, on stderr, with their
//! number. Rank 0 says the rest for all.
//!
//! `--cards` reads what its processes say ([`pass_on`]). A rank that a launcher started reads what
//! it says itself ([`super::lowered`]), whoever in the process says it.

use std::io::{BufRead, Write};

/// What this rank itself says of what goes on in it: a line that passes.
pub fn line(rank: usize, text: &str) -> String {
    format!("rank {rank}: {text}")
}

/// Reads lines to their end and writes those that say what went wrong, each with the rank.
pub fn pass_on(rank: usize, lines: impl BufRead, to: &mut impl Write) {
    let own = line(rank, "");
    let mut panicked = false;
    for text in lines.lines().map_while(Result::ok) {
        // Behind the place of a panic comes its message.
        let is_message = std::mem::replace(&mut panicked, text.starts_with("thread '"));
        let is_wrong = text.starts_with("error") || text.contains(" NCCL ");
        let written = match text.strip_prefix(&own) {
            Some(_) => writeln!(to, "{text}"),
            None if is_message || is_wrong || panicked => writeln!(to, "{own}{text}"),
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
                    thread 'main' panicked at src/a.rs:1:2:\nindex out of bounds\nnote: run with\n\
                    node1:7:9 [1] NCCL WARN Call to connect failed\n\
                    rank 3: memory: the card's is short\nrank 0 gave 5 MiB\n";
        let mut passed = Vec::new();
        pass_on(3, said.as_bytes(), &mut passed);
        assert_eq!(
            String::from_utf8(passed).unwrap(),
            "rank 3: error: no memory\n\
             rank 3: thread 'main' panicked at src/a.rs:1:2:\n\
             rank 3: index out of bounds\n\
             rank 3: node1:7:9 [1] NCCL WARN Call to connect failed\n\
             rank 3: memory: the card's is short\n"
        );
    }
}
