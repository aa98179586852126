// What blend_splatcore_training.cu and blend_backward_splatcore.cu take with TENSORS, for images of
// so many channels, D, in gsplat's layout: lists as in tile_batches.cuh, with tiles of TILE pixels,
// and splats as rows that make_splats.cu writes. M splats, I images.
//
// A fourth channel, which mostly is a depth, may have values that halves cannot hold: rows have it
// times a power of two, `channel_unit`.

#pragma once
#include "splat.cuh"

// The splats of each tile; in Rust by the same name.
struct TensorLists {
    const Splat* splats;         // [M]
    ReadOnly<u32> largest;       // [1], bits of the largest value of the fourth channel
    ReadOnly<u32> tile_offsets;  // [I][tiles_y][tiles_x], where a tile's list begins
    ReadOnly<u32> flatten_ids;   // [pairs], splats, tile by tile, front to back
    const u8* masks;             // [I][tiles_y][tiles_x] or null: tiles with 0 are empty
    u32 pairs, images;
    Camera camera;  // of which alpha_max and sizes are used
};

// Parameters of `blend`; in Rust by the same name.
struct BlendTensorsParams {
    TensorLists lists;
    const float* backgrounds;  // [I][D] or null
    float* render_colors;      // [I][height][width][D]
    float* render_alphas;      // [I][height][width], 1 - T
    float* planes;             // [I][D][height][width], the colours once more, or null
};

// Parameters of `blend_backward`; in Rust by the same name.
struct BlendBackwardTensorsParams {
    TensorLists lists;
    ReadOnly<float> planes;           // of the forward pass
    ReadOnly<float> render_alphas;    // of the forward pass
    ReadOnly<float> v_render_colors;  // [I][height][width][D]
    ReadOnly<float> v_render_alphas;  // [I][height][width], or null: 0
    const float* backgrounds;         // [I][D] or null
    float4* sums;                     // [M], a row of 12 floats each, added to
};

// The power of two that brings the fourth channel's largest value to between 64 and 128: small
// enough for its gradients, divided by it, to stay near those of colours from 0 to 1.
__device__ __forceinline__ float unit_of(u32 largest) {
    return largest == 0 ? 1.0f : __uint_as_float((260 - max(largest >> 23, 7u)) << 23);
}

// What a channel is multiplied by.
__device__ __forceinline__ float channel_unit(const TensorLists& lists, u32 channel) {
    return TENSORS == 4 && channel == 3 ? unit_of(lists.largest[0]) : 1.0f;
}

// 1 over a power of two.
__device__ __forceinline__ float inverse_unit(float unit) {
    return __uint_as_float(0x7f000000u - __float_as_uint(unit));
}

// The tile of a block.
struct TensorTile {
    u32 image;
    u32 x, y;     // its first pixel
    uint2 range;  // of its list
};

__device__ __forceinline__ TensorTile tensor_tile(const TensorLists& lists) {
    u32 columns = lists.camera.tiles_x, tiles = columns * lists.camera.tiles_y, block = blockIdx.x;
    TensorTile at;
    at.image = block / tiles;
    u32 tile = block - at.image * tiles, row = tile / columns;
    at.x = (tile - row * columns) * TILE;
    at.y = row * TILE;
    at.range.x = lists.tile_offsets[block];
    at.range.y = block + 1 < lists.images * tiles ? lists.tile_offsets[block + 1] : lists.pairs;
    if (lists.masks && !lists.masks[block]) at.range.y = at.range.x;
    return at;
}

// Adds four floats to memory, aligned to 16 bytes: at once from sm_90 and CUDA 12.1 on.
__device__ __forceinline__ void add_float4(float4* to, float a, float b, float c, float d) {
#if __CUDA_ARCH__ >= 900 && 100 * __CUDACC_VER_MAJOR__ + __CUDACC_VER_MINOR__ >= 1201
    asm volatile("red.global.add.v4.f32 [%0], {%1, %2, %3, %4};" ::"l"(to), "f"(a), "f"(b), "f"(c),
                 "f"(d)
                 : "memory");
#else
    float* floats = (float*)to;
    atomicAdd(floats, a);
    atomicAdd(floats + 1, b);
    atomicAdd(floats + 2, c);
    atomicAdd(floats + 3, d);
#endif
}
