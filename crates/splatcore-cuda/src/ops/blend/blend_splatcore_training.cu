// blend, method `splatcore`, training; inference has blend_splatcore_inference.cu.
//
// Contract. As blend_scalar.cu, with the same inputs, outputs and shapes. A list is of a 16x16
// tile. A warp owns 8x4 pixels of it, queues the splats that reach its rectangle and blends them
// 16 at a time: docs/methods/splatcore.md, equations 1 to 4. Twin (f32):
// splatcore-cpu/src/blend.rs. With TENSORS inputs and outputs are those of halves.cuh.
//   scores (1): 4 m16n8k16. K = 8 + 8: a high and a low half of each coefficient; two of each 8
//   are unused, but for one that takes the alphas of stopped pixels to 0.
//   weights (2, 3): halves, two pixels of a splat in a register. A lane has four splats that are
//   neighbours in depth for each of four pixels (the rows of B are permuted for that); two
//   shuffles scan over a pixel's four lanes (training_weights.cuh).
//   colours (4): B is (r, -1, g, -1, b, -1, 0, -1) of 16 splats. The columns of -1 take the
//   weights off the transmittance in f32, in every lane, so errors of halves do not build up in
//   it.
//
// Launch. A block of 256 threads (8 warps) a tile, 48 registers, 18 KB of shared memory, 5 blocks
// a multiprocessor (sm_75: 64 and 4). 256 splats of the list at a time are rows of 24 halves (16
// of coefficients, 8 of colour), which ldmatrix gathers by address: the queue is a list of
// offsets.
//
// Bound. No single unit; 77 % of the issue slots are used. Of the warps' time 45 % is in the loop
// over batches (116 instructions), 16 % at barriers, 12 % in set-up, 10 % in tests. 87 M warp
// instructions a view of fox_220k, 33 M of them outside of batches.
//
// Now. 134 us for fox_220k at 1080x1920 on an H200. History: docs/log/kernels/blend-splatcore.md.

#include "blend.cuh"
#include "training_weights.cuh"
#if TENSORS
#include "halves.cuh"
typedef BlendTensorsParams Params;
#else
typedef BlendParams Params;
#endif

// Blends 16 splats. Returns true if all pixels have stopped.
__device__ __forceinline__ bool blend_batch(Pixels& pixels, const uint4* rows, u32 row,
                                            u32 colour_row, u32 lane, u32 alpha_max) {
    u32 colours[2], in_front[2];
    load_matrix_x2_transposed_at(colours, rows, colour_row);
    return weigh_batch(
        pixels, rows, row, lane, alpha_max, in_front, [](const u32(&)[2][4], const u32(&)[2]) {},
        [&](int f, const u32* weights) {
            mma_m16n8k16(pixels.sums[f], weights, colours, pixels.sums[f]);
        });
}

#if !TENSORS
// Numbers the full parts of the tile's list. Returns the first number. By one thread.
__device__ __forceinline__ u32 number_parts(u32* bucket_tiles, u32 parts) {
    u32 first = atomicAdd(bucket_tiles, parts);
    bucket_tiles[first_part(blockIdx.x)] = first;
#pragma unroll 1
    for (u32 k = 0; k < parts; ++k) bucket_tiles[tile_of_part(gridDim.x, first + k)] = blockIdx.x;
    return first;
}

// Leaves the state of the lane's pixels behind a part.
__device__ __forceinline__ void leave_state(const Params& args, const Pixels& pixels, u32 part) {
    // Read anew: with what follows from it the loop over the list would hold too many registers.
    u32 thread = thread_anew();
    float4 state = make_float4(pixels.sums[0][0], pixels.sums[0][2], pixels.sums[1][0],
                               pixels.sums[1][2]);  // the lane's channel
    if (thread % 4 == 3)
        state = make_float4(pixels.sums[0][1], pixels.sums[0][3], pixels.sums[1][1],
                            pixels.sums[1][3]);  // transmittance
    args.checkpoints[(u64)part * BLOCK + thread] = state;
    if (thread == 0) args.bucket_tiles[tile_of_part(gridDim.x, part)] = blockIdx.x | IS_LEFT;
}
#endif

// A multiprocessor of sm_75 holds 1024 threads; if more were asked for, the compiler would not
// limit registers at all.
#if TENSORS
// Writes a lane's channel of its pixels (x, y0) to (x, y0 + 3); the fourth lane of a pixel writes
// alphas too.
__device__ __forceinline__ void write_images(const Params& args, const Pixels& pixels, u32 image,
                                             u32 x, u32 y0, u32 member) {
    const Camera& camera = args.lists.camera;
    u64 area = (u64)camera.width * camera.height, at = (u64)y0 * camera.width + x;
    u64 pixel = image * area + at;
    bool has_channel = member < TENSORS;
    u64 row = (u64)TENSORS * image + member;
    float background = has_channel && args.backgrounds ? args.backgrounds[row] : 0.0f;
    float unit = inverse_unit(channel_unit(args.lists, member));
    float* plane = has_channel && args.planes ? args.planes + row * area + at : nullptr;
#pragma unroll
    for (u32 k = 0; k < 4; ++k) {
        if (y0 + k >= camera.height) return;
        float transmittance = transmittance_of(pixels.sums[k / 2][k % 2 * 2 + 1]);
        float value = fmaf(transmittance, background, unit * pixels.sums[k / 2][k % 2 * 2]);
        if (has_channel) args.render_colors[TENSORS * (pixel + k * camera.width) + member] = value;
        if (plane) plane[k * camera.width] = value;
        if (member == 3) args.render_alphas[pixel + k * camera.width] = 1.0f - transmittance;
    }
}
#endif

extern "C" __global__ void __launch_bounds__(BLOCK, HAS_SM80 ? 5 : 4)
    blend(const __grid_constant__ Params args) {
    begin_kernel();
    __shared__ uint4 rows[(BLOCK + 1) * (ROW_BYTES / 16)];  // one more, which blends to nothing,
                                                            // fills up the last batch
    __shared__ __align__(8) u8 masks[BLOCK];  // bit w: the splat reaches warp w's pixels
    __shared__ u16 survivors[BLOCK / WARP][BLOCK + BATCH];  // offsets of their rows, front to back
#if TENSORS
    const TensorTile tile = tensor_tile(args.lists);
    const Camera& camera = args.lists.camera;
    uint2 range = tile.range;
    u32 thread = threadIdx.x, lane = thread % WARP, warp = thread / WARP;
    u32 block_x = tile.x, block_y = tile.y;
#else
    const Camera& camera = args.camera;
    // The first load, as all that follows depends on it.
    uint2 range = list_range(args.ranges, blockIdx.x);
    u32 thread = threadIdx.x, lane = thread % WARP, warp = thread / WARP;
    u32 blocks_x = (camera.width + COLUMNS * RECTANGLE_X - 1) / (COLUMNS * RECTANGLE_X);
    u32 block_y = quotient(blockIdx.x, blocks_x), block_x = blockIdx.x - block_y * blocks_x;
    block_x *= COLUMNS * RECTANGLE_X;
    block_y *= ROWS * RECTANGLE_Y;
#endif
    u32 x0 = block_x + warp % COLUMNS * RECTANGLE_X, y0 = block_y + warp / COLUMNS * RECTANGLE_Y;
    float centre_x = block_x + 0.5f * COLUMNS * RECTANGLE_X,
          centre_y = block_y + 0.5f * ROWS * RECTANGLE_Y;
#if !TENSORS
    // A frame that overflowed is discarded. No early return: it would put the load
    // of the flag in front of the load of the range.
    if (args.counters->overflowed) range.y = range.x;
#endif
    u32 alpha_max = kept_alpha_max(camera);

    Pixels pixels;
    u32 x = x0 + lane / 4, member = lane % 4;
    start_pixels(pixels, x, y0, member, camera, block_x, block_y);
    if (thread == 0) write_empty_row(rows + BLOCK * (ROW_BYTES / 16));

    // The splats whose addresses this lane gives to ldmatrix: column lane % 8 of product lane / 16
    // (coefficients), lane / 8 (colours).
    u32 column = lane % 8 / 2 * 4 + lane % 2;
    // Offsets in bytes from the start of `survivors`: an address of 64 bits would cost an addition
    // at every batch.
    u32 own_survivors = sizeof(u16) * (warp * (BLOCK + BATCH) + column + lane / 16 * 2);
    u32 colour_survivors = sizeof(u16) * (warp * (BLOCK + BATCH) + column + lane / 8 % 2 * 2);
    auto survivor = [&](u32 at) { return *(const u16*)((const u8*)survivors + at); };
#if !TENSORS
    __shared__ u32 first_number;  // of the tile's full parts
    if (args.checkpoints && range.y - range.x >= PART && thread == 0)
        first_number = number_parts(args.bucket_tiles, (range.y - range.x) / PART);
#endif
    for (u32 begin = range.x; begin < range.y; begin += BLOCK) {
        // This barrier also keeps the next part of the list from overwriting this one.
        if (begin != range.x && __syncthreads_and(pixels.finished)) break;
#if !TENSORS
        if (args.checkpoints && begin != range.x && (begin - range.x) % PART == 0)
            leave_state(args, pixels, first_number + (begin - range.x) / PART - 1);
#endif
        u32 mask = 0;
        if (begin + thread < range.y) {
#if TENSORS
            ReadOnly<float4> from =
                splat_row(args.lists.splats, args.lists.flatten_ids[begin + thread]);
#else
            ReadOnly<float4> from = splat_of_pair(args, args.pairs[begin + thread]);
#endif
            float4 mean2d = from[0], conic = from[1], colour = from[2];
            bool fits = write_row(rows + thread * (ROW_BYTES / 16), mean2d, conic, colour, centre_x,
                                  centre_y);
            mask = fits ? touched_rectangles(mean2d, conic, block_x, block_y) : 0;
        }
        masks[thread] = (u8)mask;
        __syncthreads();
        if (pixels.finished) continue;
        u32 count = queue_survivors(masks, survivors[warp], warp, lane);
        for (u32 at = 0; at < sizeof(u16) * count; at += sizeof(u16) * BATCH) {
            u32 row = survivor(own_survivors + at) + lane / 8 % 2 * 16,
                colour_row = survivor(colour_survivors + at) + 32;
            if (blend_batch(pixels, rows, row, colour_row, lane, alpha_max)) break;
        }
        __syncwarp();
    }
    if (x >= camera.width) return;
#if TENSORS
    write_images(args, pixels, tile.image, x, y0, member);
#else
    u64 plane = camera.width * camera.height;
    float* out =
        (member < 3 ? args.image + member * plane : args.transmittances) + (y0 * camera.width + x);
    // The fourth lane of a pixel sums nothing, so with a background of 1 it writes the
    // transmittance.
    float background = member == 0   ? camera.background[0]
                       : member == 1 ? camera.background[1]
                       : member == 2 ? camera.background[2]
                                     : 1.0f;
#pragma unroll
    for (int k = 0; k < 4; ++k) {
        float channel = pixels.sums[k / 2][k % 2 * 2],
              transmittance = transmittance_of(pixels.sums[k / 2][k % 2 * 2 + 1]);
        if (y0 + k < camera.height) *out = fmaf(transmittance, background, channel);
        out += camera.width;
    }
#endif
}
