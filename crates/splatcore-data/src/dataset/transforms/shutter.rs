//! How a frame's camera moves while its photo is read.
//!
//! Three ways to say it: the pose at the last line (`transform_matrix_end`; `transform_matrix`, or
//! `transform_matrix_start`, is of the first line then), with instant-ngp's `rolling_shutter` for
//! other lines; velocities and the time of the read-out as Spectacular AI's tools write them
//! (`transform_matrix` is of the middle then); or the time of the read-out and when the frames of
//! a video were taken, of which the neighbours tell the velocities
//! ([`crate::dataset::neighbours`]). The order of the lines is called as by gsplat and NVIDIA's
//! NCore. Where the file does not say it, the time of the read-out, and the order, may be those of
//! the options with which the dataset is opened.

use super::camera;
use super::json::{Frame, Intrinsics};
use crate::dataset::finding::{Finding, number};
use crate::dataset::neighbours::{self, Velocity};
use crate::dataset::options::ReadoutTime;
use crate::words::quoted;
use splatcore_core::Camera;
use splatcore_core::camera::dot;
use splatcore_core::shutter::{Readout, Shutter};

const TYPES: &str = "GLOBAL, ROLLING_TOP_TO_BOTTOM, ROLLING_BOTTOM_TO_TOP, ROLLING_LEFT_TO_RIGHT \
                     or ROLLING_RIGHT_TO_LEFT";
const MOTION: &str = "transform_matrix_end, or rolling_shutter_time with velocities or with the \
                      timestamps of neighbours; the photo is used as one of a global shutter";
const TIME: &str = "the seconds of a read-out (0 for a global shutter), as it is known how the \
                    camera moved; the photo is used as one of a global shutter";
const SHARES: &str = "A, B, C and perhaps D as instant-ngp has them, B or C being 0";

/// What is known of a frame's motion besides what the frame says.
#[derive(Clone, Copy)]
pub(super) struct Moves {
    /// How its camera moved by its neighbours in time.
    pub neighbours: Option<Velocity>,
    /// Time and order of the read-out where the file has none.
    pub readout: Option<ReadoutTime>,
}

impl Moves {
    /// In which order lines are read, where the file does not say it.
    fn order(&self) -> Readout {
        let given = self.readout.map(|readout| readout.order);
        given.unwrap_or(Readout::TopToBottom)
    }
}

/// Whether the file says how a frame's camera moved, or when the frame was taken.
pub(super) fn is_told(frame: &Frame, intrinsics: &Intrinsics) -> bool {
    let velocities = [
        &frame.camera_linear_velocity,
        &frame.camera_angular_velocity,
    ];
    frame.timestamp.is_some()
        || frame.transform_matrix_end.is_some()
        || velocities.iter().any(|velocity| velocity.is_some())
        || matches!(&intrinsics.shutter_type, Some(spelled) if read_out(spelled) == Ok(None))
}

/// The camera with its motion, and what is doubtful about it.
pub(super) fn rolling(
    camera: Camera,
    frame: &Frame,
    intrinsics: &Intrinsics,
    moves: Moves,
) -> Result<(Camera, Option<Finding>), Finding> {
    let (readout, named) = match &intrinsics.shutter_type {
        None => (moves.order(), false),
        Some(spelled) => match read_out(spelled)? {
            Some(readout) => (readout, true),
            None => return Ok((camera, None)),
        },
    };
    if let Some(matrix) = &frame.transform_matrix_end {
        let pose = camera::pose("transform_matrix_end", matrix)?;
        let last = Camera {
            rotation: pose.rotation,
            translation: pose.translation,
            ..camera.clone()
        };
        let moving = match &intrinsics.rolling_shutter {
            Some(shares) => by_shares(&camera, &last, shares)?,
            None => Camera::rolling(&camera, &last, readout),
        };
        return Ok((moving, None));
    }
    let time = intrinsics.rolling_shutter_time;
    let time = time.or(moves.readout.map(|given| given.seconds));
    let seconds = time.unwrap_or(0.0);
    if !(seconds.is_finite() && seconds >= 0.0) {
        let value = format!("{} s", number(seconds));
        return Err(Finding::refused(
            "rolling_shutter_time",
            value,
            "0 s or more",
        ));
    }
    let linear = velocity("camera_linear_velocity", &frame.camera_linear_velocity)?;
    let angular = velocity("camera_angular_velocity", &frame.camera_angular_velocity)?;
    let is_known = linear.or(angular).is_some() || moves.neighbours.is_some();
    if time.is_none() && is_known {
        let doubt = Finding::doubtful("rolling_shutter_time", "not given", TIME);
        return Ok((camera, Some(doubt)));
    }
    match (linear, angular) {
        (None, None) if seconds > 0.0 && frame.timestamp.is_some() => {
            let readout = ReadoutTime {
                seconds,
                order: readout,
            };
            Ok(
                match neighbours::shutter(moves.neighbours, &camera, readout) {
                    Ok(shutter) => (moving(camera, shutter), None),
                    Err(doubt) => (camera, Some(doubt)),
                },
            )
        }
        (None, None) if named || seconds > 0.0 => {
            let doubt = Finding::doubtful("its motion while it was read", "not given", MOTION);
            Ok((camera, Some(doubt)))
        }
        _ if seconds == 0.0 => Ok((camera, None)),
        (linear, angular) => {
            // From axes with y up and z backward.
            let by = |velocity: Option<[f64; 3]>| {
                let [x, y, z] = velocity.unwrap_or_default().map(|v| v * seconds);
                [x, -y, -z]
            };
            let shutter = Shutter {
                readout,
                turn: by(angular),
                shift: by(linear),
            };
            Ok((moving(camera, shutter), None))
        }
    }
}

fn moving(camera: Camera, shutter: Shutter) -> Camera {
    Camera {
        shutter: Some(shutter),
        ..camera
    }
}

/// The camera each of whose pixels has a pose between two, as instant-ngp's `rolling_shutter` says.
fn by_shares(first: &Camera, last: &Camera, shares: &[f64]) -> Result<Camera, Finding> {
    let wrong = || {
        let given = shares.iter().map(|&v| number(v)).collect::<Vec<_>>();
        let given = format!("[{}]", given.join(", "));
        Finding::refused("rolling_shutter", given, SHARES)
    };
    let (a, b, c, d) = match *shares {
        [a, b, c] => (a, b, c, 0.0),
        [a, b, c, d] => (a, b, c, d),
        _ => return Err(wrong()),
    };
    if ![a, b, c, d].iter().all(|v| v.is_finite()) || (b != 0.0 && c != 0.0) {
        return Err(wrong());
    }
    let (readout, slope) = match b == 0.0 {
        true => (Readout::TopToBottom, c),
        false => (Readout::LeftToRight, b),
    };
    let whole = Camera::rolling(first, last, readout);
    let span = readout.span(first.width, first.height);
    // Of the exposure its middle counts.
    let middle = whole.at((a + 0.5 * slope + 0.5 * d - 0.5) * span);
    let (from, to) = (first.position(), last.position());
    let way: [f64; 3] = std::array::from_fn(|i| slope * (to[i] - from[i]));
    let shutter = whole
        .shutter
        .filter(|_| slope != 0.0)
        .map(|shutter| Shutter {
            turn: shutter.turn.map(|v| slope * span * v),
            shift: middle.rotation.map(|row| dot(row, way)),
            ..shutter
        });
    Ok(Camera { shutter, ..middle })
}

/// What `shutter_type` says; `None` for a global shutter.
fn read_out(spelled: &str) -> Result<Option<Readout>, Finding> {
    let word = spelled.to_ascii_uppercase().replace(['-', ' '], "_");
    Ok(Some(match word.trim_start_matches("ROLLING_") {
        "GLOBAL" => return Ok(None),
        "TOP_TO_BOTTOM" => Readout::TopToBottom,
        "BOTTOM_TO_TOP" => Readout::BottomToTop,
        "LEFT_TO_RIGHT" => Readout::LeftToRight,
        "RIGHT_TO_LEFT" => Readout::RightToLeft,
        _ => return Err(Finding::refused("shutter_type", quoted(spelled), TYPES)),
    }))
}

/// What `shutter_type` is for a camera with a rolling shutter.
pub(super) fn type_of(readout: Readout) -> &'static str {
    match readout {
        Readout::TopToBottom => "ROLLING_TOP_TO_BOTTOM",
        Readout::BottomToTop => "ROLLING_BOTTOM_TO_TOP",
        Readout::LeftToRight => "ROLLING_LEFT_TO_RIGHT",
        Readout::RightToLeft => "ROLLING_RIGHT_TO_LEFT",
    }
}

fn velocity(name: &str, given: &Option<Vec<f64>>) -> Result<Option<[f64; 3]>, Finding> {
    let Some(given) = given else {
        return Ok(None);
    };
    match <[f64; 3]>::try_from(given.as_slice()) {
        Ok(velocity) => Ok(Some(velocity)),
        Err(_) => {
            let count = format!("{} numbers", given.len());
            Err(Finding::refused(name, count, "three numbers"))
        }
    }
}
