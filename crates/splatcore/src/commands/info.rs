//! `splatcore info`: what a file or a dataset holds.

use crate::commands::scene_stats::stats_text;
use crate::output::{self, thousands};
use crate::remedy;
use crate::scene_source::{Facts, Typed};
use anyhow::{Result, bail};
use serde::Serialize;
use splatcore_data::dataset::{Dataset, DatasetInfo, OpenOptions, is_video};
use splatcore_data::scene::{self, SceneInfo};
use splatcore_train::memory::Bytes;
use std::path::{Path, PathBuf};

/// Say what a scene file or a dataset holds.
#[derive(clap::Args)]
pub struct Args {
    /// Scenes (.ply, .spz, .sog, .splat, .ksplat, .glb), folders of runs, and datasets: a folder
    /// with a COLMAP model, transforms.json or cameras of Metashape, RealityScan, Bundler, LLFF,
    /// Polycam, Record3D or 3D Scanner App, or the file of cameras itself. A scene is read whole,
    /// of a dataset's photos only the headers
    #[arg(value_name = "FILE_OR_DATASET", required = true)]
    paths: Vec<PathBuf>,
    /// Folder of the dataset's photos in place of `images`, for example images_4
    #[arg(long, value_name = "FOLDER")]
    images: Option<String>,
    /// Also print how the values of a scene are distributed: percentiles of positions, opacities,
    /// sizes and colours, and a box to crop to, as `splatcore convert` takes it. Reads the scene
    /// three times more
    #[arg(long)]
    stats: bool,
    /// Print one JSON object; of several files an array of objects, each with its path
    #[arg(long)]
    json: bool,
}

/// What there is to say about a path.
#[derive(Serialize)]
#[serde(untagged)]
enum Described {
    Scene(Box<WithFacts>),
    Dataset(Box<DatasetInfo>),
}

/// A scene with what is known of it besides its Gaussians.
#[derive(Serialize)]
struct WithFacts {
    #[serde(flatten)]
    info: SceneInfo,
    #[serde(rename = "run", skip_serializing_if = "Option::is_none")]
    facts: Option<Facts>,
}

/// One of several.
#[derive(Serialize)]
struct Named<'a> {
    path: String,
    #[serde(flatten)]
    described: &'a Described,
}

/// Runs the command.
pub fn run(args: Args) -> Result<()> {
    if let [path] = &args.paths[..] {
        let described = describe(path, &args)?;
        return match args.json {
            true => output::print_json(&described),
            false => output::print(&text(path, &described)),
        };
    }
    let mut all = Vec::new();
    let mut failed = 0;
    for path in &args.paths {
        match describe(path, &args) {
            Ok(described) => all.push((path, described)),
            // The others are described all the same.
            Err(error) => {
                let remedy = remedy::of(&error).map(|remedy| format!("; {remedy}"));
                let line = output::one_line(&error);
                eprintln!("{line}{}", remedy.unwrap_or_default());
                failed += 1;
            }
        }
    }
    if args.json {
        let named = |(path, described): &(&PathBuf, Described)| {
            let path = path.display().to_string();
            serde_json::to_value(Named { path, described })
        };
        let named = all.iter().map(named).collect::<Result<Vec<_>, _>>()?;
        output::print_json(&named)?;
    } else {
        let named = |(path, described): &(&PathBuf, Described)| {
            format!("path         {}\n{}", path.display(), text(path, described))
        };
        let named: Vec<String> = all.iter().map(named).collect();
        output::print(&named.join("\n\n"))?;
    }
    if failed > 0 {
        let count = output::counted(args.paths.len(), "path");
        bail!("{failed} of {count} could not be read; the lines above say why");
    }
    Ok(())
}

fn describe(path: &Path, args: &Args) -> Result<Described> {
    let typed = match is_video(path) {
        true => Typed::Dataset,
        false => Typed::of(path)?,
    };
    if let Typed::Scene(source) = typed {
        let info = match args.stats {
            true => scene::info_with_stats(source.file())?,
            false => scene::info(source.file())?,
        };
        let facts = Some(source.facts()).filter(|facts| !facts.are_none());
        return Ok(Described::Scene(Box::new(WithFacts {
            info,
            facts: facts.cloned(),
        })));
    }
    let options = OpenOptions {
        images: args.images.clone(),
        ..OpenOptions::default()
    };
    let dataset = Dataset::open(path, &options)?;
    if args.stats {
        eprintln!("{}: is a dataset; --stats is about scenes", path.display());
    }
    let mut info = dataset.info();
    info.warnings.extend(dataset.unusable_photos());
    Ok(Described::Dataset(Box::new(info)))
}

fn text(path: &Path, described: &Described) -> String {
    match described {
        Described::Dataset(info) => of_dataset(info),
        Described::Scene(scene) => {
            let WithFacts { info, facts } = &**scene;
            let facts = facts.as_ref().map(of_facts).unwrap_or_default();
            let stats = info.stats.as_ref().map(|stats| stats_text(stats, path));
            let scene = of_scene(info) + &facts;
            let lines = std::iter::once(scene).chain(stats);
            lines.collect::<Vec<_>>().join("\n\n")
        }
    }
}

/// Lines that follow those of the scene.
fn of_facts(facts: &Facts) -> String {
    let dataset = facts.dataset.iter().map(|dataset| {
        let place = dataset.absolute.display();
        format!("\ndataset      {place}")
    });
    let up = facts.up.iter().map(|up| format!("\nup           {up}"));
    let turned = facts.turned.iter().map(|_| {
        String::from("\nturned       upright; the dataset is turned with it when it is read")
    });
    let start = facts.start.iter().map(|start| {
        let [x, y, z] = start.position;
        format!("\nstart        at ({x:.3}, {y:.3}, {z:.3})")
    });
    dataset.chain(up).chain(turned).chain(start).collect()
}

fn of_scene(info: &SceneInfo) -> String {
    let mut lines = vec![
        format!("scene        {}, {}", info.format, Bytes(info.bytes)),
        format!("Gaussians    {}", thousands(info.gaussians as u64)),
        format!("SH degree    {}", info.sh_degree),
    ];
    if let Some(bounds) = &info.bounds {
        let point = |p: [f32; 3]| format!("({:.3}, {:.3}, {:.3})", p[0], p[1], p[2]);
        lines.push(format!(
            "box          {} to {}",
            point(bounds.min),
            point(bounds.max)
        ));
    }
    if let Some(scale) = info.median_scale {
        lines.push(format!(
            "median size  {scale:.4} world units (standard deviation)"
        ));
    }
    if info.antialiased {
        lines.push("antialiased  yes (Mip-Splatting's filter)".into());
    }
    if info.dropped > 0 {
        lines.push(format!(
            "dropped      {} Gaussians with a value that is not finite",
            thousands(info.dropped as u64)
        ));
    }
    lines.extend(info.notes.iter().map(|note| format!("note         {note}")));
    lines.join("\n")
}

fn of_dataset(info: &DatasetInfo) -> String {
    let shown = |[[w, h], [wide, high]]: [[u32; 2]; 2]| {
        if [w, h] == [wide, high] {
            format!("{w}x{h}")
        } else {
            format!("{w}x{h} to {wide}x{high}")
        }
    };
    let declared = shown(info.sizes);
    let size = match info.stored_sizes {
        Some(stored) => format!("{} (cameras of {declared})", shown(stored)),
        None => declared,
    };
    let masks = if info.masks > 0 {
        format!(", {} with a mask", info.masks)
    } else {
        String::new()
    };
    let rolling = match info.rolling_shutters {
        0 => String::new(),
        count => format!(", {count} with a rolling shutter"),
    };
    let made_up = if info.points_random {
        " (random: the dataset has none)"
    } else {
        ""
    };
    let mut lines = vec![
        format!("dataset      {}", info.format),
        format!("images       {}, {size}{masks}{rolling}", info.images),
        format!("missing      {}", info.missing),
        format!("cameras      {} ({})", info.cameras, info.lenses.join(", ")),
        format!("points       {}{made_up}", thousands(info.points as u64)),
    ];
    if let Some([train, test]) = info.declared_splits {
        lines.push(format!(
            "splits       {train} train, {test} test, as the files say"
        ));
    }
    lines.extend(
        info.others
            .iter()
            .map(|other| format!("not read     {other}, which is there too")),
    );
    lines.extend(
        info.missing_names
            .iter()
            .map(|name| format!("missing      {name}")),
    );
    lines.extend(
        info.warnings
            .iter()
            .map(|warning| format!("warning      {warning}")),
    );
    lines.join("\n")
}
