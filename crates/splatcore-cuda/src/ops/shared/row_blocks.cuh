// Rows of the state that a rank has: blocks of 2^bits rows that the ranks take in turns
// (peers/shards.rs). A rank without others has all.

#pragma once
#include "device.cuh"

// In Rust by the same name.
struct RowBlocks {
    u32 bits;
    u32 rank;
    u32 ranks;
};

// The row of the state that is a rank's row `own`. Rows of a warp are neighbours, as a block has
// whole warps.
__device__ __forceinline__ u32 row_of(u32 own, RowBlocks blocks) {
    return own + (((own >> blocks.bits) * (blocks.ranks - 1) + blocks.rank) << blocks.bits);
}
