//! Every program of the crate, and those that releases carry compiled.

use crate::device::machine_code::Key;
use crate::device::{Program, Replacements};
use crate::ops::SOURCES;
use crate::{ops, tensors};

/// Every program in every variant, for the check that all of them compile.
pub fn all_programs() -> Vec<Program> {
    let mut all = ops::all_programs();
    all.extend(tensors::programs());
    all
}

/// A number that two builds share whose kernel files have the same texts, with those that take the
/// place of built-in ones here.
pub fn texts() -> String {
    // What is wrong with the files is said by the first kernel that is asked for.
    texts_with(&Replacements::of_environment(SOURCES).unwrap_or_default())
}

fn texts_with(replacements: &Replacements) -> String {
    let of = |&file: &(&'static str, &'static str)| [file.0, replacements.text(file)];
    let parts: Vec<&str> = SOURCES.iter().flat_map(of).collect();
    Key::of_parts(&parts).to_string()
}

/// The programs that releases carry compiled: those of the default pipeline, and those of functions
/// on tensors.
pub fn built_in_programs() -> Vec<Program> {
    let mut all = ops::built_in_programs();
    all.extend(tensors::programs());
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_kernel_has_another_number() {
        let own = texts_with(&Replacements::default());
        assert_eq!(own, texts_with(&Replacements::default()));
        let file = |text: String| [("adam.cu".to_owned(), text)];
        let (_, text) = SOURCES.iter().find(|(name, _)| *name == "adam.cu").unwrap();
        for (text, is_same) in [((*text).to_owned(), true), (format!("{text} "), false)] {
            let replaced = Replacements::new(file(text), SOURCES).unwrap();
            assert_eq!(texts_with(&replaced) == own, is_same);
        }
    }
}
