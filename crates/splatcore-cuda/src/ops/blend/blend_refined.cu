// blend_refined, for RenderOptions::interpolate: blends the squares of 8x8 pixels that
// blend_interpolated.cu leaves.
//
// Contract. `refined_tiles` lists tiles as (first, one past the last of the tile's list, tile, a
// bit for each square), tiles with long lists first, tiles without splats last. Writes the squares'
// pixels of `image` ([3][height][width], f32) and `transmittances` ([height][width]) as
// blend_splatcore_inference.cu does; all pixels of an image that is not smooth. The warps of
// squares that are not wanted test splats with the others. docs/methods/interpolation.md.
//
// Launch. Blocks of four warps that take tiles from a counter, 72 registers, 24 KB of shared
// memory, 7 blocks a multiprocessor.
//
// Bound. Barriers: a tile has 2.5 squares to blend on average, and a third of the profiler's
// samples wait for the tile's last warp. 43 M warp instructions, 50 % of the issue slots
// (fox_220k).
//
// Now. 201 us for fox_220k at 3840x2160 on an H200, both kernels. History:
// docs/log/kernels/blend-samples.md.

#include "blend.cuh"
#include "inference.cuh"

// Blocks that fit a multiprocessor.
#define REFINED_BLOCKS 7  // tune: 5 6 7 8

// A warp writes `value`, red, green, blue and the transmittance, to all pixels of the tile at (x0,
// y0). Not inlined, as it would take registers from the blend.
__device__ __noinline__ void fill_tile(u32 x0, u32 y0, u32 lane, u32 width, u32 height,
                                       float4 value, float* image, float* transmittances) {
    u32 plane = width * height, x = x0 + lane % 4 * 4, end = min(x + 4, width);
    bool is_aligned = width % 4 == 0;
    auto write = [&](float* row, float value) {
        if (is_aligned && x < end) *(float4*)(row + x) = make_float4(value, value, value, value);
        if (is_aligned) return;
#pragma unroll 1
        for (u32 at = x; at < end; ++at) row[at] = value;
    };
#pragma unroll 1
    for (u32 y = y0 + lane / 4; y < min(y0 + TILE, height); y += WARP / 4) {
        float* row = image + y * width;
        write(row, value.x);
        write(row + plane, value.y);
        write(row + 2 * plane, value.z);
        write(transmittances + y * width, value.w);
    }
}

extern "C" __global__ void __launch_bounds__(BLOCK, REFINED_BLOCKS)
    blend_refined(const __grid_constant__ BlendParams args) {
    begin_kernel();
    __shared__ InferenceShared shared;
    __shared__ u32 nexts[2], starts[LENGTHS + 1];  // of the lists, one behind the other
    if (args.counters->overflowed) return;
    if (threadIdx.x <= LENGTHS) {
        u32 start = 0;
        for (u32 k = 0; k < threadIdx.x; ++k) start += args.counters->refined_tiles[k];
        starts[threadIdx.x] = start;
    }
    // One block of each multiprocessor fills tiles without splats before it asks for others:
    // writing takes as long as blending, and the two overlap.
    u32 tiles = args.camera.tiles_x * args.camera.tiles_y,
        empty = args.counters->refined_tiles[EMPTY_LIST];
    u32 fillers = empty ? (gridDim.x + REFINED_BLOCKS - 1) / REFINED_BLOCKS : 0,
        others = gridDim.x - fillers;
    if (blockIdx.x >= others) {
        for (u32 k = (blockIdx.x - others) * WARPS + threadIdx.x / WARP; k < empty;
             k += fillers * WARPS) {
            u32 tile = args.refined_tiles[EMPTY_LIST * tiles + k].z,
                y = quotient(tile, args.camera.tiles_x), x = tile - y * args.camera.tiles_x;
            float4 value = make_float4(args.camera.background[0], args.camera.background[1],
                                       args.camera.background[2], 1.0f);
            fill_tile(x * TILE, y * TILE, threadIdx.x % WARP, args.camera.width, args.camera.height,
                      value, args.image, args.transmittances);
        }
    }
    auto ask = [&] { return others + atomicAdd(&args.counters->refined_begun, 1); };
    if (threadIdx.x == 0) nexts[0] = blockIdx.x < others ? blockIdx.x : ask();
    __syncthreads();
    for (u32 i = nexts[0], turn = 1; i < starts[LENGTHS]; turn ^= 1) {
        u32 list = 0;
#pragma unroll
        for (u32 step = LENGTHS / 2; step > 0; step /= 2)
            if (starts[list + step] <= i) list += step;
        uint4 entry = args.refined_tiles[list * tiles + i - starts[list]];
        blend_tile(shared, entry, entry.w, args.splats, args.pairs, args.camera, args.image,
                   args.transmittances, nullptr);
        if (threadIdx.x == 0) nexts[turn] = ask();
        // This barrier also keeps the next tile's rows from overwriting these.
        __syncthreads();
        i = nexts[turn];
    }
}
