//! Pages that are readable offline in any browser, without scripts: their skeleton, their style,
//! and the parts that several pages have.

mod bars;
mod escape;

pub use bars::{Bar, BarChart};
pub use escape::escape;

/// A page with this title, heading and body.
pub fn document(title: &str, body: &str) -> String {
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, \
         initial-scale=1\">\n<title>{0}</title>\n\
         <style>\n{1}</style>\n</head>\n<body>\n<h1>{0}</h1>\n{body}\
         <footer>Written by splatcore {2}.</footer>\n</body>\n</html>\n",
        escape(title),
        include_str!("style.css"),
        env!("CARGO_PKG_VERSION")
    )
}

/// A table of names and values; empty text without any.
pub fn summary(facts: &[(String, String)]) -> String {
    if facts.is_empty() {
        return String::new();
    }
    let row = |(name, value): &(String, String)| {
        format!(
            "<tr><th>{}</th><td>{}</td></tr>\n",
            escape(name),
            escape(value)
        )
    };
    let rows: String = facts.iter().map(row).collect();
    format!("<table class=\"summary\">\n{rows}</table>\n")
}
