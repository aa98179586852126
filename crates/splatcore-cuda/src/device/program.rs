//! One compilation unit: a kernel file, the headers that it may include, and constants.

use super::params::{Layout, Signature};
use super::replaced::Replacements;
use std::collections::BTreeSet;

/// A file's name, without its folder, and its text.
pub type File = (&'static str, &'static str);

/// The first statement of this crate's kernels: see `ops/shared/device.cuh`.
const BEGINNING: &str = "begin_kernel();";

/// One compilation unit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    /// The file with the kernels.
    pub root: File,
    /// Files that `#include "NAME"` lines find, whatever their folders.
    pub headers: &'static [File],
    /// Constants, given as macros, in a fixed order.
    pub constants: Vec<(&'static str, String)>,
    /// The `extern "C" __global__` functions that are wanted.
    pub kernels: Vec<Signature>,
    /// Structs of headers that Rust declares too, checked in programs that include the header.
    pub shared: &'static [(&'static str, &'static Layout)],
    /// Texts in the place of those of files.
    pub replacements: Replacements,
}

impl Program {
    /// The same with other texts in the place of those of files.
    pub fn replaced(self, replacements: Replacements) -> Self {
        Self {
            replacements,
            ..self
        }
    }

    /// The same with another value of a constant that it has.
    pub fn with(mut self, constant: &str, value: impl ToString) -> Self {
        for (name, old) in &mut self.constants {
            if *name == constant {
                *old = value.to_string();
            }
        }
        self
    }

    /// The root file's name without its ending.
    pub fn name(&self) -> &'static str {
        self.root.0.trim_end_matches(".cu")
    }

    /// The text for the compiler: constants, then the root file with every included file in its
    /// place, each once, then the layouts that Rust has. `#line` directives keep the places in
    /// messages those of the files.
    pub fn source(&self) -> String {
        let mut source = String::new();
        for (name, value) in &self.constants {
            source.push_str(&format!("#define {name} {value}\n"));
        }
        let mut included = BTreeSet::new();
        self.expand(self.root, &mut included, &mut source);
        source.push_str("#line 1 \"layouts in Rust\"\n");
        for layout in self.layouts(&included) {
            source.push_str(&layout.assertions());
        }
        source
    }

    /// What Rust declares too: the parameters of the kernels, each once, and structs of headers.
    fn layouts(&self, included: &BTreeSet<&str>) -> Vec<&'static Layout> {
        let headers = self
            .shared
            .iter()
            .filter(|(header, _)| included.contains(header));
        let params = self.kernels.iter().filter_map(|kernel| kernel.params);
        let mut layouts: Vec<&Layout> = Vec::new();
        for layout in headers.map(|&(_, layout)| layout).chain(params) {
            if !layouts.contains(&layout) {
                layouts.push(layout);
            }
        }
        layouts
    }

    /// The root file and all that it includes, each with the text that is compiled, in the order of
    /// the list of headers, the root file last.
    pub fn files(&self) -> Vec<(&'static str, &str)> {
        let mut names = BTreeSet::new();
        self.expand(self.root, &mut names, &mut String::new());
        let headers = self.headers.iter().filter(|(name, _)| names.contains(name));
        let files = headers.chain([&self.root]);
        files
            .map(|&file| (file.0, self.replacements.text(file)))
            .collect()
    }

    fn expand(&self, file: File, included: &mut BTreeSet<&'static str>, source: &mut String) {
        let (name, text) = (file.0, self.replacements.text(file));
        source.push_str(&format!("#line 1 \"{name}\"\n"));
        for (number, line) in (1..).zip(text.lines()) {
            let wanted = include_of(line);
            let header = wanted.and_then(|wanted| self.headers.iter().find(|(n, _)| *n == wanted));
            match header {
                Some(&header) if included.insert(header.0) => {
                    self.expand(header, included, source);
                    source.push_str(&format!("#line {} \"{name}\"\n", number + 1));
                }
                // Here already; or a guard for editors, since each file comes once anyway.
                Some(_) => source.push('\n'),
                None if line.trim() == "#pragma once" => source.push('\n'),
                // An unknown name stays, so that the compiler reports it.
                None => {
                    source.push_str(line);
                    source.push('\n');
                }
            }
        }
    }

    /// Whether every kernel of this source begins with `begin_kernel`, and so may be launched
    /// before the kernel in front of it has ended. Kernels of tests and of users' experiments need
    /// not.
    pub fn awaits(source: &str) -> bool {
        source.matches("extern \"C\" __global__").count() == source.matches(BEGINNING).count()
    }
}

/// The name in an `#include "NAME"` line.
fn include_of(line: &str) -> Option<&str> {
    let name = line.trim().strip_prefix("#include")?.trim();
    name.strip_prefix('"')?.strip_suffix('"')
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A kernel that does not would read what is not there yet.
    #[test]
    fn every_kernel_begins_by_waiting() {
        let mut kernels = 0;
        for program in crate::programs::all_programs() {
            let source = program.source();
            for kernel in source.split("extern \"C\" __global__").skip(1) {
                let body = kernel.split_once(" {\n").map(|(_, body)| body.trim_start());
                assert!(
                    body.is_some_and(|body| body.starts_with(BEGINNING)),
                    "{}: {kernel:.80}",
                    program.name()
                );
                kernels += 1;
            }
            assert!(Program::awaits(&source), "{}", program.name());
        }
        assert!(kernels > 50, "{kernels}");
        assert!(!Program::awaits(
            "extern \"C\" __global__ void experiment() {\n    return;\n}\n"
        ));
    }

    #[test]
    fn each_file_is_included_once_and_keeps_its_lines() {
        let program = Program {
            root: (
                "root.cu",
                "// head\n#include \"b.cuh\"\n#include \"a.cuh\"\nroot\n#include \"c.cuh\"\n",
            ),
            headers: &[
                ("a.cuh", "#pragma once\na\n"),
                ("b.cuh", "#include \"a.cuh\"\nb\n"),
            ],
            constants: vec![("N", "3".into())],
            kernels: vec![],
            shared: &[],
            replacements: Replacements::default(),
        };
        let expected = "#define N 3\n#line 1 \"root.cu\"\n// head\n#line 1 \"b.cuh\"\n\
                        #line 1 \"a.cuh\"\n\na\n#line 2 \"b.cuh\"\nb\n#line 3 \"root.cu\"\n\nroot\n\
                        #include \"c.cuh\"\n#line 1 \"layouts in Rust\"\n";
        assert_eq!(program.source(), expected);
        let names: Vec<_> = program.files().iter().map(|(name, _)| *name).collect();
        assert_eq!(names, ["a.cuh", "b.cuh", "root.cu"]);
        let other = [("b.cuh".to_owned(), "changed\n".to_owned())];
        let other = Replacements::new(other, program.headers).unwrap();
        let changed = program.replaced(other);
        let source = changed.source();
        assert_contains!(source, "#line 1 \"b.cuh\"\nchanged\n");
        assert_eq!(changed.files()[1], ("b.cuh", "changed\n"));
    }
}
