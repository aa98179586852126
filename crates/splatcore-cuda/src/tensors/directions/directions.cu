// directions: from cameras to Gaussians, at which harmonics are evaluated.
//
// Contract. dirs[b][c][n] = means[b][n] - centre, the centre being the first three values of the
// last column of the inverse of viewmats[b][c]: cofactors of its last row over its determinant. A
// matrix without an inverse gives values that are not finite. masks[b][c][n] is whether both radii
// are positive.
//
// Launch. A thread a row, blocks of BLOCK.
//
// Bound. Memory: 33 bytes a row.
//
// Now. Not measured.

#include "drawn.cuh"
#include "linear.cuh"

// Parameters of `directions`; in Rust by the same name.
struct DirectionsParams {
    const float* means;        // [B][N][3]
    ReadOnly<float> viewmats;  // [B][C][4][4]
    ReadOnly<int> radii;       // [B][C][N][2], if masks is not null
    u32 batches;               // B
    u32 cameras;               // C
    u32 gaussians;             // N
    float* dirs;               // [B][C][N][3]
    u8* masks;                 // [B][C][N] or null
};

// The determinant of the first three rows without one column.
__device__ __forceinline__ float minor_of(const float (&m)[16], int x, int y, int z) {
    return m[x] * (m[4 + y] * m[8 + z] - m[4 + z] * m[8 + y]) -
           m[y] * (m[4 + x] * m[8 + z] - m[4 + z] * m[8 + x]) +
           m[z] * (m[4 + x] * m[8 + y] - m[4 + y] * m[8 + x]);
}

extern "C" __global__ void __launch_bounds__(BLOCK)
    directions(const __grid_constant__ DirectionsParams args) {
    begin_kernel();
    u64 row = (u64)blockIdx.x * BLOCK + threadIdx.x, n = args.gaussians;
    if (row >= (u64)args.batches * args.cameras * n) return;
    u64 camera = row / n, gaussian = camera / args.cameras * n + row % n;
    float m[16];
#pragma unroll
    for (int k = 0; k < 16; ++k) m[k] = args.viewmats[16 * camera + k];
    float x = -minor_of(m, 1, 2, 3), y = minor_of(m, 0, 2, 3), z = -minor_of(m, 0, 1, 3),
          w = minor_of(m, 0, 1, 2);
    float inverse = 1.0f / (m[12] * x + m[13] * y + m[14] * z + m[15] * w);
    Vec3 mean = load_vec3(args.means + 3 * gaussian);
    args.dirs[3 * row] = mean.x - x * inverse;
    args.dirs[3 * row + 1] = mean.y - y * inverse;
    args.dirs[3 * row + 2] = mean.z - z * inverse;
    if (args.masks) args.masks[row] = is_drawn_with(args.radii, row);
}
