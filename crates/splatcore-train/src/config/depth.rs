//! Whether and how a run learns from depth maps.

use super::choices::{DepthKind, Depths, NamedDepthLoss};
use super::settings::Config;
use splatcore_core::depth::DepthLoss;
use splatcore_data::dataset::{DepthOptions, DepthValues};

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
            ..Config::UNSET
        }
    }

    /// What is loaded with the photos; `None` for nothing.
    pub fn options(&self) -> Option<DepthOptions> {
        let folder = match &self.from {
            Depths::None => return None,
            Depths::Auto => None,
            Depths::Folder(folder) => Some(folder.clone()),
        };
        Some(DepthOptions {
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
    use super::*;

    #[test]
    fn names_survive_a_file() {
        for depths in [
            Depths::None,
            Depths::Auto,
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
        };
        assert_eq!(DepthSettings::of(&settings.to_settings()), settings);
    }
}
