//! `splatcore export`: a scene as one HTML page, or as a site for a web server.

use crate::cameras::{self, NamedCamera};
use crate::looks::{self, LookArgs};
use crate::output::WrongUsage;
use crate::scene_source::{Files, SceneSource};
use crate::sharing::{self, Choices, SharedScene, read_path};
use crate::start::StartArgs;
use crate::{hotspots, interrupt, load, output, site};
use anyhow::{Result, bail};
use splatcore_data::dataset::{Dataset, Entry, is_file_of_cameras};
use splatcore_data::file;
use splatcore_page::{Keyframe, Pose, View};
use splatcore_train::config::Background;
use std::path::{Path, PathBuf};

/// Pages above this many megabytes are warned of: many mail servers refuse more.
const LARGE: f64 = 25.0;
/// Gaussians that the page of a site draws at a time, unless told otherwise.
const BUDGET: u32 = 1_500_000;

/// Write a scene as one HTML page that anyone can open.
///
/// The page holds the scene (as SOG, which rounds it a little) and a viewer that needs no network
/// and no installation: a browser with WebGL 2, on a phone too. It shows what `splatcore render`
/// shows.
///
/// For a large scene, --site writes a folder for a web server instead: its page shows a coarse
/// scene at once, and loads what the view needs.
#[derive(clap::Args)]
#[command(allow_negative_numbers = true)]
pub struct Args {
    /// A scene (any file that `splatcore info` reads), or the folder of a run
    #[arg(value_name = "SCENE_OR_RUN")]
    scene: PathBuf,
    /// The page to write, or with --site the folder. An existing page is replaced
    #[arg(short, long, value_name = "FILE.html")]
    output: PathBuf,
    /// Write a folder to put on any web server, for scenes that are too large for one file: the
    /// scene arrives in chunks, coarse at first
    #[arg(long, conflicts_with = "max_size")]
    site: bool,
    /// Gaussians that the page of a site draws at a time, a third of them on phones
    #[arg(long, value_name = "N", requires = "site", default_value_t = BUDGET,
        value_parser = clap::value_parser!(u32).range(1000..=20_000_000))]
    budget: u32,
    /// Title of the page [the scene's name]
    #[arg(long, value_name = "TEXT")]
    title: Option<String>,
    /// Views that the page lists by name; it begins at the first. The cameras of a dataset, a
    /// cameras.json (see `splatcore render --help`), a camera path as for `render --path`, or none
    /// [of a run: the cameras of its photos]
    #[arg(long, value_name = "FILE_OR_DATASET")]
    views: Option<PathBuf>,
    /// Camera path that the page plays: a file as for `splatcore render --path`
    #[arg(long, value_name = "FILE.json")]
    path: Option<PathBuf>,
    /// Places in the scene with texts: a JSON file of position, title, text and view of each
    #[arg(long, value_name = "FILE.json")]
    hotspots: Option<PathBuf>,
    /// Turn the scene slowly until somebody touches it
    #[arg(long)]
    turn: bool,
    /// Colour behind the scene: black, white, or r,g,b from 0 to 1 [the sky or the colour of the
    /// run beside the scene, or black]
    #[arg(long, value_name = "COLOUR", value_parser = load::one_colour)]
    background: Option<Background>,
    #[command(flatten)]
    look: LookArgs,
    #[command(flatten)]
    start: StartArgs,
    /// Leave out spherical harmonics above this degree, 0 to 3. The page gets smaller, and colours
    /// change less with the direction
    #[arg(long, value_name = "K", value_parser = clap::value_parser!(u8).range(0..=3))]
    sh_degree: Option<u8>,
    /// Write no page that is larger than this many megabytes
    #[arg(long, value_name = "MB", value_parser = megabytes)]
    max_size: Option<f64>,
}

/// Refuses a name that is not a page's, such as that of a scene, which the page would replace.
fn check_ending(output: &Path) -> Result<()> {
    let ending = output.extension().map(|ending| ending.to_string_lossy());
    match ending.as_deref().map(str::to_ascii_lowercase).as_deref() {
        None | Some("html" | "htm") => Ok(()),
        Some(other) => bail!(WrongUsage(format!(
            "-o {}: a page is HTML, not .{other}; give a name that ends in .html, or --site for a \
             folder",
            output.display()
        ))),
    }
}

/// Runs the command.
pub fn run(args: Args) -> Result<()> {
    interrupt::watch()?;
    let _lock = match args.site {
        true => Some(output::take_folder(&args.output, "export --site")?),
        false => {
            check_ending(&args.output)?;
            Files::check_not_own(&args.output, "-o")?;
            output::check_file_writable(&args.output, "-o")?;
            None
        }
    };
    let source = SceneSource::find(&args.scene)?;
    let look = args.look.find_one(&source)?;
    let (mut gaussians, antialias) = source.load()?;
    if let Some(degree) = args
        .sh_degree
        .filter(|degree| *degree < gaussians.sh_degree)
    {
        gaussians = gaussians.with_sh_degree(degree);
    }
    let (background, _) = source.settings(args.background, Some(8));
    let path = args.path.as_deref().map(read_path).transpose()?;
    let views = match args.views.as_deref() {
        None => recorded(&source),
        Some(none) if none.as_os_str() == "none" => Vec::new(),
        Some(path) => views(path, &source)?,
    };
    let path = path.unwrap_or_default();
    let up = args.start.up(Some(&source), None, &views, &gaussians);
    let begin = args
        .start
        .pose(Some(&source), &gaussians, up.direction, &views);
    let choices = Choices {
        // A path begins by itself, if nothing was chosen.
        start: match path.is_empty() || args.start.is_typed() || source.start().is_some() {
            true => begin?,
            false => None,
        },
        title: args.title.unwrap_or_else(|| source.name()),
        background: background.colour(),
        sky: source.sky(args.background)?,
        look: look.as_ref().map(looks::cube),
        up: Some(up),
        views,
        path,
        hotspots: args
            .hotspots
            .as_deref()
            .map(hotspots::read)
            .transpose()?
            .unwrap_or_default(),
        turn: args.turn,
    };
    let (count, degree) = (gaussians.len(), gaussians.sh_degree);
    if args.site {
        let size = site::write(&args.output, &gaussians, antialias, &choices, args.budget)?;
        let [whole, first] = [size.whole, size.first].map(|bytes| bytes as f64 / 1e6);
        return output::print(&format!(
            "{} in {} ({whole:.1} MB, {first:.1} MB before the first picture); put the folder on \
             any web server",
            output::counted(count, "Gaussian"),
            args.output.display()
        ));
    }
    let html = SharedScene::new(gaussians, antialias).page(&choices)?;
    let size = html.len() as f64 / 1e6;
    check_size(size, args.max_size, degree)?;
    file::write_bytes(&args.output, html.as_bytes())?;
    eprintln!("up: {up}");
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

/// The cameras that a run recorded, as views.
fn recorded(source: &SceneSource) -> Vec<View> {
    of_cameras(source.cameras().unwrap_or_default())
}

/// Views of a camera path, of a cameras.json, or of a dataset. A .json file may be any of them.
fn views(path: &Path, source: &SceneSource) -> Result<Vec<View>> {
    let of_dataset = |mut dataset: Dataset| {
        source.turn(&mut dataset);
        of_dataset(dataset)
    };
    let is_list = || {
        let text = std::fs::read(path).unwrap_or_default();
        text.trim_ascii_start().starts_with(b"[")
    };
    if path.is_file() && is_list() {
        return Ok(of_cameras(cameras::read_json(path)?));
    }
    if !path.is_dir() {
        match read_path(path) {
            Ok(keyframes) => return Ok(of_keyframes(keyframes)),
            Err(error) if !is_file_of_cameras(path) => return Err(error),
            // A dataset, unless that is no dataset either.
            Err(error) => match load::dataset(path, None, None) {
                Ok(dataset) => return Ok(of_dataset(dataset)),
                Err(_) => return Err(error),
            },
        }
    }
    Ok(of_dataset(load::dataset(path, None, None)?))
}

fn of_cameras(cameras: Vec<NamedCamera>) -> Vec<View> {
    let view = |named: NamedCamera| sharing::view(named.name, &named.camera);
    cameras.into_iter().map(view).collect()
}

fn of_dataset(dataset: Dataset) -> Vec<View> {
    let entries = dataset.entries.into_iter();
    let view = |entry: Entry| sharing::view(entry.name, &entry.camera);
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
