//! `splatcore eval`: a scene against photos.

use crate::backends::BackendArgs;
use crate::backends::cards::{self, CardsArgs};
use crate::load::PhotoMemoryArgs;
use crate::looks::{self, LookArgs, Shown};
use crate::output::{self, WrongUsage, counted};
use crate::progress::Progress;
use crate::report::{self, Report, ViewPictures, decibels, pictured};
use crate::scene_source::{Files, SceneSource};
use crate::table::Table;
use crate::{held_out, interrupt, load};
use anyhow::{Context, Result};
use serde::Serialize;
use splatcore_core::backend::{RenderOptions, Renderer};
use splatcore_core::{Backend, Gaussians, Pipeline, Region, View};
use splatcore_data::dataset::{Dataset, LoadOptions, Split};
use splatcore_train::config::{Background, PhotoLens};
use splatcore_train::{Evaluation, Extras, Lpips, RegionScore, evaluate_over};
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

mod poses;

/// Measure a scene against photos.
#[derive(clap::Args)]
#[command(allow_negative_numbers = true)]
pub struct Args {
    /// The scene: .ply, .spz, .sog, .splat, .ksplat or .glb, or the folder of a run
    #[arg(value_name = "SCENE_OR_RUN")]
    scene: PathBuf,
    /// The photos to compare with [those of the run]
    #[arg(long, value_name = "DATASET")]
    dataset: Option<PathBuf>,
    /// Which photos: test (held out: the honest measure), train, all. Time and photo memory grow
    /// with their number
    #[arg(long, value_name = "SPLIT", default_value_t = Split::Test)]
    split: Split,
    /// Every Nth photo, sorted by name from the first, is held out [that of the run beside the
    /// scene, or 8]
    #[arg(long, value_name = "N")]
    test_every: Option<u32>,
    /// Folder of the dataset's photos in place of `images`, for example images_4
    #[arg(long, value_name = "FOLDER")]
    images: Option<String>,
    /// Scale photos so that the longer side is at most this many pixels [their own size; without
    /// --dataset that of the run]. Time and memory fall with the square; numbers of different sizes
    /// cannot be compared (smaller ones are higher)
    #[arg(long, value_name = "PX", value_parser = clap::value_parser!(u32).range(1..))]
    max_size: Option<u32>,
    /// Photos through a lens: undistort compares with the pinhole photos that are made of them,
    /// as-taken with the photos themselves, through their lens [as the run was trained, or
    /// undistort]. The numbers are of other pixels and cannot be compared
    #[arg(long, value_name = "NAME", value_enum)]
    lens: Option<PhotoLens>,
    /// Colour behind the scene and transparent photos: black, white, or r,g,b from 0 to 1 [the sky
    /// or the colour of the run beside the scene, or black]. Another one than in training lowers
    /// the numbers
    #[arg(long, value_name = "COLOUR", value_parser = load::one_colour)]
    background: Option<Background>,
    /// Which kernels run: auto, vanilla (as INRIA's, slow), or intersect+blend[+backward]. The
    /// default renders in f32 on every backend, with the reference's cut-offs; others differ by
    /// what docs/methods says of each
    #[arg(long, value_name = "NAME", default_value_t = Pipeline::MEASURED)]
    pipeline: Pipeline,
    /// Also give psnr_aligned: the PSNR after the affine transform of colours that brings each
    /// picture closest to its photo, for photos whose exposure or white balance differs from the
    /// scene's. Not to be compared with PSNR. Takes a moment
    #[arg(long)]
    align_colour: bool,
    /// Fit the pose of each photo to the scene first, as training with --refine-poses does for
    /// held-out photos; the scene stays as it is. A fitted pose has seen its photo: compare only
    /// with numbers of fitted poses. Takes some seconds a photo on a processor
    #[arg(long)]
    fit_poses: bool,
    #[command(flatten)]
    look: LookArgs,
    /// Also give LPIPS, how different picture and photo look to a network, whose weights this file
    /// holds (docs/guide/measuring.md says how to make it); 0 is equal. With vgg it takes some
    /// seconds a view and 0.8 kB of memory a pixel, with alex a fraction of both
    #[arg(long, value_name = "FILE.safetensors")]
    lpips: Option<PathBuf>,
    /// Also give psnr_region: the PSNR of the pixels whose point, at the depth that the scene has
    /// there, lies in the box X0,Y0,Z0,X1,Y1,Z1 in the scene's units and axes. Takes a moment
    #[arg(long, value_name = "BOX", allow_hyphen_values = true)]
    region: Option<Region>,
    /// Also write a page with photo, render and error of up to 40 views. Takes some time and 0.3 MB
    /// a view
    #[arg(long, value_name = "FILE.html")]
    report: Option<PathBuf>,
    /// Print one JSON object: {"psnr","ssim","gaussians","views":[{"name","psnr","ssim"}]},
    /// "psnr_aligned" with --align-colour, "lpips" with --lpips, "psnr_region" and "region_share"
    /// with --region, "look" with --look, and "psnr_given" with --fit-poses: that of the poses as
    /// given
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    photos: PhotoMemoryArgs,
    #[command(flatten)]
    cards: CardsArgs,
    #[command(flatten)]
    backend: BackendArgs,
}

/// The photos to measure; it is wrong usage if what was typed leaves none.
fn selected(args: &Args, dataset: &Dataset, folder: &Path, test_every: u32) -> Result<Vec<usize>> {
    load::say_declared(dataset, args.test_every);
    load::select(dataset, folder, args.split, test_every).map_err(|error| match args.test_every {
        Some(_) => WrongUsage(output::one_line(&error)).into(),
        None => error,
    })
}

/// Runs the command.
pub fn run(args: Args) -> Result<()> {
    args.backend.check_cards(&args.cards)?;
    let source = SceneSource::find(&args.scene)?;
    let look = args.look.find(Some(&source))?;
    let typed = args.dataset.as_deref();
    source.check_dataset(typed)?;
    let (scene, antialias) = source.load()?;
    if let Some(report) = &args.report {
        Files::check_not_own(report, "--report")?;
        output::check_file_writable(report, "--report")?;
        interrupt::watch()?;
    }
    let lpips = args.lpips.as_deref().map(Lpips::read).transpose()?;
    let (dataset, folder) = source.needs_dataset(typed, args.images.as_deref())?;
    let backends = backends(&args, &scene, look.as_ref())?;
    let (background, test_every) = source.settings(args.background, args.test_every);
    let indices = selected(&args, &dataset, &folder, test_every)?;
    let background_colour = background.colour();
    let photos = LoadOptions {
        max_size: max_size(&args, &source),
        background: background_colour,
        keep_lens: source.keep_lens(args.lens),
        memory: args.photos.limit(1),
        ..LoadOptions::default()
    };
    let views = load::views(&dataset, &indices, &photos)?;
    warn_of_views(&args, &source, &views);
    let mut renderers = cards::renderers(&backends, &scene)?;
    let options = RenderOptions {
        pipeline: args.pipeline,
        background: background_colour,
        sky: source.sky(args.background)?,
        antialias,
        ..RenderOptions::default()
    };
    let renderers = renderers.iter_mut().map(|r| &mut **r as &mut dyn Renderer);
    let mut renderers: Vec<_> = renderers.collect();
    let (mut views, mut psnr_given) = (views, None);
    if args.fit_poses {
        let given = measure_over(&mut renderers, &views, &options, Extras::default(), false)?;
        psnr_given = Some(given.0.psnr);
        views = poses::fitted(&*backends[0], &scene, &views, &dataset, &options)?;
    }
    let (evaluation, pictures) = measure_over(
        &mut renderers,
        &views,
        &options,
        Extras {
            align_colour: args.align_colour,
            lpips: lpips.as_ref(),
            region: args.region,
        },
        args.report.is_some(),
    )?;
    if let Some(path) = &args.report {
        write_report(
            path,
            (&args, &folder),
            &evaluation,
            pictures,
            [background.to_string(), cards::described(&backends)],
        )?;
    }
    match args.json {
        true => output::print_json(&Told {
            evaluation: &evaluation,
            look: look.map(|_| args.look.name()),
            psnr_given,
        }),
        false => output::print(&table(&evaluation, psnr_given)),
    }
}

/// The largest side of a photo that was asked for: of the run's own photos what the run measured.
fn max_size(args: &Args, source: &SceneSource) -> Option<u32> {
    let own = source.max_size().filter(|_| args.dataset.is_none());
    args.max_size.or(own)
}

/// Warns if photos were trained on, and if they are larger than those that the run measured and
/// nobody asked for it.
fn warn_of_views(args: &Args, source: &SceneSource, views: &[View]) {
    if args.split == Split::Test {
        held_out::check(source, views.iter().map(|view| &*view.name));
    }
    let asked = max_size(args, source);
    let sides = views.iter().map(|v| v.photo.width.max(v.photo.height));
    if let (None, Some(trained), Some(longest)) = (asked, source.max_size(), sides.max())
        && longest > trained
    {
        eprintln!(
            "warning: the run beside the scene measured at --max-size {trained}, this is at \
             {longest} pixels: the numbers cannot be compared"
        );
    }
}

/// Those of the cards, their pictures in a look, if there is one.
fn backends(args: &Args, scene: &Gaussians, look: Option<&Shown>) -> Result<Vec<Box<dyn Backend>>> {
    let all = args.backend.open_cards(&args.cards, false, Some(scene))?;
    let seen = |backend| looks::through(backend, look.cloned());
    Ok(all.into_iter().map(seen).collect())
}

/// What `--json` prints.
#[derive(Serialize)]
struct Told<'a> {
    #[serde(flatten)]
    evaluation: &'a Evaluation,
    /// The look that was measured, if not the scene's own.
    #[serde(skip_serializing_if = "Option::is_none")]
    look: Option<&'a str>,
    /// PSNR with the poses as given, if they were fitted.
    #[serde(skip_serializing_if = "Option::is_none")]
    psnr_given: Option<f64>,
}

/// The page with photo, render and error.
fn write_report(
    path: &Path,
    (args, dataset): (&Args, &Path),
    evaluation: &Evaluation,
    pictures: Vec<ViewPictures>,
    [background, device]: [String; 2],
) -> Result<()> {
    let aligned = evaluation.psnr_aligned.map(|psnr| {
        let psnr = format!("{} dB", decibels(psnr));
        ("PSNR, colours aligned".to_owned(), psnr)
    });
    let mut report = Report {
        title: format!("{} against {}", args.scene.display(), dataset.display()),
        summary: vec![
            ("PSNR".into(), format!("{} dB", decibels(evaluation.psnr))),
            ("SSIM".into(), format!("{:.4}", evaluation.ssim)),
            (
                "Gaussians".into(),
                output::thousands(evaluation.gaussians as u64),
            ),
            (
                "Views".into(),
                format!("{} ({} split)", evaluation.views.len(), args.split),
            ),
            ("Background".into(), background),
            ("Look".into(), args.look.name().into()),
            ("Computed by".into(), device),
        ],
        views_title: "Views".into(),
        views: pictures,
        weak: report::weak_views(&evaluation.views),
        ..Report::default()
    };
    report.summary.extend(aligned);
    report.summary.extend(evaluation.region.map(in_region));
    let lpips = evaluation.lpips.zip(evaluation.lpips_network);
    let lpips = lpips.map(|(lpips, network)| (format!("LPIPS ({network})"), format!("{lpips:.4}")));
    report.summary.extend(lpips);
    report.write(path)?;
    eprintln!("report: {}", path.display());
    Ok(())
}

/// A line of a report.
pub fn in_region(score: RegionScore) -> (String, String) {
    let share = 100.0 * score.share;
    let value = format!("{} dB ({share:.0} % of the pixels)", decibels(score.psnr));
    ("PSNR in the region".into(), value)
}

/// Renders and scores every view with a progress bar; with `want_pictures` also encodes some for a
/// report.
pub fn measure(
    renderer: &mut dyn Renderer,
    views: &[View],
    options: &RenderOptions,
    extras: Extras<'_>,
    want_pictures: bool,
) -> Result<(Evaluation, Vec<ViewPictures>)> {
    measure_over(&mut [renderer], views, options, extras, want_pictures)
}

/// As [`measure`], with the views spread over several renderers of the same scene.
fn measure_over(
    renderers: &mut [&mut dyn Renderer],
    views: &[View],
    options: &RenderOptions,
    extras: Extras<'_>,
    want_pictures: bool,
) -> Result<(Evaluation, Vec<ViewPictures>)> {
    let progress = Progress::new("measuring", views.len() as u64);
    let shown = if want_pictures {
        pictured(views.len())
    } else {
        Vec::new()
    };
    let (pictures, done) = (Mutex::new(BTreeMap::new()), AtomicU64::new(0));
    let evaluation = evaluate_over(
        renderers,
        views,
        options,
        extras,
        &|i, view, image, score| {
            if shown.contains(&i) {
                let made = ViewPictures::new(view, image, score);
                pictures
                    .lock()
                    .unwrap_or_else(PoisonError::into_inner)
                    .insert(i, made);
            }
            progress.update(done.fetch_add(1, Ordering::Relaxed) + 1, || {
                score.name.clone()
            });
        },
    )?;
    let mut pictures = pictures
        .into_inner()
        .unwrap_or_else(PoisonError::into_inner);
    if want_pictures {
        // Which views are weak is known only now.
        let renderer = renderers.first_mut().context("no renderer")?;
        for i in report::weak_views(&evaluation.views).indices() {
            if let (Entry::Vacant(vacant), Some(score)) =
                (pictures.entry(i), evaluation.views.get(i))
            {
                let image = renderer.render(&views[i].camera, options)?.image;
                vacant.insert(ViewPictures::new(&views[i], &image, score));
            }
        }
    }
    Ok((evaluation, pictures.into_values().collect::<Result<_>>()?))
}

/// The scores for people: a line a view, then their mean.
fn table(evaluation: &Evaluation, psnr_given: Option<f64>) -> String {
    let mut table = Table::default();
    for view in &evaluation.views {
        let scores = [Some(view.psnr), view.psnr_aligned, view.lpips];
        table.row(cells(&view.name, scores, view.ssim, view.region));
    }
    let all = evaluation;
    let scores = [Some(all.psnr), all.psnr_aligned, all.lpips];
    table.row(cells("mean", scores, all.ssim, all.region));
    let mut lines = table.lines(false);
    lines.push(counted(evaluation.gaussians, "Gaussian"));
    lines.extend(psnr_given.map(|psnr| format!("poses as given: {} dB", decibels(psnr))));
    lines.join("\n")
}

/// A line of it.
fn cells(
    name: &str,
    [psnr, aligned, lpips]: [Option<f64>; 3],
    ssim: f64,
    region: Option<RegionScore>,
) -> Vec<String> {
    let mut cells = vec![name.to_owned()];
    cells.extend(psnr.map(|psnr| format!("{psnr:.2} dB")));
    cells.push(format!("SSIM {ssim:.4}"));
    cells.extend(aligned.map(|psnr| format!("colours aligned {psnr:.2} dB")));
    cells.extend(lpips.map(|lpips| format!("LPIPS {lpips:.4}")));
    cells.extend(region.map(|score| {
        let share = 100.0 * score.share;
        format!("region {:.2} dB, {share:.0} % of the pixels", score.psnr)
    }));
    cells
}
