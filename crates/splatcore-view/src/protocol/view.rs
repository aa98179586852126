//! A view that a browser asks for.

use serde::Deserialize;
use splatcore_core::{Camera, Lens};
use splatcore_page::Pose;

/// Longest side of a view, pixels.
const MAX_SIDE: u32 = 4096;
/// Shortest side of a view, pixels.
const MIN_SIDE: u32 = 16;

/// What of a view is shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Channel {
    /// Colour.
    #[default]
    Colour,
    /// Depth, near is bright.
    Depth,
    /// One minus transmittance.
    Alpha,
    /// How many Gaussians the list of each tile holds, as a colour ([`super::HeatScale`]).
    Heat,
}

/// As what Gaussians are drawn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Style {
    /// As they are.
    #[default]
    Splats,
    /// Small and opaque, at their means.
    Points,
    /// Opaque out to about one standard deviation.
    Ellipsoids,
}

/// A view as a browser describes it.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ViewRequest {
    /// Comes back with the frame.
    pub seq: u32,
    /// Where the camera is, world units.
    pub position: [f64; 3],
    /// World to camera: the camera's right, down and forward axes in the world.
    pub rotation: [[f64; 3]; 3],
    /// Vertical field of view, degrees.
    pub fov: f64,
    /// Pixels; cut to 16 to 4096.
    pub width: u32,
    /// Pixels; cut to 16 to 4096.
    pub height: u32,
    /// What to show.
    #[serde(default)]
    pub channel: Channel,
    /// As what to draw.
    #[serde(default)]
    pub style: Style,
    /// Colour behind the scene, 0 to 1.
    #[serde(default)]
    pub background: [f32; 3],
    /// Spherical harmonics up to this degree, or all.
    #[serde(default = "all_degrees")]
    pub sh_degree: u8,
    /// Sizes of Gaussians are multiplied by this, 0.01 to 4.
    #[serde(default = "one")]
    pub scale: f32,
    /// The camera does not move: send it without loss.
    #[serde(default)]
    pub still: bool,
}

fn all_degrees() -> u8 {
    3
}

fn one() -> f32 {
    1.0
}

/// A view that can be drawn.
#[derive(Clone, Debug, PartialEq)]
pub struct Look {
    /// The request's.
    pub seq: u32,
    /// From where.
    pub camera: Camera,
    /// What.
    pub channel: Channel,
    /// As what.
    pub style: Style,
    /// Behind the scene.
    pub background: [f32; 3],
    /// Spherical harmonics up to this degree.
    pub sh_degree: u8,
    /// Of sizes.
    pub scale: f32,
    /// Without loss.
    pub still: bool,
}

impl ViewRequest {
    /// Where the view is seen from, for a request that [`ViewRequest::look`] accepts.
    pub fn pose(&self) -> Pose {
        Pose {
            position: self.position,
            rotation: self.rotation,
            fov: self.fov,
            aspect: Some(f64::from(self.width.max(1)) / f64::from(self.height.max(1))),
        }
    }

    /// Checks every value.
    ///
    /// # Errors
    /// What is wrong, in words.
    pub fn look(&self) -> Result<Look, String> {
        let finite = self.position.iter().chain(self.rotation.iter().flatten());
        if !finite.chain([&self.fov]).all(|v| v.is_finite()) {
            return Err("a number of the camera is not finite".into());
        }
        if !(1.0..=170.0).contains(&self.fov) {
            return Err(format!("a field of view of {} degrees", self.fov));
        }
        if !self.background.iter().all(|v| (0.0..=1.0).contains(v)) {
            return Err("a background that is no colour".into());
        }
        if !(0.01..=4.0).contains(&self.scale) {
            return Err(format!("sizes times {}", self.scale));
        }
        let side = |pixels: u32| pixels.clamp(MIN_SIDE, MAX_SIDE);
        let (width, height) = (side(self.width), side(self.height));
        let focal = f64::from(height) / (2.0 * (self.fov.to_radians() / 2.0).tan());
        let r = &self.rotation;
        let camera = Camera {
            width,
            height,
            fx: focal,
            fy: focal,
            cx: f64::from(width) / 2.0,
            cy: f64::from(height) / 2.0,
            rotation: *r,
            translation: std::array::from_fn(|i| {
                -(0..3).map(|c| r[i][c] * self.position[c]).sum::<f64>()
            }),
            lens: Lens::Pinhole,
            shutter: None,
        };
        match camera.defect() {
            Some(defect) => Err(defect),
            None => Ok(Look {
                seq: self.seq,
                camera,
                channel: self.channel,
                style: self.style,
                background: self.background,
                sh_degree: self.sh_degree.min(3),
                scale: self.scale,
                still: self.still,
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::Request;

    const VIEW: &str = r#"{"type":"view","seq":7,"position":[1,2,3],
        "rotation":[[1,0,0],[0,1,0],[0,0,1]],"fov":90,"width":640,"height":100}"#;

    fn view(text: &str) -> Result<Look, String> {
        match serde_json::from_str(text).map_err(|e| e.to_string())? {
            Request::View(view) => view.look(),
            _ => Err("no view".into()),
        }
    }

    #[test]
    fn a_view_becomes_a_camera() {
        let look = view(VIEW).unwrap();
        assert_eq!(look.seq, 7);
        assert_eq!(look.camera.position(), [1.0, 2.0, 3.0]);
        // 90 degrees: the focal length is half the height.
        assert!((look.camera.fy - 50.0).abs() < 1e-9);
        assert_eq!((look.camera.cx, look.camera.cy), (320.0, 50.0));
        let large = view(&VIEW.replace("640", "4000000000")).unwrap();
        assert_eq!(large.camera.width, 4096);
        assert_eq!(view(&VIEW.replace("100", "0")).unwrap().camera.height, 16);
    }

    #[test]
    fn what_cannot_be_drawn_is_refused() {
        for (from, to) in [
            ("[1,2,3]", "[1,2,1e999]"),
            ("[1,2,3]", "[1,2]"),
            ("\"fov\":90", "\"fov\":0"),
            ("\"fov\":90", "\"fov\":180"),
            ("[[1,0,0]", "[[2,0,0]"),
            ("[[1,0,0]", "[[-1,0,0]"),
            ("\"seq\":7", "\"seq\":-7"),
            ("\"seq\":7", "\"seq\":7,\"path\":\"x\""),
            ("\"seq\":7", "\"seq\":7,\"scale\":0"),
            ("\"seq\":7", "\"seq\":7,\"background\":[0,0,7]"),
            ("\"seq\":7", "\"seq\":7,\"style\":\"mesh\""),
        ] {
            let text = VIEW.replace(from, to);
            assert_ne!(text, VIEW);
            assert!(view(&text).is_err(), "{text}");
        }
    }
}
