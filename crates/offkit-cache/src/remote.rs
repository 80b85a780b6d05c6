//! Shared stores by Apache OpenDAL: a folder, Redis, an object store.

use std::io;
use std::sync::LazyLock;
use std::thread;
use std::time::Duration;

use opendal::layers::TimeoutLayer;
use opendal::{ErrorKind, Operator};
use tokio::runtime::{Builder, Runtime};

use crate::store::Store;

/// How long one call may take. To build again takes seconds.
const TIMEOUT: Duration = Duration::from_secs(5);

/// The largest entry that is read.
const MAX_SIZE: u64 = 1 << 30;

/// Where files of a shared folder are until they are complete.
const UNFINISHED: &str = ".new";

/// A store that OpenDAL talks to.
#[derive(Debug)]
struct Remote(Operator);

/// Opens a store by its address: `fs:///shared/folder`, `redis://host:6379`, `s3://bucket?region=…`.
///
/// # Errors
///
/// The address is of no kind that is known, or says too little.
pub fn open(address: &str) -> io::Result<Box<dyn Store>> {
    opendal::init_default_registry();
    let folder = address
        .strip_prefix("fs://")
        .or_else(|| address.strip_prefix("file://"));
    let options = folder.map(|folder| ("atomic_write_dir".to_owned(), format!("{folder}/{UNFINISHED}")));
    let options: Vec<_> = options.into_iter().collect();
    let operator = Operator::from_uri((address, options)).map_err(io::Error::other)?;
    let timeout = TimeoutLayer::new().with_timeout(TIMEOUT).with_io_timeout(TIMEOUT);
    Ok(Box::new(Remote(operator.layer(timeout))))
}

/// Runs a call to its end on a thread of its own: this one may be another runtime's, which must not be blocked.
fn wait<T: Send>(call: impl Future<Output = opendal::Result<T>> + Send) -> io::Result<T> {
    static RUNTIME: LazyLock<io::Result<Runtime>> =
        LazyLock::new(|| Builder::new_multi_thread().worker_threads(1).enable_all().build());
    let runtime = RUNTIME
        .as_ref()
        .map_err(|error| io::Error::other(error.to_string()))?;
    let answer = thread::scope(|scope| scope.spawn(|| runtime.block_on(call)).join());
    let answer = answer.map_err(|_| io::Error::other("the store's client panicked"))?;
    answer.map_err(|error| match error.kind() {
        ErrorKind::NotFound => io::ErrorKind::NotFound.into(),
        _ => io::Error::other(error),
    })
}

impl Store for Remote {
    fn read(&self, name: &str) -> io::Result<Vec<u8>> {
        wait(async {
            let size = self.0.stat(name).await?.content_length();
            if size > MAX_SIZE {
                return Err(opendal::Error::new(ErrorKind::NotFound, "it is too large"));
            }
            Ok(self.0.read(name).await?.to_vec())
        })
    }

    fn write(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        let bytes = bytes.to_vec();
        wait(async { self.0.write(name, bytes).await.map(drop) })
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        wait(self.0.delete(name))
    }
}
