// tile_pairs: the (tile, splat) pairs of splats (gsplat's isect_tiles and isect_offset_encode).
//
// Contract. A splat touches the tiles that its mean +- radii overlap, none if a radius is 0 or
// less. count_tiles writes how many; fill_pairs writes the pairs splat by splat, row by row, from
// the inclusive sums `ends`: an id, image << (32 + tile_bits) | tile << 32 | bits of the depth, and
// the splat. take_keys and gather_pairs stand around two stable sorts of 32-bit keys
// (ops/sort/sort.cu), by the lower half of the ids and then by the upper: they sort by the whole
// id. find_offsets writes where the list of each tile begins in sorted ids.
//
// Launch. A thread a splat, pair or tile, blocks of BLOCK.
//
// Bound. Memory: 12 bytes out a pair for fill_pairs. A splat in many tiles holds its warp up.
//
// Now. Not measured.

#include "device.cuh"

// How images are cut into tiles; in Rust by the same name.
struct TileGrid {
    u32 size, width, height;  // pixels along a tile's side; tiles
    u32 tile_bits;            // of an id
};

// Splats; in Rust by the same name.
struct PairSplats {
    ReadOnly<float> means2d;  // [M][2], pixels
    ReadOnly<int> radii;      // [M][2], pixels
    u32 count;                // M
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
    u32 per_image;
    ReadOnly<long long> ends;  // [M]
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

extern "C" __global__ void __launch_bounds__(BLOCK)
    count_tiles(const __grid_constant__ CountTilesParams args) {
    begin_kernel();
    u32 m = blockIdx.x * BLOCK + threadIdx.x;
    if (m >= args.splats.count) return;
    Touched at = touched(args.splats, args.tiles, m);
    args.tiles_per_gauss[m] = (at.right - at.left) * (at.bottom - at.top);
}

extern "C" __global__ void __launch_bounds__(BLOCK)
    fill_pairs(const __grid_constant__ FillPairsParams args) {
    begin_kernel();
    u32 m = blockIdx.x * BLOCK + threadIdx.x;
    if (m >= args.splats.count) return;
    Touched at = touched(args.splats, args.tiles, m);
    u64 image = args.image_ids ? (u64)args.image_ids[m] : m / args.per_image;
    u64 id = image << (32 + args.tiles.tile_bits) | args.depths[m];
    u64 place = m > 0 ? (u64)args.ends[m - 1] : 0;
    for (u32 row = at.top; row < at.bottom; ++row)
        for (u32 column = at.left; column < at.right && place < args.pairs; ++column, ++place) {
            args.isect_ids[place] = id | (u64)(row * args.tiles.width + column) << 32;
            args.flatten_ids[place] = m;
        }
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
