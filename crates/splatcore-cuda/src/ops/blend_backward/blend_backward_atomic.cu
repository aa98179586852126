// blend_backward, methods `atomic`, `warp-reduce` and `warp-reduce-skip`: one thread a pixel walks
// its tile's list, and the gradients of a splat come together by atomic additions. "Atomic
// Aggregation on 3D Gaussian Splatting" (Chen, Zhang, Peng): AGGREGATE 0 is its figure 3 (each
// thread adds for itself, vanilla 3DGS), 1 its figure 7 (no thread leaves the loop body; shuffles
// add up the warp, lane 0 adds to memory), 2 its figure 8 (a warp none of whose threads takes part
// skips the splat).
//
// Front to back like the forward pass, not back to front like the original: with G = dL/dpixel and
// R what is still to come of G . image behind a fragment, dL/dalpha = T (colour . G) - R / (1 -
// alpha), R starting as G . (rendered pixel). The count and the addresses of the atomic additions
// are the original's: 9 a fragment.
//
// Sums of a splat: v, v dx, v dy, v dx^2, v dx dy, v dy^2 with v = dL/d(ln alpha) and d = pixel -
// mean, then dL/dcolour.
//
// Launch: a block of 256 threads a tile. Bound by the atomic units of the L2 cache: 23 G additions
// a second to addresses that a warp shares (DESIGN section 6), and far fewer where 32 lanes hit one
// address. Prediction for fox_220k (40 M (splat, warp) visits that contribute, 150 M fragments):
// `warp-reduce-skip` 4.5 M x 9 additions = 1.8 ms and more for shuffles; `atomic` 10 times that.
// Measured: `warp-reduce-skip` 1.79 ms, `warp-reduce` 2.70, `atomic` 26.4 (mcmc_1m 5.1, 8.4, 85.1).

#include "splat.cuh"

#define BLOCK 256

// Adds the warp's values, in lane 0 (the paper's figure 1).
__device__ __forceinline__ float reduce_down(float value) {
    for (int offset = 16; offset > 0; offset /= 2)
        value += __shfl_down_sync(FULL_MASK, value, offset);
    return value;
}

extern "C" __global__ void __launch_bounds__(BLOCK)
    blend_backward(const Splat* __restrict__ splats, const u32* __restrict__ pairs,
                   const u32* __restrict__ pair_slots, const uint2* __restrict__ ranges,
                   Camera camera, const Counters* counters, const float* __restrict__ image,
                   const float* __restrict__ gradient, float* sums) {
    begin_kernel();
    __shared__ float4 centres[BLOCK];  // mean x, mean y, log2 opacity
    __shared__ float4 powers[BLOCK];   // a, b, c
    __shared__ float4 colours[BLOCK];
    __shared__ u32 slots[BLOCK];
    if (counters->halted) return;
    u32 thread = threadIdx.x;
    u32 tile = blockIdx.x;
    u32 x = tile % camera.tiles_x * TILE + thread % TILE,
        y = tile / camera.tiles_x * TILE + thread / TILE;
    bool inside = x < camera.width && y < camera.height;
    u32 plane = camera.width * camera.height, at = y * camera.width + x;
    float px = x + 0.5f, py = y + 0.5f;
    float g_red = 0.0f, g_green = 0.0f, g_blue = 0.0f, behind = 0.0f;
    if (inside) {
        g_red = gradient[at];
        g_green = gradient[plane + at];
        g_blue = gradient[2 * plane + at];
        behind = fmaf(g_red, image[at],
                      fmaf(g_green, image[plane + at], g_blue * image[2 * plane + at]));
    }
    uint2 range = list_range(ranges, tile);
    float transmittance = 1.0f;
    bool done = !inside;
    for (u32 start = range.x; start < range.y; start += BLOCK) {
        if (__syncthreads_and(done)) break;
        if (start + thread < range.y) {
            u32 slot = pairs[start + thread];
            if (pair_slots) slot = pair_slots[slot];
            const float4* from = (const float4*)(splats + slot);
            slots[thread] = slot;
            centres[thread] = from[0];
            powers[thread] = from[1];
            colours[thread] = from[2];
        }
        __syncthreads();
        u32 batch = min(range.y - start, (u32)BLOCK);
        for (u32 k = 0; k < batch; ++k) {
            float4 centre = centres[k], power = powers[k];
            float dx = px - centre.x, dy = py - centre.y;
            float exponent =
                fmaf(fmaf(power.x, dx, power.y * dy), dx, fmaf(power.z * dy, dy, centre.z));
            float raw = exp2_approx(exponent);
            float alpha = fminf(raw, camera.alpha_max);
            bool skip = done || !(raw >= ALPHA_MIN);
            float next = fmaf(-alpha, transmittance, transmittance);
            if (!skip && next < TRANSMITTANCE_MIN) done = skip = true;
#if AGGREGATE == 0
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
                // Nothing flows through the cap.
                if (raw >= camera.alpha_max) v = 0.0f;
                transmittance = next;
            }
            float values[9] = {
                v,           v * dx,         v * dy,           v * dx * dx,    v * dx * dy,
                v * dy * dy, weight * g_red, weight * g_green, weight * g_blue};
            float* to = sums + 12ull * slots[k];
#if AGGREGATE == 0
            for (int i = 0; i < 9; ++i) atomicAdd(to + i, values[i]);
#else
            for (int i = 0; i < 9; ++i) values[i] = reduce_down(values[i]);
            if (thread % WARP == 0)
                for (int i = 0; i < 9; ++i) atomicAdd(to + i, values[i]);
#endif
        }
    }
}
