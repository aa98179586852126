// split_lists, of groups of 2x2 tiles: their lists, which lists.cu made and the sort put in order,
// become those of their tiles. A tile's list has room for all of its group's pairs. Of large
// groups: split_large_lists.cu. CPU twin: splatcore-cpu/src/intersect.rs.
//
// A block has SECTION pairs, whichever groups they are of, and a warp a stretch of them. A pair's
// place in a tile's list is the number of those of its group in front of it that touch the tile: in
// its 32 pairs by ballots, in the stretch by a count that begins anew with each group; and where a
// group goes on from one stretch or section to the next, what those in front have of it (decoupled
// look-back, device.cuh: whom a block awaits has begun before, see sort.cu).
//
// Launch: blocks of 256 threads, 48 registers. Bound by latency: a block takes 4 to 5 us from its
// first load to its last store. With a block a group, which this was, groups of fox_mcmc_1m, 1,000
// pairs on average and up to 11,000, took one view 38 us, of them 22 with a few dozen of its 2,040
// blocks at work. Prediction for an H200: 11 us to 7 (mcmc_1m 28 to 14). Measured, with entries in
// the order in which tiles are blended: 11.0 to 10.5 (28.4 to 23.3), rock_186k 18.7 to 8.7,
// biker_153k 15.3 to 8.2. Blocks without pairs, a quarter of those launched, take 3 of the 23 us.
// Shares of 2,048 pairs: 11.4 (21.9); six blocks a multiprocessor: 10.7 (23.3). Tried: a block a
// group and 512 threads, long lists first: 16 (24); sections of a group of at most 1,024 pairs, a
// block each: 13 (22).
//
// Constants: GROUP, 2; SECTION pairs that a block has.

#define WARPS (BLOCK / WARP)
#define PIECES (SECTION / BLOCK)  // of 32 pairs, a warp's stretch
#define LONG_SHARE \
    2  // groups with more than half of the pairs that one has on average have long lists

// The lanes from `lane` on.
__device__ __forceinline__ u32 lanes_from(u32 lane) { return FULL_MASK << lane; }

// Writes the entries of a group's tiles, whose lists have `totals` pairs: (first, one past the
// last, tile, 0), in the order in which tiles are blended, those of long lists from the front on,
// the others from the back. A thread's work.
__device__ __forceinline__ void write_entries(u32 group, u32 groups, uint2 range,
                                              const u32 (&totals)[GROUP_TILES],
                                              const Camera& camera, u64 all_pairs,
                                              Counters* counters, uint4* entries) {
    u32 n = range.y - range.x, tiles[GROUP_TILES], count = 0;
#pragma unroll
    for (u32 k = 0; k < GROUP_TILES; ++k) {
        tiles[k] = tile_of_group(group, k, camera);
        count += tiles[k] != NO_TILE;
    }
    bool is_long = (u64)n * groups * LONG_SHARE > all_pairs;
    u32 place = atomicAdd(is_long ? &counters->firsts : &counters->lasts, count);
#pragma unroll
    for (u32 k = 0; k < GROUP_TILES; ++k) {
        if (tiles[k] == NO_TILE) continue;
        u32 list = GROUP_TILES * range.x + k * n;
        entries[is_long ? place : camera.tiles_x * camera.tiles_y - 1 - place] =
            make_uint4(list, list + totals[k], tiles[k], 0);
        ++place;
    }
}

// The pairs of tile lane % GROUP_TILES in the sections before this block's of the group that its
// first pair is of. All lanes of a warp call it.
__device__ __forceinline__ u32 pairs_in_front(const u32* states, u32 lane) {
    u32 tile = lane % GROUP_TILES, sum = 0;
    const u32 same_tile = 0x11111111u << tile;
    bool more = true;
    for (int end = (int)blockIdx.x - 1; __any_sync(FULL_MASK, more); end -= WARP / GROUP_TILES) {
        int at = max(end - (int)(lane / GROUP_TILES), 0);
        u32 state;
        // Section 0 has a prefix, so what is read of it once more is not looked at.
        do {
            state = observe(states + at * GROUP_TILES + tile);
        } while (__any_sync(FULL_MASK, state == 0));
        u32 prefixes = __ballot_sync(FULL_MASK, (state & STATE_PREFIX) != 0) & same_tile;
        u32 last = prefixes ? (u32)__ffs(prefixes) - 1 : WARP;
        u32 value = more && lane <= last ? state & STATE_VALUE : 0;
        for (u32 offset = GROUP_TILES; offset < WARP; offset *= 2)
            value += __shfl_xor_sync(FULL_MASK, value, offset);
        sum += value;
        more = more && !prefixes;
    }
    return sum;
}

// Pairs are sorted by group, `group_ranges` as the sort left them. `states`: GROUP_TILES words a
// section, 0 at launch.
extern "C" __global__ void __launch_bounds__(BLOCK)
    split_lists(const u32* __restrict__ keys, const u32* __restrict__ values,
                const uint2* __restrict__ group_ranges, u32 groups, Camera camera,
                Counters* counters, u32* tile_lists, uint4* entries, u32* states) {
    begin_kernel();
    // What a warp has of the last group of its stretch; whether all of the stretch is of it, and
    // the pair in front too.
    __shared__ u32 tails[WARPS][GROUP_TILES];
    __shared__ u32 passes[WARPS];
    if (counters->halted) return;
    u64 all_pairs = counters->pairs;
    u32 lane = threadIdx.x % WARP, warp = threadIdx.x / WARP, below = (1u << lane) - 1,
        tile = lane % GROUP_TILES;
    u32 pairs = (u32)all_pairs, begin = blockIdx.x * SECTION + warp * (PIECES * WARP);
    for (u32 group = blockIdx.x * BLOCK + threadIdx.x; group < groups; group += gridDim.x * BLOCK) {
        uint2 range = list_range(group_ranges, group);
        const u32 none[GROUP_TILES] = {};
        if (range.x == range.y)
            write_entries(group, groups, make_uint2(0, 0), none, camera, all_pairs, counters,
                          entries);
    }
    if (blockIdx.x * SECTION >= pairs) return;

    u32 key[PIECES], value[PIECES];
    u32 key_before = begin > 0 && begin < pairs ? keys[begin - 1] : NO_KEY;
#pragma unroll
    for (int k = 0; k < PIECES; ++k) {
        u32 at = begin + k * WARP + lane;
        // What there is not touches no tile.
        key[k] = at < pairs ? keys[at] : NO_KEY;
        value[k] = at < pairs ? values[at] : 0;
    }
    uint2 range[PIECES];
#pragma unroll
    for (int k = 0; k < PIECES; ++k)
        range[k] =
            key[k] != NO_KEY ? list_range(group_ranges, group_of_key(key[k])) : make_uint2(0, 0);

    u32 first_key = __shfl_sync(FULL_MASK, key[0], 0),
        last_key = __shfl_sync(FULL_MASK, key[PIECES - 1], WARP - 1), tail = 0;
#pragma unroll
    for (int k = 0; k < PIECES; ++k) {
        u32 in_tail = __ballot_sync(FULL_MASK, key[k] == last_key);
#pragma unroll
        for (u32 t = 0; t < GROUP_TILES; ++t) {
            u32 number =
                __popc(__ballot_sync(FULL_MASK, mask_of_value(value[k]) >> t & 1) & in_tail);
            tail += tile == t ? number : 0;
        }
    }
    bool goes_on = key_before == first_key && first_key != NO_KEY;
    if (lane < GROUP_TILES) tails[warp][lane] = tail;
    if (lane == 0) passes[warp] = goes_on && first_key == last_key;
    __syncthreads();

    // What is in front of the stretch, of the group that it begins with; the last warp adds up what
    // is in the section.
    u32 before = 0;
    bool from_sections = true;
    for (int w = (int)warp - 1; w >= 0 && from_sections; --w) {
        before += tails[w][tile];
        from_sections = passes[w];
    }
    if (warp == WARPS - 1) {
        bool all_pass = from_sections && passes[warp];
        u32 own = passes[warp] ? before + tail : tail;
        if (lane < GROUP_TILES)
            publish(states + blockIdx.x * GROUP_TILES + lane,
                    (all_pass ? STATE_OWN : STATE_PREFIX) | own);
    }
    // Only the warps that the group goes on to from the section in front ask.
    if (!goes_on)
        before = 0;
    else if (from_sections)
        before += pairs_in_front(states, lane);

    u32 running[GROUP_TILES];
#pragma unroll
    for (u32 t = 0; t < GROUP_TILES; ++t) running[t] = __shfl_sync(FULL_MASK, before, t);
#pragma unroll
    for (int k = 0; k < PIECES; ++k) {
        u32 other = __shfl_up_sync(FULL_MASK, key[k], 1),
            last = __shfl_sync(FULL_MASK, key[k], WARP - 1);
        u32 heads = __ballot_sync(FULL_MASK, key[k] != (lane == 0 ? key_before : other));
        key_before = last;
        // The first lane of this one's group, if it is here.
        u32 own_heads = heads & ~(lanes_from(lane) << 1);
        u32 head = own_heads ? WARP - 1 - __clz(own_heads) : 0, group_mask = lanes_from(head);
        u32 last_head = heads ? WARP - 1 - __clz(heads) : 0;
        u32 n = range[k].y - range[k].x, mask = mask_of_value(value[k]), totals[GROUP_TILES];
#pragma unroll
        for (u32 t = 0; t < GROUP_TILES; ++t) {
            bool touches = mask >> t & 1;
            u32 vote = __ballot_sync(FULL_MASK, touches);
            u32 rank = __popc(vote & below & group_mask) + (own_heads ? 0 : running[t]);
            if (touches)
                tile_lists[GROUP_TILES * range[k].x + t * n + rank] = slot_of_value(value[k]);
            totals[t] = rank + touches;
            running[t] = __popc(vote & lanes_from(last_head)) + (heads ? 0 : running[t]);
        }
        // The last of its group.
        u32 at = begin + k * WARP + lane;
        if (key[k] != NO_KEY && at + 1 == range[k].y)
            write_entries(group_of_key(key[k]), groups, range[k], totals, camera, all_pairs,
                          counters, entries);
    }
}
