//! Matrix units and asynchronous copies of ops/shared/matrix.cuh against plain arithmetic, on a
//! card or on the emulator (tests/support/machine.rs).

use crate::tests::support::half::{through_half, to_tf32};
use crate::tests::support::machine::{Machine, Random, Text, compile_everywhere};

const PRODUCTS: Text = Text {
    kernels: &["k8", "k8_half", "k16", "k8_tf32"],
    text: r#"
// A (16 x K), B (K x 8) and C (16 x 8) of a block's case and D of all cases, by rows.
template <int K>
struct Case {
    const float *a, *b, *c;
    float* d;
    u32 group, member;
    __device__ Case(const float* in, float* out) {
        a = in + blockIdx.x * (24 * K + 128);
        b = a + 16 * K;
        c = b + 8 * K;
        d = out + blockIdx.x * 128;
        group = threadIdx.x / 4;
        member = threadIdx.x % 4;
    }
    __device__ void halves(u32 left[K / 4], u32 right[K / 8]) const {
        for (u32 r = 0; r < K / 4; ++r) {
            const float* at = a + (group + r % 2 * 8) * K + 2 * member + r / 2 * 8;
            left[r] = pack_half2(at[0], at[1]);
        }
        for (u32 r = 0; r < K / 8; ++r) {
            const float* at = b + (2 * member + r * 8) * 8 + group;
            right[r] = pack_half2(at[0], at[8]);
        }
    }
    __device__ u32 place(u32 r) const { return (group + r * 8) * 8 + 2 * member; }
    __device__ void load(float sum[4]) const {
        for (u32 r = 0; r < 4; ++r) sum[r] = c[place(r / 2) + r % 2];
    }
    __device__ void load(u32 sum[2]) const {
        for (u32 r = 0; r < 2; ++r) sum[r] = pack_half2(c[place(r)], c[place(r) + 1]);
    }
    __device__ void store(const float sum[4]) const {
        for (u32 r = 0; r < 4; ++r) d[place(r / 2) + r % 2] = sum[r];
    }
    __device__ void store(const u32 sum[2]) const {
        for (u32 r = 0; r < 2; ++r) {
            d[place(r)] = half_low(sum[r]);
            d[place(r) + 1] = half_high(sum[r]);
        }
    }
};
extern "C" __global__ void k8(const float* in, float* out, u32) {
    Case<8> all(in, out);
    u32 a[2], b[1];
    float c[4], d[4];
    all.halves(a, b);
    all.load(c);
    mma_m16n8k8(d, a, b[0], c);
    all.store(d);
}
extern "C" __global__ void k8_half(const float* in, float* out, u32) {
    Case<8> all(in, out);
    u32 a[2], b[1], c[2], d[2];
    all.halves(a, b);
    all.load(c);
    mma_m16n8k8(d, a, b[0], c);
    all.store(d);
}
// D takes the place of C.
extern "C" __global__ void k16(const float* in, float* out, u32) {
    Case<16> all(in, out);
    u32 a[4], b[2];
    float d[4];
    all.halves(a, b);
    all.load(d);
    mma_m16n8k16(d, a, b, d);
    all.store(d);
}
extern "C" __global__ void k8_tf32(const float* in, float* out, u32) {
    Case<8> all(in, out);
    u32 a[4], b[2];
    float c[4], d[4];
    for (u32 r = 0; r < 4; ++r)
        a[r] = to_tf32(all.a[(all.group + r % 2 * 8) * 8 + all.member + r / 2 * 4]);
    for (u32 r = 0; r < 2; ++r) b[r] = to_tf32(all.b[(all.member + r * 4) * 8 + all.group]);
    all.load(c);
    mma_m16n8k8_tf32(d, a, b, c);
    all.store(d);
}"#,
};

/// A, B and C by rows.
struct Product {
    name: &'static str,
    a: Vec<f32>,
    b: Vec<f32>,
    c: Vec<f32>,
}

fn products(k: usize) -> Vec<Product> {
    type Entry<'a> = &'a dyn Fn(usize, usize) -> f32;
    let product = |name, a: Entry<'_>, b: Entry<'_>, c: Entry<'_>| Product {
        name,
        a: (0..16 * k).map(|i| a(i / k, i % k)).collect(),
        b: (0..k * 8).map(|i| b(i / 8, i % 8)).collect(),
        c: (0..16 * 8).map(|i| c(i / 8, i % 8)).collect(),
    };
    let mut all = vec![
        product(
            "columns of A",
            &|i, l| (i * k + l + 1) as f32,
            &|l, j| f32::from(l == (3 * j + 1) % k),
            &|i, j| (8 * (8 * i + j)) as f32,
        ),
        product(
            "rows of B",
            &|i, l| f32::from(l == (5 * i + 2) % k),
            &|l, j| (l * 8 + j + 1) as f32,
            &|i, j| -((8 * (8 * i + j)) as f32),
        ),
        // To the last digit of a half, if it is rounded once: one by one the terms would leave no
        // trace.
        product("small beside large", &|_, _| 1.0, &|_, _| 1.0, &|_, _| {
            2048.0
        }),
        // Infinite, not-a-number, and more than the greatest half.
        product(
            "infinities",
            &|i, l| match (i, l) {
                (3, 2) => f32::INFINITY,
                (6, _) => 60000.0,
                _ => 1.0,
            },
            &|l, j| match (l, j) {
                (2, 5) => 0.0,
                (2, 6) => -1.0,
                (1, 4) => f32::NEG_INFINITY,
                _ => 1.0,
            },
            &|i, j| if (i, j) == (9, 1) { f32::NAN } else { j as f32 },
        ),
    ];
    let mut random = Random(3);
    for _ in 0..20 {
        let mut whole = |_| random.below(9) as f32 - 4.0;
        all.push(Product {
            name: "whole numbers",
            a: (0..16 * k).map(&mut whole).collect(),
            b: (0..k * 8).map(&mut whole).collect(),
            c: (0..16 * 8).map(&mut whole).collect(),
        });
    }
    for _ in 0..50 {
        // Numbers with more digits than the formats have, of sizes from 2^-10 to 1.
        let mut number = |_| {
            let fraction = 1.0 + random.bits() as f32 / 2f32.powi(31);
            let size = 2f32.powi(-(random.below(10) as i32) - 1);
            if random.below(2) == 0 {
                fraction * size
            } else {
                -fraction * size
            }
        };
        all.push(Product {
            name: "fractions",
            a: (0..16 * k).map(&mut number).collect(),
            b: (0..k * 8).map(&mut number).collect(),
            c: (0..16 * 8).map(&mut number).collect(),
        });
    }
    all
}

/// All products of one kernel. `input` rounds A and B, `sum` C and D, of which `sum_digits` binary
/// digits remain.
///
/// On the emulator D is the exact sum, rounded once. Cards add in steps of 4 terms or more (Fasi et
/// al. 2021, "Numerical behavior of NVIDIA tensor cores"): a step cuts each of its 5 terms and its
/// sum at 23 binary places below the largest or more, and gives a D in the format.
fn check_products(
    kernel: &'static str,
    k: usize,
    input: impl Fn(f32) -> f64,
    sum: impl Fn(f64) -> f64,
    sum_digits: i32,
) {
    let Some(machine) = Machine::find() else {
        return;
    };
    let products = products(k);
    let words: Vec<u32> = products
        .iter()
        .flat_map(|product| product.a.iter().chain(&product.b).chain(&product.c))
        .map(|value| value.to_bits())
        .collect();
    let cases = products.len();
    let got = machine.run(
        (&PRODUCTS, kernel),
        (cases as u32, 32),
        &words,
        cases * 128,
        0,
    );
    for (case, product) in products.iter().enumerate() {
        for (i, j) in (0..16).flat_map(|i| (0..8).map(move |j| (i, j))) {
            let terms = (0..k).map(|l| input(product.a[i * k + l]) * input(product.b[l * 8 + j]));
            let terms: Vec<f64> = std::iter::once(sum(product.c[i * 8 + j].into()))
                .chain(terms)
                .collect();
            let exact: f64 = terms.iter().sum();
            let size: f64 = terms.iter().map(|term| term.abs()).sum();
            let (expected, result) = (
                sum(exact),
                f64::from(f32::from_bits(got[case * 128 + i * 8 + j])),
            );
            let steps = (k / 4) as f64;
            let slack = steps * size * (6.0 * 2f64.powi(-23) + 2f64.powi(-sum_digits));
            let right = if !expected.is_finite() || !machine.is_card {
                result == expected || result.is_nan() && expected.is_nan()
            } else {
                (result - exact).abs() <= slack
            };
            assert!(
                right,
                "{kernel}, {} ({case}), row {i}, column {j}: {result}, not {expected}",
                product.name
            );
            // No slack where all sums on the way are whole numbers below 2048.
            if ["columns of A", "rows of B", "whole numbers"].contains(&product.name) {
                assert_eq!(
                    result, exact,
                    "{kernel}, {} ({case}), row {i}, column {j}",
                    product.name
                );
            }
        }
    }
}

#[test]
fn products_of_halves_in_f32() {
    let round = |value: f32| through_half(value.into());
    check_products("k8", 8, round, |sum| f64::from(sum as f32), 24);
    check_products("k16", 16, round, |sum| f64::from(sum as f32), 24);
}

#[test]
fn products_of_halves_in_halves() {
    let round = |value: f32| through_half(value.into());
    check_products("k8_half", 8, round, through_half, 11);
}

#[test]
fn products_of_tf32() {
    check_products(
        "k8_tf32",
        8,
        |value| to_tf32(value).into(),
        |sum| f64::from(sum as f32),
        24,
    );
}

const MATRICES: Text = Text {
    kernels: &["matrices"],
    text: r#"
// The input: where each thread's row starts, in steps of 8 halves; then the halves.
extern "C" __global__ void matrices(const u32* in, u32* out, u32) {
    __shared__ uint4 rows[192];
    u32* words = (u32*)rows;
    for (u32 i = threadIdx.x; i < 768; i += blockDim.x) words[i] = in[blockDim.x + i];
    __syncthreads();
    const uint4* row = rows + in[threadIdx.x];
    // The other wrappers count from the start of an array, here from the second row on.
    const u32 offset = 16 * in[threadIdx.x] - 16;
    u32* to = out + 20 * threadIdx.x;
    load_matrix_x4(to, row);
    load_matrix_x4_at(to + 4, rows + 1, offset);
    load_matrix_x2(to + 8, row);
    load_matrix_x2_transposed_at(to + 10, rows + 1, offset);
    for (u32 m = 0; m < 2; ++m) to[12 + m] = transpose_matrix(to[m]);
    load_matrix_x2_at(to + 14, rows + 1, offset);
    load_matrix_x4_transposed_at(to + 16, rows + 1, offset);
}"#,
};

#[test]
fn matrices_from_rows_anywhere() {
    let Some(machine) = Machine::find() else {
        return;
    };
    let (threads, words) = (64, 768);
    let mut random = Random(4);
    let mut input: Vec<u32> = (0..threads).map(|_| 1 + random.below(191)).collect();
    // All halves differ.
    input.extend((0..words).map(|i| (2 * i) | ((2 * i + 1) << 16)));
    let got = machine.run(
        (&MATRICES, "matrices"),
        (1, threads),
        &input,
        20 * threads as usize,
        0,
    );
    let half = |row: usize, column: usize| 8 * input[row] + column as u32;
    for thread in 0..threads as usize {
        let (warp, lane) = (thread & !31, thread & 31);
        let (group, member) = (lane / 4, lane % 4);
        let plain = |m: usize| {
            let row = warp + 8 * m + group;
            half(row, 2 * member) | half(row, 2 * member + 1) << 16
        };
        let transposed = |m: usize| {
            let row = warp + 8 * m + 2 * member;
            half(row, group) | half(row + 1, group) << 16
        };
        let expected: Vec<u32> = (0..4)
            .map(plain)
            .chain((0..4).map(plain))
            .chain((0..2).map(plain))
            .chain((0..2).map(transposed))
            // By way of registers.
            .chain((0..2).map(transposed))
            .chain((0..2).map(plain))
            .chain((0..4).map(transposed))
            .collect();
        assert_eq!(
            got[20 * thread..20 * thread + 20],
            expected,
            "thread {thread}"
        );
    }
}

const COPIES: Text = Text {
    kernels: &["copies", "next_block"],
    text: r#"
// Three groups of copies a thread, the last of two; each is read as early as allowed, then all
// by another thread.
extern "C" __global__ void copies(const uint4* in, u32* out, u32) {
    __shared__ uint4 to[4][64];
    __shared__ u32 word[64];
    u32 i = threadIdx.x;
    for (u32 k = 0; k < 4; ++k) to[k][i] = make_uint4(1, 2, 3, 4);
    copy_async_16(&to[0][i], in + i);
    copy_async_commit();
    copy_async_16(&to[1][i], in + 64 + i);
    copy_async_commit();
    copy_async_16(&to[2][i], in + 128 + i);
    copy_async_4(&word[i], (const u32*)in + 5 * i + 3);
    copy_async_commit();
    u32* mine = out + 6 * i;
    copy_async_wait<2>();
    mine[0] = to[0][i].x;
    copy_async_wait<1>();
    mine[1] = to[1][i].y;
    copy_async_wait<0>();
    mine[2] = to[2][i].z;
    mine[3] = word[i];
    __syncthreads();
    mine[4] = to[2][(i + 37) % 64].w;
    mine[5] = word[(i + 37) % 64];
}
// What the block before left on its way does not concern this one.
extern "C" __global__ void next_block(const uint4* in, u32* out, u32) {
    __shared__ uint4 to[32];
    u32 i = threadIdx.x;
    if (blockIdx.x == 0) {
        copy_async_16(&to[i], in + i);
        copy_async_commit();
        return;
    }
    to[i] = make_uint4(7, 7, 7, 7);
    copy_async_commit();
    copy_async_wait<0>();
    out[i] = to[i].x;
}"#,
};

#[test]
fn copies_arrive_in_groups() {
    let Some(machine) = Machine::find() else {
        return;
    };
    let input: Vec<u32> = (0..4 * 192).map(|i| 0x1000_0000 + i).collect();
    let got = machine.run((&COPIES, "copies"), (1, 64), &input, 6 * 64, 0);
    for i in 0..64 {
        let word = |place: usize| 0x1000_0000 + place as u32;
        let other = (i + 37) % 64;
        let expected = [
            word(4 * i),
            word(4 * (64 + i) + 1),
            word(4 * (128 + i) + 2),
            word(5 * i + 3),
            word(4 * (128 + other) + 3),
            word(5 * other + 3),
        ];
        assert_eq!(got[6 * i..6 * i + 6], expected, "thread {i}");
    }
    assert_eq!(
        machine.run((&COPIES, "next_block"), (2, 32), &input, 32, 0),
        [7; 32]
    );
}

const MISTAKES: Text = Text {
    kernels: &[
        "early",
        "partial",
        "two_places",
        "unaligned",
        "not_shared",
        "copy_to_global",
    ],
    text: r#"
extern "C" __global__ void early(const uint4* in, u32* out, u32) {
    __shared__ uint4 to[3][32];
    u32 i = threadIdx.x;
    copy_async_16(&to[0][i], in + i);
    copy_async_commit();
    copy_async_16(&to[1][i], in + i);
    copy_async_commit();
    copy_async_16(&to[2][i], in + i);
    copy_async_wait<1>();
    out[3 * i] = to[0][i].x;
    out[3 * i + 1] = to[1][i].x;
    copy_async_wait<0>();
    out[3 * i + 2] = to[2][i].x;
}
extern "C" __global__ void partial(const u32* in, u32* out, u32) {
    u32 a[4] = {}, b[2] = {}; float d[4] = {};
    if (threadIdx.x == 9) return;
    mma_m16n8k16(d, a, b, d);
    out[threadIdx.x] = (u32)d[0];
}
extern "C" __global__ void two_places(const u32* in, u32* out, u32) {
    u32 a[4] = {}, b[2] = {}; float d[4] = {};
    if (threadIdx.x % 2)
        mma_m16n8k16(d, a, b, d);
    else
        mma_m16n8k16(d, a, b, d);
    out[threadIdx.x] = (u32)d[0];
}
extern "C" __global__ void unaligned(const u32* in, u32* out, u32) {
    __shared__ uint4 rows[33];
    load_matrix_x4(out + 4 * threadIdx.x, (u32*)(rows + threadIdx.x) + (threadIdx.x == 5));
}
extern "C" __global__ void not_shared(const u32* in, u32* out, u32) {
    load_matrix_x2(out + 4 * threadIdx.x, in + 4 * threadIdx.x);
}
extern "C" __global__ void copy_to_global(const u32* in, u32* out, u32) { copy_async_16(out, in); }
"#,
};

/// On the emulator only: what would be undefined on a card.
#[test]
fn the_emulator_finds_mistakes() {
    let Some(machine) = Machine::emulated() else {
        return;
    };
    let input = [5u32; 128];
    let got = machine.run((&MISTAKES, "early"), (1, 32), &input, 96, 0);
    // The second group was not waited for, and the third copy is in none.
    assert_eq!(got[..3], [5, 0xffcd_ffcd, 0xffcd_ffcd]);
    for (kernel, words) in [
        ("partial", "it needs the whole warp (matrix_test.cu:19)"),
        ("two_places", "it needs the whole warp at one place"),
        (
            "unaligned",
            "lane 5, which is not in shared memory or not aligned to 16 (matrix_test.cu:32)",
        ),
        ("not_shared", "lane 0, which is not in shared memory"),
        (
            "copy_to_global",
            "which is not in shared memory, or one is not aligned (matrix_test.cu:37)",
        ),
    ] {
        let error = machine
            .try_run((&MISTAKES, kernel), (1, 32), &input, 128, 0)
            .expect_err(kernel);
        assert!(error.to_string().contains(words), "{kernel}: {error}");
    }
}

#[test]
fn compiles_for_every_architecture() {
    compile_everywhere(&[&PRODUCTS, &MATRICES, &COPIES, &MISTAKES]);
}
