// What the gradients of a camera's pose and of its intrinsics have in common: their parameters, the
// splats of a block of Gaussians, a splat's gradient, and sums in a fixed order. Constants: those
// of project_backward.cuh; BLOCK Gaussians of a block and THREADS threads; NUMBERS, of a gradient.

#pragma once
#include "block_sum.cuh"
#include "harmonic.cuh"
#include "project_backward.cuh"
#include "row_blocks.cuh"

// Parameters of the kernel that sums over a block's Gaussians; in Rust by the same name.
struct SumCameraParams {
    ReadOnly<float> means;           // [count][3], world
    ReadOnly<float> log_scales;      // [count][3]
    ReadOnly<float4> rotations;      // [count], quaternions (w, x, y, z)
    ReadOnly<float> opacity_logits;  // [count]
    ReadOnly<Harmonic> sh;           // [count][coefficients][3]
    ShapeColumns shape;
    ReadOnly<u32> gaussians;  // the number of Gaussians
    ReadOnly<u32> splat_of;   // compacted index of each row of `blocks`, see NO_SPLAT
    const Splat* splats;      // by compacted index
    ReadOnly<float4> sums;    // a row of 12 floats for each compacted index
    const Counters* counters;
    float* partials;   // [BLOCK rows of `blocks`][NUMBERS]
    RowBlocks blocks;  // the rows that are summed here
    Camera camera;
    Lens lens;  // unless LENS is 0
};

// Parameters of the kernel that adds the blocks; in Rust by the same name.
struct FinishCameraParams {
    ReadOnly<float> partials;  // [ranks][stride][NUMBERS]
    u32 count;                 // BLOCK rows each, of all ranks
    RowBlocks blocks;          // of any rank
    u32 stride;                // sums that there is room for of each rank
    const Counters* counters;
    double* gradient;  // [NUMBERS]
    Camera camera;
};

#define ROW_GROUPS (BLOCK / WARP)  // of rows, each summed by itself

// The Gaussians of a block that have splats, in the order of their rows.
struct Seen {
    u32 rows[BLOCK];    // in the block
    u32 splats[BLOCK];  // compacted indices
    u32 counts[ROW_GROUPS];
};

// Lists the Gaussians with splats from row `first` on, the rank's row `own`; returns how many there
// are. All threads of the block call it, and may read the list then.
__device__ __forceinline__ u32 list_seen(const SumCameraParams& args, u32 own, u32 first,
                                         Seen& seen) {
    const u32 lane = threadIdx.x % WARP, warp = threadIdx.x / WARP, rows = args.gaussians[0];
    u32 splats[BLOCK / THREADS], masks[BLOCK / THREADS];
#pragma unroll
    for (u32 k = 0; k < BLOCK / THREADS; ++k) {
        const u32 at = k * THREADS + threadIdx.x;
        splats[k] = first + at < rows ? args.splat_of[own + at] & ~IN_VIEW : NO_SPLAT;
    }
#pragma unroll
    for (u32 k = 0; k < BLOCK / THREADS; ++k) {
        masks[k] = __ballot_sync(FULL_MASK, splats[k] != NO_SPLAT);
        if (lane == 0) seen.counts[k * (THREADS / WARP) + warp] = __popc(masks[k]);
    }
    __syncthreads();
    u32 before = 0;
#pragma unroll
    for (u32 group = 0; group < ROW_GROUPS; ++group) {
        const u32 k = group / (THREADS / WARP);
        if (group % (THREADS / WARP) == warp && splats[k] != NO_SPLAT) {
            const u32 at = before + __popc(masks[k] & lanes_below());
            seen.rows[at] = group * WARP + lane;
            seen.splats[at] = splats[k];
        }
        before += seen.counts[group];
    }
    __syncthreads();
    return before;
}

// The gradient of Gaussian i by the sums of its splat.
struct GaussianGradient {
    Vec3 mean;
    float4 rotation;
    SplatGradient by;
    Vec3 by_colour;
};
__device__ __forceinline__ GaussianGradient gradient_of(const SumCameraParams& args, u32 i,
                                                        u32 splat_index) {
    float total[12];
    load_sums(args.sums, splat_index, total);
    const ReadOnly<float4> splat = splat_row(args.splats, splat_index);
    const float4 shape = splat[1];
    const u32 clamped = __float_as_uint(splat[2].w);
    const Vec3 mean = {args.means[3ull * i], args.means[3ull * i + 1], args.means[3ull * i + 2]};
    const Vec3 log_scale = {args.log_scales[3ull * i], args.log_scales[3ull * i + 1],
                            args.log_scales[3ull * i + 2]};
    const float4 rotation = args.rotations[i];
    return {mean, rotation,
            splat_gradient(
                total, shape.x, shape.y, shape.z, mean, log_scale, rotation, args.opacity_logits[i],
                SHAPE_COLUMNS ? load_shape(args.shape, i) : ShapeNumbers{}, args.camera, args.lens),
            colour_gradient(total, clamped)};
}

// Numbers of each of a block's Gaussians. Rows are apart by an odd number of 16-byte units, so that
// the threads of `add_block` read from different banks.
struct RowNumbers {
    float4 groups[NUMBERS][ROW_GROUPS][WARP / 4 + 1];
};

// Zeros for Gaussians without a splat.
__device__ __forceinline__ void clear(RowNumbers& numbers) {
    float4* all = &numbers.groups[0][0][0];
    for (u32 k = threadIdx.x; k < sizeof(RowNumbers) / sizeof(float4); k += THREADS)
        all[k] = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
}

__device__ __forceinline__ void put(RowNumbers& numbers, u32 row, const float (&values)[NUMBERS]) {
#pragma unroll
    for (u32 n = 0; n < NUMBERS; ++n)
        ((float*)numbers.groups[n][row / WARP])[row % WARP] = values[n];
}

__device__ __forceinline__ float4 add(float4 a, float4 b) {
    return make_float4(a.x + b.x, a.y + b.y, a.z + b.z, a.w + b.w);
}

// The sum of a group of rows, with the additions of `warp_sum`.
__device__ __forceinline__ float tree_sum(const float4* four) {
    const float4 even = add(add(four[0], four[4]), add(four[2], four[6])),
                 odd = add(add(four[1], four[5]), add(four[3], four[7]));
    const float4 all = add(even, odd);
    return (all.x + all.z) + (all.y + all.w);
}

// Adds the numbers of a block's Gaussians into its place in `partials`: a thread a number and group
// of rows, as many numbers at a time as there are threads for, then group by group.
__device__ __forceinline__ void add_block(const RowNumbers& numbers, u32 block, float* partials) {
    __syncthreads();
    const u32 group = threadIdx.x % ROW_GROUPS;
#pragma unroll
    for (u32 first = 0; first < NUMBERS; first += THREADS / ROW_GROUPS) {
        const u32 n = first + threadIdx.x / ROW_GROUPS;
        float of_group = 0.0f;
        if (n < NUMBERS) of_group = tree_sum(numbers.groups[n][group]);
        float sum = 0.0f;
#pragma unroll
        for (u32 g = 0; g < ROW_GROUPS; ++g)
            sum += __shfl_sync(FULL_MASK, of_group, threadIdx.x % WARP - group + g);
        if (group == 0 && n < NUMBERS) partials[(u64)block * NUMBERS + n] = sum;
    }
}

// Where the sum over rows i * BLOCK and on lies.
__device__ __forceinline__ u32 place_of(const FinishCameraParams& args, u32 i) {
    const u32 row = i * BLOCK;
    return rank_of(row, args.blocks) * args.stride + own_of(row, args.blocks) / BLOCK;
}

// The sum of all blocks of a number, by a warp; right in its lane 0.
__device__ __forceinline__ double add_blocks(const FinishCameraParams& args, u32 number, u32 lane) {
    double total = 0.0;
#pragma unroll 16
    for (u32 i = lane; i < args.count; i += WARP)
        total += args.partials[(u64)place_of(args, i) * NUMBERS + number];
    return warp_total(total);
}
