// project: Gaussians to splats.
//
// Contract. One Gaussian of `means`, `log_scales` ([n][3]), `rotations` ([n][4]), `opacity_logits`
// ([n]) and `sh` ([n][SH_ROW]) becomes a Splat: mean, conic and radius in pixels by EWA splatting
// (Zwicker et al. 2002, as INRIA's rasterizer computes it), colour by spherical harmonics.
// Survivors reach alpha = 1/255 in at least one tile. Twin: splatcore-cpu/src/project.rs. Training
// and unbinned inference: survivors get compacted indices (`splats`) in the order in which blocks
// ask; `depths` and `splats` ([n]) are the pairs for the sort by depth, in the order of the
// Gaussians, which equal depths keep; `pair_counts` has each splat's tiles, `splat_of` the index of
// each Gaussian; more than `splat_room` survivors overflow. With MAX_MACRO_TILES (BINNED): no
// compaction; pairs of splats within 2x2 macro-tiles are binned here (bin.cuh), others go to
// `large_queue` (bin_large_splats.cu).
//   SH_DEGREE in use; SH_ROW numbers stored for a Gaussian: floats, or halves if HALF_SH is 1
//   (then a multiple of 8); DEPTH_BITS of a key; INTERSECT as in footprint.cuh; MAX_MACRO_TILES as
//   in bin.cuh; ANTIALIAS and SHAPE_COLUMNS 1 for antialias.cuh and shape_columns.cuh;
//   RAYS 1 also writes the RayShape of each splat (ray_depth.cuh); LENS as in
//   lens.cuh; SHARD 1 projects a rank's rows alone, by which `splat_of` goes, counts in `shard`,
//   has `depths` by compacted index, and leaves `splat_order` to gather_splats.cu.
//
// Launch. One thread a Gaussian, blocks of 128; 60 registers, 28 KB of shared memory for degree 3.
// Binned: 59, 34 KB (46 for many macro-tiles). HALF_SH: 40, 16 KB.
//
// Bound. Memory: 44 bytes a Gaussian; 192 more (degree 3, halves 96) and 60 written a survivor; and
// some 1,250 instructions a warp: 470 for the geometry, 180 for 32 rows (fox_220k).
// Now. 31 us (fox_220k, 1080x1920, H200, with `clear`). History: docs/log/kernels/project.md.

// Gaussians of a block, and threads. Ranks in a block are counted in 8 bits.
#define BLOCK 128  // tune: 32 64 96 128
#ifdef MAX_MACRO_TILES
#define TOUCHED (4 * BLOCK)  // a small footprint lies in four macro-tiles
#endif

#include "harmonic.cuh"
#include "matrix.cuh"
#include "footprint.cuh"
#include "ray_depth.cuh"
#include "shape_columns.cuh"
#include "antialias.cuh"
#include "row_blocks.cuh"
#include "unscented.cuh"
#ifdef MAX_MACRO_TILES
#include "bin.cuh"
#endif

#ifdef MAX_MACRO_TILES
#define BINNED 1
#else
#define BINNED 0
#endif
// Parts of the scene that blocks take in turn. Files have Gaussians over many rows of tiles next
// to each other; in the file's order those at its end would all begin last.
#define STRANDS 128
#define USED (3 * (SH_DEGREE + 1) * (SH_DEGREE + 1))
// Asynchronous copies bring rows of harmonics to shared memory in pieces of PIECE numbers; the
// stride avoids bank conflicts of the lanes' reads.
#if HALF_SH
#define PIECE 8
#define PIECES ((USED + 7) / 8)
#define STRIDE (8 * (PIECES | 1))
#else
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

// A depth as a key of DEPTH_BITS bits: the distance of its bits from the near plane's. With 27
// bits every float of the 15 octaves up to 32,768 near planes has a key of its own; of the 32
// octaves behind them 32 neighbours share one. Neighbours near the camera must not share keys:
// mcmc's copies begin at the depth of their original, and such keys changed its trainings. Equal
// keys keep the order of their Gaussians.
#define MIN_DEPTH 1e-4f
#define ALL_KEYS (1u << DEPTH_BITS)
#define NEAR_KEYS (ALL_KEYS / 16 * 15)
__device__ __forceinline__ u32 depth_key(float depth, const Camera& camera) {
    u32 base = __float_as_uint(fmaxf(camera.near_plane, MIN_DEPTH));
    u32 beyond = (max(__float_as_uint(depth), base) - base) >> (27 - DEPTH_BITS);
    return beyond < NEAR_KEYS ? beyond : min(NEAR_KEYS + ((beyond - NEAR_KEYS) >> 5), ALL_KEYS - 1);
}

#if !BINNED
// Where the compacted indices of a block begin for which there is no room.
#define NO_ROOM 0xffffffffu

// A warp's shared memory while it counts the pairs of its splats.
struct Counting {
    Footprint footprints[WARP];
    uint2 tile_rows[WARP];
    u32 starts[WARP];  // number of each splat's first row among the warp's
    u32 pairs[WARP];
};

// The number of tiles that each lane's splat touches; 0 if it is not `wanted`. The lanes share the
// warp's rows of tiles evenly: most splats have one or two rows, some have all of the image. All
// lanes of the warp call it.
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
        // The row's splat is the last one that starts no later; a splat without rows shares its
        // start with the next one.
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
    // The next use of this memory must not overwrite counts that other lanes still read.
    __syncwarp();
    return pairs;
}

#endif

// A warp's shared memory: first for counting, then for harmonics.
union __align__(16) Work {
#if !BINNED
    Counting counting;
#endif
    Harmonic harmonics[WARP * STRIDE];
};

// Parameters of `project`; in Rust by the same name.
struct ProjectParams {
    ReadOnly<float> means;           // [count][3], world
    ReadOnly<float> log_scales;      // [count][3]
    ReadOnly<float4> rotations;      // [count], quaternions (w, x, y, z)
    ReadOnly<float> opacity_logits;  // [count]
    const Harmonic* sh;              // [count][coefficients][3]
    u32 most;                        // Gaussians there may be
    ReadOnly<u32> gaussians;         // the number of Gaussians; null: `most`
    Camera camera;
    Splat* splats;           // by compacted index
    u32* macro_tile_counts;  // pairs of each macro-tile
    u64* pairs;              // [macro-tiles][room], (depth key, compacted index)
    u16* masks;              // [macro-tiles][room], tiles of the macro-tile; side 4 only
    u32 room;                // pairs that a macro-tile has room for
    uint4* large_queue;      // queue of large footprints
    u32 large_room;          // room in it
    u32* depths;             // sort key of each compacted index
    u32* splat_order;        // 0, 1, 2, ..., for `sort`
    u32* pair_counts;        // pairs of each compacted index
    u32* splat_of;           // compacted index of each Gaussian, see NO_SPLAT
    u32 splat_room;          // compacted indices there is room for
    Counters* counters;
    ShapeColumns shape;
    RayShape* rays;    // by compacted index, with RAYS 1
    RowBlocks blocks;  // these two with SHARD 1
    ShardCounts* shard;
    Lens lens;  // unless LENS is 0
};
extern "C" __global__ void __launch_bounds__(BLOCK)
    project(const __grid_constant__ ProjectParams args) {
    begin_kernel();
#if BINNED
    __shared__ Binning binning;
    __shared__ u32 large_count, large_start;
    for (u32 k = threadIdx.x; k < MAX_MACRO_TILES / 2; k += BLOCK) binning.words[k] = 0;
    if (threadIdx.x == 0) binning.touched_count = large_count = 0;
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
    const u32 own = block * BLOCK + thread;
    u32 i = own;
#if SHARD
    i = row_of(own, args.blocks);
#endif
    bool survives = false, in_view = false;
    Splat splat = {};
    Footprint footprint = {};
#if RAYS
    RayShape ray = {};
#endif
    Vec3 mean = {};
    float depth = 0.0f, left = 0.0f;
    // In training only the device knows the number of Gaussians. The arrays have `most` rows, so
    // no load waits for the number.
    u32 count = args.gaussians ? args.gaussians[0] : args.most;
    // All parameters are loaded at once, so that no load waits for another; few warps have no
    // Gaussian beyond the near plane.
    Vec3 log_scale = {};
    float4 rotation = {};
    float logit = 0.0f;
    if (i < args.most) {
        log_scale = {args.log_scales[3 * i], args.log_scales[3 * i + 1],
                     args.log_scales[3 * i + 2]};
        rotation = args.rotations[i];
        logit = args.opacity_logits[i];
        mean = {args.means[3 * i], args.means[3 * i + 1], args.means[3 * i + 2]};
        const float* w = args.camera.rotation;
        depth =
            fmaf(mean.x, w[6], fmaf(mean.y, w[7], fmaf(mean.z, w[8], args.camera.translation[2])));
#if LENS
        if (lens_depth_is_distance(args.lens)) {
            const float* eye = args.camera.position;
            Vec3 away = {mean.x - eye[0], mean.y - eye[1], mean.z - eye[2]};
            depth = sqrtf(dot(away, away));
        }
#endif
    }
    if (i < count && depth > args.camera.near_plane) {
#if SHAPE_COLUMNS
        Vec3 growth = shape_growth(log_scale, load_shape(args.shape, i));
        log_scale = {log_scale.x + growth.x, log_scale.y + growth.y, log_scale.z + growth.z};
#endif
        Geometry g = make_geometry(mean, log_scale, rotation, args.camera);
#if LENS
        Unscented unscented = make_unscented(g, args.camera, args.lens);
        g.xx = unscented.xx;
        g.xy = unscented.xy;
        g.yy = unscented.yy;
        g.determinant = unscented.seen ? unscented.determinant : 0.0f;
#endif
        // log2 of the sigmoid, without cancellation on either side.
        float log2_opacity = -LOG2E * (log1pf(expf(-fabsf(logit))) + fmaxf(-logit, 0.0f));
#if SHAPE_COLUMNS
        log2_opacity = fmaf(-LOG2E, growth.x + growth.y + growth.z, log2_opacity);
#endif
#if ANTIALIAS && LENS
        log2_opacity = fmaf(0.5f, log2f(fmaxf(unscented.ratio, COMPENSATION_MIN)), log2_opacity);
#elif ANTIALIAS
        log2_opacity = fmaf(0.5f, log2f(make_compensation(g, args.camera).ratio), log2_opacity);
#endif
#if RAYS
        ray = make_ray_shape(g, args.camera);
#endif
        bool sound = g.determinant >= 1.17549435e-38f;
        float inverse_determinant = 1.0f / g.determinant;
        float half = -0.5f * LOG2E * inverse_determinant;
#if LENS
        splat.mean_x = unscented.mean.x + args.camera.centre[0];
        splat.mean_y = unscented.mean.y + args.camera.centre[1];
#else
        splat.mean_x = fmaf(g.view.x * g.inverse_z, args.camera.focal[0], args.camera.centre[0]);
        splat.mean_y = fmaf(g.view.y * g.inverse_z, args.camera.focal[1], args.camera.centre[1]);
#endif
        splat.log2_opacity = log2_opacity;
        splat.gaussian = i;
        splat.a = half * g.yy;
        splat.b = LOG2E * inverse_determinant * g.xy;
        splat.c = half * g.xx;
#if !BINNED || READS_RADIUS
        float middle = 0.5f * (g.xx + g.yy);
        float spread = sqrtf(fmaxf(fmaf(middle, middle, -g.determinant), 0.1f));
        splat.radius = ceilf(3.0f * sqrtf(middle + spread));
#endif
#if !BINNED
        // INRIA's square touches a tile exactly if it reaches past the first pixel and begins
        // before the end of the last tile, as it is at least two pixels wide.
        float end_x = args.camera.tiles_x * TILE + 0.5f - 1e-3f,
              end_y = args.camera.tiles_y * TILE + 0.5f - 1e-3f;
        in_view = sound && splat.mean_x + splat.radius >= 1.5f &&
                  end_x >= splat.mean_x - splat.radius && splat.mean_y + splat.radius >= 1.5f &&
                  end_y >= splat.mean_y - splat.radius;
#endif
        footprint = make_footprint(splat);
        Ellipse ellipse = make_ellipse(splat.a, splat.b, splat.c, log2_opacity);
        float half_width = make_ellipse(splat.c, splat.b, splat.a, log2_opacity).half_height;
        left = splat.mean_x - half_width;
        // Comparisons with NaN are false, so a mean that overflowed does not survive.
        survives = sound && log2_opacity >= -LOG2_255 && splat.mean_x + half_width >= 0.5f &&
                   args.camera.width - 0.5f >= splat.mean_x - half_width &&
                   splat.mean_y + ellipse.half_height >= 0.5f &&
                   args.camera.height - 0.5f >= splat.mean_y - ellipse.half_height;
    }
#if BINNED
    CoveredMacroTiles covered = {};
    if (survives) covered = cover(footprint, left, args.camera);
    survives = covered.is_large || (covered.tiles[0] | covered.tiles[1]) != 0;
#else
    u32 pairs = count_pairs(footprint, survives, args.camera, works[warp].counting, lane);
    survives = pairs > 0;
#endif

    // The copies of the survivors' harmonics run while the block asks for their compacted indices
    // (`splats`).
    u32 mask = __ballot_sync(FULL_MASK, survives);
    u32 rank = __popc(mask & ((1u << lane) - 1)), survivors = __popc(mask);
#if SHARD
    if (survives) owners[warp][rank] = stored_row(own, i, args.blocks);
#else
    if (survives) owners[warp][rank] = i;
#endif
    __syncwarp();
#if PIECE > 1
    // A lane copies the same piece of every WARP / PIECES-th row: some lanes have nothing to do,
    // but no copy needs a division.
    const u32 rows = WARP / PIECES;
    u32 first = lane / PIECES, column = (lane - first * PIECES) * PIECE;
    for (u32 row = first < rows ? first : survivors; row < survivors; row += rows)
        copy_async_16(&harmonics[row * STRIDE + column],
                      args.sh + ((u64)owners[warp][row] * SH_ROW + column));
#else
    for (u32 k = lane; k < survivors * PIECES; k += WARP) {
        u32 row = k / PIECES, column = k - row * PIECES;
        copy_async_4(&harmonics[row * STRIDE + column],
                     args.sh + ((u64)owners[warp][row] * SH_ROW + column));
    }
#endif
    copy_async_commit();

#if BINNED
    // Pairs. After this barrier the block's counts are 0.
    __syncthreads();
    u32 macro_tiles_x = (args.camera.tiles_x + MACRO_TILE_SIDE - 1) / MACRO_TILE_SIDE, ranks = 0,
        large_place = 0;
    if (!covered.is_large) {
#pragma unroll
        for (u32 g = 0; g < SMALL_SIDE * SMALL_SIDE; ++g)
            if (covered_mask(covered, g))
                ranks |= count_pair(binning, covered.macro_tile + g / SMALL_SIDE * macro_tiles_x +
                                                 g % SMALL_SIDE)
                         << (8 * g);
    }
    u32 large_entries =
        covered.is_large ? (covered.rows.y - covered.rows.x + LARGE_ROWS - 1) / LARGE_ROWS : 0;
    u32 large_until = warp_scan(large_entries, lane);
    if (lane == WARP - 1 && large_until) large_place = atomicAdd(&large_count, large_until);
    large_place = __shfl_sync(FULL_MASK, large_place, WARP - 1) + large_until - large_entries;
    __syncthreads();
    if (thread == BLOCK - 1 && large_count)
        large_start = atomicAdd(&args.counters->large, large_count);
    reserve_places<BLOCK, 1>(binning, args.macro_tile_counts, thread);
    copy_async_wait<0>();
    __syncthreads();
    BinnedPairs to = {args.pairs, args.masks, args.room};
    if (covered.is_large) {
        for (u32 k = 0, row = covered.rows.x; k < large_entries; ++k, row += LARGE_ROWS) {
            u32 at = large_start + large_place + k;
            if (at < args.large_room)
                args.large_queue[at] = make_uint4(i, __float_as_uint(depth), row,
                                                  min(row + LARGE_ROWS, covered.rows.y));
        }
    } else {
#pragma unroll
        for (u32 g = 0; g < SMALL_SIDE * SMALL_SIDE; ++g) {
            u32 mask = covered_mask(covered, g),
                macro_tile = covered.macro_tile + g / SMALL_SIDE * macro_tiles_x + g % SMALL_SIDE;
            if (mask)
                write_binned(to, macro_tile, binning.counts[macro_tile] + (ranks >> (8 * g) & 255),
                             __float_as_uint(depth), i, mask);
        }
    }
    u32 splat_index = i;
#else
    // Compacted indices (`splats`).
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
#if SHARD
        // All that would survive count, so that the host knows how much room is wanted.
        u32 start = total ? atomicAdd(&args.shard->splats, total) : 0;
        if (total) atomicMax(&args.counters->shard_splats, start + total);
        if (start + total > args.splat_room) {
            atomicExch(&args.counters->overflowed, 1u);
            start = NO_ROOM;
        }
        block_start = start;
        if (all) atomicAdd(&args.shard->pairs, all);
#else
        u32 start = total ? atomicAdd(&args.counters->visible, total) : 0;
        if (start + total > args.splat_room) {
            // Overflow: the block has no survivors. `visible` stays the number of keys, so that the
            // sort by depth stays within its memory.
            atomicAdd(&args.counters->visible, 0u - total);
            atomicAdd(&args.counters->beyond, total);
            atomicExch(&args.counters->overflowed, 1u);
            start = NO_ROOM;
        }
        block_start = start;
        if (all) atomicAdd(&args.counters->pairs, all);
#endif
    }
    copy_async_wait<0>();
    __syncthreads();
    if (block_start == NO_ROOM) survives = false;
    u32 splat_index = block_start + rank;
    for (u32 k = 0; k < warp; ++k) splat_index += warp_counts[k];
#endif
    if (survives) {
        Vec3 unit;
        view_direction(mean, args.camera, unit);
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
        args.splats[splat_index] = splat;
#if RAYS
        args.rays[splat_index] = ray;
#endif
#if !BINNED
        args.pair_counts[splat_index] = pairs;
#endif
#if SHARD
        args.depths[splat_index] = depth_key(depth, args.camera);
#endif
    }
#if !BINNED
    if (i < args.most) {
#if !SHARD
        args.depths[i] = survives ? depth_key(depth, args.camera) : NO_KEY;
        args.splat_order[i] = splat_index;
#endif
        args.splat_of[own] = (survives ? splat_index : NO_SPLAT) | (in_view ? IN_VIEW : 0u);
    }
#endif
}
