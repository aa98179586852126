// photo: what a step learns from, made of the photo that is kept. Each side divided (training from
// coarse to fine): every pixel is the mean of the area that it covers, and counts if all that it
// covers counts. Photos with alpha, which are kept on black, are put on the step's background: rgb
// + (1 - alpha) colour, after the photo's own transform of colours where there is one. CPU twin,
// the same bytes: splatcore_core::{Photo::{reduced, on}, exposure::of_colour}.
//
// Launch: one thread a pixel of the result, blocks of 256; only in steps that need it. Made anew in
// every step rather than kept: a half and a quarter of every photo would take a third more memory,
// and photos that come through the ring would need theirs too.
//
// Bound by memory and latency. Prediction for 1080x1920 on an H200: 6.2 MB read and 1.6 (a half) or
// 0.4 (a quarter) written are 1.8 us, with the launch and the scattered bytes 4 to 5 us; full size
// on a background 14.5 MB, 5 us. Measured:
//
// Sizes and sums are those of 64 bits where a side is no multiple of the result's: slower, 20 us.

#include "splat.cuh"

// The pixels first..last of a side of `from` pixels that pixel `x` of a side of `to` covers, each
// by share(j) / to.
struct Covered {
    u64 start, end, to;
    u32 first, last;
    __device__ __forceinline__ Covered(u32 from, u32 to_, u32 x) {
        start = (u64)x * from;
        end = start + from;
        to = to_;
        first = (u32)(start / to);
        last = (u32)((end - 1) / to);
    }
    __device__ __forceinline__ u64 share(u32 j) const {
        u64 high = (u64)(j + 1) * to, low = (u64)j * to;
        return (high < end ? high : end) - (low > start ? low : start);
    }
};

// rgb, alpha (0 to 255) and whether the pixel counts.
struct Pixel {
    u32 value[4];
    bool counts;
};

// The pixel at (x, y) of a photo of width x height reduced to to_width x to_height; alpha and mask
// may be none.
__device__ __forceinline__ Pixel reduced(const u8* __restrict__ rgb, const u8* __restrict__ alpha,
                                         const u8* __restrict__ mask, u32 width, u32 height,
                                         u32 to_width, u32 to_height, u32 x, u32 y) {
    Pixel pixel = {{0, 0, 0, 0}, true};
    u32 side_x = width / to_width, side_y = height / to_height;
    if (side_x * to_width == width && side_y * to_height == height) {
        for (u32 j = 0; j < side_y; ++j)
            for (u32 i = 0; i < side_x; ++i) {
                u64 at = (u64)(y * side_y + j) * width + (x * side_x + i);
                for (int c = 0; c < 3; ++c) pixel.value[c] += rgb[3 * at + c];
                if (alpha) pixel.value[3] += alpha[at];
                if (mask) pixel.counts = pixel.counts && mask[at];
            }
        u32 area = side_x * side_y;
        for (int c = 0; c < 4; ++c) pixel.value[c] = (2 * pixel.value[c] + area) / (2 * area);
        return pixel;
    }
    Covered columns(width, to_width, x), rows(height, to_height, y);
    u64 sums[4] = {}, area = (u64)width * height;
    for (u32 j = rows.first; j <= rows.last; ++j)
        for (u32 i = columns.first; i <= columns.last; ++i) {
            u64 at = (u64)j * width + i, share = rows.share(j) * columns.share(i);
            for (int c = 0; c < 3; ++c) sums[c] += share * rgb[3 * at + c];
            if (alpha) sums[3] += share * alpha[at];
            if (mask) pixel.counts = pixel.counts && mask[at];
        }
    for (int c = 0; c < 4; ++c) pixel.value[c] = (u32)((2 * sums[c] + area) / (2 * area));
    return pixel;
}

struct Colour {
    float value[3];
};

// The background's channel c in 8 bits. A transform is the rows of [A | b]; every operation rounds,
// as on the CPU.
__device__ __forceinline__ u32 behind(const Colour& background, const float* __restrict__ exposure,
                                      int c) {
    float value = background.value[c];
    if (exposure) {
        const float* row = exposure + 4 * c;
        value = __fadd_rn(__fmul_rn(row[2], background.value[2]), row[3]);
        value = __fadd_rn(__fmul_rn(row[1], background.value[1]), value);
        value = __fadd_rn(__fmul_rn(row[0], background.value[0]), value);
    }
    return (u32)__fadd_rn(__fmul_rn(fminf(fmaxf(value, 0.0f), 1.0f), 255.0f), 0.5f);
}

// Writes rgb_out, and mask_out if there is a mask.
extern "C" __global__ void __launch_bounds__(256)
    photo(const u8* __restrict__ rgb, const u8* __restrict__ alpha, const u8* __restrict__ mask,
          u32 width, u32 height, u32 to_width, u32 to_height, Colour background,
          const float* __restrict__ exposure, u8* __restrict__ rgb_out, u8* __restrict__ mask_out) {
    begin_kernel();
    u32 at = blockIdx.x * blockDim.x + threadIdx.x;
    if (at >= to_width * to_height) return;
    Pixel pixel =
        reduced(rgb, alpha, mask, width, height, to_width, to_height, at % to_width, at / to_width);
    for (int c = 0; c < 3; ++c) {
        u32 value = pixel.value[c];
        if (alpha)
            value =
                min(value + ((255 - pixel.value[3]) * behind(background, exposure, c) + 127) / 255,
                    255u);
        rgb_out[3ull * at + c] = (u8)value;
    }
    if (mask) mask_out[at] = pixel.counts;
}
