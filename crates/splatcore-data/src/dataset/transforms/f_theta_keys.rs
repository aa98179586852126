//! The keys of NVIDIA's f-theta model: NCore's (`reference_poly`, `angle_to_pixeldist_poly`,
//! `pixeldist_to_angle_poly`, `linear_cde`, `max_angle`, `principal_point`), or `ftheta_p0` to
//! `ftheta_p5` of instant-ngp, from pixels to angles.

use serde::Deserialize;
use serde_json::Value;

/// The model's keys, as written.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
#[expect(missing_docs, reason = "the names are the format's own")]
pub struct Keys {
    /// Which polynomial was calibrated: ANGLE_TO_PIXELDIST or PIXELDIST_TO_ANGLE.
    pub reference_poly: Option<String>,
    pub angle_to_pixeldist_poly: Option<Vec<f64>>,
    pub pixeldist_to_angle_poly: Option<Vec<f64>>,
    pub linear_cde: Option<Vec<f64>>,
    pub max_angle: Option<f64>,
    /// Where the centre of the first pixel is (0, 0), not its corner as for `cx` and `cy`.
    pub principal_point: Option<Value>,
    pub ftheta_p0: Option<f64>,
    pub ftheta_p1: Option<f64>,
    pub ftheta_p2: Option<f64>,
    pub ftheta_p3: Option<f64>,
    pub ftheta_p4: Option<f64>,
    pub ftheta_p5: Option<f64>,
}

impl Keys {
    /// These, with `general` where they say nothing.
    pub(super) fn or(&self, general: &Self) -> Self {
        let list = |of: fn(&Self) -> &Option<Vec<f64>>| of(self).clone().or(of(general).clone());
        let own = self.clone();
        let general = general.clone();
        Self {
            reference_poly: own.reference_poly.or(general.reference_poly),
            angle_to_pixeldist_poly: list(|keys| &keys.angle_to_pixeldist_poly),
            pixeldist_to_angle_poly: list(|keys| &keys.pixeldist_to_angle_poly),
            linear_cde: list(|keys| &keys.linear_cde),
            max_angle: own.max_angle.or(general.max_angle),
            principal_point: own.principal_point.or(general.principal_point),
            ftheta_p0: own.ftheta_p0.or(general.ftheta_p0),
            ftheta_p1: own.ftheta_p1.or(general.ftheta_p1),
            ftheta_p2: own.ftheta_p2.or(general.ftheta_p2),
            ftheta_p3: own.ftheta_p3.or(general.ftheta_p3),
            ftheta_p4: own.ftheta_p4.or(general.ftheta_p4),
            ftheta_p5: own.ftheta_p5.or(general.ftheta_p5),
        }
    }

    /// instant-ngp's polynomial.
    pub(super) fn listed(&self) -> Option<Vec<f64>> {
        self.ftheta_p1?;
        let [p0, p1, p2] = [self.ftheta_p0, self.ftheta_p1, self.ftheta_p2];
        let [p3, p4, p5] = [self.ftheta_p3, self.ftheta_p4, self.ftheta_p5];
        Some(
            [p0, p1, p2, p3, p4, p5]
                .map(Option::unwrap_or_default)
                .into(),
        )
    }
}
