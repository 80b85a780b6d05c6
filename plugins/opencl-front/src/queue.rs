//! Queues, and how commands get into them.

use crate::answer::Place;
use crate::c::{In, Out};
use crate::context::Context;
use crate::device::Device;
use crate::event::{Event, drop_behind, report_failure, with_wait_list};
use crate::failure::{Failure, Result, fail, require};
use crate::handle::{Handle, Handled, Object};
use crate::pi::{own, pi};
use cl::*;
use core::ffi::c_void;
use offkit_pi::ffi::{pi_event, pi_queue};
use offkit_pi::host::{Owned, Plugin};
use offkit_sync::Arc;

/// A queue.
pub(crate) struct Queue {
    listed: Arc<Listed>,
    pub(crate) context: Object<Context>,
    pub(crate) device: Object<Device>,
    pub(crate) flags: cl_command_queue_properties,
    /// As given, if it was made by such a list.
    properties: Option<Vec<cl_queue_properties>>,
}

/// The plugin's queue, which its context knows as long as it has commands.
struct Listed {
    pi: Owned<pi_queue>,
    context: Object<Context>,
}

/// Where a command goes, and what it waits for: the arguments that all commands have.
#[derive(Clone, Copy)]
pub(crate) struct Submission {
    pub(crate) count: cl_uint,
    pub(crate) list: In<cl_event>,
    pub(crate) event: Out<cl_event>,
}

impl Queue {
    pub(crate) fn plugin(&self) -> &Plugin {
        self.listed.pi.plugin()
    }

    pub(crate) fn raw(&self) -> pi_queue {
        self.listed.pi.raw()
    }

    pub(crate) fn finish(&self) -> Result<()> {
        pi!(self.plugin(), piQueueFinish(self.raw()))
    }

    /// Refuses what is of another context.
    pub(crate) fn check_context(&self, context: &Object<Context>) -> Result<()> {
        require(self.context == *context, CL_INVALID_CONTEXT)
    }
}

impl Drop for Queue {
    fn drop(&mut self) {
        drop_behind(self.plugin(), self.raw(), Arc::clone(&self.listed));
    }
}

impl Drop for Listed {
    fn drop(&mut self) {
        // While the handle is still this queue's: once it is released, the plugin may give it to
        // another one.
        let raw = self.pi.raw().addr();
        self.context.object().queues().retain(|queue| *queue != raw);
    }
}

/// Submits a command: calls a function with the events to wait for, and with where to put the command's.
pub(crate) fn submit(
    queue: &Object<Queue>,
    command: cl_command_type,
    to: Submission,
    call: impl FnOnce(&Plugin, pi_queue, cl_uint, *const pi_event, *mut pi_event) -> Result<()>,
) -> Result<()> {
    let target = queue.object();
    with_wait_list(&target.context, to.count, to.list, |count, list| {
        let notifies = target.context.object().notify.is_some();
        // Without a place for an event the plugin makes none for a command that it does at once.
        if to.event.is_null() && !notifies {
            return call(target.plugin(), target.raw(), count, list, core::ptr::null_mut());
        }
        let event = own(
            target.plugin(),
            |event| call(target.plugin(), target.raw(), count, list, event),
            core::ptr::null_mut(),
        )?;
        // The command is on its way: that nobody can be told how it ends is no reason to say it is not.
        if notifies && report_failure(&target.context, &event).is_err() {
            tracing::warn!("a context will not be told of a command's failure");
        }
        if !to.event.is_null() {
            to.event.write(Event::of_command(event, queue, command).create()?);
        }
        Ok(())
    })
}

/// Submits a command without work: it does nothing, once what it waits for is done.
pub(crate) fn submit_nothing(queue: &Object<Queue>, command: cl_command_type, to: Submission) -> Result<()> {
    submit(queue, command, to, nothing)
}

/// Submits such a command as a part of another one: the caller knows neither it nor how it ends.
pub(crate) fn submit_part(queue: &Queue, count: cl_uint, list: In<cl_event>) -> Result<Owned<pi_event>> {
    with_wait_list(&queue.context, count, list, |count, list| {
        own(
            queue.plugin(),
            |event| nothing(queue.plugin(), queue.raw(), count, list, event),
            core::ptr::null_mut(),
        )
    })
}

fn nothing(
    plugin: &Plugin,
    queue: pi_queue,
    count: cl_uint,
    list: *const pi_event,
    event: *mut pi_event,
) -> Result<()> {
    pi!(
        plugin,
        // A marker without a list would wait for all that was submitted before, in a queue without order too.
        piextUSMEnqueuePrefetch(queue, core::ptr::null(), 0, 0, count, list, event)
    )
}

/// Submits a command without work, and waits for it if the caller blocks.
pub(crate) fn submit_nothing_and_wait(
    queue: &Object<Queue>,
    kind: cl_command_type,
    blocking: cl_bool,
    to: Submission,
) -> Result<()> {
    if blocking == CL_FALSE {
        return submit_nothing(queue, kind, to);
    }
    // An event even where the caller wants none: this call waits for it.
    let mut own: cl_event = core::ptr::null_mut();
    let with_event = Submission {
        event: Out::to(&mut own),
        ..to
    };
    submit_nothing(queue, kind, with_event)?;
    let event = Event::of(Out::from_pointer(own))?;
    let waited = event.object().wait();
    if waited.is_err() || to.event.is_null() {
        Event::release(Out::from_pointer(own))?;
        return waited;
    }
    to.event.write(own);
    Ok(())
}

fn create(
    context: Out<_cl_context>,
    device: Out<_cl_device_id>,
    flags: cl_command_queue_properties,
    properties: Option<Vec<cl_queue_properties>>,
) -> Result<cl_command_queue> {
    let context = Context::of(context)?;
    let device = context.object().device(device)?.clone();
    // OpenCL has two errors: for bits that are no property, and for properties that the device
    // does not have.
    let known = CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE
        | CL_QUEUE_PROFILING_ENABLE
        | CL_QUEUE_ON_DEVICE
        | CL_QUEUE_ON_DEVICE_DEFAULT;
    require(flags & !known == 0, CL_INVALID_VALUE)?;
    let on_device = CL_QUEUE_ON_DEVICE | CL_QUEUE_ON_DEVICE_DEFAULT;
    require(flags & on_device == 0, CL_INVALID_QUEUE_PROPERTIES)?;
    let plugin = context.object().plugin();
    let (context_raw, device_raw) = (context.object().pi.raw(), device.object().pi.raw());
    let pi = own(
        plugin,
        |queue| {
            // SAFETY: both handles are those of objects that are there.
            *queue = unsafe { plugin.create_queue(context_raw, device_raw, flags) }?;
            Ok(())
        },
        core::ptr::null_mut(),
    )?;
    let listed = Arc::new(Listed {
        pi,
        context: context.clone(),
    });
    let queue = Queue {
        listed,
        context: context.clone(),
        device,
        flags,
        properties,
    };
    // Before it has a handle: where it gets none, dropping it takes the entry out again.
    context.object().queues().push(queue.raw().expose_provenance());
    queue.create()
}

pub(crate) fn clCreateCommandQueue(
    context: Out<_cl_context>,
    device: Out<_cl_device_id>,
    properties: cl_command_queue_properties,
) -> Result<cl_command_queue> {
    create(context, device, properties, None)
}

pub(crate) fn clCreateCommandQueueWithProperties(
    context: Out<_cl_context>,
    device: Out<_cl_device_id>,
    properties: In<cl_queue_properties>,
) -> Result<cl_command_queue> {
    let list = properties.pairs();
    let mut flags = 0;
    for pair in list.chunks_exact(2) {
        match u32::try_from(pair[0]) {
            Ok(CL_QUEUE_PROPERTIES) => flags = pair[1],
            // Only queues on the device have a size, and there are none.
            Ok(CL_QUEUE_SIZE) => return fail(CL_INVALID_QUEUE_PROPERTIES),
            _ => return fail(CL_INVALID_VALUE),
        }
    }
    create(context, device, flags, Some(list))
}

pub(crate) fn clCreateCommandQueueWithPropertiesKHR(
    context: Out<_cl_context>,
    device: Out<_cl_device_id>,
    properties: In<cl_queue_properties>,
) -> Result<cl_command_queue> {
    clCreateCommandQueueWithProperties(context, device, properties)
}

pub(crate) fn clRetainCommandQueue(command_queue: Out<_cl_command_queue>) -> Result<()> {
    Queue::retain(command_queue)
}

pub(crate) fn clReleaseCommandQueue(command_queue: Out<_cl_command_queue>) -> Result<()> {
    Queue::release(command_queue)
}

pub(crate) fn clGetCommandQueueInfo(
    command_queue: Out<_cl_command_queue>,
    param_name: cl_command_queue_info,
    param_value_size: usize,
    param_value: Out<c_void>,
    param_value_size_ret: Out<usize>,
) -> Result<()> {
    let record = Queue::of(command_queue)?;
    let queue = record.object();
    let place = Place::new(param_value_size, param_value, param_value_size_ret);
    match param_name {
        CL_QUEUE_CONTEXT => place.number(queue.context.c()),
        CL_QUEUE_DEVICE => place.number(queue.device.c()),
        CL_QUEUE_REFERENCE_COUNT => place.number(record.references()),
        CL_QUEUE_PROPERTIES => place.number(queue.flags),
        CL_QUEUE_PROPERTIES_ARRAY => place.numbers(queue.properties.as_deref().unwrap_or_default()),
        CL_QUEUE_DEVICE_DEFAULT => place.number(0_usize),
        // That of a queue on the device.
        CL_QUEUE_SIZE => fail(CL_INVALID_COMMAND_QUEUE),
        _ => fail(CL_INVALID_VALUE),
    }
}

pub(crate) fn clFlush(command_queue: Out<_cl_command_queue>) -> Result<()> {
    let queue = Queue::of(command_queue)?;
    let queue = queue.object();
    match queue.plugin().api().piQueueFlush {
        Some(_) => pi!(queue.plugin(), piQueueFlush(queue.raw())),
        // Commands start by themselves in versions without.
        None => Ok(()),
    }
}

pub(crate) fn clFinish(command_queue: Out<_cl_command_queue>) -> Result<()> {
    Queue::of(command_queue)?.object().finish()
}

fn marker(command_queue: Out<_cl_command_queue>, to: Submission) -> Result<()> {
    let queue = Queue::of(command_queue)?;
    submit(
        &queue,
        CL_COMMAND_MARKER,
        to,
        |plugin, raw, count, list, event| pi!(plugin, piEnqueueEventsWait(raw, count, list, event)),
    )
}

fn barrier(command_queue: Out<_cl_command_queue>, to: Submission) -> Result<()> {
    let queue = Queue::of(command_queue)?;
    submit(
        &queue,
        CL_COMMAND_BARRIER,
        to,
        |plugin, raw, count, list, event| {
            pi!(plugin, piEnqueueEventsWaitWithBarrier(raw, count, list, event))
        },
    )
}

pub(crate) fn clEnqueueMarkerWithWaitList(
    command_queue: Out<_cl_command_queue>,
    count: cl_uint,
    list: In<cl_event>,
    event: Out<cl_event>,
) -> Result<()> {
    marker(command_queue, Submission { count, list, event })
}

pub(crate) fn clEnqueueBarrierWithWaitList(
    command_queue: Out<_cl_command_queue>,
    count: cl_uint,
    list: In<cl_event>,
    event: Out<cl_event>,
) -> Result<()> {
    barrier(command_queue, Submission { count, list, event })
}

pub(crate) fn clEnqueueMarker(command_queue: Out<_cl_command_queue>, event: Out<cl_event>) -> Result<()> {
    require(!event.is_null(), CL_INVALID_VALUE)?;
    let (count, list) = (0, In::null());
    marker(command_queue, Submission { count, list, event })
}

pub(crate) fn clEnqueueBarrier(command_queue: Out<_cl_command_queue>) -> Result<()> {
    let (count, list, event) = (0, In::null(), Out::null());
    barrier(command_queue, Submission { count, list, event })
}

pub(crate) fn clEnqueueWaitForEvents(
    command_queue: Out<_cl_command_queue>,
    num_events: cl_uint,
    event_list: In<cl_event>,
) -> Result<()> {
    require(num_events > 0 && !event_list.is_null(), CL_INVALID_VALUE)?;
    let to = Submission {
        count: num_events,
        list: event_list,
        event: Out::null(),
    };
    // The events of this list are no wait list to OpenCL 1.0.
    barrier(command_queue, to).map_err(|failure| match failure {
        Failure(CL_INVALID_EVENT_WAIT_LIST) => Failure(CL_INVALID_EVENT),
        failure => failure,
    })
}
