// A Gaussian of tensors in front of a camera: of a model (LENS 0), or with a lens (LENS 1) or a
// rolling shutter (LENS 2), as the engine's unscented transform takes it.

#pragma once
#include "covariance.cuh"
#include "unscented.cuh"
#if !LENS
#include "camera_models.cuh"
#else

// What `make_unscented` and its gradient read of a Geometry.
__device__ __forceinline__ Geometry geometry_of(Vec3 mean, Quaternion quat, Vec3 scales,
                                                const Camera& camera) {
    Geometry g = {};
    const float* w = camera.rotation;
    g.view = {fmaf(mean.x, w[0], fmaf(mean.y, w[1], fmaf(mean.z, w[2], camera.translation[0]))),
              fmaf(mean.x, w[3], fmaf(mean.y, w[4], fmaf(mean.z, w[5], camera.translation[1]))),
              fmaf(mean.x, w[6], fmaf(mean.y, w[7], fmaf(mean.z, w[8], camera.translation[2])))};
    Mat3 rotation = rotation_of(scaled(quat, inverse_length(quat)));
#pragma unroll
    for (int i = 0; i < 3; ++i)
        g.rotation[i] = {rotation.at[i][0], rotation.at[i][1], rotation.at[i][2]};
    g.scales = scales;
    return g;
}
#endif
