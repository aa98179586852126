//! The opened library.

use super::super::Piece;
use crate::device::DeviceError;
use libloading::Library;
use splatcore_core::backend::Ranks;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::path::{Path, PathBuf};

/// What ranks of one communicator have in common: 128 bytes that one of them makes and gives to
/// the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Id(pub [u8; 128]);

/// A communicator of this process.
pub(super) struct Communicator(*mut c_void);

// SAFETY: it is given from the thread that made it to the one that uses it.
unsafe impl Send for Communicator {}

type Status = c_int;
const SUCCESS: Status = 0;
/// `ncclInProgress`: what was asked for is still being done.
const IN_PROGRESS: Status = 7;
/// `ncclUint8` of nccl.h.
const BYTES: c_int = 1;

/// `ncclSend` and `ncclRecv`: memory, how many numbers, of which type, which rank, communicator,
/// stream.
type Move =
    unsafe extern "C" fn(*mut c_void, usize, c_int, c_int, *mut c_void, *mut c_void) -> Status;

/// The functions that are used, with the signatures of nccl.h.
struct Functions {
    words: unsafe extern "C" fn(Status) -> *const c_char,
    make_id: unsafe extern "C" fn(*mut Id) -> Status,
    join: unsafe extern "C" fn(*mut *mut c_void, c_int, Id, c_int) -> Status,
    begin: unsafe extern "C" fn() -> Status,
    end: unsafe extern "C" fn() -> Status,
    send: Move,
    receive: Move,
    failed: unsafe extern "C" fn(*mut c_void, *mut Status) -> Status,
    abort: unsafe extern "C" fn(*mut c_void) -> Status,
}

/// The opened library.
pub struct NcclLibrary {
    functions: Functions,
    /// Where it was found.
    pub path: PathBuf,
    /// For example 2.27.5.
    pub version: String,
    /// Holds what `functions` point to; a test has functions of its own.
    _library: Option<Library>,
}

impl NcclLibrary {
    /// Opens the library and looks up all of its functions that are used.
    pub(super) fn open(path: &Path) -> Result<Self, libloading::Error> {
        // SAFETY: NCCL's initialisers have no preconditions; the signatures are those of nccl.h.
        unsafe {
            let library = Library::new(path)?;
            let functions = Functions {
                words: *library.get(b"ncclGetErrorString")?,
                make_id: *library.get(b"ncclGetUniqueId")?,
                join: *library.get(b"ncclCommInitRank")?,
                begin: *library.get(b"ncclGroupStart")?,
                end: *library.get(b"ncclGroupEnd")?,
                send: *library.get(b"ncclSend")?,
                receive: *library.get(b"ncclRecv")?,
                failed: *library.get(b"ncclCommGetAsyncError")?,
                abort: *library.get(b"ncclCommAbort")?,
            };
            let get_version: unsafe extern "C" fn(*mut c_int) -> Status =
                *library.get(b"ncclGetVersion")?;
            let mut code = 0;
            get_version(&mut code);
            Ok(Self {
                functions,
                path: path.to_owned(),
                version: version(code),
                _library: Some(library),
            })
        }
    }

    fn checked(&self, what: &str, status: Status) -> Result<(), DeviceError> {
        if status == SUCCESS {
            return Ok(());
        }
        show_what_was_said();
        // SAFETY: NCCL's words are constants.
        let words = unsafe { CStr::from_ptr((self.functions.words)(status)) };
        Err(DeviceError::Failed(format!(
            "NCCL {}: {what}: {}; NCCL_DEBUG=WARN says more",
            self.version,
            words.to_string_lossy()
        )))
    }

    /// A new id. Works without a card.
    ///
    /// # Errors
    /// If NCCL finds no network to meet in.
    pub fn new_id(&self) -> Result<Id, DeviceError> {
        let mut id = Id([0; 128]);
        // SAFETY: the id has the size of ncclUniqueId.
        let status = unsafe { (self.functions.make_id)(&mut id) };
        self.checked("an id for the ranks", status)?;
        Ok(id)
    }

    /// Meets the other ranks; waits for them without end.
    pub(super) fn join(&self, ranks: Ranks, id: Id) -> Result<Communicator, DeviceError> {
        let mut communicator = std::ptr::null_mut();
        let (count, rank) = (ranks.count as c_int, ranks.rank as c_int);
        // SAFETY: the card's context is current.
        let status = unsafe { (self.functions.join)(&mut communicator, count, id, rank) };
        self.checked("the ranks did not come together", status)?;
        show_what_was_said();
        Ok(Communicator(communicator))
    }

    /// Whether no exchange of a communicator has failed since it was queued. Waits for nothing, and
    /// any thread may ask.
    ///
    /// # Errors
    /// What NCCL met: a network that is gone, a rank whose communicator failed.
    pub(super) fn sound(&self, communicator: &Communicator) -> Result<(), DeviceError> {
        let mut met = SUCCESS;
        // SAFETY: the communicator stays for the life of the process.
        let asked = unsafe { (self.functions.failed)(communicator.0, &mut met) };
        self.checked("the state of the exchanges", asked)?;
        match met {
            IN_PROGRESS => Ok(()),
            met => self.checked("an exchange failed while it was under way", met),
        }
    }

    /// Ends what is under way, without its result. The communicator must not be used again.
    pub(super) fn abort(&self, communicator: &Communicator) {
        // SAFETY: the caller's promise.
        let status = unsafe { (self.functions.abort)(communicator.0) };
        // What stopped it has been said.
        let _ = status;
    }

    /// Queues an exchange as one group: pieces of one pair of ranks go in their order, all others
    /// at the same time.
    ///
    /// # Safety
    /// The pieces are the card's own and stay until the stream has passed; the stream is the
    /// card's.
    pub(super) unsafe fn exchange(
        &self,
        communicator: &Communicator,
        stream: *mut c_void,
        give: &[Piece],
        take: &[Piece],
    ) -> Result<(), DeviceError> {
        let functions = &self.functions;
        // SAFETY: the caller's promise.
        unsafe {
            self.checked("an exchange", (functions.begin)())?;
            for (go, pieces) in [(functions.send, give), (functions.receive, take)] {
                for piece in pieces {
                    let memory = piece.address as usize as *mut c_void;
                    let rank = piece.rank as c_int;
                    let status = go(memory, piece.bytes, BYTES, rank, communicator.0, stream);
                    self.checked("an exchange", status)?;
                }
            }
            self.checked("an exchange", (functions.end)())
        }
    }
}

/// NCCL writes what `NCCL_DEBUG` asks for to C's stdout, which keeps lines for a pipe back; a
/// process that ends without C's exit would take them along.
fn show_what_was_said() {
    #[cfg(target_os = "linux")]
    // SAFETY: without a stream it is for all streams, each of which is locked meanwhile.
    unsafe {
        libc::fflush(std::ptr::null_mut());
    }
}

/// NCCL's number of its version in words: until 2.8 a thousands' digit less.
fn version(code: c_int) -> String {
    let major = if code < 10_000 { 1_000 } else { 10_000 };
    format!("{}.{}.{}", code / major, code % major / 100, code % 100)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::peers::nccl::nccl;

    #[test]
    fn versions_are_told() {
        assert_eq!(version(22_705), "2.27.5");
        assert_eq!(version(2_708), "2.7.8");
    }

    /// NCCL as far as errors go: the communicator is where the error lies that it has met.
    fn fake() -> NcclLibrary {
        unsafe extern "C" fn words(status: Status) -> *const c_char {
            let words = match status {
                6 => c"remote process exited or there was a network error",
                _ => c"something else",
            };
            words.as_ptr()
        }
        unsafe extern "C" fn make_id(_: *mut Id) -> Status {
            SUCCESS
        }
        unsafe extern "C" fn join(_: *mut *mut c_void, _: c_int, _: Id, _: c_int) -> Status {
            SUCCESS
        }
        unsafe extern "C" fn group() -> Status {
            SUCCESS
        }
        unsafe extern "C" fn go(
            _: *mut c_void,
            _: usize,
            _: c_int,
            _: c_int,
            _: *mut c_void,
            _: *mut c_void,
        ) -> Status {
            SUCCESS
        }
        unsafe extern "C" fn failed(communicator: *mut c_void, met: *mut Status) -> Status {
            if communicator.is_null() {
                return 4;
            }
            // SAFETY: the test's communicator is a status.
            unsafe { *met = *communicator.cast() };
            SUCCESS
        }
        unsafe extern "C" fn abort(_: *mut c_void) -> Status {
            SUCCESS
        }
        NcclLibrary {
            functions: Functions {
                words,
                make_id,
                join,
                begin: group,
                end: group,
                send: go,
                receive: go,
                failed,
                abort,
            },
            path: PathBuf::new(),
            version: "2.28.9".into(),
            _library: None,
        }
    }

    #[test]
    fn what_an_exchange_met_is_said() {
        let (library, mut met) = (fake(), SUCCESS);
        let communicator = Communicator((&raw mut met).cast());
        for status in [SUCCESS, IN_PROGRESS] {
            // SAFETY: it points to `met`.
            unsafe { *communicator.0.cast() = status };
            assert!(library.sound(&communicator).is_ok());
        }
        unsafe { *communicator.0.cast() = 6 as Status };
        let error = library.sound(&communicator).unwrap_err().to_string();
        assert_contains!(error, "NCCL 2.28.9: an exchange failed", "network error");
        let none = Communicator(std::ptr::null_mut());
        let error = library.sound(&none).unwrap_err().to_string();
        assert_contains!(error, "the state of the exchanges: something else");
    }

    /// Needs the library and no card.
    #[test]
    fn every_id_is_new() {
        let library = match nccl() {
            Ok(library) => library,
            Err(error) => return eprintln!("skipped: {error}"),
        };
        let [one, other] = [0, 1].map(|_| library.new_id());
        match (one, other) {
            (Ok(one), Ok(other)) => assert!(one != other),
            (Err(error), _) | (_, Err(error)) => eprintln!("skipped: {error}"),
        }
    }
}
