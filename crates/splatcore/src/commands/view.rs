//! `splatcore view`: a scene, a finished run or a dataset in the browser.

use crate::backends::BackendArgs;
use crate::backends::cards::CardsArgs;
use crate::cameras::NamedCamera;
use crate::looks::LookArgs;
use crate::output::{counted, one_line};
use crate::projection::Projection;
use crate::scene_source::{SceneSource, Typed};
use crate::start::StartArgs;
use crate::up::{Evidence, Up};
use crate::viewing::{self, ViewerArgs, scene_info, shrunk};
use crate::{interrupt, load, looks, sharing};
use anyhow::Result;
use splatcore_core::backend::RenderOptions;
use splatcore_core::{Gaussians, camera, panorama};
use splatcore_data::dataset::{Dataset, Entry, LoadOptions, Split};
use splatcore_page::View;
use splatcore_train::{Config, init};
use splatcore_view::protocol::{SceneInfo, Status};
use splatcore_view::{Hub, Photos};
use std::path::PathBuf;
use std::sync::Arc;

/// Look at a scene or a dataset in a browser.
///
/// Renders here and sends frames to the browser, so the browser shows what `splatcore render`
/// writes, and a scene of any size opens at once. Prints an address that only this machine can
/// open, with a secret in it. With the photos of the scene (--dataset) their cameras can be visited
/// and compared. Ctrl-C ends the program.
#[derive(clap::Args)]
pub struct Args {
    /// A scene (any file that `splatcore info` reads), the folder of a run, or a dataset, of which
    /// the starting points are shown
    #[arg(value_name = "SCENE_OR_RUN_OR_DATASET")]
    path: PathBuf,
    /// The photos that the scene was made of [those of the run]
    #[arg(long, value_name = "DATASET")]
    dataset: Option<PathBuf>,
    /// Folder of the dataset's photos in place of `images`, for example images_4
    #[arg(long, value_name = "FOLDER")]
    images: Option<String>,
    #[command(flatten)]
    start: StartArgs,
    #[command(flatten)]
    viewer: ViewerArgs,
    /// How the scene is seen at first: pinhole, fisheye, equirect or ortho, as of `splatcore render
    /// --projection`; the page can change it, and see through the camera of a photo
    #[arg(long, value_name = "KIND", default_value = "pinhole")]
    projection: Projection,
    #[command(flatten)]
    look: LookArgs,
    #[command(flatten)]
    cards: CardsArgs,
    #[command(flatten)]
    backend: BackendArgs,
    /// With --listen: browsers of other machines may edit and save the scene, too
    #[arg(long, requires = "listen")]
    allow_control: bool,
}

/// Runs the command.
pub fn run(args: Args) -> Result<()> {
    args.backend.check_cards(&args.cards)?;
    let images = args.images.as_deref();
    let typed = Typed::of(&args.path)?;
    let source = match &typed {
        Typed::Scene(source) => Some(source),
        Typed::Dataset => None,
    };
    let look = args.look.find(source)?;
    let (gaussians, antialias, dataset) = match &typed {
        Typed::Dataset => {
            let dataset = load::dataset(&args.path, images, None)?;
            (points(&dataset)?, false, Some(dataset))
        }
        Typed::Scene(source) => {
            let (gaussians, antialias) = source.load()?;
            (gaussians, antialias, photos_of(source, &args)?)
        }
    };
    let opened = args.backend.open_for_one(&args.cards, &gaussians)?;
    let backend = looks::through(opened, look);
    let cameras = match &dataset {
        Some(dataset) => of_dataset(dataset),
        // Without photos, from where the run's were taken.
        None => source.and_then(SceneSource::cameras).unwrap_or_default(),
    };
    let info = SceneInfo {
        photos: dataset.is_some(),
        ..info(&args, source, &gaussians, &cameras, dataset.as_ref())?
    };
    let hub = Arc::new(Hub::default());
    hub.publish(Status {
        gaussians: gaussians.len(),
        ..Status::default()
    });
    let of_scene = (dataset.map(photos), source.map(SceneSource::store_start));
    let control = args.allow_control;
    let port = args.viewer.bind()?;
    // Who reads the address may press Ctrl-C at once.
    let guard = interrupt::Guard::start_showing()?;
    let _server = args.viewer.start(port, info, of_scene, control, &hub)?;
    eprintln!(
        "{}; Ctrl-C ends the program",
        counted(gaussians.len(), "Gaussian")
    );
    let sky = match source {
        Some(source) => source.sky(None)?,
        None => None,
    };
    let options = RenderOptions {
        antialias,
        sky,
        ..RenderOptions::default()
    };
    let place = source.map(|source| viewing::save_place(source, antialias));
    viewing::show(&guard, &hub, &*backend, gaussians, &options, place)
}

/// What there is to see, and where to begin.
fn info(
    args: &Args,
    source: Option<&SceneSource>,
    gaussians: &Gaussians,
    cameras: &[NamedCamera],
    dataset: Option<&Dataset>,
) -> Result<SceneInfo> {
    let view = |named: &NamedCamera| sharing::view(named.name.clone(), &named.camera);
    let views: Vec<View> = cameras.iter().map(view).collect();
    let known = dataset.map(Up::of_dataset);
    let known = known.filter(|up| up.from != Evidence::Assumed);
    let up = args.start.up(source, known, &views, gaussians);
    eprintln!("up: {up}");
    let title = args.path.file_name().unwrap_or_default().to_string_lossy();
    let shown = cameras
        .iter()
        .map(|named| (&*named.name, &named.camera, named.held_out));
    Ok(SceneInfo {
        projection: args.projection.kind(),
        start: args.start.pose(source, gaussians, up.direction, &views)?,
        ..scene_info(title.into_owned(), gaussians, shown, Some(up))
    })
}

/// The cameras of a dataset, in the order of its photos.
fn of_dataset(dataset: &Dataset) -> Vec<NamedCamera> {
    let held_out = dataset.select(Split::Test, 8);
    let named = |(i, entry): (usize, &Entry)| NamedCamera {
        held_out: held_out.binary_search(&i).is_ok(),
        ..NamedCamera::new(entry.name.clone(), entry.camera.clone())
    };
    dataset.entries.iter().enumerate().map(named).collect()
}

/// The photos of a scene, if they are known and still there.
fn photos_of(source: &SceneSource, args: &Args) -> Result<Option<Dataset>> {
    let opened = source.dataset(args.dataset.as_deref(), args.images.as_deref());
    match opened {
        Ok(opened) => Ok(opened.map(|(dataset, _)| dataset)),
        // The scene is what was asked for.
        Err(error) if args.dataset.is_none() => {
            eprintln!("warning: without photos: {}", one_line(&error));
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

/// The Gaussians with which a training would begin.
fn points(dataset: &Dataset) -> Result<Gaussians> {
    let cameras = dataset.entries.iter().map(|entry| &entry.camera);
    let extent = camera::extent(cameras);
    let points = &dataset.points;
    let config = Config::UNSET.resolve()?;
    let start = init::from_points(&points.positions, &points.colours, &config, extent);
    Ok(start.gaussians)
}

/// Photos that are read when they are asked for, one at a time.
fn photos(dataset: Dataset) -> Photos {
    Arc::new(move |index, size, as_taken| {
        if index >= dataset.entries.len() {
            return Err(format!("there is no photo {index}"));
        }
        if as_taken && panorama::is_whole(&dataset.entries[index].camera) {
            return Err("a photo of 360 degrees is not laid over the render".into());
        }
        let options = LoadOptions {
            max_size: Some(size),
            keep_lens: as_taken,
            ..LoadOptions::default()
        };
        let views = dataset.load_views(&[index], &options, &|_, _| ());
        let views = views.map_err(|error| error.to_string())?;
        shrunk(views.first().ok_or("the photo is masked out")?, size)
    })
}
