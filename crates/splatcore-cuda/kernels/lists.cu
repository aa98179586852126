// lists: the tiles' lists of a picture, by way of groups of GROUP x GROUP tiles. A pair of a group and a splat carries a mask
// of the group's tiles; less than half as many pairs are made and sorted, and a last pass splits every group's list into
// those of its tiles. Training keeps intersect.cu's pairs, which its sums need. CPU twin: splatcore-cpu/src/intersect.rs.
//
// `count_lists` and `expand_lists`: as `expand` and `expand_long` of intersect.cu, with rows of groups. But of three splats in
// four (fox_220k, 1080x1920; seven in eight of mcmc_1m) all groups lie in 2x2 of them, and `project`, which counted them, says which
// (`Reach`): a thread writes those pairs without looking at the splat. And where a block's pairs begin is added up from sums of what `project`
// counted, in place of a look-back; splats with long lists go first in the same launch.
// `split_lists`: a block a group, a warp a stretch of its list, stable: counts first, then deals, each by a ballot for every tile.
//
// GROUP is 2, and 4 for large pictures: twice the pixels a side have about the same groups and pairs then. At 3840x2160 on an H200
// predicted: what there is at 1080x1920 but for splitting, which is four times the work. Measured, fox_220k (mcmc_1m): sorts 65 us to 43
// (147 to 90), expand 31 to 23 (87 to 64), splitting 26 to 24 (44 to 78). Lists of a group with room for all its pairs each: splitting
// mcmc_1m 92, they no longer fit the cache. Blocks of 512, counts of bits in bytes, four pieces at a time: 34 and 57.
// At 1080x1920 groups of 4x4 lose: one pass of 9 bits takes 13 us (34) for two of 6 (21, 47), splitting their few long lists 24 (94).
//
// Prediction for fox_220k on an H200: 0.55 M pairs in place of 1.28 M: the sort by tile 75 us to 42, expand 31 to 25, and 6 for
// splitting. Measured: both sorts 71 us to 58, expand 30 to 24, split 12; mcmc_1m: the sorts 161 to 117, expand 85 to 69, split 26.
// Tried: no sort by depth at all, pairs in any order with atomics to count and deal them to their groups, each group's list
// then sorted by depth in shared memory by a block of its own. Predicted 53 us in place of 119; measured 140 (dealing 0.55 M
// pairs 32 to 50 us: atomics on 2040 addresses run at some 15 G/s; sorting lists 72 us at 28 % of the issue slots), mcmc_1m 580
// in place of 270.
//
// Tried: the blend picks its tile's pairs from its group's list by the masks, and nothing is split: predicted 4 us less (12 for
// mcmc_1m). Measured: the blend 10 (22) longer, as much as splitting takes. The first 256 of each tile's list at a place that the
// blend knows, so that it need not wait for the range: the blend 0.5 less, splitting mcmc_1m 5 longer.
//
// What `project` says, predicted to take expand from 23 to 14 us and from 67 to 35: 21.4 and 56. What is left is the blocks with the nearest
// splats, whose pairs are many. Tried against that: four splats a thread, so a shorter look-back, 39 and 71 (two: 30 and 61); windows
// of 4x4 groups, all others in the queue with a warp each, 27 and 64, at 3840x2160 twice as long as before; of 8x8 groups, pairs shared
// out over the warp, 24 and 55, at 3840x2160 47 and 104 (31 and 86). Pairs to memory by way of shared memory: the same. Digits for the
// sort counted here: as much longer as the sort gets shorter. Words kept in registers between counting and dealing (`split_lists`): 0
// and 1 less with 4 of them, 2 more and 3 less with 8.
// Blocks of 32 registers, 8 a multiprocessor in place of 6: expand 0 (mcmc_1m 3 us) less.
//
// With a look-back a third of the warps' time (mcmc_1m) went by at the barrier behind it: 11 polls a block until the 32 blocks before had added
// up what `project` had counted long before. With sums of 256 splats, and of 65,536 (of all, one by one, would be quadratic: 40 us for 2.5 M
// Gaussians), predicted 5 us less (17; at 3840x2160 4 and 20). Measured, both kernels: 21.9 to 18.7 (54.9 to 42.5; 24.6 to 21.7 and 66.8 to 51.9).
// Tried since, from 18.7 (42.5; 21.7 and 51.9): `expand_lists` begun while sums are counted, which it awaits before it writes, 22.0 (44.3; 27.5 and
// 57.4); of that, four warps a long list without a barrier 19.5 (44.7; 21.5 and 48.3), and also the splats looked at row by row moved together first
// 19.6 (43.2; 22.0 and 49.6); all that a block begins with loaded at once 18.7 (43.7); as many blocks as fit, with several 256 splats each,
// 19.0 (44.2; 21.5 and 52.1). `split_lists` of large groups with counts from a transposed matrix of bits, 5 shuffles in place of 16 votes and 40
// registers in place of 48: 23.0 to 20.9, but mcmc_1m 75 to 81; why was not looked for. Four pieces at a time there: 0.
//
// Tried: pairs dealt to their groups in one pass, by a table of counts of each piece (4,096 pairs) and group, its columns added up, in place
// of the two passes of the sort. Predicted 15 us for 26 (28 for 54); measured 30 (59): count 5.7 (8.5), add up 4.4 (6.8), deal 20
// (43), which writes runs of two pairs. With pieces of 2,048: 27 (56).
//
// Constants: INTERSECT as in footprint.cuh; GROUP.

#define WARPS (BLOCK / WARP)
#define PIECES (8 / GROUP)  // of 32 pairs that a warp of `split_lists` loads at once

__device__ __forceinline__ void write_pair(u32 group, u32 mask, u32 slot, u32 at, u32* keys, u32* values) {
    keys[at] = pair_key(group, mask);
    values[at] = pair_value(slot, mask);
}

// What `project` says of the splats, in the order of their depths; the pairs of each block of them, `block_pairs`, and of each BLOCK blocks,
// `range_pairs`, which are 0 at launch; and which splats have long lists: `longs`, places in that order.
extern "C" __global__ void __launch_bounds__(BLOCK) count_lists(const u32* __restrict__ order, const Reach* __restrict__ reaches,
                                                                 u32 pair_capacity, Reach* ordered_reaches, u32* block_pairs,
                                                                 u32* range_pairs, u32* longs, Counters* counters) {
    begin_kernel();
    __shared__ u32 scratch[BLOCK / WARP];
    // More pairs than there is room for: nothing after this may change anything.
    u64 all = counters->pairs;
    if (blockIdx.x == 0 && threadIdx.x == 0) {
        counters->needed = max(counters->needed, all);
        if (all > (u64)pair_capacity) counters->halted = 1;
    }
    if (all > (u64)pair_capacity) return;
    u32 visible = counters->visible, i = blockIdx.x * BLOCK + threadIdx.x;
    if (i - threadIdx.x >= visible) return;
    u32 pairs = 0, total;
    if (i < visible) {
        Reach reach = reaches[order[i]];
        ordered_reaches[i] = reach;
        pairs = pairs_of(reach);
        if (is_long(reach, pairs)) longs[atomicAdd(&counters->longs, 1u)] = i;
    }
    block_scan(pairs, scratch, total);
    if (threadIdx.x == 0) {
        block_pairs[blockIdx.x] = total;
        atomicAdd(range_pairs + blockIdx.x / BLOCK, total);
    }
}

// This thread's share of the pairs of the blocks before `block`.
__device__ __forceinline__ u32 pairs_before(const u32* block_pairs, const u32* range_pairs, u32 block) {
    u32 range = block / BLOCK, in_range = range * BLOCK + threadIdx.x, sum = in_range < block ? block_pairs[in_range] : 0;
    for (u32 r = threadIdx.x; r < range; r += BLOCK) sum += range_pairs[r];
    return sum;
}

// Writes the pairs of splats with long lists, `count` of them, each by one of `blocks` blocks.
__device__ __forceinline__ void expand_long(const Splat* __restrict__ splats, const u32* __restrict__ order,
                                            const Reach* __restrict__ ordered_reaches, const u32* __restrict__ block_pairs,
                                            const u32* __restrict__ range_pairs, const u32* __restrict__ longs, u32 count, u32 blocks,
                                            const Camera& camera, u32* keys, u32* values, Row (&rows)[BLOCK], u32 (&pair_starts)[BLOCK],
                                            u32 (&scratch)[4][BLOCK / WARP]) {
    u32 thread = threadIdx.x, groups_x = (camera.tiles_x + GROUP - 1) / GROUP;
    for (u32 item = blockIdx.x; item < count; item += blocks) {
        u32 place = longs[item], slot = order[place], block = place / BLOCK;
        u32 earlier = pairs_before(block_pairs, range_pairs, block), base;
        if (block * BLOCK + thread < place) earlier += pairs_of(ordered_reaches[block * BLOCK + thread]);
        block_scan(earlier, scratch[1], base);
        Footprint footprint = make_footprint(splats[slot]);
        uint2 tile_rows = footprint_rows(footprint, camera), own = group_rows(tile_rows);
        for (u32 chunk = own.x; chunk < own.y; chunk += BLOCK) {
            u32 length = 0;
            if (chunk + thread < own.y) {
                rows[thread] = make_row(footprint, tile_rows, chunk + thread, camera);
                uint2 span = groups_of(rows[thread]);
                length = span.y - span.x;
            }
            u32 in_chunk;
            pair_starts[thread] = block_scan(length, scratch[0], in_chunk);
            __syncthreads();
            for (u32 p = thread; p < in_chunk; p += BLOCK) {
                u32 r = owner_of(pair_starts, p);
                Row row = rows[r];
                u32 column = groups_of(row).x + p - pair_starts[r];
                write_pair(row.row * groups_x + column, mask_of(row, column), slot, base + p, keys, values);
            }
            base += in_chunk;
            __syncthreads();
        }
    }
}

// The first `long_blocks` blocks have the splats with long lists, as they take longest; then come those that have 256 splats each.
extern "C" __global__ void __launch_bounds__(BLOCK, 8) expand_lists(const Splat* __restrict__ splats, const u32* __restrict__ order,
                                                                     const Reach* __restrict__ ordered_reaches,
                                                                     const u32* __restrict__ block_pairs, const u32* __restrict__ range_pairs,
                                                                     const u32* __restrict__ longs, u32 long_blocks, Camera camera, u32* keys, u32* values,
                                                                     const Counters* counters) {
    begin_kernel();
    __shared__ Footprint footprints[BLOCK];
    __shared__ uint2 tile_rows[BLOCK];
    __shared__ u32 slots[BLOCK];
    __shared__ u32 row_starts[BLOCK];   // first of the block's rows of groups of each splat
    __shared__ u32 pair_starts[BLOCK];  // first of the chunk's pairs of each row
    __shared__ Row rows[BLOCK];
    __shared__ u32 owners[BLOCK];       // splat of each row
    __shared__ u32 shifts[BLOCK];       // pairs before each splat that are not written row by row
    __shared__ u32 scratch[4][BLOCK / WARP];
    if (counters->halted) return;
    if (blockIdx.x < long_blocks) {
        expand_long(splats, order, ordered_reaches, block_pairs, range_pairs, longs, counters->longs, long_blocks, camera, keys, values, rows,
                    pair_starts, scratch);
        return;
    }
    u32 block = blockIdx.x - long_blocks, visible = counters->visible, first = block * BLOCK;
    if (first >= visible) return;
    u32 thread = threadIdx.x, groups_x = (camera.tiles_x + GROUP - 1) / GROUP;
    bool valid = first + thread < visible;
    u32 slot = valid ? order[first + thread] : 0;
    Reach reach = valid ? ordered_reaches[first + thread] : far_reach(0);
    u32 earlier = pairs_before(block_pairs, range_pairs, block);
    u32 own_pairs = pairs_of(reach);
    bool whole = is_near(reach) || is_long(reach, own_pairs);
    slots[thread] = slot;
    u32 own_rows = 0;
    if (valid && !whole) {
        footprints[thread] = make_footprint(splats[slot]);
        uint2 own = footprint_rows(footprints[thread], camera);
        tile_rows[thread] = own;
        own_rows = group_rows(own).y - group_rows(own).x;
    }
    u32 sums[4] = {own_pairs, whole ? own_pairs : 0, own_rows, earlier}, totals[4];
    block_scans(sums, scratch, totals);
    u32 before = sums[0], total_rows = totals[2], base = totals[3];
    shifts[thread] = sums[1];
    row_starts[thread] = sums[2];
    __syncthreads();
    // A thread writes its near splat's pairs, at most four; what is left is shared out over the block, row by row.
    for (u32 g = 0, at = base + before; g < NEAR * NEAR; ++g) {
        u32 mask = near_mask(reach, g);
        if (mask) write_pair(reach.x + g / NEAR * groups_x + g % NEAR, mask, slot, at++, keys, values);
    }
    for (u32 chunk = 0; chunk < total_rows; chunk += BLOCK) {
        u32 length = 0, k = chunk + thread;
        if (k < total_rows) {
            // Splats without rows share their start with the next one; the last of them is the one that has rows.
            u32 i = owner_of(row_starts, k);
            Row row = make_row(footprints[i], tile_rows[i], tile_rows[i].x / GROUP + k - row_starts[i], camera);
            uint2 span = groups_of(row);
            length = span.y - span.x;
            rows[thread] = row;
            owners[thread] = i;
        }
        u32 in_chunk;
        pair_starts[thread] = block_scan(length, scratch[0], in_chunk);
        __syncthreads();
        for (u32 p = thread; p < in_chunk; p += BLOCK) {
            u32 r = owner_of(pair_starts, p), i = owners[r];
            Row row = rows[r];
            u32 column = groups_of(row).x + p - pair_starts[r];
            write_pair(row.row * groups_x + column, mask_of(row, column), slots[i], base + p + shifts[i], keys, values);
        }
        base += in_chunk;
        // The next chunk overwrites what this one reads.
        __syncthreads();
    }
}

// Where the list of tile `lane` of the group begins: each has room for all n pairs of a small group; of a large one most of that would be
// empty, so there each gets as much as it needs, groups in the order in which they ask. All threads of the block call it.
__device__ __forceinline__ u32 list_start(u32 first, u32 n, u32 lane, u32 warp, const u32 (&warp_counts)[WARPS][GROUP_TILES],
                                          Counters* counters) {
#if GROUP == 2
    return GROUP_TILES * first + lane * n;
#else
    __shared__ u32 starts[GROUP_TILES];
    if (warp == 0) {
        u32 own = 0, place = 0;
        for (u32 w = 0; lane < GROUP_TILES && w < WARPS; ++w) own += warp_counts[w][lane];
        u32 until = warp_scan(own, lane);
        if (lane == WARP - 1) place = (u32)atomicAdd(&counters->placed, (u64)until);
        place = __shfl_sync(FULL_MASK, place, WARP - 1);
        if (lane < GROUP_TILES) starts[lane] = place + until - own;
    }
    __syncthreads();
    return lane < GROUP_TILES ? starts[lane] : 0;
#endif
}

// Pairs are sorted by group, `group_ranges` as the sort left them. `ranges` says of each tile where in `tile_lists` its list is, in the
// same way.
extern "C" __global__ void __launch_bounds__(BLOCK) split_lists(const u32* __restrict__ keys, const u32* __restrict__ values,
                                                                 const uint2* __restrict__ group_ranges, Camera camera,
                                                                 Counters* counters, u32* tile_lists, uint2* ranges) {
    begin_kernel();
    __shared__ u32 warp_counts[WARPS][GROUP_TILES];
    if (counters->halted) return;
    u32 lane = threadIdx.x % WARP, warp = threadIdx.x / WARP, below = (1u << lane) - 1;
    uint2 range = list_range(group_ranges, blockIdx.x);
    u32 first = range.x, n = range.y - first;
    if (n == 0) return;
    const u32* words = masked_words(keys, values) + first;
    // Each warp has a stretch of the list: counts it, learns what those before it have, and deals it out.
    u32 stretch = (n + BLOCK - 1) / BLOCK * WARP, begin = min(warp * stretch, n), end = min(begin + stretch, n);
    // Lane k keeps the count of tile k.
    u32 count = 0;
#pragma unroll PIECES
    for (u32 piece = begin; piece < end; piece += WARP) {
        u32 mask = piece + lane < end ? mask_of_word(words[piece + lane]) : 0;
#pragma unroll
        for (u32 k = 0; k < GROUP_TILES; ++k) {
            u32 number = __popc(__ballot_sync(FULL_MASK, mask >> k & 1));
            count += lane == k ? number : 0;
        }
    }
    if (lane < GROUP_TILES) warp_counts[warp][lane] = count;
    __syncthreads();
    u32 list = list_start(first, n, lane, warp, warp_counts, counters), start = list;
    for (u32 w = 0; lane < GROUP_TILES && w < warp; ++w) start += warp_counts[w][lane];
    u32 next[GROUP_TILES];
#pragma unroll
    for (u32 k = 0; k < GROUP_TILES; ++k) next[k] = __shfl_sync(FULL_MASK, start, k);
#pragma unroll PIECES
    for (u32 piece = begin; piece < end; piece += WARP) {
        bool valid = piece + lane < end;
        u32 mask = valid ? mask_of_word(words[piece + lane]) : 0, slot = valid ? slot_of_value(values[first + piece + lane]) : 0;
#pragma unroll
        for (u32 k = 0; k < GROUP_TILES; ++k) {
            bool touches = mask >> k & 1;
            u32 vote = __ballot_sync(FULL_MASK, touches);
            if (touches) tile_lists[next[k] + __popc(vote & below)] = slot;
            next[k] += __popc(vote);
        }
    }
    if (warp == WARPS - 1 && lane < GROUP_TILES) {
        u32 groups_x = (camera.tiles_x + GROUP - 1) / GROUP, row = blockIdx.x / groups_x, column = blockIdx.x - row * groups_x;
        u32 x = column * GROUP + lane % GROUP, y = row * GROUP + lane / GROUP;
        if (x < camera.tiles_x && y < camera.tiles_y) ranges[y * camera.tiles_x + x] = make_uint2(~list, start + count);
    }
}
