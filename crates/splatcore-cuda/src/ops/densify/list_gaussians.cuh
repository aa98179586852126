// Sums over blocks, their scan, and lists: flags a Gaussian (`actions`) to the indices of the
// flagged, in order.

#pragma once
#include "gaussian_actions.cuh"

// Inclusive sum of `value` over the block's threads. All threads must call it.
template <typename T>
__device__ __forceinline__ T scan_block(T value, T* warps) {
    const u32 lane = threadIdx.x % WARP, warp = threadIdx.x / WARP;
    for (u32 step = 1; step < WARP; step *= 2) {
        const T before = __shfl_up_sync(FULL_MASK, value, step);
        if (lane >= step) value += before;
    }
    if (lane == WARP - 1) warps[warp] = value;
    __syncthreads();
    for (u32 w = 0; w < warp; ++w) value += warps[w];
    return value;
}

// Sum of `value` over the block, valid in all its threads.
template <typename T>
__device__ __forceinline__ T sum_block(T value, T* warps) {
    scan_block(value, warps);
    T sum = 0;
    for (u32 w = 0; w < WARPS; ++w) sum += warps[w];
    return sum;
}

// One block of THREADS. Replaces the blocks' sums by their exclusive prefix sums and writes the
// total.
// Parameters of `scan_sums`; in Rust by the same name.
struct ScanSumsParams {
    u64* sums;  // a row of 12 floats for each compacted index
    u32 count;
    u64* total;
};
extern "C" __global__ void __launch_bounds__(THREADS)
    scan_sums(const __grid_constant__ ScanSumsParams args) {
    begin_kernel();
    __shared__ u64 warps[WARPS];
    u64 before = 0;
    for (u32 start = 0; start < args.count; start += THREADS) {
        const u32 i = start + threadIdx.x;
        const u64 value = i < args.count ? args.sums[i] : 0;
        const u64 through = scan_block(value, warps);
        if (i < args.count) args.sums[i] = before + through - value;
        for (u32 w = 0; w < WARPS; ++w) before += warps[w];
        __syncthreads();
    }
    if (threadIdx.x == 0) *args.total = before;
}

// sums [blocks] out: the number of the block's Gaussians whose action has one of `bits`.
// Parameters of `list_count`; in Rust by the same name.
struct ListCountParams {
    ReadOnly<u8> actions;  // [n], bits of a Gaussian's fate
    u32 bits;
    u32 n;      // Gaussians
    u64* sums;  // a row of 12 floats for each compacted index
};
extern "C" __global__ void __launch_bounds__(THREADS)
    list_count(const __grid_constant__ ListCountParams args) {
    begin_kernel();
    const u32 i = item();
    const u32 found = __syncthreads_count(i < args.n && (args.actions[i] & args.bits));
    if (threadIdx.x == 0) args.sums[blockIdx.x] = found;
}

// Writes the indices of the Gaussians whose action has one of `bits`, in order; nothing if `wanted`
// is 0.
// Parameters of `list_write`; in Rust by the same name.
struct ListWriteParams {
    ReadOnly<u8> actions;  // [n], bits of a Gaussian's fate
    u32 bits;
    u32 n;                 // Gaussians
    ReadOnly<u64> sums;    // a row of 12 floats for each compacted index
    ReadOnly<u64> wanted;  // how many, on the device
    u32* list;             // indices of Gaussians
};
extern "C" __global__ void __launch_bounds__(THREADS)
    list_write(const __grid_constant__ ListWriteParams args) {
    begin_kernel();
    if (args.wanted[0] == 0) return;
    __shared__ u32 warps[WARPS];
    const u32 i = item();
    const u32 found = i < args.n && (args.actions[i] & args.bits);
    const u32 through = scan_block(found, warps);
    if (found) args.list[args.sums[blockIdx.x] + through - 1] = i;
}
