//! Shared stores by Apache OpenDAL: a folder, Redis, an object store.
//!
//! What is created where nothing was is a matter of the service: folders and object stores have it, of Redis OpenDAL does
//! not, and it is asked without it. A service that knows no such thing is written to and read again after a while: of
//! machines that do so at the same time, several may be told that they were the first.

use std::io;
use std::sync::LazyLock;
use std::time::{Duration, SystemTime};
use std::{process, thread};

use opendal::layers::TimeoutLayer;
use opendal::{ErrorKind, Operator, OperatorUri};
use redis::{AsyncConnectionConfig, Client, IntoConnectionInfo as _, RedisConnectionInfo, RedisError};
use tokio::runtime::{Builder, Runtime};

use crate::store::Store;

/// How long one call may take. To build again takes seconds.
const TIMEOUT: Duration = Duration::from_secs(5);

/// The largest entry that is read.
const MAX_SIZE: u64 = 1 << 30;

/// Where files of a shared folder are until they are complete.
const UNFINISHED: &str = ".new";

/// How long it takes until what was written is seen by all, where nothing better is known.
const SETTLED: Duration = Duration::from_millis(50);

/// A store that OpenDAL talks to.
#[derive(Debug)]
struct Remote {
    operator: Operator,
    /// Creates what is not there.
    creator: Creator,
}

/// By whom things are created.
#[derive(Debug)]
enum Creator {
    /// By the service, if it can.
    Service(Operator),
    Redis(Client),
}

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
    let (operator, creator) = match (folder, redis_client(address)) {
        (Some(folder), _) => {
            let option = ("atomic_write_dir".to_owned(), format!("{folder}/{UNFINISHED}"));
            // A file that is made elsewhere and then renamed goes over what is there by then.
            let creator = operator(address, None)?;
            (operator(address, Some(option))?, Creator::Service(creator))
        }
        (None, Some(client)) => (
            operator(address, None)?,
            Creator::Redis(client.map_err(io::Error::other)?),
        ),
        (None, None) => {
            let operator = operator(address, None)?;
            (operator.clone(), Creator::Service(operator))
        }
    };
    Ok(Box::new(Remote { operator, creator }))
}

fn operator(address: &str, option: Option<(String, String)>) -> io::Result<Operator> {
    let options: Vec<_> = option.into_iter().collect();
    let operator = Operator::from_uri((address, options)).map_err(io::Error::other)?;
    let timeout = TimeoutLayer::new().with_timeout(TIMEOUT).with_io_timeout(TIMEOUT);
    Ok(operator.layer(timeout))
}

/// A client of the Redis server that OpenDAL is sent to by an address; `None` for other services, and for a cluster of
/// servers.
fn redis_client(address: &str) -> Option<Result<Client, RedisError>> {
    let uri = OperatorUri::new(address, Vec::new()).ok()?;
    if uri.scheme() != "redis" || uri.option("cluster_endpoints").is_some() {
        return None;
    }
    let authority = || Some(format!("redis://{}", uri.authority()?));
    let endpoint = uri.option("endpoint").map(str::to_owned).or_else(authority)?;
    let first = uri.root().and_then(|root| root.split('/').next());
    let database = [first, uri.option("db")].into_iter().flatten();
    let database = database.filter_map(|number| number.parse().ok()).next();
    let mut settings = RedisConnectionInfo::default().set_db(database.unwrap_or_default());
    if let Some(name) = uri.option("username") {
        settings = settings.set_username(name);
    }
    if let Some(password) = uri.option("password") {
        settings = settings.set_password(password);
    }
    let endpoint = endpoint.as_str().into_connection_info();
    Some(endpoint.and_then(|endpoint| Client::open(endpoint.set_redis_settings(settings))))
}

/// Runs a call to its end on a thread of its own: this one may be another runtime's, which must not be blocked.
fn wait<T: Send>(call: impl Future<Output = io::Result<T>> + Send) -> io::Result<T> {
    static RUNTIME: LazyLock<io::Result<(u32, Runtime)>> = LazyLock::new(|| {
        let runtime = Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()?;
        Ok((process::id(), runtime))
    });
    let (process, runtime) = RUNTIME
        .as_ref()
        .map_err(|error| io::Error::other(error.to_string()))?;
    // The runtime's threads are not here then, and a call would wait for them for ever.
    if *process != process::id() {
        return Err(io::Error::other(
            "this process was forked off one that has used the store",
        ));
    }
    thread::scope(|scope| {
        let thread = thread::Builder::new().spawn_scoped(scope, || runtime.block_on(call))?;
        let answer = thread.join();
        answer.map_err(|_| io::Error::other("the store's client panicked"))?
    })
}

fn error_of(error: opendal::Error) -> io::Error {
    match error.kind() {
        // With any other error the store counts as one that fails, and is not asked again.
        ErrorKind::NotFound => io::ErrorKind::NotFound.into(),
        _ => io::Error::other(error),
    }
}

impl Remote {
    /// Creates by writing and reading again.
    async fn create_and_look(&self, name: &str, bytes: Vec<u8>) -> opendal::Result<bool> {
        if self.operator.exists(name).await? {
            return Ok(false);
        }
        // Not what another machine writes there.
        let own = [&bytes[..], &unique()].concat();
        self.operator.write(name, own.clone()).await?;
        tokio::time::sleep(SETTLED).await;
        match self.operator.read(name).await {
            Ok(found) => Ok(found.to_vec() == own),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
            Err(error) => Err(error),
        }
    }
}

/// Sets what is not set; whether it was not.
async fn set_new(client: &Client, key: &str, bytes: &[u8]) -> Result<bool, RedisError> {
    let patient = AsyncConnectionConfig::new()
        .set_connection_timeout(Some(TIMEOUT))
        .set_response_timeout(Some(TIMEOUT));
    let mut connection = client
        .get_multiplexed_async_connection_with_config(&patient)
        .await?;
    let answer: Option<String> = redis::cmd("SET")
        .arg(key)
        .arg(bytes)
        .arg("NX")
        .query_async(&mut connection)
        .await?;
    Ok(answer.is_some())
}

/// Something no other process says.
fn unique() -> Vec<u8> {
    let time = SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default();
    format!(
        "{} {:?} {}",
        process::id(),
        thread::current().id(),
        time.as_nanos()
    )
    .into_bytes()
}

impl Store for Remote {
    fn read(&self, name: &str) -> io::Result<Vec<u8>> {
        wait(async {
            // Asked for first: what is read is in memory as a whole before anybody checks it.
            let size = self.operator.stat(name).await.map_err(error_of)?;
            if size.content_length() > MAX_SIZE {
                return Err(io::Error::new(io::ErrorKind::NotFound, "it is too large"));
            }
            let read = self.operator.read(name).await.map_err(error_of)?;
            Ok(read.to_vec())
        })
    }

    fn write(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        let bytes = bytes.to_vec();
        wait(async { self.operator.write(name, bytes).await.map(drop).map_err(error_of) })
    }

    fn create(&self, name: &str, bytes: &[u8]) -> io::Result<bool> {
        let bytes = bytes.to_vec();
        wait(async {
            let operator = match &self.creator {
                Creator::Service(operator) => operator,
                Creator::Redis(client) => {
                    // As OpenDAL calls it.
                    let info = self.operator.info();
                    let key = format!("{}{name}", info.root().trim_start_matches('/'));
                    return set_new(client, &key, &bytes).await.map_err(io::Error::other);
                }
            };
            let written = operator.write_with(name, bytes.clone()).if_not_exists(true).await;
            match written {
                Ok(_) => Ok(true),
                Err(error) => match error.kind() {
                    // Somebody else's is there, or is being written.
                    ErrorKind::ConditionNotMatch | ErrorKind::AlreadyExists | ErrorKind::Conflict => {
                        Ok(false)
                    }
                    ErrorKind::Unsupported => self.create_and_look(name, bytes).await.map_err(error_of),
                    _ => Err(error_of(error)),
                },
            }
        })
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        wait(async { self.operator.delete(name).await.map_err(error_of) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_nothing_better_is_known_whoever_was_there_last_is_told_so() {
        // It is in this process, and all machines see it.
        opendal::init_default_registry();
        let operator = operator("memory://", None).unwrap();
        let create = || {
            let store = Remote {
                operator: operator.clone(),
                creator: Creator::Service(operator.clone()),
            };
            wait(async {
                store
                    .create_and_look("a", b"claimed".to_vec())
                    .await
                    .map_err(error_of)
            })
            .unwrap()
        };
        let told: Vec<bool> = thread::scope(|scope| {
            let machines: Vec<_> = (0..20).map(|_| scope.spawn(create)).collect();
            machines
                .into_iter()
                .map(|machine| machine.join().unwrap())
                .collect()
        });
        assert!(told.contains(&true));
        // From then on nobody is.
        assert!(!create());
    }
}
