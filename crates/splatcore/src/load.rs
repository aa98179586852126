//! Scenes and datasets from disk, with everything worth saying about them on stderr.

use crate::progress::Progress;
use anyhow::{Result, bail};
use splatcore_core::image::to_bytes;
use splatcore_core::{Gaussians, View};
use splatcore_data::dataset::{
    Dataset, Format, LoadOptions, OpenOptions, ReadoutTime, Split, read_points,
};
use splatcore_data::scene::{self, spz::SpzAxes};
use splatcore_train::ResolvedConfig;
use splatcore_train::config::Background;
use splatcore_train::memory::{self, Bytes};
use std::path::Path;

/// Of a file of points so many are used at most: more cost a run time and memory before it has
/// found out where they are needed.
const MAX_POINTS: usize = 1_000_000;
/// Photos take at most one of so many parts of the memory that is free.
const SHARE_OF_PHOTOS: u64 = 2;
/// So many names or warnings are printed; `splatcore info` has them all.
const SHOWN: usize = 10;

/// `--spz-axes`.
#[derive(Clone, Copy, Debug, PartialEq, clap::ValueEnum)]
pub enum SpzAxesChoice {
    /// Those that the file names; x right, y up, z back if it names none
    Auto,
    /// x right, y up, z back
    Rub,
    /// x right, y down, z forward, as in PLY
    Rdf,
}

impl From<SpzAxesChoice> for SpzAxes {
    fn from(choice: SpzAxesChoice) -> Self {
        match choice {
            SpzAxesChoice::Auto => SpzAxes::Auto,
            SpzAxesChoice::Rub => SpzAxes::Rub,
            SpzAxesChoice::Rdf => SpzAxes::Rdf,
        }
    }
}

/// Reads a scene file; also whether it is to be rendered with Mip-Splatting's 2D filter.
pub fn scene(path: &Path) -> Result<(Gaussians, bool)> {
    let file = scene::read(path)?;
    say(path, file.dropped, &file.notes);
    Ok((file.gaussians, file.antialiased))
}

/// Says what a reader dropped and noticed.
pub fn say(path: &Path, dropped: usize, notes: &[String]) {
    if dropped > 0 {
        eprintln!(
            "{}: {dropped} Gaussians dropped, a value of theirs is not finite",
            path.display(),
        );
    }
    for note in notes {
        eprintln!("{}: {note}", path.display());
    }
}

/// The photos of a split, at least one; `folder` is the dataset's.
pub fn select(
    dataset: &Dataset,
    folder: &Path,
    split: Split,
    test_every: u32,
) -> Result<Vec<usize>> {
    let indices = dataset.select(split, test_every as usize);
    if indices.is_empty() {
        bail!(
            "{}: no photo in the {split} split; choose another --split or --test-every",
            folder.display()
        );
    }
    Ok(indices)
}

/// Warns of a `--test-every` that changes nothing: the dataset's files name the photos to hold out.
pub fn say_declared(dataset: &Dataset, test_every: Option<u32>) {
    let declared = dataset
        .entries
        .iter()
        .any(|entry| entry.declared_split.is_some());
    if let (true, Some(every)) = (declared, test_every) {
        eprintln!(
            "warning: --test-every {every} changes nothing: the dataset's files name the photos to \
             hold out"
        );
    }
}

/// Opens a dataset and lists what is missing or odd. With a read-out, cameras move as they read
/// photos where the files tell how.
pub fn dataset(path: &Path, images: Option<&str>, readout: Option<ReadoutTime>) -> Result<Dataset> {
    let dataset = opened(path, images, 0, readout)?;
    say_what_is_odd(&dataset);
    Ok(dataset)
}

/// As [`dataset`], of photos that training can work on, as a run's settings say.
pub fn dataset_to_train(
    path: &Path,
    images: Option<&str>,
    config: &ResolvedConfig,
) -> Result<Dataset> {
    let readout = config.readout();
    let dataset = opened(path, images, config.seed, readout)?;
    if readout.is_some() && !dataset.tells_motion {
        bail!(
            "{}: a {} dataset that does not say when photos were taken, so that --readout-time \
             tells no motion; leave it out, or find the motion by --refine-motion",
            path.display(),
            dataset.format
        );
    }
    if let Some(why) = dataset.untrainable() {
        bail!(
            "{}: {why}; export or find the cameras again",
            path.display()
        );
    }
    say_what_is_odd(&dataset);
    let of_phone = [Format::Arkit, Format::Polycam, Format::Record3d].contains(&dataset.format);
    if of_phone && dataset.tells_motion && readout.is_none() {
        eprintln!(
            "{}: says when photos were taken, not in how many seconds each was read; with \
             --readout-time (a phone: 0.01 to 0.03) each row gets its own pose",
            path.display()
        );
    }
    Ok(dataset)
}

/// Takes the points of a file in place of the dataset's, in the photos' frame.
pub fn starting_points(dataset: &mut Dataset, path: &Path, config: &ResolvedConfig) -> Result<()> {
    let most = config.scene.most_gaussians().min(MAX_POINTS);
    let (points, notes) = read_points(path, most)?;
    for note in notes {
        eprintln!("{}: {note}", path.display());
    }
    if let Some(warning) = dataset.start_from(points) {
        eprintln!("warning: {warning}");
    }
    Ok(())
}

fn opened(
    path: &Path,
    images: Option<&str>,
    seed: u64,
    readout: Option<ReadoutTime>,
) -> Result<Dataset> {
    let options = OpenOptions {
        images: images.map(str::to_owned),
        seed,
        readout,
        ..OpenOptions::default()
    };
    Ok(Dataset::open(path, &options)?)
}

fn say_what_is_odd(dataset: &Dataset) {
    for warning in dataset.warnings.iter().take(SHOWN) {
        eprintln!("warning: {warning}");
    }
    if dataset.warnings.len() > SHOWN {
        eprintln!(
            "warning: and {} more; `splatcore info` lists them",
            dataset.warnings.len() - SHOWN
        );
    }
    let missing = &dataset.missing;
    if !missing.is_empty() {
        let names = missing
            .iter()
            .take(SHOWN)
            .cloned()
            .collect::<Vec<_>>()
            .join(", ");
        let more = if missing.len() > SHOWN { ", ..." } else { "" };
        eprintln!(
            "warning: {} of {} listed images do not exist and are left out: {names}{more}",
            missing.len(),
            missing.len() + dataset.entries.len()
        );
    }
    if dataset.points.random {
        eprintln!(
            "no starting points in the dataset: {} random ones",
            dataset.points.positions.len()
        );
    }
}

/// Decodes the photos to train on, and those held out. The latter stand on the background of the
/// options, whether or not the former keep their transparency.
pub fn train_and_test(
    dataset: &Dataset,
    train: Vec<usize>,
    test_every: usize,
    options: &LoadOptions,
) -> Result<[Vec<View>; 2]> {
    let of = |&index: &usize| dataset.view_count(index, options);
    let trained = train.iter().map(of).sum();
    let mut indices = train;
    indices.extend(dataset.select(Split::Test, test_every));
    let mut train = views(dataset, &indices, options)?;
    let mut test = train.split_off(trained);
    for view in &mut test {
        if view.photo.has_alpha() {
            view.photo = view.photo.on(to_bytes(options.background));
        }
    }
    Ok([train, test])
}

/// How many bytes of photos are held.
#[derive(Clone, Copy, Debug, Default, clap::Args)]
pub struct PhotoMemoryArgs {
    /// Hold at most so many bytes of decoded photos in the computer's memory, for example 8G [half
    /// of what is free]. Photos beyond it are decoded each time that they are needed, some of them
    /// ahead, by all threads; and with them their depth maps, normals and masks of the sky. The
    /// result is the same, bit for bit. Each of several ranks holds so much
    #[arg(long, value_name = "SIZE")]
    pub photo_memory: Option<Bytes>,
}

impl PhotoMemoryArgs {
    /// The limit in bytes, for one of so many processes of this machine; `None` where nothing was
    /// typed and the system does not say how much is free.
    pub fn limit(self, processes: usize) -> Option<u64> {
        let share = |free: u64| free / SHARE_OF_PHOTOS / processes.max(1) as u64;
        let typed = self.photo_memory.map(|Bytes(bytes)| bytes);
        typed.or_else(|| memory::available().map(share))
    }
}

/// Decodes photos with a progress bar. Without a limit in the options, they are held in the share
/// of memory that is theirs.
pub fn views(dataset: &Dataset, indices: &[usize], options: &LoadOptions) -> Result<Vec<View>> {
    let limit = options.memory.or(PhotoMemoryArgs::default().limit(1));
    let options = LoadOptions {
        memory: limit,
        ..options.clone()
    };
    let progress = Progress::new("loading photos", indices.len() as u64);
    let (views, warnings) = dataset.load_fitting(indices, &options, &|done, _| {
        progress.update(done as u64, String::new)
    })?;
    progress.finish();
    for warning in warnings {
        eprintln!("warning: {warning}");
    }
    say_held(&views);
    Ok(views)
}

/// Says how many photos are not held, if there are some.
fn say_held(views: &[View]) {
    let held = views.iter().filter(|view| view.photo.elsewhere.is_none());
    let held: Vec<u64> = held
        .map(|view| view.photo.bytes_with_depths() as u64)
        .collect();
    if held.len() < views.len() {
        eprintln!(
            "photos: {} of {} are held in memory, {}; the others are decoded when they are needed \
             (--photo-memory)",
            held.len(),
            views.len(),
            Bytes(held.iter().sum())
        );
    }
}

/// A background to render on. Only training can have `random`.
pub fn one_colour(text: &str) -> Result<Background, String> {
    match text.parse() {
        Ok(Background::Random) => {
            Err("'random' is for training; write black, white, or r,g,b".into())
        }
        parsed => parsed,
    }
}
