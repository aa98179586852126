// Depth of a Gaussian along the ray of a pixel (Radl et al. 2024, "StopThePop"), for
// project.cu, which writes what it follows from, and blend_stop_the_pop.cu. docs/methods/
// stop-the-pop.md. Twin: splatcore-reference/src/twin/along_ray.rs.

#pragma once
#include "splat.cuh"

// Inverse scales beyond this count as this for depths: thinner Gaussians are thickened.
#define MAX_INVERSE_SCALE 1e3f

// With U the upper triangular factor of the inverse covariance in view space, UᵀU, over its last
// entry, and e = U d for the ray d = (x, y, 1): the first two numbers of e are
// (h0 + u00 dx + u01 dy, h1 + u11 dy) at (dx, dy) pixels from the splat's mean, the third is 1.
struct __align__(16) RayShape {
    float u00, u01, u11, depth;  // depth of the mean: view-space z
    float h0, h1, unused[2];
};
static_assert(sizeof(RayShape) == 32, "RAY_BYTES of ops/project/mod.rs says otherwise");

// A RayShape as two float4: (u00, u01, u11, depth), (h0, h1, -, -).
__device__ __forceinline__ ReadOnly<float4> ray_row(const RayShape* rays, u32 index) {
    return {(const float4*)(rays + index)};
}

// Nothing is subtracted here that could cancel: the third axis of the frame in which U is
// triangular is (scale times z of each of the Gaussian's axes), the first is (x of each axis over
// scale).
__device__ __forceinline__ RayShape make_ray_shape(const Geometry& g, const Camera& camera) {
    const float* w = camera.rotation;
    const Vec3* rows = g.rotation;
    // The Gaussian's axes in the world, and their scales.
    const Vec3 axes[3] = {{rows[0].x, rows[1].x, rows[2].x},
                          {rows[0].y, rows[1].y, rows[2].y},
                          {rows[0].z, rows[1].z, rows[2].z}};
    const float scales[3] = {g.scales.x, g.scales.y, g.scales.z};
    float x[3], y[3], z[3], m[3];
#pragma unroll
    for (int k = 0; k < 3; ++k) {
        float inverse = fminf(1.0f / scales[k], MAX_INVERSE_SCALE);
        Vec3 view = {dot(row_of(w, 0), axes[k]), dot(row_of(w, 1), axes[k]),
                     dot(row_of(w, 2), axes[k])};
        x[k] = view.x * inverse;
        y[k] = view.y * inverse;
        z[k] = view.z / inverse;
        m[k] = dot(view, g.view) * inverse;
    }
    Vec3 along_x = {x[0], x[1], x[2]}, along_y = {y[0], y[1], y[2]}, along_z = {z[0], z[1], z[2]},
         mean = {m[0], m[1], m[2]};
    float sigma = sqrtf(dot(along_z, along_z)), length = sqrtf(dot(along_x, along_x));
    float of_sigma = 1.0f / sigma, of_length = 1.0f / length;
    Vec3 third = {along_z.x * of_sigma, along_z.y * of_sigma, along_z.z * of_sigma};
    Vec3 first = {along_x.x * of_length, along_x.y * of_length, along_x.z * of_length};
    Vec3 second = {fmaf(third.y, first.z, -(third.z * first.y)),
                   fmaf(third.z, first.x, -(third.x * first.z)),
                   fmaf(third.x, first.y, -(third.y * first.x))};
    RayShape r = {};
    r.u00 = sigma * length / camera.focal[0];
    r.u01 = sigma * dot(first, along_y) / camera.focal[1];
    r.u11 = sigma * dot(second, along_y) / camera.focal[1];
    r.depth = g.view.z;
    r.h0 = sigma * g.inverse_z * dot(first, mean);
    r.h1 = sigma * g.inverse_z * dot(second, mean);
    return r;
}

// View-space z of the point at which the Gaussian is largest on the ray (dx, dy) pixels from the
// splat's mean; never NaN.
__device__ __forceinline__ float ray_depth(float4 shape, float4 centre, float dx, float dy) {
    float e0 = fmaf(shape.x, dx, fmaf(shape.y, dy, centre.x)), e1 = fmaf(shape.z, dy, centre.y);
    float above = fmaf(centre.x, e0, fmaf(centre.y, e1, 1.0f));
    float below = fmaf(e0, e0, fmaf(e1, e1, 1.0f));
    float depth = shape.w * above * reciprocal_approx(below);
    return fmaxf(fminf(depth, 3.4e38f), -3.4e38f);
}
