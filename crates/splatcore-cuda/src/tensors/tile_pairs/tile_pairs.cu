// tile_pairs: the (tile, splat) pairs of splats (gsplat's isect_tiles and isect_offset_encode).
//
// Contract. A splat touches the tiles that its mean +- radii overlap, none if a radius is 0 or
// less; with conics and opacities only those of them where it may count at some pixel
// (rasterizer.cuh), so that images stay the same bit for bit. count_tiles writes how many;
// fill_pairs writes the pairs splat by splat, row by row, from the inclusive sums `ends`: an id,
// image << (32 + tile_bits) | tile << 32 | bits of the depth, and the splat. take_keys and
// gather_pairs stand around two stable sorts of 32-bit keys (ops/sort/sort.cu), by the lower half
// of the ids and then by the upper: they sort by the whole id. find_offsets writes where the list
// of each tile begins in sorted ids.
//
// Launch. A thread a splat, pair or tile, blocks of BLOCK. A splat with a box of more than
// FEW_TILES tiles is worked on by its whole warp.
//
// Bound. Memory: 12 bytes out a pair for fill_pairs. Instructions: 50 a tile that is tested.
//
// Now. 0.36 ms with the sorts for fox_220k at 1080x1920 on an H100 (docs/results/python.md).
// History: docs/log/python.md.

#include "rasterizer.cuh"

#define FEW_TILES 32

// How images are cut into tiles; in Rust by the same name.
struct TileGrid {
    u32 size, width, height;  // pixels along a tile's side; tiles
    u32 tile_bits;            // of an id
};

// Splats; in Rust by the same name.
struct PairSplats {
    ReadOnly<float> means2d;  // [M][2], pixels
    ReadOnly<int> radii;      // [M][2], pixels
    const float* conics;      // [M][3] or null: all tiles of the box
    const float* opacities;   // with conics: of each splat, or of each Gaussian
    const float* factors;     // [M] or null: what opacities are multiplied by
    // The Gaussian of splat m is m / (per_image * cameras) * per_image + m % per_image where
    // opacities are of Gaussians, and m where `cameras` is 0.
    u32 per_image, cameras;
    u32 count;  // M
};

// Parameters of `count_tiles`; in Rust by the same name.
struct CountTilesParams {
    TileGrid tiles;
    PairSplats splats;
    u32* tiles_per_gauss;  // [M]
};

// Parameters of `fill_pairs`; in Rust by the same name.
struct FillPairsParams {
    TileGrid tiles;
    PairSplats splats;
    ReadOnly<u32> depths;        // [M], bits of f32
    const long long* image_ids;  // [M] or null: the splats of an image are per_image in a row
    ReadOnly<long long> ends;    // [M]
    u32 pairs;
    u64* isect_ids;    // [pairs]
    u32* flatten_ids;  // [pairs]
};

// Parameters of `take_keys`; in Rust by the same name.
struct TakeKeysParams {
    ReadOnly<u64> ids;  // [pairs]
    u32* keys;          // [pairs]
    u32* places;        // [pairs], in ids: written for the lower half, read for the upper
    u32 pairs;
    u32 is_upper;
    u32* count;  // gets `pairs`, for the sort
};

// Parameters of `gather_pairs`; in Rust by the same name.
struct GatherPairsParams {
    ReadOnly<u64> ids;     // [pairs]
    ReadOnly<u32> splats;  // [pairs]
    ReadOnly<u32> places;  // [pairs], in ids and splats
    u32 pairs;
    u64* isect_ids;    // [pairs]
    u32* flatten_ids;  // [pairs]
};

// Parameters of `find_offsets`; in Rust by the same name.
struct FindOffsetsParams {
    ReadOnly<u64> isect_ids;  // [pairs], sorted
    u32 pairs;
    u32 images, tiles, tile_bits;
    u32* offsets;  // [images][tiles]
};

// Columns and rows of tiles, the last ones excluded.
struct Touched {
    u32 left, right, top, bottom;
};

__device__ __forceinline__ u32 edge(float at, u32 count) {
    // Also 0 for what is not a number.
    return (u32)fminf(fmaxf(at, 0.0f), (float)count);
}

__device__ __forceinline__ Touched touched(const PairSplats& splats, const TileGrid& tiles, u64 m) {
    float radius_x = (float)splats.radii[2 * m], radius_y = (float)splats.radii[2 * m + 1];
    float x = splats.means2d[2 * m], y = splats.means2d[2 * m + 1], size = (float)tiles.size;
    // x - x is 0 for finite numbers alone.
    if (!(radius_x > 0.0f && radius_y > 0.0f && x - x == 0.0f && y - y == 0.0f))
        return {0, 0, 0, 0};
    x /= size, y /= size, radius_x /= size, radius_y /= size;
    return {min(edge(floorf(x - radius_x), tiles.width), tiles.width),
            min(edge(ceilf(x + radius_x), tiles.width), tiles.width),
            min(edge(floorf(y - radius_y), tiles.height), tiles.height),
            min(edge(ceilf(y + radius_y), tiles.height), tiles.height)};
}

// A splat's box of tiles and what decides which of them it touches.
struct Box {
    Touched at;
    u32 width, count;  // tiles a row; of the box
    bool is_tested;    // whether the tiles are looked at one by one
    float x, y, a, b, c, limit;
};

__device__ __forceinline__ Box box_of(const PairSplats& splats, const TileGrid& tiles, u64 m) {
    Box box = {};
    if (m >= splats.count) return box;
    box.at = touched(splats, tiles, m);
    box.width = box.at.right - box.at.left;
    box.count = box.width * (box.at.bottom - box.at.top);
    box.is_tested = splats.conics && box.count > 0;
    if (!box.is_tested) return box;
    u64 of = m;
    if (splats.cameras > 0)
        of = m / ((u64)splats.per_image * splats.cameras) * splats.per_image + m % splats.per_image;
    // As torch multiplies, so that both kernels decide by the same number.
    float opacity = splats.opacities[of];
    if (splats.factors) opacity = __fmul_rn(opacity, splats.factors[m]);
    box.x = splats.means2d[2 * m];
    box.y = splats.means2d[2 * m + 1];
    box.a = splats.conics[3 * m];
    box.b = splats.conics[3 * m + 1];
    box.c = splats.conics[3 * m + 2];
    box.limit = sigma_limit(opacity);
    return box;
}

// Whether the splat touches a tile of its box, and the tile's number in the image.
__device__ __forceinline__ bool touches(const Box& box, const TileGrid& tiles, u32 k, u32& tile) {
    u32 column = box.at.left + k % box.width, row = box.at.top + k / box.width;
    tile = row * tiles.width + column;
    if (!box.is_tested) return true;
    float left = (float)(column * tiles.size) + 0.5f - box.x,
          top = (float)(row * tiles.size) + 0.5f - box.y, last = (float)(tiles.size - 1);
    return may_count({left, left + last, top, top + last}, box.a, box.b, box.c, box.limit);
}

template <typename T>
__device__ __forceinline__ T take(T value, u32 lane) {
    return __shfl_sync(FULL_MASK, value, lane);
}

__device__ __forceinline__ Box box_of_lane(const Box& box, u32 lane) {
    const Touched at = {take(box.at.left, lane), take(box.at.right, lane), take(box.at.top, lane),
                        take(box.at.bottom, lane)};
    return {at,
            take(box.width, lane),
            take(box.count, lane),
            take((u32)box.is_tested, lane) != 0,
            take(box.x, lane),
            take(box.y, lane),
            take(box.a, lane),
            take(box.b, lane),
            take(box.c, lane),
            take(box.limit, lane)};
}

extern "C" __global__ void __launch_bounds__(BLOCK)
    count_tiles(const __grid_constant__ CountTilesParams args) {
    begin_kernel();
    u32 m = blockIdx.x * BLOCK + threadIdx.x, lane = threadIdx.x % WARP, tile;
    Box box = box_of(args.splats, args.tiles, m);
    u32 count = 0;
    bool is_large = box.is_tested && box.count > FEW_TILES;
    if (!box.is_tested)
        count = box.count;
    else if (!is_large)
        for (u32 k = 0; k < box.count; ++k) count += touches(box, args.tiles, k, tile);
    for (u32 larges = __ballot_sync(FULL_MASK, is_large); larges; larges &= larges - 1) {
        u32 of = __ffs(larges) - 1, found = 0;
        Box large = box_of_lane(box, of);
        for (u32 k = lane; k < large.count; k += WARP) found += touches(large, args.tiles, k, tile);
        for (u32 offset = WARP / 2; offset > 0; offset /= 2)
            found += __shfl_xor_sync(FULL_MASK, found, offset);
        if (lane == of) count = found;
    }
    if (m < args.splats.count) args.tiles_per_gauss[m] = count;
}

extern "C" __global__ void __launch_bounds__(BLOCK)
    fill_pairs(const __grid_constant__ FillPairsParams args) {
    begin_kernel();
    u32 m = blockIdx.x * BLOCK + threadIdx.x, lane = threadIdx.x % WARP, tile = 0;
    Box box = box_of(args.splats, args.tiles, m);
    u64 id = 0, place = 0, end = 0;
    if (m < args.splats.count) {
        u64 image = args.image_ids ? (u64)args.image_ids[m] : m / args.splats.per_image;
        id = image << (32 + args.tiles.tile_bits) | args.depths[m];
        place = m > 0 ? (u64)args.ends[m - 1] : 0;
        end = min((u64)args.ends[m], (u64)args.pairs);
    }
    auto write = [&](u64 at, u64 id, u32 tile, u32 splat) {
        args.isect_ids[at] = id | (u64)tile << 32;
        args.flatten_ids[at] = splat;
    };
    bool is_large = box.count > FEW_TILES;
    if (!is_large)
        for (u32 k = 0; k < box.count && place < end; ++k)
            if (touches(box, args.tiles, k, tile)) write(place++, id, tile, m);
    for (u32 larges = __ballot_sync(FULL_MASK, is_large); larges; larges &= larges - 1) {
        u32 of = __ffs(larges) - 1;
        Box large = box_of_lane(box, of);
        u64 its_id = __shfl_sync(FULL_MASK, id, of), its_end = __shfl_sync(FULL_MASK, end, of),
            at = __shfl_sync(FULL_MASK, place, of);
        u32 splat = m - lane + of;
        for (u32 first = 0; first < large.count; first += WARP) {
            bool is_touched =
                first + lane < large.count && touches(large, args.tiles, first + lane, tile);
            u32 all = __ballot_sync(FULL_MASK, is_touched);
            u64 mine = at + __popc(all & lanes_below());
            if (is_touched && mine < its_end) write(mine, its_id, tile, splat);
            at += __popc(all);
        }
        if (lane == of) place = at;
    }
    // Conics or opacities that are not those of count_tiles: no place stays unwritten.
    for (; place < end; ++place) write(place, id, tile, m);
}

extern "C" __global__ void __launch_bounds__(BLOCK)
    take_keys(const __grid_constant__ TakeKeysParams args) {
    begin_kernel();
    u32 i = blockIdx.x * BLOCK + threadIdx.x;
    if (i == 0) *args.count = args.pairs;
    if (i >= args.pairs) return;
    if (!args.is_upper) args.places[i] = i;
    u64 id = args.ids[args.is_upper ? args.places[i] : i];
    // The sort leaves NO_KEY out.
    args.keys[i] = min((u32)(args.is_upper ? id >> 32 : id), NO_KEY - 1);
}

extern "C" __global__ void __launch_bounds__(BLOCK)
    gather_pairs(const __grid_constant__ GatherPairsParams args) {
    begin_kernel();
    u32 i = blockIdx.x * BLOCK + threadIdx.x;
    if (i >= args.pairs) return;
    u32 place = args.places[i];
    args.isect_ids[i] = args.ids[place];
    args.flatten_ids[i] = args.splats[place];
}

extern "C" __global__ void __launch_bounds__(BLOCK)
    find_offsets(const __grid_constant__ FindOffsetsParams args) {
    begin_kernel();
    u32 i = blockIdx.x * BLOCK + threadIdx.x;
    if (i >= args.images * args.tiles) return;
    u64 least = (u64)(i / args.tiles) << args.tile_bits | i % args.tiles;
    // The first id that is not below.
    u32 low = 0, high = args.pairs;
    while (low < high) {
        u32 middle = low + (high - low) / 2;
        if (args.isect_ids[middle] >> 32 < least)
            low = middle + 1;
        else
            high = middle;
    }
    args.offsets[i] = low;
}
