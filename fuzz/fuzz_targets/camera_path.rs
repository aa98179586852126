//! Any bytes as a camera path: a path that can be followed or a one-line error.
#![no_main]

use libfuzzer_sys::fuzz_target;
use splatcore_path::files::{WorldTransform, parse};
use splatcore_path::{Curve, Motion};
use std::path::Path;

fuzz_target!(|bytes: &[u8]| {
    match parse(bytes, Path::new("path.json"), None) {
        Err(error) => assert!(!error.to_string().contains('\n')),
        Ok(read) => {
            let curve = Curve::new(&read.path, Motion::default());
            let pose = curve.at(read.path.seconds / 3.0);
            assert!(pose.position.iter().all(|v| v.is_finite()));
        }
    }
    let _ = WorldTransform::parse(bytes, Path::new("transforms.json"));
});
