//! The settings that are a choice among names.

use serde::{Deserialize, Serialize};
use splatcore_core::Region;
use splatcore_core::colour::ColourModel;
use splatcore_core::depth::DepthLoss;
use splatcore_core::shutter::Readout;
use std::convert::Infallible;
use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

/// How the set of Gaussians changes while training.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum Strategy {
    /// Clones and splits of adc, drawn towards a number that steps and photos tell; opacities are
    /// halved, not reset.
    #[default]
    Splatcore,
    /// Adaptive density control: clone, split, prune, reset opacity (Kerbl et al. 2023, section 5).
    Adc,
    /// Relocation and noise, up to a fixed number (Kheradmand et al. 2024).
    Mcmc,
}

impl Strategy {
    /// Whether Gaussians are cloned and split where their gradients say so.
    pub fn follows_gradients(self) -> bool {
        self != Self::Mcmc
    }
}

/// Which norm of a Gaussian's screen-space gradient decides whether it grows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum DensifyStatistic {
    /// Of the sum over all pixels, in which opposite pulls cancel (Kerbl et al. 2023).
    #[default]
    Mean,
    /// Of absolute values, tile by tile, after AbsGS (Ye et al. 2024).
    Absolute,
}

/// How many Gaussians grow in a round, and which.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum DensifyGrowth {
    /// All at the threshold (Kerbl et al. 2023).
    #[default]
    Threshold,
    /// As many as bring the set on a straight line to its limit, drawn by their gradients.
    Budget,
}

/// Where the set of Gaussians grows: `none`, `auto`, or the corners of a box.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub enum GrowthRegion {
    /// Everywhere.
    #[default]
    None,
    /// Around the place that the cameras look at ([`Region::looked_at`]).
    Auto,
    /// In this box.
    Box(Region),
}

impl fmt::Display for GrowthRegion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => f.write_str("none"),
            Self::Auto => f.write_str("auto"),
            Self::Box(region) => region.fmt(f),
        }
    }
}

impl FromStr for GrowthRegion {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "none" => Ok(Self::None),
            "auto" => Ok(Self::Auto),
            corners => corners.parse().map(Self::Box),
        }
    }
}

splatcore_core::kept_as_text!(GrowthRegion, String);

/// Where the arithmetic happens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum BackendChoice {
    /// The fastest that this machine has.
    #[default]
    Auto,
    /// Processor: SIMD and threads.
    Cpu,
    /// NVIDIA GPU.
    Cuda,
}

/// How the optimiser's two moments are kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum Moments {
    /// As 32-bit floats.
    #[default]
    Full,
    /// In 16 and 8 bits, rounded by chance so that the expectation is right.
    Compact,
    /// The second alone, as of `compact`; Adam without its first moment (RMSprop).
    Second,
    /// As `second`, and spherical harmonics of degree 3 in 16 bits, rounded by chance.
    Small,
}

/// How learning rates follow the number of photos of a step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum BatchScaling {
    /// Not at all.
    #[default]
    None,
    /// Rates times the root of the batch, decays of the moments to its power (Grendel, Zhao et al.
    /// 2024, section 4.3).
    Sqrt,
}

/// Which Gaussians the optimiser touches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum Optimizer {
    /// All of them in every step (Kingma & Ba 2015).
    #[default]
    Adam,
    /// Those with a splat in the step's view; the others keep parameters and moments as they are.
    SparseAdam,
}

/// What becomes of a photo that was taken through a lens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum PhotoLens {
    /// It is resampled to a pinhole's.
    #[default]
    Undistort,
    /// It stays, and images are rendered through its lens.
    AsTaken,
}

/// The order in which a rolling shutter reads a photo's lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum LineOrder {
    /// Rows, the upper one first.
    TopToBottom,
    /// Rows, the lower one first.
    BottomToTop,
    /// Columns, the left one first.
    LeftToRight,
    /// Columns, the right one first.
    RightToLeft,
}

impl From<LineOrder> for Readout {
    fn from(order: LineOrder) -> Self {
        match order {
            LineOrder::TopToBottom => Self::TopToBottom,
            LineOrder::BottomToTop => Self::BottomToTop,
            LineOrder::LeftToRight => Self::LeftToRight,
            LineOrder::RightToLeft => Self::RightToLeft,
        }
    }
}

/// At which size the photos are learnt from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum ResolutionSchedule {
    /// Their own.
    #[default]
    Full,
    /// A quarter of each side at first, then half, then their own.
    CoarseToFine,
}

/// What stands between the scene's colours and a photo's: `none`, or the name of a colour model.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct Appearance(pub Option<ColourModel>);

impl Appearance {
    /// The help of the setting.
    pub(super) fn help() -> String {
        let one = |model: ColourModel| format!("{model} ({})", model.entry().about);
        format!(
            "Learn what each photo's exposure and white balance made of the scene's colours, so \
             that the scene need not explain it: {}, or none [no model]. Quality where a camera's \
             automatics were on, little use otherwise; a step takes a little longer, memory is 12 \
             bytes a pixel of one photo, of bilateral 0.3 MB a photo more, and photos with alpha \
             take a third more. Held-out photos have none, so psnr may fall: see psnr_aligned in \
             metrics.json",
            ColourModel::ALL.map(one).join(", ")
        )
    }
}

impl fmt::Display for Appearance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.map_or("none", |model| model.entry().name))
    }
}

impl FromStr for Appearance {
    type Err = String;
    fn from_str(name: &str) -> Result<Self, String> {
        if name == "none" {
            return Ok(Self(None));
        }
        let models = ColourModel::ALL.map(|model| model.entry().name).join(", ");
        let model = name.parse().map(Some).map(Self);
        model.map_err(|_| format!("'{name}' is no colour model; choose none, {models}"))
    }
}

splatcore_core::kept_as_text!(Appearance, String);

/// Where depth maps are: `none`, `auto`, `points`, or a folder.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub enum Depths {
    /// None are read.
    #[default]
    None,
    /// Where the dataset's format has them, or in folders of usual names.
    Auto,
    /// None are read: the photos' depths are those of the points that training starts from.
    Points,
    /// In this folder, below the dataset's.
    Folder(PathBuf),
}

impl fmt::Display for Depths {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => f.write_str("none"),
            Self::Auto => f.write_str("auto"),
            Self::Points => f.write_str("points"),
            Self::Folder(folder) => write!(f, "{}", folder.display()),
        }
    }
}

impl FromStr for Depths {
    type Err = Infallible;
    fn from_str(text: &str) -> Result<Self, Infallible> {
        Ok(text.to_owned().into())
    }
}

impl From<String> for Depths {
    fn from(text: String) -> Self {
        match text.as_str() {
            "none" => Self::None,
            "auto" => Self::Auto,
            "points" => Self::Points,
            folder => Self::Folder(folder.into()),
        }
    }
}

impl From<Depths> for String {
    fn from(depths: Depths) -> String {
        depths.to_string()
    }
}

/// What the values of depth maps are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum DepthKind {
    /// Depths in units of the world.
    #[default]
    Metric,
    /// Depths up to a factor.
    Scaled,
    /// Depths up to a factor and an offset.
    Relative,
    /// Inverse depths up to a factor and an offset, as most networks give them.
    Disparity,
}

/// The axes that maps of normals are in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum NormalAxes {
    /// The camera's: x right, y down, z forward.
    #[default]
    Opencv,
    /// The camera's: x right, y up, z back.
    Opengl,
    /// The world's.
    World,
}

/// A loss on depth, by its name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct NamedDepthLoss(pub DepthLoss);

impl NamedDepthLoss {
    /// The help of the setting.
    pub(super) fn help() -> String {
        let one = |loss: DepthLoss| format!("{loss}, {}", loss.entry().about);
        format!(
            "How depths are compared: {}. Quality only",
            DepthLoss::ALL.map(one).join(", or ")
        )
    }
}

impl fmt::Display for NamedDepthLoss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl FromStr for NamedDepthLoss {
    type Err = String;
    fn from_str(name: &str) -> Result<Self, String> {
        name.parse().map(Self)
    }
}

splatcore_core::kept_as_text!(NamedDepthLoss, String);

/// The colour behind the scene: `black`, `white`, `random`, or `r,g,b` with values from 0 to 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub enum Background {
    /// 0, 0, 0.
    #[default]
    Black,
    /// 1, 1, 1.
    White,
    /// Any other colour.
    Colour([f32; 3]),
    /// Another colour in every step, black where quality is measured.
    Random,
}

impl Background {
    /// Red, green, blue from 0 to 1; of a random one the colour of pictures that are not for
    /// training.
    pub fn colour(self) -> [f32; 3] {
        match self {
            Self::Black | Self::Random => [0.0; 3],
            Self::White => [1.0; 3],
            Self::Colour(colour) => colour,
        }
    }
}

impl fmt::Display for Background {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Black => f.write_str("black"),
            Self::White => f.write_str("white"),
            Self::Random => f.write_str("random"),
            Self::Colour([r, g, b]) => write!(f, "{r},{g},{b}"),
        }
    }
}

impl FromStr for Background {
    type Err = String;
    fn from_str(s: &str) -> Result<Self, String> {
        match s {
            "black" => return Ok(Self::Black),
            "white" => return Ok(Self::White),
            "random" => return Ok(Self::Random),
            _ => {}
        }
        let values: Vec<f32> = s.split(',').filter_map(|v| v.trim().parse().ok()).collect();
        match values.as_slice() {
            &[r, g, b]
                if s.split(',').count() == 3 && values.iter().all(|v| (0.0..=1.0).contains(v)) =>
            {
                Ok(match [r, g, b] {
                    [0.0, 0.0, 0.0] => Self::Black,
                    [1.0, 1.0, 1.0] => Self::White,
                    colour => Self::Colour(colour),
                })
            }
            _ => Err(format!(
                "'{s}' is not a colour; write black, white, random, or r,g,b with values from 0 to \
                 1, for example 0.5,0.5,0.5"
            )),
        }
    }
}

splatcore_core::kept_as_text!(Background, String);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn regions_survive_their_names() {
        for text in ["none", "auto", "-1,0,0,1,2.5,3"] {
            let region: GrowthRegion = text.parse().unwrap();
            assert_eq!(region.to_string(), text);
        }
        assert!("everywhere".parse::<GrowthRegion>().is_err());
    }

    #[test]
    fn backgrounds_survive_their_names() {
        for background in [
            Background::Black,
            Background::White,
            Background::Random,
            Background::Colour([0.1, 0.25, 1.0]),
        ] {
            assert_eq!(background.to_string().parse(), Ok(background));
        }
        assert_eq!("0, 0.5,1".parse(), Ok(Background::Colour([0.0, 0.5, 1.0])));
        assert_eq!("1,1,1".parse(), Ok(Background::White));
        for wrong in ["grey", "1,1", "1,1,1,x", "0,0,2", "nan,0,0", ""] {
            assert!(
                wrong.parse::<Background>().unwrap_err().contains("r,g,b"),
                "{wrong}"
            );
        }
    }
}
