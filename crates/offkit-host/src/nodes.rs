//! The nodes that drivers of devices have in the file system.

use std::fs::{self, OpenOptions};
use std::io;
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
    /// What can be done about that, as far as the node's owner and rights tell.
    pub advice: Option<String>,
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
        Self {
            path,
            of,
            refused,
            advice: None,
        }
    }

    /// The same with what can be done.
    #[must_use]
    pub fn advised(mut self, advice: Option<String>) -> Self {
        self.advice = advice;
        self
    }
}

/// Who may open a node.
#[derive(Debug, Clone, Copy)]
struct Rights<'a> {
    /// The lowest nine bits: the owner's, the group's, everybody's.
    mode: u32,
    /// The group that owns it: its name, or its number.
    group: &'a str,
}

impl Rights<'_> {
    /// What a user can do whom the system does not let open a node.
    fn advice(self, path: &Path, is_of_nvidia: bool) -> String {
        const OTHERS: u32 = 0o006;
        const GROUP: u32 = 0o060;
        let Self { mode, group } = self;
        let path = path.display();
        if mode & OTHERS == OTHERS {
            let start = match is_of_nvidia {
                true => "`--gpus all`".to_owned(),
                false => format!("`--device {path}`"),
            };
            return format!(
                "Everybody has the rights to open it (mode {mode:04o}), and something else forbids it: a container that was \
                 started without the device ({start}), or a security module."
            );
        }
        // Nobody is told to become a member of the superuser's group.
        if mode & GROUP == GROUP && !matches!(group, "root" | "0") {
            return format!("Add this user to the group `{group}`, which may open it, and log in again.");
        }
        let made = match is_of_nvidia {
            true => {
                ": NVIDIA's driver gives everybody the rights (0666) unless the options NVreg_DeviceFileMode, -UID and \
                 -GID of its kernel module say otherwise"
            }
            false => "",
        };
        let who = match mode & GROUP == GROUP {
            true => "its owner and the superuser's group",
            false => "its owner",
        };
        format!("Only {who} may open it (mode {mode:04o}, group {group}){made}.")
    }
}

/// What can be done where a node was not opened.
#[cfg(unix)]
fn advice(path: &Path, error: &io::Error, family: &Family) -> Option<String> {
    use std::os::unix::fs::MetadataExt;
    if error.kind() != io::ErrorKind::PermissionDenied {
        return Some("The kernel's driver does not answer for it: `dmesg` may say why.".to_owned());
    }
    let metadata = fs::metadata(path).ok()?;
    let number = metadata.gid().to_string();
    let groups = fs::read_to_string("/etc/group").unwrap_or_default();
    let mut lines = groups.lines().map(|line| line.split(':'));
    let name = lines.find_map(|mut fields| {
        let name = fields.next()?;
        (fields.nth(1)? == number).then_some(name)
    });
    let rights = Rights {
        mode: metadata.mode() & 0o777,
        group: name.unwrap_or(&number),
    };
    Some(rights.advice(path, family.of == NVIDIA.of))
}

#[cfg(not(unix))]
fn advice(_: &Path, _: &io::Error, _: &Family) -> Option<String> {
    None
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
        // For both, as drivers' libraries open them: the right to read alone is of no use to these.
        let opened = OpenOptions::new().read(true).write(true).open(&path);
        let Err(error) = opened else {
            return Node::new(path, family.of, None);
        };
        let advice = advice(&path, &error, family);
        Node::new(path, family.of, Some(error.to_string())).advised(advice)
    };
    paths_of(family).into_iter().map(node).collect()
}

/// Where nodes are.
fn dev() -> PathBuf {
    let of_tests = program::naming_variable(DEV_VARIABLE);
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn advice_is_by_a_nodes_own_rights() {
        let says = |mode, group, is_of_nvidia| {
            let path = Path::new("/dev/node");
            Rights { mode, group }.advice(path, is_of_nvidia)
        };
        assert!(says(0o660, "render", false).starts_with("Add this user to the group `render`"));
        assert!(says(0o660, "clever", true).contains("the group `clever`"));
        // What NVIDIA's driver does without options, in a container that has the node and not the device.
        assert!(says(0o666, "root", true).contains("`--gpus all`"));
        assert!(says(0o666, "root", false).contains("`--device /dev/node`"));
        for (mode, group, who) in [
            (0o660, "root", "its owner and the superuser's group"),
            (0o600, "video", "its owner"),
            (0o000, "0", "its owner"),
        ] {
            let words = says(mode, group, true);
            assert!(
                words.starts_with(&format!(
                    "Only {who} may open it (mode {mode:04o}, group {group})"
                )) && words.contains("NVreg_DeviceFileMode"),
                "{words}"
            );
        }
    }
}
