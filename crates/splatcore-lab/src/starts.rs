//! Starts: published methods as files that hold the method and nothing else.
//!
//! The built-in file of a method includes headers with parts of other methods, counts what the
//! profile needs, and its comments say what other methods gain. A model that begins there reads
//! answers. A start takes the place of the built-in file in an experiment: it is compiled to the
//! same machine code, includes nothing, and says what the kernel computes.

use crate::candidate::Texts;

/// A method's name, as pipelines have it, and its only file.
struct Start {
    name: &'static str,
    file: &'static str,
    text: &'static str,
}

static STARTS: [Start; 3] = [
    Start {
        name: "literal",
        file: "blend_literal.cu",
        text: include_str!("../starts/literal/blend_literal.cu"),
    },
    Start {
        name: "seele",
        file: "blend_seele.cu",
        text: include_str!("../starts/seele/blend_seele.cu"),
    },
    Start {
        name: "tc-gs",
        file: "blend_tc_gs.cu",
        text: include_str!("../starts/tc-gs/blend_tc_gs.cu"),
    },
];

/// All starts; each has the name of a blend.
pub fn names() -> impl Iterator<Item = &'static str> {
    STARTS.iter().map(|start| start.name)
}

/// A start's files, each in the place of the built-in file of that name.
///
/// # Errors
/// One line, if there is no such start.
pub fn texts(name: &str) -> Result<Texts, String> {
    let mut starts = STARTS.iter();
    let start = starts.find(|start| start.name == name).ok_or_else(|| {
        let known: Vec<_> = names().collect();
        format!("no start is called {name}; there are {}", known.join(", "))
    })?;
    Ok(Texts::from([(
        start.file.to_owned(),
        start.text.to_owned(),
    )]))
}

/// Where a start's files lie in the repository.
pub fn folder(name: &str) -> String {
    format!("crates/splatcore-lab/starts/{name}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gates::source;
    use std::collections::BTreeSet;

    fn words(text: &str) -> Vec<&str> {
        let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let words = text.split(|c| !is_part(c));
        words.filter(|word| !word.is_empty()).collect()
    }

    fn code(text: &str) -> String {
        let lines = text.lines();
        let code = lines.map(|line| line.split("//").next().unwrap_or_default());
        code.collect::<Vec<_>>().join("\n")
    }

    /// Every kernel file of the tree.
    fn kernels() -> Texts {
        let mut texts = Texts::new();
        for folder in std::fs::read_dir("../splatcore-cuda/src/ops").unwrap() {
            let folder = folder.unwrap().path();
            for file in folder.read_dir().into_iter().flatten() {
                let path = file.unwrap().path();
                let name = path.file_name().unwrap().to_str().unwrap().to_owned();
                if name.ends_with(".cu") || name.ends_with(".cuh") {
                    texts.insert(name, std::fs::read_to_string(&path).unwrap());
                }
            }
        }
        assert!(texts.len() > 40);
        texts
    }

    #[test]
    fn a_start_is_the_method_and_nothing_else() {
        for start in &STARTS {
            let (name, text) = (start.name, start.text);
            assert_eq!(texts(name).unwrap()[start.file], text);
            for hint in [
                "#include", "mark:", "tune:", "docs/", "COUNT", " us ", "Now.", "Bound.", "fox",
                "H100", "scalar", "subtile", "faster", "slower", "%)",
            ] {
                assert!(!text.contains(hint), "{name} holds {hint}");
            }
            assert!(text.lines().all(|line| line.len() <= 100), "{name}");
            // What is declared is used: a helper that the method does not need would be a hint.
            let code = code(text);
            let all = words(&code);
            let uses = |word: &str| all.iter().filter(|other| **other == word).count();
            let fields = BTreeSet::from(["rotation", "translation", "position", "focal", "centre"]);
            let launched =
                |word: &str| fields.contains(word) || word.starts_with("__") || word == "extern";
            for line in code.lines().filter(|line| !line.starts_with([' ', '}'])) {
                let declared = match words(line).as_slice() {
                    ["define", name, ..] | ["struct", "__align__", _, name, ..] => Some(*name),
                    ["struct", name, ..] => Some(*name),
                    ["typedef", .., name] => Some(*name),
                    ["__device__", ..] => {
                        let head = line.split('(').next().unwrap();
                        words(head).last().copied()
                    }
                    _ => None,
                };
                if let Some(word) = declared.filter(|word| !launched(word)) {
                    assert!(uses(word) > 1, "{name} declares {word} and does not use it");
                }
            }
        }
        let error = texts("scalar").unwrap_err();
        assert_eq!(
            error,
            "no start is called scalar; there are literal, seele, tc-gs"
        );
    }

    /// A model has not seen the tree's other files, so it may give their names to what it writes.
    #[test]
    fn names_of_files_that_are_not_compiled_are_free() {
        for start in &STARTS {
            let mut kernels = kernels();
            kernels.insert(start.file.into(), start.text.into());
            let own: BTreeSet<&str> = words(start.text).into_iter().collect();
            let mut taken = BTreeSet::new();
            for text in kernels.values() {
                let macros = text.lines().filter_map(|l| l.strip_prefix("#define "));
                taken.extend(macros.filter_map(|body| words(body).first().copied()));
            }
            // What tells compilers apart belongs to the build.
            let is_free = |name: &&&str| !own.contains(**name) && !name.starts_with("HAS_");
            let names: Vec<&str> = taken.iter().filter(is_free).copied().collect();
            assert!(names.len() > 50, "{}", names.len());
            let macros: String = names.iter().map(|n| format!("#define {n} 2\n")).collect();
            let text = format!("{macros}{}", start.text);
            let changed = Texts::from([(start.file.to_owned(), text)]);
            let checked = source::check(&kernels, &[start.file], &changed);
            assert_eq!(checked, Ok(()), "{}", start.name);
            // A name of the start itself is not.
            let text = format!("#define T 2\n{}", start.text);
            let changed = Texts::from([(start.file.to_owned(), text)]);
            let rejection = source::check(&kernels, &[start.file], &changed).unwrap_err();
            assert!(
                rejection.reason.contains("T already means something"),
                "{rejection}"
            );
        }
    }
}
