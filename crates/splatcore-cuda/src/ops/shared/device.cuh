// What every kernel may use beyond plain CUDA C++: fixed-width names, sums over a warp, words that
// blocks exchange, and the PTX instructions needed, each wrapped once. No CUDA header is included
// anywhere, so a user needs only the driver and libnvrtc. EMULATED is defined if the kernels run
// on a processor (src/device/emulated/); every wrapper has a plain twin.

#pragma once

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;

#define FULL_MASK 0xffffffffu
#define NO_KEY 0xffffffffu  // the key of pairs that `sort` leaves out
#define WARP 32
#define LOG2E 1.44269504088896f  // exp(x) is 2^(LOG2E x)

// A kernel's pointer to memory that nobody writes while the kernel runs. Reads go by the read-only
// path (ld.global.nc), which the compiler takes by itself only for `__restrict__` parameters, not
// for the fields of a struct: 4 % of blend_scalar.cu's time, 10 % of blend_interpolated.cu's
// (H200).
template <class T>
struct ReadOnly {
    const T* address;
    template <class Index>
    __device__ __forceinline__ T operator[](Index i) const {
        return __ldg(address + i);
    }
    __device__ __forceinline__ operator const T*() const { return address; }
};

// The first statement of every kernel. From sm_90 on a kernel is launched when the last block of
// its predecessor has ended, not when the predecessor's writes are visible everywhere
// (programmatic dependent launch), and waits here until they are. As each kernel waits for its
// predecessor, the writes of all kernels before it are visible. History:
// docs/log/kernels/launch.md.
__device__ __forceinline__ void begin_kernel() {
#if !defined(EMULATED) && __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

// 2^x, within 2 units in the last place; 0 for large negative x.
__device__ __forceinline__ float exp2_approx(float x) {
#ifdef EMULATED
    return exp2f(x);
#else
    float y;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
#endif
}

// log2 x, within 2^-22 of it; -infinity if x is not a normal number above 0.
__device__ __forceinline__ float log2_approx(float x) {
#ifdef EMULATED
    return log2f(x);
#else
    float y;
    asm("lg2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
#endif
}

// 1/x, within 1 unit in the last place.
__device__ __forceinline__ float reciprocal_approx(float x) {
#ifdef EMULATED
    return 1.0f / x;
#else
    float y;
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
#endif
}

// Square root, within 1 unit in the last place, the same bits in every kernel.
__device__ __forceinline__ float sqrt_approx(float x) {
#ifdef EMULATED
    return sqrtf(x);
#else
    float y;
    asm("sqrt.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
#endif
}

// x, cut to 0 to 1; 0 if it is not a number. A card does it as part of the instruction before.
__device__ __forceinline__ float saturated(float x) {
#ifdef EMULATED
    return fminf(fmaxf(x, 0.0f), 1.0f);
#else
    return __saturatef(x);
#endif
}

// Reads a word that other blocks write with `publish` while this kernel runs.
__device__ __forceinline__ u32 observe(const u32* address) {
#ifdef EMULATED
    return *(volatile const u32*)address;
#else
    u32 value;
    asm volatile("ld.relaxed.gpu.global.u32 %0, [%1];" : "=r"(value) : "l"(address) : "memory");
    return value;
#endif
}
__device__ __forceinline__ u64 observe(const u64* address) {
#ifdef EMULATED
    return *(volatile const u64*)address;
#else
    u64 value;
    asm volatile("ld.relaxed.gpu.global.u64 %0, [%1];" : "=l"(value) : "l"(address) : "memory");
    return value;
#endif
}

// Writes a word that other blocks read with `observe`.
__device__ __forceinline__ void publish(u32* address, u32 value) {
#ifdef EMULATED
    *(volatile u32*)address = value;
#else
    asm volatile("st.relaxed.gpu.global.u32 [%0], %1;" ::"l"(address), "r"(value) : "memory");
#endif
}
__device__ __forceinline__ void publish(u64* address, u64 value) {
#ifdef EMULATED
    *(volatile u64*)address = value;
#else
    asm volatile("st.relaxed.gpu.global.u64 [%0], %1;" ::"l"(address), "l"(value) : "memory");
#endif
}

// Writes a word to which several threads may write the same value at a time.
template <typename T>
__device__ __forceinline__ void store_same(T* address, T value) {
#ifdef EMULATED
    *(volatile T*)address = value;
#else
    *address = value;
#endif
}

// The lanes below this one.
__device__ __forceinline__ u32 lanes_below() {
#ifdef EMULATED
    return (1u << threadIdx.x % WARP) - 1;
#else
    // Volatile, as the compiler would otherwise read the register again at every use.
    u32 lanes;
    asm volatile("mov.u32 %0, %%lanemask_lt;" : "=r"(lanes));
    return lanes;
#endif
}

// The lanes of a whole warp whose `word` has bit `bit`.
__device__ __forceinline__ u32 lanes_with_bit(u32 word, u32 bit) {
#ifdef EMULATED
    return __ballot_sync(FULL_MASK, word >> bit & 1);
#else
    u32 lanes;
    asm volatile(
        "{.reg .pred p; .reg .b32 b; and.b32 b, %1, %2; setp.ne.u32 p, b, 0; vote.sync.ballot.b32 "
        "%0, p, 0xffffffff;}"
        : "=r"(lanes)
        : "r"(word), "r"(1u << bit));
    return lanes;
#endif
}

// Sum over the warp, in every lane; the order of additions is fixed.
__device__ __forceinline__ float warp_sum(float value) {
    for (int offset = 16; offset > 0; offset /= 2)
        value += __shfl_xor_sync(FULL_MASK, value, offset);
    return value;
}

// Which numbers of a lane's array are sums over the warp: number `first` + k in place k < `count`.
struct LaneSums {
    u32 first, count;
};

// Sums over the warp of SIZE numbers of each lane, with the additions of `warp_sum`, which are left
// in its lanes. Halves the numbers of a lane in each round, so that it takes about SIZE shuffles in
// place of 5 SIZE.
template <u32 SIZE, u32 BIT = WARP / 2>
__device__ __forceinline__ LaneSums warp_sums(float* values, u32 lane, LaneSums own) {
    constexpr u32 HALF = (SIZE + 1) / 2;
    const bool is_upper = lane & BIT;
#pragma unroll
    for (u32 n = 0; n < HALF; ++n) {
        const float lower = values[n], upper = n + HALF < SIZE ? values[n + HALF] : 0.0f;
        const float other = __shfl_xor_sync(FULL_MASK, is_upper ? lower : upper, BIT);
        values[n] = (is_upper ? upper : lower) + other;
    }
    const u32 lower = min(own.count, HALF);
    own = is_upper ? LaneSums{own.first + HALF, own.count - lower} : LaneSums{own.first, lower};
    if constexpr (BIT > 1) return warp_sums<HALF, BIT / 2>(values, lane, own);
    return own;
}

// Inclusive sum over the lanes up to this one.
__device__ __forceinline__ u32 warp_scan(u32 value, u32 lane) {
    for (u32 offset = 1; offset < WARP; offset *= 2) {
#ifdef EMULATED
        u32 before = __shfl_up_sync(FULL_MASK, value, offset);
        if (lane >= offset) value += before;
#else
        // The shuffle's predicate says whether there is such a lane.
        asm volatile(
            "{.reg .pred p; .reg .u32 before; shfl.sync.up.b32 before|p, %0, %1, 0, 0xffffffff; @p "
            "add.u32 %0, %0, before;}"
            : "+r"(value)
            : "r"(offset));
#endif
    }
    return value;
}

// Decoupled look-back (Merrill and Garland 2016): the sum of `aggregate` over all blocks before
// `block`. A state is a 30-bit value under two bits that say whether it is the block's own sum or
// the sum up to and including the block, so that a single word carries both and no fence is
// needed. `states` must be zero at launch. All lanes of one warp call it.
#define STATE_VALUE 0x3fffffffu
#define STATE_OWN 0x40000000u
#define STATE_PREFIX 0x80000000u
__device__ __forceinline__ u32 look_back(u32* states, u32 block, u32 aggregate, u32 lane) {
    if (block == 0) {
        if (lane == 0) publish(states, STATE_PREFIX | aggregate);
        return 0;
    }
    if (lane == 0) publish(states + block, STATE_OWN | aggregate);
    u32 sum = 0;
    for (int end = (int)block - 1;; end -= WARP) {
        int at = end - (int)lane;
        u32 state;
        do {
            state = at >= 0 ? observe(states + at) : STATE_PREFIX;
        } while (__any_sync(FULL_MASK, state == 0));
        u32 prefixes = __ballot_sync(FULL_MASK, (state & STATE_PREFIX) != 0);
        u32 last = prefixes ? (u32)__ffs(prefixes) - 1 : WARP;
        u32 value = lane <= last ? state & STATE_VALUE : 0;
        for (int offset = 16; offset > 0; offset /= 2)
            value += __shfl_xor_sync(FULL_MASK, value, offset);
        sum += value;
        if (prefixes) break;
    }
    if (lane == 0) publish(states + block, STATE_PREFIX | (sum + aggregate));
    return sum;
}
