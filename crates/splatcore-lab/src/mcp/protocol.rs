//! JSON-RPC messages of the Model Context Protocol, a line each.

use serde_json::{Value, json};
use std::io::{self, BufRead, Write};

/// Versions of the protocol whose tools are as here; the newest is offered to other clients.
const VERSIONS: [&str; 3] = ["2025-06-18", "2025-03-26", "2024-11-05"];
const PARSE_ERROR: i64 = -32700;
const INVALID_REQUEST: i64 = -32600;
const NO_METHOD: i64 = -32601;
const INVALID_PARAMS: i64 = -32602;

/// Calls of tools.
pub trait Tools {
    /// The tools, as `tools/list` gives them.
    fn list(&self) -> Value;
    /// Calls a tool; `None` if there is none of this name. An error is for the client to read, and
    /// to do better.
    fn call(&mut self, name: &str, arguments: &Value) -> Option<Result<String, String>>;
}

/// Serves until the input ends.
///
/// # Errors
/// If the client cannot be read from or written to.
pub fn serve(tools: &mut dyn Tools, input: impl BufRead, mut output: impl Write) -> io::Result<()> {
    for line in input.split(b'\n') {
        let line = line?;
        if line.trim_ascii().is_empty() {
            continue;
        }
        let answer = match serde_json::from_slice::<Value>(&line) {
            Ok(message) => answer(tools, &message),
            Err(error) => Some(failure(&Value::Null, PARSE_ERROR, &error.to_string())),
        };
        if let Some(answer) = answer {
            writeln!(output, "{answer}")?;
            output.flush()?;
        }
    }
    Ok(())
}

fn failure(id: &Value, code: i64, message: &str) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": message}})
}

/// The answer to a message; notifications have none.
fn answer(tools: &mut dyn Tools, message: &Value) -> Option<Value> {
    let id = message.get("id")?;
    let Some(method) = message.get("method").and_then(Value::as_str) else {
        return Some(failure(id, INVALID_REQUEST, "no method"));
    };
    let params = message.get("params").unwrap_or(&Value::Null);
    let result = match method {
        "initialize" => initialized(params),
        "ping" => json!({}),
        "tools/list" => json!({"tools": tools.list()}),
        "tools/call" => {
            let name = params
                .get("name")
                .and_then(Value::as_str)
                .unwrap_or_default();
            let arguments = params.get("arguments").unwrap_or(&Value::Null);
            match tools.call(name, arguments) {
                Some(called) => content(called),
                None => {
                    let words = format!("no tool is called '{name}'");
                    return Some(failure(id, INVALID_PARAMS, &words));
                }
            }
        }
        other => return Some(failure(id, NO_METHOD, &format!("no method '{other}'"))),
    };
    Some(json!({"jsonrpc": "2.0", "id": id, "result": result}))
}

fn initialized(params: &Value) -> Value {
    let asked = params.get("protocolVersion").and_then(Value::as_str);
    let known = VERSIONS.into_iter().find(|version| Some(*version) == asked);
    json!({
        "protocolVersion": known.unwrap_or(VERSIONS[0]),
        "capabilities": {"tools": {}},
        "serverInfo": {"name": "splatcore-lab", "version": env!("CARGO_PKG_VERSION")},
        "instructions": "Make the kernels of this experiment faster without changing what they \
                         compute. Call `task` first, then `read_file`; send changes with \
                         `propose` and read the verdict.",
    })
}

fn content(called: Result<String, String>) -> Value {
    let (text, is_error) = match called {
        Ok(text) => (text, false),
        Err(text) => (text, true),
    };
    json!({"content": [{"type": "text", "text": text}], "isError": is_error})
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Echo;

    impl Tools for Echo {
        fn list(&self) -> Value {
            json!([{"name": "echo", "inputSchema": {"type": "object"}}])
        }
        fn call(&mut self, name: &str, arguments: &Value) -> Option<Result<String, String>> {
            (name == "echo").then(|| match arguments.get("text").and_then(Value::as_str) {
                Some(text) => Ok(text.into()),
                None => Err("no text".into()),
            })
        }
    }

    fn talk(lines: &[&str]) -> Vec<Value> {
        let mut output = Vec::new();
        serve(&mut Echo, lines.join("\n").as_bytes(), &mut output).unwrap();
        let text = String::from_utf8(output).unwrap();
        text.lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect()
    }

    fn ask(id: u64, method: &str, params: Value) -> String {
        json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).to_string()
    }

    #[test]
    fn a_client_is_served() {
        let answers = talk(&[
            &ask(1, "initialize", json!({"protocolVersion": "2024-11-05"})),
            r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
            r#"{"jsonrpc":"2.0","id":"a","method":"tools/list"}"#,
            &ask(
                3,
                "tools/call",
                json!({"name": "echo", "arguments": {"text": "hi"}}),
            ),
            &ask(4, "tools/call", json!({"name": "echo", "arguments": {}})),
        ]);
        assert_eq!(answers.len(), 4);
        assert_eq!(answers[0]["result"]["protocolVersion"], "2024-11-05");
        assert_eq!(answers[1]["id"], "a");
        assert_eq!(answers[1]["result"]["tools"][0]["name"], "echo");
        assert_eq!(answers[2]["result"]["content"][0]["text"], "hi");
        assert_eq!(answers[3]["result"]["isError"], true);
    }

    #[test]
    fn nonsense_is_answered() {
        let answers = talk(&[
            "nonsense",
            "",
            r#"{"jsonrpc":"2.0","id":1}"#,
            r#"{"jsonrpc":"2.0","id":2,"method":"resources/list"}"#,
            r#"{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"other"}}"#,
            r#"[1, 2]"#,
        ]);
        let codes: Vec<_> = answers
            .iter()
            .map(|a| a["error"]["code"].as_i64())
            .collect();
        let wanted = [PARSE_ERROR, INVALID_REQUEST, NO_METHOD, INVALID_PARAMS];
        assert_eq!(codes, wanted.map(Some));
    }
}
