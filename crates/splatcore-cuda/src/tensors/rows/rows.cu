// gather_rows, scatter_rows: rows of up to PARTS tensors, taken out and put back.
//
// Contract. With a part's `from` of `width` words a row, gather_rows writes row `rows[i]` of `from`
// to row i of `to`; scatter_rows writes row i of `from` to row `rows[i]` of `to`, whose other rows
// the caller has zeroed. A row that is not below `all` is left out.
//
// Launch. A thread a word, part by part, so that neighbouring threads write (gather) or read
// (scatter) neighbouring words; blocks of BLOCK.
//
// Bound. Memory: each word is read and written once.
//
// Now. Not measured alone (docs/results/python.md, packed).

#include "device.cuh"

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
