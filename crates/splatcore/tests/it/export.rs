//! `splatcore export`: what the page holds. That it draws is tested in splatcore-page.

use crate::common::{ends, fails, json, photos, splatcore, succeeds, text, write_scene};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use splatcore::data::scene;
use std::path::Path;

/// What stands between two texts, the first time.
fn between<'a>(html: &'a str, begin: &str, end: &str) -> &'a str {
    html.split_once(begin).unwrap().1.split_once(end).unwrap().0
}

fn settings(page: &Path) -> serde_json::Value {
    let html = std::fs::read_to_string(page).unwrap();
    json(between(&html, "id=\"settings\">", "</script>"))
}

#[test]
fn the_page_holds_scene_views_and_path() {
    let folder = tempfile::tempdir().unwrap();
    let scene_path = write_scene(folder.path());
    let [page, keyframes] = ["page.html", "keys.json"].map(|name| folder.path().join(name));
    let rows = "[[1,0,0],[0,1,0],[0,0,1]]";
    let path = format!(
        "{{\"splatcore\": \"camera path 1\", \"seconds\": 3, \"keyframes\": [\
         {{\"time\": 0, \"position\": [0,0,-4], \"rotation\": {rows}, \"fov\": 40}},\
         {{\"time\": 3, \"position\": [1,0,-4], \"rotation\": {rows}, \"fov\": 50}}]}}"
    );
    std::fs::write(&keyframes, path).unwrap();
    let more = format!(
        "--views {} --path {} --background 0.5,0,1",
        photos(),
        text(&keyframes)
    );
    let hotspots = folder.path().join("hotspots.json");
    let text_of = "[{\"position\": [1, 2, 3], \"title\": \"<i>Wheel</i>\", \"text\": \"of oak\"}]";
    std::fs::write(&hotspots, text_of).unwrap();
    let more = format!("{more} --turn --hotspots {}", text(&hotspots));
    let title = "<b>Mill</b>";
    let start = format!(
        "export {} -o {} --title {title}",
        text(&scene_path),
        text(&page)
    );
    let stdout = succeeds(&format!("{start} {more}"));
    assert!(
        stdout.starts_with("50 Gaussians in ") && stdout.contains(" MB)"),
        "{stdout}"
    );

    let html = std::fs::read_to_string(&page).unwrap();
    assert!(html.contains("<title>&lt;b&gt;Mill&lt;/b&gt;</title>"));
    let found = settings(&page);
    assert_eq!(found["title"], title);
    assert_eq!(found["background"], serde_json::json!([0.5, 0.0, 1.0]));
    assert_eq!(found["views"].as_array().unwrap().len(), 10);
    assert_eq!(found["turn"], true);
    assert_eq!(found["hotspots"][0]["title"], "<i>Wheel</i>");
    assert_eq!(found["hotspots"][0]["position"][2], 3.0);
    assert!(found["stream"].is_null());
    let key = &found["path"][1];
    assert_eq!(
        (&key["time"], &key["position"][0]),
        (&3.0.into(), &1.0.into())
    );
    assert!((key["fov"].as_f64().unwrap() - 50.0).abs() < 1e-9);
    assert!(found["start"].is_null());

    let sog = STANDARD
        .decode(between(&html, "id=\"scene\">", "</script>"))
        .unwrap();
    let stored = scene::parse(&sog, Path::new("page.sog")).unwrap();
    assert_eq!(
        (stored.gaussians.len(), stored.gaussians.sh_degree),
        (50, 1)
    );

    // Without views the page begins at the view that shows most.
    succeeds(&format!(
        "export {} -o {} --up z --sh-degree 0",
        text(&scene_path),
        text(&page)
    ));
    let found = settings(&page);
    assert_eq!(
        (&found["title"], &found["up"][2]),
        (&"scene".into(), &1.0.into())
    );
    // Down in the image is down in the world.
    assert!(found["start"]["rotation"][1][2].as_f64().unwrap() < -0.8);
}

#[test]
fn a_page_replaces_no_scene() {
    let folder = tempfile::tempdir().unwrap();
    let scene = write_scene(folder.path());
    let before = std::fs::read(&scene).unwrap();
    let said = ends(&["export", text(&scene), "-o", text(&scene)], 2);
    assert_contains!(said, "a page is HTML, not .ply");
    assert_eq!(std::fs::read(&scene).unwrap(), before);
}

/// A .json file may hold a list of cameras, a camera path, or a dataset.
#[test]
fn views_come_from_each_kind_of_file() {
    let folder = tempfile::tempdir().unwrap();
    let scene = write_scene(folder.path());
    let page = folder.path().join("page.html");
    let rows = "[[1,0,0],[0,1,0],[0,0,1]]";
    let camera = format!(
        "[{{\"img_name\": \"front\", \"width\": 64, \"height\": 32, \"position\": [0,0,-4], \
         \"rotation\": {rows}, \"fx\": 50, \"fy\": 50}}]"
    );
    let keyframe = format!(
        "{{\"splatcore\": \"camera path 1\", \"keyframes\": [{{\"time\": 0, \
         \"position\": [0,0,-3], \"rotation\": {rows}, \"fov\": 40}}]}}"
    );
    let file = folder.path().join("views.json");
    for (content, name, z, aspect) in [
        (camera, "front", -4.0, 2.0),
        (keyframe, "view 1", -3.0, 1.0),
    ] {
        std::fs::write(&file, content).unwrap();
        let command = ["export", text(&scene), "-o", text(&page), "--views"];
        succeeds(&[&command[..], &[text(&file)]].concat());
        let views = &settings(&page)["views"];
        assert_eq!(views.as_array().unwrap().len(), 1);
        let view = &views[0];
        assert_eq!(view["name"], name);
        assert_eq!(
            (&view["position"][2], &view["aspect"]),
            (&serde_json::json!(z), &serde_json::json!(aspect))
        );
    }
    let dataset = Path::new(photos()).join("transforms.json");
    if dataset.is_file() {
        let command = format!("export {} -o {} --views", text(&scene), text(&page));
        succeeds(&format!("{command} {}", text(&dataset)));
        assert_eq!(settings(&page)["views"].as_array().unwrap().len(), 10);
    }
}

#[test]
fn what_is_wrong_is_told_and_nothing_is_written() {
    let folder = tempfile::tempdir().unwrap();
    let scene = write_scene(folder.path());
    let page = folder.path().join("page.html");
    let with =
        |more: &[&str]| fails(&[&["export", text(&scene), "-o", text(&page)][..], more].concat());
    let line = with(&["--max-size", "0.01"]);
    assert_contains!(line, "more than --max-size 0.01", "--sh-degree");
    let bad = folder.path().join("bad.json");
    let keyframe = |rest: &str| {
        let content = format!("{{\"splatcore\": \"camera path 1\", \"keyframes\": [{rest}]}}");
        std::fs::write(&bad, content).unwrap();
        with(&["--path", text(&bad)])
    };
    assert!(keyframe("").contains("there is no keyframe"));
    let pose = "\"position\": [0,0,0], \"rotation\": [[1,0,0],[0,1,0],[0,0,1]]";
    let timeless = keyframe(&format!("{{{pose}, \"fov\": 40}}"));
    assert!(timeless.contains("keyframes[0].time: is missing"));
    let wide = keyframe(&format!("{{\"time\": 0, {pose}, \"fov\": 180}}"));
    assert!(wide.contains("a field of view of 180 degrees"));
    std::fs::write(
        &bad,
        "{\"splatcore\": \"camera path 9\", \"keyframes\": []}",
    )
    .unwrap();
    assert!(with(&["--path", text(&bad)]).contains("\"camera path 9\""));
    assert!(with(&["--views", text(&folder.path().join("none"))]).contains("cannot be read"));
    std::fs::write(&bad, "[{\"title\": \"a\", \"position\": [0, 0]}]").unwrap();
    let line = with(&["--hotspots", text(&bad)]);
    assert_contains!(line, "bad.json: hotspots[0].position: is not three numbers");
    let line = fails(&["export", text(folder.path()), "-o", text(folder.path())]);
    assert_contains!(line, "is a folder");
    assert!(!page.exists());
    splatcore(&["export", text(&scene), "-o", text(&page), "--up", "w"])
        .assert()
        .code(2);
}

#[test]
fn a_site_is_a_page_and_a_streamed_scene() {
    let folder = tempfile::tempdir().unwrap();
    let scene_path = write_scene(folder.path());
    let site = folder.path().join("site");
    let command = format!("export {} --site -o {}", text(&scene_path), text(&site));
    let stdout = succeeds(&format!("{command} --budget 5000 --turn"));
    assert_contains!(stdout, "before the first picture");
    let found = settings(&site.join("index.html"));
    assert_eq!(found["stream"]["budget"], 5000);
    assert_eq!(found["turn"], true);
    let index = found["stream"]["index"].as_str().unwrap();
    let stored = scene::read(&site.join(index)).unwrap();
    assert_eq!(stored.gaussians.len(), 50);
    // Another scene in the same place; a page of somebody else's stays.
    succeeds(&command);
    std::fs::write(site.join("index.html"), "<h1>Home</h1>").unwrap();
    let line = fails(&command);
    assert_contains!(line, "is a page of something else");
    splatcore(&format!("{command} --max-size 3"))
        .assert()
        .code(2);
    let one = format!(
        "export {} -o {} --budget 5000",
        text(&scene_path),
        text(&site)
    );
    splatcore(&one).assert().code(2);
}
