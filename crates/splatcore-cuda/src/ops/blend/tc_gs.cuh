// The vectors of TC-GS (Liao et al. 2025, sections 4.2 and 4.3), of a pixel and of a splat.

#pragma once
#include "blend.cuh"
#include "matrix.cuh"

#define WARP_WIDTH 8
#define WARP_HEIGHT (WARP / WARP_WIDTH)

struct Point {
    float x, y;
};

// Entry k of the pixel vector u (equation 14); entries 0 to 2 are multiplied by a third of v0 each.
__device__ __forceinline__ float basis(u32 k, Point p) {
    if (k < 3) return 1.0f;
    if (k == 3) return p.x;
    if (k == 4) return p.y;
    if (k == 5) return p.x * p.x;
    if (k == 6) return p.x * p.y;
    return p.y * p.y;
}

// The coefficients v of a splat (equation 12) about the origin of equation 20.
__device__ __forceinline__ void coefficients(float (&v)[6], float4 mean2d, float4 conic,
                                             Point origin) {
    float mean_x = mean2d.x - origin.x, mean_y = mean2d.y - origin.y;
    float along_x = fmaf(conic.x, mean_x, conic.y * mean_y), along_y = conic.z * mean_y;
    v[0] = fmaf(along_x, mean_x, fmaf(along_y, mean_y, mean2d.z));
    v[1] = -fmaf(conic.x, mean_x, along_x);
    v[2] = -fmaf(conic.y, mean_x, 2.0f * along_y);
    v[3] = conic.x;
    v[4] = conic.y;
    v[5] = conic.z;
}

// Coefficients as the 8 halves that the product takes, v0 as three thirds (section 5.1).
__device__ __forceinline__ uint4 in_halves(const float (&v)[6]) {
    float third = v[0] * (1.0f / 3.0f);
    return make_uint4(pack_half2(third, third), pack_half2(third, v[1]), pack_half2(v[2], v[3]),
                      pack_half2(v[4], v[5]));
}
