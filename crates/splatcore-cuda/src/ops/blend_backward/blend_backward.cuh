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

// The sums of splats as `atomic` and its kin add to them: INRIA's four arrays, one behind the
// other, with the entries of a row that each holds. Additions for one splat go to four places in
// memory, as in INRIA's code, and not to one.
struct SplatSums {
    float* conics;     // [capacity][4], entries 3 to 5; the third of the four is not used
    float* means;      // [capacity][3], 1 and 2; the third of the three is not used
    float* colours;    // [capacity][3], 6 to 8
    float* opacities;  // [capacity], 0

    __device__ __forceinline__ SplatSums(float* sums, u32 capacity)
        : conics(sums),
          means(sums + 4ull * capacity),
          colours(sums + 7ull * capacity),
          opacities(sums + 10ull * capacity) {}

    // Adds a row, in INRIA's order.
    __device__ __forceinline__ void add(u32 splat_index, const float (&row)[9]) const {
        each(splat_index, row, [](float* to, float value) { atomicAdd(to, value); });
    }

    // The same without atomicity: additions of two threads at a time may become one.
    __device__ __forceinline__ void add_plainly(u32 splat_index, const float (&row)[9]) const {
        each(splat_index, row, [](float* to, float value) { *to += value; });
    }

    template <class Add>
    __device__ __forceinline__ void each(u32 splat_index, const float (&row)[9], Add add) const {
        for (int c = 0; c < 3; ++c) add(colours + 3ull * splat_index + c, row[6 + c]);
        for (int c = 0; c < 2; ++c) add(means + 3ull * splat_index + c, row[1 + c]);
        float* conic = conics + 4ull * splat_index;
        add(conic, row[3]);
        add(conic + 1, row[4]);
        add(conic + 3, row[5]);
        add(opacities + splat_index, row[0]);
    }
};

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
    float* sums;                 // as SplatSums says, added to; zero before
    u32 splat_capacity;          // splats that `sums` has room for
    float4* pair_sums;           // a row for each pair number, written
    ReadOnly<u32> bucket_tiles;  // as BlendParams has them, of methods that need checkpoints
    ReadOnly<float4> checkpoints;
    ReadOnly<u32> stops;
};
