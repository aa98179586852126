// intersect: the (tile, Gaussian) pairs, expanded in depth order, so that a stable sort by tile number alone gives every
// tile its list front to back. `aabb` is INRIA's 3-sigma square; `exact` the ellipse alpha = 1/255 against the tiles'
// rectangles of pixel centres (FlashGS; Speedy-Splat's AccuTile walk): per row of tiles one exact interval.
// CPU twin: splatcore-cpu/src/intersect.rs.
//
// `expand`: writes tile and slot of every pair, and its number where the backward pass will want it; blocks of 256 threads take 256 splats in depth order, find the place of their pairs by look-back over the
// blocks, and write the pairs together, one thread a pair, so that long and short lists cost the same.
// `ranges`: one thread a sorted pair, finds where each tile's list starts and ends.
//
// Bound by instructions: a pair finds its splat by bisection (8 steps) and its row by walking (about 25 instructions a
// row). Prediction: fox_220k, 1.4 M pairs, some 150 instructions each = 7 M warp instructions = 7 us at full rate, 15 in
// practice; mcmc_1m 4.7 M pairs, 45 us.
//
// Constants: EXACT as in project.cu.

#define BLOCK 256

extern "C" __global__ void __launch_bounds__(BLOCK) expand(const Splat* __restrict__ splats, const u32* __restrict__ order,
                                                            const u32* __restrict__ tile_counts, Camera camera,
                                                            u32 pair_capacity, u32* tiles, u32* pair_slots, u32* pair_numbers,
                                                            u32* first_pairs, u32* states, Counters* counters) {
    __shared__ u32 starts[BLOCK + 1];
    __shared__ u32 warp_totals[BLOCK / WARP];
    __shared__ u32 block_start;
    __shared__ u32 block_slots[BLOCK];
    // More pairs than there is room for: nothing after this may change anything.
    u64 pairs = counters->pairs;
    if (blockIdx.x == 0 && threadIdx.x == 0) {
        counters->needed = max(counters->needed, pairs);
        if (pairs > (u64)pair_capacity) counters->halted = 1;
    }
    if (pairs > (u64)pair_capacity) return;
    u32 visible = counters->visible;
    u32 first = blockIdx.x * BLOCK;
    if (first >= visible) return;
    u32 thread = threadIdx.x, lane = thread % WARP, warp = thread / WARP;
    u32 slot = first + thread < visible ? order[first + thread] : 0;
    u32 own = first + thread < visible ? tile_counts[slot] : 0;
    u32 before = warp_scan(own, lane);
    if (lane == WARP - 1) warp_totals[warp] = before;
    __syncthreads();
    u32 total = 0;
    for (u32 w = 0; w < BLOCK / WARP; ++w) {
        if (w < warp) before += warp_totals[w];
        total += warp_totals[w];
    }
    starts[thread] = before - own;
    block_slots[thread] = slot;
    if (thread == 0) starts[BLOCK] = total;
    if (warp == 0) {
        u32 start = look_back(states, blockIdx.x, total, lane);
        if (lane == 0) block_start = start;
    }
    __syncthreads();
    if (first + thread < visible) first_pairs[slot] = block_start + starts[thread];

    for (u32 k = thread; k < total; k += BLOCK) {
        // The last splat that starts at or before k.
        u32 low = 0, high = BLOCK;
        while (high - low > 1) {
            u32 middle = (low + high) / 2;
            if (starts[middle] <= k) low = middle;
            else high = middle;
        }
        // Splats without pairs share their start with the next one; `low` is the last, the one that has pairs.
        u32 owner = block_slots[low], local = k - starts[low];
        Splat s = splats[owner];
        u32 tile = 0;
#if EXACT
        Ellipse e = make_ellipse(s.a, s.b, s.c, s.log2_opacity);
        uint2 rows = tile_span(__fadd_rn(s.mean_y, -e.half_height), __fadd_rn(s.mean_y, e.half_height), camera.tiles_y);
        for (u32 row = rows.x; row < rows.y; ++row) {
            uint2 span = ellipse_row(e, s.mean_x, s.mean_y, row, camera.tiles_x);
            if (local < span.y - span.x) {
                tile = row * camera.tiles_x + span.x + local;
                break;
            }
            local -= span.y - span.x;
        }
#else
        uint2 columns = square_span(s.mean_x, s.radius, camera.tiles_x);
        uint2 rows = square_span(s.mean_y, s.radius, camera.tiles_y);
        u32 width = columns.y - columns.x;
        tile = (rows.x + local / width) * camera.tiles_x + columns.x + local % width;
#endif
        u32 pair = block_start + k;
        tiles[pair] = tile;
        pair_slots[pair] = owner;
        if (pair_numbers) pair_numbers[pair] = pair;
    }
}

// ranges[tile] = (first, one past the last); zero at launch, so that tiles without pairs are empty.
extern "C" __global__ void __launch_bounds__(BLOCK) ranges(const u32* __restrict__ tiles, const Counters* counters,
                                                           u32 pair_capacity, uint2* ranges) {
    if (counters->halted) return;
    u32 n = (u32)counters->pairs;
    u32 i = blockIdx.x * BLOCK + threadIdx.x;
    if (i >= n) return;
    u32 tile = tiles[i];
    if (i == 0 || tiles[i - 1] != tile) ranges[tile].x = i;
    if (i == n - 1 || tiles[i + 1] != tile) ranges[tile].y = i + 1;
}
