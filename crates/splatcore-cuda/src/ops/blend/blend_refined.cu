// blend_rough, method `samples`: what blend_interpolated.cu leaves of a large picture, squares of
// 8x8 pixels, as blend_splatcore_inference.cu blends them; all of a picture of details. Blocks ask
// for tiles, those with long lists first. The warps of squares that are not wanted test splats with
// the others.
//
// Launch: blocks of four warps, seven a multiprocessor: 72 registers, 24 KB of shared memory. Bound
// by barriers: of fox_220k 2.5 squares of a rough tile are rough, and a third of the samples of the
// profiler wait for the tile's last warp. Times: blend_interpolated.cu. Of details, orbits of four
// small models and hon_sui_sen_2500k at 3840x2160, us of both kernels: 107, 83, 85, 78, 299, where
// blend_splatcore_inference.cu takes 110, 103, 95, 88, 293. Blocks asked for the next tile while
// they had one, and those that fill had one of their own from the start, which waited for them. For
// hon_sui_sen_2500k it was predicted that a block for each tile, as blend_splatcore_inference.cu
// has them, is 65 us less: 365 to 305 with as many blocks as there were tiles left, but 112 to 117
// for the first model. Measured then, with blocks that ask when they are done, and fill first or
// blend first:
//   112, 98, 91, 88, 365 to the above; fox_220k 205 to 201, mcmc_1m 404 to 394
//   asked ahead as long as there are more tiles than blocks, the rest as now: 114, 93, -, 77, 367;
//   fox_220k 206. Why asking ahead costs that is not known. So, for twice as many tiles as blocks,
//   113, 93, -, 77, 368, and with half as many blocks that fill 111, 120, -, 118, 367 eight blocks
//   of 64 registers: 111, 90, 90, 78, -; 205 and 403 three for two blocks that fill 109, 85, 88,
//   72, -; twice as many 110, 87, 89, 74, -; three times 114, 92, 95, 81, -
// Before that, of the last model, for 384: tiles in order 435, eight blocks 443, no lists of tiles
// at all 419. Tiles without splats filled by blend_samples: 18 to 29 more. The next tile's entry
// fetched ahead, its number asked for before the last tile is begun: 3 to 5 (11) more, of fox_220k
// and hon_sui_sen_2500k.

#include "inference.cuh"

#define ROUGH_BLOCKS 7  // of a multiprocessor

// A warp writes `value`, red, green, blue and the transmittance, to all pixels of the tile at (x0,
// y0). A function of its own, or it would take registers of others.
__device__ __noinline__ void fill_tile(u32 x0, u32 y0, u32 lane, u32 width, u32 height,
                                       float4 value, float* image, float* transmittances) {
    u32 plane = width * height, x = x0 + lane % 4 * 4, end = min(x + 4, width);
    bool is_aligned = width % 4 == 0;
    auto write = [&](float* row, float value) {
        if (is_aligned && x < end) *(float4*)(row + x) = make_float4(value, value, value, value);
        if (is_aligned) return;
#pragma unroll 1
        for (u32 at = x; at < end; ++at) row[at] = value;
    };
#pragma unroll 1
    for (u32 y = y0 + lane / 4; y < min(y0 + TILE, height); y += WARP / 4) {
        float* row = image + y * width;
        write(row, value.x);
        write(row + plane, value.y);
        write(row + 2 * plane, value.z);
        write(transmittances + y * width, value.w);
    }
}

extern "C" __global__ void __launch_bounds__(BLOCK, ROUGH_BLOCKS)
    blend_rough(const Splat* __restrict__ splats, const u32* __restrict__ pairs, Camera camera,
                Counters* counters, float* image, float* transmittances,
                const uint4* __restrict__ rough) {
    begin_kernel();
    __shared__ PictureShared shared;
    __shared__ u32 nexts[2], starts[LENGTHS + 1];  // of the lists, one behind the other
    if (counters->halted) return;
    if (threadIdx.x <= LENGTHS) {
        u32 start = 0;
        for (u32 k = 0; k < threadIdx.x; ++k) start += counters->rough_tiles[k];
        starts[threadIdx.x] = start;
    }
    // A block of each multiprocessor fills tiles without splats before it asks for others: writing
    // takes as long as blending, and both at a time are faster.
    u32 tiles = camera.tiles_x * camera.tiles_y, empty = counters->rough_tiles[EMPTY_LIST];
    u32 fillers = empty ? (gridDim.x + ROUGH_BLOCKS - 1) / ROUGH_BLOCKS : 0,
        others = gridDim.x - fillers;
    if (blockIdx.x >= others) {
        for (u32 k = (blockIdx.x - others) * WARPS + threadIdx.x / WARP; k < empty;
             k += fillers * WARPS) {
            u32 tile = rough[EMPTY_LIST * tiles + k].z, y = quotient(tile, camera.tiles_x),
                x = tile - y * camera.tiles_x;
            float4 value =
                make_float4(camera.background[0], camera.background[1], camera.background[2], 1.0f);
            fill_tile(x * TILE, y * TILE, threadIdx.x % WARP, camera.width, camera.height, value,
                      image, transmittances);
        }
    }
    auto ask = [&] { return others + atomicAdd(&counters->rough_begun, 1); };
    if (threadIdx.x == 0) nexts[0] = blockIdx.x < others ? blockIdx.x : ask();
    __syncthreads();
    for (u32 i = nexts[0], turn = 1; i < starts[LENGTHS]; turn ^= 1) {
        u32 list = 0;
#pragma unroll
        for (u32 step = LENGTHS / 2; step > 0; step /= 2)
            if (starts[list + step] <= i) list += step;
        uint4 entry = rough[list * tiles + i - starts[list]];
        blend_tile(shared, entry, entry.w, splats, pairs, camera, image, transmittances, nullptr);
        if (threadIdx.x == 0) nexts[turn] = ask();
        // Also keeps the next tile's rows from overwriting these.
        __syncthreads();
        i = nexts[turn];
    }
}
