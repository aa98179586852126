//! From the scene to the lists of the tiles.

use super::{NO_FILTER, footprint, harmonics};
use crate::dealt;
use crate::device::Program;
use crate::device::program::files;
use crate::sort::{self, Plan};
use splatcore_core::pipeline::Intersect;

/// `project`, which counts each splat's pairs with tiles.
pub fn project(in_use: u8, stored: u8, intersect: Intersect) -> Program {
    let mut constants = harmonics(in_use, stored);
    constants.push(footprint(intersect));
    constants.push(("HALF_SH", "0".to_string()));
    constants.push(("DEPTH_BITS", sort::DEPTH_BITS.to_string()));
    constants.extend(NO_FILTER.map(|name| (name, "0".to_string())));
    Program {
        op: "project",
        files: files![
            "matrix.cuh",
            "footprint.cuh",
            "smoothing.cuh",
            "antialias.cuh",
            "project.cu"
        ],
        constants,
        kernels: &["project"],
    }
}

/// `project` that deals pairs to groups.
pub fn project_dealt(
    in_use: u8,
    stored: u8,
    intersect: Intersect,
    groups: dealt::Groups,
) -> Program {
    let mut program = project(in_use, stored, intersect);
    let dealing = files!["group_rows.cuh", "deal.cuh"];
    program.files.splice(2..2, dealing);
    program.constants.push(("GROUP", groups.side.to_string()));
    program.constants.extend(groups.constants());
    program.constants.extend([
        ("TOUCHED", dealt::TOUCHED_NEAR.to_string()),
        ("FAR_ROWS", dealt::FAR_ROWS.to_string()),
    ]);
    program
}

/// What `deal_far` and `sort_lists` are made of.
fn dealt_lists(op: &'static str, intersect: Intersect, groups: dealt::Groups) -> Program {
    let mut constants = groups.constants();
    constants.extend([
        footprint(intersect),
        ("GROUP", groups.side.to_string()),
        ("TOUCHED", groups.most.to_string()),
        ("ROOM", dealt::ROOM.to_string()),
        ("SHARE", dealt::SHARE.to_string()),
    ]);
    Program {
        op,
        files: files!["footprint.cuh", "group_rows.cuh", "deal.cuh", "block.cuh"],
        constants,
        kernels: &[],
    }
}

/// `deal_far`.
pub fn deal_far(intersect: Intersect, groups: dealt::Groups) -> Program {
    let mut program = dealt_lists("deal_far", intersect, groups);
    program.files.extend(files!["deal_far.cu"]);
    program
        .constants
        .push(("FAR_ROWS", dealt::FAR_ROWS.to_string()));
    program.kernels = &["deal_far"];
    program
}

/// `sort_lists`, to which shapes make no difference.
pub fn sort_lists(groups: dealt::Groups) -> Program {
    let mut program = dealt_lists("sort_lists", Intersect::Exact, groups);
    program.files.extend(files!["sort_lists.cu"]);
    program.kernels = &["sort_lists"];
    program
}

/// `clear`.
pub fn clear() -> Program {
    Program {
        op: "clear",
        files: files!["clear.cu"],
        constants: vec![],
        kernels: &["clear"],
    }
}

/// `count_digits` and `sort_digit`.
pub fn sort(plan: Plan) -> Program {
    Program {
        op: "sort",
        files: files!["matrix.cuh", "sort.cu"],
        constants: vec![
            ("BITS", plan.bits.to_string()),
            ("PASSES", plan.passes.to_string()),
            ("ITEMS", plan.items.to_string()),
            ("WINDOW", plan.window.to_string()),
        ],
        kernels: &["count_digits", "sort_digit"],
    }
}

/// `expand` and `expand_long`.
pub fn intersect(intersect: Intersect) -> Program {
    Program {
        op: "intersect",
        files: files!["footprint.cuh", "block.cuh", "intersect.cu"],
        constants: vec![footprint(intersect)],
        kernels: &["expand", "expand_long"],
    }
}

/// `expand_groups` and `expand_groups_long`, for groups of `side` x `side` tiles.
pub fn intersect_groups(intersect: Intersect, side: u32) -> Program {
    Program {
        op: "intersect_groups",
        files: files!["footprint.cuh", "block.cuh", "intersect_groups.cu"],
        constants: vec![footprint(intersect), ("GROUP", side.to_string())],
        kernels: &["expand_groups", "expand_groups_long"],
    }
}
