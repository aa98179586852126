//! JSON in replies of models: fenced, with text around it, after thoughts.

use serde_json::Value;

/// Places of a reply that are tried. Each costs at most the length of the reply.
const MAX_STARTS: usize = 200;

/// The first JSON value in a reply that `accept` takes. A value inside another counts too. What
/// stands before `</think>` is passed over.
pub fn find<T>(reply: &str, accept: impl Fn(&Value) -> Option<T>) -> Option<T> {
    let reply = reply.rsplit("</think>").next().unwrap_or(reply);
    let starts = reply.match_indices(['{', '[']).map(|(at, _)| at);
    for start in starts.take(MAX_STARTS) {
        let mut values = serde_json::Deserializer::from_str(&reply[start..]).into_iter::<Value>();
        if let Some(Ok(value)) = values.next()
            && let Some(found) = accept(&value)
        {
            return Some(found);
        }
    }
    None
}

/// A text field, at most `limit` signs of it, on one line; empty if it is absent.
pub fn text(value: &Value, name: &str, limit: usize) -> String {
    let found = value.get(name).and_then(Value::as_str).unwrap_or_default();
    let words = found.split_whitespace().collect::<Vec<_>>().join(" ");
    words.chars().take(limit).collect()
}

/// A number, also one at the start of a text: `5`, `"5 %"`, `"about 5"` is none.
pub fn number(value: &Value, name: &str) -> Option<f64> {
    let value = value.get(name)?;
    let read = match value {
        Value::Number(number) => number.as_f64(),
        Value::String(text) => {
            let text = text.trim();
            let digit = |c: char| c.is_ascii_digit() || c == '.' || c == '-' || c == '+';
            let end = text.find(|c| !digit(c)).unwrap_or(text.len());
            text[..end].parse().ok()
        }
        _ => None,
    };
    read.filter(|number| number.is_finite())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn values_are_found_among_text() {
        let array = |value: &Value| value.as_array().map(Vec::len);
        for (reply, wanted) in [
            ("[1, 2]", Some(2)),
            ("Here:\n```json\n[1]\n```\nas {asked}.", Some(1)),
            ("<think>[1] or [2]</think> {\"advice\": [1, 2, 3]}", Some(3)),
            ("a[i] = {0}; then [1, 2", None),
            ("nothing", None),
            ("", None),
        ] {
            assert_eq!(find(reply, array), wanted, "{reply}");
        }
        let endless = "[".repeat(1 << 20);
        assert_eq!(find(&endless, array), None);
    }

    #[test]
    fn fields_are_read_leniently() {
        let value = json!({"a": " two\n lines ", "n": "5-10 %", "m": 3, "x": "about 5"});
        assert_eq!(text(&value, "a", 100), "two lines");
        assert_eq!(text(&value, "a", 3), "two");
        assert_eq!(text(&value, "b", 3), "");
        assert_eq!(number(&value, "m"), Some(3.0));
        assert_eq!(number(&value, "x"), None);
        assert_eq!(number(&value, "n"), None);
        assert_eq!(number(&json!({"n": "5 %"}), "n"), Some(5.0));
    }
}
