// How a number of the harmonics is stored: as a float, or as a half if HALF_SH is 1.

#pragma once
#include "device.cuh"

#if HALF_SH
typedef u16 Harmonic;
#else
typedef float Harmonic;
#endif
