//! The gates on the tree's own kernels: unchanged, honestly edited, and attacked.

mod bad;
mod headers;
mod honest;
mod noise;

use super::*;
use std::path::{Path, PathBuf};

/// Every kernel file of the tree.
fn kernels() -> Texts {
    let mut texts = Texts::new();
    let mut folders = vec![PathBuf::from("../splatcore-cuda/src/ops")];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            let is_kernel = |path: &Path| path.extension().is_some_and(|e| e == "cu" || e == "cuh");
            if path.is_dir() {
                folders.push(path);
            } else if is_kernel(&path) {
                let name = path.file_name().unwrap().to_string_lossy().into_owned();
                texts.insert(name, std::fs::read_to_string(&path).unwrap());
            }
        }
    }
    assert!(texts.len() > 40, "{}", texts.len());
    texts
}

/// Edits of a file of tests: a line `=== HEAD`, the lines that are replaced behind `-`, and what
/// takes their place behind `+`. Lines `=== # ...` say what follows.
fn edits(text: &str) -> Vec<(&str, String, String)> {
    let parts = text.split("=== ").skip(1);
    let parts = parts.filter(|part| !part.starts_with('#'));
    let edit = |part| {
        let (head, lines): (&str, &str) = str::split_once(part, '\n').unwrap();
        let behind = |sign: char| {
            let own = lines.lines().filter_map(|line| line.strip_prefix(sign));
            let own = own.map(|line| line.strip_prefix(' ').unwrap_or(line));
            own.collect::<Vec<_>>().join("\n")
        };
        (head, behind('-'), behind('+'))
    };
    parts.map(edit).collect()
}

/// The baseline, read once.
struct Baseline<'a> {
    texts: &'a Texts,
    facts: Facts<'a>,
}

impl<'a> Baseline<'a> {
    fn of(texts: &'a Texts) -> Self {
        let facts = Facts::of(texts.iter().map(|(f, t)| (f.as_str(), t.as_str()))).unwrap();
        Self { texts, facts }
    }

    /// The verdict on these texts, each of which may be changed.
    fn judge(&self, changed: &Texts) -> Result<(), Rejection> {
        let allowed: Vec<&str> = changed.keys().map(String::as_str).collect();
        check_against(&self.facts, self.texts, &allowed, changed)
    }

    /// The verdict on a file's text.
    fn judge_text(&self, file: &str, text: String) -> Result<(), Rejection> {
        self.judge(&Texts::from([(file.to_owned(), text)]))
    }

    /// The verdict on a file with one passage in place of another, which stands there once.
    fn judge_edit(&self, file: &str, from: &str, to: &str) -> Result<(), Rejection> {
        let old = &self.texts[file];
        assert_eq!(old.matches(from).count(), 1, "{file}: {from:?}");
        self.judge_text(file, old.replacen(from, to, 1))
    }
}
