//! Several cards of this machine, for commands that make many pictures of one scene.

use super::{BackendArgs, open, with_memory};
use crate::output::WrongUsage;
use crate::ranks::Cards;
use anyhow::{Result, anyhow};
use splatcore_core::backend::Renderer;
use splatcore_core::{Backend, Gaussians};
use splatcore_cuda::device::driver::driver_info;
use splatcore_cuda::{CudaBackend, Options, PartsBackend};
use splatcore_train::config::BackendChoice;
use splatcore_train::memory::Bytes;
use std::ops::Range;

/// `--cards`, for commands that make many pictures of one scene.
#[derive(clap::Args)]
pub struct CardsArgs {
    /// Spread the pictures over NVIDIA cards of this machine: the first N, or all [one]. Where the
    /// scene does not fit one of them, `eval`, `render` and `view` divide it over the cards, which
    /// then make one picture after the other together; where it does, `view` uses one. Pictures and
    /// numbers are those of one card of the same model
    #[arg(long, value_name = "N|all", conflicts_with = "device")]
    cards: Option<Cards>,
}

impl CardsArgs {
    /// The flag as it was typed, for messages.
    fn typed(&self) -> String {
        self.cards
            .map_or(String::new(), |cards| format!("--cards {cards}"))
    }

    /// Whether the flag is.
    pub fn are_given(&self) -> bool {
        self.cards.is_some()
    }
}

impl BackendArgs {
    /// Whether `--cards`, `--memory` and `--backend` go together, before any work.
    ///
    /// # Errors
    /// `--backend` wants no card.
    pub fn check_cards(&self, cards: &CardsArgs) -> Result<()> {
        with_memory(self.backend, self.memory.map(|Bytes(bytes)| bytes), None)?;
        match cards.cards {
            Some(cards) if self.backend == BackendChoice::Cpu => Err(WrongUsage(format!(
                "--cards {cards} is for NVIDIA cards and --backend cpu uses none; leave one of \
                 them out"
            ))
            .into()),
            _ => Ok(()),
        }
    }

    /// As [`BackendArgs::open`], once for each card; with `half_scene` for scenes that are only
    /// rendered. If one of the cards does not hold this scene, one backend of which each card has a
    /// part.
    ///
    /// # Errors
    /// As [`BackendArgs::check_cards`]; if there are not so many cards.
    pub fn open_cards(
        &self,
        cards: &CardsArgs,
        half_scene: bool,
        scene: Option<&Gaussians>,
    ) -> Result<Vec<Box<dyn Backend>>> {
        self.check_cards(cards)?;
        if !cards.are_given() {
            return Ok(vec![self.choose(half_scene)?.announce()]);
        }
        let opened = match self.in_parts(cards, half_scene, scene)? {
            Some(parts) => vec![parts],
            None => self.quietly(cards, half_scene)?,
        };
        eprintln!("backend: {}", described(&opened));
        Ok(opened)
    }

    /// The cards as one backend, if there are several and one does not hold this scene.
    fn in_parts(
        &self,
        cards: &CardsArgs,
        half_scene: bool,
        scene: Option<&Gaussians>,
    ) -> Result<Option<Box<dyn Backend>>> {
        let Some(scene) = scene else {
            return Ok(None);
        };
        let lacking = self.lacking(cards, half_scene, scene)?;
        let parts = lacking.map(|cards| PartsBackend::open(&cards)).transpose();
        let parts = parts.map_err(|error| anyhow!("{}: {error}", cards.typed()))?;
        Ok(parts.map(|parts| Box::new(parts) as Box<dyn Backend>))
    }

    /// The cards, if there are several and one of them does not hold this scene.
    fn lacking(
        &self,
        cards: &CardsArgs,
        half_scene: bool,
        scene: &Gaussians,
    ) -> Result<Option<Vec<Options>>> {
        let Some(count) = cards.cards else {
            return Ok(None);
        };
        let options = numbers(count)?.map(|card| self.options(Some(card), half_scene));
        let options: Vec<_> = options.collect();
        let mut holds = true;
        for &options in &options {
            let opened = CudaBackend::open(options);
            let opened = opened.map_err(|error| anyhow!("{}: {error}", cards.typed()))?;
            holds &= opened.holds(scene);
        }
        Ok(Some(options).filter(|options| !holds && options.len() > 1))
    }

    /// For frames of one scene that are made one after the other: the cards, each with a part of
    /// it, if one of them does not hold it; else the first.
    ///
    /// # Errors
    /// As [`BackendArgs::open_cards`].
    pub fn open_for_one(&self, cards: &CardsArgs, scene: &Gaussians) -> Result<Box<dyn Backend>> {
        self.check_cards(cards)?;
        match self.in_parts(cards, false, Some(scene))? {
            Some(parts) => {
                eprintln!("backend: {}", parts.describe());
                Ok(parts)
            }
            None => {
                if cards.are_given() {
                    eprintln!(
                        "{}: one card holds the scene and makes all frames",
                        cards.typed()
                    );
                }
                Ok(self.choose(false)?.announce())
            }
        }
    }

    /// Says so if a scene would be divided over the cards, by whoever measures frames of one card.
    ///
    /// # Errors
    /// As [`BackendArgs::open_cards`].
    pub fn say_undivided(
        &self,
        cards: &CardsArgs,
        half_scene: bool,
        scene: &Gaussians,
    ) -> Result<()> {
        if self.lacking(cards, half_scene, scene)?.is_some() {
            eprintln!(
                "warning: a card has no room for this scene, and `bench` divides none over cards: \
                 each frame reads harmonics from the computer's memory, and the times are of that \
                 (`eval` and `render` divide the scene)"
            );
        }
        Ok(())
    }

    /// As [`BackendArgs::open_cards`] without a word: the same once more.
    ///
    /// # Errors
    /// As there.
    pub fn open_again(&self, cards: &CardsArgs) -> Result<Vec<Box<dyn Backend>>> {
        self.quietly(cards, false)
    }

    fn quietly(&self, cards: &CardsArgs, half_scene: bool) -> Result<Vec<Box<dyn Backend>>> {
        let Some(cards) = cards.cards else {
            return Ok(vec![self.choose(half_scene)?.quietly()]);
        };
        let opened = numbers(cards)?.map(|card| {
            let options = self.options(Some(card), half_scene);
            let threads = self.threads.map(usize::from);
            Ok(open(BackendChoice::Cuda, threads, options)?.quietly())
        });
        opened.collect()
    }
}

/// The cards that these are.
fn numbers(cards: Cards) -> Result<Range<usize>> {
    let driver = driver_info().map_err(|error| anyhow!("--cards {cards}: {error}"))?;
    Ok(0..cards.count(&driver)?)
}

/// A renderer of the scene on each backend.
///
/// # Errors
/// If the scene does not fit one.
pub fn renderers(
    backends: &[Box<dyn Backend>],
    scene: &Gaussians,
) -> Result<Vec<Box<dyn Renderer>>> {
    let made = backends.iter().map(|backend| backend.renderer(scene));
    Ok(made.collect::<Result<_, _>>()?)
}

/// What backends of one kind compute on, in words.
pub fn described(backends: &[Box<dyn Backend>]) -> String {
    match backends {
        [] => String::new(),
        [one] => one.describe(),
        [first, ..] => format!("{} cards, card 0: {}", backends.len(), first.describe()),
    }
}
