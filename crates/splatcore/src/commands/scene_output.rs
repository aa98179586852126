//! The scene that `convert` and `prune` write.

use crate::interrupt;
use crate::output::{self, WrongUsage};
use crate::progress::Stages;
use anyhow::{Result, bail};
use splatcore_data::lock::FolderLock;
use splatcore_data::scene::{self, Format, Rows, WriteOptions, Written};
use std::path::Path;

/// The format that a name after -o asks for.
pub fn format(output: &Path) -> Result<Format> {
    let format = Format::of_output(output).map_err(|error| {
        let (problem, remedy) = (error.problem, error.remedy);
        WrongUsage(format!("-o {}: {problem}; {remedy}", output.display()))
    })?;
    Ok(format)
}

/// Refuses a file that cannot be written, or that exists and is not to be replaced. Of a format of
/// many files the folder is taken: two writers there would mix theirs. `what` is done there.
pub fn take(output: &Path, overwrite: bool, what: &str) -> Result<Option<FolderLock>> {
    if output.exists() && !overwrite && !output.is_dir() {
        bail!(
            "{}: exists already; add --overwrite to replace it, or choose another name with -o",
            output.display()
        );
    }
    let many = matches!(format(output)?, Format::SogFolder | Format::StreamedSog);
    let folder = output.parent().filter(|_| many);
    let lock = folder.map(|folder| match folder.as_os_str().is_empty() {
        true => output::take_folder(Path::new("."), what),
        false => output::take_folder(folder, what),
    });
    let lock = lock.transpose()?;
    output::check_file_writable(output, "-o")?;
    Ok(lock)
}

/// Writes with a progress bar and says what the format could not keep; Ctrl-C leaves no unfinished
/// file behind.
pub fn write(path: &Path, rows: &dyn Rows, options: &WriteOptions) -> Result<Written> {
    interrupt::watch()?;
    let stages = Stages::default();
    let written = scene::write(path, rows, options, &|stage, done, total| {
        stages.tell(stage, done, total);
    })?;
    drop(stages);
    for note in &written.notes {
        eprintln!("{}: {note}", path.display());
    }
    Ok(written)
}
