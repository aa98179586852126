//! Numbers that headers define, so that the kernels' text stands alone, against the
//! constants of Rust that they repeat.

use crate::ops::constants::WARP;
use crate::ops::counters::{LENGTHS, REFINED_LISTS};
use crate::ops::intersect::{MAX_PAIRS, footprint};
use crate::ops::sources::SOURCES;
use crate::tests::support::half::to_half;
use splatcore_core::pipeline::Intersect;
use splatcore_core::precision::INFERENCE_MIN_TRANSMITTANCE;
use splatcore_core::semantics::{
    ALPHA_MIN, COMPENSATION_MIN, LOW_PASS, SIGMA_SPREAD, TILE, TRANSMITTANCE_MIN,
};
use splatcore_core::sh;
use splatcore_core::shutter::{ITERATIONS, MAX_TIME};

/// What a transmittance of 1 is where it is kept as a half (ops/blend/half_rows.cuh).
const TRANSMITTANCE_UNIT: f64 = 64.0;

/// The text behind `#define NAME`, without its comment.
fn definition(header: &str, name: &str) -> &'static str {
    let source = SOURCES.iter().find(|(known, _)| *known == header);
    let (_, text) = source.unwrap_or_else(|| panic!("no header is called {header}"));
    let mut found = text.lines().filter_map(|line| {
        let value = line.strip_prefix("#define ")?.strip_prefix(name)?;
        value.starts_with(' ').then_some(value)
    });
    let value = found
        .next()
        .unwrap_or_else(|| panic!("{header} does not define {name}"));
    assert!(found.next().is_none(), "{header} defines {name} twice");
    value.split("//").next().unwrap_or_default().trim()
}

/// A number as the compiler reads it where an f32 or a small integer is wanted.
fn number(text: &str) -> Option<f32> {
    text.trim_end_matches(['f', 'u']).parse().ok()
}

#[track_caller]
fn check(header: &str, name: &str, in_rust: f64) {
    let text = definition(header, name);
    let message = format!("{header}: {name} is {text}, in Rust {in_rust}");
    assert_eq!(number(text), Some(in_rust as f32), "{message}");
}

#[test]
fn headers_have_the_numbers_of_rust() {
    for (header, name, in_rust) in [
        ("device.cuh", "WARP", WARP as f64),
        ("splat.cuh", "TILE", TILE as f64),
        ("splat.cuh", "ALPHA_MIN", ALPHA_MIN),
        ("splat.cuh", "LOG2_255", -ALPHA_MIN.log2()),
        ("splat.cuh", "TRANSMITTANCE_MIN", TRANSMITTANCE_MIN),
        ("splat.cuh", "LOW_PASS", LOW_PASS),
        ("half_rows.cuh", "TRANSMITTANCE_UNIT", TRANSMITTANCE_UNIT),
        ("splat.cuh", "LENGTHS", LENGTHS as f64),
        ("splat.cuh", "SH_C0", sh::C0),
        ("splat.cuh", "SH_C1", sh::C1),
        ("antialias.cuh", "COMPENSATION_MIN", COMPENSATION_MIN),
        ("unscented.cuh", "SIGMA_SPREAD", SIGMA_SPREAD),
        ("shutter.cuh", "SHUTTER_ITERATIONS", ITERATIONS as f64),
        ("shutter.cuh", "MAX_TIME", MAX_TIME),
    ] {
        check(header, name, in_rust);
    }
    for (k, value) in sh::C2.into_iter().enumerate() {
        check("splat.cuh", &format!("SH_C2_{k}"), value);
    }
    for (k, value) in sh::C3.into_iter().enumerate() {
        check("splat.cuh", &format!("SH_C3_{k}"), value);
    }
    let least = TRANSMITTANCE_UNIT * INFERENCE_MIN_TRANSMITTANCE;
    let halves = u32::from(to_half(least)) * 0x1_0001;
    let text = definition("inference.cuh", "MIN_TRANSMITTANCE");
    assert_eq!(text, format!("{halves:#x}u"), "two halves of {least}");
    // A count of the look-back must not reach the bits of its state.
    let text = definition("device.cuh", "STATE_VALUE");
    assert_eq!(text, format!("{MAX_PAIRS:#x}u"));
    assert_eq!(definition("splat.cuh", "REFINED_LISTS"), "(LENGTHS + 1)");
    assert_eq!(REFINED_LISTS, LENGTHS + 1);
}

#[test]
fn footprints_have_the_numbers_of_rust() {
    for (name, intersect) in [
        ("INTERSECT_AABB", Intersect::Aabb),
        ("INTERSECT_ADAPTIVE_RADIUS", Intersect::AdaptiveRadius),
        ("INTERSECT_SNUGBOX", Intersect::Snugbox),
        ("INTERSECT_ACCUTILE", Intersect::Accutile),
        ("INTERSECT_OBB", Intersect::Obb),
        ("INTERSECT_TILE_CULL", Intersect::TileCull),
        ("INTERSECT_EXACT", Intersect::Exact),
    ] {
        assert_eq!(
            definition("footprint.cuh", name),
            footprint(intersect).1,
            "{name}"
        );
    }
}
