//! Hotspots of an exported page, from JSON. docs/guide/sharing.md describes the file.

use anyhow::{Context, Result, bail};
use serde_json::Value;
use splatcore_core::camera::rotation_from_quaternion;
use splatcore_page::{Hotspot, Pose};
use std::path::Path;

/// More markers than that hide the scene.
const MAX_HOTSPOTS: usize = 200;
const MAX_TITLE: usize = 200;
const MAX_TEXT: usize = 10_000;
/// Fields of view, degrees.
const FOVS: std::ops::RangeInclusive<f64> = 1.0..=170.0;

/// Reads a file: an object whose `hotspots` is a list, or the list alone.
///
/// # Errors
/// If the file cannot be read, is no JSON, or a field is missing, unknown or wrong; the message
/// names the field.
pub fn read(path: &Path) -> Result<Vec<Hotspot>> {
    let text = std::fs::read(path).with_context(|| {
        format!(
            "{}: cannot be read; give a JSON file of hotspots",
            path.display()
        )
    })?;
    parse(&text).map_err(|problem| anyhow::anyhow!("{}: {problem}", path.display()))
}

/// As [`read`], of bytes at hand.
fn parse(text: &[u8]) -> Result<Vec<Hotspot>> {
    let root: Value = match serde_json::from_slice(text) {
        Ok(root) => root,
        Err(error) => bail!("is no JSON: {error}; correct it there"),
    };
    let list = match &root {
        Value::Object(fields) => fields.get("hotspots"),
        list => Some(list),
    };
    let Some(list) = list.and_then(Value::as_array) else {
        bail!("holds no list of hotspots; write {{\"hotspots\": [...]}}");
    };
    if list.is_empty() {
        bail!("hotspots: is empty; add one, or leave the file out");
    }
    if list.len() > MAX_HOTSPOTS {
        bail!(
            "hotspots: has {} entries; give at most {MAX_HOTSPOTS}",
            list.len()
        );
    }
    let hotspot = |(i, entry)| hotspot(entry, &format!("hotspots[{i}]"));
    list.iter().enumerate().map(hotspot).collect()
}

fn hotspot(entry: &Value, at: &str) -> Result<Hotspot> {
    let Some(fields) = entry.as_object() else {
        bail!("{at}: is no object; give position, title and text");
    };
    for name in fields.keys() {
        if !["position", "title", "text", "view"].contains(&name.as_str()) {
            bail!("{at}.{name}: is not known; a hotspot has position, title, text and view");
        }
    }
    let title = line(fields.get("title"), &format!("{at}.title"), MAX_TITLE)?;
    if title.trim().is_empty() {
        bail!("{at}.title: is missing or empty; give a line of text");
    }
    let view = match fields.get("view") {
        None | Some(Value::Null) => None,
        Some(Value::String(link)) => Some(linked(link, &format!("{at}.view"))?),
        Some(view) => Some(pose(view, &format!("{at}.view"))?),
    };
    Ok(Hotspot {
        position: triple(fields.get("position"), &format!("{at}.position"))?,
        title,
        text: line(fields.get("text"), &format!("{at}.text"), MAX_TEXT)?,
        view,
    })
}

/// Text of at most so many characters; empty if there is none.
fn line(value: Option<&Value>, at: &str, most: usize) -> Result<String> {
    match value {
        None | Some(Value::Null) => Ok(String::new()),
        Some(Value::String(text)) => match text.chars().count() {
            count if count > most => {
                bail!("{at}: has {count} characters; give at most {most}")
            }
            _ => Ok(text.clone()),
        },
        Some(_) => bail!("{at}: is no text; put it in quotes"),
    }
}

fn triple(value: Option<&Value>, at: &str) -> Result<[f64; 3]> {
    let numbers: Option<Vec<f64>> = value
        .and_then(Value::as_array)
        .and_then(|list| list.iter().map(Value::as_f64).collect());
    match numbers.and_then(|numbers| <[f64; 3]>::try_from(numbers).ok()) {
        Some(numbers) => Ok(numbers),
        None => bail!("{at}: is not three numbers; give [x, y, z] in the scene's axes"),
    }
}

/// A pose as the page's *Save* writes those of keyframes.
fn pose(value: &Value, at: &str) -> Result<Pose> {
    let position = triple(value.get("position"), &format!("{at}.position"))?;
    let rows = value.get("rotation").and_then(Value::as_array);
    let Some(rows) = rows.filter(|rows| rows.len() == 3) else {
        bail!(
            "{at}.rotation: is not three rows; give the camera's right, down and forward, or the \
             link of the page as the view"
        );
    };
    let mut rotation = [[0.0; 3]; 3];
    for (i, row) in rows.iter().enumerate() {
        rotation[i] = triple(Some(row), &format!("{at}.rotation[{i}]"))?;
    }
    if !is_rotation(&rotation) {
        bail!("{at}.rotation: is no rotation; its rows are unit vectors at right angles");
    }
    match value.get("fov").and_then(Value::as_f64) {
        Some(fov) if FOVS.contains(&fov) => Ok(Pose {
            position,
            rotation,
            fov,
            aspect: None,
        }),
        _ => bail!("{at}.fov: is not a number of degrees from 1 to 170"),
    }
}

/// The pose of a link that the page copied: what stands behind `v=`.
fn linked(link: &str, at: &str) -> Result<Pose> {
    let wrong = "is no link to a view; copy one with the page's share button";
    let Some((_, numbers)) = link.rsplit_once("v=") else {
        bail!("{at}: {wrong}");
    };
    let numbers: Result<Vec<f64>, _> = numbers.split(',').map(str::parse).collect();
    let Ok([x, y, z, qw, qx, qy, qz, fov, _, aspect]) = numbers
        .map_err(drop)
        .and_then(|v| <[f64; 10]>::try_from(v).map_err(drop))
    else {
        bail!("{at}: {wrong}");
    };
    let sound = [x, y, z].iter().all(|v| v.is_finite()) && FOVS.contains(&fov) && aspect > 0.0;
    match rotation_from_quaternion([qw, qx, qy, qz]) {
        Some(rotation) if sound && aspect.is_finite() => Ok(Pose {
            position: [x, y, z],
            rotation,
            fov,
            aspect: Some(aspect),
        }),
        _ => bail!("{at}: {wrong}"),
    }
}

/// Whether rows are unit vectors at right angles, right-handed, up to rounding.
fn is_rotation(rows: &[[f64; 3]; 3]) -> bool {
    let dot = |a: &[f64; 3], b: &[f64; 3]| a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
    let [a, b, c] = rows;
    let cross = [
        a[1] * b[2] - a[2] * b[1],
        a[2] * b[0] - a[0] * b[2],
        a[0] * b[1] - a[1] * b[0],
    ];
    let close = |value: f64, wanted: f64| (value - wanted).abs() < 1e-3;
    close(dot(a, a), 1.0)
        && close(dot(b, b), 1.0)
        && close(dot(a, b), 0.0)
        && close(dot(&cross, c), 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_both_kinds_are_read() {
        let entry = r#"{"position": [1, 2, 3.5], "title": "<b>Gate</b>", "text": "a\nb",
            "view": {"position": [0, 0, -4], "rotation": [[1,0,0],[0,1,0],[0,0,1]], "fov": 40}}"#;
        for text in [format!("[{entry}]"), format!("{{\"hotspots\": [{entry}]}}")] {
            let [read] = &parse(text.as_bytes()).unwrap()[..] else {
                panic!("{text}");
            };
            assert_eq!(read.position, [1.0, 2.0, 3.5]);
            assert_eq!((&*read.title, &*read.text), ("<b>Gate</b>", "a\nb"));
            assert_eq!(read.view.as_ref().unwrap().fov, 40.0);
        }
    }

    /// A quarter turn about y: the camera looks along x of the world.
    #[test]
    fn a_link_is_a_view() {
        let link = "http://x/page.html#embed&v=1,2,3,0.707107,0,-0.707107,0,50,2,1.5";
        let text = format!(r#"[{{"position": [0,0,0], "title": "a", "view": "{link}"}}]"#);
        let view = parse(text.as_bytes()).unwrap()[0].view.clone().unwrap();
        assert_eq!((view.position, view.fov), ([1.0, 2.0, 3.0], 50.0));
        let forward = view.rotation[2];
        assert!((forward[0] - 1.0).abs() < 1e-5, "{forward:?}");
    }

    #[test]
    fn what_is_wrong_is_named() {
        let cases = [
            ("{", "is no JSON"),
            ("{}", "no list of hotspots"),
            ("[]", "is empty"),
            ("[3]", "hotspots[0]: is no object"),
            (
                r#"[{"position": [0,0,0]}]"#,
                "hotspots[0].title: is missing",
            ),
            (
                r#"[{"position": [0,0], "title": "a"}]"#,
                "hotspots[0].position: is not three numbers",
            ),
            (
                r#"[{"position": [0,0,0], "title": 3}]"#,
                "hotspots[0].title: is no text",
            ),
            (
                r#"[{"position": [0,0,0], "title": "a", "html": ""}]"#,
                "hotspots[0].html: is not known",
            ),
            (
                r#"[{"position": [0,0,0], "title": "a", "view": "home"}]"#,
                "hotspots[0].view: is no link",
            ),
            (
                r#"[{"position": [0,0,0], "title": "a", "view": {"position": [0,0,0],
                   "rotation": [[1,0,0],[0,1,0],[0,0,-1]], "fov": 40}}]"#,
                "hotspots[0].view.rotation: is no rotation",
            ),
            (
                r#"[{"position": [0,0,0], "title": "a", "view": {"position": [0,0,0],
                   "rotation": [[1,0,0],[0,1,0],[0,0,1]], "fov": 400}}]"#,
                "hotspots[0].view.fov",
            ),
        ];
        for (text, wanted) in cases {
            let error = parse(text.as_bytes()).unwrap_err().to_string();
            assert!(error.contains(wanted), "{text}: {error}");
        }
    }
}
