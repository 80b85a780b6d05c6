//! Objects that a plugin does not have.

use super::{
    Argument, Command, Event, Kernel, Memory, NewEvent, Plugin, Program, Queue, Ref, Result, Sampler,
};
use crate::ffi::*;
use std::sync::Arc;

/// The type of a kind of object that a plugin does not have. There are no values of it; the functions of
/// [`Context`] that would make one are left out.
///
/// [`Context`]: super::Context
#[derive(Debug)]
pub enum Unsupported {}

impl<P: Plugin> Queue<P> for Unsupported {
    fn enqueue(queue: &Ref<Self>, _: Command<P>, _: &[Ref<P::Event>], _: NewEvent<'_, P>) -> Result<()> {
        match **queue {}
    }

    fn finish(&self) -> Result<()> {
        match *self {}
    }
}

impl<P: Plugin> Memory<P> for Unsupported {}

impl<P: Plugin> Sampler<P> for Unsupported {}

impl<P: Plugin> Program<P> for Unsupported {
    fn build(&self, _: &[Arc<P::Device>], _: &str) -> Result<()> {
        match *self {}
    }

    fn kernel_names(&self) -> Result<Vec<String>> {
        match *self {}
    }

    fn create_kernel(program: &Ref<Self>, _: &str) -> Result<P::Kernel> {
        match **program {}
    }
}

impl<P: Plugin> Kernel<P> for Unsupported {
    fn name(&self) -> String {
        match *self {}
    }

    fn num_args(&self) -> u32 {
        match *self {}
    }

    fn set_argument(&self, _: u32, _: Argument<'_, P>) -> Result<()> {
        match *self {}
    }
}

impl<P: Plugin> Event<P> for Unsupported {
    fn status(&self) -> Result<pi_event_status> {
        match *self {}
    }

    fn wait(&self) -> Result<()> {
        match *self {}
    }
}
