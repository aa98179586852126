// sort: stable least-significant-digit radix sort of (u32 key, u32 value) pairs, one kernel a digit (Adinets and
// Merrill 2022, "Onesweep"): a block ranks its keys, finds its place by decoupled look-back, one thread a digit value,
// and writes runs of equal digits coalesced. A first kernel counts the digits of all passes.
//
// Keys NO_KEY are left out: the first pass reads all slots of the input (no count), the later ones what is left.
// The number of pairs is on the device: blocks take pieces of BLOCK * ITEMS keys by ticket until none is left, so a launch
// need not fit the number, and a piece's predecessors are always at work already.
// Constants: ITEMS keys a thread: 8, or 4 for small inputs, which then occupy more of the card.
//
// Launch: a few blocks of 256 threads an SM.
// Bound by memory for large inputs: 16 bytes a pair and pass, plus 8 for counting; by latency (about 5 us a pass) for small
// ones.
// Prediction on an H200: 1.4 M pairs, two passes and the count, 20 us; 220 k depths, four passes, 30 us. Measured together:
// 119 us (fox_220k), 253 us (mcmc_1m); a pass over 220 k keys takes 10 us, at 12 % occupancy, and 4 keys a thread instead
// of 8 did not help.

#define BLOCK 256
#define WARPS (BLOCK / WARP)
#define TILE_ITEMS (BLOCK * ITEMS)
#define DIGITS 256
#define PASSES 4
#define WINDOW 3

// Digit p is bits [8 p, 8 p + 8) of the key.
__device__ __forceinline__ u32 digit_of(u32 key, u32 pass) { return (key >> (8 * pass)) & (DIGITS - 1); }

// histograms[pass][digit], zero at launch.
extern "C" __global__ void __launch_bounds__(BLOCK) count_digits(const u32* __restrict__ keys, const u32* count,
                                                                  u32 capacity, u32 passes, u32* histograms) {
    __shared__ u32 local[PASSES * DIGITS];
    for (u32 k = threadIdx.x; k < PASSES * DIGITS; k += BLOCK) local[k] = 0;
    __syncthreads();
    u32 n = count ? min(*count, capacity) : capacity;
    for (u32 i = blockIdx.x * BLOCK + threadIdx.x; i < n; i += gridDim.x * BLOCK) {
        u32 key = keys[i];
        if (key == NO_KEY) continue;
        for (u32 pass = 0; pass < passes; ++pass) atomicAdd(&local[pass * DIGITS + digit_of(key, pass)], 1u);
    }
    __syncthreads();
    for (u32 k = threadIdx.x; k < passes * DIGITS; k += BLOCK)
        if (local[k]) atomicAdd(&histograms[k], local[k]);
}

// states[piece][digit] and the ticket behind the histograms, zero at launch.
extern "C" __global__ void __launch_bounds__(BLOCK) sort_digit(
    const u32* __restrict__ keys_in, const u32* __restrict__ values_in, u32* keys_out, u32* values_out, const u32* count,
    u32 capacity, u32 pass, u32* histograms, u32* states) {
    __shared__ u32 warp_histograms[WARPS][DIGITS];  // counts, then where the warp's run of a digit starts in the block
    __shared__ u32 starts[DIGITS];                  // global place of the block's run of a digit, minus its local place
    __shared__ u32 scan[WARPS];
    __shared__ u32 block_keys[TILE_ITEMS], block_values[TILE_ITEMS];
    __shared__ u32 ticket, present;
    u32 n = count ? min(*count, capacity) : capacity;
    u32 thread = threadIdx.x, lane = thread % WARP, warp = thread / WARP;
    for (;;) {
        if (thread == 0) ticket = atomicAdd(&histograms[PASSES * DIGITS + pass], 1u);
        __syncthreads();
        u32 piece = ticket;
        u64 first = (u64)piece * TILE_ITEMS;
        if (first >= n) return;
        for (u32 w = 0; w < WARPS; ++w) warp_histograms[w][thread] = 0;
        __syncthreads();

        // Rank within the warp, in the order item, then lane, which is the order of the input.
        u32 key[ITEMS], value[ITEMS], rank[ITEMS];
        u32 at = (u32)first + warp * WARP * ITEMS + lane;
#pragma unroll
        for (int k = 0; k < ITEMS; ++k) {
            bool valid = at + k * WARP < n;
            key[k] = valid ? keys_in[at + k * WARP] : NO_KEY;
            value[k] = valid ? values_in[at + k * WARP] : 0;
        }
#pragma unroll
        for (int k = 0; k < ITEMS; ++k) {
            bool is_present = key[k] != NO_KEY;
            u32 digit = digit_of(key[k], pass);
            u32 peers = __match_any_sync(FULL_MASK, is_present ? digit : DIGITS);
            u32 before = warp_histograms[warp][digit];
            rank[k] = before + __popc(peers & ((1u << lane) - 1));
            __syncwarp();
            if (is_present && (u32)__ffs(peers) - 1 == lane) warp_histograms[warp][digit] = before + __popc(peers);
            __syncwarp();
        }
        __syncthreads();

        // One thread a digit: scan over warps, look back, publish.
        u32 digit = thread, total = 0;
        for (int w = 0; w < WARPS; ++w) {
            u32 c = warp_histograms[w][digit];
            warp_histograms[w][digit] = total;
            total += c;
        }
        u32 block_before = warp_scan(total, lane);  // over digits, inclusive within the warp
        u32 pass_count = histograms[pass * DIGITS + digit];
        u32 all_before = warp_scan(pass_count, lane);
        if (lane == WARP - 1) scan[warp] = block_before;
        __syncthreads();
        for (u32 w = 0; w < warp; ++w) block_before += scan[w];
        block_before -= total;
        __syncthreads();
        if (lane == WARP - 1) scan[warp] = all_before;
        __syncthreads();
        for (u32 w = 0; w < warp; ++w) all_before += scan[w];
        all_before -= pass_count;
        for (int w = 0; w < WARPS; ++w) warp_histograms[w][digit] += block_before;

        u32* own = states + (u64)piece * DIGITS + digit;
        u32 earlier = 0;
        if (piece == 0) {
            publish(own, STATE_PREFIX | total);
        } else {
            publish(own, STATE_OWN | total);
            // WINDOW pieces at a time: reading them one after another costs the latency of each.
            for (int at = (int)piece - 1; at >= 0;) {
                u32 seen[WINDOW];
#pragma unroll
                for (int k = 0; k < WINDOW; ++k)
                    seen[k] = at >= k ? observe(states + (u64)(at - k) * DIGITS + digit) : STATE_PREFIX;
                bool found = false, waiting = false;
#pragma unroll
                for (int k = 0; k < WINDOW; ++k) {
                    waiting = waiting || seen[k] == 0;
                    if (found || waiting) continue;
                    earlier += seen[k] & STATE_VALUE;
                    found = (seen[k] & STATE_PREFIX) != 0;
                    --at;
                }
                if (found) break;
            }
            publish(own, STATE_PREFIX | (earlier + total));
        }
        starts[digit] = all_before + earlier - block_before;
        if (digit == DIGITS - 1) present = block_before + total;
        __syncthreads();

#pragma unroll
        for (int k = 0; k < ITEMS; ++k) {
            if (key[k] == NO_KEY) continue;
            u32 place = warp_histograms[warp][digit_of(key[k], pass)] + rank[k];
            block_keys[place] = key[k];
            block_values[place] = value[k];
        }
        __syncthreads();
        for (u32 k = thread; k < present; k += BLOCK) {
            u32 to = starts[digit_of(block_keys[k], pass)] + k;
            keys_out[to] = block_keys[k];
            values_out[to] = block_values[k];
        }
        // The next piece overwrites what this one reads.
        __syncthreads();
    }
}
