//! Which backend does the work; of several cards `backends/cards.rs`.

pub mod cards;

use crate::output::WrongUsage;
use crate::ranks::Rank;
use anyhow::{Result, anyhow};
use splatcore_core::{Backend, Pipeline};
use splatcore_cpu::CpuBackend;
use splatcore_cuda::{CudaBackend, OpenError, Options};
use splatcore_train::ResolvedConfig;
use splatcore_train::config::{self, BackendChoice};
use splatcore_train::memory::Bytes;
use std::path::Path;

/// `--device`.
#[derive(clap::Args)]
pub struct DeviceArgs {
    /// Which NVIDIA card computes, as `splatcore doctor` numbers them [0]. Only the cuda backend
    /// has cards: with this, auto takes the card or says why it cannot
    #[arg(long, value_name = "N")]
    pub device: Option<usize>,
}

/// `--backend`, `--device`, `--memory` and `--threads`, for every command but train (whose config
/// holds them).
#[derive(clap::Args)]
pub struct BackendArgs {
    /// Where to compute: auto (the fastest at hand), cpu, cuda. Time and which memory is used
    /// depend on it, quality does not
    #[arg(long, value_name = "NAME", default_value = "auto", value_enum)]
    pub backend: BackendChoice,
    #[command(flatten)]
    pub device: DeviceArgs,
    /// Use at most so much of the card's memory, for example 16G [what is free]. Harmonics of a
    /// scene for which that is too little lie in the computer's memory, and each frame reads those
    /// of what it shows. The result is the same, bit for bit, whatever the memory. Of several cards
    /// each uses so much
    #[arg(long, value_name = "SIZE")]
    pub memory: Option<Bytes>,
    /// Threads of the cpu backend [all cores]. Fewer take longer and leave cores to others; the
    /// result is the same
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    pub threads: Option<u16>,
}

/// Says so where images with depth are blended by another method than the one that was asked for.
pub fn note_depth_method(pipeline: Pipeline) {
    let used = pipeline.blend.with_inverse_depth();
    if used != pipeline.blend {
        eprintln!(
            "note: these images are blended by {}: {} sums no depths",
            used.name(),
            pipeline.blend.name()
        );
    }
}

/// `--half-scene`, for commands that only render.
#[derive(clap::Args)]
pub struct HalfSceneArgs {
    /// Keep spherical harmonics on the card as halves. A scene of degree 3 takes 140 bytes a
    /// Gaussian in place of 236, and projection, which waits for memory, takes about two thirds of
    /// its time. Pictures differ from those of the full scene by roundings, 70 dB or better;
    /// gradients cannot be had. Only the cuda backend has it
    #[arg(long)]
    pub half_scene: bool,
}

impl BackendArgs {
    /// Opens the backend and says which; see [`open`].
    pub fn open(&self) -> Result<Box<dyn Backend>> {
        Ok(self.choose(false)?.announce())
    }

    /// How a card is opened, for scenes that stay as they are.
    fn options(&self, device: Option<usize>, half_scene: bool) -> Options {
        Options {
            device,
            half_scene,
            memory: self.memory.map(|Bytes(bytes)| bytes),
            offload: true,
            ..Options::default()
        }
    }

    fn choose(&self, half_scene: bool) -> Result<Opened> {
        let options = self.options(self.device.device, half_scene);
        open(self.backend, self.threads.map(usize::from), options)
    }
}

/// A backend, and what there is to say about the choice.
pub struct Opened {
    backend: Box<dyn Backend>,
    line: String,
}

impl Opened {
    /// The backend's name.
    pub fn name(&self) -> &str {
        self.backend.name()
    }

    /// The backend without a word about the choice.
    pub fn quietly(self) -> Box<dyn Backend> {
        self.backend
    }

    /// Says on stderr, in one line, what was chosen and, for `auto`, why.
    pub fn announce(self) -> Box<dyn Backend> {
        eprintln!("{}", self.line);
        self.backend
    }
}

/// Whether a backend that was asked for by name can be had, before any long work.
///
/// # Errors
/// It cannot: why, and what to do.
pub fn check(choice: BackendChoice) -> Result<()> {
    match choice {
        BackendChoice::Cuda => open(choice, None, Options::default()).map(drop),
        BackendChoice::Auto | BackendChoice::Cpu => Ok(()),
    }
}

/// Whether a card that was asked for by number can be had.
///
/// # Errors
/// It cannot: why, and which there are.
pub fn check_device(device: Option<usize>) -> Result<()> {
    let options = Options {
        device,
        ..Options::default()
    };
    device.map_or(Ok(()), |_| {
        open(BackendChoice::Cuda, None, options).map(drop)
    })
}

/// What a training run asks for of its card.
#[derive(Clone, Copy, Debug, Default)]
pub struct Card<'a> {
    /// Which one; the first if not given.
    pub device: Option<usize>,
    /// How much of its memory may be used; what is free if not given.
    pub memory: Option<Bytes>,
    /// The folder of files in which lies what it has no memory for.
    pub files: Option<&'a Path>,
}

/// Opens the backend that a training run asks for, on this card if it takes one.
///
/// # Errors
/// As [`check`].
pub fn for_training(config: &ResolvedConfig, card: &Card<'_>) -> Result<Opened> {
    let options = options_of(config, card);
    let compute = &config.compute;
    open_with(compute.backend, compute.threads, options, card.files)
}

/// Opens the card of a rank, and the same card for what this rank does alone; of who trains alone
/// as [`for_training`].
///
/// # Errors
/// If the card cannot be had, or the ranks do not come together.
pub fn of_rank(
    config: &ResolvedConfig,
    card: &Card<'_>,
    rank: Option<&Rank>,
) -> Result<(Opened, Option<Box<dyn Backend>>)> {
    let Some(rank) = rank else {
        return Ok((for_training(config, card)?, None));
    };
    if let Some(count) = rank.replicas(config) {
        let opened = for_training(config, card)?;
        let line = format!("{} ({count} replicas, for tests)", opened.line);
        return Ok((Opened { line, ..opened }, None));
    }
    let backend = with_files(rank.backend(options_of(config, card))?, card.files);
    let backend = backend.map_err(|error| anyhow!("{error}"))?;
    let (count, described) = (rank.ranks.count, backend.describe());
    let line = format!("backend: {count} cards, card 0: {described}");
    let alone: Box<dyn Backend> = Box::new(backend.alone());
    let backend = Box::new(backend);
    Ok((Opened { backend, line }, Some(alone)))
}

fn options_of(config: &ResolvedConfig, card: &Card<'_>) -> Options {
    Options {
        deterministic: config.compute.deterministic,
        device: card.device,
        memory: card.memory.map(|Bytes(bytes)| bytes),
        offload: true,
        moments: match config.compute.moments {
            config::Moments::Full => splatcore_cuda::Moments::Full,
            config::Moments::Compact => splatcore_cuda::Moments::Compact,
            config::Moments::Second => splatcore_cuda::Moments::Second,
            config::Moments::Small => splatcore_cuda::Moments::Small,
        },
        half_scene: false,
    }
}

/// Opens a backend. `threads` also bounds the threads that decode photos and measure images; the
/// options are the cuda backend's, the cpu backend has no use for them.
///
/// # Errors
/// As [`check`].
pub fn open(choice: BackendChoice, threads: Option<usize>, options: Options) -> Result<Opened> {
    open_with(choice, threads, options, None)
}

/// As [`open`], with files in this folder for what the card has no memory for.
fn open_with(
    choice: BackendChoice,
    threads: Option<usize>,
    options: Options,
    files: Option<&Path>,
) -> Result<Opened> {
    let choice = with_memory(with_device(choice, options.device)?, options.memory, files)?;
    let threads = threads.map(at_most);
    if let Some(threads) = threads {
        // Fails only when the pool was already made, by an earlier call with the same number.
        let _ = rayon::ThreadPoolBuilder::new()
            .num_threads(threads)
            .build_global();
    }
    let opened = choose(
        choice,
        || Box::new(CpuBackend::new(threads)),
        || cuda(options, files),
    )?;
    with_half_scene(opened, options.half_scene)
}

/// So many threads as are asked for, but no more than a machine can have a use for: thousands take
/// minutes to start, and the result is the same.
fn at_most(threads: usize) -> usize {
    const ENOUGH: usize = 64;
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let most = cores.max(ENOUGH);
    if threads > most {
        eprintln!("--threads {threads}: {most} are used, this machine runs {cores} at a time");
    }
    threads.min(most)
}

/// Scenes in halves are for cards.
fn with_half_scene(opened: Opened, half_scene: bool) -> Result<Opened> {
    match half_scene && opened.backend.name() == "cpu" {
        true => Err(anyhow!(
            "--half-scene is of the cuda backend alone, and the backend is {}; leave it out or \
             compute on a card",
            opened.line.trim_start_matches("backend: ")
        )),
        false => Ok(opened),
    }
}

/// Who names a card wants that card.
fn with_device(choice: BackendChoice, device: Option<usize>) -> Result<BackendChoice> {
    match (choice, device) {
        (BackendChoice::Cpu, Some(device)) => Err(anyhow!(WrongUsage(format!(
            "--device {device} names an NVIDIA card and --backend cpu uses none; leave one of them \
             out"
        )))),
        (_, Some(_)) => Ok(BackendChoice::Cuda),
        (choice, None) => Ok(choice),
    }
}

/// So does who says how much of its memory may be used, or where what it lacks is.
fn with_memory(
    choice: BackendChoice,
    memory: Option<u64>,
    files: Option<&Path>,
) -> Result<BackendChoice> {
    let flag = match (memory, files) {
        (None, None) => return Ok(choice),
        (Some(_), _) => "--memory",
        (None, Some(_)) => "--memory-files",
    };
    match choice {
        BackendChoice::Cpu => Err(anyhow!(WrongUsage(format!(
            "{flag} is about an NVIDIA card's memory and --backend cpu uses none; leave one of \
             them out"
        )))),
        BackendChoice::Auto | BackendChoice::Cuda => Ok(BackendChoice::Cuda),
    }
}

fn with_files(backend: CudaBackend, files: Option<&Path>) -> Result<CudaBackend, OpenError> {
    match files {
        Some(folder) => backend.with_files(folder),
        None => Ok(backend),
    }
}

/// The card, or why not.
fn cuda(options: Options, files: Option<&Path>) -> Result<Box<dyn Backend>, String> {
    match CudaBackend::open(options).and_then(|backend| with_files(backend, files)) {
        Ok(backend) => Ok(Box::new(backend)),
        Err(error) => Err(match options.device {
            Some(_) => format!("{error}; --device chooses another card"),
            None => error.to_string(),
        }),
    }
}

fn choose(
    choice: BackendChoice,
    cpu: impl FnOnce() -> Box<dyn Backend>,
    cuda: impl FnOnce() -> Result<Box<dyn Backend>, String>,
) -> Result<Opened> {
    let (backend, why) = match choice {
        BackendChoice::Cpu => (cpu(), String::new()),
        BackendChoice::Cuda => match cuda() {
            Ok(backend) => (backend, String::new()),
            Err(reason) => {
                return Err(anyhow!(
                    "the CUDA backend cannot be used: {reason}; or compute on the processor with \
                     --backend cpu"
                ));
            }
        },
        BackendChoice::Auto => match cuda() {
            Ok(backend) => (
                backend,
                " (auto: a card is faster than the processor)".into(),
            ),
            Err(reason) => (cpu(), format!(" (auto: {reason})")),
        },
    };
    let line = format!("backend: {}{why}", backend.describe());
    Ok(Opened { backend, line })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cpu(threads: usize) -> Box<dyn Backend> {
        Box::new(CpuBackend::new(Some(threads)))
    }

    /// Two threads play the card, one the processor.
    #[test]
    fn auto_takes_the_card_and_says_why_not() {
        let chosen = |choice, card: Result<(), &str>| {
            let opened = choose(
                choice,
                || cpu(1),
                || card.map(|()| cpu(2)).map_err(str::to_owned),
            );
            opened
                .map(|opened| opened.line)
                .map_err(|error| error.to_string())
        };
        let no_driver = Err("no NVIDIA driver found");
        let line = chosen(BackendChoice::Auto, Ok(())).unwrap();
        assert_contains!(line, "2 threads (auto: a card");
        let line = chosen(BackendChoice::Auto, no_driver).unwrap();
        assert!(
            line.ends_with("1 thread (auto: no NVIDIA driver found)"),
            "{line}"
        );
        let line = chosen(BackendChoice::Cpu, Ok(())).unwrap();
        assert!(line.ends_with("1 thread"), "{line}");
        let line = chosen(BackendChoice::Cuda, Ok(())).unwrap();
        assert!(line.ends_with("2 threads"), "{line}");
        let error = chosen(BackendChoice::Cuda, no_driver).unwrap_err();
        assert_contains!(error, "no NVIDIA driver found; or compute", "--backend cpu");
    }

    #[test]
    fn a_named_card_is_wanted() {
        let chosen =
            |choice, device| with_device(choice, device).map_err(|error| error.to_string());
        for choice in [BackendChoice::Auto, BackendChoice::Cuda] {
            assert_eq!(chosen(choice, Some(1)), Ok(BackendChoice::Cuda));
            assert_eq!(chosen(choice, None), Ok(choice));
        }
        assert_eq!(chosen(BackendChoice::Cpu, None), Ok(BackendChoice::Cpu));
        let error = chosen(BackendChoice::Cpu, Some(1)).unwrap_err();
        assert_contains!(error, "--device 1", "--backend cpu");
    }

    #[test]
    fn a_limit_of_memory_wants_a_card() {
        let chosen = |choice, memory| with_memory(choice, memory, None).map_err(|e| e.to_string());
        assert_eq!(
            chosen(BackendChoice::Auto, Some(1)),
            Ok(BackendChoice::Cuda)
        );
        assert_eq!(chosen(BackendChoice::Auto, None), Ok(BackendChoice::Auto));
        let error = chosen(BackendChoice::Cpu, Some(1)).unwrap_err();
        assert_contains!(error, "--memory", "--backend cpu");
    }

    #[test]
    fn files_want_a_card() {
        let folder = Some(Path::new("here"));
        let chosen = |choice| with_memory(choice, None, folder).map_err(|e| e.to_string());
        assert_eq!(chosen(BackendChoice::Auto), Ok(BackendChoice::Cuda));
        let error = chosen(BackendChoice::Cpu).unwrap_err();
        assert_contains!(error, "--memory-files");
    }

    #[test]
    fn halves_are_for_cards() {
        let opened =
            |reason: &str| choose(BackendChoice::Auto, || cpu(1), || Err(reason.into())).unwrap();
        assert!(with_half_scene(opened("no driver"), false).is_ok());
        let refused = with_half_scene(opened("no driver"), true).err().unwrap();
        assert_contains!(refused, "--half-scene", "no driver");
    }

    #[test]
    fn only_what_was_asked_for_is_opened() {
        choose(
            BackendChoice::Cpu,
            || cpu(1),
            || panic!("the card was opened"),
        )
        .unwrap();
        let card = || Ok(cpu(2));
        choose(
            BackendChoice::Auto,
            || panic!("the processor was opened"),
            card,
        )
        .unwrap();
    }
}
