// scores: how much of each Gaussian several views show, and how much of that lies where the
// rendered image is wrong.
//
// Contract. After FastGS (Ren et al. 2025, arXiv:2511.04283); splatcore_core::backend::{Scoring,
// Scores} defines the numbers. With an image gradient of 1 in a channel at some pixels, a splat's
// dL/dcolour of that channel is the sum of its blending weights there, so no raster kernel of its
// own is needed. Image and photo are those of a step at this time: reduced (photo.cu), through the
// colour model (colour_kernels.cuh), on a background; a pixel of a reduced photo counts `area`
// pixels. After the forward pass of a view:
// - error_range: smallest and largest L1 error of the counted pixels, by atomic minimum and
//   maximum.
// - error_mask: the image gradient [3][pixels]: red 1 at bad pixels, green 1 at all, blue 0.
// - blend_backward and sum_pairs; then add_scores: from the splats' sums to the Gaussians' scores.
// Equal in every run: minimum and maximum have no order, and a Gaussian has one splat a view. CPU
// twin: splatcore-cpu/src/score.rs.
//
// Launch. Blocks of 256. error_range: as many blocks as fill the card, several pixels a thread;
// error_mask: one thread a pixel; add_scores: one thread a splat.
//
// Bound. Memory: 15 bytes a pixel twice, 12 written; 64 bytes a splat (32 of its row for 8).
//
// Now. Not measured; predicted 7, 13 and 6 us (220 k Gaussians, 1080x1920, H200). History:
// docs/log/kernels/densify.md

#include "splat.cuh"

// The mean over the channels of |image - photo / 255|.
__device__ __forceinline__ float error_of(ReadOnly<float> image, ReadOnly<u8> photo, u32 pixel,
                                          u32 pixels) {
    float sum = 0.0f;
#pragma unroll
    for (u32 c = 0; c < 3; ++c)
        sum += fabsf(image[(u64)c * pixels + pixel] -
                     __fmul_rn((float)photo[3ull * pixel + c], 1.0f / 255.0f));
    return sum * (1.0f / 3.0f);
}

__device__ __forceinline__ bool is_counted(ReadOnly<u8> mask, u32 pixel) {
    return !mask || mask[pixel];
}

// `least` starts as 0xffffffff and `most` as 0. Errors are not negative, so their bits as integers
// have their order.
// Parameters of `error_range`; in Rust by the same name.
struct ErrorRangeParams {
    ReadOnly<float> image;  // [3][height][width]
    ReadOnly<u8> photo;     // 8 bits, [height][width][3]
    ReadOnly<u8> mask;      // 8 bits, [height][width], or null
    u32 pixels;
    const Counters* counters;
    u32* least;  // smallest error, bits of a float
    u32* most;   // Gaussians there may be
};
extern "C" __global__ void __launch_bounds__(BLOCK)
    error_range(const __grid_constant__ ErrorRangeParams args) {
    begin_kernel();
    if (args.counters->overflowed) return;  // a buffer overflowed: there is no image
    u32 low = 0xffffffffu, high = 0;
    for (u32 pixel = blockIdx.x * BLOCK + threadIdx.x; pixel < args.pixels;
         pixel += gridDim.x * BLOCK) {
        if (!is_counted(args.mask, pixel)) continue;
        float error = error_of(args.image, args.photo, pixel, args.pixels);
        if (!(error >= 0.0f)) continue;  // not a number
        low = min(low, __float_as_uint(error));
        high = max(high, __float_as_uint(error));
    }
    for (int offset = WARP / 2; offset > 0; offset /= 2) {
        low = min(low, __shfl_xor_sync(FULL_MASK, low, offset));
        high = max(high, __shfl_xor_sync(FULL_MASK, high, offset));
    }
    if (threadIdx.x % WARP == 0 && low <= high) {
        atomicMin(args.least, low);
        atomicMax(args.most, high);
    }
}

// Parameters of `error_mask`; in Rust by the same name.
struct ErrorMaskParams {
    ReadOnly<float> image;  // [3][height][width]
    ReadOnly<u8> photo;     // 8 bits, [height][width][3]
    ReadOnly<u8> mask;      // 8 bits, [height][width], or null
    u32 pixels;
    float threshold;
    const Counters* counters;
    ReadOnly<u32> least;  // smallest error, bits of a float
    ReadOnly<u32> most;   // Gaussians there may be
    float* gradient;      // dL/dimage, [3][height][width]
};
extern "C" __global__ void __launch_bounds__(BLOCK)
    error_mask(const __grid_constant__ ErrorMaskParams args) {
    begin_kernel();
    u32 pixel = blockIdx.x * BLOCK + threadIdx.x;
    if (args.counters->overflowed || pixel >= args.pixels) return;
    // If no pixel counts, `low` is not-a-number and no pixel is bad.
    float low = __uint_as_float(args.least[0]), high = __uint_as_float(args.most[0]);
    float limit = fmaf(args.threshold, high - low, low);
    bool bad = is_counted(args.mask, pixel) &&
               error_of(args.image, args.photo, pixel, args.pixels) > limit;
    args.gradient[pixel] = bad ? 1.0f : 0.0f;
    args.gradient[(u64)args.pixels + pixel] = 1.0f;
    args.gradient[2ull * args.pixels + pixel] = 0.0f;
}

// sums[splat]: the splat's row of 12 floats as `project_backward` reads it (splat: compacted
// index); 6 to 8 are those of the colour, before the clamp. Parameters of `add_scores`; in Rust by
// the same name.
struct AddScoresParams {
    const Splat* splats;   // by compacted index
    ReadOnly<float> sums;  // a row of 12 floats for each compacted index
    float area;
    const Counters* counters;
    float* bad;      // [count], weight on pixels with large errors
    float* weight;   // [count], summed blending weights
    float* largest;  // [count], largest blending weight
};
extern "C" __global__ void __launch_bounds__(BLOCK)
    add_scores(const __grid_constant__ AddScoresParams args) {
    begin_kernel();
    u32 splat_index = blockIdx.x * BLOCK + threadIdx.x;
    if (args.counters->overflowed || splat_index >= args.counters->visible) return;
    u32 i = args.splats[splat_index].gaussian;
    float red = args.area * args.sums[12ull * splat_index + 6],
          green = args.area * args.sums[12ull * splat_index + 7];
    args.bad[i] += red;
    args.weight[i] += green;
    args.largest[i] = fmaxf(args.largest[i], green);
}
