// The counts of a refinement (`totals`, u64 [TOTALS]): how it begins, decides the sizes of the
// arrays, and ends. One warp or one thread each. What the places TOTAL_... of `totals` hold:
// densify/totals.rs.

#pragma once
#include "gaussian_actions.cuh"

// One warp. After an overflow nothing changes until the host has made room and asks again.
// Parameters of `begin_refinement`; in Rust by the same name.
struct BeginRefinementParams {
    u64* totals;              // numbers of this refinement
    ReadOnly<u32> gaussians;  // the number of Gaussians; null: `most`
    const Counters* counters;
};
extern "C" __global__ void begin_refinement(const __grid_constant__ BeginRefinementParams args) {
    begin_kernel();
    const u32 place = threadIdx.x;
    const bool counts = place == TOTAL_ALL || place == TOTAL_AFTER;
    if (place < TOTALS)
        args.totals[place] = counts && !args.counters->overflowed ? args.gaussians[0] : 0;
}

// One thread. Sets the count of Gaussians and counts the refinement as done, like a step.
// Parameters of `end_refinement`; in Rust by the same name.
struct EndRefinementParams {
    u64* totals;     // numbers of this refinement
    u32* gaussians;  // the number of Gaussians; null: `most`
    Counters* counters;
};
extern "C" __global__ void end_refinement(const __grid_constant__ EndRefinementParams args) {
    begin_kernel();
    if (args.totals[TOTAL_ALL] == 0) return;
    args.totals[TOTAL_AFTER] += args.totals[TOTAL_ADDED];
    args.gaussians[0] = u32(args.totals[TOTAL_AFTER]);
    args.counters->steps += 1;
}

// One thread. Computes the sizes of the arrays from the numbers kept, cloned and split. There is
// room for `most_rows` rows; clones and children are appended before the others are removed.
// Parameters of `decide_sizes`; in Rust by the same name.
struct DecideSizesParams {
    u64* totals;  // numbers of this refinement
    u32 most_rows;
    Counters* counters;
};
extern "C" __global__ void decide_sizes(const __grid_constant__ DecideSizesParams args) {
    begin_kernel();
    u64 all = args.totals[TOTAL_ALL], kept = args.totals[TOTAL_KEPT],
        clones = args.totals[TOTAL_CLONES];
    u64 parents = args.totals[TOTAL_PARENTS];
    const u64 rows = all + clones + SPLIT_INTO * parents;
    if (all != 0 && rows > args.most_rows) {
        args.counters->overflowed = 1;
        args.counters->rows = rows;
        all = 0;
    }
    if (all == 0) kept = clones = parents = 0;
    const u64 appended = clones + SPLIT_INTO * parents, after = kept + appended;
    args.totals[TOTAL_ALL] = all;
    args.totals[TOTAL_KEPT] = kept;
    args.totals[TOTAL_CLONES] = clones;
    args.totals[TOTAL_PARENTS] = parents;
    args.totals[TOTAL_CHILDREN] = SPLIT_INTO * parents;
    args.totals[TOTAL_APPENDED] = appended;
    args.totals[TOTAL_COMPACTED] = kept < all ? after : 0;
    args.totals[TOTAL_AFTER] = after;
}
