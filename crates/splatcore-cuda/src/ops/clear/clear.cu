// clear: what a frame counts in starts at 0: counters, histograms, states, ranges. One launch,
// which like all others begins before the end of its predecessor is seen; two fills of the driver's
// do not.
//
// Launch: 256 threads a block, as many blocks as there are 4 KB, at most twice the multiprocessors.
// Prediction on an H200: 3 us less by the clock for any frame. Measured: 2 us under the profiler;
// by the clock not apart from what changed with it (see docs/measurements/rendering.md).

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
