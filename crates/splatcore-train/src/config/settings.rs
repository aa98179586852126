//! The settings, and what they do.

use super::choices::{
    Appearance, BackendChoice, Background, BatchScaling, DensifyGrowth, DensifyStatistic,
    DepthKind, Depths, GrowthRegion, LineOrder, Moments, NamedDepthLoss, NormalAxes, Optimizer,
    PhotoLens, ResolutionSchedule, Strategy,
};
use super::interval::Interval;
use super::preset::{self, Preset};
use super::time::WallTime;
use clap::ArgAction;
use serde::{Deserialize, Serialize};
use splatcore_core::Pipeline;
use std::path::PathBuf;

/// One layer of settings of a training run; what it does not give is `None`. Defaults are those of
/// INRIA's code (`adc`) and of 3dgs-mcmc (`mcmc`); steps are given for 30,000 iterations there and
/// scale with `iterations` here. The first text of each setting is its help and its comment in
/// written files.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, clap::Args)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Config {
    /// A named set of settings in place of the defaults ([`Preset`]). The help is made from the
    /// table of presets.
    #[arg(long, value_name = "NAME", value_enum, help = preset::help())]
    pub preset: Option<Preset>,
    /// Training steps, of --batch photos each. Time grows in proportion, memory hardly; quality
    /// gains little beyond 30000, and 7000 give most of it. All schedules stretch or shrink with
    /// this number
    #[arg(long, value_name = "N")]
    pub iterations: Option<u32>,
    /// Wall time in place of a number of steps: 10s, 90s, 1.5m, 1h, from the program's start to its
    /// end. The run predicts from its first steps how many fit, corrects that while it runs, and
    /// ends on time with all schedules complete; --iterations beside it is the most that it takes.
    /// Such a run is not repeated bit for bit
    #[arg(long, value_name = "TIME")]
    pub budget: Option<WallTime>,
    /// Stop once the held-out photos have this mean PSNR in dB: they are measured now and then, in
    /// 3 % of the time at most, and a last twentieth of the steps lets the rates fall. With
    /// --iterations or --budget the run ends by whichever comes first
    #[arg(long, value_name = "DB")]
    pub quality_target: Option<f64>,
    /// How Gaussians are added and removed. splatcore clones and splits towards a number known in
    /// advance: the best quality for the time on most photos. adc and mcmc are as published: adc
    /// grows as the photos demand, to a number that nobody knows before; mcmc depends less on the
    /// starting points and on poses that are not quite right
    #[arg(long, value_name = "NAME", value_enum)]
    pub strategy: Option<Strategy>,
    /// Never more Gaussians than this [splatcore: as many as steps and photos are worth, a
    /// million for 30000 steps on 230 photos of 800x530 or more, half for a quarter of either,
    /// 4 million at most, and of photos above 430000 pixels no more than 170 steps each count;
    /// adc: no limit, mcmc: 1000000]. Time and memory grow with the number, about 0.7 kB each
    /// at SH degree 3 while training; fewer than the scene needs cost detail
    #[arg(long, value_name = "N")]
    pub max_gaussians: Option<usize>,
    /// Degree of the spherical harmonics, 0 to 3: how colour may change with the direction of view.
    /// 0 is the fastest and needs a quarter of the memory of 3, but loses reflections
    #[arg(long, value_name = "0..3", value_parser = clap::value_parser!(u8).range(0..=3))]
    pub sh_degree: Option<u8>,
    /// Scale photos so that the longer side is at most this many pixels [the photos' own size].
    /// Time and photo memory fall with the square; detail finer than the smaller pixels is lost
    #[arg(long, value_name = "PX")]
    pub max_size: Option<u32>,
    /// Photos through a lens: undistort resamples them to pinholes, as-taken trains on them as they
    /// are. A pinhole shows only a part of a wide photo; as-taken uses all of it, and no pixel is
    /// interpolated. A step takes longer, on the cpu backend up to twice as long; memory is the
    /// same. The scene is one like any other
    #[arg(long, value_name = "NAME", value_enum)]
    pub lens: Option<PhotoLens>,
    /// Hold out every Nth photo (sorted by name, from the first) to measure quality; 0 trains on
    /// all of them, a little better, but nothing is measured
    #[arg(long, value_name = "N")]
    pub test_every: Option<u32>,
    /// Start of all randomness. Costs nothing; the same seed gives the same result on the same
    /// machine
    #[arg(
        long,
        value_name = "S",
        value_parser = clap::value_parser!(u64).range(0..=i64::MAX as u64)
    )]
    pub seed: Option<u64>,
    /// Colour behind the scene: black, white, r,g,b with values from 0 to 1, or random. Costs
    /// nothing; take the colour that transparent photos stand on, or quality suffers. random puts
    /// another colour behind scene and transparent photos in every step, so that no hole can hide
    /// behind a colour of the background: for photos with alpha or masks. Those with alpha then
    /// take a third more memory and a little time; quality is measured on black
    #[arg(long, value_name = "COLOUR")]
    pub background: Option<Background>,
    /// Where to compute: auto (the fastest at hand), cpu, cuda. Time and which memory is used
    /// depend on it, quality does not
    #[arg(long, value_name = "NAME", value_enum)]
    pub backend: Option<BackendChoice>,
    /// Threads of the cpu backend [all cores]. Fewer take longer and leave cores to others; the
    /// result is the same
    #[arg(long, value_name = "N")]
    pub threads: Option<usize>,
    /// The same result, bit for bit, from every run with the same seed on this machine. The cpu
    /// backend always works so; the cuda backend takes longer. Quality and memory are the same
    #[arg(long, action = ArgAction::SetTrue)]
    pub deterministic: Option<bool>,
    /// Which kernels run: auto, vanilla (as INRIA's, slow), or intersect+blend[+backward]. Images
    /// differ by what docs/methods says of each
    #[arg(long, value_name = "NAME")]
    pub pipeline: Option<Pipeline>,
    /// How a card keeps the optimiser's moments: full (32 bits); compact (16 and 8 bits, rounded by
    /// chance), which takes 432 bytes a Gaussian at SH degree 3 in place of 716 and hardly changes
    /// quality; second, which learns without Adam's first moment and takes 314; or small, which
    /// also keeps spherical harmonics in 16 bits and takes 218. The cpu backend always keeps 32
    /// bits. A resumed run may use another one
    #[arg(long, value_name = "NAME", value_enum)]
    pub moments: Option<Moments>,
    /// Filter against aliasing as Mip-Splatting does, so that the scene looks right from nearer,
    /// from farther and in other sizes than the photos'. The file says so; viewers that do not look
    /// show it too thick. Takes a few % more time and 4 bytes a Gaussian; quality in other sizes
    /// gains much, at the photos' own it loses up to some tenths of a dB
    #[arg(long, action = ArgAction::SetTrue)]
    pub antialias: Option<bool>,
    /// Photos of a step, whose gradients are averaged. More make the gradient steadier and a step
    /// as much longer; the gradients take up to 256 bytes a Gaussian
    #[arg(long, value_name = "B")]
    pub batch: Option<u32>,
    /// How rates follow the batch: none, as they are given, or sqrt, times the square root of its
    /// size, with Adam's decays to the power of its size (Grendel, Zhao et al. 2024). Quality only
    #[arg(long, value_name = "NAME", value_enum)]
    pub batch_scaling: Option<BatchScaling>,
    /// Which Gaussians the optimiser touches in a step: adam all, sparse-adam those in view.
    /// sparse-adam saves most of the optimiser's time where photos see a small part of the scene;
    /// memory is the same. Unseen Gaussians no longer coast on their moments, nor do regularisers
    /// reach them, which changes quality a little
    #[arg(long, value_name = "NAME", value_enum)]
    pub optimizer: Option<Optimizer>,
    /// Let the optimiser's first steps be larger, as its averages of gradients are still short:
    /// without the correction of Kingma & Ba. Quality only
    #[arg(long, action = ArgAction::SetTrue)]
    pub no_bias_correction: Option<bool>,
    /// At which size photos are learnt from: full, or coarse-to-fine, a quarter of each side at
    /// first, then half, then full. The coarse steps take a fraction of the time; memory hardly
    /// changes. Quality may gain (large structures first) or lose (fewer steps on fine detail)
    /// [splatcore: coarse-to-fine, else full]
    #[arg(long, value_name = "NAME", value_enum)]
    pub resolution_schedule: Option<ResolutionSchedule>,
    /// coarse-to-fine: photos have their full size after this step [10000 at 30000 iterations]; the
    /// first half of the steps before are at a quarter, the second at half. Later saves more time
    /// and leaves fewer steps for fine detail
    #[arg(long, value_name = "STEP")]
    pub coarse_until: Option<u32>,

    /// Save the whole state every N steps for --resume [about every 5 minutes]; 0 only when
    /// interrupted and at the end. A save takes a moment and, while it lasts, as much memory as
    /// parameters and optimiser; quality is untouched
    #[arg(long, value_name = "N", help_heading = "Saving and measuring")]
    pub checkpoint_every: Option<u32>,
    /// Measure the held-out photos every N steps [only at the end]. Each time costs a render of all
    /// of them; quality is untouched
    #[arg(long, value_name = "N", help_heading = "Saving and measuring")]
    pub eval_every: Option<u32>,

    /// Learning rate of the means at the first step, times the extent of the cameras [1.6e-4;
    /// splatcore: in runs below 7000 iterations more in proportion, up to 4 times]. Too high blurs,
    /// too low leaves Gaussians where they started; time and memory are the same, as for every
    /// learning rate
    #[arg(long, value_name = "RATE", help_heading = "Learning rates")]
    pub lr_means: Option<f64>,
    /// Learning rate of the means at the last step; falls exponentially from --lr-means [1.6e-6, as
    /// for --lr-means more in short runs]. Quality only
    #[arg(long, value_name = "RATE", help_heading = "Learning rates")]
    pub lr_means_final: Option<f64>,
    /// Learning rate of the base colour. Quality only
    #[arg(long, value_name = "RATE", help_heading = "Learning rates")]
    pub lr_sh_base: Option<f64>,
    /// Learning rate of the colour's dependence on direction. Quality only
    #[arg(long, value_name = "RATE", help_heading = "Learning rates")]
    pub lr_sh_rest: Option<f64>,
    /// Learning rate of the opacity logits [0.025, mcmc: 0.05]. Quality, and with adc how many
    /// are pruned
    #[arg(long, value_name = "RATE", help_heading = "Learning rates")]
    pub lr_opacity: Option<f64>,
    /// Learning rate of the log scales. Quality only
    #[arg(long, value_name = "RATE", help_heading = "Learning rates")]
    pub lr_scales: Option<f64>,
    /// Learning rate of the rotations. Quality only
    #[arg(long, value_name = "RATE", help_heading = "Learning rates")]
    pub lr_rotations: Option<f64>,
    /// Learning rates of colours, opacities, scales and rotations fall after --densify-until, to
    /// this share of themselves at the last step [splatcore: 0.1, else 1]; 1 keeps them. Lower ends
    /// calmer, too low ends too early. Quality only
    #[arg(long, value_name = "SHARE", help_heading = "Learning rates")]
    pub lr_final_share: Option<f64>,
    /// Learning rate of the photos' numbers (with --appearance affine) at the first step. A photo
    /// learns only when it is shown: a short run on many photos needs a higher one. Quality only
    #[arg(long, value_name = "RATE", help_heading = "Learning rates")]
    pub lr_exposure: Option<f64>,
    /// Learning rate of the photos' numbers at the last step, to which it falls exponentially.
    /// Quality only
    #[arg(long, value_name = "RATE", help_heading = "Learning rates")]
    pub lr_exposure_final: Option<f64>,
    /// Learning rate of the learned masks (with --learned-masks), not scaled with the run: from the
    /// start to masked takes at least 560 steps at 0.01. Higher decides faster and on less evidence
    #[arg(long, value_name = "RATE", help_heading = "Learning rates")]
    pub lr_masks: Option<f64>,

    /// Share of the structural term (1 - SSIM) in the loss, 0 to 1; the rest is L1. More favours
    /// texture over exact colour; 0 saves the time of computing it
    #[arg(long, value_name = "W", help_heading = "Loss")]
    pub ssim_weight: Option<f64>,
    /// The colour model. The help is made from the table of [`splatcore_core::colour`].
    #[arg(long, value_name = "MODEL", help_heading = "Loss", help = Appearance::help())]
    pub appearance: Option<Appearance>,
    /// The same as --appearance affine
    #[arg(
        long, action = ArgAction::SetTrue, conflicts_with = "appearance", help_heading = "Loss"
    )]
    pub exposure: Option<bool>,
    /// Start the photos' exposures (with --appearance) at what their EXIF data say of time,
    /// aperture and ISO speed. For one camera in one light; photos that say nothing start at the
    /// middle. Costs nothing
    #[arg(long, action = ArgAction::SetTrue, help_heading = "Loss")]
    pub exif_exposure: Option<bool>,
    /// Refine the photos' poses while the scene learns, for poses that are not quite right: of
    /// phones, of video, of a hurried reconstruction. Good ones (COLMAP's) gain nothing and may
    /// lose a little. A step takes a few % longer, memory is the same. Held-out photos get theirs
    /// by fitting the pose alone to the finished scene: see poses in metrics.json
    #[arg(long, action = ArgAction::SetTrue, help_heading = "Poses")]
    pub refine_poses: Option<bool>,
    /// How far a pose can go in the whole run (with --refine-poses) if its photo always pulls the
    /// same way: degrees, and as an angle seen from the distance of the extent. Sets the learning
    /// rate, which falls exponentially to a hundredth; the first moves are at most an eighth of a
    /// pixel for each degree, so that short runs go less far. Higher lets worse poses come right,
    /// too high blurs. Quality only
    #[arg(long, value_name = "DEGREES", help_heading = "Poses")]
    pub pose_travel: Option<f64>,
    /// A pose turns by at most this many degrees from the dataset's. Higher lets worse poses come
    /// right, and a photo that fits nowhere go farther astray. Quality only
    #[arg(long, value_name = "DEGREES", help_heading = "Poses")]
    pub pose_degrees: Option<f64>,
    /// A pose moves by at most this share of the extent of the cameras from the dataset's; as
    /// --pose-degrees. Quality only
    #[arg(long, value_name = "SHARE", help_heading = "Poses")]
    pub pose_shift: Option<f64>,
    /// Find how each photo's camera moved while it read the photo, line after line in this order
    /// (where the dataset knows an order, in that): for hand-held video, phones and drones. Lines
    /// must be where they were: use --lens as-taken where the lens bends much. Steps take several
    /// times as long as with global shutters. Held-out photos get their motion by fitting it to
    /// the finished scene
    #[arg(long, value_name = "ORDER", value_enum, help_heading = "Poses")]
    pub refine_motion: Option<LineOrder>,
    /// Seconds in which the camera reads a photo from one edge to the other, for example 0.02 (a
    /// phone takes 0.01 to 0.03), where the dataset says when photos were taken and not this: the
    /// frames before and after a photo tell how the camera moved meanwhile, and each row is taken
    /// from its own pose. For captures of 3D Scanner App, Polycam and Record3D and transforms.json
    /// with timestamps. A step takes longer, on the cpu backend several times as long
    #[arg(long, value_name = "SECONDS", help_heading = "Poses")]
    pub readout_time: Option<f64>,
    /// In which order (with --readout-time), where the dataset does not say it. Rows are those of
    /// the image as it is stored. Costs nothing
    #[arg(long, value_name = "ORDER", value_enum, help_heading = "Poses")]
    pub readout_direction: Option<LineOrder>,
    /// Refine the intrinsics of the photos' cameras while the scene learns: the principal point,
    /// then focal lengths, at last the coefficients of a lens that --lens as-taken keeps. Photos
    /// with the same intrinsics share them. For cameras that were guessed, or calibrated badly;
    /// good ones (COLMAP's) gain nothing. A step takes a few % longer, memory is the same
    #[arg(long, action = ArgAction::SetTrue, help_heading = "Poses")]
    pub refine_intrinsics: Option<bool>,
    /// Intrinsics change by at most this much (with --refine-intrinsics): focal lengths by this
    /// share, the principal point by this share of the sides, a coefficient by this number. Also
    /// sets the rate: numbers that always pull the same way come that far in the run. Higher lets
    /// worse cameras come right, too high blurs. Quality only
    #[arg(long, value_name = "SHARE", help_heading = "Poses")]
    pub intrinsics_limit: Option<f64>,
    /// Learn from depth maps too: auto finds those that the dataset's files name and those in
    /// `depths`, `depth` or COLMAP's `stereo/depth_maps`; or those in this folder of the dataset,
    /// where each is called as its photo (PNG of 16 bits, EXR, npy, npz); points takes the depths
    /// of the starting points, such as a laser scan's of --init. For few photos, plain walls and
    /// sensors; where photos tell the shapes it changes little. A step takes half as long again
    #[arg(long, value_name = "none|auto|points|FOLDER", help_heading = "Depth")]
    pub depths: Option<Depths>,
    /// What the values of depth maps are: metric, depths in units of the world; scaled and
    /// relative, depths up to a factor, or up to a factor and an offset; disparity, inverse depths
    /// up to both, as most networks give them. All but metric get the numbers of each photo from
    /// the dataset's points
    #[arg(long, value_name = "NAME", value_enum, help_heading = "Depth")]
    pub depth_kind: Option<DepthKind>,
    /// World units of a value of depth maps [what the dataset says, else 0.001 of integers, 1 of
    /// floats]
    #[arg(long, value_name = "UNITS", help_heading = "Depth")]
    pub depth_unit: Option<f64>,
    /// The loss on depth. The help is made from the table of [`splatcore_core::depth`].
    #[arg(long, value_name = "NAME", help_heading = "Depth", help = NamedDepthLoss::help())]
    pub depth_loss: Option<NamedDepthLoss>,
    /// Weight of the depths in the loss at the first step; it falls exponentially to a hundredth at
    /// the last. More follows the maps closer, and their faults; 0 only measures. Quality only
    #[arg(long, value_name = "W", help_heading = "Depth")]
    pub depth_weight: Option<f64>,

    /// Learn from maps of normals too: auto finds those in `normals`, `normal` or COLMAP's
    /// `stereo/normal_maps`; or those in this folder of the dataset, where each is called as its
    /// photo (PNG of 8 or 16 bits, EXR, npy, npz). For walls and floors that photos tell little of.
    /// A step takes half as long again
    #[arg(long, value_name = "none|auto|FOLDER", help_heading = "Depth")]
    pub normals: Option<Depths>,
    /// The axes of normals: opencv, the camera's with x right, y down and z forward; opengl, the
    /// camera's with x right, y up and z back; world, those of the poses
    #[arg(long, value_name = "NAME", value_enum, help_heading = "Depth")]
    pub normal_frame: Option<NormalAxes>,
    /// Weight of the normals in the loss once a tenth of the run is over; it falls exponentially to
    /// a hundredth at the last step. More follows the maps closer, and their faults. Quality only
    #[arg(long, value_name = "W", help_heading = "Depth")]
    pub normal_weight: Option<f64>,

    /// Learn the sky: a background infinitely far away whose colour changes smoothly with the
    /// direction, so that no Gaussian has to stand where photos show sky. For outdoor scenes; it is
    /// written to sky.json beside the scene. A step takes a little longer; memory is the same
    #[arg(long, action = ArgAction::SetTrue, help_heading = "Sky")]
    pub sky: Option<bool>,
    /// Masks of the sky, white where a photo shows it, in this folder of the dataset: each is
    /// called as its photo, NAME.png. They keep the scene out of the sky. A step takes half as long
    /// again
    #[arg(long, value_name = "FOLDER", help_heading = "Sky")]
    pub sky_masks: Option<PathBuf>,
    /// Weight in the loss of how opaque the scene is where masks show the sky. More clears it
    /// sooner, too much eats into roofs and branches where masks are not exact. Quality only
    #[arg(long, value_name = "W", help_heading = "Sky")]
    pub sky_weight: Option<f64>,
    /// Learning rate of the sky at the first step; it falls exponentially to a hundredth at the
    /// last. Quality only
    #[arg(long, value_name = "RATE", help_heading = "Sky")]
    pub lr_sky: Option<f64>,
    /// Weight of the mean opacity in the loss [0, mcmc: 0.01]. More lets useless Gaussians
    /// fade and be reused, too much makes surfaces translucent
    #[arg(long, value_name = "W", help_heading = "Loss")]
    pub opacity_regulariser: Option<f64>,
    /// Weight of the mean scale in the loss [0, mcmc: 0.01]. More keeps Gaussians small, which
    /// also renders faster; too much leaves holes
    #[arg(long, value_name = "W", help_heading = "Loss")]
    pub scale_regulariser: Option<f64>,
    /// splatcore, adc: learn a mask for each Gaussian, with this weight of the mean mask in the
    /// loss, and remove those that training does best without (Compact-3DGS); 5e-4 is the paper's,
    /// 0 learns none. Higher leaves fewer: smaller files, faster to render and to train, some faint
    /// detail lost. 12 bytes a Gaussian more while training
    #[arg(long, value_name = "W", help_heading = "Loss")]
    pub learned_masks: Option<f64>,

    /// Let the set grow only inside a box, so that all of --max-gaussians that the starting
    /// Gaussians leave goes there: X0,Y0,Z0,X1,Y1,Z1 in units and axes of the scene that is
    /// written, auto, a cube around the place that the photos' cameras look at, or none. What is
    /// outside learns as ever and stays coarse; psnr_region in metrics.json is the quality inside.
    /// Time and memory are the same
    #[arg(
        long,
        value_name = "none|auto|BOX",
        allow_hyphen_values = true,
        help_heading = "Densification"
    )]
    pub region: Option<GrowthRegion>,
    /// mcmc: random walk of nearly transparent Gaussians, times the means' learning rate. More
    /// explores farther, too much blurs; 0 saves a little time
    #[arg(long, value_name = "RATE", help_heading = "Densification")]
    pub noise_rate: Option<f64>,
    /// Steps between increases of the active SH degree [1000 at 30000 iterations]. Later is faster
    /// at first and keeps colour from explaining away geometry
    #[arg(long, value_name = "N", help_heading = "Densification")]
    pub sh_every: Option<u32>,
    /// Gaussians are added and removed after this step [500 at 30000 iterations]. Later is faster
    /// at first, and leaves fewer rounds
    #[arg(long, value_name = "STEP", help_heading = "Densification")]
    pub densify_from: Option<u32>,
    /// ... and before this step [at 30000 iterations splatcore: 24000, adc: 15000, mcmc: 25000]; 0
    /// keeps the starting set. Later means more Gaussians: more detail, time and memory
    #[arg(long, value_name = "STEP", help_heading = "Densification")]
    pub densify_until: Option<u32>,
    /// Steps between two rounds of adding and removing [100; in short mcmc runs fewer, down to 20].
    /// splatcore, adc: fewer judge on less evidence, and the set of adc grows faster; mcmc: fewer
    /// move dead Gaussians sooner, and the default of --growth follows
    #[arg(long, value_name = "N", help_heading = "Densification")]
    pub densify_every: Option<u32>,
    /// adc: a Gaussian whose mean screen-space gradient reaches this is cloned or split [0.0002,
    /// with --densify-statistic absolute 0.0003]. Lower means more Gaussians: more detail, time and
    /// memory
    #[arg(long, value_name = "NORM", help_heading = "Densification")]
    pub densify_gradient: Option<f64>,
    /// splatcore, adc: which gradient that is: mean, of the sum over all pixels, or absolute, of
    /// absolute values tile by tile, in which opposite pulls do not cancel (AbsGS): large Gaussians
    /// over fine detail are split. Costs no memory and hardly time; the number of Gaussians depends
    /// on --densify-gradient
    #[arg(long, value_name = "NAME", value_enum, help_heading = "Densification")]
    pub densify_statistic: Option<DensifyStatistic>,
    /// splatcore, adc: how many grow [splatcore: budget, adc: threshold]: threshold, all that
    /// --densify-gradient admits, or budget, as many as bring the set on a straight line to
    /// --max-gaussians at --densify-until, drawn in proportion to their gradients. Time and memory
    /// are known in advance then
    #[arg(long, value_name = "NAME", value_enum, help_heading = "Densification")]
    pub densify_growth: Option<DensifyGrowth>,
    /// Every --prune-every steps, remove floaters: Gaussians nearer than this share of the depth
    /// that the photos' views show at their place, in every view that can tell [0.8, mcmc: 0]; 0
    /// removes none. A round renders each photo's view, memory is hardly touched. Views from beside
    /// the photos gain much, those between them nothing; haze, glass and smoke may go too
    #[arg(long, value_name = "SHARE", help_heading = "Densification")]
    pub prune_floaters: Option<f64>,
    /// No Gaussian is larger (standard deviation along its longest axis) than this share of its
    /// distance to the nearest photo's camera; 0 sets no limit [0.25, adc: 0]. Larger ones fit the
    /// photos and are drawn anywhere in views from beside them. The default strategy limits only
    /// what is larger than the scene, where cameras look at one place from around it. Lower cuts
    /// plain walls into more Gaussians. Time and memory are the same
    #[arg(long, value_name = "SHARE", help_heading = "Densification")]
    pub max_scale: Option<f64>,
    /// Steps between these rounds [3000 at 30000 iterations; adc: at least 10 rounds of
    /// densification, as the opacity resets that they precede]. Fewer keep the set small (time,
    /// memory) and cost a render and a backward pass of each photo every time
    #[arg(long, value_name = "N", help_heading = "Densification")]
    pub prune_every: Option<u32>,
    /// splatcore, adc: split above this size, clone below, as a share of the extent of the cameras.
    /// Lower splits more: sharper large surfaces, more Gaussians
    #[arg(long, value_name = "SHARE", help_heading = "Densification")]
    pub split_scale: Option<f64>,
    /// splatcore, adc: after the first opacity reset, remove what is larger than this share of the
    /// extent [splatcore: 0, adc: 0.1]; 0 removes none. Lower removes more: fewer blobs, but
    /// distant backgrounds go with them
    #[arg(long, value_name = "SHARE", help_heading = "Densification")]
    pub prune_scale: Option<f64>,
    /// Gaussians below this opacity are removed, or moved (mcmc). Higher saves time and memory
    /// and loses faint detail
    #[arg(long, value_name = "ALPHA", help_heading = "Densification")]
    pub min_opacity: Option<f64>,
    /// adc: steps between opacity resets [3000 at 30000 iterations, at least 10 rounds of
    /// densification]. Resets clear floating haze and save memory; each costs quality for some
    /// hundred steps
    #[arg(long, value_name = "N", help_heading = "Densification")]
    pub opacity_reset_every: Option<u32>,
    /// adc: highest opacity after a reset. Lower clears more haze and takes longer to recover from
    #[arg(long, value_name = "ALPHA", help_heading = "Densification")]
    pub opacity_reset_to: Option<f64>,
    /// splatcore, adc: halve all opacities (none below 1/128) and clear the optimiser's moments
    /// every N steps, or with an e every N epochs (10e: whenever each photo was seen ten times
    /// more), before --densify-until, in place of resets; 0 resets [splatcore: a fourteenth of the
    /// steps, adc: 0]. Clears haze and lets what was hidden learn; costs quality for a while, less
    /// than a reset
    #[arg(long, value_name = "N|Ne", help_heading = "Densification")]
    pub opacity_halving_every: Option<Interval>,
    /// mcmc: growth per round, 0.05 for 5 %, until --max-gaussians [0.05 every 100 steps at the
    /// preset's iterations, or at 30000; otherwise so that the limit is reached at the same share
    /// of the run]. Higher reaches the final time per step, memory and detail sooner
    #[arg(long, value_name = "SHARE", help_heading = "Densification")]
    pub growth: Option<f64>,
    /// Opacity of the starting Gaussians [0.1, mcmc: 0.5]. Quality of the start; higher ones
    /// hide each other
    #[arg(long, value_name = "ALPHA", help_heading = "Densification")]
    pub init_opacity: Option<f64>,
    /// Size of the starting Gaussians, in mean distances to their 3 nearest neighbours [1,
    /// mcmc: 0.1, and nearer 1 below 6000 iterations, which leave few steps to close gaps]. Larger
    /// covers gaps between the points and makes the first steps slower
    #[arg(long, value_name = "X", help_heading = "Densification")]
    pub init_scale: Option<f64>,
}
