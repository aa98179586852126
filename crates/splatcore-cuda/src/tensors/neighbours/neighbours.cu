// neighbours: for each point the mean squared distance to its 3 nearest others (simple-knn's
// distCUDA2).
//
// Contract. Writes `squared_distance` [n]. With fewer than 4 points the mean is over those that
// there are; a lone point gets 0. Another point at the same place is a neighbour at distance 0.
//
// Launch. A thread a point, blocks of BLOCK; each block goes through all points, BLOCK at a time,
// by way of shared memory.
//
// Bound. Instructions, about 9 for each pair of points: predicted 0.3 s for 1 M points on an H100,
// 3 ms for 100 k.
//
// Now. Not measured.

#include "device.cuh"

// Parameters of `neighbours`; in Rust by the same name.
struct NeighboursParams {
    ReadOnly<float> points;   // [n][3]
    u32 count;                // n
    float* squared_distance;  // [n]
};

extern "C" __global__ void __launch_bounds__(BLOCK)
    neighbours(const __grid_constant__ NeighboursParams args) {
    begin_kernel();
    __shared__ float others[BLOCK][3];
    const float infinity = __uint_as_float(0x7f800000);
    u64 i = (u64)blockIdx.x * BLOCK + threadIdx.x;
    bool is_there = i < args.count;
    float at[3] = {};
    for (u32 axis = 0; axis < 3; ++axis)
        if (is_there) at[axis] = args.points[3 * i + axis];
    // Ascending.
    float nearest[3] = {infinity, infinity, infinity};
    for (u64 first = 0; first < args.count; first += BLOCK) {
        u32 count = (u32)min((u64)BLOCK, args.count - first);
        __syncthreads();
        if (threadIdx.x < count)
            for (u32 axis = 0; axis < 3; ++axis)
                others[threadIdx.x][axis] = args.points[3 * (first + threadIdx.x) + axis];
        __syncthreads();
        for (u32 k = 0; k < count; ++k) {
            float x = others[k][0] - at[0], y = others[k][1] - at[1], z = others[k][2] - at[2];
            float squared = fmaf(x, x, fmaf(y, y, z * z));
            if (squared >= nearest[2] || first + k == i) continue;
            nearest[2] = fmaxf(squared, nearest[1]);
            nearest[1] = fmaxf(fminf(squared, nearest[1]), nearest[0]);
            nearest[0] = fminf(squared, nearest[0]);
        }
    }
    if (!is_there) return;
    float sum = 0.0f, found = fminf(3.0f, (float)(args.count - 1));
    for (u32 k = 0; k < 3; ++k)
        if (k < args.count - 1) sum += nearest[k];
    args.squared_distance[i] = found > 0.0f ? sum / found : 0.0f;
}
