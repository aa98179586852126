//! What kernels run on.

use crate::other_programs;
use anyhow::{Result, anyhow};
use clap::ValueEnum;
use splatcore_core::Backend;
use splatcore_cuda::{CudaBackend, OpenError, Options};

/// `--on`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum On {
    /// An NVIDIA card
    Card,
    /// The emulator: kernels on this processor, for gates and not for times
    Emulator,
}

/// `--on` and `--device`.
#[derive(Clone, Copy, Debug, clap::Args)]
pub struct DeviceArgs {
    /// Where kernels run [card if there is one, else emulator]
    #[arg(long, value_name = "WHERE")]
    on: Option<On>,
    /// Which NVIDIA card, as `splatcore doctor` numbers them [0]
    #[arg(long, value_name = "N")]
    device: Option<usize>,
}

/// What kernels run on, asked once.
#[derive(Clone, Debug)]
pub enum Device {
    /// An NVIDIA card.
    Card(Card),
    /// The emulator.
    Emulator,
}

/// What is known of a card.
#[derive(Clone, Debug)]
pub struct Card {
    /// Its number, if one was named.
    pub number: Option<usize>,
    /// Its compute capability.
    pub capability: u32,
    /// Card, driver and compiler, in words.
    pub description: String,
}

impl DeviceArgs {
    /// What was asked for, or what there is.
    ///
    /// # Errors
    /// If a card was asked for and there is none.
    pub fn find(&self) -> Result<Device> {
        if self.on == Some(On::Emulator) {
            return Ok(Device::Emulator);
        }
        other_programs::warn(self.device);
        match (open(self.device), self.on) {
            (Ok(backend), _) => Ok(Device::Card(Card {
                number: self.device,
                capability: backend.device().capability(),
                description: backend.describe(),
            })),
            (Err(error), Some(On::Card)) => Err(anyhow!("--on card: {error}")),
            (Err(_), _) => Ok(Device::Emulator),
        }
    }
}

/// A card with the built-in kernels.
///
/// # Errors
/// If there is none.
pub fn open(device: Option<usize>) -> Result<CudaBackend, OpenError> {
    CudaBackend::open(Options {
        device,
        ..Options::default()
    })
}
