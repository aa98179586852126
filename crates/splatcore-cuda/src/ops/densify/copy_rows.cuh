// Whole rows of the state's arrays: copies, clears and compacts them.

#pragma once
#include "gaussian_actions.cuh"
#include "row_blocks.cuh"

// Copies `rows` rows word by word, TILE_ROWS rows at a time so that an index inside these fits 32
// bits. `from(k)` and `to(k)` are the addresses of row k; one of them null: it is left alone.
// REPEATED: several rows may have the same target, to which they then write the same words.
template <bool REPEATED, typename Word, typename From, typename To>
__device__ __forceinline__ void copy_words(u32 rows, u32 row_bytes, From from, To to) {
    const u32 words = row_bytes / u32(sizeof(Word));
    for (u32 tile = blockIdx.x; tile < (rows + TILE_ROWS - 1) / TILE_ROWS; tile += gridDim.x) {
        const u32 first = tile * TILE_ROWS;
        const u32 here = min(u32(TILE_ROWS), rows - first) * words;
        for (u32 e = threadIdx.x; e < here; e += THREADS) {
            const u32 row = e / words, word = e - row * words;
            const u8* source_row = from(first + row);
            u8* target_row = to(first + row);
            if (!source_row || !target_row) continue;
            const Word value = ((const Word*)source_row)[word];
            if (REPEATED)
                store_same((Word*)target_row + word, value);
            else
                ((Word*)target_row)[word] = value;
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

// Row k of *wanted rows goes from row source_of(k) to row target_of(k). In Rust by the same name.
struct RowMoves {
    ReadOnly<u32> sources;  // each `times` after each other
    ReadOnly<u64> listed;   // so many are in the list, others are rows `rest` and on; null: all
    ReadOnly<u32> targets;  // null: rows base + *behind and on
    ReadOnly<u64> behind;   // null: 0
    ReadOnly<u64> wanted;   // how many, on the device
    u32 times;
    u32 rest;
    u32 base;
};

__device__ __forceinline__ u32 source_of(const RowMoves& moves, u32 k) {
    if (moves.listed && k >= moves.listed[0]) return moves.rest + (k - u32(moves.listed[0]));
    return moves.sources[k / moves.times];
}

__device__ __forceinline__ u32 target_of(const RowMoves& moves, u32 k) {
    if (moves.targets) return moves.targets[k];
    return moves.base + (moves.behind ? u32(moves.behind[0]) : 0) + k;
}

// A row in an array that `blocks` may divide; null if another rank has it.
template <typename Byte>
__device__ __forceinline__ Byte* row_at(Byte* array, u32 row, u32 row_bytes, RowBlocks blocks) {
    if (!blocks.divided) return array + size_t(row) * row_bytes;
    if (rank_of(row, blocks) != blocks.rank) return nullptr;
    return array + size_t(own_of(row, blocks)) * row_bytes;
}

// Moves rows inside an array of which all rows are here. No target may be a source.
// Parameters of `copy_rows`; in Rust by the same name.
struct CopyRowsParams {
    u8* array;
    u32 row_bytes;
    RowMoves moves;
};
extern "C" __global__ void __launch_bounds__(THREADS)
    copy_rows(const __grid_constant__ CopyRowsParams args) {
    begin_kernel();
    copy_each(
        u32(args.moves.wanted[0]), args.row_bytes,
        [&](u32 k) { return args.array + size_t(source_of(args.moves, k)) * args.row_bytes; },
        [&](u32 k) { return args.array + size_t(target_of(args.moves, k)) * args.row_bytes; });
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
    RowBlocks blocks;      // rows of the array
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
            const u32 row = args.list ? args.list[k] : args.base + k;
            return row_at(args.array, row, args.row_bytes, args.blocks);
        });
}

// The number of moves of a piece: those of `count` from move `first` on that there are.
__device__ __forceinline__ u32 moves_of_piece(u32 first, u32 count, u64 wanted) {
    return wanted > first ? u32(min(wanted - first, u64(count))) : 0;
}

// The place of a move in a piece's packed rows, of which each rank has `count`.
template <typename Byte>
__device__ __forceinline__ Byte* packed_row(Byte* packed, u32 rank, u32 k, u32 count,
                                            u32 row_bytes) {
    return packed + (size_t(rank) * count + k) * row_bytes;
}

// Parameters of `pack_rows` and `place_rows`; in Rust by the same name.
struct MovePieceParams {
    u8* array;
    u8* packed;  // [ranks][count] rows
    u32 row_bytes;
    RowMoves moves;
    u32 first;
    u32 count;         // moves of the piece
    RowBlocks blocks;  // rows of the array
};

// Copies the rows that a piece of the moves takes to `packed`, as far as they are here.
extern "C" __global__ void __launch_bounds__(THREADS)
    pack_rows(const __grid_constant__ MovePieceParams args) {
    begin_kernel();
    copy_each(
        moves_of_piece(args.first, args.count, args.moves.wanted[0]), args.row_bytes,
        [&](u32 k) {
            const u32 row = source_of(args.moves, args.first + k);
            return row_at((const u8*)args.array, row, args.row_bytes, args.blocks);
        },
        [&](u32 k) {
            return packed_row(args.packed, args.blocks.rank, k, args.count, args.row_bytes);
        });
}

// Copies the packed rows of a piece to where its moves put them, as far as those rows are here.
extern "C" __global__ void __launch_bounds__(THREADS)
    place_rows(const __grid_constant__ MovePieceParams args) {
    begin_kernel();
    copy_each(
        moves_of_piece(args.first, args.count, args.moves.wanted[0]), args.row_bytes,
        [&](u32 k) {
            const u32 rank = args.blocks.divided
                                 ? rank_of(source_of(args.moves, args.first + k), args.blocks)
                                 : 0;
            return packed_row((const u8*)args.packed, rank, k, args.count, args.row_bytes);
        },
        [&](u32 k) {
            const u32 row = target_of(args.moves, args.first + k);
            return row_at(args.array, row, args.row_bytes, args.blocks);
        });
}
