//! Who may connect: the addresses that are listened on, and which `Host` and `Origin` a request may
//! name.
//!
//! A page of another site can make a browser send requests here. It cannot change the `Host` and
//! `Origin` that the browser names, so both are checked: `Host` also against DNS rebinding, where a
//! name of that site is made to stand for this machine.

use std::net::{IpAddr, SocketAddr};

/// Where to listen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Listen {
    /// On the loopback interface: browsers of this machine only.
    Loopback {
        /// 0 takes a free one.
        port: u16,
    },
    /// On an address that others may reach.
    Address(SocketAddr),
}

impl Listen {
    /// The address to bind.
    pub fn address(self) -> SocketAddr {
        match self {
            Listen::Loopback { port } => SocketAddr::from(([127, 0, 0, 1], port)),
            Listen::Address(address) => address,
        }
    }
}

/// The names under which this server may be asked.
#[derive(Clone, Debug)]
pub struct Names {
    bound: SocketAddr,
}

impl Names {
    /// Of a server that is bound to an address.
    pub fn new(bound: SocketAddr) -> Self {
        Self { bound }
    }

    /// Whether a request with this `Host` is meant for this server: `localhost` or an IP address
    /// that may be its own, with its port. An IP address cannot be rebound by DNS.
    pub fn is_own_host(&self, host: &str) -> bool {
        let (name, port) = match host.rsplit_once(':') {
            Some((name, port)) if !port.ends_with(']') => (name, port.parse().ok()),
            // The default port of HTTP is left out.
            _ => (host, Some(80)),
        };
        if port != Some(self.bound.port()) {
            return false;
        }
        if name.eq_ignore_ascii_case("localhost") {
            return self.bound.ip().is_loopback() || self.bound.ip().is_unspecified();
        }
        let bare = name.strip_prefix('[').and_then(|n| n.strip_suffix(']'));
        let Ok(ip) = bare.unwrap_or(name).parse::<IpAddr>() else {
            return false;
        };
        match self.bound.ip() {
            own if own.is_unspecified() => true,
            own => own == ip,
        }
    }

    /// Whether a page of this `Origin` came from this server.
    pub fn is_own_origin(&self, origin: &str) -> bool {
        origin
            .strip_prefix("http://")
            .is_some_and(|host| self.is_own_host(host))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_of_others_are_refused() {
        let names = Names::new("127.0.0.1:8080".parse().unwrap());
        for host in ["127.0.0.1:8080", "localhost:8080", "LocalHost:8080"] {
            assert!(names.is_own_host(host), "{host}");
            assert!(names.is_own_origin(&format!("http://{host}")));
        }
        for host in [
            "",
            "evil.example:8080",
            "127.0.0.1",
            "127.0.0.1:80",
            "127.0.0.1:8080.evil.example",
            "localhost.evil.example:8080",
            "localhost",
            "192.168.0.2:8080",
            "[::1]:8080",
            "127.0.0.1:8080@evil.example",
            "127.0.0.1:08080x",
        ] {
            assert!(!names.is_own_host(host), "{host}");
        }
        for origin in [
            "null",
            "",
            "https://127.0.0.1:8080",
            "http://127.0.0.1:8081",
            "http://evil.example",
            "file://",
            "http://127.0.0.1:8080/path",
            "127.0.0.1:8080",
        ] {
            assert!(!names.is_own_origin(origin), "{origin}");
        }
    }

    #[test]
    fn a_server_on_all_addresses_takes_addresses_but_no_names() {
        let names = Names::new("0.0.0.0:9000".parse().unwrap());
        assert!(names.is_own_host("192.168.0.2:9000"));
        assert!(names.is_own_host("[fe80::1]:9000"));
        assert!(names.is_own_host("localhost:9000"));
        assert!(!names.is_own_host("my-machine:9000"));
        let names = Names::new("[::1]:9000".parse().unwrap());
        assert!(names.is_own_host("[::1]:9000"));
        assert!(!names.is_own_host("[::2]:9000"));
    }
}
