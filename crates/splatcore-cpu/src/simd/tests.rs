//! Every instruction set against plain Rust.

use super::*;

#[inline(always)]
fn check<L: Lanes>(failures: &mut Vec<String>) {
    let w = L::WIDTH;
    let a: Vec<f32> = (0..w).map(|i| 0.37 * i as f32 - 2.0).collect();
    let b: Vec<f32> = (0..w).map(|i| 1.5 - 0.21 * i as f32).collect();
    let (va, vb) = (L::load(&a), L::load(&b));
    let mut expect = |name: &str, got: L, want: &dyn Fn(usize) -> f32, tolerance: f32| {
        let mut out = vec![0.0; w];
        got.store(&mut out);
        for i in 0..w {
            let (got, want) = (out[i], want(i));
            let close = (got - want).abs() <= tolerance * want.abs();
            if !close {
                failures.push(format!("{name} lane {i}: {got} is not {want}"));
            }
        }
    };
    expect("add", va + vb, &|i| a[i] + b[i], 0.0);
    expect("sub", va - vb, &|i| a[i] - b[i], 0.0);
    expect("mul", va * vb, &|i| a[i] * b[i], 0.0);
    expect("neg", -va, &|i| -a[i], 0.0);
    expect("div", va.div(vb), &|i| a[i] / b[i], 1e-7);
    expect("fma", va.mul_add(vb, va), &|i| a[i] * b[i] + a[i], 1e-5);
    expect(
        "fnma",
        va.neg_mul_add(vb, va),
        &|i| a[i] - a[i] * b[i],
        1e-5,
    );
    expect("min", va.min(vb), &|i| a[i].min(b[i]), 0.0);
    expect("max", va.max(vb), &|i| a[i].max(b[i]), 0.0);
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
    let mask = va.ge(vb);
    let upper = va.ge(L::splat(0.5));
    expect(
        "select",
        L::select(mask, va, vb),
        &|i| if a[i] >= b[i] { a[i] } else { b[i] },
        0.0,
    );
    expect(
        "where_set",
        va.where_set(L::and_not(mask, upper)),
        &|i| {
            if a[i] >= b[i] && a[i] < 0.5 {
                a[i]
            } else {
                0.0
            }
        },
        0.0,
    );
    let mut rows: Vec<L> = (0..w)
        .map(|r| L::load(&(0..w).map(|c| (r * 100 + c) as f32).collect::<Vec<_>>()))
        .collect();
    L::transpose(&mut rows);
    for (r, row) in rows.into_iter().enumerate() {
        expect("transpose", row, &|c| (c * 100 + r) as f32, 0.0);
    }
    let stride = 19;
    let data: Vec<f32> = (0..stride * 40).map(|i| i as f32).collect();
    let rows: Rows = std::array::from_fn(|lane| (lane * 7 % 40) as u32);
    let mut columns = vec![L::splat(0.0); 18];
    load_columns(&data, stride, &rows, 18, &mut columns);
    for (c, &column) in columns.iter().enumerate() {
        expect(
            "load_columns",
            column,
            &|l| (rows[l] as usize * stride + c) as f32,
            0.0,
        );
    }
    let mut back = vec![-1.0; data.len()];
    store_columns(&mut columns, &mut back, stride, &rows, w - 1);
    for lane in 0..w {
        let row = rows[lane] as usize * stride;
        let same = back[row..row + 18] == data[row..row + 18] && back[row + 18] == -1.0;
        expect(
            "store_columns",
            L::splat(same as u8 as f32),
            &|_| (lane < w - 1) as u8 as f32,
            0.0,
        );
    }
    let want = (0..w)
        .filter(|&i| a[i] >= b[i] && a[i] >= 0.5)
        .map(|i| 1u32 << i)
        .sum::<u32>();
    let mut list = [99; 20];
    let count = L::write_set(mask, 5, &mut list);
    let lanes: Vec<u32> = (0..w)
        .filter(|&i| a[i] >= b[i])
        .map(|i| 5 + i as u32)
        .collect();
    if list[..count] != lanes || list[w..] != [99; 20][w..] {
        failures.push(format!("write_set: {list:?}, {count} of {lanes:?}"));
    }
    if L::bits(L::and(mask, upper)) != want
        || L::any(L::splat(f32::NAN).ge(va))
        || !L::any(va.ge(va))
    {
        failures.push("masks".into());
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
