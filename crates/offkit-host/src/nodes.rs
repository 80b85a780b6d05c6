//! The nodes that drivers of devices have in the file system.

use std::env;
use std::fs::{self, OpenOptions};
use std::path::{Path, PathBuf};

use crate::program;

/// The environment variable that names the folder which tests have in the place of `/dev`. Programs with more rights than
/// their user's do not look at it.
pub const DEV_VARIABLE: &str = "OFFKIT_TEST_DEV";

/// A device's node in the file system.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Node {
    /// Where it is: `/dev/dri/renderD128`.
    pub path: PathBuf,
    /// What it belongs to.
    pub of: &'static str,
    /// Why it cannot be opened; none if it can.
    pub refused: Option<String>,
}

/// Nodes of one kind.
struct Family {
    /// Below `/dev`.
    folder: &'static str,
    /// What their names begin with.
    prefix: &'static str,
    /// What may follow, beside a number.
    suffixes: &'static [&'static str],
    of: &'static str,
}

impl Family {
    fn has(&self, name: &str) -> bool {
        name.strip_prefix(self.prefix).is_some_and(|rest| {
            self.suffixes.contains(&rest)
                || !rest.is_empty() && rest.bytes().all(|byte| byte.is_ascii_digit())
        })
    }
}

const NVIDIA: Family = Family {
    folder: "",
    prefix: "nvidia",
    // Not those for displays and tools, which programs that compute do without.
    suffixes: &["ctl", "-uvm"],
    of: "NVIDIA's driver",
};

const OTHERS: [Family; 4] = [
    Family {
        folder: "dri",
        prefix: "renderD",
        suffixes: &[],
        of: "a GPU (Intel, AMD)",
    },
    Family {
        folder: "",
        prefix: "kfd",
        suffixes: &[""],
        of: "AMD's compute driver",
    },
    Family {
        folder: "accel",
        prefix: "accel",
        suffixes: &[],
        of: "an accelerator",
    },
    Family {
        folder: "",
        prefix: "dxg",
        suffixes: &[""],
        of: "the GPU of Windows below (WSL)",
    },
];

impl Node {
    /// A node, and why it cannot be opened.
    #[must_use]
    pub fn new(path: PathBuf, of: &'static str, refused: Option<String>) -> Self {
        Self { path, of, refused }
    }
}

/// The nodes of devices. Each is opened, to see whether this user may.
#[must_use]
pub fn nodes() -> Vec<Node> {
    let mut nodes: Vec<Node> = OTHERS.iter().chain([&NVIDIA]).flat_map(of_family).collect();
    nodes.sort_by(|one, other| one.path.cmp(&other.path));
    nodes
}

/// The nodes of NVIDIA's devices.
#[must_use]
pub fn nodes_of_nvidia() -> Vec<Node> {
    let mut nodes = of_family(&NVIDIA);
    nodes.sort_by(|one, other| one.path.cmp(&other.path));
    nodes
}

/// Whether there are nodes of NVIDIA's devices, which are not opened for it: that would wake them.
#[must_use]
pub fn has_nodes_of_nvidia() -> bool {
    !paths_of(&NVIDIA).is_empty()
}

fn of_family(family: &Family) -> Vec<Node> {
    let node = |path: PathBuf| {
        let opened = OpenOptions::new().read(true).write(true).open(&path);
        let refused = opened.err().map(|error| error.to_string());
        Node::new(path, family.of, refused)
    };
    paths_of(family).into_iter().map(node).collect()
}

/// Where nodes are.
fn dev() -> PathBuf {
    let of_tests = env::var_os(DEV_VARIABLE).filter(|_| !program::is_privileged());
    of_tests.map_or_else(|| Path::new("/dev").to_owned(), PathBuf::from)
}

fn paths_of(family: &Family) -> Vec<PathBuf> {
    let names = fs::read_dir(dev().join(family.folder))
        .into_iter()
        .flatten()
        .flatten();
    let paths = names.map(|entry| entry.path()).filter(|path| {
        let name = path.file_name().map(|name| name.to_string_lossy());
        name.is_some_and(|name| family.has(&name)) && !path.is_dir()
    });
    paths.collect()
}
