// blend, method `subtile`: cull twice. Lists are per 16x16 tile; inside, a warp owns 8x4 pixels and
// tests 32 splats of the list at once, one a lane, exact ellipse against its rectangle, then walks
// only those that touch it. CPU twin: splatcore-cpu/src/blend.rs.
//
// Launch: a block of 256 threads (8 warps) a tile; the list comes through shared memory, 256 splats
// at a time. Bound by instructions: some 30 for 32 (splat, warp) tests and 24 for each that
// survives. Prediction for fox_220k on an H200: 1.4 M pairs x 8 tests = 11 M / 32 * 30 = 11 M,
// about 4.5 M survivors * 24 = 108 M warp instructions: 115 us at full rate, 170 in practice.
// Measured: 281 us; mcmc_1m 707 us; 182 M fragments evaluated for 137 M blended on fox_220k, 71 to
// 75 % of the issue slots busy: survivors cost more than counted.
//
// Constants: COUNT, DEPTH and CHECKPOINTS as in blend_scalar.cu.

#include "subtile.cuh"

#define BLOCK 256

extern "C" __global__ void __launch_bounds__(BLOCK)
    blend(const Splat* __restrict__ splats, const u32* __restrict__ pairs,
          const u32* __restrict__ pair_slots, const uint2* __restrict__ ranges, Camera camera,
          Counters* counters, float* image, float* transmittances
#if CHECKPOINTS
          ,
          u32* bucket_tiles, float4* checkpoints, u32* stops
#elif DEPTH
          ,
          float* inverse_depths
#endif
    ) {
    begin_kernel();
    __shared__ float4 centres[BLOCK];  // mean x, mean y, log2 opacity
    __shared__ float4 powers[BLOCK];   // a, b, c
    __shared__ float4 colours[BLOCK];
    if (counters->halted) return;
    u32 thread = threadIdx.x, lane = thread % WARP, warp = thread / WARP;
    u32 tile = blockIdx.x;
    u32 x0 = tile % camera.tiles_x * TILE + warp % 2 * SUBTILE_X,
        y0 = tile / camera.tiles_x * TILE + warp / 2 * SUBTILE_Y;
    u32 x = x0 + lane % SUBTILE_X, y = y0 + lane / SUBTILE_X;
    bool inside = x < camera.width && y < camera.height;
    float px = x + 0.5f, py = y + 0.5f;
    uint2 range = list_range(ranges, tile);
    float transmittance = 1.0f, red = 0.0f, green = 0.0f, blue = 0.0f;
    bool done = !inside;
    u32 evaluated = 0, blended = 0;
#if DEPTH
    float inverse_depth = 0.0f;
#endif
#if CHECKPOINTS
    u32 stop = range.y;
    u32 pixel = (y - tile / camera.tiles_x * TILE) * TILE + x % TILE;
    for (u32 k = thread; k < (range.y - range.x + WARP - 1) / WARP; k += BLOCK)
        bucket_tiles[range.x / WARP + tile + k] = tile + 1;
#endif
    for (u32 start = range.x; start < range.y; start += BLOCK) {
        // Also the barrier that keeps the next batch from overwriting this one.
        if (__syncthreads_and(done)) break;
        if (start + thread < range.y) {
            u32 slot = pairs[start + thread];
            if (pair_slots) slot = pair_slots[slot];
            const float4* from = (const float4*)(splats + slot);
            centres[thread] = from[0];
            powers[thread] = from[1];
            colours[thread] = from[2];
        }
        __syncthreads();
        u32 batch = min(range.y - start, (u32)BLOCK);
        for (u32 group = 0; group < batch; group += WARP) {
            if (__all_sync(FULL_MASK, done)) break;
#if CHECKPOINTS
            // A group is a bucket.
            u32 place = start + group - range.x;
            if (place > 0 && !done)
                checkpoints[(u64)(range.x / WARP + place / WARP - 1) * BLOCK + pixel] =
                    make_float4(transmittance, red, green, blue);
#endif
            bool touches =
                group + lane < batch &&
                touches_subtile(centres[group + lane], powers[group + lane], x0 + 0.5f, y0 + 0.5f);
            for (u32 left = __ballot_sync(FULL_MASK, touches); left; left &= left - 1) {
                u32 k = group + __ffs(left) - 1;
                float4 centre = centres[k], power = powers[k], colour = colours[k];
                float dx = px - centre.x, dy = py - centre.y;
                float exponent =
                    fmaf(fmaf(power.x, dx, power.y * dy), dx, fmaf(power.z * dy, dy, centre.z));
                float raw = exp2_approx(exponent), alpha = fminf(raw, camera.alpha_max);
#if COUNT
                if (!done) ++evaluated;
#endif
                // NaN counts as nothing; the smaller one of NaN and the cap is the cap.
                if (!(raw >= ALPHA_MIN) || done) alpha = 0.0f;
                float next = fmaf(-alpha, transmittance, transmittance);
                if (next < TRANSMITTANCE_MIN) {
                    done = true;
#if CHECKPOINTS
                    stop = start + k;
#endif
                    alpha = 0.0f;
                    next = transmittance;
                }
#if COUNT
                if (alpha > 0.0f) ++blended;
#endif
                float weight = alpha * transmittance;
                red = fmaf(weight, colour.x, red);
                green = fmaf(weight, colour.y, green);
                blue = fmaf(weight, colour.z, blue);
#if DEPTH
                inverse_depth = fmaf(weight, colour.w, inverse_depth);
#endif
                transmittance = next;
            }
        }
    }
#if COUNT
    for (int offset = 16; offset > 0; offset /= 2) {
        evaluated += __shfl_xor_sync(FULL_MASK, evaluated, offset);
        blended += __shfl_xor_sync(FULL_MASK, blended, offset);
    }
    if (lane == 0) {
        atomicAdd(&counters->evaluated, (u64)evaluated);
        atomicAdd(&counters->blended, (u64)blended);
    }
#else
    if (inside) {
        u32 plane = camera.width * camera.height, at = y * camera.width + x;
        image[at] = fmaf(transmittance, camera.background[0], red);
        image[plane + at] = fmaf(transmittance, camera.background[1], green);
        image[2 * plane + at] = fmaf(transmittance, camera.background[2], blue);
        transmittances[at] = transmittance;
#if DEPTH
        inverse_depths[at] = inverse_depth;
#endif
#if CHECKPOINTS
        stops[at] = stop;
#endif
    }
#endif
}
