// blend, methods `gemm-gs` and `gemm-gs-32` to `-512` (GEMM-GS, Li et al., DAC 2026).
//
// Contract. As blend_scalar.cu, with the same inputs, outputs and shapes, but the exponents of a
// batch of Gaussians at a tile's 256 pixels are one matrix product in halves, summed in f32
// (sections 3.2 and 3.3, equations 6 to 8, algorithm 2): M_power = M_g M_p. M_p has the columns
// (x^2, y^2, x y, x, y, 1), pixels relative to the tile's centre (equation 4). M_g has the rows
// (a, c, b, 2 a X + b Y, 2 c Y + b X, a X^2 + b X Y + c Y^2), the Gaussian at (X, Y) relative to
// it. Two more columns hold log2 opacity as a high and a low half, so the product is log2 alpha. A
// coefficient is off by at most 2^-11 of itself.
//   BATCH, 32 to 512: Gaussians of a batch. COUNT as in blend_scalar.cu.
//
// Launch. A block of 256 threads a tile (section 3.4). 58 registers (48 for batches of 32, 64 for
// 512), 4 blocks a multiprocessor; 72 bytes of shared memory for each Gaussian of a batch and 8
// KB: 26 KB for 256.
//
// Bound. Instructions, then exp2 and shared memory. A Gaussian that no pixel of the warp keeps
// takes 7.5 instructions, one that some pixel keeps 12 more: 1.9 and 3 clocks of a multiprocessor
// to issue, 2 of exp2, 2 of shared memory (sm_90).
//
// Now. 258 us for fox_220k at 1080x1920 with `exact` and batches of 256 on an H200. History:
// docs/log/kernels/blend-gemm-gs.md.

#include "blend.cuh"
#include "matrix.cuh"

#define MINI_BATCH 16
// Gaussians of a batch that one thread prepares.
#define SHARE ((BATCH + BLOCK - 1) / BLOCK)
// The constant term of a row that fills up a mini-batch and blends to nothing.
#define NOTHING -60000.0f

// The pixel's row of M_p, two columns to each of four lanes. Halves hold it exactly, as
// coordinates are odd multiples of 1/2; it is the same everywhere, so a lane keeps its part in
// four registers and reads nothing from global memory.
__device__ __forceinline__ u32 basis(float x, float y, u32 member) {
    float low = member == 0 ? x * x : member == 1 ? x * y : member == 2 ? y : 1.0f;
    float high = member == 0 ? y * y : member == 1 ? x : 1.0f;
    return pack_half2(low, high);
}

// A Gaussian's row of M_g for a tile with this centre. If the tile lies far from the Gaussian, a
// half overflows: first the constant term, to minus infinity, since the linear terms are at most
// 3.2 times its square root. The product is then minus infinity, or not-a-number where the linear
// terms overflow too; neither is blended.
__device__ __forceinline__ uint4 coefficients_of(float4 mean, float4 conic, float centre_x,
                                                 float centre_y) {
    float x = mean.x - centre_x, y = mean.y - centre_y;
    float a = conic.x, b = conic.y, c = conic.z, log2_opacity = mean.z;
    float constant = fmaf(fmaf(a, x, b * y), x, c * y * y);
    u32 opacity = pack_half2(log2_opacity, 0.0f);
    return make_uint4(pack_half2(a, c), pack_half2(b, fmaf(2.0f * a, x, b * y)),
                      pack_half2(fmaf(2.0f * c, y, b * x), constant),
                      pack_half2(log2_opacity, log2_opacity - half_low(opacity)));
}

extern "C" __global__ void __launch_bounds__(BLOCK)
    blend(const __grid_constant__ BlendParams args) {
    begin_kernel();
    __shared__ u32 indices[2][BATCH];
    __shared__ uint4 rows[2][BATCH];  // of M_g, 8 halves each
    __shared__ float4 colours[2][BATCH];
    // Half a mini-batch of M_power for each warp: 8 floats a pixel, in two pieces that change
    // places every four pixels, so that neither the stores nor the loads have bank conflicts.
    __shared__ float4 powers[BLOCK * 2];
    if (args.counters->overflowed) return;
    u32 thread = threadIdx.x, lane = thread % WARP;
    u32 tile = blockIdx.x;
    u32 tile_x = tile % args.camera.tiles_x * TILE, tile_y = tile / args.camera.tiles_x * TILE;
    u32 x = tile_x + thread % TILE, y = tile_y + thread / TILE;
    bool inside = x < args.camera.width && y < args.camera.height;
    float centre_x = tile_x + TILE / 2, centre_y = tile_y + TILE / 2;
    uint2 range = list_range(args.ranges, tile);
    u32 batches = (range.y - range.x + BATCH - 1) / BATCH;

    // The warp's 32 pixels are two rows of the tile: two factors of 16 pixels.
    u32 group = lane / 4, member = lane % 4;
    u32 pixels[2][2];
    for (u32 row = 0; row < 2; ++row)
        for (u32 half = 0; half < 2; ++half) {
            // As in the paper, the vector points from the pixel to the centre.
            float to_x = TILE / 2 - 0.5f - (float)(group + 8 * half);
            float to_y = TILE / 2 - 0.5f - (float)(thread / WARP * 2 + row);
            pixels[row][half] = basis(to_x, to_y, member);
        }
    float4* here = powers + thread / WARP * WARP * 2;
    float2* write = (float2*)(here + group * 2 + ((member / 2) ^ (group / 4))) + member % 2;
    const float4* read = here + lane * 2;
    u32 swapped = lane / 4 % 2;

    auto copy_indices = [&](u32 batch) {
        for (u32 share = 0; share < SHARE; ++share) {
            u32 k = thread + share * BLOCK, at = range.x + batch * BATCH + k;
            if (k < BATCH && at < range.y) copy_async_4(&indices[batch % 2][k], args.pairs + at);
        }
        copy_async_commit();
    };
    // A thread reads only indices that it copied itself, so it waits for its copies and needs no
    // barrier.
    float4 means[SHARE], shapes[SHARE], colour[SHARE];
    auto fetch = [&](u32 batch) {
        for (u32 share = 0; share < SHARE; ++share) {
            u32 k = thread + share * BLOCK, at = range.x + batch * BATCH + k;
            if (k < BATCH && at < range.y) {
                ReadOnly<float4> from = splat_of_pair(args, indices[batch % 2][k]);
                means[share] = from[0];
                shapes[share] = from[1];
                colour[share] = from[2];
            }
        }
    };
    auto construct = [&](u32 batch) {
        for (u32 share = 0; share < SHARE; ++share) {
            u32 k = thread + share * BLOCK, at = range.x + batch * BATCH + k;
            if (k >= BATCH) continue;
            // Rows that blend to nothing fill up the last mini-batch.
            uint4 row = make_uint4(0, 0, pack_half2(0.0f, NOTHING), 0);
            if (at < range.y) {
                row = coefficients_of(means[share], shapes[share], centre_x, centre_y);
                colours[batch % 2][k] = colour[share];
            }
            rows[batch % 2][k] = row;
        }
    };

    float transmittance = 1.0f, red = 0.0f, green = 0.0f, blue = 0.0f;
    // The least alpha that is blended: infinite once the pixel has stopped.
    const float never = __uint_as_float(0x7f800000u);
    float least = inside ? ALPHA_MIN : never;
#if COUNT
    u32 evaluated = 0, blended = 0;
#endif
    // Three stages, each a batch ahead of the next, with two buffers for each result: asynchronous
    // copies bring a batch's indices to shared memory; a thread fetches one Gaussian and makes its
    // row of M_g (threads beyond BATCH have none, which costs the small batches of the paper's
    // figure 7); a warp multiplies 16 rows with its 32 pixels, brings the exponents to their
    // pixels' lanes through shared memory of its own, and blends. One barrier a batch.
    if (batches > 0) {
        copy_indices(0);
        copy_indices(1);
        copy_async_wait<1>();
        fetch(0);
        construct(0);
    }
    for (u32 batch = 0; batch < batches; ++batch) {
        // This barrier also keeps the next rows from overwriting rows that a slower warp still
        // multiplies.
        if (__syncthreads_and(least == never)) break;
        copy_async_wait<0>();
        fetch(batch + 1);
        copy_indices(batch + 2);
        u32 size = min(range.y - range.x - batch * BATCH, (u32)BATCH);
#pragma unroll 2
        for (u32 first = 0; first < size; first += MINI_BATCH) {
            if (__all_sync(FULL_MASK, least == never)) break;
            u32 gaussians[2];
            load_matrix_x2(gaussians, &rows[batch % 2][first + lane % MINI_BATCH]);
            for (u32 half = 0; half < 2; ++half) {
                const float zero[4] = {0.0f, 0.0f, 0.0f, 0.0f};
                float upper[4], lower[4];
                mma_m16n8k8(upper, pixels[0], gaussians[half], zero);
                mma_m16n8k8(lower, pixels[1], gaussians[half], zero);
                __syncwarp();
                write[0] = make_float2(upper[0], upper[1]);
                write[32] = make_float2(upper[2], upper[3]);
                write[64] = make_float2(lower[0], lower[1]);
                write[96] = make_float2(lower[2], lower[3]);
                __syncwarp();
                float4 near = read[swapped], far = read[1 - swapped];
                float exponents[8] = {near.x, near.y, near.z, near.w, far.x, far.y, far.z, far.w};
                const float4* behind = &colours[batch % 2][first + 8 * half];
#pragma unroll
                for (u32 k = 0; k < 8; ++k) {
                    float alpha = exp2_approx(exponents[k]);
#if COUNT
                    if (least != never && first + 8 * half + k < size) ++evaluated;
#endif
                    // Comparisons with not-a-number are false: such a fragment is not blended.
                    bool counts = alpha >= least;
                    if (!__any_sync(FULL_MASK, counts)) continue;
                    alpha = fminf(counts ? alpha : 0.0f, args.camera.alpha_max);
                    float next = fmaf(-alpha, transmittance, transmittance);
                    bool stops = next < TRANSMITTANCE_MIN;
#if COUNT
                    if (counts && !stops) ++blended;
#endif
                    if (stops) least = never;
                    float weight = stops ? 0.0f : alpha * transmittance;
                    float4 colour = behind[k];
                    red = fmaf(weight, colour.x, red);
                    green = fmaf(weight, colour.y, green);
                    blue = fmaf(weight, colour.z, blue);
                    if (!stops) transmittance = next;
                }
            }
        }
        if (batch + 1 < batches) construct(batch + 1);
    }
#if COUNT
    add_fragments(args.counters, evaluated, blended, lane);
#else
    if (inside) {
        u32 at = y * args.camera.width + x;
        write_pixel(args, at, transmittance, red, green, blue);
    }
#endif
}
