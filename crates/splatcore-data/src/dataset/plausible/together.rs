//! Whether the cameras of a dataset go together.

use crate::dataset::finding::{Finding, Severity, number, place};
use crate::dataset::found::{Entry, Points};
use crate::dataset::visible;
use splatcore_core::Camera;
use splatcore_core::ranked::median;
use std::collections::HashMap;

/// So many photos are needed to tell which of them is far from the others.
const ENOUGH: usize = 4;
/// Distance from the middle, in multiples of the median distance: what is farther does not belong
/// to the capture; what is farther still would leave the scene a point.
const UNUSUAL: f64 = 100.0;
const IMPOSSIBLE: f64 = 1e5;
/// Photos with one and the same pose, and their share of all, above which it hardly is chance.
const COPIES: usize = 3;
const SHARE_OF_COPIES: f64 = 0.1;

/// Positions and axes are the same if they differ by no more, as a share of their size.
const ROUNDING: f64 = 1e-9;

/// Judges poses beside each other. Entries that are too far away are removed.
pub fn check(entries: &mut Vec<Entry>, findings: &mut Vec<Finding>) {
    leave_out_far(entries, findings);
    if entries.len() < 2 {
        return;
    }
    findings.extend(one_place(entries));
    if findings.last().is_none_or(|f| f.photo.is_some()) {
        findings.extend(copies(entries));
    }
}

/// Points of which no camera sees any.
pub fn points(points: &Points, entries: &[Entry]) -> Option<Finding> {
    let positions = &points.positions;
    let seen = visible::share(positions.iter().copied(), entries);
    (seen == 0.0 && !points.random).then(|| {
        Finding::doubtful(
            "the share of points in the view of a camera",
            format!("0 of {}", positions.len()),
            "points and cameras in the same coordinates",
        )
    })
}

fn leave_out_far(entries: &mut Vec<Entry>, findings: &mut Vec<Finding>) {
    if entries.len() < ENOUGH {
        return;
    }
    let positions: Vec<[f64; 3]> = entries.iter().map(position).collect();
    let middle = |axis: usize| median(positions.iter().map(|p| p[axis])).unwrap_or(0.0);
    let centre: [f64; 3] = std::array::from_fn(middle);
    let distance = |p: [f64; 3]| {
        (0..3)
            .map(|i| (p[i] - centre[i]).powi(2))
            .sum::<f64>()
            .sqrt()
    };
    let usual = median(positions.iter().map(|&p| distance(p))).unwrap_or(0.0);
    // All in one place but for rounding.
    let size = centre.iter().fold(1.0f64, |size, v| size.max(v.abs()));
    if usual <= ROUNDING * size {
        return;
    }
    entries.retain(|entry| {
        let position = position(entry);
        let away = distance(position) / usual;
        if away <= UNUSUAL {
            return true;
        }
        let value = format!(
            "{}, {} times as far from the middle of all as half of the photos",
            place(position),
            number(away.round())
        );
        let (severity, limit) = match away > IMPOSSIBLE {
            true => (Severity::Refused, IMPOSSIBLE),
            false => (Severity::Doubtful, UNUSUAL),
        };
        let expected = format!("at most {} times", number(limit));
        let finding = Finding {
            severity,
            ..Finding::refused("its position", value, expected)
        };
        findings.push(finding.of(&entry.name));
        severity == Severity::Doubtful
    });
}

fn position(entry: &Entry) -> [f64; 3] {
    entry.camera.position()
}

/// All photos from one place: nothing tells how far things are.
fn one_place(entries: &[Entry]) -> Option<Finding> {
    let first = &entries[0].camera;
    let origin = first.position();
    let size = origin.iter().fold(1.0f64, |size, v| size.max(v.abs()));
    let near = |camera: &Camera| {
        let p = camera.position();
        (0..3).all(|i| (p[i] - origin[i]).abs() <= ROUNDING * size)
    };
    let parallel = |camera: &Camera| {
        let pairs = camera.rotation.iter().zip(&first.rotation);
        pairs
            .flat_map(|(a, b)| a.iter().zip(b))
            .all(|(a, b)| (a - b).abs() <= ROUNDING)
    };
    let mut cameras = entries.iter().map(|entry| &entry.camera);
    if !cameras.clone().all(near) {
        return None;
    }
    let count = entries.len();
    if cameras.all(parallel) {
        return Some(Finding::refused(
            "the pose",
            format!("the same for all {count} photos"),
            "photos from different places: without parallax nothing tells how far things are, and \
             training cannot work",
        ));
    }
    Some(Finding::doubtful(
        "the position",
        format!("the same for all {count} photos"),
        "photos from different places: without parallax nothing tells how far things are, and the \
         scene will look right from this place alone",
    ))
}

/// Many photos with exactly the same pose among others: what a program writes for photos that it
/// could not pose.
fn copies(entries: &[Entry]) -> Option<Finding> {
    let mut of_pose: HashMap<[u64; 12], Vec<&Entry>> = HashMap::new();
    for entry in entries {
        let Camera {
            rotation,
            translation,
            ..
        } = &entry.camera;
        let mut numbers = rotation.iter().flatten().chain(translation);
        // 0 and -0 are one number.
        let key = std::array::from_fn(|_| (numbers.next().unwrap_or(&0.0) + 0.0).to_bits());
        of_pose.entry(key).or_default().push(entry);
    }
    let mut largest: Vec<&[&Entry]> = of_pose.values().map(Vec::as_slice).collect();
    // Of several of one size the first by name, whatever the order of the map.
    largest.sort_by(|a, b| {
        b.len()
            .cmp(&a.len())
            .then_with(|| a[0].name.cmp(&b[0].name))
    });
    let same = largest[0];
    let share = same.len() as f64 / entries.len() as f64;
    (same.len() >= COPIES && share >= SHARE_OF_COPIES).then(|| {
        Finding::doubtful(
            "the pose",
            format!(
                "one and the same for {} of {} photos ({}, {}, ...)",
                same.len(),
                entries.len(),
                same[0].name,
                same[1].name
            ),
            "a pose for each: programs write such poses for photos that they could not pose",
        )
    })
}
