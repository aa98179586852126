//! What is typed.

use super::compressed::Compressed;
use crate::backends::cards::CardsArgs;
use crate::backends::{BackendArgs, HalfSceneArgs};
use crate::cameras::CameraArgs;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use splatcore_core::pipeline::{Blend, Pipeline};
use splatcore_papers::Paper;
use std::path::PathBuf;
use std::str::FromStr;

/// Time the stages of rendering.
///
/// Times are milliseconds a frame: for each pass the mean over the cameras, then the median over
/// the passes. `gpu_ms` is a whole frame between two device events, nothing in between; `stages`
/// come from passes of their own, as an event between two kernels costs time. On the cpu backend
/// both are wall-clock time. `frame_ms` is wall-clock time of whole frames asked for one after the
/// other, the images left where they are. Counts are means over the cameras, of the kernels that
/// were timed. The pipelines take turns, a pass each. With --cards the views are spread over cards
/// that are at work at the same time: every time is still that of a frame on one card. A scene that
/// one card does not hold is not divided, as the time of a frame would then be that of the way
/// between the cards; harmonics are read from the computer's memory.
///
/// With --paper the tables of a paper, its numbers beside those measured here. Of several scenes
/// each has its own columns, and the mean of all has some too; --dataset is then given once for
/// all of them, or once for each scene, in the order of the scenes.
#[derive(clap::Args)]
#[command(allow_negative_numbers = true)]
pub struct Args {
    /// The scene: .ply, .spz, .sog, .splat, .ksplat or .glb, or the folder of a run; several only
    /// with --paper
    #[arg(required = true, value_name = "SCENE_OR_RUN")]
    pub scenes: Vec<PathBuf>,
    #[command(flatten)]
    pub cameras: CameraArgs,
    /// Pipelines to time, separated by commas: auto, vanilla, intersect+blend[+backward]; or all,
    /// which is every intersection with every blend that the backend has [auto; with --backward
    /// every method of the backward pass]. Time grows with their number
    #[arg(long, value_name = "P,P|all")]
    pub pipeline: Option<Pipelines>,
    /// Also time the blend splatcore with interpolation of images of 4 million pixels and more,
    /// beside the one that blends every pixel. On the cpu backend it is the same
    #[arg(long, conflicts_with = "paper")]
    pub interpolate: bool,
    /// What images are compared with: vanilla (INRIA's method in f32), or none, which saves the
    /// time to render it
    #[arg(
        long,
        value_name = "NAME",
        default_value = "vanilla",
        conflicts_with = "paper"
    )]
    pub reference: Reference,
    /// Also time the backward pass (gradients of all parameters) and whole training steps, on the
    /// dataset's photos if there are any; five times the time
    #[arg(long, conflicts_with = "half_scene")]
    pub backward: bool,
    /// Passes over the cameras after one to warm up. More passes give steadier medians and take
    /// longer
    #[arg(
        long,
        value_name = "N",
        default_value_t = 10,
        value_parser = clap::value_parser!(u32).range(1..)
    )]
    pub passes: u32,
    /// Print the tables of this paper: the paper's numbers, and those measured here in the same
    /// layout. Up to 25 pipelines; those that the backend lacks say so in their row
    #[arg(
        long,
        value_name = "NAME",
        value_parser = papers(),
        conflicts_with_all = ["pipeline", "backward", "half_scene"]
    )]
    pub paper: Option<Paper>,
    /// Runs for the table of --paper atomic-aggregation that compares trainings of equal time: each
    /// DIR/DATASET/RUN as `train --time-limit S --pipeline P -o DIR/DATASET/RUN` leaves it
    #[arg(long, value_name = "DIR", requires = "paper")]
    pub trainings: Option<PathBuf>,
    /// Fill the columns of LPIPS of --paper tc-gs and tensor-gs, with the weights of this file, as
    /// `eval --lpips` takes it [they are -]. With vgg it takes some seconds a view and pipeline
    #[arg(long, value_name = "FILE.safetensors", requires = "paper")]
    pub lpips: Option<PathBuf>,
    /// Also measure compressed models of the scenes, for the rows of --paper gemm-gs that name
    /// them: c3dgs=FILE or lightgaussian=FILE. Once for each scene and name, in the order of the
    /// scenes; c3dgs=none leaves a scene out. Each takes as long as two pipelines
    #[arg(long, value_name = "NAME=FILE")]
    pub compressed: Vec<Compressed>,
    /// Also write the results as JSON:
    /// {"device","backend","scene","gaussians","size","views","rows":[...]}; with --paper
    /// {"paper","device","backend","passes","scenes":[...],"trainings":[...],"tables":[...]}
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
    /// Also write the tables of --paper as a page with plots, readable without a network
    #[arg(long, value_name = "FILE", requires = "paper")]
    pub html: Option<PathBuf>,
    #[command(flatten)]
    pub cards: CardsArgs,
    #[command(flatten)]
    pub half: HalfSceneArgs,
    #[command(flatten)]
    pub backend: BackendArgs,
}

/// What images are compared with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Reference {
    /// INRIA's method in f32.
    Vanilla,
    /// Nothing.
    None,
}

/// A list of pipelines.
#[derive(Clone, Debug, PartialEq)]
pub struct Pipelines {
    pub list: Vec<Pipeline>,
    /// Not named one by one: those that the backend lacks are none of the user's concern.
    pub all: bool,
}

impl FromStr for Pipelines {
    type Err = String;
    fn from_str(s: &str) -> Result<Self, String> {
        if s == "all" {
            return Ok(Self {
                list: Pipeline::combinations(Blend::ALL),
                all: true,
            });
        }
        let names = s.split(',').map(|name| name.trim().parse());
        Ok(Self {
            list: names.collect::<Result<_, _>>()?,
            all: false,
        })
    }
}

/// The papers by name.
fn papers() -> impl TypedValueParser<Value = Paper> {
    let names = Paper::ALL.map(|paper| PossibleValue::new(paper.name()).help(paper.contents()));
    PossibleValuesParser::new(names).try_map(|name| name.parse::<Paper>())
}

#[cfg(test)]
mod tests {
    use super::*;
    use splatcore_core::pipeline::Intersect;

    #[test]
    fn lists_of_pipelines() {
        let list = |text: &str| text.parse::<Pipelines>().map(|p| p.list);
        assert_eq!(
            list("auto, vanilla").unwrap(),
            [Pipeline::AUTO, Pipeline::VANILLA]
        );
        let all: Pipelines = "all".parse().unwrap();
        assert!(all.all);
        assert_eq!(all.list.len(), Intersect::ALL.len() * Blend::ALL.len());
        assert!(list("auto,nonsense").is_err());
    }
}
