// Counter-based random numbers for densify.cu and adam.cu, with the same bits as
// splatcore_core::random on every backend: any thread can compute the number of (seed, step,
// index, lane).

#pragma once
#include "splat.cuh"

__device__ __forceinline__ u64 mix(u64 x) {
    u64 z = x + 0x9E3779B97F4A7C15ull;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
    return z ^ (z >> 31);
}

// Uniform in [0, 1).
__device__ __forceinline__ float uniform_at(u64 seed, u64 step, u64 index, u64 lane) {
    u64 bits = mix(mix(mix(seed ^ (step << 32)) ^ index) ^ lane);
    return (float)(bits >> 40) * (1.0f / (1 << 24));
}

// Three standard normals (Box-Muller).
__device__ __forceinline__ Vec3 normal3(u64 seed, u64 step, u64 index) {
    float radius_0 = sqrtf(-2.0f * logf(1.0f - uniform_at(seed, step, index, 0)));
    float angle_0 = 6.28318530717958648f * uniform_at(seed, step, index, 1);
    float radius_1 = sqrtf(-2.0f * logf(1.0f - uniform_at(seed, step, index, 2)));
    float angle_1 = 6.28318530717958648f * uniform_at(seed, step, index, 3);
    return {radius_0 * cosf(angle_0), radius_0 * sinf(angle_0), radius_1 * cosf(angle_1)};
}
