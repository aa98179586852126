// The parameters of every blend.

#pragma once
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
    u32* bucket_tiles;      // tile + 1 of each bucket of 32 splats, with CHECKPOINTS 1
    float4* checkpoints;    // [buckets][256], (transmittance, colour) before it, with CHECKPOINTS 1
    u32* stops;             // [tiles][256], where in its list a pixel stopped, with CHECKPOINTS 1
    uint4* refined_tiles;   // [REFINED_LISTS][tiles], the tiles left to `blend_refined`
};
