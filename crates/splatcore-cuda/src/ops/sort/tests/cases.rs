//! What is sorted in every plan.

use super::*;

/// Patterns of keys of the plan's bits, and numbers of them around the boundaries of pieces.
pub fn cases(plan: Plan, piece: usize) -> Vec<(String, Case)> {
    let mut random = Random(u64::from(plan.bits) * 31 + (piece / BLOCK) as u64);
    let covered = (plan.bits * plan.passes).min(32);
    let most = if covered == 32 {
        NO_KEY - 1
    } else {
        (1 << covered) - 1
    };
    let mut any = move || ((random.bits() << 16) ^ random.bits()) & most;
    let mut all = Vec::new();
    let mut add = |name: &str, keys: Vec<u32>, count: usize, has_gaps: bool| {
        let name = format!("{name}, {count} of {}", keys.len());
        all.push((
            name,
            Case {
                keys,
                count,
                has_gaps,
            },
        ));
    };
    let three = 3 * piece + 17;
    for count in [0, 1, 31, piece - 1, piece, piece + 1, three] {
        // Beyond the number of pairs there is room, and what looks like keys.
        add(
            "random",
            (0..three + 5).map(|_| any()).collect(),
            count,
            false,
        );
    }
    // More than there is room for.
    add(
        "random",
        (0..piece + 3).map(|_| any()).collect(),
        2 * piece,
        false,
    );
    let random_keys: Vec<u32> = (0..three).map(|_| any()).collect();
    let mut ascending = random_keys.clone();
    ascending.sort_unstable();
    let descending = ascending.iter().rev().copied().collect();
    add("ascending", ascending, three, false);
    add("descending", descending, three, false);
    for key in [0, most / 3, most] {
        add("equal", vec![key; three], three, false);
    }
    let two = random_keys
        .iter()
        .map(|key| if key & 4 == 0 { 0 } else { most })
        .collect();
    add("two", two, three, false);
    // Depths: floats of a few exponents.
    let depths = random_keys
        .iter()
        .map(|key| (0.2 + (key % 9973) as f32 * 0.004).to_bits() & most)
        .collect();
    add("depths", depths, three, false);
    for (name, keep) in [
        ("gaps", 1u32 << 30),
        ("few", 1 << 24),
        ("none", 0),
        ("a tail of gaps", u32::MAX),
    ] {
        let mut keys: Vec<u32> = random_keys
            .iter()
            .map(|&key| match key.wrapping_mul(2_654_435_761) < keep {
                true => key,
                false => NO_KEY,
            })
            .collect();
        if keep == u32::MAX {
            keys[piece + 1..].fill(NO_KEY);
        }
        let present = keys.iter().filter(|key| **key != NO_KEY).count();
        add(name, keys, present, true);
    }
    all
}
