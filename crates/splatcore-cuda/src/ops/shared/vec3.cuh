// A vector in registers.

#pragma once
#include "device.cuh"

struct Vec3 {
    float x, y, z;
};
