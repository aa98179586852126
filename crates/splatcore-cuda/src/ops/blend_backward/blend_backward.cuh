// The parameters of every `blend_backward`.

#pragma once
#include "splat.cuh"

// In Rust by the same name. The opacity's gradient leaves in `sums` or `pair_sums`; a row is 12
// floats, blend_backward_atomic.cu says which. A method writes one of the two; the other is null.
struct BlendBackwardParams {
    const Splat* splats;        // by compacted index
    ReadOnly<u32> pairs;        // the tiles' lists, each front to back: pair numbers, or compacted
                                // indices where `pair_splats` is null
    ReadOnly<u32> pair_splats;  // compacted index of each pair number, or null
    ReadOnly<uint2> ranges;     // where a tile's list is in `pairs`, see `list_range`
    Camera camera;
    const Counters* counters;
    ReadOnly<float> image;       // [3][height][width], of the forward pass
    ReadOnly<float> gradient;    // dL/dimage, [3][height][width]
    float* sums;                 // a row for each compacted index, added to; zero before
    float4* pair_sums;           // a row for each pair number, written
    ReadOnly<u32> bucket_tiles;  // as BlendParams has them, of methods that need checkpoints
    ReadOnly<float4> checkpoints;
    ReadOnly<u32> stops;
};
