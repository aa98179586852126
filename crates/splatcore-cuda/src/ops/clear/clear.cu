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

#define BLOCK 256

// `count` pieces of 16 bytes.
extern "C" __global__ void __launch_bounds__(BLOCK)
    clear(uint4* cleared, u64 count, Counters* counters) {
    begin_kernel();
    u64 i = (u64)blockIdx.x * BLOCK + threadIdx.x;
    if (i == 0) {
        counters->visible = counters->longs = counters->firsts = counters->lasts = counters->far =
            counters->ended = counters->items = counters->rough_begun = 0;
        for (u32 k = 0; k < ROUGH_LISTS; ++k) counters->rough_tiles[k] = 0;
        counters->pairs = counters->evaluated = counters->blended = counters->placed = 0;
    }
    for (; i < count; i += (u64)gridDim.x * BLOCK) cleared[i] = make_uint4(0, 0, 0, 0);
}
