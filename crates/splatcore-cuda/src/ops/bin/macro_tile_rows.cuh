// Rows of macro-tiles of MACRO_TILE_SIDE x MACRO_TILE_SIDE tiles that a splat touches, for bin.cuh.
// In MACRO_TILE_SIDE rows of tiles (footprint.cuh) the splat touches the macro-tiles from the first
// to the last tile of all rows. The code calls a macro-tile a macro-tile.
//
//   MACRO_TILE_SIDE, 2 or 4.

#pragma once
#include "footprint.cuh"

#define MACRO_TILE_TILES (MACRO_TILE_SIDE * MACRO_TILE_SIDE)
#define ALL_TILES ((1u << MACRO_TILE_TILES) - 1)

// A row of macro-tiles of one splat: the touched tiles in each row of tiles, first and one past
// the last.
struct Row {
    uint2 spans[MACRO_TILE_SIDE];
    u32 row;
};

__device__ __forceinline__ Row make_row(const Footprint& footprint, uint2 tile_rows, u32 row,
                                        const Camera& camera) {
    Row r;
    r.row = row;
#pragma unroll
    for (u32 k = 0; k < MACRO_TILE_SIDE; ++k) {
        u32 tile_row = row * MACRO_TILE_SIDE + k;
        r.spans[k] = make_uint2(0, 0);
        if (tile_row >= tile_rows.x && tile_row < tile_rows.y)
            r.spans[k] = footprint_row(footprint, tile_row, camera);
    }
    return r;
}

// The tiles of a row of macro-tiles, from the first to one past the last of all its rows of tiles;
// (0, 0) if there are none.
__device__ __forceinline__ uint2 tiles_of(const Row& r) {
    u32 begin = 0xffffffffu, end = 0;
#pragma unroll
    for (u32 k = 0; k < MACRO_TILE_SIDE; ++k) {
        if (r.spans[k].x >= r.spans[k].y) continue;
        begin = min(begin, r.spans[k].x);
        end = max(end, r.spans[k].y);
    }
    return begin < end ? make_uint2(begin, end) : make_uint2(0, 0);
}

// The macro-tiles of a row, first and one past the last.
__device__ __forceinline__ uint2 macro_tiles_of(const Row& r) {
    uint2 tiles = tiles_of(r);
    return make_uint2(tiles.x / MACRO_TILE_SIDE, (tiles.y + MACRO_TILE_SIDE - 1) / MACRO_TILE_SIDE);
}

// The rows of macro-tiles of these rows of tiles, first and one past the last.
__device__ __forceinline__ uint2 macro_tile_rows(uint2 tile_rows) {
    return tile_rows.x < tile_rows.y
               ? make_uint2(tile_rows.x / MACRO_TILE_SIDE,
                            (tile_rows.y + MACRO_TILE_SIDE - 1) / MACRO_TILE_SIDE)
               : make_uint2(0, 0);
}

// The touched tiles of the macro-tile in column `column` of a row, as bits, row by row.
__device__ __forceinline__ u32 mask_of(const Row& r, u32 column) {
    u32 mask = 0, first = column * MACRO_TILE_SIDE;
#pragma unroll
    for (u32 k = 0; k < MACRO_TILE_SIDE; ++k) {
        u32 begin = min(max(r.spans[k].x, first), first + MACRO_TILE_SIDE) - first,
            end = min(max(r.spans[k].y, first), first + MACRO_TILE_SIDE) - first;
        mask |= ((1u << max(begin, end)) - (1u << begin)) << (MACRO_TILE_SIDE * k);
    }
    return mask;
}

// The number in the image of tile `k` of a macro-tile, row by row, or NO_TILE beyond the image's
// edges.
#define NO_TILE 0xffffffffu
__device__ __forceinline__ u32 tile_of_macro_tile(u32 macro_tile, u32 k, const Camera& camera) {
    u32 macro_tiles_x = (camera.tiles_x + MACRO_TILE_SIDE - 1) / MACRO_TILE_SIDE,
        row = macro_tile / macro_tiles_x;
    u32 x = (macro_tile - row * macro_tiles_x) * MACRO_TILE_SIDE + k % MACRO_TILE_SIDE,
        y = row * MACRO_TILE_SIDE + k / MACRO_TILE_SIDE;
    return x < camera.tiles_x && y < camera.tiles_y ? y * camera.tiles_x + x : NO_TILE;
}

// A lane's counts of tiles, in bytes, for at most 255 masks.
struct TileCounts {
    u32 words[MACRO_TILE_TILES / 4] = {};
    __device__ __forceinline__ void add(u32 mask) {
#pragma unroll
        for (u32 w = 0; w < MACRO_TILE_TILES / 4; ++w)
            words[w] += (mask >> (4 * w) & 15) * 0x00204081u & 0x01010101u;
    }
    // The sums over the warp, that of tile k in lane k; resets the counts.
    __device__ __forceinline__ u32 take_sum(u32 lane) {
        u32 sum = 0;
#pragma unroll
        for (u32 w = 0; w < MACRO_TILE_TILES / 4; ++w) {
            u32 even = words[w] & 0x00ff00ffu, odd = words[w] >> 8 & 0x00ff00ffu;
            for (u32 offset = 16; offset > 0; offset /= 2) {
                even += __shfl_xor_sync(FULL_MASK, even, offset);
                odd += __shfl_xor_sync(FULL_MASK, odd, offset);
            }
            if (lane / 4 == w) sum = (lane % 2 ? odd : even) >> (lane & 2 ? 16 : 0) & 0xffffu;
            words[w] = 0;
        }
        return sum;
    }
};

// Most splats touch tiles of 2x2 macro-tiles only (SMALL_SIDE). Tile t of macro-tile g, both row
// by row, is bit MACRO_TILE_TILES g + t, the upper macro-tiles in one word and the lower ones in
// another.
#define SMALL_SIDE 2  // macro-tiles along a side

// The touched tiles of two macro-tiles of a row, as bits; the first is in column `column`. `fits`:
// the row touches no others.
__device__ __forceinline__ u32 covered_tiles(const Row& r, u32 column, bool& fits) {
    uint2 tiles = tiles_of(r);
    fits =
        tiles.x >= column * MACRO_TILE_SIDE && tiles.y <= (column + SMALL_SIDE) * MACRO_TILE_SIDE;
    return mask_of(r, column) | mask_of(r, column + 1) << MACRO_TILE_TILES;
}
