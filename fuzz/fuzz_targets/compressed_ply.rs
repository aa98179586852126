//! Any bytes behind the header of a compressed PLY, whose counts are the first bytes: a scene or a
//! one-line error. Changed headers are the target `ply`.
#![no_main]

use libfuzzer_sys::fuzz_target;
use splatcore_data::scene::ply;
use std::path::Path;

fuzz_target!(|bytes: &[u8]| {
    let Some((&[chunks, vertices, rows, rest, colours], data)) = bytes.split_first_chunk() else {
        return;
    };
    let mut header = format!("ply\nformat binary_little_endian 1.0\nelement chunk {chunks}\n");
    let bounds = ["", "scale_"].map(|part| (part, ["x", "y", "z"]));
    let bounds = bounds
        .into_iter()
        .chain((colours % 2 == 1).then_some(("", ["r", "g", "b"])));
    for (part, axes) in bounds {
        for end in ["min", "max"] {
            for axis in axes {
                header += &format!("property float {end}_{part}{axis}\n");
            }
        }
    }
    header += &format!("element vertex {vertices}\n");
    for name in ["position", "rotation", "scale", "color"] {
        header += &format!("property uint packed_{name}\n");
    }
    if rest > 0 {
        header += &format!("element sh {rows}\n");
        for i in 0..rest % 50 {
            header += &format!("property uchar f_rest_{i}\n");
        }
    }
    header += "end_header\n";
    match ply::parse(&[header.as_bytes(), data].concat(), Path::new("fuzz.ply")) {
        Ok(scene) => assert!((0..scene.gaussians.len()).all(|i| scene.gaussians.is_sound(i))),
        Err(error) => assert!(!error.to_string().contains('\n')),
    }
});
