// Rows of the state that a rank has: blocks of 2^bits rows that the ranks take in turns
// (ops/shards.rs). A rank without others has all.

#pragma once
#include "device.cuh"

// In Rust by the same name.
struct RowBlocks {
    u32 bits;
    u32 rank;
    u32 ranks;
    u32 divided;  // 1: arrays that ranks divide have a rank's rows alone, one behind the other
};

// The row of the state that is a rank's row `own`. Rows of a warp are neighbours, as a block has
// whole warps.
__device__ __forceinline__ u32 row_of(u32 own, RowBlocks blocks) {
    return own + (((own >> blocks.bits) * (blocks.ranks - 1) + blocks.rank) << blocks.bits);
}

// The rank that has a row of the state.
__device__ __forceinline__ u32 rank_of(u32 row, RowBlocks blocks) {
    return (row >> blocks.bits) % blocks.ranks;
}

// Which of its rank's rows a row of the state is.
__device__ __forceinline__ u32 own_of(u32 row, RowBlocks blocks) {
    const u32 block = row >> blocks.bits;
    return row - ((block - block / blocks.ranks) << blocks.bits);
}

// Where a row of the state that is a rank's row `own` lies in arrays that ranks divide.
__device__ __forceinline__ u32 stored_row(u32 own, u32 row, RowBlocks blocks) {
    return blocks.divided ? own : row;
}
