// intersect for blends of macro-tiles: expands splats into (macro-tile, splat) pairs in depth
// order.
//
// Contract. A macro-tile, `macro-tile` in the code, is MACRO_TILE_SIDE x MACRO_TILE_SIDE tiles.
// `order` are the splats' compacted indices (`splat`) by depth. Writes each pair's macro-tile
// (`macro-tiles`), compacted index
// (`pair_splats`), number (`pair_numbers`, which the sort moves) and mask of touched tiles
// (`masks`, bit MACRO_TILE_SIDE * row + column in the macro-tile). A stable sort by macro-tile then
// gives each one list front to back (TensorGS, section 4.4.2, "Constructing the grouped Gaussian
// list").
//   INTERSECT: the method (footprint.cuh); MACRO_TILE_SIDE, 2 or 4.
//
// Launch. A block of 256 threads for 256 splats, as intersect.cu; `expand_macro_tiles_long` as its
// `expand_long`. At MACRO_TILE_SIDE 4 (sm_90) 48 registers and 26 KB of shared memory: 5 blocks a
// multiprocessor. A row here is MACRO_TILE_SIDE rows of tiles, whose intervals can leave a gap of
// whole macro-tiles (a flat needle between the pixel centres of two rows), so the macro-tiles
// touched are a union of intervals. `project` counts tiles, so `expand_macro_tiles` walks its rows
// twice, first to count, and replaces counters->pairs, which never grows by it: buffers for the
// tiles' pairs suffice.
//
// Bound. Instructions: some 70 a row of tiles, twice, and 60 a pair (0.6 M rows of tiles, 0.7 M
// pairs for fox_220k at MACRO_TILE_SIDE 2, an estimate).
//
// Now. 29 us for fox_220k at 1080x1920, MACRO_TILE_SIDE 2 and `exact`, on an H200, both kernels.
// History: docs/log/kernels/intersect.md.

#include "footprint.cuh"
#include "block_scan.cuh"

// The touched tiles in each row of tiles of a row of macro-tiles, first and one past the last.
struct GroupRow {
    uint2 spans[MACRO_TILE_SIDE];
};

// Makes row `row` of macro-tiles; `rows` are the splat's rows of tiles.
__device__ __forceinline__ GroupRow make_group_row(const Footprint& f, uint2 rows, u32 row,
                                                   const Camera& camera) {
    GroupRow g;
#pragma unroll
    for (u32 r = 0; r < MACRO_TILE_SIDE; ++r) {
        u32 tile_row = row * MACRO_TILE_SIDE + r;
        g.spans[r] = make_uint2(0, 0);
        if (tile_row >= rows.x && tile_row < rows.y)
            g.spans[r] = footprint_row(f, tile_row, camera);
    }
    return g;
}

// The macro-tiles touched in a row, as disjoint intervals, ascending; returns the number of
// macro-tiles.
__device__ __forceinline__ u32 find_runs(const GroupRow& g, uint2 runs[MACRO_TILE_SIDE]) {
#pragma unroll
    for (u32 r = 0; r < MACRO_TILE_SIDE; ++r) {
        uint2 span = g.spans[r];
        runs[r] = span.x < span.y
                      ? make_uint2(span.x / MACRO_TILE_SIDE, (span.y - 1) / MACRO_TILE_SIDE + 1)
                      : make_uint2(0, 0);
    }
#pragma unroll
    for (u32 sorted = 1; sorted < MACRO_TILE_SIDE; ++sorted)
#pragma unroll
        for (u32 r = MACRO_TILE_SIDE - 1; r >= sorted; --r)
            if (runs[r].x < runs[r - 1].x) {
                uint2 other = runs[r];
                runs[r] = runs[r - 1];
                runs[r - 1] = other;
            }
    u32 count = 0, end = 0;
#pragma unroll
    for (u32 r = 0; r < MACRO_TILE_SIDE; ++r) {
        runs[r].x = max(runs[r].x, end);
        end = max(runs[r].y, end);
        runs[r].y = end;
        count += end - runs[r].x;
    }
    return count;
}

// The column of the k-th macro-tile touched in a row.
__device__ __forceinline__ u32 nth_group(const uint2 runs[MACRO_TILE_SIDE], u32 k) {
    u32 column = 0;
    bool found = false;
#pragma unroll
    for (u32 r = 0; r < MACRO_TILE_SIDE; ++r) {
        u32 length = runs[r].y - runs[r].x;
        if (!found && k < length) {
            column = runs[r].x + k;
            found = true;
        }
        if (!found) k -= length;
    }
    return column;
}

__device__ __forceinline__ u32 tile_mask(const GroupRow& g, u32 column) {
    u32 mask = 0;
#pragma unroll
    for (u32 r = 0; r < MACRO_TILE_SIDE; ++r) {
        u32 first = max(g.spans[r].x, column * MACRO_TILE_SIDE),
            end = min(g.spans[r].y, column * MACRO_TILE_SIDE + MACRO_TILE_SIDE);
        if (first < end)
            mask |= ((1u << (end - first)) - 1)
                    << (r * MACRO_TILE_SIDE + first - column * MACRO_TILE_SIDE);
    }
    return mask;
}

// The rows of macro-tiles that hold these rows of tiles.
__device__ __forceinline__ uint2 macro_tile_rows(uint2 rows) {
    return rows.x < rows.y
               ? make_uint2(rows.x / MACRO_TILE_SIDE, (rows.y - 1) / MACRO_TILE_SIDE + 1)
               : make_uint2(0, 0);
}

__device__ __forceinline__ u32 groups_across(const Camera& camera) {
    return (camera.tiles_x + MACRO_TILE_SIDE - 1) / MACRO_TILE_SIDE;
}

// The output: macro-tile, compacted index and mask of every pair, and its number, which the sort
// moves.
struct GroupPairs {
    u32* macro_tiles;
    u32* splat_order;
    u32* numbers;
    u16* masks;
};

__device__ __forceinline__ void write_pair(const GroupPairs& to, u32 pair, const GroupRow& g,
                                           u32 row, u32 k, u32 splat_index, const Camera& camera) {
    uint2 runs[MACRO_TILE_SIDE];
    find_runs(g, runs);
    u32 column = nth_group(runs, k);
    to.macro_tiles[pair] = row * groups_across(camera) + column;
    to.splat_order[pair] = splat_index;
    to.numbers[pair] = pair;
    to.masks[pair] = (u16)tile_mask(g, column);
}

// Parameters of `expand_macro_tiles` and `expand_macro_tiles_long`; in Rust by the same name.
struct ExpandMacroTilesParams {
    const Splat* splats;  // by compacted index
    ReadOnly<u32> order;  // compacted indices by depth
    Camera camera;
    u32 pair_capacity;  // room in the lists
    u32* macro_tiles;   // macro-tile of each pair
    u32* pair_splats;   // compacted index of each pair number, or null
    u32* pair_numbers;  // 0, 1, 2, ..., for `sort`; null: not wanted
    u16* masks;         // tiles of the macro-tile that a pair touches, by pair number
    u32* first_pairs;   // number of the first pair of each compacted index
    u32* long_splats;   // the long-list queue: compacted indices
    u32* states;        // of the look-back, zeroed
    Counters* counters;
};
extern "C" __global__ void __launch_bounds__(BLOCK)
    expand_macro_tiles(const __grid_constant__ ExpandMacroTilesParams args) {
    begin_kernel();
    __shared__ Footprint footprints[BLOCK];
    __shared__ uint2 tile_rows[BLOCK];  // rows of tiles of each splat
    __shared__ u32 first_rows[BLOCK];   // first row of macro-tiles of each splat
    __shared__ u32 splat_order[BLOCK];
    __shared__ u32 row_starts[BLOCK];   // first of the block's rows of macro-tiles of each splat
    __shared__ u32 shifts[BLOCK];       // pairs of each splat, then pairs of long lists before it
    __shared__ u32 pair_starts[BLOCK];  // first of the chunk's pairs of each row
    __shared__ GroupRow chunk_rows[BLOCK];
    __shared__ u32 chunk_numbers[BLOCK];  // each row's number
    __shared__ u32 chunk_owners[BLOCK];   // each row's splat
    __shared__ u32 scratch[5][BLOCK / WARP];
    __shared__ u32 block_start;
    // Overflow, as in `expand`: there are more pairs of tiles than there is room for, and no later
    // kernel may change anything.
    u64 pairs = observe(&args.counters->pairs);
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
    GroupPairs to = {args.macro_tiles, args.pair_splats, args.pair_numbers, args.masks};
    u32 thread = threadIdx.x, lane = thread % WARP, warp = thread / WARP;
    bool valid = first + thread < visible;
    u32 splat_index = valid ? args.order[first + thread] : 0;
    uint2 rows = make_uint2(0, 0);
    if (valid) {
        footprints[thread] = make_footprint(args.splats[splat_index]);
        rows = footprint_rows(footprints[thread], args.camera);
    }
    uint2 own_rows = macro_tile_rows(rows);
    u32 row_count = own_rows.y - own_rows.x, total_rows;
    splat_order[thread] = splat_index;
    tile_rows[thread] = rows;
    first_rows[thread] = own_rows.x;
    shifts[thread] = 0;
    row_starts[thread] = block_scan(row_count, scratch[0], total_rows);
    __syncthreads();

    // Count.
    for (u32 k = thread; k < total_rows; k += BLOCK) {
        // Splats without rows share their start with the next splat; the last of them has the row.
        u32 i = owner_of(row_starts, k), row = first_rows[i] + k - row_starts[i];
        uint2 runs[MACRO_TILE_SIDE];
        atomicAdd(&shifts[i],
                  find_runs(make_group_row(footprints[i], tile_rows[i], row, args.camera), runs));
    }
    __syncthreads();
    u32 own_pairs = shifts[thread], total_pairs, long_pairs;
    bool is_long = own_pairs > LONG_LIST;
    u32 before = block_scan(own_pairs, scratch[1], total_pairs);
    shifts[thread] = block_scan(is_long ? own_pairs : 0, scratch[2], long_pairs);
    if (warp == 0) {
        u32 start = look_back(args.states, blockIdx.x, total_pairs, lane);
        if (lane == 0) {
            block_start = start;
            // All blocks before this one have already read the number of tiles' pairs. Blocks
            // after it, if any, have no splat, and there is room for whichever of the two numbers
            // they read.
            if (first + BLOCK >= visible) publish(&args.counters->pairs, (u64)start + total_pairs);
        }
    }
    if (is_long) args.long_splats[atomicAdd(&args.counters->longs, 1u)] = splat_index;
    row_starts[thread] = block_scan(is_long ? 0 : row_count, scratch[3], total_rows);
    __syncthreads();
    u32 base = block_start;
    if (valid) args.first_pairs[splat_index] = base + before;

    // Write.
    for (u32 chunk = 0; chunk < total_rows; chunk += BLOCK) {
        u32 length = 0, k = chunk + thread;
        if (k < total_rows) {
            u32 i = owner_of(row_starts, k), row = first_rows[i] + k - row_starts[i];
            uint2 runs[MACRO_TILE_SIDE];
            GroupRow g = make_group_row(footprints[i], tile_rows[i], row, args.camera);
            length = find_runs(g, runs);
            chunk_rows[thread] = g;
            chunk_numbers[thread] = row;
            chunk_owners[thread] = i;
        }
        u32 in_chunk;
        pair_starts[thread] = block_scan(length, scratch[4], in_chunk);
        __syncthreads();
        for (u32 p = thread; p < in_chunk; p += BLOCK) {
            u32 r = owner_of(pair_starts, p), i = chunk_owners[r];
            write_pair(to, base + p + shifts[i], chunk_rows[r], chunk_numbers[r],
                       p - pair_starts[r], splat_order[i], args.camera);
        }
        base += in_chunk;
        // The next chunk overwrites the arrays that this one reads.
        __syncthreads();
    }
}

extern "C" __global__ void __launch_bounds__(BLOCK)
    expand_macro_tiles_long(const __grid_constant__ ExpandMacroTilesParams args) {
    begin_kernel();
    __shared__ u32 pair_starts[BLOCK];
    __shared__ GroupRow chunk_rows[BLOCK];
    __shared__ u32 scratch[BLOCK / WARP];
    if (args.counters->overflowed) return;
    GroupPairs to = {args.macro_tiles, args.pair_splats, args.pair_numbers, args.masks};
    u32 thread = threadIdx.x, longs = args.counters->longs;
    for (u32 item = blockIdx.x; item < longs; item += gridDim.x) {
        u32 splat_index = args.long_splats[item], base = args.first_pairs[splat_index];
        Footprint footprint = make_footprint(args.splats[splat_index]);
        uint2 tile_rows = footprint_rows(footprint, args.camera), rows = macro_tile_rows(tile_rows);
        for (u32 chunk = rows.x; chunk < rows.y; chunk += BLOCK) {
            u32 row = chunk + thread, length = 0;
            if (row < rows.y) {
                uint2 runs[MACRO_TILE_SIDE];
                chunk_rows[thread] = make_group_row(footprint, tile_rows, row, args.camera);
                length = find_runs(chunk_rows[thread], runs);
            }
            u32 in_chunk;
            pair_starts[thread] = block_scan(length, scratch, in_chunk);
            __syncthreads();
            for (u32 p = thread; p < in_chunk; p += BLOCK) {
                u32 r = owner_of(pair_starts, p);
                write_pair(to, base + p, chunk_rows[r], chunk + r, p - pair_starts[r], splat_index,
                           args.camera);
            }
            base += in_chunk;
            __syncthreads();
        }
    }
}
