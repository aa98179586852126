// blend, method `scalar`: one thread a pixel, which walks its tile's whole list.
//
// Contract. Blends each tile's list front to back: C = sum c_i alpha_i T_i, T_i the product of 1 -
// alpha_j in front (Kerbl et al. 2023, equation 3, and its rasterizer). `ranges` says which part
// of `pairs` is a tile's list; an entry is the index of a compacted splat, or the number that
// `pair_splats` maps to one. Writes `image` ([3][height][width], f32) over the background and
// `transmittances` ([height][width]). Twin: splatcore-cpu/src/blend_scalar.rs.
//   COUNT 1 counts fragments, and (warp, splat) pairs as blend_backward_atomic.cu walks them, and
//   writes no image.
//   DEPTH 1 also sums 1/z with the weights of the colours, into `inverse_depths`
//   ([height][width]).
//   CHECKPOINTS 1 writes what blend_backward_gaussian_parallel.cu reads: bucket_tiles[bucket] =
//   tile + 1; checkpoints[...][pixel of the tile] = (transmittance, colour) before every bucket of
//   32 splats but a tile's first, where the pixel goes on; stops[pixel] = the position in the
//   sorted pairs where the pixel stopped.
//
// Launch. A block of 256 threads a tile, one thread a pixel. The list passes through 12 KB of
// shared memory, 256 splats at a time.
//
// Bound. Instructions: about 22 for a warp and splat of the tile's list. 1.4 M pairs times 8 warps
// are 11 M such visits, 250 M warp instructions, 240 us at full rate (fox_220k, an estimate).
//
// Now. 317 us (`exact`, fox_220k, 1080x1920, H200). History: docs/log/kernels/blend-scalar.md.

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
#if DEPTH
    float inverse_depth = 0.0f;
#endif
#if COUNT
    __shared__ u32 blending[BLOCK];  // bit w: a pixel of warp w blends the splat of the batch
    u32 warps_visited = 0, warps_blended = 0;
#endif
#if CHECKPOINTS
    u32 stop = range.y;
    for (u32 k = thread; k < (range.y - range.x + WARP - 1) / WARP; k += BLOCK)
        args.bucket_tiles[range.x / WARP + tile + k] = tile + 1;
#endif
    for (u32 start = range.x; start < range.y; start += BLOCK) {
        // This barrier also keeps the next batch from overwriting this one.
        if (__syncthreads_and(done)) break;
        load_batch(batch, args, start, range.y);
#if COUNT
        blending[thread] = 0;
#endif
        __syncthreads();
        u32 count = min(range.y - start, (u32)BLOCK);
        for (u32 k = 0; k < count && !done; ++k) {
#if CHECKPOINTS
            u32 place = start + k - range.x;
            if (place % WARP == 0 && place > 0)
                args.checkpoints[(u64)(range.x / WARP + place / WARP - 1) * BLOCK + thread] =
                    make_float4(transmittance, red, green, blue);
#endif
            float4 mean2d = batch.means[k], conic = batch.conics[k];
            float exponent = log2_alpha(mean2d, conic, px, py);
            float raw = exp2_approx(exponent);
            ++evaluated;
            // This drops NaN, which the minimum below would turn into the cap.
            if (!(raw >= ALPHA_MIN)) continue;
            float alpha = fminf(raw, args.camera.alpha_max);
            float next = fmaf(-alpha, transmittance, transmittance);
            if (next < TRANSMITTANCE_MIN) {
                done = true;
#if CHECKPOINTS
                stop = start + k;
#endif
                break;
            }
            ++blended;
#if COUNT
            atomicOr(&blending[k], 1u << thread / WARP);
#endif
            float weight = alpha * transmittance;
            float4 colour = batch.colours[k];
            red = fmaf(weight, colour.x, red);
            green = fmaf(weight, colour.y, green);
            blue = fmaf(weight, colour.z, blue);
#if DEPTH
            inverse_depth = fmaf(weight, colour.w, inverse_depth);
#endif
            transmittance = next;
        }
#if COUNT
        __syncthreads();
        warps_blended += __popc(blending[thread]);
        if (thread % WARP == 0) warps_visited += count;
#endif
    }
#if COUNT
    if (!inside) evaluated = 0;
    add_warps(args.counters, warps_visited, warps_blended, thread % WARP);
    add_fragments(args.counters, evaluated, blended, thread % WARP);
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
