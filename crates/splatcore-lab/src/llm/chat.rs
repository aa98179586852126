//! The bodies of the chat completions protocol.

use super::model::{By, Reply, Request, Usage};
use serde_json::{Map, Value};

/// The body of a request: its parameters and messages.
pub(super) fn body(request: &Request) -> Value {
    let mut body = Map::new();
    for (name, value) in &request.parameters {
        body.insert(name.clone(), value.clone());
    }
    body.insert("messages".into(), serde_json::json!(request.messages));
    Value::Object(body)
}

/// Why a body is no reply.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum BadBody {
    /// It ends in the middle of a value.
    Ends,
    /// It is something else.
    Other(String),
}

/// The reply in a body. Without token counts they are estimated from the texts.
pub(super) fn reply(request: &Request, body: &[u8]) -> Result<Reply, BadBody> {
    let value: Value = serde_json::from_slice(body).map_err(|error| match error.is_eof() {
        true => BadBody::Ends,
        false => BadBody::Other(format!("no JSON: {error}")),
    })?;
    if let Some(error) = value.get("error").filter(|error| !error.is_null()) {
        return Err(BadBody::Other(message_of(error)));
    }
    let missing = |what: &str| BadBody::Other(format!("no {what} in the body"));
    let choice = value
        .pointer("/choices/0")
        .ok_or_else(|| missing("choice"))?;
    let cut = choice.get("finish_reason").and_then(Value::as_str) == Some("length");
    let text = text_of(choice.pointer("/message/content"));
    let text = match (text, cut) {
        (Some(text), _) => text,
        // All tokens went into thoughts.
        (None, true) => String::new(),
        (None, false) => return Err(missing("content")),
    };
    let tokens = |name: &str| value.pointer("/usage").and_then(|u| u.get(name)?.as_u64());
    let usage = match (tokens("prompt_tokens"), tokens("completion_tokens")) {
        (Some(tokens_in), Some(tokens_out)) => Usage {
            tokens_in,
            tokens_out,
            estimated: false,
        },
        _ => Usage::estimate(request, &text),
    };
    let said = |name: &str| value.get(name)?.as_str().map(one_line);
    let by = By {
        model: said("model"),
        version: said("system_fingerprint"),
    };
    Ok(Reply {
        text,
        usage,
        by,
        cut,
    })
}

/// A text, or the texts of several parts.
fn text_of(content: Option<&Value>) -> Option<String> {
    match content? {
        Value::String(text) => Some(text.clone()),
        Value::Array(parts) => {
            let texts = parts.iter().filter_map(|part| part.get("text")?.as_str());
            Some(texts.collect())
        }
        _ => None,
    }
}

/// What an endpoint says about an error, on one short line.
pub(super) fn complaint(body: &[u8]) -> String {
    let text = String::from_utf8_lossy(body);
    let said = match serde_json::from_str::<Value>(&text) {
        Ok(value) => message_of(value.get("error").unwrap_or(&value)),
        Err(_) => text.into_owned(),
    };
    one_line(&said)
}

/// Whether the endpoint says that its account is empty: then no waiting helps.
pub(super) fn out_of_quota(body: &[u8]) -> bool {
    let code = |pointer: &str| -> bool {
        serde_json::from_slice::<Value>(body)
            .ok()
            .and_then(|v| Some(v.pointer(pointer)?.as_str()? == "insufficient_quota"))
            .unwrap_or(false)
    };
    code("/error/code") || code("/error/type")
}

fn message_of(error: &Value) -> String {
    let message = error.get("message").unwrap_or(error);
    match message.as_str() {
        Some(text) => one_line(text),
        None => one_line(&message.to_string()),
    }
}

/// Words on one line of at most 200 signs.
pub(super) fn one_line(text: &str) -> String {
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match words.char_indices().nth(200) {
        Some((at, _)) => format!("{} ...", &words[..at]),
        None if words.is_empty() => "no message".into(),
        None => words,
    }
}

/// The body of a reply, as an endpoint sends it.
pub(super) fn reply_body(reply: &Reply) -> Value {
    serde_json::json!({
        "object": "chat.completion",
        "model": reply.by.model,
        "system_fingerprint": reply.by.version,
        "choices": [{
            "index": 0,
            "message": { "role": "assistant", "content": reply.text },
            "finish_reason": if reply.cut { "length" } else { "stop" },
        }],
        "usage": {
            "prompt_tokens": reply.usage.tokens_in,
            "completion_tokens": reply.usage.tokens_out,
            "total_tokens": reply.usage.tokens_in + reply.usage.tokens_out,
        },
    })
}

#[cfg(test)]
mod tests {
    use super::super::model::{Author, Message, Parameters, Role};
    use super::*;

    fn request() -> Request {
        Request {
            role: Role::Coder,
            number: 1,
            messages: vec![Message::new(Author::User, "Hello")],
            parameters: Parameters::from([("model".into(), "m".into())]),
        }
    }

    #[test]
    fn the_body_holds_parameters_and_messages_only() {
        let text = body(&request()).to_string();
        assert_eq!(
            text,
            r#"{"messages":[{"content":"Hello","role":"user"}],"model":"m"}"#
        );
    }

    #[test]
    fn replies_are_read() {
        let sent = Reply {
            text: "Hi".into(),
            usage: Usage {
                tokens_in: 7,
                tokens_out: 9,
                estimated: false,
            },
            by: By {
                model: Some("m-2026-11-30".into()),
                version: Some("fp_1".into()),
            },
            cut: true,
        };
        let read = reply(&request(), reply_body(&sent).to_string().as_bytes());
        assert_eq!(read, Ok(sent));
        let parts = br#"{"choices":[{"message":{"content":[{"text":"a"},{"text":"b"}]}}]}"#;
        let read = reply(&request(), parts).unwrap();
        assert_eq!(read.text, "ab");
        assert_eq!(read.usage, Usage::estimate(&request(), "ab"));
        assert_eq!(read.by, By::default());
        let thoughts = br#"{"choices":[{"finish_reason":"length","message":{"content":null}}]}"#;
        assert!(reply(&request(), thoughts).unwrap().cut);
    }

    #[test]
    fn what_is_no_reply_is_said() {
        let says = |body: &str| match reply(&request(), body.as_bytes()) {
            Err(BadBody::Other(why)) => why,
            other => panic!("{other:?}"),
        };
        assert!(says("<html>").starts_with("no JSON"));
        assert_eq!(says("{}"), "no choice in the body");
        assert_eq!(says(r#"{"choices":[{}]}"#), "no content in the body");
        assert_eq!(says(r#"{"error":{"message":"too\nlong"}}"#), "too long");
        assert_eq!(reply(&request(), br#"{"choices":["#), Err(BadBody::Ends));
        assert_eq!(complaint(b""), "no message");
        assert_eq!(complaint(&[b'x'; 999]).len(), 204);
        assert!(out_of_quota(br#"{"error":{"code":"insufficient_quota"}}"#));
        assert!(!out_of_quota(b"insufficient_quota"));
    }
}
