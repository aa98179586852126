//! What is drawn while the camera moves, without waiting for the order.

use crate::support::{
    SIZE, Written, around, pictured, plain, pose, psnr, rendered, small_window, stored,
};
use splatcore_test_support::chromium::in_webgl;

/// Degrees between two frames of a slow orbit.
const STEP: f64 = 0.25;
const FRAMES: usize = 24;

/// Draws the poses, one a frame of the browser, and gives the mean absolute difference of each
/// picture from the one before (0 to 255), taken within the frame that drew it.
fn orbit(poses: &str) -> String {
    let [width, height] = SIZE;
    format!(
        "(async () => {{ \
           const view = document.getElementById('view'); \
           const copy = document.createElement('canvas'); \
           [copy.width, copy.height] = [{width}, {height}]; \
           const context = copy.getContext('2d', {{ willReadFrequently: true }}); \
           const differences = []; let last = null; \
           for (const pose of {poses}) {{ \
             splatcore.goTo(pose); \
             await new Promise(requestAnimationFrame); \
             context.drawImage(view, 0, 0, {width}, {height}); \
             const now = context.getImageData(0, 0, {width}, {height}).data; \
             if (last) {{ let sum = 0; \
               for (let i = 0; i < now.length; i++) sum += Math.abs(now[i] - last[i]); \
               differences.push(sum / now.length); }} \
             last = now; \
           }} \
           return differences; }})()"
    )
}

#[test]
fn nothing_pops_on_a_slow_orbit_and_rest_is_exact() {
    let Some(scene) = stored("formats/splat22k/model.ply", false) else {
        return;
    };
    let angles: Vec<f64> = (0..FRAMES)
        .map(|i| (i as f64 * STEP).to_radians())
        .collect();
    let cameras = around(&scene.gaussians, &angles);
    let poses: Vec<_> = cameras.iter().map(pose).collect();
    let poses = serde_json::to_string(&poses).unwrap();
    let mut page = plain(&scene);
    page.start = Some(pose(&cameras[0]));
    let html = page.to_html().unwrap();
    in_webgl(async |mut browser| {
        small_window(&mut browser).await;
        assert_eq!(Written::new(&html).open(&mut browser).await, "");
        browser.until("splatcore.resting").await;
        let found = browser.value(&orbit(&poses)).await;
        let mut differences: Vec<f64> = found
            .as_array()
            .unwrap()
            .iter()
            .map(|v| v.as_f64().unwrap())
            .collect();
        eprintln!("differences of frames: {differences:.2?}");
        assert_eq!(differences.len(), FRAMES - 1);
        differences.sort_by(f64::total_cmp);
        let (median, largest) = (differences[FRAMES / 2], differences[FRAMES - 2]);
        // A frame that is missing, or in a wrong order, differs by far more than a quarter degree.
        // On a slow machine the page also changes the number of its pixels.
        assert!(
            largest < 2.0 * median + 0.3,
            "median {median:.2}, largest {largest:.2}"
        );

        // Directions that follow fast share few orders, and the last one is drawn.
        browser
            .value(&format!(
                "for (const pose of {poses}) splatcore.goTo(pose); true"
            ))
            .await;
        browser.until("splatcore.resting").await;
        let last = cameras.last().unwrap();
        let picture = pictured(&mut browser, last).await;
        let found = psnr(&picture, &rendered(&scene, last));
        assert!(found >= 50.0, "{found:.1} dB");
    });
}
