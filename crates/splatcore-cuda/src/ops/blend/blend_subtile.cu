// blend, method `subtile`: culls by tile, then by the pixels of a warp.
//
// Contract. As blend_scalar.cu, with the same inputs, outputs and shapes. A list is of a 16x16
// tile. A warp owns 8x4 pixels of it and tests 32 splats at once, one a lane: does the ellipse
// alpha = 1/255 reach the warp's rectangle? It then walks only the splats that do.
// docs/methods/subtile.md. Twin: splatcore-cpu/src/blend.rs.
//   COUNT, DEPTH and CHECKPOINTS as in blend_scalar.cu.
//
// Launch. A block of 256 threads (8 warps) a tile. The list passes through 12 KB of shared memory,
// 256 splats at a time.
//
// Bound. Instructions: some 30 for 32 (splat, warp) tests and 24 for each splat that survives, of
// which an estimated 4.5 M are 108 M warp instructions (fox_220k). 71 to 75 % of the issue slots
// are busy; 182 M fragments are evaluated for 137 M blended.
//
// Now. 281 us for fox_220k at 1080x1920 on an H200. History: docs/log/kernels/blend-subtile.md.

#include "blend.cuh"
#include "subtile.cuh"

extern "C" __global__ void __launch_bounds__(BLOCK)
    blend(const __grid_constant__ BlendParams args) {
    begin_kernel();
    __shared__ Batch batch;
    if (args.counters->overflowed) return;
    u32 thread = threadIdx.x, lane = thread % WARP, warp = thread / WARP;
    u32 tile = blockIdx.x;
    u32 x0 = tile % args.camera.tiles_x * TILE + warp % 2 * SUBTILE_X,
        y0 = tile / args.camera.tiles_x * TILE + warp / 2 * SUBTILE_Y;
    u32 x = x0 + lane % SUBTILE_X, y = y0 + lane / SUBTILE_X;
    bool inside = x < args.camera.width && y < args.camera.height;
    float px = x + 0.5f, py = y + 0.5f;
    uint2 range = list_range(args.ranges, tile);
    float transmittance = 1.0f, red = 0.0f, green = 0.0f, blue = 0.0f;
    bool done = !inside;
    u32 evaluated = 0, blended = 0;
#if DEPTH
    float inverse_depth = 0.0f;
#endif
#if CHECKPOINTS
    u32 stop = range.y;
    u32 pixel = (y - tile / args.camera.tiles_x * TILE) * TILE + x % TILE;
    for (u32 k = thread; k < (range.y - range.x + WARP - 1) / WARP; k += BLOCK)
        args.bucket_tiles[range.x / WARP + tile + k] = tile + 1;
#endif
    for (u32 start = range.x; start < range.y; start += BLOCK) {
        // This barrier also keeps the next batch from overwriting this one.
        if (__syncthreads_and(done)) break;
        load_batch(batch, args, start, range.y);
        __syncthreads();
        u32 count = min(range.y - start, (u32)BLOCK);
        for (u32 group = 0; group < count; group += WARP) {
            if (__all_sync(FULL_MASK, done)) break;
#if CHECKPOINTS
            // The warp's 32 splats are a bucket.
            u32 place = start + group - range.x;
            if (place > 0 && !done)
                args.checkpoints[(u64)(range.x / WARP + place / WARP - 1) * BLOCK + pixel] =
                    make_float4(transmittance, red, green, blue);
#endif
            bool touches = group + lane < count &&
                           touches_subtile(batch.means[group + lane], batch.conics[group + lane],
                                           x0 + 0.5f, y0 + 0.5f);
            for (u32 left = __ballot_sync(FULL_MASK, touches); left; left &= left - 1) {
                u32 k = group + __ffs(left) - 1;
                float4 mean2d = batch.means[k], conic = batch.conics[k], colour = batch.colours[k];
                float exponent = log2_alpha(mean2d, conic, px, py);
                float raw = exp2_approx(exponent), alpha = fminf(raw, args.camera.alpha_max);
#if COUNT
                if (!done) ++evaluated;
#endif
                // The test of `raw` drops NaN, which the minimum above turned into the cap.
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
    add_fragments(args.counters, evaluated, blended, lane);
#else
    if (inside) {
        u32 at = y * args.camera.width + x;
        write_pixel(args, at, transmittance, red, green, blue);
#if DEPTH
        args.inverse_depths[at] = inverse_depth;
#endif
#if CHECKPOINTS
        args.stops[at] = stop;
#endif
    }
#endif
}
