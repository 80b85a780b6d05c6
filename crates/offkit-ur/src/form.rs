//! The forms of the tables.

/// A form that the tables of functions have. A version of the interface has several: its number is raised rarely, and
/// functions come, go and change their parameters in between.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// DPC++ 2025.1 (version 0.11) and 2025.2 (0.12).
    V2025_1,
    /// DPC++ 2025.3: one adapter's platforms at a time, launches with a list of properties.
    V2025_3,
    /// DPC++ 2026.0 and 2026.1: launches with a chain of properties.
    V2026_0,
    /// DPC++ 2026.2: launches that bring all arguments, and no other way to set them.
    V2026_2,
}

/// What tells the forms apart: no two releases have the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shape {
    /// Whether the functions of adapters are in the table `Global`; later they are in `Adapter`.
    pub is_global: bool,
    /// Functions of kernels.
    pub kernel: usize,
    /// Functions that submit commands.
    pub enqueue: usize,
    /// Whether there is a table of functions of graphs.
    pub has_graphs: bool,
}

impl Form {
    // In the order of their numbers, which lines of the list have their places by.
    /// All forms, the oldest first.
    pub const ALL: [Form; 4] = [Form::V2025_1, Form::V2025_3, Form::V2026_0, Form::V2026_2];

    /// The versions of the interface that the forms have, as adapters are asked for: 0.12 and 0.11.
    pub const VERSIONS: [u32; 2] = [12, 11];

    /// What it is known by.
    pub fn shape(self) -> Shape {
        // An adapter does not say how long its tables are: they count as far as it fills them in.
        let (is_global, kernel, enqueue, has_graphs) = match self {
            Form::V2025_1 => (true, 16, 26, false),
            Form::V2025_3 => (false, 17, 26, false),
            Form::V2026_0 => (false, 17, 26, true),
            Form::V2026_2 => (false, 13, 25, true),
        };
        Shape {
            is_global,
            kernel,
            enqueue,
            has_graphs,
        }
    }

    /// The form of that shape.
    pub fn of(shape: Shape) -> Option<Form> {
        Form::ALL.into_iter().find(|form| form.shape() == shape)
    }
}

/// A table of functions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Table {
    /// Of adapters.
    Adapter,
    /// Of platforms.
    Platform,
    /// Of devices.
    Device,
    /// Of contexts.
    Context,
    /// Of queues.
    Queue,
    /// Of memory objects.
    Mem,
    /// Of samplers.
    Sampler,
    /// Of unified shared memory.
    Usm,
    /// Of programs.
    Program,
    /// Of kernels.
    Kernel,
    /// Of events.
    Event,
    /// Those that submit commands.
    Enqueue,
    /// Those that submit commands, and are not settled yet.
    EnqueueExp,
}

impl Table {
    /// All tables, in the order of their numbers.
    pub const ALL: [Table; 13] = [
        Table::Adapter,
        Table::Platform,
        Table::Device,
        Table::Context,
        Table::Queue,
        Table::Mem,
        Table::Sampler,
        Table::Usm,
        Table::Program,
        Table::Kernel,
        Table::Event,
        Table::Enqueue,
        Table::EnqueueExp,
    ];

    /// The name of the function that fills it in.
    pub fn getter(self) -> &'static str {
        match self {
            Table::Adapter => "urGetAdapterProcAddrTable",
            Table::Platform => "urGetPlatformProcAddrTable",
            Table::Device => "urGetDeviceProcAddrTable",
            Table::Context => "urGetContextProcAddrTable",
            Table::Queue => "urGetQueueProcAddrTable",
            Table::Mem => "urGetMemProcAddrTable",
            Table::Sampler => "urGetSamplerProcAddrTable",
            Table::Usm => "urGetUSMProcAddrTable",
            Table::Program => "urGetProgramProcAddrTable",
            Table::Kernel => "urGetKernelProcAddrTable",
            Table::Event => "urGetEventProcAddrTable",
            Table::Enqueue => "urGetEnqueueProcAddrTable",
            Table::EnqueueExp => "urGetEnqueueExpProcAddrTable",
        }
    }

    /// The name of the function that fills in the table of adapters' functions in the oldest form.
    pub const GLOBAL_GETTER: &str = "urGetGlobalProcAddrTable";

    /// The name of a function that only the forms with graphs have.
    pub const GRAPH_GETTER: &str = "urGetGraphExpProcAddrTable";
}

/// A function that offkit calls.
#[derive(Debug, Clone, Copy)]
pub struct Function {
    /// Its name; a letter at the end says which of several under one name it is.
    pub name: &'static str,
    /// The table that it is in.
    pub table: Table,
    /// Its place there, in each form.
    pub places: [Option<usize>; 4],
    /// The names of its parameters.
    pub parameters: &'static [&'static str],
}

macro_rules! list {
    ($($table:ident [$($place:tt)+] $name:ident($($parameter:ident: $type:ty),*);)*) => {
        /// All functions.
        pub const FUNCTIONS: &[Function] = &[$(Function {
            name: stringify!($name),
            table: Table::$table,
            places: crate::places!($($place)+),
            parameters: &[$(stringify!($parameter)),*],
        },)*];
    };
}

for_each_function!(list);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_place_is_within_its_table_and_taken_once() {
        for (index, form) in Form::ALL.into_iter().enumerate() {
            let mut taken = std::collections::HashSet::new();
            for Function {
                name, table, places, ..
            } in FUNCTIONS
            {
                let Some(place) = places[index] else { continue };
                assert!(taken.insert((table, place)), "{name} in {form:?}");
                match table {
                    Table::Kernel => assert!(place < form.shape().kernel, "{name} in {form:?}"),
                    Table::Enqueue => assert!(place < form.shape().enqueue, "{name} in {form:?}"),
                    _ => {}
                }
            }
        }
    }

    #[test]
    fn a_form_is_known_by_its_shape() {
        for form in Form::ALL {
            assert_eq!(Form::of(form.shape()), Some(form));
        }
        let unknown = Shape {
            kernel: 18,
            ..Form::V2026_0.shape()
        };
        assert_eq!(Form::of(unknown), None);
    }
}
