// projection: splats of Gaussians in world space for each camera (gsplat's
// fully_fused_projection and fully_fused_projection_with_ut, forward).
//
// Contract. For each camera of a batch and each of its Gaussians: the mean in the image, the depth,
// the inverse of the covariance J R C R^T J^T + eps2d I, radii, and sqrt(det / det with eps2d)
// (Mip-Splatting) if asked for. Radii by `radius_rule`: for each axis as far as alpha can reach
// MIN_ALPHA, at most MAX_DEVIATIONS standard deviations (StopThePop, Radl et al. 2024, appendix
// B.2), or three standard deviations along the longer axis for both (INRIA's code). Splats that are
// culled, or not numbers, have zeros. With LENS mean, covariance and depth are those of the
// engine's unscented transform (unscented.cuh), for one camera of one batch.
//
// Constants. LENS 1: `camera` has a lens, 2: a rolling shutter; 0: a `camera_model`.
//
// Launch. A thread for each camera and Gaussian, blocks of BLOCK.
//
// Bound. Memory: 40 to 56 bytes in for a Gaussian, 36 out for a splat. With LENS instructions.
//
// Now. 9 us for fox_220k without LENS on an H100 (docs/results/python.md).

#include "make_splat.cuh"
#include "before_camera.cuh"

// Parameters of `projection`; in Rust by the same name. B batches, C cameras, N Gaussians.
struct ProjectionParams {
    const float* means;      // [B][N][3]
    const float* covars;     // [B][N][6] or null
    const float* quats;      // [B][N][4], if covars is null
    const float* scales;     // [B][N][3], if covars is null
    const float* opacities;  // [B][N] or null
    const float* viewmats;   // [B][C][4][4]
    const float* ks;         // [B][C][3][3]
    u32 batches, cameras, gaussians;
    u32 width, height;
    float eps2d, near_plane, far_plane, radius_clip;
    u32 camera_model, radius_rule;
    int* radii;            // [B][C][N][2], pixels
    float* means2d;        // [B][C][N][2], pixels
    float* depths;         // [B][C][N]
    float* conics;         // [B][C][N][3]
    float* compensations;  // [B][C][N] or null
    Camera camera;         // with LENS
    Lens lens;
};

#if LENS
__device__ __forceinline__ bool project(const ProjectionParams& args, u64 gaussian, u64,
                                        Splat2D& splat) {
    Geometry g = geometry_of(load_vec3(args.means + 3 * gaussian),
                             load_quaternion(args.quats + 4 * gaussian),
                             load_vec3(args.scales + 3 * gaussian), args.camera);
    float depth = lens_depth(args.lens, g.view);
    if (!(depth >= args.near_plane && depth <= args.far_plane)) return false;
    Unscented u = make_unscented(g, args.camera, args.lens);
    if (!u.seen) return false;
    float sharp[3] = {u.sharp_xx, u.xy, u.sharp_yy};
    float mean2d[2] = {u.mean.x + args.camera.centre[0], u.mean.y + args.camera.centre[1]};
    const float* opacity = args.opacities ? args.opacities + gaussian : nullptr;
    return make_splat(args, sharp, mean2d, depth, opacity, splat);
}
#else
// The splat of a Gaussian (its index in [B][N]) for a camera (in [B][C]); false if it is culled.
__device__ __forceinline__ bool project(const ProjectionParams& args, u64 gaussian, u64 camera,
                                        Splat2D& splat) {
    const float* view = args.viewmats + 16 * camera;
    Mat3 rotation = {{{__ldg(view), __ldg(view + 1), __ldg(view + 2)},
                      {__ldg(view + 4), __ldg(view + 5), __ldg(view + 6)},
                      {__ldg(view + 8), __ldg(view + 9), __ldg(view + 10)}}};
    Vec3 mean = apply(rotation, load_vec3(args.means + 3 * gaussian));
    mean = {mean.x + __ldg(view + 3), mean.y + __ldg(view + 7), mean.z + __ldg(view + 11)};
    if (!(mean.z >= args.near_plane && mean.z <= args.far_plane)) return false;
    Mat3 covariance = args.covars ? load_triangle(args.covars + 6 * gaussian)
                                  : covariance_of(load_quaternion(args.quats + 4 * gaussian),
                                                  load_vec3(args.scales + 3 * gaussian));
    Intrinsics k = load_intrinsics(args.ks + 9 * camera, args.width, args.height);
    Seen seen = see(args.camera_model, k, mean);
    Mat2 sharp = sandwich(seen.jacobian, sandwich(rotation, covariance));
    float of_sharp[3] = {sharp.at[0][0], sharp.at[0][1], sharp.at[1][1]};
    const float* opacity = args.opacities ? args.opacities + gaussian : nullptr;
    return make_splat(args, of_sharp, seen.mean2d, mean.z, opacity, splat);
}
#endif

extern "C" __global__ void __launch_bounds__(BLOCK)
    projection(const __grid_constant__ ProjectionParams args) {
    begin_kernel();
    u64 row = (u64)blockIdx.x * BLOCK + threadIdx.x, n = args.gaussians;
    if (row >= args.batches * args.cameras * n) return;
    u64 camera = row / n, gaussian = camera / args.cameras * n + row % n;
    Splat2D splat = {};
    if (!project(args, gaussian, camera, splat)) splat = {};
    write_splat(args, row, splat);
}
