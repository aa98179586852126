//! Models behind an address: `POST BASE/chat/completions`.

use super::chat::{self, BadBody};
use super::endpoint::{Endpoint, Keys};
use super::key::Key;
use super::model::{MAX_REPLY_BYTES, Model, ModelError, Reply, Request, Role};
use super::pause::Pause;
use std::io::Read;
use std::sync::Arc;
use std::time::Duration;
use ureq::Agent;
use ureq::tls::{Certificate, RootCerts, TlsConfig};

/// A body is JSON: signs may take six bytes, and there is text around the reply.
const MAX_BODY_BYTES: u64 = 6 * MAX_REPLY_BYTES as u64 + (1 << 20);

/// The first wait before a request is sent again; each further one is twice as long.
const FIRST_WAIT: Duration = Duration::from_secs(1);

/// The longest wait between two attempts. An endpoint that asks for more has to be resumed.
const LONGEST_WAIT: Duration = Duration::from_secs(120);

/// A role's endpoint.
pub struct Http {
    role: Role,
    endpoint: Endpoint,
    keys: Keys,
    pause: Pause,
    agent: Agent,
}

impl Http {
    /// A model at an endpoint. Nothing is sent yet.
    ///
    /// # Errors
    /// [`ModelError::Setting`] for settings that cannot be right.
    pub fn new(
        role: Role,
        endpoint: Endpoint,
        keys: Keys,
        pause: Pause,
    ) -> Result<Self, ModelError> {
        endpoint.check(role)?;
        let agent = agent(&endpoint);
        Ok(Self {
            role,
            endpoint,
            keys,
            pause,
            agent,
        })
    }

    fn url(&self) -> String {
        let base = self.endpoint.base_url.trim_end_matches('/');
        format!("{base}/chat/completions")
    }

    /// Sends a request once and waits at most `most` for the answer.
    fn send(&self, request: &Request, key: Option<&Key>, most: Duration) -> Result<Reply, Failure> {
        let post = self.agent.post(self.url()).config();
        let mut post = post.timeout_global(Some(most)).build();
        if let Some(key) = key {
            post = post.header("Authorization", key.header());
        }
        let sent = post
            .content_type("application/json")
            .send(chat::body(request).to_string());
        let mut response = sent.map_err(|error| self.failed(error, key))?;
        let status = response.status().as_u16();
        let wait = response.headers().get("retry-after");
        let wait = wait.and_then(|value| retry_after(value.to_str().ok()?));
        let mut body = Vec::new();
        let reader = response.body_mut().as_reader();
        let read = reader.take(MAX_BODY_BYTES + 1).read_to_end(&mut body);
        if let Err(error) = read {
            // The text of an error status is not needed.
            if status == 200 {
                return Err(self.failed(ureq::Error::from(error), key));
            }
        }
        let too_long = body.len() as u64 > MAX_BODY_BYTES;
        // Before anything is taken from it: a part of a key would not be found any more.
        let body = scrub(key, &String::from_utf8_lossy(&body)).into_bytes();
        match status {
            200 if too_long => Err(Failure::Last(ModelError::TooLong { who: self.url() })),
            200 => self.reply(request, &body),
            status => Err(self.status(status, wait, &body, key)),
        }
    }

    fn reply(&self, request: &Request, body: &[u8]) -> Result<Reply, Failure> {
        let url = self.url();
        let reply = chat::reply(request, body).map_err(|bad| match bad {
            BadBody::Ends => Failure::Again(ModelError::BrokenOff {
                url,
                why: format!("after {} bytes", body.len()),
            }),
            BadBody::Other(why) => Failure::Again(ModelError::Malformed { url, why }),
        })?;
        match reply.text.len() > MAX_REPLY_BYTES {
            true => Err(Failure::Last(ModelError::TooLong { who: self.url() })),
            false => Ok(reply),
        }
    }

    fn status(
        &self,
        status: u16,
        wait: Option<Duration>,
        body: &[u8],
        key: Option<&Key>,
    ) -> Failure {
        let url = self.url();
        let why = chat::complaint(body);
        match status {
            // What an endpoint says of a key may quote parts of it.
            401 | 403 => Failure::Last(ModelError::Refused {
                url,
                status,
                variable: key.map(|key| key.variable.clone()),
            }),
            429 if chat::out_of_quota(body) => {
                Failure::Last(ModelError::Status { url, status, why })
            }
            408 | 425 | 429 | 500..=599 => Failure::Busy { status, wait, why },
            _ => Failure::Last(ModelError::Status { url, status, why }),
        }
    }

    fn failed(&self, error: ureq::Error, key: Option<&Key>) -> Failure {
        use std::io::ErrorKind::{
            BrokenPipe, ConnectionAborted, ConnectionReset, TimedOut, UnexpectedEof,
        };
        let url = self.url();
        let why = chat::one_line(&scrub(key, &error.to_string()));
        let timeout = || {
            Failure::Late(ModelError::Timeout {
                who: url.clone(),
                limit: Duration::from_secs(self.endpoint.timeout_s),
                role: self.role,
            })
        };
        match &error {
            ureq::Error::Timeout(_) => timeout(),
            ureq::Error::Io(io) => match io.kind() {
                TimedOut => timeout(),
                BrokenPipe | ConnectionAborted | ConnectionReset | UnexpectedEof => {
                    Failure::Again(ModelError::BrokenOff { url, why })
                }
                _ => Failure::Last(ModelError::Down { url, why }),
            },
            ureq::Error::Protocol(_) => Failure::Again(ModelError::BrokenOff { url, why }),
            _ => Failure::Last(ModelError::Down { url, why }),
        }
    }
}

/// Why one attempt failed, and whether another may help.
enum Failure {
    /// None will.
    Last(ModelError),
    /// Another may.
    Again(ModelError),
    /// One more may.
    Late(ModelError),
    /// Another may, after waiting.
    Busy {
        status: u16,
        wait: Option<Duration>,
        why: String,
    },
}

impl Model for Http {
    fn ask(&mut self, request: &Request) -> Result<Reply, ModelError> {
        let variable = self.endpoint.key_env.as_deref();
        let key = variable.map(|v| self.keys.find(v, self.role)).transpose()?;
        if let Some(key) = &key {
            key.check(request)?;
        }
        let (mut waited, mut late) = (Duration::ZERO, 0);
        for attempt in 1.. {
            self.pause.check(self.role)?;
            let timeout = Duration::from_secs(self.endpoint.timeout_s);
            let left = self.pause.left().filter(|left| *left < timeout);
            let failure = match self.send(request, key.as_ref(), left.unwrap_or(timeout)) {
                Ok(reply) => return Ok(reply),
                Err(failure) => failure,
            };
            let (error, asked) = match failure {
                Failure::Last(error) => return Err(error),
                // The run ends, not the endpoint's time.
                Failure::Late(_) if left.is_some() => return Err(ModelError::Stopped(self.role)),
                Failure::Again(error) => (error, None),
                Failure::Late(error) => {
                    late += 1;
                    if late > 1 {
                        return Err(error);
                    }
                    (error, None)
                }
                Failure::Busy { status, wait, why } => {
                    let url = self.url();
                    let error = ModelError::Busy {
                        url,
                        status,
                        attempts: attempt,
                        waited,
                        why,
                    };
                    (error, wait)
                }
            };
            let wait = asked.unwrap_or_else(|| back_off(attempt));
            if attempt >= self.endpoint.attempts || wait > LONGEST_WAIT {
                return Err(error);
            }
            self.pause.wait(wait, self.role)?;
            waited += wait;
        }
        unreachable!("the attempts are counted")
    }
}

/// One second before the second attempt, then two, four, ..., at most [`LONGEST_WAIT`].
fn back_off(attempt: u32) -> Duration {
    FIRST_WAIT
        .saturating_mul(1 << (attempt - 1).min(16))
        .min(LONGEST_WAIT)
}

/// The seconds in a header `Retry-After`. A date counts as absent.
fn retry_after(value: &str) -> Option<Duration> {
    let seconds: f64 = value.trim().parse().ok()?;
    Duration::try_from_secs_f64(seconds).ok()
}

fn scrub(key: Option<&Key>, text: &str) -> String {
    key.map_or_else(|| text.to_owned(), |key| key.scrub(text))
}

/// Sends to the address and nowhere else: no redirects, which would carry the key away.
fn agent(endpoint: &Endpoint) -> Agent {
    let mut config = Agent::config_builder()
        .http_status_as_error(false)
        .max_redirects(0)
        .max_redirects_will_error(false)
        .user_agent(concat!("splatcore-lab/", env!("CARGO_PKG_VERSION")));
    if is_loopback(&endpoint.base_url) {
        // A proxy does not know this machine's servers.
        config = config.proxy(None);
    }
    if endpoint.base_url.starts_with("https://") {
        // The certificates that this machine trusts; what cannot be read is not trusted.
        let found = rustls_native_certs::load_native_certs().certs;
        let roots = found
            .iter()
            .map(|cert| Certificate::from_der(cert).to_owned());
        let tls = TlsConfig::builder()
            .root_certs(RootCerts::from(roots.collect::<Vec<_>>()))
            .unversioned_rustls_crypto_provider(Arc::new(rustls::crypto::ring::default_provider()));
        config = config.tls_config(tls.build());
    }
    config.build().new_agent()
}

fn is_loopback(url: &str) -> bool {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let authority = rest.split('/').next().unwrap_or_default();
    let host = match authority.strip_prefix('[') {
        Some(v6) => v6.split(']').next().unwrap_or_default(),
        None => authority.split(':').next().unwrap_or_default(),
    };
    let address = host.parse::<std::net::IpAddr>();
    host == "localhost" || address.is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::super::server::{Answer, Received, Server, parse_faults, transcript};
    use super::super::testing::{exchange, reply, request};
    use super::*;
    use std::sync::Mutex;
    use std::time::Instant;

    const SECRET: &str = "sk-do-not-print-me";

    /// A client of `base_url`, and the waits between its attempts, in seconds.
    fn client(base_url: &str, more: &str) -> (Http, Arc<Mutex<Vec<f64>>>) {
        let endpoint: Endpoint =
            toml::from_str(&format!("base_url = '{base_url}'\nmodel = 'm'\n{more}")).unwrap();
        let waits = Arc::new(Mutex::new(Vec::new()));
        let noted = Arc::clone(&waits);
        let pause = Pause::with_sleep(move |time| noted.lock().unwrap().push(time.as_secs_f64()));
        let keys = Keys::of(|name| match name {
            "SET" => Some(SECRET.to_owned()),
            "SHORT" => Some("none".to_owned()),
            _ => None,
        });
        let http = Http::new(Role::Coder, endpoint, keys, pause).unwrap();
        (http, waits)
    }

    fn total(waits: &Mutex<Vec<f64>>) -> f64 {
        waits.lock().unwrap().iter().sum::<f64>().round()
    }

    /// A server with faults, as [`parse_faults`] reads them, that knows one answer.
    fn failing(faults: &str) -> Server {
        let known = vec![exchange(0, "hello", "hi")];
        Server::start(0, transcript(known, parse_faults(faults).unwrap())).unwrap()
    }

    fn error_of(http: &mut Http) -> String {
        let error = http.ask(&request(0, "hello")).unwrap_err().to_string();
        assert_eq!(error.lines().count(), 1, "{error}");
        assert!(!error.contains(SECRET), "{error}");
        error
    }

    #[test]
    fn a_request_is_sent_as_it_is_and_answered() {
        let seen = Arc::new(Mutex::new(None));
        let noted = Arc::clone(&seen);
        let answer = move |_, received: &Received| {
            *noted.lock().unwrap() = Some(received.clone());
            Answer::Reply(reply("the key is sk-do-not-print-me"))
        };
        let server = Server::start(0, answer).unwrap();
        let (mut http, _) = client(&server.base_url(), "key_env = 'SET'");
        let asked = http.ask(&request(0, "hello")).unwrap();
        assert_eq!(asked.text, "the key is [key]");
        let received = seen.lock().unwrap().take().unwrap();
        assert_eq!(received.path, "/v1/chat/completions");
        assert_eq!(
            received.headers["authorization"],
            format!("Bearer {SECRET}")
        );
        assert_eq!(received.body, chat::body(&request(0, "hello")));
        let (mut http, _) = client(&server.base_url(), "");
        http.ask(&request(0, "hello")).unwrap();
        let received = seen.lock().unwrap().take().unwrap();
        assert_eq!(received.headers.get("authorization"), None);
    }

    #[test]
    fn a_busy_endpoint_is_asked_again() {
        // As Retry-After says, then one and two seconds, doubled from attempt to attempt.
        let server = failing("1=429:7,2=500,3=cut,4=malformed");
        let (mut http, waits) = client(&server.base_url(), "");
        assert_eq!(http.ask(&request(0, "hello")), Ok(reply("hi")));
        assert_eq!(total(&waits), 7.0 + 2.0 + 4.0 + 8.0);
    }

    #[test]
    fn attempts_are_bounded() {
        let cases = [
            ("1=500,2=500", "answers 500 after 2 attempts"),
            (
                "1=429:1,2=429:1",
                "answers 429 after 2 attempts and 1s of waiting",
            ),
            ("1=cut,2=cut", "breaks off"),
            (
                "1=malformed,2=malformed",
                "not with a chat completion (no JSON",
            ),
        ];
        for (faults, says) in cases {
            let server = failing(faults);
            let (mut http, waits) = client(&server.base_url(), "attempts = 2");
            let error = error_of(&mut http);
            assert!(error.contains(says), "{error}");
            assert_eq!(total(&waits), 1.0);
            assert_eq!(http.ask(&request(0, "hello")), Ok(reply("hi")));
        }
    }

    #[test]
    fn an_endpoint_that_wants_a_long_rest_ends_the_run() {
        let server = failing("1=429:3600");
        let (mut http, waits) = client(&server.base_url(), "");
        let error = error_of(&mut http);
        assert!(error.contains("resume later"), "{error}");
        assert_eq!(total(&waits), 0.0);
    }

    #[test]
    fn a_slow_endpoint_gets_two_chances() {
        let server = failing("1=slow:3,2=slow:3");
        let (mut http, waits) = client(&server.base_url(), "timeout_s = 1");
        let error = error_of(&mut http);
        assert!(
            error.contains("within 1s: raise the coder's timeout_s"),
            "{error}"
        );
        assert_eq!(total(&waits), 1.0);
    }

    #[test]
    fn a_run_that_ends_does_not_wait_for_a_slow_endpoint() {
        let server = failing("1=slow:20");
        let (mut http, _) = client(&server.base_url(), "timeout_s = 600\nattempts = 1");
        let start = Instant::now();
        http.pause = Pause::default().until(Some(start + Duration::from_millis(500)));
        let error = http.ask(&request(0, "hello")).unwrap_err();
        assert_eq!(error, ModelError::Stopped(Role::Coder));
        assert!(start.elapsed() < Duration::from_secs(10));
    }

    #[test]
    fn an_endpoint_that_is_down_is_named() {
        let closed = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = closed.local_addr().unwrap();
        drop(closed);
        let (mut http, waits) = client(&format!("http://{address}"), "");
        let error = error_of(&mut http);
        assert!(error.contains(&format!("http://{address}/chat")), "{error}");
        assert!(error.contains("start the endpoint"), "{error}");
        assert_eq!(total(&waits), 0.0);
    }

    #[test]
    fn keys_are_missing_refused_or_in_the_wrong_place() {
        let (mut http, _) = client("http://127.0.0.1:9", "key_env = 'UNSET'");
        let error = error_of(&mut http);
        assert!(
            error.contains("set the environment variable UNSET"),
            "{error}"
        );
        let (mut http, _) = client("http://127.0.0.1:9", "key_env = 'SHORT'");
        let error = error_of(&mut http);
        assert!(error.contains("fewer than 8 signs"), "{error}");
        let quoting = |_, _: &Received| Answer::Status(401, format!("wrong key {SECRET}"));
        let server = Server::start(0, quoting).unwrap();
        let (mut http, waits) = client(&server.base_url(), "key_env = 'SET'");
        let error = error_of(&mut http);
        assert!(error.contains("answers 401 and refuses the key"), "{error}");
        assert!(error.contains("environment variable SET"), "{error}");
        assert_eq!(total(&waits), 0.0);
        let prompt = format!("int a; // {SECRET}");
        let error = http.ask(&request(0, &prompt)).unwrap_err().to_string();
        assert!(error.contains("holds the key of SET"), "{error}");
        assert!(!error.contains(SECRET));
    }

    #[test]
    fn other_statuses_are_final_and_quote_no_key() {
        let quoting = |_, _: &Received| Answer::Status(400, format!("no model m for {SECRET}"));
        let server = Server::start(0, quoting).unwrap();
        let (mut http, waits) = client(&server.base_url(), "key_env = 'SET'");
        let error = error_of(&mut http);
        assert!(
            error.contains("answers 400 (no model m for [key])"),
            "{error}"
        );
        assert_eq!(total(&waits), 0.0);
        // Shortening the message leaves no part of the key.
        let quoting =
            |_, _: &Received| Answer::Status(400, format!("{:190} {SECRET}", "x.".repeat(95)));
        let server = Server::start(0, quoting).unwrap();
        let (mut http, _) = client(&server.base_url(), "key_env = 'SET'");
        assert!(!error_of(&mut http).contains("sk-"));
        let moved = Server::start(0, |_, _: &Received| Answer::Status(307, "there".into()));
        let (mut http, _) = client(&moved.unwrap().base_url(), "key_env = 'SET'");
        assert!(http.ask(&request(0, "hello")).is_err());
    }

    #[test]
    fn what_is_on_this_machine_is_known() {
        for url in [
            "http://localhost/v1",
            "http://127.0.0.1:80",
            "http://[::1]:8/v1",
        ] {
            assert!(is_loopback(url), "{url}");
        }
        for url in ["https://example.org", "http://localhost.example.org"] {
            assert!(!is_loopback(url), "{url}");
        }
        assert_eq!(retry_after("2"), Some(Duration::from_secs(2)));
        assert_eq!(retry_after("Wed, 21 Oct 2026 07:28:00 GMT"), None);
        assert_eq!(retry_after("-1"), None);
    }

    #[test]
    fn an_encrypted_endpoint_that_is_none_is_refused() {
        // A server that does not know TLS.
        let server = failing("");
        let url = server.base_url().replace("http://", "https://");
        let (mut http, waits) = client(&url, "attempts = 1");
        let error = error_of(&mut http);
        assert!(error.contains("https://127.0.0.1"), "{error}");
        assert_eq!(total(&waits), 0.0);
    }
}
