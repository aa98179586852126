//! How `make` and `demo` end: a page, and what there is to look at.

use crate::output::{self, counted, duration, thousands};
use crate::run::{Files, Metrics};
use crate::scene_source::SceneSource;
use crate::sharing::{self, Choices, SharedScene};
use anyhow::{Context, Result};
use splatcore_data::file::write_bytes;
use splatcore_train::Config;
use std::path::Path;

/// Writes the scene of the run in `folder` as a page that begins where its photos were taken: at
/// the cameras that were held out, or at all if none was.
pub fn write_page(page: &Path, scene: &SharedScene, title: &str, folder: &Path) -> Result<()> {
    let source = SceneSource::find(folder)?;
    let settings = Config::from_file(&Files::of(folder).config)?.complete();
    let mut cameras = source.cameras().unwrap_or_default();
    if cameras.iter().any(|camera| camera.held_out) {
        cameras.retain(|camera| camera.held_out);
    }
    let views = cameras.into_iter();
    let choices = Choices {
        title: title.into(),
        background: settings.data.background.colour(),
        sky: source.sky(None)?,
        up: source.up(),
        views: views
            .map(|named| sharing::view(named.name, &named.camera))
            .collect(),
        ..Choices::default()
    };
    Ok(write_bytes(page, scene.page(&choices)?.as_bytes())?)
}

/// What there is to look at.
pub struct Ending<'a> {
    /// The dataset's folder.
    pub photos: &'a Path,
    /// Files of the run.
    pub files: &'a Files,
    /// The page.
    pub page: &'a Path,
    /// What to type next.
    pub next: Option<String>,
}

impl Ending<'_> {
    /// Prints quality, and where everything is.
    pub fn print(&self) -> Result<()> {
        let path = &self.files.metrics;
        let text = std::fs::read_to_string(path).context(path.display().to_string())?;
        let found: Metrics = serde_json::from_str(&text).context(path.display().to_string())?;
        let kind = match found.split.as_str() {
            "test" => "held-out photo",
            _ => "training photo",
        };
        let next = match &self.next {
            Some(next) => format!("\nnext     {next}"),
            None => String::new(),
        };
        output::print(&format!(
            "PSNR {:.2} dB, SSIM {:.4} on {}; {} Gaussians, trained in {}\n\
             photos   {}\n\
             scene    {}  (opens in any Gaussian splat viewer)\n\
             report   {}  (photo, render and error side by side)\n\
             page     {}  (the scene in one file: open it, send it to a friend){next}",
            found.psnr,
            found.ssim,
            counted(found.views.len(), kind),
            thousands(found.gaussians as u64),
            duration(found.seconds),
            self.photos.display(),
            self.files.scene.display(),
            self.files.report.display(),
            self.page.display()
        ))
    }
}
