// blend_backward, methods `atomic`, `warp-reduce`, `warp-reduce-skip` and `plain-add`.
//
// Contract. Adds, for each splat, nine sums over the pixels that it contributes to into `sums`
// (f32; blend_backward.cuh says which, and in which arrays). The first, the sum of v = dL/d(ln
// alpha), is the opacity's gradient. Inputs: the splats, the tiles' lists (`pairs`, `ranges`), the
// rendered `image` and `gradient` = dL/dimage, both [3][height][width]. Order: front to back,
// unlike Kerbl et al. 2023. With G = dL/dpixel and R = G . (colour behind the fragment),
// which starts as G . (rendered pixel): dL/dalpha = T (colour . G) - R / (1 - alpha). Sums differ
// in the last bits from run to run: atomic additions have no order.
// AGGREGATE, after "Atomic Aggregation on 3D Gaussian Splatting" (Chen, Zhang, Peng): 0 each thread
// adds for itself (figure 3), 1 shuffles add up the warp and lane 0 adds to memory (figure 7), 2 as
// 1, and a warp to which the splat contributes nothing skips it (figure 8), 3 as 0, but additions
// are not atomic: sums are wrong (figure 5).
//
// Launch. One block of 256 threads a tile, one thread a pixel; 13 KB of shared memory.
//
// Bound. Atomic units of the L2 cache, 9 additions a fragment or warp: 23 G additions a second to
// addresses that a warp shares, far fewer where 32 lanes add to one address. fox_220k has 150 M
// fragments and 4.5 M (splat, warp) pairs that contribute: 1.8 ms for the latter.
//
// Now. `atomic` 26.7 ms, `warp-reduce-skip` 1.89 ms (fox_220k, 1080x1920, H200). History:
// docs/log/kernels/blend-backward.md

#include "blend_backward.cuh"

// The sum of a value over the warp, valid in lane 0 (figure 1 of the paper).
__device__ __forceinline__ float reduce_down(float value) {
    for (int offset = 16; offset > 0; offset /= 2)
        value += __shfl_down_sync(FULL_MASK, value, offset);
    return value;
}

extern "C" __global__ void __launch_bounds__(BLOCK)
    blend_backward(const __grid_constant__ BlendBackwardParams args) {
    begin_kernel();
    __shared__ float4 means[BLOCK];   // mean x, mean y, log2 opacity
    __shared__ float4 conics[BLOCK];  // a, b, c
    __shared__ float4 colours[BLOCK];
    __shared__ u32 splat_indices[BLOCK];    // compacted indices
    if (args.counters->overflowed) return;  // a buffer overflowed: the frame is void
    u32 thread = threadIdx.x;
    u32 tile = blockIdx.x;
    u32 x = tile % args.camera.tiles_x * TILE + thread % TILE,
        y = tile / args.camera.tiles_x * TILE + thread / TILE;
    bool inside = x < args.camera.width && y < args.camera.height;
    u32 plane = args.camera.width * args.camera.height, at = y * args.camera.width + x;
    float px = x + 0.5f, py = y + 0.5f;
    float g_red = 0.0f, g_green = 0.0f, g_blue = 0.0f, behind = 0.0f;
    if (inside) {
        g_red = args.gradient[at];
        g_green = args.gradient[plane + at];
        g_blue = args.gradient[2 * plane + at];
        behind = fmaf(g_red, args.image[at],
                      fmaf(g_green, args.image[plane + at], g_blue * args.image[2 * plane + at]));
    }
    SplatSums sums(args.sums, args.splat_capacity);
    uint2 range = list_range(args.ranges, tile);
    float transmittance = 1.0f;
    bool done = !inside;
    for (u32 start = range.x; start < range.y; start += BLOCK) {
        if (__syncthreads_and(done)) break;
        if (start + thread < range.y) {
            u32 splat_index = args.pairs[start + thread];
            if (args.pair_splats) splat_index = args.pair_splats[splat_index];
            ReadOnly<float4> from = splat_row(args.splats, splat_index);
            splat_indices[thread] = splat_index;
            means[thread] = from[0];
            conics[thread] = from[1];
            colours[thread] = from[2];
        }
        __syncthreads();
        u32 batch = min(range.y - start, (u32)BLOCK);
        for (u32 k = 0; k < batch; ++k) {
            float4 mean2d = means[k], conic = conics[k];
            float dx = px - mean2d.x, dy = py - mean2d.y;
            float exponent =
                fmaf(fmaf(conic.x, dx, conic.y * dy), dx, fmaf(conic.z * dy, dy, mean2d.z));
            float raw = exp2_approx(exponent);
            float alpha = fminf(raw, args.camera.alpha_max);
            bool skip = done || !(raw >= ALPHA_MIN);
            float next = fmaf(-alpha, transmittance, transmittance);
            if (!skip && next < TRANSMITTANCE_MIN) done = skip = true;
#if AGGREGATE == 0 || AGGREGATE == 3
            if (skip) continue;
#elif AGGREGATE == 2
            if (__all_sync(FULL_MASK, skip)) continue;
#endif
            float v = 0.0f, weight = 0.0f;
            if (!skip) {
                float4 colour = colours[k];
                weight = alpha * transmittance;
                float toward = fmaf(g_red, colour.x, fmaf(g_green, colour.y, g_blue * colour.z));
                behind = fmaf(-weight, toward, behind);
                v = alpha * fmaf(-behind, reciprocal_approx(1.0f - alpha), transmittance * toward);
                // A capped alpha is constant, so its derivative is 0.
                if (raw >= args.camera.alpha_max) v = 0.0f;
                transmittance = next;
            }
            float values[9] = {
                v,           v * dx,         v * dy,           v * dx * dx,    v * dx * dy,
                v * dy * dy, weight * g_red, weight * g_green, weight * g_blue};
#if AGGREGATE == 0
            sums.add(splat_indices[k], values);
#elif AGGREGATE == 3
            sums.add_plainly(splat_indices[k], values);
#else
            for (int i = 0; i < 9; ++i) values[i] = reduce_down(values[i]);
            if (thread % WARP == 0) sums.add(splat_indices[k], values);
#endif
        }
    }
}
