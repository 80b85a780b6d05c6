//! Regions on a device.

use offkit_pi::NdRange;
use offkit_pi::host::{Argument, Usm, UsmKind};
use offkit_spirv::ParameterKind;

use super::abi::{Flags, KernelArguments, Launch};
use super::device::{Device, State};
use super::items::{Arguments, Item};
use super::mapping::pointer_at;
use super::programs::{Loaded, Region};
use crate::c::{Result, lock};
use crate::error::{Code, Failure};

/// `MAX_THREADS` of `device-libs/openmp/openmp.h`.
const MOST_THREADS: usize = 256;
/// Threads of a team where no clause says how many.
const USUAL_THREADS: usize = 64;
/// Teams for each core where no clause says how many, so that one that is late does not leave others idle.
const TEAMS_PER_CORE: u64 = 4;
/// Memory of a team for variables that its threads share, and for its part of a reduction.
const SCRATCH_OF_TEAM: usize = 128 << 10;
/// The part of the device's memory that the teams of a launch may have for that.
const PART_FOR_SCRATCH: u64 = 4;
/// Where the first team's begins, behind what describes it.
const SCRATCH_AT: usize = 64;

/// A region that was called.
pub(super) struct Call<'a> {
    pub(super) region: &'a Region,
    /// What the clauses say: 0 for nothing, less where there are no teams.
    pub(super) teams: i32,
    pub(super) threads: i32,
    pub(super) arguments: &'a KernelArguments,
}

/// Whether a region ran on a device.
pub(super) enum Ran {
    Here,
    /// It could not, and nothing was done; why.
    NotHere(String),
}

impl Device {
    /// Runs a region, and maps before and after, if this device has it.
    ///
    /// # Safety
    ///
    /// The arguments are what clang makes of a region.
    pub(super) unsafe fn run(&self, call: &Call<'_>) -> Result<Ran> {
        let arguments = Arguments {
            count: call.arguments.count as usize,
            lists: call.arguments.lists,
        };
        let mut state = self.state();
        self.load_programs(&mut state);
        let program = match state.program_of(call.region) {
            Ok(program) => program,
            Err(why) => return Ok(Ran::NotHere(why)),
        };
        // SAFETY: by the caller's promise.
        let (items, named) = unsafe { (arguments.items(), arguments.named()) };
        // SAFETY: the program has what it maps.
        unsafe { self.begin(&mut state, &items) }?;
        let mut own = Vec::new();
        let parameters: Vec<Item> = named.filter(|item| item.flags.has(Flags::PARAMETER)).collect();
        let values = parameters
            .iter()
            // SAFETY: the program has what it passes.
            .map(|item| unsafe { self.parameter(&mut state, item, &mut own) });
        let values = values.collect::<Result<Vec<usize>>>()?;
        // Others may map while it runs.
        drop(state);
        let ran = self.launch(call, &program, &values);
        let mut state = self.state();
        for address in own {
            state.free(address);
        }
        ran?;
        // SAFETY: the program has what it maps.
        unsafe { self.end(&mut state, &items) }?;
        Ok(Ran::Here)
    }

    /// What a region gets for an item: a value, or an address. `own` is told of memory that is for this call alone.
    ///
    /// # Safety
    ///
    /// The program must have what the item names.
    unsafe fn parameter(&self, state: &mut State, item: &Item, own: &mut Vec<usize>) -> Result<usize> {
        if item.flags.has(Flags::LITERAL) {
            return Ok(item.base);
        }
        let to_base = item.begin.wrapping_sub(item.base);
        if item.flags.has(Flags::PRIVATE) {
            let address = self.allocate(state, UsmKind::Device, item.size, item.begin)?;
            own.push(address);
            if item.flags.has(Flags::TO) {
                // SAFETY: by the caller's promise.
                unsafe { self.send_to(state, address, item.begin, item.size) }?;
            }
            return Ok(address.wrapping_sub(to_base));
        }
        let base = match item.flags.has(Flags::POINTER_AND_OBJECT) {
            // SAFETY: the flag says that there is a pointer.
            true => unsafe { pointer_at(item.base) },
            false => item.base,
        };
        let to_base = item.begin.wrapping_sub(base);
        // A pointer to nothing that is there is passed as it is: a region may compare it.
        let address = state.address_of(item.begin, item.size)?;
        Ok(address.map_or(base, |address| address.wrapping_sub(to_base)))
    }

    fn launch(&self, call: &Call<'_>, program: &Loaded, values: &[usize]) -> Result<()> {
        let (teams, threads) = self.shape(call)?;
        let scratch = self.scratch(SCRATCH_AT + teams * SCRATCH_OF_TEAM)?;
        let launch = Launch {
            scratch: (scratch.address() + SCRATCH_AT) as u64,
            scratch_of_team: SCRATCH_OF_TEAM as u64,
            ..Launch::default()
        };
        self.queue.write_usm(&scratch, 0, &launch.bytes(), &[])?;
        let kernel = program.kernel(&call.region.name)?;
        let mut kernel = lock(&kernel);
        let is_number = |index: usize| {
            let description = kernel.description();
            let parameter = description.and_then(|kernel| kernel.parameters.get(index));
            parameter.is_some_and(|parameter| matches!(parameter.kind, ParameterKind::Scalar(_)))
        };
        let values = values
            .iter()
            .enumerate()
            // What clang passes by value has 64 bits, whatever its type, and comes as an address.
            // The first parameter is what describes the launch.
            .map(|(number, value)| match is_number(number + 1) {
                true => Argument::bytes(&(*value as u64).to_ne_bytes()),
                false => Argument::Address(*value),
            });
        let arguments: Vec<Argument> = std::iter::once(Argument::Address(scratch.address()))
            .chain(values)
            .collect();
        let range = NdRange {
            local: Some([threads, 1, 1]),
            ..NdRange::new([teams * threads])
        };
        let event = kernel.launch(&self.queue, &range, &arguments, &[])?;
        let name = kernel.name().to_owned();
        // A launch has its arguments: other threads may launch the region while this one runs.
        drop(kernel);
        let done = event
            .wait()
            .map_err(|source| offkit_runtime::LaunchError::Device { kernel: name, source });
        // Before the outcome is looked at: a launch that has failed does not use it either.
        lock(&self.spare).push(scratch);
        Ok(done?)
    }

    /// How many teams, of how many threads.
    fn shape(&self, call: &Call<'_>) -> Result<(usize, usize)> {
        let positive = |number: i32| usize::try_from(number).ok().filter(|number| *number > 0);
        let most = self.device.max_work_group_size()?.clamp(1, MOST_THREADS);
        let threads = positive(call.threads).unwrap_or(USUAL_THREADS).clamp(1, most);
        let iterations = usize::try_from(call.arguments.iterations).unwrap_or(usize::MAX);
        let memory = self.device.global_memory_size()? / PART_FOR_SCRATCH;
        let most_teams = usize::try_from(memory).unwrap_or(usize::MAX) / SCRATCH_OF_TEAM;
        let teams = match call.teams {
            0 => {
                let cores = u64::from(self.device.max_compute_units()?.max(1));
                let enough = usize::try_from(cores * TEAMS_PER_CORE).unwrap_or(usize::MAX);
                let teams = match iterations {
                    0 => enough,
                    iterations => iterations.div_ceil(threads).min(enough),
                };
                // One at least, also on a device that hardly has any memory: it says so then.
                teams.min(most_teams.max(1))
            }
            teams => positive(teams).unwrap_or(1),
        };
        // Without a lower bound of its own, `num_teams` asks for exactly so many.
        if teams > most_teams.max(1) {
            let what = format!("{teams} teams need too much memory: the device has it for {most_teams}");
            return Err(Failure::new(Code::Memory, what));
        }
        Ok((teams, threads))
    }

    /// Memory of the device for a launch.
    fn scratch(&self, size: usize) -> Result<Usm> {
        let mut spare = lock(&self.spare);
        let enough = spare
            .iter()
            .enumerate()
            .filter(|(_, memory)| memory.size() >= size);
        if let Some((best, _)) = enough.min_by_key(|(_, memory)| memory.size()) {
            return Ok(spare.swap_remove(best));
        }
        // The new one takes the place of one that is too small.
        let small = spare.pop();
        drop(spare);
        drop(small);
        Ok(self.context.usm(UsmKind::Device, &self.device, size, 0)?)
    }
}
