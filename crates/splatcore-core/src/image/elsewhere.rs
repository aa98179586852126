//! Photos whose pixels are not held: how they are read, and what is known without.

use super::{Elsewhere, Photo, PhotoError, PhotoSource, View};
use crate::depth::{DepthMap, Known};
use crate::random::{hash_bytes, mix};
use std::borrow::Cow;
use std::ops::Deref;
use std::sync::Arc;

/// A photo with its pixels: the one that holds them, or what its source gave.
#[derive(Debug)]
pub enum Held<'a> {
    /// It holds them.
    Here(&'a Photo),
    /// They were read.
    Read(Arc<Photo>),
}

impl Deref for Held<'_> {
    type Target = Photo;

    fn deref(&self) -> &Photo {
        match self {
            Self::Here(photo) => photo,
            Self::Read(photo) => photo,
        }
    }
}

/// Photos that are read ahead where many are taken up one after the other: as many as threads may
/// be at work on.
const AHEAD: usize = 64;

impl Photo {
    /// The photo with its pixels. What is known of depths has [`Photo::depths`].
    ///
    /// # Errors
    /// If they are not held and cannot be read.
    pub fn held(&self) -> Result<Held<'_>, PhotoError> {
        let Some(elsewhere) = &self.elsewhere else {
            return Ok(Held::Here(self));
        };
        let pixels = elsewhere.source.pixels(elsewhere.index);
        let pixels = pixels.map_err(PhotoError)?;
        Ok(Held::Read(match elsewhere.behind {
            Some(colour) => Arc::new(pixels.on(colour)),
            None => pixels,
        }))
    }

    /// What is known of its depths, held or not.
    pub fn known_depths(&self) -> Option<Known<'_>> {
        if let Some(map) = &self.depth {
            return Some(Known::Here(map));
        }
        let elsewhere = self.elsewhere.as_ref()?;
        elsewhere.depth.as_ref().map(Known::Elsewhere)
    }

    /// Its depths, if something is known of them.
    ///
    /// # Errors
    /// If they are not held and cannot be read.
    pub fn depths(&self) -> Result<Option<Arc<DepthMap>>, PhotoError> {
        if self.depth.is_some() {
            return Ok(self.depth.clone());
        }
        let elsewhere = self.elsewhere.as_ref().filter(|of| of.depth.is_some());
        let read = elsewhere.map(|of| of.source.depths(of.index));
        read.transpose().map_err(PhotoError)
    }

    /// The photo without its pixels and depths, which a source gives from now on.
    pub fn released(self, source: Arc<dyn PhotoSource>, index: usize) -> Self {
        let elsewhere = Elsewhere {
            source,
            index,
            bytes: self.bytes(),
            counted: self.counted_pixels(),
            masked: self.has_mask(),
            transparent: self.has_alpha(),
            fingerprint: self.fingerprint(),
            behind: None,
            depth: self.known_depths().map(Known::facts),
        };
        Self {
            width: self.width,
            height: self.height,
            elsewhere: Some(Box::new(elsewhere)),
            ..Self::default()
        }
    }

    /// Whether there is a mask, held or not.
    pub fn has_mask(&self) -> bool {
        let elsewhere = self.elsewhere.as_ref();
        elsewhere.map_or(self.mask.is_some(), |elsewhere| elsewhere.masked)
    }

    /// Whether there is an alpha, held or not.
    pub fn has_alpha(&self) -> bool {
        let elsewhere = self.elsewhere.as_ref();
        elsewhere.map_or(self.alpha.is_some(), |elsewhere| elsewhere.transparent)
    }

    /// As [`Photo::bytes`], with those of its depths.
    pub fn bytes_with_depths(&self) -> usize {
        self.bytes() + self.known_depths().map_or(0, Known::bytes)
    }

    /// A hash of pixels, mask and alpha.
    pub fn fingerprint(&self) -> u64 {
        if let Some(elsewhere) = &self.elsewhere {
            return elsewhere.fingerprint;
        }
        let layers = [self.mask.as_ref(), self.alpha.as_ref()];
        let layers = layers.map(|layer| layer.map_or(0, |bytes| hash_bytes(bytes)));
        let rgb = hash_bytes(&self.rgb);
        layers.into_iter().fold(rgb, |all, one| mix(all ^ one))
    }

    /// A photo that is not held, on a colour ([`Photo::on`]).
    pub(super) fn on_elsewhere(&self, elsewhere: &Elsewhere, colour: [u8; 3]) -> Self {
        if !elsewhere.transparent {
            return self.clone();
        }
        let alpha = self.width as usize * self.height as usize;
        let [r, g, b] = colour.map(u64::from);
        let elsewhere = Elsewhere {
            source: Arc::clone(&elsewhere.source),
            bytes: elsewhere.bytes - alpha,
            transparent: false,
            fingerprint: mix(elsewhere.fingerprint ^ (r << 16 | g << 8 | b)),
            behind: Some(colour),
            ..*elsewhere
        };
        Self {
            elsewhere: Some(Box::new(elsewhere)),
            ..self.clone()
        }
    }
}

impl View {
    /// The view with the pixels of its photo.
    ///
    /// # Errors
    /// As [`Photo::held`].
    pub fn held(&self) -> Result<Cow<'_, Self>, PhotoError> {
        Ok(match self.photo.held()? {
            Held::Here(_) => Cow::Borrowed(self),
            Held::Read(photo) => Cow::Owned(Self {
                name: self.name.clone(),
                camera: self.camera.clone(),
                photo: Photo {
                    depth: self.photo.depth.clone(),
                    ..Photo::clone(&photo)
                },
            }),
        })
    }
}

/// Tells the sources of views which of them are asked for next, with their depths or without: those
/// at `now` at once, then those at `next`, in this order.
pub fn expect(views: &[View], now: &[usize], next: &[usize], depths: bool) {
    let of = |&index: &usize| views.get(index)?.photo.elsewhere.as_deref();
    let (now, next): (Vec<_>, Vec<_>) = (
        now.iter().filter_map(of).collect(),
        next.iter().filter_map(of).collect(),
    );
    let mut sources: Vec<&Arc<dyn PhotoSource>> = Vec::new();
    for elsewhere in now.iter().chain(&next) {
        if !sources
            .iter()
            .any(|known| Arc::ptr_eq(known, &elsewhere.source))
        {
            sources.push(&elsewhere.source);
        }
    }
    for source in sources {
        let own = |all: &[&Elsewhere]| -> Vec<usize> {
            let own = all.iter().filter(|one| Arc::ptr_eq(&one.source, source));
            own.map(|one| one.index).collect()
        };
        source.expect(&own(&now), &own(&next), depths);
    }
}

/// Takes up the views at `places` in this order, while the photos of those that follow are read
/// ahead, with their depths or without.
///
/// # Errors
/// Those of `take_up`.
pub fn in_order<E>(
    views: &[View],
    places: &[usize],
    depths: bool,
    mut take_up: impl FnMut(usize, &View) -> Result<(), E>,
) -> Result<(), E> {
    for (done, &place) in places.iter().enumerate() {
        let ahead = places.len().min(done + AHEAD);
        expect(views, &[place], &places[done + 1..ahead], depths);
        take_up(place, &views[place])?;
    }
    expect(views, &[], &[], false);
    Ok(())
}
