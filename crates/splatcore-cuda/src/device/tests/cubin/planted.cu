// planted.cubin beside this file is what NVRTC 13.5 made of it for sm_90 with --std=c++17.
__device__ unsigned int remembered;
extern "C" __device__ int vprintf(const char*, const void*);

extern "C" __global__ void __launch_bounds__(128, 4) tidy(float* values) {
    __shared__ float row[256];
    row[threadIdx.x] = __expf(values[threadIdx.x]);
    row[threadIdx.x + 128] = values[threadIdx.x + 128] * 2.0f;
    __syncthreads();
    const float sum = __fmaf_rn(row[127 - threadIdx.x], row[255 - threadIdx.x], 1.0f);
    atomicAdd(values, __shfl_xor_sync(0xffffffff, sum, 1));
}

extern "C" __global__ void untidy(int* values, int at) {
    int stack[64];
    for (int i = 0; i < at; i++) stack[(7 * i + at) & 63] = values[i];
    for (int i = 0; i < at; i++) values[i] = stack[(i + at) & 63];
    atomicAdd(&remembered, 1);
    vprintf("untidy\n", nullptr);
}
