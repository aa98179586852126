//! What is asked of a program, however it takes it.

use std::path::Path;

/// The photos of one camera whose features are to be found.
pub struct Extract<'a> {
    pub database: &'a Path,
    pub images: &'a Path,
    /// A file with one name a line, relative to `images`.
    pub list: &'a Path,
    pub camera_model: &'a str,
    /// Its parameters, if they are known, with commas between.
    pub parameters: Option<&'a str>,
    /// Each photo has a camera of its own; else all of the list share one.
    pub camera_each: bool,
    /// That one, if the database has it already.
    pub camera_id: Option<u32>,
    pub max_size: Option<u32>,
}

/// A vocabulary is made of the features of at most so many photos.
pub const VOCABULARY: usize = 40;

/// Which pairs of photos to match.
pub enum Pairs<'a> {
    /// In blocks of so many photos against so many. The program stores the matches of a block at
    /// once: smaller ones lose less when it is killed, and tell more often how far it is.
    Exhaustive(usize),
    /// With the vocabulary tree for finding loops.
    Sequential(Option<&'a Path>),
    /// Each with so many that look most like it.
    Similar(usize),
}
