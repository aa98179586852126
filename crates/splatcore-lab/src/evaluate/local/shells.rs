//! Workers that are shell scripts, for tests.

use super::Local;
use crate::candidate::Texts;
use crate::evaluate::scene::Scene;
use crate::evaluate::suite::Suite;
use crate::evaluate::{Already, FrameKind, Role, Settings, Toolbox, Turns};
use crate::gates::Rejection;
use crate::gates::machine_code::Compiled;
use crate::gates::sanitizer::Tool;
use crate::timing::Plan;
use crate::worker::{Limits, Program};
use splatcore_core::{Backend, Pipeline};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// A build whose workers run a script. `$0` is a path of the test's, `$1` the folder of kernels.
pub struct Shells {
    script: &'static str,
    path: PathBuf,
    kernels: Texts,
    turns: Turns,
    _folder: tempfile::TempDir,
}

impl Shells {
    /// Workers with this script and path.
    pub fn new(script: &'static str, path: &Path) -> Self {
        let folder = tempfile::tempdir().expect("a folder can be made");
        Self {
            script,
            path: path.into(),
            kernels: Texts::new(),
            turns: Turns::new(folder.path(), "card"),
            _folder: folder,
        }
    }

    /// Judges with these workers: without test scenes, on these scenes to time on.
    pub fn local(&self, scenes: Vec<Scene>) -> Local<'_> {
        Local {
            toolbox: self,
            settings: Settings {
                pipeline: Pipeline::VANILLA,
                training: false,
                files: vec![],
                seed: 1,
                more: vec![],
                plan: Plan::default(),
                limits: Limits::default(),
            },
            suite: Suite::default(),
            small: vec![],
            scenes,
            compiled: None,
            margin: None,
            keeps_memory: Some(false),
            baseline_checked: true,
            empty: tempfile::tempdir().expect("a folder can be made"),
            sandbox: String::new(),
            device_seconds: 0.0,
            evaluated: 0,
            already: Already::default(),
        }
    }
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
        let mut command = ["sh", "-c", self.script].map(OsString::from).to_vec();
        command.extend([self.path.clone().into(), kernels.into()]);
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
        unreachable!("tests give the reference")
    }
    fn turns(&self) -> Option<&Turns> {
        Some(&self.turns)
    }
}
