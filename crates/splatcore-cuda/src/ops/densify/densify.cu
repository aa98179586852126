// densify: changes of the set of Gaussians, wholly on the device and equal in every run.
//
// Contract. Adaptive density control (Kerbl et al. 2023, section 5.2), MCMC (Kheradmand et al.
// 2024, equation 9), pruning and opacity reset, each a sequence of steps; the host
// (densify/*.rs) launches them. Order afterwards as on the CPU: Gaussians that stay, then clones,
// then split children, each in order. Random numbers are counter-based (splatcore_core::random).
// The steps that several methods share:
// - list_count, scan_sums, list_write (list_gaussians.cuh): `actions` to indices of the flagged.
// - weight_sums, scan_sums, weight_scan (mcmc.cuh): weights to cumulative weights, in whole numbers
//   of 2^-32, so that sums do not depend on their order.
// - select_histogram, select_digit, four times (adc_choose.cuh): the K largest gradients.
// - copy_rows (append, relocate), pack_rows and place_rows (compact, by way of scratch; and all
//   moves in arrays that ranks divide, which exchange what is packed), clear_rows (copy_rows.cuh).
// `totals` (u64 [TOTALS], refinement_totals.cuh) holds the counts. The host launches for the most
// that there may be and learns the counts later. The step before may have found no room for its
// pairs, and a refinement may find no room for its rows: all changes go by counts that are 0 then.
// Constants: THREADS, TILE_ROWS, DIGIT_BITS, SPLIT_INTO (densify/kernels.rs), an action's bits
// (densify/actions.rs), TOTALS and the places TOTAL_... (densify/totals.rs).
//
// Launch. One thread an item, blocks of THREADS = 256; begin, end and decide: one warp or thread.
//
// Bound. Memory: deciding reads 28 bytes a Gaussian, compaction moves 708 bytes a Gaussian twice.
//
// Now. 1.1 ms a round of adc with 212 k Gaussians (some 100 launches), 0.2 ms a round of MCMC with
// 1 M (compact moments, H200). History: docs/log/kernels/densify.md

#include "adc_choose.cuh"
#include "adc_split.cuh"
#include "copy_rows.cuh"
#include "list_gaussians.cuh"
#include "mcmc.cuh"
#include "prune.cuh"
#include "refinement_totals.cuh"
#include "reset_opacity.cuh"
