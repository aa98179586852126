// colour, model `bilateral`: what a photo shows is A rgb + b, sliced from a grid of matrices.
//
// Contract. Equations: splatcore-core/src/colour/bilateral.rs, which is also the CPU's. A photo's
// numbers are [HIGH][WIDE][DEEP] vertices of 12, the rows of [A | b]; images and gradients
// [3][height][width], f32. Kernels as in colour_kernels.cuh, but that colour_gradient reads the
// gradient by what the loss saw, so it runs before colour_backward; and
// - gauge_colour subtracts the mean over the views from every view.
// No two threads add to one number, and sums have one order: a step repeats bit for bit.
//
// Launch. apply_colour and colour_backward: as there. colour_gradient: a block for each of the
// WIDE x HIGH columns of vertices, a warp for each vertex and quarter of the rows of pixels that
// reach it. update_colour: one block. gauge_colour: a thread for each number.
//
// Bound. colour_gradient: a pixel reaches 4 columns, whose 8 vertices each read its colour: 32
// reads, from the first-level cache mostly. The others: memory; gauge_colour moves 0.3 MB a view.
//
// Now. Not measured.

#include "block_sum.cuh"
#include "colour_params.cuh"

#define ROWS 12  // numbers of a vertex
#define ALONG_X (DEEP * ROWS)
#define ALONG_Y (WIDE * DEEP * ROWS)
#define VARIATION 10.0f  // weight of the total variation

__device__ __forceinline__ float luma_of(Rgb rgb) {
    return fmaf(0.299f, rgb.value[0], fmaf(0.587f, rgb.value[1], 0.114f * rgb.value[2]));
}

// From 0 to 1 to the number of a vertex and shares of a step beyond it.
__device__ __forceinline__ float position_of(float share, u32 vertices) {
    return fminf(fmaxf(share, 0.0f), 1.0f) * float(vertices - 1);
}
__device__ __forceinline__ float position_of(u32 pixel, u32 side, u32 vertices) {
    return position_of((float(pixel) + 0.5f) / float(side), vertices);
}

// The matrix of a pixel at these positions in the grid, and its derivative by luma. Exactly the
// grid's matrix where all vertices have one.
struct Sliced {
    float rows[ROWS], by_luma[ROWS];
};
__device__ __forceinline__ Sliced sliced(const float* grid, float x, float y, float luma) {
    const float z = position_of(luma, DEEP);
    const u32 column = min(u32(x), WIDE - 2u), row = min(u32(y), HIGH - 2u),
              depth = min(u32(z), DEEP - 2u);
    const float* first = grid + row * ALONG_Y + column * ALONG_X + depth * ROWS;
    x -= float(column), y -= float(row);
    const float beyond = z - float(depth);
    Sliced result;
#pragma unroll
    for (u32 n = 0; n < ROWS; ++n) {
        float value[2], slope[2];
#pragma unroll
        for (u32 j = 0; j < 2; ++j) {
            const float *left = first + j * ALONG_Y + n, *right = left + ALONG_X;
            const float left_step = left[ROWS] - left[0], right_step = right[ROWS] - right[0];
            const float from = fmaf(beyond, left_step, left[0]),
                        to = fmaf(beyond, right_step, right[0]);
            value[j] = fmaf(x, to - from, from);
            slope[j] = fmaf(x, right_step - left_step, left_step);
        }
        result.rows[n] = fmaf(y, value[1] - value[0], value[0]);
        result.by_luma[n] = float(DEEP - 1) * fmaf(y, slope[1] - slope[0], slope[0]);
    }
    return result;
}

// All kernels return if a buffer overflowed: there is no image then.

extern "C" __global__ void __launch_bounds__(BLOCK)
    apply_colour(const __grid_constant__ ApplyColourParams args) {
    begin_kernel();
    if (args.counters->overflowed) return;
    if (blockIdx.x == 0 && threadIdx.x == 0) {
        const float luma = luma_of(args.background);
        const Sliced middle =
            sliced(args.photo, position_of(0.5f, WIDE), position_of(0.5f, HIGH), luma);
        const Rgb behind = affine_of(middle.rows, args.background);
        for (u32 c = 0; c < 3; ++c) args.behind[c] = behind.value[c];
    }
    const u32 width = args.width, pixels = width * args.height;
    for (u32 j = 0; j < BATCH; ++j) {
        const u32 i = (blockIdx.x * BATCH + j) * BLOCK + threadIdx.x;
        if (i >= pixels) break;
        const Rgb rgb = rgb_at(args.image, pixels, i);
        const float x = position_of(i % width, width, WIDE),
                    y = position_of(i / width, args.height, HIGH);
        const Rgb seen = affine_of(sliced(args.photo, x, y, luma_of(rgb)).rows, rgb);
#pragma unroll
        for (u32 c = 0; c < 3; ++c) args.seen[c * pixels + i] = seen.value[c];
    }
}

extern "C" __global__ void __launch_bounds__(BLOCK)
    colour_backward(const __grid_constant__ ColourBackwardParams args) {
    begin_kernel();
    if (args.counters->overflowed) return;
    const u32 width = args.width, pixels = width * args.height;
#pragma unroll 1
    for (u32 j = 0; j < BATCH; ++j) {
        const u32 i = (blockIdx.x * BATCH + j) * BLOCK + threadIdx.x;
        if (i >= pixels) break;
        const Rgb rgb = rgb_at(args.image, pixels, i);
        const Rgb by_seen = rgb_at(args.gradient, pixels, i);
        const float* g = by_seen.value;
        const float luma = luma_of(rgb), x = position_of(i % width, width, WIDE),
                    y = position_of(i / width, args.height, HIGH);
        const Sliced at = sliced(args.photo, x, y, luma);
        float by_luma = 0.0f;
#pragma unroll
        for (u32 c = 0; c < 3; ++c)
            by_luma = fmaf(g[c], affine_of(at.by_luma, rgb).value[c], by_luma);
        if (!(luma >= 0.0f && luma <= 1.0f)) by_luma = 0.0f;
        const float of_luma[3] = {0.299f, 0.587f, 0.114f};
        float by[3];
#pragma unroll
        for (u32 k = 0; k < 3; ++k)
            by[k] =
                fmaf(at.rows[k], g[0],
                     fmaf(at.rows[4 + k], g[1], fmaf(at.rows[8 + k], g[2], of_luma[k] * by_luma)));
#pragma unroll
        for (u32 c = 0; c < 3; ++c) args.gradient[c * pixels + i] = by[c];
    }
}

// Pixels from `first` to before `end` of a side, which reach a vertex.
struct Reach {
    u32 first, end;
};
__device__ __forceinline__ Reach reach_of(u32 vertex, u32 vertices, u32 side) {
    const u32 steps = vertices - 1;
    return {vertex ? (vertex - 1) * side / steps : 0,
            min(((vertex + 1) * side + steps - 1) / steps, side)};
}

// The weight of a vertex along an axis.
__device__ __forceinline__ float weight_of(float position, u32 vertex) {
    return fmaxf(1.0f - fabsf(position - float(vertex)), 0.0f);
}

// Of the total variation, by the number `value` points at, along an axis.
__device__ __forceinline__ float variation_slope(const float* value, u32 vertex, u32 vertices,
                                                 u32 stride) {
    float off = 0.0f;
    if (vertex) off += value[0] - *(value - stride);
    if (vertex + 1 < vertices) off += value[0] - value[stride];
    return 2.0f * VARIATION / float(PHOTO_NUMBERS / vertices * (vertices - 1)) * off;
}

// Parameters of `colour_gradient`; in Rust by the same name.
struct GridGradientParams {
    ReadOnly<float> image;    // [3][height][width]
    ReadOnly<float> by_seen;  // [3][height][width]
    ReadOnly<float> photo;    // the photo's numbers
    float* gradient;          // [PHOTO_NUMBERS]
    u32 width;                // pixels
    u32 height;               // pixels
    const Counters* counters;
};
extern "C" __global__ void __launch_bounds__(QUARTERS * DEEP * WARP)
    colour_gradient(const __grid_constant__ GridGradientParams args) {
    begin_kernel();
    if (args.counters->overflowed) return;
    __shared__ float sums[QUARTERS][DEEP * ROWS];
    const u32 column = blockIdx.x % WIDE, row = blockIdx.x / WIDE, lane = threadIdx.x % WARP;
    const u32 depth = threadIdx.x / WARP % DEEP, quarter = threadIdx.x / WARP / DEEP;
    const u32 width = args.width, height = args.height, pixels = width * height;
    const Reach xs = reach_of(column, WIDE, width), ys = reach_of(row, HIGH, height);
    float sum[ROWS] = {};  // of the vertex's numbers
    bool is_reached = false;
    for (u32 y = ys.first + quarter; y < ys.end; y += QUARTERS) {
        const float of_row = weight_of(position_of(y, height, HIGH), row);
        for (u32 x = xs.first + lane; x < xs.end; x += WARP) {
            const Rgb rgb = rgb_at(args.image, pixels, y * width + x);
            const float weight = of_row * weight_of(position_of(x, width, WIDE), column) *
                                 weight_of(position_of(luma_of(rgb), DEEP), depth);
            if (weight == 0.0f) continue;
            is_reached = true;
            const Rgb by = rgb_at(args.by_seen, pixels, y * width + x);
            const float share[3] = {weight * by.value[0], weight * by.value[1],
                                    weight * by.value[2]};
            add_affine(share, rgb, sum);
        }
    }
    float* of_warp = sums[quarter] + depth * ROWS;
    if (__any_sync(FULL_MASK, is_reached)) {
        const LaneSums own = warp_sums<ROWS>(sum, lane, {0, ROWS});
        if (own.count) of_warp[own.first] = sum[0];
    } else if (lane < ROWS) {
        of_warp[lane] = 0.0f;
    }
    __syncthreads();
    const u32 n = threadIdx.x;
    if (n >= DEEP * ROWS) return;
    const u32 at = blockIdx.x * ALONG_X + n;
    const float* value = args.photo + at;
    float total = variation_slope(value, column, WIDE, ALONG_X) +
                  variation_slope(value, row, HIGH, ALONG_Y) +
                  variation_slope(value, n / ROWS, DEEP, ROWS);
    for (u32 q = 0; q < QUARTERS; ++q) total += sums[q][n];
    args.gradient[at] = total;
}

extern "C" __global__ void __launch_bounds__(UPDATE_BLOCK)
    update_colour(const __grid_constant__ UpdateColourParams args) {
    begin_kernel();
    if (args.counters->overflowed) return;
    const ColourRows& photos = args.photos;
    const u32 taken = photos.seen[photos.row] + 1;
    __syncthreads();
    if (threadIdx.x == 0) photos.seen[photos.row] = taken;
    for (u32 k = threadIdx.x; k < PHOTO_NUMBERS; k += UPDATE_BLOCK)
        step_on(photos, PHOTO_NUMBERS * photos.row + k, args.gradient[k], taken, 0.0f);
}

// Parameters of `gauge_colour`; in Rust by the same name.
struct GaugeColourParams {
    ColourRows photos;
    const Counters* counters;
};
extern "C" __global__ void __launch_bounds__(BLOCK)
    gauge_colour(const __grid_constant__ GaugeColourParams args) {
    begin_kernel();
    if (args.counters->overflowed) return;
    const u32 k = blockIdx.x * BLOCK + threadIdx.x;
    if (k >= PHOTO_NUMBERS) return;
    float* numbers = args.photos.numbers + k;
    const float start = k % ROWS % 5 == 0 ? 1.0f : 0.0f;  // the identity
    double off = 0.0;
#pragma unroll 8
    for (u32 i = 0; i < args.photos.rows; ++i) off += numbers[PHOTO_NUMBERS * i] - start;
    const float mean = float(off / args.photos.rows);
#pragma unroll 8
    for (u32 i = 0; i < args.photos.rows; ++i) numbers[PHOTO_NUMBERS * i] -= mean;
}
