//! A card or the emulator for tests of small kernels that use ops/shared/matrix.cuh.
//! `SPLATCORE_TEST_DEVICE=card` insists on a card, `emulator` on the emulator.

use super::device::{card_or_emulator, compiler, emulated};
use crate::device::{Device, DeviceError, Program};
use crate::ops;
use std::ffi::c_void;
use std::ptr::from_mut;
use std::sync::Arc;

/// Kernels that take (input, output, number).
pub struct Text {
    pub text: &'static str,
    pub kernels: &'static [&'static str],
}

impl Text {
    fn program(&self) -> Program {
        ops::program_of_text(
            ("matrix_test.cu", self.text),
            &["matrix.cuh"],
            vec![],
            self.kernels,
        )
    }
}

/// Compiles for architectures that take different branches of matrix.cuh.
pub fn compile_everywhere(texts: &[&Text]) {
    let Some(nvrtc) = compiler() else { return };
    let known = nvrtc.architectures();
    for architecture in [75, 80, 90, 120]
        .into_iter()
        .filter(|one| known.contains(one))
    {
        for text in texts {
            let code = nvrtc.compile(&text.program(), architecture);
            assert!(code.is_ok(), "sm_{architecture}: {}", code.err().unwrap());
        }
    }
}

pub struct Machine {
    device: Arc<dyn Device>,
    pub is_card: bool,
}

impl Machine {
    /// A card, else the emulator, else `None` with a line that says why.
    pub fn find() -> Option<Self> {
        let (device, is_card) = card_or_emulator()?;
        Some(Self { device, is_card })
    }

    pub fn emulated() -> Option<Self> {
        let (device, is_card) = (emulated()?, false);
        Some(Self { device, is_card })
    }

    /// Runs the kernel `name` of `text`, which takes (input, output, number), and returns the
    /// output.
    pub fn try_run(
        &self,
        (text, name): (&Text, &str),
        (grid, block): (u32, u32),
        input: &[u32],
        outputs: usize,
        mut number: u32,
    ) -> Result<Vec<u32>, DeviceError> {
        let device = &*self.device;
        let program = text.program();
        let index = program
            .kernels
            .iter()
            .position(|kernel| kernel.name == name)
            .unwrap();
        let kernel = device.load(&program)?[index];
        let mut output = vec![0u32; outputs];
        let mut addresses = [
            device.allocate(size_of_val(input))?,
            device.allocate(outputs * 4)?,
        ];
        let [from, to] = &mut addresses;
        let mut arguments: [*mut c_void; 3] = [
            from_mut(from).cast(),
            from_mut(to).cast(),
            from_mut(&mut number).cast(),
        ];
        // SAFETY: the buffers are of these sizes, the arguments those of the kernels below.
        unsafe {
            device.upload(addresses[0], bytemuck::cast_slice(input))?;
            device.fill(addresses[1], 0xAB, outputs * 4)?;
            let launched = device
                .launch(kernel, grid, block, &mut arguments)
                .and_then(|()| {
                    device.download(bytemuck::cast_slice_mut(&mut output), addresses[1])
                });
            for address in addresses {
                device.release(address);
            }
            launched.map(|()| output)
        }
    }

    pub fn run(
        &self,
        kernel: (&Text, &str),
        shape: (u32, u32),
        input: &[u32],
        outputs: usize,
        number: u32,
    ) -> Vec<u32> {
        self.try_run(kernel, shape, input, outputs, number).unwrap()
    }
}

/// A plain generator, the same numbers everywhere.
pub struct Random(pub u64);

impl Random {
    pub fn bits(&mut self) -> u32 {
        self.0 = self
            .0
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        (self.0 >> 33) as u32
    }

    pub fn below(&mut self, n: u32) -> u32 {
        self.bits() % n
    }
}
