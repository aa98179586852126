// clear: sets what a frame counts in to 0.
//
// Contract. `cleared` ([count], 16 bytes each) are histograms, states and ranges; of `counters`
// those of a frame (splat.cuh). One launch, which like those of all kernels begins before the end
// of its predecessor is visible; two fills by the driver would not.
//
// Launch. 256 threads a block, as many blocks as there are 4 KB, at most twice the
// multiprocessors.
//
// Bound. Not measured apart.
//
// Now. 2 us less a frame than two fills, under the profiler, on an H200. History:
// docs/log/kernels/project.md.

#include "splat.cuh"

// `count` pieces of 16 bytes.
// Parameters of `clear`; in Rust by the same name.
struct ClearParams {
    uint4* cleared;
    u64 count;  // 16-byte words
    Counters* counters;
};
extern "C" __global__ void __launch_bounds__(BLOCK)
    clear(const __grid_constant__ ClearParams args) {
    begin_kernel();
    u64 i = (u64)blockIdx.x * BLOCK + threadIdx.x;
    if (i == 0) {
        args.counters->visible = args.counters->longs = args.counters->firsts =
            args.counters->lasts = args.counters->large = args.counters->ended =
                args.counters->items = args.counters->refined_begun = args.counters->beyond = 0;
        for (u32 k = 0; k < REFINED_LISTS; ++k) args.counters->refined_tiles[k] = 0;
        args.counters->pairs = args.counters->evaluated = args.counters->blended =
            args.counters->warps_visited = args.counters->warps_blended = args.counters->placed = 0;
    }
    for (; i < args.count; i += (u64)gridDim.x * BLOCK) args.cleared[i] = make_uint4(0, 0, 0, 0);
}
