// sky: the colour of the ray's direction behind what was blended, and what the sky learns of it.
//
// Contract. Images and gradients are [3][height][width], f32; a sky's numbers are [COEFFICIENTS][3]
// f32. A pixel's ray is a pinhole's, or `rays` ([height][width][3], camera axes, unit length; of a
// lens). Formulas: splatcore-core/src/sky.rs; CPU twin: splatcore-cpu/src/sky.rs.
// - put_sky: adds transmittance times the sky's colour to `image`. `blend_backward` takes all that
//   lies behind a fragment from the image, so that it needs to know nothing of the sky.
// - sky_sums: sums over a block's pixels of the gradients of the numbers, given the image's.
// - sky_gradient: adds the blocks' sums in a fixed order (f64).
// - update_sky: Adam's step by the mean over the frames of a step.
// All return if a buffer overflowed: there is no image then.
// Constants: BLOCK, BATCH, COEFFICIENTS, DEGREE; those of colour_rows.cuh.
//
// Launch. put_sky: a thread a pixel. sky_sums: blocks of 256; BATCH times, a thread makes the
// harmonics of a pixel, then each of 4 NUMBERS threads adds up a number over a quarter of the
// pixels. sky_gradient: 32 warps. update_sky: a thread a number.
//
// Bound. put_sky: memory, 28 bytes a pixel. sky_sums: shared memory, two reads for each product of
// a pixel and a number.

#include "splat.cuh"
#include "block_sum.cuh"
#include "colour_rows.cuh"

#define NUMBERS (3 * COEFFICIENTS)
#define QUARTERS 4
// Planes in shared memory are apart by an odd number of words, for threads that read one pixel.
#define PITCH (BLOCK + 1)

// The harmonics in the direction of a pixel's ray.
__device__ __forceinline__ void sky_basis(const Camera& camera, ReadOnly<float> rays, u32 pixel,
                                          float* basis) {
    Vec3 own;
    if (rays.address) {
        own = {rays[3ull * pixel], rays[3ull * pixel + 1], rays[3ull * pixel + 2]};
    } else {
        own.x = (float(pixel % camera.width) + 0.5f - camera.centre[0]) / camera.focal[0];
        own.y = (float(pixel / camera.width) + 0.5f - camera.centre[1]) / camera.focal[1];
        own.z = 1.0f;
        const float inverse = 1.0f / sqrtf(dot(own, own));
        own = {own.x * inverse, own.y * inverse, own.z * inverse};
    }
    const float* r = camera.rotation;
    sh_basis(
        DEGREE,
        {dot({r[0], r[3], r[6]}, own), dot({r[1], r[4], r[7]}, own), dot({r[2], r[5], r[8]}, own)},
        basis);
}

// Parameters of `put_sky`; in Rust by the same name.
struct PutSkyParams {
    float* image;                    // [3][height][width]
    ReadOnly<float> transmittances;  // [height][width]
    ReadOnly<float> numbers;         // [COEFFICIENTS][3]
    ReadOnly<float> rays;            // null of a pinhole
    Camera camera;
    const Counters* counters;
};
extern "C" __global__ void __launch_bounds__(BLOCK)
    put_sky(const __grid_constant__ PutSkyParams args) {
    begin_kernel();
    if (args.counters->overflowed) return;
    __shared__ float numbers[NUMBERS];
    if (threadIdx.x < NUMBERS) numbers[threadIdx.x] = args.numbers[threadIdx.x];
    __syncthreads();
    const u32 pixels = args.camera.width * args.camera.height, i = blockIdx.x * BLOCK + threadIdx.x;
    if (i >= pixels) return;
    float basis[COEFFICIENTS];
    sky_basis(args.camera, args.rays, i, basis);
    const float transmittance = args.transmittances[i];
#pragma unroll
    for (u32 c = 0; c < 3; ++c) {
        float colour = 0.5f;
#pragma unroll
        for (u32 k = 0; k < COEFFICIENTS; ++k) colour = fmaf(basis[k], numbers[3 * k + c], colour);
        args.image[c * pixels + i] = fmaf(transmittance, colour, args.image[c * pixels + i]);
    }
}

// Parameters of `sky_sums`; in Rust by the same name.
struct SkySumsParams {
    ReadOnly<float> gradient;        // [3][height][width]
    ReadOnly<float> transmittances;  // [height][width]
    ReadOnly<float> rays;            // null of a pinhole
    float* partials;                 // [NUMBERS][blocks]
    Camera camera;
    const Counters* counters;
};
extern "C" __global__ void __launch_bounds__(BLOCK)
    sky_sums(const __grid_constant__ SkySumsParams args) {
    begin_kernel();
    if (args.counters->overflowed) return;
    __shared__ float basis[COEFFICIENTS][PITCH];
    __shared__ float by_colour[3][PITCH];
    __shared__ float quarters[QUARTERS][NUMBERS];
    const u32 pixels = args.camera.width * args.camera.height, thread = threadIdx.x;
    const u32 number = thread % NUMBERS, quarter = thread / NUMBERS;
    float sum = 0.0f;
#pragma unroll 1
    for (u32 j = 0; j < BATCH; ++j) {
        const u32 i = (blockIdx.x * BATCH + j) * BLOCK + thread;
        float own[COEFFICIENTS] = {}, left = 0.0f;
        if (i < pixels) {
            sky_basis(args.camera, args.rays, i, own);
            left = args.transmittances[i];
        }
#pragma unroll
        for (u32 k = 0; k < COEFFICIENTS; ++k) basis[k][thread] = own[k];
#pragma unroll
        for (u32 c = 0; c < 3; ++c)
            by_colour[c][thread] = i < pixels ? left * args.gradient[c * pixels + i] : 0.0f;
        __syncthreads();
        if (quarter < QUARTERS) {
            const float* ours = basis[number / 3];
            const float* by = by_colour[number % 3];
            const u32 first = quarter * (BLOCK / QUARTERS);
#pragma unroll 8
            for (u32 p = first; p < first + BLOCK / QUARTERS; ++p) sum = fmaf(ours[p], by[p], sum);
        }
        __syncthreads();
    }
    if (quarter < QUARTERS) quarters[quarter][number] = sum;
    __syncthreads();
    if (thread >= NUMBERS) return;
    sum = 0.0f;
#pragma unroll
    for (u32 q = 0; q < QUARTERS; ++q) sum += quarters[q][thread];
    args.partials[thread * gridDim.x + blockIdx.x] = sum;
}

// Parameters of `sky_gradient`; in Rust by the same name.
struct SkyGradientParams {
    ReadOnly<float> partials;  // [NUMBERS][blocks]
    float* gradient;           // [NUMBERS]
    u32 blocks;
    const Counters* counters;
};
extern "C" __global__ void __launch_bounds__(WARP* WARP)
    sky_gradient(const __grid_constant__ SkyGradientParams args) {
    begin_kernel();
    if (args.counters->overflowed) return;
    for (u32 n = threadIdx.x / WARP; n < NUMBERS; n += WARP) {
        double total = 0.0;
        for (u32 i = threadIdx.x % WARP; i < args.blocks; i += WARP)
            total += args.partials[n * args.blocks + i];
        total = warp_total(total);
        if (threadIdx.x % WARP == 0) args.gradient[n] = float(total);
    }
}

// Parameters of `update_sky`; in Rust by the same name.
struct UpdateSkyParams {
    ReadOnly<float> gradients;  // [frames][NUMBERS]
    ColourRows sky;
    u32 frames;
    const Counters* counters;
};
extern "C" __global__ void __launch_bounds__(NUMBERS)
    update_sky(const __grid_constant__ UpdateSkyParams args) {
    begin_kernel();
    if (args.counters->overflowed) return;
    const u32 taken = args.sky.seen[0] + 1;
    __syncthreads();
    if (threadIdx.x == 0) args.sky.seen[0] = taken;
    double sum = 0.0;
    for (u32 frame = 0; frame < args.frames; ++frame)
        sum += args.gradients[frame * NUMBERS + threadIdx.x];
    step_on(args.sky, threadIdx.x, float(sum / args.frames), taken, 0.0f);
}
