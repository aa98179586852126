// Which tiles a splat touches, for every `intersect` method: the rows of tiles, and in each row one interval, since
// every method's shape is convex. CPU twin: splatcore-cpu/src/intersect.rs.
//
// INTERSECT: 0 `aabb`, INRIA's 3-sigma square (Kerbl et al. 2023); 6 `exact`, the ellipse alpha = 1/255 against the tiles'
// rectangles of pixel centres (FlashGS, Feng et al. 2024).

#define INTERSECT_AABB 0
#define INTERSECT_EXACT 6

struct Footprint {
    float mean_x, mean_y;
#if INTERSECT == INTERSECT_AABB
    float radius;
#else
    Ellipse ellipse;
#endif
};

__device__ __forceinline__ Footprint make_footprint(const Splat& s) {
    Footprint f;
    f.mean_x = s.mean_x;
    f.mean_y = s.mean_y;
#if INTERSECT == INTERSECT_AABB
    f.radius = s.radius;
#else
    f.ellipse = make_ellipse(s.a, s.b, s.c, s.log2_opacity);
#endif
    return f;
}

// The rows of tiles, first and one past the last.
__device__ __forceinline__ uint2 footprint_rows(const Footprint& f, const Camera& camera) {
#if INTERSECT == INTERSECT_AABB
    return square_span(f.mean_y, f.radius, camera.tiles_y);
#else
    float half_height = f.ellipse.half_height;
    return tile_span(__fadd_rn(f.mean_y, -half_height), __fadd_rn(f.mean_y, half_height), camera.tiles_y);
#endif
}

// The tiles of one of these rows, first and one past the last.
__device__ __forceinline__ uint2 footprint_row(const Footprint& f, u32 row, const Camera& camera) {
#if INTERSECT == INTERSECT_AABB
    return square_span(f.mean_x, f.radius, camera.tiles_x);
#else
    return ellipse_row(f.ellipse, f.mean_x, f.mean_y, row, camera.tiles_x);
#endif
}

// Number of (tile, splat) pairs.
__device__ __forceinline__ u32 count_tiles(const Footprint& f, const Camera& camera) {
    uint2 rows = footprint_rows(f, camera);
    u32 count = 0;
    for (u32 row = rows.x; row < rows.y; ++row) {
        uint2 span = footprint_row(f, row, camera);
        count += span.y - span.x;
    }
    return count;
}
