// blend_rough, method `samples`: what blend_samples.cu leaves of a large picture, squares of 8x8 pixels, as blend_picture.cu blends them; all of a picture of
// details. Blocks ask for tiles, those with long lists first, and for the next while they have one. The warps of squares that are not wanted test splats with the others.
//
// Launch: blocks of four warps, seven a multiprocessor: 72 registers, 24 KB of shared memory. Bound by barriers: of fox_220k 2.5 squares of a rough tile are
// rough, and a quarter of the samples of the profiler wait for the tile's last warp. Times: blend_samples.cu.

#define ROUGH_BLOCKS 7  // of a multiprocessor

extern "C" __global__ void __launch_bounds__(BLOCK, ROUGH_BLOCKS)
    blend_rough(const Splat* __restrict__ splats, const u32* __restrict__ pairs, const uint2* __restrict__ ranges, Camera camera, Counters* counters,
                float* image, float* transmittances, const u32* __restrict__ rough) {
    begin_kernel();
    __shared__ PictureShared shared;
    __shared__ u32 nexts[2];
    u32 tiles = camera.tiles_x * camera.tiles_y, firsts = counters->firsts, count = firsts + counters->lasts, turn = 0;
    bool has_samples = is_smooth(counters);
    if (!has_samples) count = tiles;
    if (counters->halted) count = 0;
    for (u32 i = blockIdx.x; i < count; turn ^= 1) {
        // Asked for while there is work.
        u32 next = 0;
        if (threadIdx.x == 0) next = gridDim.x + atomicAdd(&counters->rough_begun, 1);
        u32 tile = i, squares = ALL_SQUARES;
        if (has_samples) {
            u32 listed = rough[i < firsts ? i : tiles - 1 - (i - firsts)];
            tile = listed / (ALL_SQUARES + 1);
            squares = listed % (ALL_SQUARES + 1);
        }
        uint2 range = list_range(ranges, tile);
        blend_tile(shared, make_uint4(range.x, range.y, tile, 0), squares, splats, pairs, camera, image, transmittances, nullptr);
        if (threadIdx.x == 0) nexts[turn] = next;
        // Also keeps the next tile's rows from overwriting these.
        __syncthreads();
        i = nexts[turn];
    }
}
