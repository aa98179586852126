// sort_bins: sorts the macro-tiles' lists and splits them into the tiles' lists.
//
// Contract. `all_pairs` ([macro-tiles][room], u64) and `all_masks` (u16, where MACRO_TILE_SIDE is
// 4) are the lists of macro-tiles (`macro-tiles`) that `project` and `bin_large_splats` filled in
// no order; `items` is the work that `bin_large_splats` listed. Writes `tile_lists`: the numbers of
// each tile's splats, front to back, equal depths in the order of the splats; and in `places` where
// each tile's list is: the blend's schedule of tiles (MACRO_TILE_SIDE 2) or ranges (MACRO_TILE_SIDE
// 4). Twin: splatcore-cpu/src/intersect.rs. A block has a list, or a part of a long one, in shared
// memory. It counts depths in 256 bins of their range; each bin becomes as many finer bins as it
// has pairs, twice, so that a bin has few pairs however depths are spread; pairs of a bin are
// compared. A warp splits a stretch of the order.
//   MACRO_TILE_SIDE, 2 or 4; MAX_MACRO_TILES, at least the number of macro-tiles; ROOM pairs that
//   a block has at a time; SHARE pairs of a part, more if a bin has more.
//
// Launch. Blocks of 256 threads, one for each item that earlier frames had; 48 registers, 36 KB of
// shared memory (41 where MACRO_TILE_SIDE is 4), 5 blocks a multiprocessor.
//
// Bound. No single unit: 10.6 M warp instructions take 55 % of the issue slots. A list has 295
// pairs on average, so two thirds of the instructions do not depend on the pairs (fox_220k).
// Pairs of equal depth share a bin and are compared quadratically, up to ROOM at a time.
//
// Now. 24 us for fox_220k at 1080x1920 on an H200. History: docs/log/kernels/lists.md.

// Threads, one a bin of 256; blocks that fit a multiprocessor.
#define BLOCK 256  // tune: 256 512; when ROOM % BLOCK == 0
#define BLOCKS 5   // tune: 2 3 4 5; when BLOCK * BLOCKS <= 1536
#define TOUCHED MAX_MACRO_TILES

#include "bin.cuh"
#include "block_scan.cuh"

#define WARPS (BLOCK / WARP)
#define ITEMS (ROOM / BLOCK)  // of a thread
#define COARSE BLOCK          // bins at first, one a thread
#define LONG_SHARE 2          // lists longer than the average over this are long

struct Sorting {
    u64 pairs[ROOM];
#if MACRO_TILE_SIDE != 2
    u16 masks[ROOM];
#endif
    union {
        u32 fine[ROOM];      // two bins each
        u16 bins[2 * ROOM];  // pairs of each bin, then the number of pairs in front of it
    };
    u16 order[ROOM];  // by bins
    u16 sorted[ROOM];
    uint2 coarse[COARSE];  // pairs in front of each bin, and in it
    u32 warp_tiles[WARPS][MACRO_TILE_TILES];
    u32 before[MACRO_TILE_TILES];  // of each tile, in front of the part
    u32 totals[MACRO_TILE_TILES];  // of each tile, of the list
    u32 starts[MACRO_TILE_TILES];  // where the tiles' lists begin
    u32 scratch[4][WARPS];
    u32 size;
    u64 bounds[2];
    u32 is_crowded[2];
    u64 bound;
    u32 in_front, in_bin;
};

// The least and the largest value of the block.
__device__ __forceinline__ void find_range(Sorting& s, u32& least, u32& most) {
    u32 lane = threadIdx.x % WARP, warp = threadIdx.x / WARP;
    for (u32 offset = 16; offset > 0; offset /= 2) {
        least = min(least, __shfl_xor_sync(FULL_MASK, least, offset));
        most = max(most, __shfl_xor_sync(FULL_MASK, most, offset));
    }
    if (lane == 0) {
        s.scratch[2][warp] = least;
        s.scratch[3][warp] = most;
    }
    __syncthreads();
#pragma unroll
    for (u32 w = 0; w < WARPS; ++w) {
        least = min(least, s.scratch[2][w]);
        most = max(most, s.scratch[3][w]);
    }
}

// Puts `size` pairs in `sorted`; their depths are from `least` to `most`, `fine` is 0. All threads
// call it; `coarse` is 0, and a barrier precedes the call.
__device__ __forceinline__ void sort_part(Sorting& s, u32 size, u32 least, u32 most) {
    u32 thread = threadIdx.x, bits = most > least ? 32 - __clz(most - least) : 0,
        shift = bits > 8 ? bits - 8 : 0;
    for (u32 k = thread; k < size; k += BLOCK)
        atomicAdd(&s.coarse[(depth_of(s.pairs[k]) - least) >> shift].y, 1u);
    __syncthreads();
    u32 all;
    s.coarse[thread].x = block_scan(s.coarse[thread].y, s.scratch[0], all);
    __syncthreads();
    u32 places[ITEMS];  // bin (low half), pairs of it counted before (high half)
#pragma unroll
    for (u32 k = 0; k < ITEMS; ++k) {
        u32 element = k * BLOCK + thread;
        if (element >= size) break;
        u32 from_least = depth_of(s.pairs[element]) - least, bin = from_least >> shift,
            inside = from_least - (bin << shift);
        uint2 coarse = s.coarse[bin];
        u32 fine = 2 * coarse.x + (u32)((u64)inside * (2 * coarse.y) >> shift),
            half = fine % 2 * 16;
        places[k] = fine | (atomicAdd(&s.fine[fine / 2], 1u << half) >> half & 0xffffu) << 16;
    }
    __syncthreads();
    u32 own = (size + BLOCK - 1) / BLOCK, sum = 0;
    for (u32 k = 0; k < own; ++k) sum += s.fine[thread * own + k];
    sum = (sum & 0xffffu) + (sum >> 16);
    u32 before = block_scan(sum, s.scratch[1], all);
    for (u32 k = 0; k < own; ++k) {
        u32 here = s.fine[thread * own + k], until = before + (here & 0xffffu);
        s.fine[thread * own + k] = before | until << 16;
        before = until + (here >> 16);
    }
    __syncthreads();
#pragma unroll
    for (u32 k = 0; k < ITEMS; ++k) {
        u32 element = k * BLOCK + thread;
        if (element >= size) break;
        s.order[s.bins[places[k] & 0xffffu] + (places[k] >> 16)] = (u16)element;
    }
    __syncthreads();
#pragma unroll
    for (u32 k = 0; k < ITEMS; ++k) {
        u32 element = k * BLOCK + thread;
        if (element >= size) break;
        u32 fine = places[k] & 0xffffu, begin = s.bins[fine],
            end = fine + 1 < 2 * size ? s.bins[fine + 1] : size, to = begin;
        if (end - begin > 1) {
            u64 own = s.pairs[element];
#pragma unroll 1
            for (u32 q = begin; q < end; ++q) to += s.pairs[s.order[q]] < own;
        }
        s.sorted[to] = (u16)element;
    }
    __syncthreads();
}

// The first pair of a part, as a number: at most `rank` pairs lie in front of it, and more than
// `rank` - (ROOM - SHARE). Found by histograms of the whole list, each of a finer digit than the
// one before it. All threads call it.
__device__ __noinline__ u64 find_bound(Sorting& s, const u64* pairs, u32 count, u32 least, u32 most,
                                       u32 rank) {
    u32 thread = threadIdx.x, range = most - least, bits = 32 + (range ? 32 - __clz(range) : 0);
    u64 start = (u64)least << 32;
    u32 shift = bits > 11 ? bits - 11 : 0, in_front = 0;
    for (;;) {
        for (u32 k = thread; k < ROOM; k += BLOCK) s.fine[k] = 0;
        __syncthreads();
        for (u32 k = thread; k < count; k += BLOCK) {
            u64 own = pairs[k];
            u64 bin = (own - start) >> shift;
            if (own >= start && bin < ROOM) atomicAdd(&s.fine[bin], 1u);
        }
        __syncthreads();
        u32 sum = 0, all;
        for (u32 k = 0; k < ITEMS; ++k) sum += s.fine[thread * ITEMS + k];
        u32 until = in_front + block_scan(sum, s.scratch[0], all);
        for (u32 k = 0; k < ITEMS; ++k) {
            u32 own = s.fine[thread * ITEMS + k];
            if (until <= rank && rank < until + own) {
                s.bound = start + ((u64)(thread * ITEMS + k) << shift);
                s.in_front = until;
                s.in_bin = own;
            }
            until += own;
        }
        __syncthreads();
        start = s.bound;
        in_front = s.in_front;
        bool is_found = s.in_bin <= ROOM - SHARE || shift == 0;
        __syncthreads();
        if (is_found) return start;
        shift = shift > 11 ? shift - 11 : 0;
    }
}

// Loads a part of a long list, the pairs between two bounds. Counts each tile's pairs in front of
// the part and in the whole list. Returns its size.
__device__ __forceinline__ u32 load_part(Sorting& s, ReadOnly<u64> pairs, ReadOnly<u16> masks,
                                         u32 count, u32 part, u32 parts, u32& least, u32& most) {
    u32 thread = threadIdx.x, lane = thread % WARP, warp = thread / WARP, below = (1u << lane) - 1;
#pragma unroll 4
    for (u32 k = thread; k < count; k += BLOCK) {
        u32 depth = depth_of(pairs[k]);
        least = min(least, depth);
        most = max(most, depth);
    }
    if (thread == 0) s.size = 0;
    if (thread < 2) {
        s.is_crowded[thread] = 0;
        s.bounds[thread] = thread == 0 ? 0 : ~0ull;
    }
    if (thread < MACRO_TILE_TILES) s.before[thread] = s.totals[thread] = 0;
    find_range(s, least, most);
    u32 bits = most > least ? 32 - __clz(most - least) : 0, shift = bits > 11 ? bits - 11 : 0;
#pragma unroll 4
    for (u32 k = thread; k < count; k += BLOCK)
        atomicAdd(&s.fine[(depth_of(pairs[k]) - least) >> shift], 1u);
    __syncthreads();
    u32 ranks[2], sum = 0, all;
#pragma unroll
    for (u32 j = 0; j < 2; ++j)
        ranks[j] =
            part + j == 0 || part + j == parts ? NO_KEY : (u32)((u64)count * (part + j) / parts);
#pragma unroll
    for (u32 k = 0; k < ITEMS; ++k) sum += s.fine[thread * ITEMS + k];
    u32 until = block_scan(sum, s.scratch[0], all);
    for (u32 k = 0; k < ITEMS; ++k) {
        u32 bin = thread * ITEMS + k, own = s.fine[bin];
#pragma unroll
        for (u32 j = 0; j < 2; ++j) {
            if (ranks[j] == NO_KEY || until > ranks[j] || ranks[j] >= until + own) continue;
            s.bounds[j] = (u64)(least + (bin << shift)) << 32;
            s.is_crowded[j] = own > ROOM - SHARE;
        }
        until += own;
    }
    __syncthreads();
#pragma unroll 1
    for (u32 j = 0; j < 2; ++j) {
        if (!s.is_crowded[j]) continue;
        u64 bound =
            find_bound(s, pairs, count, least, most, (u32)((u64)count * (part + j) / parts));
        if (thread == 0) s.bounds[j] = bound;
        __syncthreads();
    }
    u64 begin = s.bounds[0], end = s.bounds[1];
    TileCounts before, total;
    u32 all_before = 0, all_total = 0, pieces = 0;
    least = 0xffffffffu;
    most = 0;
#pragma unroll 2
    for (u32 piece = warp * WARP; piece < count; piece += BLOCK) {
        if (++pieces % 255 == 0) {
            all_before += before.take_sum(lane);
            all_total += total.take_sum(lane);
        }
        u32 k = piece + lane;
        bool valid = k < count;
        u64 own = valid ? pairs[k] : 0;
#if MACRO_TILE_SIDE == 2
        u32 mask = tiles_of(own);
#else
        u32 mask = valid ? masks[k] : 0;
        total.add(mask);
#endif
        before.add(own < begin ? mask : 0);
        bool inside = valid && own >= begin && own < end;
        u32 vote = __ballot_sync(FULL_MASK, inside), at = 0;
        if (!vote) continue;
        if (lane == 0) at = atomicAdd(&s.size, (u32)__popc(vote));
        at = __shfl_sync(FULL_MASK, at, 0) + __popc(vote & below);
        if (inside) {
            s.pairs[at] = own;
#if MACRO_TILE_SIDE != 2
            s.masks[at] = (u16)mask;
#endif
            least = min(least, depth_of(own));
            most = max(most, depth_of(own));
        }
    }
    all_before += before.take_sum(lane);
    all_total += total.take_sum(lane);
    if (lane < MACRO_TILE_TILES) {
        atomicAdd(&s.before[lane], all_before);
        atomicAdd(&s.totals[lane], all_total);
    }
    for (u32 k = thread; k < ROOM; k += BLOCK) s.fine[k] = 0;
    find_range(s, least, most);
    return s.size;
}

#if MACRO_TILE_SIDE == 2
// Writes the schedule entries of a macro-tile's tiles: (first, one past the last, tile, 0), in the
// order in which the blend begins them, those of long lists from the front on, the others from the
// back. Lane k has the number of pairs of tile k; all lanes of a warp call it.
__device__ __forceinline__ void write_entries(u32 macro_tile, u32 before, u32 n, u32 total,
                                              u32 macro_tiles, const Camera& camera, u32 all_pairs,
                                              Counters* counters, uint4* entries, u32 lane) {
    u32 tile = lane < MACRO_TILE_TILES ? tile_of_macro_tile(macro_tile, lane, camera) : NO_TILE;
    u32 here = __ballot_sync(FULL_MASK, tile != NO_TILE), place = 0;
    bool is_long = (u64)n * macro_tiles * LONG_SHARE > all_pairs;
    if (lane == 0)
        place = atomicAdd(is_long ? &counters->firsts : &counters->lasts, (u32)__popc(here));
    place = __shfl_sync(FULL_MASK, place, 0) + __popc(here & ((1u << lane) - 1));
    if (tile == NO_TILE) return;
    u32 list = MACRO_TILE_TILES * before + lane * n;
    entries[is_long ? place : camera.tiles_x * camera.tiles_y - 1 - place] =
        make_uint4(list, list + total, tile, 0);
}
#else
// Where the lists of a macro-tile's tiles begin, that of tile k in lane k; `total` is the length
// of the lane's list. All lanes of a warp call it.
__device__ __forceinline__ u32 place_lists(u32 macro_tile, u32 total, bool is_shared, bool notes,
                                           const Camera& camera, Counters* counters,
                                           u32* macro_tile_places, uint2* ranges, u32 lane) {
    u32 until = warp_scan(lane < MACRO_TILE_TILES ? total : 0, lane), place = 0;
    if (lane == WARP - 1) {
        if (!is_shared) {
            place = (u32)atomicAdd(&counters->placed, (u64)until);
        } else {
            // The first block to come reserves room for all blocks that have parts of the list.
            u32 seen = atomicCAS(macro_tile_places + macro_tile, 0u, 1u);
            if (seen == 0) {
                place = (u32)atomicAdd(&counters->placed, (u64)until);
                publish(macro_tile_places + macro_tile, place + 2);
            } else {
                while ((seen = observe(macro_tile_places + macro_tile)) == 1) {}
                place = seen - 2;
            }
        }
    }
    u32 list = __shfl_sync(FULL_MASK, place, WARP - 1) + until - total;
    if (lane < MACRO_TILE_TILES && notes) {
        u32 tile = tile_of_macro_tile(macro_tile, lane, camera);
        if (tile != NO_TILE) ranges[tile] = make_uint2(~list, list + total);
    }
    return list;
}
#endif

// `macro_tile_places`: 0 at launch.
// Parameters of `sort_bins`; in Rust by the same name.
struct SortBinsParams {
    ReadOnly<uint4> items;    // lists and parts of long lists, for `sort_bins`
    ReadOnly<u64> all_pairs;  // [macro-tiles][room], (depth key, compacted index)
    ReadOnly<u16> all_masks;  // [macro-tiles][room], tiles of the macro-tile; side 4 only
    u32 room;                 // pairs that a macro-tile has room for
    u32 macro_tiles;          // number of macro-tiles
    Camera camera;
    Counters* counters;
    u32* macro_tile_places;  // side 4: where a macro-tile's tile lists begin
    u32* tile_lists;         // the tiles' lists, compacted indices
    void* places;            // side 2: `entries` of the blend; side 4: `ranges`
};
extern "C" __global__ void __launch_bounds__(BLOCK, BLOCKS)
    sort_bins(const __grid_constant__ SortBinsParams args) {
    begin_kernel();
    __shared__ __align__(16) Sorting s;
    u32 thread = threadIdx.x, lane = thread % WARP, warp = thread / WARP, below = lanes_below(),
        count = args.counters->overflowed ? 0 : args.counters->items;
    for (u32 number = blockIdx.x; number < count; number += gridDim.x) {
        uint4 item = args.items[number];
        u32 macro_tile = item.x, part = item.y & 0xffffu, parts = item.y >> 16, n = item.z,
            size = n;
        ReadOnly<u64> pairs = {args.all_pairs + (u64)macro_tile * args.room};
        ReadOnly<u16> masks = {args.all_masks + (u64)macro_tile * args.room};
        u32 least = 0xffffffffu, most = 0;
        s.coarse[thread].y = 0;
        if (parts == 1) {
#pragma unroll
            for (u32 k = 0; k < ITEMS; ++k) {
                u32 at = k * BLOCK + thread;
                if (at >= n) break;
                u64 pair = pairs[at];
                s.pairs[at] = pair;
                s.fine[at] = 0;
#if MACRO_TILE_SIDE != 2
                s.masks[at] = masks[at];
#endif
                least = min(least, depth_of(pair));
                most = max(most, depth_of(pair));
            }
            for (u32 k = n + thread; k < (n + BLOCK - 1) / BLOCK * BLOCK; k += BLOCK) s.fine[k] = 0;
            find_range(s, least, most);
        } else {
            for (u32 k = thread; k < ROOM; k += BLOCK) s.fine[k] = 0;
            size = load_part(s, pairs, masks, n, part, parts, least, most);
        }
        sort_part(s, size, least, most);

        // The part's share of the tiles' lists: a warp counts each tile's pairs in its stretch,
        // adds up those of the warps before it, and writes its pairs to the tiles' lists.
        u32 stretch = (size + BLOCK - 1) / BLOCK * WARP, begin = min(warp * stretch, size),
            end = min(begin + stretch, size);
        TileCounts counted;
        for (u32 piece = begin; piece < end; piece += WARP) {
            u32 mask = 0;
            if (piece + lane < end) {
#if MACRO_TILE_SIDE == 2
                mask = tiles_of(s.pairs[s.sorted[piece + lane]]);
#else
                mask = s.masks[s.sorted[piece + lane]];
#endif
            }
            counted.add(mask);
        }
        u32 tiles = counted.take_sum(lane);
        if (lane < MACRO_TILE_TILES) s.warp_tiles[warp][lane] = tiles;
        __syncthreads();
        u32 in_front = 0, own = 0;
        if (lane < MACRO_TILE_TILES) {
            for (u32 w = 0; w < WARPS; ++w) {
                u32 of_warp = s.warp_tiles[w][lane];
                in_front += w < warp ? of_warp : 0;
                own += of_warp;
            }
            if (parts > 1) {
                in_front += s.before[lane];
                own += s.before[lane];
            }
        }
#if MACRO_TILE_SIDE == 2
        u32 start = MACRO_TILE_TILES * item.w + lane * n + in_front;
        if (warp == 0 && part + 1 == parts)
            write_entries(macro_tile, item.w, n, own, args.macro_tiles, args.camera,
                          (u32)args.counters->pairs, args.counters, (uint4*)args.places, lane);
#else
        if (warp == 0) {
            u32 list = place_lists(macro_tile, parts > 1 ? s.totals[lane % MACRO_TILE_TILES] : own,
                                   parts > 1, part == 0, args.camera, args.counters,
                                   args.macro_tile_places, (uint2*)args.places, lane);
            if (lane < MACRO_TILE_TILES) s.starts[lane] = list;
        }
        __syncthreads();
        u32 start = s.starts[lane % MACRO_TILE_TILES] + in_front;
#endif
        u32 next[MACRO_TILE_TILES];
#pragma unroll
        for (u32 t = 0; t < MACRO_TILE_TILES; ++t) next[t] = __shfl_sync(FULL_MASK, start, t);
#pragma unroll 1
        for (u32 piece = begin; piece < end; piece += WARP) {
            u32 mask = 0, splat_index = 0;
            if (piece + lane < end) {
                u32 element = s.sorted[piece + lane];
                u64 pair = s.pairs[element];
                splat_index = splat_of(pair);
#if MACRO_TILE_SIDE == 2
                mask = tiles_of(pair);
#else
                mask = s.masks[element];
#endif
            }
#pragma unroll
            for (u32 t = 0; t < MACRO_TILE_TILES; ++t) {
                u32 vote = lanes_with_bit(mask, t);
                if (mask & 1u << t) args.tile_lists[next[t] + __popc(vote & below)] = splat_index;
                next[t] += __popc(vote);
            }
        }
        __syncthreads();
    }
}
