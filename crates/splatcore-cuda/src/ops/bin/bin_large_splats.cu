// deal_far: the pairs of the splats that `project` leaves to it, those that touch groups beyond 2x2
// of them, dealt as bin.cuh says; and a list of the work of sort_bins.cu. CPU twin of both:
// splatcore-cpu/src/intersect.rs.
//
// A block has FAR_ENTRIES entries of the queue, each of up to FAR_ROWS rows of groups of a splat; a
// thread has a row. Large splats are many entries, so blocks have as many rows, whatever is near
// the camera. The last block that has counted its pairs knows how long every list is: it lists the
// parts of long ones and then the others.
//
// Launch: blocks of 256 threads, as many as there were entries for in earlier frames; 40 registers,
// 10 KB. Bound by latency: entry, splat, counting, atomics, writing wait for one another; 4.6 M
// instructions (fox_mcmc_1m 12 M), 43 % of the issue slots. Prediction for an H200: 8 us (mcmc_1m
// 12). Measured: 26 (94) with 64 splats a block, whatever their rows; 14.5 (34) with FAR_ROWS rows
// an entry; with the list of items 21 to 23 (41 to 44). A fence behind all that a block writes, in
// place of one behind its counts: 2 more.
//
// Constants: as bin.cuh; FAR_ROWS; ROOM and SHARE as sort_bins.cu.

#include "bin.cuh"
#include "block_scan.cuh"

#define FAR_ENTRIES (BLOCK / FAR_ROWS)
#define OWN_GROUPS (MOST_GROUPS / BLOCK)

#ifndef AT_ONCE
#define AT_ONCE 4  // atomics of a thread
#endif
#define SUMS (GROUP == 2 ? 4 : 3)

// Groups one after the other, row by row, and how many of their tiles lie in the image.
struct Place {
    u32 row, column;
    __device__ __forceinline__ Place(u32 group, u32 columns)
        : row(group / columns), column(group % columns) {}
    __device__ __forceinline__ void step(u32 columns) {
        if (++column == columns) {
            column = 0;
            ++row;
        }
    }
    __device__ __forceinline__ u32 width(const Camera& camera) const {
        return min(camera.tiles_x - GROUP * column, (u32)GROUP);
    }
    __device__ __forceinline__ u32 height(const Camera& camera) const {
        return min(camera.tiles_y - GROUP * row, (u32)GROUP);
    }
};

// Lists the parts of long lists, then the others: (group, part and the number of parts, pairs of
// the list, pairs of the lists before it).
__device__ __forceinline__ void list_items(const u32* group_counts, u32 groups, u32 room,
                                           u32 capacity, u32 queue_room, const Camera& camera,
                                           Counters* counters, uint4* items, void* places) {
    __shared__ u32 scratch[SUMS][BLOCK / WARP], most[BLOCK / WARP];
    u32 thread = threadIdx.x, lane = thread % WARP, warp = thread / WARP, longest = 0;
    u32 far = counters->far, own[OWN_GROUPS], sums[SUMS] = {}, totals[SUMS];
    u32 columns = (camera.tiles_x + GROUP - 1) / GROUP;
    Place place(thread * OWN_GROUPS, columns);
    auto parts_of = [](u32 n) { return n > ROOM ? (n + SHARE - 1) / SHARE : 0; };
#pragma unroll
    for (u32 k = 0; k < OWN_GROUPS; ++k) {
        u32 group = thread * OWN_GROUPS + k;
        own[k] = group < groups ? observe(group_counts + group) : 0;
    }
#pragma unroll
    for (u32 k = 0; k < OWN_GROUPS; ++k) {
        sums[0] += own[k];
        sums[1] += parts_of(own[k]);
        sums[2] += own[k] > 0 && own[k] <= ROOM;
        if (GROUP == 2 && own[k] == 0 && thread * OWN_GROUPS + k < groups)
            sums[SUMS - 1] += place.width(camera) * place.height(camera);
        place.step(columns);
        longest = max(longest, own[k]);
    }
    for (u32 offset = 16; offset > 0; offset /= 2)
        longest = max(longest, __shfl_xor_sync(FULL_MASK, longest, offset));
    if (lane == 0) most[warp] = longest;
    block_scans(sums, scratch, totals);
    for (u32 w = 0; w < BLOCK / WARP; ++w) longest = max(longest, most[w]);
    bool fits = longest <= room && totals[0] <= capacity && far <= queue_room;
    if (thread == 0) {
        counters->pairs = totals[0];
        counters->items = totals[1] + totals[2];
        counters->needed = max(counters->needed, (u64)totals[0]);
        counters->longest = max(counters->longest, longest);
        counters->most_far = max(counters->most_far, far);
        if (!fits) counters->halted = 1;
    }
    if (!fits) return;
    u32 before = sums[0], next_part = sums[1], next = totals[1] + sums[2], empty = sums[SUMS - 1],
        tiles = camera.tiles_x * camera.tiles_y;
    if (GROUP == 2 && thread == 0) counters->lasts = totals[SUMS - 1];
    place = Place(thread * OWN_GROUPS, columns);
#pragma unroll
    for (u32 k = 0; k < OWN_GROUPS; ++k) {
        u32 group = thread * OWN_GROUPS + k, n = own[k], parts = parts_of(n);
        for (u32 part = 0; part < parts; ++part)
            items[next_part++] = make_uint4(group, part | parts << 16, n, before);
        if (n > 0 && parts == 0) items[next++] = make_uint4(group, 1u << 16, n, before);
        // Tiles without pairs have no item; they are blended last.
        for (u32 t = 0; GROUP == 2 && n == 0 && group < groups && t < GROUP_TILES; ++t) {
            if (t % GROUP >= place.width(camera) || t / GROUP >= place.height(camera)) continue;
            u32 tile =
                (GROUP * place.row + t / GROUP) * camera.tiles_x + GROUP * place.column + t % GROUP;
            ((uint4*)places)[tiles - 1 - empty++] = make_uint4(0, 0, tile, 0);
        }
        place.step(columns);
        before += n;
    }
}

// Whether all other blocks have counted their pairs before. A thread's work, behind a barrier
// behind the block's counting.
__device__ __forceinline__ bool is_last_to_count(Counters* counters) {
    __threadfence();
    bool is_last = atomicAdd(&counters->ended, 1u) + 1 == gridDim.x;
    if (is_last) __threadfence();
    return is_last;
}

// `queue`: slots, the bits of their depths, the first row of groups and one past the last.
// `places`: where the tiles' lists are.
extern "C" __global__ void __launch_bounds__(BLOCK, 6)
    deal_far(const Splat* __restrict__ splats, const uint4* __restrict__ queue, u32 queue_room,
             Camera camera, u32* group_counts, u64* pairs, u16* masks, u32 room, u32 groups,
             u32 capacity, Counters* counters, uint4* items, void* places) {
    begin_kernel();
    __shared__ Dealing dealing;
    __shared__ bool is_last;
    DealtPairs to = {pairs, masks, room};
    u32 thread = threadIdx.x, groups_x = (camera.tiles_x + GROUP - 1) / GROUP,
        count = min(counters->far, queue_room);
    if (blockIdx.x * FAR_ENTRIES < count) {
        for (u32 k = thread; k < MOST_GROUPS / 2; k += BLOCK) dealing.words[k] = 0;
        if (thread == 0) dealing.touched_groups = 0;
        __syncthreads();
    }
    for (u32 first = blockIdx.x * FAR_ENTRIES; first < count; first += gridDim.x * FAR_ENTRIES) {
        u32 at = first + thread / FAR_ROWS;
        // Whether there is one is known as late as this.
        uint4 entry = at < queue_room ? queue[at] : make_uint4(0, 0, 0, 0);
        if (at >= count) entry.z = entry.w = 0;
        u32 row_number = entry.z + thread % FAR_ROWS;
        Row row = {};
        uint2 span = make_uint2(0, 0);
        if (row_number < entry.w) {
            Footprint footprint = make_footprint(splats[entry.x]);
            row = make_row(footprint, footprint_rows(footprint, camera), row_number, camera);
            span = groups_of(row);
        }
        u32 group = row.row * groups_x;
        for (u32 column = span.x; column < span.y; ++column) count_pair(dealing, group + column);
        __syncthreads();
        reserve_places<BLOCK, AT_ONCE>(dealing, group_counts, thread);
        __syncthreads();
        // What is listed are counts: nobody need wait for what is written now.
        bool is_done = first + gridDim.x * FAR_ENTRIES >= count;
        if (is_done && thread == 0) is_last = is_last_to_count(counters);
        for (u32 column = span.x; column < span.y; ++column)
            write_dealt(to, group + column, next_place(dealing, group + column), entry.y, entry.x,
                        mask_of(row, column));
        __syncthreads();
        if (is_done) break;
        for (u32 t = thread; t < dealing.touched_groups; t += BLOCK)
            dealing.counts[dealing.touched[t]] = 0;
        __syncthreads();
        if (thread == 0) dealing.touched_groups = 0;
        __syncthreads();
    }
    if (blockIdx.x * FAR_ENTRIES >= count) {
        if (thread == 0) is_last = is_last_to_count(counters);
        __syncthreads();
    }
    if (is_last)
        list_items(group_counts, groups, room, capacity, queue_room, camera, counters, items,
                   places);
}
