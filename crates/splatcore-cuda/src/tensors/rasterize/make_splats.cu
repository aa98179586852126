// make_splats: rows of splats, as the blends of ops/ take them, from tensors of CHANNELS (3 or 4)
// channels; find_largest: what `channel_unit` is made of.
//
// Contract. `splats` [M] (splat.cuh): mean, log2 of the opacity, coefficients of log2 alpha from
// the conic, colour. A splat that cannot count, as its opacity is not positive or a value is no
// number, has a log2 opacity or a coefficient that makes the blend leave it out. `find_largest`
// writes the bits of the largest finite absolute value of the fourth channel to `largest`, which is
// 0 before.
//
// Launch. make_splats: a thread a splat; find_largest: a thread every ROWS splats.
//
// Bound. Memory: 84 bytes a splat.
//
// Now. Not measured.

#define TENSORS CHANNELS
#include "halves.cuh"

#define COLOUR_MAX 60000.0f  // halves hold it
#define ROWS 8

// Parameters of `make_splats` and `find_largest`; in Rust by the same name.
struct MakeSplatsParams {
    ReadOnly<float> means2d;    // [M][2], pixels
    ReadOnly<float> conics;     // [M][3]
    ReadOnly<float> opacities;  // [M]
    ReadOnly<float> colors;     // [M][CHANNELS]
    u32 count;                  // M
    u32* largest;               // [1]
    float4* splats;             // [M][3]
};

// Within what halves hold; not-a-number stays.
__device__ __forceinline__ float bounded(float value) {
    return value > COLOUR_MAX ? COLOUR_MAX : value < -COLOUR_MAX ? -COLOUR_MAX : value;
}

extern "C" __global__ void __launch_bounds__(BLOCK)
    find_largest(const __grid_constant__ MakeSplatsParams args) {
    begin_kernel();
    u32 largest = 0;
    for (u32 k = 0; k < ROWS; ++k) {
        u64 m = ((u64)blockIdx.x * ROWS + k) * BLOCK + threadIdx.x;
        u32 bits = m < args.count
                       ? __float_as_uint(args.colors[CHANNELS * m + CHANNELS - 1]) & 0x7fffffffu
                       : 0;
        largest = max(largest, bits < 0x7f800000u ? bits : 0);
    }
    for (u32 offset = WARP / 2; offset > 0; offset /= 2)
        largest = max(largest, __shfl_xor_sync(FULL_MASK, largest, offset));
    if (threadIdx.x % WARP == 0) atomicMax(args.largest, largest);
}

extern "C" __global__ void __launch_bounds__(BLOCK)
    make_splats(const __grid_constant__ MakeSplatsParams args) {
    begin_kernel();
    u64 m = (u64)blockIdx.x * BLOCK + threadIdx.x;
    if (m >= args.count) return;
    float colour[4] = {};
#pragma unroll
    for (u32 k = 0; k < CHANNELS; ++k) colour[k] = args.colors[CHANNELS * m + k];
#if CHANNELS == 4
    colour[3] *= unit_of(*args.largest);
#endif
    float4* to = args.splats + 3 * m;
    to[0] = make_float4(args.means2d[2 * m], args.means2d[2 * m + 1],
                        log2_approx(args.opacities[m]), 0.0f);
    to[1] = make_float4(-0.5f * LOG2E * args.conics[3 * m], -LOG2E * args.conics[3 * m + 1],
                        -0.5f * LOG2E * args.conics[3 * m + 2], 0.0f);
    to[2] =
        make_float4(bounded(colour[0]), bounded(colour[1]), bounded(colour[2]), bounded(colour[3]));
}
