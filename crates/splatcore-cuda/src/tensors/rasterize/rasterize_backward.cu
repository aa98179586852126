// rasterize_backward: gradients of `rasterize` (gsplat's rasterize_to_pixels, backward).
//
// Contract. Adds to `v_means2d`, `v_conics`, `v_opacities`, `v_colors`, and `v_means2d_abs` if it
// is not null (the sum of the absolute values over pixels), all zero before, the gradients of a
// loss whose gradients by the images are `v_render_colors` and `v_render_alphas`. Each pixel walks
// back from `last_ids`. With d_k = c_k . v, v the pixel's v_render_colors, the gradient by alpha_k
// is T_k d_k + (T_end (v_alpha - background . v) - sum of alpha_j T_j d_j over j behind k) /
// (1 - alpha_k); the bracket is one number a pixel, `rest`. No gradient goes through an alpha that
// alpha_max cut.
//
// Launch. As rasterize.cu. If D > CHANNELS, further channels are read from global memory.
//
// Bound. Instructions: for a warp and splat, 16 shuffles and as many selections for each 16 sums,
// and one atomic addition by 16 lanes.
//
// Now. Not measured.

#include "sums.cuh"
#include "tile_batches.cuh"

// Sums of a splat in front of those of its colours: opacity, mean, |mean|, conic.
#define SHAPE_SUMS 8

// Parameters of `rasterize_backward`; in Rust by the same name.
struct RasterizeBackwardParams {
    RasterScene scene;
    ReadOnly<float> colors;           // [M][D]
    const float* backgrounds;         // [I][D] or null
    u32 channels;                     // D
    ReadOnly<float> render_alphas;    // [I][height][width]
    ReadOnly<u32> last_ids;           // [I][height][width]
    ReadOnly<float> v_render_colors;  // [I][height][width][D]
    ReadOnly<float> v_render_alphas;  // [I][height][width]
    float* v_means2d;                 // [M][2]
    float* v_means2d_abs;             // [M][2] or null
    float* v_conics;                  // [M][3]
    float* v_colors;                  // [M][D]
    float* v_opacities;               // [M]
};

// Where a lane adds its sum: to `first` + stride * splat.
struct Target {
    float* first;  // null if the lane adds nothing
    u32 stride;
};

__device__ __forceinline__ Target shape_target(const RasterizeBackwardParams& args, u32 lane) {
    if (lane == 0) return {args.v_opacities, 1};
    if (lane <= 2) return {args.v_means2d + (lane - 1), 2};
    if (lane <= 4) return {args.v_means2d_abs ? args.v_means2d_abs + (lane - 3) : nullptr, 2};
    return {args.v_conics + (lane - 5), 3};
}

__device__ __forceinline__ void add(Target target, u32 splat, float sum) {
    if (target.first) atomicAdd(target.first + (u64)target.stride * splat, sum);
}

// v_opacity, v_mean2d, its absolute values and v_conic of a fragment, from its gradient by alpha.
__device__ __forceinline__ void shape_gradients(float (&values)[SUMS], const BatchSplat& splat,
                                                const Fragment& fragment, float v_alpha) {
    if (!fragment.is_unclamped) return;
    float dx = fragment.dx, dy = fragment.dy;
    float v_sigma = -splat.opacity * fragment.falloff * v_alpha;
    float v_x = v_sigma * fmaf(splat.a, dx, splat.b * dy);
    float v_y = v_sigma * fmaf(splat.b, dx, splat.c * dy);
    values[0] = fragment.falloff * v_alpha;
    values[1] = v_x, values[2] = v_y;
    values[3] = fabsf(v_x), values[4] = fabsf(v_y);
    values[5] = 0.5f * v_sigma * dx * dx;
    values[6] = v_sigma * dx * dy;
    values[7] = 0.5f * v_sigma * dy * dy;
}

extern "C" __global__ void __launch_bounds__(BLOCK)
    rasterize_backward(const __grid_constant__ RasterizeBackwardParams args) {
    begin_kernel();
    __shared__ BatchSplat batch[BATCH];
    __shared__ float colors[BATCH][CHANNELS];
    __shared__ u32 block_last;
    const RasterScene& scene = args.scene;
    TilePixel at = tile_pixel(scene);
    if (at.begin >= at.end) return;
    const u32 lane = threadIdx.x % WARP, channels = args.channels;
    const float* v_pixel = args.v_render_colors + at.pixel * channels;
    const float* background = args.backgrounds ? args.backgrounds + (u64)at.image * channels : 0;
    float v[CHANNELS] = {};
    float transmittance = 1.0f, rest = 0.0f;
    u32 last = 0;
    if (at.is_inside) {
        last = args.last_ids[at.pixel];
        transmittance = 1.0f - args.render_alphas[at.pixel];
        rest = args.v_render_alphas[at.pixel];
#pragma unroll
        for (u32 c = 0; c < CHANNELS; ++c)
            if (c < channels) v[c] = v_pixel[c];
        if (background)
            for (u32 c = 0; c < channels; ++c) rest = fmaf(-background[c], v_pixel[c], rest);
        rest *= transmittance;
    }
    if (threadIdx.x == 0) block_last = 0;
    __syncthreads();
    const u32 warp_last = warp_max(last);
    if (lane == 0) atomicMax(&block_last, warp_last);
    __syncthreads();

    const u32 colour_lane = lane - SHAPE_SUMS;  // of the first 16 sums
    Target target = {nullptr, 0};
    if (lane < SHAPE_SUMS)
        target = shape_target(args, lane);
    else if (lane < SUMS && colour_lane < channels)
        target = {args.v_colors + colour_lane, channels};

    u32 count;
    for (u32 end = min(at.end, block_last + 1); end > at.begin; end -= count) {
        count = min(end - at.begin, (u32)BATCH);
        __syncthreads();
        for (u32 k = threadIdx.x; k < count; k += blockDim.x) {
            batch[k] = batch_splat(scene, end - 1 - k);
            u64 row = (u64)batch[k].id * channels;
            for (u32 c = 0; c < CHANNELS; ++c)
                colors[k][c] = c < channels ? args.colors[row + c] : 0;
        }
        __syncthreads();
        for (u32 k = 0; k < count; ++k) {
            u32 place = end - 1 - k;
            if (place > warp_last) continue;
            BatchSplat splat = batch[k];
            Fragment fragment = fragment_of(splat, at, scene.alpha_max);
            bool is_counted = at.is_inside && place <= last && fragment.is_counted;
            if (!__any_sync(FULL_MASK, is_counted)) continue;
            const float* colour = args.colors + (u64)splat.id * channels;
            float values[SUMS] = {};
            float weight = 0.0f;
            if (is_counted) {
                float inverse = 1.0f / (1.0f - fragment.alpha), d = 0.0f;
                transmittance *= inverse;
                weight = fragment.alpha * transmittance;
#pragma unroll
                for (u32 c = 0; c < CHANNELS; ++c) d = fmaf(colors[k][c], v[c], d);
                for (u32 c = CHANNELS; c < channels; ++c) d = fmaf(colour[c], v_pixel[c], d);
                shape_gradients(values, splat, fragment, fmaf(transmittance, d, rest * inverse));
                rest = fmaf(-weight, d, rest);
            }
#pragma unroll
            for (u32 c = 0; c < CHANNELS && c < SUMS - SHAPE_SUMS; ++c)
                values[SHAPE_SUMS + c] = weight * v[c];
            add(target, splat.id, warp_sums(values, lane));
#pragma unroll
            for (u32 first = SUMS - SHAPE_SUMS; first < CHANNELS; first += SUMS) {
#pragma unroll
                for (u32 c = 0; c < SUMS; ++c)
                    values[c] = first + c < CHANNELS ? weight * v[(first + c) % CHANNELS] : 0.0f;
                u32 channel = first + lane;
                bool is_mine = lane < SUMS && channel < min(channels, (u32)CHANNELS);
                add({is_mine ? args.v_colors + channel : nullptr, channels}, splat.id,
                    warp_sums(values, lane));
            }
            for (u32 first = CHANNELS; first < channels; first += SUMS) {
#pragma unroll
                for (u32 c = 0; c < SUMS; ++c)
                    values[c] =
                        is_counted && first + c < channels ? weight * v_pixel[first + c] : 0;
                u32 channel = first + lane;
                bool is_mine = lane < SUMS && channel < channels;
                add({is_mine ? args.v_colors + channel : nullptr, channels}, splat.id,
                    warp_sums(values, lane));
            }
        }
    }
}
