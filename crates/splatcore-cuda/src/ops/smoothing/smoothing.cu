// smoothing: the log standard deviation of Mip-Splatting's 3D filter for each Gaussian (Yu et al.
// 2024, section 4.1): 0.2 of the squared sampling interval depth / focal, the finest of all cameras
// that see its mean. What counts as seen, and what a Gaussian gets that none sees, is in
// splatcore-core/src/smoothing.rs.
//
// Launch: one thread a Gaussian, blocks of 256; all threads of a warp read the same camera, 17
// numbers from the cache. Runs once in a hundred steps. Bound by instructions, about 45 a Gaussian
// and camera. Prediction for an H200: 220 k Gaussians and 100 cameras 31 M warp instructions, 30
// us; 1 M and 200 cameras 0.3 ms, 3 us a step. Measured:

#include "splat.cuh"

#define VARIANCE_ROOT_LN -0.80471895621705f  // ln sqrt(0.2)
#define MARGIN 0.15f

// Whether a projection, as a homogeneous coordinate over z > 0, lies on the image or not far beside
// it.
__device__ __forceinline__ bool within(float projected, float side) {
    return projected >= -MARGIN * side && projected <= (1.0f + MARGIN) * side;
}

extern "C" __global__ void __launch_bounds__(256)
    smoothing(const float* __restrict__ means, u32 count, const Camera* __restrict__ cameras,
              u32 camera_count, float* __restrict__ filters) {
    begin_kernel();
    u32 i = blockIdx.x * 256 + threadIdx.x;
    if (i >= count) return;
    Vec3 mean = {means[3ull * i], means[3ull * i + 1], means[3ull * i + 2]};
    const float infinity = __uint_as_float(0x7f800000);
    float seen = infinity, unseen = infinity;
    for (u32 k = 0; k < camera_count; ++k) {
        const Camera& camera = cameras[k];
        const float* w = camera.rotation;
        float x = fmaf(mean.x, w[0], fmaf(mean.y, w[1], fmaf(mean.z, w[2], camera.translation[0])));
        float y = fmaf(mean.x, w[3], fmaf(mean.y, w[4], fmaf(mean.z, w[5], camera.translation[1])));
        float z = fmaf(mean.x, w[6], fmaf(mean.y, w[7], fmaf(mean.z, w[8], camera.translation[2])));
        float fx = camera.focal[0], fy = camera.focal[1], inverse_focal = 1.0f / fmaxf(fx, fy);
        bool in_view = z > camera.near_plane &&
                       within(fmaf(fx, x, camera.centre[0] * z), camera.width * z) &&
                       within(fmaf(fy, y, camera.centre[1] * z), camera.height * z);
        if (in_view) seen = fminf(seen, z * inverse_focal);
        float distance = sqrtf(fmaf(x, x, fmaf(y, y, z * z)));
        unseen = fminf(unseen, fmaxf(distance, camera.near_plane) * inverse_focal);
    }
    float interval = seen < infinity ? seen : unseen;
    filters[i] = interval < infinity ? logf(interval) + VARIANCE_ROOT_LN : -infinity;
}
