// rasterize_indices: which splats count at which pixel (gsplat's rasterize_to_indices_in_range).
//
// Contract. Each pixel goes through the batches range_start..range_end of its tile's list, a batch
// being tile_size^2 splats, beginning with its `transmittances`, as rasterize.cu does. With
// `starts` null `counts` gets the number of splats that count; else the places from starts[pixel]
// on get their Gaussian (splat % N) in `gaussian_ids` and the pixel in `pixel_ids`, front to back;
// places beyond `found` are not written.
//
// Launch. As rasterize.cu, with shared memory of 32 BATCH bytes.
//
// Bound. Instructions, about 20 a pixel and splat.
//
// Now. Not measured.

#include "tile_batches.cuh"

// Parameters of `rasterize_indices`; in Rust by the same name.
struct RasterizeIndicesParams {
    RasterScene scene;
    u32 range_start, range_end;
    u32 gaussians;                   // N
    ReadOnly<float> transmittances;  // [I][height][width]
    const long long* starts;         // [I][height][width] or null
    u32* counts;                     // [I][height][width], if starts is null
    long long* gaussian_ids;         // [found]
    long long* pixel_ids;            // [found]
    u64 found;                       // sum of counts
};

extern "C" __global__ void __launch_bounds__(BLOCK)
    rasterize_indices(const __grid_constant__ RasterizeIndicesParams args) {
    begin_kernel();
    __shared__ BatchSplat batch[BATCH];
    const RasterScene& scene = args.scene;
    TilePixel at = tile_pixel(scene, threadIdx.x);
    u64 list = at.end > at.begin ? at.end - at.begin : 0,
        pixels = scene.tile_size * scene.tile_size;
    u32 first = at.begin + (u32)min(list, args.range_start * pixels);
    u32 end = at.begin + (u32)min(list, args.range_end * pixels);
    float transmittance = at.is_inside ? args.transmittances[at.pixel] : 0.0f;
    long long start = at.is_inside && args.starts ? args.starts[at.pixel] : 0;
    u32 counted = 0;
    bool is_done = !at.is_inside;
    const float least = least_alpha(scene.alpha_max);
    for (u32 begin = first; begin < end; begin += BATCH) {
        if (__syncthreads_and(is_done)) break;
        u32 count = min(end - begin, (u32)BATCH);
        for (u32 k = threadIdx.x; k < count; k += blockDim.x)
            batch[k] = batch_splat(scene, begin + k);
        __syncthreads();
        for (u32 k = 0; k < count && !is_done; ++k) {
            Fragment fragment = fragment_of(batch[k], at, scene.alpha_max, least);
            if (!fragment.is_counted) continue;
            float behind = transmittance * (1.0f - fragment.alpha);
            is_done = behind <= MIN_TRANSMITTANCE;
            if (is_done) break;
            u64 place = (u64)start + counted++;
            if (args.starts && place < args.found) {
                args.gaussian_ids[place] = batch[k].id % args.gaussians;
                args.pixel_ids[place] = (long long)at.pixel;
            }
            transmittance = behind;
        }
    }
    if (at.is_inside && !args.starts) args.counts[at.pixel] = counted;
}
