//! Every `intersect` method finds the pairs that it should, on every instruction set that this
//! machine has.

use splatcore_core::pipeline::Intersect;
use splatcore_cpu::conformance::footprints::{Field, Tiles, footprints_hold};
use splatcore_cpu::footprint::touched;
use splatcore_cpu::simd::Level;

fn tiles_of(field: &Field, level: Level, method: Intersect) -> Tiles {
    let order: Vec<u32> = (0..field.splats.len() as u32).collect();
    let (mut tiles, mut counts) = (Vec::new(), Vec::new());
    touched(
        level,
        method,
        &field.splats,
        &order,
        field.tiles,
        &mut tiles,
        &mut counts,
    );
    let mut rest = tiles.as_slice();
    let lists = counts.iter().map(|&count| {
        let (own, others) = rest.split_at(count as usize);
        rest = others;
        own.to_vec()
    });
    lists.collect()
}

#[test]
fn every_method_finds_the_pairs_that_it_should() {
    let field = Field::new();
    for level in Level::available() {
        for &method in Intersect::ALL {
            let pairs: usize = tiles_of(&field, level, method).iter().map(Vec::len).sum();
            eprintln!(
                "{}, {method}: {pairs} pairs of {} splats",
                level.name(),
                field.splats.len()
            );
        }
        if let Err(message) = footprints_hold(&field, |method| tiles_of(&field, level, method)) {
            panic!("{}:\n{message}", level.name());
        }
    }
}

/// The check itself: a lost pair, a method in place of another and a pair too many are found.
#[test]
fn faults_are_found() {
    let field = Field::new();
    let level = Level::best();
    let fails = |fault: &dyn Fn(Intersect) -> Tiles, expected: &str| {
        let message = footprints_hold(&field, fault).expect_err(expected);
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
            let mut lists = tiles_of(&field, level, m);
            if m == method {
                // The tile that holds the centre.
                let at = field
                    .splats
                    .iter()
                    .position(|s| s.mean.iter().all(|&v| (50.0..150.0).contains(&v)));
                let splat = &field.splats[at.expect("some splat is in the middle")];
                let [column, row] = splat.mean.map(|v| v as usize / 16);
                lists[at.unwrap_or(0)]
                    .retain(|&tile| tile as usize != row * field.tiles[0] + column);
            }
            lists
        };
        fails(&one_lost, &format!("{method} loses tile"));
    }
    let swapped = |m: Intersect| match m {
        Intersect::Accutile => tiles_of(&field, level, Intersect::Snugbox),
        m => tiles_of(&field, level, m),
    };
    fails(&swapped, "accutile has");
    let wider = |m: Intersect| match m {
        Intersect::Obb => tiles_of(&field, level, Intersect::Aabb),
        m => tiles_of(&field, level, m),
    };
    fails(&wider, "pairs that the twin does not have");
}
