// smoothing: the log standard deviation of the 3D filter of Mip-Splatting for each Gaussian.
//
// Contract. `means` [count][3] and `cameras` [camera_count] in, `filters` [count] out: ln sqrt(0.2)
// + ln(interval), with interval the smallest depth / focal (scene units a pixel) of all cameras
// that see the mean (Yu et al. 2024, section 4.1: 0.2 of the squared sampling interval). Which
// cameras see a mean, and the value for means that none sees:
// splatcore-core/src/columns/smoothing.rs. With LENS 1 `lenses` [camera_count] has the cameras'
// lenses (lens.cuh), max_angle 0 for pinholes. Constants: BLOCK; VARIANCE_ROOT_LN = ln sqrt(0.2)
// and MARGIN, of the same file.
//
// Launch. One thread a Gaussian, blocks of 256; the threads of a warp read the same camera, 17
// numbers, from the cache. Once in a hundred steps.
//
// Bound. Instructions, about 45 a Gaussian and camera: 31 M warp instructions for 220 k and 100.
//
// Now. Not measured; predicted 30 us for 220 k Gaussians and 100 cameras, 0.3 ms for 1 M and 200
// (H200). History: docs/log/kernels/densify.md

#include "lens.cuh"

// Whether a projected coordinate, multiplied by z > 0, lies in the image or within MARGIN of its
// side beyond it. `side` is multiplied by z too (through a lens neither is).
__device__ __forceinline__ bool within(float projected, float side) {
    return projected >= -MARGIN * side && projected <= (1.0f + MARGIN) * side;
}

// Parameters of `smoothing`; in Rust by the same name.
struct SmoothingParams {
    ReadOnly<float> means;  // [count][3], world
    u32 count;
    const Camera* cameras;  // [camera_count]
    u32 camera_count;
    float* filters;      // [count], radius of the 3D filter
    const Lens* lenses;  // [camera_count], with LENS 1
};
extern "C" __global__ void __launch_bounds__(BLOCK)
    smoothing(const __grid_constant__ SmoothingParams args) {
    begin_kernel();
    u32 i = blockIdx.x * BLOCK + threadIdx.x;
    if (i >= args.count) return;
    Vec3 mean = {args.means[3ull * i], args.means[3ull * i + 1], args.means[3ull * i + 2]};
    const float infinity = __uint_as_float(0x7f800000);
    float seen = infinity, unseen = infinity;
    for (u32 k = 0; k < args.camera_count; ++k) {
        const Camera& camera = args.cameras[k];
        const float* w = camera.rotation;
        float x = fmaf(mean.x, w[0], fmaf(mean.y, w[1], fmaf(mean.z, w[2], camera.translation[0])));
        float y = fmaf(mean.x, w[3], fmaf(mean.y, w[4], fmaf(mean.z, w[5], camera.translation[1])));
        float z = fmaf(mean.x, w[6], fmaf(mean.y, w[7], fmaf(mean.z, w[8], camera.translation[2])));
        float fx = camera.focal[0], fy = camera.focal[1], inverse_focal = 1.0f / fmaxf(fx, fy);
        bool in_view = z > camera.near_plane &&
                       within(fmaf(fx, x, camera.centre[0] * z), camera.width * z) &&
                       within(fmaf(fy, y, camera.centre[1] * z), camera.height * z);
        float depth = z;
#if LENS
        const Lens& lens = args.lenses[k];
        if (lens.max_angle > 0.0f) {
            Vec3 view = {x, y, z};
            Vec2 at = lens_pixel(lens, camera, view);
            depth = lens_depth(lens, view);
            in_view = lens_sees_centre(lens, view) && depth > camera.near_plane &&
                      within(at.x + camera.centre[0], camera.width) &&
                      within(at.y + camera.centre[1], camera.height);
        }
        // Parallel rays sample at one interval everywhere.
        bool is_parallel = lens.plane == PLANE_PARALLEL;
        if (is_parallel) depth = 1.0f;
#endif
        if (in_view) seen = fminf(seen, depth * inverse_focal);
        float distance = sqrtf(fmaf(x, x, fmaf(y, y, z * z)));
#if LENS
        if (is_parallel) distance = 1.0f;
#endif
        unseen = fminf(unseen, fmaxf(distance, camera.near_plane) * inverse_focal);
    }
    float interval = seen < infinity ? seen : unseen;
    args.filters[i] = interval < infinity ? logf(interval) + VARIANCE_ROOT_LN : -infinity;
}
