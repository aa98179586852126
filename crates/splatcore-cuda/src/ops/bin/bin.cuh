// Pairs of groups of tiles and splats, dealt to the lists of their groups in no order: what
// project.cu and bin_large_splats.cu share. sort_bins.cu puts every list in order then, so that
// neither all splats nor all pairs are ever sorted.
//
// A block counts its pairs of each group in shared memory, asks for room in the group's list for
// all of them at once, and writes them there. Gaussians that are neighbours lie next to each other
// (spatial_order.rs), so the 128 of a block of `project` have a dozen pairs of each group that they
// touch (reckoned for fox_220k and fox_mcmc_1m at 1080x1920: 60,000 and 160,000 times a block and a
// group): one atomic on the group's count for those, where one a pair was what made dealing slow
// (see lists.cu). In no order at all: `project` 19 us longer (fox_mcmc_1m 72), `deal_far` 17 (40),
// and lists.cu is faster.
//
// Constants: GROUP; MOST_GROUPS, at least as many as there are; TOUCHED, at least as many as a
// block touches; MOST_LISTED pairs that a list can have at most, which with those of a block fit 16
// bits.

#pragma once
#include "macro_tile_rows.cuh"

// What a block shares; `words` and `touched_groups` are 0 before.
struct Dealing {
    union {
        u32 words[MOST_GROUPS / 2];  // two groups each
        u16 counts[MOST_GROUPS];  // the block's pairs of each group, then the place in its list of
                                  // the first of them
    };
    u32 touched_groups;
    u16 touched[TOUCHED];
};

// Counts a pair. Returns how many of its group were counted before.
__device__ __forceinline__ u32 count_pair(Dealing& d, u32 group) {
    u32 shift = group % 2 * 16,
        before = atomicAdd(&d.words[group / 2], 1u << shift) >> shift & 0xffffu;
    if (before == 0) d.touched[atomicAdd(&d.touched_groups, 1u)] = (u16)group;
    return before;
}

// Asks for room for the pairs counted, for N groups a thread before it waits for an answer. All
// THREADS of the block call it, between barriers.
template <u32 THREADS, u32 N>
__device__ __forceinline__ void reserve_places(Dealing& d, u32* group_counts, u32 thread) {
    u32 count = d.touched_groups;
    for (u32 first = thread; first < count; first += N * THREADS) {
        u32 groups[N], places[N];
#pragma unroll
        for (u32 k = 0; k < N; ++k) {
            if (first + k * THREADS >= count) break;
            groups[k] = d.touched[first + k * THREADS];
            places[k] = atomicAdd(group_counts + groups[k], (u32)d.counts[groups[k]]);
        }
#pragma unroll
        for (u32 k = 0; k < N; ++k) {
            if (first + k * THREADS >= count) break;
            d.counts[groups[k]] = (u16)min(places[k], (u32)MOST_LISTED);
        }
    }
}

// The place of a pair of a group that there is room for; another one each time.
__device__ __forceinline__ u32 next_place(Dealing& d, u32 group) {
    u32 shift = group % 2 * 16;
    return atomicAdd(&d.words[group / 2], 1u << shift) >> shift & 0xffffu;
}

// A pair in a list: the bits of the splat's depth, below them its slot, and of small groups the
// mask of its tiles: as numbers, pairs are in the order in which they are blended, equal depths in
// that of the slots. Of large groups masks are by themselves.
#if GROUP == 2
__device__ __forceinline__ u64 dealt_pair(u32 depth, u32 slot, u32 mask) {
    return (u64)depth << 32 | slot << GROUP_TILES | mask;
}
__device__ __forceinline__ u32 slot_of(u64 pair) { return (u32)pair >> GROUP_TILES; }
__device__ __forceinline__ u32 tiles_of(u64 pair) { return (u32)pair & ALL_TILES; }
#else
__device__ __forceinline__ u64 dealt_pair(u32 depth, u32 slot, u32 mask) {
    return (u64)depth << 32 | slot;
}
__device__ __forceinline__ u32 slot_of(u64 pair) { return (u32)pair; }
#endif
__device__ __forceinline__ u32 depth_of(u64 pair) { return (u32)(pair >> 32); }

// Where dealt pairs are: `room` for each group.
struct DealtPairs {
    u64* pairs;
    u16* masks;
    u32 room;
};

// A pair that there is no room for is left out; the frame will be halted.
__device__ __forceinline__ void write_dealt(const DealtPairs& to, u32 group, u32 place, u32 depth,
                                            u32 slot, u32 mask) {
    if (place >= to.room) return;
    u64 at = (u64)group * to.room + place;
    to.pairs[at] = dealt_pair(depth, slot, mask);
#if GROUP != 2
    to.masks[at] = (u16)mask;
#endif
}

// The groups of a splat: at most 2x2 of them, or it is one for the queue of far splats.
struct Near {
    u32 group;        // the upper left one
    u32 tiles[NEAR];  // of the upper and of the lower groups (`near_tiles`)
    uint2 rows;       // of groups, first and one past the last
    bool is_far;
};

// `left`: where the ellipse alpha = 1/255 begins.
__device__ __forceinline__ Near find_near(const Footprint& footprint, float left,
                                          const Camera& camera) {
    u32 column = (u32)fminf(fmaxf((left + TILE_LOW) / (GROUP * TILE), 0.0f), 1e6f);
    uint2 tile_rows = footprint_rows(footprint, camera), rows = group_rows(tile_rows);
    Near n = {
        rows.x * ((camera.tiles_x + GROUP - 1) / GROUP) + column, {}, rows, rows.y - rows.x > NEAR};
#pragma unroll
    for (u32 r = 0; r < NEAR; ++r) {
        if (n.is_far || rows.x + r >= rows.y) continue;
        Row row = make_row(footprint, tile_rows, rows.x + r, camera);
        uint2 span = groups_of(row);
        if (span.x >= span.y) continue;
        bool fits;
        n.tiles[r] = near_tiles(row, column, fits);
        n.is_far = !fits;
    }
    return n;
}

__device__ __forceinline__ u32 near_mask(const Near& n, u32 g) {
    return n.tiles[g / NEAR] >> (GROUP_TILES * (g % NEAR)) & ALL_TILES;
}
