//! Which of the flags about cameras have an effect; those without are refused.

use super::{CameraArgs, Source};
use crate::output::WrongUsage;
use crate::scene_source::SceneSource;
use anyhow::Result;

/// What a camera path is made from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PathFrom {
    /// The circle of `--orbit`.
    Circle,
    /// Cameras that were named, or that the run has recorded.
    Cameras,
    /// A file, and nothing else.
    File,
}

impl CameraArgs {
    /// Whether cameras were named, or recorded by the run, that a path may go through.
    pub fn are_known(&self, source: &SceneSource) -> bool {
        let Source {
            dataset, cameras, ..
        } = &self.source;
        !dataset.is_empty() || cameras.is_some() || source.cameras_file().is_some()
    }

    /// Whether nothing was given that a camera path from this has no use for. (As clap's conflicts
    /// of `--path` they would let flags pass that need `--path`.)
    ///
    /// # Errors
    /// If there was.
    pub fn check_for_path(&self, from: PathFrom) -> Result<()> {
        let flags = [
            ("--orbit", self.source.orbit.is_some(), "--path orbit"),
            ("--stretch", self.stretch, "--size alone"),
            ("--max-size", self.max_size.is_some(), "--size"),
        ];
        match flags.iter().find(|(_, is_given, _)| *is_given) {
            Some((flag, _, instead)) => {
                Err(WrongUsage(format!("{flag} cannot be used with --path; give {instead}")).into())
            }
            None => self.check_used(Some(from)),
        }
    }

    /// Whether each flag has something to act on, in pictures or on a path. (Of clap's requirements
    /// of --dataset, --orbit frees.)
    pub(super) fn check_used(&self, path: Option<PathFrom>) -> Result<()> {
        let Source {
            dataset, cameras, ..
        } = &self.source;
        let (around, circle) = match path {
            None => (self.source.orbit.is_some(), "--orbit"),
            Some(from) => (from == PathFrom::Circle, "--path orbit"),
        };
        let (posed, photos) = match path {
            None | Some(PathFrom::Cameras) => (true, "--dataset"),
            Some(_) => (false, "--path ellipse or spline"),
        };
        let of_dataset = posed && !dataset.is_empty();
        let start = around || path.is_none();
        let upright = around || path.is_none() && self.start.is_some();
        let lens = of_dataset && path.is_none();
        let flags = [
            ("dataset", !dataset.is_empty(), posed, photos),
            ("cameras", cameras.is_some(), posed, photos),
            ("split", self.split.is_some(), posed, photos),
            (
                "lens",
                self.lens.is_some(),
                lens,
                "--dataset without --path",
            ),
            ("images", self.images.is_some(), of_dataset, photos),
            ("test-every", self.test_every.is_some(), of_dataset, photos),
            ("distance", self.distance.is_some(), around, circle),
            ("up", self.up.is_some(), upright, circle),
            ("start", self.start.is_some(), start, circle),
        ];
        let unused = |(_, given, used, _): &&(&str, bool, bool, &str)| *given && !*used;
        match flags.iter().find(unused) {
            Some((flag, .., needed)) => Err(WrongUsage(format!(
                "--{flag} has no effect here: only {needed} looks at it; leave it out, or give \
                 {needed}"
            ))
            .into()),
            None => Ok(()),
        }
    }
}
