// Pruning by scores, as floaters and by a column that learns: which Gaussians stay. As floaters
// `largest` holds verdicts, by a column its numbers; the other scores are null then.

#pragma once
#include "gaussian_actions.cuh"

// Keeps the Gaussians that contribute enough to some view and do not have too large a share of
// their weight in bad pixels. A share of 1 or more turns this second test off: sums may round to
// more than the whole.
// Parameters of `prune_mark`; in Rust by the same name.
struct PruneMarkParams {
    ReadOnly<float> bad;      // [count], weight on pixels with large errors
    ReadOnly<float> weight;   // [count], summed blending weights
    ReadOnly<float> largest;  // [count], largest blending weight
    u32 n;                    // Gaussians
    float min_importance;
    float max_bad_share;
    u8* actions;  // [n], bits of a Gaussian's fate
};
extern "C" __global__ void __launch_bounds__(THREADS)
    prune_mark(const __grid_constant__ PruneMarkParams args) {
    begin_kernel();
    const u32 i = item();
    if (i >= args.n) return;
    const bool sound =
        args.max_bad_share >= 1.0f || args.bad[i] <= __fmul_rn(args.max_bad_share, args.weight[i]);
    args.actions[i] = args.largest[i] >= args.min_importance && sound ? KEPT : 0;
}
