//! Ctrl-C (and the system's request to end): while training, fine-tuning or searching for kernels,
//! or while another program finds poses, or while a scene is shown, the first asks for an end that
//! loses nothing, the second ends at once. At any other time the first ends at once, and says what
//! is written.

use crate::output::counted;
use anyhow::{Context, Result};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU8, Ordering};

const IDLE: u8 = 0;
const TRAINING: u8 = 1;
const STOPPING: u8 = 2;
const SHOWING: u8 = 3;
const POSING: u8 = 4;
const FINETUNING: u8 = 5;
const SEARCHING: u8 = 6;

/// The command that goes on, of work that keeps what is done.
static GOES_ON: OnceLock<String> = OnceLock::new();

static STATE: AtomicU8 = AtomicU8::new(IDLE);

/// While this value lives, Ctrl-C asks for a stop.
pub struct Guard;

impl Guard {
    /// Starts to listen while training. One at a time.
    pub fn start() -> Result<Self> {
        Self::listen(TRAINING)
    }

    /// Starts to listen while poses are found. One at a time.
    pub fn start_posing() -> Result<Self> {
        Self::listen(POSING)
    }

    /// Starts to listen while a scene is fine-tuned. One at a time.
    pub fn start_finetuning() -> Result<Self> {
        Self::listen(FINETUNING)
    }

    /// Starts to listen while kernels are searched for. One at a time.
    #[cfg(feature = "lab")]
    pub fn start_searching() -> Result<Self> {
        Self::listen(SEARCHING)
    }

    /// Starts to listen while a scene is shown that may be edited. One at a time.
    pub fn start_showing() -> Result<Self> {
        Self::listen(SHOWING)
    }

    fn listen(state: u8) -> Result<Self> {
        watch()?;
        STATE.store(state, Ordering::SeqCst);
        Ok(Self)
    }

    /// Whether a stop was asked for.
    pub fn stop_requested(&self) -> bool {
        stop_requested()
    }
}

/// Whether a stop was asked for while a [`Guard`] listens.
pub fn stop_requested() -> bool {
    STATE.load(Ordering::Relaxed) == STOPPING
}

impl Drop for Guard {
    fn drop(&mut self) {
        STATE.store(IDLE, Ordering::SeqCst);
    }
}

/// From now on Ctrl-C ends the program without leaving files half written.
pub fn watch() -> Result<()> {
    static INSTALLED: std::sync::Once = std::sync::Once::new();
    let mut result = Ok(());
    INSTALLED.call_once(|| result = ctrlc::set_handler(handle));
    result.context("Ctrl-C cannot be watched")
}

/// From now on Ctrl-C at any time loses nothing that is done: this command goes on, as is said.
pub fn goes_on(command: &str) -> Result<()> {
    watch()?;
    // A second command in one process does not happen; the first would stay.
    let _ = GOES_ON.set(command.to_owned());
    Ok(())
}

fn handle() {
    let stops = |state| {
        let change = STATE.compare_exchange(state, STOPPING, Ordering::SeqCst, Ordering::SeqCst);
        change.is_ok()
    };
    if stops(TRAINING) {
        eprintln!(
            "stopping: a checkpoint is saved after this step (again to stop at once, without \
             saving)"
        );
    } else if stops(POSING) {
        eprintln!("stopping: the program that runs is ended (again to stop at once)");
    } else if stops(FINETUNING) {
        eprintln!("stopping: the scene is written as it is (again to stop at once, without it)");
    } else if stops(SEARCHING) {
        eprintln!("stopping: the candidate in hand is judged first (again to stop at once)");
    } else if stops(SHOWING) {
        // Whoever shows the scene knows what is not saved, and says so.
    } else {
        let written = splatcore_data::file::remove_own_unfinished();
        match STATE.load(Ordering::SeqCst) {
            IDLE => match (written, GOES_ON.get()) {
                (_, Some(command)) => {
                    eprintln!("interrupted; what is done is kept, this goes on: {command}");
                }
                (0, None) => eprintln!("interrupted; nothing was written"),
                (_, None) => eprintln!("interrupted; {} complete", counted(written, "file")),
            },
            // It has been said already what is saved and what is not.
            _ => eprintln!("interrupted"),
        }
        // The shell's convention for a program ended by SIGINT is 130.
        std::process::exit(130);
    }
}
