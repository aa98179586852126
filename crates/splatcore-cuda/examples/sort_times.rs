//! Times `sort` on the card of this machine: `sort_times [KEY_BITS PAIRS [BITS PASSES ITEMS
//! WINDOW]]`. Without arguments, the sizes of frames with the plans that come into question.
//! Microseconds, the median of 30 sorts, kernels alone in the queue; `host` is how long the
//! launches took to issue, which bounds what can be seen.

use splatcore_cuda::device::driver::Card;
use splatcore_cuda::device::{Buffer, Device};
use splatcore_cuda::launch::Queue;
use splatcore_cuda::programs;
use splatcore_cuda::sort::{self, Plan};
use std::error::Error;
use std::sync::Arc;

const NO_KEY: u32 = u32::MAX;

/// Keys as a frame has them: a third of depths missing, or groups in the order of depth, that is,
/// in none.
fn keys(key_bits: u32, pairs: usize) -> Vec<u32> {
    let mut state = 1u64;
    let mut next = move || {
        state = state
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        (state >> 33) as u32
    };
    (0..pairs)
        .map(|_| match (key_bits == sort::ALL_BITS, next()) {
            (true, random) if random % 3 == 0 => NO_KEY,
            (true, random) => (0.5 + 30.0 * (random % 999_983) as f32 / 999_983.0).to_bits(),
            (false, random) => random & ((1 << key_bits) - 1),
        })
        .collect()
}

fn time(
    device: &Arc<dyn Device>,
    key_bits: u32,
    pairs: usize,
    plan: Plan,
) -> Result<(), Box<dyn Error>> {
    let queue = Queue::new(device.clone());
    let kernels = device.load(&programs::sort(plan))?;
    let input = keys(key_bits, pairs);
    let present = input.iter().filter(|key| **key != NO_KEY).count();
    let original = Buffer::from_slice(device, "keys", &input)?;
    let keys = [
        Buffer::from_slice(device, "keys", &input)?,
        Buffer::from_slice(device, "keys", &input)?,
    ];
    let values = [
        Buffer::from_slice(device, "values", &input)?,
        Buffer::from_slice(device, "values", &input)?,
    ];
    let count = Buffer::from_slice(device, "count", &[present as u32])?;
    let histograms = Buffer::from_slice(device, "histograms", &vec![0u8; plan.histogram_bytes()])?;
    let states = Buffer::from_slice(device, "states", &vec![0u8; plan.state_bytes(pairs)])?;
    let mut times = Vec::new();
    let mut at = 0;
    for _ in 0..30 {
        histograms.fill(0, plan.histogram_bytes())?;
        // SAFETY: both hold so many bytes.
        unsafe { device.copy(keys[0].address(), original.address(), 4 * pairs)? };
        queue.start_marks()?;
        at = sort::sort(
            &queue,
            &kernels,
            plan,
            sort::Input {
                keys: keys.each_ref().map(Buffer::address),
                values: values.each_ref().map(Buffer::address),
                count: count.address(),
                capacity: pairs,
                has_gaps: key_bits == sort::ALL_BITS,
                ranges: 0,
                lists: 0,
            },
            [histograms.address(), states.address()],
        )?;
        queue.mark("sort")?;
        times.extend(queue.take_times()?.iter().map(|(_, seconds)| seconds * 1e6));
    }
    let result: Vec<u32> = keys[at].to_vec(present)?;
    if !result.is_sorted() {
        return Err(format!("{plan:?} did not sort").into());
    }
    times.sort_by(f64::total_cmp);
    let chosen = if plan == Plan::new(key_bits, pairs) {
        "  <- chosen"
    } else {
        ""
    };
    println!(
        "{pairs:>8} pairs of {key_bits:>2} bits: {:>2} bits x {}, {:>2} a thread, window {:>2}: \
         {:7.1} us{chosen}",
        plan.bits,
        plan.passes,
        plan.items,
        plan.window,
        times[times.len() / 2]
    );
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    let device: Arc<dyn Device> = Arc::new(Card::open(None)?);
    let numbers = std::env::args()
        .skip(1)
        .map(|text| text.parse())
        .collect::<Result<Vec<usize>, _>>()?;
    match numbers[..] {
        [] => {
            for (key_bits, pairs) in [
                (32, 220_000),
                (32, 1_000_000),
                (32, 2_500_000),
                (11, 550_000),
                (11, 1_760_000),
                (13, 1_280_000),
                (13, 2_000_000),
                (13, 4_490_000),
                (15, 4_000_000),
            ] {
                for plan in candidates(key_bits, pairs) {
                    time(&device, key_bits, pairs, plan)?;
                }
            }
        }
        [key_bits, pairs] => {
            for plan in candidates(key_bits as u32, pairs) {
                time(&device, key_bits as u32, pairs, plan)?;
            }
        }
        [key_bits, pairs, bits, passes, items, window] => {
            let plan = Plan {
                bits: bits as u32,
                passes: passes as u32,
                items,
                window,
                shift: 0,
            };
            time(&device, key_bits as u32, pairs, plan)?;
        }
        _ => return Err("sort_times [KEY_BITS PAIRS [BITS PASSES ITEMS WINDOW]]".into()),
    }
    Ok(())
}

/// Plans that come into question.
fn candidates(key_bits: u32, pairs: usize) -> Vec<Plan> {
    let mut all = vec![Plan::new(key_bits, pairs)];
    for widest in [6, 7, 8, 9, 10, 11] {
        let passes = key_bits.div_ceil(widest);
        let bits = key_bits.div_ceil(passes);
        for items in [4, 8, 16] {
            for window in [4, 8, 16, 32] {
                let plan = Plan {
                    bits,
                    passes,
                    items,
                    window,
                    shift: 0,
                };
                // So many words at once do not fit the registers.
                if window << bits.saturating_sub(8) <= 64 && !all.contains(&plan) {
                    all.push(plan);
                }
            }
        }
    }
    all
}
