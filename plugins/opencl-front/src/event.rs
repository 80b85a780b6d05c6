//! Events.

use crate::answer::Place;
use crate::c::{In, Out, UserData, call_event};
use crate::context::Context;
use crate::failure::{Failure, Result, fail, known, require};
use crate::handle::{Handle, Handled, Object};
use crate::pi::{number, own, pi};
use crate::queue::Queue;
use cl::*;
use core::ffi::c_void;
use offkit_pi::ffi::*;
use offkit_pi::host::{Owned, Plugin};
use offkit_sync::Arc;
use std::ffi::CString;

/// The progress of a command, or an event that the caller completes.
pub(crate) struct Event {
    pi: Owned<pi_event>,
    source: Source,
}

// The type is kept here: to the plugin a task is a launch, and an SVM map is a prefetch.
/// What an event stands for.
enum Source {
    /// A command of that type.
    Command(Object<Queue>, cl_command_type),
    /// Something of the caller's.
    User(Object<Context>),
}

impl Event {
    pub(crate) fn of_command(pi: Owned<pi_event>, queue: &Object<Queue>, command: cl_command_type) -> Event {
        Event {
            pi,
            source: Source::Command(queue.clone(), command),
        }
    }

    fn context(&self) -> &Object<Context> {
        match &self.source {
            Source::Command(queue, _) => &queue.object().context,
            Source::User(context) => context,
        }
    }

    /// One that the caller completes, or this crate for the caller.
    pub(crate) fn of_user(context: Object<Context>) -> Result<Event> {
        let plugin = context.object().plugin();
        let raw = context.object().pi.raw();
        let pi = own(
            plugin,
            |event| {
                // SAFETY: the context is there.
                *event = unsafe { plugin.create_user_event(raw) }?;
                Ok(())
            },
            core::ptr::null_mut(),
        )?;
        let source = Source::User(context);
        Ok(Event { pi, source })
    }

    /// Completes it, or has it fail.
    pub(crate) fn set(&self, status: cl_int) -> Result<()> {
        pi!(self.pi.plugin(), piEventSetStatus(self.pi.raw(), status))
    }

    pub(crate) fn wait(&self) -> Result<()> {
        let raw = [self.pi.raw()];
        pi!(self.pi.plugin(), piEventsWait(1, raw.as_ptr()))
    }

    fn status(&self) -> Result<cl_int> {
        let status = number(|size, value| {
            let (event, none) = (self.pi.raw(), core::ptr::null_mut());
            pi!(
                self.pi.plugin(),
                piEventGetInfo(event, PI_EVENT_INFO_COMMAND_EXECUTION_STATUS, size, value, none)
            )
        })?;
        Ok(self.told(status))
    }

    /// A status as the caller is told.
    fn told(&self, status: cl_int) -> cl_int {
        match &self.source {
            Source::Command(..) => known(status),
            // The caller's own number, whatever it is.
            Source::User(_) => status,
        }
    }
}

/// Events that wait lists have room for without an allocation.
const FEW: usize = 8;

/// Calls a function with the plugin's handles for a list of events.
fn with_events<R>(
    handles: &[cl_event],
    find: impl Fn(Out<_cl_event>) -> Result<Object<Event>>,
    body: impl FnOnce(*const pi_event) -> Result<R>,
) -> Result<R> {
    let of = |handle: &cl_event| find(Out::from_pointer(*handle));
    if let Some(few) = handles.get(..).filter(|handles| handles.len() <= FEW) {
        // References, and not only the plugin's handles: another thread may release an event before
        // the plugin has taken the list.
        let mut events: [Option<Object<Event>>; FEW] = [const { None }; FEW];
        let mut raw = [core::ptr::null_mut(); FEW];
        for ((handle, event), raw) in few.iter().zip(&mut events).zip(&mut raw) {
            let event = event.insert(of(handle)?);
            *raw = event.object().pi.raw();
        }
        return body(raw.as_ptr());
    }
    let events = handles.iter().map(of).collect::<Result<Vec<_>>>()?;
    let raw: Vec<pi_event> = events.iter().map(|event| event.object().pi.raw()).collect();
    body(raw.as_ptr())
}

/// Calls a function with a wait list as the plugin takes it.
pub(crate) fn with_wait_list<R>(
    context: &Object<Context>,
    count: cl_uint,
    list: In<cl_event>,
    body: impl FnOnce(cl_uint, *const pi_event) -> Result<R>,
) -> Result<R> {
    let handles = list.list(count).ok_or(Failure(CL_INVALID_EVENT_WAIT_LIST))?;
    if handles.is_empty() {
        return body(0, core::ptr::null());
    }
    let find = |handle| {
        let event = Event::of(handle).map_err(|_| Failure(CL_INVALID_EVENT_WAIT_LIST))?;
        require(event.object().context() == context, CL_INVALID_CONTEXT)?;
        Ok(event)
    };
    with_events(handles, find, |raw| body(count, raw))
}

pub(crate) fn clWaitForEvents(num_events: cl_uint, event_list: In<cl_event>) -> Result<()> {
    require(num_events > 0 && !event_list.is_null(), CL_INVALID_VALUE)?;
    let handles = event_list.list(num_events).ok_or(Failure(CL_INVALID_VALUE))?;
    let first = Event::of(Out::from_pointer(handles[0]))?;
    let find = |handle| {
        let event = Event::of(handle)?;
        require(
            event.object().context() == first.object().context(),
            CL_INVALID_CONTEXT,
        )?;
        Ok(event)
    };
    let plugin = first.object().pi.plugin();
    with_events(handles, find, |raw| pi!(plugin, piEventsWait(num_events, raw)))
}

pub(crate) fn clGetEventInfo(
    event: Out<_cl_event>,
    param_name: cl_event_info,
    param_value_size: usize,
    param_value: Out<c_void>,
    param_value_size_ret: Out<usize>,
) -> Result<()> {
    let record = Event::of(event)?;
    let event = record.object();
    let place = Place::new(param_value_size, param_value, param_value_size_ret);
    match (param_name, &event.source) {
        (CL_EVENT_COMMAND_QUEUE, Source::Command(queue, _)) => place.number(queue.c()),
        (CL_EVENT_COMMAND_QUEUE, Source::User(_)) => place.number(0_usize),
        (CL_EVENT_CONTEXT, _) => place.number(event.context().c()),
        (CL_EVENT_COMMAND_TYPE, Source::Command(_, command)) => place.number(*command),
        (CL_EVENT_COMMAND_TYPE, Source::User(_)) => place.number(CL_COMMAND_USER),
        (CL_EVENT_COMMAND_EXECUTION_STATUS, _) => place.number(event.status()?),
        (CL_EVENT_REFERENCE_COUNT, _) => place.number(record.references()),
        _ => fail(CL_INVALID_VALUE),
    }
}

pub(crate) fn clCreateUserEvent(context: Out<_cl_context>) -> Result<cl_event> {
    Event::of_user(Context::of(context)?)?.create()
}

pub(crate) fn clSetUserEventStatus(event: Out<_cl_event>, execution_status: cl_int) -> Result<()> {
    let event = Event::of(event)?;
    let event = event.object();
    require(matches!(event.source, Source::User(_)), CL_INVALID_EVENT)?;
    require(execution_status <= CL_COMPLETE, CL_INVALID_VALUE)?;
    event.set(execution_status)
}

pub(crate) fn clRetainEvent(event: Out<_cl_event>) -> Result<()> {
    Event::retain(event)
}

pub(crate) fn clReleaseEvent(event: Out<_cl_event>) -> Result<()> {
    Event::release(event)
}

pub(crate) fn clGetEventProfilingInfo(
    event: Out<_cl_event>,
    param_name: cl_profiling_info,
    param_value_size: usize,
    param_value: Out<c_void>,
    param_value_size_ret: Out<usize>,
) -> Result<()> {
    let event = Event::of(event)?;
    let event = event.object();
    let place = Place::new(param_value_size, param_value, param_value_size_ret);
    let profiles = match &event.source {
        Source::Command(queue, _) => queue.object().flags & CL_QUEUE_PROFILING_ENABLE != 0,
        Source::User(_) => false,
    };
    require(profiles, CL_PROFILING_INFO_NOT_AVAILABLE)?;
    let name = match param_name {
        // Commands have none that could go on behind them.
        CL_PROFILING_COMMAND_COMPLETE => CL_PROFILING_COMMAND_END,
        CL_PROFILING_COMMAND_QUEUED
        | CL_PROFILING_COMMAND_SUBMIT
        | CL_PROFILING_COMMAND_START
        | CL_PROFILING_COMMAND_END => param_name,
        _ => return fail(CL_INVALID_VALUE),
    };
    let time: u64 = number(|size, value| {
        let (raw, none) = (event.pi.raw(), core::ptr::null_mut());
        pi!(
            event.pi.plugin(),
            piEventGetProfilingInfo(raw, name, size, value, none)
        )
    })?;
    place.number(time)
}

/// Has the caller told why a command fails, if it does and the caller wants to know of errors in the context.
pub(crate) fn report_failure(context: &Object<Context>, event: &Owned<pi_event>) -> Result<()> {
    // With a reference: the command may end when the caller has released the context.
    let data = Box::into_raw(Box::new(context.clone()));
    let (plugin, raw) = (event.plugin(), event.raw());
    let set = pi!(
        plugin,
        piEventSetCallback(raw, PI_EVENT_COMPLETE, Some(report), data.cast())
    );
    if set.is_err() {
        // SAFETY: made above, and not given away.
        drop(unsafe { Box::from_raw(data) });
    }
    set
}

/// Tells the caller why a command has failed.
///
/// # Safety
///
/// `data` must be a context in a box that is given away.
unsafe extern "C" fn report(event: pi_event, reached: pi_int32, data: *mut c_void) {
    // Before anything else, for it is to be freed also where there is nothing to tell.
    // SAFETY: by the caller's promise.
    let context = unsafe { Box::from_raw(data.cast::<Object<Context>>()) };
    let context = context.object();
    if reached >= PI_EVENT_COMPLETE {
        return;
    }
    let Some(notify) = context.notify else { return };
    let plugin = context.plugin();
    // The plugin has the words for whoever asks how far the event is.
    let status: Result<cl_int> = number(|size, value| {
        let (name, none) = (PI_EVENT_INFO_COMMAND_EXECUTION_STATUS, core::ptr::null_mut());
        pi!(plugin, piEventGetInfo(event, name, size, value, none))
    });
    let words = status.ok().and_then(|_| plugin.last_message());
    let words = words.unwrap_or_else(|| format!("a command has failed with {}", known(reached)));
    if let Ok(text) = CString::new(words) {
        notify.call(&text);
    }
}

/// Has a reference dropped when the commands that a queue has now are over; at once where there is no telling.
pub(crate) fn drop_behind<T: Send + Sync + 'static>(plugin: &Plugin, queue: pi_queue, reference: Arc<T>) {
    let marker = own(
        plugin,
        |event| pi!(plugin, piEnqueueEventsWait(queue, 0, core::ptr::null(), event)),
        core::ptr::null_mut(),
    );
    // A queue that is gone meanwhile, or a plugin without memory.
    let Ok(marker) = marker else { return };
    let data = Box::into_raw(Box::new(reference));
    let set = pi!(
        plugin,
        piEventSetCallback(marker.raw(), PI_EVENT_COMPLETE, Some(drop_now::<T>), data.cast())
    );
    if set.is_err() {
        // SAFETY: made above, and not given away.
        drop(unsafe { Box::from_raw(data) });
    }
}

/// Drops a reference.
///
/// # Safety
///
/// `data` must be a reference to a `T` in a box that is given away.
unsafe extern "C" fn drop_now<T>(_: pi_event, _: pi_int32, data: *mut c_void) {
    // SAFETY: by the caller's promise.
    drop(unsafe { Box::from_raw(data.cast::<Arc<T>>()) });
}

/// What a callback of the caller's needs.
struct Told {
    /// Keeps the handle good until the callback, whether or not the caller releases it before.
    event: Object<Event>,
    function: unsafe extern "C" fn(cl_event, cl_int, *mut c_void),
    /// The status that the callback waits for.
    status: cl_int,
    data: UserData,
}

/// Calls the caller's function.
///
/// # Safety
///
/// `data` must be a [`Told`] in a box that is given away.
unsafe extern "C" fn tell(_: pi_event, reached: pi_int32, data: *mut c_void) {
    // SAFETY: by the caller's promise.
    let told = unsafe { Box::from_raw(data.cast::<Told>()) };
    // A failure is told as such, and else the status that was asked for, even if the command is past it.
    let status = match reached {
        ..0 => told.event.object().told(reached),
        _ => told.status,
    };
    call_event(told.function, told.event.c(), status, told.data);
}

pub(crate) fn clSetEventCallback(
    event: Out<_cl_event>,
    command_exec_callback_type: cl_int,
    pfn_notify: EventNotify,
    user_data: Out<c_void>,
) -> Result<()> {
    let function = pfn_notify.ok_or(Failure(CL_INVALID_VALUE));
    let event = Event::of(event)?;
    let known = [CL_SUBMITTED, CL_RUNNING, CL_COMPLETE];
    require(known.contains(&command_exec_callback_type), CL_INVALID_VALUE)?;
    call_back(
        &event,
        command_exec_callback_type,
        function?,
        UserData::new(user_data),
    )
}

/// Has a function called when an event has reached a status.
fn call_back(
    event: &Object<Event>,
    status: cl_int,
    function: unsafe extern "C" fn(cl_event, cl_int, *mut c_void),
    data: UserData,
) -> Result<()> {
    let told = Box::new(Told {
        event: event.clone(),
        function,
        status,
        data,
    });
    let (plugin, raw) = (event.object().pi.plugin(), event.object().pi.raw());
    let data = Box::into_raw(told);
    let set = pi!(plugin, piEventSetCallback(raw, status, Some(tell), data.cast()));
    if set.is_err() {
        // SAFETY: made above, and not given away.
        drop(unsafe { Box::from_raw(data) });
    }
    set
}
