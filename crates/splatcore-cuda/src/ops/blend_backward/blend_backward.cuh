// The parameters of every `blend_backward`, and what a row of sums holds.
//
// A row is 12 floats, of which 9 are in use: sums over the fragments of a splat, or of a (tile,
// splat) pair, with v = dL/d(ln alpha) and d = pixel - mean:
//   0     v, which is the opacity's gradient, dL/d(ln opacity)
//   1, 2  v dx, v dy
//   3..5  v dx^2, v dx dy, v dy^2
//   6..8  dL/dcolour

#pragma once
#include "splat.cuh"

// In Rust by the same name. A method writes either `sums` or `pair_sums`, which have one address.
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
