// gather_splats: what a frame needs whose splats several ranks projected.
//
// Contract. After the ranks' rows of `depths` and `pair_counts` ([count], by Gaussian; project.cu
// with SHARD 1) have been exchanged, `count_splats` adds up the counters' `visible` and `pairs`,
// which `clear` has set to 0, and writes `splat_order` (0, 1, 2, ...). `agree` sets the counters'
// `overflowed` if any rank has set its own: then no rank changes anything in this step.
//
// Launch. `count_splats`: one thread a Gaussian, blocks of 256. `agree`: one warp.
//
// Bound. Memory: 8 to 12 bytes a Gaussian.

#include "matrix.cuh"
#include "splat.cuh"

// Parameters of `count_splats`; in Rust by the same name.
struct CountSplatsParams {
    ReadOnly<u32> depths;       // sort key of each Gaussian, or NO_KEY
    ReadOnly<u32> pair_counts;  // tiles of each Gaussian that has a key
    u32* splat_order;
    u32 count;
    Counters* counters;
};
extern "C" __global__ void __launch_bounds__(BLOCK)
    count_splats(const __grid_constant__ CountSplatsParams args) {
    begin_kernel();
    __shared__ u32 visible[BLOCK / WARP], pairs[BLOCK / WARP];
    u32 i = blockIdx.x * BLOCK + threadIdx.x, lane = threadIdx.x % WARP, warp = threadIdx.x / WARP;
    bool exists = i < args.count, survives = exists && args.depths[i] != NO_KEY;
    if (exists) args.splat_order[i] = i;
    u32 tiles = survives ? args.pair_counts[i] : 0;
    for (int offset = WARP / 2; offset > 0; offset /= 2)
        tiles += __shfl_xor_sync(FULL_MASK, tiles, offset);
    u32 survivors = __popc(__ballot_sync(FULL_MASK, survives));
    if (lane == 0) {
        visible[warp] = survivors;
        pairs[warp] = tiles;
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        u32 total = 0;
        u64 all = 0;
        for (u32 k = 0; k < BLOCK / WARP; ++k) {
            total += visible[k];
            all += pairs[k];
        }
        if (total) atomicAdd(&args.counters->visible, total);
        if (all) atomicAdd(&args.counters->pairs, all);
    }
}

// Parameters of `agree`; in Rust by the same name.
struct AgreeParams {
    ReadOnly<u32> overflowed;  // of each rank
    u32 ranks;
    Counters* counters;
};
extern "C" __global__ void agree(const __grid_constant__ AgreeParams args) {
    begin_kernel();
    u32 any = 0;
    for (u32 k = threadIdx.x; k < args.ranks; k += WARP) any |= args.overflowed[k];
    if (any) args.counters->overflowed = 1;
}
