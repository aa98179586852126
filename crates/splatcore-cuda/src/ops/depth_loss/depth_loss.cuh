// depth_loss: how far the depths of a frame are from known ones, and the gradients by inverse depth
// and alpha; included behind `residual`, which the file of a loss defines.
//
// Contract. `image` ([3][height][width], f32) has the sums of 1/z by the weights of the colours and
// alpha in its first two planes (ops/depth_sums/). `known` ([known_height][known_width], f32) are
// inverse depths, 0 where unknown, below it where the photo shows the sky; a pixel has that of the
// place which its centre falls into.
// `gradient` ([3][height][width], f32) gets the gradients by the planes, of the third 0. The loss,
// `share` times the sum over the pixels of smooth-L1 of the residual and `sky_share` times that of
// alpha in the sky, is added to `value` (f64). Pixels of less alpha than MIN_ALPHA have none of the
// former. `normal_loss` (normal_loss.cuh), of photos with known normals, adds its own.
// Constants: BLOCK, BATCH, SMOOTH, MIN_ALPHA. CPU
// twin: splatcore-cpu/src/depth_loss.rs; formulas: splatcore-core/src/depth/mod.rs.
//
// Launch. `depth_loss`: blocks of 256, of which a thread takes 8 pixels, 256 apart.
// `add_depth_loss`: one block of 256, which adds up the sums of blocks in a fixed order.
//
// Bound. Memory: 12 bytes a pixel read, 12 written.

#pragma once
#include "block_sum.cuh"

// Parameters of `depth_loss`; in Rust by the same name.
struct DepthLossParams {
    ReadOnly<float> image;  // [3][height][width]: inverse depth, alpha, nothing
    ReadOnly<float> known;  // [known_height][known_width]
    float* gradient;        // [3][height][width]
    double* partials;       // [3][blocks], sums of blocks: of depth, of the sky, of normals
    u32 width;              // pixels
    u32 height;             // pixels
    u32 known_width;        // pixels
    u32 known_height;       // pixels
    float unit;             // a depth of about the scene's size
    float share;            // weight over the number of pixels
    float sky_share;        // the same of the sky
    const Counters* counters;
};

// The place of a map's side that the centre of a pixel falls into.
__device__ __forceinline__ u32 nearest(u32 at, u32 side, u32 known_side) {
    return u32((2ull * at + 1) * known_side / (2ull * side));
}

extern "C" __global__ void __launch_bounds__(BLOCK)
    depth_loss(const __grid_constant__ DepthLossParams args) {
    begin_kernel();
    if (args.counters->overflowed) return;
    __shared__ double warps[BLOCK / WARP];
    const u32 pixels = args.width * args.height;
    double sum = 0.0, sky_sum = 0.0;
#pragma unroll 1
    for (u32 j = 0; j < BATCH; ++j) {
        const u32 i = (blockIdx.x * BATCH + j) * BLOCK + threadIdx.x;
        if (i >= pixels) break;
        const u32 x = nearest(i % args.width, args.width, args.known_width),
                  y = nearest(i / args.width, args.height, args.known_height);
        const float known = args.known[(u64)y * args.known_width + x];
        const float depths = args.image[i], alpha = args.image[pixels + i];
        float by_depths = 0.0f, by_alpha = 0.0f;
        if (known > 0.0f && alpha >= MIN_ALPHA && depths > 0.0f) {
            const float rendered = depths / alpha;
            float slope;
            const float off = residual(rendered, known, args.unit, slope), size = fabsf(off);
            const bool small = size < SMOOTH;
            sum += small ? off * off * (0.5f / SMOOTH) : size - 0.5f * SMOOTH;
            const float pull = small ? off * (1.0f / SMOOTH) : copysignf(1.0f, off);
            by_depths = args.share * pull * slope / alpha;
            by_alpha = -by_depths * rendered;
        } else if (known < 0.0f) {
            sky_sum += alpha;
            by_alpha = args.sky_share;
        }
        args.gradient[i] = by_depths;
        args.gradient[pixels + i] = by_alpha;
        args.gradient[2ull * pixels + i] = 0.0f;
    }
    const double total = block_sum(sum, warps);
    __syncthreads();
    const double sky_total = block_sum(sky_sum, warps);
    if (threadIdx.x == 0) {
        args.partials[blockIdx.x] = total;
        args.partials[gridDim.x + blockIdx.x] = sky_total;
    }
}

// Parameters of `add_depth_loss`; in Rust by the same name.
struct AddDepthLossParams {
    const double* partials;  // [3][blocks]
    double* value;           // the frame's loss
    u32 blocks;
    float share;
    float sky_share;
    float normal_share;  // 0: there are no partial sums of normals
    const Counters* counters;
};
extern "C" __global__ void __launch_bounds__(BLOCK)
    add_depth_loss(const __grid_constant__ AddDepthLossParams args) {
    begin_kernel();
    if (args.counters->overflowed) return;
    __shared__ double warps[BLOCK / WARP];
    double sum = 0.0, sky_sum = 0.0, normal_sum = 0.0;
    for (u32 i = threadIdx.x; i < args.blocks; i += BLOCK) {
        sum += args.partials[i];
        sky_sum += args.partials[args.blocks + i];
        if (args.normal_share > 0.0f) normal_sum += args.partials[2 * args.blocks + i];
    }
    const double total = block_sum(sum, warps);
    __syncthreads();
    const double sky_total = block_sum(sky_sum, warps);
    __syncthreads();
    const double normal_total = block_sum(normal_sum, warps);
    if (threadIdx.x > 0) return;
    *args.value += args.share * total;
    if (sky_total > 0.0) *args.value += args.sky_share * sky_total;
    if (normal_total > 0.0) *args.value += args.normal_share * normal_total;
}

#include "normal_loss.cuh"
