//! The view that a viewer begins with, and a circle of `render` goes through: what was typed, what
//! somebody chose in the viewer, or the view that shows most.

use crate::cameras::named::{Size, meant};
use crate::output::WrongUsage;
use crate::scene_source::SceneSource;
use crate::up::{Direction, Evidence, Up};
use crate::{first_view, orbit, sharing};
use anyhow::{Result, bail};
use splatcore_core::Gaussians;
use splatcore_page::{Pose, View};
use std::str::FromStr;

/// `--start`.
#[derive(Clone, Debug, PartialEq)]
pub enum Start {
    /// The view that shows most.
    Auto,
    /// The first of the list of views.
    First,
    /// A view of the list, by its name.
    Named(String),
    /// From a position towards a target, world units.
    Look([[f64; 3]; 2]),
}

impl FromStr for Start {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let point = |text: &str| -> Option<[f64; 3]> {
            let numbers: Result<Vec<f64>, _> = text.split(',').map(|n| n.trim().parse()).collect();
            let point: [f64; 3] = numbers.ok()?.try_into().ok()?;
            point.iter().all(|v| v.is_finite()).then_some(point)
        };
        let both = text.split_once(':');
        let both = both.and_then(|(from, to)| Some([point(from)?, point(to)?]));
        match (text, both) {
            ("auto", _) => Ok(Self::Auto),
            ("first", _) => Ok(Self::First),
            ("", _) => Err("it is empty; write auto, first, a view's name or X,Y,Z:X,Y,Z".into()),
            (_, Some([from, to])) if from == to => {
                Err("the camera looks at where it stands; write two places".into())
            }
            (_, Some(points)) => Ok(Self::Look(points)),
            _ => Ok(Self::Named(text.into())),
        }
    }
}

impl Start {
    /// The pose; none where the list of views tells by itself.
    ///
    /// # Errors
    /// If no view has the name, or the scene is empty.
    pub fn pose(&self, scene: &Gaussians, up: [f64; 3], views: &[View]) -> Result<Option<Pose>> {
        Ok(match self {
            Start::First if !views.is_empty() => None,
            Start::Auto | Start::First => Some(first_view::choose(scene, up)?.start()),
            Start::Named(name) => Some(named(views, name)?.pose.clone()),
            Start::Look([from, to]) => {
                let fov = orbit::ORBIT_FOV.to_radians();
                Some(square(splatcore_path::Pose::look_at(*from, *to, up, fov)))
            }
        })
    }
}

/// A pose of which a narrow window shows as much across as down.
fn square(pose: splatcore_path::Pose) -> Pose {
    Pose {
        aspect: Some(1.0),
        ..sharing::pose(&pose)
    }
}

/// The view of a name, or of the only name that begins so.
fn named<'a>(views: &'a [View], name: &str) -> Result<&'a View> {
    let Some(first) = views.first() else {
        bail!(WrongUsage(format!(
            "--start {name}: no views are known; write auto or X,Y,Z:X,Y,Z"
        )));
    };
    let found = meant(views.iter().map(|view| &*view.name), name);
    match views.iter().find(|view| Some(&*view.name) == found) {
        Some(view) => Ok(view),
        None => bail!(WrongUsage(format!(
            "--start {name}: is not one view's name, as '{}' is; write auto, first, a name or \
             X,Y,Z:X,Y,Z",
            first.name
        ))),
    }
}

/// Where a viewer begins, and which way is up.
#[derive(clap::Args)]
pub struct StartArgs {
    /// View to begin with: auto (of some dozens of views the one that shows most), first (of the
    /// list of views), the name of a view or photo, or X,Y,Z:X,Y,Z, a position and what is looked
    /// at from there [what somebody chose with "Start here" in the viewer, else first, or auto if
    /// there are no views]
    #[arg(long, value_name = "VIEW", allow_hyphen_values = true)]
    start: Option<Start>,
    /// Begin at so many times the distance from the centre that shows 95 % of the Gaussians: 1 is
    /// outside, 0.2 inside a room
    #[arg(long, value_name = "FACTOR", value_parser = orbit::positive, conflicts_with = "start")]
    distance: Option<f64>,
    /// Which way is up: x, -x, y, -y, z, -z or X,Y,Z [what the run recorded, what the photos or
    /// what is level or upright in the scene shows, or -y]
    #[arg(long, value_name = "DIRECTION", allow_hyphen_values = true)]
    up: Option<Direction>,
}

impl StartArgs {
    /// Which way is up: as typed, as it is known of the scene, as `known` or the views tell, or as
    /// the scene shows.
    pub fn up(
        &self,
        source: Option<&SceneSource>,
        known: Option<Up>,
        views: &[View],
        scene: &Gaussians,
    ) -> Up {
        let typed = self.up.map(Direction::chosen);
        if let Some(up) = typed.or(source.and_then(SceneSource::up)).or(known) {
            return up;
        }
        let of_views = Up::of_rotations(views.iter().map(|view| view.pose.rotation));
        match of_views.from {
            Evidence::Assumed => Up::of_scene(scene),
            _ => of_views,
        }
    }

    /// Whether a view was typed.
    pub fn is_typed(&self) -> bool {
        self.start.is_some() || self.distance.is_some()
    }

    /// Where to begin; none where the first of the views, or the path, tells by itself.
    ///
    /// # Errors
    /// If a view that was named is not there, or the scene is empty.
    pub fn pose(
        &self,
        source: Option<&SceneSource>,
        scene: &Gaussians,
        up: [f64; 3],
        views: &[View],
    ) -> Result<Option<Pose>> {
        if let Some(distance) = self.distance {
            let size = Size(1280, 720);
            let pose = orbit::circle(scene, up, distance, size)?.pose(0.0);
            return Ok(Some(square(pose)));
        }
        match (&self.start, source.and_then(SceneSource::start)) {
            (Some(typed), _) => typed.pose(scene, up, views),
            (None, Some(chosen)) => Ok(Some(chosen)),
            // Of nothing there is no view; whoever needs one says so.
            (None, None) if scene.is_empty() => Ok(None),
            (None, None) => Start::First.pose(scene, up, views),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn view(name: &str, x: f64) -> View {
        View {
            name: name.into(),
            pose: Pose {
                position: [x, 0.0, 0.0],
                rotation: [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]],
                fov: 50.0,
                aspect: None,
            },
        }
    }

    #[test]
    fn starts_are_read() {
        assert_eq!("auto".parse(), Ok(Start::Auto));
        assert_eq!("first".parse(), Ok(Start::First));
        assert_eq!("a:b.jpg".parse(), Ok(Start::Named("a:b.jpg".into())));
        let look = Start::Look([[-1.0, 0.5, 2.0], [0.0, 0.0, 1e3]]);
        assert_eq!("-1,0.5,2:0,0,1e3".parse(), Ok(look));
        for bad in ["", "1,2,3:1,2,3"] {
            assert!(bad.parse::<Start>().is_err(), "{bad}");
        }
    }

    #[test]
    fn views_are_found_by_their_names() {
        let names = [
            "a.jpg",
            "ab.jpg",
            "c.jpg",
            "left/e.jpg",
            "right/e.jpg",
            "left/f.jpg",
        ];
        let views: Vec<View> = names
            .into_iter()
            .zip(1..)
            .map(|(n, x)| view(n, x.into()))
            .collect();
        let x = |name: &str| named(&views, name).map(|view| view.pose.position[0]).ok();
        assert_eq!(x("ab.jpg"), Some(2.0));
        assert_eq!(x("c"), Some(3.0));
        // Without its folder.
        assert_eq!((x("f.jpg"), x("right/e")), (Some(6.0), Some(5.0)));
        // Two begin so, and none does.
        assert_eq!((x("a"), x("d"), x("e.jpg")), (None, None, None));
        assert!(named(&[], "c").is_err());
    }
}
