//! Where the set of Gaussians grows.

use super::Schedule;
use crate::config::{ConfigError, GrowthRegion};
use splatcore_core::{Camera, Region};

impl Schedule {
    /// Of a run with the region that its config asks for, seen by these cameras.
    ///
    /// # Errors
    /// The cameras tell no region, and the config asks for theirs.
    pub fn within<'a>(
        self,
        cameras: impl IntoIterator<Item = &'a Camera>,
    ) -> Result<Self, ConfigError> {
        let region = match self.config.densify.region {
            GrowthRegion::None => None,
            GrowthRegion::Box(region) => Some(region),
            GrowthRegion::Auto => match Region::looked_at(cameras) {
                None => return Err(nowhere()),
                found => found,
            },
        };
        Ok(Self { region, ..self })
    }

    /// Where the set of Gaussians grows; `None` for everywhere.
    pub fn region(&self) -> Option<Region> {
        self.region
    }
}

fn nowhere() -> ConfigError {
    ConfigError::Value {
        key: "region",
        value: GrowthRegion::Auto.to_string(),
        problem: "the photos' cameras do not look at one place from around it; write the corners \
                  of a box, X0,Y0,Z0,X1,Y1,Z1"
            .into(),
        instead: None,
    }
}
