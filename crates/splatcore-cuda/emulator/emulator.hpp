// Defines the words of CUDA C++ for a plain C++17 compiler, so that kernels run on a processor
// (src/device/emulated/mod.rs). That module joins these texts in this order: emulator.hpp (words
// and types), fibers.hpp (threads, blocks, barriers), checks.hpp (checks of memory accesses, if
// CHECKED is 1), collectives.hpp (warps), intrinsics.hpp (arithmetic and atomics), matrix.hpp
// (matrix units, halves, asynchronous copies), the kernels in an unnamed namespace, and one
// EMULATOR_KERNEL for each kernel. What the headers only declare is in the .cpp files, which are
// compiled once and linked to every program: RUNTIME is 1 there. It needs x86-64 or aarch64, and
// GCC or clang.

#include <math.h>
#if RUNTIME
#include <stdarg.h>
#endif
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <utility>
#if CHECKED && RUNTIME
#include <link.h>
#endif

// Nothing of a library is seen outside but what is marked with EMULATOR_EXPORT.
#pragma GCC visibility push(hidden)

#define __global__
#define __device__
#define __host__
#define __constant__ static
#define __grid_constant__
#define __launch_bounds__(...)
#define __grid_constant__
#define __forceinline__ inline __attribute__((always_inline))
#define __noinline__ __attribute__((noinline))
#define __align__(bytes) __attribute__((aligned(bytes)))
// The standard alignas may not follow __shared__.
#define alignas(bytes) __attribute__((aligned(bytes)))

// Shared memory: one block runs at a time, so a static variable is enough. A section of their own
// holds all these variables, so that they can be poisoned when a block starts.
#ifdef __APPLE__
#define __shared__ __attribute__((section("__DATA,emulated_shared"))) static
extern char emulated_shared_start[] __asm("section$start$__DATA$emulated_shared");
extern char emulated_shared_stop[] __asm("section$end$__DATA$emulated_shared");
#else
#define __shared__ __attribute__((section("emulated_shared"))) static
extern "C" char __start_emulated_shared[] __attribute__((visibility("hidden")));
extern "C" char __stop_emulated_shared[] __attribute__((visibility("hidden")));
#define emulated_shared_start __start_emulated_shared
#define emulated_shared_stop __stop_emulated_shared
#endif

// Marks functions of the emulator whose accesses are not checked, because they access other
// threads' stacks and the caller's memory.
#if CHECKED && defined(__clang__)
#define UNCHECKED __attribute__((disable_sanitizer_instrumentation))
#elif CHECKED
#define UNCHECKED __attribute__((no_sanitize("thread")))
#else
#define UNCHECKED
#endif

// Vector types, aligned as in CUDA: to their size if it is a power of two of at most 16 bytes.
#define EMULATOR_VECTORS(name, scalar)                                                       \
    struct name##1 { scalar x; };                                                            \
    struct __align__(2 * sizeof(scalar)) name##2 { scalar x, y; };                           \
    struct name##3 { scalar x, y, z; };                                                      \
    struct __align__(4 * sizeof(scalar) < 16 ? 4 * sizeof(scalar) : 16) name##4 {            \
        scalar x, y, z, w;                                                                   \
    };                                                                                       \
    static inline name##1 make_##name##1(scalar x) { return {x}; }                           \
    static inline name##2 make_##name##2(scalar x, scalar y) { return {x, y}; }              \
    static inline name##3 make_##name##3(scalar x, scalar y, scalar z) { return {x, y, z}; } \
    static inline name##4 make_##name##4(scalar x, scalar y, scalar z, scalar w) {           \
        return {x, y, z, w};                                                                 \
    }

EMULATOR_VECTORS(char, signed char)
EMULATOR_VECTORS(uchar, unsigned char)
EMULATOR_VECTORS(short, short)
EMULATOR_VECTORS(ushort, unsigned short)
EMULATOR_VECTORS(int, int)
EMULATOR_VECTORS(uint, unsigned)
EMULATOR_VECTORS(long, long)
EMULATOR_VECTORS(ulong, unsigned long)
EMULATOR_VECTORS(longlong, long long)
EMULATOR_VECTORS(ulonglong, unsigned long long)
EMULATOR_VECTORS(float, float)
EMULATOR_VECTORS(double, double)
#undef EMULATOR_VECTORS

struct dim3 {
    unsigned x, y, z;
    constexpr dim3(unsigned x = 1, unsigned y = 1, unsigned z = 1) : x(x), y(y), z(z) {}
};

static constexpr int warpSize = 32;
