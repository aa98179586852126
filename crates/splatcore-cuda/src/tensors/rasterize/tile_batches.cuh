// What the kernels of rasterize/ share: which tile and pixel a thread has, and the batches of
// splats that a block takes from its tile's list to shared memory.
//
// A block has a tile of tile_size x tile_size pixels, one thread a pixel, and threads without one
// up to a whole warp. Constants: BLOCK (most threads), BATCH (splats of a batch).

#pragma once
#include "rasterizer.cuh"

// Splats and the lists of tiles; in Rust by the same name. M splats, I images, D channels.
struct RasterScene {
    ReadOnly<float> means2d;     // [M][2], pixels
    ReadOnly<float> conics;      // [M][3]
    ReadOnly<float> opacities;   // [M]
    ReadOnly<u32> tile_offsets;  // [I][tile_height][tile_width], where a tile's list begins
    ReadOnly<u32> flatten_ids;   // [pairs], splats, tile by tile, front to back
    const u8* masks;             // [I][tile_height][tile_width] or null: tiles with 0 are empty
    u32 pairs;
    u32 images, width, height;
    u32 tile_size, tile_width, tile_height;
    float alpha_max;
};

// The tile of a block, and the pixel of a thread.
struct TilePixel {
    u32 image;
    u32 begin, end;  // the tile's list, places in flatten_ids
    bool is_inside;  // whether the thread has a pixel
    u64 pixel;       // its index in [I][height][width]
    float x, y;      // its centre
};

__device__ __forceinline__ TilePixel tile_pixel(const RasterScene& scene, u32 thread) {
    u32 tiles = scene.tile_width * scene.tile_height, block = blockIdx.x;
    u32 image = block / tiles, tile = block % tiles;
    TilePixel at;
    at.image = image;
    at.begin = scene.tile_offsets[block];
    at.end = block + 1 < scene.images * tiles ? scene.tile_offsets[block + 1] : scene.pairs;
    if (scene.masks && !scene.masks[block]) at.end = at.begin;
    u32 size = scene.tile_size;
    u32 column = thread % size, row = thread / size;
    if (size % 8 == 0) {  // 8x4 pixels a warp end at places of the list that lie closer together
        u32 lane = thread % WARP, warp = thread / WARP;
        column = warp % (size / 8) * 8 + lane % 8;
        row = warp / (size / 8) * 4 + lane / 8;
    }
    u32 x = tile % scene.tile_width * size + column, y = tile / scene.tile_width * size + row;
    at.is_inside = row < size && x < scene.width && y < scene.height;
    at.pixel = ((u64)image * scene.height + y) * scene.width + x;
    at.x = (float)x + 0.5f;
    at.y = (float)y + 0.5f;
    return at;
}

// A splat of a batch.
struct __align__(16) BatchSplat {
    float x, y, opacity;
    Exponent exponent;
    float limit;  // sigma_limit of the opacity, times LOG2E
    u32 id;
};

__device__ __forceinline__ BatchSplat batch_splat(const RasterScene& scene, u32 place) {
    u32 id = scene.flatten_ids[place];
    u64 i = id;
    float opacity = scene.opacities[i];
    return {scene.means2d[2 * i],
            scene.means2d[2 * i + 1],
            opacity,
            exponent_of(scene.conics[3 * i], scene.conics[3 * i + 1], scene.conics[3 * i + 2]),
            LOG2E * sigma_limit(opacity),
            id};
}

// The rectangle around the pixels of a warp, in the image; of lanes without a pixel, nothing.
__device__ __forceinline__ Rectangle warp_rectangle(const TilePixel& at) {
    const float none = 1e30f;
    Rectangle r = {at.is_inside ? at.x : none, at.is_inside ? at.x : -none,
                   at.is_inside ? at.y : none, at.is_inside ? at.y : -none};
    for (u32 offset = WARP / 2; offset > 0; offset /= 2) {
        r.left = fminf(r.left, __shfl_xor_sync(FULL_MASK, r.left, offset));
        r.right = fmaxf(r.right, __shfl_xor_sync(FULL_MASK, r.right, offset));
        r.top = fminf(r.top, __shfl_xor_sync(FULL_MASK, r.top, offset));
        r.bottom = fmaxf(r.bottom, __shfl_xor_sync(FULL_MASK, r.bottom, offset));
    }
    return r;
}

// The splats of a batch, of the `count` at `group`, at most 32, that may count at a pixel of the
// rectangle.
__device__ __forceinline__ u32 splats_at(const BatchSplat* group, u32 count, const Rectangle& r) {
    u32 lane = threadIdx.x % WARP;
    bool is_there = false;
    if (lane < count) {
        const BatchSplat splat = group[lane];
        Rectangle around = {r.left - splat.x, r.right - splat.x, r.top - splat.y,
                            r.bottom - splat.y};
        const Exponent& e = splat.exponent;
        // The conic and the limit, both times LOG2E.
        is_there = may_count(around, -2.0f * e.a, -e.b, -2.0f * e.c, splat.limit);
    }
    return __ballot_sync(FULL_MASK, is_there);
}

__device__ __forceinline__ Fragment fragment_of(const BatchSplat& splat, const TilePixel& at,
                                                float alpha_max, float least_alpha) {
    return fragment_of(splat.x - at.x, splat.y - at.y, splat.opacity, splat.exponent, alpha_max,
                       least_alpha);
}
