"""What the short table of each paper shows, for results_summary.py, which says how to read it."""

BASES = "[`scalar` is faster than INRIA's code](#the-three-baselines)"
GROUPS = "[multiprocessors without a block](#why-groups-of-tiles-lose-here)"
MODEL = "[the gain depends on the model](#what-the-tables-show)"
LAB = (
    "[splats that reach none of a warp's pixels are left out]"
    "(#how-these-runs-differ-from-the-papers)"
)
BLENDING = "fox: [blending's share and gain](#why-two-gains-differ); chair: a guess"
TIGHT = (
    "[`scalar`](#the-three-baselines); behind tight lists fewer fragments are below 1/255: why the "
    "paper gains as much there is [open](#what-was-not-measured-here)"
)
# The list of differences without a reason.
OPEN = "[open](#what-was-not-measured-here)"
SHARE = "[the other stages gain more over INRIA's than the blend](#the-three-baselines)"
BUSIER = "[the gain depends on the model](#what-the-tables-show); [the LSU's work](#what-warps-wait-for)"
MEMORY = "memory: [it moves little](#why-groups-of-tiles-lose-here); the paper's count is not known"

# By paper: table, what it shows, the paper, its authors' code here, here, and why they are apart.
LINES = {
    "tc-gs": [
        ["Table 3", "gain of a frame, 3DGS with TC-GS", "{3DGS(+TC-GS)|paper*speed-up}x (by its frame "
         "rates {3DGS(+TC-GS)|paper*FPS / 3DGS: |paper*FPS}x)", "-",
         "{3DGS(+TC-GS)|here*speed-up}x; over `literal` "
         "{paper-baselines-gains>TC-GS, *|over `literal`}x, INRIA's "
         "{paper-baselines-gains>TC-GS, *|gain over INRIA's code}x",
         f"{BASES}; why more over `literal` and INRIA's: {OPEN}"],
        ["Table 3", "Speedy-Splat with TC-GS over 3DGS",
         "{Speedy-Splat(+TC-GS)|paper*FPS / 3DGS: |paper*FPS}x",
         "{paper-baselines-clocks>TC-GS, *1920|gain, events}x by events (H100); "
         "{TC-GS, authors'|here*speed-up}x by kernels (H200)",
         "{Speedy-Splat(+TC-GS)|here*: vs 3DGS}x; over `literal` "
         "{paper-baselines-gains>TC-GS behind*|over `literal`}x",
         "[`scalar`](#the-three-baselines); tight lists gain little on bonsai, chair"],
        ["Table 3", "FlashGS with TC-GS over 3DGS; over FlashGS",
         "{FlashGS(+TC-GS)|paper*FPS / 3DGS: |paper*FPS}x; {FlashGS(+TC-GS)|paper*speed-up}x", "-",
         "{FlashGS(+TC-GS)|here*: vs 3DGS}x; {FlashGS(+TC-GS)|here*speed-up}x",
         "as above; [FlashGS' own blend is not here](#tc-gs-table-3)"],
        ["Table 3", "over Speedy-Splat; over AdR-Gaussian",
         "{Speedy-Splat(+TC-GS)|paper*speed-up}x; {AdR-Gaussian(+TC-GS)|paper*speed-up}x", "-",
         "{Speedy-Splat(+TC-GS)|here*speed-up}x; {AdR-Gaussian(+TC-GS)|here*speed-up}x", TIGHT],
        ["Table 4", "gain of blending, 3DGS with TC-GS", "{3DGS: |paper*speed-up}x", "-",
         "{3DGS: |here*speed-up}x; over INRIA's "
         "{3DGS, authors'|here*original / 3DGS: |here*with TC-GS}x", BASES],
        ["Table 4", "blending, Speedy-Splat with TC-GS over 3DGS",
         "{3DGS: |paper*original / Speedy-Splat|paper*with TC-GS}x",
         "{TC-GS, authors'|here*speed-up}x (H200)",
         "{3DGS: |here*original / Speedy-Splat|here*with TC-GS}x; over INRIA's "
         "{3DGS, authors'|here*original / Speedy-Splat|here*with TC-GS}x",
         "[`scalar`](#the-three-baselines); why the authors' kernel is faster than ours: "
         "[not known](#against-the-authors-code)"],
        ["Table 4", "over Speedy-Splat; AdR-Gaussian; FlashGS",
         "{Speedy-Splat|paper*speed-up}x; {AdR-Gaussian|paper*speed-up}x; "
         "{FlashGS|paper*speed-up}x", "-",
         "{Speedy-Splat|here*speed-up}x; {AdR-Gaussian|here*speed-up}x; {FlashGS|here*speed-up}x",
         f"{TIGHT}; FlashGS' own blend is not here"],
        ["Table 5", "gain by EarlyCull; by Frag2Mat with G2L",
         "{EarlyCull|paper* / neither|paper*}x; {Frag2Mat|paper* / neither|paper*}x (of its frame "
         "rates)", "-",
         "{EarlyCull|here*FPS / neither|here*FPS}x; {Frag2Mat|here*FPS / neither|here*FPS}x",
         "[`scalar` is faster](#the-three-baselines); EarlyCull: [probably its "
         "exponential](#tc-gs-table-5)"],
        ["Table 6", "PSNR lost by FP16 with G2L; without",
         "{FP32|paper*PSNR - Frag2Mat, G2L|paper*PSNR} dB; "
         "{FP32|paper*PSNR - Frag2Mat, FP16|paper*PSNR} dB (drjohnson, truck)",
         "{lost>*|dB} dB (H100)",
         "{FP32|here*photos - Frag2Mat, G2L|here*photos} dB; "
         "{FP32|here*photos - Frag2Mat, FP16|here*photos} dB",
         "[those of a broken image](#the-speed-ups-of-table-6s-broken-images)"],
        ["Table 6", "PSNR lost by TF32 without G2L", "{FP32|paper*PSNR - Frag2Mat, TF32|paper*PSNR} dB", "-",
         "{FP32|here*photos - Frag2Mat, TF32|here*photos} dB",
         "[a broken image](#the-speed-ups-of-table-6s-broken-images); scene and size: not measured"],
        ["Figure 3", "fragments to cull that methods with early culling leave",
         "over {~over (\\d+) % .0} %", "-",
         "of those with boxes: AdR-Gaussian {AdR|here*culled M / 3DGS: |here*culled M}, Speedy-Splat "
         "{Speedy|here*culled M / 3DGS: |here*culled M}, FlashGS {FlashGS|here*culled M / 3DGS: |here*culled M}",
         f"what the paper counted is not known; {OPEN}"],
        ["Figure 6", "images of table 6", "no numbers", "-", "not measured",
         "only their PSNR is measured: table 6"],
    ],
    "gemm-gs": [
        ["Table 2", "gain of a frame, vanilla 3DGS",
         "{Speedup|paper*}x, mean {Speedup|paper: mean}x (A100); "
         "{gemm-gs-figure-5>Vanilla|paper*H100}x (H100)",
         "{paper-baselines-clocks>GEMM-GS, *1920|gain, events}x by events; "
         "{paper-baselines-clocks>GEMM-GS, *1920|gain, kernels}x by kernels (H100)",
         "{Speedup|here*: ms}x; over `literal` {paper-baselines-gains>GEMM-GS, *|over `literal`}x, "
         "INRIA's {paper-baselines-gains>GEMM-GS, *|gain over INRIA's code}x",
         f"chair: [a guess](#why-two-gains-differ); why more over `literal` and INRIA's, why less by "
         f"events: {OPEN}"],
        ["Figure 5", "gain over FlashGS", "mean {FlashGS|paper*A100 & FlashGS|paper*H100}x (A100, H100)",
         "-", "{FlashGS|here*speed-up}x", "bonsai, chair: [a guess](#why-two-gains-differ)"],
        ["Figure 5", "gain over StopThePop",
         "mean {StopThePop|paper*A100 & StopThePop|paper*H100}x (A100, H100)", "-",
         "{StopThePop|here*speed-up}x", BLENDING],
        ["Figure 5", "gain over Speedy-Splat",
         "mean {Speedy-Splat|paper*A100 & Speedy-Splat|paper*H100}x (A100, H100)", "-",
         "{Speedy-Splat|here*speed-up}x", BLENDING],
        ["Table 2", "gain on models of c3dgs; LightGaussian",
         "means {gemm-gs-figure-5>c3dgs|paper*A100}x; {gemm-gs-figure-5>LightGaussian|paper*A100}x (A100)",
         "-",
         "{gemm-gs-figure-5>c3dgs|here*speed-up}x; {gemm-gs-figure-5>LightGaussian|here*speed-up}x (3 "
         "scenes)",
         "chair: [blending's share](#compressed-models); fox_220k: not examined"],
        ["Figure 3", "share of blending, vanilla 3DGS", "nearly {Vanilla|paper* .0} % (A100)",
         "INRIA's: {3DGS, authors'|here*blend % .0} % (H200, blend of the models as trained)",
         "{Vanilla|here*blend % .0} %", SHARE],
        ["Figure 6", "gain of a frame at 2x; at 3x",
         "{2x, GEMM|paper*}x; {3x, GEMM|paper*}x (A100)",
         "at 3840x2160 {paper-baselines-clocks>GEMM-GS, *2160|gain, events}x by events (H100)",
         "{2x, GEMM|here*speed-up}x; {3x, GEMM|here*speed-up}x",
         "[one guess, not tried](#why-two-gains-differ)"],
        ["Figure 7", "time with batches of 32 over 256", "longer, no numbers", "-",
         "{b = 32|here*: ms / b = 256|here*: ms}x", ""],
    ],
    "tensor-gs": [
        ["Figure 4", "gain of a frame, TensorGS", "mean {TensorGS|paper*}x", "-",
         "{TensorGS|here*speed-up}x; over `literal` "
         "{paper-baselines-gains>TensorGS, 2x2*|over `literal`}x; at 980x545 "
         "[{paper-tensor-gs-size>2x2, TensorGS|*980x545: gain}x](#why-groups-of-tiles-lose-here)",
         f"[`scalar`](#the-three-baselines); below 1x1, fox: {GROUPS}; bonsai, chair: a guess"],
        ["Figure 5", "gain over AdR-Gaussian, FlashGS, GSCore",
         "means {AdR-Gaussian +|paper* & FlashGS +|paper* & GSCore +|paper*}x", "-",
         "{AdR-Gaussian +|here*: speed-up & FlashGS +|here*speed-up & GSCore +|here*speed-up}x",
         "as figure 4; of these lists FlashGS' alone were profiled, on fox_220k"],
        ["Figure 5", "gain over gsplat", "mean {gsplat|paper*}x", "-", "not measured",
         "gsplat is a program, not a method"],
        ["Table 6", "gain by groups of 1x1; 2x2; 4x4",
         "{1x1|paper*}x; {2x2|paper*}x; {4x4|paper*}x", "-",
         "{1x1|here*speed-up}x; {2x2|here*speed-up}x; {4x4|here*speed-up}x; over `literal`: 1x1 "
         "{paper-baselines-gains>TensorGS, 1x1*|over `literal`}x, 2x2 "
         "{paper-baselines-gains>TensorGS, 2x2*|over `literal`}x",
         "[`scalar`](#the-three-baselines), and the paper's baseline is in FP16; why 1x1 gains more "
         f"over `literal`: {OPEN}; 2x2 below 1x1, fox: {GROUPS}; the rest is a guess"],
        ["Table 4", "naive tensorization: gain; tensor cores; memory busy",
         "{Naive|paper*speed-up}x; {Naive|paper*cores % .0} %; {Naive|paper*bandwidth % .0} %",
         "-",
         "{Naive|here*: speed-up}x; fox_220k: "
         "{paper-tensor-gs-groups>fox_220k, `aabb+tensor-gs-1x1-half`|matrix units busy .0} %; "
         "{paper-tensor-gs-groups>fox_220k, `aabb+tensor-gs-1x1-half`|memory busy .0} %",
         "[`scalar`](#the-three-baselines); matrix units: [instructions of other "
         f"kinds](#why-groups-of-tiles-lose-here); {MEMORY}"],
        ["Table 2", "3DGS: multiprocessors; memory; tensor cores busy",
         "{SM|paper* .0} %; {DRAM|paper* .0} %; {Tensor|paper* .0} %", "-",
         "fox_220k: {paper-tensor-gs-groups>fox_220k, `aabb+scalar`|multiprocessors busy .0} %; "
         "{paper-tensor-gs-groups>fox_220k, `aabb+scalar`|memory busy .0} %; "
         "{paper-tensor-gs-groups>fox_220k, `aabb+scalar`|matrix units busy .0} %",
         MEMORY],
        ["Table 3", "PSNR in FP16 less in FP32", "{FP16|paper* - FP32|paper*} dB", "-",
         "{FP16|here*photos - FP32|here*photos} dB",
         "there 3DGS trained in FP16, here TensorGS in halves"],
        ["Figure 1(a)", "share of rasterization, 3DGS", "about {3DGS: |paper* .0} %",
         "INRIA's: {3DGS, authors'|here*blend % .0} % (H200, blend of the models as trained)",
         "{3DGS: |here*blend % .0} %", SHARE],
        ["Figure 1(b)", "share of power computation in rasterization",
         "{3DGS: |paper*: rasterization % .0} %", "-", "not measured",
         "parts of one kernel are not timed"],
        ["Figure 3", "loads saved by groups of 2x2", "mean {2x2|paper* .0} %", "-",
         "{2x2|here*fewer loads % .0} % (boxes)",
         "[bonsai, chair: Gaussians are in few lists](#tensor-gs-figure-3)"],
    ],
    "atomic-aggregation": [
        ["Figure 9, gradient computation", "gain of the backward kernel",
         "means {Ours|paper*mean}x, largest {Ours|paper*max}x (4090, 3060)", "-",
         "{Ours|here*: speed-up}x", MODEL],
        ["Figure 9, end to end", "gain of a training step",
         "means {Ours|paper*mean}x, largest {Ours|paper*max}x (4090, 3060)", "-",
         "{Ours|here*: speed-up}x", MODEL],
        ["Table 3", "PSNR gained in 300 s of training",
         "mean {mean *|*: Ours - *|*: Baseline} dB; {*|*: Ours - *|*: Baseline} dB",
         "-", "fox_colmap, bonsai: "
         "{*, `aabb+scalar+warp*|PSNR - *, `aabb+scalar+atomic*|PSNR} dB (H100); in the time of a "
         "third of the baseline's steps {*, `aabb+scalar+warp*|over the baseline} dB (H200; 846 and "
         "7,446 steps, the limit chosen so)",
         "[the baseline's share of its steps decides](#what-the-tables-show); fox_colmap in 300 s: "
         "single runs"],
        ["Figure 2", "share of gradient computation, baseline",
         "mean {Base|paper*mean .0} %, largest {Base|paper*max .0} % (4090)", "-",
         "{Base|here*: gradient .0} %",
         "[the rest of a step is not PyTorch's](#atomic-aggregation-figure-2)"],
        ["Figure 4", "stalls on load-store units, baseline", "over {Base|paper* .0} %", "-",
         "[{paper-atomic-aggregation-stalls>*, baseline*|queues of the LSU .0} %]"
         "(#what-warps-wait-for) (3 scenes, H100)",
         "[chair waits for values, bonsai also for other warps](#what-warps-wait-for)"],
        ["Figure 5", "gain without atomicity",
         "mean {atomic_add|paper*mean}x, largest {atomic_add|paper*max}x", "-",
         "{atomic_add|here: fox_220k: boxes: speed-up}, {atomic_add|here: fox_220k: tight: speed-up}x; "
         "{atomic_add|here: fox_mcmc_1m: boxes: speed-up}, "
         "{atomic_add|here: fox_mcmc_1m: tight: speed-up}x (fox, boxes and tight)",
         ""],
        ["Figure 6", "lanes of a warp that add", "no numbers", "-",
         "{Base|here*boxes: lanes, warps that add .1} of 32", ""],
        ["Figure 10", "warp stalls: fewer by",
         "mean {Ours|paper: stalls*mean}x, largest {Ours|paper: stalls*max}x", "-",
         "[{paper-atomic-aggregation-stalls>*, the paper's (*|fewer by .1}x](#what-warps-wait-for) "
         "(3 scenes, H100)", BUSIER],
        ["Figure 10", "stalls on load-store units: fewer by",
         "mean {Ours|paper: LSU*mean}x, largest {Ours|paper: LSU*max}x", "-",
         "[{paper-atomic-aggregation-stalls>*, baseline*|queues of the LSU / "
         "paper-atomic-aggregation-stalls>*, the paper's (*|queues of the LSU .1}x](#what-warps-wait-for)"
         " (3 scenes, H100)", BUSIER],
        ["Figure 11", "use of load-store units: more by",
         "mean {Ours|paper*mean}x, largest {Ours|paper*max}x", "-",
         "[{paper-atomic-aggregation-stalls>*, the paper's (*|more by .1}x](#what-warps-wait-for) "
         "(3 scenes, H100)", BUSIER],
    ],
    "llm": [
        ["Table I", "blend of 3DGS; of TC-GS; gain by GPT-5",
         "{Origin|paper: 3DGS ms} ms; {Origin|paper: TC-GS ms} ms; "
         "{Origin|paper: 3DGS ms / GPT-5|paper: 3DGS ms}x",
         "{Origin, authors'|here: 3DGS ms} ms; {Origin, authors'|TC-GS ms} ms (H200)",
         "{Origin|here: 3DGS ms} ms; {Origin|TC-GS ms} ms; GPT-5 was not asked",
         "[another card and scene; tight lists](#llm-table-i)"],
        ["Section III-A", "gain by `__expf`; by colours in shared memory",
         "{`__expf`|paper*} %; {colours in|paper*} %", "-",
         "{`__expf`|lab: whole* .1} %; {colours in|lab: whole* .1} %; of the kernel at most "
         "{`__expf`|*at most .1} %; {colours in|*at most .1} % (H100)",
         f"the paper's printed kernels also blend inverse depth; {OPEN}"],
        ["Table II", "3DGS: occupancy; stall not selected; FLOP of a byte",
         "{Achieved|paper*} %; {Stall not|paper*}; {Arithmetic intensity of GS|paper*} "
         "(Dr Johnson, Mip-NeRF 360)", "-",
         "{Achieved|here*} %; {Stall not|here*}; {Arithmetic intensity of GS|here*}",
         "[another card and scene](#llm-table-ii)"],
        ["Table III", "Gaussians for each tile; share computed by a thread; its variance",
         "{Average of G|paper* .0}; {Average of c|paper* .0} %; {Variance of c|paper*}", "-",
         "{Average of G|here* .0}; {Average of c|mean thread .0} %; {Variance of c|mean thread} "
         "(boxes)",
         "[the paper does not name its scene](#llm-table-iii)"],
        ["Table IV", "wrong kernels, of four, that GPT-5 sees; that others see",
         "{sum GPT-5|paper* .0}; "
         "{sum Deepseek|paper* & sum Gemini|paper* & sum Claude|paper* .0}", "-", "not measured",
         "models not asked; [another's answers](lab.md#a-model-as-checker)"],
        ["Figure 9", "gain of search with planner and profile", "{planner and|paper*}x", "-",
         "live model, 8 tries {planner and|live*}x; replies written before {planner and|lab*}x (H100); "
         "without planner or profile, 40 tries {long|lab*}x", LAB],
        ["Figure 10", "kernels that fail: neither; planner; both", "no numbers", "-",
         "{neither|lab* .0} %; {planner|lab* .0} %; {planner and|lab* .0} % (H100); live model "
         "{neither|live* .0} %; {planner|live* .0} %; {planner and|live* .0} %", ""],
        ["Figure 11", "gain on other scenes; by hand",
         "mean {search, planner and|paper: mean}x, best {search, planner and|paper: best}x; "
         "{by hand|paper: mean}x, {by hand|paper: best}x", "-",
         "written before {search, planner and|lab*}x; live model {search, planner and|live*}x; winners "
         "of long searches without planner {search, planner and|winner*frame}x, on scenes not seen "
         "{search, planner and|winner*unseen}x; by hand: not measured", LAB],
        ["Figure 12", "gain on other cards", "at least {RTX|paper*}x", "-", "not measured",
         "no kernel was timed on a second kind of card"],
        ["Figure 13", "gain of Seele's kernel; of TC-GS', mended by hand",
         "mean {Seele|paper: mean}x; none ({TC-GS|paper: mean}x)", "-",
         "winners of seeds 3 and 5 {Seele|winner*frame}x; {TC-GS|winner*frame}x (TC-GS, seed 4: none); "
         "held-out scenes: written before {Seele|lab*}x; live model, 5 or 6 tries {Seele|live*}x; "
         "{TC-GS|live*}x",
         f"TC-GS: {OPEN}; Seele, seed 3: [refused with another seed](#llm-figure-13), seed 5: [taken by "
         "`lab accept`](lab.md#searches)"],
    ],
}
