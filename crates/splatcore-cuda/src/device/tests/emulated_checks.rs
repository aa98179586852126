//! The emulator's checks of memory accesses: planted mistakes that they must find, each with a twin
//! without the mistake. That splatcore's own kernels make none is for checked_kernels.rs.
//!
//! Every other test of this crate may be run under the checks as well:
//! `SPLATCORE_EMULATOR=checked`.

use crate::device::emulated::Emulated;
use crate::device::{Allocations, Copies, DeviceError, Kernel, Launches};
use crate::ops;
use crate::tests::support::device::emulator_with;
use std::ffi::c_void;
use std::ptr::from_mut;

/// Kernels of (input, output, how): which mistake is made, if any.
const PLANTED: &str = r#"
extern "C" __global__ void block_barrier(u32* in, u32* out, u32 how) {
    __shared__ u32 tile[64];
    tile[threadIdx.x] = threadIdx.x;
    if (how != 1) __syncthreads();
    out[threadIdx.x] = tile[63 - threadIdx.x];
    if (how == 2) tile[threadIdx.x] = 0;
}
extern "C" __global__ void warp_barrier(u32* in, u32* out, u32 how) {
    __shared__ u32 tile[64];
    u32 lane = threadIdx.x % 32, half = lane / 16 ? 0xffff0000u : 0x0000ffffu;
    tile[threadIdx.x] = 1;
    u32 value = __shfl_xor_sync(FULL_MASK, lane, 31);
    if (how == 0) __syncwarp();
    if (how >= 2) __syncwarp(half);
    value += tile[threadIdx.x ^ (how == 3 ? 15 : 31)];
    out[threadIdx.x] = value;
}
extern "C" __global__ void read_past(u32* in, u32* out, u32 how) {
    out[threadIdx.x] = in[threadIdx.x + how];
}
extern "C" __global__ void read(u32* in, u32* out, u32 how) { out[threadIdx.x] = in[threadIdx.x]; }
extern "C" __global__ void index(u32* in, u32* out, u32 how) {
    __shared__ u32 tile[2][32];
    tile[threadIdx.x / 32][threadIdx.x % 32 + how] = 1;
    __syncthreads();
    out[threadIdx.x] = tile[1][threadIdx.x % 32];
}
extern "C" __global__ void row(u32* in, u32* out, u32 how) {
    const float4& four = *(const float4*)(in + how);
    if (threadIdx.x == 0) *(float4*)out = four;
}
extern "C" __global__ void bytes(u8* in, u8* out, u32 how) {
    out[threadIdx.x >> how] = in[threadIdx.x];
}
extern "C" __global__ void local(u32* in, u32* out, u32 how) {
    __shared__ u32* someones;
    u32 own[2] = {1, 2};
    if (threadIdx.x == 0) someones = own;
    __syncthreads();
    if (how || threadIdx.x == 0) out[threadIdx.x] = someones[how];
    __syncthreads();
}
extern "C" __global__ void two_blocks(u32* in, u32* out, u32 how) {
    if (how) *out += 1;
    else atomicAdd(out, 1u);
}
// Each block adds to its predecessor's sum. Missing: 1 fence before the flag, 2 after, 3 barrier.
extern "C" __global__ void chain(u32* in, u32* out, u32 how) {
    u32* flags = in;
    u32* own = out + 64 * blockIdx.x;
    u32 before = 0;
    if (blockIdx.x > 0) {
        while (observe(flags + blockIdx.x - 1) == 0) __nanosleep(1);
        if (how != 2) __threadfence();
        before = (own - 64)[63 - threadIdx.x] + (blockIdx.x > 1 ? out[threadIdx.x] : 0);
    }
    own[threadIdx.x] = before + 1;
    if (how != 3) __syncthreads();
    if (threadIdx.x == 0) {
        if (how != 1) __threadfence();
        publish(flags + blockIdx.x, 1);
    }
}
// The last block to arrive adds up what all have written.
extern "C" __global__ void last_block(u32* in, u32* out, u32 how) {
    __shared__ u32 arrived;
    out[64 * blockIdx.x + threadIdx.x] = 1;
    if (how != 1) __threadfence();
    __syncthreads();
    if (threadIdx.x == 0) {
        arrived = atomicAdd(in, 1u);
        if (how != 2) __threadfence();
    }
    __syncthreads();
    if (arrived + 1 < gridDim.x) return;
    u32 sum = 0;
    for (u32 b = 0; b < gridDim.x; ++b) sum += out[64 * b + threadIdx.x];
    out[threadIdx.x] = sum;
}
extern "C" __global__ void copy(u32* in, u32* out, u32 how) {
    __shared__ u32 tile[64];
    copy_async_4(tile + threadIdx.x, in + threadIdx.x);
    copy_async_commit();
    if (how == 1) __syncthreads();
    copy_async_wait<0>();
    if (how != 1) __syncthreads();
    out[threadIdx.x] = tile[63 - threadIdx.x];
}
extern "C" __global__ void matrix(u32* in, u32* out, u32 how) {
    __shared__ __align__(16) u32 tile[32 * 4];
    for (u32 k = 0; k < 4; ++k) tile[4 * threadIdx.x + k] = k;
    if (how != 1) __syncwarp();
    u32 r[4];
    load_matrix_x4(r, tile + 4 * (31 - threadIdx.x));
    out[threadIdx.x] = r[0] + r[3];
}
"#;

const NAMES: &[&str] = &[
    "block_barrier",
    "warp_barrier",
    "read_past",
    "read",
    "index",
    "row",
    "bytes",
    "local",
    "two_blocks",
    "chain",
    "last_block",
    "copy",
    "matrix",
];

/// A kernel of its own, so that nothing but its array is in shared memory.
const POINTER: &str = r#"
extern "C" __global__ void pointer(u32* in, u32* out, u32 how) {
    __shared__ u32 tile[64];
    u32* moved = tile + (how == 1 ? 1 : how == 2 ? -1 : 0);
    moved[threadIdx.x] = 1;
    __syncthreads();
    out[threadIdx.x] = tile[0];
}"#;

const WORDS: usize = 256;

/// Kernels of one text on one device.
struct Planted {
    device: Emulated,
    kernels: Vec<Kernel>,
    names: &'static [&'static str],
}

impl Planted {
    fn new(device: Emulated, text: &'static str, names: &'static [&'static str]) -> Self {
        let headers = ["matrix.cuh", "splat.cuh"];
        let program = ops::program_of_text(("planted.cu", text), &headers, vec![], names);
        let kernels = device.load(&program).unwrap();
        Self {
            device,
            kernels,
            names,
        }
    }

    /// Launches on zeroed memory, or with an input that was given back.
    fn run(
        &self,
        name: &str,
        (grid, block): (u32, u32),
        mut how: u32,
        gone: bool,
    ) -> Result<(), DeviceError> {
        let kernel = self.kernels[self.names.iter().position(|known| *known == name).unwrap()];
        let [mut input, mut output] = [(); 2].map(|()| self.device.allocate(4 * WORDS).unwrap());
        let mut arguments: [*mut c_void; 3] = [
            from_mut(&mut input).cast(),
            from_mut(&mut output).cast(),
            from_mut(&mut how).cast(),
        ];
        // SAFETY: the kernels take these, and the checks stop them before they do harm.
        unsafe {
            self.device.fill(input, 0, 4 * WORDS).unwrap();
            self.device.fill(output, 0, 4 * WORDS).unwrap();
            if gone {
                self.device.release(input);
            }
            let result = self.device.launch(kernel, grid, block, &mut arguments);
            if !gone {
                self.device.release(input);
            }
            self.device.release(output);
            result
        }
    }

    /// In both orders of threads: the mistake is found, with these words; without it the kernel
    /// runs.
    fn expect(&self, name: &str, shape: (u32, u32), how: u32, gone: bool, words: &[&str]) {
        for backward in [false, true] {
            self.device.set_backward(backward);
            let message = match self.run(name, shape, how, gone) {
                Ok(()) => String::new(),
                Err(error) => error.to_string(),
            };
            let said = words.iter().all(|word| message.contains(word));
            assert!(
                said && words.is_empty() == message.is_empty(),
                "{name}, {how}, backward {backward}: '{message}' should have said {words:?}"
            );
        }
    }

    /// As `expect`, of one block of 64 threads.
    fn expect_of_block(&self, name: &str, how: u32, words: &[&str]) {
        self.expect(name, (1, 64), how, false, words);
    }
}

/// Races inside a block, for want of a barrier.
fn missing_barriers(planted: &Planted) {
    planted.expect_of_block("block_barrier", 0, &[]);
    planted.expect_of_block(
        "block_barrier",
        1,
        &["race", "no __syncthreads between", "planted.cu:4"],
    );
    planted.expect_of_block(
        "block_barrier",
        2,
        &[
            "race",
            "no __syncthreads between",
            "planted.cu:6",
            "planted.cu:7",
        ],
    );

    planted.expect_of_block("warp_barrier", 0, &[]);
    planted.expect_of_block(
        "warp_barrier",
        1,
        &["race", "no __syncwarp between", "planted.cu:12"],
    );
    planted.expect_of_block("warp_barrier", 2, &["race", "no __syncwarp between"]);
    planted.expect_of_block("warp_barrier", 3, &[]);

    planted.expect_of_block("bytes", 0, &[]);
    planted.expect_of_block(
        "bytes",
        1,
        &["race", "no __syncwarp between", "planted.cu:34"],
    );
}

/// Reads past the end of a buffer, and of one that was given back.
fn accesses_outside_buffers(planted: &Planted) {
    planted.expect("read_past", (1, 256), 0, false, &[]);
    let past = "reads 4 bytes that begin 0 bytes after the end of the 1024 bytes at 0x";
    planted.expect(
        "read_past",
        (1, 256),
        1,
        false,
        &["block 0, thread 255", past, "(argument 1) (planted.cu:20)"],
    );
    planted.expect(
        "read_past",
        (1, 256),
        100_000_000,
        false,
        &["reads 4 bytes"],
    );

    planted.expect_of_block("read", 0, &[]);
    let gone = [
        "byte ",
        "of the 1024 bytes at 0x",
        "(argument 1), which were given back",
        "planted.cu:22",
    ];
    planted.expect("read", (1, 64), 0, true, &gone);
}

/// Indices outside an array, a misaligned row, and the local memory of another thread.
fn accesses_outside_arrays(planted: &Planted) {
    planted.expect_of_block("index", 0, &[]);
    planted.expect_of_block(
        "index",
        1,
        &["index 32 is not one of", "[32]", "planted.cu:25"],
    );
    planted.expect_of_block("row", 0, &[]);
    planted.expect_of_block(
        "row",
        1,
        &["is not aligned to 16 bytes", "float4", "planted.cu:30"],
    );
    planted.expect_of_block("local", 0, &[]);
    planted.expect_of_block(
        "local",
        1,
        &["of another thread's local memory", "planted.cu:41"],
    );
}

/// Races between blocks, for want of fences and a flag.
fn races_between_blocks(planted: &Planted) {
    let blocks = |name, how, words: &[&str]| planted.expect(name, (4, 64), how, false, words);
    planted.expect("two_blocks", (3, 1), 0, false, &[]);
    planted.expect(
        "two_blocks",
        (3, 1),
        1,
        false,
        &["race", "block 1, thread 0", "of block 0", "planted.cu:45"],
    );
    blocks("chain", 0, &[]);
    for how in [1, 2, 3] {
        blocks(
            "chain",
            how,
            &["race", "of block ", "no fences and a flag between"],
        );
    }
    blocks("last_block", 0, &[]);
    for how in [1, 2] {
        blocks(
            "last_block",
            how,
            &["race", "of block ", "no fences and a flag between"],
        );
    }
}

/// Races of asynchronous copies and of matrix units.
fn races_of_copies_and_matrices(planted: &Planted) {
    planted.expect_of_block("copy", 0, &[]);
    planted.expect_of_block(
        "copy",
        1,
        &["race", "no __syncthreads between", "planted.cu:83"],
    );
    planted.expect("matrix", (1, 32), 0, false, &[]);
    planted.expect(
        "matrix",
        (1, 32),
        1,
        false,
        &["race", "no __syncwarp between", "planted.cu:92"],
    );
}

#[test]
fn planted_mistakes_are_found() {
    let Some(device) = emulator_with(true) else {
        return;
    };
    let planted = Planted::new(device, PLANTED, NAMES);
    missing_barriers(&planted);
    accesses_outside_buffers(&planted);
    accesses_outside_arrays(&planted);
    races_between_blocks(&planted);
    races_of_copies_and_matrices(&planted);
}

#[test]
fn shared_memory_ends_where_its_variables_end() {
    let Some(device) = emulator_with(true) else {
        return;
    };
    let planted = Planted::new(device, POINTER, &["pointer"]);
    planted.expect("pointer", (1, 64), 0, false, &[]);
    planted.expect(
        "pointer",
        (1, 64),
        1,
        false,
        &[
            "after the end of the block's 256 bytes of shared memory",
            "planted.cu:5",
        ],
    );
    planted.expect(
        "pointer",
        (1, 64),
        2,
        false,
        &["begin 4 bytes before the block's 256 bytes of shared memory"],
    );
}

/// The message of what is wrong beside buffers that another kernel has, and that the next launch is
/// fine.
#[test]
fn a_launch_that_fails_leaves_nothing_behind() {
    let Some(device) = emulator_with(true) else {
        return;
    };
    let planted = Planted::new(device, PLANTED, NAMES);
    for _ in 0..3 {
        assert!(planted.run("chain", (4, 64), 1, false).is_err());
        planted.run("chain", (4, 64), 0, false).unwrap();
        assert!(planted.run("read", (1, 64), 0, true).is_err());
        planted.run("read", (1, 64), 0, false).unwrap();
    }
}
