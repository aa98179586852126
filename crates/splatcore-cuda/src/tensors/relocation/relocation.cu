// relocation: opacities and scales of Gaussians that are split into equal copies at one place ("3D
// Gaussian Splatting as Markov Chain Monte Carlo", Kheradmand et al. 2024, equation 9).
//
// Contract. With r = ratios[i] copies, new opacity p = 1 - (1 - o)^(1/r), and scales times o / sum
// over k = 1 .. r and j = 0 .. k - 1 of binom(k - 1, j) (-1)^j p^(j + 1) / sqrt(j + 1). A Gaussian
// of opacity 0 keeps its scales, the limit. Ratios are taken into 1 .. n_max.
//
// Launch. A thread a Gaussian, blocks of BLOCK.
//
// Bound. Latency of r^2 / 2 terms, in double precision, as terms of opposite signs cancel.
//
// Now. Not measured.

#include "device.cuh"

// Parameters of `relocation`; in Rust by the same name.
struct RelocationParams {
    ReadOnly<float> opacities;  // [n]
    ReadOnly<float> scales;     // [n][3]
    ReadOnly<int> ratios;       // [n]
    ReadOnly<float> binoms;     // [n_max][n_max]
    int n_max;
    u32 count;             // n
    float* new_opacities;  // [n]
    float* new_scales;     // [n][3]
};

extern "C" __global__ void __launch_bounds__(BLOCK)
    relocation(const __grid_constant__ RelocationParams args) {
    begin_kernel();
    u64 i = (u64)blockIdx.x * BLOCK + threadIdx.x;
    if (i >= args.count) return;
    int copies = max(1, min(args.ratios[i], args.n_max));
    float opacity = args.opacities[i];
    float each = -expm1f(log1pf(-opacity) / (float)copies);
    double sum = 0.0;
    for (int k = 0; k < copies; ++k) {
        double power = each;
        for (int j = 0; j <= k; ++j) {
            sum += args.binoms[k * args.n_max + j] * power / sqrtf((float)(j + 1));
            power *= -each;
        }
    }
    float factor = sum == 0.0 ? 1.0f : (float)(opacity / sum);
    args.new_opacities[i] = each;
    for (int axis = 0; axis < 3; ++axis)
        args.new_scales[3 * i + axis] = factor * args.scales[3 * i + axis];
}
