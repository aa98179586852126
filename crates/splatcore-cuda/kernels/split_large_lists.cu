// split_lists, of groups of 4x4 tiles: as split_lists.cu, which is for groups of 2x2. CPU twin:
// splatcore-cpu/src/intersect.rs.
//
// A block has a piece of a group's list. Pieces end where sections of SECTION pairs do, so a group
// has one more than it crosses such ends. First `count_sections` counts of each section the piece
// of the group that crosses its end; then each piece's block adds up those in front of it and deals
// it out, a warp a stretch: counts first, then by a ballot for every tile.
//
// Launch: blocks of 256 threads. Measured on an H200, hon_sui_sen_2500k at 3840x2160, whose lists
// are too long to be dealt (deal.cuh) and which this is for: a block a group, of 512 threads and
// the longest first, took 205 us. Predicted 35 to 40, as sections of small groups take 35 of it at
// 1920x1080. Measured 58, of them 10 for counting; sections of 512 pairs 66, of 1,024 55, of 4,096
// 67. Of fox_mcmc_1m (fox_220k), which are dealt since, a block a group took 73 (25), long ones
//     first with 512 threads 60 (31), sections of 1,024 pairs in a form in which lists took only
//     the room that they need 75 (30), of them 24 (13) for counting.
//
// Constants: GROUP, 4; SECTION pairs.

#define WARPS (BLOCK / WARP)
#define STRETCH (SECTION / WARPS)  // of a warp

// A piece of a group's list `range`: the pairs from `begin` to `end`.
struct Piece {
    u32 group, begin, end;
    uint2 range;
};

// The tiles of the pairs from `begin` to `end`, at most 255 turns of a warp, counted: lane k's of
// tile k.
__device__ __forceinline__ u32 count_tiles(const u32* __restrict__ keys, u32 begin, u32 end,
                                           u32 lane) {
    TileCounts counts;
#pragma unroll 4
    for (u32 at = begin + lane; at < end; at += WARP) counts.add(mask_of_key(keys[at]));
    return counts.take_sum(lane);
}

// `section_tiles`: GROUP_TILES counts a section. Of sections whose end no group crosses they are
// left alone, and nobody reads them.
extern "C" __global__ void __launch_bounds__(BLOCK)
    count_sections(const u32* __restrict__ keys, const uint2* __restrict__ group_ranges,
                   const Counters* counters, u32* section_tiles) {
    begin_kernel();
    __shared__ u32 warp_tiles[WARPS][GROUP_TILES];
    if (counters->halted) return;
    u32 lane = threadIdx.x % WARP, warp = threadIdx.x / WARP, end = (blockIdx.x + 1) * SECTION;
    if (end >= (u32)counters->pairs) return;
    u32 group = group_of_key(keys[end]);
    if (group_of_key(keys[end - 1]) != group) return;
    u32 stretch_end = end - SECTION + (warp + 1) * STRETCH,
        begin = max(list_range(group_ranges, group).x, stretch_end - STRETCH);
    u32 tiles = count_tiles(keys, begin, stretch_end, lane);
    if (lane < GROUP_TILES) warp_tiles[warp][lane] = tiles;
    __syncthreads();
    if (threadIdx.x >= GROUP_TILES) return;
    u32 sum = 0;
    for (u32 w = 0; w < WARPS; ++w) sum += warp_tiles[w][threadIdx.x];
    section_tiles[blockIdx.x * GROUP_TILES + threadIdx.x] = sum;
}

// The piece of a block: the first `groups` have the first piece of each group, block `groups` + k
// that which goes on in section k. Whether there is one.
__device__ __forceinline__ bool find_piece(const u32* __restrict__ keys,
                                           const uint2* __restrict__ group_ranges, u32 groups,
                                           u32 pairs, Piece& piece) {
    bool is_first = blockIdx.x < groups;
    if (is_first) {
        piece.group = blockIdx.x;
    } else {
        piece.begin = (blockIdx.x - groups) * SECTION;
        if (piece.begin == 0 || piece.begin >= pairs) return false;
        piece.group = group_of_key(keys[piece.begin]);
        if (group_of_key(keys[piece.begin - 1]) != piece.group) return false;
    }
    piece.range = list_range(group_ranges, piece.group);
    if (is_first) piece.begin = piece.range.x;
    piece.end = min(piece.range.y, (piece.begin / SECTION + 1) * SECTION);
    return piece.begin < piece.end;
}

// Pairs are sorted by group, `group_ranges` as the sort left them. `ranges` says of each tile where
// in `tile_lists` its list is, in the same way.
extern "C" __global__ void __launch_bounds__(BLOCK)
    split_lists(const u32* __restrict__ keys, const u32* __restrict__ values,
                const uint2* __restrict__ group_ranges, u32 groups, Camera camera,
                Counters* counters, u32* tile_lists, uint2* ranges,
                const u32* __restrict__ section_tiles) {
    begin_kernel();
    __shared__ u32 warp_tiles[WARPS][GROUP_TILES], in_front[WARPS][GROUP_TILES];
    Piece piece;
    if (counters->halted || !find_piece(keys, group_ranges, groups, (u32)counters->pairs, piece))
        return;
    u32 lane = threadIdx.x % WARP, warp = threadIdx.x / WARP, below = (1u << lane) - 1,
        tile = lane % GROUP_TILES;
    u32 begin = min(piece.begin + warp * STRETCH, piece.end), end = min(begin + STRETCH, piece.end);
    u32 tiles = count_tiles(keys, begin, end, lane), before = 0;
    for (u32 at = piece.range.x / SECTION * GROUP_TILES + threadIdx.x;
         at < piece.begin / SECTION * GROUP_TILES; at += BLOCK)
        before += section_tiles[at];
    before += __shfl_xor_sync(FULL_MASK, before, GROUP_TILES);
    if (lane < GROUP_TILES) {
        warp_tiles[warp][lane] = tiles;
        in_front[warp][lane] = before;
    }
    __syncthreads();
    // A tile's list has room for all of its group's pairs.
    u32 list = GROUP_TILES * piece.range.x + tile * (piece.range.y - piece.range.x), start = list,
        stop = list;
    for (u32 w = 0; w < WARPS; ++w) {
        start += in_front[w][tile] + (w < warp ? warp_tiles[w][tile] : 0);
        stop += in_front[w][tile] + warp_tiles[w][tile];
    }
    u32 next[GROUP_TILES];
#pragma unroll
    for (u32 k = 0; k < GROUP_TILES; ++k) next[k] = __shfl_sync(FULL_MASK, start, k);
#pragma unroll 2
    for (u32 turn = begin; turn < end; turn += WARP) {
        bool valid = turn + lane < end;
        u32 mask = valid ? mask_of_key(keys[turn + lane]) : 0,
            slot = valid ? slot_of_value(values[turn + lane]) : 0;
#pragma unroll
        for (u32 k = 0; k < GROUP_TILES; ++k) {
            u32 vote = lanes_with_bit(mask, k);
            if (mask >> k & 1) tile_lists[next[k] + __popc(vote & below)] = slot;
            next[k] += __popc(vote);
        }
    }
    if (warp > 0 || piece.end < piece.range.y) return;
    u32 all = warp_scan(lane < GROUP_TILES ? stop - list : 0, lane);
    if (lane == WARP - 1) atomicAdd(&counters->placed, (u64)all);
    u32 number = tile_of_group(piece.group, tile, camera);
    if (lane < GROUP_TILES && number != NO_TILE) ranges[number] = make_uint2(~list, stop);
}
