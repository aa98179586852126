//! The kernels of densify.cu and the program that they are compiled from.

use super::params::{
    AdcAdmitParams, AdcChooseParams, AdcDecideParams, BeginRefinementParams, CapOpacityParams,
    ClearRowsParams, CopyRowsParams, DecideSizesParams, DrawKeysParams, EndRefinementParams,
    FadeOpacityParams, ListCountParams, ListWriteParams, McmcDrawParams, McmcMarkDeadParams,
    McmcShareParams, MovePieceParams, PruneMarkParams, ScanSumsParams, SelectDigitParams,
    SelectHistogramParams, SplitChildrenParams, WeightScanParams, WeightSumsParams,
};
use super::{actions, totals};
use crate::device::params::Params;
use crate::device::{Kernel, Program, Signature};
use crate::ops::sources;

/// Threads of a block.
pub const THREADS: usize = 256;
/// Rows that a block copies or clears at a time.
pub const TILE_ROWS: usize = 64;
/// Bits of a digit of the radix selection.
pub const DIGIT_BITS: u32 = 8;
// A thread of `select_histogram` has a digit.
const _: () = assert!(THREADS == 1 << DIGIT_BITS);
/// INRIA's split replaces a Gaussian by this many.
pub const SPLIT_INTO: u32 = 2;

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
    draw_keys: DrawKeysParams,
    adc_choose: AdcChooseParams,
    adc_admit: AdcAdmitParams,
    adc_decide: AdcDecideParams,
    decide_sizes: DecideSizesParams,
    split_children: SplitChildrenParams,
    prune_mark: PruneMarkParams,
    cap_opacity: CapOpacityParams,
    fade_opacity: FadeOpacityParams,
    mcmc_mark_dead: McmcMarkDeadParams,
    weight_sums: WeightSumsParams,
    weight_scan: WeightScanParams,
    mcmc_draw: McmcDrawParams,
    mcmc_share: McmcShareParams,
    copy_rows: CopyRowsParams,
    clear_rows: ClearRowsParams,
    pack_rows: MovePieceParams,
    place_rows: MovePieceParams,
);

/// The program of the kernels, in their order.
pub fn program() -> Program {
    let mut constants = vec![
        ("THREADS", THREADS.to_string()),
        ("TILE_ROWS", TILE_ROWS.to_string()),
        ("DIGIT_BITS", DIGIT_BITS.to_string()),
        ("SPLIT_INTO", SPLIT_INTO.to_string()),
    ];
    constants.extend(actions::constants());
    constants.extend(totals::constants());
    sources::program("densify.cu", constants, Kernels::signatures())
}
