// Whole rows of the state's arrays: copies, clears and compacts them.

#pragma once
#include "gaussian_actions.cuh"

// Copies `rows` rows word by word, TILE_ROWS rows at a time so that an index inside these fits 32
// bits. `from(k)` and `to(k)` are the addresses of row k. REPEATED: several rows may have the same
// target, to which they then write the same words.
template <bool REPEATED, typename Word, typename From, typename To>
__device__ __forceinline__ void copy_words(u32 rows, u32 row_bytes, From from, To to) {
    const u32 words = row_bytes / u32(sizeof(Word));
    for (u32 tile = blockIdx.x; tile < (rows + TILE_ROWS - 1) / TILE_ROWS; tile += gridDim.x) {
        const u32 first = tile * TILE_ROWS;
        const u32 here = min(u32(TILE_ROWS), rows - first) * words;
        for (u32 e = threadIdx.x; e < here; e += THREADS) {
            const u32 row = e / words, word = e - row * words;
            Word* target = (Word*)to(first + row) + word;
            const Word value = ((const Word*)from(first + row))[word];
            if (REPEATED)
                store_same(target, value);
            else
                *target = value;
        }
    }
}

template <bool REPEATED = false, typename From, typename To>
__device__ __forceinline__ void copy_each(u32 rows, u32 row_bytes, From from, To to) {
    if (row_bytes % 4 == 0)
        copy_words<REPEATED, u32>(rows, row_bytes, from, to);
    else if (row_bytes % 2 == 0)
        copy_words<REPEATED, u16>(rows, row_bytes, from, to);
    else
        copy_words<REPEATED, u8>(rows, row_bytes, from, to);
}

// In one array, for k < *wanted: row targets[k] becomes a copy of row sources[k / times]. If
// `targets` is null, the target is row base + *behind + k (*behind counts as 0 if null). No target
// may be a source.
// Parameters of `copy_rows`; in Rust by the same name.
struct CopyRowsParams {
    u8* array;
    u32 row_bytes;
    ReadOnly<u32> sources;
    u32 times;
    ReadOnly<u32> targets;
    u32 base;
    ReadOnly<u64> behind;
    ReadOnly<u64> wanted;  // how many, on the device
};
extern "C" __global__ void __launch_bounds__(THREADS)
    copy_rows(const __grid_constant__ CopyRowsParams args) {
    begin_kernel();
    const u32 first = args.base + (args.behind ? u32(args.behind[0]) : 0);
    copy_each(
        u32(args.wanted[0]), args.row_bytes,
        [&](u32 k) { return args.array + size_t(args.sources[k / args.times]) * args.row_bytes; },
        [&](u32 k) {
            return args.array + size_t(args.targets ? args.targets[k] : first + k) * args.row_bytes;
        });
}

// Sets *wanted rows to zero: the listed ones, or those from `base` on if `list` is null. A row may
// be listed several times.
// Parameters of `clear_rows`; in Rust by the same name.
struct ClearRowsParams {
    u8* array;
    u32 row_bytes;
    ReadOnly<u32> list;  // indices of Gaussians
    u32 base;
    ReadOnly<u64> wanted;  // how many, on the device
};
extern "C" __global__ void __launch_bounds__(THREADS)
    clear_rows(const __grid_constant__ ClearRowsParams args) {
    begin_kernel();
    __shared__ __align__(16) u32 zeros[256];
    if (threadIdx.x < 256) zeros[threadIdx.x] = 0;
    __syncthreads();
    copy_each<true>(
        u32(args.wanted[0]), args.row_bytes, [&](u32) { return (const u8*)zeros; },
        [&](u32 k) {
            return args.array + size_t(args.list ? args.list[k] : args.base + k) * args.row_bytes;
        });
}

// The number of rows of a piece of at most `most` rows from row `first` on, in an array of `rows`.
__device__ __forceinline__ u32 rows_of_piece(u32 first, u32 most, u64 rows) {
    return rows > first ? u32(min(rows - first, u64(most))) : 0;
}

// Copies a piece of the compacted array, which has *rows rows in all, to scratch: row r comes from
// row kept[r] for r < *listed, and from row rest + r - *listed otherwise.
// Parameters of `gather_rows`; in Rust by the same name.
struct GatherRowsParams {
    ReadOnly<u8> array;
    u8* scratch;
    u32 row_bytes;
    ReadOnly<u32> kept;  // indices of rows that stay
    ReadOnly<u64> listed;
    u32 rest;
    u32 first;
    u32 most;  // Gaussians there may be
    ReadOnly<u64> rows;
};
extern "C" __global__ void __launch_bounds__(THREADS)
    gather_rows(const __grid_constant__ GatherRowsParams args) {
    begin_kernel();
    const u32 before = u32(args.listed[0]);
    copy_each(
        rows_of_piece(args.first, args.most, args.rows[0]), args.row_bytes,
        [&](u32 k) {
            const u32 row = args.first + k;
            return args.array + size_t(row < before ? args.kept[row] : args.rest + (row - before)) *
                                    args.row_bytes;
        },
        [&](u32 k) { return args.scratch + size_t(k) * args.row_bytes; });
}

// Copies the piece from scratch to its place in the array.
// Parameters of `put_rows`; in Rust by the same name.
struct PutRowsParams {
    u8* array;
    ReadOnly<u8> scratch;
    u32 row_bytes;
    u32 first;
    u32 most;  // Gaussians there may be
    ReadOnly<u64> rows;
};
extern "C" __global__ void __launch_bounds__(THREADS)
    put_rows(const __grid_constant__ PutRowsParams args) {
    begin_kernel();
    copy_each(
        rows_of_piece(args.first, args.most, args.rows[0]), args.row_bytes,
        [&](u32 k) { return args.scratch + size_t(k) * args.row_bytes; },
        [&](u32 k) { return args.array + size_t(args.first + k) * args.row_bytes; });
}
