//! Whether a pinhole can be a camera.

use super::values::sides;
use crate::dataset::finding::{Finding, Severity, number, place};
use crate::dataset::limits::{MAX_COORDINATE, MAX_SIDE};
use splatcore_core::{Camera, Lens};

/// Narrowest and widest field of view of a camera, degrees: a telescope; nearly the half space that
/// a plane can show.
const POSSIBLE: [f64; 2] = [0.001, 179.0];
/// What few cameras go beyond: a lens of 10 m on 36 mm film; one of 3 mm.
const USUAL: [f64; 2] = [0.2, 160.0];
/// The widest field of view of a fisheye, degrees, as its focal length tells: lenses see up to 280.
const WIDEST_FISHEYE: f64 = 720.0;
/// Ratio of the focal lengths along x and y beyond which pixels are no pixels of a camera.
const ASPECT: f64 = 4.0;
/// By what a camera that is swung turns while a photo is read, degrees: 30 ms at 700 degrees a
/// second.
const USUAL_TURN: f64 = 20.0;
/// How far a rotation may be from an orthonormal one.
const TOLERANCE: f64 = 1e-3;

/// What is wrong with a camera, the worst first.
pub fn findings(camera: &Camera) -> Vec<Finding> {
    let refused = size(camera)
        .or_else(|| finite(camera))
        .or_else(|| rotation(camera))
        .or_else(|| position(camera))
        .or_else(|| focal_lengths(camera));
    if let Some(refused) = refused {
        return vec![refused];
    }
    // What the renderer refuses is refused here too, whatever it is.
    if let Some(defect) = camera.defect() {
        return vec![Finding::refused("its camera", defect, "a usable one")];
    }
    principal_point(camera)
        .into_iter()
        .chain(pixels(camera))
        .collect()
}

/// What is wrong with its motion while a photo is read.
pub fn motion(camera: &Camera) -> Option<Finding> {
    let shutter = camera.shutter?;
    if camera.lens == Lens::Equirectangular {
        let value = "rolling, of a photo all around";
        return Some(Finding::refused("its shutter", value, "a global one"));
    }
    let [x, y, z] = shutter.turn;
    let turn = (x * x + y * y + z * z).sqrt().to_degrees();
    let value = match turn.is_finite() && shutter.shift.iter().all(|v| v.is_finite()) {
        true => format!("a turn by {} degrees", number(turn)),
        false => "not finite".into(),
    };
    let expected = format!("a turn by at most {USUAL_TURN} degrees");
    let field = "its motion while it was read";
    match camera.defect() {
        Some(_) => Some(Finding::refused(field, value, expected)),
        None => (turn > USUAL_TURN).then(|| Finding::doubtful(field, value, expected)),
    }
}

fn size(camera: &Camera) -> Option<Finding> {
    let [width, height] = [camera.width, camera.height];
    let fits = |side: u32| (1..=MAX_SIDE).contains(&u64::from(side));
    (!fits(width) || !fits(height))
        .then(|| Finding::refused("its size", format!("{width}x{height} pixels"), sides()))
}

fn finite(camera: &Camera) -> Option<Finding> {
    let named = [
        ("focal length fx", camera.fx),
        ("focal length fy", camera.fy),
        ("principal point cx", camera.cx),
        ("principal point cy", camera.cy),
    ];
    let rotation = camera.rotation.iter().flatten();
    let translation = camera.translation.iter();
    let pose = rotation.map(|&v| ("its rotation", v));
    let pose = pose.chain(translation.map(|&v| ("its position", v)));
    let wrong = named.into_iter().chain(pose).find(|(_, v)| !v.is_finite());
    wrong.map(|(field, v)| Finding::refused(field, number(v), "a finite number"))
}

fn rotation(camera: &Camera) -> Option<Finding> {
    let r = &camera.rotation;
    let dot = |a: [f64; 3], b: [f64; 3]| a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
    let mut off = 0.0f64;
    for i in 0..3 {
        for j in 0..3 {
            let want = if i == j { 1.0 } else { 0.0 };
            off = off.max((dot(r[i], r[j]) - want).abs());
        }
    }
    if off > TOLERANCE {
        return Some(Finding::refused(
            "its rotation",
            format!("not orthonormal (off by {})", number(off)),
            "three axes of one length at right angles",
        ));
    }
    let cross = [
        r[0][1] * r[1][2] - r[0][2] * r[1][1],
        r[0][2] * r[1][0] - r[0][0] * r[1][2],
        r[0][0] * r[1][1] - r[0][1] * r[1][0],
    ];
    (dot(cross, r[2]) < 0.0).then(|| {
        Finding::refused(
            "its rotation",
            "a mirror image (determinant -1)",
            "determinant 1",
        )
    })
}

fn position(camera: &Camera) -> Option<Finding> {
    let position = camera.position();
    let far = position.iter().any(|v| v.abs() > MAX_COORDINATE);
    far.then(|| {
        Finding::refused(
            "its position",
            place(position),
            format!(
                "coordinates within {} units of the origin",
                number(MAX_COORDINATE)
            ),
        )
    })
}

/// Judges the focal lengths as those of a pinhole; what lenses do to them, `lens.rs` tells.
fn focal_lengths(camera: &Camera) -> Option<Finding> {
    let sides = [
        ("focal length fx", camera.fx, camera.width),
        ("focal length fy", camera.fy, camera.height),
    ];
    let wrong = sides.into_iter().find(|(_, focal, _)| *focal <= 0.0);
    wrong.map(|(field, focal, _)| {
        Finding::refused(field, format!("{} px", number(focal)), "more than 0")
    })
}

/// Field of view along each side.
pub fn field_of_view(camera: &Camera, fisheye: bool) -> Option<Finding> {
    let sides = [
        ("focal length fx", camera.fx, camera.width),
        ("focal length fy", camera.fy, camera.height),
    ];
    let judged = sides.map(|(field, focal, side)| {
        let share = f64::from(side) / focal;
        let angle = match fisheye {
            true => share.to_degrees(),
            false => 2.0 * (0.5 * share).atan().to_degrees(),
        };
        let widest = if fisheye { WIDEST_FISHEYE } else { POSSIBLE[1] };
        let value = format!(
            "{} px (a field of view of {} degrees over {side} px)",
            number(focal),
            number(angle)
        );
        let expected = |low: f64, high: f64| format!("{low} to {high} degrees");
        if !(POSSIBLE[0]..=widest).contains(&angle) {
            let expected = expected(POSSIBLE[0], widest);
            return Some(Finding::refused(field, value, expected));
        }
        let usual = if fisheye { WIDEST_FISHEYE } else { USUAL[1] };
        (!(USUAL[0]..=usual).contains(&angle))
            .then(|| Finding::doubtful(field, value, expected(USUAL[0], usual)))
    });
    let [x, y] = judged;
    let worse = |f: &Option<Finding>| f.as_ref().is_some_and(|f| f.severity == Severity::Refused);
    if worse(&y) && !worse(&x) { y } else { x.or(y) }
}

/// A photo that lies wholly beside its principal point is a crop at best.
fn principal_point(camera: &Camera) -> Option<Finding> {
    let sides = [
        ("principal point cx", camera.cx, camera.width, camera.fx),
        ("principal point cy", camera.cy, camera.height, camera.fy),
    ];
    sides.into_iter().find_map(|(field, at, side, focal)| {
        let side = f64::from(side);
        let beside = (-at).max(at - side).max(0.0);
        let value = || format!("{} px", number(at));
        // The nearest pixel is seen at this angle off the axis.
        if (beside / focal).atan().to_degrees() > 0.5 * POSSIBLE[1] {
            return Some(Finding::refused(field, value(), format!("0 to {side}")));
        }
        (beside > side).then(|| Finding::doubtful(field, value(), format!("0 to {side}")))
    })
}

/// Pixels that are much longer than wide.
fn pixels(camera: &Camera) -> Option<Finding> {
    let ratio = camera.fx / camera.fy;
    (!(1.0 / ASPECT..=ASPECT).contains(&ratio)).then(|| {
        Finding::doubtful(
            "the ratio of the focal lengths fx and fy",
            number(ratio),
            format!("{} to {ASPECT}", 1.0 / ASPECT),
        )
    })
}
