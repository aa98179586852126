//! What kernels run on.

use clap::ValueEnum;

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
    pub device: Option<usize>,
}

impl DeviceArgs {
    /// What was asked for, or what there is.
    pub fn on(&self) -> On {
        let card = || match splatcore_cuda::CudaBackend::open(self.options()) {
            Ok(_) => On::Card,
            Err(_) => On::Emulator,
        };
        self.on.unwrap_or_else(card)
    }

    fn options(&self) -> splatcore_cuda::Options {
        splatcore_cuda::Options {
            device: self.device,
            ..splatcore_cuda::Options::default()
        }
    }
}
