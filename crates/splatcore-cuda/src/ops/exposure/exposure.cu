// exposure: each photo's own affine transform of the rendered colour, between `blend` and `loss`.
//
// Contract. As the exposure compensation of INRIA's trainer (graphdeco-inria/gaussian-splatting);
// differences and reasons: splatcore-core/src/exposure.rs. A transform is the rows of [A | b], 12
// f32. Images and gradients are [3][pixels], f32. CPU twin: splatcore-cpu/src/exposure.rs.
// - expose: image' = A rgb + b, written beside the image, which `blend_backward` still reads.
// - expose_backward: dL/drgb = A^T dL/dimage' in place of dL/dimage'; sums of dL/dimage' rgb^T and
//   of dL/dimage' for each block.
// - update_exposure: adds the blocks' sums in a fixed order, takes Adam's step on the view's 12
//   numbers and pulls the mean of all views towards the identity.
// Ignored pixels have a gradient of 0 and so add nothing. Sums are f32 over a block's 2048 pixels
// and f64 over the blocks.
// Constants: BLOCK, BATCH, NUMBERS, PULL (splatcore-core/src/exposure.rs); Adam's BETA1, BETA2,
// EPSILON (adam/rates.rs) and the logarithms LN_BETA1 and LN_BETA2.
//
// Launch. Blocks of 256. `expose`: one thread a pixel. `expose_backward`: a thread takes 8 pixels,
// 256 apart, so that accesses are whole lines and a warp adds up its twelve sums once for 256
// pixels. `update_exposure`: one block of 12 warps, a warp a number.
//
// Bound. Memory: 24 bytes a pixel in `expose`, 36 in `expose_backward`; 80 instructions a pixel.
//
// Now. Not measured; predicted 33 us for all three (1080x1920, H200). History:
// docs/log/kernels/exposure.md

#include "splat.cuh"

struct Transform {
    float row[3][4];  // the rows of [A | b]
};

__device__ __forceinline__ Transform load_transform(const float* numbers) {
    Transform t;
#pragma unroll
    for (int c = 0; c < 3; ++c)
#pragma unroll
        for (int k = 0; k < 4; ++k) t.row[c][k] = numbers[4 * c + k];
    return t;
}

// image and exposed are [3][pixels], exposure the rows of [A | b].
// Parameters of `expose`; in Rust by the same name.
struct ExposeParams {
    ReadOnly<float> image;     // [3][height][width]
    ReadOnly<float> exposure;  // 12 numbers, row-major 3x4
    float* exposed;            // [3][height][width]
    u32 pixels;
    const Counters* counters;
};
extern "C" __global__ void __launch_bounds__(BLOCK)
    expose(const __grid_constant__ ExposeParams args) {
    begin_kernel();
    const u32 i = blockIdx.x * BLOCK + threadIdx.x;
    if (i >= args.pixels || args.counters->overflowed)
        return;  // a buffer overflowed: there is no image
    const Transform t = load_transform(args.exposure);
    const float r = args.image[i], g = args.image[args.pixels + i],
                b = args.image[2 * args.pixels + i];
#pragma unroll
    for (int c = 0; c < 3; ++c)
        args.exposed[c * args.pixels + i] =
            fmaf(t.row[c][0], r, fmaf(t.row[c][1], g, fmaf(t.row[c][2], b, t.row[c][3])));
}

// gradient [3][pixels]: dL/d(exposed image) in, dL/d(rendered image) out; partials
// [NUMBERS][blocks] out.
// Parameters of `expose_backward`; in Rust by the same name.
struct ExposeBackwardParams {
    ReadOnly<float> image;     // [3][height][width]
    ReadOnly<float> exposure;  // 12 numbers, row-major 3x4
    float* gradient;           // dL/dimage, [3][height][width]
    float* partials;           // a row of sums for each block
    u32 pixels;
    const Counters* counters;
};
extern "C" __global__ void __launch_bounds__(BLOCK)
    expose_backward(const __grid_constant__ ExposeBackwardParams args) {
    begin_kernel();
    if (args.counters->overflowed) return;
    __shared__ float warp_sums[BLOCK / WARP][NUMBERS];
    const Transform t = load_transform(args.exposure);
    float sums[NUMBERS] = {};
#pragma unroll 2
    for (u32 j = 0; j < BATCH; ++j) {
        const u32 i = (blockIdx.x * BATCH + j) * BLOCK + threadIdx.x;
        if (i >= args.pixels) break;
        float colour[3], g[3];
#pragma unroll
        for (int c = 0; c < 3; ++c) {
            colour[c] = args.image[c * args.pixels + i];
            g[c] = args.gradient[c * args.pixels + i];
        }
#pragma unroll
        for (int k = 0; k < 3; ++k)
            args.gradient[k * args.pixels + i] =
                fmaf(t.row[0][k], g[0], fmaf(t.row[1][k], g[1], t.row[2][k] * g[2]));
#pragma unroll
        for (int c = 0; c < 3; ++c) {
#pragma unroll
            for (int k = 0; k < 3; ++k) sums[4 * c + k] = fmaf(g[c], colour[k], sums[4 * c + k]);
            sums[4 * c + 3] += g[c];
        }
    }
#pragma unroll
    for (int n = 0; n < NUMBERS; ++n) {
        const float sum = warp_sum(sums[n]);
        if (threadIdx.x % WARP == 0) warp_sums[threadIdx.x / WARP][n] = sum;
    }
    __syncthreads();
    if (threadIdx.x >= NUMBERS) return;
    float sum = 0.0f;
    for (u32 w = 0; w < BLOCK / WARP; ++w) sum += warp_sums[w][threadIdx.x];
    args.partials[threadIdx.x * gridDim.x + blockIdx.x] = sum;
}

// The sum over the warp, valid in lane 0. The order of additions is fixed.
__device__ __forceinline__ double warp_total(double value) {
    for (int step = WARP / 2; step > 0; step /= 2)
        value += __shfl_down_sync(FULL_MASK, value, step);
    return value;
}

// One block, one warp for each of the NUMBERS. exposures and Adam's moments first and second are
// [views][NUMBERS]; seen [views] counts the steps of each view.
// Parameters of `update_exposure`; in Rust by the same name.
struct UpdateExposureParams {
    ReadOnly<float> partials;  // a row of sums for each block
    u32 blocks;
    float* exposures;
    float* first;
    float* second;
    u32* seen;  // [count], steps in view
    u32 view;
    u32 views;
    float rate;
    const Counters* counters;
};
extern "C" __global__ void __launch_bounds__(NUMBERS* WARP)
    update_exposure(const __grid_constant__ UpdateExposureParams args) {
    begin_kernel();
    if (args.counters->overflowed) return;
    const u32 number = threadIdx.x / WARP, lane = threadIdx.x % WARP;
    const float identity = number % 5 == 0 ? 1.0f : 0.0f;
    double gradient = 0.0, deviation = 0.0;
#pragma unroll 4
    for (u32 i = lane; i < args.blocks; i += WARP)
        gradient += args.partials[number * args.blocks + i];
#pragma unroll 4
    for (u32 i = lane; i < args.views; i += WARP)
        deviation += args.exposures[NUMBERS * i + number] - identity;
    gradient = warp_total(gradient);
    deviation = warp_total(deviation);
    const u32 taken = args.seen[args.view] + 1;
    __syncthreads();
    if (threadIdx.x == 0) args.seen[args.view] = taken;
    if (lane != 0) return;
    const u32 at = NUMBERS * args.view + number;
    const float g = float(gradient);
    const float m = fmaf(BETA1, args.first[at], (1.0f - BETA1) * g);
    const float v = fmaf(BETA2, args.second[at], (1.0f - BETA2) * g * g);
    // 1 - beta^t; expm1 avoids the cancellation of the difference.
    const float first_correction = -expm1f(float(taken) * LN_BETA1),
                second_correction = -expm1f(float(taken) * LN_BETA2);
    const float moved = args.rate / first_correction * m / (sqrtf(v / second_correction) + EPSILON);
    args.exposures[at] -= moved + PULL * float(deviation / args.views);
    args.first[at] = m;
    args.second[at] = v;
}
