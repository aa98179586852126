//! `splatcore export`: a scene as one HTML page.

use crate::cameras;
use crate::commands::view::{Kind, kind};
use crate::orbit::Up;
use crate::sharing::{self, Choices, SharedScene, read_path};
use crate::{load, output};
use anyhow::{Result, bail};
use splatcore_data::dataset::{Dataset, Entry, is_file_of_cameras};
use splatcore_data::file;
use splatcore_page::{Keyframe, Pose, View};
use splatcore_train::config::Background;
use std::path::{Path, PathBuf};

/// Pages above this many megabytes are warned of: many mail servers refuse more.
const LARGE: f64 = 25.0;

/// Write a scene as one HTML page that anyone can open.
///
/// The page holds the scene (as SOG, which rounds it a little) and a viewer that needs no network
/// and no installation: a browser with WebGL 2, on a phone too. It shows what `splatcore render`
/// shows.
#[derive(clap::Args)]
#[command(allow_negative_numbers = true)]
pub struct Args {
    /// A scene (any file that `splatcore info` reads), or the folder of a run
    #[arg(value_name = "SCENE_OR_RUN")]
    scene: PathBuf,
    /// The page to write. An existing file is replaced
    #[arg(short, long, value_name = "FILE.html")]
    output: PathBuf,
    /// Title of the page [the scene's name]
    #[arg(long, value_name = "TEXT")]
    title: Option<String>,
    /// Views that the page lists by name; it begins at the first. The cameras of a dataset, a
    /// cameras.json (see `splatcore render --help`), or a camera path as for `render --path`
    #[arg(long, value_name = "FILE_OR_DATASET")]
    views: Option<PathBuf>,
    /// Camera path that the page plays: a file as for `splatcore render --path`
    #[arg(long, value_name = "FILE.json")]
    path: Option<PathBuf>,
    /// Colour behind the scene: black, white, or r,g,b from 0 to 1 [that of the run beside the
    /// scene, or black]
    #[arg(long, value_name = "COLOUR", value_parser = load::one_colour)]
    background: Option<Background>,
    /// Which way is up: x, -x, y, -y, z or -z [that of the views, or -y]
    #[arg(long, value_name = "AXIS", allow_hyphen_values = true)]
    up: Option<Up>,
    /// Leave out spherical harmonics above this degree, 0 to 3. The page gets smaller, and colours
    /// change less with the direction
    #[arg(long, value_name = "K", value_parser = clap::value_parser!(u8).range(0..=3))]
    sh_degree: Option<u8>,
    /// Write no page that is larger than this many megabytes
    #[arg(long, value_name = "MB", value_parser = megabytes)]
    max_size: Option<f64>,
}

/// Runs the command.
pub fn run(args: Args) -> Result<()> {
    output::check_file_writable(&args.output, "-o")?;
    let Kind::Scene(file) = kind(&args.scene) else {
        bail!(
            "{}: is no scene and no folder of a run; give a scene file, or the folder that \
             `splatcore train` wrote",
            args.scene.display()
        );
    };
    let (mut gaussians, antialias) = load::scene(&file)?;
    if let Some(degree) = args
        .sh_degree
        .filter(|degree| *degree < gaussians.sh_degree)
    {
        gaussians = gaussians.with_sh_degree(degree);
    }
    let (background, _) = load::settings_of(&file, args.background, Some(8));
    let path = args.path.as_deref().map(read_path).transpose()?;
    let choices = Choices {
        title: args.title.unwrap_or_else(|| name_of(&args.scene)),
        background: background.colour(),
        up: args.up,
        views: args
            .views
            .as_deref()
            .map(views)
            .transpose()?
            .unwrap_or_default(),
        path: path.unwrap_or_default(),
    };
    let (count, degree) = (gaussians.len(), gaussians.sh_degree);
    let html = SharedScene::new(gaussians, antialias).page(&choices)?;
    let size = html.len() as f64 / 1e6;
    check_size(size, args.max_size, degree)?;
    file::write_bytes(&args.output, html.as_bytes())?;
    output::print(&format!(
        "{} in {} ({size:.1} MB); open it in any browser, or send it",
        output::counted(count, "Gaussian"),
        args.output.display()
    ))
}

/// Refuses what is larger than was asked for, and warns of what is large.
fn check_size(size: f64, limit: Option<f64>, sh_degree: u8) -> Result<()> {
    let smaller = match sh_degree {
        0 => "make fewer Gaussians with `splatcore convert --decimate`",
        _ => "lower --sh-degree, or make fewer Gaussians with `splatcore convert --decimate`",
    };
    match limit {
        Some(limit) if size > limit => {
            bail!("the page would have {size:.1} MB, more than --max-size {limit}; {smaller}")
        }
        None if size > LARGE => eprintln!(
            "warning: the page has {size:.1} MB, which many mail servers refuse; to get a smaller \
             one, {smaller}"
        ),
        _ => {}
    }
    Ok(())
}

/// The title of a page that has none: the scene's name without its ending, or the folder's.
fn name_of(scene: &Path) -> String {
    let name = match scene.is_dir() {
        true => scene.canonicalize().ok().and_then(|folder| {
            let name = folder.file_name()?;
            Some(name.to_string_lossy().into_owned())
        }),
        false => scene
            .file_stem()
            .map(|name| name.to_string_lossy().into_owned()),
    };
    name.unwrap_or_default()
}

/// Views of a camera path, of a cameras.json, or of a dataset. A .json file may be any of them.
fn views(path: &Path) -> Result<Vec<View>> {
    let is_list = || {
        let text = std::fs::read(path).unwrap_or_default();
        text.trim_ascii_start().starts_with(b"[")
    };
    if path.is_file() && is_list() {
        let cameras = cameras::read_json(path)?.into_iter();
        return Ok(cameras
            .map(|named| sharing::view(named.name, &named.camera))
            .collect());
    }
    if !path.is_dir() {
        match read_path(path) {
            Ok(keyframes) => return Ok(of_keyframes(keyframes)),
            Err(error) if !is_file_of_cameras(path) => return Err(error),
            // A dataset, unless that is no dataset either.
            Err(error) => match load::dataset(path, None, 0) {
                Ok(dataset) => return Ok(of_dataset(dataset)),
                Err(_) => return Err(error),
            },
        }
    }
    Ok(of_dataset(load::dataset(path, None, 0)?))
}

fn of_dataset(dataset: Dataset) -> Vec<View> {
    let entries = dataset.entries.into_iter();
    let view = |entry: Entry| sharing::view(entry.name, &entry.camera.camera);
    entries.map(view).collect()
}

fn of_keyframes(keyframes: Vec<Keyframe>) -> Vec<View> {
    let view = |(i, key): (usize, Keyframe)| View {
        name: format!("view {}", i + 1),
        pose: Pose {
            aspect: Some(1.0),
            ..key.pose
        },
    };
    keyframes.into_iter().enumerate().map(view).collect()
}

fn megabytes(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(size) if size.is_finite() && size > 0.0 => Ok(size),
        _ => Err(format!("'{text}' is not a number of megabytes above 0")),
    }
}
