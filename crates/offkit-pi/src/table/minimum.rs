//! What a plugin cannot do without.

use super::Function;

impl Function {
    /// The functions a plugin needs to have its devices listed.
    pub const TO_LIST: &'static [Function] = &[
        Function::piPlatformsGet,
        Function::piDevicesGet,
        Function::piDeviceGetInfo,
    ];

    /// The functions it needs besides [`TO_LIST`](Self::TO_LIST) to run a kernel on buffers, from intermediate language.
    ///
    /// In a version that has `piextQueueCreate`, real hosts call that instead of `piQueueCreate`.
    pub const TO_RUN: &'static [Function] = &[
        Function::piContextCreate,
        Function::piQueueCreate,
        Function::piMemBufferCreate,
        Function::piProgramCreate,
        Function::piProgramBuild,
        Function::piKernelCreate,
        Function::piKernelSetArg,
        Function::piextKernelSetArgMemObj,
        Function::piEnqueueKernelLaunch,
        Function::piEventsWait,
        Function::piEnqueueMemBufferRead,
    ];
}
