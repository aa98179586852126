// lists: the tiles' lists of a picture, by way of groups of GROUP x GROUP tiles. A pair of a group
// and a splat carries a mask of the group's tiles; less than half as many pairs are made and
// sorted, and a last pass splits every group's list into those of its tiles. Training keeps
// intersect.cu's pairs, which its sums need. CPU twin: splatcore-cpu/src/intersect.rs.
//
// `count_lists` and `expand_lists`: as `expand` and `expand_long` of intersect.cu, with rows of
// groups. But of three splats in four (fox_220k, 1080x1920; seven in eight of mcmc_1m) all groups
// lie in 2x2 of them, and `project`, which counted them, says which (`Reach`): a thread writes
// those pairs without looking at the splat. And where a block's pairs begin is added up from sums
// of what `project` counted, in place of a look-back; splats with long lists go first in the same
// launch. Then come split_lists.cu and, for large groups, split_large_lists.cu.
//
// GROUP is 2, and 4 for large pictures: twice the pixels a side have about the same groups and
// pairs then. At 3840x2160 on an H200 predicted: what there is at 1080x1920 but for splitting,
// which is four times the work. Measured, fox_220k (mcmc_1m): sorts 65 us to 43 (147 to 90), expand
// 31 to 23 (87 to 64), splitting 26 to 24 (44 to 78). Lists of a group with room for all its pairs
// each: splitting mcmc_1m 92, they no longer fit the cache. Blocks of 512, counts of bits in bytes,
// four pieces at a time: 34 and 57. At 1080x1920 groups of 4x4 lose: one pass of 9 bits takes 13 us
// (34) for two of 6 (21, 47), splitting their few long lists 24 (94).
//
// Prediction for fox_220k on an H200: 0.55 M pairs in place of 1.28 M: the sort by tile 75 us to
// 42, expand 31 to 25, and 6 for splitting. Measured: both sorts 71 us to 58, expand 30 to 24,
// split 12; mcmc_1m: the sorts 161 to 117, expand 85 to 69, split 26. Scenes whose neighbours lie
// next to each other need neither sort: deal.cuh. This is for all others.
//
// Tried: no sort by depth at all, pairs in any order with atomics to count and deal them to their
// groups, each group's list then sorted by depth in shared memory by a block of its own. Predicted
// 53 us in place of 119; measured 140 (dealing 0.55 M pairs 32 to 50 us: atomics on 2040 addresses
// run at some 15 G/s; sorting lists 72 us at 28 % of the issue slots), mcmc_1m 580 in place of 270.
//
// Tried: the blend picks its tile's pairs from its group's list by the masks, and nothing is split:
// predicted 4 us less (12 for mcmc_1m). Measured: the blend 10 (22) longer, as much as splitting
// takes. The first 256 of each tile's list at a place that the blend knows, so that it need not
// wait for the range: the blend 0.5 less, splitting mcmc_1m 5 longer.
//
// What `project` says, predicted to take expand from 23 to 14 us and from 67 to 35: 21.4 and 56.
// What is left is the blocks with the nearest splats, whose pairs are many. Tried against that:
// four splats a thread, so a shorter look-back, 39 and 71 (two: 30 and 61); windows of 4x4 groups,
// all others in the queue with a warp each, 27 and 64, at 3840x2160 twice as long as before; of 8x8
// groups, pairs shared out over the warp, 24 and 55, at 3840x2160 47 and 104 (31 and 86). Pairs to
// memory by way of shared memory: the same. Digits for the sort counted here: as much longer as the
// sort gets shorter. Words kept in registers between counting and dealing (`split_lists`): 0 and 1
// less with 4 of them, 2 more and 3 less with 8. Blocks of 32 registers, 8 a multiprocessor in
// place of 6: expand 0 (mcmc_1m 3 us) less.
//
// With a look-back a third of the warps' time (mcmc_1m) went by at the barrier behind it: 11 polls
// a block until the 32 blocks before had added up what `project` had counted long before. With sums
// of 256 splats, and of 65,536 (of all, one by one, would be quadratic: 40 us for 2.5 M Gaussians),
// predicted 5 us less (17; at 3840x2160 4 and 20). Measured, both kernels: 21.9 to 18.7 (54.9 to
// 42.5; 24.6 to 21.7 and 66.8 to 51.9). Tried since, from 18.7 (42.5; 21.7 and 51.9):
// `expand_lists` begun while sums are counted, which it awaits before it writes, 22.0 (44.3; 27.5
// and 57.4); of that, four warps a long list without a barrier 19.5 (44.7; 21.5 and 48.3), and also
// the splats looked at row by row moved together first 19.6 (43.2; 22.0 and 49.6); all that a block
// begins with loaded at once 18.7 (43.7); as many blocks as fit, with several 256 splats each, 19.0
// (44.2; 21.5 and 52.1).
//
// `count_lists` counts 1,024 splats a block, not 256: some 280 blocks begin in a microsecond, so
// that 3,900 of them took 14 us of mcmc_1m's frame (with every block's times noted); predicted 5
// less, measured 14.3 to 8.6 so. Blocks of `expand_lists` that have more than 1,024 pairs to write
// row by row leave them to four others, which begin first, and twice as many blocks have what is
// long: predicted 3 us less, measured both kernels with both changes 18.7 to 19.1 (42.5 to 39.3;
// 21.7 to 21.7 and 51.5 to 48.5), without this one 19.5 to 20 (42). Half as many blocks for what is
// long: 20.1 (39.6; 24.6 and 49); twice as many: 19.3 (39.5; 22.3 and 48.7). More than 512 pairs:
// 21.3 (41.1). One loop for all blocks: 1.6 (2.4) longer. Tried: owners of rows and pairs from
// counted bits, in place of searches of eight loads: 73 instructions a pair for 103, predicted a
// tenth less; measured 0.5 (2) longer.
//
// Tried: pairs dealt to their groups in one pass, by a table of counts of each piece (4,096 pairs)
// and group, its columns added up, in place of the two passes of the sort. Predicted 15 us for 26
// (28 for 54); measured 30 (59): count 5.7 (8.5), add up 4.4 (6.8), deal 20 (43), which writes runs
// of two pairs. With pieces of 2,048: 27 (56).
//
// Constants: INTERSECT as in footprint.cuh; GROUP; COUNTED_BLOCKS of 256 splats whose pairs a block
// of `count_lists` counts.

// A block whose splats have more pairs than these that are to be written row by row leaves them to
// PARTS blocks, each for as many splats.
#define MANY_PAIRS 1024
#define PARTS 4
#define IS_PART \
    0x80000000u  // in the queue of what goes first: not a splat's place, but PARTS times a block,
                 // plus a part

__device__ __forceinline__ void write_pair(u32 group, u32 mask, u32 slot, u32 at, u32* keys,
                                           u32* values) {
    keys[at] = pair_key(group, mask);
    values[at] = pair_value(slot, mask);
}

// What `project` says of the splats, in the order of their depths; the pairs of each block of them,
// `block_pairs`, and of each BLOCK blocks, `range_pairs`, which are 0 at launch; and which splats
// have long lists: `longs`, places in that order.
extern "C" __global__ void __launch_bounds__(BLOCK)
    count_lists(const u32* __restrict__ order, const Reach* __restrict__ reaches, u32 pair_capacity,
                Reach* ordered_reaches, u32* block_pairs, u32* range_pairs, u32* longs,
                Counters* counters) {
    begin_kernel();
    __shared__ u32 scratch[2 * COUNTED_BLOCKS][BLOCK / WARP];
    // More pairs than there is room for: nothing after this may change anything.
    u64 all = counters->pairs;
    if (blockIdx.x == 0 && threadIdx.x == 0) {
        counters->needed = max(counters->needed, all);
        if (all > (u64)pair_capacity) counters->halted = 1;
    }
    if (all > (u64)pair_capacity) return;
    u32 visible = counters->visible, first_block = blockIdx.x * COUNTED_BLOCKS,
        first = first_block * BLOCK + threadIdx.x;
    if (first - threadIdx.x >= visible) return;
    u32 slots[COUNTED_BLOCKS], sums[2 * COUNTED_BLOCKS], totals[2 * COUNTED_BLOCKS];
    Reach own[COUNTED_BLOCKS];
#pragma unroll
    for (u32 k = 0; k < COUNTED_BLOCKS; ++k)
        slots[k] = first + k * BLOCK < visible ? order[first + k * BLOCK] : 0;
#pragma unroll
    for (u32 k = 0; k < COUNTED_BLOCKS; ++k)
        own[k] = first + k * BLOCK < visible ? reaches[slots[k]] : far_reach(0);
#pragma unroll
    for (u32 k = 0; k < COUNTED_BLOCKS; ++k) {
        u32 i = first + k * BLOCK;
        u32 pairs = pairs_of(own[k]);
        bool own_block = is_long(own[k], pairs);
        sums[k] = pairs;
        sums[COUNTED_BLOCKS + k] = own_block || is_near(own[k]) ? 0 : pairs;
        if (i >= visible) continue;
        ordered_reaches[i] = own[k];
        if (own_block) longs[atomicAdd(&counters->longs, 1u)] = i;
    }
    block_scans(sums, scratch, totals);
    u32 k = threadIdx.x % COUNTED_BLOCKS, part = threadIdx.x / COUNTED_BLOCKS,
        block = first_block + k;
    if (part >= PARTS || block * BLOCK >= visible) return;
    u32 all_pairs = totals[0], row_pairs = totals[COUNTED_BLOCKS];
#pragma unroll
    for (u32 j = 1; j < COUNTED_BLOCKS; ++j) {
        all_pairs = k == j ? totals[j] : all_pairs;
        row_pairs = k == j ? totals[COUNTED_BLOCKS + j] : row_pairs;
    }
    // Never more than there are splats: such a block has more than 16 that are not long.
    if (row_pairs > MANY_PAIRS)
        longs[atomicAdd(&counters->longs, 1u)] = IS_PART | block * PARTS + part;
    if (part != 0) return;
    block_pairs[block] = all_pairs;
    atomicAdd(range_pairs + block / BLOCK, all_pairs);
}

// This thread's share of the pairs of the blocks before `block`.
__device__ __forceinline__ u32 pairs_before(const u32* block_pairs, const u32* range_pairs,
                                            u32 block) {
    u32 range = block / BLOCK, in_range = range * BLOCK + threadIdx.x,
        sum = in_range < block ? block_pairs[in_range] : 0;
    for (u32 r = threadIdx.x; r < range; r += BLOCK) sum += range_pairs[r];
    return sum;
}

// What a block shares to write its splats' pairs.
struct Expansion {
    Footprint footprints[BLOCK];
    uint2 tile_rows[BLOCK];
    u32 slots[BLOCK];
    u32 row_starts[BLOCK];   // first of the block's rows of groups of each splat
    u32 pair_starts[BLOCK];  // first of the chunk's pairs of each row
    Row rows[BLOCK];
    u32 owners[BLOCK];  // splat of each row
    u32 shifts[BLOCK];  // pairs before each splat that are not written row by row
    u32 scratch[4][BLOCK / WARP];
};

// Writes the pairs of the splat with a long list that is at `place` of the order. All threads of
// the block call it.
__device__ __forceinline__ void expand_long(const Splat* __restrict__ splats,
                                            const u32* __restrict__ order,
                                            const Reach* __restrict__ ordered_reaches,
                                            const u32* __restrict__ block_pairs,
                                            const u32* __restrict__ range_pairs, u32 place,
                                            const Camera& camera, u32* keys, u32* values,
                                            Expansion& e) {
    u32 thread = threadIdx.x, groups_x = (camera.tiles_x + GROUP - 1) / GROUP, slot = order[place],
        block = place / BLOCK;
    u32 earlier = pairs_before(block_pairs, range_pairs, block), base;
    if (block * BLOCK + thread < place)
        earlier += pairs_of(ordered_reaches[block * BLOCK + thread]);
    block_scan(earlier, e.scratch[1], base);
    Footprint footprint = make_footprint(splats[slot]);
    uint2 tile_rows = footprint_rows(footprint, camera), own = group_rows(tile_rows);
    for (u32 chunk = own.x; chunk < own.y; chunk += BLOCK) {
        u32 length = 0;
        if (chunk + thread < own.y) {
            e.rows[thread] = make_row(footprint, tile_rows, chunk + thread, camera);
            uint2 span = groups_of(e.rows[thread]);
            length = span.y - span.x;
        }
        u32 in_chunk;
        e.pair_starts[thread] = block_scan(length, e.scratch[0], in_chunk);
        __syncthreads();
        for (u32 p = thread; p < in_chunk; p += BLOCK) {
            u32 r = owner_of(e.pair_starts, p);
            Row row = e.rows[r];
            u32 column = groups_of(row).x + p - e.pair_starts[r];
            write_pair(row.row * groups_x + column, mask_of(row, column), slot, base + p, keys,
                       values);
        }
        base += in_chunk;
        __syncthreads();
    }
}

// Writes pairs of the splats of a block of the order: row by row those of the splats that are of
// the part, or of all (part PARTS) unless they have too many; and those of near splats. All threads
// of the block call it.
__device__ __forceinline__ void expand_block(const Splat* __restrict__ splats,
                                             const u32* __restrict__ order,
                                             const Reach* __restrict__ ordered_reaches,
                                             const u32* __restrict__ block_pairs,
                                             const u32* __restrict__ range_pairs, u32 block,
                                             u32 part, u32 visible, const Camera& camera, u32* keys,
                                             u32* values, Expansion& e) {
    u32 thread = threadIdx.x, groups_x = (camera.tiles_x + GROUP - 1) / GROUP,
        first = block * BLOCK;
    bool valid = first + thread < visible;
    u32 slot = valid ? order[first + thread] : 0;
    Reach reach = valid ? ordered_reaches[first + thread] : far_reach(0);
    u32 earlier = pairs_before(block_pairs, range_pairs, block);
    u32 own_pairs = pairs_of(reach);
    bool all = part == PARTS, whole = is_near(reach) || is_long(reach, own_pairs);
    bool here = !whole && (all || thread / (BLOCK / PARTS) == part);
    e.slots[thread] = slot;
    u32 own_rows = 0;
    if (valid && here) {
        e.footprints[thread] = make_footprint(splats[slot]);
        uint2 own = footprint_rows(e.footprints[thread], camera);
        e.tile_rows[thread] = own;
        own_rows = group_rows(own).y - group_rows(own).x;
    }
    u32 sums[4] = {own_pairs, here ? 0 : own_pairs, own_rows, earlier}, totals[4];
    block_scans(sums, e.scratch, totals);
    u32 before = sums[0], total_rows = totals[2], base = totals[3];
    e.shifts[thread] = sums[1];
    e.row_starts[thread] = sums[2];
    __syncthreads();
    if (all) {
        // A thread writes its near splat's pairs, at most four; what is left is shared out over the
        // block, row by row.
        for (u32 g = 0, at = base + before; g < NEAR * NEAR; ++g) {
            u32 mask = near_mask(reach, g);
            if (mask)
                write_pair(reach.x + g / NEAR * groups_x + g % NEAR, mask, slot, at++, keys,
                           values);
        }
        if (totals[0] - totals[1] > MANY_PAIRS) return;
    }
    for (u32 chunk = 0; chunk < total_rows; chunk += BLOCK) {
        u32 length = 0, k = chunk + thread;
        if (k < total_rows) {
            // Splats without rows share their start with the next one; the last of them is the one
            // that has rows.
            u32 i = owner_of(e.row_starts, k);
            Row row = make_row(e.footprints[i], e.tile_rows[i],
                               e.tile_rows[i].x / GROUP + k - e.row_starts[i], camera);
            uint2 span = groups_of(row);
            length = span.y - span.x;
            e.rows[thread] = row;
            e.owners[thread] = i;
        }
        u32 in_chunk;
        e.pair_starts[thread] = block_scan(length, e.scratch[0], in_chunk);
        __syncthreads();
        for (u32 p = thread; p < in_chunk; p += BLOCK) {
            u32 r = owner_of(e.pair_starts, p), i = e.owners[r];
            Row row = e.rows[r];
            u32 column = groups_of(row).x + p - e.pair_starts[r];
            write_pair(row.row * groups_x + column, mask_of(row, column), e.slots[i],
                       base + p + e.shifts[i], keys, values);
        }
        base += in_chunk;
        // The next chunk overwrites what this one reads.
        __syncthreads();
    }
}

// The first `long_blocks` blocks have what takes longest: splats with long lists, and parts of
// blocks that have many pairs to write row by row. Then come those that have 256 splats each.
extern "C" __global__ void __launch_bounds__(BLOCK, 8)
    expand_lists(const Splat* __restrict__ splats, const u32* __restrict__ order,
                 const Reach* __restrict__ ordered_reaches, const u32* __restrict__ block_pairs,
                 const u32* __restrict__ range_pairs, const u32* __restrict__ longs,
                 u32 long_blocks, Camera camera, u32* keys, u32* values, const Counters* counters) {
    begin_kernel();
    __shared__ Expansion e;
    if (counters->halted) return;
    u32 visible = counters->visible;
    if (blockIdx.x >= long_blocks) {
        u32 block = blockIdx.x - long_blocks;
        if (block * BLOCK < visible)
            expand_block(splats, order, ordered_reaches, block_pairs, range_pairs, block, PARTS,
                         visible, camera, keys, values, e);
        return;
    }
    u32 count = counters->longs;
    for (u32 item = blockIdx.x; item < count; item += long_blocks) {
        u32 what = longs[item];
        if (what & IS_PART)
            expand_block(splats, order, ordered_reaches, block_pairs, range_pairs,
                         (what & ~IS_PART) / PARTS, what % PARTS, visible, camera, keys, values, e);
        else
            expand_long(splats, order, ordered_reaches, block_pairs, range_pairs, what, camera,
                        keys, values, e);
    }
}
