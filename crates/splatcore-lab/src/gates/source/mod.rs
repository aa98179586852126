//! The source gates: whether the text of a candidate may be compiled at all.
//!
//! A candidate is text of kernel files. Compiled for a card it can only compute; compiled for the
//! emulator it is a C++ program, and runs in a process of this machine. These gates read the text
//! before either. They are the first line, not the last: each paragraph says what a gate
//! cannot stop, and what does.
//!
//! **`files`** stops files of other tasks or of none, texts without a changed token, texts of more
//! than four times the old one and 64 KB; trigraphs, digraphs, splices, raw and prefixed strings,
//! escapes, invisible characters, names outside ASCII. It cannot stop a small text that takes long
//! to compile (templates, `constexpr`): the limits of `compile` do.
//!
//! **`directives`** stops includes of other files, pragmas but `unroll`, `#line`, `#undef`, macros
//! that are more than expressions, attributes, strings, words and functions of a host, new kernels,
//! pointers to functions where they are spelled. It cannot stop wild pointers that come of
//! arithmetic on good ones, nor pointers to functions by type deduction: on a card `memory` does;
//! emulated kernels run in a sandboxed child process.
//!
//! **`assembly`** stops assembly that is not the baseline's to the letter, which the emulator could
//! not run, and functions of C++ that reach clocks, waits and traps.
//!
//! **`conditions`** stops new conditions on the emulator, compilers, checks and counting; changed
//! emulated branches; variables outside functions, `static`; constants in device memory that are
//! used other than by index; `volatile` and `store_same`, which hide races; sizes compared with
//! literals above 64. It cannot stop a kernel that tells where it runs by how `__expf` rounds,
//! sizes compared after arithmetic, changes in branches for cards alone, or state kept in buffers
//! of the frame or, through a cast of an element's address, in a constant: `result` and `races` on
//! the card too, odd and random sizes, poisoned buffers and shuffled cameras do, and
//! `machine-code`, which admits no new writable memory.
//!
//! **`interface`** stops other kernels, parameters and structs of Rust's, and kernels that do not
//! wait for their predecessor. It cannot stop a kernel that returns early or writes nothing:
//! `result` on poisoned outputs does.
//!
//! "New" means: more often than in the same file of the baseline. What the baseline has stays legal
//! where it is.
//!
//! # Why tokens are enough
//!
//! The gates read tokens as they are written and expand nothing. [`tokens`] refuses all spellings
//! that a compiler reads other than they look. `macros` admits new macros as whole expressions
//! without parameters only, under names that nothing else has; so no use of one can begin, end or
//! divide what another gate recognises. All branches of conditional groups are read as code, and
//! brackets balance in each, so where a token stands does not depend on conditions (`items`). Rules
//! about names hold in every branch and every macro. Lists say what is allowed (directives,
//! reserved names, shapes of declarations); only for functions of the C library,
//! which plain C++ can name, is there a list of what is not: a test compares it with the headers.
//!
//! # What honest candidates cannot do
//!
//! New assembly needs a twin for the emulator, and so a condition on `EMULATED`: a person adds such
//! a wrapper to `device.cuh` or `matrix.cuh`. Macros with parameters are written as `__device__`
//! functions, tables as `#define` or in functions, explicit specialisations as `if constexpr`.

mod assembly;
mod conditions;
mod directives;
mod facts;
mod interface;
mod items;
mod macros;
mod names;
pub mod tokens;

use super::{Gate, Rejection};
use crate::candidate::Texts;
use facts::{Facts, Pair};
use tokens::{Lexed, check_characters, lex};

/// What stands in front of compiler options in a text. Options that are not on the build's list are
/// refused when it compiles.
const OPTIONS: &str = "// nvrtc:";

/// Bytes that a text may have beyond four times its baseline's.
const ROOM: usize = 64 * 1024;

/// The source gates: whether the text of a candidate may be compiled at all.
///
/// `baseline` holds every kernel file of the build, `allowed` the names of the task's files, and
/// `changed` the candidate's texts.
///
/// # Errors
/// With the first gate that the candidate does not pass: file, line, what is wrong, and what to do.
pub fn check(baseline: &Texts, allowed: &[&str], changed: &Texts) -> Result<(), Rejection> {
    let texts = baseline
        .iter()
        .map(|(file, text)| (file.as_str(), text.as_str()));
    check_against(&Facts::of(texts)?, baseline, allowed, changed)
}

/// The same with what is known of the baseline.
fn check_against(
    facts: &Facts,
    baseline: &Texts,
    allowed: &[&str],
    changed: &Texts,
) -> Result<(), Rejection> {
    let mut new_texts: Vec<(&str, Lexed)> = Vec::new();
    for (file, text) in changed {
        let old = known(baseline, allowed, file)?;
        new_texts.push((file, read(file, old, text)?));
    }
    let pairs: Vec<Pair> = new_texts
        .iter()
        .filter_map(|(file, new)| {
            let (file, old) = facts.files.get_key_value(file)?;
            Some(Pair {
                file,
                old,
                new,
                facts,
                changed: &new_texts,
            })
        })
        .filter(|pair| !is_same(pair.old, pair.new))
        .collect();
    let options = |texts: &Texts, file: &str| -> Vec<String> {
        let lines = texts.get(file).into_iter().flat_map(|text| text.lines());
        let lines = lines.filter(|line| line.trim_start().starts_with(OPTIONS));
        lines.map(|line| line.trim().to_owned()).collect()
    };
    let other_options = |file: &&String| options(baseline, file) != options(changed, file);
    if pairs.is_empty() && !changed.keys().any(|file| other_options(&file)) {
        let what = "no token differs from the baseline; change the code, not comments alone";
        return Err(Rejection::new(Gate::Files, what));
    }
    // Gate by gate, so that the verdict is that of the first gate whatever the files' order.
    for pair in &pairs {
        items::check_brackets(pair)?;
    }
    let split = |lexed| items::items(lexed);
    let items: Vec<_> = pairs
        .iter()
        .map(|pair| (split(pair.new), split(pair.old)))
        .collect();
    let all = || pairs.iter().zip(&items);
    for (pair, (new, _)) in all() {
        items::check_whole(pair, new)?;
        directives::check(pair)?;
    }
    for pair in &pairs {
        assembly::check(pair)?;
    }
    for (pair, (new, old)) in all() {
        directives::check_items(pair, new, old)?;
        conditions::check(pair, new, old)?;
    }
    for (pair, (new, old)) in all() {
        interface::check(pair, new, old)?;
    }
    // Comments count here, so files that differ in comments alone are read too.
    for (file, text) in changed {
        let old = known(baseline, allowed, file)?;
        interface::check_counts(file, old, text)?;
    }
    Ok(())
}

/// The baseline's text of a file that the task may change.
fn known<'a>(baseline: &'a Texts, allowed: &[&str], file: &str) -> Result<&'a str, Rejection> {
    let reject = |what: String| Err(Rejection::new(Gate::Files, what));
    match baseline.get(file) {
        None => reject(format!(
            "{file} takes the place of no kernel file; rename it"
        )),
        Some(_) if !allowed.contains(&file) => {
            let files = allowed.join(", ");
            reject(format!("{file} is not of this task; change only {files}"))
        }
        Some(text) => Ok(text),
    }
}

/// The tokens of a candidate's text.
fn read<'a>(file: &str, old: &str, text: &'a str) -> Result<Lexed<'a>, Rejection> {
    let most = 4 * old.len() + ROOM;
    if text.len() > most {
        let what = format!("{file}: {} bytes, {most} at most; shorten it", text.len());
        return Err(Rejection::new(Gate::Files, what));
    }
    let unreadable = |error| facts::unreadable(file, &error);
    check_characters(text).map_err(unreadable)?;
    lex(text).map_err(unreadable)
}

fn is_same(old: &Lexed, new: &Lexed) -> bool {
    let (old, new) = (old.all(), new.all());
    let pairs = || old.iter().zip(&new);
    old.len() == new.len() && pairs().all(|(a, b)| a.kind == b.kind && a.text == b.text)
}

#[cfg(test)]
#[path = "tests/mod.rs"]
mod tests;
