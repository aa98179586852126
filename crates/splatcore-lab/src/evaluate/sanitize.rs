//! A worker under compute-sanitizer: what a card does, checked by NVIDIA's own tools.

use super::suite::walk;
use crate::gates::Rejection;
use crate::gates::result::TestScene;
use crate::gates::sanitizer::{Tool, read};
use crate::worker::{Child, Limits, Program};

/// The report's file, in the worker's folder.
pub const REPORT: &str = "sanitizer.log";

/// Times that a worker under a tool may take as long as another.
const SLOWER: u32 = 5;

/// What a tool found.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Found {
    /// Nothing, in so many frames.
    Nothing(usize),
    /// A mistake.
    Mistake(Rejection),
    /// It did not come to an end, and why.
    NotRun(String),
}

/// Renders each scene once in a worker that runs under a tool, and reads the tool's report.
pub(super) fn sanitize(
    tool: Tool,
    program: &Program,
    limits: Limits,
    tests: &[TestScene],
    training: bool,
) -> Found {
    let limits = Limits {
        start: limits.start * SLOWER,
        answer: limits.answer * SLOWER,
    };
    let not_run = |why: &dyn std::fmt::Display| Found::NotRun(format!("{}: {why}", tool.name()));
    let mut child = match Child::start(program, limits) {
        Ok(child) => child,
        Err(error) => return not_run(&error),
    };
    let walked = walk(tests, training, &mut child);
    let report = match child.finish(REPORT) {
        Ok(report) => report,
        Err(error) => return not_run(&error),
    };
    // A worker that failed may have failed by what the tool reports.
    match (read(tool, &report), walked) {
        (Ok(Some(rejection)), _) => Found::Mistake(rejection),
        (Ok(None), Ok(frames)) => Found::Nothing(frames),
        (Ok(None), Err(error)) => not_run(&error),
        (Err(why), _) => Found::NotRun(why),
    }
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use super::*;
    use crate::gates::Gate;
    use crate::gates::result::for_sanitizers;
    use splatcore_core::Pipeline;
    use std::ffi::OsString;
    use std::time::Duration;

    /// Answers as a worker does, with black images of 96x64.
    const WORKER: &str = r#"
cd "$1"
echo '{"answer":"ready","device":"a card","sandbox":"none"}'
while read -r ask; do
  case $ask in
    *'"render"'*) { printf '\140\000\000\000\100\000\000\000'; head -c 98304 /dev/zero; } > image;;
  esac
  echo '{"answer":"done"}'
done
"#;

    /// In the place of compute-sanitizer: runs the program, then writes a recorded report.
    const SANITIZER: &str = r#"
report=$1; log=$2; shift 2
"$@"
[ "$report" = none ] || cp "$report" "$log"
"#;

    fn found(report: Option<&str>, worker: &str) -> Found {
        let folder = tempfile::tempdir().unwrap();
        let recorded = folder.path().join("recorded");
        std::fs::write(&recorded, report.unwrap_or_default()).unwrap();
        let report = report.map_or(OsString::from("none"), |_| recorded.into());
        let words = |words: &[&str]| words.iter().map(OsString::from).collect::<Vec<_>>();
        let program = Program {
            command: [
                words(&["sh", "-c", SANITIZER, "sanitizer"]),
                vec![report],
                words(&[REPORT, "sh", "-c", worker, "worker"]),
            ]
            .concat(),
            ..Program::default()
        };
        let limits = Limits {
            start: Duration::from_secs(10),
            answer: Duration::from_secs(10),
        };
        let tests = for_sanitizers(1, Pipeline::VANILLA);
        assert!(tests.iter().all(|test| test.frames[0].size == [96, 64]));
        sanitize(Tool::Memcheck, &program, limits, &tests, false)
    }

    #[test]
    fn a_report_decides_and_no_report_is_not_run() {
        let clean = "========= COMPUTE-SANITIZER\n========= ERROR SUMMARY: 0 errors\n";
        assert_eq!(found(Some(clean), WORKER), Found::Nothing(3));
        let wrong = "========= COMPUTE-SANITIZER\n\
                     ========= Invalid __global__ read of size 16 bytes\n\
                     =========     at blend+0x160\n=========\n\
                     ========= ERROR SUMMARY: 1 error\n";
        let Found::Mistake(rejection) = found(Some(wrong), WORKER) else {
            panic!("no mistake");
        };
        assert_eq!(rejection.gate, Gate::Memory);
        assert!(rejection.reason.contains("Invalid __global__ read"));
        // A worker that dies of what the tool reports.
        let dies = WORKER.replace("*'\"render\"'*)", "*'\"render\"'*) exit 1;; never)");
        assert!(matches!(found(Some(wrong), &dies), Found::Mistake(_)));
        assert!(matches!(found(Some(clean), &dies), Found::NotRun(_)));
        let Found::NotRun(why) = found(None, WORKER) else {
            panic!("run without a report");
        };
        assert!(why.contains("memcheck") && why.contains(REPORT), "{why}");
    }
}
