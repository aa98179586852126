// project: Gaussians to splats. EWA splatting (Zwicker et al. 2002) as INRIA's rasterizer does it,
// spherical harmonics for survivors only, and the number of tiles of each survivor. CPU twin:
// splatcore-cpu/src/project.rs.
//
// Launch: one thread a Gaussian, blocks of 128; 60 registers, 28 KB of shared memory for degree 3.
// Survivors get slots in the order in which blocks ask for them; the keys and slots for the sort by
// depth lie in the order of the Gaussians, with gaps, so equal depths keep that order through the
// stable sort.
//
// Bound by memory and instructions: 44 bytes a Gaussian, 192 more (degree 3) and 60 written for
// each survivor; some 1,250 instructions a warp, of them 470 for the geometry, 180 for 32 rows of
// groups. Rows of harmonics go to shared memory by asynchronous copies of 16 bytes, which pass
// while the block asks for its slots. Prediction for fox_220k on an H200: 65 MB at 4.27 TB/s = 15
// us, near 25 us with the latency of one wave. Measured: 31 us with the launch that clears in
// front, mcmc_1m 72 (62 % of the instructions' rate). Before: each lane counted the rows of its own
// splat, 35 and 78 us; shared out over the warp, 25 and 50 were predicted. Slots in the order of
// the Gaussians by look-back over the blocks (a quarter of the time waiting), rows copied through
// registers with a branch for each (a third of the time): 82 and 160 us. Copies of 4 bytes (rows of
// degree 2): mcmc_1m 110. With groups it also says where a splat's are (`Reach`), and leaves out
// what only training asks for (the square, who is in view, Gaussians' slots): 1,344 instructions to
// 1,288 for degree 3, so as many as before. lists.cu is 2 us (mcmc_1m 10) faster by it. All of a
// Gaussian's parameters loaded at once, not those of survivors of the near plane behind their
// means: predicted 1 us less, measured 2 (mcmc_1m 0), by the clock. No quotient for each copy, 17
// instructions in place of 22 (13 with addresses in shared memory, measured so): predicted 1 less
// (2), measured 1 (0). Tried: blocks of 64 threads 0 (+4), of 32 +1.5 (+29); begun while `clear`
// clears: 0 (0). 128 parts of the scene side by side: of mcmc_1m's 62 us the last 10 went by with
// few blocks at work, and those that came last, from the file's last 5 %, took 11 to 16 where
// others take 9, for splats over many rows. Predicted 7 us less, what a random order of Gaussians
// had given; measured 7 (fox_220k 0), and 9 at 3840x2160. With 32 parts 3 to 6, with 8 3, with 512
// nothing; what comes last is luck then. Tried first: where a warp has more than 128 rows, all of
// the block's are shared out over the block: 0, as its other warps have as many, and a barrier more
// for all. Tried: colours in a kernel of their own, on a second queue beside the sort by depth,
// predicted 10 and 25 us less a frame. The rest still takes 30 and 67 us, and the sorts 14 and 44
// longer: their few blocks wait for memory behind the harmonics. Gaussians in another order (PLYs
// sorted before), predicted -5 and -18 us with Morton codes, whose blocks are in view or not: 0 and
// +8; with blocks of 32, 128 or 1,024 of these in random order 0 and -2 to -4; all in random order
// 0 and -7. Why Morton codes lose was not looked for.
//
// Constants: SH_DEGREE in use, SH_ROW floats stored for each Gaussian, or halves where HALF_SH
// is 1, a multiple of 8 then; DEPTH_BITS of a key; INTERSECT as in footprint.cuh.
//
// ANTIALIAS 1 and SMOOTHING 1: Mip-Splatting's filters, antialias.cuh and smoothing.cuh;
// `smoothing` is read only with the latter.
//
// MOST_GROUPS, where pairs are dealt to groups (bin.cuh): slots are Gaussians'
// numbers then, of each splat in 2x2 groups the pairs are dealt here, and others are put into the
// queue of bin_large_splats.cu. No splat is looked at row by row, nor its pairs counted. 59
// registers, 34 KB (46 of many groups). Prediction for an H200: 4 us more than without (mcmc_1m
// 15). Measured under the profiler: 20.7 (59.8), 9.0 M instructions (40.9 M), where one that counts
// pairs for lists.cu had taken 18.4 (61.4). Tried: of splats that go farther a row for each lane,
// shared out over the warp, the queue for what is left: deal_far 5 less (13), project 6 more (21).
//
// HALF_SH: 44 + 96 bytes where there were 44 + 192, 16 KB of shared memory, 40 registers, sums in
// f32 in the same order. Prediction for fox_220k on an H200: 35 -> 27 us with the memsets before
// it, mcmc_1m 77 -> 55. Measured: fox_220k 37 -> 32.

#include "matrix.cuh"
#include "footprint.cuh"
#include "smoothing.cuh"
#include "antialias.cuh"
#ifdef MOST_GROUPS
#include "bin.cuh"
#endif

#define BLOCK 128
#ifdef MOST_GROUPS
#define DEALT 1
#else
#define DEALT 0
#endif
// Parts of the scene that are taken side by side: files have Gaussians that take long next to each
// other, which would begin last, all together, if they were at the end.
#define STRANDS 128
#define USED (3 * (SH_DEGREE + 1) * (SH_DEGREE + 1))
// Rows of harmonics are copied in pieces of so many numbers; the stride keeps the lanes' reads
// apart in the banks.
#if HALF_SH
typedef u16 Harmonic;
#define PIECE 8
#define PIECES ((USED + 7) / 8)
#define STRIDE (8 * (PIECES | 1))
#else
typedef float Harmonic;
#if SH_ROW % 4 == 0
#define PIECE 4
#define PIECES ((USED + 3) / 4)
#define STRIDE (4 * (PIECES | 1))
#else
#define PIECE 1
#define PIECES USED
#define STRIDE (USED | 1)
#endif
#endif

// A depth as a key of DEPTH_BITS bits: how far its bits lie beyond the near plane's. With 27 bits
// every float of the 15 octaves up to 32,768 near planes has a key of its own; of the 32 octaves
// behind them 32 neighbours share one. With one key for two neighbours everywhere, which leaves
// room for 32 octaves, trainings with mcmc took another course (its copies begin at the depth of
// what they are copied from): 31.37 dB where seeds had 31.45 to 31.58, as they have with these
// keys. Pictures of the fastest blend have 21 bits, three digits of 7 for the sort and 2^17 depths
// an octave; depths that share one are in the order of their Gaussians. Against 27 bits on an H200,
// by the clock: fox_220k 3.5 us less, mcmc_1m 16 (24 bits: 2 and 7; 18 bits, two digits: 6 and 17).
// PSNR from vanilla's picture on seven models: 68 to 77 dB where it was 70 to 84; with 18 bits 59
// and more.
#define LEAST_DEPTH 1e-4f
#define ALL_KEYS (1u << DEPTH_BITS)
#define NEAR_KEYS (ALL_KEYS / 16 * 15)
__device__ __forceinline__ u32 depth_key(float depth, const Camera& camera) {
    u32 base = __float_as_uint(fmaxf(camera.near_plane, LEAST_DEPTH));
    u32 beyond = (max(__float_as_uint(depth), base) - base) >> (27 - DEPTH_BITS);
    return beyond < NEAR_KEYS ? beyond : min(NEAR_KEYS + ((beyond - NEAR_KEYS) >> 5), ALL_KEYS - 1);
}

#if !DEALT
// What a warp shares to count the pairs of its splats.
struct Counting {
    Footprint footprints[WARP];
    uint2 tile_rows[WARP];
    u32 starts[WARP];  // first of the warp's rows of each splat
    u32 pairs[WARP];
};

// The pairs of each lane's splat with tiles; 0 if it is not `wanted`. The warp's rows are shared
// out over its lanes: most splats have one or two rows, some have all of the image. All lanes of
// the warp call it.
__device__ __forceinline__ u32 count_pairs(const Footprint& footprint, bool wanted,
                                           const Camera& camera, Counting& counting, u32 lane) {
    u32 own_rows = 0;
    counting.pairs[lane] = 0;
    uint2 rows = make_uint2(0, 0);
    if (wanted) {
        rows = footprint_rows(footprint, camera);
        counting.footprints[lane] = footprint;
        counting.tile_rows[lane] = rows;
        own_rows = rows.y - rows.x;
    }
    u32 until = warp_scan(own_rows, lane), total = __shfl_sync(FULL_MASK, until, WARP - 1);
    counting.starts[lane] = until - own_rows;
    __syncwarp();
    for (u32 k = lane; k < total; k += WARP) {
        // The last splat that starts no later; those without rows share their start with the next
        // one.
        u32 i = 0;
#pragma unroll
        for (u32 step = WARP / 2; step > 0; step /= 2)
            if (counting.starts[i + step] <= k) i += step;
        uint2 tile_rows = counting.tile_rows[i];
        u32 row = k - counting.starts[i];
        uint2 span = footprint_row(counting.footprints[i], tile_rows.x + row, camera);
        if (span.x < span.y) atomicAdd(&counting.pairs[i], span.y - span.x);
    }
    __syncwarp();
    u32 pairs = counting.pairs[lane];
    // Whoever comes next may overwrite what this reads.
    __syncwarp();
    return pairs;
}

#endif

// A warp's shared memory: first it counts, then it looks at harmonics.
union __align__(16) Work {
#if !DEALT
    Counting counting;
#endif
    Harmonic harmonics[WARP * STRIDE];
};

extern "C" __global__ void __launch_bounds__(BLOCK)
    project(const float* __restrict__ means, const float* __restrict__ log_scales,
            const float4* __restrict__ rotations, const float* __restrict__ opacity_logits,
            const Harmonic* __restrict__ sh, u32 most, const u32* __restrict__ gaussians,
            Camera camera, Splat* splats,
#if DEALT
            u32* group_counts, u64* pairs, u16* masks, u32 room, uint4* far_queue, u32 far_room,
#else
            u32* depths, u32* slots, u32* pair_counts, u32* slot_of,
#endif
            Counters* counters, const float* __restrict__ smoothing) {
    begin_kernel();
#if DEALT
    __shared__ Dealing dealing;
    __shared__ u32 far_count, far_start;
    for (u32 k = threadIdx.x; k < MOST_GROUPS / 2; k += BLOCK) dealing.words[k] = 0;
    if (threadIdx.x == 0) dealing.touched_groups = far_count = 0;
#else
    __shared__ u32 warp_counts[BLOCK / WARP];
    __shared__ u32 warp_pairs[BLOCK / WARP];  // an image has less than 1e8 tiles, so this is enough
    __shared__ u32 block_start;
#endif
    __shared__ Work works[BLOCK / WARP];
    __shared__ u32 owners[BLOCK / WARP][WARP];
    u32 thread = threadIdx.x, lane = thread % WARP, warp = thread / WARP;
    Harmonic* harmonics = works[warp].harmonics;
    u32 block = blockIdx.x;
    u32 strand = gridDim.x / STRANDS;
    if (block < STRANDS * strand) block = block % STRANDS * strand + block / STRANDS;
    u32 i = block * BLOCK + thread;
    bool survives = false, in_view = false;
    Splat splat = {};
    Footprint footprint = {};
    Vec3 mean = {};
    float depth = 0.0f, left = 0.0f;
    // A training scene's count is known here only. Rows there are as many as the host launched for,
    // so no load waits for it.
    u32 count = gaussians ? *gaussians : most;
    // All at once: none waits for another, and few warps have nothing beyond the near plane.
    Vec3 log_scale = {};
    float4 rotation = {};
    float logit = 0.0f;
    if (i < most) {
        log_scale = {log_scales[3 * i], log_scales[3 * i + 1], log_scales[3 * i + 2]};
        rotation = rotations[i];
        logit = opacity_logits[i];
        mean = {means[3 * i], means[3 * i + 1], means[3 * i + 2]};
        const float* w = camera.rotation;
        depth = fmaf(mean.x, w[6], fmaf(mean.y, w[7], fmaf(mean.z, w[8], camera.translation[2])));
    }
    if (i < count && depth > camera.near_plane) {
#if SMOOTHING
        Vec3 growth = smoothing_growth(log_scale, smoothing[i]);
        log_scale = {log_scale.x + growth.x, log_scale.y + growth.y, log_scale.z + growth.z};
#endif
        Geometry g = make_geometry(mean, log_scale, rotation, camera);
        // log2 of the sigmoid, without cancellation on either side.
        float log2_opacity = -LOG2E * (log1pf(expf(-fabsf(logit))) + fmaxf(-logit, 0.0f));
#if SMOOTHING
        log2_opacity = fmaf(-LOG2E, growth.x + growth.y + growth.z, log2_opacity);
#endif
#if ANTIALIAS
        log2_opacity = fmaf(0.5f, log2f(make_compensation(g, camera).ratio), log2_opacity);
#endif
        bool sound = g.determinant >= 1.17549435e-38f;
        float inverse_determinant = 1.0f / g.determinant;
        float half = -0.5f * LOG2E * inverse_determinant;
        splat.mean_x = fmaf(g.view.x * g.inverse_z, camera.focal[0], camera.centre[0]);
        splat.mean_y = fmaf(g.view.y * g.inverse_z, camera.focal[1], camera.centre[1]);
        splat.log2_opacity = log2_opacity;
        splat.gaussian = i;
        splat.a = half * g.yy;
        splat.b = LOG2E * inverse_determinant * g.xy;
        splat.c = half * g.xx;
#if !DEALT || READS_RADIUS
        float middle = 0.5f * (g.xx + g.yy);
        float spread = sqrtf(fmaxf(fmaf(middle, middle, -g.determinant), 0.1f));
        splat.radius = ceilf(3.0f * sqrtf(middle + spread));
#endif
#if !DEALT
        // The square holds a tile exactly when it reaches past the first pixel and starts before
        // the end of the last tile, since it is at least two pixels wide.
        float end_x = camera.tiles_x * TILE + 0.5f - 1e-3f,
              end_y = camera.tiles_y * TILE + 0.5f - 1e-3f;
        in_view = sound && splat.mean_x + splat.radius >= 1.5f &&
                  end_x >= splat.mean_x - splat.radius && splat.mean_y + splat.radius >= 1.5f &&
                  end_y >= splat.mean_y - splat.radius;
#endif
        footprint = make_footprint(splat);
        Ellipse ellipse = make_ellipse(splat.a, splat.b, splat.c, log2_opacity);
        float half_width = make_ellipse(splat.c, splat.b, splat.a, log2_opacity).half_height;
        left = splat.mean_x - half_width;
        // Comparisons with NaN are false, so a mean that overflowed drops out here.
        survives = sound && log2_opacity >= -LOG2_255 && splat.mean_x + half_width >= 0.5f &&
                   camera.width - 0.5f >= splat.mean_x - half_width &&
                   splat.mean_y + ellipse.half_height >= 0.5f &&
                   camera.height - 0.5f >= splat.mean_y - ellipse.half_height;
    }
#if DEALT
    Near near = {};
    if (survives) near = find_near(footprint, left, camera);
    survives = near.is_far || (near.tiles[0] | near.tiles[1]) != 0;
#else
    u32 pairs = count_pairs(footprint, survives, camera, works[warp].counting, lane);
    survives = pairs > 0;
#endif

    // The warp fetches its survivors' harmonics while it looks for their slots.
    u32 mask = __ballot_sync(FULL_MASK, survives);
    u32 rank = __popc(mask & ((1u << lane) - 1)), survivors = __popc(mask);
    if (survives) owners[warp][rank] = i;
    __syncwarp();
#if PIECE > 1
    // A lane has the same piece of every so many rows: some have nothing to do, but no copy needs a
    // quotient.
    const u32 rows = WARP / PIECES;
    u32 first = lane / PIECES, column = (lane - first * PIECES) * PIECE;
    for (u32 row = first < rows ? first : survivors; row < survivors; row += rows)
        copy_async_16(&harmonics[row * STRIDE + column],
                      sh + ((u64)owners[warp][row] * SH_ROW + column));
#else
    for (u32 k = lane; k < survivors * PIECES; k += WARP) {
        u32 row = k / PIECES, column = k - row * PIECES;
        copy_async_4(&harmonics[row * STRIDE + column],
                     sh + ((u64)owners[warp][row] * SH_ROW + column));
    }
#endif
    copy_async_commit();

#if DEALT
    // Pairs. The block's counts are clear.
    __syncthreads();
    u32 groups_x = (camera.tiles_x + GROUP - 1) / GROUP, ranks = 0, far_place = 0;
    if (!near.is_far) {
#pragma unroll
        for (u32 g = 0; g < NEAR * NEAR; ++g)
            if (near_mask(near, g))
                ranks |= count_pair(dealing, near.group + g / NEAR * groups_x + g % NEAR)
                         << (8 * g);
    }
    u32 far_entries = near.is_far ? (near.rows.y - near.rows.x + FAR_ROWS - 1) / FAR_ROWS : 0;
    u32 far_until = warp_scan(far_entries, lane);
    if (lane == WARP - 1 && far_until) far_place = atomicAdd(&far_count, far_until);
    far_place = __shfl_sync(FULL_MASK, far_place, WARP - 1) + far_until - far_entries;
    __syncthreads();
    if (thread == BLOCK - 1 && far_count) far_start = atomicAdd(&counters->far, far_count);
    reserve_places<BLOCK, 1>(dealing, group_counts, thread);
    copy_async_wait<0>();
    __syncthreads();
    DealtPairs to = {pairs, masks, room};
    if (near.is_far) {
        for (u32 k = 0, row = near.rows.x; k < far_entries; ++k, row += FAR_ROWS) {
            u32 at = far_start + far_place + k;
            if (at < far_room)
                far_queue[at] =
                    make_uint4(i, __float_as_uint(depth), row, min(row + FAR_ROWS, near.rows.y));
        }
    } else {
#pragma unroll
        for (u32 g = 0; g < NEAR * NEAR; ++g) {
            u32 mask = near_mask(near, g), group = near.group + g / NEAR * groups_x + g % NEAR;
            if (mask)
                write_dealt(to, group, dealing.counts[group] + (ranks >> (8 * g) & 255),
                            __float_as_uint(depth), i, mask);
        }
    }
    u32 slot = i;
#else
    // Slots.
    u32 in_warp = pairs;
    for (int offset = 16; offset > 0; offset /= 2)
        in_warp += __shfl_xor_sync(FULL_MASK, in_warp, offset);
    if (lane == 0) {
        warp_counts[warp] = survivors;
        warp_pairs[warp] = in_warp;
    }
    __syncthreads();
    if (thread == 0) {
        u32 total = 0;
        u64 all = 0;
        for (int k = 0; k < BLOCK / WARP; ++k) {
            total += warp_counts[k];
            all += warp_pairs[k];
        }
        block_start = total ? atomicAdd(&counters->visible, total) : 0;
        if (all) atomicAdd(&counters->pairs, all);
    }
    copy_async_wait<0>();
    __syncthreads();
    u32 slot = block_start + rank;
    for (u32 k = 0; k < warp; ++k) slot += warp_counts[k];
#endif
    if (survives) {
        Vec3 unit;
        view_direction(mean, camera, unit);
        float basis[16];
        sh_basis(SH_DEGREE, unit, basis);
        float colour[3] = {0.5f, 0.5f, 0.5f};
#if HALF_SH
        const uint4* row = (const uint4*)&harmonics[rank * STRIDE];
#pragma unroll
        for (int piece = 0; piece < PIECES; ++piece) {
            uint4 eight = row[piece];
            const u32 twos[4] = {eight.x, eight.y, eight.z, eight.w};
#pragma unroll
            for (int k = 8 * piece; k < 8 * piece + 8 && k < USED; ++k) {
                u32 two = twos[k % 8 / 2];
                colour[k % 3] =
                    fmaf(basis[k / 3], k % 2 ? half_high(two) : half_low(two), colour[k % 3]);
            }
        }
#else
        const float* row = &harmonics[rank * STRIDE];
#pragma unroll
        for (int k = 0; k < USED / 3; ++k)
#pragma unroll
            for (int c = 0; c < 3; ++c) colour[c] = fmaf(basis[k], row[3 * k + c], colour[c]);
#endif
        splat.red = fmaxf(colour[0], 0.0f);
        splat.green = fmaxf(colour[1], 0.0f);
        splat.blue = fmaxf(colour[2], 0.0f);
        splat.clamped = (colour[0] < 0.0f ? 1u : 0u) | (colour[1] < 0.0f ? 2u : 0u) |
                        (colour[2] < 0.0f ? 4u : 0u) |
                        (__float_as_uint(reciprocal_approx(depth)) & ~7u);
        splats[slot] = splat;
#if !DEALT
        pair_counts[slot] = pairs;
#endif
    }
#if !DEALT
    if (i < most) {
        depths[i] = survives ? depth_key(depth, camera) : NO_KEY;
        slots[i] = slot;
        slot_of[i] = (survives ? slot : NO_SLOT) | (in_view ? IN_VIEW : 0u);
    }
#endif
}
