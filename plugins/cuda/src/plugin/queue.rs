//! Queues: a stream where commands keep their order, and a few where they need not.
//!
//! A command whose event nobody asks for costs no call but its own: [`End`] records it when somebody does, at the latest
//! before the next command of the stream. The events by which it is known what a queue still uses are recorded now and then.

use offkit_pi::ffi::*;
use offkit_pi::plugin::{BufferRect, Command, Error, NewEvent, Queue, Ref, Result};
use offkit_sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::collections::VecDeque;

use super::Cuda;
use super::clock::now;
use super::context::{CudaContext, Place};
use super::end::End;
use super::event::{CudaEvent, Timed};
use super::kernel::Used;
use super::memory::CudaMemory;
use super::watcher;
use crate::driver::functions::*;
use crate::driver::{self, Event, Stream, copy_2d};

/// Streams of a queue without order.
const LANES: usize = 4;

/// Commands that are submitted before it is looked at which of them are over.
const UNMARKED: usize = 64;

/// A queue. Dropped with commands in it, what they use stays until they are done.
pub(crate) struct CudaQueue {
    context: Ref<CudaContext>,
    place: Arc<Place>,
    is_profiled: bool,
    state: Arc<Mutex<State>>,
}

/// What a queue has submitted.
pub(super) struct State {
    /// One where commands keep their order.
    lanes: Vec<Lane>,
    /// How many there are to be.
    most: usize,
    /// The one that was used last.
    last: usize,
    /// What everything that comes has to wait for.
    barrier: Option<Arc<Event>>,
}

fn locked(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Gives back what the commands of a queue use that are over: somebody has heard that one of them is, and a queue without
/// further commands would keep it.
pub(super) fn give_back(state: &Mutex<State>) {
    let mut over = Vec::new();
    for lane in &mut locked(state).lanes {
        lane.close_if_recorded(&mut over);
    }
    // Not while the queue is locked: the last references to memory may be among it.
    drop(over);
}

/// A stream, and what its commands use.
struct Lane {
    stream: Arc<Stream>,
    /// That of the last command, if an event is still to be recorded for those who ask.
    last: Option<Arc<End>>,
    /// Commands behind the last event.
    unmarked: Vec<Kept>,
    /// Events, and the commands before each, the oldest first.
    marked: VecDeque<(Arc<Event>, Vec<Kept>)>,
    /// Threads that wait for the stream, which have taken out what it had.
    finishing: usize,
}

/// A command, and the objects among a kernel's arguments.
struct Kept {
    _command: Command<Cuda>,
    _used: Used,
}

impl Lane {
    fn new(stream: Stream) -> Lane {
        Lane {
            stream: Arc::new(stream),
            last: None,
            unmarked: Vec::new(),
            marked: VecDeque::new(),
            finishing: 0,
        }
    }

    /// An event behind all that is there.
    fn mark(&mut self, is_timed: bool) -> driver::Result<Arc<Event>> {
        let event = match self.wanted() {
            Some(event) => event,
            None => Arc::new(self.stream.record(is_timed)?),
        };
        Ok(self.marked_by(event))
    }

    fn marked_by(&mut self, event: Arc<Event>) -> Arc<Event> {
        let before = std::mem::take(&mut self.unmarked);
        self.marked.push_back((Arc::clone(&event), before));
        event
    }

    /// The event of the last command, recorded now, where anybody may ask for it.
    fn wanted(&mut self) -> Option<Arc<Event>> {
        let mut end = self.last.take()?;
        match Arc::get_mut(&mut end) {
            // Nobody has it, and nobody will; somebody may have asked.
            Some(end) => end.recorded(),
            None => end.event().as_ref().ok().cloned(),
        }
    }

    /// Comes before a command that is about to be submitted: the end of the last one is here.
    fn close(&mut self, out: &mut Vec<Vec<Kept>>) {
        if let Some(event) = self.wanted() {
            self.marked_by(event);
            self.over(out);
        }
    }

    /// The same where nobody is about to submit anything: only what was asked for is looked at.
    fn close_if_recorded(&mut self, out: &mut Vec<Vec<Kept>>) {
        if let Some(event) = self
            .last
            .take_if(|end| end.recorded().is_some())
            .and_then(|end| end.recorded())
        {
            self.marked_by(event);
        }
        self.over(out);
    }

    /// The end of the command that was just submitted.
    fn end(&mut self) -> Arc<End> {
        let end = Arc::new(End::behind(&self.stream));
        self.last = Some(Arc::clone(&end));
        end
    }

    /// Takes out what is over.
    fn over(&mut self, out: &mut Vec<Vec<Kept>>) {
        while let Some((event, _)) = self.marked.front()
            && event.outcome().is_some()
            && let Some((_, kept)) = self.marked.pop_front()
        {
            out.push(kept);
        }
    }

    fn has_work(&self) -> bool {
        self.finishing > 0
            || !self.unmarked.is_empty()
            || self.marked.iter().any(|(event, _)| event.outcome().is_none())
    }
}

impl State {
    /// The stream for the next command.
    fn next(&mut self, place: &Place) -> driver::Result<usize> {
        self.last = match self.most {
            1 => 0,
            most => (self.last + 1) % most,
        };
        // Made only when there is a command for it.
        if self.last >= self.lanes.len() {
            self.lanes.push(Lane::new(Stream::new(&place.primary)?));
            self.last = self.lanes.len() - 1;
        }
        Ok(self.last)
    }

    /// Lets a stream wait for all others.
    fn join(&mut self, lane: usize) -> driver::Result<()> {
        let mut events = Vec::new();
        for (number, other) in self.lanes.iter_mut().enumerate() {
            if number != lane && other.has_work() {
                events.push(other.mark(false)?);
            }
        }
        let stream = &self.lanes[lane].stream;
        events.iter().try_for_each(|event| stream.wait_for(event))
    }
}

impl CudaQueue {
    pub(super) fn new(
        context: &Ref<CudaContext>,
        place: &Arc<Place>,
        properties: pi_queue_properties,
    ) -> Result<CudaQueue> {
        if properties & PI_QUEUE_ON_DEVICE != 0 {
            let message = "kernels of this device submit no commands";
            return Err(Error::new(PI_INVALID_QUEUE_PROPERTIES, message));
        }
        let is_profiled = properties & PI_QUEUE_PROFILING_ENABLE != 0;
        // Now, so that no command's time is from before the anchor, from which others are counted.
        if is_profiled {
            place.anchor()?;
        }
        let mut queue = CudaQueue::of(context, place, Stream::new(&place.primary)?);
        let is_free = properties & PI_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE != 0;
        queue.state().most = if is_free { LANES } else { 1 };
        queue.is_profiled = is_profiled;
        Ok(queue)
    }

    /// A queue of a stream that is there.
    pub(super) fn of(context: &Ref<CudaContext>, place: &Arc<Place>, stream: Stream) -> CudaQueue {
        CudaQueue {
            context: context.clone(),
            place: Arc::clone(place),
            is_profiled: false,
            state: Arc::new(Mutex::new(State {
                lanes: vec![Lane::new(stream)],
                most: 1,
                last: 0,
                barrier: None,
            })),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        locked(&self.state)
    }

    /// Submits a command to a stream: what it uses.
    fn submit(&self, command: &Command<Cuda>, stream: &Stream) -> Result<Used> {
        match command {
            Command::Launch { kernel, range } => return kernel.launch(&self.place, stream, range),
            // The events around it are all there is to it.
            Command::Marker | Command::Barrier => Ok(()),
            Command::ReadBuffer {
                buffer,
                offset,
                target,
            } => stream.read(target.address(), buffer.address() + offset, target.size()),
            Command::WriteBuffer {
                buffer,
                offset,
                source,
            } => stream.write(buffer.address() + offset, source.address(), source.size()),
            Command::CopyBuffer {
                source,
                source_offset,
                target,
                target_offset,
                size,
            } => {
                let (from, to) = (source.address() + source_offset, target.address() + target_offset);
                stream.copy(to, from, *size)
            }
            Command::ReadBufferRect { buffer, rect, target } => {
                copy_rect(stream, (buffer.address(), false), (target.address(), true), rect)
            }
            Command::WriteBufferRect { buffer, rect, source } => {
                copy_rect(stream, (source.address(), true), (buffer.address(), false), rect)
            }
            Command::CopyBufferRect { source, target, rect } => {
                copy_rect(stream, (source.address(), false), (target.address(), false), rect)
            }
            Command::FillBuffer {
                buffer,
                pattern,
                offset,
                size,
            } => stream.fill(buffer.address() + offset, pattern, *size),
            Command::Map {
                buffer,
                flags,
                offset,
                size,
                address,
            } => return map(buffer, stream, *flags, (*offset, *size), *address),
            Command::Unmap { buffer, address } => {
                buffer.unmap(stream, *address)?;
                Ok(())
            }
            Command::FillUsm {
                address,
                pattern,
                size,
            } => stream.fill(*address, pattern, *size),
            // Of nothing the addresses may be null: the driver is not asked.
            Command::CopyUsm { size: 0, .. } => Ok(()),
            Command::CopyUsm { source, target, size } => {
                let [from, to] = [source, target].map(|address| self.context.device_of(*address));
                match (from, to) {
                    (Some(from), Some(to)) if !Arc::ptr_eq(from, to) => {
                        stream.copy_to_peer((*target, &to.primary), (*source, &from.primary), *size)
                    }
                    _ => stream.copy_any(*target, *source, *size),
                }
            }
            // Hints: one that a driver does not take is no failure.
            Command::PrefetchUsm { address, size } => {
                if self.context.is_managed(*address) {
                    hinted(stream.prefetch(*address, *size))?;
                }
                Ok(())
            }
            Command::AdviseUsm {
                address,
                size,
                advice,
            } => {
                let given = ADVICE.iter().filter(|(flag, ..)| advice & flag != 0);
                for (_, advice, of_host) in given.filter(|_| self.context.is_managed(*address)) {
                    hinted(stream.advise(*address, *size, *advice, *of_host))?;
                }
                Ok(())
            }
            _ => return Err(Error::unsupported("an image")),
        }?;
        Ok(Used::default())
    }
}

/// What a host hints at, and what the driver calls it: of the device, or of the host.
const ADVICE: [(pi_mem_advice, CUmem_advise, bool); 10] = [
    (
        PI_MEM_ADVICE_CUDA_SET_READ_MOSTLY,
        CU_MEM_ADVISE_SET_READ_MOSTLY,
        false,
    ),
    (
        PI_MEM_ADVICE_CUDA_UNSET_READ_MOSTLY,
        CU_MEM_ADVISE_UNSET_READ_MOSTLY,
        false,
    ),
    (
        PI_MEM_ADVICE_CUDA_SET_PREFERRED_LOCATION,
        CU_MEM_ADVISE_SET_PREFERRED_LOCATION,
        false,
    ),
    (
        PI_MEM_ADVICE_CUDA_UNSET_PREFERRED_LOCATION,
        CU_MEM_ADVISE_UNSET_PREFERRED_LOCATION,
        false,
    ),
    (
        PI_MEM_ADVICE_CUDA_SET_ACCESSED_BY,
        CU_MEM_ADVISE_SET_ACCESSED_BY,
        false,
    ),
    (
        PI_MEM_ADVICE_CUDA_UNSET_ACCESSED_BY,
        CU_MEM_ADVISE_UNSET_ACCESSED_BY,
        false,
    ),
    (
        PI_MEM_ADVICE_CUDA_SET_ACCESSED_BY_HOST,
        CU_MEM_ADVISE_SET_ACCESSED_BY,
        true,
    ),
    (
        PI_MEM_ADVICE_CUDA_UNSET_ACCESSED_BY_HOST,
        CU_MEM_ADVISE_UNSET_ACCESSED_BY,
        true,
    ),
    (
        PI_MEM_ADVICE_CUDA_SET_PREFERRED_LOCATION_HOST,
        CU_MEM_ADVISE_SET_PREFERRED_LOCATION,
        true,
    ),
    (
        PI_MEM_ADVICE_CUDA_UNSET_PREFERRED_LOCATION_HOST,
        CU_MEM_ADVISE_UNSET_PREFERRED_LOCATION,
        true,
    ),
];

/// The outcome of a hint: that the driver does not take it is none.
fn hinted(result: driver::Result<()>) -> driver::Result<()> {
    match result {
        Err(error) if !error.is_lost() => {
            tracing::debug!(%error, "a hint is not taken");
            Ok(())
        }
        result => result,
    }
}

fn map(
    buffer: &Ref<CudaMemory>,
    stream: &Stream,
    flags: pi_map_flags,
    range: (usize, usize),
    address: usize,
) -> Result<Used> {
    buffer.map(stream, flags, range, address)?;
    Ok(Used::default())
}

/// Copies a box, slice by slice, between places that are the host's or the device's.
fn copy_rect(
    stream: &Stream,
    (source, of_host): (usize, bool),
    (target, to_host): (usize, bool),
    rect: &BufferRect,
) -> driver::Result<()> {
    // Not by `cuMemcpy3D`: there slices are a whole number of rows apart, and here they may be
    // anything.
    let region = rect.region();
    let rows = |address, is_host, pitch| Rows {
        kind: if is_host {
            CU_MEMORYTYPE_HOST
        } else {
            CU_MEMORYTYPE_DEVICE
        },
        // The driver looks at the one that the kind means.
        host: address,
        device: address,
        pitch,
        ..Rows::default()
    };
    // The first row of each slice says where the slice is.
    let slices = rect.rows().step_by(region.height_scalar.max(1));
    for (from, to, width) in slices {
        let (from, to) = (
            rows(source + from, of_host, rect.source().row_pitch),
            rows(target + to, to_host, rect.target().row_pitch),
        );
        copy_2d(stream, from, to, width, region.height_scalar)?;
    }
    Ok(())
}

impl Queue<Cuda> for CudaQueue {
    fn enqueue(
        queue: &Ref<Self>,
        command: Command<Cuda>,
        wait: &[Ref<CudaEvent>],
        event: NewEvent<'_, Cuda>,
    ) -> Result<()> {
        let queued = if queue.is_profiled { now() } else { 0 };
        // Dropped last, when the queue is not locked any more: the last references to memory may be among it.
        let mut over = Vec::new();
        let mut state = queue.state();
        let state = &mut *state;
        let _current = queue.place.primary.enter()?;
        let lane = state.next(&queue.place)?;
        // Before anything else goes to the stream: behind the waits of this command, the event of
        // the last one would come late.
        state.lanes[lane].close(&mut over);
        let is_free = state.most > 1;
        let is_barrier = matches!(command, Command::Barrier);
        for event in wait {
            match event.end().outcome() {
                Some(Ok(())) => {}
                Some(Err(error)) => {
                    let message = format_args!("what the command waits for has failed: {error}");
                    return Err(Error::new(PI_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST, message));
                }
                None => {
                    let event = event.end().event().as_ref().map_err(Clone::clone)?;
                    state.lanes[lane].stream.wait_for(event)?;
                }
            }
        }
        if is_free {
            // One that is over stays out: nothing has to wait for it any more.
            if let Some(barrier) = state.barrier.take_if(|barrier| barrier.outcome().is_none()) {
                state.lanes[lane].stream.wait_for(&barrier)?;
                state.barrier = Some(barrier);
            }
            // Without a list they wait for all that was submitted before, which the other streams have as well.
            if wait.is_empty() && (is_barrier || matches!(command, Command::Marker)) {
                state.join(lane)?;
            }
        }
        let lane = &mut state.lanes[lane];
        // Behind the waits, which are no part of the command's time.
        let (submitted, start) = match queue.is_profiled {
            true => (now(), Some(lane.stream.record(true)?)),
            false => (0, None),
        };
        let told = || {
            let submitted_command = queue.submit(&command, &lane.stream);
            // Part of a command that failed may have been submitted.
            let (used, failed) = match submitted_command {
                Ok(used) => (used, None),
                Err(error) => (Used::default(), Some(error)),
            };
            lane.unmarked.push(Kept {
                _command: command,
                _used: used,
            });
            if let Some(error) = failed {
                return Err(error);
            }
            let is_barrier = is_barrier && is_free;
            let mut end = None;
            if is_barrier || queue.is_profiled && event.is_wanted() || lane.unmarked.len() >= UNMARKED {
                let marked = lane.mark(queue.is_profiled)?;
                lane.over(&mut over);
                if is_barrier {
                    state.barrier = Some(Arc::clone(&marked));
                }
                end = Some(Arc::new(End::of(marked)));
            }
            if event.is_wanted() {
                let timed = start.map(|start| Timed {
                    place: Arc::clone(&queue.place),
                    queued,
                    submitted,
                    start,
                });
                let end = end.unwrap_or_else(|| lane.end());
                let submitted = Arc::clone(&queue.state);
                event.create(|| CudaEvent::new(end, timed, Some(submitted)))?;
            }
            Ok(())
        };
        // The host takes what has failed for over, whatever of it was submitted.
        told().inspect_err(|_| lane.stream.settle())
    }

    fn finish(&self) -> Result<()> {
        let finishing: Vec<_> = self.state().lanes.iter_mut().map(Finishing::of).collect();
        // Not while the queue is locked: others may submit, and the last references to memory may be among what goes.
        let mut result = Ok(());
        for (number, finishing) in finishing.into_iter().enumerate() {
            let finished = finishing.stream.finish();
            let mut state = self.state();
            let lane = &mut state.lanes[number];
            lane.finishing -= 1;
            match finished {
                Ok(()) => {
                    drop(state);
                    finishing.complete();
                }
                Err(error) => {
                    finishing.give_back(lane);
                    result = Err(error.into());
                }
            }
        }
        result
    }

    fn native_handle(&self) -> Result<pi_native_handle> {
        Ok(self.state().lanes[0].stream.handle())
    }
}

/// What a stream had at some time.
struct Finishing {
    stream: Arc<Stream>,
    last: Option<Arc<End>>,
    unmarked: Vec<Kept>,
    marked: VecDeque<(Arc<Event>, Vec<Kept>)>,
}

impl Finishing {
    fn of(lane: &mut Lane) -> Finishing {
        // What is taken out is still there to who waits for all that was submitted.
        lane.finishing += 1;
        Finishing {
            stream: Arc::clone(&lane.stream),
            last: lane.last.clone(),
            // Taken out, so that what is submitted meanwhile is not given back with it.
            unmarked: std::mem::take(&mut lane.unmarked),
            marked: std::mem::take(&mut lane.marked),
        }
    }

    /// The whole stream is done, with what a host may have put on it behind all that is known here. That stays known,
    /// whatever becomes of the device.
    fn complete(self) {
        self.last.iter().for_each(|end| end.complete());
        self.marked.iter().for_each(|(event, _)| event.complete());
    }

    /// Nobody knows whether it is done.
    fn give_back(mut self, lane: &mut Lane) {
        // In front of what came meanwhile: the oldest have to stay first.
        self.unmarked.append(&mut lane.unmarked);
        self.marked.append(&mut lane.marked);
        (lane.unmarked, lane.marked) = (self.unmarked, self.marked);
    }
}

impl Drop for CudaQueue {
    fn drop(&mut self) {
        // Events of this queue may still look.
        let lanes = std::mem::take(&mut self.state().lanes);
        for mut lane in lanes {
            // Also where all is done: a stream of the host's may be gone when somebody asks.
            lane.close(&mut Vec::new());
            if !lane.has_work() {
                continue;
            }
            let marked = self.place.primary.enter().and_then(|_current| lane.mark(false));
            match marked {
                Ok(event) if event.outcome().is_some() => {}
                Ok(event) => watcher::keep_until(Arc::new(End::of(event)), (lane, self.context.clone())),
                // The device is lost: nothing runs any more.
                Err(error) => tracing::debug!(%error, "a queue that is not used any more"),
            }
        }
    }
}
