// tile_pairs: the (tile, splat) pairs of splats (gsplat's isect_tiles and isect_offset_encode).
//
// Contract. A splat touches the tiles that its mean +- radii overlap, none if a radius is 0 or
// less; with conics and opacities only those of them where it may count at some pixel
// (tile_rows.cuh), so that images stay the same bit for bit. count_tiles writes how many, adds them
// up, and counts the splats whose radii are positive. fill_pairs writes the pairs splat by splat,
// row by row, from the inclusive sums: an id, image << (32 + tile_bits) | tile << 32 | bits of the
// depth, and the splat. For pairs sorted by id, take_depths and a stable sort (ops/sort/sort.cu)
// put splats in the order of their depths, those without tiles last, and sum_counts sums their
// tiles in that order; fill_pairs writes the pairs in it, with the upper halves of ids alone, a
// second stable sort is by these, and write_ids makes the ids. find_offsets writes where the list
// of each tile begins in sorted ids.
//
// Launch. A thread a splat, pair or tile, blocks of BLOCK; SCAN_ITEMS splats a thread in
// sum_counts. Rows of boxes are dealt to the lanes of a warp, so that huge splats hold up nobody:
// count_tiles does so with the rows of WARP splats, fill_pairs with those of the splats of
// WARP_PAIRS pairs. 17 KB of shared memory.
//
// Bound. Memory: 8 bytes out a pair for fill_pairs. Instructions: 100 a row of a box.
//
// Now. 0.13 ms with the sorts for fox_220k at 1080x1920 on an H100 (docs/results/python.md).
// History: docs/log/python.md.

#include "block_scan.cuh"
#include "tile_rows.cuh"

// How many tiles each splat touches; in Rust by the same name.
struct TouchedTiles {
    const u32* counts;      // [M], or null: then by the ends
    const long long* ends;  // [M]: their inclusive sums
};

// Parameters of `count_tiles`; in Rust by the same name.
struct CountTilesParams {
    TileGrid tiles;
    PairSplats splats;
    u32* tiles_per_gauss;  // [M]
    u64* totals;           // [2], or null: what their sum, and the number of splats with radii
                           // above 0, are added to
};

// Parameters of `take_depths`; in Rust by the same name.
struct TakeDepthsParams {
    ReadOnly<u32> depths;  // [M], bits of f32
    TouchedTiles touched;
    u32 splats;  // how many
    u32 most;    // tiles of a splat, whatever is in memory
    u32* keys;   // [M]
    u32* order;  // [M]: splats
    u32* zeros;  // [zero_count]: set to 0
    u32 zero_count;
    u32* count;  // gets `splats`, for the sort
};

// Parameters of `sum_counts`; in Rust by the same name.
struct SumCountsParams {
    ReadOnly<u32> order;   // [M]: splats
    TouchedTiles touched;  // in the order of splats
    u32 splats;            // how many
    u32 most;              // tiles of a splat, whatever is in memory
    u32* sums;             // [M], in `order`
    u32* states;           // a block: of the look-back, zero
};

// Parameters of `fill_pairs`; in Rust by the same name.
struct FillPairsParams {
    TileGrid tiles;
    PairSplats splats;
    ReadOnly<u32> depths;        // [M], bits of f32
    const long long* image_ids;  // [M] or null: the splats of an image are per_image in a row
    TouchedTiles touched;
    ReadOnly<u32> order;  // [M] or null: splats as they are, with the ends of `touched`
    ReadOnly<u32> sums;   // [M]: `ends` in that order
    u32 pairs;
    u32* keys;         // [pairs] or null: upper halves of ids, in place of ids
    u64* isect_ids;    // [pairs]
    u32* flatten_ids;  // [pairs]
    u32* zeros;        // [zero_count]: set to 0
    u32 zero_count;
    u32* count;  // null, or gets `pairs`, for the sort
};

// Parameters of `write_ids`; in Rust by the same name.
struct WriteIdsParams {
    ReadOnly<u32> keys;         // [pairs], upper halves of ids
    ReadOnly<u32> flatten_ids;  // [pairs]
    ReadOnly<u32> depths;       // [M], bits of f32
    u32 pairs;
    u64* isect_ids;  // [pairs]
};

// Parameters of `find_offsets`; in Rust by the same name.
struct FindOffsetsParams {
    ReadOnly<u64> isect_ids;  // [pairs], sorted
    u32 pairs;
    u32 images, tiles, tile_bits;
    u32* offsets;  // [images][tiles]
};

extern "C" __global__ void __launch_bounds__(BLOCK)
    count_tiles(const __grid_constant__ CountTilesParams args) {
    begin_kernel();
    __shared__ Box boxes[BLOCK];
    u32 m = blockIdx.x * BLOCK + threadIdx.x, lane = threadIdx.x % WARP;
    const Box* of_warp = boxes + (threadIdx.x - lane);
    Box box = {};
    if (m < args.splats.count) box = box_of(args.splats, args.tiles, m);
    boxes[threadIdx.x] = box;
    __syncwarp();
    u32 count = box.is_whole ? box.rows * (box.right - box.left) : 0;
    u32 rows = box.is_whole ? 0 : box.rows, until = warp_scan(rows, lane), before = until - rows;
    u32 total = __shfl_sync(FULL_MASK, until, WARP - 1);
    for (u32 first = 0; first < total; first += WARP) {
        u32 k = first + lane, found = 0;
        RowOfWarp row = row_of_warp(rows, until, k);
        if (k < total) {
            const Box& its = of_warp[row.owner];
            Columns columns = columns_of(its, args.tiles, its.top + k - row.before);
            found = columns.end - columns.first;
        }
        u32 sum = warp_scan(found, lane);
        // The lanes that had rows of this lane's splat.
        u32 begin = max(before, first) - first, end = min(until, first + WARP) - first;
        u32 in_front = __shfl_sync(FULL_MASK, sum - found, begin % WARP),
            in_all = __shfl_sync(FULL_MASK, sum, (end - 1) % WARP);
        if (rows > 0 && before < first + WARP && until > first) count += in_all - in_front;
    }
    if (m < args.splats.count) args.tiles_per_gauss[m] = count;
    if (!args.totals) return;
    u32 of_warp_in_all = warp_scan(count, lane);
    if (lane == WARP - 1) atomicAdd(args.totals, (u64)of_warp_in_all);
    bool is_drawn = m < args.splats.count && is_drawn_with(args.splats.radii, m);
    u32 drawn = __syncthreads_count(is_drawn);
    if (threadIdx.x == 0) atomicAdd(args.totals + 1, (u64)drawn);
}

// The tiles of splat m.
__device__ __forceinline__ u32 count_of(const TouchedTiles& touched, u32 m, u32 most) {
    if (touched.counts) return min(touched.counts[m], most);
    long long count = touched.ends[m] - (m > 0 ? touched.ends[m - 1] : 0);
    return (u32)min(max(count, 0ll), (long long)most);
}

// Sets words to 0, each thread of the launch a part.
__device__ __forceinline__ void set_zero(u32* zeros, u32 count) {
    for (u32 k = blockIdx.x * BLOCK + threadIdx.x; k < count; k += gridDim.x * BLOCK) zeros[k] = 0;
}

extern "C" __global__ void __launch_bounds__(BLOCK)
    take_depths(const __grid_constant__ TakeDepthsParams args) {
    begin_kernel();
    u32 m = blockIdx.x * BLOCK + threadIdx.x;
    set_zero(args.zeros, args.zero_count);
    if (m == 0) *args.count = args.splats;
    if (m >= args.splats) return;
    // Splats without tiles come last. The sort leaves NO_KEY out.
    bool has_tiles = count_of(args.touched, m, args.most) > 0;
    args.keys[m] = min(has_tiles ? args.depths[m] : NO_KEY, NO_KEY - 1);
    args.order[m] = m;
}

extern "C" __global__ void __launch_bounds__(BLOCK)
    sum_counts(const __grid_constant__ SumCountsParams args) {
    begin_kernel();
    __shared__ u32 scratch[BLOCK / WARP], in_front;
    u32 thread = threadIdx.x, first = (blockIdx.x * BLOCK + thread) * SCAN_ITEMS;
    u32 counts[SCAN_ITEMS], sum = 0, total;
#pragma unroll
    for (u32 k = 0; k < SCAN_ITEMS; ++k) {
        bool is_splat = first + k < args.splats;
        counts[k] = is_splat ? count_of(args.touched, args.order[first + k], args.most) : 0;
        sum += counts[k];
    }
    u32 until = block_scan(sum, scratch, total);
    if (thread < WARP) {
        u32 earlier = look_back(args.states, blockIdx.x, total, thread);
        if (thread == 0) in_front = earlier;
    }
    __syncthreads();
    until += in_front;
#pragma unroll
    for (u32 k = 0; k < SCAN_ITEMS; ++k) {
        until += counts[k];
        if (first + k < args.splats) args.sums[first + k] = until;
    }
}

// Where the pairs of splats end, in the order in which they are written.
__device__ __forceinline__ u32 end_of(const FillPairsParams& args, u32 i) {
    if (args.order) return args.sums[i];
    return (u32)min(max(args.touched.ends[i], 0ll), (long long)args.pairs);
}

// The first splat, in that order, whose pairs end behind a place; as many as there are if none.
__device__ __forceinline__ u32 splat_at(const FillPairsParams& args, u32 place, u32 lane) {
    u32 low = 0, high = args.splats.count;
    while (low < high) {
        // Each lane looks at the last splat of its part.
        u32 part = (high - low + WARP - 1) / WARP, last = min(low + part * (lane + 1), high) - 1;
        u32 behind = __ballot_sync(FULL_MASK, end_of(args, last) > place);
        if (!behind) return high;
        u32 found = __ffs(behind) - 1;
        high = min(low + part * (found + 1), high) - 1;
        low += part * found;
    }
    return low;
}

__device__ __forceinline__ void write_pair(const FillPairsParams& args, u32 at, u32 key,
                                           u32 splat) {
    if (args.keys)
        args.keys[at] = key;
    else
        args.isect_ids[at] = (u64)key << 32 | args.depths[splat];
    args.flatten_ids[at] = splat;
}

// A run of pairs: those of a splat in a row of tiles.
struct Run {
    u32 begin, end;  // pairs
    u32 key;         // of the first
    u32 last;        // the number of the last key, from the first
    u32 splat;
};

// Writes the pairs from `place` to `stop` of the warp's runs.
__device__ __forceinline__ void write_runs(const FillPairsParams& args, const Run& run, u32 place,
                                           u32 stop, u32 lane) {
    for (; place < stop; place += WARP) {
        u32 at = place + lane, of = lane_beyond(run.end, at);
        u32 begin = __shfl_sync(FULL_MASK, run.begin, of),
            last = __shfl_sync(FULL_MASK, run.last, of), key = __shfl_sync(FULL_MASK, run.key, of),
            splat = __shfl_sync(FULL_MASK, run.splat, of);
        if (at < stop) write_pair(args, at, key + min(at - begin, last), splat);
    }
}

// A lane's splat.
struct Listed {
    u32 splat, begin, end;  // its pairs
    u32 image_key;          // the image's part of keys
    u32 rows, until;        // of its box; of the boxes of the lanes up to this one
};

// Writes the pairs of the splats of a warp's lanes from `place` to `stop`; returns where it ended.
__device__ __forceinline__ u32 write_splats(const FillPairsParams& args, const Box* boxes,
                                            const Listed& own, u32 place, u32 stop, u32 lane) {
    u32 total = __shfl_sync(FULL_MASK, own.until, WARP - 1), carried = 0;
    for (u32 first = 0; first < total && place < stop; first += WARP) {
        u32 k = first + lane;
        RowOfWarp of = row_of_warp(own.rows, own.until, k);
        Run run = {};
        run.splat = __shfl_sync(FULL_MASK, own.splat, of.owner);
        run.key = __shfl_sync(FULL_MASK, own.image_key, of.owner);
        u32 begin = __shfl_sync(FULL_MASK, own.begin, of.owner),
            end = __shfl_sync(FULL_MASK, own.end, of.owner),
            until = __shfl_sync(FULL_MASK, own.until, of.owner), found = 0;
        if (k < total) {
            const Box& box = boxes[of.owner];
            u32 row = box.top + k - of.before;
            Columns columns = columns_of(box, args.tiles, row);
            found = columns.end - columns.first;
            run.key += row * args.tiles.width + columns.first;
            run.last = max(found, 1u) - 1;
        }
        // The splat's pairs in its rows up to this one.
        u32 sum = warp_scan(found, lane), begins = max(of.before, first) - first;
        u32 pairs = sum - __shfl_sync(FULL_MASK, sum - found, begins % WARP);
        if (of.before < first) pairs += carried;
        carried = __shfl_sync(FULL_MASK, pairs, WARP - 1);
        run.begin = begin + pairs - found;
        // If conics or opacities are not those of count_tiles, the last row takes what is left, so
        // that no place stays unwritten.
        run.end = k + 1 == until ? end : min(begin + pairs, end);
        u32 last_lane = min(total - first, (u32)WARP) - 1;
        u32 here = min(__shfl_sync(FULL_MASK, run.end, last_lane), stop);
        if (k >= total) run.end = FULL_MASK;
        write_runs(args, run, place, here, lane);
        place = max(place, here);
    }
    return place;
}

extern "C" __global__ void __launch_bounds__(BLOCK)
    fill_pairs(const __grid_constant__ FillPairsParams args) {
    begin_kernel();
    __shared__ Box boxes[BLOCK];
    u32 lane = threadIdx.x % WARP, warp = (blockIdx.x * BLOCK + threadIdx.x) / WARP;
    u32 place = warp * WARP_PAIRS, stop = min(place + WARP_PAIRS, args.pairs);
    set_zero(args.zeros, args.zero_count);
    if (args.count && warp == 0 && lane == 0) *args.count = args.pairs;
    if (place >= stop) return;
    u32 count = args.splats.count;
    for (u32 first = splat_at(args, place, lane); first < count && place < stop; first += WARP) {
        u32 i = first + lane;
        Listed own = {};
        Box box = {};
        if (i < count) {
            own.begin = i > 0 ? end_of(args, i - 1) : 0;
            own.end = end_of(args, i);
        }
        if (own.begin < min(own.end, stop)) {
            own.splat = args.order ? min(args.order[i], count - 1) : i;
            u32 image =
                args.image_ids ? (u32)args.image_ids[own.splat] : own.splat / args.splats.per_image;
            own.image_key = image << args.tiles.tile_bits;
            box = box_of(args.splats, args.tiles, own.splat);
            own.rows = max(box.rows, 1u);
        }
        own.until = warp_scan(own.rows, lane);
        boxes[threadIdx.x] = box;
        __syncwarp();
        place = write_splats(args, boxes + (threadIdx.x - lane), own, place, stop, lane);
        __syncwarp();
    }
    // Places that no splat has: `ends` are not the sums of the counts.
    for (place += lane; place < stop; place += WARP) write_pair(args, place, 0, 0);
}

extern "C" __global__ void __launch_bounds__(BLOCK)
    write_ids(const __grid_constant__ WriteIdsParams args) {
    begin_kernel();
    u32 i = blockIdx.x * BLOCK + threadIdx.x;
    if (i >= args.pairs) return;
    args.isect_ids[i] = (u64)args.keys[i] << 32 | args.depths[args.flatten_ids[i]];
}

extern "C" __global__ void __launch_bounds__(BLOCK)
    find_offsets(const __grid_constant__ FindOffsetsParams args) {
    begin_kernel();
    u32 i = blockIdx.x * BLOCK + threadIdx.x;
    if (i >= args.images * args.tiles) return;
    u64 least = (u64)(i / args.tiles) << args.tile_bits | i % args.tiles;
    // The first id that is not below.
    u32 low = 0, high = args.pairs;
    while (low < high) {
        u32 middle = low + (high - low) / 2;
        if (args.isect_ids[middle] >> 32 < least)
            low = middle + 1;
        else
            high = middle;
    }
    args.offsets[i] = low;
}
