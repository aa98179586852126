// blend, method `literal`: vanilla 3DGS' blend as published, without what later work gained.
//
// Contract. Blends each tile's list front to back, a thread a pixel (Kerbl et al. 2023, section 6
// and appendix C): alpha = min(cap, opacity exp(-d^T C d / 2)), skipped below 1/255; the pixel
// stops before its transmittance would fall below 1e-4. Written from that description, to be the
// start of searches for faster kernels: the exponential is exact to f32, a fragment's colour comes
// from global memory, and every pixel counts the splats that it has looked at. `ranges` says which
// part of `pairs` is a tile's list; an entry is the index of a compacted splat, or the number that
// `pair_splats` maps to one. Writes `image` ([3][height][width], f32) over the background,
// `transmittances` ([height][width]) and, if asked for, `stops` ([height][width]): the splats up to
// the last that the pixel blended.
//   COUNT 1 counts fragments and writes no image.
//
// Launch. A block of 256 threads a tile. The list passes through 7 KB of shared memory, 256 splats
// at a time.
//
// Bound. Instructions, and the latency of the colours: one exact exponential a fragment, three
// loads from global memory a fragment that is blended.
//
// Now. 1,614 us for fox_220k at 1080x1920 with `aabb`, on an H100. `scalar`, the same with what it
// lacks: 921; docs/methods/literal.md.

#include "blend.cuh"

#define LN_2 0.69314718f

// Splats of a batch, in shared memory.
struct LiteralBatch {
    u32 numbers[BLOCK];    // compacted indices
    float2 means[BLOCK];   // in pixels
    float4 conics[BLOCK];  // of the inverse covariance xx, xy, yy; opacity
};

// Loads a splat to a place of the batch.
__device__ __forceinline__ void load_splat(LiteralBatch& batch, const BlendParams& args, u32 place,
                                           u32 pair) {
    u32 number = args.pair_splats ? args.pair_splats[pair] : pair;
    const Splat& splat = args.splats[number];
    batch.numbers[place] = number;
    batch.means[place] = make_float2(splat.mean_x, splat.mean_y);
    batch.conics[place] = make_float4(-2.0f * LN_2 * splat.a, -LN_2 * splat.b,
                                      -2.0f * LN_2 * splat.c, exp2f(splat.log2_opacity));
}

extern "C" __global__ void __launch_bounds__(BLOCK)
    blend(const __grid_constant__ BlendParams args) {
    begin_kernel();
    __shared__ LiteralBatch batch;
    if (args.counters->overflowed) return;
    u32 thread = threadIdx.x, tile = blockIdx.x;
    u32 x = tile % args.camera.tiles_x * TILE + thread % TILE,
        y = tile / args.camera.tiles_x * TILE + thread / TILE;
    bool inside = x < args.camera.width && y < args.camera.height, done = !inside;
    float px = x + 0.5f, py = y + 0.5f;
    uint2 range = list_range(args.ranges, tile);
    int rounds = (range.y - range.x + BLOCK - 1) / BLOCK, left = range.y - range.x;
    float transmittance = 1.0f, red = 0.0f, green = 0.0f, blue = 0.0f;
    u32 contributor = 0, last_contributor = 0, blended = 0;
    // mark: loop batches
    for (int round = 0; round < rounds; ++round, left -= BLOCK) {
        // This barrier also keeps the next batch from overwriting this one.
        if (__syncthreads_count(done) == BLOCK) break;
        if ((int)thread < left)
            load_splat(batch, args, thread, args.pairs[range.x + round * BLOCK + thread]);
        __syncthreads();
        // mark: loop fragments
        for (int j = 0; !done && j < min(BLOCK, left); ++j) {
            ++contributor;
            float2 mean = batch.means[j];
            float4 conic = batch.conics[j];
            float dx = mean.x - px, dy = mean.y - py;
            float power = -0.5f * (conic.x * dx * dx + conic.z * dy * dy) - conic.y * dx * dy;
            float raw = conic.w * expf(power);
            // This drops NaN, which the minimum below would turn into the cap.
            if (!(raw >= ALPHA_MIN)) continue;
            float alpha = min(args.camera.alpha_max, raw);
            float next = transmittance * (1.0f - alpha);
            if (next < TRANSMITTANCE_MIN) {
                done = true;
                continue;
            }
            const Splat& splat = args.splats[batch.numbers[j]];
            red += splat.red * alpha * transmittance;
            green += splat.green * alpha * transmittance;
            blue += splat.blue * alpha * transmittance;
            transmittance = next;
            last_contributor = contributor;
            ++blended;
        }
    }
#if COUNT
    add_fragments(args.counters, inside ? contributor : 0, blended, thread % WARP);
#else
    if (inside) {
        u32 at = y * args.camera.width + x;
        write_pixel(args, at, transmittance, red, green, blue);
        if (args.stops) args.stops[at] = last_contributor;
    }
#endif
}
