// Which tiles a splat touches, tile row by tile row: for the kernels of tile_pairs.cu.
//
// A splat counts at a pixel if sigma(dx, dy) = (a dx^2 + c dy^2) / 2 + b dx dy is below the limit
// of its opacity: inside an ellipse. What an ellipse and the band of a row's pixel centres have in
// common is convex, so that the splat touches an interval of the row's tiles, from the leftmost
// to the rightmost point. Both are found in closed form, for an ellipse that is slightly larger
// and for one that is slightly smaller. Tiles between the two, about one in 10^4, are decided by
// `may_count` (rasterizer.cuh). The interval is thus the shortest one that holds all tiles for
// which `may_count` is true.

#pragma once
#include "drawn.cuh"
#include "rasterizer.cuh"

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

// A splat's box of tiles and the ellipse that decides which of them it touches.
struct Box {
    u32 left, right, top, rows;  // tiles, `right` excluded
    u32 is_whole;                // all tiles of the box: there is no ellipse
    float x, y, a, b, c, limit;  // mean, conic, sigma's limit
    // The ellipse ends at x = slope y +- sqrt(reach - fall y^2), relative to the mean, with `outer`
    // or `inner` for reach; it is rightmost at y = tip and leftmost at y = -tip.
    float slope, fall, outer, inner, tip;
    float margin;  // pixels, for the rounding of these
};

// Columns of tiles, the last excluded.
struct Columns {
    u32 first, end;
};

__device__ __forceinline__ float clamp(float value, float low, float high) {
    return fminf(fmaxf(value, low), high);
}

__device__ __forceinline__ u32 edge(float at, u32 count) {
    // Also 0 for what is not a number.
    return min((u32)clamp(at, 0.0f, (float)count), count);
}

// The tiles that the mean +- radii overlap; all 0 for none.
__device__ __forceinline__ Box touched(const PairSplats& splats, const TileGrid& tiles, u64 m) {
    Box box = {};
    float radius_x = (float)splats.radii[2 * m], radius_y = (float)splats.radii[2 * m + 1];
    float x = splats.means2d[2 * m], y = splats.means2d[2 * m + 1], size = (float)tiles.size;
    // x - x is 0 for finite numbers alone.
    if (!(radius_x > 0.0f && radius_y > 0.0f && x - x == 0.0f && y - y == 0.0f)) return box;
    box.x = x, box.y = y;
    x /= size, y /= size, radius_x /= size, radius_y /= size;
    box.left = edge(floorf(x - radius_x), tiles.width);
    box.right = edge(ceilf(x + radius_x), tiles.width);
    box.top = edge(floorf(y - radius_y), tiles.height);
    box.rows = edge(ceilf(y + radius_y), tiles.height) - box.top;
    if (box.left == box.right || box.rows == 0) return {};
    return box;
}

// a c - b^2 within 2 units in the last place, also if it is far smaller than a c (Kahan).
__device__ __forceinline__ float determinant(float a, float b, float c) {
    float square = __fmul_rn(b, b), error = fmaf(-b, b, square);
    return __fadd_rn(fmaf(a, c, -square), error);
}

// Sets the ellipses of a box whose conic and limit are set.
__device__ __forceinline__ void set_ellipses(Box& box, const TileGrid& tiles) {
    float a = box.a, b = box.b, c = box.c;
    // Where `may_count` is true whatever the tile.
    box.is_whole = !(a > 0.0f && c > 0.0f && a * c > b * b) || box.limit != box.limit;
    if (box.is_whole) return;
    // The most that `may_count` allows at a tile of the box, and as much for rounding.
    float far_x = fmaxf(box.x - 0.5f - (float)(box.left * tiles.size),
                        (float)(box.right * tiles.size) - 0.5f - box.x),
          far_y = fmaxf(box.y - 0.5f - (float)(box.top * tiles.size),
                        (float)((box.top + box.rows) * tiles.size) - 0.5f - box.y);
    float terms = fmaf(a * far_x, far_x, c * far_y * far_y), most = fmaf(2e-6f, terms, box.limit);
    if (most < 0.0f) {
        box.rows = 0;
        return;
    }
    // Sizes at which a float overflows below: `may_count` decides.
    if (!(fminf(a, c) > 1e-12f && fmaxf(a, c) < 1e12f)) {
        box.outer = 1e30f;
        box.inner = -1.0f;
        return;
    }
    most *= 1.0f + 1e-5f;
    float det = determinant(a, b, c), inverse = reciprocal_approx(a);
    float extent = sqrt_approx(__fdividef(2.0f * most * c, det));
    box.slope = -b * inverse;
    box.fall = det * inverse * inverse;
    box.outer = 2.0f * most * inverse;
    box.inner = box.limit > 0.0f ? 2.0f * (1.0f - 1e-5f) * box.limit * inverse : -1.0f;
    box.tip = __fdividef(-b * extent, c);
    box.margin = fmaf(2e-6f, fabsf(box.x) + extent, 1e-3f);
}

__device__ __forceinline__ Box box_of(const PairSplats& splats, const TileGrid& tiles, u64 m) {
    Box box = touched(splats, tiles, m);
    box.is_whole = !splats.conics;
    if (box.rows == 0 || box.is_whole) return box;
    u64 of = m;
    if (splats.cameras > 0)
        of = m / ((u64)splats.per_image * splats.cameras) * splats.per_image + m % splats.per_image;
    // As torch multiplies, so that all kernels decide by the same number.
    float opacity = splats.opacities[of];
    if (splats.factors) opacity = __fmul_rn(opacity, splats.factors[m]);
    box.a = splats.conics[3 * m];
    box.b = splats.conics[3 * m + 1];
    box.c = splats.conics[3 * m + 2];
    box.limit = sigma_limit(opacity);
    set_ellipses(box, tiles);
    return box;
}

// Whether the splat may count in a tile of its box.
__device__ __forceinline__ bool may_count_in(const Box& box, const TileGrid& tiles, float column,
                                             float top) {
    float last = (float)(tiles.size - 1), left = (float)((u32)column * tiles.size) + 0.5f - box.x;
    return may_count({left, left + last, top, top + last}, box.a, box.b, box.c, box.limit);
}

// The tiles of a row of its box that a splat touches.
__device__ __forceinline__ Columns columns_of(const Box& box, const TileGrid& tiles, u32 row) {
    if (box.is_whole) return {box.left, box.right};
    const Columns none = {box.left, box.left};
    float top = (float)(row * tiles.size) + 0.5f - box.y, bottom = top + (float)(tiles.size - 1);
    float nearest = clamp(0.0f, top, bottom);
    if (fmaf(-box.fall, nearest * nearest, box.outer) < 0.0f) return none;

    // Where the larger ellipse is leftmost and rightmost in the row, and as far out as the smaller
    // one surely reaches.
    float left_y = clamp(-box.tip, top, bottom), right_y = clamp(box.tip, top, bottom);
    float left_square = left_y * left_y, right_square = right_y * right_y;
    float left_rest = fmaf(-box.fall, left_square, box.inner),
          right_rest = fmaf(-box.fall, right_square, box.inner);
    float left = sqrt_approx(fmaxf(fmaf(-box.fall, left_square, box.outer), 0.0f)) + box.margin,
          right = sqrt_approx(fmaxf(fmaf(-box.fall, right_square, box.outer), 0.0f)) + box.margin,
          sure_left = sqrt_approx(fmaxf(left_rest, 0.0f)) - box.margin,
          sure_right = sqrt_approx(fmaxf(right_rest, 0.0f)) - box.margin;

    // A tile is reached from the left up to its last pixel centre, from the right to its first.
    float low = (float)box.left, high = (float)box.right,
          tiles_a_pixel = reciprocal_approx((float)tiles.size);
    float from_left = fmaf(box.slope, left_y, box.x) + 0.5f,
          from_right = fmaf(box.slope, right_y, box.x) - 0.5f;
    float first = clamp(ceilf((from_left - left) * tiles_a_pixel) - 1.0f, low, high),
          sure_first = clamp(ceilf((from_left - sure_left) * tiles_a_pixel) - 1.0f, low, high),
          // What is not a number reaches to the end.
        end = fmaxf(fminf(floorf((from_right + right) * tiles_a_pixel) + 1.0f, high), low),
          sure_end = clamp(floorf((from_right + sure_right) * tiles_a_pixel) + 1.0f, low, high);
    if (!(fminf(left_rest, right_rest) >= 0.0f && sure_first < sure_end)) {
        sure_first = end;
        sure_end = first;
    }
    while (first < fminf(sure_first, end) && !may_count_in(box, tiles, first, top)) first += 1.0f;
    while (end > fmaxf(sure_end, first) && !may_count_in(box, tiles, end - 1.0f, top)) end -= 1.0f;
    if (!(first < end)) return none;
    return {(u32)first, (u32)end};
}

// How many of a warp's ascending values, lane by lane, are at most k; WARP - 1 for all of them.
__device__ __forceinline__ u32 lane_beyond(u32 ascending, u32 k) {
    u32 low = 0;
#pragma unroll
    for (u32 step = WARP / 2; step > 0; step /= 2)
        if (__shfl_sync(FULL_MASK, ascending, low + step - 1) <= k) low += step;
    return low;
}

// A row of one of the boxes of a warp's lanes, in the order of the lanes.
struct RowOfWarp {
    u32 owner;   // lane
    u32 before;  // rows of the lanes before the owner
};

// Row k; `until` are the inclusive sums of the lanes' rows.
__device__ __forceinline__ RowOfWarp row_of_warp(u32 rows, u32 until, u32 k) {
    u32 owner = lane_beyond(until, k);
    return {owner, __shfl_sync(FULL_MASK, until - rows, owner)};
}
