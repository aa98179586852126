// gather_splats: what a frame needs whose splats several ranks projected.
//
// Contract. Each rank's splats of a frame have come, as project.cu with SHARD 1 made them, and how
// many they are; each rank has room for so many. `gather_splats` takes their place among them for
// compacted indices and writes what the sort by depth reads, in the order of the Gaussians:
// `depths` ([n], NO_KEY before) and `splat_order` ([n]); the counters' `visible` and `pairs` become
// those of all ranks. If a rank had no room for all its splats the frame has none, and overflows.
// With `blocks.divided` splats have the number of the Gaussian among its rank's. `agree` sets the
// counters' `overflowed` if any rank has set its own: then no rank changes anything in this step.
//
// Launch. `gather_splats`: one thread a compacted index, blocks of 256. `agree`: one warp.
//
// Bound. Memory: 16 bytes a splat.

#include "matrix.cuh"
#include "row_blocks.cuh"
#include "splat.cuh"

// Parameters of `gather_splats`; in Rust by the same name.
struct GatherSplatsParams {
    const ShardCounts* shards;  // of each rank
    ReadOnly<u32> firsts;       // compacted index at which each rank's begin; the end of the last
    u32 ranks;
    const Splat* splats;  // by compacted index
    ReadOnly<u32> keys;   // sort key of each compacted index
    u32* depths;
    u32* splat_order;
    Counters* counters;
    RowBlocks blocks;  // of rank 0
};
extern "C" __global__ void __launch_bounds__(BLOCK)
    gather_splats(const __grid_constant__ GatherSplatsParams args) {
    begin_kernel();
    u32 splat_index = blockIdx.x * BLOCK + threadIdx.x;
    u32 total = 0, place = NO_SPLAT, splats_there = 0;
    RowBlocks blocks = args.blocks;
    u64 pairs = 0;
    bool fits = true;
    for (u32 k = 0; k < args.ranks; ++k) {
        const u32 splats = args.shards[k].splats, first = args.firsts[k], end = args.firsts[k + 1];
        total += splats;
        pairs += args.shards[k].pairs;
        fits = fits && splats <= end - first;
        if (splat_index >= first && splat_index < end) {
            place = splat_index - first;
            splats_there = splats;
            blocks.rank = k;
        }
    }
    if (splat_index == 0) {
        args.counters->visible = fits ? total : 0;
        args.counters->pairs = fits ? pairs : 0;
        if (!fits) args.counters->overflowed = 1;
    }
    if (!fits || place >= splats_there) return;
    u32 gaussian = args.splats[splat_index].gaussian;
    if (blocks.divided) gaussian = row_of(gaussian, blocks);
    args.depths[gaussian] = args.keys[splat_index];
    args.splat_order[gaussian] = splat_index;
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
    if (any) atomicExch(&args.counters->overflowed, 1u);
}
