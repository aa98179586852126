//! A server on this machine that answers chat completions from a transcript and fails on demand.
//!
//! It tests the way over HTTP without a network and without a model, and lets a recorded run be
//! repeated by any client. It knows HTTP/1.1 as far as such a client needs it: one request a
//! connection, bodies with `Content-Length`.

use super::chat;
use super::model::{Parameters, Reply, Request};
use super::record::Exchange;
use super::replay;
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

/// What the server answers with.
#[derive(Clone, Debug, PartialEq)]
pub enum Answer {
    /// A reply.
    Reply(Reply),
    /// Another status and a message.
    Status(u16, String),
    /// 429, with so many seconds in `Retry-After` if any.
    TooMany(Option<u64>),
    /// A reply that breaks off in the middle.
    CutOff(Reply),
    /// A reply after a while.
    Slow(Duration, Reply),
    /// Something that is no JSON.
    Malformed,
}

/// How an answer to a request goes wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// 429 with so many seconds in `Retry-After`.
    TooMany(u64),
    /// 500.
    Error,
    /// The body breaks off.
    CutOff,
    /// The answer takes so many seconds.
    Slow(u64),
    /// The body is no JSON.
    Malformed,
}

/// Faults by the number of the request, counted from 1.
pub type Faults = BTreeMap<u64, Fault>;

/// Faults as people write them: `1=429:2,3=500,4=cut,5=slow:10,6=malformed`.
///
/// # Errors
/// One line that names the part and what is allowed.
pub fn parse_faults(text: &str) -> Result<Faults, String> {
    let mut faults = Faults::new();
    for part in text
        .split(',')
        .map(str::trim)
        .filter(|part| !part.is_empty())
    {
        let wrong = || {
            format!("fault {part:?}: give NUMBER=429:SECONDS, 500, cut, slow:SECONDS or malformed")
        };
        let (number, fault) = part.split_once('=').ok_or_else(wrong)?;
        let number: u64 = number.trim().parse().map_err(|_| wrong())?;
        let (name, seconds) = fault.split_once(':').unwrap_or((fault, "0"));
        let seconds: u64 = seconds.parse().map_err(|_| wrong())?;
        let fault = match name.trim() {
            "429" => Fault::TooMany(seconds),
            "500" => Fault::Error,
            "cut" => Fault::CutOff,
            "slow" => Fault::Slow(seconds),
            "malformed" => Fault::Malformed,
            _ => return Err(wrong()),
        };
        faults.insert(number, fault);
    }
    Ok(faults)
}

/// A request that reached the server.
#[derive(Clone, Debug, PartialEq)]
pub struct Received {
    /// Its path.
    pub path: String,
    /// Its headers, names in lower case.
    pub headers: BTreeMap<String, String>,
    /// Its body.
    pub body: Value,
}

/// Answers from a transcript whatever their order. A request that was recorded more than once gets
/// its replies in turn, and the last of them from then on.
pub fn transcript(
    exchanges: Vec<Exchange>,
    faults: Faults,
) -> impl FnMut(u64, &Received) -> Answer {
    let mut served = BTreeMap::<usize, usize>::new();
    move |number, received| {
        let alike = |e: &Exchange| chat::body(&e.request) == received.body;
        let found: Vec<usize> = (0..exchanges.len())
            .filter(|&at| alike(&exchanges[at]))
            .collect();
        let Some(&first) = found.first() else {
            return Answer::Status(404, unknown(&exchanges, &received.body));
        };
        let turn = served.entry(first).or_default();
        let reply = exchanges[found[(*turn).min(found.len() - 1)]].reply.clone();
        match faults.get(&number) {
            Some(Fault::TooMany(seconds)) => Answer::TooMany(Some(*seconds)),
            Some(Fault::Error) => Answer::Status(500, "a fault on demand".into()),
            Some(Fault::CutOff) => Answer::CutOff(reply),
            Some(Fault::Malformed) => Answer::Malformed,
            Some(Fault::Slow(seconds)) => {
                *turn += 1;
                Answer::Slow(Duration::from_secs(*seconds), reply)
            }
            None => {
                *turn += 1;
                Answer::Reply(reply)
            }
        }
    }
}

/// How a request differs from the recorded one with the most messages in common.
fn unknown(exchanges: &[Exchange], body: &Value) -> String {
    let messages = serde_json::from_value(body["messages"].clone());
    let (Ok(messages), Some(fields)) = (messages, body.as_object()) else {
        return "the body is no chat completion request".into();
    };
    let fields = fields.iter().filter(|(name, _)| *name != "messages");
    let mut request = Request {
        role: super::model::Role::Coder,
        number: 0,
        messages,
        parameters: fields
            .map(|(n, v)| (n.clone(), v.clone()))
            .collect::<Parameters>(),
    };
    // Whole messages first, then the bytes of the one that differs.
    let common = |e: &Exchange| {
        let mut pairs = e.request.messages.iter().zip(&request.messages);
        let alike = pairs.by_ref().take_while(|(was, is)| was == is).count();
        let (was, is) = (e.request.messages.get(alike), request.messages.get(alike));
        let bytes = was.zip(is).map_or(0, |(was, is)| {
            let both = was.content.bytes().zip(is.content.bytes());
            both.take_while(|(a, b)| a == b).count()
        });
        (alike, bytes)
    };
    let Some(nearest) = exchanges.iter().max_by_key(|e| common(e)) else {
        return "the transcript is empty".into();
    };
    (request.role, request.number) = (nearest.request.role, nearest.request.number);
    let what = replay::difference(&nearest.request, &request);
    format!("this request is not on record; against the nearest: {what}")
}

/// A server that runs until it is dropped.
#[derive(Debug)]
pub struct Server {
    address: SocketAddr,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Server {
    /// Listens on this machine's loopback interface, at any free port if `port` is 0. `answer` gets
    /// the number of each request, counted from 1, and the request.
    ///
    /// # Errors
    /// If the port is taken.
    pub fn start(
        port: u16,
        answer: impl FnMut(u64, &Received) -> Answer + Send + 'static,
    ) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port))?;
        let address = listener.local_addr()?;
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let answer = Arc::new(Mutex::new((0, answer)));
        let thread = std::thread::spawn(move || {
            for stream in listener.incoming() {
                if stopped.load(Ordering::SeqCst) {
                    break;
                }
                let Ok(stream) = stream else { continue };
                let answer = Arc::clone(&answer);
                // A slow answer holds nobody else up; a broken connection is the client's matter.
                std::thread::spawn(move || {
                    let _ = serve(stream, |received| {
                        let mut answer = answer.lock().unwrap_or_else(|e| e.into_inner());
                        answer.0 += 1;
                        let number = answer.0;
                        (answer.1)(number, received)
                    });
                });
            }
        });
        Ok(Self {
            address,
            stop,
            thread: Some(thread),
        })
    }

    /// The `base_url` of an endpoint that asks this server.
    pub fn base_url(&self) -> String {
        format!("http://{}/v1", self.address)
    }

    /// Waits for ever.
    pub fn join(mut self) {
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::SeqCst);
        // Wakes the thread, which waits for a connection.
        let _ = TcpStream::connect(self.address);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

const MAX_HEAD_BYTES: u64 = 64 << 10;
const MAX_BODY_BYTES: u64 = 64 << 20;

fn serve(stream: TcpStream, answer: impl FnOnce(&Received) -> Answer) -> io::Result<()> {
    stream.set_read_timeout(Some(Duration::from_secs(30)))?;
    let mut reader = BufReader::new(stream.try_clone()?);
    let answer = match receive(&mut reader)? {
        Ok(received) if received.path.ends_with("/chat/completions") => answer(&received),
        Ok(_) => Answer::Status(404, "only /chat/completions is served".into()),
        Err(what) => Answer::Status(400, what),
    };
    send(stream, answer)
}

/// A request, or what is wrong with it.
fn receive(reader: &mut impl BufRead) -> io::Result<Result<Received, String>> {
    let mut head = reader.take(MAX_HEAD_BYTES);
    let mut line = String::new();
    head.read_line(&mut line)?;
    let mut words = line.split_whitespace();
    let (Some("POST"), Some(path)) = (words.next(), words.next()) else {
        return Ok(Err("only POST is served".into()));
    };
    let path = path.to_owned();
    let mut headers = BTreeMap::new();
    loop {
        let mut line = String::new();
        if head.read_line(&mut line)? == 0 {
            return Ok(Err("the headers do not end".into()));
        }
        let Some((name, value)) = line.trim_end().split_once(':') else {
            break;
        };
        headers.insert(name.to_ascii_lowercase(), value.trim().to_owned());
    }
    let length = headers.get("content-length").and_then(|l| l.parse().ok());
    let Some(length) = length.filter(|&length| length <= MAX_BODY_BYTES) else {
        return Ok(Err("a Content-Length below 64 MiB is needed".into()));
    };
    let mut body = Vec::new();
    reader.take(length).read_to_end(&mut body)?;
    Ok(match serde_json::from_slice(&body) {
        Ok(body) => Ok(Received {
            path,
            headers,
            body,
        }),
        Err(error) => Err(format!("the body is no JSON: {error}")),
    })
}

fn send(mut stream: TcpStream, answer: Answer) -> io::Result<()> {
    let whole = |reply: &Reply| chat::reply_body(reply).to_string();
    let (status, more, body, cut) = match answer {
        Answer::Reply(reply) => (200, String::new(), whole(&reply), false),
        Answer::CutOff(reply) => (200, String::new(), whole(&reply), true),
        Answer::Slow(duration, reply) => {
            std::thread::sleep(duration);
            (200, String::new(), whole(&reply), false)
        }
        Answer::Malformed => (200, String::new(), "<html>Welcome</html>".into(), false),
        Answer::TooMany(seconds) => {
            let after = seconds.map_or(String::new(), |s| format!("Retry-After: {s}\r\n"));
            (429, after, error_body("too many requests"), false)
        }
        Answer::Status(status, message) => (status, String::new(), error_body(&message), false),
    };
    write!(
        stream,
        "HTTP/1.1 {status} -\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\
         Connection: close\r\n{more}\r\n",
        body.len()
    )?;
    let sent = if cut { body.len() / 2 } else { body.len() };
    stream.write_all(&body.as_bytes()[..sent])?;
    stream.flush()
}

fn error_body(message: &str) -> String {
    let error = Map::from_iter([("message".to_owned(), Value::from(message))]);
    serde_json::json!({ "error": error }).to_string()
}

#[cfg(test)]
mod tests {
    use super::super::testing::{exchange, reply, request};
    use super::*;

    #[test]
    fn faults_read_as_people_write_them() {
        let faults = parse_faults("1=429:2, 3=500,4=cut,5=slow:10,6=malformed").unwrap();
        assert_eq!(faults.len(), 5);
        assert_eq!(faults[&1], Fault::TooMany(2));
        assert_eq!(faults[&5], Fault::Slow(10));
        for text in ["429", "x=429", "1=418", "1=slow:x"] {
            let error = parse_faults(text).unwrap_err();
            assert!(error.contains("give NUMBER=429:SECONDS"), "{error}");
        }
    }

    #[test]
    fn a_transcript_answers_by_content() {
        let received = |text: &str| Received {
            path: "/v1/chat/completions".into(),
            headers: BTreeMap::new(),
            body: chat::body(&request(9, text)),
        };
        let exchanges = vec![
            exchange(0, "a\nb", "1"),
            exchange(1, "c", "2"),
            exchange(2, "c", "3"),
        ];
        let mut answer = transcript(exchanges, parse_faults("2=500").unwrap());
        assert_eq!(answer(1, &received("c")), Answer::Reply(reply("2")));
        assert!(matches!(answer(2, &received("c")), Answer::Status(500, _)));
        for number in [3, 4] {
            assert_eq!(answer(number, &received("c")), Answer::Reply(reply("3")));
        }
        assert_eq!(answer(5, &received("a\nb")), Answer::Reply(reply("1")));
        let Answer::Status(404, says) = answer(6, &received("a\nc")) else {
            panic!("answered");
        };
        assert!(says.contains(r#"line 2 was "b", now "c""#), "{says}");
    }

    #[test]
    fn what_is_no_request_is_said() {
        let server = Server::start(0, |_, _| Answer::Malformed).unwrap();
        let says = |text: &str| {
            let mut stream = TcpStream::connect(server.address).unwrap();
            stream.write_all(text.as_bytes()).unwrap();
            let mut answer = String::new();
            stream.read_to_string(&mut answer).unwrap();
            answer
        };
        assert!(says("GET / HTTP/1.1\r\n\r\n").contains("only POST"));
        assert!(says("POST / HTTP/1.1\r\n\r\n").contains("Content-Length"));
        let head = "POST /v1/models HTTP/1.1\r\nContent-Length: 2\r\n\r\n";
        assert!(says(&format!("{head}{{}}")).starts_with("HTTP/1.1 404"));
        assert!(says(&format!("{head}<>")).contains("no JSON"));
    }
}
