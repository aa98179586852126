//! Every `intersect` method finds the pairs that it should, on every instruction set that this
//! machine has.

use splatcore_core::pipeline::Intersect;
use splatcore_cpu::simd::Level;
use splatcore_reference::conformance::footprints::{Field, Tiles, footprints_hold};
use splatcore_test_support::footprints::{as_stored, project_field, tiles_of};

#[test]
fn every_method_finds_the_pairs_that_it_should() {
    let field = Field::new();
    let splats = project_field(&field);
    for level in Level::available() {
        let tiles_of = |method| tiles_of(&field, &splats, level, method);
        for &method in Intersect::ALL {
            let pairs: usize = tiles_of(method).iter().map(Vec::len).sum();
            eprintln!(
                "{}, {method}: {pairs} pairs of {} splats",
                level.name(),
                splats.len()
            );
        }
        if let Err(message) = footprints_hold(&field, &as_stored(&splats), tiles_of) {
            panic!("{}:\n{message}", level.name());
        }
    }
}

/// The check itself: a lost pair, a method in place of another and a pair too many are found.
#[test]
fn faults_are_found() {
    let field = Field::new();
    let splats = project_field(&field);
    let stored = as_stored(&splats);
    let tiles_of = |method| tiles_of(&field, &splats, Level::best(), method);
    let fails = |fault: &dyn Fn(Intersect) -> Tiles, expected: &str| {
        let message = footprints_hold(&field, &stored, fault).expect_err(expected);
        assert!(
            message.contains(expected),
            "{expected} is not in:\n{message}"
        );
    };
    for method in [
        Intersect::Snugbox,
        Intersect::Accutile,
        Intersect::TileCull,
        Intersect::Exact,
    ] {
        let one_lost = |m: Intersect| {
            let mut lists = tiles_of(m);
            if m == method {
                // The tile that holds the centre.
                let at = splats
                    .iter()
                    .position(|s| s.mean.iter().all(|&v| (50.0..150.0).contains(&v)));
                let splat = &splats[at.expect("some splat is in the middle")];
                let [column, row] = splat.mean.map(|v| v as usize / 16);
                lists[at.unwrap_or(0)]
                    .retain(|&tile| tile as usize != row * field.tiles[0] + column);
            }
            lists
        };
        fails(&one_lost, &format!("{method} loses tile"));
    }
    let swapped = |m: Intersect| match m {
        Intersect::Accutile => tiles_of(Intersect::Snugbox),
        m => tiles_of(m),
    };
    fails(&swapped, "accutile has");
    let wider = |m: Intersect| match m {
        Intersect::Obb => tiles_of(Intersect::Aabb),
        m => tiles_of(m),
    };
    fails(&wider, "pairs that the twin does not have");
}

/// A Gaussian that was projected away is found, and which one it is.
#[test]
fn a_missing_splat_is_found() {
    let field = Field::new();
    let mut splats = project_field(&field);
    let lost = splats.remove(splats.len() / 2).gaussian;
    let tiles_of = |method| tiles_of(&field, &splats, Level::best(), method);
    let message = footprints_hold(&field, &as_stored(&splats), tiles_of).expect_err("one is lost");
    assert!(
        message.contains(&format!("Gaussian {lost} has no splat")),
        "{message}"
    );
}
