//! Who calls whom, and what a kernel needs.

use std::collections::{HashMap, HashSet, VecDeque};

use crate::dr::{Instruction, Operand};
use crate::grammar::{ExecutionModel, Op};

use crate::index::Index;
use crate::module::Module;
use crate::symbols::{Linkage, SymbolKind, is_import};

/// Most steps of the way to a symbol that are told. With all of them, the ways to all symbols could take the square of
/// the size of the module.
const MAX_CHAIN: usize = 32;

/// A symbol that a kernel needs from another module.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Need {
    /// The linkage name of the import.
    pub symbol: String,
    /// Function or variable.
    pub kind: SymbolKind,
    /// The shortest way to it: the kernel, the functions in between, the symbol itself. Constants that refer to the
    /// symbol are left out. Of a way of more than 32 steps only the last are there, behind the kernel and `…`.
    pub chain: Vec<String>,
}

/// What each function, variable and constant of a module refers to.
///
/// Every mention of a function counts as a call of it, so that calls through pointers are covered.
///
/// ```no_run
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use offkit_spirv::{CallGraph, Module};
///
/// let module = Module::from_bytes(&std::fs::read("app.spv")?)?;
/// let graph = CallGraph::new(&module);
/// for kernel in graph.kernels() {
///     for need in graph.needs(kernel) {
///         println!("{kernel} needs {}: {}", need.symbol, need.chain.join(" -> "));
///     }
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct CallGraph {
    nodes: HashMap<u32, Node>,
    kernels: Vec<(String, u32)>,
    /// The same by name; of several of one name, the first.
    by_name: HashMap<String, u32>,
}

/// A function, or an instruction at module scope.
#[derive(Clone, Debug)]
struct Node {
    label: String,
    role: Role,
    /// Functions and module-scope ids mentioned, in order of first mention.
    uses: Vec<u32>,
    has_barrier: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    Function { imported: bool },
    Variable { imported: bool },
    Constant,
}

/// Everything reached from one function, in order of distance.
pub(crate) struct Reach {
    /// Each id reached, with the id it was reached from.
    pub(crate) from: HashMap<u32, Option<u32>>,
    pub(crate) order: Vec<u32>,
}

impl CallGraph {
    /// Reads the graph of a module.
    pub fn new(module: &Module) -> Self {
        Self::of(&Index::new(module.dr()))
    }

    pub(crate) fn of(index: &Index<'_>) -> Self {
        let module = index.module();
        let mut nodes = HashMap::new();
        for instruction in &module.types_global_values {
            let role = match instruction.opcode {
                Op::Variable | Op::UntypedVariableKHR => Role::Variable {
                    imported: instruction.result_id.is_some_and(|id| is_imported(index, id)),
                },
                // No type needs a symbol of another module.
                op if op.is_type() => continue,
                _ => Role::Constant,
            };
            if let Some(id) = instruction.result_id {
                nodes.insert(id, Node::new(index, id, role, std::iter::once(instruction)));
            }
        }
        for function in &module.functions {
            if let Some(id) = function.def_id() {
                let role = Role::Function {
                    imported: is_imported(index, id),
                };
                nodes.insert(id, Node::new(index, id, role, function.all_inst_iter()));
            }
        }
        let kernels: Vec<_> = kernels(index).map(|(name, id)| (name.to_owned(), id)).collect();
        Self {
            nodes,
            by_name: kernels.iter().rev().cloned().collect(),
            kernels,
        }
    }

    /// The names of the kernels, in module order.
    pub fn kernels(&self) -> impl Iterator<Item = &str> {
        self.kernels.iter().map(|(name, _)| name.as_str())
    }

    /// The functions a kernel reaches, nearest first, without the kernel itself. Imports are among them. Empty when
    /// there is no such kernel.
    pub fn functions(&self, kernel: &str) -> Vec<&str> {
        let Some(id) = self.kernel_id(kernel) else {
            return Vec::new();
        };
        let order = self.reach(id).order;
        order
            .into_iter()
            .filter(|reached| *reached != id)
            .filter_map(|id| self.nodes.get(&id))
            .filter(|node| matches!(node.role, Role::Function { .. }))
            .map(|node| node.label.as_str())
            .collect()
    }

    /// The symbols a kernel needs from other modules, nearest first. Left out is what the device supplies: what belongs
    /// to SPIR-V itself (`__spirv_…`), and functions of OpenCL C ([`is_opencl_builtin`](crate::is_opencl_builtin)).
    /// Empty when there is no such kernel.
    pub fn needs(&self, kernel: &str) -> Vec<Need> {
        let Some(id) = self.kernel_id(kernel) else {
            return Vec::new();
        };
        let reach = self.reach(id);
        let needs = self.imports(&reach).map(|(id, symbol, kind)| Need {
            symbol: symbol.to_owned(),
            kind,
            chain: self.chain(&reach, id, kernel),
        });
        needs.collect()
    }

    /// The kernels with the ids of their functions, in module order.
    pub(crate) fn kernel_functions(&self) -> impl Iterator<Item = (&str, u32)> {
        self.kernels.iter().map(|(name, id)| (name.as_str(), *id))
    }

    /// The symbols of other modules among what was reached.
    pub(crate) fn imports<'a>(
        &'a self,
        reach: &'a Reach,
    ) -> impl Iterator<Item = (u32, &'a str, SymbolKind)> {
        let nodes = reach
            .order
            .iter()
            .filter_map(|id| Some((*id, self.nodes.get(id)?)));
        nodes.filter_map(|(id, node)| {
            let kind = match node.role {
                Role::Function { imported: true } => SymbolKind::Function,
                Role::Variable { imported: true } => SymbolKind::Variable,
                _ => return None,
            };
            Some((id, node.label.as_str(), kind))
        })
    }

    fn kernel_id(&self, kernel: &str) -> Option<u32> {
        self.by_name.get(kernel).copied()
    }

    /// The way from a kernel to what it reaches, in names.
    pub(crate) fn chain(&self, reach: &Reach, target: u32, kernel: &str) -> Vec<String> {
        let mut chain = Vec::new();
        let mut at = Some(target);
        for _ in 0..MAX_CHAIN {
            let Some(id) = at else { break };
            at = reach.from.get(&id).copied().flatten();
            match self.nodes.get(&id) {
                // The root is a function, which may be called otherwise than the kernel is launched.
                _ if at.is_none() => chain.push(kernel.to_owned()),
                Some(node) if node.role != Role::Constant => chain.push(node.label.clone()),
                _ => {}
            }
        }
        if at.is_some() {
            chain.extend(["…".to_owned(), kernel.to_owned()]);
        }
        chain.reverse();
        chain
    }

    /// Everything that `root` mentions, directly or not, starting with itself.
    pub(crate) fn reach(&self, root: u32) -> Reach {
        let mut from = HashMap::from([(root, None)]);
        let mut order = Vec::new();
        let mut queue = VecDeque::from([root]);
        // By breadth: so `from` tells of the shortest ways, and `order` is that of distance.
        while let Some(id) = queue.pop_front() {
            order.push(id);
            for &used in self.nodes.get(&id).map_or(&[][..], |node| &node.uses) {
                if self.nodes.contains_key(&used) && !from.contains_key(&used) {
                    from.insert(used, Some(id));
                    queue.push_back(used);
                }
            }
        }
        Reach { from, order }
    }

    /// Whether a function waits at a barrier in its own body.
    pub(crate) fn has_barrier(&self, id: u32) -> bool {
        self.nodes.get(&id).is_some_and(|node| node.has_barrier)
    }
}

impl Node {
    fn new<'i>(index: &Index<'_>, id: u32, role: Role, body: impl Iterator<Item = &'i Instruction>) -> Self {
        let mut node = Self {
            label: index.label(id),
            role,
            uses: Vec::new(),
            has_barrier: false,
        };
        // With itself: what it needs is no more by a call of its own.
        let mut seen = HashSet::from([id]);
        for instruction in body {
            let op = instruction.opcode;
            node.has_barrier |= matches!(
                op,
                Op::ControlBarrier | Op::MemoryNamedBarrier | Op::ControlBarrierArriveEXT
            );
            for used in instruction.operands.iter().filter_map(Operand::id_ref_any) {
                // Most ids are of types, and of values and labels of the function itself: none of
                // them leads on.
                let is_shared = index.function(used).is_some()
                    || index.global(used).is_some_and(|global| !global.opcode.is_type());
                if is_shared && seen.insert(used) {
                    node.uses.push(used);
                }
            }
        }
        node
    }
}

/// Whether another module has to supply a function or variable.
fn is_imported(index: &Index<'_>, id: u32) -> bool {
    index
        .linkage(id)
        .is_some_and(|(name, linkage)| is_import(name, Linkage::from(linkage), index.built_in(id).is_some()))
}

/// Name and function id of each entry point for OpenCL-style devices.
pub(crate) fn kernels<'m>(index: &Index<'m>) -> impl Iterator<Item = (&'m str, u32)> {
    let entry_points = index.module().entry_points.iter();
    entry_points.filter_map(|entry_point| match entry_point.operands.as_slice() {
        [
            Operand::ExecutionModel(ExecutionModel::Kernel),
            Operand::IdRef(id),
            Operand::LiteralString(name),
            ..,
        ] => Some((name.as_str(), *id)),
        _ => None,
    })
}
