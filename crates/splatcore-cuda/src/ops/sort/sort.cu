// sort: stable least-significant-digit radix sort of (u32 key, u32 value) pairs.
//
// Contract. Sorts `keys_in` and `values_in` ([capacity]) by key ("Onesweep", Adinets and Merrill
// 2022). The number of pairs is on the device (`count`; null: `capacity`). Pairs with the key
// NO_KEY are left out. count_digits counts the digits of all passes; sort_digit, once a pass,
// ranks the keys of its piece (block), finds their place by decoupled look-back, one sum for each
// digit value, and writes runs of equal digits coalesced. The last pass writes each list's range
// to `ranges` if asked.
//   BITS of a digit, PASSES, LARGE, WINDOW pieces that a look-back reads at once: chosen by
//   mod.rs. EAGER: the first loads do not wait for the count. COPIES of count_digits'
//   histogram.
//   TICKETS 1 numbers pieces by a counter, which adds its latency. TICKETS 0, like `expand`, relies
//   on blocks beginning in the order of blockIdx, so that a piece's predecessors already run.
//
// Launch. count_digits 512 threads, sort_digit 256; the grid covers the capacity, and blocks
// beyond the count end at once. Shared memory of sort_digit: the warps' counts, 16 * 2^BITS bytes,
// which the sorted piece, 2048 * ITEMS bytes, replaces; and 4 * 2^BITS. On sm_90 with 8 bits and 8
// keys a thread 64 registers, 17.5 KB, 4 blocks a multiprocessor; 16 keys: 80 (12 spilled), 34 KB,
// 3. count_digits: 24 registers; 16 KB for 4 passes of 8 bits.
//
// Bound. Latency for small inputs: look-back takes t rounds of 0.6 us for WINDOW t^2 / 2 pieces.
// Memory for large ones: 16 bytes a pair and pass, 4 for counting.
//
// Now. About 30 us for 220 k depths of 27 bits, 3 passes of 9 bits and the count, on an H200.
// History: docs/log/kernels/sort.md.

#include "matrix.cuh"
#include "splat.cuh"

#ifndef TICKETS
#define TICKETS 0
#endif
// The first loads do not wait for the number of pairs, and blocks beyond it load in vain. Pays for
// depths, where nearly all of the capacity is in use.
#ifndef EAGER
#define EAGER (PASSES > 2)
#endif
// Threads of sort_digit, and keys of a thread: with LARGE 1 there are pieces enough, and larger
// ones cost less.
#define BLOCK 256       // tune: 128 256 512; when BLOCK * ITEMS_LARGE <= 4096
#define ITEMS_SMALL 8   // tune: 1 2 4 8 12 16; when BLOCK * ITEMS_SMALL <= 4096
#define ITEMS_LARGE 16  // tune: 8 12 16 20
// Blocks of sort_digit that fit a multiprocessor.
#define BLOCKS_SMALL 4  // tune: 2 3 4 5; when BLOCK * BLOCKS_SMALL <= 1024
#define BLOCKS_LARGE 3  // tune: 1 2 3 4; when BLOCK * BLOCKS_LARGE <= 1024
// Threads of count_digits, and keys of a thread at a time.
#define COUNT_BLOCK 512  // tune: 128 256 512 1024
#define COUNT_ITEMS 4    // tune: 1 2 4 8
#define ITEMS (LARGE ? ITEMS_LARGE : ITEMS_SMALL)
#define WARPS (BLOCK / WARP)
#define PIECE (BLOCK * ITEMS)
#define DIGITS (1u << BITS)
// Neighbouring digits of a thread, in scans and look-backs. If there are more threads than digits,
// the last threads have none.
#define OWNED (DIGITS > BLOCK ? DIGITS / BLOCK : 1)
// States are read and written four at a time.
#if BITS >= 10 && !defined(EMULATED)
#define FOURS 1
#else
#define FOURS 0
#endif
#ifndef BLOCKS
#define BLOCKS (OWNED > 2 ? 1 : LARGE ? BLOCKS_LARGE : BLOCKS_SMALL)
#endif
#ifndef COPIES
#define COPIES (PASSES * DIGITS <= 2048 ? 4 : PASSES * DIGITS <= 6144 ? 2 : 1)
#endif

// Digit p is bits [BITS p, BITS p + BITS) of the key.
__device__ __forceinline__ u32 digit_of(u32 key, u32 pass) {
    return (key >> (BITS * pass)) & (DIGITS - 1);
}

// histograms[pass][digit], zero at launch, and behind them a ticket for each pass. Sets the states
// of the pieces of this input to 0, which may be far fewer than there is room for.
// Parameters of `count_digits`; in Rust by the same name.
struct CountDigitsParams {
    ReadOnly<u32> keys;
    const u32* count;  // number of pairs, on the device
    u32 capacity;      // room for pairs
    u32* histograms;   // [PASSES][1 << BITS], then tickets
    u32* states;       // of the look-back, zeroed
};
extern "C" __global__ void __launch_bounds__(COUNT_BLOCK)
    count_digits(const __grid_constant__ CountDigitsParams args) {
    begin_kernel();
    // The high digits of depths are nearly all equal, so lanes count in COPIES of a bin, which lie
    // in different banks.
    __shared__ u32 local[PASSES * DIGITS][COPIES];
    u32 thread = threadIdx.x, stride = gridDim.x * COUNT_BLOCK,
        from = blockIdx.x * COUNT_BLOCK + thread;
    u32 n = args.count ? min(*args.count, args.capacity) : args.capacity;
    for (u32 k = thread; k < PASSES * DIGITS * COPIES; k += COUNT_BLOCK)
        local[k / COPIES][k % COPIES] = 0;
    u64 words = (u64)((n + PIECE - 1) / PIECE) * (PASSES * DIGITS);
    for (u64 k = from; k < words; k += stride) args.states[k] = 0;
    __syncthreads();
    for (u64 first = from; first < n; first += (u64)COUNT_ITEMS * stride) {
        u32 key[COUNT_ITEMS];
#pragma unroll
        for (int k = 0; k < COUNT_ITEMS; ++k) {
            u64 at = first + (u64)k * stride;
            key[k] = at < n ? args.keys[at] : NO_KEY;
        }
#pragma unroll
        for (int k = 0; k < COUNT_ITEMS; ++k) {
            if (key[k] == NO_KEY) continue;
            for (u32 pass = 0; pass < PASSES; ++pass)
                atomicAdd(&local[pass * DIGITS + digit_of(key[k], pass)][thread % COPIES], 1u);
        }
    }
    __syncthreads();
    for (u32 k = thread; k < PASSES * DIGITS; k += COUNT_BLOCK) {
        u32 sum = 0;
        for (u32 c = 0; c < COPIES; ++c) sum += local[k][c];
        if (sum) atomicAdd(&args.histograms[k], sum);
    }
}

// The states of a thread's digits. Each word has its kind in its top bits, so the order of the
// loads does not matter.
__device__ __forceinline__ void observe_states(const u32* states, u32 seen[OWNED]) {
#if FOURS
#pragma unroll
    for (int d = 0; d < OWNED; d += 4)
        asm volatile("ld.relaxed.gpu.global.v4.u32 {%0, %1, %2, %3}, [%4];"
                     : "=r"(seen[d]), "=r"(seen[d + 1]), "=r"(seen[d + 2]), "=r"(seen[d + 3])
                     : "l"(states + d)
                     : "memory");
#else
#pragma unroll
    for (int d = 0; d < OWNED; ++d) seen[d] = observe(states + d);
#endif
}

__device__ __forceinline__ void publish_states(u32* states, u32 kind, const u32 value[OWNED]) {
#if FOURS
#pragma unroll
    for (int d = 0; d < OWNED; d += 4)
        asm volatile("st.relaxed.gpu.global.v4.u32 [%0], {%1, %2, %3, %4};" ::"l"(states + d),
                     "r"(kind | value[d]), "r"(kind | value[d + 1]), "r"(kind | value[d + 2]),
                     "r"(kind | value[d + 3])
                     : "memory");
#else
#pragma unroll
    for (int d = 0; d < OWNED; ++d) publish(states + d, kind | value[d]);
#endif
}

// Sums of a thread's digits over the pieces before `piece`; `states` are those of piece 0.
__device__ __forceinline__ void look_back_digits(const u32* states, u32 piece, u32 earlier[OWNED]) {
    const u64 row = PASSES * DIGITS;
    for (int at = (int)piece - 1; at >= 0;) {
        u32 seen[WINDOW][OWNED];
#pragma unroll
        for (int k = 0; k < WINDOW; ++k)
            observe_states(states + (u64)max(at - k, 0) * row, seen[k]);
        bool more = true;
#pragma unroll
        for (int k = 0; k < WINDOW; ++k) {
            u32 kind = seen[k][0];
#pragma unroll
            for (int d = 1; d < OWNED; ++d) kind &= seen[k][d];
            // Neither bit: not published yet, or some digits are a prefix and others are not. Read
            // again.
            more = more && (kind & (STATE_OWN | STATE_PREFIX)) != 0;
            if (!more) continue;
#pragma unroll
            for (int d = 0; d < OWNED; ++d) earlier[d] += seen[k][d] & STATE_VALUE;
            // The sum is complete. Piece 0 always has a prefix, so the loop ends at the latest
            // there.
            if (kind & STATE_PREFIX) {
                more = false;
                at = 0;
            }
            --at;
        }
    }
}

// The lanes that have the same digit (DIGITS: none). A vote a bit is faster than __match_any_sync.
__device__ __forceinline__ u32 peers_of(u32 digit) {
    u32 peers = FULL_MASK;
#pragma unroll
    for (int bit = 0; bit <= BITS; ++bit) {
        bool is_set = digit >> bit & 1;
        u32 set = __ballot_sync(FULL_MASK, is_set);
        peers &= is_set ? set : ~set;
    }
    return peers;
}

union Work {
    u16 counts[WARPS]
              [DIGITS];  // keys of each warp, then the position in the piece of the first of them
    u32 words[WARPS][DIGITS / 2];  // the same
    struct {
        u32 keys[PIECE], values[PIECE];
    } sorted;
};

// states[piece][pass][digit], zero before the first pass. If `ranges` is not null, the last pass
// also writes where the list of each key from 0 to `lists` - 1 begins and ends; zero at launch;
// `list_range` in splat.cuh reads it.
// Parameters of `sort_digit`; in Rust by the same name.
struct SortDigitParams {
    ReadOnly<u32> keys_in;
    ReadOnly<u32> values_in;
    u32* keys_out;
    u32* values_out;
    const u32* count;  // number of pairs, on the device
    u32 capacity;      // room for pairs
    u32 pass;          // digit, from the lowest
    u32* histograms;   // [PASSES][1 << BITS], then tickets
    u32* states;       // of the look-back, zeroed
    uint2* ranges;     // written in the last pass, or null
    u32 lists;         // in `ranges`
};
extern "C" __global__ void __launch_bounds__(BLOCK, BLOCKS)
    sort_digit(const __grid_constant__ SortDigitParams args) {
    begin_kernel();
    __shared__ __align__(16) Work work;
    __shared__ u32 starts[DIGITS];  // position in the output of the piece's first key of a digit,
                                    // minus its position in the piece
    __shared__ u32 sums[2][WARPS];
    __shared__ u32 present;
    u32 n = args.count ? min(*args.count, args.capacity) : args.capacity;
    u32 thread = threadIdx.x, lane = thread % WARP, warp = thread / WARP, piece = blockIdx.x;
#if TICKETS
    __shared__ u32 ticket;
    if (thread == 0) ticket = atomicAdd(&args.histograms[PASSES * DIGITS + args.pass], 1u);
    __syncthreads();
    piece = ticket;
#endif
    u32 readable = EAGER ? args.capacity : n;
    if ((u64)piece * PIECE >= readable) return;

    u32 key[ITEMS], place[ITEMS];
    u32 at = piece * PIECE + warp * WARP * ITEMS + lane;
#pragma unroll
    for (int k = 0; k < ITEMS; ++k) {
        bool valid = at + k * WARP < readable;
        key[k] = valid ? args.keys_in[at + k * WARP] : NO_KEY;
    }
#pragma unroll
    for (int k = 0; EAGER && k < ITEMS; ++k)
        if (at + k * WARP >= n) key[k] = NO_KEY;
    u32 first_digit = thread * OWNED, pass_total = 0;
    bool owns = first_digit < DIGITS;
    u32 in_pass[OWNED];
#pragma unroll
    for (int d = 0; d < OWNED; ++d) {
        in_pass[d] = owns ? args.histograms[args.pass * DIGITS + first_digit + d] : 0;
        pass_total += in_pass[d];
    }
    for (u32 k = lane; k < DIGITS / 2; k += WARP) work.words[warp][k] = 0;

    // Rank within the warp, in the order item, then lane, which is the order of the input. All
    // matches first, as they do not depend on one another.
#pragma unroll
    for (int k = 0; k < ITEMS; ++k)
        place[k] = peers_of(key[k] != NO_KEY ? digit_of(key[k], args.pass) : DIGITS);
    __syncwarp();
#pragma unroll
    for (int k = 0; k < ITEMS; ++k) {
        u32 digit = digit_of(key[k], args.pass), peers = place[k],
            before = work.counts[warp][digit];
        place[k] = before + __popc(peers & ((1u << lane) - 1));
        __syncwarp();
        if (key[k] != NO_KEY && (u32)__ffs(peers) - 1 == lane)
            work.counts[warp][digit] = before + __popc(peers);
        __syncwarp();
    }
    // Not earlier, as the compiler would move the loads behind the branch.
    if (EAGER && piece * PIECE >= n) return;
    __syncthreads();

    // The piece's keys of each digit, published as soon as possible. Digits that no piece has need
    // no states.
    u32 in_piece[OWNED], total = 0;
    u32* first_states = args.states + args.pass * DIGITS + first_digit;
    u32* own_states = first_states + (u64)piece * (PASSES * DIGITS);
#pragma unroll
    for (int d = 0; d < OWNED; ++d) in_piece[d] = 0;
    if (owns) {
#pragma unroll
        for (int w = 0; w < WARPS; ++w)
#pragma unroll
            for (int d = 0; d < OWNED; ++d) in_piece[d] += work.counts[w][first_digit + d];
        if (pass_total) publish_states(own_states, piece == 0 ? STATE_PREFIX : STATE_OWN, in_piece);
    }
#pragma unroll
    for (int d = 0; d < OWNED; ++d) total += in_piece[d];

    u32 in_order = warp_scan(total, lane), pass_order = warp_scan(pass_total, lane);
    if (lane == WARP - 1) {
        sums[0][warp] = in_order;
        sums[1][warp] = pass_order;
    }
    __syncthreads();
    in_order -= total;
    pass_order -= pass_total;
#pragma unroll
    for (u32 w = 0; w < WARPS; ++w) {
        if (w < warp) in_order += sums[0][w];
        if (w < warp) pass_order += sums[1][w];
    }
    u32 start[OWNED];
    if (owns) {
#pragma unroll
        for (int d = 0; d < OWNED; ++d) {
            start[d] = pass_order - in_order;
            pass_order += in_pass[d];
#pragma unroll
            for (int w = 0; w < WARPS; ++w) {
                u32 here = work.counts[w][first_digit + d];
                work.counts[w][first_digit + d] = in_order;
                in_order += here;
            }
        }
        if (first_digit + OWNED == DIGITS) present = in_order;
    }
    __syncthreads();
#pragma unroll
    for (int k = 0; k < ITEMS; ++k) place[k] += work.counts[warp][digit_of(key[k], args.pass)];
    __syncthreads();
    // From here on the sorted piece replaces the counts in shared memory.
#pragma unroll
    for (int k = 0; k < ITEMS; ++k) {
        if (key[k] == NO_KEY) continue;
        work.sorted.keys[place[k]] = key[k];
        // Values are copied asynchronously, as no thread reads them: they arrive during the
        // look-back and need no registers.
        copy_async_4(&work.sorted.values[place[k]], args.values_in + at + k * WARP);
    }
    copy_async_commit();

    if (owns) {
        u32 earlier[OWNED];
#pragma unroll
        for (int d = 0; d < OWNED; ++d) earlier[d] = 0;
        if (pass_total && piece != 0) {
            look_back_digits(first_states, piece, earlier);
            u32 prefix[OWNED];
#pragma unroll
            for (int d = 0; d < OWNED; ++d) prefix[d] = earlier[d] + in_piece[d];
            publish_states(own_states, STATE_PREFIX, prefix);
        }
#pragma unroll
        for (int d = 0; d < OWNED; ++d) starts[first_digit + d] = start[d] + earlier[d];
    }
    copy_async_wait<0>();
    __syncthreads();
#pragma unroll
    for (int item = 0; item < ITEMS; ++item) {
        // Reads beyond the end too, so that no read waits for a branch.
        u32 k = thread + item * BLOCK, sorted_key = work.sorted.keys[k],
            sorted_value = work.sorted.values[k];
        u32 to = starts[digit_of(sorted_key, args.pass)] + k;
        // A frame that overflowed has stale keys, also NO_KEY where none should be;
        // its result is discarded, but writes must stay inside.
        if (k < present && to < args.capacity) {
            args.keys_out[to] = sorted_key;
            args.values_out[to] = sorted_value;
            // The piece's keys of a list are neighbours, here and in the output, so its first and
            // last key stand for all.
            u32 list = sorted_key;
            if (args.pass == PASSES - 1 && args.ranges && list < args.lists) {
                if (k == 0 || work.sorted.keys[k - 1] != list) atomicMax(&args.ranges[list].x, ~to);
                if (k + 1 == present || work.sorted.keys[k + 1] != list)
                    atomicMax(&args.ranges[list].y, to + 1);
            }
        }
    }
}
