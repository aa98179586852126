//! What a colour model is ([`Model`]), and how backends see it ([`Entry`]).

use super::number::{Dual, Real};

/// What keeps the photos' numbers and the scene's colours apart: any change of all photos can be
/// undone by the scene. A photo that was not trained on has no numbers, so its best guess is the
/// mean of the others', and that is to change nothing.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Gauge {
    /// In its step a photo loses this share of what the mean over all views differs from the start.
    Pull(f32),
    /// After each step the mean over all views is subtracted from every view: it stays zero.
    ZeroMean,
}

/// How fast numbers are learned.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Rates {
    /// By the rates of the run's settings, falling exponentially from the first to the last step.
    Given,
    /// So that a number goes so far in the whole run if its photo (its camera) always pulls the
    /// same way, whatever the number of steps and photos is.
    Travel {
        /// Of the photos' numbers.
        photo: f64,
        /// Of the cameras'.
        camera: f64,
        /// How far a number of a photo goes in one visit at most, however short the run is: what
        /// moves far by one image has only learned that image.
        visit: f64,
        /// Photos' numbers wait for this share of the run.
        photo_from: f64,
    },
}

/// A colour model: from the rendered colour of a pixel to what the photo shows. Adding one is a
/// file with this trait, its line in the table of [`super::ColourModel`], and a kernel.
///
/// Numbers of a photo and of a camera become *factors* once a frame, which pixels then use;
/// backwards, sums over pixels of the gradient by each factor become the numbers' gradients.
pub trait Model {
    /// In settings and files.
    const NAME: &'static str;
    /// Its numbers in words, behind its name in the help of settings.
    const ABOUT: &'static str;
    /// A photo's numbers as training starts, which change nothing.
    const PHOTO: &'static [f32];
    /// A camera's.
    const CAMERA: &'static [f32];
    /// How many factors there are.
    const FACTORS: usize;
    /// What holds the photos' numbers.
    const GAUGE: Gauge;
    /// How fast they are learned.
    const RATES: Rates;
    /// Whether the factors are the photo's numbers themselves.
    const PHOTO_IS_FACTORS: bool = false;
    /// In what the places of pixels are.
    const PLACES: Places = Places::Longer;

    /// From numbers to factors.
    fn factors<T: Real>(photo: &[T], camera: &[T], factors: &mut [T]);

    /// What becomes of a colour at a place ([`Model::PLACES`]).
    fn colour<T: Real>(factors: &[T], place: [T; 2], rgb: [T; 3]) -> [T; 3];

    /// From the gradient by what [`Model::colour`] made of `rgb` to that by `rgb`; adds the
    /// gradient by each factor to `sums`.
    fn backward(
        factors: &[f32],
        place: [f32; 2],
        rgb: [f32; 3],
        gradient: [f32; 3],
        sums: &mut [f64],
    ) -> [f32; 3];

    /// Makes numbers that change nothing those of a photo whose values are brighter by so many
    /// stops.
    fn expose(photo: &mut [f32], stops: f32);

    /// Added to the loss: what holds a camera's numbers where photos do not.
    fn penalty<T: Real>(camera: &[T]) -> T {
        let _ = camera;
        T::of(0.0)
    }

    /// The same of a photo's numbers: returns what is added to the loss, and adds its gradient.
    fn hold(photo: &[f64], gradient: &mut [f64]) -> f64 {
        let _ = (photo, gradient);
        0.0
    }

    /// The factors that [`Model::colour`] uses at a place for a colour.
    fn factors_at(place: [f64; 2], rgb: [f64; 3]) -> Vec<usize> {
        let _ = (place, rgb);
        (0..Self::FACTORS).collect()
    }
}

/// In what the places of pixels are, from the image's centre.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Places {
    /// Both coordinates in units of the longer side.
    Longer,
    /// Each in units of its own side: from -0.5 to 0.5.
    Sides,
}

impl Places {
    /// Units of x and y of an image of this width and height, pixels.
    pub fn units<T: Copy + PartialOrd>(self, [width, height]: [T; 2]) -> [T; 2] {
        match self {
            Self::Longer if width < height => [height; 2],
            Self::Longer => [width; 2],
            Self::Sides => [width, height],
        }
    }
}

/// Which pixels a part of an image holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pixels {
    /// Of the image.
    pub width: usize,
    /// Of the image.
    pub height: usize,
    /// The part's first pixel.
    pub first: usize,
}

impl Pixels {
    /// Where a pixel of the part lies.
    #[inline]
    pub fn place(self, i: usize, places: Places) -> [f32; 2] {
        let at = self.first + i;
        let sides = [self.width, self.height].map(|v| v as f32);
        let pixel = [at % self.width, at / self.width].map(|v| v as f32 + 0.5);
        let units = places.units(sides);
        [0, 1].map(|k: usize| (pixel[k] - 0.5 * sides[k]) / units[k])
    }
}

/// Factors, a part's place, its colours, and where what becomes of them goes; a plane a channel.
type Apply = fn(&[f32], Pixels, [&[f32]; 3], [&mut [f32]; 3]);
/// Factors, a part's place, its colours, gradients in place, and sums of those by the factors.
type Backward = fn(&[f32], Pixels, [&[f32]; 3], [&mut [f32]; 3], &mut [f64]);
/// Factors, a place, a colour.
type DualColour = fn(&[Dual], [f64; 2], [Dual; 3]) -> [Dual; 3];

/// A model as plain data: one line of the table.
#[derive(Clone, Copy)]
pub struct Entry {
    /// `Model::NAME`.
    pub name: &'static str,
    /// `Model::ABOUT`.
    pub about: &'static str,
    /// `Model::PHOTO`.
    pub photo: &'static [f32],
    /// `Model::CAMERA`.
    pub camera: &'static [f32],
    /// `Model::FACTORS`.
    pub factor_count: usize,
    /// `Model::GAUGE`.
    pub gauge: Gauge,
    /// `Model::RATES`.
    pub rates: Rates,
    /// `Model::PLACES`.
    pub places: Places,
    photo_is_factors: bool,
    expose: fn(&mut [f32], f32),
    factors: fn(&[f32], &[f32]) -> Vec<f32>,
    apply: Apply,
    backward: Backward,
    dual_factors: fn(&[Dual], &[Dual]) -> Vec<Dual>,
    dual_colour: DualColour,
    dual_penalty: fn(&[Dual]) -> Dual,
    hold: fn(&[f64], &mut [f64]) -> f64,
    factors_at: fn([f64; 2], [f64; 3]) -> Vec<usize>,
}

impl Entry {
    pub(super) const fn of<M: Model>() -> Self {
        Self {
            name: M::NAME,
            about: M::ABOUT,
            photo: M::PHOTO,
            camera: M::CAMERA,
            factor_count: M::FACTORS,
            gauge: M::GAUGE,
            rates: M::RATES,
            places: M::PLACES,
            photo_is_factors: M::PHOTO_IS_FACTORS,
            expose: M::expose,
            factors: factors::<M, f32>,
            apply: apply::<M>,
            backward: backward::<M>,
            dual_factors: factors::<M, Dual>,
            dual_colour: |factors, place, rgb| M::colour(factors, place.map(Dual::constant), rgb),
            dual_penalty: M::penalty::<Dual>,
            hold: M::hold,
            factors_at: M::factors_at,
        }
    }

    /// The numbers of a photo whose values are brighter by so many stops.
    pub fn exposed(&self, stops: f32) -> Vec<f32> {
        let mut numbers = self.photo.to_vec();
        (self.expose)(&mut numbers, stops);
        numbers
    }

    /// The factors of a photo and its camera.
    pub fn factors(&self, photo: &[f32], camera: &[f32]) -> Vec<f32> {
        (self.factors)(photo, camera)
    }

    /// Writes what becomes of a part's colours, a plane a channel.
    pub fn apply(&self, factors: &[f32], at: Pixels, image: [&[f32]; 3], to: [&mut [f32]; 3]) {
        (self.apply)(factors, at, image, to);
    }

    /// Turns a part's gradients by what [`Entry::apply`] wrote into those by the image, in place,
    /// and adds the gradients by the factors to `sums`.
    pub fn backward(
        &self,
        factors: &[f32],
        at: Pixels,
        image: [&[f32]; 3],
        gradient: [&mut [f32]; 3],
        sums: &mut [f64],
    ) {
        (self.backward)(factors, at, image, gradient, sums);
    }

    /// What becomes of a colour in the middle of an image.
    ///
    /// The background of an image goes through the model with the image, so a transparent photo has
    /// to stand on what comes out here: on the background itself it would hold every photo's
    /// numbers at the start.
    pub fn of_colour(&self, factors: &[f32], colour: [f32; 3]) -> [f32; 3] {
        let mut result = [0.0; 3];
        let [r, g, b] = &mut result;
        let middle = Pixels {
            width: 1,
            height: 1,
            first: 0,
        };
        let planes = colour.each_ref().map(std::slice::from_ref);
        let to = [r, g, b].map(std::slice::from_mut);
        self.apply(factors, middle, planes, to);
        result
    }

    /// The gradients of a photo's and a camera's numbers, given those by the factors; with the
    /// penalties'.
    pub fn chain(&self, [photo, camera]: [&[f64]; 2], sums: &[f64]) -> [Vec<f64>; 2] {
        let through = |photo: Vec<Dual>, camera: Vec<Dual>| -> f64 {
            let factors = (self.dual_factors)(&photo, &camera);
            let pairs = factors.iter().zip(sums);
            pairs.map(|(factor, sum)| factor.slope * sum).sum::<f64>()
                + (self.dual_penalty)(&camera).slope
        };
        let none = usize::MAX;
        let mut of_photo: Vec<f64> = match self.photo_is_factors {
            true => sums.to_vec(),
            false => (0..photo.len())
                .map(|k| through(Dual::row(photo, k), Dual::row(camera, none)))
                .collect(),
        };
        (self.hold)(photo, &mut of_photo);
        let of_camera = (0..camera.len())
            .map(|k| through(Dual::row(photo, none), Dual::row(camera, k)))
            .collect();
        [of_photo, of_camera]
    }

    /// [`Entry::factors`] in f64, with derivatives: the definition that twins and tests take.
    pub fn dual_factors(&self, photo: &[Dual], camera: &[Dual]) -> Vec<Dual> {
        (self.dual_factors)(photo, camera)
    }

    /// What becomes of a colour, in f64, with its derivative.
    pub fn dual_colour(&self, factors: &[Dual], place: [f64; 2], rgb: [Dual; 3]) -> [Dual; 3] {
        (self.dual_colour)(factors, place, rgb)
    }

    /// The penalty of a camera's numbers, with its derivative.
    pub fn penalty(&self, camera: &[Dual]) -> Dual {
        (self.dual_penalty)(camera)
    }

    /// The penalty of a photo's numbers.
    pub fn photo_penalty(&self, photo: &[f64]) -> f64 {
        (self.hold)(photo, &mut vec![0.0; photo.len()])
    }

    /// The factors that [`Entry::dual_colour`] uses at a place for a colour.
    pub fn factors_at(&self, place: [f64; 2], rgb: [f64; 3]) -> Vec<usize> {
        (self.factors_at)(place, rgb)
    }
}

fn factors<M: Model, T: Real>(photo: &[T], camera: &[T]) -> Vec<T> {
    let mut factors = vec![T::of(0.0); M::FACTORS];
    M::factors(photo, camera, &mut factors);
    factors
}

fn apply<M: Model>(factors: &[f32], at: Pixels, image: [&[f32]; 3], to: [&mut [f32]; 3]) {
    let ([r, g, b], [to_r, to_g, to_b]) = (image, to);
    for i in 0..r.len() {
        let rgb = M::colour(factors, at.place(i, M::PLACES), [r[i], g[i], b[i]]);
        [to_r[i], to_g[i], to_b[i]] = rgb;
    }
}

fn backward<M: Model>(
    factors: &[f32],
    at: Pixels,
    image: [&[f32]; 3],
    gradient: [&mut [f32]; 3],
    sums: &mut [f64],
) {
    let ([r, g, b], [by_r, by_g, by_b]) = (image, gradient);
    for i in 0..r.len() {
        let (rgb, by) = ([r[i], g[i], b[i]], [by_r[i], by_g[i], by_b[i]]);
        [by_r[i], by_g[i], by_b[i]] = M::backward(factors, at.place(i, M::PLACES), rgb, by, sums);
    }
}
