// blend, method `gscore`: culls by tile, then by the 3-sigma box on sub-tiles of 8x8 pixels.
//
// Contract. As blend_scalar.cu, with the same inputs, outputs and shapes, for fewer fragments. A
// bitmap says for each splat of the tile's list which of the four sub-tiles its 3-sigma box along
// the ellipse's axes touches; the pixels of a sub-tile skip the others (GSCore, Lee et al. 2024,
// subtile skipping). Fragments beyond 3 sigma of either axis are lost where the box ends.
// docs/methods/gscore.md. Twin: splatcore-reference/src/twin/blend.rs, `sub_tile`.
//   COUNT 1 counts fragments and writes no image.
//
// Launch. A block of 256 threads (8 warps) a tile; a warp has 8x4 pixels, half a sub-tile. The list
// passes through 12 KB of shared memory, 256 splats at a time.
//
// Bound. Instructions. A thread tests one splat against four sub-tiles for the whole block; a warp
// then walks the bits of its sub-tile.
//
// Now. 412 us for fox_220k at 1080x1920 on an H200, behind `obb`.

#include "blend.cuh"
#include "oriented_box.cuh"
#include "subtile.cuh"

#define SUB_TILE 8                        // pixels a side
#define SIDE (TILE / SUB_TILE)            // sub-tiles of a tile, one axis
#define SUB_TILES (SIDE * SIDE)           // of a tile
#define WARP_ROWS (SUB_TILE / SUBTILE_Y)  // rows of warps in a sub-tile

// Bit i: the splat's box touches sub-tile i of the tile with the corner (x0, y0). A sub-tile's
// rectangle goes from edge to edge, as that of a tile with `obb`.
__device__ __forceinline__ u32 sub_tile_bitmap(float4 mean2d, float4 conic, float x0, float y0) {
    OrientedBox box = make_oriented_box(conic.x, conic.y, conic.z, conic.w);
    u32 bitmap = 0;
#pragma unroll
    for (u32 row = 0; row < SIDE; ++row) {
        float top = y0 + row * SUB_TILE - mean2d.y;
        float2 band =
            make_float2(fmaxf(top, -box.half_height), fminf(top + SUB_TILE, box.half_height));
        if (!(band.x <= band.y)) continue;
        float2 ends = box_ends(box, band);
#pragma unroll
        for (u32 column = 0; column < SIDE; ++column) {
            float left = x0 + column * SUB_TILE - mean2d.x;
            if (ends.x <= left + SUB_TILE && ends.y >= left) bitmap |= 1u << (row * SIDE + column);
        }
    }
    return bitmap;
}

extern "C" __global__ void __launch_bounds__(BLOCK)
    blend(const __grid_constant__ BlendParams args) {
    begin_kernel();
    __shared__ Batch batch;
    __shared__ u32 touched[SUB_TILES][BLOCK / WARP];  // bit k of word w: splat 32 w + k
    if (args.counters->overflowed) return;
    u32 thread = threadIdx.x, lane = thread % WARP, warp = thread / WARP;
    u32 tile = blockIdx.x;
    u32 tile_x = tile % args.camera.tiles_x * TILE, tile_y = tile / args.camera.tiles_x * TILE;
    u32 x = tile_x + warp % SIDE * SUBTILE_X + lane % SUBTILE_X,
        y = tile_y + warp / SIDE * SUBTILE_Y + lane / SUBTILE_X;
    u32 sub_tile = warp / (SIDE * WARP_ROWS) * SIDE + warp % SIDE;
    bool inside = x < args.camera.width && y < args.camera.height;
    uint2 range = list_range(args.ranges, tile);
    float transmittance = 1.0f, red = 0.0f, green = 0.0f, blue = 0.0f;
    bool done = !inside;
    u32 evaluated = 0, blended = 0;
    for (u32 start = range.x; start < range.y; start += BLOCK) {
        // This barrier also keeps the next batch from overwriting this one.
        if (__syncthreads_and(done)) break;
        load_batch(batch, args, start, range.y);
        // A thread tests the splat that it has loaded.
        u32 bitmap = 0;
        if (start + thread < range.y)
            bitmap = sub_tile_bitmap(batch.means[thread], batch.conics[thread], tile_x, tile_y);
#pragma unroll
        for (u32 i = 0; i < SUB_TILES; ++i) {
            u32 word = __ballot_sync(FULL_MASK, bitmap >> i & 1);
            if (lane == i) touched[i][warp] = word;
        }
        __syncthreads();
        for (u32 word = 0; word < BLOCK / WARP; ++word) {
            for (u32 left = done ? 0 : touched[sub_tile][word]; left; left &= left - 1) {
                u32 k = WARP * word + __ffs(left) - 1;
                float raw =
                    exp2_approx(log2_alpha(batch.means[k], batch.conics[k], x + 0.5f, y + 0.5f));
                ++evaluated;
                // This drops NaN, which the minimum below would turn into the cap.
                if (!(raw >= ALPHA_MIN)) continue;
                float alpha = fminf(raw, args.camera.alpha_max);
                float next = fmaf(-alpha, transmittance, transmittance);
                if (next < TRANSMITTANCE_MIN) {
                    done = true;
                    break;
                }
                ++blended;
                float weight = alpha * transmittance;
                float4 colour = batch.colours[k];
                red = fmaf(weight, colour.x, red);
                green = fmaf(weight, colour.y, green);
                blue = fmaf(weight, colour.z, blue);
                transmittance = next;
            }
        }
    }
#if COUNT
    add_fragments(args.counters, evaluated, blended, lane);
#else
    if (inside) {
        u32 at = y * args.camera.width + x;
        write_pixel(args, at, transmittance, red, green, blue);
    }
#endif
}
