//! `splatcore info`: what a file or a dataset holds.

use crate::output::{self, thousands};
use crate::scene_source::{Facts, Typed};
use anyhow::Result;
use serde::Serialize;
use splatcore_data::dataset::{Dataset, DatasetInfo, OpenOptions, is_video};
use splatcore_data::scene::{self, SceneInfo};
use splatcore_train::memory::Bytes;
use std::path::PathBuf;

/// Say what a scene file or a dataset holds.
#[derive(clap::Args)]
pub struct Args {
    /// A scene (.ply, .spz, .sog, .splat, .ksplat, .glb), the folder of a run, or a dataset: a
    /// folder with a COLMAP
    /// model, transforms.json or cameras of Metashape, RealityScan, Bundler, LLFF, Polycam or
    /// Record3D, or the file of cameras itself. A scene is read whole, of a dataset's photos only
    /// the headers
    #[arg(value_name = "FILE_OR_DATASET")]
    path: PathBuf,
    /// Folder of the dataset's photos in place of `images`, for example images_4
    #[arg(long, value_name = "FOLDER")]
    images: Option<String>,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub fn run(args: Args) -> Result<()> {
    let typed = match is_video(&args.path) {
        true => Typed::Dataset,
        false => Typed::of(&args.path)?,
    };
    let Typed::Scene(source) = typed else {
        let options = OpenOptions {
            images: args.images,
            ..OpenOptions::default()
        };
        let dataset = Dataset::open(&args.path, &options)?;
        let mut info = dataset.info();
        info.warnings.extend(dataset.unusable_photos());
        return if args.json {
            output::print_json(&info)
        } else {
            output::print(&of_dataset(&info))
        };
    };
    let info = scene::info(source.file())?;
    match args.json {
        true => output::print_json(&WithFacts {
            info: &info,
            facts: Some(source.facts()).filter(|facts| !facts.are_none()),
        }),
        false => output::print(&[of_scene(&info), of_facts(source.facts())].concat()),
    }
}

/// A scene with what is known of it besides its Gaussians.
#[derive(Serialize)]
struct WithFacts<'a> {
    #[serde(flatten)]
    info: &'a SceneInfo,
    #[serde(rename = "run", skip_serializing_if = "Option::is_none")]
    facts: Option<&'a Facts>,
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
    let [[w, h], [wide, high]] = info.sizes;
    let size = if [w, h] == [wide, high] {
        format!("{w}x{h}")
    } else {
        format!("{w}x{h} to {wide}x{high}")
    };
    let masks = if info.masks > 0 {
        format!(", {} with a mask", info.masks)
    } else {
        String::new()
    };
    let made_up = if info.points_random {
        " (random: the dataset has none)"
    } else {
        ""
    };
    let mut lines = vec![
        format!("dataset      {}", info.format),
        format!("images       {}, {size}{masks}", info.images),
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
