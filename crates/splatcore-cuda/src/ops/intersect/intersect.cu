// intersect: expands splats into (tile, splat) pairs in depth order.
//
// Contract. `order` are the splats' compacted indices (`slot`) by depth, `tile_counts` the tiles
// of each. `expand` writes the tile (`tiles`) and compacted index (`pair_slots`) of every pair,
// and its number (`pair_numbers`) if the backward pass wants it; `first_pairs` gets the first pair
// of each splat. A stable sort by tile then gives every tile its list front to back (Kerbl et al.
// 2023). Sets `halted` if the pairs overflow `pair_capacity`. Twin:
// splatcore-cpu/src/intersect.rs. Splats of more than LONG_LIST pairs go to the long-list queue
// (`long_slots`), and `expand_long` gives each a block: the nearest splats are often the largest,
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

extern "C" __global__ void __launch_bounds__(BLOCK)
    expand(const Splat* __restrict__ splats, const u32* __restrict__ order,
           const u32* __restrict__ tile_counts, Camera camera, u32 pair_capacity, u32* tiles,
           u32* pair_slots, u32* pair_numbers, u32* first_pairs, u32* long_slots, u32* states,
           Counters* counters) {
    begin_kernel();
    __shared__ Footprint footprints[BLOCK];
    __shared__ uint2 row_spans[BLOCK];  // rows of tiles of each splat
    __shared__ u32 slots[BLOCK];
    __shared__ u32 row_starts[BLOCK];   // first of the block's rows of each splat
    __shared__ u32 pair_starts[BLOCK];  // first of the chunk's pairs of each row
    __shared__ u32 chunk_tiles[BLOCK];  // first tile of each row
    __shared__ u32 chunk_slots[BLOCK];
    __shared__ u32 chunk_shifts[BLOCK];
    __shared__ u32 shifts[BLOCK];  // pairs of long lists before each splat
    __shared__ u32 scratch[4][BLOCK / WARP];
    __shared__ u32 block_start;
    // Overflow: there are more pairs than there is room for, and no later kernel may change
    // anything.
    u64 pairs = counters->pairs;
    if (blockIdx.x == 0 && threadIdx.x == 0) {
        counters->needed = max(counters->needed, pairs);
        if (pairs > (u64)pair_capacity) counters->halted = 1;
    }
    if (pairs > (u64)pair_capacity) return;
    u32 visible = counters->visible;
    u32 first = blockIdx.x * BLOCK;
    if (first >= visible) return;
    u32 thread = threadIdx.x, lane = thread % WARP, warp = thread / WARP;
    bool valid = first + thread < visible;
    u32 slot = valid ? order[first + thread] : 0;
    u32 total_pairs, total_rows;
    u32 own_pairs = valid ? tile_counts[slot] : 0;
    bool is_long = own_pairs > LONG_LIST;
    u32 before = block_scan(own_pairs, scratch[0], total_pairs), long_pairs;
    shifts[thread] = block_scan(is_long ? own_pairs : 0, scratch[3], long_pairs);
    if (warp == 0) {
        u32 start = look_back(states, blockIdx.x, total_pairs, lane);
        if (lane == 0) block_start = start;
    }
    uint2 rows = make_uint2(0, 0);
    slots[thread] = slot;
    if (valid) {
        footprints[thread] = make_footprint(splats[slot]);
        rows = footprint_rows(footprints[thread], camera);
    }
    if (is_long) {
        long_slots[atomicAdd(&counters->longs, 1u)] = slot;
        rows = make_uint2(0, 0);
    }
    row_spans[thread] = rows;
    row_starts[thread] = block_scan(rows.y - rows.x, scratch[1], total_rows);
    __syncthreads();
    u32 base = block_start;
    if (valid) first_pairs[slot] = base + before;

    for (u32 chunk = 0; chunk < total_rows; chunk += BLOCK) {
        u32 length = 0, k = chunk + thread;
        if (k < total_rows) {
            // Splats without rows share their start with the next splat; the last of them has the
            // row.
            u32 i = owner_of(row_starts, k), row = row_spans[i].x + k - row_starts[i];
            uint2 span = footprint_row(footprints[i], row, camera);
            length = span.y - span.x;
            chunk_tiles[thread] = row * camera.tiles_x + span.x;
            chunk_slots[thread] = slots[i];
            chunk_shifts[thread] = shifts[i];
        }
        u32 in_chunk;
        pair_starts[thread] = block_scan(length, scratch[2], in_chunk);
        __syncthreads();
        for (u32 p = thread; p < in_chunk; p += BLOCK) {
            u32 r = owner_of(pair_starts, p), pair = base + p + chunk_shifts[r];
            tiles[pair] = chunk_tiles[r] + p - pair_starts[r];
            pair_slots[pair] = chunk_slots[r];
            if (pair_numbers) pair_numbers[pair] = pair;
        }
        base += in_chunk;
        // The next chunk overwrites the arrays that this one reads.
        __syncthreads();
    }
}

extern "C" __global__ void __launch_bounds__(BLOCK)
    expand_long(const Splat* __restrict__ splats, const u32* __restrict__ long_slots, Camera camera,
                u32* tiles, u32* pair_slots, u32* pair_numbers, const u32* __restrict__ first_pairs,
                const Counters* counters) {
    begin_kernel();
    __shared__ u32 pair_starts[BLOCK];
    __shared__ u32 chunk_tiles[BLOCK];
    __shared__ u32 scratch[BLOCK / WARP];
    if (counters->halted) return;
    u32 thread = threadIdx.x, longs = counters->longs;
    for (u32 item = blockIdx.x; item < longs; item += gridDim.x) {
        u32 slot = long_slots[item], base = first_pairs[slot];
        Footprint footprint = make_footprint(splats[slot]);
        uint2 rows = footprint_rows(footprint, camera);
        for (u32 chunk = rows.x; chunk < rows.y; chunk += BLOCK) {
            u32 row = chunk + thread;
            uint2 span = make_uint2(0, 0);
            if (row < rows.y) span = footprint_row(footprint, row, camera);
            chunk_tiles[thread] = row * camera.tiles_x + span.x;
            u32 in_chunk;
            pair_starts[thread] = block_scan(span.y - span.x, scratch, in_chunk);
            __syncthreads();
            for (u32 p = thread; p < in_chunk; p += BLOCK) {
                u32 r = owner_of(pair_starts, p), pair = base + p;
                tiles[pair] = chunk_tiles[r] + p - pair_starts[r];
                pair_slots[pair] = slot;
                if (pair_numbers) pair_numbers[pair] = pair;
            }
            base += in_chunk;
            __syncthreads();
        }
    }
}
