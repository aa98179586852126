// blend_rough, method `samples`: what blend_samples.cu leaves of a large picture, squares of 8x8 pixels, as blend_picture.cu blends them; all of a picture
// of details. Blocks ask for tiles, those with long lists first, and for the next while they have one. The warps of squares that are not wanted test splats
// with the others.
//
// Launch: blocks of four warps, seven a multiprocessor: 72 registers, 24 KB of shared memory. Bound by barriers: of fox_220k 2.5 squares of a rough tile are
// rough, and a third of the samples of the profiler wait for the tile's last warp. Times: blend_samples.cu.
// Of details, orbits of four small models and hon_sui_sen_2500k at 3840x2160, both kernels: 102, 95, 88, 112, 365 us, where blend_picture.cu takes 103, 95, 89,
// 110, 293 (the first three measured before a tile's list was told with its number, which took 6 of the fourth and 19 of the last). The last had 42 % of the
// issue slots used for 61 % before that, and was slower still, from 384, with tiles in order (435), these in eight blocks of 64 registers (443), or no lists of
// tiles at all (419).
// Tiles without splats filled before, by blend_samples: 18 to 29 more; by blocks that have the longest lists then: up to 17 more.
// The next tile's entry fetched ahead, its number asked for before the last tile is begun: 3 to 5 (11) more, of fox_220k and hon_sui_sen_2500k.

#define ROUGH_BLOCKS 7  // of a multiprocessor

// A warp writes `value`, red, green, blue and the transmittance, to all pixels of the tile at (x0, y0). A function of its own, or it would take registers of
// others.
__device__ __noinline__ void fill_tile(u32 x0, u32 y0, u32 lane, u32 width, u32 height, float4 value, float* image, float* transmittances) {
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
    blend_rough(const Splat* __restrict__ splats, const u32* __restrict__ pairs, Camera camera, Counters* counters, float* image,
                float* transmittances, const uint4* __restrict__ rough) {
    begin_kernel();
    __shared__ PictureShared shared;
    __shared__ u32 nexts[2], starts[LENGTHS + 1];  // of the lists, one behind the other
    u32 tiles = camera.tiles_x * camera.tiles_y, turn = 0;
    if (counters->halted) return;
    if (threadIdx.x <= LENGTHS) {
        u32 start = 0;
        for (u32 k = 0; k < threadIdx.x; ++k) start += counters->rough_tiles[k];
        starts[threadIdx.x] = start;
    }
    __syncthreads();
    // A block of each multiprocessor, of those that have no long list, first fills tiles without splats: writing takes as long as blending, and both at a time
    // are faster.
    u32 blocks = (gridDim.x + ROUGH_BLOCKS - 1) / ROUGH_BLOCKS, empty = counters->rough_tiles[EMPTY_LIST], behind = gridDim.x - 1 - blockIdx.x;
    if (behind < blocks) {
        for (u32 k = behind * WARPS + threadIdx.x / WARP; k < empty; k += blocks * WARPS) {
            u32 tile = rough[EMPTY_LIST * tiles + k].z, y = quotient(tile, camera.tiles_x), x = tile - y * camera.tiles_x;
            float4 value = make_float4(camera.background[0], camera.background[1], camera.background[2], 1.0f);
            fill_tile(x * TILE, y * TILE, threadIdx.x % WARP, camera.width, camera.height, value, image, transmittances);
        }
    }
    for (u32 i = blockIdx.x; i < starts[LENGTHS]; turn ^= 1) {
        // Asked for while there is work.
        u32 next = 0, list = 0;
        if (threadIdx.x == 0) next = gridDim.x + atomicAdd(&counters->rough_begun, 1);
#pragma unroll
        for (u32 step = LENGTHS / 2; step > 0; step /= 2)
            if (starts[list + step] <= i) list += step;
        uint4 entry = rough[list * tiles + i - starts[list]];
        blend_tile(shared, entry, entry.w, splats, pairs, camera, image, transmittances, nullptr);
        if (threadIdx.x == 0) nexts[turn] = next;
        // Also keeps the next tile's rows from overwriting these.
        __syncthreads();
        i = nexts[turn];
    }
}
