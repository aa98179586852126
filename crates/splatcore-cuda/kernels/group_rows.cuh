// Rows of groups of GROUP x GROUP tiles that a splat touches, for lists.cu and the counting in project.cu: of two rows of
// tiles (footprint.cuh) the groups from the first to the last tile of both.

#define GROUP 2

// A row of groups of one splat: its tiles in both rows of tiles.
struct Row {
    uint2 upper, lower;
    u32 row;
};

__device__ __forceinline__ Row make_row(const Footprint& footprint, uint2 tile_rows, u32 row, const Camera& camera) {
    Row r = {make_uint2(0, 0), make_uint2(0, 0), row};
    u32 upper = row * GROUP, lower = upper + 1;
    if (upper >= tile_rows.x && upper < tile_rows.y) r.upper = footprint_row(footprint, upper, camera);
    if (lower >= tile_rows.x && lower < tile_rows.y) r.lower = footprint_row(footprint, lower, camera);
    // An empty row is where the other one is.
    if (r.upper.x >= r.upper.y) r.upper = make_uint2(r.lower.x, r.lower.x);
    if (r.lower.x >= r.lower.y) r.lower = make_uint2(r.upper.x, r.upper.x);
    return r;
}

// The groups of a row, first and one past the last.
__device__ __forceinline__ uint2 groups_of(const Row& r) {
    u32 begin = min(r.upper.x, r.lower.x), end = max(r.upper.y, r.lower.y);
    return begin < end ? make_uint2(begin / GROUP, (end + GROUP - 1) / GROUP) : make_uint2(0, 0);
}

// Rows of groups, first and one past the last.
__device__ __forceinline__ uint2 group_rows(uint2 tile_rows) {
    return tile_rows.x < tile_rows.y ? make_uint2(tile_rows.x / GROUP, (tile_rows.y + GROUP - 1) / GROUP) : make_uint2(0, 0);
}

// What `project` tells lists.cu of a splat, so that its rows need not be found twice. Most splats touch tiles of 2x2 groups only: of
// those (the number of the upper left group, the tiles in all four), of others (pairs, 0). Bit 4 g + t is tile t of group g, both
// row by row.
typedef uint2 Reach;
#define NEAR 2              // groups along a side
#define BEYOND 0x80000000u  // in place of tiles: some lie elsewhere

// The tiles of a row of groups, `row` rows below the splat's first, as bits of a Reach whose first column of groups is `column`;
// or BEYOND.
__device__ __forceinline__ u32 near_tiles(const Row& r, u32 row, u32 column) {
    u32 first = column * GROUP, begin = min(r.upper.x, r.lower.x), end = max(r.upper.y, r.lower.y);
    if (row >= NEAR || begin < first || end > first + NEAR * GROUP) return BEYOND;
    u32 upper = (1u << (r.upper.y - first)) - (1u << (r.upper.x - first));
    u32 lower = (1u << (r.lower.y - first)) - (1u << (r.lower.x - first));
    // Two columns of four to each group.
    u32 both = upper | lower << 8, groups = (both & 0x0303u) | (both & 0x0c0cu) << 2;
    return ((groups & 0xffu) | groups >> 6) << (4 * NEAR * row);
}

// Pairs of a Reach with tiles: its groups that have some.
__device__ __forceinline__ u32 near_pairs(u32 tiles) {
    u32 twos = tiles | tiles >> 1;
    return __popc((twos | twos >> 2) & 0x1111u);
}
