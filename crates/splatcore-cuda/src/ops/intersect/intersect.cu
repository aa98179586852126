// intersect: expands splats into (tile, splat) pairs in depth order.
//
// Contract. `order` are the splats' compacted indices (`splat`) by depth, `tile_counts` the tiles
// of each. `expand` writes the tile (`tiles`) and compacted index (`pair_splats`) of every pair,
// and its number (`pair_numbers`) if the backward pass wants it; `first_pairs` gets the first pair
// of each splat. A stable sort by tile then gives every tile its list front to back (Kerbl et al.
// 2023). Sets `overflowed` if the pairs overflow `pair_capacity`. Twin:
// splatcore-cpu/src/intersect.rs. Splats of more than LONG_LIST pairs go to the long-list queue
// (`long_splats`), and `expand_long` gives each a block: the nearest splats are often the largest,
// and a block of 256 of them would run long after the others.
//   INTERSECT: the method (footprint.cuh).
//
// Launch. A block of 256 threads for 256 splats; look-back over the blocks finds the position of
// their pairs. Work is shared out twice: a thread finds the interval of one row of one splat, 256
// rows at a time, then a thread writes one pair, so that a pair costs the same for small and large
// splats. 32 to 56 registers, by method.
//
// Bound. Instructions: some 70 a row and 35 a pair (two bisections of 8 steps): 1.35 M pairs and
// 0.6 M rows are some 3 M warp instructions (fox_220k).
//
// Now. 30 us for fox_220k at 1080x1920 with `exact` on an H200, both kernels. History:
// docs/log/kernels/intersect.md.

#include "footprint.cuh"
#include "block_scan.cuh"

// Parameters of `expand` and `expand_long`; in Rust by the same name.
struct ExpandParams {
    const Splat* splats;        // by compacted index
    ReadOnly<u32> order;        // compacted indices by depth
    ReadOnly<u32> tile_counts;  // pairs of each compacted index
    Camera camera;
    u32 pair_capacity;  // room in the lists
    u32* tiles;         // tile of each pair
    u32* pair_splats;   // compacted index of each pair number, or null
    u32* pair_numbers;  // 0, 1, 2, ..., for `sort`; null: not wanted
    u32* first_pairs;   // number of the first pair of each compacted index
    u32* long_splats;   // the long-list queue: compacted indices
    u32* states;        // of the look-back, zeroed
    Counters* counters;
};
extern "C" __global__ void __launch_bounds__(BLOCK)
    expand(const __grid_constant__ ExpandParams args) {
    begin_kernel();
    __shared__ Footprint footprints[BLOCK];
    __shared__ uint2 row_spans[BLOCK];  // rows of tiles of each splat
    __shared__ u32 splat_indices[BLOCK];
    __shared__ u32 row_starts[BLOCK];   // first of the block's rows of each splat
    __shared__ u32 pair_starts[BLOCK];  // first of the chunk's pairs of each row
    __shared__ u32 chunk_tiles[BLOCK];  // first tile of each row
    __shared__ u32 chunk_slots[BLOCK];
    __shared__ u32 chunk_shifts[BLOCK];
    __shared__ u32 shifts[BLOCK];  // pairs of long lists before each splat
    __shared__ u32 scratch[4][BLOCK / WARP];
    __shared__ u32 block_start;
    // Overflow: there are more pairs than there is room for, or `project` had more splats, and no
    // later kernel may change anything.
    u64 pairs = args.counters->pairs;
    if (blockIdx.x == 0 && threadIdx.x == 0) {
        args.counters->needed = max(args.counters->needed, pairs);
        args.counters->most_splats =
            max(args.counters->most_splats, args.counters->visible + args.counters->beyond);
        if (pairs > (u64)args.pair_capacity) args.counters->overflowed = 1;
    }
    if (pairs > (u64)args.pair_capacity || args.counters->overflowed) return;
    u32 visible = args.counters->visible;
    u32 first = blockIdx.x * BLOCK;
    if (first >= visible) return;
    u32 thread = threadIdx.x, lane = thread % WARP, warp = thread / WARP;
    bool valid = first + thread < visible;
    u32 splat_index = valid ? args.order[first + thread] : 0;
    u32 total_pairs, total_rows;
    u32 own_pairs = valid ? args.tile_counts[splat_index] : 0;
    bool is_long = own_pairs > LONG_LIST;
    u32 before = block_scan(own_pairs, scratch[0], total_pairs), long_pairs;
    shifts[thread] = block_scan(is_long ? own_pairs : 0, scratch[3], long_pairs);
    if (warp == 0) {
        u32 start = look_back(args.states, blockIdx.x, total_pairs, lane);
        if (lane == 0) block_start = start;
    }
    uint2 rows = make_uint2(0, 0);
    splat_indices[thread] = splat_index;
    if (valid) {
        footprints[thread] = make_footprint(args.splats[splat_index]);
        rows = footprint_rows(footprints[thread], args.camera);
    }
    if (is_long) {
        args.long_splats[atomicAdd(&args.counters->longs, 1u)] = splat_index;
        rows = make_uint2(0, 0);
    }
    row_spans[thread] = rows;
    row_starts[thread] = block_scan(rows.y - rows.x, scratch[1], total_rows);
    __syncthreads();
    u32 base = block_start;
    if (valid) args.first_pairs[splat_index] = base + before;

    for (u32 chunk = 0; chunk < total_rows; chunk += BLOCK) {
        u32 length = 0, k = chunk + thread;
        if (k < total_rows) {
            // Splats without rows share their start with the next splat; the last of them has the
            // row.
            u32 i = owner_of(row_starts, k), row = row_spans[i].x + k - row_starts[i];
            uint2 span = footprint_row(footprints[i], row, args.camera);
            length = span.y - span.x;
            chunk_tiles[thread] = row * args.camera.tiles_x + span.x;
            chunk_slots[thread] = splat_indices[i];
            chunk_shifts[thread] = shifts[i];
        }
        u32 in_chunk;
        pair_starts[thread] = block_scan(length, scratch[2], in_chunk);
        __syncthreads();
        for (u32 p = thread; p < in_chunk; p += BLOCK) {
            u32 r = owner_of(pair_starts, p), pair = base + p + chunk_shifts[r];
            args.tiles[pair] = chunk_tiles[r] + p - pair_starts[r];
            args.pair_splats[pair] = chunk_slots[r];
            if (args.pair_numbers) args.pair_numbers[pair] = pair;
        }
        base += in_chunk;
        // The next chunk overwrites the arrays that this one reads.
        __syncthreads();
    }
}

extern "C" __global__ void __launch_bounds__(BLOCK)
    expand_long(const __grid_constant__ ExpandParams args) {
    begin_kernel();
    __shared__ u32 pair_starts[BLOCK];
    __shared__ u32 chunk_tiles[BLOCK];
    __shared__ u32 scratch[BLOCK / WARP];
    if (args.counters->overflowed) return;
    u32 thread = threadIdx.x, longs = args.counters->longs;
    for (u32 item = blockIdx.x; item < longs; item += gridDim.x) {
        u32 splat_index = args.long_splats[item], base = args.first_pairs[splat_index];
        Footprint footprint = make_footprint(args.splats[splat_index]);
        uint2 rows = footprint_rows(footprint, args.camera);
        for (u32 chunk = rows.x; chunk < rows.y; chunk += BLOCK) {
            u32 row = chunk + thread;
            uint2 span = make_uint2(0, 0);
            if (row < rows.y) span = footprint_row(footprint, row, args.camera);
            chunk_tiles[thread] = row * args.camera.tiles_x + span.x;
            u32 in_chunk;
            pair_starts[thread] = block_scan(span.y - span.x, scratch, in_chunk);
            __syncthreads();
            for (u32 p = thread; p < in_chunk; p += BLOCK) {
                u32 r = owner_of(pair_starts, p), pair = base + p;
                args.tiles[pair] = chunk_tiles[r] + p - pair_starts[r];
                args.pair_splats[pair] = splat_index;
                if (args.pair_numbers) args.pair_numbers[pair] = pair;
            }
            base += in_chunk;
            __syncthreads();
        }
    }
}
