// photo: the image that a step learns from, made of the stored photo.
//
// Contract. Input: `rgb` [height * width][3], `alpha` and `mask` [height * width], u8, the last two
// possibly null. Output: `rgb_out` [to_height * to_width][3], `mask_out` [to_height * to_width] if
// there is a mask. With a smaller size (coarse-to-fine training) each pixel is the mean of the area
// that it covers, and counts if all of this area counts. Photos with alpha, which are stored on
// black, are put on the step's background: rgb + (1 - alpha) colour, where colour first passes
// through the photo's colour model, if any. CPU twin, equal in every byte:
// splatcore_core::Photo::{reduced, on}.
//
// Launch. One thread a pixel of the result, blocks of 256; only in steps that need it. Every step
// makes its image anew: a half and a quarter of every photo would take a third more memory, and
// photos that the host streams to the card would need theirs too.
//
// Bound. Memory and latency: 6.2 MB read, 1.6 (half) or 0.4 (quarter) written at 1080x1920, 1.8 us.
//
// Now. Not measured; predicted 4 to 5 us, 20 us where a side is no multiple of the result's and
// sums have 64 bits (1080x1920, H200). History: docs/log/kernels/colour.md

#include "splat.cuh"

// The pixels `first` to `last` of a side of `from` pixels that pixel `x` of a side of `to` pixels
// covers; pixel j is covered by share(j) / to.
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

// The pixel at (x, y) of a photo of width x height reduced to to_width x to_height. `alpha` and
// `mask` may be null.
__device__ __forceinline__ Pixel reduced(ReadOnly<u8> rgb, ReadOnly<u8> alpha, ReadOnly<u8> mask,
                                         u32 width, u32 height, u32 to_width, u32 to_height, u32 x,
                                         u32 y) {
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

// Channel c of the background in 8 bits: what the photo's colour model makes of it, or without one
// as it is. Every operation rounds on its own (no fused multiply-add), as on the CPU.
__device__ __forceinline__ u32 behind(const Colour& background, ReadOnly<float> seen, int c) {
    const float value = seen ? seen[c] : background.value[c];
    return (u32)__fadd_rn(__fmul_rn(fminf(fmaxf(value, 0.0f), 1.0f), 255.0f), 0.5f);
}

// Writes rgb_out, and mask_out if `mask` is not null.
// Parameters of `photo`; in Rust by the same name.
struct PhotoParams {
    ReadOnly<u8> rgb;
    ReadOnly<u8> alpha;
    ReadOnly<u8> mask;  // 8 bits, [height][width], or null
    u32 width;          // pixels
    u32 height;         // pixels
    u32 to_width;
    u32 to_height;
    Colour background;
    ReadOnly<float> behind;  // what the colour model makes of the background, or null
    u8* rgb_out;
    u8* mask_out;
};
extern "C" __global__ void __launch_bounds__(BLOCK)
    photo(const __grid_constant__ PhotoParams args) {
    begin_kernel();
    u32 at = blockIdx.x * BLOCK + threadIdx.x;
    if (at >= args.to_width * args.to_height) return;
    Pixel pixel = reduced(args.rgb, args.alpha, args.mask, args.width, args.height, args.to_width,
                          args.to_height, at % args.to_width, at / args.to_width);
    for (int c = 0; c < 3; ++c) {
        u32 value = pixel.value[c];
        if (args.alpha)
            value = min(
                value +
                    ((255 - pixel.value[3]) * behind(args.background, args.behind, c) + 127) / 255,
                255u);
        args.rgb_out[3ull * at + c] = (u8)value;
    }
    if (args.mask) args.mask_out[at] = pixel.counts;
}
