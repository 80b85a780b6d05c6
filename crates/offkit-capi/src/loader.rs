//! The order in which this process looks for symbols: for those of the host its loader's, for those of devices the same.
//!
//! A loader tells which objects there are, in the order in which they were loaded, and which libraries each was linked
//! with. What it does not tell is derived:
//!
//! - The program, what is preloaded, and all that these were linked with is global, in the order of loading.
//! - Of what was loaded later, an object is global if one of its own host symbols is found among the global ones. An
//!   object that defines none for others cannot be told from one that was loaded with `RTLD_LOCAL`.
//! - Objects that were loaded together are those that one object needs, directly or through others, which itself no
//!   other object needs.

use std::collections::{HashMap, HashSet, VecDeque};
use std::fs;

use offkit_runtime::{Loader, SharedObjectId};
use offkit_sync::LazyLock;

use crate::object::{SharedObject, global_symbol};

/// The loader of this process.
#[derive(Debug)]
pub(crate) struct ProcessLoader;

impl Loader for ProcessLoader {
    fn scope(&self, of: Option<SharedObjectId>) -> Vec<SharedObjectId> {
        let objects = SharedObject::all();
        let graph = Graph::new(&objects);
        let mut scope = graph.global();
        let own = of.and_then(|of| objects.iter().position(|object| object.id == of));
        if let Some(own) = own
            && !scope.contains(&own)
        {
            let mut groups: Vec<_> = graph.roots().map(|root| graph.closure([root])).collect();
            groups.retain(|group| group.contains(&own));
            // Objects that need each other in a ring have none that is needed by no other.
            if groups.is_empty() {
                groups.push(graph.closure([own]));
            }
            scope.extend(groups.into_iter().flatten());
        }
        let mut known = HashSet::new();
        scope.retain(|number| known.insert(*number));
        scope.into_iter().map(|number| objects[number].id).collect()
    }
}

/// Which object was linked with which, by their numbers in the order of loading.
struct Graph<'a> {
    objects: &'a [SharedObject],
    needs: Vec<Vec<usize>>,
}

impl<'a> Graph<'a> {
    fn new(objects: &'a [SharedObject]) -> Self {
        let mut numbers = HashMap::new();
        for (number, object) in objects.iter().enumerate() {
            for name in object.names() {
                // The first of a name is what a loader gives to all who need that name.
                numbers.entry(name).or_insert(number);
            }
        }
        let number = |name| numbers.get(name).copied();
        let needs = objects
            .iter()
            .map(|object| object.needed().filter_map(number).collect());
        Self {
            objects,
            needs: needs.collect(),
        }
    }

    /// Objects with all that they need, each before what it needs, as a loader searches them.
    fn closure(&self, of: impl IntoIterator<Item = usize>) -> Vec<usize> {
        let mut open: VecDeque<usize> = of.into_iter().collect();
        let mut known: HashSet<usize> = open.iter().copied().collect();
        let mut all = Vec::new();
        while let Some(number) = open.pop_front() {
            all.push(number);
            let new = self.needs[number].iter().filter(|needed| known.insert(**needed));
            open.extend(new);
        }
        all
    }

    /// The objects that the process started with, in the order of loading.
    fn first(&self) -> HashSet<usize> {
        let is_preloaded = |number: &usize| {
            let object = &self.objects[*number];
            PRELOADED
                .iter()
                .any(|name| object.names().any(|other| other == name))
        };
        let preloaded = (1..self.objects.len()).filter(is_preloaded);
        let first = (!self.objects.is_empty()).then_some(0);
        self.closure(first.into_iter().chain(preloaded))
            .into_iter()
            .collect()
    }

    /// The objects that every other sees, in the order in which they are searched.
    fn global(&self) -> Vec<usize> {
        let first = self.first();
        let is_global = |number: &usize| first.contains(number) || is_global(&self.objects[*number]);
        (0..self.objects.len()).filter(is_global).collect()
    }

    /// The objects that no other one needs.
    fn roots(&self) -> impl Iterator<Item = usize> {
        let is_needed = |number: usize| {
            let mut others = self.needs.iter().enumerate();
            others.any(|(other, needs)| other != number && needs.contains(&number))
        };
        // Not the program, which is the first: what it needs is global.
        (1..self.objects.len()).filter(move |number| !is_needed(*number))
    }
}

/// Whether every object of the process sees the symbols of one that was loaded later than the program.
fn is_global(object: &SharedObject) -> bool {
    for name in &object.defined {
        match global_symbol(name) {
            Some(address) if object.has(address) => return true,
            // Another object's comes before it.
            Some(_) => {}
            // If the object were global, at least its own would be found.
            None => return false,
        }
    }
    false
}

/// What was asked to be loaded before all libraries, when the process started.
static PRELOADED: LazyLock<Vec<String>> = LazyLock::new(|| {
    // As the process was started: by now its own environment may say something else.
    let started_with = fs::read("/proc/self/environ").unwrap_or_default();
    let mut variables = started_with.split(|byte| *byte == 0);
    let variable = variables.find_map(|variable| variable.strip_prefix(b"LD_PRELOAD="));
    let variable = String::from_utf8_lossy(variable.unwrap_or_default()).into_owned();
    let file = fs::read_to_string("/etc/ld.so.preload").unwrap_or_default();
    let names = variable.split([':', ' ']).chain(file.split_whitespace());
    let names = names.filter(|name| !name.is_empty());
    names.map(str::to_owned).collect()
});
