//! A view that a browser asks for.

use super::reply::CameraInfo;
use serde::Deserialize;
use splatcore_core::{Camera, ProjectionKind, panorama};
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

/// Largest vertical angle of a camera without distortion and of a fisheye, degrees.
const MAX_FOV: f64 = 170.0;
const MAX_FISHEYE: f64 = 320.0;

/// How the place of the camera is seen.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(untagged)]
pub enum Seen {
    /// As `render --projection` sees it.
    As(ProjectionKind),
    /// Through the camera that took a photo, as it took it: which, in the order of the cameras.
    Photo(usize),
}

impl Default for Seen {
    fn default() -> Self {
        Self::As(ProjectionKind::Pinhole)
    }
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
    /// Vertical field of view, degrees: 1 to 170, of a fisheye to 320.
    pub fov: f64,
    /// How the camera sees.
    #[serde(default)]
    pub projection: Seen,
    /// How far away parallel rays show things as large as a camera without distortion, world units.
    #[serde(default = "one_unit")]
    pub focus: f64,
    /// Of the window, pixels; cut to 16 to 4096. An image of 360 degrees, and one of a photo's
    /// shape, is the largest that the window holds.
    pub width: u32,
    /// See `width`.
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

fn one_unit() -> f64 {
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
            fov: self.fov.min(MAX_FOV),
            aspect: Some(f64::from(self.width.max(1)) / f64::from(self.height.max(1))),
        }
    }

    /// Whether the camera has no distortion, as tools need that work on the picture.
    pub fn is_pinhole(&self) -> bool {
        self.projection == Seen::default()
    }

    /// A position in the window, in pixels of the image.
    pub fn in_image(&self, image: &Camera, [x, y]: [f64; 2]) -> [f64; 2] {
        let beside = |window: u32, image: u32| 0.5 * (f64::from(side(window)) - f64::from(image));
        [
            x - beside(self.width, image.width),
            y - beside(self.height, image.height),
        ]
    }

    /// Checks every value. `cameras` are those of the photos.
    ///
    /// # Errors
    /// What is wrong, in words.
    pub fn look(&self, cameras: &[CameraInfo]) -> Result<Look, String> {
        let finite = self.position.iter().chain(self.rotation.iter().flatten());
        if !finite
            .chain([&self.fov, &self.focus])
            .all(|v| v.is_finite())
        {
            return Err("a number of the camera is not finite".into());
        }
        let widest = match self.projection {
            Seen::As(ProjectionKind::Fisheye) => MAX_FISHEYE,
            _ => MAX_FOV,
        };
        if !(1.0..=widest).contains(&self.fov) {
            return Err(format!("a field of view of {} degrees", self.fov));
        }
        if !(1e-9..=1e12).contains(&self.focus) {
            return Err(format!("parallel rays at a distance of {}", self.focus));
        }
        if !self.background.iter().all(|v| (0.0..=1.0).contains(v)) {
            return Err("a background that is no colour".into());
        }
        if !(0.01..=4.0).contains(&self.scale) {
            return Err(format!("sizes times {}", self.scale));
        }
        let camera = self.camera(cameras)?;
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

impl ViewRequest {
    fn camera(&self, cameras: &[CameraInfo]) -> Result<Camera, String> {
        let (width, height) = (side(self.width), side(self.height));
        let focal = f64::from(height) / (2.0 * (self.fov.min(MAX_FOV).to_radians() / 2.0).tan());
        let r = &self.rotation;
        let pinhole = Camera {
            rotation: *r,
            translation: std::array::from_fn(|i| {
                -(0..3).map(|c| r[i][c] * self.position[c]).sum::<f64>()
            }),
            ..Camera::pinhole(width, height, focal)
        };
        Ok(match self.projection {
            Seen::As(ProjectionKind::Fisheye) => {
                ProjectionKind::fisheye(&pinhole, self.fov.to_radians())
            }
            Seen::As(ProjectionKind::Equirect) => around(pinhole),
            Seen::As(kind) => {
                let centre = [0, 1, 2].map(|c| self.position[c] + self.focus * r[2][c]);
                kind.of(&pinhole, centre)
            }
            Seen::Photo(index) => {
                let photo = cameras.get(index);
                let photo = photo.ok_or_else(|| format!("there is no photo {index}"))?;
                let taken = photo.as_taken.as_ref();
                let taken = taken.ok_or("no renderer has the lens of this photo")?;
                as_taken(taken, pinhole)
            }
        })
    }
}

fn side(pixels: u32) -> u32 {
    pixels.clamp(MIN_SIDE, MAX_SIDE)
}

/// 360 degrees around, as large as a window holds.
fn around(window: Camera) -> Camera {
    let width = window.width.min(2 * window.height) & !1;
    panorama::whole(&window, width, width / 2)
}

/// The camera of a photo where a window's camera is, as large as the window holds.
fn as_taken(photo: &Camera, window: Camera) -> Camera {
    if panorama::is_whole(photo) {
        return around(window);
    }
    let sides = [(window.width, photo.width), (window.height, photo.height)];
    let scale = sides.map(|(window, photo)| f64::from(window) / f64::from(photo.max(1)));
    let scale = scale[0].min(scale[1]);
    let fitted = |pixels: u32| side((f64::from(pixels) * scale).round() as u32);
    Camera {
        rotation: window.rotation,
        translation: window.translation,
        ..photo.resized(fitted(photo.width), fitted(photo.height))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::Request;
    use splatcore_core::Lens;

    const VIEW: &str = r#"{"type":"view","seq":7,"position":[1,2,3],
        "rotation":[[1,0,0],[0,1,0],[0,0,1]],"fov":90,"width":640,"height":100}"#;

    fn request(text: &str) -> Result<ViewRequest, String> {
        match serde_json::from_str(text).map_err(|e| e.to_string())? {
            Request::View(view) => Ok(view),
            _ => Err("no view".into()),
        }
    }

    fn view(text: &str) -> Result<Look, String> {
        request(text)?.look(&[taken(), untaken()])
    }

    /// A photo of a fisheye, higher than wide.
    fn taken() -> CameraInfo {
        let camera = Camera::look_at([0.0; 3], [0.0, 1.0, 0.0], [1.0, 0.0, 0.0], 1.0, 300, 400);
        let camera = ProjectionKind::fisheye(&camera, 2.0);
        CameraInfo {
            as_taken: Some(Camera {
                cx: 140.0,
                ..camera
            }),
            ..untaken()
        }
    }

    fn untaken() -> CameraInfo {
        CameraInfo {
            name: "a".into(),
            position: [0.0; 3],
            rotation: [[0.0; 3]; 3],
            fov: 60.0,
            aspect: 1.0,
            held_out: false,
            as_taken: None,
        }
    }

    /// A view with another projection, of the camera at (1, 2, 3) that looks along z.
    fn seen(projection: &str, fov: f64) -> Camera {
        let more = format!("\"fov\":{fov},\"focus\":5,\"projection\":{projection}");
        view(&VIEW.replace("\"fov\":90", &more)).unwrap().camera
    }

    /// Where each projection shows what is ahead, and 45 degrees to the right of it.
    #[test]
    fn projections_show_the_same_place_otherwise() {
        for (projection, fov, size, aside) in [
            ("\"pinhole\"", 90.0, [640, 100], 370.0),
            ("\"fisheye\"", 180.0, [640, 100], 345.0),
            ("\"fisheye\"", 240.0, [640, 100], 338.75),
            ("\"equirect\"", 90.0, [200, 100], 125.0),
            // 50 pixels at a distance of 5, where 45 degrees are 5 aside.
            ("\"ortho\"", 90.0, [640, 100], 370.0),
        ] {
            let camera = seen(projection, fov);
            assert_eq!([camera.width, camera.height], size, "{projection}");
            assert_eq!(camera.position(), [1.0, 2.0, 3.0]);
            let middle = f64::from(size[0]) / 2.0;
            let [x, y] = camera.project([1.0, 2.0, 8.0]).unwrap();
            assert!((x - middle).abs() < 1e-9 && (y - 50.0).abs() < 1e-9);
            let [x, _] = camera.project([6.0, 2.0, 8.0]).unwrap();
            assert!((x - aside).abs() < 1e-9, "{projection}: {x}");
        }
    }

    /// Its lens and its shape, in the pose of the view.
    #[test]
    fn a_photos_camera_is_fitted_into_the_window() {
        let camera = seen("0", 90.0);
        assert_eq!([camera.width, camera.height], [75, 100]);
        assert_eq!((camera.cx, camera.fx), (35.0, 50.0));
        assert_eq!(camera.position(), [1.0, 2.0, 3.0]);
        assert!(matches!(camera.lens, Lens::Fisheye { .. }));
        // A click in the window's middle is one in the image's.
        let wanted = request(VIEW).unwrap().in_image(&camera, [320.0, 50.0]);
        assert_eq!(wanted, [37.5, 50.0]);
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
            ("\"seq\":7", "\"seq\":7,\"projection\":\"cube\""),
            ("\"seq\":7", "\"seq\":7,\"projection\":1"),
            ("\"seq\":7", "\"seq\":7,\"projection\":2"),
            ("\"seq\":7", "\"seq\":7,\"focus\":0"),
            ("\"fov\":90", "\"fov\":330,\"projection\":\"fisheye\""),
        ] {
            let text = VIEW.replace(from, to);
            assert_ne!(text, VIEW);
            assert!(view(&text).is_err(), "{text}");
        }
    }
}
