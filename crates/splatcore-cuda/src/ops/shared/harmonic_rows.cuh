// Rows of harmonics, in global and in shared memory. Constants: SH_ROW numbers stored for a
// Gaussian, floats, or halves if HALF_SH is 1 (whose rows are multiples of 4); USED of them are in
// use, which who includes this has defined.

#pragma once
#include "harmonic.cuh"
#include "matrix.cuh"

// Harmonics move in units of WIDE numbers; the last unit of a row may have some above the degree. A
// pitch of an odd number of 16-byte units keeps the lanes' reads in different banks.
#if SH_ROW % 4 == 0
#define WIDE 4
#define UNITS ((USED + 3) / 4)
#define PITCH (4 * (UNITS | 1))
#else
#define WIDE 1
#define UNITS USED
#define PITCH (USED | 1)
#endif

template <class T, int N>
struct alignas(N * sizeof(T)) Several {
    T numbers[N];
};

// A unit of a row, as floats.
__device__ __forceinline__ Several<float, WIDE> read_harmonics(const Harmonic* from) {
#if HALF_SH
    const uint2 four = *(const uint2*)from;
    return {half_low(four.x), half_high(four.x), half_low(four.y), half_high(four.y)};
#else
    return *(const Several<float, WIDE>*)from;
#endif
}

// Copies a unit from global to shared memory without waiting.
__device__ __forceinline__ void copy_harmonics_async(Harmonic* shared, const Harmonic* global) {
#if HALF_SH
    copy_async_8(shared, global);
#else
    if (WIDE == 4)
        copy_async_16(shared, global);
    else
        copy_async_4(shared, global);
#endif
}
