// Rows of harmonics, in global and in shared memory. Constants: SH_ROW floats stored for a
// Gaussian; USED of them are in use, which who includes this has defined.

#pragma once

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
