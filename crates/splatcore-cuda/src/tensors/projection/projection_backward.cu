// projection_backward: gradients of `projection` (gsplat's fully_fused_projection, backward).
//
// Contract. From the gradients of splats, those of Gaussians summed over cameras, written, and
// those of `viewmats` and `ks` summed over Gaussians, added to zeros; each of them if it is not
// null. Splats with a radius of 0 have no gradient. With P the conic and G its gradient, that of
// the covariance is -P G P; with k = compensation^2, dk/dC = (1 - k) P - eps2d det(P) I. If `adds`
// is not 0, gradients of Gaussians are added to those of other cameras. A rolling shutter moves
// with the pose, as one.
//
// Constants. LENS as in projection.cu, INTRINSICS: with LENS the count of numbers of their
// gradient, or 0 if `v_ks` is null.
//
// Launch. A thread for each Gaussian, which goes through the cameras of its batch; blocks of BLOCK,
// each in one batch. The sums of a camera go from warps (warp_sums) to the block's shared memory
// and from there by one atomic addition each to the output.
//
// Bound. Memory; with gradients of cameras also the block's barriers, two a camera; with LENS
// instructions.
//
// Now. 17 us for fox_220k without LENS and gradients of cameras on an H100.

#include "drawn.cuh"
#include "splat_gradients.cuh"
#include "before_camera.cuh"

// Parameters of `projection_backward`; in Rust by the same name. B batches, C cameras, N Gaussians.
struct ProjectionBackwardParams {
    const float* means;     // [B][N][3]
    const float* covars;    // [B][N][6] or null
    const float* quats;     // [B][N][4], if covars is null
    const float* scales;    // [B][N][3], if covars is null
    const float* viewmats;  // [B][C][4][4]
    const float* ks;        // [B][C][3][3]
    u32 batches, cameras, gaussians;
    u32 width, height;
    float eps2d;
    u32 camera_model, adds;
    ReadOnly<int> radii;           // [B][C][N][2]
    ReadOnly<float> conics;        // [B][C][N][3]
    const float* compensations;    // [B][C][N], if v_compensations is not null
    ReadOnly<float> v_means2d;     // [B][C][N][2]
    ReadOnly<float> v_depths;      // [B][C][N], or null: 0
    ReadOnly<float> v_conics;      // [B][C][N][3]
    const float* v_compensations;  // [B][C][N] or null
    float* v_means;                // [B][N][3] or null
    float* v_covars;               // [B][N][6] or null
    float* v_quats;                // [B][N][4] or null
    float* v_scales;               // [B][N][3] or null
    float* v_viewmats;             // [B][C][4][4] or null
    float* v_ks;                   // [B][C][3][3] or null
    Camera camera;                 // with LENS
    Lens lens;
};

// Gradients of a Gaussian, to which those of its splats are added: of its mean, and of its
// covariance, with LENS of its axes times its scales in world axes.
struct GaussianGradient {
    float mean[3];
    Mat3 shape;
};

#if LENS
// Writes the gradients of a splat as those of its Gaussian, and those of the camera: rotation and
// translation by rows (12), focal lengths, principal point.
__device__ __forceinline__ void splat_backward(const ProjectionBackwardParams& args, u64 row, u64,
                                               Vec3 world, const Mat3&, GaussianGradient& gaussian,
                                               float (&of_camera)[SUMS]) {
    Geometry g = geometry_of(world, load_quaternion(args.quats + 4 * row),
                             load_vec3(args.scales + 3 * row), args.camera);
    Mat2 of = of_covariance(args, row);
    Vec2 v_mean2d = {args.v_means2d[2 * row], args.v_means2d[2 * row + 1]};
    Unscented u = make_unscented(g, args.camera, args.lens);
    UnscentedGradient by = unscented_backward(g, args.camera, args.lens, u.shift, v_mean2d,
                                              of.at[0][0], of.at[0][1], of.at[1][1]);
    if (args.v_depths) {
        float depth = args.v_depths[row];
        if (lens_depth_is_distance(args.lens)) {
            float share = depth / lens_depth(args.lens, g.view);
            by.view.x = fmaf(share, g.view.x, by.view.x);
            by.view.y = fmaf(share, g.view.y, by.view.y);
            depth = share * g.view.z;
        }
        by.view.z += depth;
    }
    const float* w = args.camera.rotation;
    float view[3] = {by.view.x, by.view.y, by.view.z}, at[3] = {world.x, world.y, world.z};
    float scales[3] = {g.scales.x, g.scales.y, g.scales.z};
#pragma unroll
    for (int j = 0; j < 3; ++j)
        gaussian.mean[j] = fmaf(view[0], w[j], fmaf(view[1], w[3 + j], view[2] * w[6 + j]));
#pragma unroll
    for (int i = 0; i < 3; ++i) {
#pragma unroll
        for (int j = 0; j < 3; ++j) of_camera[4 * i + j] = view[i] * at[j];
        of_camera[4 * i + 3] = view[i];
    }
#pragma unroll
    for (int k = 0; k < 3; ++k) {
        float axis[3] = {by.axes[k].x, by.axes[k].y, by.axes[k].z};
        float own[3] = {k == 0   ? g.rotation[0].x
                        : k == 1 ? g.rotation[0].y
                                 : g.rotation[0].z,
                        k == 0   ? g.rotation[1].x
                        : k == 1 ? g.rotation[1].y
                                 : g.rotation[1].z,
                        k == 0   ? g.rotation[2].x
                        : k == 1 ? g.rotation[2].y
                                 : g.rotation[2].z};
#pragma unroll
        for (int i = 0; i < 3; ++i) {
            gaussian.shape.at[i][k] = axis[i];
            // The same in camera axes, as the rotation is orthonormal.
            float turned = scales[k] * dot(row_of(w, i), by.axes[k]);
#pragma unroll
            for (int j = 0; j < 3; ++j)
                of_camera[4 * i + j] = fmaf(turned, own[j], of_camera[4 * i + j]);
        }
    }
#if INTRINSICS
#pragma unroll
    for (int axis = 0; axis < 2; ++axis) {
        of_camera[12 + axis] = by.intrinsics[axis] / args.camera.focal[axis];
        of_camera[14 + axis] = by.intrinsics[2 + axis];
    }
#endif
}
#else
// Adds the gradients of a splat to those of its Gaussian, and writes those of the camera: rotation
// and translation by rows (12), focal lengths, principal point.
__device__ __forceinline__ void splat_backward(const ProjectionBackwardParams& args, u64 row,
                                               u64 camera, Vec3 world, const Mat3& covariance,
                                               GaussianGradient& gaussian,
                                               float (&of_camera)[SUMS]) {
    const float* view = args.viewmats + 16 * camera;
    Mat3 rotation = {{{__ldg(view), __ldg(view + 1), __ldg(view + 2)},
                      {__ldg(view + 4), __ldg(view + 5), __ldg(view + 6)},
                      {__ldg(view + 8), __ldg(view + 9), __ldg(view + 10)}}};
    Vec3 mean = apply(rotation, world);
    mean = {mean.x + __ldg(view + 3), mean.y + __ldg(view + 7), mean.z + __ldg(view + 11)};
    Intrinsics k = load_intrinsics(args.ks + 9 * camera, args.width, args.height);
    Mat23 jacobian = see(args.camera_model, k, mean).jacobian;
    Mat2 v_covar2d = of_covariance(args, row);
    Mat23 v_jacobian = sandwich_backward_outer(jacobian, sandwich(rotation, covariance), v_covar2d);
    float v_mean2d[2] = {args.v_means2d[2 * row], args.v_means2d[2 * row + 1]};
    SeenGradient seen = see_backward(args.camera_model, k, mean, v_mean2d, v_jacobian);
    if (args.v_depths) seen.mean[2] += args.v_depths[row];
    Mat3 v_turned = sandwich_backward_inner(jacobian, v_covar2d);
    gaussian.shape = plus(gaussian.shape, sandwich_backward_inner(rotation, v_turned));
#pragma unroll
    for (int j = 0; j < 3; ++j)
#pragma unroll
        for (int i = 0; i < 3; ++i)
            gaussian.mean[j] = fmaf(rotation.at[i][j], seen.mean[i], gaussian.mean[j]);
    Mat3 v_rotation = sandwich_backward_outer(rotation, covariance, v_turned);
    float at[3] = {world.x, world.y, world.z};
#pragma unroll
    for (int i = 0; i < 3; ++i) {
#pragma unroll
        for (int j = 0; j < 3; ++j)
            of_camera[4 * i + j] = fmaf(seen.mean[i], at[j], v_rotation.at[i][j]);
        of_camera[4 * i + 3] = seen.mean[i];
    }
#pragma unroll
    for (int axis = 0; axis < 2; ++axis) {
        of_camera[12 + axis] = seen.focal[axis];
        of_camera[14 + axis] = seen.centre[axis];
    }
}
#endif

// Writes or adds a value.
__device__ __forceinline__ void put(const ProjectionBackwardParams& args, float* out, float value) {
    *out = args.adds ? *out + value : value;
}

__device__ __forceinline__ void write_gaussian(const ProjectionBackwardParams& args, u64 row,
                                               const GaussianGradient& of) {
    if (args.v_means)
        for (int i = 0; i < 3; ++i) put(args, args.v_means + 3 * row + i, of.mean[i]);
    const Mat3& v = of.shape;
    if (args.v_covars) {
        float* out = args.v_covars + 6 * row;
        out[0] = v.at[0][0], out[1] = v.at[0][1] + v.at[1][0], out[2] = v.at[0][2] + v.at[2][0];
        out[3] = v.at[1][1], out[4] = v.at[1][2] + v.at[2][1], out[5] = v.at[2][2];
    }
    if (!args.v_quats && !args.v_scales) return;
    Quaternion quat = load_quaternion(args.quats + 4 * row);
    Vec3 scale = load_vec3(args.scales + 3 * row);
#if LENS
    ShapeGradient shape = factor_backward(quat, scale, v);
#else
    ShapeGradient shape = covariance_backward(quat, scale, v);
#endif
    if (args.v_quats) {
        float* out = args.v_quats + 4 * row;
        put(args, out, shape.quat.w), put(args, out + 1, shape.quat.x);
        put(args, out + 2, shape.quat.y), put(args, out + 3, shape.quat.z);
    }
    if (args.v_scales) {
        float* out = args.v_scales + 3 * row;
        put(args, out, shape.scale.x), put(args, out + 1, shape.scale.y);
        put(args, out + 2, shape.scale.z);
    }
}

extern "C" __global__ void __launch_bounds__(BLOCK)
    projection_backward(const __grid_constant__ ProjectionBackwardParams args) {
    begin_kernel();
    __shared__ float block_sums[SUMS];
    u64 n = args.gaussians;
    u32 blocks = (args.gaussians + BLOCK - 1) / BLOCK, batch = blockIdx.x / blocks;
    u64 place = (u64)(blockIdx.x % blocks) * BLOCK + threadIdx.x, gaussian = batch * n + place;
    bool is_there = place < n, is_for_cameras = args.v_viewmats || args.v_ks;
    Vec3 world = {};
    Mat3 covariance = {};
    if (is_there) {
        world = load_vec3(args.means + 3 * gaussian);
#if !LENS
        covariance = args.covars ? load_triangle(args.covars + 6 * gaussian)
                                 : covariance_of(load_quaternion(args.quats + 4 * gaussian),
                                                 load_vec3(args.scales + 3 * gaussian));
#endif
    }
    GaussianGradient of_gaussian = {};
    bool is_seen = false;
    for (u32 c = 0; c < args.cameras; ++c) {
        u64 camera = (u64)batch * args.cameras + c, row = camera * n + place;
        float of_camera[SUMS] = {};
        bool is_visible = is_there && is_drawn_with(args.radii, row);
        if (is_visible)
            splat_backward(args, row, camera, world, covariance, of_gaussian, of_camera);
        is_seen |= is_visible;
        if (!is_for_cameras) continue;
        sum_camera(args, camera, of_camera, is_visible, block_sums);
    }
    if (!is_there) return;
    if (is_seen) {
        write_gaussian(args, gaussian, of_gaussian);
        return;
    }
    if (args.adds) return;
    for (int i = 0; i < 3; ++i) {
        if (args.v_means) args.v_means[3 * gaussian + i] = 0.0f;
        if (args.v_scales) args.v_scales[3 * gaussian + i] = 0.0f;
    }
    for (int i = 0; i < 4; ++i)
        if (args.v_quats) args.v_quats[4 * gaussian + i] = 0.0f;
    for (int i = 0; i < 6; ++i)
        if (args.v_covars) args.v_covars[6 * gaussian + i] = 0.0f;
}
