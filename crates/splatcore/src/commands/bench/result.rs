//! What is measured, as it is written.

use crate::program;
use serde::Serialize;
use splatcore_core::pipeline::Pipeline;
use splatcore_papers::Row;
use std::path::Path;

/// What made a file of measurements.
#[derive(Serialize)]
pub struct Made {
    /// Of the program.
    pub version: &'static str,
    /// As [`program::commit`].
    pub commit: Option<&'static str>,
    /// The arguments; of absolute paths the name alone, since the folders are of one machine.
    pub command: Vec<String>,
}

impl Made {
    /// By this process.
    pub fn here() -> Self {
        Self {
            version: env!("CARGO_PKG_VERSION"),
            commit: program::commit(),
            command: program::arguments()
                .into_iter()
                .map(without_folder)
                .collect(),
        }
    }
}

fn without_folder(argument: String) -> String {
    let path = Path::new(&argument);
    match path.file_name() {
        Some(name) if path.is_absolute() => name.to_string_lossy().into_owned(),
        _ => argument,
    }
}

fn is_one(count: &usize) -> bool {
    *count == 1
}

/// What one run of the command measured.
#[derive(Serialize)]
pub struct Bench {
    pub made: Made,
    pub device: String,
    pub backend: &'static str,
    /// At work at the same time, each with some of the views; a time is that of one of them.
    #[serde(skip_serializing_if = "is_one")]
    pub cards: usize,
    pub scene: String,
    /// Whether the scene's harmonics were halves; the reference's never are.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub half_scene: bool,
    pub gaussians: usize,
    pub size: [u32; 2],
    pub views: usize,
    pub passes: u32,
    pub rows: Vec<Row>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub skipped: Vec<Skipped>,
}

/// A pipeline that this backend does not have, or not the memory for.
#[derive(Serialize)]
pub struct Skipped {
    pub pipeline: Pipeline,
    pub reason: String,
}
