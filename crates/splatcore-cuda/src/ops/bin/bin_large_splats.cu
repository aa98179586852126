// bin_large_splats: bins the splats with large footprints, and lists the work of sort_bins.cu.
//
// Contract. `queue` has the splats that touch macro-tiles (`macro-tiles`) beyond 2x2 of them, which
// `project` leaves: (splat, the bits of its depth, the first row of macro-tiles, one past the
// last), up to LARGE_ROWS rows an entry. Their pairs go to the macro-tiles' lists as bin.cuh says:
// `pairs` ([macro-tiles][room], u64), `masks` ([macro-tiles][room], u16, where MACRO_TILE_SIDE is
// 4), `macro_tile_counts`
// ([macro-tiles]). The last block that has counted its pairs knows the length of every list. It
// writes `items`: the parts of long lists, then the other lists, each (macro-tile, part and parts,
// pairs of the list, pairs of the lists before it); and sets `overflowed` if a list, all pairs or
// the queue overflowed. Twin of this and sort_bins.cu: splatcore-cpu/src/intersect.rs.
//   Constants of bin.cuh; LARGE_ROWS; ROOM and SHARE as in sort_bins.cu.
//
// Launch. Blocks of 256 threads, a thread a row of macro-tiles, so that blocks have equally many
// rows however near the camera is; as many blocks as there were entries in earlier frames. 40
// registers, 10 KB of shared memory, 6 blocks a multiprocessor.
//
// Bound. Latency: entry, splat, counting, atomics and writing wait for one another. 4.6 M warp
// instructions, 43 % of the issue slots (fox_220k).
//
// Now. 21 to 23 us for fox_220k at 1080x1920 on an H200. History: docs/log/kernels/lists.md.

// Threads; blocks that fit a multiprocessor; atomics of a thread before it waits.
#define BLOCK 256  // tune: 128 256; when MAX_MACRO_TILES % BLOCK == 0 && BLOCK % LARGE_ROWS == 0
#define BLOCKS 6   // tune: 3 4 5 6 7 8; when BLOCK * BLOCKS <= 2048
#define AT_ONCE 4  // tune: 1 2 4 8
#define TOUCHED MAX_MACRO_TILES

#include "bin.cuh"
#include "block_scan.cuh"

#define LARGE_ENTRIES (BLOCK / LARGE_ROWS)
#define OWN_MACRO_TILES (MAX_MACRO_TILES / BLOCK)
#define SUMS (MACRO_TILE_SIDE == 2 ? 4 : 3)

// Steps through the macro-tiles row by row; says how many of a macro-tile's tiles lie in the
// image.
struct Place {
    u32 row, column;
    __device__ __forceinline__ Place(u32 macro_tile, u32 columns)
        : row(macro_tile / columns), column(macro_tile % columns) {}
    __device__ __forceinline__ void step(u32 columns) {
        if (++column == columns) {
            column = 0;
            ++row;
        }
    }
    __device__ __forceinline__ u32 width(const Camera& camera) const {
        return min(camera.tiles_x - MACRO_TILE_SIDE * column, (u32)MACRO_TILE_SIDE);
    }
    __device__ __forceinline__ u32 height(const Camera& camera) const {
        return min(camera.tiles_y - MACRO_TILE_SIDE * row, (u32)MACRO_TILE_SIDE);
    }
};

// Lists the parts of long lists, then the other lists: (macro-tile, part and number of parts,
// pairs of the list, pairs of the lists before it).
__device__ __forceinline__ void list_items(const u32* macro_tile_counts, u32 macro_tiles, u32 room,
                                           u32 capacity, u32 queue_room, const Camera& camera,
                                           Counters* counters, uint4* items, void* places) {
    __shared__ u32 scratch[SUMS][BLOCK / WARP], most[BLOCK / WARP];
    u32 thread = threadIdx.x, lane = thread % WARP, warp = thread / WARP, longest = 0;
    u32 large = counters->large, own[OWN_MACRO_TILES], sums[SUMS] = {}, totals[SUMS];
    u32 columns = (camera.tiles_x + MACRO_TILE_SIDE - 1) / MACRO_TILE_SIDE;
    Place place(thread * OWN_MACRO_TILES, columns);
    auto parts_of = [](u32 n) { return n > ROOM ? (n + SHARE - 1) / SHARE : 0; };
#pragma unroll
    for (u32 k = 0; k < OWN_MACRO_TILES; ++k) {
        u32 macro_tile = thread * OWN_MACRO_TILES + k;
        own[k] = macro_tile < macro_tiles ? observe(macro_tile_counts + macro_tile) : 0;
    }
#pragma unroll
    for (u32 k = 0; k < OWN_MACRO_TILES; ++k) {
        sums[0] += own[k];
        sums[1] += parts_of(own[k]);
        sums[2] += own[k] > 0 && own[k] <= ROOM;
        if (MACRO_TILE_SIDE == 2 && own[k] == 0 && thread * OWN_MACRO_TILES + k < macro_tiles)
            sums[SUMS - 1] += place.width(camera) * place.height(camera);
        place.step(columns);
        longest = max(longest, own[k]);
    }
    for (u32 offset = 16; offset > 0; offset /= 2)
        longest = max(longest, __shfl_xor_sync(FULL_MASK, longest, offset));
    if (lane == 0) most[warp] = longest;
    block_scans(sums, scratch, totals);
    for (u32 w = 0; w < BLOCK / WARP; ++w) longest = max(longest, most[w]);
    bool fits = longest <= room && totals[0] <= capacity && large <= queue_room;
    if (thread == 0) {
        counters->pairs = totals[0];
        counters->items = totals[1] + totals[2];
        counters->needed = max(counters->needed, (u64)totals[0]);
        counters->longest = max(counters->longest, longest);
        counters->most_large = max(counters->most_large, large);
        if (!fits) counters->overflowed = 1;
    }
    if (!fits) return;
    u32 before = sums[0], next_part = sums[1], next = totals[1] + sums[2], empty = sums[SUMS - 1],
        tiles = camera.tiles_x * camera.tiles_y;
    if (MACRO_TILE_SIDE == 2 && thread == 0) counters->lasts = totals[SUMS - 1];
    place = Place(thread * OWN_MACRO_TILES, columns);
#pragma unroll
    for (u32 k = 0; k < OWN_MACRO_TILES; ++k) {
        u32 macro_tile = thread * OWN_MACRO_TILES + k, n = own[k], parts = parts_of(n);
        for (u32 part = 0; part < parts; ++part)
            items[next_part++] = make_uint4(macro_tile, part | parts << 16, n, before);
        if (n > 0 && parts == 0) items[next++] = make_uint4(macro_tile, 1u << 16, n, before);
        // The tiles of a macro-tile without pairs have no item; they are blended last.
        for (u32 t = 0;
             MACRO_TILE_SIDE == 2 && n == 0 && macro_tile < macro_tiles && t < MACRO_TILE_TILES;
             ++t) {
            if (t % MACRO_TILE_SIDE >= place.width(camera) ||
                t / MACRO_TILE_SIDE >= place.height(camera))
                continue;
            u32 tile = (MACRO_TILE_SIDE * place.row + t / MACRO_TILE_SIDE) * camera.tiles_x +
                       MACRO_TILE_SIDE * place.column + t % MACRO_TILE_SIDE;
            ((uint4*)places)[tiles - 1 - empty++] = make_uint4(0, 0, tile, 0);
        }
        place.step(columns);
        before += n;
    }
}

// Whether all other blocks have already counted their pairs. One thread calls it, after a barrier
// after the block's counting.
__device__ __forceinline__ bool is_last_to_count(Counters* counters) {
    __threadfence();
    bool is_last = atomicAdd(&counters->ended, 1u) + 1 == gridDim.x;
    if (is_last) __threadfence();
    return is_last;
}

// `places`: where the tiles' lists are; for MACRO_TILE_SIDE 2 the schedule of tiles that the blend
// reads. Parameters of `bin_large_splats`; in Rust by the same name.
struct BinLargeSplatsParams {
    const Splat* splats;    // by compacted index
    ReadOnly<uint4> queue;  // queue of large footprints
    u32 queue_room;         // room in it
    Camera camera;
    u32* macro_tile_counts;  // pairs of each macro-tile
    u64* pairs;              // [macro-tiles][room], (depth key, compacted index)
    u16* masks;              // [macro-tiles][room], tiles of the macro-tile; side 4 only
    u32 room;                // pairs that a macro-tile has room for
    u32 macro_tiles;         // number of macro-tiles
    u32 capacity;            // room in the tiles' lists
    Counters* counters;
    uint4* items;  // lists and parts of long lists, for `sort_bins`
    void* places;  // side 2: `entries` of the blend; side 4: `ranges`
};
extern "C" __global__ void __launch_bounds__(BLOCK, BLOCKS)
    bin_large_splats(const __grid_constant__ BinLargeSplatsParams args) {
    begin_kernel();
    __shared__ Binning binning;
    __shared__ bool is_last;
    BinnedPairs to = {args.pairs, args.masks, args.room};
    u32 thread = threadIdx.x,
        macro_tiles_x = (args.camera.tiles_x + MACRO_TILE_SIDE - 1) / MACRO_TILE_SIDE,
        count = min(args.counters->large, args.queue_room);
    if (blockIdx.x * LARGE_ENTRIES < count) {
        for (u32 k = thread; k < MAX_MACRO_TILES / 2; k += BLOCK) binning.words[k] = 0;
        if (thread == 0) binning.touched_count = 0;
        __syncthreads();
    }
    for (u32 first = blockIdx.x * LARGE_ENTRIES; first < count;
         first += gridDim.x * LARGE_ENTRIES) {
        u32 at = first + thread / LARGE_ROWS;
        // Loaded before `count` is known, so that the load does not wait for it.
        uint4 entry = at < args.queue_room ? args.queue[at] : make_uint4(0, 0, 0, 0);
        if (at >= count) entry.z = entry.w = 0;
        u32 row_number = entry.z + thread % LARGE_ROWS;
        Row row = {};
        uint2 span = make_uint2(0, 0);
        if (row_number < entry.w) {
            Footprint footprint = make_footprint(args.splats[entry.x]);
            row = make_row(footprint, footprint_rows(footprint, args.camera), row_number,
                           args.camera);
            span = macro_tiles_of(row);
        }
        u32 macro_tile = row.row * macro_tiles_x;
        for (u32 column = span.x; column < span.y; ++column)
            count_pair(binning, macro_tile + column);
        __syncthreads();
        reserve_places<BLOCK, AT_ONCE>(binning, args.macro_tile_counts, thread);
        __syncthreads();
        // The list of work needs only the counts, so it does not wait for the pairs written below.
        bool is_done = first + gridDim.x * LARGE_ENTRIES >= count;
        if (is_done && thread == 0) is_last = is_last_to_count(args.counters);
        for (u32 column = span.x; column < span.y; ++column)
            write_binned(to, macro_tile + column, next_place(binning, macro_tile + column), entry.y,
                         entry.x, mask_of(row, column));
        __syncthreads();
        if (is_done) break;
        for (u32 t = thread; t < binning.touched_count; t += BLOCK)
            binning.counts[binning.touched[t]] = 0;
        __syncthreads();
        if (thread == 0) binning.touched_count = 0;
        __syncthreads();
    }
    if (blockIdx.x * LARGE_ENTRIES >= count) {
        if (thread == 0) is_last = is_last_to_count(args.counters);
        __syncthreads();
    }
    if (is_last)
        list_items(args.macro_tile_counts, args.macro_tiles, args.room, args.capacity,
                   args.queue_room, args.camera, args.counters, args.items, args.places);
}
