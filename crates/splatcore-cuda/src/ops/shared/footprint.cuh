// Which tiles a splat touches, for every `intersect` method: its rows of tiles, and one interval
// in each row, as every method's shape is convex. For project.cu, intersect.cu,
// intersect_macro_tiles.cu and macro_tile_rows.cuh. docs/methods/intersect.md. Twin:
// splatcore-cpu/src/footprint.rs.
//
// INTERSECT; "lossless": every pair that has a fragment with alpha >= 1/255 is there.
//   0 aabb: INRIA's 3-sigma square (Kerbl et al. 2023). Cuts fragments beyond 3 sigma, and up to a
//   pixel at the right and the bottom by its rounding.
//   1 adaptive-radius: AdR-Gaussian (Wang et al. 2024, equation 10): the box of half sides sqrt(2
//   ln(255 o) Sigma_xx) and _yy, within INRIA's square. Cuts what aabb cuts.
//   2 snugbox: Speedy-Splat (Hanson et al. 2024, equations 11 to 16): the box of the ellipse alpha
//   = 1/255. Lossless.
//   3 accutile: Speedy-Splat's tile walk: the tiles that the ellipse touches. Lossless.
//   4 obb: GSCore (Lee et al. 2024): the square's tiles that the 3-sigma box along the ellipse's
//   axes touches. Cuts what aabb cuts, and fragments beyond 3 sigma of either axis.
//   5 tile-cull: StopThePop (Radl et al. 2024): tiles of the ellipse's box whose largest alpha
//   over the pixel centres' rectangle reaches 1/255. Lossless.
//   6 exact: FlashGS (Feng et al. 2024): the ellipse against the pixel centres' rectangle.
//   Lossless.
// A tile's rectangle is [16 i, 16 i + 16] for snugbox, accutile and obb, as their papers have it,
// and that of its pixel centres, [16 i + 0.5, 16 i + 15.5], for tile-cull and exact.
//
// Cost in instructions: 20 (boxes) to 60 a splat; a row 15 (boxes), 40 (obb), 50 (ellipses).
// History: docs/log/kernels/intersect.md.

#pragma once
#include "oriented_box.cuh"
#include "splat.cuh"

// The values of INTERSECT, as `footprint` of ops/intersect/mod.rs gives them.
#define INTERSECT_AABB 0
#define INTERSECT_ADAPTIVE_RADIUS 1
#define INTERSECT_SNUGBOX 2
#define INTERSECT_ACCUTILE 3
#define INTERSECT_OBB 4
#define INTERSECT_TILE_CULL 5
#define INTERSECT_EXACT 6

// Methods that need INRIA's square.
#define READS_RADIUS                                                          \
    (INTERSECT == INTERSECT_AABB || INTERSECT == INTERSECT_ADAPTIVE_RADIUS || \
     INTERSECT == INTERSECT_OBB)

// A tile's rectangle along one axis, relative to the tile's first edge: from the first to the last
// pixel centre, or from edge to edge.
#if INTERSECT == INTERSECT_EXACT || INTERSECT == INTERSECT_TILE_CULL
#define TILE_LOW 0.5f
#define TILE_HIGH (TILE - 0.5f)
#else
#define TILE_LOW 0.0f
#define TILE_HIGH ((float)TILE)
#endif

// Sums and products below are written so that the compiler cannot contract them differently in two
// kernels: all kernels must find the same tiles.

// The tiles (first, one past the last) whose rectangles touch [low, high].
__device__ __forceinline__ uint2 tile_span(float low, float high, u32 tiles) {
    float first = ceilf(__fmul_rn(__fadd_rn(low, -TILE_HIGH), 1.0f / TILE));
    float last = floorf(__fmul_rn(__fadd_rn(high, -TILE_LOW), 1.0f / TILE));
    u32 end = last < 0.0f ? 0u : min((u32)fminf(last, 1e9f) + 1u, tiles);
    u32 begin = first > 0.0f ? (u32)fminf(first, 1e9f) : 0u;
    return make_uint2(min(begin, end), end);
}

// INRIA's getRect: the tiles that the square of half side `radius` touches, one axis.
__device__ __forceinline__ uint2 square_span(float mean, float radius, u32 tiles) {
    float low = fmaxf(__fmul_rn(__fadd_rn(__fadd_rn(mean, -0.5f), -radius), 1.0f / TILE), 0.0f);
    float high = fmaxf(
        __fmul_rn(__fadd_rn(__fadd_rn(__fadd_rn(mean, -0.5f), radius), TILE - 1.0f), 1.0f / TILE),
        0.0f);
    u32 end = min((u32)fminf(high, 1e9f), tiles);
    return make_uint2(min((u32)fminf(low, 1e9f), end), end);
}

// The tiles of both spans.
__device__ __forceinline__ uint2 common_span(uint2 a, uint2 b) {
    u32 begin = max(a.x, b.x);
    return make_uint2(begin, max(begin, min(a.y, b.y)));
}

// The part of a row of tiles that a shape of this half height reaches, relative to its centre:
// (low, high).
__device__ __forceinline__ float2 row_band(u32 row, float mean_y, float half_height) {
    float low = __fadd_rn((float)(row * TILE) + TILE_LOW, -mean_y);
    return make_float2(fmaxf(low, -half_height),
                       fminf(__fadd_rn(low, TILE_HIGH - TILE_LOW), half_height));
}

// The tiles of row `row` that the ellipse around a mean touches. Its right end is concave in dy:
// largest at the rightmost point, or where the band comes nearest to it; the left end mirrors it.
__device__ __forceinline__ uint2 ellipse_row(const Ellipse& e, float mean_x, float mean_y, u32 row,
                                             u32 tiles_x) {
    float2 band = row_band(row, mean_y, e.half_height);
    if (!(band.x <= band.y)) return make_uint2(0, 0);
    float dy_right = fminf(fmaxf(e.rightmost, band.x), band.y);
    float dy_left = fminf(fmaxf(-e.rightmost, band.x), band.y);
    float right = fmaf(e.slope, dy_right, half_chord(e, dy_right));
    float left = fmaf(e.slope, dy_left, -half_chord(e, dy_left));
    return tile_span(__fadd_rn(mean_x, left), __fadd_rn(mean_x, right), tiles_x);
}

#if INTERSECT == INTERSECT_AABB

struct Footprint {
    float mean_x, mean_y, radius;
};

__device__ __forceinline__ Footprint make_footprint(const Splat& s) {
    return {s.mean_x, s.mean_y, s.radius};
}

__device__ __forceinline__ uint2 footprint_rows(const Footprint& f, const Camera& camera) {
    return square_span(f.mean_y, f.radius, camera.tiles_y);
}

__device__ __forceinline__ uint2 footprint_row(const Footprint& f, u32 row, const Camera& camera) {
    return square_span(f.mean_x, f.radius, camera.tiles_x);
}

#elif INTERSECT == INTERSECT_ADAPTIVE_RADIUS || INTERSECT == INTERSECT_SNUGBOX

struct Footprint {
    float mean_x, mean_y, radius, half_width, half_height;
};

__device__ __forceinline__ Footprint make_footprint(const Splat& s) {
    return {s.mean_x, s.mean_y, s.radius, make_ellipse(s.c, s.b, s.a, s.log2_opacity).half_height,
            make_ellipse(s.a, s.b, s.c, s.log2_opacity).half_height};
}

__device__ __forceinline__ uint2 box_span(float mean, float half_side, float radius, u32 tiles) {
    uint2 box = tile_span(__fadd_rn(mean, -half_side), __fadd_rn(mean, half_side), tiles);
#if INTERSECT == INTERSECT_ADAPTIVE_RADIUS
    box = common_span(box, square_span(mean, radius, tiles));
#endif
    return box;
}

__device__ __forceinline__ uint2 footprint_rows(const Footprint& f, const Camera& camera) {
    return box_span(f.mean_y, f.half_height, f.radius, camera.tiles_y);
}

__device__ __forceinline__ uint2 footprint_row(const Footprint& f, u32 row, const Camera& camera) {
    return box_span(f.mean_x, f.half_width, f.radius, camera.tiles_x);
}

#elif INTERSECT == INTERSECT_ACCUTILE

struct Footprint {
    float mean_x, mean_y, half_width;
    Ellipse ellipse;
};

__device__ __forceinline__ Footprint make_footprint(const Splat& s) {
    return {s.mean_x, s.mean_y, make_ellipse(s.c, s.b, s.a, s.log2_opacity).half_height,
            make_ellipse(s.a, s.b, s.c, s.log2_opacity)};
}

__device__ __forceinline__ uint2 footprint_rows(const Footprint& f, const Camera& camera) {
    float half_height = f.ellipse.half_height;
    return tile_span(__fadd_rn(f.mean_y, -half_height), __fadd_rn(f.mean_y, half_height),
                     camera.tiles_y);
}

// As in the paper, the walk stays inside the SnugBox.
__device__ __forceinline__ uint2 footprint_row(const Footprint& f, u32 row, const Camera& camera) {
    uint2 box = tile_span(__fadd_rn(f.mean_x, -f.half_width), __fadd_rn(f.mean_x, f.half_width),
                          camera.tiles_x);
    return common_span(ellipse_row(f.ellipse, f.mean_x, f.mean_y, row, camera.tiles_x), box);
}

#elif INTERSECT == INTERSECT_OBB

struct Footprint {
    float mean_x, mean_y, radius;
    OrientedBox box;
};

__device__ __forceinline__ Footprint make_footprint(const Splat& s) {
    return {s.mean_x, s.mean_y, s.radius, make_oriented_box(s.a, s.b, s.c, s.radius)};
}

__device__ __forceinline__ uint2 footprint_rows(const Footprint& f, const Camera& camera) {
    uint2 box = tile_span(__fadd_rn(f.mean_y, -f.box.half_height),
                          __fadd_rn(f.mean_y, f.box.half_height), camera.tiles_y);
    return common_span(box, square_span(f.mean_y, f.radius, camera.tiles_y));
}

__device__ __forceinline__ uint2 footprint_row(const Footprint& f, u32 row, const Camera& camera) {
    float2 band = row_band(row, f.mean_y, f.box.half_height);
    if (!(band.x <= band.y)) return make_uint2(0, 0);
    float2 ends = box_ends(f.box, band);
    uint2 box = tile_span(__fadd_rn(f.mean_x, ends.x), __fadd_rn(f.mean_x, ends.y), camera.tiles_x);
    return common_span(box, square_span(f.mean_x, f.radius, camera.tiles_x));
}

#elif INTERSECT == INTERSECT_TILE_CULL

struct Footprint {
    float mean_x, mean_y, half_width;
    Ellipse ellipse;
    float turn;  // dy of the largest alpha on a vertical line, over the line's dx
};

__device__ __forceinline__ Footprint make_footprint(const Splat& s) {
    Ellipse e = make_ellipse(s.a, s.b, s.c, s.log2_opacity);
    float turn = __fmul_rn(e.slope, __frcp_rn(fmaf(e.slope, e.slope, e.curve)));
    return {s.mean_x, s.mean_y, make_ellipse(s.c, s.b, s.a, s.log2_opacity).half_height, e, turn};
}

__device__ __forceinline__ uint2 footprint_rows(const Footprint& f, const Camera& camera) {
    float half_height = f.ellipse.half_height;
    return tile_span(__fadd_rn(f.mean_y, -half_height), __fadd_rn(f.mean_y, half_height),
                     camera.tiles_y);
}

// How far log2 alpha has fallen at d, over -a.
__device__ __forceinline__ float fall_at(const Ellipse& e, float dx, float dy) {
    float along = fmaf(-e.slope, dy, dx);
    return fmaf(__fmul_rn(e.curve, dy), dy, __fmul_rn(along, along));
}

// Whether alpha reaches 1/255 in a rectangle, given relative to the mean. Alpha is largest at the
// mean or, seen from there, on the nearer vertical or the nearer horizontal edge; the test
// compares the largest alpha on the two lines nearest to the mean.
__device__ __forceinline__ bool contributes(const Footprint& f, float left, float right, float top,
                                            float bottom) {
    float x = fminf(fmaxf(0.0f, left), right), y = fminf(fmaxf(0.0f, top), bottom);
    float vertical = fall_at(f.ellipse, x, fminf(fmaxf(__fmul_rn(f.turn, x), top), bottom));
    float horizontal =
        fall_at(f.ellipse, fminf(fmaxf(__fmul_rn(f.ellipse.slope, y), left), right), y);
    return fminf(vertical, horizontal) <= f.ellipse.square;
}

__device__ __forceinline__ uint2 footprint_row(const Footprint& f, u32 row, const Camera& camera) {
    uint2 span = tile_span(__fadd_rn(f.mean_x, -f.half_width), __fadd_rn(f.mean_x, f.half_width),
                           camera.tiles_x);
    float top = __fadd_rn((float)(row * TILE) + TILE_LOW, -f.mean_y),
          bottom = __fadd_rn(top, TILE_HIGH - TILE_LOW);
    auto tile_contributes = [&](u32 column) {
        float left = __fadd_rn((float)(column * TILE) + TILE_LOW, -f.mean_x);
        return contributes(f, left, __fadd_rn(left, TILE_HIGH - TILE_LOW), top, bottom);
    };
    while (span.x < span.y && !tile_contributes(span.x)) ++span.x;
    while (span.x < span.y && !tile_contributes(span.y - 1)) --span.y;
    return span;
}

#else

struct Footprint {
    float mean_x, mean_y;
    Ellipse ellipse;
};

__device__ __forceinline__ Footprint make_footprint(const Splat& s) {
    return {s.mean_x, s.mean_y, make_ellipse(s.a, s.b, s.c, s.log2_opacity)};
}

__device__ __forceinline__ uint2 footprint_rows(const Footprint& f, const Camera& camera) {
    float half_height = f.ellipse.half_height;
    return tile_span(__fadd_rn(f.mean_y, -half_height), __fadd_rn(f.mean_y, half_height),
                     camera.tiles_y);
}

__device__ __forceinline__ uint2 footprint_row(const Footprint& f, u32 row, const Camera& camera) {
    return ellipse_row(f.ellipse, f.mean_x, f.mean_y, row, camera.tiles_x);
}

#endif

// make_footprint(splat); footprint_rows(f, camera): the rows of tiles, first and one past the last;
// footprint_row(f, row, camera): the tiles of one of these rows, first and one past the last.
