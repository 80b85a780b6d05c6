//! Small modules that stand for much: they take no more time and memory than their size warrants.

use offkit_spirv::{CallGraph, Limits, LinkError, LinkInput, LinkOptions, Module, ReadError, link, reflect};
use rspirv::spirv::{Decoration, LinkageType, Op};

/// Writes a module word by word.
struct Words {
    words: Vec<u32>,
    next: u32,
}

impl Words {
    fn new() -> Self {
        let mut words = Self {
            words: vec![0x0723_0203, 0x0001_0400, 0, 0, 0],
            next: 1,
        };
        for capability in [6, 4, 5] {
            words.push(Op::Capability, &[capability]);
        }
        words.push(Op::MemoryModel, &[2, 2]);
        words
    }

    fn id(&mut self) -> u32 {
        self.next += 1;
        self.next - 1
    }

    fn ids(&mut self, count: usize) -> Vec<u32> {
        (0..count).map(|_| self.id()).collect()
    }

    fn push(&mut self, op: Op, operands: &[u32]) {
        let length = u32::try_from(operands.len() + 1).unwrap();
        self.words.push(length << 16 | op as u32);
        self.words.extend(operands);
    }

    fn finish(mut self) -> Vec<u8> {
        self.words[3] = self.next;
        self.words.into_iter().flat_map(u32::to_le_bytes).collect()
    }
}

fn text(text: &str) -> Vec<u32> {
    let mut bytes = text.as_bytes().to_vec();
    bytes.resize((bytes.len() / 4 + 1) * 4, 0);
    let words = bytes.chunks_exact(4);
    words
        .map(|word| u32::from_le_bytes(word.try_into().unwrap()))
        .collect()
}

/// A kernel function with many parameters and many entry points.
fn entry_points(count: usize, parameters: usize) -> Vec<u8> {
    let mut w = Words::new();
    let [void, int, signature, function] = [w.id(), w.id(), w.id(), w.id()];
    for number in 0..count {
        w.push(
            Op::EntryPoint,
            &[&[6, function], &text(&number.to_string())[..]].concat(),
        );
    }
    w.push(Op::TypeVoid, &[void]);
    w.push(Op::TypeInt, &[int, 32, 0]);
    w.push(
        Op::TypeFunction,
        &[&[signature, void], &vec![int; parameters][..]].concat(),
    );
    w.push(Op::Function, &[void, function, 0, signature]);
    for id in w.ids(parameters) {
        w.push(Op::FunctionParameter, &[int, id]);
    }
    let label = w.id();
    w.push(Op::Label, &[label]);
    w.push(Op::Return, &[]);
    w.push(Op::FunctionEnd, &[]);
    w.finish()
}

/// A decoration group of `decorations` decorations, applied to `targets` ids or as often to one.
fn group(decorations: usize, targets: usize, to_one: bool) -> Vec<u8> {
    let mut w = Words::new();
    let [int, group] = [w.id(), w.id()];
    for _ in 0..decorations {
        w.push(Op::Decorate, &[group, Decoration::Alignment as u32, 4]);
    }
    w.push(Op::DecorationGroup, &[group]);
    let ids = if to_one {
        vec![int; targets]
    } else {
        w.ids(targets)
    };
    w.push(Op::GroupDecorate, &[&[group], &ids[..]].concat());
    w.push(Op::TypeInt, &[int, 32, 0]);
    if !to_one {
        for id in ids {
            w.push(Op::Constant, &[int, id, id]);
        }
    }
    w.finish()
}

/// Functions of which each calls the next and an import of its own; the first `kernels` are kernels.
fn chain(length: usize, kernels: usize) -> Vec<u8> {
    let mut w = Words::new();
    let [void, signature] = [w.id(), w.id()];
    let (functions, imports) = (w.ids(length), w.ids(length));
    for (number, function) in functions.iter().take(kernels).enumerate() {
        w.push(
            Op::EntryPoint,
            &[&[6, *function], &text(&format!("k{number}"))[..]].concat(),
        );
    }
    for (number, import) in imports.iter().enumerate() {
        let (decoration, linkage) = (Decoration::LinkageAttributes as u32, LinkageType::Import as u32);
        let name = text(&format!("i{number}"));
        w.push(
            Op::Decorate,
            &[&[*import, decoration], &name[..], &[linkage]].concat(),
        );
    }
    w.push(Op::TypeVoid, &[void]);
    w.push(Op::TypeFunction, &[signature, void]);
    for import in &imports {
        w.push(Op::Function, &[void, *import, 0, signature]);
        w.push(Op::FunctionEnd, &[]);
    }
    for (number, function) in functions.iter().enumerate() {
        w.push(Op::Function, &[void, *function, 0, signature]);
        let label = w.id();
        w.push(Op::Label, &[label]);
        for callee in imports.get(number).into_iter().chain(functions.get(number + 1)) {
            let result = w.id();
            w.push(Op::FunctionCall, &[void, result, *callee]);
        }
        w.push(Op::Return, &[]);
        w.push(Op::FunctionEnd, &[]);
    }
    w.finish()
}

fn refused(bytes: &[u8]) -> (&'static str, usize) {
    match Module::from_bytes(bytes) {
        Err(ReadError::Limit { what, found, .. }) => (what, found),
        other => panic!("{other:?}"),
    }
}

#[test]
fn many_entry_points_of_one_function() {
    assert_eq!(
        refused(&entry_points(4000, 4000)),
        ("entry points of one function", 4000)
    );
    let few = Module::from_bytes(&entry_points(4, 3)).unwrap();
    let kernels = reflect(&few).kernels;
    assert_eq!(kernels.len(), 4);
    assert!(kernels.iter().all(|kernel| kernel.parameters.len() == 3));
}

#[test]
fn large_decoration_groups() {
    for to_one in [false, true] {
        let refusal = refused(&group(8000, 8000, to_one));
        assert_eq!(refusal, ("decorations in groups", 64_000_000));
    }
    let bytes = group(10, 20, false);
    assert!(Module::from_bytes(&bytes).is_ok());
    let mut limits = Limits::default();
    limits.max_grouped_decorations = 200;
    assert!(Module::from_bytes_with(&bytes, &limits).is_ok());
    limits.max_grouped_decorations = 199;
    assert!(Module::from_bytes_with(&bytes, &limits).is_err());
}

/// A module that was not read within the limits is not made large either.
#[test]
fn linking_large_decoration_groups() {
    let mut limits = Limits::default();
    limits.max_grouped_decorations = usize::MAX;
    let module = Module::from_bytes_with(&group(1000, 3000, true), &limits).unwrap();
    let input = LinkInput {
        label: "app",
        module: &module,
    };
    let error = link(&[input], LinkOptions::default()).unwrap_err();
    assert!(matches!(error, LinkError::TooManyDecorations { .. }), "{error}");
    assert_eq!(reflect(&module).kernels, []);
}

fn unresolved(bytes: &[u8]) -> LinkError {
    let module = Module::from_bytes(bytes).unwrap();
    let input = LinkInput {
        label: "app",
        module: &module,
    };
    link(&[input], LinkOptions::default()).unwrap_err()
}

#[test]
fn long_ways_to_missing_symbols() {
    let bytes = chain(4000, 1);
    let error = unresolved(&bytes);
    let message = error.to_string();
    assert!(message.len() < 2 * bytes.len(), "{} bytes", message.len());
    let LinkError::Unresolved(symbols) = error else {
        panic!("{message}")
    };
    assert_eq!(symbols.len(), 4000);
    assert_eq!(symbols[0].chains, [["k0", "i0"]]);
    assert_eq!((symbols[3999].chains.len(), symbols[3999].more_kernels), (0, 1));
    let last = symbols[3999].to_string();
    assert_eq!(last, "function 'i3999', imported by app, needed by 1 kernel");

    let module = Module::from_bytes(&bytes).unwrap();
    let needs = CallGraph::new(&module).needs("k0");
    let far = &needs.last().unwrap().chain;
    assert_eq!(far[..2], ["k0", "…"]);
    assert_eq!((far.len(), far.last().unwrap().as_str()), (34, "i3999"));
}

#[test]
fn many_kernels_that_need_a_symbol() {
    let LinkError::Unresolved(symbols) = unresolved(&chain(6, 6)) else {
        panic!("resolved")
    };
    let last = symbols.last().unwrap();
    assert_eq!((last.chains.len(), last.more_kernels), (4, 2));
    let message = last.to_string();
    assert!(message.ends_with(" and 2 more kernels"), "{message}");
}

/// A module with a variable `v` of structures within each other, the innermost with a pointer to integers of some width.
fn nested(depth: usize, width: u32, linkage: LinkageType) -> Vec<u8> {
    let mut w = Words::new();
    let [int, pointer, place, variable] = [w.id(), w.id(), w.id(), w.id()];
    let structures = w.ids(depth);
    let linkage = [
        vec![variable, Decoration::LinkageAttributes as u32],
        text("v"),
        vec![linkage as u32],
    ];
    w.push(Op::Decorate, &linkage.concat());
    w.push(Op::TypeInt, &[int, width, 0]);
    w.push(Op::TypePointer, &[pointer, 5, int]);
    let mut inner = pointer;
    for structure in structures {
        w.push(Op::TypeStruct, &[structure, inner]);
        inner = structure;
    }
    w.push(Op::TypePointer, &[place, 5, inner]);
    w.push(Op::Variable, &[place, variable, 5]);
    w.finish()
}

#[test]
fn linking_variables_of_deeply_nested_types() {
    let import = Module::from_bytes(&nested(30_000, 8, LinkageType::Import)).unwrap();
    let export = Module::from_bytes(&nested(30_000, 32, LinkageType::Export)).unwrap();
    let modules = [("a", &import), ("b", &export)];
    let inputs = modules.map(|(label, module)| LinkInput { label, module });
    link(&inputs, LinkOptions::default()).unwrap();
}

#[test]
fn types_in_a_circle() {
    let mut w = Words::new();
    let [one, other] = [w.id(), w.id()];
    w.push(Op::TypeStruct, &[one, other]);
    w.push(Op::TypeStruct, &[other, one]);
    let module = Module::from_bytes(&w.finish()).unwrap();
    let input = LinkInput {
        label: "app",
        module: &module,
    };
    let error = link(&[input], LinkOptions::default()).unwrap_err();
    assert_eq!(error, LinkError::TypeCycle);
}

/// A kernel that mentions many variables, which are not listed at its entry point.
fn mentions(count: usize) -> Vec<u8> {
    let mut w = Words::new();
    let [void, int, pointer, signature, function, label] = [(); 6].map(|()| w.id());
    let variables = w.ids(count);
    let values = w.ids(count);
    w.push(Op::EntryPoint, &[vec![6, function], text("k")].concat());
    w.push(Op::TypeVoid, &[void]);
    w.push(Op::TypeInt, &[int, 32, 0]);
    w.push(Op::TypePointer, &[pointer, 5, int]);
    w.push(Op::TypeFunction, &[signature, void]);
    for variable in &variables {
        w.push(Op::Variable, &[pointer, *variable, 5]);
    }
    w.push(Op::Function, &[void, function, 0, signature]);
    w.push(Op::Label, &[label]);
    for (variable, value) in variables.iter().zip(&values) {
        w.push(Op::Load, &[int, *value, *variable]);
    }
    w.push(Op::Return, &[]);
    w.push(Op::FunctionEnd, &[]);
    w.finish()
}

#[test]
fn more_variables_than_an_entry_point_can_list() {
    // The execution model, the function and the name take three words, and the first word one.
    let module = Module::from_bytes(&mentions(65_536 - 4)).unwrap();
    let input = LinkInput {
        label: "app",
        module: &module,
    };
    let error = link(&[input], LinkOptions::default()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "the entry point `k` has 65536 words with the variables that it lists, and an instruction at most 65535"
    );
}
