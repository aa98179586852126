// blend, method `splatcore`, inference.
//
// Contract. Blends each tile's list front to back into `image` ([3][height][width], f32) over the
// background, and writes `transmittances` ([height][width]): docs/methods/splatcore.md, equations
// 1 to 4. `entries` has (first, one past the last, tile) of each block, tiles with long lists
// first, so that they do not end last; without it a block has tile blockIdx.x and `ranges` its
// list. Two things differ from training: a warp stops when each of its pixels has a transmittance
// below 1/256 (MIN_TRANSMITTANCE) and repeats no batch in f32, and the transmittance in front of a
// batch is in halves. Error: one 8-bit step at most (INFERENCE_MIN_TRANSMITTANCE of
// splatcore-core/src/precision.rs).
// Twin (f32): splatcore-cpu/src/blend.rs.
//   RECTANGLE_Y 4 or 8: a warp has 8x4 pixels, or 8x8 in large images: less set-up, tests, queues
//   and output for each pixel, more fragments that miss.
//   ROW_BYTES of a splat's row of halves: 80, or 112 with DEPTH 1, which sums 1/z in products of
//   its own into `inverse_depths` ([height][width]).
//
// Launch. A block of 32 * 32 / RECTANGLE_Y threads a tile. 4 rows: 48 registers, 26 KB of shared
// memory, 5 blocks a multiprocessor; 8 rows: 64, 24 KB, 8 blocks. With DEPTH 64, 34 KB and 4
// blocks; 80, 32 KB and 6.
//
// Bound. No single unit: 0.73 instructions a clock, 103 a batch (8 rows: 183); special functions 52
// % busy, shared memory 60 %. 69 M warp instructions are 66 us at full rate (fox_220k, 1080x1920).
//
// Now. 100 us for fox_220k at 1080x1920 on an H200. History: docs/log/kernels/blend-splatcore.md.

#include "blend.cuh"
#include "inference.cuh"

// Blocks of a multiprocessor by the rows of a warp, fewer with depth; one of sm_75 holds 1024
// threads.
#define FOUR_ROWS 5   // tune: 3 4 5 6
#define EIGHT_ROWS 8  // tune: 5 6 7 8 9 10
#define WANTED (RECTANGLE_Y == 4 ? (DEPTH ? 4 : FOUR_ROWS) : (DEPTH ? 6 : EIGHT_ROWS))
#define BLOCKS (HAS_SM80 ? WANTED : 1024 / BLOCK)
extern "C" __global__ void __launch_bounds__(BLOCK, BLOCKS)
    blend(const __grid_constant__ BlendParams args) {
    begin_kernel();
    __shared__ InferenceShared shared;
    // The first load, as all that follows depends on it.
    uint4 entry = make_uint4(0, 0, blockIdx.x, 0);
    if (args.entries) {
        entry = args.entries[blockIdx.x];
    } else {
        uint2 listed = list_range(args.ranges, blockIdx.x);
        entry.x = listed.x;
        entry.y = listed.y;
    }
    // A frame that overflowed is discarded. No early return: it would put the load
    // of the flag in front of the load of the entry.
    if (args.counters->overflowed) entry = make_uint4(0, 0, blockIdx.x, 0);
    blend_tile(shared, entry, FULL_MASK, args.splats, args.pairs, args.camera, args.image,
               args.transmittances, args.inverse_depths);
}
