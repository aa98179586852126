//! Mistakes that the emulator must find, in kernels, in their text and in copies.

use super::*;

const MISTAKES: &str = r#"
extern "C" __global__ void past_end(u32* in, u32* out, u32 n) { out[threadIdx.x] = 1; }
extern "C" __global__ void stuck(u32* in, u32* out, u32 n) {
    if (threadIdx.x % 32 < 8) __syncthreads();
    else out[threadIdx.x] = __ballot_sync(FULL_MASK, 1);
}
extern "C" __global__ void crossed(u32* in, u32* out, u32 n) {
    if (threadIdx.x & 1) out[threadIdx.x] = __ballot_sync(FULL_MASK, 1);
    else out[threadIdx.x] = __any_sync(FULL_MASK, 1);
}
extern "C" __global__ void foreign_mask(u32* in, u32* out, u32 n) { __syncwarp(1u); }
extern "C" __global__ void trap(u32* in, u32* out, u32 n) {
    if (blockIdx.x == 2 && threadIdx.x == 33) __trap();
}
extern "C" __global__ void spins(u32* in, u32* out, u32 n) {
    while (*(volatile u32*)out != 77u) __nanosleep(1);
}
__device__ u32 deep(u32* out, u32 n) {
    volatile u32 many[1000];
    for (u32 i = 0; i < 1000; ++i) many[i] = n;
    return n == 0 ? 0 : deep(out, n - 1) + many[n % 1000];
}
extern "C" __global__ void overflows(u32* in, u32* out, u32 n) { out[0] = deep(out, n); }
extern "C" __global__ void racy(u32* in, u32* out, u32 n) {
    __shared__ u32 tile[64];
    tile[threadIdx.x] = threadIdx.x;
    out[threadIdx.x] = tile[63 - threadIdx.x];
}"#;

#[test]
fn mistakes_are_found() {
    let Some(device) = emulated() else { return };
    let names = &[
        "past_end",
        "stuck",
        "crossed",
        "foreign_mask",
        "trap",
        "spins",
        "overflows",
        "racy",
    ];
    let kernels = load(&device, MISTAKES, names);
    let output = put(&device, &[0u32; 64]);
    let run = |index: usize, grid: u32, block: u32| {
        run(&device, kernels[index], (grid, block), (0, output, 33))
    };

    let words = error_of(run(0, 1, 65));
    assert_contains!(words, "past_end", "past the end of the 256 bytes");
    // Told once, and the kernel that stays within its buffer is fine.
    run(0, 1, 64).unwrap();

    let words = error_of(run(1, 1, 64));
    assert_contains!(words, "lanes 0x000000ff wait at __syncthreads (test.cu:4)");
    assert_contains!(words, "lanes 0xffffff00 wait at __ballot_sync (test.cu:5)");

    let words = error_of(run(2, 1, 32));
    assert_contains!(words, "__ballot_sync (test.cu:8)", "__any_sync (test.cu:9)");

    let words = error_of(run(3, 1, 32));
    assert_contains!(words, "lacks the caller's lane 1");

    let words = error_of(run(4, 4, 64));
    assert_contains!(words, "block 2, thread 33", "__trap at test.cu:13");
    run(4, 2, 64).unwrap();

    let words = error_of(run(5, 1, 64));
    assert_contains!(words, "only wait for one another");

    let words = error_of(run(6, 1, 1));
    assert_contains!(words, "stack");

    assert!(error_of(run(0, 1, 1025)).contains("1025 threads"));
    assert!(error_of(run(0, 0, 32)).contains("0 blocks"));

    // Without a barrier, the result depends on who runs first: in no order is it right everywhere.
    let expected: Vec<u32> = (0..64).rev().collect();
    for backward in [false, true] {
        device.set_backward(backward);
        run(7, 1, 64).unwrap();
        let got: Vec<u32> = get(&device, output, 64);
        let wrong = (0..64).filter(|&i| got[i] != expected[i]).count();
        assert_eq!(wrong, 32);
        assert_eq!(got[if backward { 63 } else { 0 }], 0xffcd_ffcd);
    }
}

#[test]
fn compiler_errors_name_file_and_line() {
    let Some(device) = emulated() else { return };
    let text = "extern \"C\" __global__ void wrong() {\n    no_such_function();\n}";
    let program = ops::program_of_text(("wrong.cu", text), &[], vec![], &["wrong"]);
    let words = error_of(device.load(&program).map(|_| ()));
    assert_contains!(words, "wrong.cu:2", "no_such_function");
}

#[test]
fn memory_is_poisoned_guarded_and_limited() {
    let Some(device) = emulated() else { return };
    let address = device.allocate(100).unwrap();
    assert_eq!(address % 256, 0);
    assert_eq!(get::<u32>(&device, address, 25), [0xffcd_ffcd; 25]);
    unsafe {
        device.fill(address, 7, 100).unwrap();
        assert_eq!(get::<u8>(&device, address, 100), [7; 100]);
        device.synchronize().unwrap();

        let words = error_of(device.fill(address, 7, 101));
        assert_contains!(words, "fill of 101 bytes at byte 0 of the 100 bytes");
        let words = error_of(device.upload(address + 90, &[0; 11]));
        assert_contains!(words, "at byte 90");
        assert!(error_of(device.copy(address, address + 10, 20)).contains("overlap"));

        // Writes beside it, on either side, also show when the memory is given back.
        ((address + 100) as *mut u8).write(0);
        let words = error_of(device.synchronize());
        assert_contains!(words, format!("{address:#x}"), "byte 100");
        ((address - 4) as *mut u8).write(0);
        device.release(address);
        let words = error_of(device.synchronize());
        assert_contains!(words, "written 4 bytes before the start of the 100 bytes");
        device.release(address);
        assert!(error_of(device.synchronize()).contains("no allocation"));
        device.synchronize().unwrap();

        device.set_memory_limit(1000);
        let first = device.allocate(600).unwrap();
        assert_eq!(device.memory(), (400, 1000));
        let second = device.allocate(401);
        assert!(
            matches!(
                second,
                Err(DeviceError::OutOfMemory {
                    bytes: 401,
                    free: 400
                })
            ),
            "{second:?}"
        );
        let pinned = device.allocate_pinned(5000).unwrap();
        assert_eq!(device.memory(), (400, 1000));
        assert_eq!(std::slice::from_raw_parts(pinned, 5000), [0; 5000]);
        device.release(first);
        device.release_pinned(pinned);
        assert_eq!(device.memory(), (1000, 1000));
        device.synchronize().unwrap();
    }
}
