//! Scenes as the page holds them, pages in a folder, pictures of both sides.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use splatcore_core::backend::RenderOptions;
use splatcore_core::random::Rng;
use splatcore_core::sky::Sky;
use splatcore_core::{Backend, Camera, Gaussians, Pipeline};
use splatcore_cpu::CpuBackend;
use splatcore_data::scene::{self, SogOptions, WriteOptions};
use splatcore_page::{Page, Pose, Source};
use splatcore_test_support::chromium::Chromium;
use splatcore_test_support::shared;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tempfile::TempDir;

/// Behind all scenes here: no shade of grey, so that swapped channels show.
pub const BACKGROUND: [f32; 3] = [0.2, 0.4, 0.6];
pub const SIZE: [u32; 2] = [240, 160];

/// A scene, as its SOG holds it.
pub struct Stored {
    pub sog: Vec<u8>,
    pub gaussians: Gaussians,
    pub antialiased: bool,
}

/// A scene of the real data, rounded to SOG; of the palette no more than is needed.
pub fn stored(name: &str, antialiased: bool) -> Option<Stored> {
    let file = scene::read(&shared(name)?).unwrap();
    Some(rounded(&file.gaussians, antialiased))
}

/// A scene after its way through SOG.
pub fn rounded(gaussians: &Gaussians, antialiased: bool) -> Stored {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("scene.sog");
    let options = WriteOptions {
        antialiased,
        sog: SogOptions {
            iterations: 1,
            ..SogOptions::default()
        },
        ..WriteOptions::default()
    };
    scene::write(&path, gaussians, &options, &|_, _, _| {}).unwrap();
    let sog = std::fs::read(&path).unwrap();
    let file = scene::parse(&sog, &path).unwrap();
    assert_eq!(file.antialiased, antialiased);
    Stored {
        sog,
        gaussians: file.gaussians,
        antialiased,
    }
}

/// A ball of opaque Gaussians with colours of their own, radius 1, about the origin.
pub fn ball() -> Stored {
    let mut random = Rng::new(3, 0);
    let mut gaussians = Gaussians::zeros(3000, 0);
    for i in 0..gaussians.len() {
        let offset: [f32; 3] = std::array::from_fn(|_| random.normal());
        let length = offset.iter().map(|v| v * v).sum::<f32>().sqrt().max(1e-3);
        gaussians.means[i] = offset.map(|v| v / length);
        gaussians.log_scales[i] = [-3.0; 3];
        gaussians.rotations[i] = [1.0, 0.0, 0.0, 0.0];
        gaussians.opacity_logits[i] = 4.0;
        gaussians.sh[i] = std::array::from_fn(|_| 1.5 * random.normal());
    }
    rounded(&gaussians, false)
}

/// Cameras around what most Gaussians are, from this height.
pub fn around(gaussians: &Gaussians, angles: &[f64]) -> Vec<Camera> {
    let bounds: [[f64; 2]; 3] = std::array::from_fn(|c| {
        let mut values: Vec<f32> = gaussians.means.iter().map(|mean| mean[c]).collect();
        values.sort_by(f32::total_cmp);
        let at = |share: usize| f64::from(values[values.len() * share / 100]);
        [at(5), at(95)]
    });
    let centre = bounds.map(|[low, high]| 0.5 * (low + high));
    let squares = bounds.map(|[low, high]| (high - low).powi(2));
    let radius = 0.5 * squares.iter().sum::<f64>().sqrt();
    let camera = |angle: &f64| {
        let (sin, cos) = angle.sin_cos();
        let toward = [2.2 * sin, -0.6, 2.2 * cos];
        let eye = std::array::from_fn(|c| centre[c] + radius * toward[c]);
        Camera::look_at(eye, centre, [0.0, -1.0, 0.0], 0.9, SIZE[0], SIZE[1])
    };
    angles.iter().map(camera).collect()
}

/// A camera as the page has it.
pub fn pose(camera: &Camera) -> Pose {
    Pose {
        position: camera.position(),
        rotation: camera.rotation,
        fov: 2.0 * camera.tan_half_fov()[1].atan().to_degrees(),
        aspect: None,
    }
}

/// The renderer's picture, 8 bits a channel.
pub fn rendered(stored: &Stored, camera: &Camera) -> Vec<u8> {
    rendered_under(None, stored, camera)
}

/// The same under a sky.
pub fn rendered_under(sky: Option<Sky>, stored: &Stored, camera: &Camera) -> Vec<u8> {
    let options = RenderOptions {
        pipeline: "exact+scalar".parse::<Pipeline>().unwrap(),
        sky: sky.map(Arc::new),
        background: BACKGROUND,
        antialias: stored.antialiased,
        ..RenderOptions::default()
    };
    let mut renderer = CpuBackend::new(None).renderer(&stored.gaussians).unwrap();
    renderer.render(camera, &options).unwrap().image.to_bytes()
}

/// A window of [`SIZE`], which is drawn quickly without a graphics card.
pub async fn small_window(browser: &mut Chromium) {
    browser.screen(SIZE, false).await;
}

/// A window of a desk, and of a phone that is touched.
pub const WINDOWS: [[u32; 2]; 2] = [[1280, 720], [390, 844]];

/// A window of this size; a narrow one is a phone's.
pub async fn window(browser: &mut Chromium, [width, height]: [u32; 2]) {
    let mobile = width < height;
    browser.screen([width, height], mobile).await;
    let touch = serde_json::json!({ "enabled": mobile });
    browser
        .call("Emulation.setTouchEmulationEnabled", touch)
        .await;
}

/// The page's picture at [`SIZE`], 8 bits a channel.
pub async fn pictured(browser: &mut Chromium, camera: &Camera) -> Vec<u8> {
    let pose = serde_json::to_string(&pose(camera)).unwrap();
    let [width, height] = SIZE;
    let ask = format!(
        "splatcore.goTo({pose}), splatcore.picture({width}, {height}).then(async (blob) => \
         {{ const bytes = new Uint8Array(await blob.arrayBuffer()); let text = ''; \
         for (const byte of bytes) text += String.fromCharCode(byte); return btoa(text); }})"
    );
    let png = browser.value(&ask).await;
    let png = STANDARD.decode(png.as_str().unwrap()).unwrap();
    let picture = image::load_from_memory(&png).unwrap().into_rgb8();
    assert_eq!(picture.dimensions(), (width, height));
    picture.into_raw()
}

/// PSNR of two pictures in dB.
pub fn psnr(a: &[u8], b: &[u8]) -> f64 {
    assert_eq!(a.len(), b.len());
    let squares = a
        .iter()
        .zip(b)
        .map(|(a, b)| (f64::from(*a) - f64::from(*b)).powi(2));
    let mean = squares.sum::<f64>() / a.len() as f64;
    10.0 * (255.0 * 255.0 / mean.max(1e-9)).log10()
}

/// A page without views and path.
pub fn plain(stored: &Stored) -> Page<'_> {
    Page {
        title: "test & <scene>",
        scene: Source::Inside(&stored.sog),
        background: BACKGROUND,
        sky: None,
        look: None,
        up: [0.0, -1.0, 0.0],
        bounds: [[-1.0; 3], [1.0; 3]],
        start: None,
        views: Vec::new(),
        path: Vec::new(),
        hotspots: Vec::new(),
        turn: false,
    }
}

/// A page in a folder of its own.
pub struct Written {
    _folder: TempDir,
    path: PathBuf,
}

impl Written {
    pub fn new(html: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("page.html");
        std::fs::write(&path, html).unwrap();
        Self {
            _folder: folder,
            path,
        }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Its address.
    pub fn address(&self) -> String {
        format!("file://{}", self.path.display())
    }

    /// Opens it, and waits until it shows something or says what is wrong.
    pub async fn open(&self, browser: &mut Chromium) -> String {
        opened(browser, &self.address()).await
    }
}

/// Opens an address anew, and waits until the page shows something or says what is wrong; returns
/// what it says.
pub async fn opened(browser: &mut Chromium, address: &str) -> String {
    browser.open("about:blank").await;
    browser.open(address).await;
    let text = "document.getElementById('message').textContent";
    let here = "location.href !== 'about:blank' && document.readyState === 'complete'";
    let done = format!("{here} && window.splatcore && {text} !== 'opening the scene ...'");
    browser.until(&done).await;
    browser.value(text).await.as_str().unwrap().to_owned()
}
