//! Changed files: never a panic, always a path that can be followed or a one-line error.

use crate::formats::{DOCUMENT, NERFSTUDIO, OWN, SETTINGS, TRACK};
use proptest::prelude::*;
use splatcore_path::files::{WorldTransform, parse};
use splatcore_path::{Curve, Motion};
use std::path::Path;

fn survives(bytes: &[u8]) {
    match parse(bytes, Path::new("hostile"), None) {
        Err(error) => assert!(!error.to_string().contains('\n'), "{error}"),
        Ok(read) => {
            assert_eq!(read.path.defect(), None);
            let curve = Curve::new(
                &read.path,
                Motion {
                    constant_speed: true,
                    ..Motion::default()
                },
            );
            let pose = curve.at(read.path.seconds / 3.0);
            assert!(pose.position.iter().all(|v| v.is_finite()) && pose.fov.is_finite());
        }
    }
    let _ = WorldTransform::parse(bytes, Path::new("hostile"));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn changed_bytes(
        file in 0_usize..5,
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
        cut in any::<prop::sample::Index>(),
        cuts in any::<bool>(),
    ) {
        let mut bytes = [OWN, NERFSTUDIO, SETTINGS, DOCUMENT, TRACK][file].as_bytes().to_vec();
        for (at, byte) in changes {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        if cuts {
            bytes.truncate(cut.index(bytes.len()));
        }
        survives(&bytes);
    }

    /// Numbers of any size and sign where numbers stand.
    #[test]
    fn changed_numbers(
        file in 0_usize..5,
        which in any::<prop::sample::Index>(),
        number in prop_oneof![
            Just("-1".to_owned()), Just("0".to_owned()), Just("1e308".to_owned()),
            Just("null".to_owned()), Just("[]".to_owned()), Just("{}".to_owned()),
            any::<f64>().prop_map(|v| if v.is_finite() { v.to_string() } else { "1e-308".into() }),
        ],
    ) {
        let text = [OWN, NERFSTUDIO, SETTINGS, DOCUMENT, TRACK][file];
        let digit = |i: usize| text.as_bytes().get(i).is_some_and(|b| b.is_ascii_digit());
        let starts: Vec<usize> =
            (1..text.len()).filter(|&i| digit(i) && !digit(i - 1)).collect();
        let start = starts[which.index(starts.len())];
        let end = (start..text.len()).find(|&i| !digit(i)).unwrap_or(text.len());
        survives(format!("{}{number}{}", &text[..start], &text[end..]).as_bytes());
    }
}

/// Forty frames within 1e-307 s would have speeds beyond all numbers.
#[test]
fn a_path_that_takes_no_time_is_refused() {
    let text = DOCUMENT.replace("\"frameRate\": 20", "\"frameRate\": 1e308");
    assert_ne!(text, DOCUMENT);
    let error = parse(text.as_bytes(), Path::new("a.ssproj"), None).unwrap_err();
    assert!(error.to_string().contains("1e-9"), "{error}");
}
