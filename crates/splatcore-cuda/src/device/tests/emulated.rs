//! The emulator itself: small kernels whose results are known, and mistakes that it must find.

mod mistakes;

use crate::device::emulated::Emulated;
use crate::device::{Allocations, Copies, DeviceError, Events, HostAllocations, Kernel, Launches};
use crate::ops;
use crate::tests::support::device::emulator_with;
use std::ffi::c_void;
use std::ptr::from_mut;

fn emulated() -> Option<Emulated> {
    emulator_with(false)
}

fn load(device: &Emulated, text: &'static str, kernels: &'static [&'static str]) -> Vec<Kernel> {
    let constants = vec![("BLOCK", "128".into())];
    let program = ops::program_of_text(("test.cu", text), &["splat.cuh"], constants, kernels);
    device.load(&program).unwrap()
}

fn only(device: &Emulated, text: &'static str, kernels: &'static [&'static str]) -> Kernel {
    load(device, text, kernels)[0]
}

/// A buffer that holds `data`.
fn put<T: bytemuck::Pod>(device: &Emulated, data: &[T]) -> u64 {
    let address = device.allocate(size_of_val(data)).unwrap();
    unsafe { device.upload(address, bytemuck::cast_slice(data)).unwrap() };
    address
}

fn get<T: bytemuck::Pod>(device: &Emulated, address: u64, count: usize) -> Vec<T> {
    let mut data = vec![T::zeroed(); count];
    unsafe {
        device
            .download(bytemuck::cast_slice_mut(&mut data), address)
            .unwrap()
    };
    data
}

/// Launches a kernel that takes (pointer, pointer, number).
fn run(
    device: &Emulated,
    kernel: Kernel,
    (grid, block): (u32, u32),
    (mut input, mut output, mut n): (u64, u64, u32),
) -> Result<(), DeviceError> {
    let mut arguments: [*mut c_void; 3] = [
        from_mut(&mut input).cast(),
        from_mut(&mut output).cast(),
        from_mut(&mut n).cast(),
    ];
    unsafe { device.launch(kernel, grid, block, &mut arguments) }
}

fn error_of(result: Result<(), DeviceError>) -> String {
    result.expect_err("the mistake was not found").to_string()
}

/// Odd and even lanes sum among themselves, each in its own branch, with another count of shuffles.
const DIVERGENT: &str = r#"
extern "C" __global__ void divergent(const float* in, float* out, u32 n) {
    u32 i = blockIdx.x * blockDim.x + threadIdx.x;
    float v = in[i];
    if (threadIdx.x & 1) {
        for (int step = 2; step < 32; step *= 2) v += __shfl_xor_sync(0xaaaaaaaau, v, step);
    } else {
        v = __shfl_sync(0x55555555u, v, 30) + 1000.0f * __shfl_down_sync(0x55555555u, v, 2);
        v += __shfl_up_sync(0x55555555u, v, 2, 8);
    }
    __syncwarp();
    out[i] = v;
}"#;

#[test]
fn shuffles_in_divergent_code() {
    let Some(device) = emulated() else { return };
    let kernel = only(&device, DIVERGENT, &["divergent"]);
    let data: Vec<f32> = (0..64).map(|i| i as f32).collect();
    let (input, output) = (put(&device, &data), put(&device, &[0f32; 64]));
    for backward in [false, true] {
        device.set_backward(backward);
        run(&device, kernel, (1, 64), (input, output, 64)).unwrap();
        let got: Vec<f32> = get(&device, output, 64);
        for i in 0..64usize {
            let (warp, lane) = (i & !31, i & 31);
            let odd: f32 = data[warp..warp + 32].iter().skip(1).step_by(2).sum();
            // The last even lane has none below it and keeps its own value; so do the first of each
            // group of 8 later.
            let once = |lane: usize| data[warp + 30] + 1000.0 * data[warp + (lane + 2).min(30)];
            let even = |lane: usize| {
                once(lane)
                    + once(if lane.is_multiple_of(8) {
                        lane
                    } else {
                        lane - 2
                    })
            };
            assert_eq!(
                got[i],
                if lane % 2 == 1 { odd } else { even(lane) },
                "thread {i}"
            );
        }
    }
}

const VOTES: &str = r#"
extern "C" __global__ void votes(const u32* in, u32* out, u32 n) {
    u32 i = threadIdx.x;
    // The last warp is partial, lanes 3 and 17 of each leave before the rest vote.
    if (i % 32 == 3 || i % 32 == 17) return;
    u32 v = in[i];
    u32* row = out + i * 8;
    row[0] = __ballot_sync(FULL_MASK, v & 1);
    row[1] = __match_any_sync(FULL_MASK, v);
    row[2] = __any_sync(FULL_MASK, v == 5) * 2 + __all_sync(FULL_MASK, v < 6);
    row[3] = __reduce_add_sync(FULL_MASK, v);
    row[4] = __reduce_max_sync(FULL_MASK, (int)v - 3);
    int all;
    row[5] = __match_all_sync(FULL_MASK, (u64)v >> 40, &all);
    row[6] = all;
    row[7] = __activemask();
}"#;

#[test]
fn votes_with_lanes_gone_and_a_partial_warp() {
    let Some(device) = emulated() else { return };
    let kernel = only(&device, VOTES, &["votes"]);
    let n = 75usize;
    let data: Vec<u32> = (0..n as u32).map(|i| (i * 7 + i / 3) % 6).collect();
    let (input, output) = (put(&device, &data), put(&device, &vec![u32::MAX; n * 8]));
    run(&device, kernel, (1, n as u32), (input, output, 0)).unwrap();
    let got: Vec<u32> = get(&device, output, n * 8);
    for i in 0..n {
        let row = &got[i * 8..i * 8 + 8];
        if [3, 17].contains(&(i % 32)) {
            assert_eq!(row, [u32::MAX; 8]);
            continue;
        }
        let warp = i & !31;
        let lanes: Vec<usize> = (0..32)
            .filter(|&lane| warp + lane < n && lane != 3 && lane != 17)
            .collect();
        let bits = |wanted: &dyn Fn(u32) -> bool| {
            lanes
                .iter()
                .filter(|&&lane| wanted(data[warp + lane]))
                .fold(0u32, |bits, lane| bits | 1 << lane)
        };
        let values = || lanes.iter().map(|lane| data[warp + lane]);
        let any = u32::from(values().any(|v| v == 5));
        let expected = [
            bits(&|v| v % 2 == 1),
            bits(&|v| v == data[i]),
            any * 2 + 1,
            values().sum(),
            (values().max().unwrap() as i32 - 3) as u32,
            bits(&|_| true),
            1,
            1 << (i % 32),
        ];
        assert_eq!(row, expected, "thread {i}");
    }
}

const REVERSE: &str = r#"
extern "C" __global__ void reverse(const float* in, float* out, u32 n) {
    __shared__ float tile[BLOCK];
    u32 i = blockIdx.x * BLOCK + threadIdx.x;
    bool fresh = __float_as_uint(tile[threadIdx.x]) == 0xFFCDFFCDu;
    // Threads beyond the end leave before the barriers.
    u32 here = min(n - blockIdx.x * BLOCK, (u32)BLOCK);
    if (i >= n) return;
    tile[threadIdx.x] = in[i];
    int unpoisoned = __syncthreads_count(!fresh);
    float v = tile[here - 1 - threadIdx.x];
    __syncthreads();
    tile[threadIdx.x] = v * 2.0f;
    int all = __syncthreads_and(v < 300.0f), some = __syncthreads_or(v == 130.0f);
    out[i] = tile[threadIdx.x] + 1000.0f * unpoisoned + 10000.0f * all + 20000.0f * some;
}"#;

#[test]
fn barriers_shared_memory_and_early_return() {
    let Some(device) = emulated() else { return };
    let kernel = only(&device, REVERSE, &["reverse"]);
    let n = 300usize;
    let data: Vec<f32> = (0..n).map(|i| i as f32 + 10.0).collect();
    let (input, output) = (put(&device, &data), put(&device, &vec![0f32; n]));
    for backward in [false, true] {
        device.set_backward(backward);
        run(&device, kernel, (3, 128), (input, output, n as u32)).unwrap();
        let got: Vec<f32> = get(&device, output, n);
        for i in 0..n {
            let start = i / 128 * 128;
            let end = (start + 128).min(n);
            let flags = [30000.0, 10000.0, 0.0][i / 128];
            assert_eq!(
                got[i],
                data[end - 1 - (i - start)] * 2.0 + flags,
                "thread {i}"
            );
        }
    }
}

const ATOMICS: &str = r#"
extern "C" __global__ void atomics(float* sums, u32* counts, u32 n) {
    u32 i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    atomicAdd(&sums[i % 3], 0.5f);
    atomicAdd((double*)(sums + 4), 0.25);
    atomicMax(&counts[0], i);
    atomicMin(&counts[1], i);
    atomicOr(&counts[2], 1u << i % 7);
    atomicAdd((u64*)(counts + 4), 1ull << 32 | 1);
    // A lock, taken by lanes of one warp.
    while (atomicCAS(&counts[3], 0u, 1u) != 0u) {}
    u32 seen = counts[6];
    __syncwarp(1u << threadIdx.x % 32);
    __nanosleep(10);
    counts[6] = seen + 1;
    atomicExch(&counts[3], 0u);
}"#;

#[test]
fn atomics() {
    let Some(device) = emulated() else { return };
    let kernel = only(&device, ATOMICS, &["atomics"]);
    let (sums, counts) = (
        put(&device, &[0f32; 6]),
        put(&device, &[0, u32::MAX, 0, 0, 0, 0, 0]),
    );
    run(&device, kernel, (4, 96), (sums, counts, 300)).unwrap();
    let floats: Vec<f32> = get(&device, sums, 6);
    assert_eq!(floats[..3], [50.0, 50.0, 50.0]);
    assert_eq!(get::<f64>(&device, sums, 3)[2], 75.0);
    assert_eq!(
        get::<u32>(&device, counts, 7),
        [299, 0, 127, 0, 300, 300, 300]
    );
}

const STRUCT: &str = r#"
struct Eye { float4 plane; u32 size[2]; uchar4 colour; double far; const float* weights; };
__constant__ float TABLE[2] = {0.5f, 0.25f};
template <int N> struct Sum {
    float total = 0.0f;
    __device__ __forceinline__ void add(const float* v) {
#pragma unroll
        for (int i = 0; i < N; ++i) total += v[i] * TABLE[i & 1];
    }
};
extern "C" __global__ void __launch_bounds__(32, 2) by_value(
    const __grid_constant__ Eye c, float* __restrict__ out, u32 n) {
    Sum<4> sum;
    sum.add(c.weights);
    if (threadIdx.x < n)
        out[threadIdx.x] =
            c.plane.w + c.size[1] + c.colour.z + (float)c.far + sum.total + threadIdx.x;
}"#;

#[repr(C, align(16))]
struct Eye {
    plane: [f32; 4],
    size: [u32; 2],
    colour: [u8; 4],
    far: f64,
    weights: u64,
}

#[test]
fn struct_by_value() {
    let Some(device) = emulated() else { return };
    let kernel = only(&device, STRUCT, &["by_value"]);
    let weights = put(&device, &[1f32, 2.0, 4.0, 8.0]);
    let mut eye = Eye {
        plane: [0.0, 0.0, 0.0, 1000.0],
        size: [1, 200],
        colour: [1, 2, 30, 4],
        far: 5.0,
        weights,
    };
    let (mut output, mut n) = (put(&device, &[0f32; 40]), 40u32);
    let mut arguments: [*mut c_void; 3] = [
        from_mut(&mut eye).cast(),
        from_mut(&mut output).cast(),
        from_mut(&mut n).cast(),
    ];
    unsafe { device.launch(kernel, 1, 40, &mut arguments).unwrap() };
    let got: Vec<f32> = get(&device, output, 40);
    let expected: Vec<f32> = (0..40).map(|i| 1240.0 + i as f32).collect();
    assert_eq!(got, expected);
}

/// Inclusive sum over all blocks in one launch: each block publishes its total and adds those
/// before it.
const SCAN: &str = r#"
extern "C" __global__ void scan(const u32* in, u32* out, u32 n) {
    __shared__ u32 warp_sums[BLOCK / 32], before;
    volatile u32* published = out + n;
    u32 i = blockIdx.x * BLOCK + threadIdx.x, lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    u32 v = i < n ? in[i] : 0u;
    for (int step = 1; step < 32; step *= 2) {
        u32 left = __shfl_up_sync(FULL_MASK, v, step);
        if (lane >= step) v += left;
    }
    if (lane == 31) warp_sums[warp] = v;
    __syncthreads();
    for (u32 w = 0; w < warp; ++w) v += warp_sums[w];
    if (threadIdx.x == BLOCK - 1) {
        u32 sum = 0;
        if (blockIdx.x > 0) {
            while ((sum = published[blockIdx.x - 1]) == 0u) __nanosleep(20);
            sum -= 1;
        }
        before = sum;
        __threadfence();
        published[blockIdx.x] = sum + v + 1;
    }
    __syncthreads();
    if (i < n) out[i] = v + before;
}"#;

#[test]
fn look_back_over_many_blocks() {
    let Some(device) = emulated() else { return };
    let kernel = only(&device, SCAN, &["scan"]);
    let n = 100_000usize;
    let blocks = n.div_ceil(128);
    let data: Vec<u32> = (0..n as u32)
        .map(|i| i.wrapping_mul(2_654_435_761) >> 25)
        .collect();
    let (input, output) = (put(&device, &data), put(&device, &vec![0u32; n + blocks]));
    run(
        &device,
        kernel,
        (blocks as u32, 128),
        (input, output, n as u32),
    )
    .unwrap();
    let got: Vec<u32> = get(&device, output, n);
    let mut sum = 0;
    for i in 0..n {
        sum += data[i];
        assert_eq!(got[i], sum, "element {i}");
    }
}

const INTRINSICS: &str = r#"
extern "C" __global__ void intrinsics(const u32* in, u32* out, u32 n) {
    out[0] = __byte_perm(in[0], in[1], 0x7531);
    out[1] = __brev(in[0]);
    out[2] = __clz(in[0]) | __ffs(in[0]) << 8 | __popc(in[0]) << 16;
    out[3] = __umulhi(in[0], in[1]);
    out[4] = __float2int_rn(2.5f) | __float2int_rd(-0.5f) << 8;
    out[5] = __float2uint_rn(-7.0f) | __float2uint_rz(1e20f);
    out[6] = __float2int_rn(-1e20f);
    out[7] = (u32)__umul64hi((u64)in[0] << 32, (u64)in[1] << 32);
    out[8] = __funnelshift_l(in[0], in[1], 8);
    out[9] = (u32)sizeof(float3) | (u32)alignof(float4) << 8 | (u32)alignof(uchar4) << 16 |
             (u32)alignof(double2) << 24;
    out[10] = __float_as_uint(rsqrtf(4.0f) + fminf(1.0f, max(2.0f, 3.0f)) +
                              __fdividef(1.0f, 4.0f) + __saturatef(7.0f));
    out[11] = max(in[0], 7u) == in[0] && min(-1, 1) == -1 && isnan(__int_as_float(0x7fc00000));
    int a = (int)in[0], b = (int)in[1];
    out[12] = (u32)__dp4a(a, b, 7);
    out[13] = __dp4a(in[0], in[1], 7u);
    out[14] = (u32)__dp2a_lo(a, b, 7);
    out[15] = __dp2a_hi(in[0], in[1], 7u);
    out[16] = (u32)__mul24(a, b) ^ __umul24(in[0], in[1]);
    out[17] = __sad(a, b, 7u) ^ __usad(in[0], in[1], 7u);
    out[18] = (u32)__hadd(a, b) ^ __uhadd(in[0], in[1]) ^ (u32)__rhadd(a, b) << 1 ^
              __urhadd(in[0], in[1]) << 1;
    out[19] = __funnelshift_lc(in[0], in[1], 40) ^ __funnelshift_rc(in[0], in[1], 8);
    out[20] = (u32)__mul64hi((long long)a << 32, (long long)b << 32);
}"#;

#[test]
fn intrinsics() {
    let Some(device) = emulated() else { return };
    let kernel = only(&device, INTRINSICS, &["intrinsics"]);
    let (input, output) = (
        put(&device, &[0x1234_5678u32, 0x9abc_def0]),
        put(&device, &[0u32; 21]),
    );
    run(&device, kernel, (1, 1), (input, output, 0)).unwrap();
    let (a, b) = (0x1234_5678u32, 0x9abc_def0u32);
    let high = ((u64::from(a) * u64::from(b)) >> 32) as u32;
    let expected = [
        0x9ade_1256,
        a.reverse_bits(),
        3 | 4 << 8 | a.count_ones() << 16,
        high,
        2 | 0xffff_ff00,
        u32::MAX,
        i32::MIN as u32,
        a.wrapping_mul(b),
        b << 8 | a >> 24,
        12 | 16 << 8 | 4 << 16 | 16 << 24,
        (0.5f32 + 1.0 + 0.25 + 1.0).to_bits(),
        1,
        // By bytes: a is 18, 52, 86, 120, and b 154, 188, 222, 240, signed -102, -68, -34, -16.
        -10_209i32 as u32,
        60_447,
        -512_609i32 as u32,
        4_879_215,
        (3_430_008i64 * -4_399_376) as u32 ^ (3_430_008u64 * 12_377_840) as u32,
        2_004_318_095 ^ 2_290_649_215,
        (-696_739_148i32 as u32)
            ^ 1_450_744_500
            ^ (-696_739_148i32 as u32) << 1
            ^ 1_450_744_500 << 1,
        a ^ (a >> 8 | b << 24),
        (a as i32).wrapping_mul(b as i32) as u32,
    ];
    assert_eq!(get::<u32>(&device, output, 21), expected);
}

#[test]
fn events_tell_time_in_order() {
    let Some(device) = emulated() else { return };
    let first = device.record().unwrap();
    std::thread::sleep(std::time::Duration::from_millis(5));
    let second = device.record().unwrap();
    assert!(device.passed(&first).unwrap());
    let seconds = device.seconds(&first, &second).unwrap();
    assert!(seconds >= 0.005, "{seconds}");
    assert_eq!(device.seconds(&second, &first).unwrap(), -seconds);
    device.record_again(&first).unwrap();
    assert!(device.seconds(&first, &second).unwrap() <= 0.0);
    device.discard(first);
    device.wait(&second).unwrap();
}

/// Many threads of this process may use the same kernels.
#[test]
fn launches_from_many_threads() {
    let Some(device) = emulated() else { return };
    let kernel = only(&device, REVERSE, &["reverse"]);
    std::thread::scope(|scope| {
        for t in 0..4 {
            let device = &device;
            scope.spawn(move || {
                let data: Vec<f32> = (0..128).map(|i| (i + 1000 * t) as f32 + 400.0).collect();
                let (input, output) = (put(device, &data), put(device, &[0f32; 128]));
                for _ in 0..50 {
                    run(device, kernel, (1, 128), (input, output, 128)).unwrap();
                    let got: Vec<f32> = get(device, output, 128);
                    assert!((0..128).all(|i| got[i] == data[127 - i] * 2.0));
                }
            });
        }
    });
}
