//! The scene of a run goes to disk while its state is fetched and its views are measured.

use super::timeline::Timeline;
use crate::output::counted;
use crate::scene_source::{Files, forget_move};
use crate::sharing::{MAX_IN_REPORT, SharedScene};
use anyhow::{Context, Result};
use splatcore_core::Gaussians;
use splatcore_data::{file, scene};
use splatcore_train::ResolvedConfig;
use splatcore_train::config::Preset;
use splatcore_train::memory::Bytes;
use std::panic::resume_unwind;
use std::path::Path;
use std::sync::Arc;
use std::thread::JoinHandle;

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
                scene::write_ply(&ply, gaussians, antialias)
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
