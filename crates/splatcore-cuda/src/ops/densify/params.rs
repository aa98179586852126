//! The parameters of the kernels of densify.cu, by the header that each is in.

use super::within::Within;
use crate::device::params::{Address, kernel_params};

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
        bad: Address,
        min_bad: f32,
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
        bad: Address,
        min_bad: f32,
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
        masks: Address,
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
        bad: Address,
        weight: Address,
        largest: Address,
        n: u32,
        min_importance: f32,
        max_bad_share: f32,
        actions: Address,
    }

    /// Parameters of `cap_opacity` (reset_opacity.cuh).
    pub struct CapOpacityParams {
        logits: Address,
        all: Address,
        ceiling: f32,
        log_scales: Address,
        smoothing: Address,
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
        sources: Address,
        times: u32,
        targets: Address,
        base: u32,
        behind: Address,
        wanted: Address,
    }

    /// Parameters of `clear_rows` (copy_rows.cuh).
    pub struct ClearRowsParams {
        array: Address,
        row_bytes: u32,
        list: Address,
        base: u32,
        wanted: Address,
    }

    /// Parameters of `gather_rows` (copy_rows.cuh).
    pub struct GatherRowsParams {
        array: Address,
        scratch: Address,
        row_bytes: u32,
        kept: Address,
        listed: Address,
        rest: u32,
        first: u32,
        most: u32,
        rows: Address,
    }

    /// Parameters of `put_rows` (copy_rows.cuh).
    pub struct PutRowsParams {
        array: Address,
        scratch: Address,
        row_bytes: u32,
        first: u32,
        most: u32,
        rows: Address,
    }
}
