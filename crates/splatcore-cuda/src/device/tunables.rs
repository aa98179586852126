//! Numbers that kernel text declares and that may be changed there, with nothing to change in Rust:
//! `#define BLOCK 128  // tune: 64 128 256; when BLOCK % WARP == 0`. Launches read the value from
//! the program's text ([`Kernel::tuned`](super::Kernel::tuned)).

use super::program::{File, Program};
use super::replaced::Replacements;
use splatcore_core::expression::Expression;
use splatcore_core::tunables::declaration;
use std::collections::BTreeMap;

/// Lanes of a warp, which conditions may name.
const WARP: (&str, i64) = ("WARP", 32);

/// A number that kernel text declares.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tunable {
    /// The macro's name.
    pub name: String,
    /// The file that declares it.
    pub file: &'static str,
    /// Its line there, from 1.
    pub line: usize,
    /// What it is now.
    pub value: u32,
    /// What it may be.
    pub values: Vec<u32>,
    /// What must hold for the values of a program's constants and tunables, if anything.
    pub condition: Option<Expression>,
}

impl Program {
    /// The same with other values of tunables, by name, as texts in the place of its files.
    ///
    /// # Errors
    /// If none is called so, a value is not permitted, or as [`Program::tunables`].
    pub fn with_tunables(&self, values: &[(&str, u32)]) -> Result<Self, String> {
        let mut texts: BTreeMap<String, String> = self
            .replacements
            .iter()
            .map(|(name, text)| (name.to_owned(), text.to_owned()))
            .collect();
        let files = self.files();
        for &(name, value) in values {
            let tunables = self.tunables()?;
            let tunable = tunables.iter().find(|tunable| tunable.name == name);
            let file = tunable.ok_or_else(|| missing(self.root.0, name))?.file;
            let built_in = files.iter().find(|(known, _)| *known == file);
            let old = texts.get(file).map(String::as_str);
            let old = old.or(built_in.map(|(_, text)| *text)).unwrap_or_default();
            let text = with_value(old, name, value)?;
            texts.insert(file.to_owned(), text);
        }
        let known: Vec<File> = self.headers.iter().copied().chain([self.root]).collect();
        let program = self.clone().replaced(Replacements::new(texts, &known)?);
        program.tunables().map(|_| program)
    }

    /// The tunables of the program's files.
    ///
    /// # Errors
    /// With file and line, if a declaration cannot be read, a value is none of those that it may
    /// be, a condition does not hold, or a name is declared twice or is a constant of Rust's too.
    pub fn tunables(&self) -> Result<Vec<Tunable>, String> {
        let mut found: Vec<Tunable> = Vec::new();
        for (file, text) in self.files() {
            for (line, words) in (1..).zip(text.lines()) {
                let wrong = |why: String| format!("{file}, line {line}: {why}");
                let Some(tunable) = parse(file, line, words).map_err(wrong)? else {
                    continue;
                };
                let name = &tunable.name;
                let mut constants = self.constants.iter();
                if constants.any(|(constant, _)| constant == name) {
                    return Err(wrong(format!("{name} is a constant that Rust gives")));
                }
                if found.iter().any(|other| other.name == *name) {
                    return Err(wrong(format!("{name} is declared twice")));
                }
                found.push(tunable);
            }
        }
        self.check(&found)?;
        Ok(found)
    }

    /// The value of a tunable.
    ///
    /// # Errors
    /// If the program's files declare none of this name, or as [`Program::tunables`].
    pub fn tunable(&self, name: &str) -> Result<u32, String> {
        let tunables = self.tunables()?;
        let found = tunables.iter().find(|tunable| tunable.name == name);
        found
            .map(|tunable| tunable.value)
            .ok_or_else(|| missing(self.root.0, name))
    }

    /// Whether these values are among those that the program's tunables may have together.
    ///
    /// # Errors
    /// With file and line of the first that is not.
    pub fn check(&self, tunables: &[Tunable]) -> Result<(), String> {
        let value_of = |name: &str| {
            let mut constants = self.constants.iter();
            let constant = constants.find(|(constant, _)| *constant == name);
            let mut tunables = tunables.iter();
            let tuned = tunables.find(|tunable| tunable.name == name);
            let warp = (name == WARP.0).then_some(WARP.1);
            tuned
                .map(|tunable| i64::from(tunable.value))
                .or(constant.and_then(|(_, value)| value.parse().ok()))
                .or(warp)
        };
        for tunable in tunables {
            let Tunable {
                name,
                file,
                line,
                value,
                ..
            } = tunable;
            let wrong = |why: String| Err(format!("{file}, line {line}: {why}"));
            if !tunable.values.contains(value) {
                return wrong(format!("{name} may not be {value}"));
            }
            let Some(condition) = &tunable.condition else {
                continue;
            };
            let number = |name: &String| match value_of(name) {
                Some(number) => Ok(Expression::<String>::Number(number)),
                None => Err(format!("{name} stands for no number")),
            };
            match condition.bind(&mut { number }) {
                Ok(bound) if bound.holds(&|_| 0) => {}
                Ok(_) => return wrong(format!("{name} may not be {value}: not {condition}")),
                Err(why) => return wrong(why),
            }
        }
        Ok(())
    }
}

/// A file's text with another value of a tunable that it declares; the declaration is kept.
///
/// # Errors
/// If the text declares none of this name, or in a way that cannot be read.
pub fn with_value(text: &str, name: &str, value: u32) -> Result<String, String> {
    let mut found = false;
    let mut changed = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        match declaration(line)?.filter(|declared| declared.name == name) {
            None => changed.push_str(line),
            Some(declared) => {
                let (before, after) =
                    (&line[..declared.number.start], &line[declared.number.end..]);
                changed.push_str(&format!("{before}{value}{after}"));
                found = true;
            }
        }
    }
    found
        .then_some(changed)
        .ok_or_else(|| missing("the text", name))
}

fn missing(program: &str, name: &str) -> String {
    format!(
        "{program} declares no tunable {name}: `#define {name} VALUE  // tune: VALUES` is missing"
    )
}

/// The tunable that a line declares, if it does. `#pragma unroll` asks nothing of a launch.
fn parse(file: &'static str, line: usize, words: &str) -> Result<Option<Tunable>, String> {
    let Some(found) = declaration(words)?.filter(|found| found.is_macro) else {
        return Ok(None);
    };
    let values = found.values.iter().map(|&value| u32::try_from(value));
    let values: Vec<u32> = values
        .collect::<Result<_, _>>()
        .map_err(|_| format!("{}: list numbers from 0 to {}", found.name, u32::MAX))?;
    Ok(Some(Tunable {
        name: found.name.to_owned(),
        file,
        line,
        value: values[found.current],
        values,
        condition: found.condition,
    }))
}

/// The values of a loaded program's tunables, kept as long as its kernels: for the life of the
/// process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tuned {
    program: &'static str,
    values: &'static [(String, u32)],
}

impl Tuned {
    /// Reads a program's text.
    ///
    /// # Errors
    /// As [`Program::tunables`].
    pub fn of(program: &Program) -> Result<Self, String> {
        let values = program.tunables()?.into_iter();
        let values: Vec<(String, u32)> = values
            .map(|tunable| (tunable.name, tunable.value))
            .collect();
        Ok(Self {
            program: program.root.0,
            values: values.leak(),
        })
    }

    /// The value of a tunable.
    ///
    /// # Errors
    /// If the text declares none of this name.
    pub fn get(self, name: &str) -> Result<u32, String> {
        let found = self.values.iter().find(|(known, _)| known == name);
        found
            .map(|(_, value)| *value)
            .ok_or_else(|| missing(self.program, name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn program(text: &'static str) -> Program {
        Program {
            root: ("root.cu", text),
            headers: &[("head.cuh", "#define ROWS 4 // tune: 2 4\n")],
            constants: vec![("BITS", "8".into())],
            kernels: vec![],
            shared: &[],
            replacements: Default::default(),
        }
    }

    #[test]
    fn numbers_are_read_where_they_are_declared() {
        let text = "// Head\n#define BLOCK 128  // tune: 64 128 256; when BLOCK % WARP == 0\n\
                    #include \"head.cuh\"\n#define OTHER 3\n";
        let program = program(text);
        let tunables = program.tunables().unwrap();
        let names: Vec<&str> = tunables.iter().map(|tunable| &*tunable.name).collect();
        assert_eq!(names, ["ROWS", "BLOCK"]);
        assert_eq!((tunables[1].file, tunables[1].line), ("root.cu", 2));
        assert_eq!(tunables[1].values, [64, 128, 256]);
        assert_eq!(program.tunable("BLOCK"), Ok(128));
        let changed = program
            .with_tunables(&[("BLOCK", 64), ("ROWS", 2)])
            .unwrap();
        assert_eq!(
            (changed.tunable("BLOCK"), changed.tunable("ROWS")),
            (Ok(64), Ok(2))
        );
        let line = "#define BLOCK 64  // tune: 64 128 256; when BLOCK % WARP == 0\n";
        assert_contains!(changed.source(), line);
        assert!(program.with_tunables(&[("BLOCK", 100)]).is_err());
        assert!(program.with_tunables(&[("OTHER", 3)]).is_err());
        let tuned = Tuned::of(&program).unwrap();
        assert_eq!(tuned.get("ROWS").unwrap(), 4);
        let message = tuned.get("OTHER").unwrap_err();
        assert_contains!(message, "root.cu declares no tunable OTHER");
    }

    #[test]
    fn a_declaration_that_cannot_hold_is_refused_with_its_line() {
        for (text, words) in [
            (
                "\n#define A 3 // tune: 1 2\n",
                "root.cu, line 2: A: its value 3 is not listed",
            ),
            (
                "#define A 1 // tune: 1 2; when A > 1\n",
                "A may not be 1: not (A > 1)",
            ),
            (
                "#define A 1 // tune: 1 2; when B > 1\n",
                "B stands for no number",
            ),
            ("#define A 1 // tune: 1 two\n", "`two` is no integer"),
            ("#define A (1) // tune: 1\n", "`(1)` is no decimal integer"),
            ("#define A -1 // tune: -1\n", "list numbers from 0"),
            (
                "const u32 A = 1; // tune: 1\n",
                "a tunable stands on `#define NAME NUMBER`",
            ),
            (
                "#define BITS 8 // tune: 8\n",
                "BITS is a constant that Rust gives",
            ),
            (
                "#include \"head.cuh\"\n#define ROWS 2 // tune: 2\n",
                "ROWS is declared twice",
            ),
        ] {
            let message = program(text).tunables().unwrap_err();
            assert_contains!(message, words);
        }
    }
}
