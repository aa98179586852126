// rasterize: images of any number of channels from lists of splats (gsplat's
// rasterize_to_pixels, forward).
//
// Contract. For each pixel, front to back over its tile's list: color = sum of c_k alpha_k T_k +
// T background, with T_k the product of (1 - alpha) in front of k; fragments are those of
// rasterizer.cuh. Writes `render_colors` [I][height][width][D], `render_alphas` = 1 - T and
// `last_ids`, the place in flatten_ids of the last splat that counted, 0 if none did. A masked tile
// is background. A launch makes CHANNELS channels from `first_channel` on; the others of its
// outputs are the same in every launch.
//
// A warp leaves out splats that count at none of its pixels, which are 8x4 for tiles of 8 or 16.
//
// Launch. A block a tile, a thread a pixel (tile_batches.cuh); shared memory BATCH * (32 + 4
// PADDED) bytes.
//
// Bound. Instructions: about 34 + CHANNELS a warp and splat that counts there, 23 for one that does
// not but may, 90 a warp and 32 splats of the list.
//
// Now. 0.33 ms for 3 channels of fox_220k at 1080x1920 on an H100 (docs/results/python.md).
// History: docs/log/python.md.

#include "tile_batches.cuh"

// Parameters of `rasterize`; in Rust by the same name.
struct RasterizeParams {
    RasterScene scene;
    ReadOnly<float> colors;    // [M][D]
    const float* backgrounds;  // [I][D] or null
    u32 channels;              // D
    u32 first_channel;
    float* render_colors;  // [I][height][width][D]
    float* render_alphas;  // [I][height][width]
    u32* last_ids;         // [I][height][width]
};

extern "C" __global__ void __launch_bounds__(BLOCK)
    rasterize(const __grid_constant__ RasterizeParams args) {
    begin_kernel();
    __shared__ BatchSplat batch[BATCH];
    __shared__ __align__(16) float colors[BATCH][PADDED];
    const RasterScene& scene = args.scene;
    TilePixel at = tile_pixel(scene, threadIdx.x);
    const Rectangle rectangle = warp_rectangle(at);
    u32 left = min(args.channels - args.first_channel, (u32)CHANNELS);
    float sum[CHANNELS] = {};
    float transmittance = 1.0f;
    u32 last = 0;
    bool is_done = !at.is_inside;
    const float least = least_alpha(scene.alpha_max);
    for (u32 begin = at.begin; begin < at.end; begin += BATCH) {
        // The barrier also keeps the batch until every thread is through with it.
        if (__syncthreads_and(is_done)) break;
        u32 count = min(at.end - begin, (u32)BATCH);
        for (u32 k = threadIdx.x; k < count; k += blockDim.x) {
            batch[k] = batch_splat(scene, begin + k);
            u64 row = (u64)batch[k].id * args.channels + args.first_channel;
            for (u32 c = 0; c < CHANNELS; ++c) colors[k][c] = c < left ? args.colors[row + c] : 0;
        }
        __syncthreads();
        const BatchSplat* group = batch;
        const float (*group_colors)[PADDED] = colors;
        for (u32 first = 0; first < count; first += WARP, group += WARP, group_colors += WARP) {
            if (__all_sync(FULL_MASK, is_done)) break;
            u32 hits = splats_at(group, count - first, rectangle);
            for (; hits && !is_done; hits &= hits - 1) {
                u32 k = __ffs(hits) - 1;
                Fragment fragment = fragment_of(group[k], at, scene.alpha_max, least);
                if (!fragment.is_counted) continue;
                float behind = transmittance * (1.0f - fragment.alpha);
                is_done = behind <= MIN_TRANSMITTANCE;
                if (is_done) break;
                float weight = fragment.alpha * transmittance;
#pragma unroll
                for (u32 c = 0; c < CHANNELS; ++c)
                    sum[c] = fmaf(group_colors[k][c], weight, sum[c]);
                transmittance = behind;
                last = begin + first + k;
            }
        }
    }
    if (!at.is_inside) return;
    args.render_alphas[at.pixel] = 1.0f - transmittance;
    args.last_ids[at.pixel] = last;
    float* pixel = args.render_colors + at.pixel * args.channels + args.first_channel;
    const float* background =
        args.backgrounds ? args.backgrounds + (u64)at.image * args.channels + args.first_channel
                         : nullptr;
#pragma unroll
    for (u32 c = 0; c < CHANNELS; ++c)
        if (c < left) pixel[c] = background ? fmaf(transmittance, background[c], sum[c]) : sum[c];
}
