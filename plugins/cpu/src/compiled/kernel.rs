//! A kernel that is compiled for each kind of launch when the first of it comes.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use offkit_compile::{Cut, Facts, Variant};
use offkit_pi::NdRange;
use offkit_spirv::{ParameterKind, Storage};

use super::code::{Code, Slot};
use super::kept::{self, Source};
use super::options::KernelOptions;
use super::order::Order;
use super::service;
use super::shape::Widths;
use crate::kernel::{KernelCode, Pace};
use crate::launch::{Arguments, Geometry, suggested_local_size};
use crate::native::{GroupCode, Origin, SeenGroups};
use crate::{KernelInfo, LaunchError, LaunchOptions, Program};

/// Steps of the interpreter, of all work-items together, that compiled code does in a few microseconds.
const MOST_SMALL_STEPS: u64 = 1 << 16;

/// The most memory that a thread is given for a group beside local memory.
const MOST_MEMORY: u64 = 1 << 28;

/// A kernel that is compiled, or else interpreted.
pub(crate) struct CompiledKernel {
    program: Arc<Program>,
    index: usize,
    interpreted: Arc<dyn KernelCode>,
    source: Arc<Source>,
    /// None if there is no code for its sub-groups.
    widths: Option<Widths>,
    /// Whether it sees how its range is cut into groups.
    sees_groups: bool,
    /// Whether its work-items do something together, and not just see their ids.
    needs_groups: bool,
    /// One for each variant.
    slots: Arc<[Slot]>,
    /// Whether a launch had groups that its code needs too much memory for.
    was_too_large: AtomicBool,
    options: KernelOptions,
    pace: Pace,
}

impl CompiledKernel {
    /// The kernel with this number of a program, which is built of a module.
    pub(crate) fn new(
        program: &Arc<Program>,
        index: usize,
        source: &Arc<Source>,
        options: KernelOptions,
    ) -> CompiledKernel {
        let info = &program.kernels()[index];
        let module = program.module();
        let facts = Facts::of(module, index);
        let widths = Widths::of(facts, module.kernels[index].sub_group_size, info.sub_group_size);
        let is_local = |kind: &ParameterKind| {
            matches!(
                kind,
                ParameterKind::Pointer {
                    storage: Storage::Local,
                    ..
                }
            )
        };
        let has_local_memory =
            info.local_memory > 0 || (info.parameters.iter()).any(|parameter| is_local(&parameter.kind));
        let variants = widths.as_ref().map_or(0, Widths::variants);
        CompiledKernel {
            program: Arc::clone(program),
            index,
            interpreted: Arc::new(program.kernel(index)),
            source: Arc::clone(source),
            widths,
            // Local memory is a group's own: whoever shares it tells who else is in the group.
            sees_groups: facts.groups || has_local_memory,
            needs_groups: facts.together || has_local_memory,
            slots: (0..variants).map(|_| Slot::default()).collect(),
            was_too_large: AtomicBool::new(false),
            options,
            pace: Pace::default(),
        }
    }

    /// The slot for a launch, and what belongs into it.
    pub(super) fn slot(&self, asked: &Geometry) -> Option<(&Slot, usize, Variant)> {
        let has_large = self.program.memory().has_large();
        let (geometry, cut) = self.cut(asked);
        let (number, variant) = self.widths.as_ref()?.variant(&geometry, has_large, cut);
        Some((self.slots.get(number)?, number, self.options.of_variant(variant)))
    }

    /// How compiled code cuts the range of a launch. With checks as it was asked for, so that the first group that fails is
    /// the one that the interpreter names.
    fn cut(&self, asked: &Geometry) -> (Geometry, Cut) {
        match &self.widths {
            Some(widths) if !self.needs_groups && !self.options.check_bounds => match self.sees_groups {
                true => widths.merged_if_seen(asked),
                false => (widths.merged(asked), Cut::AsSeen),
            },
            _ => (*asked, Cut::AsSeen),
        }
    }

    /// The slot with a number.
    pub(super) fn numbered(&self, number: usize) -> Option<&Slot> {
        self.slots.get(number)
    }

    /// The number of the slot for the launches that are most likely, and what belongs into it.
    pub(super) fn likely(&self) -> Option<(usize, Variant)> {
        let (number, variant) = self.widths.as_ref()?.likely();
        Some((number, self.options.of_variant(variant)))
    }

    /// The code for a launch, which is asked for if nobody has; with `wait`, this waits for it.
    fn code(&self, geometry: &Geometry, wait: bool) -> Option<&Code> {
        let (slot, number, variant) = self.slot(geometry)?;
        let found = slot.get().or_else(|| {
            if slot.is_to_be_asked_for() {
                self.order(number, variant).place();
            }
            if wait { slot.wait() } else { None }
        });
        found?.as_ref().ok()
    }

    /// Has everything ready for the launch that is most likely, if what is kept isn't enough: the process that compiles,
    /// and the code of the only kernel there is. Of one that sees groups nobody knows how they lie, and a wrong guess would
    /// be compiled before what the launch needs.
    pub(crate) fn expect_launch(&self, is_alone: bool) {
        let Some((slot, variant)) = self.likely() else {
            return;
        };
        if is_alone && !self.sees_groups && self.slots[slot].is_to_be_asked_for() {
            self.order(slot, variant).place();
        } else if !kept::was_built(&self.source) {
            service::start();
        }
    }

    pub(super) fn order(&self, slot: usize, variant: Variant) -> Order {
        Order {
            program: Arc::clone(&self.program),
            source: Arc::clone(&self.source),
            kernel: self.info().name.clone(),
            variant,
            light_width: (self.widths.as_ref()).map_or(variant.width, |widths| widths.light(variant.width)),
            slots: Arc::downgrade(&self.slots),
            slot,
            is_improved: !self.options.is_final,
            has_second_try: true,
        }
    }

    /// Whether compiled code does it in a few microseconds: it takes few steps, or it has no loops and was as quick before.
    fn is_quick(&self, geometry: &Geometry) -> bool {
        let work_items: u64 = geometry.global.iter().product();
        let most = self.program.most_steps(self.index);
        most.is_some_and(|most| {
            most.saturating_mul(work_items) <= MOST_SMALL_STEPS || self.pace.is_short(geometry.group_count())
        })
    }
}

impl KernelCode for CompiledKernel {
    fn info(&self) -> &KernelInfo {
        self.interpreted.info()
    }

    fn geometry(&self, range: &NdRange) -> Result<Geometry, LaunchError> {
        let info = self.info();
        let is_open = range.local.is_none() && info.required_local_size.is_none();
        // A hint to a kernel that can't tell how its range is cut is a hint to nobody.
        let has_hint = self.sees_groups && info.local_size_hint.is_some();
        match &self.widths {
            Some(widths) if is_open && !has_hint => {
                let global = range.global.map(|size| size as u64);
                // What is wrong with the range is found below.
                let local = match self.sees_groups {
                    true => suggested_local_size(global),
                    false => widths.unseen_local_size(global),
                };
                let local = local.map(|size| size as usize);
                info.geometry(&NdRange {
                    local: Some(local),
                    ..*range
                })
            }
            _ => info.geometry(range),
        }
    }

    fn run(
        &self,
        geometry: &Geometry,
        arguments: &Arguments,
        options: &LaunchOptions<'_>,
    ) -> Result<(), LaunchError> {
        // What the interpreter is done with in microseconds does not wait for a compiler.
        let wait = !self.interpreted.is_small(geometry);
        let Some(code) = self.code(geometry, wait) else {
            return self.interpreted.run(geometry, arguments, options);
        };
        let (cut, how) = self.cut(geometry);
        let work_items: u64 = cut.local.iter().product();
        let memory = code.memory(work_items);
        // Only this launch: others of the kernel may have smaller groups.
        if memory > MOST_MEMORY {
            self.was_too_large.store(true, Ordering::Relaxed);
            return self.interpreted.run(geometry, arguments, options);
        }
        let code = GroupCode {
            kernel: &self.info().name,
            function: code.function,
            scratch: memory as usize,
            externals: &code.externals,
            origin: Some(Origin {
                program: &self.program,
                kernel: self.index,
                is_checked: self.options.check_bounds,
            }),
            pace: &self.pace,
            asked: geometry,
            seen: match how {
                Cut::Merged => SeenGroups::of(geometry),
                Cut::AsSeen | Cut::Single => SeenGroups::default(),
            },
        };
        #[expect(unsafe_code, reason = "machine code is called")]
        // SAFETY: it was compiled from this kernel for launches like this one.
        unsafe {
            code.run(&cut, arguments, options, self.is_quick(&cut))
        }
    }

    fn is_small(&self, geometry: &Geometry) -> bool {
        let found = self.slot(geometry).and_then(|(slot, ..)| slot.get());
        match found {
            Some(Ok(_)) => self.is_quick(&self.cut(geometry).0),
            // Without code only what is interpreted at once is small: anything else waits for
            // code, and must do so on another thread.
            _ => self.interpreted.is_small(geometry),
        }
    }

    fn note(&self) -> Option<String> {
        let name = &self.info().name;
        if self.widths.is_none() {
            let size = self.info().sub_group_size;
            return Some(format!(
                "kernel `{name}` is interpreted: sub-groups of {size} work-items cannot be compiled; powers of two up to \
                 64 can"
            ));
        }
        let codes = || self.slots.iter().filter_map(Slot::get);
        if let Some(reason) = codes().find_map(|code| code.as_ref().err()) {
            let which = match codes().any(Result::is_ok) {
                true => " for some launches",
                false => "",
            };
            return Some(format!("kernel `{name}` is interpreted{which}: {reason}"));
        }
        if self.was_too_large.load(Ordering::Relaxed) {
            let most = MOST_MEMORY >> 20;
            return Some(format!(
                "kernel `{name}` is interpreted where a work-group is so large that its work-items' variables need more than \
                 {most} MiB"
            ));
        }
        let is_waiting = self.slots.iter().any(Slot::is_asked_for) && service::is_late();
        is_waiting.then(|| format!("kernel `{name}` is interpreted as long as LLVM does not answer"))
    }
}
