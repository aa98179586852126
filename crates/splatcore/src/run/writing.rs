//! The scene of a run goes to disk while its state is fetched and its views are measured.

use super::timeline::Timeline;
use crate::output::counted;
use crate::scene_source::{Files, forget_move};
use crate::sharing::{MAX_IN_REPORT, SharedScene};
use anyhow::{Context, Result};
use splatcore_core::Gaussians;
use splatcore_data::{DataError, file, scene};
use splatcore_train::ResolvedConfig;
use splatcore_train::config::Preset;
use splatcore_train::memory::Bytes;
use std::panic::resume_unwind;
use std::path::Path;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

/// How often a scene is tried again that finds no room on the disk.
const TRIES: u32 = 120;
const PAUSE: Duration = Duration::from_secs(5);

/// A scene that is being written, on a thread of its own.
pub struct SceneWriter(Option<JoinHandle<Result<SharedScene>>>);

impl SceneWriter {
    /// Starts to write scene.ply, then what else there is of the scene: scene.sog, if the preset
    /// has one, and its encoding for the report. Nothing is written of a scene that has diverged.
    pub fn start(
        gaussians: Gaussians,
        config: &ResolvedConfig,
        files: &Files,
        timeline: &Arc<Timeline>,
    ) -> Self {
        let antialias = config.scene.antialias;
        let has_sog = config.preset.is_some_and(Preset::writes_sog);
        let (ply, sog) = (files.scene.clone(), files.sog.clone());
        let timeline = Arc::clone(timeline);
        let write = move || {
            let scene = SharedScene::new(sound(gaussians), antialias);
            let gaussians = scene.gaussians();
            if gaussians.is_empty() {
                return Ok(scene);
            }
            timeline.time("write scene.ply", || {
                once_there_is_room(PAUSE, || scene::write_ply(&ply, gaussians, antialias))
            })?;
            forget_move(&ply);
            if has_sog {
                timeline.time("write scene.sog", || write_sog(&sog, &scene))?;
                forget_move(&sog);
            } else if gaussians.len() <= MAX_IN_REPORT {
                // The report tells if it fails.
                let _ = timeline.time("encode the scene for the report", || {
                    scene.sog(&|_, _, _| {}).map(drop)
                });
            }
            Ok(scene)
        };
        Self(Some(std::thread::spawn(write)))
    }

    /// Waits until all of it is written.
    ///
    /// # Errors
    /// What the disk reports.
    pub fn wait(mut self) -> Result<SharedScene> {
        let thread = self.0.take().context("the scene is being written")?;
        thread.join().unwrap_or_else(|panic| resume_unwind(panic))
    }
}

impl Drop for SceneWriter {
    /// A program that ends would take the thread, and with it the scene, along.
    fn drop(&mut self) {
        if let Some(thread) = self.0.take() {
            let _ = thread.join();
        }
    }
}

/// Writes what hours of training made. While the disk is full, it is tried again every `pause`, so
/// that whoever makes room loses nothing.
///
/// # Errors
/// What the disk reports; that it is full only after [`TRIES`].
fn once_there_is_room(
    pause: Duration,
    mut write: impl FnMut() -> Result<(), DataError>,
) -> Result<(), DataError> {
    let mut left = TRIES;
    loop {
        match write() {
            Err(error) if error.no_space && left > 0 => {
                if left == TRIES {
                    eprintln!(
                        "{error}: the scene is kept in memory and tried again for {} minutes; \
                         Ctrl-C gives it up",
                        (PAUSE * TRIES).as_secs() / 60
                    );
                }
                left -= 1;
                std::thread::sleep(pause);
            }
            written => return written,
        }
    }
}

/// The Gaussians without those that pictures do not show and no reader would take.
fn sound(mut gaussians: Gaussians) -> Gaussians {
    let unsound = gaussians.drop_unsound();
    if unsound > 0 && !gaussians.is_empty() {
        eprintln!(
            "warning: {} with a value that is not finite left out of the scene; try lower learning \
             rates",
            counted(unsound, "Gaussian")
        );
    }
    gaussians
}

/// The scene once more, small.
fn write_sog(path: &Path, scene: &SharedScene) -> Result<()> {
    // The bar of the measuring is on the terminal.
    let bytes = scene.sog(&|_, _, _| {})?;
    file::write_bytes(path, bytes)?;
    eprintln!("{}: {}", path.display(), Bytes(bytes.len() as u64));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Error, ErrorKind};

    #[test]
    fn a_full_disk_is_waited_for_and_nothing_else() {
        let failing = |kind: ErrorKind, times: u32| {
            let mut calls = 0;
            let written = once_there_is_room(Duration::ZERO, || {
                calls += 1;
                match calls > times {
                    true => Ok(()),
                    false => Err(DataError::write(Path::new("scene.ply"), &Error::from(kind))),
                }
            });
            (written.map_err(|error| error.to_string()), calls)
        };
        assert_eq!(failing(ErrorKind::StorageFull, 3), (Ok(()), 4));
        assert_eq!(
            failing(ErrorKind::QuotaExceeded, TRIES),
            (Ok(()), TRIES + 1)
        );
        let (error, calls) = failing(ErrorKind::StorageFull, TRIES + 1);
        assert!(error.unwrap_err().contains("free some space") && calls == TRIES + 1);
        let (error, calls) = failing(ErrorKind::PermissionDenied, 1);
        assert!(error.unwrap_err().contains("you may write") && calls == 1);
    }
}
