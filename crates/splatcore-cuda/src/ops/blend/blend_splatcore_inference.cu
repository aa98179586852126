// blend, method `splatcore`, of a picture that nothing is learned from. blend_splatcore_training.cu
// says how it works; training, whose backward pass repeats every fragment, keeps that one. What is
// different here:
//   the end   A warp goes on until each of its pixels has less than LEAST_LIGHT, 1/256, left. No
//             batch is done again in f32 to find the fragment behind which a pixel stops; pixels
//             whose list was not looked at to its end take what is behind for what is in front, so
//             they are off by a step of 8 bits at most, mostly by far less.
//   weights   A lane's alphas become weights with nothing in front of its four, and those are
//             multiplied by what is left in front: eight products of halves fewer a batch. What is
//             left is kept in halves, multiplied by what each batch leaves, which all four lanes of
//             a pixel know from the shuffles. The transmittance that comes out is 1 minus all that
//             was applied, in f32.
//   colours   Two pixels, one below the other, stay side by side in a half2 from their alphas to
//             the colour product, in which they are neighbours of K; B has a splat's channels in
//             four columns for the upper pixels, in four more for the lower ones (zero elsewhere).
//             Nothing is moved between halves of registers; a product is of four rows of pixels and
//             eight splats.
//   order     Tiles whose group of tiles has a long list begin first (`entries`, split_lists.cu),
//             so that none of them is what all wait for in the end.
//   pixels    A warp has 8x4 pixels, or 8x8 of a large picture (RECTANGLE_Y): less to set up, test,
//             queue and write for each pixel, more fragments that miss.
// Depth keys are shorter too (project.cu).
// CPU twin (in f32): splatcore-cpu/src/blend.rs. What may differ from it:
// splatcore-core/src/precision.rs, `LIGHT_LEFT`.
//
// Constants: RECTANGLE_Y, 4 or 8; ROW_BYTES of a splat's row of halves, 80, or 112 with DEPTH 1,
// which sums 1/z in products of its own.
//
// Launch: a block of 32 * 32 / RECTANGLE_Y threads a tile. 4 rows: 48 registers, 26 KB of shared
// memory, 5 blocks a multiprocessor; 8 rows: 64, 24 KB, 8 blocks. With depth: 64 registers, 34 KB
// and 4 blocks; 80, 32 KB and 6 blocks. Measured on an H200, fox_220k (mcmc_1m), us of the blend
// alone, each against the line before:
//   as in training                                     130 (277)
//   the end at 1/512 in place of 1e-4, nothing redone  111 (228), 72 to 74 dB against vanilla
//   eight products fewer                               predicted -7 % of the loop: 109 (223)
//   what is in front taken by predicated products      106 (220)
//   1/256                                              104 (213), 67 to 68 dB
//   8 rows                                             105 (241); at 3840x2160, from 339 (627): 312
//                                                      (623). Predicted from counts of
//                                                      instructions: 10 % less at 1080x1920, 17 %
//                                                      at 3840x2160
//   two pixels in a half2 all the way                  103 instructions a batch for 108, 183 of 8
//   rows for 203; predicted 4 less, at
//                                                      3840x2160 18 (36): 103.6 to 101.7 (211 to
//                                                      208), 303 to 283 (598 to 556), 65 to 66 dB
//   order, not of large pictures                       from the start of the first block to the end
//   of the last, 5 (5) us were spent waiting
//                                                      for the last few: predicted 4 (10) less,
//                                                      measured 2 (3); 102 to 99.8 (208.5 to 205)
// Long lists are those of more than half of the average; from a fourth on 0 (+3), from all of it on
// 0 (+3), from twice of it on +3 (+8). In the order in which groups are split +4 to +9 (+7 to +21).
// At 3840x2160: 0 to -1 and 0, and splitting takes 1 (3) longer. Other ends: 1/1024 3 us more,
// 1/8192 8 more. The large pictures' kernel with 7 or 9 blocks: 1 more, 10 blocks 10 more. 6 blocks
// of 40 registers with 4 rows: 8 more. The slot of the next piece fetched ahead: nothing. Low
// halves of the coefficients without a scale, so that they share the high ones' basis: 2 more, as
// the registers of A must lie side by side. The transmittance that comes out from the halves too: 1
// to 1.5 less, 64 dB, and pixels with next to nothing on them are off by half a thousandth.

#include "inference.cuh"

// Of a multiprocessor; that of sm_75 holds 1024 threads.
#ifndef BLOCKS
#define BLOCKS (!HAS_SM80 ? 1024 / BLOCK : RECTANGLE_Y == 4 ? (DEPTH ? 4 : 5) : (DEPTH ? 6 : 8))
#endif
extern "C" __global__ void __launch_bounds__(BLOCK, BLOCKS)
    blend(const Splat* __restrict__ splats, const u32* __restrict__ pairs,
          const uint4* __restrict__ entries, const uint2* __restrict__ ranges, Camera camera,
          Counters* counters, float* image, float* transmittances
#if DEPTH
          ,
          float* inverse_depths
#endif
    ) {
    begin_kernel();
    __shared__ PictureShared shared;
    // First of all, as everything waits for it.
    uint4 entry = make_uint4(0, 0, blockIdx.x, 0);
    if (entries) {
        entry = entries[blockIdx.x];
    } else {
        uint2 listed = list_range(ranges, blockIdx.x);
        entry.x = listed.x;
        entry.y = listed.y;
    }
    // A halted frame's image is not looked at; leaving here would have the entry wait for the
    // answer.
    if (counters->halted) entry = make_uint4(0, 0, blockIdx.x, 0);
#if !DEPTH
    float* inverse_depths = nullptr;
#endif
    blend_tile(shared, entry, FULL_MASK, splats, pairs, camera, image, transmittances,
               inverse_depths);
}
