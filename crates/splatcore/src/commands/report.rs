//! `splatcore report`: finished runs on one page.

use crate::backends::BackendArgs;
use crate::commands::eval::measure;
use crate::report::{ComparedRun, ViewPictures, comparison};
use crate::run::{Files, Metrics};
use crate::scene_source::SceneSource;
use crate::{held_out, interrupt, load, output};
use anyhow::{Context, Result, bail};
use splatcore_core::backend::RenderOptions;
use splatcore_core::{Backend, Pipeline};
use splatcore_data::dataset::{Dataset, LoadOptions, Split};
use splatcore_data::file;
use splatcore_train::Extras;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// A chart has so many colours.
const MAX_RUNS: usize = 4;
/// Views of which every run's picture is shown.
const SHOWN_VIEWS: usize = 6;

/// Compare finished runs on one page.
///
/// Shows final numbers, the settings that differ, curves over the time trained, and with the
/// dataset pictures side by side. The page needs no network and has no scripts.
#[derive(clap::Args)]
pub struct Args {
    /// Folders that `splatcore train` wrote, one to four
    #[arg(value_name = "RUN", required = true)]
    runs: Vec<PathBuf>,
    /// The page to write. An existing file is replaced
    #[arg(short, long, value_name = "FILE.html")]
    output: PathBuf,
    /// Also render up to six held-out photos of this dataset with every run's scene, each at the
    /// photo's size or the run's --max-size
    #[arg(long, value_name = "DATASET")]
    dataset: Option<PathBuf>,
    /// The same, of the dataset that the first run was trained on
    #[arg(long, conflicts_with = "dataset")]
    pictures: bool,
    /// Folder of the dataset's photos in place of `images`, for example images_4
    #[arg(long, value_name = "FOLDER")]
    images: Option<String>,
    #[command(flatten)]
    backend: BackendArgs,
}

/// Runs the command.
pub fn run(args: Args) -> Result<()> {
    if args.runs.len() > MAX_RUNS {
        let error = format!(
            "{} runs are too many for one page; give at most {MAX_RUNS}",
            args.runs.len()
        );
        return Err(output::WrongUsage(error).into());
    }
    Files::check_not_own(&args.output, "-o")?;
    output::check_file_writable(&args.output, "-o")?;
    interrupt::watch()?;
    let mut runs = args
        .runs
        .iter()
        .map(|folder| read(folder))
        .collect::<Result<Vec<_>>>()?;
    if args.dataset.is_some() || args.pictures {
        let sources = args.runs.iter().map(|folder| SceneSource::find(folder));
        let sources: Vec<SceneSource> = sources.collect::<Result<_>>()?;
        let (typed, images) = (args.dataset.as_deref(), args.images.as_deref());
        // Of all runs the same views, whatever each held out.
        let (first, folder) = sources[0].needs_dataset(typed, images)?;
        let backend = args.backend.open()?;
        let (_, test_every) = sources[0].settings(None, None);
        let all = load::select(&first, &folder, Split::Test, test_every)?;
        let shown = all.len().min(SHOWN_VIEWS);
        let indices: Vec<usize> = (0..shown).map(|i| all[i * all.len() / shown]).collect();
        for (run, source) in runs.iter_mut().zip(&sources) {
            // A run that was turned upright sees the photos from elsewhere.
            let (dataset, _) = source.needs_dataset(typed.or(Some(&folder)), images)?;
            run.views = pictures(source, &dataset, &indices, &*backend)?;
        }
    }
    let count = output::counted(runs.len(), "run");
    file::write_bytes(&args.output, comparison(&runs).as_bytes())?;
    output::print(&format!("{count} in {}", args.output.display()))
}

/// What a run's folder says of it.
fn read(folder: &Path) -> Result<ComparedRun> {
    let files = Files::of(folder);
    let shown = files.metrics.display();
    let text = std::fs::read_to_string(&files.metrics).map_err(|e| {
        anyhow::anyhow!("{shown}: cannot be read ({e}); give the folder of a finished run")
    })?;
    let metrics: Metrics = serde_json::from_str(&text).with_context(|| {
        format!("{shown}: is no metrics.json of a run; run `splatcore train` again")
    })?;
    // A run without its settings can be compared all the same.
    let config = std::fs::read_to_string(&files.config).unwrap_or_default();
    Ok(ComparedRun {
        name: folder.display().to_string(),
        metrics,
        settings: settings(&config),
        views: Vec::new(),
    })
}

/// Keys and values of a config.toml as a run writes it: a line each.
fn settings(config: &str) -> BTreeMap<String, String> {
    let lines = config.lines().filter(|line| !line.starts_with('#'));
    let pairs = lines.filter_map(|line| line.split_once('='));
    pairs
        .map(|(key, value)| (key.trim().to_owned(), value.trim().to_owned()))
        .collect()
}

/// Photo and render of views with a run's scene.
fn pictures(
    source: &SceneSource,
    dataset: &Dataset,
    indices: &[usize],
    backend: &dyn Backend,
) -> Result<Vec<ViewPictures>> {
    let (scene, antialias) = source.load()?;
    let (background, _) = source.settings(None, Some(8));
    let options = LoadOptions {
        max_size: source.max_size(),
        background: background.colour(),
        keep_lens: source.keep_lens(None),
        ..LoadOptions::default()
    };
    let views = load::views(dataset, indices, &options)?;
    if views.len() < indices.len() {
        bail!(
            "{}: a photo is masked out whole; leave out --dataset",
            dataset.root.display()
        );
    }
    held_out::check(source, views.iter().map(|view| &*view.name));
    let mut renderer = backend.renderer(&scene)?;
    let options = RenderOptions {
        pipeline: Pipeline::MEASURED,
        background: background.colour(),
        sky: source.sky(None)?,
        antialias,
        ..RenderOptions::default()
    };
    let (_, pictures) = measure(&mut *renderer, &views, &options, Extras::default(), true)?;
    Ok(pictures)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_the_lines_that_say_something() {
        let found = settings("# seed = 3\nseed = 1\n\nbackground = \"a=b\"\n");
        let wanted = [("seed", "1"), ("background", "\"a=b\"")];
        assert_eq!(
            found,
            wanted.map(|(k, v)| (k.to_owned(), v.to_owned())).into()
        );
    }
}
