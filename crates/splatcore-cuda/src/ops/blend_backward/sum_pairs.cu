// sum_pairs: adds up the rows of sums of a splat's pairs.
//
// Contract. Reads `pair_sums` ([pairs][12], f32; blend_backward.cuh says what a row holds: first
// the opacity's gradient) and writes `sums` ([visible][12], f32), row s for the splat of compacted
// index s. A splat's pairs are rows first_pairs[s] to first_pairs[s] + tile_counts[s] - 1. The
// order of additions is fixed: equal bits in every run. For the methods that write a row for each
// (tile, splat) pair. ABSOLUTE 1 also adds up, in columns 9 and 10, the absolute values of each
// pair's gradient of the 2D mean, without the factor ln 2 that all sums lack (AbsGS); only this
// reads `splats`.
//
// Launch. `sum_pairs`: 8 lanes a splat, blocks of 256, in depth order, which is the order of the
// rows: neighbouring lanes read neighbouring rows. `sum_long_pairs`: one block for each splat with
// more than LONG_LIST pairs, which `expand` queued: a few blocks with the nearest, largest splats
// would keep the rest of the card waiting.
//
// Bound. Memory: 48 bytes a pair; fox_220k has 1.35 M pairs, 65 MB, 16 us.
//
// Now. 45 us (fox_220k, 1080x1920, H200). History: docs/log/kernels/blend-backward.md

#include "splat.cuh"

// Threads; those of a splat, neighbours of one warp.
#define BLOCK 256  // tune: 64 128 256 512
#define LANES 8    // tune: 4 8 16 32
#define SUMS (9 + 2 * ABSOLUTE)

// The conic (a, b, c) of a splat, which only ABSOLUTE needs.
__device__ __forceinline__ float4 shape_of(const Splat* splats, u32 splat_index) {
#if ABSOLUTE
    return splat_row(splats, splat_index)[1];
#else
    return make_float4(0.0f, 0.0f, 0.0f, 0.0f);
#endif
}

__device__ __forceinline__ void add_row(ReadOnly<float4> rows, u64 row, float4 shape,
                                        float* total) {
    float4 a = rows[3 * row], b = rows[3 * row + 1];
    float c = ReadOnly<float>{(const float*)(rows + 3 * row + 2)}[0];
    total[0] += a.x;
    total[1] += a.y;
    total[2] += a.z;
    total[3] += a.w;
    total[4] += b.x;
    total[5] += b.y;
    total[6] += b.z;
    total[7] += b.w;
    total[8] += c;
#if ABSOLUTE
    total[9] += fabsf(fmaf(2.0f * shape.x, a.y, shape.y * a.z));
    total[10] += fabsf(fmaf(2.0f * shape.z, a.z, shape.y * a.y));
#endif
}

__device__ __forceinline__ void write_row(float4* sums, u32 splat_index, const float* total) {
    sums[3ull * splat_index] = make_float4(total[0], total[1], total[2], total[3]);
    sums[3ull * splat_index + 1] = make_float4(total[4], total[5], total[6], total[7]);
#if ABSOLUTE
    sums[3ull * splat_index + 2] = make_float4(total[8], total[9], total[10], 0.0f);
#else
    sums[3ull * splat_index + 2] = make_float4(total[8], 0.0f, 0.0f, 0.0f);
#endif
}

// Parameters of `sum_pairs` and `sum_long_pairs`; in Rust by the same name.
struct SumPairsParams {
    ReadOnly<u32> order;         // compacted indices by depth
    ReadOnly<u32> long_splats;   // the long-list queue: compacted indices
    ReadOnly<u32> first_pairs;   // number of the first pair of each compacted index
    ReadOnly<u32> tile_counts;   // pairs of each compacted index
    ReadOnly<float4> pair_sums;  // a row of 12 floats for each pair
    const Splat* splats;         // by compacted index
    const Counters* counters;
    float4* sums;  // a row of 12 floats for each compacted index
};
extern "C" __global__ void __launch_bounds__(BLOCK)
    sum_pairs(const __grid_constant__ SumPairsParams args) {
    begin_kernel();
    if (args.counters->overflowed) return;  // a buffer overflowed: the frame is void
    u32 visible = args.counters->visible;
    u32 place = blockIdx.x * (BLOCK / LANES) + threadIdx.x / LANES, part = threadIdx.x % LANES;
    if (place - threadIdx.x % WARP / LANES >= visible) return;
    bool valid = place < visible;
    u32 splat_index = valid ? args.order[place] : 0;
    u32 first = valid ? args.first_pairs[splat_index] : 0,
        count = valid ? args.tile_counts[splat_index] : 0;
    float4 shape = shape_of(args.splats, splat_index);
    float total[SUMS] = {};
    if (count <= LONG_LIST)
        for (u32 k = part; k < count; k += LANES) add_row(args.pair_sums, first + k, shape, total);
#pragma unroll
    for (int i = 0; i < SUMS; ++i)
        for (int offset = LANES / 2; offset > 0; offset /= 2)
            total[i] += __shfl_xor_sync(FULL_MASK, total[i], offset);
    if (valid && part == 0 && count <= LONG_LIST) write_row(args.sums, splat_index, total);
}

extern "C" __global__ void __launch_bounds__(BLOCK)
    sum_long_pairs(const __grid_constant__ SumPairsParams args) {
    begin_kernel();
    __shared__ float parts[BLOCK / WARP][SUMS];
    if (args.counters->overflowed) return;
    u32 longs = args.counters->longs, lane = threadIdx.x % WARP, warp = threadIdx.x / WARP;
    for (u32 item = blockIdx.x; item < longs; item += gridDim.x) {
        u32 splat_index = args.long_splats[item], first = args.first_pairs[splat_index],
            count = args.tile_counts[splat_index];
        float4 shape = shape_of(args.splats, splat_index);
        float total[SUMS] = {};
        for (u32 k = threadIdx.x; k < count; k += BLOCK)
            add_row(args.pair_sums, first + k, shape, total);
#pragma unroll
        for (int i = 0; i < SUMS; ++i) {
            total[i] = warp_sum(total[i]);
            if (lane == 0) parts[warp][i] = total[i];
        }
        __syncthreads();
        if (threadIdx.x == 0) {
            for (int i = 0; i < SUMS; ++i) {
                total[i] = 0.0f;
                for (u32 w = 0; w < BLOCK / WARP; ++w) total[i] += parts[w][i];
            }
            write_row(args.sums, splat_index, total);
        }
        __syncthreads();
    }
}
