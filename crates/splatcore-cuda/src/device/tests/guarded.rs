//! Guarded memory shows what planted kernels do wrong, and frames and steps do nothing wrong on it.
//! `SPLATCORE_TEST_DEVICE=card` runs them on a card.

use crate::CudaBackend;
use crate::device::guarded::{Fresh, Guarded};
use crate::device::{Allocations, Buffer, Copies, Device, Launches};
use crate::ops::program_of_text;
use crate::tests::support::device::device;
use splatcore_core::backend::{Backend, RenderOptions};
use splatcore_core::{Pipeline, View};
use splatcore_reference::conformance::scenes::{plain_camera, random_scene, views};
use splatcore_reference::conformance::step::plan;
use std::ffi::c_void;
use std::ptr::from_mut;
use std::sync::Arc;

const PLANTED: &str = "extern \"C\" __global__ void write_at(u32* to, int at) { to[at] = 7; }\n\
                       extern \"C\" __global__ void copy(u32* to, int at) { to[1] = to[at]; }\n";

fn guarded(seed: u64) -> Option<Arc<Guarded>> {
    device().map(|device| Arc::new(Guarded::new(device, Fresh::NotANumber, seed)))
}

/// Runs a planted kernel on an address.
fn run(device: &Guarded, kernel: usize, mut address: u64, mut at: i32) {
    let program = program_of_text(
        ("planted_guarded.cu", PLANTED),
        &["device.cuh"],
        vec![],
        &["write_at", "copy"],
    );
    let kernel = device.load(&program).unwrap()[kernel];
    let mut arguments: [*mut c_void; 2] = [from_mut(&mut address).cast(), from_mut(&mut at).cast()];
    // SAFETY: the arguments are the kernel's; what it writes lies in the allocation or its zones.
    unsafe { device.launch(kernel, 1, 1, &mut arguments).unwrap() };
    device.synchronize().unwrap();
}

#[test]
fn what_is_written_beside_an_allocation_is_told_once() {
    let Some(device) = guarded(1) else { return };
    let address = device.allocate(40).unwrap();
    run(&device, 0, address, 9);
    device.check().unwrap();
    for (at, words) in [
        (10, "past the end of an allocation of 40 bytes, at byte 40"),
        (
            500,
            "past the end of an allocation of 40 bytes, at byte 2000",
        ),
        (-1, "1 bytes before the start of an allocation of 40 bytes"),
    ] {
        run(&device, 0, address, at);
        assert_contains!(device.check().unwrap_err(), words);
        device.check().unwrap();
    }
    run(&device, 0, address, 11);
    // SAFETY: it is not used again.
    unsafe { device.release(address) };
    assert_contains!(device.check().unwrap_err(), "at byte 44");
    // SAFETY: it was given back before, which is what is to be told.
    unsafe { device.release(address) };
    assert!(device.check().is_err());
}

#[test]
fn what_nobody_wrote_may_be_numbers_that_differ_from_buffer_to_buffer() {
    let Some(device) = device() else { return };
    let device = Guarded::new(device, Fresh::Numbers, 3);
    let mut seen = std::collections::BTreeSet::new();
    for _ in 0..40 {
        let address = device.allocate(64).unwrap();
        let mut words = [0.0f32; 16];
        // SAFETY: the allocation has so many bytes.
        let copied = unsafe { device.download(bytemuck::cast_slice_mut(&mut words), address) };
        copied.unwrap();
        assert!(words.iter().all(|word| word.abs() < 2.0), "{words:?}");
        seen.insert(words[15].to_bits());
        // SAFETY: it is not used again.
        unsafe { device.release(address) };
    }
    assert_eq!(seen.len(), 5);
    device.check().unwrap();
}

#[test]
fn what_was_given_back_is_found_again_once_memory_is_reused() {
    let Some(device) = device() else { return };
    let device = Guarded::new(device, Fresh::Numbers, 3);
    let held = |address| {
        let mut bytes = [0; 64];
        // SAFETY: the allocation has so many bytes.
        unsafe { device.download(&mut bytes, address).unwrap() };
        bytes
    };
    let begun = |value: u8| {
        let address = device.allocate(64).unwrap();
        let found = held(address);
        // SAFETY: as above; it is not used again.
        unsafe {
            device.upload(address, &[value; 64]).unwrap();
            device.release(address);
        }
        found
    };
    begun(77);
    assert_ne!(begun(78), [77; 64]);
    device.reuse();
    begun(79);
    assert_eq!(begun(80), [79; 64]);
    device.check().unwrap();
}

#[test]
fn a_digest_tells_what_memory_holds() {
    let Some(device) = guarded(4) else { return };
    let address = device.allocate(64).unwrap();
    let before = device.digest().unwrap();
    assert_eq!(device.digest().unwrap(), before);
    // SAFETY: the allocation has more bytes.
    unsafe { device.upload(address + 60, &[5]).unwrap() };
    assert_ne!(device.digest().unwrap(), before);
    // SAFETY: it is not used again.
    unsafe { device.release(address) };
}

#[test]
fn what_nobody_wrote_is_not_a_number() {
    let Some(device) = guarded(2) else { return };
    let address = device.allocate(64).unwrap();
    run(&device, 1, address, 5);
    let mut words = [0; 16];
    // SAFETY: the allocation has so many bytes.
    unsafe {
        device
            .download(bytemuck::cast_slice_mut(&mut words), address)
            .unwrap()
    };
    assert_eq!(words[1], u32::MAX);
    assert!(f32::from_bits(words[1]).is_nan());
    // SAFETY: it is not used again.
    unsafe { device.release(address) };
}

#[test]
fn addresses_are_others_each_time() {
    let Some(device) = guarded(3) else { return };
    let addresses: Vec<u64> = (0..8).map(|_| device.allocate(100).unwrap()).collect();
    let steps: std::collections::BTreeSet<u64> = addresses
        .windows(2)
        .map(|pair| pair[1].abs_diff(pair[0]))
        .collect();
    assert!(steps.len() > 3, "{steps:?}");
    for address in addresses {
        assert_eq!(address % 256, 0);
        // SAFETY: it is not used again.
        unsafe { device.release(address) };
    }
    device.check().unwrap();
}

/// The bits of an image and of a scene after a step.
fn computed(backend: &CudaBackend) -> (Vec<u32>, Vec<u32>) {
    let scene = random_scene(5, 60, 1);
    let mut renderer = backend.renderer(&scene).unwrap();
    let image = renderer
        .render(&plain_camera(40, 30), &RenderOptions::default())
        .unwrap()
        .image;
    let seen: Vec<View> = views();
    let mut learner = backend.learner(&scene, Arc::new(seen)).unwrap();
    learner.step(&plan(Pipeline::default(), 1, 0)).unwrap();
    let means = learner.snapshot().unwrap().gaussians.means;
    let bits = |rows: &[[f32; 3]]| rows.as_flattened().iter().map(|v| v.to_bits()).collect();
    (bits(&image.data), bits(&means))
}

#[test]
fn frames_and_steps_are_the_same_on_guarded_memory() {
    let Some(plain) = device() else { return };
    let expected = computed(&CudaBackend::on(plain, true));
    for seed in [4, 5] {
        let Some(device) = guarded(seed) else { return };
        assert_eq!(computed(&CudaBackend::on(device.clone(), true)), expected);
        device.check().unwrap();
    }
}

#[test]
fn buffers_give_their_memory_back() {
    let Some(device) = guarded(6) else { return };
    let shared: Arc<dyn Device> = device.clone();
    drop(Buffer::new(&shared, "buffer of a test", 1000).unwrap());
    device.check().unwrap();
}
