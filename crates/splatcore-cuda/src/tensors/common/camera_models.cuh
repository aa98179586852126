// Cameras: the pixel of a mean in camera space, the Jacobian with which its covariance is projected
// (EWA splatting, Zwicker et al. 2001), and their gradients.

#pragma once
#include "linear.cuh"

// Numbers of camera models; in Rust by the names of `CameraModel`.
#define PINHOLE 0
#define ORTHO 1
#define FISHEYE 2
// Beyond the image the Jacobian of PINHOLE is that of a point within this part of half of the
// image's side.
#define MARGIN 0.3f

struct Intrinsics {
    float focal[2], centre[2], side[2];  // pixels, x and y
};

// From a 3x3 matrix.
__device__ __forceinline__ Intrinsics load_intrinsics(const float* k, u32 width, u32 height) {
    return {{__ldg(k), __ldg(k + 4)}, {__ldg(k + 2), __ldg(k + 5)}, {(float)width, (float)height}};
}

struct Seen {
    float mean2d[2];
    Mat23 jacobian;
};

// Gradients of a mean in camera space and of the intrinsics.
struct SeenGradient {
    float mean[3];
    float focal[2], centre[2];
};

// The tangents between which PINHOLE's Jacobian is evaluated along an axis.
struct Limits {
    float low, high;
};
__device__ __forceinline__ Limits limits_of(const Intrinsics& k, int axis) {
    float margin = 0.5f * MARGIN * k.side[axis] / k.focal[axis];
    return {-(k.centre[axis] / k.focal[axis] + margin),
            (k.side[axis] - k.centre[axis]) / k.focal[axis] + margin};
}

// Functions of rho = x^2 + y^2 and z that make a fisheye's projection. With s = sqrt(rho), theta =
// atan2(s, z), r^2 = rho + z^2: the pixel is (x, y) stretch, and the Jacobian is made of stretch,
// x^2 bend, x y bend, y^2 bend, x / r^2, y / r^2. Derivatives: d stretch / d rho = bend / 2,
// d stretch / dz = -1 / r^2, d bend / dz = 2 / r^4.
struct Ring {
    float stretch;   // theta / s
    float bend;      // (z s / r^2 - theta) / s^3
    float bend_rho;  // d bend / d rho
    float inverse;   // 1 / r^2
};

// tan^2 theta below which series take the place of differences that cancel.
#define NEAR_AXIS 0.05f
#define SERIES_TERMS 8

__device__ __forceinline__ Ring ring_of(float x, float y, float z) {
    float rho = fmaf(x, x, y * y), inverse = 1.0f / fmaf(z, z, rho), square = rho / (z * z);
    if (z > 0.0f && square < NEAR_AXIS) {
        // theta / tan theta = sum of (-1)^k tan^(2k) / (2k + 1); bend and its derivative alike.
        float stretch = 0.0f, bend = 0.0f, bend_rho = 0.0f;
#pragma unroll
        for (int k = SERIES_TERMS; k > 0; --k) {
            float term = (k % 2 ? -1.0f : 1.0f) / (2 * k + 1), a = 2 * k * term;
            stretch = fmaf(stretch, square, term);
            bend = fmaf(bend, square, a);
            if (k > 1) bend_rho = fmaf(bend_rho, square, (k - 1) * a);
        }
        float cube = 1.0f / (z * z * z);
        return {fmaf(stretch, square, 1.0f) / z, bend * cube, bend_rho * cube / (z * z), inverse};
    }
    float s = sqrtf(rho), theta = atan2f(s, z);
    float bend = fmaf(z * s, inverse, -theta) / (rho * s);
    return {theta / s, bend, -(z * inverse * inverse + 1.5f * bend) / rho, inverse};
}

// FISHEYE's Jacobian for focal lengths of 1.
__device__ __forceinline__ Mat23 ring_jacobian(const Ring& ring, float x, float y) {
    float across = x * y * ring.bend;
    return {{{fmaf(x * x, ring.bend, ring.stretch), across, -x * ring.inverse},
             {across, fmaf(y * y, ring.bend, ring.stretch), -y * ring.inverse}}};
}

__device__ __forceinline__ Seen see(u32 model, const Intrinsics& k, Vec3 mean) {
    float at[2] = {mean.x, mean.y};
    Seen seen = {};
    if (model == FISHEYE) {
        Ring ring = ring_of(mean.x, mean.y, mean.z);
        seen.jacobian = ring_jacobian(ring, mean.x, mean.y);
#pragma unroll
        for (int axis = 0; axis < 2; ++axis) {
            seen.mean2d[axis] = fmaf(k.focal[axis] * at[axis], ring.stretch, k.centre[axis]);
#pragma unroll
            for (int j = 0; j < 3; ++j) seen.jacobian.at[axis][j] *= k.focal[axis];
        }
        return seen;
    }
    float inverse = model == PINHOLE ? 1.0f / mean.z : 1.0f;
#pragma unroll
    for (int axis = 0; axis < 2; ++axis) {
        float focal = k.focal[axis] * inverse;
        seen.mean2d[axis] = fmaf(focal, at[axis], k.centre[axis]);
        seen.jacobian.at[axis][axis] = focal;
        if (model == PINHOLE) {
            Limits limits = limits_of(k, axis);
            float tangent = fminf(limits.high, fmaxf(limits.low, at[axis] * inverse));
            seen.jacobian.at[axis][2] = -focal * tangent;
        }
    }
    return seen;
}

__device__ __forceinline__ void pinhole_backward(SeenGradient& out, const Intrinsics& k, Vec3 mean,
                                                 const float (&v_mean2d)[2], const Mat23& v_j) {
    float at[2] = {mean.x, mean.y}, inverse = 1.0f / mean.z;
#pragma unroll
    for (int axis = 0; axis < 2; ++axis) {
        float focal = k.focal[axis] * inverse, tangent = at[axis] * inverse;
        float v_pixel = v_mean2d[axis], v_shear = v_j.at[axis][2];
        float v_focal = fmaf(tangent, v_pixel, v_j.at[axis][axis] * inverse);
        out.mean[axis] = focal * v_pixel;
        out.mean[2] -= focal * v_focal;
        out.focal[axis] = v_focal;
        out.centre[axis] = v_pixel;
        // The shear is -focal tangent / z. At a limit, focal times tangent is a distance in the
        // image from the principal point, in which the focal length has no part.
        Limits limits = limits_of(k, axis);
        float limited = fminf(limits.high, fmaxf(limits.low, tangent));
        if (limited == tangent) {
            out.mean[axis] -= focal * inverse * v_shear;
            out.mean[2] += 2.0f * focal * tangent * inverse * v_shear;
            out.focal[axis] -= tangent * inverse * v_shear;
        } else {
            out.mean[2] += focal * limited * inverse * v_shear;
            out.centre[axis] += inverse * v_shear;
        }
    }
}

__device__ __forceinline__ void fisheye_backward(SeenGradient& out, const Intrinsics& k, Vec3 mean,
                                                 const float (&v_mean2d)[2], const Mat23& v_j) {
    float x = mean.x, y = mean.y, z = mean.z, at[2] = {x, y};
    Ring ring = ring_of(x, y, z);
    Mat23 unscaled = ring_jacobian(ring, x, y), g = v_j;
#pragma unroll
    for (int axis = 0; axis < 2; ++axis) {
        float v = v_mean2d[axis];
        out.centre[axis] = v;
        out.focal[axis] = v * at[axis] * ring.stretch;
#pragma unroll
        for (int j = 0; j < 3; ++j) {
            out.mean[j] = fmaf(k.focal[axis] * v, unscaled.at[axis][j], out.mean[j]);
            out.focal[axis] = fmaf(v_j.at[axis][j], unscaled.at[axis][j], out.focal[axis]);
            g.at[axis][j] *= k.focal[axis];
        }
    }
    // Gradients of what `ring_jacobian` is made of.
    float v_across = g.at[0][1] + g.at[1][0], v_stretch = g.at[0][0] + g.at[1][1];
    float v_bend = x * x * g.at[0][0] + y * y * g.at[1][1] + x * y * v_across;
    float v_inverse = -(x * g.at[0][2] + y * g.at[1][2]);
    float square = ring.inverse * ring.inverse;
    float v_rho = 0.5f * v_stretch * ring.bend + v_bend * ring.bend_rho - v_inverse * square;
    out.mean[0] += ring.bend * (2 * x * g.at[0][0] + y * v_across) - ring.inverse * g.at[0][2];
    out.mean[1] += ring.bend * (2 * y * g.at[1][1] + x * v_across) - ring.inverse * g.at[1][2];
    out.mean[0] += 2 * x * v_rho;
    out.mean[1] += 2 * y * v_rho;
    out.mean[2] += 2 * (v_bend - z * v_inverse) * square - v_stretch * ring.inverse;
}

// The gradients of `see` from those of pixel and Jacobian.
__device__ __forceinline__ SeenGradient see_backward(u32 model, const Intrinsics& k, Vec3 mean,
                                                     const float (&v_mean2d)[2], const Mat23& v_j) {
    SeenGradient out = {};
    if (model == PINHOLE) {
        pinhole_backward(out, k, mean, v_mean2d, v_j);
    } else if (model == FISHEYE) {
        fisheye_backward(out, k, mean, v_mean2d, v_j);
    } else {
        float at[2] = {mean.x, mean.y};
#pragma unroll
        for (int axis = 0; axis < 2; ++axis) {
            out.mean[axis] = k.focal[axis] * v_mean2d[axis];
            out.focal[axis] = fmaf(at[axis], v_mean2d[axis], v_j.at[axis][axis]);
            out.centre[axis] = v_mean2d[axis];
        }
    }
    return out;
}
