use super::*;
use splatcore_core::backend::{
    BackendError, FrameCounts, RenderOptions, Scored, TileCounts, Visibility,
};
use splatcore_core::gaussians::{logit, sigmoid};
use splatcore_core::random::Rng;
use splatcore_core::{Camera, Gaussians, Photo, View, camera, sh};

fn random(count: usize, sh_degree: u8) -> Gaussians {
    let mut rng = Rng::new(5, 0);
    let mut scene = Gaussians::zeros(count, sh_degree);
    for i in 0..count {
        scene.means[i] = [0; 3].map(|_| rng.normal());
        scene.log_scales[i] = [0; 3].map(|_| rng.normal() - 2.0);
        scene.rotations[i] = [1.0, 0.0, 0.0, 0.0];
        scene.opacity_logits[i] = rng.normal();
    }
    for coefficient in &mut scene.sh {
        *coefficient = [0; 3].map(|_| 0.3 * rng.normal());
    }
    scene
}

/// Shows as much of each Gaussian as it is told, in every view.
struct Shown(Visibility);

impl Scored for Shown {
    fn visibility(&mut self, _: &Camera, _: &RenderOptions) -> Result<Visibility, BackendError> {
        Ok(self.0.clone())
    }
    fn tile_counts(&mut self, _: &Camera, _: &RenderOptions) -> Result<TileCounts, BackendError> {
        Ok(TileCounts::default())
    }
    fn counts(&mut self, _: &Camera, _: &RenderOptions) -> Result<FrameCounts, BackendError> {
        Ok(FrameCounts::default())
    }
}

fn view(eye: [f64; 3]) -> View {
    let up = [0.1, -1.0, 0.05];
    View {
        name: String::new(),
        camera: Camera::look_at(eye, [0.0; 3], up, 0.8, 8, 8),
        photo: Photo::opaque(8, 8, vec![0; 192]),
    }
}

#[test]
fn formulas_are_those_of_the_page() {
    // Volumes e^0, e^1, ..., e^9. V90 is the one at index 0.9 n of n in rising order: e^9, the
    // largest of these ten.
    let mut scene = Gaussians::zeros(10, 0);
    for (i, scales) in scene.log_scales.iter_mut().enumerate() {
        *scales = [i as f32, 0.5, -0.5];
    }
    scene.opacity_logits.fill(logit(0.25));
    let mut shown = Visibility::unseen(10);
    shown.weights.fill(2.0);
    shown.transmittances.fill(8.0);
    shown.fragments.fill(12);
    let near = |got: f64, want: f64| assert!((got / want - 1.0).abs() < 1e-6, "{got} {want}");
    for (score, plain) in [
        (Score::Transmittance, 2.0),
        (Score::LightGaussian, 0.25 * 8.0),
        (Score::Opacity, 0.25 * 12.0),
    ] {
        let scores = score.of(&scene, &shown);
        near(scores[9], plain);
        near(scores[4], plain * (-0.5f64).exp());
    }
    // Nineteen of volume 1 and one of e^9: V90 is 1, and only the released code rewards what lies
    // beyond it.
    let mut more = Gaussians::zeros(20, 0);
    more.log_scales[19] = [3.0; 3];
    let mut shown = Visibility::unseen(20);
    (shown.weights[19], shown.fragments[19]) = (2.0, 12);
    near(Score::Transmittance.of(&more, &shown)[19], 2.0);
    let want = f64::from(sigmoid(0.0)) * 12.0 * 0.9f64.exp();
    near(Score::Opacity.of(&more, &shown)[19], want);
}

#[test]
fn shares_and_counts_are_read() {
    assert_eq!("40%".parse(), Ok(Keep::Share(0.4)));
    assert_eq!("250000".parse(), Ok(Keep::Count(250_000)));
    assert_eq!((Keep::Share(0.4).of(11), Keep::Share(1e-9).of(11)), (4, 1));
    assert_eq!((Keep::Count(30).of(11), Keep::Share(0.5).of(0)), (11, 0));
    for wrong in ["", "%", "0%", "101%", "-3", "0", "0.4", "40 %x", "nan%"] {
        let error = wrong.parse::<Keep>().unwrap_err().to_string();
        assert!(error.contains("write 40%"), "{wrong}: {error}");
    }
}

#[test]
fn the_best_are_kept_and_of_equals_the_first() {
    let scores = [1.0, 3.0, 2.0, 3.0, 2.0];
    assert_eq!(best(&scores, 3), [false, true, true, true, false]);
    assert_eq!(best(&scores, 0), [false; 5]);
    assert_eq!(best(&scores, 9), [true; 5]);
}

/// Half the sum of squared differences of colours, as the fit weighs them, and the pull.
fn error(teacher: &Gaussians, reduced: &Gaussians, i: usize, eyes: &[[f64; 3]]) -> f64 {
    let colour = |scene: &Gaussians, basis: &[f64]| {
        let terms = scene.sh_of(i).iter().zip(basis);
        let sum: f64 = terms.map(|(c, b)| b * f64::from(c[1])).sum();
        sum.max(-0.5)
    };
    let of_view = |eye: &[f64; 3]| {
        let mean = teacher.means[i].map(f64::from);
        let direction = camera::normalize([0, 1, 2].map(|k| mean[k] - eye[k])).unwrap();
        let basis = sh::basis(direction);
        (colour(teacher, &basis) - colour(reduced, &basis)).powi(2)
    };
    eyes.iter().map(of_view).sum()
}

/// From fewer directions than there are coefficients the colours are nearly those of the teacher;
/// from many, no other coefficients near by are better, and those that were cut are worse.
#[test]
fn reduced_harmonics_fit_the_directions_of_the_views() {
    let teacher = random(30, 3);
    let mut rng = Rng::new(8, 0);
    for count in [3, 40] {
        let eyes: Vec<[f64; 3]> = (0..count)
            .map(|_| [0; 3].map(|_| 3.0 * f64::from(rng.normal())))
            .map(|[x, y, z]| [x.abs() + 4.0, y, z])
            .collect();
        let views: Vec<View> = eyes.iter().map(|&eye| view(eye)).collect();
        let mut shown = Shown(Visibility::unseen(30));
        shown.0.weights[..29].fill(7.0);
        let options = RenderOptions::default();
        for degree in 0..3 {
            let fit = reduced(&teacher, degree, &mut shown, &views, &options, &mut |_| ()).unwrap();
            let cut = teacher.with_sh_degree(degree);
            assert_eq!(fit.sh_degree, degree);
            // Nobody sees the last.
            assert_eq!(fit.sh_of(29), cut.sh_of(29));
            let sum = |scene: &Gaussians| -> f64 {
                (0..29).map(|i| error(&teacher, scene, i, &eyes)).sum()
            };
            let (fitted, truncated) = (sum(&fit), sum(&cut));
            let most = if count == 3 && degree == 2 { 0.02 } else { 0.9 };
            assert!(
                fitted < most * truncated,
                "{count}, {degree}: {fitted} {truncated}"
            );
            if count == 40 {
                for step in [-0.02, 0.02] {
                    let mut moved = fit.clone();
                    moved.sh.iter_mut().for_each(|c| c[1] += step);
                    assert!(sum(&moved) > fitted, "{degree}: {step}");
                }
            }
        }
        let error = reduced(&teacher, 3, &mut shown, &views, &options, &mut |_| ()).unwrap_err();
        assert!(error.to_string().contains("to degree 3"), "{error}");
    }
}
