// normal_loss: how far the normals of rendered depths are from known ones, and the gradients by
// inverse depth and alpha.
//
// Contract. `image` and `gradient` are those of depth_loss.cuh, whose kernel wrote `gradient`: this
// one adds to its first two planes. `normals` ([known_height][known_width][3], f32) are of unit
// length, camera axes, towards the camera; zero where unknown. The normal of a pixel follows from
// its inverse depth and its neighbours' (splatcore-core/src/depth/normals.rs); a pixel on the
// border, or with a neighbour of less alpha than MIN_ALPHA, has none. The loss is `share` times the
// sum of one minus the cosine; the sums of blocks go to `partials`. CPU twin:
// splatcore-cpu/src/depth_loss.rs.
//
// Launch. As `depth_loss`.
//
// Bound. Instructions: a pixel's gradient is of five normals, 25 reads of two planes each, most of
// them from the cache.

#pragma once
#include "block_sum.cuh"

// Parameters of `normal_loss`; in Rust by the same name.
struct NormalLossParams {
    ReadOnly<float> image;    // [3][height][width]: inverse depth, alpha, nothing
    ReadOnly<float> normals;  // [known_height][known_width][3]
    float* gradient;          // [3][height][width]
    double* partials;         // [blocks], sums of blocks
    u32 width;                // pixels
    u32 height;               // pixels
    u32 known_width;          // pixels
    u32 known_height;         // pixels
    float focal[2];           // pixels
    float centre[2];          // principal point, pixels
    float share;              // weight over the number of pixels
    const Counters* counters;
};

// A pixel's loss and its derivatives by the inverse depths of itself, left, right, above and below.
struct NormalOff {
    float value, by[5];
};

// The inverse depth of a pixel; 0 where it is that of little.
__device__ __forceinline__ float inverse_depth(const NormalLossParams& args, u32 x, u32 y) {
    const u64 at = (u64)y * args.width + x;
    const float sum = args.image[at], alpha = args.image[(u64)args.width * args.height + at];
    return alpha >= MIN_ALPHA && sum > 0.0f ? sum / alpha : 0.0f;
}

// Of the normal at a pixel; zero where there is none.
__device__ __forceinline__ NormalOff normal_off(const NormalLossParams& args, u32 x, u32 y) {
    NormalOff off = {};
    if (x == 0 || y == 0 || x + 1 >= args.width || y + 1 >= args.height) return off;
    const u64 known = 3ull * ((u64)nearest(y, args.height, args.known_height) * args.known_width +
                              nearest(x, args.width, args.known_width));
    const float known_x = args.normals[known], known_y = args.normals[known + 1],
                known_z = args.normals[known + 2];
    if (known_x == 0.0f && known_y == 0.0f && known_z == 0.0f) return off;
    const float own = inverse_depth(args, x, y);
    const float left = inverse_depth(args, x - 1, y), right = inverse_depth(args, x + 1, y);
    const float above = inverse_depth(args, x, y - 1), below = inverse_depth(args, x, y + 1);
    if (!(fminf(fminf(own, fminf(left, right)), fminf(above, below)) > 0.0f)) return off;
    const float from_x = float(x) + 0.5f - args.centre[0],
                from_y = float(y) + 0.5f - args.centre[1];
    const float by_u = 0.5f * (right - left), by_v = 0.5f * (below - above);
    const float m_x = args.focal[0] * by_u, m_y = args.focal[1] * by_v,
                m_z = own - from_x * by_u - from_y * by_v;
    const float length = sqrtf(m_x * m_x + m_y * m_y + m_z * m_z);
    if (!(length > 0.0f)) return off;
    const float n_x = m_x / length, n_y = m_y / length, n_z = m_z / length;
    const float off_x = -known_x - n_x, off_y = -known_y - n_y, off_z = -known_z - n_z;
    off.value = 0.5f * (off_x * off_x + off_y * off_y + off_z * off_z);
    const float by_x = -(off_x + off.value * n_x) / length,
                by_y = -(off_y + off.value * n_y) / length,
                by_z = -(off_z + off.value * n_z) / length;
    const float of_u = 0.5f * (args.focal[0] * by_x - from_x * by_z),
                of_v = 0.5f * (args.focal[1] * by_y - from_y * by_z);
    off.by[0] = by_z;
    off.by[1] = -of_u;
    off.by[2] = of_u;
    off.by[3] = -of_v;
    off.by[4] = of_v;
    return off;
}

extern "C" __global__ void __launch_bounds__(BLOCK)
    normal_loss(const __grid_constant__ NormalLossParams args) {
    begin_kernel();
    if (args.counters->overflowed) return;
    __shared__ double warps[BLOCK / WARP];
    const u32 pixels = args.width * args.height;
    double sum = 0.0;
#pragma unroll 1
    for (u32 j = 0; j < BATCH; ++j) {
        const u32 i = (blockIdx.x * BATCH + j) * BLOCK + threadIdx.x;
        if (i >= pixels) break;
        const u32 x = i % args.width, y = i / args.width;
        const NormalOff own = normal_off(args, x, y);
        sum += own.value;
        const float q = inverse_depth(args, x, y);
        if (q == 0.0f) continue;
        // It is to the left of the pixel to its right.
        float by = own.by[0];
        if (x + 1 < args.width) by += normal_off(args, x + 1, y).by[1];
        if (x > 0) by += normal_off(args, x - 1, y).by[2];
        if (y + 1 < args.height) by += normal_off(args, x, y + 1).by[3];
        if (y > 0) by += normal_off(args, x, y - 1).by[4];
        const float by_depths = args.share * by / args.image[pixels + i];
        args.gradient[i] += by_depths;
        args.gradient[pixels + i] -= by_depths * q;
    }
    const double total = block_sum(sum, warps);
    if (threadIdx.x == 0) args.partials[blockIdx.x] = total;
}
