//! `sort` against a stable sort on the host, in every plan and in variants of its constants, on a
//! card or on the emulator.
//!
//! `SPLATCORE_TEST_DEVICE=card` insists on a card, `emulator` on the emulator.

mod cases;

use crate::device::Signature;
use crate::device::queue::Queue;
use crate::device::queue::launch;
use crate::device::{Buffer, Device, Kernel, Program, Tuned};
use crate::ops::camera::KernelCamera;
use crate::ops::sort::{self, PieceSizes, Plan};
use crate::ops::sort::{CountDigitsParams, SortDigitParams};
use crate::ops::{self, project};
use crate::tests::support::device::card_or_emulator;
use crate::tests::support::machine::Random;
use cases::cases;
use splatcore_core::backend::RenderOptions;
use splatcore_core::pipeline::Intersect;
use splatcore_core::semantics::Semantics;
use splatcore_reference::conformance::scenes::plain_camera;
use std::ffi::c_void;
use std::ptr::from_mut;
use std::sync::Arc;

const NO_KEY: u32 = u32::MAX;
/// As sort.cu declares it.
const BLOCK: usize = 256;

/// Keys of a piece of a program's plan.
fn piece_of(program: &Program, plan: Plan) -> usize {
    let sizes = PieceSizes::of(Tuned::of(program).unwrap()).unwrap();
    sizes.0[usize::from(plan.is_large)]
}
/// Keys below this are lists whose places the sort notes.
const LISTS: usize = 700;

/// A card, else the emulator.
fn device() -> Option<Arc<dyn Device>> {
    card_or_emulator().map(|(device, _)| device)
}

/// The input of a sort.
struct Case {
    keys: Vec<u32>,
    /// What the device is told; the keys beyond are not to be read.
    count: usize,
    has_gaps: bool,
}

/// The sorted pairs; the value of a pair is its place in the input.
fn sorted(queue: &Queue, kernels: &[Kernel], plan: Plan, case: &Case) -> Vec<(u32, u32)> {
    let device = &queue.device;
    let capacity = case.keys.len();
    let numbers: Vec<u32> = (0..capacity as u32).collect();
    let keys = [&case.keys, &vec![0xABAB_ABAB; capacity]]
        .map(|data| Buffer::from_slice(device, "keys", data).unwrap());
    let values = [&numbers, &vec![0xABAB_ABAB; capacity]]
        .map(|data| Buffer::from_slice(device, "values", data).unwrap());
    let count = Buffer::from_slice(device, "count", &[case.count as u32]).unwrap();
    let histograms =
        Buffer::from_slice(device, "histograms", &vec![0u8; plan.histogram_bytes()]).unwrap();
    let ranges = Buffer::from_slice(device, "ranges", &vec![[0u32; 2]; LISTS]).unwrap();
    let sizes = PieceSizes::of(kernels[0].tuned).unwrap();
    let state_bytes = plan.state_bytes(capacity, sizes);
    // Left over from another frame: states that look published.
    let states = Buffer::from_slice(device, "states", &vec![0xFFu8; state_bytes]).unwrap();
    let at = sort::sort(
        queue,
        kernels,
        plan,
        sort::Input {
            keys: keys.each_ref().map(Buffer::address),
            values: values.each_ref().map(Buffer::address),
            count: count.address(),
            capacity,
            has_gaps: case.has_gaps,
            room: capacity,
            ranges: ranges.address(),
            lists: LISTS,
        },
        [histograms.address(), states.address()],
    )
    .unwrap();
    let keys: Vec<u32> = keys[at].to_vec(capacity).unwrap();
    let values: Vec<u32> = values[at].to_vec(capacity).unwrap();
    let mut noted = vec![[0u32; 2]; LISTS];
    for (key, at) in keys[..expected(plan, case).len()].iter().zip(0..) {
        if let Some([not_begin, end]) = noted.get_mut(*key as usize) {
            *not_begin = if *end == 0 { !at } else { *not_begin };
            *end = at + 1;
        }
    }
    let ranges: Vec<[u32; 2]> = ranges.to_vec(LISTS).unwrap();
    assert_eq!(ranges, noted, "ranges of {plan:?}");
    keys.into_iter().zip(values).collect()
}

/// What a stable sort by the bits of the plan gives.
fn expected(plan: Plan, case: &Case) -> Vec<(u32, u32)> {
    let seen = if case.has_gaps {
        case.keys.len()
    } else {
        case.count.min(case.keys.len())
    };
    let covered = plan.bits * plan.passes;
    let mask = if covered >= 32 {
        u32::MAX
    } else {
        (1 << covered) - 1
    };
    let mut pairs: Vec<(u32, u32)> = (case.keys[..seen].iter().copied().zip(0..))
        .filter(|(key, _)| *key != NO_KEY)
        .collect();
    pairs.sort_by_key(|(key, _)| key & mask);
    pairs
}

fn check(queue: &Queue, program: &Program, plan: Plan) {
    let kernels = queue.device.load(program).unwrap();
    for (name, case) in cases(plan, piece_of(program, plan)) {
        let expected = expected(plan, &case);
        let got = sorted(queue, &kernels, plan, &case);
        let wrong = (0..expected.len()).find(|&i| got[i] != expected[i]);
        assert_eq!(
            wrong.map(|i| (i, got[i], expected[i])),
            None,
            "{name}: {plan:?}, {:?}",
            program.constants
        );
    }
}

#[test]
fn every_plan_sorts() {
    let Some(device) = device() else { return };
    let queue = Queue::new(device);
    for plan in Plan::all() {
        check(&queue, &sort::program(plan), plan);
    }
}

/// Digits, keys a thread and windows that `Plan::new` does not choose, for whoever measures them,
/// and the other constants.
#[test]
fn other_constants_sort() {
    let Some(device) = device() else { return };
    let queue = Queue::new(device);
    for (bits, passes, items, window) in [
        (1, 3, 4, 1),
        (8, 4, 4, 32),
        (8, 1, 1, 3),
        (9, 2, 8, 8),
        (10, 1, 4, 2),
        (10, 3, 16, 8),
        (11, 3, 8, 4),
        (11, 3, 16, 8),
        (11, 2, 4, 1),
    ] {
        let is_large = items > 8;
        let plan = Plan {
            bits,
            passes,
            is_large,
            window,
        };
        let name = ["ITEMS_SMALL", "ITEMS_LARGE"][usize::from(is_large)];
        let program = sort::program(plan).with_tunables(&[(name, items)]).unwrap();
        check(&queue, &program, plan);
        let mut program = program;
        program.constants.push(("TICKETS", "1".into()));
        program.constants.push(("COPIES", "1".into()));
        program
            .constants
            .push(("EAGER", u32::from(passes <= 2).to_string()));
        check(&queue, &program, plan);
    }
}

/// On the emulator every piece finds its predecessor's prefix; this asks for longer ways back.
#[test]
fn look_back_adds_up_the_pieces_before() {
    const TEXT: &str = r#"
extern "C" __global__ void look_back_test(const u32* states, u32 piece, u32* sums) {
    u32 first = threadIdx.x * OWNED, earlier[OWNED];
    if (first >= DIGITS) return;
    for (int d = 0; d < OWNED; ++d) earlier[d] = 0;
    look_back_digits(states + first, piece, earlier);
    for (int d = 0; d < OWNED; ++d) sums[first + d] = earlier[d];
}"#;
    const OWN: u32 = 0x4000_0000;
    const PREFIX: u32 = 0x8000_0000;
    let Some(device) = device() else { return };
    let pieces = 23usize;
    for (bits, window) in [(5, 1), (8, 3), (8, 16), (9, 8), (10, 2), (11, 4), (11, 32)] {
        let plan = Plan {
            bits,
            passes: 2,
            is_large: false,
            window,
        };
        let mut program = sort::program(plan);
        let constants = program.constants.clone();
        let text = ("look_back_test.cu", TEXT);
        program = ops::program_of_text(text, &["sort.cu"], constants, &[]);
        program.kernels = vec![Signature::unchecked("look_back_test")];
        let kernel = device.load(&program).unwrap()[0];
        let digits = 1usize << bits;
        let row = 2 * digits;
        // Pieces 0 and `last` have prefixes.
        for last in [0, 1, 7, 16, 21] {
            let mut random = Random(last as u64 + 5);
            let own: Vec<u32> = (0..pieces * digits).map(|_| random.below(5000)).collect();
            let sum_to = |piece: usize, digit: usize| -> u32 {
                (0..piece)
                    .map(|earlier| own[earlier * digits + digit])
                    .sum()
            };
            let mut states = vec![0u32; pieces * row];
            for piece in 0..pieces {
                for digit in 0..digits {
                    states[piece * row + digit] = match piece == 0 || piece == last {
                        true => PREFIX | sum_to(piece + 1, digit),
                        false => OWN | own[piece * digits + digit],
                    };
                }
            }
            let states = Buffer::from_slice(&device, "states", &states).unwrap();
            let sums = Buffer::from_slice(&device, "sums", &vec![7u32; digits]).unwrap();
            for piece in [1usize, 2, 8, 17, 22] {
                let (mut from, mut number, mut to) =
                    (states.address(), piece as u32, sums.address());
                let mut arguments: [*mut c_void; 3] = [
                    from_mut(&mut from).cast(),
                    from_mut(&mut number).cast(),
                    from_mut(&mut to).cast(),
                ];
                // SAFETY: the kernel takes these three, and the buffers have the sizes that it
                // counts on.
                unsafe {
                    device
                        .launch(kernel, 1, BLOCK as u32, &mut arguments)
                        .unwrap()
                };
                let got: Vec<u32> = sums.to_vec(digits).unwrap();
                let expected: Vec<u32> = (0..digits).map(|digit| sum_to(piece, digit)).collect();
                assert_eq!(
                    got, expected,
                    "{bits} bits, window {window}, piece {piece}, prefix at {last}"
                );
            }
        }
    }
}

/// The emulator runs piece after piece, so a sort there does not notice what the states were.
#[test]
fn counting_zeroes_the_states_of_all_pieces() {
    let Some(device) = device() else { return };
    for plan in [Plan::new(11, 20_000), Plan::new(sort::ALL_BITS, 20_000)] {
        let count_digits = device.load(&sort::program(plan)).unwrap()[0];
        let piece = piece_of(&sort::program(plan), plan);
        let row = (plan.passes as usize) << plan.bits;
        let capacity = 4 * piece;
        let mut random = Random(11);
        let data: Vec<u32> = (0..capacity).map(|_| random.bits()).collect();
        let keys = Buffer::from_slice(&device, "keys", &data).unwrap();
        for (n, pieces) in [(0, 0), (1, 1), (piece, 1), (piece + 1, 2), (capacity, 4)] {
            let count = Buffer::from_slice(&device, "count", &[n as u32]).unwrap();
            let histograms = vec![0u8; plan.histogram_bytes()];
            let histograms = Buffer::from_slice(&device, "histograms", &histograms).unwrap();
            let states = Buffer::from_slice(&device, "states", &vec![u32::MAX; 4 * row]).unwrap();
            let params = CountDigitsParams {
                keys: keys.address(),
                count: count.address(),
                capacity: capacity as u32,
                histograms: histograms.address(),
                states: states.address(),
            };
            launch(&*device, count_digits, 3, 512, &params).unwrap();
            let states: Vec<u32> = states.to_vec(4 * row).unwrap();
            let is_zero = |states: &[u32]| states.iter().all(|state| *state == 0);
            assert!(is_zero(&states[..pieces * row]), "{n} keys, {plan:?}");
            // The rest may be large and is left alone.
            assert!(
                states[pieces * row..]
                    .iter()
                    .all(|state| *state == u32::MAX),
                "{n} keys, {plan:?}"
            );
            let mut expected = vec![0u32; row];
            for key in &data[..n] {
                for pass in 0..plan.passes {
                    let digit =
                        key.checked_shr(plan.bits * pass).unwrap_or(0) & ((1 << plan.bits) - 1);
                    expected[((pass << plan.bits) + digit) as usize] += 1;
                }
            }
            let got: Vec<u32> = histograms.to_vec(row).unwrap();
            assert!(got == expected, "{n} keys, {plan:?}");
        }
    }
}

/// After a frame that had too little room the counts may be of other keys: the result means
/// nothing, but nothing outside the buffers may change.
#[test]
fn wrong_counts_do_no_harm() {
    let Some(device) = device() else { return };
    let plan = Plan::new(8, 1000);
    let sort_digit = device.load(&sort::program(plan)).unwrap()[1];
    let put = |name, data: &[u32]| Buffer::from_slice(&device, name, data).unwrap();
    let from = put("keys and values", &[1; 1000]);
    // Twice as many places as the capacity says.
    let to = put("places for keys and values", &[7; 2000]);
    let mut counts = vec![0u32; plan.histogram_bytes() / 4];
    // The keys' own places begin 10 before the end.
    (counts[0], counts[1]) = (990, 1000);
    let (histograms, states) = (put("histograms", &counts), put("states", &[0; 256]));
    let params = SortDigitParams {
        keys_in: from.address(),
        values_in: from.address(),
        keys_out: to.address(),
        values_out: to.address(),
        count: 0,
        capacity: 1000,
        pass: 0,
        histograms: histograms.address(),
        states: states.address(),
        ranges: 0,
        lists: 0,
    };
    launch(&*device, sort_digit, 1, BLOCK as u32, &params).unwrap();
    let got: Vec<u32> = to.to_vec(2000).unwrap();
    let expected: Vec<u32> = (0..2000)
        .map(|i| if (990..1000).contains(&i) { 1 } else { 7 })
        .collect();
    assert!(got == expected);
}

/// The keys of depths, one a thread.
const DEPTH_KEYS: &str = r#"
extern "C" __global__ void depth_keys(const float* depths, u32 count, Camera camera, u32* keys) {
    u32 i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) keys[i] = depth_key(depths[i], camera);
}"#;

#[test]
fn keys_of_depths_are_in_their_order() {
    let Some(device) = device() else { return };
    let bits = sort::DEPTH_BITS;
    let like = project::project(0, 0, Intersect::Exact);
    let text = ("depth_keys.cu", DEPTH_KEYS);
    let program = ops::program_of_text(text, &["project.cu"], like.constants, &["depth_keys"]);
    let kernel = device.load(&program).unwrap()[0];
    for near_plane in [0.0, 1e-6, 0.01, 0.2, 3.5] {
        let options = RenderOptions {
            semantics: Semantics {
                near_plane,
                ..Semantics::default()
            },
            ..RenderOptions::default()
        };
        let view = KernelCamera::new(&plain_camera(64, 64), &options);
        // Three neighbours at each of a thousand depths over all that f32 holds beyond the near
        // plane, and one a little further.
        let first = near_plane.max(1e-4).to_bits();
        let step = (f32::MAX.to_bits() - first) / 1000;
        let depths: Vec<f32> = (0..1000)
            .flat_map(|k| [0, 1, 2, 67].map(|next| f32::from_bits(first + k * step + next)))
            .collect();
        let count = depths.len() as u32;
        let from = Buffer::from_slice(&device, "depths", &depths).unwrap();
        let to = Buffer::from_slice(&device, "keys", &vec![NO_KEY; depths.len()]).unwrap();
        let (mut from_at, mut number, mut view, mut to_at) =
            (from.address(), count, view, to.address());
        let mut arguments: [*mut c_void; 4] = [
            from_mut(&mut from_at).cast(),
            from_mut(&mut number).cast(),
            from_mut(&mut view).cast(),
            from_mut(&mut to_at).cast(),
        ];
        // SAFETY: the kernel takes these four, and the buffers have the sizes that it counts on.
        unsafe {
            device
                .launch(kernel, count.div_ceil(128), 128, &mut arguments)
                .unwrap()
        };
        let keys: Vec<u32> = to.to_vec(depths.len()).unwrap();
        assert!(
            keys.iter().all(|key| key >> bits == 0),
            "near {near_plane}, {bits} bits"
        );
        for (key, depth) in keys.windows(2).zip(depths.windows(2)) {
            let all_differ = depth[1] < 32_000.0 * near_plane.max(1e-4);
            assert!(
                key[0] < key[1] || key[0] == key[1] && !all_differ,
                "near {near_plane}, {bits} bits: {depth:?} have {key:?}"
            );
        }
    }
}

#[test]
fn plans_cover_their_keys_in_little_memory() {
    let sizes = PieceSizes([256 * 8, 256 * 16]);
    for capacity in [
        0,
        1,
        1 << 12,
        220_000,
        1 << 20,
        (1 << 22) + 1,
        1 << 26,
        (1 << 30) - 1,
    ] {
        for key_bits in 1..=sort::ALL_BITS {
            let plan = Plan::new(key_bits, capacity);
            assert!(
                plan.bits * plan.passes >= key_bits,
                "{key_bits} bits: {plan:?}"
            );
            assert!(
                Plan::all().contains(&plan),
                "{plan:?} is not among all plans"
            );
            // A sort holds 16 bytes a pair.
            let bytes = plan.state_bytes(capacity, sizes);
            assert!(
                bytes <= 3 * capacity + (64 << 10),
                "{key_bits} bits, {capacity} pairs: {bytes} bytes, {plan:?}"
            );
        }
    }
    for (count, bits) in [
        (0, 1),
        (1, 1),
        (2, 1),
        (3, 2),
        (2048, 11),
        (2049, 12),
        (8160, 13),
    ] {
        assert_eq!(sort::key_bits(count), bits, "{count} keys");
    }
}
