// The matrix units (tensor cores), half precision and asynchronous copies, each PTX instruction
// wrapped once. A half2 is a u32 with the first value in the low half. Fragments (PTX ISA, "Matrix
// fragments for mma"), with group = lane / 4, member = lane % 4:
//   A 16x8  (half):  a[0] (row group, columns 2 member and + 1), a[1] (row group + 8, same
//   columns)
//   A 16x16 (half):  a[0], a[1] as above; a[2], a[3] the same rows, columns + 8
//   B 8x8   (half):  b[0] (rows 2 member and + 1, column group);   B 16x8: b[1] the same, rows + 8
//   C, D 16x8 (f32): d[0], d[1] (row group, columns 2 member and + 1), d[2], d[3] (row group + 8)
//   C, D 16x8 (half): d[0] and d[1], each two columns
//   A 16x8  (tf32):  a[0] (row group, column member), a[1] (row group + 8); a[2], a[3] column + 4
//   B 8x8   (tf32):  b[0] (row member, column group), b[1] (row member + 4)
//
// sm_75 has m16n8k8 only: there k16 is two of them, copies are plain loads and stores, and tf32
// multiplies in f32. Emulated twins: emulator/matrix.hpp.
//
// Products and loads of matrices are volatile, although they have no side effects. The whole warp
// must execute each of them; a compiler that may move one into the branch that uses its result
// would leave lanes out.

#pragma once
#include "device.cuh"

#ifndef EMULATED
#if __CUDA_ARCH__ >= 800
#define HAS_SM80 1
#else
#define HAS_SM80 0
#endif
#endif

#ifdef EMULATED

// Twins of all functions below.

#else

// (low, high) rounded to nearest.
__device__ __forceinline__ u32 pack_half2(float low, float high) {
    u32 packed;
    asm("{.reg .f16 l, h; cvt.rn.f16.f32 l, %1; cvt.rn.f16.f32 h, %2; mov.b32 %0, {l, h};}"
        : "=r"(packed)
        : "f"(low), "f"(high));
    return packed;
}

__device__ __forceinline__ float half_low(u32 pair) {
    float value;
    asm("{.reg .f16 l, h; mov.b32 {l, h}, %1; cvt.f32.f16 %0, l;}" : "=f"(value) : "r"(pair));
    return value;
}

__device__ __forceinline__ float half_high(u32 pair) {
    float value;
    asm("{.reg .f16 l, h; mov.b32 {l, h}, %1; cvt.f32.f16 %0, h;}" : "=f"(value) : "r"(pair));
    return value;
}

__device__ __forceinline__ u32 add_half2(u32 a, u32 b) {
    u32 d;
    asm("add.rn.f16x2 %0, %1, %2;" : "=r"(d) : "r"(a), "r"(b));
    return d;
}

__device__ __forceinline__ u32 multiply_half2(u32 a, u32 b) {
    u32 d;
    asm("mul.rn.f16x2 %0, %1, %2;" : "=r"(d) : "r"(a), "r"(b));
    return d;
}

// a b + c, rounded once.
__device__ __forceinline__ u32 multiply_add_half2(u32 a, u32 b, u32 c) {
    u32 d;
    asm("fma.rn.f16x2 %0, %1, %2, %3;" : "=r"(d) : "r"(a), "r"(b), "r"(c));
    return d;
}

// c - a b, rounded once.
__device__ __forceinline__ u32 subtract_product_half2(u32 c, u32 a, u32 b) {
    u32 d;
    asm("{.reg .b32 n; neg.f16x2 n, %1; fma.rn.f16x2 %0, n, %2, %3;}"
        : "=r"(d)
        : "r"(a), "r"(b), "r"(c));
    return d;
}

// 2 to the power of each, off by 2^-9.9 of it at most (PTX ISA).
__device__ __forceinline__ u32 exp2_half2(u32 a) {
    u32 d;
    asm("ex2.approx.f16x2 %0, %1;" : "=r"(d) : "r"(a));
    return d;
}

// All ones in the halves where a >= b, zero elsewhere (not-a-number compares false).
__device__ __forceinline__ u32 mask_ge_half2(u32 a, u32 b) {
    u32 mask;
    asm("set.ge.u32.f16x2 %0, %1, %2;" : "=r"(mask) : "r"(a), "r"(b));
    return mask;
}

// The lesser of two; a number wins over not-a-number.
__device__ __forceinline__ u32 min_half2(u32 a, u32 b) {
#if HAS_SM80
    u32 d;
    asm("min.f16x2 %0, %1, %2;" : "=r"(d) : "r"(a), "r"(b));
    return d;
#else
    return pack_half2(fminf(half_low(a), half_low(b)), fminf(half_high(a), half_high(b)));
#endif
}

// The greater of two; a number wins over not-a-number.
__device__ __forceinline__ u32 max_half2(u32 a, u32 b) {
#if HAS_SM80
    u32 d;
    asm("max.f16x2 %0, %1, %2;" : "=r"(d) : "r"(a), "r"(b));
    return d;
#else
    return pack_half2(fmaxf(half_low(a), half_low(b)), fmaxf(half_high(a), half_high(b)));
#endif
}

// The lesser of two, subnormal numbers taken for 0.
__device__ __forceinline__ u32 min_normal_half2(u32 a, u32 b) {
#if HAS_SM80
    u32 d;
    asm("min.ftz.f16x2 %0, %1, %2;" : "=r"(d) : "r"(a), "r"(b));
    return d;
#else
    u32 least = min_half2(a, b);
    return least & mask_ge_half2(least, 0x04000400u);
#endif
}

// D = A B + C, 16x8x8, halves; accumulated in f32 or in halves.
__device__ __forceinline__ void mma_m16n8k8(float d[4], const u32 a[2], u32 b, const float c[4]) {
    asm volatile(
        "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5}, {%6}, {%7, "
        "%8, %9, %10};"
        : "=f"(d[0]), "=f"(d[1]), "=f"(d[2]), "=f"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(b), "f"(c[0]), "f"(c[1]), "f"(c[2]), "f"(c[3]));
}

__device__ __forceinline__ void mma_m16n8k8(u32 d[2], const u32 a[2], u32 b, const u32 c[2]) {
    asm volatile(
        "mma.sync.aligned.m16n8k8.row.col.f16.f16.f16.f16 {%0, %1}, {%2, %3}, {%4}, {%5, %6};"
        : "=r"(d[0]), "=r"(d[1])
        : "r"(a[0]), "r"(a[1]), "r"(b), "r"(c[0]), "r"(c[1]));
}

// D = A B + C, 16x8x16, halves; accumulated in f32 or in halves.
__device__ __forceinline__ void mma_m16n8k16(float d[4], const u32 a[4], const u32 b[2],
                                             const float c[4]) {
#if HAS_SM80
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
        "{%8, %9}, {%10, %11, %12, %13};"
        : "=f"(d[0]), "=f"(d[1]), "=f"(d[2]), "=f"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]), "f"(c[0]), "f"(c[1]),
          "f"(c[2]), "f"(c[3]));
#else
    mma_m16n8k8(d, a, b[0], c);
    mma_m16n8k8(d, a + 2, b[1], d);
#endif
}

// f32 to tf32 (10 bits of fraction), to nearest, ties away from zero.
__device__ __forceinline__ u32 to_tf32(float value) {
#if HAS_SM80
    u32 bits;
    asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(bits) : "f"(value));
    return bits;
#else
    return value != value ? 0x7fffffffu : (__float_as_uint(value) + 0x1000u) & 0xffffe000u;
#endif
}

// D = A B + C, 16x8x8, tf32, accumulated in f32.
__device__ __forceinline__ void mma_m16n8k8_tf32(float d[4], const u32 a[4], const u32 b[2],
                                                 const float c[4]) {
#if HAS_SM80
    asm volatile(
        "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
        "{%8, %9}, {%10, %11, %12, %13};"
        : "=f"(d[0]), "=f"(d[1]), "=f"(d[2]), "=f"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]), "f"(c[0]), "f"(c[1]),
          "f"(c[2]), "f"(c[3]));
#else
    u32 lane = threadIdx.x % WARP, group = lane / 4, member = lane % 4;
    for (int k = 0; k < 4; ++k) d[k] = c[k];
    for (int k = 0; k < 8; ++k)
        for (int e = 0; e < 4; ++e) {
            float left =
                __uint_as_float(__shfl_sync(FULL_MASK, a[k / 4 * 2 + e / 2], group * 4 + k % 4));
            float right =
                __uint_as_float(__shfl_sync(FULL_MASK, b[k / 4], (2 * member + e % 2) * 4 + k % 4));
            d[e] = fmaf(left, right, d[e]);
        }
#endif
}

__device__ __forceinline__ u32 shared_address(const void* pointer) {
    u32 address;
    asm("{.reg .u64 full; cvta.to.shared.u64 full, %1; cvt.u32.u64 %0, full;}"
        : "=r"(address)
        : "l"(pointer));
    return address;
}

// Loads four 8x8 matrices of halves from shared memory: lane l gives the address of row l % 8 of
// matrix l / 8 (16 bytes, aligned); r[m] of lane l gets the values 2 (l % 4) and + 1 of row l / 4
// of matrix m.
__device__ __forceinline__ void load_matrix_x4(u32 r[4], const void* row) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"(shared_address(row))
                 : "memory");
}

// The same with addresses as bytes from the start of an array.
__device__ __forceinline__ void load_matrix_x4_at(u32 r[4], const void* array, u32 offset) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"(shared_address(array) + offset)
                 : "memory");
}

__device__ __forceinline__ void load_matrix_x4_transposed_at(u32 r[4], const void* array,
                                                             u32 offset) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"(shared_address(array) + offset)
                 : "memory");
}

__device__ __forceinline__ void load_matrix_x2_transposed_at(u32 r[2], const void* array,
                                                             u32 offset) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0, %1}, [%2];"
                 : "=r"(r[0]), "=r"(r[1])
                 : "r"(shared_address(array) + offset)
                 : "memory");
}

__device__ __forceinline__ void load_matrix_x2_at(u32 r[2], const void* array, u32 offset) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0, %1}, [%2];"
                 : "=r"(r[0]), "=r"(r[1])
                 : "r"(shared_address(array) + offset)
                 : "memory");
}

// The same for two matrices; lanes 0 to 15 give the addresses, those of the others must be valid
// too (sm_75).
__device__ __forceinline__ void load_matrix_x2(u32 r[2], const void* row) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0, %1}, [%2];"
                 : "=r"(r[0]), "=r"(r[1])
                 : "r"(shared_address(row))
                 : "memory");
}

// Copies 16 bytes from global to shared memory, both aligned to 16, without waiting.
__device__ __forceinline__ void copy_async_16(void* shared, const void* global) {
#if HAS_SM80
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(shared_address(shared)),
                 "l"(global)
                 : "memory");
#else
    *(uint4*)shared = *(const uint4*)global;
#endif
}

// The same through the first-level cache, for data that other warps read too.
__device__ __forceinline__ void copy_async_cached_16(void* shared, const void* global) {
#if HAS_SM80
    asm volatile("cp.async.ca.shared.global [%0], [%1], 16;" ::"r"(shared_address(shared)),
                 "l"(global)
                 : "memory");
#else
    *(uint4*)shared = *(const uint4*)global;
#endif
}

// The same for 8 bytes, aligned to 8.
__device__ __forceinline__ void copy_async_8(void* shared, const void* global) {
#if HAS_SM80
    asm volatile("cp.async.ca.shared.global [%0], [%1], 8;" ::"r"(shared_address(shared)),
                 "l"(global)
                 : "memory");
#else
    *(uint2*)shared = *(const uint2*)global;
#endif
}

// The same for 4 bytes, aligned to 4.
__device__ __forceinline__ void copy_async_4(void* shared, const void* global) {
#if HAS_SM80
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(shared_address(shared)),
                 "l"(global)
                 : "memory");
#else
    *(u32*)shared = *(const u32*)global;
#endif
}

// Ends a group of this thread's copies.
__device__ __forceinline__ void copy_async_commit() {
#if HAS_SM80
    asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}

// Waits until at most GROUPS of this thread's newest groups are on their way. Other threads see the
// data after a barrier.
template <int GROUPS>
__device__ __forceinline__ void copy_async_wait() {
#if HAS_SM80
    asm volatile("cp.async.wait_group %0;" ::"n"(GROUPS) : "memory");
#endif
}

#endif

// The sum of all lanes.
__device__ __forceinline__ u32 add_all(u32 value) {
#if HAS_SM80
    return __reduce_add_sync(FULL_MASK, value);
#else
    for (u32 offset = 1; offset < WARP; offset *= 2)
        value += __shfl_xor_sync(FULL_MASK, value, offset);
    return value;
#endif
}

// The largest of all lanes.
__device__ __forceinline__ u32 max_all(u32 value) {
#if HAS_SM80
    return __reduce_max_sync(FULL_MASK, value);
#else
    for (u32 offset = 1; offset < WARP; offset *= 2)
        value = max(value, __shfl_xor_sync(FULL_MASK, value, offset));
    return value;
#endif
}

// A value that all lanes have alike, in a register of the warp, so that the compiler knows that it
// is alike.
__device__ __forceinline__ u32 uniform(u32 value) {
#if HAS_SM80
    return __reduce_max_sync(FULL_MASK, value);
#else
    return value;
#endif
}

// The bits of all lanes.
__device__ __forceinline__ u32 or_all(u32 bits) {
#if HAS_SM80
    return __reduce_or_sync(FULL_MASK, bits);
#else
    for (u32 offset = 1; offset < WARP; offset *= 2)
        bits |= __shfl_xor_sync(FULL_MASK, bits, offset);
    return bits;
#endif
}

// (low of a, low of b) and (high of a, high of b).
__device__ __forceinline__ u32 join_lows(u32 a, u32 b) { return __byte_perm(a, b, 0x5410); }
__device__ __forceinline__ u32 join_highs(u32 a, u32 b) { return __byte_perm(a, b, 0x7632); }

// An 8x8 matrix of halves, of which a lane has the values 2 (lane % 4) and + 1 of row lane / 4,
// transposed.
__device__ __forceinline__ u32 transpose_matrix(u32 values) {
#ifdef EMULATED
    u32 group = threadIdx.x % WARP / 4, member = threadIdx.x % 4;
    u32 low = __shfl_sync(FULL_MASK, values, 8 * member + group / 2),
        high = __shfl_sync(FULL_MASK, values, 8 * member + 4 + group / 2);
    return group % 2 ? join_highs(low, high) : join_lows(low, high);
#else
    u32 transposed;
    asm volatile("movmatrix.sync.aligned.m8n8.trans.b16 %0, %1;" : "=r"(transposed) : "r"(values));
    return transposed;
#endif
}
