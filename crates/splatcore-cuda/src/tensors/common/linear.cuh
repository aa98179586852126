// Small matrices in registers, by rows, and the gradients of products of them.

#pragma once
#include "vec3.cuh"

template <int ROWS, int COLUMNS>
struct Matrix {
    float at[ROWS][COLUMNS];
};
typedef Matrix<2, 2> Mat2;
typedef Matrix<3, 3> Mat3;
typedef Matrix<2, 3> Mat23;

__device__ __forceinline__ Vec3 load_vec3(const float* from) {
    return {__ldg(from), __ldg(from + 1), __ldg(from + 2)};
}

template <int R, int K, int C>
__device__ __forceinline__ Matrix<R, C> multiply(const Matrix<R, K>& a, const Matrix<K, C>& b) {
    Matrix<R, C> product;
#pragma unroll
    for (int i = 0; i < R; ++i)
#pragma unroll
        for (int j = 0; j < C; ++j) {
            float sum = a.at[i][0] * b.at[0][j];
#pragma unroll
            for (int k = 1; k < K; ++k) sum = fmaf(a.at[i][k], b.at[k][j], sum);
            product.at[i][j] = sum;
        }
    return product;
}

template <int R, int C>
__device__ __forceinline__ Matrix<C, R> transposed(const Matrix<R, C>& a) {
    Matrix<C, R> other;
#pragma unroll
    for (int i = 0; i < R; ++i)
#pragma unroll
        for (int j = 0; j < C; ++j) other.at[j][i] = a.at[i][j];
    return other;
}

template <int R, int C>
__device__ __forceinline__ Matrix<R, C> plus(const Matrix<R, C>& a, const Matrix<R, C>& b) {
    Matrix<R, C> sum;
#pragma unroll
    for (int i = 0; i < R; ++i)
#pragma unroll
        for (int j = 0; j < C; ++j) sum.at[i][j] = a.at[i][j] + b.at[i][j];
    return sum;
}

// a v.
__device__ __forceinline__ Vec3 apply(const Mat3& a, Vec3 v) {
    return {fmaf(a.at[0][0], v.x, fmaf(a.at[0][1], v.y, a.at[0][2] * v.z)),
            fmaf(a.at[1][0], v.x, fmaf(a.at[1][1], v.y, a.at[1][2] * v.z)),
            fmaf(a.at[2][0], v.x, fmaf(a.at[2][1], v.y, a.at[2][2] * v.z))};
}

// a v a^T.
template <int R>
__device__ __forceinline__ Matrix<R, R> sandwich(const Matrix<R, 3>& a, const Mat3& v) {
    return multiply(multiply(a, v), transposed(a));
}

// The gradient of a v a^T by v, a^T g a, from its gradient g.
template <int R>
__device__ __forceinline__ Mat3 sandwich_backward_inner(const Matrix<R, 3>& a,
                                                        const Matrix<R, R>& g) {
    return multiply(transposed(a), multiply(g, a));
}

// The gradient of a v a^T by a, g a v^T + g^T a v.
template <int R>
__device__ __forceinline__ Matrix<R, 3> sandwich_backward_outer(const Matrix<R, 3>& a,
                                                                const Mat3& v,
                                                                const Matrix<R, R>& g) {
    return plus(multiply(multiply(g, a), transposed(v)), multiply(multiply(transposed(g), a), v));
}

// A symmetric matrix from its upper triangle (00, 01, 02, 11, 12, 22); `off` scales what is not on
// the diagonal: 0.5 makes the gradient of a matrix from that of a triangle.
__device__ __forceinline__ Mat3 load_triangle(const float* t, float off = 1.0f) {
    float a = off * __ldg(t + 1), b = off * __ldg(t + 2), c = off * __ldg(t + 4);
    return {{{__ldg(t), a, b}, {a, __ldg(t + 3), c}, {b, c, __ldg(t + 5)}}};
}

__device__ __forceinline__ Mat3 load_mat3(const float* from) {
    Mat3 m;
#pragma unroll
    for (int i = 0; i < 3; ++i)
#pragma unroll
        for (int j = 0; j < 3; ++j) m.at[i][j] = __ldg(from + 3 * i + j);
    return m;
}
