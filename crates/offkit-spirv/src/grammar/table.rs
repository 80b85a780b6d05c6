// Written by generate.py (`./dev grammar`); not to be edited.
//
// Facts of SPIR-V 1.6 revision 7, from the grammar in KhronosGroup/SPIRV-Headers,
// commit 0d25db9 of 2026-08-14: include/spirv/unified1/*.grammar.json,
// Copyright (c) 2014-2026 The Khronos Group Inc., MIT licence.

use super::{Kind, Slot, class, enumeration, operands, slots};

enumeration! { Op
    Nop = 0; Undef = 1 [ResultType Result]; SourceContinued = 2 [Text];
    Source = 3 [SourceLanguage Word (Id) (Text)]; SourceExtension = 4 [Text]; Name = 5 [Id Text];
    MemberName = 6 [Id Word Text]; String = 7 [Result Text]; Line = 8 [Id Word Word]; Extension = 10 [Text];
    ExtInstImport = 11 [Result Text]; ExtInst = 12 [ResultType Result Id Extended {Id}];
    MemoryModel = 14 [AddressingModel MemoryModel]; EntryPoint = 15 [ExecutionModel Id Text {Id}];
    ExecutionMode = 16 [Id ExecutionMode]; Capability = 17 [Capability]; TypeVoid = 19 [Result];
    TypeBool = 20 [Result]; TypeInt = 21 [Result Word Word]; TypeFloat = 22 [Result Word (Word)];
    TypeVector = 23 [Result Id Word]; TypeMatrix = 24 [Result Id Word];
    TypeImage = 25 [Result Id Dim Word Word Word Word Word (AccessQualifier)]; TypeSampler = 26 [Result];
    TypeSampledImage = 27 [Result Id]; TypeArray = 28 [Result Id Id]; TypeRuntimeArray = 29 [Result Id];
    TypeStruct = 30 [Result {Id}]; TypeOpaque = 31 [Result Text]; TypePointer = 32 [Result StorageClass Id];
    TypeFunction = 33 [Result Id {Id}]; TypeEvent = 34 [Result]; TypeDeviceEvent = 35 [Result];
    TypeReserveId = 36 [Result]; TypeQueue = 37 [Result]; TypePipe = 38 [Result AccessQualifier];
    TypeForwardPointer = 39 [Id StorageClass]; ConstantTrue = 41 [ResultType Result];
    ConstantFalse = 42 [ResultType Result]; Constant = 43 [ResultType Result Number];
    ConstantComposite = 44 [ResultType Result {Id}]; ConstantSampler = 45 [ResultType Result Word Word Word];
    ConstantNull = 46 [ResultType Result]; SpecConstantTrue = 48 [ResultType Result];
    SpecConstantFalse = 49 [ResultType Result]; SpecConstant = 50 [ResultType Result Number];
    SpecConstantComposite = 51 [ResultType Result {Id}]; SpecConstantOp = 52 [ResultType Result Operation];
    Function = 54 [ResultType Result Word Id]; FunctionParameter = 55 [ResultType Result]; FunctionEnd = 56;
    FunctionCall = 57 [ResultType Result Id {Id}]; Variable = 59 [ResultType Result StorageClass (Id)];
    ImageTexelPointer = 60 [ResultType Result Id Id Id]; Load = 61 [ResultType Result Id (MemoryAccess)];
    Store = 62 [Id Id (MemoryAccess)]; CopyMemory = 63 [Id Id (MemoryAccess) (MemoryAccess)];
    CopyMemorySized = 64 [Id Id Id (MemoryAccess) (MemoryAccess)]; AccessChain = 65 [ResultType Result Id {Id}];
    InBoundsAccessChain = 66 [ResultType Result Id {Id}]; PtrAccessChain = 67 [ResultType Result Id Id {Id}];
    ArrayLength = 68 [ResultType Result Id Word]; GenericPtrMemSemantics = 69 [ResultType Result Id];
    InBoundsPtrAccessChain = 70 [ResultType Result Id Id {Id}]; Decorate = 71 [Id Decoration];
    MemberDecorate = 72 [Id Word Decoration]; DecorationGroup = 73 [Result]; GroupDecorate = 74 [Id {Id}];
    GroupMemberDecorate = 75 [Id {IdAndWord}]; VectorExtractDynamic = 77 [ResultType Result Id Id];
    VectorInsertDynamic = 78 [ResultType Result Id Id Id]; VectorShuffle = 79 [ResultType Result Id Id {Word}];
    CompositeConstruct = 80 [ResultType Result {Id}]; CompositeExtract = 81 [ResultType Result Id {Word}];
    CompositeInsert = 82 [ResultType Result Id Id {Word}]; CopyObject = 83 [ResultType Result Id];
    Transpose = 84 [ResultType Result Id]; SampledImage = 86 [ResultType Result Id Id];
    ImageSampleImplicitLod = 87 [ResultType Result Id Id (ImageOperands)];
    ImageSampleExplicitLod = 88 [ResultType Result Id Id ImageOperands];
    ImageSampleDrefImplicitLod = 89 [ResultType Result Id Id Id (ImageOperands)];
    ImageSampleDrefExplicitLod = 90 [ResultType Result Id Id Id ImageOperands];
    ImageSampleProjImplicitLod = 91 [ResultType Result Id Id (ImageOperands)];
    ImageSampleProjExplicitLod = 92 [ResultType Result Id Id ImageOperands];
    ImageSampleProjDrefImplicitLod = 93 [ResultType Result Id Id Id (ImageOperands)];
    ImageSampleProjDrefExplicitLod = 94 [ResultType Result Id Id Id ImageOperands];
    ImageFetch = 95 [ResultType Result Id Id (ImageOperands)];
    ImageGather = 96 [ResultType Result Id Id Id (ImageOperands)];
    ImageDrefGather = 97 [ResultType Result Id Id Id (ImageOperands)];
    ImageRead = 98 [ResultType Result Id Id (ImageOperands)]; ImageWrite = 99 [Id Id Id (ImageOperands)];
    Image = 100 [ResultType Result Id]; ImageQueryFormat = 101 [ResultType Result Id];
    ImageQueryOrder = 102 [ResultType Result Id]; ImageQuerySizeLod = 103 [ResultType Result Id Id];
    ImageQuerySize = 104 [ResultType Result Id]; ImageQueryLod = 105 [ResultType Result Id Id];
    ImageQueryLevels = 106 [ResultType Result Id]; ImageQuerySamples = 107 [ResultType Result Id];
    ConvertFToU = 109 [ResultType Result Id]; ConvertFToS = 110 [ResultType Result Id];
    ConvertSToF = 111 [ResultType Result Id]; ConvertUToF = 112 [ResultType Result Id];
    UConvert = 113 [ResultType Result Id]; SConvert = 114 [ResultType Result Id];
    FConvert = 115 [ResultType Result Id]; QuantizeToF16 = 116 [ResultType Result Id];
    ConvertPtrToU = 117 [ResultType Result Id]; SatConvertSToU = 118 [ResultType Result Id];
    SatConvertUToS = 119 [ResultType Result Id]; ConvertUToPtr = 120 [ResultType Result Id];
    PtrCastToGeneric = 121 [ResultType Result Id]; GenericCastToPtr = 122 [ResultType Result Id];
    GenericCastToPtrExplicit = 123 [ResultType Result Id StorageClass]; Bitcast = 124 [ResultType Result Id];
    SNegate = 126 [ResultType Result Id]; FNegate = 127 [ResultType Result Id];
    IAdd = 128 [ResultType Result Id Id]; FAdd = 129 [ResultType Result Id Id];
    ISub = 130 [ResultType Result Id Id]; FSub = 131 [ResultType Result Id Id];
    IMul = 132 [ResultType Result Id Id]; FMul = 133 [ResultType Result Id Id];
    UDiv = 134 [ResultType Result Id Id]; SDiv = 135 [ResultType Result Id Id];
    FDiv = 136 [ResultType Result Id Id]; UMod = 137 [ResultType Result Id Id];
    SRem = 138 [ResultType Result Id Id]; SMod = 139 [ResultType Result Id Id];
    FRem = 140 [ResultType Result Id Id]; FMod = 141 [ResultType Result Id Id];
    VectorTimesScalar = 142 [ResultType Result Id Id]; MatrixTimesScalar = 143 [ResultType Result Id Id];
    VectorTimesMatrix = 144 [ResultType Result Id Id]; MatrixTimesVector = 145 [ResultType Result Id Id];
    MatrixTimesMatrix = 146 [ResultType Result Id Id]; OuterProduct = 147 [ResultType Result Id Id];
    Dot = 148 [ResultType Result Id Id]; IAddCarry = 149 [ResultType Result Id Id];
    ISubBorrow = 150 [ResultType Result Id Id]; UMulExtended = 151 [ResultType Result Id Id];
    SMulExtended = 152 [ResultType Result Id Id]; Any = 154 [ResultType Result Id];
    All = 155 [ResultType Result Id]; IsNan = 156 [ResultType Result Id]; IsInf = 157 [ResultType Result Id];
    IsFinite = 158 [ResultType Result Id]; IsNormal = 159 [ResultType Result Id];
    SignBitSet = 160 [ResultType Result Id]; LessOrGreater = 161 [ResultType Result Id Id];
    Ordered = 162 [ResultType Result Id Id]; Unordered = 163 [ResultType Result Id Id];
    LogicalEqual = 164 [ResultType Result Id Id]; LogicalNotEqual = 165 [ResultType Result Id Id];
    LogicalOr = 166 [ResultType Result Id Id]; LogicalAnd = 167 [ResultType Result Id Id];
    LogicalNot = 168 [ResultType Result Id]; Select = 169 [ResultType Result Id Id Id];
    IEqual = 170 [ResultType Result Id Id]; INotEqual = 171 [ResultType Result Id Id];
    UGreaterThan = 172 [ResultType Result Id Id]; SGreaterThan = 173 [ResultType Result Id Id];
    UGreaterThanEqual = 174 [ResultType Result Id Id]; SGreaterThanEqual = 175 [ResultType Result Id Id];
    ULessThan = 176 [ResultType Result Id Id]; SLessThan = 177 [ResultType Result Id Id];
    ULessThanEqual = 178 [ResultType Result Id Id]; SLessThanEqual = 179 [ResultType Result Id Id];
    FOrdEqual = 180 [ResultType Result Id Id]; FUnordEqual = 181 [ResultType Result Id Id];
    FOrdNotEqual = 182 [ResultType Result Id Id]; FUnordNotEqual = 183 [ResultType Result Id Id];
    FOrdLessThan = 184 [ResultType Result Id Id]; FUnordLessThan = 185 [ResultType Result Id Id];
    FOrdGreaterThan = 186 [ResultType Result Id Id]; FUnordGreaterThan = 187 [ResultType Result Id Id];
    FOrdLessThanEqual = 188 [ResultType Result Id Id]; FUnordLessThanEqual = 189 [ResultType Result Id Id];
    FOrdGreaterThanEqual = 190 [ResultType Result Id Id]; FUnordGreaterThanEqual = 191 [ResultType Result Id Id];
    ShiftRightLogical = 194 [ResultType Result Id Id]; ShiftRightArithmetic = 195 [ResultType Result Id Id];
    ShiftLeftLogical = 196 [ResultType Result Id Id]; BitwiseOr = 197 [ResultType Result Id Id];
    BitwiseXor = 198 [ResultType Result Id Id]; BitwiseAnd = 199 [ResultType Result Id Id];
    Not = 200 [ResultType Result Id]; BitFieldInsert = 201 [ResultType Result Id Id Id Id];
    BitFieldSExtract = 202 [ResultType Result Id Id Id]; BitFieldUExtract = 203 [ResultType Result Id Id Id];
    BitReverse = 204 [ResultType Result Id]; BitCount = 205 [ResultType Result Id];
    DPdx = 207 [ResultType Result Id]; DPdy = 208 [ResultType Result Id]; Fwidth = 209 [ResultType Result Id];
    DPdxFine = 210 [ResultType Result Id]; DPdyFine = 211 [ResultType Result Id];
    FwidthFine = 212 [ResultType Result Id]; DPdxCoarse = 213 [ResultType Result Id];
    DPdyCoarse = 214 [ResultType Result Id]; FwidthCoarse = 215 [ResultType Result Id]; EmitVertex = 218;
    EndPrimitive = 219; EmitStreamVertex = 220 [Id]; EndStreamPrimitive = 221 [Id]; ControlBarrier = 224 [Id Id Id];
    MemoryBarrier = 225 [Id Id]; AtomicLoad = 227 [ResultType Result Id Id Id]; AtomicStore = 228 [Id Id Id Id];
    AtomicExchange = 229 [ResultType Result Id Id Id Id];
    AtomicCompareExchange = 230 [ResultType Result Id Id Id Id Id Id];
    AtomicCompareExchangeWeak = 231 [ResultType Result Id Id Id Id Id Id];
    AtomicIIncrement = 232 [ResultType Result Id Id Id]; AtomicIDecrement = 233 [ResultType Result Id Id Id];
    AtomicIAdd = 234 [ResultType Result Id Id Id Id]; AtomicISub = 235 [ResultType Result Id Id Id Id];
    AtomicSMin = 236 [ResultType Result Id Id Id Id]; AtomicUMin = 237 [ResultType Result Id Id Id Id];
    AtomicSMax = 238 [ResultType Result Id Id Id Id]; AtomicUMax = 239 [ResultType Result Id Id Id Id];
    AtomicAnd = 240 [ResultType Result Id Id Id Id]; AtomicOr = 241 [ResultType Result Id Id Id Id];
    AtomicXor = 242 [ResultType Result Id Id Id Id]; Phi = 245 [ResultType Result {IdAndId}];
    LoopMerge = 246 [Id Id LoopControl]; SelectionMerge = 247 [Id Word]; Label = 248 [Result]; Branch = 249 [Id];
    BranchConditional = 250 [Id Id Id {Word}]; Switch = 251 [Id Id {Case}]; Kill = 252; Return = 253;
    ReturnValue = 254 [Id]; Unreachable = 255; LifetimeStart = 256 [Id Word]; LifetimeStop = 257 [Id Word];
    GroupAsyncCopy = 259 [ResultType Result Id Id Id Id Id Id]; GroupWaitEvents = 260 [Id Id Id];
    GroupAll = 261 [ResultType Result Id Id]; GroupAny = 262 [ResultType Result Id Id];
    GroupBroadcast = 263 [ResultType Result Id Id Id]; GroupIAdd = 264 [ResultType Result Id GroupOperation Id];
    GroupFAdd = 265 [ResultType Result Id GroupOperation Id];
    GroupFMin = 266 [ResultType Result Id GroupOperation Id];
    GroupUMin = 267 [ResultType Result Id GroupOperation Id];
    GroupSMin = 268 [ResultType Result Id GroupOperation Id];
    GroupFMax = 269 [ResultType Result Id GroupOperation Id];
    GroupUMax = 270 [ResultType Result Id GroupOperation Id];
    GroupSMax = 271 [ResultType Result Id GroupOperation Id]; ReadPipe = 274 [ResultType Result Id Id Id Id];
    WritePipe = 275 [ResultType Result Id Id Id Id]; ReservedReadPipe = 276 [ResultType Result Id Id Id Id Id Id];
    ReservedWritePipe = 277 [ResultType Result Id Id Id Id Id Id];
    ReserveReadPipePackets = 278 [ResultType Result Id Id Id Id];
    ReserveWritePipePackets = 279 [ResultType Result Id Id Id Id]; CommitReadPipe = 280 [Id Id Id Id];
    CommitWritePipe = 281 [Id Id Id Id]; IsValidReserveId = 282 [ResultType Result Id];
    GetNumPipePackets = 283 [ResultType Result Id Id Id]; GetMaxPipePackets = 284 [ResultType Result Id Id Id];
    GroupReserveReadPipePackets = 285 [ResultType Result Id Id Id Id Id];
    GroupReserveWritePipePackets = 286 [ResultType Result Id Id Id Id Id];
    GroupCommitReadPipe = 287 [Id Id Id Id Id]; GroupCommitWritePipe = 288 [Id Id Id Id Id];
    EnqueueMarker = 291 [ResultType Result Id Id Id Id];
    EnqueueKernel = 292 [ResultType Result Id Id Id Id Id Id Id Id Id Id {Id}];
    GetKernelNDrangeSubGroupCount = 293 [ResultType Result Id Id Id Id Id];
    GetKernelNDrangeMaxSubGroupSize = 294 [ResultType Result Id Id Id Id Id];
    GetKernelWorkGroupSize = 295 [ResultType Result Id Id Id Id];
    GetKernelPreferredWorkGroupSizeMultiple = 296 [ResultType Result Id Id Id Id]; RetainEvent = 297 [Id];
    ReleaseEvent = 298 [Id]; CreateUserEvent = 299 [ResultType Result]; IsValidEvent = 300 [ResultType Result Id];
    SetUserEventStatus = 301 [Id Id]; CaptureEventProfilingInfo = 302 [Id Id Id];
    GetDefaultQueue = 303 [ResultType Result]; BuildNDRange = 304 [ResultType Result Id Id Id];
    ImageSparseSampleImplicitLod = 305 [ResultType Result Id Id (ImageOperands)];
    ImageSparseSampleExplicitLod = 306 [ResultType Result Id Id ImageOperands];
    ImageSparseSampleDrefImplicitLod = 307 [ResultType Result Id Id Id (ImageOperands)];
    ImageSparseSampleDrefExplicitLod = 308 [ResultType Result Id Id Id ImageOperands];
    ImageSparseSampleProjImplicitLod = 309 [ResultType Result Id Id (ImageOperands)];
    ImageSparseSampleProjExplicitLod = 310 [ResultType Result Id Id ImageOperands];
    ImageSparseSampleProjDrefImplicitLod = 311 [ResultType Result Id Id Id (ImageOperands)];
    ImageSparseSampleProjDrefExplicitLod = 312 [ResultType Result Id Id Id ImageOperands];
    ImageSparseFetch = 313 [ResultType Result Id Id (ImageOperands)];
    ImageSparseGather = 314 [ResultType Result Id Id Id (ImageOperands)];
    ImageSparseDrefGather = 315 [ResultType Result Id Id Id (ImageOperands)];
    ImageSparseTexelsResident = 316 [ResultType Result Id]; NoLine = 317;
    AtomicFlagTestAndSet = 318 [ResultType Result Id Id Id]; AtomicFlagClear = 319 [Id Id Id];
    ImageSparseRead = 320 [ResultType Result Id Id (ImageOperands)]; SizeOf = 321 [ResultType Result Id];
    TypePipeStorage = 322 [Result]; ConstantPipeStorage = 323 [ResultType Result Word Word Word];
    CreatePipeFromPipeStorage = 324 [ResultType Result Id];
    GetKernelLocalSizeForSubgroupCount = 325 [ResultType Result Id Id Id Id Id];
    GetKernelMaxNumSubgroups = 326 [ResultType Result Id Id Id Id]; TypeNamedBarrier = 327 [Result];
    NamedBarrierInitialize = 328 [ResultType Result Id]; MemoryNamedBarrier = 329 [Id Id Id];
    ModuleProcessed = 330 [Text]; ExecutionModeId = 331 [Id ExecutionMode]; DecorateId = 332 [Id Decoration];
    GroupNonUniformElect = 333 [ResultType Result Id]; GroupNonUniformAll = 334 [ResultType Result Id Id];
    GroupNonUniformAny = 335 [ResultType Result Id Id]; GroupNonUniformAllEqual = 336 [ResultType Result Id Id];
    GroupNonUniformBroadcast = 337 [ResultType Result Id Id Id];
    GroupNonUniformBroadcastFirst = 338 [ResultType Result Id Id];
    GroupNonUniformBallot = 339 [ResultType Result Id Id];
    GroupNonUniformInverseBallot = 340 [ResultType Result Id Id];
    GroupNonUniformBallotBitExtract = 341 [ResultType Result Id Id Id];
    GroupNonUniformBallotBitCount = 342 [ResultType Result Id GroupOperation Id];
    GroupNonUniformBallotFindLSB = 343 [ResultType Result Id Id];
    GroupNonUniformBallotFindMSB = 344 [ResultType Result Id Id];
    GroupNonUniformShuffle = 345 [ResultType Result Id Id Id];
    GroupNonUniformShuffleXor = 346 [ResultType Result Id Id Id];
    GroupNonUniformShuffleUp = 347 [ResultType Result Id Id Id];
    GroupNonUniformShuffleDown = 348 [ResultType Result Id Id Id];
    GroupNonUniformIAdd = 349 [ResultType Result Id GroupOperation Id (Id)];
    GroupNonUniformFAdd = 350 [ResultType Result Id GroupOperation Id (Id)];
    GroupNonUniformIMul = 351 [ResultType Result Id GroupOperation Id (Id)];
    GroupNonUniformFMul = 352 [ResultType Result Id GroupOperation Id (Id)];
    GroupNonUniformSMin = 353 [ResultType Result Id GroupOperation Id (Id)];
    GroupNonUniformUMin = 354 [ResultType Result Id GroupOperation Id (Id)];
    GroupNonUniformFMin = 355 [ResultType Result Id GroupOperation Id (Id)];
    GroupNonUniformSMax = 356 [ResultType Result Id GroupOperation Id (Id)];
    GroupNonUniformUMax = 357 [ResultType Result Id GroupOperation Id (Id)];
    GroupNonUniformFMax = 358 [ResultType Result Id GroupOperation Id (Id)];
    GroupNonUniformBitwiseAnd = 359 [ResultType Result Id GroupOperation Id (Id)];
    GroupNonUniformBitwiseOr = 360 [ResultType Result Id GroupOperation Id (Id)];
    GroupNonUniformBitwiseXor = 361 [ResultType Result Id GroupOperation Id (Id)];
    GroupNonUniformLogicalAnd = 362 [ResultType Result Id GroupOperation Id (Id)];
    GroupNonUniformLogicalOr = 363 [ResultType Result Id GroupOperation Id (Id)];
    GroupNonUniformLogicalXor = 364 [ResultType Result Id GroupOperation Id (Id)];
    GroupNonUniformQuadBroadcast = 365 [ResultType Result Id Id Id];
    GroupNonUniformQuadSwap = 366 [ResultType Result Id Id Id]; CopyLogical = 400 [ResultType Result Id];
    PtrEqual = 401 [ResultType Result Id Id]; PtrNotEqual = 402 [ResultType Result Id Id];
    PtrDiff = 403 [ResultType Result Id Id]; ColorAttachmentReadEXT = 4160 [ResultType Result Id (Id)];
    DepthAttachmentReadEXT = 4161 [ResultType Result (Id)];
    StencilAttachmentReadEXT = 4162 [ResultType Result (Id)]; TypeTensorARM = 4163 [Result Id (Id) (Id)];
    TensorReadARM = 4164 [ResultType Result Id Id (TensorOperands)];
    TensorWriteARM = 4165 [Id Id Id (TensorOperands)]; TensorQuerySizeARM = 4166 [ResultType Result Id Id];
    GraphConstantARM = 4181 [ResultType Result Word]; GraphEntryPointARM = 4182 [Id Text {Id}];
    GraphARM = 4183 [ResultType Result]; GraphInputARM = 4184 [ResultType Result Id {Id}];
    GraphSetOutputARM = 4185 [Id Id {Id}]; GraphEndARM = 4186; TypeGraphARM = 4190 [Result Word {Id}];
    BitcastExtractEXT = 4195 [ResultType Result Id Id]; TerminateInvocation = 4416;
    TypeUntypedPointerKHR = 4417 [Result StorageClass];
    UntypedVariableKHR = 4418 [ResultType Result StorageClass (Id) (Id)];
    UntypedAccessChainKHR = 4419 [ResultType Result Id Id {Id}];
    UntypedInBoundsAccessChainKHR = 4420 [ResultType Result Id Id {Id}];
    SubgroupBallotKHR = 4421 [ResultType Result Id]; SubgroupFirstInvocationKHR = 4422 [ResultType Result Id];
    UntypedPtrAccessChainKHR = 4423 [ResultType Result Id Id Id {Id}];
    UntypedInBoundsPtrAccessChainKHR = 4424 [ResultType Result Id Id Id {Id}];
    UntypedArrayLengthKHR = 4425 [ResultType Result Id Id Word]; UntypedPrefetchKHR = 4426 [Id Id (Id) (Id) (Id)];
    FmaKHR = 4427 [ResultType Result Id Id Id]; SubgroupAllKHR = 4428 [ResultType Result Id];
    SubgroupAnyKHR = 4429 [ResultType Result Id]; SubgroupAllEqualKHR = 4430 [ResultType Result Id];
    GroupNonUniformRotateKHR = 4431 [ResultType Result Id Id Id (Id)];
    SubgroupReadInvocationKHR = 4432 [ResultType Result Id Id];
    ExtInstWithForwardRefsKHR = 4433 [ResultType Result Id Extended {Id}];
    UntypedGroupAsyncCopyKHR = 4434 [ResultType Result Id Id Id Id Id Id Id (MemoryAccess) (MemoryAccess)];
    TraceRayKHR = 4445 [Id Id Id Id Id Id Id Id Id Id Id]; ExecuteCallableKHR = 4446 [Id Id];
    ConvertUToAccelerationStructureKHR = 4447 [ResultType Result Id]; IgnoreIntersectionKHR = 4448;
    TerminateRayKHR = 4449; SDot = 4450 [ResultType Result Id Id (Word)];
    UDot = 4451 [ResultType Result Id Id (Word)]; SUDot = 4452 [ResultType Result Id Id (Word)];
    SDotAccSat = 4453 [ResultType Result Id Id Id (Word)]; UDotAccSat = 4454 [ResultType Result Id Id Id (Word)];
    SUDotAccSat = 4455 [ResultType Result Id Id Id (Word)]; TypeCooperativeMatrixKHR = 4456 [Result Id Id Id Id Id];
    CooperativeMatrixLoadKHR = 4457 [ResultType Result Id Id (Id) (MemoryAccess)];
    CooperativeMatrixStoreKHR = 4458 [Id Id Id (Id) (MemoryAccess)];
    CooperativeMatrixMulAddKHR = 4459 [ResultType Result Id Id Id (Word)];
    CooperativeMatrixLengthKHR = 4460 [ResultType Result Id];
    ConstantCompositeReplicateEXT = 4461 [ResultType Result Id];
    SpecConstantCompositeReplicateEXT = 4462 [ResultType Result Id];
    CompositeConstructReplicateEXT = 4463 [ResultType Result Id]; TypeRayQueryKHR = 4472 [Result];
    RayQueryInitializeKHR = 4473 [Id Id Id Id Id Id Id Id]; RayQueryTerminateKHR = 4474 [Id];
    RayQueryGenerateIntersectionKHR = 4475 [Id Id]; RayQueryConfirmIntersectionKHR = 4476 [Id];
    RayQueryProceedKHR = 4477 [ResultType Result Id];
    RayQueryGetIntersectionTypeKHR = 4479 [ResultType Result Id Id];
    ImageSampleWeightedQCOM = 4480 [ResultType Result Id Id Id];
    ImageBoxFilterQCOM = 4481 [ResultType Result Id Id Id];
    ImageBlockMatchSSDQCOM = 4482 [ResultType Result Id Id Id Id Id];
    ImageBlockMatchSADQCOM = 4483 [ResultType Result Id Id Id Id Id];
    BitCastArrayQCOM = 4497 [ResultType Result Id];
    ImageBlockMatchWindowSSDQCOM = 4500 [ResultType Result Id Id Id Id Id];
    ImageBlockMatchWindowSADQCOM = 4501 [ResultType Result Id Id Id Id Id];
    ImageBlockMatchGatherSSDQCOM = 4502 [ResultType Result Id Id Id Id Id];
    ImageBlockMatchGatherSADQCOM = 4503 [ResultType Result Id Id Id Id Id];
    CompositeConstructCoopMatQCOM = 4540 [ResultType Result Id];
    CompositeExtractCoopMatQCOM = 4541 [ResultType Result Id]; ExtractSubArrayQCOM = 4542 [ResultType Result Id Id];
    ImageGatherQCOM = 4545 [ResultType Result Id Id Id Id (ImageOperands)];
    GroupIAddNonUniformAMD = 5000 [ResultType Result Id GroupOperation Id];
    GroupFAddNonUniformAMD = 5001 [ResultType Result Id GroupOperation Id];
    GroupFMinNonUniformAMD = 5002 [ResultType Result Id GroupOperation Id];
    GroupUMinNonUniformAMD = 5003 [ResultType Result Id GroupOperation Id];
    GroupSMinNonUniformAMD = 5004 [ResultType Result Id GroupOperation Id];
    GroupFMaxNonUniformAMD = 5005 [ResultType Result Id GroupOperation Id];
    GroupUMaxNonUniformAMD = 5006 [ResultType Result Id GroupOperation Id];
    GroupSMaxNonUniformAMD = 5007 [ResultType Result Id GroupOperation Id];
    FragmentMaskFetchAMD = 5011 [ResultType Result Id Id]; FragmentFetchAMD = 5012 [ResultType Result Id Id Id];
    ReadClockKHR = 5056 [ResultType Result Id]; AllocateNodePayloadsAMDX = 5074 [ResultType Result Id Id Id];
    EnqueueNodePayloadsAMDX = 5075 [Id]; TypeNodePayloadArrayAMDX = 5076 [Result Id];
    FinishWritingNodePayloadAMDX = 5078 [ResultType Result Id];
    NodePayloadArrayLengthAMDX = 5090 [ResultType Result Id];
    IsNodePayloadValidAMDX = 5101 [ResultType Result Id Id]; ConstantStringAMDX = 5103 [Result Text];
    SpecConstantStringAMDX = 5104 [Result Text]; GroupNonUniformQuadAllKHR = 5110 [ResultType Result Id];
    GroupNonUniformQuadAnyKHR = 5111 [ResultType Result Id]; TypeBufferEXT = 5115 [Result StorageClass];
    BufferPointerEXT = 5119 [ResultType Result Id]; AbortKHR = 5121 [Id Id];
    UntypedImageTexelPointerEXT = 5126 [ResultType Result Id Id Id Id];
    MemberDecorateIdEXT = 5127 [Id Word Decoration]; ConstantSizeOfEXT = 5129 [ResultType Result Id];
    ConstantDataKHR = 5147 [ResultType Result {Word}]; SpecConstantDataKHR = 5148 [ResultType Result {Word}];
    PoisonKHR = 5158 [ResultType Result]; FreezeKHR = 5159 [ResultType Result Id];
    HitObjectRecordHitMotionNV = 5249 [Id Id Id Id Id Id Id Id Id Id Id Id Id Id];
    HitObjectRecordHitWithIndexMotionNV = 5250 [Id Id Id Id Id Id Id Id Id Id Id Id Id];
    HitObjectRecordMissMotionNV = 5251 [Id Id Id Id Id Id Id];
    HitObjectGetWorldToObjectNV = 5252 [ResultType Result Id];
    HitObjectGetObjectToWorldNV = 5253 [ResultType Result Id];
    HitObjectGetObjectRayDirectionNV = 5254 [ResultType Result Id];
    HitObjectGetObjectRayOriginNV = 5255 [ResultType Result Id];
    HitObjectTraceRayMotionNV = 5256 [Id Id Id Id Id Id Id Id Id Id Id Id Id];
    HitObjectGetShaderRecordBufferHandleNV = 5257 [ResultType Result Id];
    HitObjectGetShaderBindingTableRecordIndexNV = 5258 [ResultType Result Id]; HitObjectRecordEmptyNV = 5259 [Id];
    HitObjectTraceRayNV = 5260 [Id Id Id Id Id Id Id Id Id Id Id Id];
    HitObjectRecordHitNV = 5261 [Id Id Id Id Id Id Id Id Id Id Id Id Id];
    HitObjectRecordHitWithIndexNV = 5262 [Id Id Id Id Id Id Id Id Id Id Id Id];
    HitObjectRecordMissNV = 5263 [Id Id Id Id Id Id]; HitObjectExecuteShaderNV = 5264 [Id Id];
    HitObjectGetCurrentTimeNV = 5265 [ResultType Result Id]; HitObjectGetAttributesNV = 5266 [Id Id];
    HitObjectGetHitKindNV = 5267 [ResultType Result Id]; HitObjectGetPrimitiveIndexNV = 5268 [ResultType Result Id];
    HitObjectGetGeometryIndexNV = 5269 [ResultType Result Id];
    HitObjectGetInstanceIdNV = 5270 [ResultType Result Id];
    HitObjectGetInstanceCustomIndexNV = 5271 [ResultType Result Id];
    HitObjectGetWorldRayDirectionNV = 5272 [ResultType Result Id];
    HitObjectGetWorldRayOriginNV = 5273 [ResultType Result Id]; HitObjectGetRayTMaxNV = 5274 [ResultType Result Id];
    HitObjectGetRayTMinNV = 5275 [ResultType Result Id]; HitObjectIsEmptyNV = 5276 [ResultType Result Id];
    HitObjectIsHitNV = 5277 [ResultType Result Id]; HitObjectIsMissNV = 5278 [ResultType Result Id];
    ReorderThreadWithHitObjectNV = 5279 [Id (Id) (Id)]; ReorderThreadWithHintNV = 5280 [Id Id];
    TypeHitObjectNV = 5281 [Result]; ImageSampleFootprintNV = 5283 [ResultType Result Id Id Id Id (ImageOperands)];
    TypeVectorIdEXT = 5288 [Result Id Id];
    CooperativeVectorMatrixMulNV = 5289 [ResultType Result Id Id Id Id Id Id Id Id Id (Id) (Word)];
    CooperativeVectorOuterProductAccumulateNV = 5290 [Id Id Id Id Id Id (Id)];
    CooperativeVectorReduceSumAccumulateNV = 5291 [Id Id Id];
    CooperativeVectorMatrixMulAddNV = 5292 [ResultType Result Id Id Id Id Id Id Id Id Id Id Id Id (Id) (Word)];
    CooperativeMatrixConvertUseEXT = 5293 [ResultType Result Id]; EmitMeshTasksEXT = 5294 [Id Id Id (Id)];
    SetMeshOutputsEXT = 5295 [Id Id]; GroupNonUniformPartitionEXT = 5296 [ResultType Result Id];
    WritePackedPrimitiveIndices4x8NV = 5299 [Id Id];
    FetchMicroTriangleVertexPositionNV = 5300 [ResultType Result Id Id Id Id Id];
    FetchMicroTriangleVertexBarycentricNV = 5301 [ResultType Result Id Id Id Id Id];
    CooperativeVectorLoadNV = 5302 [ResultType Result Id Id (MemoryAccess)];
    CooperativeVectorStoreNV = 5303 [Id Id Id (MemoryAccess)];
    HitObjectRecordFromQueryEXT = 5304 [Id Id Id Id (Id)]; HitObjectRecordMissEXT = 5305 [Id Id Id Id Id Id Id];
    HitObjectRecordMissMotionEXT = 5306 [Id Id Id Id Id Id Id Id];
    HitObjectGetIntersectionTriangleVertexPositionsEXT = 5307 [ResultType Result Id];
    HitObjectGetRayFlagsEXT = 5308 [ResultType Result Id];
    HitObjectSetShaderBindingTableRecordIndexEXT = 5309 [Id Id];
    HitObjectReorderExecuteShaderEXT = 5310 [Id Id (Id) (Id)];
    HitObjectTraceReorderExecuteEXT = 5311 [Id Id Id Id Id Id Id Id Id Id Id Id (Id) (Id)];
    HitObjectTraceMotionReorderExecuteEXT = 5312 [Id Id Id Id Id Id Id Id Id Id Id Id Id (Id) (Id)];
    TypeHitObjectEXT = 5313 [Result]; ReorderThreadWithHintEXT = 5314 [Id Id];
    ReorderThreadWithHitObjectEXT = 5315 [Id (Id) (Id)];
    HitObjectTraceRayEXT = 5316 [Id Id Id Id Id Id Id Id Id Id Id Id];
    HitObjectTraceRayMotionEXT = 5317 [Id Id Id Id Id Id Id Id Id Id Id Id Id]; HitObjectRecordEmptyEXT = 5318 [Id];
    HitObjectExecuteShaderEXT = 5319 [Id Id]; HitObjectGetCurrentTimeEXT = 5320 [ResultType Result Id];
    HitObjectGetAttributesEXT = 5321 [Id Id]; HitObjectGetHitKindEXT = 5322 [ResultType Result Id];
    HitObjectGetPrimitiveIndexEXT = 5323 [ResultType Result Id];
    HitObjectGetGeometryIndexEXT = 5324 [ResultType Result Id];
    HitObjectGetInstanceIdEXT = 5325 [ResultType Result Id];
    HitObjectGetInstanceCustomIndexEXT = 5326 [ResultType Result Id];
    HitObjectGetObjectRayOriginEXT = 5327 [ResultType Result Id];
    HitObjectGetObjectRayDirectionEXT = 5328 [ResultType Result Id];
    HitObjectGetWorldRayDirectionEXT = 5329 [ResultType Result Id];
    HitObjectGetWorldRayOriginEXT = 5330 [ResultType Result Id];
    HitObjectGetObjectToWorldEXT = 5331 [ResultType Result Id];
    HitObjectGetWorldToObjectEXT = 5332 [ResultType Result Id];
    HitObjectGetRayTMaxEXT = 5333 [ResultType Result Id]; ReportIntersectionKHR = 5334 [ResultType Result Id Id];
    IgnoreIntersectionNV = 5335; TerminateRayNV = 5336; TraceNV = 5337 [Id Id Id Id Id Id Id Id Id Id Id];
    TraceMotionNV = 5338 [Id Id Id Id Id Id Id Id Id Id Id Id];
    TraceRayMotionNV = 5339 [Id Id Id Id Id Id Id Id Id Id Id Id];
    RayQueryGetIntersectionTriangleVertexPositionsKHR = 5340 [ResultType Result Id Id];
    TypeAccelerationStructureKHR = 5341 [Result]; ExecuteCallableNV = 5344 [Id Id];
    RayQueryGetIntersectionClusterIdNV = 5345 [ResultType Result Id Id];
    HitObjectGetClusterIdNV = 5346 [ResultType Result Id]; HitObjectGetRayTMinEXT = 5347 [ResultType Result Id];
    HitObjectGetShaderBindingTableRecordIndexEXT = 5348 [ResultType Result Id];
    HitObjectGetShaderRecordBufferHandleEXT = 5349 [ResultType Result Id];
    HitObjectIsEmptyEXT = 5350 [ResultType Result Id]; HitObjectIsHitEXT = 5351 [ResultType Result Id];
    HitObjectIsMissEXT = 5352 [ResultType Result Id]; TypeCooperativeMatrixNV = 5358 [Result Id Id Id Id];
    CooperativeMatrixLoadNV = 5359 [ResultType Result Id Id Id (MemoryAccess)];
    CooperativeMatrixStoreNV = 5360 [Id Id Id Id (MemoryAccess)];
    CooperativeMatrixMulAddNV = 5361 [ResultType Result Id Id Id];
    CooperativeMatrixLengthNV = 5362 [ResultType Result Id];
    CooperativeMatrixGetCoordinateEXT = 5363 [ResultType Result Id Id]; BeginInvocationInterlockEXT = 5364;
    EndInvocationInterlockEXT = 5365; CooperativeMatrixReduceEXT = 5366 [ResultType Result Id Word Id];
    CooperativeMatrixLoadTensorNV = 5367 [ResultType Result Id Id Id MemoryAccess TensorAddressingOperands];
    CooperativeMatrixStoreTensorNV = 5368 [Id Id Id MemoryAccess TensorAddressingOperands];
    CooperativeMatrixPerElementOpEXT = 5369 [ResultType Result Id Id {Id}];
    TypeTensorLayoutNV = 5370 [Result Id Id]; TypeTensorViewNV = 5371 [Result Id Id {Id}];
    CreateTensorLayoutNV = 5372 [ResultType Result]; TensorLayoutSetDimensionNV = 5373 [ResultType Result Id {Id}];
    TensorLayoutSetStrideNV = 5374 [ResultType Result Id {Id}];
    TensorLayoutSliceNV = 5375 [ResultType Result Id {Id}];
    TensorLayoutSetClampValueNV = 5376 [ResultType Result Id Id]; CreateTensorViewNV = 5377 [ResultType Result];
    TensorViewSetDimensionNV = 5378 [ResultType Result Id {Id}];
    TensorViewSetStrideNV = 5379 [ResultType Result Id {Id}]; DemoteToHelperInvocation = 5380;
    IsHelperInvocationEXT = 5381 [ResultType Result]; TensorViewSetClipNV = 5382 [ResultType Result Id Id Id Id Id];
    TensorLayoutSetBlockSizeNV = 5384 [ResultType Result Id {Id}];
    CooperativeMatrixTransposeNV = 5390 [ResultType Result Id]; ConvertUToImageNV = 5391 [ResultType Result Id];
    ConvertUToSamplerNV = 5392 [ResultType Result Id]; ConvertImageToUNV = 5393 [ResultType Result Id];
    ConvertSamplerToUNV = 5394 [ResultType Result Id]; ConvertUToSampledImageNV = 5395 [ResultType Result Id];
    ConvertSampledImageToUNV = 5396 [ResultType Result Id]; SamplerImageAddressingModeNV = 5397 [Word];
    RawAccessChainNV = 5398 [ResultType Result Id Id Id Id (Word)];
    RayQueryGetIntersectionSpherePositionNV = 5427 [ResultType Result Id Id];
    RayQueryGetIntersectionSphereRadiusNV = 5428 [ResultType Result Id Id];
    RayQueryGetIntersectionLSSPositionsNV = 5429 [ResultType Result Id Id];
    RayQueryGetIntersectionLSSRadiiNV = 5430 [ResultType Result Id Id];
    RayQueryGetIntersectionLSSHitValueNV = 5431 [ResultType Result Id Id];
    HitObjectGetSpherePositionNV = 5432 [ResultType Result Id];
    HitObjectGetSphereRadiusNV = 5433 [ResultType Result Id];
    HitObjectGetLSSPositionsNV = 5434 [ResultType Result Id]; HitObjectGetLSSRadiiNV = 5435 [ResultType Result Id];
    HitObjectIsSphereHitNV = 5436 [ResultType Result Id]; HitObjectIsLSSHitNV = 5437 [ResultType Result Id];
    RayQueryIsSphereHitNV = 5438 [ResultType Result Id Id]; RayQueryIsLSSHitNV = 5439 [ResultType Result Id Id];
    SubgroupShuffleINTEL = 5571 [ResultType Result Id Id];
    SubgroupShuffleDownINTEL = 5572 [ResultType Result Id Id Id];
    SubgroupShuffleUpINTEL = 5573 [ResultType Result Id Id Id];
    SubgroupShuffleXorINTEL = 5574 [ResultType Result Id Id]; SubgroupBlockReadINTEL = 5575 [ResultType Result Id];
    SubgroupBlockWriteINTEL = 5576 [Id Id]; SubgroupImageBlockReadINTEL = 5577 [ResultType Result Id Id];
    SubgroupImageBlockWriteINTEL = 5578 [Id Id Id];
    SubgroupImageMediaBlockReadINTEL = 5580 [ResultType Result Id Id Id Id];
    SubgroupImageMediaBlockWriteINTEL = 5581 [Id Id Id Id Id];
    UCountLeadingZerosINTEL = 5585 [ResultType Result Id]; UCountTrailingZerosINTEL = 5586 [ResultType Result Id];
    AbsISubINTEL = 5587 [ResultType Result Id Id]; AbsUSubINTEL = 5588 [ResultType Result Id Id];
    IAddSatINTEL = 5589 [ResultType Result Id Id]; UAddSatINTEL = 5590 [ResultType Result Id Id];
    IAverageINTEL = 5591 [ResultType Result Id Id]; UAverageINTEL = 5592 [ResultType Result Id Id];
    IAverageRoundedINTEL = 5593 [ResultType Result Id Id]; UAverageRoundedINTEL = 5594 [ResultType Result Id Id];
    ISubSatINTEL = 5595 [ResultType Result Id Id]; USubSatINTEL = 5596 [ResultType Result Id Id];
    IMul32x16INTEL = 5597 [ResultType Result Id Id]; UMul32x16INTEL = 5598 [ResultType Result Id Id];
    ConstantFunctionPointerINTEL = 5600 [ResultType Result Id];
    FunctionPointerCallINTEL = 5601 [ResultType Result {Id}]; AsmTargetINTEL = 5609 [Result Text];
    AsmINTEL = 5610 [ResultType Result Id Id Text Text]; AsmCallINTEL = 5611 [ResultType Result Id {Id}];
    AtomicFMinEXT = 5614 [ResultType Result Id Id Id Id]; AtomicFMaxEXT = 5615 [ResultType Result Id Id Id Id];
    AssumeTrueKHR = 5630 [Id]; ExpectKHR = 5631 [ResultType Result Id Id]; DecorateString = 5632 [Id Decoration];
    MemberDecorateString = 5633 [Id Word Decoration]; VmeImageINTEL = 5699 [ResultType Result Id Id];
    TypeVmeImageINTEL = 5700 [Result Id]; TypeAvcImePayloadINTEL = 5701 [Result];
    TypeAvcRefPayloadINTEL = 5702 [Result]; TypeAvcSicPayloadINTEL = 5703 [Result];
    TypeAvcMcePayloadINTEL = 5704 [Result]; TypeAvcMceResultINTEL = 5705 [Result];
    TypeAvcImeResultINTEL = 5706 [Result]; TypeAvcImeResultSingleReferenceStreamoutINTEL = 5707 [Result];
    TypeAvcImeResultDualReferenceStreamoutINTEL = 5708 [Result];
    TypeAvcImeSingleReferenceStreaminINTEL = 5709 [Result]; TypeAvcImeDualReferenceStreaminINTEL = 5710 [Result];
    TypeAvcRefResultINTEL = 5711 [Result]; TypeAvcSicResultINTEL = 5712 [Result];
    SubgroupAvcMceGetDefaultInterBaseMultiReferencePenaltyINTEL = 5713 [ResultType Result Id Id];
    SubgroupAvcMceSetInterBaseMultiReferencePenaltyINTEL = 5714 [ResultType Result Id Id];
    SubgroupAvcMceGetDefaultInterShapePenaltyINTEL = 5715 [ResultType Result Id Id];
    SubgroupAvcMceSetInterShapePenaltyINTEL = 5716 [ResultType Result Id Id];
    SubgroupAvcMceGetDefaultInterDirectionPenaltyINTEL = 5717 [ResultType Result Id Id];
    SubgroupAvcMceSetInterDirectionPenaltyINTEL = 5718 [ResultType Result Id Id];
    SubgroupAvcMceGetDefaultIntraLumaShapePenaltyINTEL = 5719 [ResultType Result Id Id];
    SubgroupAvcMceGetDefaultInterMotionVectorCostTableINTEL = 5720 [ResultType Result Id Id];
    SubgroupAvcMceGetDefaultHighPenaltyCostTableINTEL = 5721 [ResultType Result];
    SubgroupAvcMceGetDefaultMediumPenaltyCostTableINTEL = 5722 [ResultType Result];
    SubgroupAvcMceGetDefaultLowPenaltyCostTableINTEL = 5723 [ResultType Result];
    SubgroupAvcMceSetMotionVectorCostFunctionINTEL = 5724 [ResultType Result Id Id Id Id];
    SubgroupAvcMceGetDefaultIntraLumaModePenaltyINTEL = 5725 [ResultType Result Id Id];
    SubgroupAvcMceGetDefaultNonDcLumaIntraPenaltyINTEL = 5726 [ResultType Result];
    SubgroupAvcMceGetDefaultIntraChromaModeBasePenaltyINTEL = 5727 [ResultType Result];
    SubgroupAvcMceSetAcOnlyHaarINTEL = 5728 [ResultType Result Id];
    SubgroupAvcMceSetSourceInterlacedFieldPolarityINTEL = 5729 [ResultType Result Id Id];
    SubgroupAvcMceSetSingleReferenceInterlacedFieldPolarityINTEL = 5730 [ResultType Result Id Id];
    SubgroupAvcMceSetDualReferenceInterlacedFieldPolaritiesINTEL = 5731 [ResultType Result Id Id Id];
    SubgroupAvcMceConvertToImePayloadINTEL = 5732 [ResultType Result Id];
    SubgroupAvcMceConvertToImeResultINTEL = 5733 [ResultType Result Id];
    SubgroupAvcMceConvertToRefPayloadINTEL = 5734 [ResultType Result Id];
    SubgroupAvcMceConvertToRefResultINTEL = 5735 [ResultType Result Id];
    SubgroupAvcMceConvertToSicPayloadINTEL = 5736 [ResultType Result Id];
    SubgroupAvcMceConvertToSicResultINTEL = 5737 [ResultType Result Id];
    SubgroupAvcMceGetMotionVectorsINTEL = 5738 [ResultType Result Id];
    SubgroupAvcMceGetInterDistortionsINTEL = 5739 [ResultType Result Id];
    SubgroupAvcMceGetBestInterDistortionsINTEL = 5740 [ResultType Result Id];
    SubgroupAvcMceGetInterMajorShapeINTEL = 5741 [ResultType Result Id];
    SubgroupAvcMceGetInterMinorShapeINTEL = 5742 [ResultType Result Id];
    SubgroupAvcMceGetInterDirectionsINTEL = 5743 [ResultType Result Id];
    SubgroupAvcMceGetInterMotionVectorCountINTEL = 5744 [ResultType Result Id];
    SubgroupAvcMceGetInterReferenceIdsINTEL = 5745 [ResultType Result Id];
    SubgroupAvcMceGetInterReferenceInterlacedFieldPolaritiesINTEL = 5746 [ResultType Result Id Id Id];
    SubgroupAvcImeInitializeINTEL = 5747 [ResultType Result Id Id Id];
    SubgroupAvcImeSetSingleReferenceINTEL = 5748 [ResultType Result Id Id Id];
    SubgroupAvcImeSetDualReferenceINTEL = 5749 [ResultType Result Id Id Id Id];
    SubgroupAvcImeRefWindowSizeINTEL = 5750 [ResultType Result Id Id];
    SubgroupAvcImeAdjustRefOffsetINTEL = 5751 [ResultType Result Id Id Id Id];
    SubgroupAvcImeConvertToMcePayloadINTEL = 5752 [ResultType Result Id];
    SubgroupAvcImeSetMaxMotionVectorCountINTEL = 5753 [ResultType Result Id Id];
    SubgroupAvcImeSetUnidirectionalMixDisableINTEL = 5754 [ResultType Result Id];
    SubgroupAvcImeSetEarlySearchTerminationThresholdINTEL = 5755 [ResultType Result Id Id];
    SubgroupAvcImeSetWeightedSadINTEL = 5756 [ResultType Result Id Id];
    SubgroupAvcImeEvaluateWithSingleReferenceINTEL = 5757 [ResultType Result Id Id Id];
    SubgroupAvcImeEvaluateWithDualReferenceINTEL = 5758 [ResultType Result Id Id Id Id];
    SubgroupAvcImeEvaluateWithSingleReferenceStreaminINTEL = 5759 [ResultType Result Id Id Id Id];
    SubgroupAvcImeEvaluateWithDualReferenceStreaminINTEL = 5760 [ResultType Result Id Id Id Id Id];
    SubgroupAvcImeEvaluateWithSingleReferenceStreamoutINTEL = 5761 [ResultType Result Id Id Id];
    SubgroupAvcImeEvaluateWithDualReferenceStreamoutINTEL = 5762 [ResultType Result Id Id Id Id];
    SubgroupAvcImeEvaluateWithSingleReferenceStreaminoutINTEL = 5763 [ResultType Result Id Id Id Id];
    SubgroupAvcImeEvaluateWithDualReferenceStreaminoutINTEL = 5764 [ResultType Result Id Id Id Id Id];
    SubgroupAvcImeConvertToMceResultINTEL = 5765 [ResultType Result Id];
    SubgroupAvcImeGetSingleReferenceStreaminINTEL = 5766 [ResultType Result Id];
    SubgroupAvcImeGetDualReferenceStreaminINTEL = 5767 [ResultType Result Id];
    SubgroupAvcImeStripSingleReferenceStreamoutINTEL = 5768 [ResultType Result Id];
    SubgroupAvcImeStripDualReferenceStreamoutINTEL = 5769 [ResultType Result Id];
    SubgroupAvcImeGetStreamoutSingleReferenceMajorShapeMotionVectorsINTEL = 5770 [ResultType Result Id Id];
    SubgroupAvcImeGetStreamoutSingleReferenceMajorShapeDistortionsINTEL = 5771 [ResultType Result Id Id];
    SubgroupAvcImeGetStreamoutSingleReferenceMajorShapeReferenceIdsINTEL = 5772 [ResultType Result Id Id];
    SubgroupAvcImeGetStreamoutDualReferenceMajorShapeMotionVectorsINTEL = 5773 [ResultType Result Id Id Id];
    SubgroupAvcImeGetStreamoutDualReferenceMajorShapeDistortionsINTEL = 5774 [ResultType Result Id Id Id];
    SubgroupAvcImeGetStreamoutDualReferenceMajorShapeReferenceIdsINTEL = 5775 [ResultType Result Id Id Id];
    SubgroupAvcImeGetBorderReachedINTEL = 5776 [ResultType Result Id Id];
    SubgroupAvcImeGetTruncatedSearchIndicationINTEL = 5777 [ResultType Result Id];
    SubgroupAvcImeGetUnidirectionalEarlySearchTerminationINTEL = 5778 [ResultType Result Id];
    SubgroupAvcImeGetWeightingPatternMinimumMotionVectorINTEL = 5779 [ResultType Result Id];
    SubgroupAvcImeGetWeightingPatternMinimumDistortionINTEL = 5780 [ResultType Result Id];
    SubgroupAvcFmeInitializeINTEL = 5781 [ResultType Result Id Id Id Id Id Id Id];
    SubgroupAvcBmeInitializeINTEL = 5782 [ResultType Result Id Id Id Id Id Id Id Id];
    SubgroupAvcRefConvertToMcePayloadINTEL = 5783 [ResultType Result Id];
    SubgroupAvcRefSetBidirectionalMixDisableINTEL = 5784 [ResultType Result Id];
    SubgroupAvcRefSetBilinearFilterEnableINTEL = 5785 [ResultType Result Id];
    SubgroupAvcRefEvaluateWithSingleReferenceINTEL = 5786 [ResultType Result Id Id Id];
    SubgroupAvcRefEvaluateWithDualReferenceINTEL = 5787 [ResultType Result Id Id Id Id];
    SubgroupAvcRefEvaluateWithMultiReferenceINTEL = 5788 [ResultType Result Id Id Id];
    SubgroupAvcRefEvaluateWithMultiReferenceInterlacedINTEL = 5789 [ResultType Result Id Id Id Id];
    SubgroupAvcRefConvertToMceResultINTEL = 5790 [ResultType Result Id];
    SubgroupAvcSicInitializeINTEL = 5791 [ResultType Result Id];
    SubgroupAvcSicConfigureSkcINTEL = 5792 [ResultType Result Id Id Id Id Id Id];
    SubgroupAvcSicConfigureIpeLumaINTEL = 5793 [ResultType Result Id Id Id Id Id Id Id Id];
    SubgroupAvcSicConfigureIpeLumaChromaINTEL = 5794 [ResultType Result Id Id Id Id Id Id Id Id Id Id Id];
    SubgroupAvcSicGetMotionVectorMaskINTEL = 5795 [ResultType Result Id Id];
    SubgroupAvcSicConvertToMcePayloadINTEL = 5796 [ResultType Result Id];
    SubgroupAvcSicSetIntraLumaShapePenaltyINTEL = 5797 [ResultType Result Id Id];
    SubgroupAvcSicSetIntraLumaModeCostFunctionINTEL = 5798 [ResultType Result Id Id Id Id];
    SubgroupAvcSicSetIntraChromaModeCostFunctionINTEL = 5799 [ResultType Result Id Id];
    SubgroupAvcSicSetBilinearFilterEnableINTEL = 5800 [ResultType Result Id];
    SubgroupAvcSicSetSkcForwardTransformEnableINTEL = 5801 [ResultType Result Id Id];
    SubgroupAvcSicSetBlockBasedRawSkipSadINTEL = 5802 [ResultType Result Id Id];
    SubgroupAvcSicEvaluateIpeINTEL = 5803 [ResultType Result Id Id];
    SubgroupAvcSicEvaluateWithSingleReferenceINTEL = 5804 [ResultType Result Id Id Id];
    SubgroupAvcSicEvaluateWithDualReferenceINTEL = 5805 [ResultType Result Id Id Id Id];
    SubgroupAvcSicEvaluateWithMultiReferenceINTEL = 5806 [ResultType Result Id Id Id];
    SubgroupAvcSicEvaluateWithMultiReferenceInterlacedINTEL = 5807 [ResultType Result Id Id Id Id];
    SubgroupAvcSicConvertToMceResultINTEL = 5808 [ResultType Result Id];
    SubgroupAvcSicGetIpeLumaShapeINTEL = 5809 [ResultType Result Id];
    SubgroupAvcSicGetBestIpeLumaDistortionINTEL = 5810 [ResultType Result Id];
    SubgroupAvcSicGetBestIpeChromaDistortionINTEL = 5811 [ResultType Result Id];
    SubgroupAvcSicGetPackedIpeLumaModesINTEL = 5812 [ResultType Result Id];
    SubgroupAvcSicGetIpeChromaModeINTEL = 5813 [ResultType Result Id];
    SubgroupAvcSicGetPackedSkcLumaCountThresholdINTEL = 5814 [ResultType Result Id];
    SubgroupAvcSicGetPackedSkcLumaSumThresholdINTEL = 5815 [ResultType Result Id];
    SubgroupAvcSicGetInterRawSadsINTEL = 5816 [ResultType Result Id];
    VariableLengthArrayINTEL = 5818 [ResultType Result Id]; SaveMemoryINTEL = 5819 [ResultType Result];
    RestoreMemoryINTEL = 5820 [Id];
    ArbitraryFloatSinCosPiALTERA = 5840 [ResultType Result Id Word Word Word Word Word];
    ArbitraryFloatCastALTERA = 5841 [ResultType Result Id Word Word Word Word Word];
    ArbitraryFloatCastFromIntALTERA = 5842 [ResultType Result Id Word Word Word Word Word];
    ArbitraryFloatCastToIntALTERA = 5843 [ResultType Result Id Word Word Word Word Word];
    ArbitraryFloatAddALTERA = 5846 [ResultType Result Id Word Id Word Word Word Word Word];
    ArbitraryFloatSubALTERA = 5847 [ResultType Result Id Word Id Word Word Word Word Word];
    ArbitraryFloatMulALTERA = 5848 [ResultType Result Id Word Id Word Word Word Word Word];
    ArbitraryFloatDivALTERA = 5849 [ResultType Result Id Word Id Word Word Word Word Word];
    ArbitraryFloatGTALTERA = 5850 [ResultType Result Id Word Id Word];
    ArbitraryFloatGEALTERA = 5851 [ResultType Result Id Word Id Word];
    ArbitraryFloatLTALTERA = 5852 [ResultType Result Id Word Id Word];
    ArbitraryFloatLEALTERA = 5853 [ResultType Result Id Word Id Word];
    ArbitraryFloatEQALTERA = 5854 [ResultType Result Id Word Id Word];
    ArbitraryFloatRecipALTERA = 5855 [ResultType Result Id Word Word Word Word Word];
    ArbitraryFloatRSqrtALTERA = 5856 [ResultType Result Id Word Word Word Word Word];
    ArbitraryFloatCbrtALTERA = 5857 [ResultType Result Id Word Word Word Word Word];
    ArbitraryFloatHypotALTERA = 5858 [ResultType Result Id Word Id Word Word Word Word Word];
    ArbitraryFloatSqrtALTERA = 5859 [ResultType Result Id Word Word Word Word Word];
    ArbitraryFloatLogINTEL = 5860 [ResultType Result Id Word Word Word Word Word];
    ArbitraryFloatLog2INTEL = 5861 [ResultType Result Id Word Word Word Word Word];
    ArbitraryFloatLog10INTEL = 5862 [ResultType Result Id Word Word Word Word Word];
    ArbitraryFloatLog1pINTEL = 5863 [ResultType Result Id Word Word Word Word Word];
    ArbitraryFloatExpINTEL = 5864 [ResultType Result Id Word Word Word Word Word];
    ArbitraryFloatExp2INTEL = 5865 [ResultType Result Id Word Word Word Word Word];
    ArbitraryFloatExp10INTEL = 5866 [ResultType Result Id Word Word Word Word Word];
    ArbitraryFloatExpm1INTEL = 5867 [ResultType Result Id Word Word Word Word Word];
    ArbitraryFloatSinINTEL = 5868 [ResultType Result Id Word Word Word Word Word];
    ArbitraryFloatCosINTEL = 5869 [ResultType Result Id Word Word Word Word Word];
    ArbitraryFloatSinCosINTEL = 5870 [ResultType Result Id Word Word Word Word Word];
    ArbitraryFloatSinPiINTEL = 5871 [ResultType Result Id Word Word Word Word Word];
    ArbitraryFloatCosPiINTEL = 5872 [ResultType Result Id Word Word Word Word Word];
    ArbitraryFloatASinINTEL = 5873 [ResultType Result Id Word Word Word Word Word];
    ArbitraryFloatASinPiINTEL = 5874 [ResultType Result Id Word Word Word Word Word];
    ArbitraryFloatACosINTEL = 5875 [ResultType Result Id Word Word Word Word Word];
    ArbitraryFloatACosPiINTEL = 5876 [ResultType Result Id Word Word Word Word Word];
    ArbitraryFloatATanINTEL = 5877 [ResultType Result Id Word Word Word Word Word];
    ArbitraryFloatATanPiINTEL = 5878 [ResultType Result Id Word Word Word Word Word];
    ArbitraryFloatATan2INTEL = 5879 [ResultType Result Id Word Id Word Word Word Word Word];
    ArbitraryFloatPowINTEL = 5880 [ResultType Result Id Word Id Word Word Word Word Word];
    ArbitraryFloatPowRINTEL = 5881 [ResultType Result Id Word Id Word Word Word Word Word];
    ArbitraryFloatPowNINTEL = 5882 [ResultType Result Id Word Id Word Word Word Word Word];
    LoopControlINTEL = 5887 [{Word}]; AliasDomainDeclINTEL = 5911 [Result (Id)];
    AliasScopeDeclINTEL = 5912 [Result Id (Id)]; AliasScopeListDeclINTEL = 5913 [Result {Id}];
    FixedSqrtALTERA = 5923 [ResultType Result Id Word Word Word Word Word];
    FixedRecipALTERA = 5924 [ResultType Result Id Word Word Word Word Word];
    FixedRsqrtALTERA = 5925 [ResultType Result Id Word Word Word Word Word];
    FixedSinALTERA = 5926 [ResultType Result Id Word Word Word Word Word];
    FixedCosALTERA = 5927 [ResultType Result Id Word Word Word Word Word];
    FixedSinCosALTERA = 5928 [ResultType Result Id Word Word Word Word Word];
    FixedSinPiALTERA = 5929 [ResultType Result Id Word Word Word Word Word];
    FixedCosPiALTERA = 5930 [ResultType Result Id Word Word Word Word Word];
    FixedSinCosPiALTERA = 5931 [ResultType Result Id Word Word Word Word Word];
    FixedLogALTERA = 5932 [ResultType Result Id Word Word Word Word Word];
    FixedExpALTERA = 5933 [ResultType Result Id Word Word Word Word Word];
    PtrCastToCrossWorkgroupALTERA = 5934 [ResultType Result Id];
    CrossWorkgroupCastToPtrALTERA = 5938 [ResultType Result Id]; ReadPipeBlockingALTERA = 5946 [Id Id Id Id];
    WritePipeBlockingALTERA = 5947 [Id Id Id Id]; FPGARegALTERA = 5949 [ResultType Result Id];
    RayQueryGetRayTMinKHR = 6016 [ResultType Result Id]; RayQueryGetRayFlagsKHR = 6017 [ResultType Result Id];
    RayQueryGetIntersectionTKHR = 6018 [ResultType Result Id Id];
    RayQueryGetIntersectionInstanceCustomIndexKHR = 6019 [ResultType Result Id Id];
    RayQueryGetIntersectionInstanceIdKHR = 6020 [ResultType Result Id Id];
    RayQueryGetIntersectionInstanceShaderBindingTableRecordOffsetKHR = 6021 [ResultType Result Id Id];
    RayQueryGetIntersectionGeometryIndexKHR = 6022 [ResultType Result Id Id];
    RayQueryGetIntersectionPrimitiveIndexKHR = 6023 [ResultType Result Id Id];
    RayQueryGetIntersectionBarycentricsKHR = 6024 [ResultType Result Id Id];
    RayQueryGetIntersectionFrontFaceKHR = 6025 [ResultType Result Id Id];
    RayQueryGetIntersectionCandidateAABBOpaqueKHR = 6026 [ResultType Result Id];
    RayQueryGetIntersectionObjectRayDirectionKHR = 6027 [ResultType Result Id Id];
    RayQueryGetIntersectionObjectRayOriginKHR = 6028 [ResultType Result Id Id];
    RayQueryGetWorldRayDirectionKHR = 6029 [ResultType Result Id];
    RayQueryGetWorldRayOriginKHR = 6030 [ResultType Result Id];
    RayQueryGetIntersectionObjectToWorldKHR = 6031 [ResultType Result Id Id];
    RayQueryGetIntersectionWorldToObjectKHR = 6032 [ResultType Result Id Id];
    AtomicFAddEXT = 6035 [ResultType Result Id Id Id Id]; TypeBufferSurfaceINTEL = 6086 [Result AccessQualifier];
    TypeStructContinuedINTEL = 6090 [{Id}]; ConstantCompositeContinuedINTEL = 6091 [{Id}];
    SpecConstantCompositeContinuedINTEL = 6092 [{Id}]; CompositeConstructContinuedINTEL = 6096 [{Id}];
    ConvertFToBF16INTEL = 6116 [ResultType Result Id]; ConvertBF16ToFINTEL = 6117 [ResultType Result Id];
    ControlBarrierArriveEXT = 6142 [Id Id Id]; ControlBarrierWaitEXT = 6143 [Id Id Id];
    ArithmeticFenceEXT = 6145 [ResultType Result Id];
    TaskSequenceCreateALTERA = 6163 [ResultType Result Id Word Word Word Word];
    TaskSequenceAsyncALTERA = 6164 [Id {Id}]; TaskSequenceGetALTERA = 6165 [ResultType Result Id];
    TaskSequenceReleaseALTERA = 6166 [Id]; TypeTaskSequenceALTERA = 6199 [Result];
    SubgroupBlockPrefetchINTEL = 6221 [Id Id (MemoryAccess)];
    Subgroup2DBlockLoadINTEL = 6231 [Id Id Id Id Id Id Id Id Id Id];
    Subgroup2DBlockLoadTransformINTEL = 6232 [Id Id Id Id Id Id Id Id Id Id];
    Subgroup2DBlockLoadTransposeINTEL = 6233 [Id Id Id Id Id Id Id Id Id Id];
    Subgroup2DBlockPrefetchINTEL = 6234 [Id Id Id Id Id Id Id Id Id];
    Subgroup2DBlockStoreINTEL = 6235 [Id Id Id Id Id Id Id Id Id Id];
    SubgroupMatrixMultiplyAccumulateINTEL = 6237 [ResultType Result Id Id Id Id (Word)];
    BitwiseFunctionINTEL = 6242 [ResultType Result Id Id Id Id];
    UntypedVariableLengthArrayINTEL = 6244 [ResultType Result Id Id]; ConditionalExtensionINTEL = 6248 [Id Text];
    ConditionalEntryPointINTEL = 6249 [Id ExecutionModel Id Text {Id}];
    ConditionalCapabilityINTEL = 6250 [Id Capability];
    SpecConstantTargetINTEL = 6251 [ResultType Result Word {Word}];
    SpecConstantArchitectureINTEL = 6252 [ResultType Result Word Word Word Word];
    SpecConstantCapabilitiesINTEL = 6253 [ResultType Result {Capability}];
    ConditionalCopyObjectINTEL = 6254 [ResultType Result {Id}];
    PredicatedLoadINTEL = 6258 [ResultType Result Id Id Id (MemoryAccess)];
    PredicatedStoreINTEL = 6259 [Id Id Id (MemoryAccess)];
    GroupIMulKHR = 6401 [ResultType Result Id GroupOperation Id];
    GroupFMulKHR = 6402 [ResultType Result Id GroupOperation Id];
    GroupBitwiseAndKHR = 6403 [ResultType Result Id GroupOperation Id];
    GroupBitwiseOrKHR = 6404 [ResultType Result Id GroupOperation Id];
    GroupBitwiseXorKHR = 6405 [ResultType Result Id GroupOperation Id];
    GroupLogicalAndKHR = 6406 [ResultType Result Id GroupOperation Id];
    GroupLogicalOrKHR = 6407 [ResultType Result Id GroupOperation Id];
    GroupLogicalXorKHR = 6408 [ResultType Result Id GroupOperation Id];
    RoundFToTF32INTEL = 6426 [ResultType Result Id]; MaskedGatherINTEL = 6428 [ResultType Result Id Word Id Id];
    MaskedScatterINTEL = 6429 [Id Id Word Id]; ConvertHandleToImageINTEL = 6529 [ResultType Result Id];
    ConvertHandleToSamplerINTEL = 6530 [ResultType Result Id];
    ConvertHandleToSampledImageINTEL = 6531 [ResultType Result Id];
    FDot2MixAcc32VALVE = 6916 [ResultType Result Id Id Id]; FDot2MixAcc16VALVE = 6917 [ResultType Result Id Id Id];
    FDot4MixAcc32VALVE = 6918 [ResultType Result Id Id Id];
}

class! { is_type "Whether it declares a type."
    TypeVoid TypeBool TypeInt TypeFloat TypeVector TypeMatrix TypeImage TypeSampler TypeSampledImage TypeArray
    TypeRuntimeArray TypeStruct TypeOpaque TypePointer TypeFunction TypeEvent TypeDeviceEvent TypeReserveId
    TypeQueue TypePipe TypeForwardPointer TypePipeStorage TypeNamedBarrier TypeTensorARM TypeGraphARM
    TypeUntypedPointerKHR TypeCooperativeMatrixKHR TypeRayQueryKHR TypeNodePayloadArrayAMDX TypeBufferEXT
    TypeHitObjectNV TypeVectorIdEXT TypeHitObjectEXT TypeAccelerationStructureKHR TypeCooperativeMatrixNV
    TypeTensorLayoutNV TypeTensorViewNV TypeVmeImageINTEL TypeAvcImePayloadINTEL TypeAvcRefPayloadINTEL
    TypeAvcSicPayloadINTEL TypeAvcMcePayloadINTEL TypeAvcMceResultINTEL TypeAvcImeResultINTEL
    TypeAvcImeResultSingleReferenceStreamoutINTEL TypeAvcImeResultDualReferenceStreamoutINTEL
    TypeAvcImeSingleReferenceStreaminINTEL TypeAvcImeDualReferenceStreaminINTEL TypeAvcRefResultINTEL
    TypeAvcSicResultINTEL TypeBufferSurfaceINTEL TypeStructContinuedINTEL TypeTaskSequenceALTERA
}

class! { is_annotation "Whether it decorates something."
    Decorate MemberDecorate DecorationGroup GroupDecorate GroupMemberDecorate DecorateId MemberDecorateIdEXT
    DecorateString MemberDecorateString
}

enumeration! { AccessQualifier
    ReadOnly = 0; WriteOnly = 1; ReadWrite = 2;
}

enumeration! { AddressingModel
    Logical = 0; Physical32 = 1; Physical64 = 2; PhysicalStorageBuffer64 = 5348;
}

enumeration! { BuiltIn
    Position = 0; PointSize = 1; ClipDistance = 3; CullDistance = 4; VertexId = 5; InstanceId = 6; PrimitiveId = 7;
    InvocationId = 8; Layer = 9; ViewportIndex = 10; TessLevelOuter = 11; TessLevelInner = 12; TessCoord = 13;
    PatchVertices = 14; FragCoord = 15; PointCoord = 16; FrontFacing = 17; SampleId = 18; SamplePosition = 19;
    SampleMask = 20; FragDepth = 22; HelperInvocation = 23; NumWorkgroups = 24; WorkgroupSize = 25;
    WorkgroupId = 26; LocalInvocationId = 27; GlobalInvocationId = 28; LocalInvocationIndex = 29; WorkDim = 30;
    GlobalSize = 31; EnqueuedWorkgroupSize = 32; GlobalOffset = 33; GlobalLinearId = 34; SubgroupSize = 36;
    SubgroupMaxSize = 37; NumSubgroups = 38; NumEnqueuedSubgroups = 39; SubgroupId = 40;
    SubgroupLocalInvocationId = 41; VertexIndex = 42; InstanceIndex = 43; CoreIDARM = 4160; CoreCountARM = 4161;
    CoreMaxIDARM = 4162; WarpIDARM = 4163; WarpMaxIDARM = 4164; SubgroupEqMask = 4416; SubgroupGeMask = 4417;
    SubgroupGtMask = 4418; SubgroupLeMask = 4419; SubgroupLtMask = 4420; BaseVertex = 4424; BaseInstance = 4425;
    DrawIndex = 4426; PrimitiveShadingRateKHR = 4432; DeviceIndex = 4438; ViewIndex = 4440; ShadingRateKHR = 4444;
    TileOffsetQCOM = 4492; TileDimensionQCOM = 4493; TileApronSizeQCOM = 4494; BaryCoordNoPerspAMD = 4992;
    BaryCoordNoPerspCentroidAMD = 4993; BaryCoordNoPerspSampleAMD = 4994; BaryCoordSmoothAMD = 4995;
    BaryCoordSmoothCentroidAMD = 4996; BaryCoordSmoothSampleAMD = 4997; BaryCoordPullModelAMD = 4998;
    FragStencilRefEXT = 5014; RemainingRecursionLevelsAMDX = 5021; ShaderIndexAMDX = 5073; SamplerHeapEXT = 5122;
    ResourceHeapEXT = 5123; ViewportMaskNV = 5253; SecondaryPositionNV = 5257; SecondaryViewportMaskNV = 5258;
    PositionPerViewNV = 5261; ViewportMaskPerViewNV = 5262; FullyCoveredEXT = 5264; TaskCountNV = 5274;
    PrimitiveCountNV = 5275; PrimitiveIndicesNV = 5276; ClipDistancePerViewNV = 5277; CullDistancePerViewNV = 5278;
    LayerPerViewNV = 5279; MeshViewCountNV = 5280; MeshViewIndicesNV = 5281; BaryCoordKHR = 5286;
    BaryCoordNoPerspKHR = 5287; FragSizeEXT = 5292; FragInvocationCountEXT = 5293; PrimitivePointIndicesEXT = 5294;
    PrimitiveLineIndicesEXT = 5295; PrimitiveTriangleIndicesEXT = 5296; CullPrimitiveEXT = 5299; LaunchIdKHR = 5319;
    LaunchSizeKHR = 5320; WorldRayOriginKHR = 5321; WorldRayDirectionKHR = 5322; ObjectRayOriginKHR = 5323;
    ObjectRayDirectionKHR = 5324; RayTminKHR = 5325; RayTmaxKHR = 5326; InstanceCustomIndexKHR = 5327;
    ObjectToWorldKHR = 5330; WorldToObjectKHR = 5331; HitTNV = 5332; HitKindKHR = 5333; CurrentRayTimeNV = 5334;
    HitTriangleVertexPositionsKHR = 5335; HitMicroTriangleVertexPositionsNV = 5337;
    HitMicroTriangleVertexBarycentricsNV = 5344; IncomingRayFlagsKHR = 5351; RayGeometryIndexKHR = 5352;
    HitIsSphereNV = 5359; HitIsLSSNV = 5360; HitSpherePositionNV = 5361; WarpsPerSMNV = 5374; SMCountNV = 5375;
    WarpIDNV = 5376; SMIDNV = 5377; HitLSSPositionsNV = 5396; HitKindFrontFacingMicroTriangleNV = 5405;
    HitKindBackFacingMicroTriangleNV = 5406; HitSphereRadiusNV = 5420; HitLSSRadiiNV = 5421; ClusterIDNV = 5436;
    CullMaskKHR = 6021;
}

enumeration! { Capability
    Matrix = 0; Shader = 1; Geometry = 2; Tessellation = 3; Addresses = 4; Linkage = 5; Kernel = 6; Vector16 = 7;
    Float16Buffer = 8; Float16 = 9; Float64 = 10; Int64 = 11; Int64Atomics = 12; ImageBasic = 13;
    ImageReadWrite = 14; ImageMipmap = 15; Pipes = 17; Groups = 18; DeviceEnqueue = 19; LiteralSampler = 20;
    AtomicStorage = 21; Int16 = 22; TessellationPointSize = 23; GeometryPointSize = 24; ImageGatherExtended = 25;
    StorageImageMultisample = 27; UniformBufferArrayDynamicIndexing = 28; SampledImageArrayDynamicIndexing = 29;
    StorageBufferArrayDynamicIndexing = 30; StorageImageArrayDynamicIndexing = 31; ClipDistance = 32;
    CullDistance = 33; ImageCubeArray = 34; SampleRateShading = 35; ImageRect = 36; SampledRect = 37;
    GenericPointer = 38; Int8 = 39; InputAttachment = 40; SparseResidency = 41; MinLod = 42; Sampled1D = 43;
    Image1D = 44; SampledCubeArray = 45; SampledBuffer = 46; ImageBuffer = 47; ImageMSArray = 48;
    StorageImageExtendedFormats = 49; ImageQuery = 50; DerivativeControl = 51; InterpolationFunction = 52;
    TransformFeedback = 53; GeometryStreams = 54; StorageImageReadWithoutFormat = 55;
    StorageImageWriteWithoutFormat = 56; MultiViewport = 57; SubgroupDispatch = 58; NamedBarrier = 59;
    PipeStorage = 60; GroupNonUniform = 61; GroupNonUniformVote = 62; GroupNonUniformArithmetic = 63;
    GroupNonUniformBallot = 64; GroupNonUniformShuffle = 65; GroupNonUniformShuffleRelative = 66;
    GroupNonUniformClustered = 67; GroupNonUniformQuad = 68; ShaderLayer = 69; ShaderViewportIndex = 70;
    UniformDecoration = 71; CoreBuiltinsARM = 4165; TileImageColorReadAccessEXT = 4166;
    TileImageDepthReadAccessEXT = 4167; TileImageStencilReadAccessEXT = 4168; TensorsARM = 4174;
    StorageTensorArrayDynamicIndexingARM = 4175; StorageTensorArrayNonUniformIndexingARM = 4176; GraphARM = 4191;
    CooperativeMatrixLayoutsARM = 4201; Float8EXT = 4212; Float8CooperativeMatrixEXT = 4213; Float6EXT = 4228;
    Float4EXT = 4229; Float8UnsignedE8M0EXT = 4230; MXInt8EXT = 4231; BitcastExtractEXT = 4232;
    FragmentShadingRateKHR = 4422; SubgroupBallotKHR = 4423; DrawParameters = 4427;
    WorkgroupMemoryExplicitLayoutKHR = 4428; WorkgroupMemoryExplicitLayout8BitAccessKHR = 4429;
    WorkgroupMemoryExplicitLayout16BitAccessKHR = 4430; SubgroupVoteKHR = 4431; StorageBuffer16BitAccess = 4433;
    UniformAndStorageBuffer16BitAccess = 4434; StoragePushConstant16 = 4435; StorageInputOutput16 = 4436;
    DeviceGroup = 4437; MultiView = 4439; VariablePointersStorageBuffer = 4441; VariablePointers = 4442;
    AtomicStorageOps = 4445; SampleMaskPostDepthCoverage = 4447; StorageBuffer8BitAccess = 4448;
    UniformAndStorageBuffer8BitAccess = 4449; StoragePushConstant8 = 4450; DenormPreserve = 4464;
    DenormFlushToZero = 4465; SignedZeroInfNanPreserve = 4466; RoundingModeRTE = 4467; RoundingModeRTZ = 4468;
    RayQueryProvisionalKHR = 4471; RayQueryKHR = 4472; UntypedPointersKHR = 4473;
    RayTraversalPrimitiveCullingKHR = 4478; RayTracingKHR = 4479; TextureSampleWeightedQCOM = 4484;
    TextureBoxFilterQCOM = 4485; TextureBlockMatchQCOM = 4486; TileShadingQCOM = 4495;
    CooperativeMatrixConversionQCOM = 4496; TextureBlockMatch2QCOM = 4498; MultipleWaitQueuesQCOM = 4539;
    ImageGatherLinearQCOM = 4543; ImageGatherExtendedModesQCOM = 4544; Float16ImageAMD = 5008;
    ImageGatherBiasLodAMD = 5009; FragmentMaskAMD = 5010; StencilExportEXT = 5013; ImageReadWriteLodAMD = 5015;
    Int64ImageEXT = 5016; ShaderClockKHR = 5055; ShaderEnqueueAMDX = 5067; QuadControlKHR = 5087;
    Int4TypeINTEL = 5112; Int4CooperativeMatrixINTEL = 5114; BFloat16TypeKHR = 5116; BFloat16DotProductKHR = 5117;
    BFloat16CooperativeMatrixKHR = 5118; AbortKHR = 5120; DescriptorHeapEXT = 5128; ConstantDataKHR = 5146;
    PoisonFreezeKHR = 5156; WeakLinkageAMD = 5181; SampleMaskOverrideCoverageNV = 5249;
    GeometryShaderPassthroughNV = 5251; ShaderViewportIndexLayerEXT = 5254; ShaderViewportMaskNV = 5255;
    ShaderStereoViewNV = 5259; PerViewAttributesNV = 5260; FragmentFullyCoveredEXT = 5265; MeshShadingNV = 5266;
    ImageFootprintNV = 5282; MeshShadingEXT = 5283; FragmentBarycentricKHR = 5284;
    ComputeDerivativeGroupQuadsKHR = 5288; FragmentDensityEXT = 5291; GroupNonUniformPartitionedEXT = 5297;
    ShaderNonUniform = 5301; RuntimeDescriptorArray = 5302; InputAttachmentArrayDynamicIndexing = 5303;
    UniformTexelBufferArrayDynamicIndexing = 5304; StorageTexelBufferArrayDynamicIndexing = 5305;
    UniformBufferArrayNonUniformIndexing = 5306; SampledImageArrayNonUniformIndexing = 5307;
    StorageBufferArrayNonUniformIndexing = 5308; StorageImageArrayNonUniformIndexing = 5309;
    InputAttachmentArrayNonUniformIndexing = 5310; UniformTexelBufferArrayNonUniformIndexing = 5311;
    StorageTexelBufferArrayNonUniformIndexing = 5312; RayTracingPositionFetchKHR = 5336; RayTracingNV = 5340;
    RayTracingMotionBlurNV = 5341; VulkanMemoryModel = 5345; VulkanMemoryModelDeviceScope = 5346;
    PhysicalStorageBufferAddresses = 5347; ComputeDerivativeGroupLinearKHR = 5350; RayTracingProvisionalKHR = 5353;
    CooperativeMatrixNV = 5357; FragmentShaderSampleInterlockEXT = 5363;
    FragmentShaderShadingRateInterlockEXT = 5372; ShaderSMBuiltinsNV = 5373; FragmentShaderPixelInterlockEXT = 5378;
    DemoteToHelperInvocation = 5379; DisplacementMicromapNV = 5380; RayTracingOpacityMicromapKHR = 5381;
    ShaderInvocationReorderNV = 5383; ShaderInvocationReorderEXT = 5388; BindlessTextureNV = 5390;
    RayQueryPositionFetchKHR = 5391; CooperativeVectorNV = 5394; AtomicFloat16VectorNV = 5404;
    RayTracingDisplacementMicromapNV = 5409; RawAccessChainsNV = 5414; RayTracingSpheresGeometryNV = 5418;
    RayTracingLinearSweptSpheresGeometryNV = 5419; PushConstantBanksNV = 5423; LongVectorEXT = 5425;
    Shader64BitIndexingEXT = 5426; CooperativeMatrixConversionsEXT = 5429; CooperativeMatrixReductionsEXT = 5430;
    CooperativeMatrixConversionsNV = 5431; CooperativeMatrixPerElementOperationsEXT = 5432;
    CooperativeMatrixTensorAddressingNV = 5433; CooperativeMatrixBlockLoadsNV = 5434;
    CooperativeVectorTrainingNV = 5435; RayTracingClusterAccelerationStructureNV = 5437;
    CooperativeMatrixGetCoordinateEXT = 5438; TensorAddressingNV = 5439; CooperativeMatrixDecodeVectorNV = 5447;
    SubgroupShuffleINTEL = 5568; SubgroupBufferBlockIOINTEL = 5569; SubgroupImageBlockIOINTEL = 5570;
    SubgroupImageMediaBlockIOINTEL = 5579; RoundToInfinityINTEL = 5582; FloatingPointModeINTEL = 5583;
    IntegerFunctions2INTEL = 5584; FunctionPointersINTEL = 5603; IndirectReferencesINTEL = 5604; AsmINTEL = 5606;
    AtomicFloat32MinMaxEXT = 5612; AtomicFloat64MinMaxEXT = 5613; AtomicFloat16MinMaxEXT = 5616;
    VectorComputeINTEL = 5617; VectorAnyINTEL = 5619; ExpectAssumeKHR = 5629;
    SubgroupAvcMotionEstimationINTEL = 5696; SubgroupAvcMotionEstimationIntraINTEL = 5697;
    SubgroupAvcMotionEstimationChromaINTEL = 5698; VariableLengthArrayINTEL = 5817;
    FunctionFloatControlINTEL = 5821; FPGAMemoryAttributesALTERA = 5824; FPFastMathModeINTEL = 5837;
    ArbitraryPrecisionIntegersALTERA = 5844; ArbitraryPrecisionFloatingPointALTERA = 5845;
    UnstructuredLoopControlsINTEL = 5886; FPGALoopControlsALTERA = 5888; KernelAttributesINTEL = 5892;
    FPGAKernelAttributesINTEL = 5897; FPGAMemoryAccessesALTERA = 5898; FPGAClusterAttributesALTERA = 5904;
    LoopFuseALTERA = 5906; FPGADSPControlALTERA = 5908; MemoryAccessAliasingINTEL = 5910;
    FPGAInvocationPipeliningAttributesALTERA = 5916; FPGABufferLocationALTERA = 5920;
    ArbitraryPrecisionFixedPointALTERA = 5922; USMStorageClassesALTERA = 5935; RuntimeAlignedAttributeALTERA = 5939;
    IOPipesALTERA = 5943; BlockingPipesALTERA = 5945; FPGARegALTERA = 5948; DotProductInputAll = 6016;
    DotProductInput4x8Bit = 6017; DotProductInput4x8BitPacked = 6018; DotProduct = 6019; RayCullMaskKHR = 6020;
    CooperativeMatrixKHR = 6022; ReplicatedCompositesEXT = 6024; BitInstructions = 6025;
    GroupNonUniformRotateKHR = 6026; FloatControls2 = 6029; FMAKHR = 6030;
    RayTracingOpacityMicromapExecutionModeKHR = 6032; AtomicFloat32AddEXT = 6033; AtomicFloat64AddEXT = 6034;
    LongCompositesINTEL = 6089; OptNoneEXT = 6094; AtomicFloat16AddEXT = 6095; DebugInfoModuleINTEL = 6114;
    BFloat16ConversionINTEL = 6115; SplitBarrierEXT = 6141; ArithmeticFenceEXT = 6144;
    FPGAClusterAttributesV2ALTERA = 6150; FPGAKernelAttributesv2INTEL = 6161; TaskSequenceALTERA = 6162;
    FPMaxErrorINTEL = 6169; FPGALatencyControlALTERA = 6171; FPGAArgumentInterfacesALTERA = 6174;
    GlobalVariableHostAccessINTEL = 6187; GlobalVariableFPGADecorationsALTERA = 6189;
    SubgroupBufferPrefetchINTEL = 6220; Subgroup2DBlockIOINTEL = 6228; Subgroup2DBlockTransformINTEL = 6229;
    Subgroup2DBlockTransposeINTEL = 6230; SubgroupMatrixMultiplyAccumulateINTEL = 6236;
    TernaryBitwiseFunctionINTEL = 6241; UntypedVariableLengthArrayINTEL = 6243; SpecConditionalINTEL = 6245;
    FunctionVariantsINTEL = 6246; PredicatedIOINTEL = 6257; RoundedDivideSqrtINTEL = 6265;
    GroupUniformArithmeticKHR = 6400; TensorFloat32RoundingINTEL = 6425; MaskedGatherScatterINTEL = 6427;
    CacheControlsINTEL = 6441; RegisterLimitsINTEL = 6460; BindlessImagesINTEL = 6528;
    DotProductFloat16AccFloat32VALVE = 6912; DotProductFloat16AccFloat16VALVE = 6913;
    DotProductBFloat16AccVALVE = 6914; DotProductFloat8AccFloat32VALVE = 6915; IntrinsicSAMSUNG = 7041;
}

enumeration! { Decoration
    RelaxedPrecision = 0; SpecId = 1 [Word]; Block = 2; BufferBlock = 3; RowMajor = 4; ColMajor = 5;
    ArrayStride = 6 [Word]; MatrixStride = 7 [Word]; GLSLShared = 8; GLSLPacked = 9; CPacked = 10;
    BuiltIn = 11 [BuiltIn]; NoPerspective = 13; Flat = 14; Patch = 15; Centroid = 16; Sample = 17; Invariant = 18;
    Restrict = 19; Aliased = 20; Volatile = 21; Constant = 22; Coherent = 23; NonWritable = 24; NonReadable = 25;
    Uniform = 26; UniformId = 27 [Id]; SaturatedConversion = 28; Stream = 29 [Word]; Location = 30 [Word];
    Component = 31 [Word]; Index = 32 [Word]; Binding = 33 [Word]; DescriptorSet = 34 [Word]; Offset = 35 [Word];
    XfbBuffer = 36 [Word]; XfbStride = 37 [Word]; FuncParamAttr = 38 [FunctionParameterAttribute];
    FPRoundingMode = 39 [FPRoundingMode]; FPFastMathMode = 40 [Word]; LinkageAttributes = 41 [Text LinkageType];
    NoContraction = 42; InputAttachmentIndex = 43 [Word]; Alignment = 44 [Word]; MaxByteOffset = 45 [Word];
    AlignmentId = 46 [Id]; MaxByteOffsetId = 47 [Id]; SaturatedToLargestFloat8NormalConversionEXT = 4216;
    NoSignedWrap = 4469; NoUnsignedWrap = 4470; WeightTextureQCOM = 4487; BlockMatchTextureQCOM = 4488;
    BlockMatchSamplerQCOM = 4499; ExplicitInterpAMD = 4999; NodeSharesPayloadLimitsWithAMDX = 5019 [Id];
    NodeMaxPayloadsAMDX = 5020 [Id]; TrackFinishWritingAMDX = 5078; PayloadNodeNameAMDX = 5091 [Id];
    PayloadNodeBaseIndexAMDX = 5098 [Id]; PayloadNodeSparseArrayAMDX = 5099; PayloadNodeArraySizeAMDX = 5100 [Id];
    PayloadDispatchIndirectAMDX = 5105; ArrayStrideIdEXT = 5124 [Id]; OffsetIdEXT = 5125 [Id]; UTFEncodedKHR = 5145;
    OverrideCoverageNV = 5248; PassthroughNV = 5250; ViewportRelativeNV = 5252;
    SecondaryViewportRelativeNV = 5256 [Word]; PerPrimitiveEXT = 5271; PerViewNV = 5272; PerTaskNV = 5273;
    PerVertexKHR = 5285; NonUniform = 5300; RestrictPointer = 5355; AliasedPointer = 5356;
    MemberOffsetNV = 5358 [Word]; HitObjectShaderRecordBufferNV = 5386; HitObjectShaderRecordBufferEXT = 5389;
    BankNV = 5397 [Word]; BindlessSamplerNV = 5398; BindlessImageNV = 5399; BoundSamplerNV = 5400;
    BoundImageNV = 5401; CooperativeMatrixTransposeEXT = 5440; SIMTCallINTEL = 5599 [Word];
    ReferencedIndirectlyINTEL = 5602; ClobberINTEL = 5607 [Text]; SideEffectsINTEL = 5608;
    VectorComputeVariableINTEL = 5624; FuncParamIOKindINTEL = 5625 [Word]; VectorComputeFunctionINTEL = 5626;
    StackCallINTEL = 5627; GlobalVariableOffsetINTEL = 5628 [Word]; CounterBuffer = 5634 [Id];
    UserSemantic = 5635 [Text]; UserTypeGOOGLE = 5636 [Text];
    FunctionRoundingModeINTEL = 5822 [Word FPRoundingMode]; FunctionDenormModeINTEL = 5823 [Word Word];
    RegisterALTERA = 5825; MemoryALTERA = 5826 [Text]; NumbanksALTERA = 5827 [Word]; BankwidthALTERA = 5828 [Word];
    MaxPrivateCopiesALTERA = 5829 [Word]; SinglepumpALTERA = 5830; DoublepumpALTERA = 5831;
    MaxReplicatesALTERA = 5832 [Word]; SimpleDualPortALTERA = 5833; MergeALTERA = 5834 [Text Text];
    BankBitsALTERA = 5835 [{Word}]; ForcePow2DepthALTERA = 5836 [Word]; StridesizeALTERA = 5883 [Word];
    WordsizeALTERA = 5884 [Word]; TrueDualPortALTERA = 5885; BurstCoalesceALTERA = 5899;
    CacheSizeALTERA = 5900 [Word]; DontStaticallyCoalesceALTERA = 5901; PrefetchALTERA = 5902 [Word];
    StallEnableALTERA = 5905; FuseLoopsInFunctionALTERA = 5907; MathOpDSPModeALTERA = 5909 [Word Word];
    AliasScopeINTEL = 5914 [Id]; NoAliasINTEL = 5915 [Id]; InitiationIntervalALTERA = 5917 [Word];
    MaxConcurrencyALTERA = 5918 [Word]; PipelineEnableALTERA = 5919 [Word]; BufferLocationALTERA = 5921 [Word];
    IOPipeStorageALTERA = 5944 [Word]; FunctionFloatingPointModeINTEL = 6080 [Word Word];
    SingleElementVectorINTEL = 6085; VectorComputeCallableFunctionINTEL = 6087; MediaBlockIOINTEL = 6140;
    StallFreeALTERA = 6151; FPMaxErrorDecorationINTEL = 6170 [Word]; LatencyControlLabelALTERA = 6172 [Word];
    LatencyControlConstraintALTERA = 6173 [Word Word Word]; ConduitKernelArgumentALTERA = 6175;
    RegisterMapKernelArgumentALTERA = 6176; MMHostInterfaceAddressWidthALTERA = 6177 [Word];
    MMHostInterfaceDataWidthALTERA = 6178 [Word]; MMHostInterfaceLatencyALTERA = 6179 [Word];
    MMHostInterfaceReadWriteModeALTERA = 6180 [AccessQualifier]; MMHostInterfaceMaxBurstALTERA = 6181 [Word];
    MMHostInterfaceWaitRequestALTERA = 6182 [Word]; StableKernelArgumentALTERA = 6183;
    HostAccessINTEL = 6188 [Word Text]; InitModeALTERA = 6190 [Word]; ImplementInRegisterMapALTERA = 6191 [Word];
    ConditionalINTEL = 6247 [Id]; CacheControlLoadINTEL = 6442 [Word Word];
    CacheControlStoreINTEL = 6443 [Word Word]; IntrinsicSAMSUNG = 7040 [Word];
}

enumeration! { Dim
    Dim1D = 0; Dim2D = 1; Dim3D = 2; Cube = 3; Rect = 4; Buffer = 5; SubpassData = 6; TileImageDataEXT = 4173;
}

enumeration! { ExecutionMode
    Invocations = 0 [Word]; SpacingEqual = 1; SpacingFractionalEven = 2; SpacingFractionalOdd = 3;
    VertexOrderCw = 4; VertexOrderCcw = 5; PixelCenterInteger = 6; OriginUpperLeft = 7; OriginLowerLeft = 8;
    EarlyFragmentTests = 9; PointMode = 10; Xfb = 11; DepthReplacing = 12; DepthGreater = 14; DepthLess = 15;
    DepthUnchanged = 16; LocalSize = 17 [Word Word Word]; LocalSizeHint = 18 [Word Word Word]; InputPoints = 19;
    InputLines = 20; InputLinesAdjacency = 21; Triangles = 22; InputTrianglesAdjacency = 23; Quads = 24;
    Isolines = 25; OutputVertices = 26 [Word]; OutputPoints = 27; OutputLineStrip = 28; OutputTriangleStrip = 29;
    VecTypeHint = 30 [Word]; ContractionOff = 31; Initializer = 33; Finalizer = 34; SubgroupSize = 35 [Word];
    SubgroupsPerWorkgroup = 36 [Word]; SubgroupsPerWorkgroupId = 37 [Id]; LocalSizeId = 38 [Id Id Id];
    LocalSizeHintId = 39 [Id Id Id]; NonCoherentColorAttachmentReadEXT = 4169;
    NonCoherentDepthAttachmentReadEXT = 4170; NonCoherentStencilAttachmentReadEXT = 4171;
    SubgroupUniformControlFlowKHR = 4421; PostDepthCoverage = 4446; DenormPreserve = 4459 [Word];
    DenormFlushToZero = 4460 [Word]; SignedZeroInfNanPreserve = 4461 [Word]; RoundingModeRTE = 4462 [Word];
    RoundingModeRTZ = 4463 [Word]; NonCoherentTileAttachmentReadQCOM = 4489;
    TileShadingRateQCOM = 4490 [Word Word Word]; EarlyAndLateFragmentTestsAMD = 5017; StencilRefReplacingEXT = 5027;
    CoalescingAMDX = 5069; IsApiEntryAMDX = 5070 [Id]; MaxNodeRecursionAMDX = 5071 [Id];
    StaticNumWorkgroupsAMDX = 5072 [Id Id Id]; ShaderIndexAMDX = 5073 [Id]; MaxNumWorkgroupsAMDX = 5077 [Id Id Id];
    StencilRefUnchangedFrontAMD = 5079; StencilRefGreaterFrontAMD = 5080; StencilRefLessFrontAMD = 5081;
    StencilRefUnchangedBackAMD = 5082; StencilRefGreaterBackAMD = 5083; StencilRefLessBackAMD = 5084;
    QuadDerivativesKHR = 5088; RequireFullQuadsKHR = 5089; SharesInputWithAMDX = 5102 [Id Id];
    ArithmeticPoisonKHR = 5157; OutputLinesEXT = 5269; OutputPrimitivesEXT = 5270 [Word];
    DerivativeGroupQuadsKHR = 5289; DerivativeGroupLinearKHR = 5290; OutputTrianglesEXT = 5298;
    PixelInterlockOrderedEXT = 5366; PixelInterlockUnorderedEXT = 5367; SampleInterlockOrderedEXT = 5368;
    SampleInterlockUnorderedEXT = 5369; ShadingRateInterlockOrderedEXT = 5370;
    ShadingRateInterlockUnorderedEXT = 5371; Shader64BitIndexingEXT = 5427;
    SharedLocalMemorySizeINTEL = 5618 [Word]; RoundingModeRTPINTEL = 5620 [Word];
    RoundingModeRTNINTEL = 5621 [Word]; FloatingPointModeALTINTEL = 5622 [Word];
    FloatingPointModeIEEEINTEL = 5623 [Word]; MaxWorkgroupSizeINTEL = 5893 [Word Word Word];
    MaxWorkDimINTEL = 5894 [Word]; NoGlobalOffsetINTEL = 5895; NumSIMDWorkitemsINTEL = 5896 [Word];
    SchedulerTargetFmaxMhzINTEL = 5903 [Word]; MaximallyReconvergesKHR = 6023; FPFastMathDefault = 6028 [Id Id];
    OpacityMicromapIdKHR = 6031 [Id]; StreamingInterfaceINTEL = 6154 [Word];
    RegisterMapInterfaceINTEL = 6160 [Word]; NamedBarrierCountINTEL = 6417 [Word];
    MaximumRegistersINTEL = 6461 [Word]; MaximumRegistersIdINTEL = 6462 [Id];
    NamedMaximumRegistersINTEL = 6463 [Word];
}

enumeration! { ExecutionModel
    Vertex = 0; TessellationControl = 1; TessellationEvaluation = 2; Geometry = 3; Fragment = 4; GLCompute = 5;
    Kernel = 6; TaskNV = 5267; MeshNV = 5268; RayGenerationKHR = 5313; IntersectionKHR = 5314; AnyHitKHR = 5315;
    ClosestHitKHR = 5316; MissKHR = 5317; CallableKHR = 5318; TaskEXT = 5364; MeshEXT = 5365;
}

enumeration! { FPRoundingMode
    RTE = 0; RTZ = 1; RTP = 2; RTN = 3;
}

enumeration! { FunctionParameterAttribute
    Zext = 0; Sext = 1; ByVal = 2; Sret = 3; NoAlias = 4; NoCapture = 5; NoWrite = 6; NoReadWrite = 7;
    RuntimeAlignedALTERA = 5940;
}

enumeration! { GroupOperation
    Reduce = 0; InclusiveScan = 1; ExclusiveScan = 2; ClusteredReduce = 3; PartitionedReduceEXT = 6;
    PartitionedInclusiveScanEXT = 7; PartitionedExclusiveScanEXT = 8;
}

enumeration! { LinkageType
    Export = 0; Import = 1; LinkOnceODR = 2; WeakAMD = 3;
}

enumeration! { MemoryModel
    Simple = 0; GLSL450 = 1; OpenCL = 2; Vulkan = 3;
}

enumeration! { MemorySemantics
    Relaxed = 0; Acquire = 2; Release = 4; AcquireRelease = 8; SequentiallyConsistent = 16; UniformMemory = 64;
    SubgroupMemory = 128; WorkgroupMemory = 256; CrossWorkgroupMemory = 512; AtomicCounterMemory = 1024;
    ImageMemory = 2048; OutputMemory = 4096; MakeAvailable = 8192; MakeVisible = 16384; Volatile = 32768;
}

enumeration! { Scope
    CrossDevice = 0; Device = 1; Workgroup = 2; Subgroup = 3; Invocation = 4; QueueFamily = 5; ShaderCallKHR = 6;
}

enumeration! { SourceLanguage
    Unknown = 0; ESSL = 1; GLSL = 2; OpenCL_C = 3; OpenCL_CPP = 4; HLSL = 5; CPP_for_OpenCL = 6; SYCL = 7;
    HERO_C = 8; NZSL = 9; WGSL = 10; Slang = 11; Zig = 12; Rust = 13; Pred = 14; ApilaJai = 15;
}

enumeration! { StorageClass
    UniformConstant = 0; Input = 1; Uniform = 2; Output = 3; Workgroup = 4; CrossWorkgroup = 5; Private = 6;
    Function = 7; Generic = 8; PushConstant = 9; AtomicCounter = 10; Image = 11; StorageBuffer = 12;
    TileImageEXT = 4172; TileAttachmentQCOM = 4491; NodePayloadAMDX = 5068; CallableDataKHR = 5328;
    IncomingCallableDataKHR = 5329; RayPayloadKHR = 5338; HitAttributeKHR = 5339; IncomingRayPayloadKHR = 5342;
    ShaderRecordBufferKHR = 5343; PhysicalStorageBuffer = 5349; HitObjectAttributeNV = 5385;
    TaskPayloadWorkgroupEXT = 5402; HitObjectAttributeEXT = 5411; CodeSectionINTEL = 5605; DeviceOnlyALTERA = 5936;
    HostOnlyALTERA = 5937;
}

enumeration! { OpenclStd100Op
    acos = 0 [Id]; acosh = 1 [Id]; acospi = 2 [Id]; asin = 3 [Id]; asinh = 4 [Id]; asinpi = 5 [Id]; atan = 6 [Id];
    atan2 = 7 [Id Id]; atanh = 8 [Id]; atanpi = 9 [Id]; atan2pi = 10 [Id Id]; cbrt = 11 [Id]; ceil = 12 [Id];
    copysign = 13 [Id Id]; cos = 14 [Id]; cosh = 15 [Id]; cospi = 16 [Id]; erfc = 17 [Id]; erf = 18 [Id];
    exp = 19 [Id]; exp2 = 20 [Id]; exp10 = 21 [Id]; expm1 = 22 [Id]; fabs = 23 [Id]; fdim = 24 [Id Id];
    floor = 25 [Id]; fma = 26 [Id Id Id]; fmax = 27 [Id Id]; fmin = 28 [Id Id]; fmod = 29 [Id Id];
    fract = 30 [Id Id]; frexp = 31 [Id Id]; hypot = 32 [Id Id]; ilogb = 33 [Id]; ldexp = 34 [Id Id];
    lgamma = 35 [Id]; lgamma_r = 36 [Id Id]; log = 37 [Id]; log2 = 38 [Id]; log10 = 39 [Id]; log1p = 40 [Id];
    logb = 41 [Id]; mad = 42 [Id Id Id]; maxmag = 43 [Id Id]; minmag = 44 [Id Id]; modf = 45 [Id Id]; nan = 46 [Id];
    nextafter = 47 [Id Id]; pow = 48 [Id Id]; pown = 49 [Id Id]; powr = 50 [Id Id]; remainder = 51 [Id Id];
    remquo = 52 [Id Id Id]; rint = 53 [Id]; rootn = 54 [Id Id]; round = 55 [Id]; rsqrt = 56 [Id]; sin = 57 [Id];
    sincos = 58 [Id Id]; sinh = 59 [Id]; sinpi = 60 [Id]; sqrt = 61 [Id]; tan = 62 [Id]; tanh = 63 [Id];
    tanpi = 64 [Id]; tgamma = 65 [Id]; trunc = 66 [Id]; half_cos = 67 [Id]; half_divide = 68 [Id Id];
    half_exp = 69 [Id]; half_exp2 = 70 [Id]; half_exp10 = 71 [Id]; half_log = 72 [Id]; half_log2 = 73 [Id];
    half_log10 = 74 [Id]; half_powr = 75 [Id Id]; half_recip = 76 [Id]; half_rsqrt = 77 [Id]; half_sin = 78 [Id];
    half_sqrt = 79 [Id]; half_tan = 80 [Id]; native_cos = 81 [Id]; native_divide = 82 [Id Id]; native_exp = 83 [Id];
    native_exp2 = 84 [Id]; native_exp10 = 85 [Id]; native_log = 86 [Id]; native_log2 = 87 [Id];
    native_log10 = 88 [Id]; native_powr = 89 [Id Id]; native_recip = 90 [Id]; native_rsqrt = 91 [Id];
    native_sin = 92 [Id]; native_sqrt = 93 [Id]; native_tan = 94 [Id]; fclamp = 95 [Id Id Id]; degrees = 96 [Id];
    fmax_common = 97 [Id Id]; fmin_common = 98 [Id Id]; mix = 99 [Id Id Id]; radians = 100 [Id]; step = 101 [Id Id];
    smoothstep = 102 [Id Id Id]; sign = 103 [Id]; cross = 104 [Id Id]; distance = 105 [Id Id]; length = 106 [Id];
    normalize = 107 [Id]; fast_distance = 108 [Id Id]; fast_length = 109 [Id]; fast_normalize = 110 [Id];
    s_abs = 141 [Id]; s_abs_diff = 142 [Id Id]; s_add_sat = 143 [Id Id]; u_add_sat = 144 [Id Id];
    s_hadd = 145 [Id Id]; u_hadd = 146 [Id Id]; s_rhadd = 147 [Id Id]; u_rhadd = 148 [Id Id];
    s_clamp = 149 [Id Id Id]; u_clamp = 150 [Id Id Id]; clz = 151 [Id]; ctz = 152 [Id]; s_mad_hi = 153 [Id Id Id];
    u_mad_sat = 154 [Id Id Id]; s_mad_sat = 155 [Id Id Id]; s_max = 156 [Id Id]; u_max = 157 [Id Id];
    s_min = 158 [Id Id]; u_min = 159 [Id Id]; s_mul_hi = 160 [Id Id]; rotate = 161 [Id Id]; s_sub_sat = 162 [Id Id];
    u_sub_sat = 163 [Id Id]; u_upsample = 164 [Id Id]; s_upsample = 165 [Id Id]; popcount = 166 [Id];
    s_mad24 = 167 [Id Id Id]; u_mad24 = 168 [Id Id Id]; s_mul24 = 169 [Id Id]; u_mul24 = 170 [Id Id];
    vloadn = 171 [Id Id Word]; vstoren = 172 [Id Id Id]; vload_half = 173 [Id Id]; vload_halfn = 174 [Id Id Word];
    vstore_half = 175 [Id Id Id]; vstore_half_r = 176 [Id Id Id FPRoundingMode]; vstore_halfn = 177 [Id Id Id];
    vstore_halfn_r = 178 [Id Id Id FPRoundingMode]; vloada_halfn = 179 [Id Id Word]; vstorea_halfn = 180 [Id Id Id];
    vstorea_halfn_r = 181 [Id Id Id FPRoundingMode]; shuffle = 182 [Id Id]; shuffle2 = 183 [Id Id Id];
    printf = 184 [Id {Id}]; prefetch = 185 [Id Id]; bitselect = 186 [Id Id Id]; select = 187 [Id Id Id];
    u_abs = 201 [Id]; u_abs_diff = 202 [Id Id]; u_mul_hi = 203 [Id Id]; u_mad_hi = 204 [Id Id Id];
}

operands! { IMAGE_OPERANDS
    0x0001 [Id]; 0x0002 [Id]; 0x0004 [Id Id]; 0x0008 [Id]; 0x0010 [Id]; 0x0020 [Id]; 0x0040 [Id]; 0x0080 [Id];
    0x0100 [Id]; 0x0200 [Id]; 0x0400; 0x0800; 0x1000; 0x2000; 0x4000; 0x10000 [Id];
}

operands! { LOOP_CONTROL
    0x0001; 0x0002; 0x0004; 0x0008 [Word]; 0x0010 [Word]; 0x0020 [Word]; 0x0040 [Word]; 0x0080 [Word];
    0x0100 [Word]; 0x10000 [Word]; 0x20000 [Word]; 0x40000 [Word]; 0x80000 [Word]; 0x100000 [Word]; 0x200000 [Word];
    0x400000 [Word]; 0x800000; 0x1000000 [Word]; 0x2000000 [Word]; 0x10000000 [Word];
}

operands! { MEMORY_ACCESS
    0x0001; 0x0002 [Word]; 0x0004; 0x0008 [Id]; 0x0010 [Id]; 0x0020; 0x10000 [Id]; 0x20000 [Id];
}

operands! { TENSOR_ADDRESSING_OPERANDS
    0x0001 [Id]; 0x0002 [Id]; 0x0004 [Id];
}

operands! { TENSOR_OPERANDS
    0x0001; 0x0002 [Id]; 0x0004 [Id]; 0x0008 [Id]; 0x0010;
}

operands! { OPENCL_DEBUG_INFO_100
    0; 1 [Word Word Id SourceLanguage]; 2 [Id Id Word]; 3 [Id StorageClass Word]; 4 [Id Word]; 5 [Id {Id}];
    6 [Id Word]; 7 [Id Id Id Word Word Id]; 8 [Word Id {Id}]; 9 [Id Id Id Word Word Id Id Word {IdAndId}];
    10 [Id Word Id Word Word Id Id Id Word {Id}]; 11 [Id Id Id Word Word Id Id Id Word (Id)]; 12 [Id Id Id Id Word];
    13 [Id Id]; 14 [Id {Id}]; 15 [Id Id Id Id Word Word]; 16 [Id Id Id Word Word]; 17 [Id Id Word Word {Id}];
    18 [Id Id Id Word Word Id Id Id Word (Id)]; 19 [Id Id Id Word Word Id Id Word];
    20 [Id Id Id Word Word Id Id Word Word Id (Id)]; 21 [Id Word Word Id (Id)]; 22 [Id Word Id]; 23 [Id (Id)]; 24;
    25 [Word Id (Id)]; 26 [Id Id Id Word Word Id Word (Word)]; 27 [Id Id]; 28 [Id Id Id]; 29 [Id Id Id {Id}];
    30 [Word {Word}]; 31 [{Id}]; 32 [Id Word Id (Id)]; 33 [Id Word Id]; 34 [Id Word Id Id Word Word Id];
    35 [Id (Id)]; 36 [Id Id Id Word Id Id Id Word];
}

operands! { DEBUG_INFO
    0; 1 [Id Word Word]; 2 [Id Id Word]; 3 [Id StorageClass Word]; 4 [Id Word]; 5 [Id {Id}]; 6 [Id Word];
    7 [Id Id Id Word Word Id]; 8 [Id {Id}]; 9 [Id Id Id Word Word Id Id Word {IdAndId}];
    10 [Id Word Id Word Word Id Id Word {Id}]; 11 [Id Id Id Word Word Id Id Id Word (Id)]; 12 [Id Id Id Id Word];
    13 [Id Id]; 14 [Id {Id}]; 15 [Id Id Id Id Word Word]; 16 [Id Id Id Word Word]; 17 [Id Id Word Word {Id}];
    18 [Id Id Id Word Word Id Id Id Word (Id)]; 19 [Id Id Id Word Word Id Id Word];
    20 [Id Id Id Word Word Id Id Word Word Id (Id)]; 21 [Id Word Word Id (Id)]; 22 [Id Word Id]; 23 [Id (Id)]; 24;
    25 [Word Id (Id)]; 26 [Id Id Id Word Word Id (Word)]; 27 [Id Id]; 28 [Id Id Id]; 29 [Id Id {Id}];
    30 [Word {Word}]; 31 [{Id}]; 32 [Id Word Id (Id)]; 33 [Id Word Id];
}
