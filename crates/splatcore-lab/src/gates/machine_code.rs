//! What a compiler made of a candidate: read without a card.

use super::{Gate, Rejection};
use std::collections::BTreeMap;

/// The machine code of a task's programs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Compiled {
    /// Digest of the machine code of all programs; equal for equal code.
    pub code: String,
    /// Programs by name and constants.
    pub programs: BTreeMap<String, Program>,
}

/// A compiled program.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Program {
    /// Kernels by name.
    pub kernels: BTreeMap<String, Kernel>,
    /// Variables that outlive a launch.
    pub writable: Vec<String>,
    /// Functions and variables of others that it uses.
    pub externals: Vec<String>,
}

/// A kernel's resources.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Kernel {
    /// The most threads of a block, by `__launch_bounds__`; 0 if there are none.
    pub most_threads: u32,
    /// Registers of a thread.
    pub registers: u32,
    /// Bytes of a thread's stack: spilled registers, arrays that are indexed.
    pub stack_bytes: u32,
    /// Bytes of shared memory of a block.
    pub shared_bytes: u32,
    /// Instructions, each counted once wherever it stands.
    pub instructions: u32,
    /// Instructions by class, in words.
    pub mix: String,
    /// Digest of the machine code.
    pub digest: String,
}

impl Kernel {
    /// In words.
    pub fn described(&self) -> String {
        format!(
            "{} registers, {} B shared, {} B of stack (spilled registers, indexed arrays), \
             {} instructions in the text of its machine code ({})",
            self.registers, self.shared_bytes, self.stack_bytes, self.instructions, self.mix
        )
    }
}

/// Bytes that a thread's stack may grow by: an array that is indexed may be faster than none, and
/// times tell; kilobytes are a mistake.
const STACK: u32 = 256;

/// Holds a candidate's machine code to the baseline's.
///
/// # Errors
/// The rejection.
pub fn judge(candidate: &Compiled, baseline: &Compiled) -> Result<(), Rejection> {
    let wrong = |reason: String| Err(Rejection::new(Gate::MachineCode, reason));
    for (name, program) in &candidate.programs {
        let Some(before) = baseline.programs.get(name) else {
            return wrong(format!(
                "{name} is a program that the baseline does not run"
            ));
        };
        let kernels = |program: &Program| program.kernels.keys().cloned().collect::<Vec<_>>();
        if kernels(program) != kernels(before) {
            return wrong(format!(
                "{name} has the kernels {}, not {}",
                kernels(program).join(", "),
                kernels(before).join(", ")
            ));
        }
        let new = |now: &[String], before: &[String]| {
            now.iter().find(|one| !before.contains(one)).cloned()
        };
        if let Some(variable) = new(&program.writable, &before.writable) {
            return wrong(format!(
                "{name} keeps {variable} from one launch to the next"
            ));
        }
        if let Some(external) = new(&program.externals, &before.externals) {
            return wrong(format!("{name} uses {external}, which is none of its own"));
        }
        for (kernel, code) in &program.kernels {
            let before = before
                .kernels
                .get(kernel)
                .map_or(0, |before| before.stack_bytes);
            if code.stack_bytes > before + STACK {
                return wrong(format!(
                    "{name}, {kernel}: {} bytes of stack a thread, the baseline has {before}",
                    code.stack_bytes
                ));
            }
        }
    }
    match baseline
        .programs
        .keys()
        .find(|name| !candidate.programs.contains_key(*name))
    {
        Some(missing) => wrong(format!("{missing} is not launched any more")),
        None => Ok(()),
    }
}

/// Resources of the kernels whose machine code differs from the baseline's, in words.
pub fn differences(candidate: &Compiled, baseline: &Compiled) -> BTreeMap<String, String> {
    let mut words = BTreeMap::new();
    for (name, program) in &candidate.programs {
        for (kernel, code) in &program.kernels {
            let before = baseline
                .programs
                .get(name)
                .and_then(|p| p.kernels.get(kernel));
            if before.is_none_or(|before| before.digest != code.digest) {
                words.insert(format!("{name}, {kernel}"), code.described());
            }
        }
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    fn compiled(change: impl Fn(&mut Program)) -> Compiled {
        let kernel = Kernel {
            registers: 40,
            digest: "a".into(),
            ..Kernel::default()
        };
        let mut program = Program {
            kernels: [("blend".to_owned(), kernel)].into(),
            ..Program::default()
        };
        change(&mut program);
        Compiled {
            code: String::new(),
            programs: [("blend_scalar".to_owned(), program)].into(),
        }
    }

    #[test]
    fn what_outlives_a_launch_is_found() {
        let baseline = compiled(|_| {});
        let judged = |change: &dyn Fn(&mut Program)| {
            judge(&compiled(change), &baseline).map_err(|rejection| rejection.reason)
        };
        assert_eq!(judged(&|_| {}), Ok(()));
        let kernel = |p: &mut Program| p.kernels.get_mut("blend").unwrap().stack_bytes = 64;
        assert_eq!(judged(&kernel), Ok(()));
        let fails = |change: &dyn Fn(&mut Program), words: &str| {
            let reason = judged(change).unwrap_err();
            assert!(reason.contains(words), "{reason}");
        };
        fails(&|p| p.writable.push("cache".into()), "keeps cache");
        fails(&|p| p.externals.push("vprintf".into()), "uses vprintf");
        let spilled = |p: &mut Program| p.kernels.get_mut("blend").unwrap().stack_bytes = 4096;
        fails(&spilled, "4096 bytes of stack");
        fails(&|p| p.kernels.clear(), "has the kernels");
        let none = Compiled::default();
        let reason = judge(&none, &baseline).unwrap_err().reason;
        assert!(reason.contains("not launched"), "{reason}");
    }

    #[test]
    fn only_differences_are_described() {
        let baseline = compiled(|_| {});
        assert!(differences(&baseline, &baseline).is_empty());
        let other = compiled(|p| p.kernels.get_mut("blend").unwrap().digest = "b".into());
        let words = differences(&other, &baseline);
        assert!(words["blend_scalar, blend"].starts_with("40 registers"));
    }
}
