// rasterize_backward: gradients of `rasterize` (gsplat's rasterize_to_pixels, backward).
//
// Contract. Adds up in `sums`, zero before, what gradients of a loss need of each splat, given its
// gradients by the images, `v_render_colors` and `v_render_alphas`; `write_gradients` makes the
// gradients of it. Each pixel walks back from `last_ids`. With d_k = c_k . v, v the pixel's
// v_render_colors, the gradient by alpha_k is T_k d_k + (T_end (v_alpha - background . v) - sum of
// alpha_j T_j d_j over j behind k) / (1 - alpha_k); the bracket is one number a pixel, `rest`. No
// gradient goes through an alpha that alpha_max cut. A row of `sums` has, with u = alpha times the
// gradient by it and d = pixel - mean: u, u dx, u dy; u dx^2, u dx dy, u dy^2; CHANNELS gradients
// by the colour; the absolute values of the gradients by the mean, if wanted. With 3 channels that
// is a row of blend_backward.cuh, from which `write_gradients` makes gradients too.
//
// Launch. As rasterize.cu. A warp walks the splats that may count at its pixels. For ROWS of them
// its lanes, one a pixel, write u and alpha T to shared memory; then LANES lanes a splat sum over
// ROWS pixels each: a product of matrices. If D > CHANNELS, further channels are read from global
// memory. `write_gradients`: a thread a splat.
//
// Bound. Instructions: about 54 + CHANNELS a warp and splat that counts there, 24 for one that does
// not but may, and 28 + 1.6 CHANNELS for the sums of one that counts; of the latter COLUMNS / LANES
// are atomic additions, a warp and ROWS splats.
//
// Now. 0.94 ms for 3 channels of fox_220k at 1080x1920 on an H100 (docs/results/python.md).
// History: docs/log/python.md.

#include "tile_batches.cuh"

// Blocks that fit a multiprocessor: 64 registers a thread.
#define BLOCKS (CHANNELS > 8 ? 1 : 4)

#define WARPS (BLOCK / WARP)
#define ROWS (CHANNELS > 8 ? 4 : 8)  // splats that a warp adds up at a time
#define LANES (WARP / ROWS)          // of a splat then
#define PITCH (ROWS == 4 ? 32 : 36)  // floats a row of 32 pixels; reads are spread over the banks
#define HAS_FURTHER (CHANNELS == MAX_CHANNELS)  // others cover all channels
#define SHAPE_SUMS 6                      // of a row of sums, in front of those of its colours
#define ABSOLUTE (SHAPE_SUMS + CHANNELS)  // where its two absolute values begin
// Floats of a row of sums.
#define COLUMNS ((ABSOLUTE + 2 + LANES - 1) / LANES * LANES)

// Parameters of `rasterize_backward`; in Rust by the same name.
struct RasterizeBackwardParams {
    RasterScene scene;
    ReadOnly<float> colors;           // [M][D]
    const float* backgrounds;         // [I][D] or null
    u32 channels;                     // D
    u32 is_absolute;                  // whether absolute values are wanted
    ReadOnly<float> render_alphas;    // [I][height][width]
    ReadOnly<u32> last_ids;           // [I][height][width]
    ReadOnly<float> v_render_colors;  // [I][height][width][D]
    ReadOnly<float> v_render_alphas;  // [I][height][width], or null: 0
    float* sums;                      // [M][COLUMNS]
    float* v_colors;                  // [M][D]: channels from CHANNELS on are added to
};

// Parameters of `write_gradients`; in Rust by the same name.
struct WriteGradientsParams {
    ReadOnly<float> sums;       // [M][COLUMNS]
    ReadOnly<float> conics;     // [M][3]
    ReadOnly<float> opacities;  // [M]
    u32 splats, channels;       // M, D
    float* v_means2d;           // [M][2]
    float* v_means2d_abs;       // [M][2] or null
    float* v_conics;            // [M][3]
    float* v_colors;            // [M][D], the first CHANNELS
    float* v_opacities;         // [M]
};

// Adds up over the LANES lanes of a splat; lane l gets the sums of columns l, l + LANES, ... in
// values[0], values[1], ... A lane gives the half of its values that its partner keeps.
template <u32 HALF>
__device__ __forceinline__ void add_lanes(float (&values)[COLUMNS], u32 lane) {
    bool is_upper = lane & HALF;
#pragma unroll
    for (u32 j = 0; j < COLUMNS / LANES * (LANES / 2 / HALF); ++j)
#pragma unroll
        for (u32 r = 0; r < HALF; ++r) {
            float low = values[j * 2 * HALF + r], high = values[j * 2 * HALF + HALF + r];
            values[j * HALF + r] =
                (is_upper ? high : low) + __shfl_xor_sync(FULL_MASK, is_upper ? low : high, HALF);
        }
    if constexpr (HALF > 1) add_lanes<HALF / 2>(values, lane);
}

__device__ __forceinline__ u32 warp_max(u32 value) {
    for (u32 offset = WARP / 2; offset > 0; offset /= 2)
        value = max(value, __shfl_xor_sync(FULL_MASK, value, offset));
    return value;
}

// What a warp's lanes hand over for the sums of ROWS splats.
struct Rows {
    float (&u)[ROWS * PITCH];
    float (&weights)[ROWS * PITCH];
    const float2* centres;             // of the warp's pixels
    const float (*gradients)[PADDED];  // v_render_colors of these
};

// Adds the gradients by the colour's channels from CHANNELS on of the first `length` rows.
__device__ void add_further_channels(const RasterizeBackwardParams& args, const Rows& rows, u32 id,
                                     u32 length) {
    const u32 lane = threadIdx.x % WARP, row = lane / LANES, part = lane % LANES;
    u64 places[ROWS];
    float weights[ROWS];
#pragma unroll
    for (u32 i = 0; i < ROWS; ++i) {
        u32 pixel = part * ROWS + i;
        TilePixel at = tile_pixel(args.scene, threadIdx.x - lane + pixel);
        bool is_used = at.is_inside && row < length;
        places[i] = is_used ? at.pixel * args.channels : 0;
        weights[i] = is_used ? rows.weights[row * PITCH + pixel] : 0.0f;
    }
    for (u32 c = CHANNELS; c < args.channels; ++c) {
        float sum = 0.0f;
#pragma unroll
        for (u32 i = 0; i < ROWS; ++i)
            sum = fmaf(weights[i], args.v_render_colors[places[i] + c], sum);
        for (u32 offset = LANES / 2; offset > 0; offset /= 2)
            sum += __shfl_xor_sync(FULL_MASK, sum, offset);
        if (part == 0 && row < length) atomicAdd(args.v_colors + (u64)id * args.channels + c, sum);
    }
}

// Adds the sums of the first `length` rows to memory; `splat` is the one of the lane's row.
__device__ __forceinline__ void add_rows(const RasterizeBackwardParams& args, const Rows& rows,
                                         const BatchSplat& splat, u32 length) {
    const u32 lane = threadIdx.x % WARP, row = lane / LANES, part = lane % LANES;
    const Exponent& e = splat.exponent;
    float a = -2.0f / LOG2E * e.a, b = -1.0f / LOG2E * e.b, c = -2.0f / LOG2E * e.c;
    float values[COLUMNS] = {};
#pragma unroll
    for (u32 i = 0; i < ROWS; ++i) {
        u32 pixel = part * ROWS + i, at = row * PITCH + pixel;
        float u = rows.u[at], weight = rows.weights[at];
        float2 centre = rows.centres[pixel];
        float dx = centre.x - splat.x, dy = centre.y - splat.y, ux = u * dx, uy = u * dy;
        values[0] += u, values[1] += ux, values[2] += uy;
        if (args.is_absolute) {
            values[ABSOLUTE] += fabsf(fmaf(a, ux, b * uy));
            values[ABSOLUTE + 1] += fabsf(fmaf(b, ux, c * uy));
        }
        values[3] = fmaf(ux, dx, values[3]);
        values[4] = fmaf(ux, dy, values[4]);
        values[5] = fmaf(uy, dy, values[5]);
#pragma unroll
        for (u32 k = 0; k < CHANNELS; ++k)
            values[SHAPE_SUMS + k] = fmaf(weight, rows.gradients[pixel][k], values[SHAPE_SUMS + k]);
    }
    add_lanes<LANES / 2>(values, lane);
    if (row < length) {
        float* to = args.sums + (u64)splat.id * COLUMNS + part;
#pragma unroll
        for (u32 j = 0; j < COLUMNS / LANES; ++j) atomicAdd(to + j * LANES, values[j]);
    }
    if (HAS_FURTHER && args.channels > CHANNELS) add_further_channels(args, rows, splat.id, length);
}

// A thread's pixel on its way back.
struct Walk {
    float v[CHANNELS];  // v_render_colors
    float transmittance, rest;
    u32 end;  // behind the place of the last splat that may count; 0 without a pixel
};

__device__ __forceinline__ Walk start_walk(const RasterizeBackwardParams& args,
                                           const TilePixel& at) {
    Walk walk = {};
    walk.transmittance = 1.0f;
    if (!at.is_inside) return walk;
    const u32 channels = args.channels;
    const float* background = args.backgrounds ? args.backgrounds + (u64)at.image * channels : 0;
    const ReadOnly<float> v_pixel = {args.v_render_colors + at.pixel * channels};
    walk.end = args.last_ids[at.pixel] + 1;
    walk.transmittance = 1.0f - args.render_alphas[at.pixel];
    walk.rest = args.v_render_alphas ? args.v_render_alphas[at.pixel] : 0.0f;
#pragma unroll
    for (u32 c = 0; c < CHANNELS; ++c)
        if (c < channels) walk.v[c] = v_pixel[c];
    if (background)
        for (u32 c = 0; c < channels; ++c) walk.rest = fmaf(-background[c], v_pixel[c], walk.rest);
    walk.rest *= walk.transmittance;
    return walk;
}

// Steps over a fragment that counts; returns u and writes alpha T.
__device__ __forceinline__ float step_back(Walk& walk, const Fragment& fragment, float d,
                                           float& weight) {
    float inverse = reciprocal_approx(1.0f - fragment.alpha);
    walk.transmittance *= inverse;
    weight = fragment.alpha * walk.transmittance;
    float v_alpha = fmaf(walk.transmittance, d, walk.rest * inverse);
    walk.rest = fmaf(-weight, d, walk.rest);
    // Alpha is not cut here, so that it is opacity times falloff.
    return fragment.is_unclamped ? fragment.alpha * v_alpha : 0.0f;
}

extern "C" __global__ void __launch_bounds__(BLOCK, BLOCKS)
    rasterize_backward(const __grid_constant__ RasterizeBackwardParams args) {
    begin_kernel();
    __shared__ BatchSplat batch[BATCH];
    __shared__ __align__(16) float colors[BATCH][PADDED];
    __shared__ __align__(16) float gradients[BLOCK][PADDED];
    __shared__ float2 centres[BLOCK];
    __shared__ __align__(16) float all_rows[WARPS][2][ROWS * PITCH];
    __shared__ u32 block_end;
    const RasterScene& scene = args.scene;
    TilePixel at = tile_pixel(scene, threadIdx.x);
    if (at.begin >= at.end) return;
    const u32 lane = threadIdx.x % WARP, warp = threadIdx.x / WARP, channels = args.channels;
    const Rectangle rectangle = warp_rectangle(at);
    const float least = least_alpha(scene.alpha_max);
    Walk walk = start_walk(args, at);
    centres[threadIdx.x] = make_float2(at.x, at.y);
#pragma unroll
    for (u32 c = 0; c < CHANNELS; ++c) gradients[threadIdx.x][c] = walk.v[c];
    float (&u_rows)[ROWS * PITCH] = all_rows[warp][0],
                           (&weight_rows)[ROWS * PITCH] = all_rows[warp][1];
    const Rows rows = {u_rows, weight_rows, centres + warp * WARP, gradients + warp * WARP};
    const u32 own_row = lane / LANES * PITCH;
    if (threadIdx.x == 0) block_end = 0;
    __syncthreads();
    const u32 warp_end = warp_max(walk.end);
    if (lane == 0) atomicMax(&block_end, warp_end);
    __syncthreads();

    u32 count;
    for (u32 end = min(at.end, block_end); end > at.begin; end -= count) {
        count = min(end - at.begin, (u32)BATCH);
        __syncthreads();
        for (u32 k = threadIdx.x; k < count; k += blockDim.x) {
            batch[k] = batch_splat(scene, end - 1 - k);
            u64 row = (u64)batch[k].id * channels;
            for (u32 c = 0; c < CHANNELS; ++c)
                colors[k][c] = c < channels ? args.colors[row + c] : 0;
        }
        __syncthreads();
        // The first of the batch that may count for the warp, and for the pixel.
        const u32 warp_first = end - min(end, warp_end), pixel_first = end - min(end, walk.end);
        u32 row = 0, own = 0;  // where the next row begins, and the splat of the lane's row
        const BatchSplat* group = batch;
        const float (*group_colors)[PADDED] = colors;
        for (u32 first = 0; first < count; first += WARP, group += WARP, group_colors += WARP) {
            if (first + WARP <= warp_first) continue;
            u32 hits = splats_at(group, count - first, rectangle);
            if (first < warp_first) hits &= FULL_MASK << (warp_first - first);
            for (; hits; hits &= hits - 1) {
                u32 k = __ffs(hits) - 1;
                Fragment fragment = fragment_of(group[k], at, scene.alpha_max, least);
                bool is_counted = fragment.is_counted && first + k >= pixel_first;
                if (!__any_sync(FULL_MASK, is_counted)) continue;
                float u = 0.0f, weight = 0.0f;
                if (is_counted) {
                    float d = 0.0f;
#pragma unroll
                    for (u32 c = 0; c < CHANNELS; ++c) d = fmaf(group_colors[k][c], walk.v[c], d);
                    for (u32 c = CHANNELS; HAS_FURTHER && c < channels; ++c)
                        d = fmaf(args.colors[(u64)group[k].id * channels + c],
                                 args.v_render_colors[at.pixel * channels + c], d);
                    u = step_back(walk, fragment, d, weight);
                }
                u_rows[row + lane] = u;
                weight_rows[row + lane] = weight;
                if (row == own_row) own = first + k;
                row += PITCH;
                if (row < ROWS * PITCH) continue;
                __syncwarp();
                add_rows(args, rows, batch[own], ROWS);
                row = 0;
                __syncwarp();
            }
        }
        if (row == 0) continue;
        // Rows behind those that are written hold finite numbers or, at the start, nothing that
        // is used.
        __syncwarp();
        add_rows(args, rows, batch[own], row / PITCH);
        __syncwarp();
    }
}

extern "C" __global__ void __launch_bounds__(BLOCK)
    write_gradients(const __grid_constant__ WriteGradientsParams args) {
    begin_kernel();
    u64 m = (u64)blockIdx.x * BLOCK + threadIdx.x;
    if (m >= args.splats) return;
    float row[COLUMNS];
#pragma unroll
    for (u32 k = 0; k < COLUMNS; ++k) row[k] = args.sums[m * COLUMNS + k];
    float a = args.conics[3 * m], b = args.conics[3 * m + 1], c = args.conics[3 * m + 2];
    // A splat of no opacity counts nowhere.
    args.v_opacities[m] = row[0] == 0.0f ? 0.0f : row[0] / args.opacities[m];
    args.v_means2d[2 * m] = fmaf(a, row[1], b * row[2]);
    args.v_means2d[2 * m + 1] = fmaf(b, row[1], c * row[2]);
    if (args.v_means2d_abs) {
        args.v_means2d_abs[2 * m] = row[ABSOLUTE];
        args.v_means2d_abs[2 * m + 1] = row[ABSOLUTE + 1];
    }
    args.v_conics[3 * m] = -0.5f * row[3];
    args.v_conics[3 * m + 1] = -row[4];
    args.v_conics[3 * m + 2] = -0.5f * row[5];
#pragma unroll
    for (u32 k = 0; k < CHANNELS; ++k)
        if (k < args.channels) args.v_colors[m * args.channels + k] = row[SHAPE_SUMS + k];
}
