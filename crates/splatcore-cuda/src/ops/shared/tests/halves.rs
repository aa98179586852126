//! Half precision and TF32 of ops/shared/matrix.cuh against plain arithmetic, on a card or on the
//! emulator (tests/support/machine.rs).

use crate::tests::support::half::{
    INFINITY, SIGN, is_nan, middle, rounded, same, to_half, to_tf32, units, value_of,
};
use crate::tests::support::machine::{Machine, Random, Text, compile_everywhere};

const HALVES: Text = Text {
    kernels: &["arithmetic", "exponential", "pack", "tf32"],
    text: r#"
// Three words a thread; nine results.
extern "C" __global__ void arithmetic(const u32* in, u32* out, u32 n) {
    u32 i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    u32 a = in[3 * i], b = in[3 * i + 1], c = in[3 * i + 2];
    u32* to = out + 9 * i;
    to[0] = add_half2(a, b);
    to[1] = multiply_half2(a, b);
    to[2] = mask_ge_half2(a, b);
    to[3] = min_half2(a, b);
    to[4] = multiply_add_half2(a, b, c);
    to[5] = subtract_product_half2(c, a, b);
    to[6] = min_normal_half2(a, b);
    to[7] = max_half2(a, b);
    to[8] = pack_half2(half_low(a), half_high(a));
}
extern "C" __global__ void exponential(const u32* in, u32* out, u32 n) {
    u32 i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = exp2_half2(in[i]);
}
// Two f32 a thread.
extern "C" __global__ void pack(const float* in, u32* out, u32 n) {
    u32 i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = pack_half2(in[2 * i], in[2 * i + 1]);
}
extern "C" __global__ void tf32(const float* in, u32* out, u32 n) {
    u32 i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = to_tf32(in[i]);
}"#,
};

/// Halves where rounding, signs and exponents are at their limits.
fn special_halves() -> Vec<u16> {
    let positive = [
        0, 1, 2, 3, 0x3ff, 0x400, 0x401, 0x1000, 0x13ff, 0x1801, 0x37ff, 0x3800, 0x3bff, 0x3c00,
        0x3c01, 0x3c02, 0x3e01, 0x4248, 0x5155, 0x63ff, 0x6400, 0x6801, 0x77ff, 0x7800, 0x7bfe,
        0x7bff, INFINITY, 0x7c01, 0x7e00, 0x7fff,
    ];
    positive
        .into_iter()
        .flat_map(|half| [half, half | SIGN])
        .collect()
}

#[test]
fn half_arithmetic_rounds_once() {
    let Some(machine) = Machine::find() else {
        return;
    };
    let special = special_halves();
    let mut triples = Vec::new();
    for &a in &special {
        for &b in &special {
            triples.extend(special.iter().map(|&c| [a, b, c]));
        }
    }
    let mut random = Random(1);
    for _ in 0..50_000 {
        triples.push([(); 3].map(|()| random.bits() as u16));
        // Of like size, where sums cancel and ties are frequent.
        triples.push([(); 3].map(|()| random.bits() as u16 & 0x83ff | 0x3800));
    }
    // The other half of each word has something else.
    let n = triples.len();
    let others: Vec<[u16; 3]> = (0..n).map(|i| triples[(i * 7 + 5) % n]).collect();
    let input: Vec<u32> = (0..3 * n)
        .map(|i| u32::from(triples[i / 3][i % 3]) | u32::from(others[i / 3][i % 3]) << 16)
        .collect();
    let got = machine.run(
        (&HALVES, "arithmetic"),
        ((n as u32).div_ceil(128), 128),
        &input,
        9 * n,
        n as u32,
    );
    for i in 0..n {
        for (half, &[a, b, c]) in [&triples[i], &others[i]].into_iter().enumerate() {
            let [x, y, z] = [a, b, c].map(value_of);
            let wide = |half: u16| units(half) << 24;
            let lesser = match (is_nan(a), is_nan(b)) {
                (true, _) => b,
                (_, true) => a,
                _ if x < y || x == y && a & SIGN != 0 => a,
                _ => b,
            };
            let greater = match (is_nan(a), is_nan(b)) {
                (true, _) => b,
                (_, true) => a,
                _ if x > y || x == y && b & SIGN != 0 => a,
                _ => b,
            };
            let expected = [
                rounded(&[a, b], x + y, || wide(a) + wide(b)),
                rounded(&[a, b], x * y, || units(a) * units(b)),
                if x >= y { 0xffff } else { 0 },
                lesser,
                rounded(&[a, b, c], z + x * y, || wide(c) + units(a) * units(b)),
                rounded(&[a, b, c], z - x * y, || wide(c) - units(a) * units(b)),
                // Without an exponent there is at most the sign.
                if lesser & INFINITY == 0 {
                    lesser & SIGN
                } else {
                    lesser
                },
                greater,
            ];
            let result = |k: usize| (got[9 * i + k] >> (16 * half)) as u16;
            for (k, name) in [
                "add",
                "multiply",
                "mask_ge",
                "min",
                "multiply_add",
                "subtract_product",
                "min_normal",
                "max",
            ]
            .into_iter()
            .enumerate()
            {
                // A mask is bits, the rest are numbers.
                let right = if k == 2 {
                    result(k) == expected[k]
                } else {
                    same(result(k), expected[k])
                };
                assert!(
                    right,
                    "{name} of {a:#06x} {b:#06x} {c:#06x}: {:#06x}, not {:#06x}",
                    result(k),
                    expected[k]
                );
            }
            assert!(
                same(result(8), a),
                "{a:#06x} to f32 and back: {:#06x}",
                result(8)
            );
        }
    }
}

/// PTX ISA: the relative error of `ex2.approx.f16x2` is 2^-9.9 at most. Subnormal results are a
/// step of halves off, as an H200 does not round them to the nearest.
#[test]
fn an_exponential_of_halves_is_as_exact_as_its_instruction() {
    let Some(machine) = Machine::find() else {
        return;
    };
    // Every half once; the other half of each word has something else.
    let input: Vec<u32> = (0..1u32 << 16)
        .map(|half| half | ((half * 7 + 5) % (1 << 16)) << 16)
        .collect();
    let n = input.len();
    let got = machine.run((&HALVES, "exponential"), (512, 128), &input, n, n as u32);
    for (&word, &result) in input.iter().zip(&got) {
        for shift in [0, 16] {
            let (exponent, found) = ((word >> shift) as u16, (result >> shift) as u16);
            let expected = value_of(exponent).exp2();
            if is_nan(exponent) || expected >= 65_520.0 {
                assert!(is_nan(exponent) == is_nan(found) || found == INFINITY);
                continue;
            }
            let off = (value_of(found) - expected).abs();
            let step = 1.0 / f64::from(1 << 24);
            assert!(
                off <= 1.05e-3 * expected + step,
                "2^{}: {}, not {expected}",
                value_of(exponent),
                value_of(found)
            );
        }
    }
}

/// f32 around all halves and the middles between them, of both signs, and what is special.
fn around_halves() -> Vec<f32> {
    let mut values = vec![
        f32::NAN,
        f32::INFINITY,
        f32::MAX,
        f32::MIN_POSITIVE,
        f32::from_bits(1),
        1e-8,
    ];
    for half in 0..INFINITY {
        let middle = (middle(half) as f64 / f64::from(1 << 25)) as f32;
        values.extend([
            value_of(half) as f32,
            middle,
            middle.next_down(),
            middle.next_up(),
        ]);
    }
    values.extend(values.clone().iter().map(|value| -value));
    values
}

#[test]
fn packing_rounds_to_nearest_even() {
    let Some(machine) = Machine::find() else {
        return;
    };
    let values = around_halves();
    let n = values.len();
    // Low and high halves come from different places.
    let pair = |i: usize| [values[i], values[(i + n / 3) % n]];
    let input: Vec<u32> = (0..n).flat_map(|i| pair(i).map(f32::to_bits)).collect();
    let got = machine.run(
        (&HALVES, "pack"),
        ((n as u32).div_ceil(256), 256),
        &input,
        n,
        n as u32,
    );
    for i in 0..n {
        for (half, value) in pair(i).into_iter().enumerate() {
            let (result, expected) = ((got[i] >> (16 * half)) as u16, to_half(value.into()));
            assert!(
                same(result, expected),
                "{value:e}: {result:#06x}, not {expected:#06x}"
            );
        }
    }
}

#[test]
fn tf32_rounds_ties_away_from_zero() {
    let Some(machine) = Machine::find() else {
        return;
    };
    let mut random = Random(2);
    let mut bits = vec![
        0,
        1,
        0xfff,
        0x1000,
        0x1001,
        0x3000,
        0x007f_f000,
        0x7f7f_f000,
        0x7f7f_efff,
        0x7f80_0000,
        0x7fc0_0000,
        0x7fff_ffff,
    ];
    for exponent in 0..255 {
        let fraction = random.bits() & 0x007f_e000;
        bits.extend([0, 0xfff, 0x1000, 0x1001, 0x1fff].map(|low| exponent << 23 | fraction | low));
    }
    bits.extend(bits.clone().iter().map(|bits| bits | 1 << 31));
    let n = bits.len();
    let got = machine.run(
        (&HALVES, "tf32"),
        ((n as u32).div_ceil(64), 64),
        &bits,
        n,
        n as u32,
    );
    for (&bits, &got) in bits.iter().zip(&got) {
        let value = f32::from_bits(bits);
        // What the matrix units look at.
        let seen = got & 0xffff_e000;
        if value.is_nan() {
            assert!(f32::from_bits(seen).is_nan(), "{bits:#x}: {got:#x}");
        } else {
            assert_eq!(seen, to_tf32(value).to_bits(), "{bits:#x}");
        }
    }
}

#[test]
fn compiles_for_every_architecture() {
    compile_everywhere(&[&HALVES]);
}
