// Pruning as floaters and by a column that learns: which Gaussians stay.

#pragma once
#include "gaussian_actions.cuh"

// Keeps the Gaussians whose value is at least `min`. Parameters of `prune_mark`; in Rust by the
// same name.
struct PruneMarkParams {
    ReadOnly<float> values;  // [n], verdicts on floaters, or a column's numbers
    u32 n;                   // Gaussians
    float min;
    u8* actions;  // [n], bits of a Gaussian's fate
};
extern "C" __global__ void __launch_bounds__(THREADS)
    prune_mark(const __grid_constant__ PruneMarkParams args) {
    begin_kernel();
    const u32 i = item();
    if (i >= args.n) return;
    args.actions[i] = args.values[i] >= args.min ? KEPT : 0;
}
