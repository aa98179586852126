//! A scene as one HTML file: the viewer's text, the scene as SOG in base64, and what the sender
//! chose. The file needs no network, and its content security policy forbids it any. The page of a
//! site is the same file without the scene, which it loads in chunks from beside itself.
//!
//! | question | file |
//! | --- | --- |
//! | what stands in the file, in which order | `lib.rs` |
//! | how do modules become one script | `bundle.rs` |
//! | which numbers do the shaders take from the renderer | `constants.rs` |
//! | how is the scene decoded, sorted, drawn | `page/{decode,sort,renderer,shaders}.js` |
//! | which chunks does the page of a site load, when | `page/{levels,stream}.js` |
//! | how does a page turn by itself, or fly to a view | `page/turn.js` |
//! | what stands in the page's address, how is it shared | `page/{address,share}.js` |
//! | what does a headset show | `page/headset.js` |
//! | where are hotspots, when are they hidden | `page/hotspots.js` |
//! | what do mouse, keys and keyframes do, here and in the live viewer | `shared/` |
//!
//! Why SOG: it is the smallest of the formats that are written here (docs/guide/sharing.md has
//! numbers), the browser decodes its WebP images, and a shader looks up its codebooks, so that no
//! script touches the attributes but for the means. The alpha channel of its images holds data:
//! they are decoded without premultiplication and without a change of colours.

mod bundle;
mod constants;
pub mod shared;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

const INDEX: &str = include_str!("page/index.html");
const STYLE: &str = concat!(
    include_str!("shared/style.css"),
    include_str!("page/style.css")
);
/// The worker, which no module imports.
const SORTER: &str = include_str!("page/sort.js");

/// A place to look from. Axes are OpenCV's: x right, y down, z forward.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Pose {
    /// Of the camera, world units.
    pub position: [f64; 3],
    /// World to camera: the rows are right, down and forward.
    pub rotation: [[f64; 3]; 3],
    /// Vertical field of view, degrees.
    pub fov: f64,
    /// Width over height of what is to be seen; a narrower window shows the whole width.
    pub aspect: Option<f64>,
}

/// A pose in the page's list.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct View {
    /// In the list.
    pub name: String,
    /// Where.
    #[serde(flatten)]
    pub pose: Pose,
}

/// A pose of the path that the page plays.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Keyframe {
    /// Seconds from the path's begin; they rise.
    pub time: f64,
    /// Where.
    #[serde(flatten)]
    pub pose: Pose,
    /// How the camera moves there: `through`, `rest` or `hold`, as in a file that the page saves.
    pub easing: &'static str,
}

/// A place in the scene with a text. In the page it is a numbered marker; texts are shown as they
/// are, never as HTML.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Hotspot {
    /// In the scene's axes.
    pub position: [f64; 3],
    /// One line.
    pub title: String,
    /// May have several lines, or none.
    pub text: String,
    /// From where to look at it; the camera flies there.
    pub view: Option<Pose>,
}

/// Where the page has its scene from.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Source<'a> {
    /// The page holds it: a bundled SOG version 2 with stored files, as
    /// `splatcore_data::scene::sog::write` makes it.
    Inside(&'a [u8]),
    /// A streamed SOG, as `splatcore_data::scene::sog::write_streamed` makes it.
    Beside(Stream<'a>),
}

/// A scene that a page loads in chunks.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Stream<'a> {
    /// Where its lod-meta.json is, relative to the page.
    pub index: &'a str,
    /// Gaussians that are drawn at a time; a third on phones.
    pub budget: u32,
}

/// Places of a [`Page::look`] along each side of its cube.
pub const LOOK_SIDE: usize = 33;

/// A page. Poses, colours and bounds must be finite. All but the scene is what the script reads.
#[derive(Clone, Debug, Serialize)]
pub struct Page<'a> {
    /// In the tab and the panel.
    pub title: &'a str,
    /// The scene.
    #[serde(skip)]
    pub scene: Source<'a>,
    /// Red, green and blue behind the scene, 0 to 1.
    pub background: [f32; 3],
    /// A sky behind the scene, on top of the background: of 16 spherical harmonics of the direction
    /// of view, up to degree 3 (world axes, INRIA's order and signs), red, green and blue; the
    /// colour is their sum and 0.5.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sky: Option<[[f32; 3]; 16]>,
    /// What becomes of the colours of the picture, if they are not shown as they are: the colours
    /// of a cube of [`LOOK_SIDE`]³ places, red, green and blue from 0 to 255. Red of the picture
    /// changes from a place to the next, green from a row, blue from a slice; colours between them
    /// are interpolated.
    #[serde(skip)]
    pub look: Option<&'a [u8]>,
    /// Which way is up, world axes.
    pub up: [f64; 3],
    /// Two corners of the box that "frame all" shows.
    pub bounds: [[f64; 3]; 2],
    /// Where to begin; if not given the first view, the path's begin, or the whole scene.
    pub start: Option<Pose>,
    /// The list of views.
    pub views: Vec<View>,
    /// What "play" plays.
    pub path: Vec<Keyframe>,
    /// Markers in the scene, numbered from 1.
    pub hotspots: Vec<Hotspot>,
    /// Whether the scene turns slowly until it is touched.
    pub turn: bool,
}

/// What the script reads.
#[derive(Serialize)]
struct Settings<'a> {
    /// By which the browser keeps keyframes of this scene and path: pages of one folder share a
    /// store.
    key: String,
    /// Of a site.
    stream: Option<Stream<'a>>,
    /// [`Page::look`] in base64.
    #[serde(skip_serializing_if = "Option::is_none")]
    look: Option<String>,
    #[serde(flatten)]
    page: &'a Page<'a>,
}

impl Page<'_> {
    /// The whole file.
    ///
    /// # Errors
    /// Only if a map key in the settings were no text, which no field has.
    pub fn to_html(&self) -> Result<String, serde_json::Error> {
        let (scene, stream) = match self.scene {
            Source::Inside(bytes) => (bytes, None),
            Source::Beside(stream) => (&[][..], Some(stream)),
        };
        let named = (stream, self.title, self.bounds);
        let digest = Sha256::new()
            .chain_update(scene)
            .chain_update(serde_json::to_vec(&stream.map(|_| named))?)
            .chain_update(serde_json::to_vec(&self.path)?)
            .finalize();
        let settings = Settings {
            key: STANDARD.encode(digest),
            stream,
            look: self.look.map(|cube| STANDARD.encode(cube)),
            page: self,
        };
        // In a script only `<` could end it; JSON has it in strings alone.
        let settings = serde_json::to_string(&settings)?.replace('<', "\\u003c");
        let script = bundle::script(stream.is_some());
        let policy = policy(&script, stream.is_some());
        let title = escape(self.title);
        let scene = STANDARD.encode(scene);
        Ok([
            "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n",
            &format!("<meta http-equiv=\"Content-Security-Policy\" content=\"{policy}\">\n"),
            "<meta name=\"referrer\" content=\"no-referrer\">\n<meta name=\"viewport\" \
             content=\"width=device-width, initial-scale=1, viewport-fit=cover\">\n",
            &format!("<title>{title}</title>\n<link rel=\"icon\" href=\"data:,\">\n"),
            &format!("<style>{STYLE}</style>\n</head>\n<body>\n{INDEX}"),
            &format!("<script type=\"application/json\" id=\"settings\">{settings}</script>\n"),
            &format!("<script type=\"text/plain\" id=\"sorter\">{SORTER}</script>\n"),
            "<script type=\"text/plain\" id=\"scene\">",
            &scene,
            "</script>\n",
            &format!("<script type=\"module\">{script}</script>\n</body>\n</html>\n"),
        ]
        .concat())
    }
}

/// Nothing may be loaded or sent, but for what `streams` loads from where the page is; of scripts
/// and styles only those of the file run.
fn policy(script: &str, streams: bool) -> String {
    let connect = if streams { " connect-src 'self';" } else { "" };
    let hash = |text: &str| STANDARD.encode(Sha256::digest(text));
    format!(
        "default-src 'none';{connect} script-src 'sha256-{}'; style-src 'sha256-{}'; worker-src \
         blob:; img-src data: blob:; base-uri 'none'; form-action 'none'",
        hash(script),
        hash(STYLE)
    )
}

/// Text for an element's content.
fn escape(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    const SITE: Source = Source::Beside(Stream {
        index: "scene/lod-meta.json",
        budget: 1000,
    });

    fn page(title: &str) -> String {
        page_with(title, Source::Inside(b"PK"))
    }

    fn page_with(title: &str, scene: Source) -> String {
        let pose = Pose {
            position: [0.0, 1.0, 2.0],
            rotation: [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]],
            fov: 50.0,
            aspect: Some(1.5),
        };
        let page = Page {
            title,
            scene,
            background: [0.0, 0.5, 1.0],
            sky: None,
            look: None,
            up: [0.0, -1.0, 0.0],
            bounds: [[-1.0; 3], [1.0; 3]],
            start: None,
            views: vec![View {
                name: "</script><b>".into(),
                pose: pose.clone(),
            }],
            path: vec![Keyframe {
                time: 0.0,
                pose,
                easing: "through",
            }],
            hotspots: vec![Hotspot {
                position: [1.0, 2.0, 3.0],
                title: "</script><i>".into(),
                text: String::new(),
                view: None,
            }],
            turn: true,
        };
        page.to_html().unwrap()
    }

    /// What stands between two texts, the first time.
    fn between<'a>(html: &'a str, begin: &str, end: &str) -> &'a str {
        html.split_once(begin).unwrap().1.split_once(end).unwrap().0
    }

    #[test]
    fn texts_from_outside_end_no_element() {
        let title = "</title><script>alert(1)</script> & \"more\"";
        let html = page(title);
        assert!(
            !html.contains("<script>alert") && !html.contains("</script><b>"),
            "{html}"
        );
        assert!(html.contains("<title>&lt;/title&gt;&lt;script&gt;alert(1)&lt;/script&gt; &amp; "));
        let settings = between(&html, "id=\"settings\">", "</script>");
        let settings: serde_json::Value = serde_json::from_str(settings).unwrap();
        assert_eq!(settings["title"], title);
        assert_eq!(settings["views"][0]["name"], "</script><b>");
        assert_eq!(settings["views"][0]["position"][2], 2.0);
        assert_eq!(settings["path"][0]["time"], 0.0);
        assert_eq!(settings["hotspots"][0]["title"], "</script><i>");
        assert_eq!(settings["turn"], true);
        assert_eq!(html.matches("<script").count(), 4);
        assert_eq!(html.matches("</script>").count(), 4);
    }

    /// The hashes in the policy are computed here from the file, not from the constants.
    #[test]
    fn the_policy_allows_this_script_and_this_style_and_no_network() {
        let html = page("a");
        let policy = between(&html, "Content-Security-Policy\" content=\"", "\">");
        let hash = |text: &str| STANDARD.encode(Sha256::digest(text));
        let script = hash(between(&html, "<script type=\"module\">", "</script>"));
        let style = hash(between(&html, "<style>", "</style>"));
        assert!(policy.starts_with("default-src 'none'; "), "{policy}");
        assert!(policy.contains(&format!("script-src 'sha256-{script}';")));
        assert!(policy.contains(&format!("style-src 'sha256-{style}';")));
        for word in ["connect-src", "unsafe", "*", "http"] {
            assert!(!policy.contains(word), "{word}: {policy}");
        }
        let site = page_with("a", SITE);
        let policy = between(&site, "Content-Security-Policy\" content=\"", "\">");
        assert!(policy.contains(" connect-src 'self'; "), "{policy}");
        assert!(!policy.contains("unsafe") && !policy.contains("http"));
    }

    #[test]
    fn the_file_names_no_other() {
        let html = page("a");
        for word in [
            "http:",
            "https:",
            "url(",
            "src=",
            "fetch(",
            "XMLHttp",
            "import(",
            "WebSocket",
        ] {
            assert!(!html.contains(word), "{word}");
        }
        assert_eq!(between(&html, "id=\"scene\">", "</script>"), "UEs=");
        // The viewer alone.
        assert!(html.len() < 110_000, "{} bytes", html.len());
        let site = page_with("a", SITE);
        assert_eq!(between(&site, "id=\"scene\">", "</script>"), "");
        let settings = between(&site, "id=\"settings\">", "</script>");
        let settings: serde_json::Value = serde_json::from_str(settings).unwrap();
        assert_eq!(settings["stream"]["index"], "scene/lod-meta.json");
        assert!(site.len() < 125_000, "{} bytes", site.len());
    }
}
