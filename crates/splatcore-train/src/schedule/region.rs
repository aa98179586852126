//! Where the set of Gaussians grows, and how far from the cameras is what they look at.

use super::Schedule;
use crate::config::{ConfigError, GrowthRegion};
use splatcore_core::{Camera, Region};

impl Schedule {
    /// Of a run with the region that its config asks for, seen by these cameras, which say how far
    /// away they look.
    ///
    /// # Errors
    /// The cameras tell no region, and the config asks for theirs.
    pub fn within<'a>(
        self,
        cameras: impl IntoIterator<Item = &'a Camera>,
    ) -> Result<Self, ConfigError> {
        let looked_at = Region::looked_at(cameras);
        let region = match self.config.densify.region {
            GrowthRegion::None => None,
            GrowthRegion::Box(region) => Some(region),
            GrowthRegion::Auto if looked_at.is_none() => return Err(nowhere()),
            GrowthRegion::Auto => looked_at,
        };
        // Its sides are as long as the middle camera is away.
        let distance = looked_at.map(|cube| f64::from(cube.high[0] - cube.low[0]));
        Ok(Self {
            region,
            distance,
            ..self
        })
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
