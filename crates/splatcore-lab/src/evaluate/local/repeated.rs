//! Times alone, for those who ask how sure a verdict is.

use super::{Local, Stop};
use crate::candidate::Texts;
use crate::evaluate::Broken;
use crate::gates::Verdict;
use crate::journal::Series;

impl Local<'_> {
    /// Times kernels beside the baseline's, in a worker of their own, until the verdict falls. No
    /// gate is met.
    ///
    /// # Errors
    /// If they cannot be timed here.
    pub fn compare(&mut self, changed: &Texts) -> Result<(Vec<Series>, Verdict), Broken> {
        self.evaluated += 1;
        self.timed(changed).map_err(broken)
    }

    /// How much processes of the baseline differ: [`crate::timing::margin`], measured when it is
    /// first wanted.
    ///
    /// # Errors
    /// If the baseline cannot be timed here.
    pub fn process_margin(&mut self) -> Result<f64, Broken> {
        self.margin().map_err(broken)
    }
}

fn broken(stop: Stop) -> Broken {
    Broken(format!("times: {stop}"))
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use crate::evaluate::suite::Suite;
    use crate::evaluate::{FrameKind, Role, Settings, Toolbox};
    use crate::gates::machine_code::Compiled;
    use crate::gates::sanitizer::Tool;
    use crate::gates::{Rejection, Verdict};
    use crate::timing::{PROCESSES, Plan};
    use crate::worker::{Limits, Program};
    use splatcore_core::{Backend, Pipeline};
    use std::ffi::OsString;
    use std::path::{Path, PathBuf};

    /// Workers that say they are ready. Each adds a line to a file when it starts: how many kernel
    /// files it was given.
    struct Shells {
        started: PathBuf,
        kernels: Texts,
    }

    impl Toolbox for Shells {
        fn describe(&self) -> String {
            "shells".into()
        }
        fn kernels(&self) -> &Texts {
            &self.kernels
        }
        fn compile(
            &self,
            _: &Texts,
            _: Pipeline,
            _: bool,
            _: &[FrameKind],
        ) -> Result<Option<Compiled>, Rejection> {
            Ok(None)
        }
        fn worker(&self, kernels: &Path, _: Role) -> Result<Program, String> {
            const SCRIPT: &str = r#"ls "$1" | wc -l >> "$0"
                echo '{"answer":"ready","device":"a shell","sandbox":"none"}'
                while read line; do echo '{"answer":"done"}'; done"#;
            let mut command = ["sh", "-c", SCRIPT].map(OsString::from).to_vec();
            command.extend([self.started.clone().into(), kernels.into()]);
            Ok(Program {
                command,
                environment: vec![],
                cache: None,
            })
        }
        fn sanitized(&self, _: &Path, _: Tool) -> Option<Result<Program, String>> {
            None
        }
        fn reference(&self) -> &dyn Backend {
            unreachable!("nothing is rendered")
        }
        fn is_timed(&self) -> bool {
            true
        }
    }

    /// Without test scenes and without scenes to time on, of which every round is even.
    fn without_scenes(shells: &Shells) -> Local<'_> {
        let settings = Settings {
            pipeline: Pipeline::VANILLA,
            training: false,
            files: vec![],
            seed: 1,
            more: vec![],
            plan: Plan::default(),
            limits: Limits::default(),
        };
        Local {
            toolbox: shells,
            suite: Suite::default(),
            settings,
            small: vec![],
            scenes: vec![],
            compiled: None,
            margin: None,
            empty: tempfile::tempdir().expect("a folder can be made"),
            sandbox: String::new(),
            device_seconds: 0.0,
            evaluated: 0,
        }
    }

    /// A worker that has rendered for long may be a little faster, or slower, than a new one, and
    /// the first of all than the next.
    #[test]
    fn all_workers_of_a_comparison_are_new_and_no_side_starts_first() {
        let folder = tempfile::tempdir().unwrap();
        let shells = Shells {
            started: folder.path().join("started"),
            kernels: Texts::new(),
        };
        let mut local = without_scenes(&shells);
        // Files of each worker's kernels, in the order of their starts.
        let take_started = || {
            let text = std::fs::read_to_string(&shells.started).unwrap();
            std::fs::remove_file(&shells.started).unwrap();
            let lines = text.lines().map(|line| line.trim().to_owned());
            lines.collect::<String>()
        };
        assert_eq!(local.process_margin().unwrap(), 0.0);
        assert_eq!(take_started(), "0000".repeat(PROCESSES));
        let changed = Texts::from([("blend.cu".to_owned(), "// changed".to_owned())]);
        let mut orders = Vec::new();
        for _ in 0..8 {
            let (_, verdict) = local.compare(&changed).unwrap();
            assert!(matches!(verdict, Verdict::Untimed), "{verdict}");
            orders.push(take_started());
        }
        orders.sort_unstable();
        orders.dedup();
        assert_eq!(orders, ["0110", "1001"]);
    }
}
