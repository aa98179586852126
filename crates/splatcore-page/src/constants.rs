//! The module `constants.js`: the renderer's numbers, from where the renderer has them.

use splatcore_core::{semantics, sh};
use std::fmt::Write;

/// The module's text.
pub fn module() -> String {
    let mut text = String::from("// The constants of the renderer: splatcore-core.\n");
    for (name, value) in [
        ("NEAR_PLANE", semantics::NEAR_PLANE),
        ("FRUSTUM_CLAMP", semantics::FRUSTUM_CLAMP),
        ("LOW_PASS", semantics::LOW_PASS),
        ("COMPENSATION_MIN", semantics::COMPENSATION_MIN),
        ("ALPHA_MAX", semantics::ALPHA_MAX),
        ("ALPHA_MIN", semantics::ALPHA_MIN),
        ("SH_C0", sh::C0),
        ("SH_C1", sh::C1),
    ] {
        // Writing to a String cannot fail, so the results are let go.
        let _ = writeln!(text, "export const {name} = {value};");
    }
    for (name, values) in [("SH_C2", &sh::C2[..]), ("SH_C3", &sh::C3[..])] {
        let _ = writeln!(text, "export const {name} = {values:?};");
    }
    text
}
