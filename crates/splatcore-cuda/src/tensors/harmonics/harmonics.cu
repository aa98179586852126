// harmonics, harmonics_backward: colours from spherical harmonics (gsplat's spherical_harmonics),
// and the gradients.
//
// Contract. colors[n][d] = sum over the first FUNCTIONS coefficients of function times coefficient,
// at the direction divided by its length (a direction of length 0 stays). Rows that the mask leaves
// out, and coefficients above the degree, get zeros, of gradients too. Constant: DEGREE.
//
// Launch. A thread a row, blocks of BLOCK.
//
// Bound. Memory: 4 FUNCTIONS D bytes in a row, as many out in the backward pass.
//
// Now. Not measured.

#include "harmonics.cuh"

// Parameters of `harmonics`; in Rust by the same name.
struct HarmonicsParams {
    const float* dirs;       // [n][3]
    ReadOnly<float> coeffs;  // [n][K][D]
    const u8* masks;         // [n] or null
    u32 count;               // n
    u32 coefficients;        // K, FUNCTIONS at least
    u32 channels;            // D
    float* colors;           // [n][D]
};

// Parameters of `harmonics_backward`; in Rust by the same name.
struct HarmonicsBackwardParams {
    const float* dirs;         // [n][3]
    ReadOnly<float> coeffs;    // [n][K][D]
    const u8* masks;           // [n] or null
    ReadOnly<float> v_colors;  // [n][D]
    u32 count;                 // n
    u32 coefficients;          // K, FUNCTIONS at least
    u32 channels;              // D
    float* v_coeffs;           // [n][K][D]
    float* v_dirs;             // [n][3] or null
};

// 1 / the length of a vector, 0 for none.
__device__ __forceinline__ float inverse_length(Vec3 v) {
    float square = fmaf(v.x, v.x, fmaf(v.y, v.y, v.z * v.z));
    return square == 0.0f ? 0.0f : 1.0f / sqrtf(square);
}

extern "C" __global__ void __launch_bounds__(BLOCK)
    harmonics(const __grid_constant__ HarmonicsParams args) {
    begin_kernel();
    u64 row = (u64)blockIdx.x * BLOCK + threadIdx.x, channels = args.channels;
    if (row >= args.count) return;
    bool is_used = !args.masks || args.masks[row];
    float basis[FUNCTIONS] = {};
    if (is_used) {
        Vec3 dir = load_vec3(args.dirs + 3 * row);
        float inverse = inverse_length(dir);
        basis_at({dir.x * inverse, dir.y * inverse, dir.z * inverse}, basis);
    }
    for (u32 d = 0; d < channels; ++d) {
        float sum = 0.0f;
        const float* coeffs = args.coeffs + row * args.coefficients * channels + d;
        if (is_used) {
#pragma unroll
            for (u32 k = 0; k < FUNCTIONS; ++k)
                sum = fmaf(basis[k], __ldg(coeffs + k * channels), sum);
        }
        args.colors[row * channels + d] = sum;
    }
}

extern "C" __global__ void __launch_bounds__(BLOCK)
    harmonics_backward(const __grid_constant__ HarmonicsBackwardParams args) {
    begin_kernel();
    u64 row = (u64)blockIdx.x * BLOCK + threadIdx.x, channels = args.channels;
    if (row >= args.count) return;
    bool is_used = !args.masks || args.masks[row];
    Vec3 dir = load_vec3(args.dirs + 3 * row);
    float inverse = inverse_length(dir);
    Vec3 u = {dir.x * inverse, dir.y * inverse, dir.z * inverse};
    float basis[FUNCTIONS] = {}, w[FUNCTIONS] = {};
    if (is_used) basis_at(u, basis);
    for (u32 d = 0; d < channels; ++d) {
        float v = is_used ? args.v_colors[row * channels + d] : 0.0f;
#pragma unroll
        for (u32 k = 0; k < FUNCTIONS; ++k) {
            u64 place = (row * args.coefficients + k) * channels + d;
            args.v_coeffs[place] = basis[k] * v;
            if (is_used && args.v_dirs) w[k] = fmaf(args.coeffs[place], v, w[k]);
        }
        for (u32 k = FUNCTIONS; k < args.coefficients; ++k)
            args.v_coeffs[(row * args.coefficients + k) * channels + d] = 0.0f;
    }
    if (!args.v_dirs) return;
    // Of the unit direction, less its part along the direction.
    Vec3 v = basis_gradient(u, w);
    float along = v.x * u.x + v.y * u.y + v.z * u.z;
    args.v_dirs[3 * row] = (v.x - along * u.x) * inverse;
    args.v_dirs[3 * row + 1] = (v.y - along * u.y) * inverse;
    args.v_dirs[3 * row + 2] = (v.z - along * u.z) * inverse;
}
