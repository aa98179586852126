//! `splatcore lab pack` and `merge`: an experiment on a machine that has a card and neither Rust
//! nor a network.

use crate::program;
use anyhow::{Context, Result, bail};
use splatcore_lab::copy::copy;
use splatcore_lab::experiment::Folder;
use splatcore_lab::journal::Journal;
use std::fs;
use std::path::{Component, Path, PathBuf};

/// Pack a folder that goes on with an experiment on another machine: this program, the experiment
/// and its scenes. Copy it there, run OUT/run.sh, and copy OUT/experiment back for `lab merge`.
#[derive(clap::Args)]
pub struct PackArgs {
    /// Folder of the experiment; its scenes must be given relative to the current folder
    folder: PathBuf,
    /// New or empty folder
    out: PathBuf,
}

/// Take over what another machine added to an experiment.
#[derive(clap::Args)]
pub struct MergeArgs {
    /// Folder of the experiment
    folder: PathBuf,
    /// The folder that came back: OUT/experiment of `lab pack`
    from: PathBuf,
}

const SCRIPT: &str = "#!/bin/sh\n# Goes on with the experiment; arguments go to `splatcore lab \
                      run`.\ncd \"$(dirname \"$0\")\" && exec ./splatcore lab run experiment \
                      --on card \"$@\"\n";

/// Runs `lab pack`.
pub fn pack(args: &PackArgs) -> Result<()> {
    let Some(program) = program::file()? else {
        bail!(
            "the Python package holds no program that runs by itself; install the program \
             splatcore and type the same command with it"
        );
    };
    let folder = Folder::open(&args.folder)?;
    let out = &args.out;
    let scenes = &folder.experiment.scenes;
    let scenes = scenes.search.iter().chain(&scenes.held_out);
    let paths: Vec<&Path> = scenes
        .flat_map(|scene| [Some(&scene.model), scene.dataset.as_ref()])
        .flatten()
        .map(Path::new)
        .collect();
    let inside = |part: Component| matches!(part, Component::Normal(_) | Component::CurDir);
    if let Some(path) = paths.iter().find(|path| !path.components().all(inside)) {
        bail!(
            "{}: scenes that travel are given relative to the current folder, without ..; begin \
             the experiment so",
            path.display()
        );
    }
    fs::create_dir_all(out).with_context(|| out.display().to_string())?;
    if fs::read_dir(out)?.next().is_some() {
        bail!("{} is not empty; give a new folder", out.display());
    }
    for path in paths {
        copy(path, &out.join(path))?;
    }
    drop(folder);
    copy(&args.folder, &out.join("experiment"))?;
    copy(&program, &out.join("splatcore"))?;
    let script = out.join("run.sh");
    fs::write(&script, SCRIPT).with_context(|| script.display().to_string())?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        fs::set_permissions(&script, fs::Permissions::from_mode(0o755))?;
    }
    println!("{}", out.display());
    Ok(())
}

/// Runs `lab merge`.
pub fn merge(args: &MergeArgs) -> Result<()> {
    let here = Folder::open(&args.folder)?;
    let there = Folder::open(&args.from)?;
    if here.experiment != there.experiment {
        bail!(
            "{} is of another experiment than {}",
            args.from.display(),
            args.folder.display()
        );
    }
    let (ours, theirs) = (here.journal.entries(), there.journal.entries());
    if !theirs.starts_with(ours) {
        bail!(
            "both journals went on since the experiment was packed; only one machine works on an \
             experiment at a time: keep {}, or begin a new experiment",
            args.folder.display()
        );
    }
    let added = theirs.len() - ours.len();
    drop((here, there));
    // Texts first: the journal names them.
    let blobs = args.from.join("blobs");
    // An experiment without a candidate has none.
    if blobs.exists() {
        copy(&blobs, &args.folder.join("blobs"))?;
    }
    let (from, to) = (
        args.from.join("journal.jsonl"),
        args.folder.join("journal.jsonl"),
    );
    let scratch = args.folder.join("journal.jsonl.new");
    copy(&from, &scratch)?;
    fs::rename(&scratch, &to).with_context(|| to.display().to_string())?;
    Journal::open(&to)?;
    println!("{added} events are new");
    Ok(())
}
