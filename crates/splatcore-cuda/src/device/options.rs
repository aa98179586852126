//! Options of the compiler that a program's root file asks for, in lines like
//! `// nvrtc: --maxrregcount=64`. Those that change how numbers are rounded are off unless a line
//! asks for them. NVRTC gives `--maxrregcount` to kernels without `__launch_bounds__` alone.

use super::Program;

/// What such a line begins with.
const MARK: &str = "// nvrtc:";
/// What it may ask for, but for the number of registers.
const SWITCHES: [(&str, &[&str]); 6] = [
    ("--extra-device-vectorization", &["on", "off"]),
    ("--use_fast_math", &["on", "off"]),
    ("--ftz", &["true", "false"]),
    ("--prec-div", &["true", "false"]),
    ("--prec-sqrt", &["true", "false"]),
    ("--fmad", &["true", "false"]),
];
const REGISTERS: &str = "--maxrregcount";
/// Registers of a thread that a line may set as the most.
const MAX_REGISTERS: std::ops::RangeInclusive<u32> = 16..=255;

/// The options that a program's text asks for, and those that all programs have.
///
/// # Errors
/// With file and line, if a line asks for anything else, is not in the root file, or asks twice.
pub fn of(program: &Program) -> Result<Vec<String>, String> {
    let mut asked: Vec<(String, String)> = Vec::new();
    for (file, text) in program.files() {
        for (number, line) in (1..).zip(text.lines()) {
            let Some(words) = line.trim().strip_prefix(MARK) else {
                continue;
            };
            let wrong = |why: String| Err(format!("{file}, line {number}: {why}"));
            if file != program.root.0 {
                return wrong(format!(
                    "options stand in the program's root file, {}",
                    program.root.0
                ));
            }
            for word in words.split_whitespace() {
                let Some(option) = option(word) else {
                    return wrong(format!("{word} is no option that {}", permitted()));
                };
                if asked.iter().any(|(name, _)| *name == option.0) {
                    return wrong(format!("{} was asked for before", option.0));
                }
                asked.push(option);
            }
        }
    }
    let vectorized = ("--extra-device-vectorization".to_owned(), "on".to_owned());
    if !asked.iter().any(|(name, _)| *name == vectorized.0) {
        asked.insert(0, vectorized);
    }
    let given = asked
        .into_iter()
        .filter_map(|(name, value)| match value.as_str() {
            "on" => Some(name),
            "off" => None,
            _ => Some(format!("{name}={value}")),
        });
    Ok(given.collect())
}

fn permitted() -> String {
    let switches = SWITCHES.map(|(name, values)| format!("{name}={}", values.join("|")));
    let (least, most) = (MAX_REGISTERS.start(), MAX_REGISTERS.end());
    format!(
        "kernel text may ask for ({REGISTERS}={least} to {most}, {})",
        switches.join(", ")
    )
}

/// Name and value. NVRTC takes one hyphen for two, and a switch without a value is on.
fn option(word: &str) -> Option<(String, String)> {
    let (name, value) = word.split_once('=').unwrap_or((word, "on"));
    let name = format!("--{}", name.strip_prefix("--").or(name.strip_prefix('-'))?);
    if name == REGISTERS {
        let registers: u32 = value.parse().ok()?;
        let value = MAX_REGISTERS
            .contains(&registers)
            .then(|| registers.to_string())?;
        return Some((name, value));
    }
    let (_, values) = SWITCHES.iter().find(|(known, _)| *known == name)?;
    let value = values.iter().find(|known| **known == value)?;
    Some((name, (*value).to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(text: &'static str) -> Result<Vec<String>, String> {
        of(&Program {
            root: ("root.cu", text),
            headers: &[("head.cuh", "// nvrtc: --fmad=false\n")],
            constants: vec![],
            kernels: vec![],
            shared: &[],
            replacements: Default::default(),
        })
    }

    #[test]
    fn options_of_the_list_are_given() {
        let vectorized = "--extra-device-vectorization";
        assert_eq!(asked("").unwrap(), [vectorized]);
        let text = "// nvrtc: --maxrregcount=64 -ftz=true\n  // nvrtc: --fmad=false\nx\n";
        let expected = [
            vectorized,
            "--maxrregcount=64",
            "--ftz=true",
            "--fmad=false",
        ];
        assert_eq!(asked(text).unwrap(), expected);
        let text = "// nvrtc: --extra-device-vectorization=off --use_fast_math\n";
        assert_eq!(asked(text).unwrap(), ["--use_fast_math"]);
    }

    #[test]
    fn anything_else_is_refused_with_its_line() {
        for (text, words) in [
            (
                "x\n// nvrtc: --define-macro=A\n",
                "line 2: --define-macro=A is no option",
            ),
            ("// nvrtc: --include-path=x\n", "is no option"),
            ("// nvrtc: --maxrregcount=8\n", "is no option"),
            ("// nvrtc: --maxrregcount=\n", "is no option"),
            ("// nvrtc: --fmad=maybe\n", "is no option"),
            ("// nvrtc: fmad=true\n", "is no option"),
            ("// nvrtc: --fmad=true -fmad=false\n", "asked for before"),
            (
                "#include \"head.cuh\"\n",
                "head.cuh, line 1: options stand in",
            ),
        ] {
            let message = asked(text).unwrap_err();
            assert_contains!(message, words);
        }
    }
}
