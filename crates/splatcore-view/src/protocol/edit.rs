//! What a browser asks to change of a scene.

use super::view::ViewRequest;
use crate::edit::{Edit, Join, Region, Stroke, Up};
use serde::Deserialize;
use splatcore_core::camera::normalize;
use splatcore_data::scene::edit::Shape;

/// Places of a stroke.
const MAX_POINTS: usize = 2000;
/// Pixels.
const MAX_BRUSH: f64 = 1000.0;

/// A change of the scene.
#[derive(Clone, Debug, Deserialize)]
#[serde(tag = "do", rename_all = "kebab-case", deny_unknown_fields)]
pub enum EditRequest {
    /// Select what has its mean in a box.
    SelectBox {
        /// Smallest x, y, z, world units.
        min: [f64; 3],
        /// Largest x, y, z.
        max: [f64; 3],
        /// How.
        #[serde(default)]
        join: JoinRequest,
    },
    /// Select what has its mean in a sphere.
    SelectSphere {
        /// World units.
        centre: [f64; 3],
        /// World units.
        radius: f64,
        /// How.
        #[serde(default)]
        join: JoinRequest,
    },
    /// Select what was painted over.
    SelectStroke {
        /// The view that was painted on.
        view: ViewRequest,
        /// Pixels of the view.
        points: Vec<[f64; 2]>,
        /// Pixels of the view.
        radius: f64,
        /// Also what is hidden behind what the view shows.
        #[serde(default)]
        through: bool,
        /// How.
        #[serde(default)]
        join: JoinRequest,
    },
    /// Select what is not selected.
    Invert,
    /// Select nothing.
    Clear,
    /// Delete what is selected.
    Delete,
    /// Delete what is not selected.
    Keep,
    /// Take the newest step back.
    Undo,
    /// Take the step again that was undone last.
    Redo,
    /// The scene's scale: two points are so far apart. Without points it stays as it is.
    Metric {
        /// World units.
        points: Option<[[f64; 3]; 2]>,
        /// In the unit that the scene shall have.
        #[serde(default)]
        length: f64,
    },
    /// Up is this direction, or stays as it is.
    Up {
        /// World axes, any length.
        direction: Option<[f64; 3]>,
    },
    /// Up is where three points lie counter-clockwise from.
    UpFromPlane {
        /// World units.
        points: [[f64; 3]; 3],
    },
    /// Up is the normal of the plane through the selection.
    UpFromSelection {
        /// On which side up is, world units.
        towards: [f64; 3],
    },
}

/// How what is selected joins the selection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum JoinRequest {
    /// It replaces it.
    #[default]
    Replace,
    /// It is added.
    Add,
    /// It is removed.
    Remove,
}

impl From<JoinRequest> for Join {
    fn from(join: JoinRequest) -> Self {
        match join {
            JoinRequest::Replace => Join::Replace,
            JoinRequest::Add => Join::Add,
            JoinRequest::Remove => Join::Remove,
        }
    }
}

impl EditRequest {
    /// Checks every value.
    ///
    /// # Errors
    /// What is wrong, in words.
    pub fn edit(&self) -> Result<Edit, String> {
        Ok(match self {
            EditRequest::SelectBox { min, max, join } => {
                finite(min.iter().chain(max))?;
                let (min, max) = (*min, *max);
                Edit::Select(Region::Volume(Shape::Box { min, max }), (*join).into())
            }
            EditRequest::SelectSphere {
                centre,
                radius,
                join,
            } => {
                finite(centre.iter().chain([radius]))?;
                let (centre, radius) = (*centre, *radius);
                Edit::Select(
                    Region::Volume(Shape::Sphere { centre, radius }),
                    (*join).into(),
                )
            }
            EditRequest::SelectStroke {
                view,
                points,
                radius,
                through,
                join,
            } => Edit::Select(
                Region::Stroke(Box::new(stroke(view, points, *radius, *through)?)),
                (*join).into(),
            ),
            EditRequest::Invert => Edit::Invert,
            EditRequest::Clear => Edit::Clear,
            EditRequest::Delete => Edit::Delete,
            EditRequest::Keep => Edit::Keep,
            EditRequest::Undo => Edit::Undo,
            EditRequest::Redo => Edit::Redo,
            EditRequest::Metric { points: None, .. } => Edit::Metric(None),
            EditRequest::Metric {
                points: Some(points),
                length,
            } => {
                finite(points.iter().flatten().chain([length]))?;
                let [a, b] = *points;
                let squares = (0..3).map(|c| (a[c] - b[c]).powi(2));
                let scale = length / squares.sum::<f64>().sqrt();
                if !(1e-9..=1e9).contains(&scale) {
                    return Err(format!("a scale of {scale}"));
                }
                Edit::Metric(Some((*points, *length)))
            }
            EditRequest::Up { direction: None } => Edit::Up(None),
            EditRequest::Up {
                direction: Some(direction),
            } => {
                finite(direction.iter())?;
                let unit = normalize(*direction).ok_or("a direction of no length")?;
                Edit::Up(Some(Up::Direction(unit)))
            }
            EditRequest::UpFromPlane { points } => {
                finite(points.iter().flatten())?;
                let up = Up::Plane(*points);
                up.direction().ok_or("three points on a line")?;
                Edit::Up(Some(up))
            }
            EditRequest::UpFromSelection { towards } => {
                finite(towards.iter())?;
                Edit::UpFromSelection(*towards)
            }
        })
    }
}

fn stroke(
    view: &ViewRequest,
    points: &[[f64; 2]],
    radius: f64,
    through: bool,
) -> Result<Stroke, String> {
    finite(points.iter().flatten().chain([&radius]))?;
    if points.is_empty() || points.len() > MAX_POINTS {
        return Err(format!("a stroke of {} places", points.len()));
    }
    if !(0.0..=MAX_BRUSH).contains(&radius) {
        return Err(format!("a brush of {radius} pixels"));
    }
    if !view.is_pinhole() {
        return Err("a stroke over a view with distortion".into());
    }
    Ok(Stroke {
        camera: view.look(&[])?.camera,
        points: points.to_vec(),
        radius,
        through,
    })
}

fn finite<'a>(mut numbers: impl Iterator<Item = &'a f64>) -> Result<(), String> {
    match numbers.all(|v| v.is_finite()) {
        true => Ok(()),
        false => Err("a number that is not finite".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::Request;

    fn edit(text: &str) -> Result<Edit, String> {
        let text = format!(r#"{{"type":"edit","edit":{text}}}"#);
        match serde_json::from_str(&text).map_err(|e| e.to_string())? {
            Request::Edit { edit } => edit.edit(),
            _ => Err("no edit".into()),
        }
    }

    const STROKE: &str = r#"{"do":"select-stroke","join":"add","radius":9,"points":[[1,2]],
        "view":{"seq":7,"position":[1,2,3],"rotation":[[1,0,0],[0,1,0],[0,0,1]],
        "fov":90,"width":640,"height":100}}"#;

    #[test]
    fn edits_are_read() {
        assert_eq!(edit(r#"{"do":"undo"}"#), Ok(Edit::Undo));
        assert_eq!(
            edit(r#"{"do":"metric","points":null}"#),
            Ok(Edit::Metric(None))
        );
        let Ok(Edit::Select(region, Join::Add)) = edit(STROKE) else {
            panic!("{:?}", edit(STROKE));
        };
        assert_eq!(region.sight().map(|stroke| stroke.camera.width), Some(640));
        assert_eq!(
            edit(r#"{"do":"up","direction":[0,2,0]}"#),
            Ok(Edit::Up(Some(Up::Direction([0.0, 1.0, 0.0]))))
        );
    }

    #[test]
    fn nonsense_is_refused() {
        let many = format!("[{}]", vec!["[1,2]"; 2001].join(","));
        for text in [
            r#"{"do":"save"}"#,
            r#"{"do":"select-sphere","centre":[0,0,0],"radius":1e999}"#,
            r#"{"do":"select-sphere","centre":[0,0,0],"radius":1,"join":"xor"}"#,
            r#"{"do":"metric","points":[[0,0,0],[0,0,0]],"length":1}"#,
            r#"{"do":"metric","points":[[0,0,0],[1,0,0]],"length":-1}"#,
            r#"{"do":"metric","points":[[0,0,0],[1,0,0]],"length":1e-300}"#,
            r#"{"do":"up","direction":[0,0,0]}"#,
            r#"{"do":"up-from-plane","points":[[0,0,0],[1,1,1],[2,2,2]]}"#,
            &STROKE.replace("[[1,2]]", "[]"),
            &STROKE.replace("[[1,2]]", &many),
            &STROKE.replace("\"radius\":9", "\"radius\":-9"),
            &STROKE.replace("\"radius\":9", "\"radius\":90000"),
            &STROKE.replace("\"fov\":90", "\"fov\":0"),
            &STROKE.replace("\"fov\":90", "\"fov\":90,\"projection\":\"fisheye\""),
        ] {
            assert!(edit(text).is_err(), "{text:.120}");
        }
    }
}
