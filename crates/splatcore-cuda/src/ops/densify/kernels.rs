//! The kernels of densify.cu, what they are compiled from, and the three shapes of their launches.

use super::Densify;
use super::adc::{AdcDecideParams, SplitChildrenParams};
use super::adc_choose::{
    AdcAdmitParams, AdcChooseParams, SelectDigitParams, SelectHistogramParams,
};
use super::lists::{ListCountParams, ListWriteParams, ScanSumsParams};
use super::mcmc::{
    McmcDrawParams, McmcMarkDeadParams, McmcShareParams, WeightScanParams, WeightSumsParams,
};
use super::prune::PruneMarkParams;
use super::reset_opacity::CapOpacityParams;
use super::rows::{ClearRowsParams, CopyRowsParams, GatherRowsParams, PutRowsParams};
use super::totals::{BeginRefinementParams, DecideSizesParams, EndRefinementParams};
use crate::device::params::Params;
use crate::device::queue::launch;
use crate::device::{Kernel, Program, Signature};
use crate::ops::sources;
use splatcore_core::BackendError;

/// Threads of a block and rows of a tile, as in the kernel files.
pub const THREADS: usize = 256;
const TILE_ROWS: usize = 64;
/// Blocks a multiprocessor of kernels that walk over tiles.
const BLOCKS_A_MULTIPROCESSOR: usize = 16;

macro_rules! kernels {
    ($($name:ident: $params:ty),* $(,)?) => {
        pub struct Kernels { $(pub $name: Kernel),* }
        impl Kernels {
            fn signatures() -> Vec<Signature> {
                vec![$(<$params>::kernel(stringify!($name))),*]
            }
            pub fn new(loaded: Vec<Kernel>) -> Option<Self> {
                let mut loaded = loaded.into_iter();
                Some(Self { $($name: loaded.next()?),* })
            }
        }
    };
}

kernels!(
    begin_refinement: BeginRefinementParams,
    end_refinement: EndRefinementParams,
    scan_sums: ScanSumsParams,
    list_count: ListCountParams,
    list_write: ListWriteParams,
    select_histogram: SelectHistogramParams,
    select_digit: SelectDigitParams,
    adc_choose: AdcChooseParams,
    adc_admit: AdcAdmitParams,
    adc_decide: AdcDecideParams,
    decide_sizes: DecideSizesParams,
    split_children: SplitChildrenParams,
    prune_mark: PruneMarkParams,
    cap_opacity: CapOpacityParams,
    mcmc_mark_dead: McmcMarkDeadParams,
    weight_sums: WeightSumsParams,
    weight_scan: WeightScanParams,
    mcmc_draw: McmcDrawParams,
    mcmc_share: McmcShareParams,
    copy_rows: CopyRowsParams,
    clear_rows: ClearRowsParams,
    gather_rows: GatherRowsParams,
    put_rows: PutRowsParams,
);

/// What [`Densify`] compiles.
pub fn program() -> Program {
    sources::program("densify.cu", Vec::new(), Kernels::signatures())
}

impl Densify {
    /// Launches a kernel with a thread an item.
    pub(super) fn each<P: Params>(
        &self,
        kernel: Kernel,
        items: usize,
        params: &P,
    ) -> Result<(), BackendError> {
        let grid = items.div_ceil(THREADS).max(1) as u32;
        launch(&*self.device, kernel, grid, THREADS as u32, params)
    }

    /// Launches a kernel of one block.
    pub(super) fn one<P: Params>(
        &self,
        kernel: Kernel,
        threads: usize,
        params: &P,
    ) -> Result<(), BackendError> {
        launch(&*self.device, kernel, 1, threads as u32, params)
    }

    /// Launches a kernel that walks over tiles of rows.
    pub(super) fn tiles<P: Params>(
        &self,
        kernel: Kernel,
        rows: usize,
        params: &P,
    ) -> Result<(), BackendError> {
        let most = self.device.multiprocessors() as usize * BLOCKS_A_MULTIPROCESSOR;
        let grid = rows.div_ceil(TILE_ROWS).clamp(1, most) as u32;
        launch(&*self.device, kernel, grid, THREADS as u32, params)
    }
}
