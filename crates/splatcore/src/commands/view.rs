//! `splatcore view`: a scene, a finished run or a dataset in the browser.

use crate::backends::BackendArgs;
use crate::load;
use crate::output::counted;
use crate::viewing::{self, ViewerArgs, scene_info, shrunk};
use anyhow::Result;
use splatcore_core::backend::RenderOptions;
use splatcore_core::{Gaussians, camera};
use splatcore_data::dataset::{Dataset, LoadOptions, Split, is_file_of_cameras};
use splatcore_data::scene;
use splatcore_train::{Config, init};
use splatcore_view::protocol::{SceneInfo, Status};
use splatcore_view::{Hub, Photos};
use std::path::{Path, PathBuf};
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
    /// The photos that the scene was made of
    #[arg(long, value_name = "DATASET")]
    dataset: Option<PathBuf>,
    /// Folder of the dataset's photos in place of `images`, for example images_4
    #[arg(long, value_name = "FOLDER")]
    images: Option<String>,
    #[command(flatten)]
    viewer: ViewerArgs,
    #[command(flatten)]
    backend: BackendArgs,
}

/// Runs the command.
pub fn run(args: Args) -> Result<()> {
    let images = args.images.as_deref();
    let open = |folder: &Path| load::dataset(folder, images, 0);
    let (gaussians, antialias, dataset) = match kind(&args.path) {
        Kind::Dataset => {
            let dataset = open(&args.path)?;
            (points(&dataset)?, false, Some(dataset))
        }
        Kind::Scene(file) => {
            let (gaussians, antialias) = load::scene(&file)?;
            let dataset = args.dataset.as_deref().map(open).transpose()?;
            (gaussians, antialias, dataset)
        }
    };
    let backend = args.backend.open()?;
    let title = args.path.file_name().unwrap_or_default().to_string_lossy();
    let held_out: Vec<usize> = dataset
        .iter()
        .flat_map(|d| d.select(Split::Test, 8))
        .collect();
    let entries = dataset
        .iter()
        .flat_map(|dataset| &dataset.entries)
        .enumerate();
    let cameras = entries.map(|(i, entry)| {
        let held_out = held_out.binary_search(&i).is_ok();
        (&*entry.name, &entry.camera.camera, held_out)
    });
    let info = SceneInfo {
        photos: dataset.is_some(),
        ..scene_info(title.into_owned(), &gaussians, cameras)
    };
    let hub = Arc::new(Hub::default());
    hub.publish(Status {
        gaussians: gaussians.len(),
        ..Status::default()
    });
    let _server = args.viewer.start(info, dataset.map(photos), false, &hub)?;
    eprintln!(
        "{}; Ctrl-C ends the program",
        counted(gaussians.len(), "Gaussian")
    );
    let options = RenderOptions {
        antialias,
        ..RenderOptions::default()
    };
    viewing::show(&hub, &*backend, gaussians, &options)
}

/// What a path that was typed holds.
pub enum Kind {
    /// A scene, in this file; also that of a run's folder.
    Scene(PathBuf),
    /// A dataset, or nothing that is known.
    Dataset,
}

/// What `path` holds, by the names in it.
pub fn kind(path: &Path) -> Kind {
    let result = path.join("scene.ply");
    match scene::is_unbundled(path) {
        false if result.is_file() => Kind::Scene(result),
        false if path.is_dir() || is_file_of_cameras(path) => Kind::Dataset,
        _ => Kind::Scene(path.into()),
    }
}

/// The Gaussians with which a training would begin.
fn points(dataset: &Dataset) -> Result<Gaussians> {
    let cameras = dataset.entries.iter().map(|entry| &entry.camera.camera);
    let extent = camera::extent(cameras);
    let points = &dataset.points;
    let config = Config::UNSET.resolve()?;
    let start = init::from_points(&points.positions, &points.colours, &config, extent);
    Ok(start.gaussians)
}

/// Photos that are read when they are asked for, one at a time.
fn photos(dataset: Dataset) -> Photos {
    Arc::new(move |index, size| {
        if index >= dataset.entries.len() {
            return Err(format!("there is no photo {index}"));
        }
        let options = LoadOptions {
            max_size: Some(size),
            background: [0.0; 3],
            keep_alpha: false,
        };
        let views = dataset.load_views(&[index], &options, &|_, _| ());
        let views = views.map_err(|error| error.to_string())?;
        shrunk(views.first().ok_or("the photo is masked out")?, size)
    })
}
