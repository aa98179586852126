//! Every instruction set against plain Rust.

use super::*;

/// Two vectors and what is in them.
struct Operands<L> {
    a: Vec<f32>,
    b: Vec<f32>,
    va: L,
    vb: L,
}

#[inline(always)]
fn operands<L: Lanes>() -> Operands<L> {
    let a: Vec<f32> = (0..L::WIDTH).map(|i| 0.37 * i as f32 - 2.0).collect();
    let b: Vec<f32> = (0..L::WIDTH).map(|i| 1.5 - 0.21 * i as f32).collect();
    let (va, vb) = (L::load(&a), L::load(&b));
    Operands { a, b, va, vb }
}

/// Notes every lane whose relative error is above `tolerance`.
#[inline(always)]
fn expect<L: Lanes>(
    failures: &mut Vec<String>,
    name: &str,
    got: L,
    want: &dyn Fn(usize) -> f32,
    tolerance: f32,
) {
    let mut out = vec![0.0; L::WIDTH];
    got.store(&mut out);
    for i in 0..L::WIDTH {
        let (got, want) = (out[i], want(i));
        let close = (got - want).abs() <= tolerance * want.abs();
        if !close {
            failures.push(format!("{name} lane {i}: {got} is not {want}"));
        }
    }
}

#[inline(always)]
fn check<L: Lanes>(failures: &mut Vec<String>) {
    check_arithmetic::<L>(failures);
    check_functions::<L>(failures);
    check_masks::<L>(failures);
    check_transpose::<L>(failures);
    check_columns::<L>(failures);
}

#[inline(always)]
fn check_arithmetic<L: Lanes>(failures: &mut Vec<String>) {
    let Operands { a, b, va, vb } = operands::<L>();
    let mut expect = |name, got, want: &dyn Fn(usize) -> f32, tolerance| {
        expect::<L>(failures, name, got, want, tolerance);
    };
    expect("add", va + vb, &|i| a[i] + b[i], 0.0);
    expect("sub", va - vb, &|i| a[i] - b[i], 0.0);
    expect("mul", va * vb, &|i| a[i] * b[i], 0.0);
    expect("neg", -va, &|i| -a[i], 0.0);
    expect("div", va / vb, &|i| a[i] / b[i], 1e-7);
    expect("fma", va.mul_add(vb, va), &|i| a[i] * b[i] + a[i], 1e-5);
    expect(
        "fnma",
        va.neg_mul_add(vb, va),
        &|i| a[i] - a[i] * b[i],
        1e-5,
    );
    expect("min", va.min(vb), &|i| a[i].min(b[i]), 0.0);
    expect("max", va.max(vb), &|i| a[i].max(b[i]), 0.0);
}

#[inline(always)]
fn check_functions<L: Lanes>(failures: &mut Vec<String>) {
    let Operands { a, b, va, vb } = operands::<L>();
    let mut expect = |name, got, want: &dyn Fn(usize) -> f32, tolerance| {
        expect::<L>(failures, name, got, want, tolerance);
    };
    expect("sqrt", (va * va).sqrt(), &|i| (a[i] * a[i]).sqrt(), 1e-7);
    expect(
        "reciprocal",
        (vb + L::splat(4.0)).reciprocal(),
        &|i| 1.0 / (b[i] + 4.0),
        3e-7,
    );
    for scale in [1.0f32, 10.0, 30.0] {
        expect(
            "exp2",
            (va * L::splat(scale)).exp2(),
            &|i| (a[i] * scale).exp2(),
            3e-7,
        );
    }
}

#[inline(always)]
fn check_masks<L: Lanes>(failures: &mut Vec<String>) {
    let Operands { a, b, va, vb } = operands::<L>();
    let mask = va.ge(vb);
    let upper = va.ge(L::splat(0.5));
    let larger = |i: usize| if a[i] >= b[i] { a[i] } else { b[i] };
    let in_lower = |i: usize| match a[i] >= b[i] && a[i] < 0.5 {
        true => a[i],
        false => 0.0,
    };
    expect(failures, "select", L::select(mask, va, vb), &larger, 0.0);
    let chosen = va.where_set(mask.and_not(upper));
    expect(failures, "where_set", chosen, &in_lower, 0.0);

    let mut list = [99; 20];
    let count = mask.write_set(5, &mut list);
    let lanes: Vec<u32> = (0..L::WIDTH)
        .filter(|&i| a[i] >= b[i])
        .map(|i| 5 + i as u32)
        .collect();
    if list[..count] != lanes || list[L::WIDTH..] != [99; 20][L::WIDTH..] {
        failures.push(format!("write_set: {list:?}, {count} of {lanes:?}"));
    }
    let want = (0..L::WIDTH)
        .filter(|&i| a[i] >= b[i] && a[i] >= 0.5)
        .map(|i| 1u32 << i)
        .sum::<u32>();
    if (mask & upper).bits() != want || L::splat(f32::NAN).ge(va).any() || !va.ge(va).any() {
        failures.push("masks".into());
    }
}

#[inline(always)]
fn check_transpose<L: Lanes>(failures: &mut Vec<String>) {
    let w = L::WIDTH;
    let mut rows: Vec<L> = (0..w)
        .map(|r| L::load(&(0..w).map(|c| (r * 100 + c) as f32).collect::<Vec<_>>()))
        .collect();
    L::transpose(&mut rows);
    for (r, row) in rows.into_iter().enumerate() {
        expect(failures, "transpose", row, &|c| (c * 100 + r) as f32, 0.0);
    }
}

#[inline(always)]
fn check_columns<L: Lanes>(failures: &mut Vec<String>) {
    let (w, stride) = (L::WIDTH, 19);
    let data: Vec<f32> = (0..stride * 40).map(|i| i as f32).collect();
    let rows: Rows = std::array::from_fn(|lane| (lane * 7 % 40) as u32);
    let mut columns = vec![L::splat(0.0); 18];
    load_columns(&data, stride, &rows, 18, &mut columns);
    for (c, &column) in columns.iter().enumerate() {
        let want = |l: usize| (rows[l] as usize * stride + c) as f32;
        expect(failures, "load_columns", column, &want, 0.0);
    }
    let mut back = vec![-1.0; data.len()];
    store_columns(&mut columns, &mut back, stride, &rows, w - 1);
    for lane in 0..w {
        let row = rows[lane] as usize * stride;
        let same = back[row..row + 18] == data[row..row + 18] && back[row + 18] == -1.0;
        if same != (lane < w - 1) {
            failures.push(format!("store_columns lane {lane}"));
        }
    }
}

dispatch! { fn check_level / check (failures: &mut Vec<String>) }

#[test]
fn every_instruction_set_computes_the_same() {
    for level in Level::available() {
        let mut failures = Vec::new();
        check_level(level, &mut failures);
        assert!(failures.is_empty(), "{}: {failures:#?}", level.name());
    }
}
