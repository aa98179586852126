// scores: how much of each Gaussian several views show, and how much of that lies where the
// rendered image is wrong.
//
// Contract. After FastGS (Ren et al. 2025, arXiv:2511.04283); splatcore_core::backend::{Scoring,
// Scores} defines the numbers. With an image gradient of 1 in a channel at some pixels, a splat's
// dL/dcolour of that channel is the sum of its blending weights there, so no raster kernel of its
// own is needed. Image and photo are those of a step at this time: reduced (photo.cu), exposed
// (exposure.cu), on a background; a pixel of a reduced photo counts `area` pixels. After the
// forward pass of a view:
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

#define BLOCK 256

// The mean over the channels of |image - photo / 255|.
__device__ __forceinline__ float error_of(const float* __restrict__ image,
                                          const u8* __restrict__ photo, u32 pixel, u32 pixels) {
    float sum = 0.0f;
#pragma unroll
    for (u32 c = 0; c < 3; ++c)
        sum += fabsf(image[(u64)c * pixels + pixel] -
                     __fmul_rn((float)photo[3ull * pixel + c], 1.0f / 255.0f));
    return sum * (1.0f / 3.0f);
}

__device__ __forceinline__ bool is_counted(const u8* __restrict__ mask, u32 pixel) {
    return !mask || mask[pixel];
}

// `least` starts as 0xffffffff and `most` as 0. Errors are not negative, so their bits as integers
// have their order.
extern "C" __global__ void __launch_bounds__(BLOCK)
    error_range(const float* __restrict__ image, const u8* __restrict__ photo,
                const u8* __restrict__ mask, u32 pixels, const Counters* counters, u32* least,
                u32* most) {
    begin_kernel();
    if (counters->halted) return;  // a buffer overflowed: there is no image
    u32 low = 0xffffffffu, high = 0;
    for (u32 pixel = blockIdx.x * BLOCK + threadIdx.x; pixel < pixels; pixel += gridDim.x * BLOCK) {
        if (!is_counted(mask, pixel)) continue;
        float error = error_of(image, photo, pixel, pixels);
        if (!(error >= 0.0f)) continue;  // not a number
        low = min(low, __float_as_uint(error));
        high = max(high, __float_as_uint(error));
    }
    for (int offset = WARP / 2; offset > 0; offset /= 2) {
        low = min(low, __shfl_xor_sync(FULL_MASK, low, offset));
        high = max(high, __shfl_xor_sync(FULL_MASK, high, offset));
    }
    if (threadIdx.x % WARP == 0 && low <= high) {
        atomicMin(least, low);
        atomicMax(most, high);
    }
}

extern "C" __global__ void __launch_bounds__(BLOCK)
    error_mask(const float* __restrict__ image, const u8* __restrict__ photo,
               const u8* __restrict__ mask, u32 pixels, float threshold, const Counters* counters,
               const u32* __restrict__ least, const u32* __restrict__ most,
               float* __restrict__ gradient) {
    begin_kernel();
    u32 pixel = blockIdx.x * BLOCK + threadIdx.x;
    if (counters->halted || pixel >= pixels) return;
    // If no pixel counts, `low` is not-a-number and no pixel is bad.
    float low = __uint_as_float(*least), high = __uint_as_float(*most);
    float limit = fmaf(threshold, high - low, low);
    bool bad = is_counted(mask, pixel) && error_of(image, photo, pixel, pixels) > limit;
    gradient[pixel] = bad ? 1.0f : 0.0f;
    gradient[(u64)pixels + pixel] = 1.0f;
    gradient[2ull * pixels + pixel] = 0.0f;
}

// sums[slot]: the splat's row of 12 floats as `project_backward` reads it (slot: compacted index);
// 6 to 8 are those of the colour, before the clamp.
extern "C" __global__ void __launch_bounds__(BLOCK)
    add_scores(const Splat* __restrict__ splats, const float* __restrict__ sums, float area,
               const Counters* counters, float* __restrict__ bad, float* __restrict__ weight,
               float* __restrict__ largest) {
    begin_kernel();
    u32 slot = blockIdx.x * BLOCK + threadIdx.x;
    if (counters->halted || slot >= counters->visible) return;
    u32 i = splats[slot].gaussian;
    float red = area * sums[12ull * slot + 6], green = area * sums[12ull * slot + 7];
    bad[i] += red;
    weight[i] += green;
    largest[i] = fmaxf(largest[i], green);
}
