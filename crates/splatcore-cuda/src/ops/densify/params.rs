//! The parameters of the kernels of densify.cu, by the header that each is in.

use super::within::Within;
use crate::device::params::{Address, kernel_params};
use crate::ops::columns::kernels::ShapeColumns;
use crate::ops::row_blocks::RowBlocks;
use bytemuck::Zeroable;

/// Which rows go where; in CUDA by the same name (copy_rows.cuh).
#[derive(Clone, Copy, Zeroable)]
#[repr(C)]
pub struct RowMoves {
    /// The sources, each `times` after each other, of which the u64 at `listed` (0: all) are in the
    /// list and others are rows `rest` and on.
    pub sources: Address,
    pub listed: Address,
    /// The targets; 0: rows `base` and the u64 at `behind` (0: nothing) and on.
    pub targets: Address,
    pub behind: Address,
    /// How many, u64.
    pub wanted: Address,
    pub times: u32,
    pub rest: u32,
    pub base: u32,
}

kernel_params! {
    /// Parameters of `begin_refinement` (refinement_totals.cuh).
    pub struct BeginRefinementParams {
        totals: Address,
        gaussians: Address,
        counters: Address,
    }

    /// Parameters of `end_refinement` (refinement_totals.cuh).
    pub struct EndRefinementParams {
        totals: Address,
        gaussians: Address,
        counters: Address,
    }

    /// Parameters of `decide_sizes` (refinement_totals.cuh).
    pub struct DecideSizesParams {
        totals: Address,
        most_rows: u32,
        counters: Address,
    }

    /// Parameters of `scan_sums` (list_gaussians.cuh).
    pub struct ScanSumsParams {
        sums: Address,
        count: u32,
        total: Address,
    }

    /// Parameters of `list_count` (list_gaussians.cuh).
    pub struct ListCountParams {
        actions: Address,
        bits: u32,
        n: u32,
        sums: Address,
    }

    /// Parameters of `list_write` (list_gaussians.cuh).
    pub struct ListWriteParams {
        actions: Address,
        bits: u32,
        n: u32,
        sums: Address,
        wanted: Address,
        list: Address,
    }

    /// Parameters of `select_histogram` (adc_choose.cuh).
    pub struct SelectHistogramParams {
        gradient_sum: Address,
        seen: Address,
        n: u32,
        threshold: f32,
        within: Within,
        shift: u32,
        selection: Address,
        histogram: Address,
    }

    /// Parameters of `select_digit` (adc_choose.cuh).
    pub struct SelectDigitParams {
        shift: u32,
        room: u32,
        selection: Address,
        histogram: Address,
    }

    /// Parameters of `adc_choose` (adc_choose.cuh).
    pub struct AdcChooseParams {
        gradient_sum: Address,
        seen: Address,
        n: u32,
        threshold: f32,
        within: Within,
        selection: Address,
        actions: Address,
    }

    /// Parameters of `draw_keys` (adc_choose.cuh).
    pub struct DrawKeysParams {
        gradient_sum: Address,
        n: u32,
        seed: u64,
        step: u64,
        keys: Address,
        ones: Address,
    }

    /// Parameters of `adc_admit` (adc_choose.cuh).
    pub struct AdcAdmitParams {
        equals: Address,
        count: Address,
        selection: Address,
        actions: Address,
    }

    /// Parameters of `adc_decide` (adc_split.cuh).
    pub struct AdcDecideParams {
        log_scales: Address,
        opacity_logits: Address,
        n: u32,
        split_scale: f32,
        min_opacity: f32,
        max_scale: f32,
        log_shrink: f32,
        actions: Address,
        totals: Address,
    }

    /// Parameters of `split_children` (adc_split.cuh).
    pub struct SplitChildrenParams {
        means: Address,
        log_scales: Address,
        rotations: Address,
        parents: Address,
        totals: Address,
        log_shrink: f32,
        seed: u64,
        step: u64,
    }

    /// Parameters of `prune_mark` (prune.cuh).
    pub struct PruneMarkParams {
        values: Address,
        n: u32,
        min: f32,
        actions: Address,
    }

    /// Parameters of `cap_opacity` (reset_opacity.cuh).
    pub struct CapOpacityParams {
        logits: Address,
        all: Address,
        ceiling: f32,
        log_scales: Address,
        shape: ShapeColumns,
    }

    /// Parameters of `fade_opacity` (reset_opacity.cuh).
    pub struct FadeOpacityParams {
        logits: Address,
        all: Address,
        factor: f32,
        floor: f32,
    }

    /// Parameters of `mcmc_mark_dead` (mcmc.cuh).
    pub struct McmcMarkDeadParams {
        opacity_logits: Address,
        n: u32,
        min_opacity: f32,
        actions: Address,
    }

    /// Parameters of `weight_sums` (mcmc.cuh).
    pub struct WeightSumsParams {
        opacity_logits: Address,
        actions: Address,
        within: Within,
        n: u32,
        sums: Address,
    }

    /// Parameters of `weight_scan` (mcmc.cuh).
    pub struct WeightScanParams {
        opacity_logits: Address,
        actions: Address,
        within: Within,
        n: u32,
        sums: Address,
        cumulative: Address,
    }

    /// Parameters of `mcmc_draw` (mcmc.cuh).
    pub struct McmcDrawParams {
        cumulative: Address,
        n: u32,
        total: Address,
        all: Address,
        wanted: Address,
        at_most: u32,
        seed: u64,
        step: u64,
        lane: u64,
        drawn: Address,
        copies: Address,
        moved: Address,
    }

    /// Parameters of `mcmc_share` (mcmc.cuh).
    pub struct McmcShareParams {
        opacity_logits: Address,
        log_scales: Address,
        n: u32,
        copies: Address,
        min_opacity: f32,
    }

    /// Parameters of `copy_rows` (copy_rows.cuh).
    pub struct CopyRowsParams {
        array: Address,
        row_bytes: u32,
        moves: RowMoves,
    }

    /// Parameters of `clear_rows` (copy_rows.cuh).
    pub struct ClearRowsParams {
        array: Address,
        row_bytes: u32,
        list: Address,
        base: u32,
        wanted: Address,
        blocks: RowBlocks,
    }

    /// Parameters of `pack_rows` and `place_rows` (copy_rows.cuh).
    pub struct MovePieceParams {
        array: Address,
        packed: Address,
        row_bytes: u32,
        moves: RowMoves,
        first: u32,
        count: u32,
        blocks: RowBlocks,
    }
}
