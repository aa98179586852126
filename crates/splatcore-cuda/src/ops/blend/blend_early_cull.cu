// blend, method `early-cull`: `scalar`, with fragments culled by their exponent.
//
// Contract. As blend_scalar.cu, with the same inputs, outputs and shapes. With beta = log2 alpha,
// alpha < 1/255 is beta < -log2 255 (TC-GS, Liao et al. 2025, section 4.1, equation 10), so 2^beta
// is computed only for fragments that are blended. The paper has natural logarithms; a splat's
// coefficients are in base 2 here. As in the paper, alpha is capped after the test.
//   COUNT 1 counts fragments and writes no image.
//
// Launch. A block of 256 threads a tile, one thread a pixel, 32 registers. The list passes through
// 12 KB of shared memory, 256 splats at a time.
//
// Bound. Instructions (sm_90): 18 for a warp and splat if no lane blends it (scalar: 20), 34 if
// any does. An estimated 10.2 M visits of a warp by a splat, 40 % of them without a blending lane
// (fox_220k, `exact`).
//
// Now. 314 us for fox_220k at 1080x1920 with `exact` on an H200. History:
// docs/log/kernels/blend-scalar.md.

#include "blend.cuh"

extern "C" __global__ void __launch_bounds__(BLOCK)
    blend(const __grid_constant__ BlendParams args) {
    begin_kernel();
    __shared__ Batch batch;
    if (args.counters->overflowed) return;
    u32 thread = threadIdx.x;
    u32 tile = blockIdx.x;
    u32 x = tile % args.camera.tiles_x * TILE + thread % TILE,
        y = tile / args.camera.tiles_x * TILE + thread / TILE;
    bool inside = x < args.camera.width && y < args.camera.height;
    float px = x + 0.5f, py = y + 0.5f;
    uint2 range = list_range(args.ranges, tile);
    float transmittance = 1.0f, red = 0.0f, green = 0.0f, blue = 0.0f;
    bool done = !inside;
    u32 evaluated = 0, blended = 0;
    for (u32 start = range.x; start < range.y; start += BLOCK) {
        // This barrier also keeps the next batch from overwriting this one.
        if (__syncthreads_and(done)) break;
        load_batch(batch, args, start, range.y);
        __syncthreads();
        u32 count = min(range.y - start, (u32)BLOCK);
        for (u32 k = 0; k < count && !done; ++k) {
            float4 mean2d = batch.means[k], conic = batch.conics[k];
            float beta = log2_alpha(mean2d, conic, px, py);
            ++evaluated;
            if (!(beta >= -LOG2_255)) continue;
            float alpha = fminf(exp2_approx(beta), args.camera.alpha_max);
            float next = fmaf(-alpha, transmittance, transmittance);
            if (next < TRANSMITTANCE_MIN) {
                done = true;
                break;
            }
            ++blended;
            float weight = alpha * transmittance;
            float4 colour = batch.colours[k];
            red = fmaf(weight, colour.x, red);
            green = fmaf(weight, colour.y, green);
            blue = fmaf(weight, colour.z, blue);
            transmittance = next;
        }
    }
#if COUNT
    if (!inside) evaluated = 0;
    add_fragments(args.counters, evaluated, blended, thread % WARP);
#else
    if (inside) {
        u32 at = y * args.camera.width + x;
        write_pixel(args, at, transmittance, red, green, blue);
    }
#endif
}
