// colour, model `affine`: what a photo shows is A rgb + b.
//
// Contract. As the exposure compensation of INRIA's trainer (graphdeco-inria/gaussian-splatting);
// differences and reasons: splatcore-core/src/colour/affine.rs, which is also the CPU's. A photo's
// numbers and the factors are the rows of [A | b], 12 f32. Kernels: colour_kernels.cuh.
//
// Bound. Memory; 80 instructions a pixel in both large kernels.
//
// Now. 50 us for all four kernels (1080x1920, H200). History: docs/log/kernels/colour.md

#include "colour_model.cuh"

struct Model {
    enum : u32 { BLOCKS = 6, PARTS = 1, DERIVED = 0 };

    static __device__ __forceinline__ u32 numbers_of(u32) { return PHOTO_NUMBERS; }
    static __device__ __forceinline__ u32 number_of(u32, u32 place) { return place; }

    template <class Numbers, class Put>
    static __device__ __forceinline__ void factors(u32, const Numbers& photo, const Numbers&,
                                                   const Put& put) {
#pragma unroll
        for (u32 k = 0; k < FACTORS; ++k) put(k, photo[k]);
    }
    static __device__ __forceinline__ void derive(u32, float*) {}

    static __device__ __forceinline__ Rgb colour(const float* rows, Place, Rgb rgb) {
        return affine_of(rows, rgb);
    }

    static __device__ __forceinline__ Rgb backward(const float* rows, Place, Rgb rgb, Rgb by,
                                                   float* sums) {
        const float* g = by.value;
        add_affine(g, rgb, sums);
        Rgb by_rgb;
#pragma unroll
        for (u32 k = 0; k < 3; ++k)
            by_rgb.value[k] = fmaf(rows[k], g[0], fmaf(rows[4 + k], g[1], rows[8 + k] * g[2]));
        return by_rgb;
    }

    // Every operation rounds on its own (no fused multiply-add), as on the CPU.
    static __device__ Rgb background(const float* rows, Rgb rgb) {
        Rgb seen;
        for (u32 c = 0; c < 3; ++c) {
            const float* row = rows + 4 * c;
            float value = __fadd_rn(__fmul_rn(row[2], rgb.value[2]), row[3]);
            value = __fadd_rn(__fmul_rn(row[1], rgb.value[1]), value);
            seen.value[c] = __fadd_rn(__fmul_rn(row[0], rgb.value[0]), value);
        }
        return seen;
    }

    static __device__ float penalty_slope(const float*, u32) { return 0.0f; }
};

#include "colour_kernels.cuh"
