// What the ops of a frame share: the camera, the projected Gaussian, the counters, and the
// geometry that project.cu and project_backward.cuh both need. Frames and units as in
// splatcore_core: OpenCV camera, pixels, centre of the first pixel at (0.5, 0.5). `splat` in the
// kernels is the compacted index of a splat; `overflowed` says that a frame overflowed the room for
// it.

#pragma once
#include "vec3.cuh"

// TILE, ALPHA_MIN, TRANSMITTANCE_MIN and LOW_PASS are those of splatcore-core/src/semantics.rs; a
// test of ops/shared/tests/constants.rs compares them, and other numbers that Rust has too.
#define TILE 16
// Splats with more pairs than this go to the long-list queue, whose kernels give each a whole
// block.
#define LONG_LIST 64
#define LN2 0.69314718055994f
#define LOG2_255 7.9943534f  // -log2(ALPHA_MIN)
#define ALPHA_MIN 0.00392156862745098f
#define TRANSMITTANCE_MIN 1e-4f
#define LOW_PASS 0.3f

// As splatcore_cuda::camera::KernelCamera, field by field.
struct Camera {
    float rotation[9];     // world to camera, row-major
    float translation[3];  // world to camera
    float position[3];     // of the camera, in the world
    float focal[2];        // pixels
    float centre[2];       // principal point, pixels
    float clamp[2];        // on x/z and y/z in the Jacobian
    float near_plane;      // a Gaussian's centre must lie beyond it
    float alpha_max;       // cap on alpha
    float background[3];
    u32 width, height;     // pixels
    u32 tiles_x, tiles_y;  // rounded up
};

// Classes of tiles by the length of their lists, as in ops/counters.rs.
#define LENGTHS 8
#define REFINED_LISTS (LENGTHS + 1)

// The device's counters. The first 24 bytes persist over the frames of a training. Once
// `overflowed` is set, kernels change nothing until the host has made room for `needed` pairs,
// `most_splats` splats and `rows` Gaussians and repeats the missing steps and refinements. `clear`
// sets the others to 0 every frame, but for those that say otherwise.
struct Counters {
    u32 overflowed;     // 1: more pairs, splats or Gaussians than there is room for
    u32 steps;          // training steps and refinements done
    u64 needed;         // most pairs that a frame wanted
    u64 rows;           // Gaussians that a refinement wanted room for, 0 if it had it
    u32 visible;        // splats of this frame, so compacted indices in use
    u32 longs;          // splats in the long-list queue of `expand`
    u64 pairs;          // (tile, Gaussian) pairs of this frame
    u64 evaluated;      // fragments whose alpha was computed (counting only)
    u64 blended;        // fragments that changed their pixel (counting only)
    u64 warps_visited;  // (warp, splat) pairs walked (counting with `scalar` only)
    u64 warps_blended;  // those with a fragment that changed its pixel (likewise)
    u64 placed;         // entries of the tiles' lists placed by sort_bins.cu (MACRO_TILE_SIDE 4)
    u32 firsts;         // tiles in the schedule of sort_bins.cu, from its front, and its back
    u32 lasts;
    u32 large;          // entries of the queue of large footprints (bin_large_splats.cu)
    u32 ended;          // blocks of `bin_large_splats` that have counted their pairs
    u32 items;          // of sort_bins.cu
    u32 longest;        // most pairs that a list of a frame wanted; persists over frames
    u32 most_large;     // most entries of that queue that a frame wanted; persists too
    u32 refined_begun;  // tiles that blocks of `blend_refined` have taken
    u32 refined_tiles[REFINED_LISTS];  // left to `blend_refined`, by list (blend_interpolated.cu)
    u32 beyond;                        // splats of this frame that `project` found no room for
    u32 most_splats;   // most splats that a frame wanted room for; persists over frames
    u32 shard_splats;  // the same of a rank's own Gaussians, where several ranks have some
};

// What a rank's own Gaussians have in a frame, field by field as SHARD_COUNTS in passes/shard.rs.
struct ShardCounts {
    u32 splats;  // that survive, also those for which there was no room
    u32 unused;
    u64 pairs;
};

// A projected Gaussian: log2 alpha = log2_opacity + a dx^2 + b dx dy + c dy^2, d = pixel - mean.
struct __align__(16) Splat {
    float mean_x, mean_y, log2_opacity;
    u32 gaussian;  // row in the scene
    float a, b, c, radius;
    float red, green, blue;  // clamped below at 0
    u32 clamped;  // bit c: channel c was clamped; as a float, 1/z of the mean in view space within
                  // 2^-20
};

// A splat as three float4: (mean_x, mean_y, log2_opacity, gaussian), (a, b, c, radius), (red,
// green, blue, clamped).
__device__ __forceinline__ ReadOnly<float4> splat_row(const Splat* splats, u32 index) {
    return {(const float4*)(splats + index)};
}

// A list's range, (first, one past the last). `sort` stores (~first, one past the last), so that 0
// is a list without pairs.
__device__ __forceinline__ uint2 list_range(ReadOnly<uint2> ranges, u32 list) {
    uint2 range = ranges[list];
    return make_uint2(range.y ? ~range.x : 0, range.y);
}

// splat_of[g]: the compacted index of Gaussian g, or NO_SPLAT; the top bit says whether INRIA's
// rasterizer counts it as in view.
#define NO_SPLAT 0x7fffffffu
#define IN_VIEW 0x80000000u

// The ellipse alpha = 1/255 around a splat's mean; derivation in splatcore-cpu/src/ellipse.rs.
// Products and sums are written so that the compiler cannot contract them differently in two
// kernels: all kernels must find the same tiles.
struct Ellipse {
    float slope, square, curve, half_height, rightmost;
};

__device__ __forceinline__ Ellipse make_ellipse(float a, float b, float c, float log2_opacity) {
    // The margin covers rounding here and in the blend: no fragment that a pixel blends may be
    // lost.
    float t = fmaxf(fmaf(__fadd_rn(log2_opacity, LOG2_255), 1.0001f, 1e-3f), 0.0f);
    float inverse = __frcp_rn(-a);
    float half = __fmul_rn(0.5f, b);
    float product = __fmul_rn(half, half);
    float error = fmaf(half, half, -product);
    float determinant = __fadd_rn(fmaf(a, c, -product), -error);
    Ellipse e;
    e.slope = __fmul_rn(half, inverse);
    e.square = __fmul_rn(t, inverse);
    e.curve = fmaxf(__fmul_rn(__fmul_rn(determinant, inverse), inverse), 1e-12f);
    e.half_height = sqrt_approx(__fmul_rn(e.square, __frcp_rn(e.curve)));
    float bend = __fmul_rn(e.curve, fmaf(e.slope, e.slope, e.curve));
    e.rightmost = __fmul_rn(e.slope, sqrt_approx(__fmul_rn(e.square, __frcp_rn(bend))));
    return e;
}

__device__ __forceinline__ float half_chord(const Ellipse& e, float dy) {
    return sqrt_approx(fmaxf(fmaf(-__fmul_rn(e.curve, dy), dy, e.square), 0.0f));
}

__device__ __forceinline__ float dot(Vec3 a, Vec3 b) {
    return fmaf(a.x, b.x, fmaf(a.y, b.y, a.z * b.z));
}
__device__ __forceinline__ Vec3 row_of(const float* matrix, int row) {
    return {matrix[3 * row], matrix[3 * row + 1], matrix[3 * row + 2]};
}

// Symmetric 3x3 matrix.
struct Symmetric {
    float xx, xy, xz, yy, yz, zz;
};

__device__ __forceinline__ Vec3 times(const Symmetric& s, Vec3 v) {
    return {fmaf(s.xx, v.x, fmaf(s.xy, v.y, s.xz * v.z)),
            fmaf(s.xy, v.x, fmaf(s.yy, v.y, s.yz * v.z)),
            fmaf(s.xz, v.x, fmaf(s.yz, v.y, s.zz * v.z))};
}

// Everything between a Gaussian's parameters and its 2D covariance (Zwicker et al. 2002; Kerbl et
// al. 2023).
struct Geometry {
    Vec3 view;                   // view-space position
    float clamped_x, clamped_y;  // as the Jacobian uses them
    float free_x, free_y;        // 1 if not clamped, else 0
    float inverse_z;
    float qw, qx, qy, qz;  // normalised
    float inverse_norm;    // of the stored quaternion
    Vec3 rotation[3];      // rows
    Vec3 scales;
    Symmetric covariance;  // world
    Vec3 u, v;             // rows of J W
    float xx, xy, yy;      // projected covariance with the low pass
    float determinant;
};

__device__ __forceinline__ Geometry make_geometry(Vec3 mean, Vec3 log_scales, float4 quaternion,
                                                  const Camera& camera) {
    Geometry g;
    const float* w = camera.rotation;
    g.view.x = fmaf(mean.x, w[0], fmaf(mean.y, w[1], fmaf(mean.z, w[2], camera.translation[0])));
    g.view.y = fmaf(mean.x, w[3], fmaf(mean.y, w[4], fmaf(mean.z, w[5], camera.translation[1])));
    g.view.z = fmaf(mean.x, w[6], fmaf(mean.y, w[7], fmaf(mean.z, w[8], camera.translation[2])));
    g.inverse_z = 1.0f / g.view.z;
    float x = g.view.x * g.inverse_z, y = g.view.y * g.inverse_z;
    g.clamped_x = fminf(fmaxf(x, -camera.clamp[0]), camera.clamp[0]) * g.view.z;
    g.clamped_y = fminf(fmaxf(y, -camera.clamp[1]), camera.clamp[1]) * g.view.z;
    g.free_x = fabsf(x) <= camera.clamp[0] ? 1.0f : 0.0f;
    g.free_y = fabsf(y) <= camera.clamp[1] ? 1.0f : 0.0f;

    float4 q = quaternion;
    float norm = fmaf(q.x, q.x, fmaf(q.y, q.y, fmaf(q.z, q.z, q.w * q.w)));
    g.inverse_norm = 1.0f / sqrtf(fmaxf(norm, 1e-30f));
    g.qw = q.x * g.inverse_norm;
    g.qx = q.y * g.inverse_norm;
    g.qy = q.z * g.inverse_norm;
    g.qz = q.w * g.inverse_norm;
    g.rotation[0] = {1.0f - 2.0f * fmaf(g.qy, g.qy, g.qz * g.qz),
                     2.0f * fmaf(g.qx, g.qy, -(g.qw * g.qz)), 2.0f * fmaf(g.qx, g.qz, g.qw * g.qy)};
    g.rotation[1] = {2.0f * fmaf(g.qx, g.qy, g.qw * g.qz),
                     1.0f - 2.0f * fmaf(g.qx, g.qx, g.qz * g.qz),
                     2.0f * fmaf(g.qy, g.qz, -(g.qw * g.qx))};
    g.rotation[2] = {2.0f * fmaf(g.qx, g.qz, -(g.qw * g.qy)), 2.0f * fmaf(g.qy, g.qz, g.qw * g.qx),
                     1.0f - 2.0f * fmaf(g.qx, g.qx, g.qy * g.qy)};
    g.scales = {expf(log_scales.x), expf(log_scales.y), expf(log_scales.z)};
    Vec3 m[3];
    for (int i = 0; i < 3; ++i)
        m[i] = {g.rotation[i].x * g.scales.x, g.rotation[i].y * g.scales.y,
                g.rotation[i].z * g.scales.z};
    g.covariance = {dot(m[0], m[0]), dot(m[0], m[1]), dot(m[0], m[2]),
                    dot(m[1], m[1]), dot(m[1], m[2]), dot(m[2], m[2])};

    float fx = camera.focal[0] * g.inverse_z, fy = camera.focal[1] * g.inverse_z;
    float off_x = -(fx * g.clamped_x * g.inverse_z), off_y = -(fy * g.clamped_y * g.inverse_z);
    g.u = {fmaf(fx, w[0], off_x * w[6]), fmaf(fx, w[1], off_x * w[7]),
           fmaf(fx, w[2], off_x * w[8])};
    g.v = {fmaf(fy, w[3], off_y * w[6]), fmaf(fy, w[4], off_y * w[7]),
           fmaf(fy, w[5], off_y * w[8])};
    Vec3 cu = times(g.covariance, g.u), cv = times(g.covariance, g.v);
    g.xx = dot(g.u, cu) + LOW_PASS;
    g.xy = dot(g.u, cv);
    g.yy = dot(g.v, cv) + LOW_PASS;
    // Corrected by the product's rounding error (Kahan), as a needle's determinant would lose its
    // sign otherwise.
    float product = __fmul_rn(g.xy, g.xy);
    float error = fmaf(g.xy, g.xy, -product);
    g.determinant = fmaf(g.xx, g.yy, -product) - error;
    return g;
}

// Unit vector from the camera to a mean; returns 1 / distance.
__device__ __forceinline__ float view_direction(Vec3 mean, const Camera& camera, Vec3& unit) {
    Vec3 d = {mean.x - camera.position[0], mean.y - camera.position[1],
              mean.z - camera.position[2]};
    float inverse = 1.0f / sqrtf(fmaxf(dot(d, d), 1e-30f));
    unit = {d.x * inverse, d.y * inverse, d.z * inverse};
    return inverse;
}

#define SH_C0 0.28209479177387814f
#define SH_C1 0.4886025119029199f
#define SH_C2_0 1.0925484305920792f
#define SH_C2_1 -1.0925484305920792f
#define SH_C2_2 0.31539156525252005f
#define SH_C2_3 -1.0925484305920792f
#define SH_C2_4 0.5462742152960396f
#define SH_C3_0 -0.5900435899266435f
#define SH_C3_1 2.890611442640554f
#define SH_C3_2 -0.4570457994644658f
#define SH_C3_3 0.3731763325901154f
#define SH_C3_4 -0.4570457994644658f
#define SH_C3_5 1.445305721320277f
#define SH_C3_6 -0.5900435899266435f

// Real spherical harmonics up to `degree`, in INRIA's order and signs; the rest of `b` is left
// alone.
__device__ __forceinline__ void sh_basis(u32 degree, Vec3 d, float* b) {
    float x = d.x, y = d.y, z = d.z;
    b[0] = SH_C0;
    if (degree < 1) return;
    b[1] = -SH_C1 * y;
    b[2] = SH_C1 * z;
    b[3] = -SH_C1 * x;
    if (degree < 2) return;
    float xx = x * x, yy = y * y, zz = z * z;
    b[4] = SH_C2_0 * x * y;
    b[5] = SH_C2_1 * y * z;
    b[6] = SH_C2_2 * (zz + zz - xx - yy);
    b[7] = SH_C2_3 * x * z;
    b[8] = SH_C2_4 * (xx - yy);
    if (degree < 3) return;
    float five = fmaf(4.0f, zz, -(xx + yy));
    b[9] = SH_C3_0 * y * (3.0f * xx - yy);
    b[10] = SH_C3_1 * x * y * z;
    b[11] = SH_C3_2 * y * five;
    b[12] = SH_C3_3 * z * (zz + zz - 3.0f * (xx + yy));
    b[13] = SH_C3_4 * x * five;
    b[14] = SH_C3_5 * z * (xx - yy);
    b[15] = SH_C3_6 * x * (xx - 3.0f * yy);
}
