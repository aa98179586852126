// Binning: how project.cu (small footprints) and bin_large_splats.cu (large ones) write the pairs
// of splats and macro-tiles to the macro-tiles' lists, in no order. sort_bins.cu sorts each list
// afterwards, so neither all splats nor all pairs are ever sorted. A macro-tile is MACRO_TILE_SIDE
// x MACRO_TILE_SIDE tiles. A footprint is small if it lies within 2x2 macro-tiles, else large.
// `splat` is the number of a splat, here its Gaussian's.
//
// A block counts its pairs of each macro-tile in shared memory, reserves room in the macro-tile's
// list for all of them with one atomic, and writes them there. Gaussians that are neighbours in
// memory are neighbours in space (spatial_order.rs), so the 128 Gaussians of a block of `project`
// have a dozen pairs of each macro-tile that they touch.
//
//   MACRO_TILE_SIDE, 2 or 4; MAX_MACRO_TILES, at least the number of macro-tiles; TOUCHED, at
//   least the number that a block touches; MAX_LISTED, the most pairs of a list, which with those
//   of a block fit 16 bits.
//
// History: docs/log/kernels/lists.md.

#pragma once
#include "macro_tile_rows.cuh"

static_assert(MAX_LISTED + BLOCK <= 1 << 16, "places of pairs are counted in 16 bits");

// A block's shared memory; `words` and `touched_count` are 0 at first.
struct Binning {
    union {
        u32 words[MAX_MACRO_TILES / 2];  // two macro-tiles each
        u16 counts[MAX_MACRO_TILES];  // the block's pairs of each macro-tile, then the position in
                                      // its list of the first of them
    };
    u32 touched_count;
    u16 touched[TOUCHED];
};

// Counts a pair of a macro-tile (`macro-tile`). Returns how many of the same were counted before.
__device__ __forceinline__ u32 count_pair(Binning& d, u32 macro_tile) {
    u32 shift = macro_tile % 2 * 16,
        before = atomicAdd(&d.words[macro_tile / 2], 1u << shift) >> shift & 0xffffu;
    if (before == 0) d.touched[atomicAdd(&d.touched_count, 1u)] = (u16)macro_tile;
    return before;
}

// Reserves room for the counted pairs. A thread sends the atomics of N macro-tiles before it waits
// for a result. All THREADS of the block call it, between barriers.
template <u32 THREADS, u32 N>
__device__ __forceinline__ void reserve_places(Binning& d, u32* macro_tile_counts, u32 thread) {
    u32 count = d.touched_count;
    for (u32 first = thread; first < count; first += N * THREADS) {
        u32 macro_tiles[N], places[N];
#pragma unroll
        for (u32 k = 0; k < N; ++k) {
            if (first + k * THREADS >= count) break;
            macro_tiles[k] = d.touched[first + k * THREADS];
            places[k] =
                atomicAdd(macro_tile_counts + macro_tiles[k], (u32)d.counts[macro_tiles[k]]);
        }
#pragma unroll
        for (u32 k = 0; k < N; ++k) {
            if (first + k * THREADS >= count) break;
            d.counts[macro_tiles[k]] = (u16)min(places[k], (u32)MAX_LISTED);
        }
    }
}

// The next reserved position in a macro-tile's list; another one at each call.
__device__ __forceinline__ u32 next_place(Binning& d, u32 macro_tile) {
    u32 shift = macro_tile % 2 * 16;
    return atomicAdd(&d.words[macro_tile / 2], 1u << shift) >> shift & 0xffffu;
}

// A pair in a list: the bits of the splat's depth, below them its number (`splat`), and for
// macro-tiles of 2x2 the mask of its tiles. Pairs compare as numbers in the order in which they
// are blended, equal depths in the order of the splats. Macro-tiles of 4x4 have their masks in an
// array of their own.
#if MACRO_TILE_SIDE == 2
__device__ __forceinline__ u64 binned_pair(u32 depth, u32 splat_index, u32 mask) {
    return (u64)depth << 32 | splat_index << MACRO_TILE_TILES | mask;
}
__device__ __forceinline__ u32 splat_of(u64 pair) { return (u32)pair >> MACRO_TILE_TILES; }
__device__ __forceinline__ u32 tiles_of(u64 pair) { return (u32)pair & ALL_TILES; }
#else
__device__ __forceinline__ u64 binned_pair(u32 depth, u32 splat_index, u32 mask) {
    return (u64)depth << 32 | splat_index;
}
__device__ __forceinline__ u32 splat_of(u64 pair) { return (u32)pair; }
#endif
__device__ __forceinline__ u32 depth_of(u64 pair) { return (u32)(pair >> 32); }

// The binned pairs: `room` for each macro-tile.
struct BinnedPairs {
    u64* pairs;
    u16* masks;
    u32 room;
};

// A pair without room is left out: the frame has overflowed and is discarded.
__device__ __forceinline__ void write_binned(const BinnedPairs& to, u32 macro_tile, u32 place,
                                             u32 depth, u32 splat_index, u32 mask) {
    if (place >= to.room) return;
    u64 at = (u64)macro_tile * to.room + place;
    to.pairs[at] = binned_pair(depth, splat_index, mask);
#if MACRO_TILE_SIDE != 2
    to.masks[at] = (u16)mask;
#endif
}

// The macro-tiles of a splat: at most 2x2 of them, or the splat goes to the queue of large
// footprints (`is_large`).
struct CoveredMacroTiles {
    u32 macro_tile;         // the upper left one
    u32 tiles[SMALL_SIDE];  // of the upper and of the lower macro-tiles (`covered_tiles`)
    uint2 rows;             // of macro-tiles, first and one past the last
    bool is_large;
};

// `left`: the smallest x of the ellipse alpha = 1/255.
__device__ __forceinline__ CoveredMacroTiles cover(const Footprint& footprint, float left,
                                                   const Camera& camera) {
    u32 column = (u32)fminf(fmaxf((left + TILE_LOW) / (MACRO_TILE_SIDE * TILE), 0.0f), 1e6f);
    uint2 tile_rows = footprint_rows(footprint, camera), rows = macro_tile_rows(tile_rows);
    u32 columns = (camera.tiles_x + MACRO_TILE_SIDE - 1) / MACRO_TILE_SIDE;
    CoveredMacroTiles n = {rows.x * columns + column, {}, rows, rows.y - rows.x > SMALL_SIDE};
#pragma unroll
    for (u32 r = 0; r < SMALL_SIDE; ++r) {
        if (n.is_large || rows.x + r >= rows.y) continue;
        Row row = make_row(footprint, tile_rows, rows.x + r, camera);
        uint2 span = macro_tiles_of(row);
        if (span.x >= span.y) continue;
        bool fits;
        n.tiles[r] = covered_tiles(row, column, fits);
        n.is_large = !fits;
    }
    return n;
}

__device__ __forceinline__ u32 covered_mask(const CoveredMacroTiles& n, u32 g) {
    return n.tiles[g / SMALL_SIDE] >> (MACRO_TILE_TILES * (g % SMALL_SIDE)) & ALL_TILES;
}
