// Rows of numbers that learn by an Adam of their own: of photos and cameras, and of the sky.
// Constants: Adam's BETA1, BETA2, EPSILON (adam/rates.rs) and the logarithms LN_BETA1 and LN_BETA2.

#pragma once
#include "device.cuh"

// Numbers of photos or cameras in rows, and Adam's moments of them.
struct ColourRows {
    float* numbers;  // [rows][width]
    float* first;    // [rows][width]
    float* second;   // [rows][width]
    u32* seen;       // [rows], steps on each
    u32 row;
    u32 rows;
    float rate;
    u32 padding;
};

// Adam's step on a number of a row, which also goes `back` by so much. Returns what it is then.
__device__ __forceinline__ float step_on(const ColourRows& table, u32 at, float g, u32 taken,
                                         float back) {
    const float m = fmaf(BETA1, table.first[at], (1.0f - BETA1) * g);
    const float v = fmaf(BETA2, table.second[at], (1.0f - BETA2) * g * g);
    // 1 - beta^t; expm1 avoids the cancellation of the difference.
    const float first_correction = -expm1f(float(taken) * LN_BETA1),
                second_correction = -expm1f(float(taken) * LN_BETA2);
    const float moved =
        table.rate / first_correction * m / (sqrtf(v / second_correction) + EPSILON);
    const float number = table.numbers[at] - (moved + back);
    table.numbers[at] = number;
    table.first[at] = m;
    table.second[at] = v;
    return number;
}
