// What kernels may use beyond plain CUDA C++: fixed-width names, vector types' helpers and the few
// PTX instructions needed, wrapped once. No CUDA header is included anywhere, so the driver and
// libnvrtc are all that a user needs. EMULATED is defined when the kernels run on a processor
// (src/device/emulated.rs): every wrapper has a plain twin.

#pragma once

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;

#define FULL_MASK 0xffffffffu
#define NO_KEY 0xffffffffu  // what `sort` leaves out
#define WARP 32

// The first statement of every kernel. From sm_90 on a kernel is launched when the last block of
// the one before it has ended, not when what that wrote has been seen everywhere (programmatic
// dependent launch), and waits here for the latter. As each waits for its predecessor, each has
// seen the end of all before it. Prediction for an H200: some 2 us less for each of a frame's 14
// launches, fox_220k 266 us by the clock to 240. Measured: 268.0 to 249.6; a training step 957.5 to
// 932.3 (means of three runs that take turns, each within 1 us of its mean). Tried:
// griddepcontrol.launch_dependents in front of the wait, so that blocks take the places of those
// that end: 263.7 and 973; behind it 263.1 and 946. Blocks that wait hold registers and shared
// memory; why that costs so much is not known. Only in short kernels, whose successors wait no
// sooner than they must: see lists.cu and sort.cu.
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

// log2 x, within 2^-22 of it; -infinity for what is not a normal number above 0.
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

// A read of a word that other blocks write with `publish` while this one runs.
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

// A write that other blocks see by `observe`.
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

// A write that several threads may do at a time, of the same value.
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
    // Volatile, or the compiler makes it anew wherever it is used.
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

// Inclusive sum over the lanes up to this one.
__device__ __forceinline__ u32 warp_scan(u32 value, u32 lane) {
    for (u32 offset = 1; offset < WARP; offset *= 2) {
#ifdef EMULATED
        u32 before = __shfl_up_sync(FULL_MASK, value, offset);
        if (lane >= offset) value += before;
#else
        // The shuffle says itself whether there is such a lane.
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
// the sum up to and including the block, so one word says it all and needs no fence. `states` must
// be zero at launch. All lanes of one warp call it.
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
