//! Images and samplers.

use super::context::Buffer;
use super::queue::{Order, pointer, submit};
use super::{Event, Owned, Result, ask, call, create};
use core::ptr::null_mut;
use offkit_opencl::*;
use offkit_pi::plugin::{HostSource, HostTarget, ImageBox, Pitches, SamplerRequest};

/// The host's side of a transfer.
pub(crate) enum HostSide<'a> {
    /// The image is read.
    To(&'a HostTarget),
    /// The image is written.
    From(&'a HostSource),
}

impl Owned<_cl_context> {
    /// An image, in the memory of another object if there is a source.
    pub(crate) fn create_image(
        &self,
        flags: cl_mem_flags,
        format: cl_image_format,
        shape: cl_image_desc,
        source: Option<&Owned<_cl_mem>>,
        content: &Buffer<'_>,
    ) -> Result<Owned<_cl_mem>> {
        let driver = self.driver();
        let shape = cl_image_desc {
            mem_object: source.map_or(null_mut(), Owned::handle),
            ..shape
        };
        // SAFETY: the memory of the host has as many bytes as an image of that shape, as the plugin interface has seen
        // to; it is read during the call, or the host has given it to the image.
        unsafe {
            let image = create!(
                driver.table,
                clCreateImage(
                    self.handle(),
                    flags,
                    &raw const format,
                    &raw const shape,
                    content.pointer()
                )
            )?;
            Owned::new(driver, "clCreateImage", image)
        }
    }

    pub(crate) fn create_sampler(&self, request: &SamplerRequest) -> Result<Owned<_cl_sampler>> {
        let driver = self.driver();
        let SamplerRequest {
            normalized,
            addressing,
            filter,
        } = *request;
        let normalized = cl_bool::from(normalized);
        let properties = [
            (CL_SAMPLER_NORMALIZED_COORDS, normalized),
            (CL_SAMPLER_ADDRESSING_MODE, addressing),
            (CL_SAMPLER_FILTER_MODE, filter),
        ];
        let properties = properties.map(|(key, value)| [key.into(), value.into()]);
        let list: Vec<cl_sampler_properties> = properties.as_flattened().iter().copied().chain([0]).collect();
        // SAFETY: a list of properties that ends with 0.
        unsafe {
            let sampler = if driver.version >= (2, 0) {
                create!(
                    driver.table,
                    clCreateSamplerWithProperties(self.handle(), list.as_ptr())
                )
            } else {
                create!(
                    driver.table,
                    clCreateSampler(self.handle(), normalized, addressing, filter)
                )
            }?;
            Owned::new(driver, "clCreateSampler", sampler)
        }
    }
}

impl Owned<_cl_mem> {
    /// The answer to a query about an image.
    pub(crate) fn image_info(&self, name: cl_image_info) -> Result<Vec<u8>> {
        // SAFETY: the memory object is the driver's.
        ask!(self.driver().table, unsafe clGetImageInfo(self.handle(), name))
    }
}

impl Owned<_cl_command_queue> {
    /// Reads a box from an image, or writes one to it.
    pub(crate) fn transfer_image(
        &self,
        image: &Owned<_cl_mem>,
        area: &ImageBox,
        host: &HostSide<'_>,
        pitches: Pitches,
        order: &Order<'_>,
    ) -> Result<Option<Event>> {
        macro_rules! with_host {
            ($function:ident, $host:ident) => {
                submit!(
                    self,
                    order,
                    self.driver().table,
                    $function(
                        image.handle(),
                        CL_FALSE,
                        area.origin.as_ptr(),
                        area.region.as_ptr(),
                        pitches.row,
                        pitches.slice,
                        pointer($host.address())
                    )
                )
            };
        }
        // SAFETY: the memory of the host is given to the command until it is complete, and has the box with these pitches,
        // as the plugin interface has seen to.
        unsafe {
            match host {
                HostSide::To(target) => with_host!(clEnqueueReadImage, target),
                HostSide::From(source) => with_host!(clEnqueueWriteImage, source),
            }
        }
    }

    pub(crate) fn copy_image(
        &self,
        source: (&Owned<_cl_mem>, &ImageBox),
        target: (&Owned<_cl_mem>, &[usize; 3]),
        order: &Order<'_>,
    ) -> Result<Option<Event>> {
        let ((from, area), (to, origin)) = (source, target);
        // SAFETY: the images are of the queue's context, and the driver checks what it does with them.
        unsafe {
            submit!(
                self,
                order,
                self.driver().table,
                clEnqueueCopyImage(
                    from.handle(),
                    to.handle(),
                    area.origin.as_ptr(),
                    origin.as_ptr(),
                    area.region.as_ptr()
                )
            )
        }
    }

    pub(crate) fn fill_image(
        &self,
        image: &Owned<_cl_mem>,
        color: &[u8; 16],
        area: &ImageBox,
        order: &Order<'_>,
    ) -> Result<Option<Event>> {
        // Drivers read it as numbers.
        let color = color.as_chunks().0;
        let color: [u32; 4] = core::array::from_fn(|index| u32::from_ne_bytes(color[index]));
        // SAFETY: four numbers of 32 bits, which are read during the call.
        unsafe {
            submit!(
                self,
                order,
                self.driver().table,
                clEnqueueFillImage(
                    image.handle(),
                    color.as_ptr().cast(),
                    area.origin.as_ptr(),
                    area.region.as_ptr()
                )
            )
        }
    }
}
