//! A sensor's calibration as a camera without a pose.
//!
//! Source: Agisoft Metashape User Manual, Professional Edition, appendix "Camera models". Pixels
//! have their origin at the corner of the image, the centre of the first is at (0.5, 0.5); cx and
//! cy are offsets from the image's centre; u = w/2 + cx + x' f + x' b1 + y' b2, v = h/2 + cy + y'
//! f. Parameters that are 0 are left out of the file. `p3` and `p4` are PhotoScan's.

use crate::dataset::limits::MAX_SIDE;
use crate::words::quoted;
use roxmltree::Node;
use splatcore_core::Lens;

/// Size, intrinsics and lens of a sensor.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Calibration {
    /// In pixels.
    pub width: u32,
    /// In pixels.
    pub height: u32,
    /// Focal lengths in pixels.
    pub focal: [f64; 2],
    /// Principal point in pixels from the upper left corner.
    pub principal: [f64; 2],
    /// The lens.
    pub lens: Lens,
}

/// Reads a sensor; errors say what is missing or wrong.
pub(super) fn read(sensor: Node, kind: &str) -> Result<Calibration, String> {
    let fisheye = match kind {
        "frame" => false,
        "spherical" => return spherical(sensor),
        "fisheye" | "equidistant_fisheye" | "fisheye_equidistant" => true,
        _ => return Err(unreadable(kind)),
    };
    let calibrations = || {
        sensor
            .children()
            .filter(|child| child.has_tag_name("calibration"))
    };
    let calibration = calibrations()
        .find(|node| node.attribute("class") == Some("adjusted"))
        .or_else(|| calibrations().next())
        .ok_or("its sensor has no calibration")?;
    let [width, height] = size(&[calibration, sensor])?;
    let value = |name: &str| -> Result<Option<f64>, String> {
        let Some(node) = calibration.children().find(|c| c.has_tag_name(name)) else {
            return Ok(None);
        };
        let text = node.text().unwrap_or("").trim();
        let wrong = || {
            let text = quoted(text);
            format!("its sensor's {name} is {text}")
        };
        text.parse().map(Some).map_err(|_| wrong())
    };
    let or_zero = |name: &str| Ok::<f64, String>(value(name)?.unwrap_or(0.0));
    let f = value("f")?.ok_or(
        "its sensor has no focal length f (PhotoScan before 1.2 wrote fx and fy: export with a \
         newer version)",
    )?;
    let [b1, b2] = [or_zero("b1")?, or_zero("b2")?];
    let k = [
        or_zero("k1")?,
        or_zero("k2")?,
        or_zero("k3")?,
        or_zero("k4")?,
    ];
    let p = [
        or_zero("p1")?,
        or_zero("p2")?,
        or_zero("p3")?,
        or_zero("p4")?,
    ];
    Ok(Calibration {
        width,
        height,
        focal: [f + b1, f],
        principal: [
            f64::from(width) / 2.0 + or_zero("cx")?,
            f64::from(height) / 2.0 + or_zero("cy")?,
        ],
        lens: Lens::Brown {
            k,
            p,
            skew: b2 / (f + b1),
            fisheye,
        }
        .simplified(),
    })
}

/// A panorama: u = w/2 + f longitude, v = h/2 + f latitude with f = w / (2 pi), whether or not it
/// is calibrated.
fn spherical(sensor: Node) -> Result<Calibration, String> {
    let [width, height] = size(&[sensor])?;
    let focal = f64::from(width) / std::f64::consts::TAU;
    Ok(Calibration {
        width,
        height,
        focal: [focal; 2],
        principal: [f64::from(width) / 2.0, f64::from(height) / 2.0],
        lens: Lens::Equirectangular,
    })
}

/// Width and height of the first of these nodes that tells a resolution.
fn size(nodes: &[Node]) -> Result<[u32; 2], String> {
    let resolution = nodes
        .iter()
        .find_map(|node| {
            node.children()
                .find(|child| child.has_tag_name("resolution"))
        })
        .ok_or("its sensor has no resolution")?;
    let side = |name: &str| -> Result<u32, String> {
        let text = resolution.attribute(name).unwrap_or("nothing");
        let side: Option<u64> = text.parse().ok();
        side.filter(|side| (1..=MAX_SIDE).contains(side))
            .map(|side| side as u32)
            .ok_or(format!("its sensor's {name} is {text}"))
    };
    Ok([side("width")?, side("height")?])
}

fn unreadable(kind: &str) -> String {
    match kind {
        "cylindrical" => format!(
            "its sensor is {kind}: a panorama that does not show all around; cut it into \
             perspective images first (Tools, Export, Convert to Cube Faces) and align those"
        ),
        _ => format!(
            "its sensor is of type {}, and only frame, fisheye and spherical are read",
            quoted(kind)
        ),
    }
}
