// colour: a photo's colour model between `blend` and `loss`; included behind a `struct Model`.
//
// Contract. Images and gradients are [3][height][width], f32; a photo's numbers are a row of
// [views][PHOTO_NUMBERS], a camera's of [cameras][CAMERA_NUMBERS]. CPU twin:
// splatcore-cpu/src/colour.rs.
// - apply_colour: what the loss sees, written beside the image, which `blend_backward` still reads;
//   and what becomes of the background, for photos with alpha.
// - colour_backward: the gradient by the image in place of that by what the loss saw; sums over a
//   block's pixels of that by each factor.
// - colour_gradient: adds the blocks' sums in a fixed order (f64) and makes the gradients of the
//   numbers of them, of the photo and then of the camera, with the penalty's.
// - update_colour: Adam's step on the photo's and the camera's numbers, and the gauge.
// Ignored pixels have a gradient of 0 and so add nothing.
// Constants: BLOCK, BATCH, WARPS; PHOTO_START (the numbers at the start), PULL (0: none),
// ZERO_MEAN; those of colour_rows.cuh.
//
// Launch. Blocks of 256 in the first two, of which a thread takes 8 pixels, 256 apart, so that
// accesses are whole lines and a warp adds up its sums once for 256 pixels. The others have one
// block: of WARPS warps, each of which adds up every WARPS-th sum, and then differentiates a part
// of the factors; of a warp for each of the photo's numbers.
//
// Bound. Memory: 24 bytes a pixel in the first, 36 in the second.
//
// Now: in each model's file.

#pragma once
#include "block_sum.cuh"
#include "colour_params.cuh"

// All kernels return if a buffer overflowed: there is no image then.

// A pixel that goes on by BLOCK pixels. Whole and half numbers of pixels are exact.
struct Walk {
    float x, y, step_x, step_y, end, width, share;

    __device__ __forceinline__ Walk(u32 pixel, u32 columns, u32 rows)
        : x(float(pixel % columns) + 0.5f - 0.5f * float(columns)),
          y(float(pixel / columns) + 0.5f - 0.5f * float(rows)),
          step_x(float(BLOCK % columns)),
          step_y(float(BLOCK / columns)),
          end(0.5f * float(columns)),
          width(float(columns)),
          share(1.0f / float(max(columns, rows))) {}

    __device__ __forceinline__ Place place() const { return {x * share, y * share}; }

    __device__ __forceinline__ void go_on() {
        const bool is_next = (x += step_x) > end;
        x -= is_next ? width : 0.0f;
        y += is_next ? step_y + 1.0f : step_y;
    }
};

// The factors, and what is derived of them, in shared memory: a warp for each part of them.
__device__ __forceinline__ void make_factors(const float* photo, const float* camera,
                                             float* factors) {
    const u32 part = threadIdx.x / WARP;
    if (threadIdx.x % WARP == 0 && part < Model::PARTS) {
        Model::factors(part, photo, camera, [=](u32 k, float factor) { factors[k] = factor; });
        Model::derive(part, factors);
    }
    __syncthreads();
}

extern "C" __global__ void __launch_bounds__(BLOCK)
    apply_colour(const __grid_constant__ ApplyColourParams args) {
    begin_kernel();
    if (args.counters->overflowed) return;
    __shared__ __align__(16) float factors[FACTORS + Model::DERIVED];
    make_factors(args.photo, args.camera, factors);
    if (blockIdx.x == 0 && threadIdx.x == 0) {
        const Rgb behind = Model::background(factors, args.background);
        for (u32 c = 0; c < 3; ++c) args.behind[c] = behind.value[c];
    }
    const u32 pixels = args.width * args.height;
    const u32 first = blockIdx.x * BATCH * BLOCK + threadIdx.x;
    Walk walk(first, args.width, args.height);
#pragma unroll 4
    for (u32 j = 0; j < BATCH; ++j, walk.go_on()) {
        const u32 i = first + j * BLOCK;
        if (i >= pixels) break;
        const Rgb rgb = rgb_at(args.image, pixels, i);
        const Rgb seen = Model::colour(factors, walk.place(), rgb);
#pragma unroll
        for (u32 c = 0; c < 3; ++c) args.seen[c * pixels + i] = seen.value[c];
    }
}

extern "C" __global__ void __launch_bounds__(BLOCK, Model::BLOCKS)
    colour_backward(const __grid_constant__ ColourBackwardParams args) {
    begin_kernel();
    if (args.counters->overflowed) return;
    __shared__ __align__(16) float factors[FACTORS + Model::DERIVED];
    __shared__ float of_warps[BLOCK / WARP][FACTORS];
    make_factors(args.photo, args.camera, factors);
    const u32 pixels = args.width * args.height;
    const u32 first = blockIdx.x * BATCH * BLOCK + threadIdx.x;
    Walk walk(first, args.width, args.height);
    float sums[FACTORS] = {};
#pragma unroll 1
    for (u32 j = 0; j < BATCH; ++j, walk.go_on()) {
        const u32 i = first + j * BLOCK;
        if (i >= pixels) break;
        const Rgb rgb = rgb_at(args.image, pixels, i);
        Rgb by = rgb_at(args.gradient, pixels, i);
        by = Model::backward(factors, walk.place(), rgb, by, sums);
#pragma unroll
        for (u32 c = 0; c < 3; ++c) args.gradient[c * pixels + i] = by.value[c];
    }
    const LaneSums own = warp_sums<FACTORS>(sums, threadIdx.x % WARP, {0, FACTORS});
#pragma unroll
    for (u32 k = 0; k < (FACTORS + WARP - 1) / WARP; ++k)
        if (k < own.count) of_warps[threadIdx.x / WARP][own.first + k] = sums[k];
    __syncthreads();
    if (threadIdx.x >= FACTORS) return;
    float sum = 0.0f;
    for (u32 w = 0; w < BLOCK / WARP; ++w) sum += of_warps[w][threadIdx.x];
    args.partials[threadIdx.x * gridDim.x + blockIdx.x] = sum;
}

// Numbers of which one, if it is there, has a derivative of 1.
struct Marked {
    const float* numbers;
    u32 marked;
    __device__ __forceinline__ Dual operator[](u32 k) const {
        return {numbers[k], k == marked ? 1.0f : 0.0f};
    }
};

// The gradient of a number, given those of the factors: by the derivatives of its part's factors,
// exactly.
__device__ __forceinline__ double number_gradient(u32 part, u32 number, const float* photo,
                                                  const float* camera, const double* totals) {
    const Marked of_photo = {photo, number}, of_camera = {camera, number - PHOTO_NUMBERS};
    double gradient = 0.0;
    Model::factors(part, of_photo, of_camera,
                   [&](u32 k, Dual factor) { gradient += totals[k] * factor.slope; });
    if (number >= PHOTO_NUMBERS) gradient += Model::penalty_slope(camera, number - PHOTO_NUMBERS);
    return gradient;
}

// Parameters of `colour_gradient`; in Rust by the same name.
struct ColourGradientParams {
    ReadOnly<float> partials;  // [FACTORS][blocks]
    ReadOnly<float> photo;     // the photo's numbers
    ReadOnly<float> camera;    // its camera's
    float* gradient;           // [PHOTO_NUMBERS + CAMERA_NUMBERS]
    u32 blocks;
    const Counters* counters;
};
extern "C" __global__ void __launch_bounds__(WARPS* WARP)
    colour_gradient(const __grid_constant__ ColourGradientParams args) {
    begin_kernel();
    if (args.counters->overflowed) return;
    __shared__ double totals[FACTORS];
    for (u32 n = threadIdx.x / WARP; n < FACTORS; n += WARPS) {
        double total = 0.0;
#pragma unroll 16
        for (u32 i = threadIdx.x % WARP; i < args.blocks; i += WARP)
            total += args.partials[n * args.blocks + i];
        total = warp_total(total);
        if (threadIdx.x % WARP == 0) totals[n] = total;
    }
    __syncthreads();
    const u32 part = threadIdx.x / WARP, place = threadIdx.x % WARP;
    if (part >= Model::PARTS || place >= Model::numbers_of(part)) return;
    const u32 number = Model::number_of(part, place);
    args.gradient[number] = float(number_gradient(part, number, args.photo, args.camera, totals));
}

extern "C" __global__ void __launch_bounds__(PHOTO_NUMBERS* WARP)
    update_colour(const __grid_constant__ UpdateColourParams args) {
    begin_kernel();
    if (args.counters->overflowed) return;
    const float starts[] = {PHOTO_START};
    const ColourRows& photos = args.photos;
    const u32 number = threadIdx.x / WARP, lane = threadIdx.x % WARP;
    const float start = starts[number];
    const u32 taken = photos.seen[photos.row] + 1;
    const u32 taken_of_camera = CAMERA_NUMBERS ? args.cameras.seen[args.cameras.row] + 1 : 0;
    __syncthreads();
    if (threadIdx.x == 0) {
        photos.seen[photos.row] = taken;
        if (CAMERA_NUMBERS) args.cameras.seen[args.cameras.row] = taken_of_camera;
    }
#if CAMERA_NUMBERS
    for (u32 k = threadIdx.x; k < CAMERA_NUMBERS; k += PHOTO_NUMBERS * WARP)
        step_on(args.cameras, CAMERA_NUMBERS * args.cameras.row + k,
                args.gradient[PHOTO_NUMBERS + k], taken_of_camera, 0.0f);
#endif

    double off = 0.0;  // of the other views from the start; with a pull, of all
#pragma unroll 4
    for (u32 i = lane; i < photos.rows; i += WARP)
        if (!ZERO_MEAN || i != photos.row)
            off += photos.numbers[PHOTO_NUMBERS * i + number] - start;
    off = warp_total(off);
    __syncwarp();  // lane 0 writes what all lanes have read
    if (lane == 0) {
        const float back = ZERO_MEAN ? 0.0f : PULL * float(off / photos.rows);
        const float stepped = step_on(photos, PHOTO_NUMBERS * photos.row + number,
                                      args.gradient[number], taken, back);
        off += stepped - start;
    }
    if (!ZERO_MEAN) return;
    __syncwarp();  // and another may read what it wrote
    const float mean = float(__shfl_sync(FULL_MASK, off, 0) / photos.rows);
    for (u32 i = lane; i < photos.rows; i += WARP)
        photos.numbers[PHOTO_NUMBERS * i + number] -= mean;
}
