// The parameters of every blend, and what all blends do alike.

#pragma once
#include "ray_depth.cuh"
#include "splat.cuh"

// In Rust by the same name. A method reads and writes only what its header names; what the frame
// has no use for is null.
struct BlendParams {
    const Splat* splats;        // by compacted index
    ReadOnly<u32> pairs;        // the tiles' lists, each front to back: pair numbers, or compacted
                                // indices where `pair_splats` is null
    ReadOnly<u32> pair_splats;  // compacted index of each pair number, or null
    ReadOnly<uint2> ranges;     // where a tile's list is in `pairs`, see `list_range`
    ReadOnly<uint4> entries;    // (first, one past the last, tile) of each block, or null: `ranges`
    ReadOnly<u16> masks;        // tiles of the macro-tile that a pair touches, by pair number
    Camera camera;
    Counters* counters;
    float* image;           // [3][height][width]
    float* transmittances;  // [height][width]
    float* inverse_depths;  // [height][width], with DEPTH 1
    u32* bucket_tiles;      // tile + 1 of each bucket of 32 splats, with CHECKPOINTS 1; zero
                            // before; what training_weights.cuh says of parts of lists
    float4* checkpoints;    // [buckets][256], (transmittance, colour) before it, with CHECKPOINTS
                            // 1; [parts][256], the state behind it, or null: not wanted
    u32* stops;             // [tiles][256], where in its list a pixel stopped, with CHECKPOINTS 1;
                            // [height][width] in blend_literal.cu
    uint4* refined_tiles;   // [REFINED_LISTS][tiles], the tiles left to `blend_refined`
    const RayShape* rays;   // by compacted index, of blends by depth along rays
};

// The row of the splat of an entry of `pairs`.
__device__ __forceinline__ ReadOnly<float4> splat_of_pair(const BlendParams& args, u32 pair) {
    return splat_row(args.splats, args.pair_splats ? args.pair_splats[pair] : pair);
}

// A batch of a list's splats in shared memory. One variable: separate ones each have an address,
// which the compiler may compute anew in the innermost loop.
struct Batch {
    float4 means[BLOCK];    // mean x, mean y, log2 opacity
    float4 conics[BLOCK];   // a, b, c
    float4 colours[BLOCK];  // red, green, blue, 1/z
};

// Loads the splats of the entries of `pairs` from `start` on, one a thread, as far as `end`.
__device__ __forceinline__ void load_batch(Batch& batch, const BlendParams& args, u32 start,
                                           u32 end) {
    if (start + threadIdx.x >= end) return;
    ReadOnly<float4> from = splat_of_pair(args, args.pairs[start + threadIdx.x]);
    batch.means[threadIdx.x] = from[0];
    batch.conics[threadIdx.x] = from[1];
    batch.colours[threadIdx.x] = from[2];
}

// Log2 of a splat's alpha at a point, before the cap (docs/conventions.md).
__device__ __forceinline__ float log2_alpha(float4 mean2d, float4 conic, float x, float y) {
    float dx = x - mean2d.x, dy = y - mean2d.y;
    return fmaf(fmaf(conic.x, dx, conic.y * dy), dx, fmaf(conic.z * dy, dy, mean2d.z));
}

// Adds what a warp's threads have counted to the frame's fragments.
__device__ __forceinline__ void add_fragments(Counters* counters, u32 evaluated, u32 blended,
                                              u32 lane) {
    for (int offset = 16; offset > 0; offset /= 2) {
        evaluated += __shfl_xor_sync(FULL_MASK, evaluated, offset);
        blended += __shfl_xor_sync(FULL_MASK, blended, offset);
    }
    if (lane == 0) {
        atomicAdd(&counters->evaluated, (u64)evaluated);
        atomicAdd(&counters->blended, (u64)blended);
    }
}

// Adds what the threads of a warp have counted of (warp, splat) pairs to the frame's totals.
__device__ __forceinline__ void add_warps(Counters* counters, u32 visited, u32 blended, u32 lane) {
    for (int offset = 16; offset > 0; offset /= 2) {
        visited += __shfl_xor_sync(FULL_MASK, visited, offset);
        blended += __shfl_xor_sync(FULL_MASK, blended, offset);
    }
    if (lane == 0) {
        atomicAdd(&counters->warps_visited, (u64)visited);
        atomicAdd(&counters->warps_blended, (u64)blended);
    }
}

// Writes pixel `at`, counted row by row: the colour that is blended, before the background.
__device__ __forceinline__ void write_pixel(const BlendParams& args, u32 at, float transmittance,
                                            float red, float green, float blue) {
    u32 plane = args.camera.width * args.camera.height;
    args.image[at] = fmaf(transmittance, args.camera.background[0], red);
    args.image[plane + at] = fmaf(transmittance, args.camera.background[1], green);
    args.image[2 * plane + at] = fmaf(transmittance, args.camera.background[2], blue);
    args.transmittances[at] = transmittance;
}
