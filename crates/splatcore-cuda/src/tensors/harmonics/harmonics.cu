// harmonics, harmonics_backward: colours from spherical harmonics (gsplat's spherical_harmonics),
// and the gradients.
//
// Contract. colors[n][d] = sum over the first FUNCTIONS coefficients of function times coefficient,
// at the direction divided by its length (a direction of length 0 stays). Rows that the mask leaves
// out, and coefficients above the degree, get zeros, of gradients too. With `as_colors`, colors are
// max(sum + 1/2, 0), through which no gradient goes where they are 0. Constant: DEGREE.
//
// Launch. Blocks of BLOCK threads: a thread a value in the forward pass, BLOCK rows a block in the
// backward pass.
//
// Bound. Memory: 4 FUNCTIONS D bytes in a row, as many out in the backward pass.
//
// Now. 17 us, backward 55 us, for fox_220k (degree 3) on an H100 (docs/results/python.md). History:
// docs/log/python.md.

#include "harmonics.cuh"

// Parameters of `harmonics`; in Rust by the same name.
struct HarmonicsParams {
    const float* dirs;       // [n][3]
    ReadOnly<float> coeffs;  // [n][K][D]
    const u8* masks;         // [n] or null
    u32 count;               // n
    u32 coefficients;        // K, FUNCTIONS at least
    u32 channels;            // D
    u32 as_colors;
    float* colors;  // [n][D]
};

// Parameters of `harmonics_backward`; in Rust by the same name.
struct HarmonicsBackwardParams {
    const float* dirs;         // [n][3]
    ReadOnly<float> coeffs;    // [n][K][D]
    const u8* masks;           // [n] or null
    const float* colors;       // [n][D], made with `as_colors`, or null
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
    u64 value = (u64)blockIdx.x * BLOCK + threadIdx.x, channels = args.channels;
    if (value >= args.count * channels) return;
    u64 row = value / channels;
    float sum = 0.0f;
    if (!args.masks || args.masks[row]) {
        float basis[FUNCTIONS];
        Vec3 dir = load_vec3(args.dirs + 3 * row);
        float inverse = inverse_length(dir);
        basis_at({dir.x * inverse, dir.y * inverse, dir.z * inverse}, basis);
        const float* coeffs = args.coeffs + row * args.coefficients * channels + value % channels;
#pragma unroll
        for (u32 k = 0; k < FUNCTIONS; ++k) sum = fmaf(basis[k], __ldg(coeffs + k * channels), sum);
    }
    args.colors[value] = args.as_colors ? fmaxf(sum + 0.5f, 0.0f) : sum;
}

extern "C" __global__ void __launch_bounds__(BLOCK)
    harmonics_backward(const __grid_constant__ HarmonicsBackwardParams args) {
    begin_kernel();
    // The functions at each row's direction, then the sums over channels of coefficient times
    // v_colors. An odd pitch spreads rows over the banks.
    __shared__ float values[BLOCK][FUNCTIONS | 1];
    const u64 first = (u64)blockIdx.x * BLOCK, own = first + threadIdx.x;
    const u32 channels = args.channels, coefficients = args.coefficients;
    float inverse = 0.0f;
    Vec3 u = {0, 0, 0};
    if (own < args.count) {
        Vec3 dir = load_vec3(args.dirs + 3 * own);
        inverse = inverse_length(dir);
        u = {dir.x * inverse, dir.y * inverse, dir.z * inverse};
        float basis[FUNCTIONS];
        basis_at(u, basis);
#pragma unroll
        for (u32 k = 0; k < FUNCTIONS; ++k) values[threadIdx.x][k] = basis[k];
    }
    __syncthreads();
    // A thread a coefficient, so that neighbours write what lies side by side.
    const u32 rows = (u32)min((u64)BLOCK, args.count - first);
    for (u32 i = threadIdx.x; i < rows * coefficients; i += BLOCK) {
        u32 row = i / coefficients, k = i % coefficients;
        u64 n = first + row, place = (n * coefficients + k) * channels;
        bool is_used = k < FUNCTIONS && (!args.masks || args.masks[n]);
        float basis = k < FUNCTIONS ? values[row][k] : 0.0f, sum = 0.0f;
        for (u32 d = 0; d < channels; ++d) {
            u64 value = n * channels + d;
            bool is_passed = is_used && (!args.colors || args.colors[value] > 0.0f);
            float v = is_passed ? args.v_colors[value] : 0.0f;
            args.v_coeffs[place + d] = basis * v;
            if (is_used && args.v_dirs) sum = fmaf(args.coeffs[place + d], v, sum);
        }
        if (k < FUNCTIONS) values[row][k] = sum;
    }
    if (!args.v_dirs) return;
    __syncthreads();
    if (own >= args.count) return;
    float w[FUNCTIONS];
#pragma unroll
    for (u32 k = 0; k < FUNCTIONS; ++k) w[k] = values[threadIdx.x][k];
    // Of the unit direction, less its part along the direction.
    Vec3 v = basis_gradient(u, w);
    float along = v.x * u.x + v.y * u.y + v.z * u.z;
    args.v_dirs[3 * own] = (v.x - along * u.x) * inverse;
    args.v_dirs[3 * own + 1] = (v.y - along * u.y) * inverse;
    args.v_dirs[3 * own + 2] = (v.z - along * u.z) * inverse;
}
