//! Scenes and states as bits, to compare them exactly.

use splatcore_core::Gaussians;
use splatcore_core::backend::LearnerState;
use splatcore_core::columns::Column;

/// Every number of a scene as bits.
pub fn bits(g: &Gaussians) -> Vec<u32> {
    let rows = g
        .means
        .as_flattened()
        .iter()
        .chain(g.log_scales.as_flattened());
    let rows = rows
        .chain(g.rotations.as_flattened())
        .chain(&g.opacity_logits);
    rows.chain(g.sh.as_flattened())
        .map(|v| v.to_bits())
        .collect()
}

/// Every number of a learner's state as bits.
pub fn state_bits(s: &LearnerState) -> Vec<u32> {
    let mut all = bits(&s.gaussians);
    all.extend(bits(&s.first));
    all.extend(bits(&s.second));
    all.extend(s.gradient_sum.iter().map(|v| v.to_bits()));
    all.extend(&s.seen);
    for table in [&s.colours.photos, &s.colours.cameras, &s.sky] {
        let parts = [&table.parameters, &table.first, &table.second];
        all.extend(parts.into_iter().flatten().map(|v| v.to_bits()));
        all.extend(&table.seen);
    }
    for column in Column::ALL {
        let arrays = s.columns.arrays(column).iter().flatten();
        all.extend(arrays.map(|v| v.to_bits()));
    }
    all
}
