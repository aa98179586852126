// strips: what ranks need that render one frame together.
//
// Contract. Every rank of a team has all splats of a frame and its whole tile lists, but blends and
// differentiates the tiles of its own strip alone. `divide` makes two sets of ranges (list_range in
// splat.cuh), in which tiles of other strips have no list: `backward` of equal numbers of pairs,
// `forward` of equal rows of tiles and what `backward` has (the backward pass reads what the
// forward pass left of a tile). A splat's sums are made by the rank `index % strips` of the
// team. So `divide` also sets the sort keys of the pairs to strip * strips + rank: sorted by them,
// `pairs` are grouped by who makes their rows of sums (blend_backward.cuh) and who adds them up.
// `tile_counts` of splats that others sum become 0. `move_rows` copies the rows of each group that
// goes to another rank to `packed` ([strips - 1][room][12], f32), or those that came from `packed`
// to their places. `pick_sums` takes each splat's sums ([strips][room][12], f32) from those of the
// rank that made them. No kernel here adds anything up: no bit depends on the number of strips. If
// a group has more rows than there is room for, the frame overflows.
//
// Launch. `divide`: a thread a tile, pair and splat. The others: a thread for a third of a row.
// Blocks of 256.
//
// Bound. Memory. Now. Not measured. docs/log/many-cards.md

#include "splat.cuh"

// Parameters of `divide`; in Rust by the same name.
struct DivideParams {
    ReadOnly<uint2> ranges;  // of each tile
    u32 tiles;
    u32 first;  // tiles of the own strip of the image, and one past the last
    u32 end;
    u32 strip;   // the own one
    u32 strips;  // how many there are
    uint2* forward;
    uint2* backward;
    ReadOnly<u32> pairs;        // the lists: pair numbers
    ReadOnly<u32> pair_splats;  // compacted index of each pair number
    u32* keys;                  // tile of each place in the lists; becomes the key above
    u32* tile_counts;           // pairs of each compacted index
    u32 splats;                 // compacted indices that there is room for
    const Counters* counters;
};
extern "C" __global__ void __launch_bounds__(BLOCK)
    divide(const __grid_constant__ DivideParams args) {
    begin_kernel();
    const u32 k = blockIdx.x * BLOCK + threadIdx.x;
    if (args.counters->overflowed) return;  // and all that reads the ranges
    const u64 pairs = args.counters->pairs;
    const uint2 none = make_uint2(0, 0);
    // By the place of the middle of the tile's pairs.
    auto strip_of = [&](uint2 list) {
        return (u32)(((u64)~list.x + list.y) * args.strips / (2 * pairs));
    };
    if (k < args.tiles) {
        const uint2 list = args.ranges[k];
        const bool is_own = list.y && strip_of(list) == args.strip;
        args.forward[k] = is_own || (k >= args.first && k < args.end) ? list : none;
        args.backward[k] = is_own ? list : none;
    }
    if (k < pairs) {
        const u32 strip = strip_of(args.ranges[args.keys[k]]);
        args.keys[k] = strip * args.strips + args.pair_splats[args.pairs[k]] % args.strips;
    }
    if (k < args.splats && k % args.strips != args.strip) args.tile_counts[k] = 0;
}

// Parameters of `move_rows`; in Rust by the same name.
struct MoveRowsParams {
    ReadOnly<uint2> groups;  // of pairs, by key
    ReadOnly<u32> pairs;     // pair numbers, by group
    u32 strip;
    u32 strips;
    u32 room;           // rows of each group
    u32 back;           // 1: from `packed` to `pair_sums`
    float4* pair_sums;  // a row of 12 floats for each pair number
    float4* packed;
    u32* wanted;  // most rows that a group of a frame had
    Counters* counters;
};
extern "C" __global__ void __launch_bounds__(BLOCK)
    move_rows(const __grid_constant__ MoveRowsParams args) {
    begin_kernel();
    // Another thread may write it in the meantime, and then the step is taken again.
    if (observe(&args.counters->overflowed)) return;
    const u32 blocks = (3 * args.room + BLOCK - 1) / BLOCK, place = blockIdx.x / blocks;
    // The group that goes to, or came from, one of the other ranks of the team.
    auto group_of = [&](u32 at) {
        const u32 other = at + (at >= args.strip);
        return list_range(args.groups, args.back ? other * args.strips + args.strip
                                                 : args.strip * args.strips + other);
    };
    // One thread looks at all groups: a block that finds an overflow keeps later ones from looking.
    if (blockIdx.x == 0 && threadIdx.x == 0) {
        u32 most = 0;
        for (u32 k = 0; k + 1 < args.strips; ++k) {
            const uint2 group = group_of(k);
            most = max(most, group.y - group.x);
        }
        *args.wanted = max(*args.wanted, most);
        if (most > args.room) atomicExch(&args.counters->overflowed, 1u);
    }
    const uint2 group = group_of(place);
    const u32 rows = group.y - group.x, k = blockIdx.x % blocks * BLOCK + threadIdx.x;
    if (k >= 3 * min(rows, args.room)) return;
    float4* row = args.pair_sums + 3ull * args.pairs[group.x + k / 3] + k % 3;
    float4* packed = args.packed + 3ull * args.room * place + k;
    if (args.back)
        *row = *packed;
    else
        *packed = *row;
}

// Parameters of `pick_sums`; in Rust by the same name.
struct PickSumsParams {
    float4* sums;  // the first of them become those that were made
    u32 room;      // splats
    u32 first;     // compacted index of the first one where the sums were made
    u32 strips;
};
extern "C" __global__ void __launch_bounds__(BLOCK)
    pick_sums(const __grid_constant__ PickSumsParams args) {
    begin_kernel();
    const u32 k = blockIdx.x * BLOCK + threadIdx.x;
    if (k >= 3 * args.room) return;
    const u32 maker = (args.first + k / 3) % args.strips;
    if (maker) args.sums[k] = args.sums[3ull * args.room * maker + k];
}
