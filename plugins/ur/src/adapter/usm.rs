//! Unified shared memory.

use super::{DeviceId, Owned, Result, ask, call, pointer};
use core::ptr::{null, null_mut};
use offkit_pi::host::UsmKind;
use offkit_ur::*;

impl Owned<_ur_context> {
    pub(crate) fn allocate_usm(
        &self,
        kind: UsmKind,
        device: Option<DeviceId>,
        size: usize,
        alignment: usize,
    ) -> Result<usize> {
        let (adapter, context) = (self.adapter(), self.handle());
        let device = device.map_or(null_mut(), DeviceId::handle);
        let description = ur_usm_desc_t {
            stype: UR_STRUCTURE_TYPE_USM_DESC,
            next: null(),
            hints: 0,
            align: alignment as u32,
        };
        let (how, pool, mut address) = (&raw const description, null_mut(), null_mut());
        // SAFETY: the device is null, or one of the context's, as the plugin interface has checked; no pool; the place for
        // the address is there.
        unsafe {
            match kind {
                UsmKind::Host => {
                    call!(
                        adapter,
                        urUSMHostAlloc(context, how, pool, size, &raw mut address)
                    )
                }
                UsmKind::Device => {
                    call!(
                        adapter,
                        urUSMDeviceAlloc(context, device, how, pool, size, &raw mut address)
                    )
                }
                UsmKind::Shared => {
                    call!(
                        adapter,
                        urUSMSharedAlloc(context, device, how, pool, size, &raw mut address)
                    )
                }
            }
        }?;
        Ok(address.expose_provenance())
    }

    pub(crate) fn free_usm(&self, address: usize) -> Result<()> {
        // SAFETY: that the address is one of an allocation, and that nobody uses it any more, the host vouches for.
        unsafe { call!(self.adapter(), urUSMFree(self.handle(), pointer(address))) }
    }

    /// The answer to a query about an address, as a word.
    pub(crate) fn usm_info(&self, address: usize, name: u32) -> Result<usize> {
        // SAFETY: any address may be asked about.
        let bytes = ask!(
            self.adapter(),
            unsafe urUSMGetMemAllocInfo(self.handle(), pointer(address), name)
        )?;
        // A type has 4 bytes, and addresses and sizes have 8: the first fill the low half of the
        // word.
        let mut word = [0; size_of::<usize>()];
        for (place, byte) in word.iter_mut().zip(bytes) {
            *place = byte;
        }
        Ok(usize::from_ne_bytes(word))
    }
}
