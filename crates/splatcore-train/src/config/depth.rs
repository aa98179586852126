//! Whether and how a run learns from maps of depths and of normals.

use super::choices::{DepthKind, Depths, NamedDepthLoss, NormalAxes};
use super::settings::Config;
use splatcore_core::depth::DepthLoss;
use splatcore_data::dataset::{DepthOptions, DepthValues, NormalFrame, NormalOptions};
use std::path::PathBuf;

/// The weight at the last step, as a share of that at the first (Kerbl et al. 2024).
pub(crate) const FINAL_SHARE: f64 = 0.01;

impl From<DepthKind> for DepthValues {
    fn from(kind: DepthKind) -> Self {
        match kind {
            DepthKind::Metric => Self::Metric,
            DepthKind::Scaled => Self::Scaled,
            DepthKind::Relative => Self::Relative,
            DepthKind::Disparity => Self::Disparity,
        }
    }
}

/// Whether and how depth maps guide the scene.
#[derive(Clone, Debug, PartialEq)]
pub struct DepthSettings {
    /// Where they are.
    pub from: Depths,
    /// What their values are.
    pub kind: DepthKind,
    /// World units of a value; `None` for what the files say.
    pub unit: Option<f64>,
    /// How a rendered depth is compared.
    pub loss: DepthLoss,
    /// Weight at the first step.
    pub weight: f64,
    /// Whether and how maps of normals do.
    pub normals: NormalSettings,
}

/// Whether and how maps of normals guide the scene.
#[derive(Clone, Debug, PartialEq)]
pub struct NormalSettings {
    /// Where they are.
    pub from: Depths,
    /// Their axes.
    pub axes: NormalAxes,
    /// Weight as they begin to count.
    pub weight: f64,
}

impl NormalSettings {
    /// What is loaded with the photos; `None` for nothing.
    pub fn options(&self) -> Option<NormalOptions> {
        let frame = match self.axes {
            NormalAxes::Opencv => NormalFrame::OpenCv,
            NormalAxes::Opengl => NormalFrame::OpenGl,
            NormalAxes::World => NormalFrame::World,
        };
        folder_of(&self.from).map(|folder| NormalOptions { folder, frame })
    }
}

/// The folder of maps, below the dataset's: `None` for the usual ones; `None` for no maps.
fn folder_of(from: &Depths) -> Option<Option<PathBuf>> {
    match from {
        Depths::None | Depths::Points => None,
        Depths::Auto => Some(None),
        Depths::Folder(folder) => Some(Some(folder.clone())),
    }
}

impl DepthSettings {
    /// The given settings, and the others' defaults.
    pub(super) fn of(config: &Config) -> Self {
        Self {
            from: config.depths.clone().unwrap_or_default(),
            kind: config.depth_kind.unwrap_or_default(),
            unit: config.depth_unit,
            loss: config.depth_loss.unwrap_or_default().0,
            weight: config.depth_weight.unwrap_or(2.0),
            normals: NormalSettings {
                from: config.normals.clone().unwrap_or_default(),
                axes: config.normal_frame.unwrap_or_default(),
                weight: config.normal_weight.unwrap_or(0.05),
            },
        }
    }

    /// These settings one by one.
    pub(super) fn to_settings(&self) -> Config {
        Config {
            depths: Some(self.from.clone()),
            depth_kind: Some(self.kind),
            depth_unit: self.unit,
            depth_loss: Some(NamedDepthLoss(self.loss)),
            depth_weight: Some(self.weight),
            normals: Some(self.normals.from.clone()),
            normal_frame: Some(self.normals.axes),
            normal_weight: Some(self.normals.weight),
            ..Config::UNSET
        }
    }

    /// What is loaded with the photos; `None` for nothing.
    pub fn options(&self) -> Option<DepthOptions> {
        folder_of(&self.from).map(|folder| DepthOptions {
            folder,
            unit: self.unit,
            values: self.kind.into(),
        })
    }

    /// Whether steps learn from them.
    pub fn guide(&self) -> bool {
        self.from != Depths::None && self.weight > 0.0
    }
}

#[cfg(test)]
mod tests {
    use super::super::choices::Appearance;
    use super::*;
    use splatcore_core::colour::ColourModel;

    /// A name that the table has and the help lacks would be found by nobody.
    #[test]
    fn the_help_names_all_of_the_table() {
        let help = NamedDepthLoss::help();
        for loss in DepthLoss::ALL {
            let wanted = format!("{loss}, {}", loss.entry().about);
            assert!(help.contains(&wanted), "{wanted}");
        }
        let help = Appearance::help();
        for model in ColourModel::ALL {
            let wanted = format!("{model} ({})", model.entry().about);
            assert!(help.contains(&wanted), "{wanted}");
        }
    }

    #[test]
    fn names_survive_a_file() {
        for depths in [
            Depths::None,
            Depths::Auto,
            Depths::Points,
            Depths::Folder("sensor/depth".into()),
        ] {
            assert_eq!(depths.to_string().parse(), Ok(depths));
        }
        for loss in DepthLoss::ALL.map(NamedDepthLoss) {
            assert_eq!(NamedDepthLoss::try_from(String::from(loss)), Ok(loss));
        }
        let settings = DepthSettings {
            from: Depths::Auto,
            kind: DepthKind::Disparity,
            unit: Some(0.5),
            loss: DepthLoss::Log,
            weight: 0.25,
            normals: NormalSettings {
                from: Depths::Folder("n".into()),
                axes: NormalAxes::World,
                weight: 0.5,
            },
        };
        let options = settings.normals.options().unwrap();
        assert_eq!(options.frame, NormalFrame::World);
        assert_eq!(DepthSettings::of(&settings.to_settings()), settings);
    }
}
