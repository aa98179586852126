// split_lists, of groups of 4x4 tiles (of 2x2: split_lists.cu): most of the room for all of a group's pairs in each of its tiles' lists would
// be empty, so a list gets as much as it needs, groups in the order in which they ask. CPU twin: splatcore-cpu/src/intersect.rs.
//
// A block a group, a warp a stretch of its list, stable: counts first, then deals, each by a ballot for every tile.
//
// Launch: `split_lists`, blocks of 256 threads. Where lists are long (lists.rs), `split_long_lists`, of 512, and twice as many as groups: the first half has
// the longest lists, which so begin first. In fox_mcmc_1m at 3840x2160 a group has 1,000 pairs on average and up to 11,000; those took 84 us, the others 40.
// Measured on an H200, us for that scene (fox_220k): 73 (25); long ones first 67 (27); 512 threads 66 (28); both 60 (31). 1024 threads 88 (56).
// Tried: sections of 1,024 pairs, counted by a launch of their own in front: 75 (30), of them 24 (13) for counting. Tiles in the order of
// split_lists.cu: the blend 0 (-1) less, splitting 3 (1) more. Counts from a transposed matrix of bits, 5 shuffles in place of 16 votes: 81 (21).
//
// Constants: GROUP, 4.

#define PIECES 2         // of 32 pairs that a warp loads at once
#define LONG_GROUP 2048  // pairs

template <u32 THREADS>
__device__ __forceinline__ void split(const u32* __restrict__ keys, const u32* __restrict__ values, uint2 range, u32 group, const Camera& camera,
                                      Counters* counters, u32* tile_lists, uint2* ranges) {
    const u32 warps = THREADS / WARP;
    __shared__ u32 warp_counts[warps][GROUP_TILES];
    __shared__ u32 starts[GROUP_TILES];
    u32 lane = threadIdx.x % WARP, warp = threadIdx.x / WARP, below = (1u << lane) - 1;
    u32 first = range.x, n = range.y - first;
    const u32* words = masked_words(keys, values) + first;
    // Each warp has a stretch of the list: counts it, learns what those before it have, and deals it out.
    u32 stretch = (n + THREADS - 1) / THREADS * WARP, begin = min(warp * stretch, n), end = min(begin + stretch, n);
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
    if (warp == 0) {
        u32 own = 0, place = 0;
        for (u32 w = 0; lane < GROUP_TILES && w < warps; ++w) own += warp_counts[w][lane];
        u32 until = warp_scan(own, lane);
        if (lane == WARP - 1) place = (u32)atomicAdd(&counters->placed, (u64)until);
        place = __shfl_sync(FULL_MASK, place, WARP - 1);
        if (lane < GROUP_TILES) starts[lane] = place + until - own;
    }
    __syncthreads();
    u32 list = lane < GROUP_TILES ? starts[lane] : 0, start = list;
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
    if (warp == warps - 1 && lane < GROUP_TILES) {
        u32 tile = tile_of_group(group, lane, camera);
        if (tile != NO_TILE) ranges[tile] = make_uint2(~list, start + count);
    }
}

// Pairs are sorted by group, `group_ranges` as the sort left them. `ranges` says of each tile where in `tile_lists` its list is, in the same way.
extern "C" __global__ void __launch_bounds__(BLOCK) split_lists(const u32* __restrict__ keys, const u32* __restrict__ values,
                                                                 const uint2* __restrict__ group_ranges, u32 groups, Camera camera,
                                                                 Counters* counters, u32* tile_lists, uint2* ranges) {
    begin_kernel();
    if (counters->halted) return;
    uint2 range = list_range(group_ranges, blockIdx.x);
    if (range.x != range.y) split<BLOCK>(keys, values, range, blockIdx.x, camera, counters, tile_lists, ranges);
}

extern "C" __global__ void __launch_bounds__(2 * BLOCK) split_long_lists(const u32* __restrict__ keys, const u32* __restrict__ values,
                                                                          const uint2* __restrict__ group_ranges, u32 groups, Camera camera,
                                                                          Counters* counters, u32* tile_lists, uint2* ranges) {
    begin_kernel();
    if (counters->halted) return;
    bool is_first_half = blockIdx.x < groups;
    u32 group = is_first_half ? blockIdx.x : blockIdx.x - groups;
    uint2 range = list_range(group_ranges, group);
    u32 n = range.y - range.x;
    if (n != 0 && (n > LONG_GROUP) == is_first_half) split<2 * BLOCK>(keys, values, range, group, camera, counters, tile_lists, ranges);
}
