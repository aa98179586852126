//! The photos of a run.

use super::job::{Init, Job};
use crate::load;
use crate::output::{self, counted};
use crate::ranks::Rank;
use anyhow::{Result, bail};
use rayon::prelude::*;
use sha2::{Digest, Sha256};
use splatcore_core::depth::{DepthMap, Known};
use splatcore_core::image::PhotoSource;
use splatcore_core::ranked::median;
use splatcore_core::{Lens, Photo, Tracks, View, panorama};
use splatcore_data::dataset::{
    Dataset, Entry, LoadOptions, Points, Split, depth_factor, depths_of_points, points_of,
};
use splatcore_train::config::{DepthKind, Depths};
use splatcore_train::{Config, ResolvedConfig, motion};
use std::sync::Arc;

/// The photos to train on, and those held out.
pub struct Photos {
    pub train: Arc<Vec<View>>,
    pub test: Arc<Vec<View>>,
    /// How much more light each view's photo to train on took than the middle one, stops, where
    /// that is known; `None` if it is not asked for.
    pub exposures: Option<Vec<Option<f32>>>,
    /// Which points of the dataset's model each view to train on shows, if poses are refined.
    pub tracks: Vec<Tracks>,
    /// The same of the held-out photos.
    pub test_tracks: Vec<Tracks>,
}

impl Photos {
    /// Differs between photos of different names, cameras or sizes.
    pub fn fingerprint(&self) -> String {
        let mut hash = Sha256::new();
        for view in self.train.iter().chain(&*self.test) {
            hash.update(format!("{} {:?}\n", view.name, view.camera));
        }
        output::hex(hash)
    }
}

impl Photos {
    /// Without the pixels of the photos held out, which rank 0 alone reads.
    pub fn without_held_out(self) -> Self {
        let nowhere: Arc<dyn PhotoSource> = Arc::new(AtRankZero);
        let released = |(index, view): (usize, &View)| View {
            photo: view.photo.clone().released(Arc::clone(&nowhere), index),
            ..view.clone()
        };
        let test = self.test.iter().enumerate().map(released).collect();
        Self {
            test: Arc::new(test),
            ..self
        }
    }
}

/// Stands for photos that only rank 0 reads.
#[derive(Debug)]
struct AtRankZero;

impl PhotoSource for AtRankZero {
    fn pixels(&self, _: usize) -> std::result::Result<Arc<Photo>, String> {
        Err("a photo that is held out is read by rank 0 alone".into())
    }

    fn depths(&self, index: usize) -> std::result::Result<Arc<DepthMap>, String> {
        self.pixels(index).map(|_| Arc::default())
    }

    fn expect(&self, _: &[usize], _: &[usize], _: bool) {}
}

/// So many names are listed.
const SHOWN: usize = 5;

/// Depths that are off by more than this factor are of another unit.
const OTHER_UNIT: f64 = 1.5;

/// Points of the depths to start from: as many as a large reconstruction has.
const DEPTH_POINTS: usize = 100_000;

/// Decodes them. A run that starts from their depths, because it is to or because the dataset has
/// no points, gets points of these in the dataset. Ranks of one machine share its memory.
pub fn load_photos(
    dataset: &mut Dataset,
    job: &Job,
    config: &ResolvedConfig,
    rank: Option<&Rank>,
) -> Result<Photos> {
    let every = config.data.test_every as usize;
    let indices = dataset.select(Split::Train, every);
    if indices.is_empty() {
        bail!(
            "{}: all that there is, {}, is held out and nothing left to train on; add photos{}",
            dataset.root.display(),
            counted(dataset.select(Split::Test, every).len(), "photo"),
            match dataset
                .entries
                .iter()
                .any(|entry| entry.declared_split.is_some())
            {
                true => ", or change the splits that the files declare",
                false => ", or use --test-every 0 to hold out none",
            }
        );
    }
    let usual = Config::UNSET.complete().data.test_every;
    let unusual = Some(config.data.test_every).filter(|every| *every != usual);
    load::say_declared(dataset, unusual);
    let options = options(job, config, rank);
    about_panoramas(dataset, config)?;
    about_shutters(dataset, config);
    let asked = config.loss.exif_exposure && config.loss.colour.is_some();
    let exposures = asked.then(|| exposures(dataset, &indices, &options));
    let [mut train, mut test] = load::train_and_test(dataset, indices, every, &options)?;
    if let Some(order) = config.poses.motion {
        for views in [&mut train, &mut test] {
            motion::rolling(views, order.into());
        }
    }
    let [tracks, test_tracks] = tracks(dataset, [&train, &test], config)?;
    let reads_depths = config.depth.from != Depths::None;
    if config.depth.from == Depths::Points {
        add_depths(dataset, train.iter_mut().chain(&mut test))?;
    }
    if reads_depths {
        say_depths(&train, &test);
        if config.depth.kind == DepthKind::Metric && !dataset.points.random {
            say_unit(&train, &dataset.points)?;
        }
    } else if let maps @ 1.. = dataset.depth_maps() {
        eprintln!(
            "{} have depth maps, which this run does not use: --depths auto learns from them",
            counted(maps, "photo")
        );
    }
    if config.depth.normals.from != Depths::None {
        say_normals(&train);
    }
    let has_points = !dataset.points.random || job.init.is_some();
    if matches!(job.init, Some(Init::Depths)) || (reads_depths && !has_points) {
        dataset.points = points_of(&train, DEPTH_POINTS, config.seed)?;
    }
    let sizes = train
        .iter()
        .map(|v| [v.photo.width, v.photo.height])
        .max_by_key(|[w, h]| *w as u64 * *h as u64);
    let [w, h] = sizes.unwrap_or_default();
    eprintln!(
        "{} to train on, {} held out, up to {w}x{h}; {}",
        counted(train.len(), "photo"),
        test.len(),
        counted(dataset.points.positions.len(), "starting point")
    );
    say_masked(train.iter().chain(&test));
    Ok(Photos {
        train: Arc::new(train),
        test: Arc::new(test),
        exposures,
        tracks,
        test_tracks,
    })
}

/// Which points of the dataset's model the views to train on and those held out show, if the run
/// refines poses; says how many of the first.
fn tracks(
    dataset: &Dataset,
    [train, test]: [&[View]; 2],
    config: &ResolvedConfig,
) -> Result<[Vec<Tracks>; 2]> {
    if !config.poses.refine {
        return Ok([Vec::new(), Vec::new()]);
    }
    let mut tracks = dataset.tracks(train.iter().chain(test))?;
    let of_test = tracks.split_off(train.len());
    let held = tracks.iter().filter(|tracks| !tracks.points.is_empty());
    let points = held.clone().map(|tracks| tracks.points.len()).sum();
    if points > 0 {
        eprintln!(
            "poses are held by {} of the model's points in {} of {}",
            counted(points, "observation"),
            held.count(),
            counted(train.len(), "photo")
        );
    }
    Ok([tracks, of_test])
}

/// How photos are decoded, and how much of them is held by one of the ranks of this machine.
fn options(job: &Job, config: &ResolvedConfig, rank: Option<&Rank>) -> LoadOptions {
    let ranks = rank.map_or(1, Rank::of_this_machine);
    LoadOptions {
        memory: job.photo_memory.limit(ranks),
        ..config.load_options()
    }
}

/// Gives views the depths of the dataset's points.
///
/// # Errors
/// If it has none.
fn add_depths<'a>(dataset: &Dataset, views: impl Iterator<Item = &'a mut View>) -> Result<()> {
    let points = &dataset.points;
    if points.random {
        bail!(
            "{}: has no points, whose depths --depths points takes; give a scan with --init POINTS",
            dataset.root.display()
        );
    }
    let views: Vec<&mut View> = views.collect();
    views.into_par_iter().for_each(|view| {
        view.photo.depth = depths_of_points(view, &points.positions).map(Arc::new);
    });
    Ok(())
}

/// Names photos that are left out.
fn say_masked<'a>(views: impl Iterator<Item = &'a View>) {
    let masked = views.filter(|view| view.photo.counted_pixels() == 0);
    let masked: Vec<String> = masked.map(|view| view.name.clone()).collect();
    if !masked.is_empty() {
        eprintln!(
            "warning: {} of them left out, as their masks leave no pixel: {}",
            masked.len(),
            listed(&masked)
        );
    }
}

/// What the cameras noted of the photos' exposures, for each view.
fn exposures(dataset: &Dataset, indices: &[usize], options: &LoadOptions) -> Vec<Option<f32>> {
    let found = dataset.exposures(indices);
    let known: Vec<f32> = found.stops.iter().copied().flatten().collect();
    let [least, most] = [f32::min, f32::max].map(|of| known.iter().copied().fold(0.0, of));
    eprintln!(
        "exposures of {} of {} are known by EXIF data, from {least:.1} to {most:+.1} stops",
        known.len(),
        counted(indices.len(), "photo")
    );
    if !found.nonsense.is_empty() {
        eprintln!(
            "warning: the EXIF data of {} say of the exposure what cannot be; they start at the \
             middle",
            listed(&found.nonsense)
        );
    }
    let views = indices.iter().zip(&found.stops);
    let of_photo = |(&index, &stops)| vec![stops; dataset.view_count(index, options)];
    views.flat_map(of_photo).collect()
}

/// The first names, and how many more there are.
pub fn listed(names: &[impl AsRef<str>]) -> String {
    let shown: Vec<&str> = names.iter().take(SHOWN).map(AsRef::as_ref).collect();
    let shown = shown.join(", ");
    match names.len().saturating_sub(SHOWN) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

/// Says what becomes of photos of 360 degrees, if there are some.
///
/// # Errors
/// If the run refines cameras: each part of a photo would get one of its own.
fn about_panoramas(dataset: &Dataset, config: &ResolvedConfig) -> Result<()> {
    let is_whole = |entry: &Entry| panorama::is_whole(&entry.camera);
    let Some(first) = dataset.entries.iter().find(|entry| is_whole(entry)) else {
        return Ok(());
    };
    if config.poses.refine || config.intrinsics.refine || config.poses.motion.is_some() {
        bail!(
            "{}: cameras of photos of 360 degrees, which are several views each, are not refined; \
             leave out --refine-poses, --refine-motion and --refine-intrinsics",
            first.name
        );
    }
    eprintln!(
        "photos of 360 degrees are trained in parts: {}",
        match config.load_options().keep_lens {
            true => "two halves of the middle as they are, pinholes above and below",
            false => "six pinholes each, the faces of a cube (--lens as-taken keeps their pixels)",
        }
    );
    Ok(())
}

/// Says how many photos keep their lens though others would be undistorted.
fn about_shutters(dataset: &Dataset, config: &ResolvedConfig) {
    let keeps =
        |entry: &&Entry| entry.camera.shutter.is_some() && entry.camera.lens != Lens::Pinhole;
    let count = dataset.entries.iter().filter(keeps).count();
    if count > 0 && !config.load_options().keep_lens {
        eprintln!(
            "{count} photos stay as they were taken, as through --lens as-taken: their rows were \
             read one after another"
        );
    }
}

/// Warns of depths in another unit than the points.
fn say_unit(train: &[View], points: &Points) -> Result<()> {
    let factor = depth_factor(train, &points.positions)?;
    if let Some(factor) = factor.filter(|factor| !(1.0 / OTHER_UNIT..=OTHER_UNIT).contains(factor))
    {
        eprintln!(
            "warning: the dataset's points are {:.1} times as {} as the depth maps say, as if in \
             another unit: check --depth-unit, or give --depth-kind scaled (or disparity)",
            factor.max(1.0 / factor),
            if factor > 1.0 { "far" } else { "near" }
        );
    }
    Ok(())
}

/// Says of how many photos normals are known.
fn say_normals(train: &[View]) {
    let known = |view: &&View| view.photo.known_depths().is_some_and(Known::has_normals);
    let count = train.iter().filter(known).count();
    eprintln!(
        "normals of {count} of {} to train on",
        counted(train.len(), "photo")
    );
}

/// Says of how many photos depths are known, and how far away they are.
fn say_depths(train: &[View], test: &[View]) {
    let is_known = |view: &&View| {
        let map = view.photo.known_depths();
        map.is_some_and(|map| map.known() > 0)
    };
    let count = |views: &[View]| views.iter().filter(is_known).count();
    let own = train.iter().filter(is_known);
    let middles = own.filter_map(|view| view.photo.known_depths()?.median());
    let middle = median(middles.map(f64::from)).unwrap_or_default() as f32;
    eprintln!(
        "depths of {} of {} to train on, {} held out; the middle is {middle:.3} units away",
        count(train),
        counted(train.len(), "photo"),
        count(test)
    );
}
