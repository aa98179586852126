// list_drawn, gather_rows, scatter_rows: which splats are drawn, and rows of up to PARTS tensors,
// taken out and put back.
//
// Contract. list_drawn writes the splats whose radii are positive in ascending order, and their
// images, of which each has `per_image` splats in a row; places that are left get 0. With a part's
// `from` of `width` words a row, gather_rows writes row `rows[i]` of `from` to row i of `to`;
// scatter_rows writes row i of `from` to row `rows[i]` of `to`, whose other rows the caller has
// zeroed. A row that is not below `all` is left out.
//
// Launch. Blocks of BLOCK. list_drawn: ITEMS splats a thread, sums by a look-back over blocks. The
// others: a thread a word, part by part, so that neighbouring threads write (gather) or read
// (scatter) neighbouring words.
//
// Bound. Memory: each word is read and written once.
//
// Now. Not measured alone (docs/results/python.md, packed).

#include "block_scan.cuh"
#include "drawn.cuh"

// Parts of `MoveRowsParams`.
#define PARTS 8

// A tensor, its packed rows, and where its words end among those of all parts; in Rust by the same
// name.
struct MovedRows {
    const u32* from;
    u32* to;
    u64 end;
    u32 width;
};

// Parameters of both kernels; in Rust by the same name.
struct MoveRowsParams {
    ReadOnly<long long> rows;  // [n]
    u64 all;                   // rows of the tensors that are not packed
    u64 words;                 // of all packed tensors
    MovedRows parts[PARTS];
};

// Parameters of `list_drawn`; in Rust by the same name.
struct ListDrawnParams {
    ReadOnly<int> radii;  // [M][2]
    u32 splats;           // M
    u32 per_image;        // 1 at least
    u32 drawn;
    u32* states;        // a block: of the look-back, zero
    long long* rows;    // [drawn]
    long long* images;  // [drawn]
};

extern "C" __global__ void __launch_bounds__(BLOCK)
    list_drawn(const __grid_constant__ ListDrawnParams args) {
    begin_kernel();
    __shared__ u32 scratch[BLOCK / WARP], in_front;
    u32 thread = threadIdx.x, first = (blockIdx.x * BLOCK + thread) * ITEMS, found = 0, total;
#pragma unroll
    for (u32 k = 0; k < ITEMS; ++k)
        if (first + k < args.splats && is_drawn_with(args.radii, first + k)) found |= 1u << k;
    u32 at = block_scan(__popc(found), scratch, total);
    if (thread < WARP) {
        u32 earlier = look_back(args.states, blockIdx.x, total, thread);
        if (thread == 0) in_front = earlier;
    }
    __syncthreads();
    at += in_front;
    for (; found && at < args.drawn; found &= found - 1, ++at) {
        u32 splat = first + __ffs(found) - 1;
        args.rows[at] = splat;
        args.images[at] = splat / args.per_image;
    }
    // Places that no splat has: `drawn` is not their number.
    if (blockIdx.x + 1 < gridDim.x) return;
    for (u32 i = in_front + total + thread; i < args.drawn; i += BLOCK)
        args.rows[i] = args.images[i] = 0;
}

// A word of the packed tensors, and where it lies in the other tensor of its part.
struct Word {
    u32 part;
    u64 packed, place;
    bool is_there;
};

__device__ __forceinline__ Word word_of(const MoveRowsParams& args, u64 at) {
    Word word = {};
    while (at >= args.parts[word.part].end) ++word.part;
    word.packed = at - (word.part > 0 ? args.parts[word.part - 1].end : 0);
    u64 width = args.parts[word.part].width, row = word.packed / width;
    u64 place = (u64)args.rows[row];
    word.place = place * width + word.packed % width;
    word.is_there = place < args.all;
    return word;
}

extern "C" __global__ void __launch_bounds__(BLOCK)
    gather_rows(const __grid_constant__ MoveRowsParams args) {
    begin_kernel();
    u64 at = (u64)blockIdx.x * BLOCK + threadIdx.x;
    if (at >= args.words) return;
    Word word = word_of(args, at);
    const MovedRows& part = args.parts[word.part];
    if (word.is_there) part.to[word.packed] = part.from[word.place];
}

extern "C" __global__ void __launch_bounds__(BLOCK)
    scatter_rows(const __grid_constant__ MoveRowsParams args) {
    begin_kernel();
    u64 at = (u64)blockIdx.x * BLOCK + threadIdx.x;
    if (at >= args.words) return;
    Word word = word_of(args, at);
    const MovedRows& part = args.parts[word.part];
    if (word.is_there) part.to[word.place] = part.from[word.packed];
}
