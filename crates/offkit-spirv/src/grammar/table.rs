// Written by generate.py (`./dev grammar`); not to be edited.
//
// Facts of SPIR-V 1.6 revision 7, from the grammar in KhronosGroup/SPIRV-Headers,
// commit 0d25db9 of 2026-08-14: include/spirv/unified1/*.grammar.json,
// Copyright (c) 2014-2026 The Khronos Group Inc., MIT licence.

use super::{Kind, Slot, class, enumeration, operands, slots};

enumeration! { Op
    Nop = 0; Undef = 1 [Typed]; SourceContinued = 2 [Text]; Source = 3 [SourceLanguage Word (Id) (Text)];
    SourceExtension = 4 [Text]; Name = 5 [Id Text]; MemberName = 6 [Id Word Text]; String = 7 [Result Text];
    Line = 8 [Id Word Word]; Extension = 10 [Text]; ExtInstImport = 11 [Result Text];
    ExtInst = 12 [Typed Id Extended {Id}]; MemoryModel = 14 [AddressingModel MemoryModel];
    EntryPoint = 15 [ExecutionModel Id Text {Id}]; ExecutionMode = 16 [Id ExecutionMode];
    Capability = 17 [Capability]; TypeVoid = 19 [Result]; TypeBool = 20 [Result]; TypeInt = 21 [Result Word Word];
    TypeFloat = 22 [Result Word (Word)]; TypeVector = 23 [Result Id Word]; TypeMatrix = 24 [Result Id Word];
    TypeImage = 25 [Result Id Dim Word Word Word Word Word (AccessQualifier)]; TypeSampler = 26 [Result];
    TypeSampledImage = 27 [Result Id]; TypeArray = 28 [Result Id Id]; TypeRuntimeArray = 29 [Result Id];
    TypeStruct = 30 [Result {Id}]; TypeOpaque = 31 [Result Text]; TypePointer = 32 [Result StorageClass Id];
    TypeFunction = 33 [Result Id {Id}]; TypeEvent = 34 [Result]; TypeDeviceEvent = 35 [Result];
    TypeReserveId = 36 [Result]; TypeQueue = 37 [Result]; TypePipe = 38 [Result AccessQualifier];
    TypeForwardPointer = 39 [Id StorageClass]; ConstantTrue = 41 [Typed]; ConstantFalse = 42 [Typed];
    Constant = 43 [Typed Number]; ConstantComposite = 44 [Typed {Id}]; ConstantSampler = 45 [Typed Word Word Word];
    ConstantNull = 46 [Typed]; SpecConstantTrue = 48 [Typed]; SpecConstantFalse = 49 [Typed];
    SpecConstant = 50 [Typed Number]; SpecConstantComposite = 51 [Typed {Id}];
    SpecConstantOp = 52 [Typed Operation]; Function = 54 [Typed Word Id]; FunctionParameter = 55 [Typed];
    FunctionEnd = 56; FunctionCall = 57 [Typed Id {Id}]; Variable = 59 [Typed StorageClass (Id)];
    ImageTexelPointer = 60 [Typed Id Id Id]; Load = 61 [Typed Id (MemoryAccess)]; Store = 62 [Id Id (MemoryAccess)];
    CopyMemory = 63 [Id Id (MemoryAccess) (MemoryAccess)];
    CopyMemorySized = 64 [Id Id Id (MemoryAccess) (MemoryAccess)]; AccessChain = 65 [Typed Id {Id}];
    InBoundsAccessChain = 66 [Typed Id {Id}]; PtrAccessChain = 67 [Typed Id Id {Id}];
    ArrayLength = 68 [Typed Id Word]; GenericPtrMemSemantics = 69 [Typed Id];
    InBoundsPtrAccessChain = 70 [Typed Id Id {Id}]; Decorate = 71 [Id Decoration];
    MemberDecorate = 72 [Id Word Decoration]; DecorationGroup = 73 [Result]; GroupDecorate = 74 [Id {Id}];
    GroupMemberDecorate = 75 [Id {IdAndWord}]; VectorExtractDynamic = 77 [Typed Id Id];
    VectorInsertDynamic = 78 [Typed Id Id Id]; VectorShuffle = 79 [Typed Id Id {Word}];
    CompositeConstruct = 80 [Typed {Id}]; CompositeExtract = 81 [Typed Id {Word}];
    CompositeInsert = 82 [Typed Id Id {Word}]; CopyObject = 83 [Typed Id]; Transpose = 84 [Typed Id];
    SampledImage = 86 [Typed Id Id]; ImageSampleImplicitLod = 87 [Typed Id Id (ImageOperands)];
    ImageSampleExplicitLod = 88 [Typed Id Id ImageOperands];
    ImageSampleDrefImplicitLod = 89 [Typed Id Id Id (ImageOperands)];
    ImageSampleDrefExplicitLod = 90 [Typed Id Id Id ImageOperands];
    ImageSampleProjImplicitLod = 91 [Typed Id Id (ImageOperands)];
    ImageSampleProjExplicitLod = 92 [Typed Id Id ImageOperands];
    ImageSampleProjDrefImplicitLod = 93 [Typed Id Id Id (ImageOperands)];
    ImageSampleProjDrefExplicitLod = 94 [Typed Id Id Id ImageOperands];
    ImageFetch = 95 [Typed Id Id (ImageOperands)]; ImageGather = 96 [Typed Id Id Id (ImageOperands)];
    ImageDrefGather = 97 [Typed Id Id Id (ImageOperands)]; ImageRead = 98 [Typed Id Id (ImageOperands)];
    ImageWrite = 99 [Id Id Id (ImageOperands)]; Image = 100 [Typed Id]; ImageQueryFormat = 101 [Typed Id];
    ImageQueryOrder = 102 [Typed Id]; ImageQuerySizeLod = 103 [Typed Id Id]; ImageQuerySize = 104 [Typed Id];
    ImageQueryLod = 105 [Typed Id Id]; ImageQueryLevels = 106 [Typed Id]; ImageQuerySamples = 107 [Typed Id];
    ConvertFToU = 109 [Typed Id]; ConvertFToS = 110 [Typed Id]; ConvertSToF = 111 [Typed Id];
    ConvertUToF = 112 [Typed Id]; UConvert = 113 [Typed Id]; SConvert = 114 [Typed Id]; FConvert = 115 [Typed Id];
    QuantizeToF16 = 116 [Typed Id]; ConvertPtrToU = 117 [Typed Id]; SatConvertSToU = 118 [Typed Id];
    SatConvertUToS = 119 [Typed Id]; ConvertUToPtr = 120 [Typed Id]; PtrCastToGeneric = 121 [Typed Id];
    GenericCastToPtr = 122 [Typed Id]; GenericCastToPtrExplicit = 123 [Typed Id StorageClass];
    Bitcast = 124 [Typed Id]; SNegate = 126 [Typed Id]; FNegate = 127 [Typed Id]; IAdd = 128 [Typed Id Id];
    FAdd = 129 [Typed Id Id]; ISub = 130 [Typed Id Id]; FSub = 131 [Typed Id Id]; IMul = 132 [Typed Id Id];
    FMul = 133 [Typed Id Id]; UDiv = 134 [Typed Id Id]; SDiv = 135 [Typed Id Id]; FDiv = 136 [Typed Id Id];
    UMod = 137 [Typed Id Id]; SRem = 138 [Typed Id Id]; SMod = 139 [Typed Id Id]; FRem = 140 [Typed Id Id];
    FMod = 141 [Typed Id Id]; VectorTimesScalar = 142 [Typed Id Id]; MatrixTimesScalar = 143 [Typed Id Id];
    VectorTimesMatrix = 144 [Typed Id Id]; MatrixTimesVector = 145 [Typed Id Id];
    MatrixTimesMatrix = 146 [Typed Id Id]; OuterProduct = 147 [Typed Id Id]; Dot = 148 [Typed Id Id];
    IAddCarry = 149 [Typed Id Id]; ISubBorrow = 150 [Typed Id Id]; UMulExtended = 151 [Typed Id Id];
    SMulExtended = 152 [Typed Id Id]; Any = 154 [Typed Id]; All = 155 [Typed Id]; IsNan = 156 [Typed Id];
    IsInf = 157 [Typed Id]; IsFinite = 158 [Typed Id]; IsNormal = 159 [Typed Id]; SignBitSet = 160 [Typed Id];
    LessOrGreater = 161 [Typed Id Id]; Ordered = 162 [Typed Id Id]; Unordered = 163 [Typed Id Id];
    LogicalEqual = 164 [Typed Id Id]; LogicalNotEqual = 165 [Typed Id Id]; LogicalOr = 166 [Typed Id Id];
    LogicalAnd = 167 [Typed Id Id]; LogicalNot = 168 [Typed Id]; Select = 169 [Typed Id Id Id];
    IEqual = 170 [Typed Id Id]; INotEqual = 171 [Typed Id Id]; UGreaterThan = 172 [Typed Id Id];
    SGreaterThan = 173 [Typed Id Id]; UGreaterThanEqual = 174 [Typed Id Id]; SGreaterThanEqual = 175 [Typed Id Id];
    ULessThan = 176 [Typed Id Id]; SLessThan = 177 [Typed Id Id]; ULessThanEqual = 178 [Typed Id Id];
    SLessThanEqual = 179 [Typed Id Id]; FOrdEqual = 180 [Typed Id Id]; FUnordEqual = 181 [Typed Id Id];
    FOrdNotEqual = 182 [Typed Id Id]; FUnordNotEqual = 183 [Typed Id Id]; FOrdLessThan = 184 [Typed Id Id];
    FUnordLessThan = 185 [Typed Id Id]; FOrdGreaterThan = 186 [Typed Id Id]; FUnordGreaterThan = 187 [Typed Id Id];
    FOrdLessThanEqual = 188 [Typed Id Id]; FUnordLessThanEqual = 189 [Typed Id Id];
    FOrdGreaterThanEqual = 190 [Typed Id Id]; FUnordGreaterThanEqual = 191 [Typed Id Id];
    ShiftRightLogical = 194 [Typed Id Id]; ShiftRightArithmetic = 195 [Typed Id Id];
    ShiftLeftLogical = 196 [Typed Id Id]; BitwiseOr = 197 [Typed Id Id]; BitwiseXor = 198 [Typed Id Id];
    BitwiseAnd = 199 [Typed Id Id]; Not = 200 [Typed Id]; BitFieldInsert = 201 [Typed Id Id Id Id];
    BitFieldSExtract = 202 [Typed Id Id Id]; BitFieldUExtract = 203 [Typed Id Id Id]; BitReverse = 204 [Typed Id];
    BitCount = 205 [Typed Id]; DPdx = 207 [Typed Id]; DPdy = 208 [Typed Id]; Fwidth = 209 [Typed Id];
    DPdxFine = 210 [Typed Id]; DPdyFine = 211 [Typed Id]; FwidthFine = 212 [Typed Id]; DPdxCoarse = 213 [Typed Id];
    DPdyCoarse = 214 [Typed Id]; FwidthCoarse = 215 [Typed Id]; EmitVertex = 218; EndPrimitive = 219;
    EmitStreamVertex = 220 [Id]; EndStreamPrimitive = 221 [Id]; ControlBarrier = 224 [Id Id Id];
    MemoryBarrier = 225 [Id Id]; AtomicLoad = 227 [Typed Id Id Id]; AtomicStore = 228 [Id Id Id Id];
    AtomicExchange = 229 [Typed Id Id Id Id]; AtomicCompareExchange = 230 [Typed Id Id Id Id Id Id];
    AtomicCompareExchangeWeak = 231 [Typed Id Id Id Id Id Id]; AtomicIIncrement = 232 [Typed Id Id Id];
    AtomicIDecrement = 233 [Typed Id Id Id]; AtomicIAdd = 234 [Typed Id Id Id Id];
    AtomicISub = 235 [Typed Id Id Id Id]; AtomicSMin = 236 [Typed Id Id Id Id];
    AtomicUMin = 237 [Typed Id Id Id Id]; AtomicSMax = 238 [Typed Id Id Id Id];
    AtomicUMax = 239 [Typed Id Id Id Id]; AtomicAnd = 240 [Typed Id Id Id Id]; AtomicOr = 241 [Typed Id Id Id Id];
    AtomicXor = 242 [Typed Id Id Id Id]; Phi = 245 [Typed {IdAndId}]; LoopMerge = 246 [Id Id LoopControl];
    SelectionMerge = 247 [Id Word]; Label = 248 [Result]; Branch = 249 [Id];
    BranchConditional = 250 [Id Id Id {Word}]; Switch = 251 [Id Id {Case}]; Kill = 252; Return = 253;
    ReturnValue = 254 [Id]; Unreachable = 255; LifetimeStart = 256 [Id Word]; LifetimeStop = 257 [Id Word];
    GroupAsyncCopy = 259 [Typed Id Id Id Id Id Id]; GroupWaitEvents = 260 [Id Id Id]; GroupAll = 261 [Typed Id Id];
    GroupAny = 262 [Typed Id Id]; GroupBroadcast = 263 [Typed Id Id Id];
    GroupIAdd = 264 [Typed Id GroupOperation Id]; GroupFAdd = 265 [Typed Id GroupOperation Id];
    GroupFMin = 266 [Typed Id GroupOperation Id]; GroupUMin = 267 [Typed Id GroupOperation Id];
    GroupSMin = 268 [Typed Id GroupOperation Id]; GroupFMax = 269 [Typed Id GroupOperation Id];
    GroupUMax = 270 [Typed Id GroupOperation Id]; GroupSMax = 271 [Typed Id GroupOperation Id];
    ReadPipe = 274 [Typed Id Id Id Id]; WritePipe = 275 [Typed Id Id Id Id];
    ReservedReadPipe = 276 [Typed Id Id Id Id Id Id]; ReservedWritePipe = 277 [Typed Id Id Id Id Id Id];
    ReserveReadPipePackets = 278 [Typed Id Id Id Id]; ReserveWritePipePackets = 279 [Typed Id Id Id Id];
    CommitReadPipe = 280 [Id Id Id Id]; CommitWritePipe = 281 [Id Id Id Id]; IsValidReserveId = 282 [Typed Id];
    GetNumPipePackets = 283 [Typed Id Id Id]; GetMaxPipePackets = 284 [Typed Id Id Id];
    GroupReserveReadPipePackets = 285 [Typed Id Id Id Id Id];
    GroupReserveWritePipePackets = 286 [Typed Id Id Id Id Id]; GroupCommitReadPipe = 287 [Id Id Id Id Id];
    GroupCommitWritePipe = 288 [Id Id Id Id Id]; EnqueueMarker = 291 [Typed Id Id Id Id];
    EnqueueKernel = 292 [Typed Id Id Id Id Id Id Id Id Id Id {Id}];
    GetKernelNDrangeSubGroupCount = 293 [Typed Id Id Id Id Id];
    GetKernelNDrangeMaxSubGroupSize = 294 [Typed Id Id Id Id Id]; GetKernelWorkGroupSize = 295 [Typed Id Id Id Id];
    GetKernelPreferredWorkGroupSizeMultiple = 296 [Typed Id Id Id Id]; RetainEvent = 297 [Id];
    ReleaseEvent = 298 [Id]; CreateUserEvent = 299 [Typed]; IsValidEvent = 300 [Typed Id];
    SetUserEventStatus = 301 [Id Id]; CaptureEventProfilingInfo = 302 [Id Id Id]; GetDefaultQueue = 303 [Typed];
    BuildNDRange = 304 [Typed Id Id Id]; ImageSparseSampleImplicitLod = 305 [Typed Id Id (ImageOperands)];
    ImageSparseSampleExplicitLod = 306 [Typed Id Id ImageOperands];
    ImageSparseSampleDrefImplicitLod = 307 [Typed Id Id Id (ImageOperands)];
    ImageSparseSampleDrefExplicitLod = 308 [Typed Id Id Id ImageOperands];
    ImageSparseSampleProjImplicitLod = 309 [Typed Id Id (ImageOperands)];
    ImageSparseSampleProjExplicitLod = 310 [Typed Id Id ImageOperands];
    ImageSparseSampleProjDrefImplicitLod = 311 [Typed Id Id Id (ImageOperands)];
    ImageSparseSampleProjDrefExplicitLod = 312 [Typed Id Id Id ImageOperands];
    ImageSparseFetch = 313 [Typed Id Id (ImageOperands)]; ImageSparseGather = 314 [Typed Id Id Id (ImageOperands)];
    ImageSparseDrefGather = 315 [Typed Id Id Id (ImageOperands)]; ImageSparseTexelsResident = 316 [Typed Id];
    NoLine = 317; AtomicFlagTestAndSet = 318 [Typed Id Id Id]; AtomicFlagClear = 319 [Id Id Id];
    ImageSparseRead = 320 [Typed Id Id (ImageOperands)]; SizeOf = 321 [Typed Id]; TypePipeStorage = 322 [Result];
    ConstantPipeStorage = 323 [Typed Word Word Word]; CreatePipeFromPipeStorage = 324 [Typed Id];
    GetKernelLocalSizeForSubgroupCount = 325 [Typed Id Id Id Id Id];
    GetKernelMaxNumSubgroups = 326 [Typed Id Id Id Id]; TypeNamedBarrier = 327 [Result];
    NamedBarrierInitialize = 328 [Typed Id]; MemoryNamedBarrier = 329 [Id Id Id]; ModuleProcessed = 330 [Text];
    ExecutionModeId = 331 [Id ExecutionMode]; DecorateId = 332 [Id Decoration];
    GroupNonUniformElect = 333 [Typed Id]; GroupNonUniformAll = 334 [Typed Id Id];
    GroupNonUniformAny = 335 [Typed Id Id]; GroupNonUniformAllEqual = 336 [Typed Id Id];
    GroupNonUniformBroadcast = 337 [Typed Id Id Id]; GroupNonUniformBroadcastFirst = 338 [Typed Id Id];
    GroupNonUniformBallot = 339 [Typed Id Id]; GroupNonUniformInverseBallot = 340 [Typed Id Id];
    GroupNonUniformBallotBitExtract = 341 [Typed Id Id Id];
    GroupNonUniformBallotBitCount = 342 [Typed Id GroupOperation Id];
    GroupNonUniformBallotFindLSB = 343 [Typed Id Id]; GroupNonUniformBallotFindMSB = 344 [Typed Id Id];
    GroupNonUniformShuffle = 345 [Typed Id Id Id]; GroupNonUniformShuffleXor = 346 [Typed Id Id Id];
    GroupNonUniformShuffleUp = 347 [Typed Id Id Id]; GroupNonUniformShuffleDown = 348 [Typed Id Id Id];
    GroupNonUniformIAdd = 349 [Typed Id GroupOperation Id (Id)];
    GroupNonUniformFAdd = 350 [Typed Id GroupOperation Id (Id)];
    GroupNonUniformIMul = 351 [Typed Id GroupOperation Id (Id)];
    GroupNonUniformFMul = 352 [Typed Id GroupOperation Id (Id)];
    GroupNonUniformSMin = 353 [Typed Id GroupOperation Id (Id)];
    GroupNonUniformUMin = 354 [Typed Id GroupOperation Id (Id)];
    GroupNonUniformFMin = 355 [Typed Id GroupOperation Id (Id)];
    GroupNonUniformSMax = 356 [Typed Id GroupOperation Id (Id)];
    GroupNonUniformUMax = 357 [Typed Id GroupOperation Id (Id)];
    GroupNonUniformFMax = 358 [Typed Id GroupOperation Id (Id)];
    GroupNonUniformBitwiseAnd = 359 [Typed Id GroupOperation Id (Id)];
    GroupNonUniformBitwiseOr = 360 [Typed Id GroupOperation Id (Id)];
    GroupNonUniformBitwiseXor = 361 [Typed Id GroupOperation Id (Id)];
    GroupNonUniformLogicalAnd = 362 [Typed Id GroupOperation Id (Id)];
    GroupNonUniformLogicalOr = 363 [Typed Id GroupOperation Id (Id)];
    GroupNonUniformLogicalXor = 364 [Typed Id GroupOperation Id (Id)];
    GroupNonUniformQuadBroadcast = 365 [Typed Id Id Id]; GroupNonUniformQuadSwap = 366 [Typed Id Id Id];
    CopyLogical = 400 [Typed Id]; PtrEqual = 401 [Typed Id Id]; PtrNotEqual = 402 [Typed Id Id];
    PtrDiff = 403 [Typed Id Id]; ColorAttachmentReadEXT = 4160 [Typed Id (Id)];
    DepthAttachmentReadEXT = 4161 [Typed (Id)]; StencilAttachmentReadEXT = 4162 [Typed (Id)];
    TypeTensorARM = 4163 [Result Id (Id) (Id)]; TensorReadARM = 4164 [Typed Id Id (TensorOperands)];
    TensorWriteARM = 4165 [Id Id Id (TensorOperands)]; TensorQuerySizeARM = 4166 [Typed Id Id];
    GraphConstantARM = 4181 [Typed Word]; GraphEntryPointARM = 4182 [Id Text {Id}]; GraphARM = 4183 [Typed];
    GraphInputARM = 4184 [Typed Id {Id}]; GraphSetOutputARM = 4185 [Id Id {Id}]; GraphEndARM = 4186;
    TypeGraphARM = 4190 [Result Word {Id}]; BitcastExtractEXT = 4195 [Typed Id Id]; TerminateInvocation = 4416;
    TypeUntypedPointerKHR = 4417 [Result StorageClass]; UntypedVariableKHR = 4418 [Typed StorageClass (Id) (Id)];
    UntypedAccessChainKHR = 4419 [Typed Id Id {Id}]; UntypedInBoundsAccessChainKHR = 4420 [Typed Id Id {Id}];
    SubgroupBallotKHR = 4421 [Typed Id]; SubgroupFirstInvocationKHR = 4422 [Typed Id];
    UntypedPtrAccessChainKHR = 4423 [Typed Id Id Id {Id}];
    UntypedInBoundsPtrAccessChainKHR = 4424 [Typed Id Id Id {Id}]; UntypedArrayLengthKHR = 4425 [Typed Id Id Word];
    UntypedPrefetchKHR = 4426 [Id Id (Id) (Id) (Id)]; FmaKHR = 4427 [Typed Id Id Id];
    SubgroupAllKHR = 4428 [Typed Id]; SubgroupAnyKHR = 4429 [Typed Id]; SubgroupAllEqualKHR = 4430 [Typed Id];
    GroupNonUniformRotateKHR = 4431 [Typed Id Id Id (Id)]; SubgroupReadInvocationKHR = 4432 [Typed Id Id];
    ExtInstWithForwardRefsKHR = 4433 [Typed Id Extended {Id}];
    UntypedGroupAsyncCopyKHR = 4434 [Typed Id Id Id Id Id Id Id (MemoryAccess) (MemoryAccess)];
    TraceRayKHR = 4445 [Id Id Id Id Id Id Id Id Id Id Id]; ExecuteCallableKHR = 4446 [Id Id];
    ConvertUToAccelerationStructureKHR = 4447 [Typed Id]; IgnoreIntersectionKHR = 4448; TerminateRayKHR = 4449;
    SDot = 4450 [Typed Id Id (Word)]; UDot = 4451 [Typed Id Id (Word)]; SUDot = 4452 [Typed Id Id (Word)];
    SDotAccSat = 4453 [Typed Id Id Id (Word)]; UDotAccSat = 4454 [Typed Id Id Id (Word)];
    SUDotAccSat = 4455 [Typed Id Id Id (Word)]; TypeCooperativeMatrixKHR = 4456 [Result Id Id Id Id Id];
    CooperativeMatrixLoadKHR = 4457 [Typed Id Id (Id) (MemoryAccess)];
    CooperativeMatrixStoreKHR = 4458 [Id Id Id (Id) (MemoryAccess)];
    CooperativeMatrixMulAddKHR = 4459 [Typed Id Id Id (Word)]; CooperativeMatrixLengthKHR = 4460 [Typed Id];
    ConstantCompositeReplicateEXT = 4461 [Typed Id]; SpecConstantCompositeReplicateEXT = 4462 [Typed Id];
    CompositeConstructReplicateEXT = 4463 [Typed Id]; TypeRayQueryKHR = 4472 [Result];
    RayQueryInitializeKHR = 4473 [Id Id Id Id Id Id Id Id]; RayQueryTerminateKHR = 4474 [Id];
    RayQueryGenerateIntersectionKHR = 4475 [Id Id]; RayQueryConfirmIntersectionKHR = 4476 [Id];
    RayQueryProceedKHR = 4477 [Typed Id]; RayQueryGetIntersectionTypeKHR = 4479 [Typed Id Id];
    ImageSampleWeightedQCOM = 4480 [Typed Id Id Id]; ImageBoxFilterQCOM = 4481 [Typed Id Id Id];
    ImageBlockMatchSSDQCOM = 4482 [Typed Id Id Id Id Id]; ImageBlockMatchSADQCOM = 4483 [Typed Id Id Id Id Id];
    BitCastArrayQCOM = 4497 [Typed Id]; ImageBlockMatchWindowSSDQCOM = 4500 [Typed Id Id Id Id Id];
    ImageBlockMatchWindowSADQCOM = 4501 [Typed Id Id Id Id Id];
    ImageBlockMatchGatherSSDQCOM = 4502 [Typed Id Id Id Id Id];
    ImageBlockMatchGatherSADQCOM = 4503 [Typed Id Id Id Id Id]; CompositeConstructCoopMatQCOM = 4540 [Typed Id];
    CompositeExtractCoopMatQCOM = 4541 [Typed Id]; ExtractSubArrayQCOM = 4542 [Typed Id Id];
    ImageGatherQCOM = 4545 [Typed Id Id Id Id (ImageOperands)];
    GroupIAddNonUniformAMD = 5000 [Typed Id GroupOperation Id];
    GroupFAddNonUniformAMD = 5001 [Typed Id GroupOperation Id];
    GroupFMinNonUniformAMD = 5002 [Typed Id GroupOperation Id];
    GroupUMinNonUniformAMD = 5003 [Typed Id GroupOperation Id];
    GroupSMinNonUniformAMD = 5004 [Typed Id GroupOperation Id];
    GroupFMaxNonUniformAMD = 5005 [Typed Id GroupOperation Id];
    GroupUMaxNonUniformAMD = 5006 [Typed Id GroupOperation Id];
    GroupSMaxNonUniformAMD = 5007 [Typed Id GroupOperation Id]; FragmentMaskFetchAMD = 5011 [Typed Id Id];
    FragmentFetchAMD = 5012 [Typed Id Id Id]; ReadClockKHR = 5056 [Typed Id];
    AllocateNodePayloadsAMDX = 5074 [Typed Id Id Id]; EnqueueNodePayloadsAMDX = 5075 [Id];
    TypeNodePayloadArrayAMDX = 5076 [Result Id]; FinishWritingNodePayloadAMDX = 5078 [Typed Id];
    NodePayloadArrayLengthAMDX = 5090 [Typed Id]; IsNodePayloadValidAMDX = 5101 [Typed Id Id];
    ConstantStringAMDX = 5103 [Result Text]; SpecConstantStringAMDX = 5104 [Result Text];
    GroupNonUniformQuadAllKHR = 5110 [Typed Id]; GroupNonUniformQuadAnyKHR = 5111 [Typed Id];
    TypeBufferEXT = 5115 [Result StorageClass]; BufferPointerEXT = 5119 [Typed Id]; AbortKHR = 5121 [Id Id];
    UntypedImageTexelPointerEXT = 5126 [Typed Id Id Id Id]; MemberDecorateIdEXT = 5127 [Id Word Decoration];
    ConstantSizeOfEXT = 5129 [Typed Id]; ConstantDataKHR = 5147 [Typed {Word}];
    SpecConstantDataKHR = 5148 [Typed {Word}]; PoisonKHR = 5158 [Typed]; FreezeKHR = 5159 [Typed Id];
    HitObjectRecordHitMotionNV = 5249 [Id Id Id Id Id Id Id Id Id Id Id Id Id Id];
    HitObjectRecordHitWithIndexMotionNV = 5250 [Id Id Id Id Id Id Id Id Id Id Id Id Id];
    HitObjectRecordMissMotionNV = 5251 [Id Id Id Id Id Id Id]; HitObjectGetWorldToObjectNV = 5252 [Typed Id];
    HitObjectGetObjectToWorldNV = 5253 [Typed Id]; HitObjectGetObjectRayDirectionNV = 5254 [Typed Id];
    HitObjectGetObjectRayOriginNV = 5255 [Typed Id];
    HitObjectTraceRayMotionNV = 5256 [Id Id Id Id Id Id Id Id Id Id Id Id Id];
    HitObjectGetShaderRecordBufferHandleNV = 5257 [Typed Id];
    HitObjectGetShaderBindingTableRecordIndexNV = 5258 [Typed Id]; HitObjectRecordEmptyNV = 5259 [Id];
    HitObjectTraceRayNV = 5260 [Id Id Id Id Id Id Id Id Id Id Id Id];
    HitObjectRecordHitNV = 5261 [Id Id Id Id Id Id Id Id Id Id Id Id Id];
    HitObjectRecordHitWithIndexNV = 5262 [Id Id Id Id Id Id Id Id Id Id Id Id];
    HitObjectRecordMissNV = 5263 [Id Id Id Id Id Id]; HitObjectExecuteShaderNV = 5264 [Id Id];
    HitObjectGetCurrentTimeNV = 5265 [Typed Id]; HitObjectGetAttributesNV = 5266 [Id Id];
    HitObjectGetHitKindNV = 5267 [Typed Id]; HitObjectGetPrimitiveIndexNV = 5268 [Typed Id];
    HitObjectGetGeometryIndexNV = 5269 [Typed Id]; HitObjectGetInstanceIdNV = 5270 [Typed Id];
    HitObjectGetInstanceCustomIndexNV = 5271 [Typed Id]; HitObjectGetWorldRayDirectionNV = 5272 [Typed Id];
    HitObjectGetWorldRayOriginNV = 5273 [Typed Id]; HitObjectGetRayTMaxNV = 5274 [Typed Id];
    HitObjectGetRayTMinNV = 5275 [Typed Id]; HitObjectIsEmptyNV = 5276 [Typed Id];
    HitObjectIsHitNV = 5277 [Typed Id]; HitObjectIsMissNV = 5278 [Typed Id];
    ReorderThreadWithHitObjectNV = 5279 [Id (Id) (Id)]; ReorderThreadWithHintNV = 5280 [Id Id];
    TypeHitObjectNV = 5281 [Result]; ImageSampleFootprintNV = 5283 [Typed Id Id Id Id (ImageOperands)];
    TypeVectorIdEXT = 5288 [Result Id Id];
    CooperativeVectorMatrixMulNV = 5289 [Typed Id Id Id Id Id Id Id Id Id (Id) (Word)];
    CooperativeVectorOuterProductAccumulateNV = 5290 [Id Id Id Id Id Id (Id)];
    CooperativeVectorReduceSumAccumulateNV = 5291 [Id Id Id];
    CooperativeVectorMatrixMulAddNV = 5292 [Typed Id Id Id Id Id Id Id Id Id Id Id Id (Id) (Word)];
    CooperativeMatrixConvertUseEXT = 5293 [Typed Id]; EmitMeshTasksEXT = 5294 [Id Id Id (Id)];
    SetMeshOutputsEXT = 5295 [Id Id]; GroupNonUniformPartitionEXT = 5296 [Typed Id];
    WritePackedPrimitiveIndices4x8NV = 5299 [Id Id];
    FetchMicroTriangleVertexPositionNV = 5300 [Typed Id Id Id Id Id];
    FetchMicroTriangleVertexBarycentricNV = 5301 [Typed Id Id Id Id Id];
    CooperativeVectorLoadNV = 5302 [Typed Id Id (MemoryAccess)];
    CooperativeVectorStoreNV = 5303 [Id Id Id (MemoryAccess)];
    HitObjectRecordFromQueryEXT = 5304 [Id Id Id Id (Id)]; HitObjectRecordMissEXT = 5305 [Id Id Id Id Id Id Id];
    HitObjectRecordMissMotionEXT = 5306 [Id Id Id Id Id Id Id Id];
    HitObjectGetIntersectionTriangleVertexPositionsEXT = 5307 [Typed Id]; HitObjectGetRayFlagsEXT = 5308 [Typed Id];
    HitObjectSetShaderBindingTableRecordIndexEXT = 5309 [Id Id];
    HitObjectReorderExecuteShaderEXT = 5310 [Id Id (Id) (Id)];
    HitObjectTraceReorderExecuteEXT = 5311 [Id Id Id Id Id Id Id Id Id Id Id Id (Id) (Id)];
    HitObjectTraceMotionReorderExecuteEXT = 5312 [Id Id Id Id Id Id Id Id Id Id Id Id Id (Id) (Id)];
    TypeHitObjectEXT = 5313 [Result]; ReorderThreadWithHintEXT = 5314 [Id Id];
    ReorderThreadWithHitObjectEXT = 5315 [Id (Id) (Id)];
    HitObjectTraceRayEXT = 5316 [Id Id Id Id Id Id Id Id Id Id Id Id];
    HitObjectTraceRayMotionEXT = 5317 [Id Id Id Id Id Id Id Id Id Id Id Id Id]; HitObjectRecordEmptyEXT = 5318 [Id];
    HitObjectExecuteShaderEXT = 5319 [Id Id]; HitObjectGetCurrentTimeEXT = 5320 [Typed Id];
    HitObjectGetAttributesEXT = 5321 [Id Id]; HitObjectGetHitKindEXT = 5322 [Typed Id];
    HitObjectGetPrimitiveIndexEXT = 5323 [Typed Id]; HitObjectGetGeometryIndexEXT = 5324 [Typed Id];
    HitObjectGetInstanceIdEXT = 5325 [Typed Id]; HitObjectGetInstanceCustomIndexEXT = 5326 [Typed Id];
    HitObjectGetObjectRayOriginEXT = 5327 [Typed Id]; HitObjectGetObjectRayDirectionEXT = 5328 [Typed Id];
    HitObjectGetWorldRayDirectionEXT = 5329 [Typed Id]; HitObjectGetWorldRayOriginEXT = 5330 [Typed Id];
    HitObjectGetObjectToWorldEXT = 5331 [Typed Id]; HitObjectGetWorldToObjectEXT = 5332 [Typed Id];
    HitObjectGetRayTMaxEXT = 5333 [Typed Id]; ReportIntersectionKHR = 5334 [Typed Id Id];
    IgnoreIntersectionNV = 5335; TerminateRayNV = 5336; TraceNV = 5337 [Id Id Id Id Id Id Id Id Id Id Id];
    TraceMotionNV = 5338 [Id Id Id Id Id Id Id Id Id Id Id Id];
    TraceRayMotionNV = 5339 [Id Id Id Id Id Id Id Id Id Id Id Id];
    RayQueryGetIntersectionTriangleVertexPositionsKHR = 5340 [Typed Id Id];
    TypeAccelerationStructureKHR = 5341 [Result]; ExecuteCallableNV = 5344 [Id Id];
    RayQueryGetIntersectionClusterIdNV = 5345 [Typed Id Id]; HitObjectGetClusterIdNV = 5346 [Typed Id];
    HitObjectGetRayTMinEXT = 5347 [Typed Id]; HitObjectGetShaderBindingTableRecordIndexEXT = 5348 [Typed Id];
    HitObjectGetShaderRecordBufferHandleEXT = 5349 [Typed Id]; HitObjectIsEmptyEXT = 5350 [Typed Id];
    HitObjectIsHitEXT = 5351 [Typed Id]; HitObjectIsMissEXT = 5352 [Typed Id];
    TypeCooperativeMatrixNV = 5358 [Result Id Id Id Id];
    CooperativeMatrixLoadNV = 5359 [Typed Id Id Id (MemoryAccess)];
    CooperativeMatrixStoreNV = 5360 [Id Id Id Id (MemoryAccess)]; CooperativeMatrixMulAddNV = 5361 [Typed Id Id Id];
    CooperativeMatrixLengthNV = 5362 [Typed Id]; CooperativeMatrixGetCoordinateEXT = 5363 [Typed Id Id];
    BeginInvocationInterlockEXT = 5364; EndInvocationInterlockEXT = 5365;
    CooperativeMatrixReduceEXT = 5366 [Typed Id Word Id];
    CooperativeMatrixLoadTensorNV = 5367 [Typed Id Id Id MemoryAccess TensorAddressingOperands];
    CooperativeMatrixStoreTensorNV = 5368 [Id Id Id MemoryAccess TensorAddressingOperands];
    CooperativeMatrixPerElementOpEXT = 5369 [Typed Id Id {Id}]; TypeTensorLayoutNV = 5370 [Result Id Id];
    TypeTensorViewNV = 5371 [Result Id Id {Id}]; CreateTensorLayoutNV = 5372 [Typed];
    TensorLayoutSetDimensionNV = 5373 [Typed Id {Id}]; TensorLayoutSetStrideNV = 5374 [Typed Id {Id}];
    TensorLayoutSliceNV = 5375 [Typed Id {Id}]; TensorLayoutSetClampValueNV = 5376 [Typed Id Id];
    CreateTensorViewNV = 5377 [Typed]; TensorViewSetDimensionNV = 5378 [Typed Id {Id}];
    TensorViewSetStrideNV = 5379 [Typed Id {Id}]; DemoteToHelperInvocation = 5380;
    IsHelperInvocationEXT = 5381 [Typed]; TensorViewSetClipNV = 5382 [Typed Id Id Id Id Id];
    TensorLayoutSetBlockSizeNV = 5384 [Typed Id {Id}]; CooperativeMatrixTransposeNV = 5390 [Typed Id];
    ConvertUToImageNV = 5391 [Typed Id]; ConvertUToSamplerNV = 5392 [Typed Id]; ConvertImageToUNV = 5393 [Typed Id];
    ConvertSamplerToUNV = 5394 [Typed Id]; ConvertUToSampledImageNV = 5395 [Typed Id];
    ConvertSampledImageToUNV = 5396 [Typed Id]; SamplerImageAddressingModeNV = 5397 [Word];
    RawAccessChainNV = 5398 [Typed Id Id Id Id (Word)];
    RayQueryGetIntersectionSpherePositionNV = 5427 [Typed Id Id];
    RayQueryGetIntersectionSphereRadiusNV = 5428 [Typed Id Id];
    RayQueryGetIntersectionLSSPositionsNV = 5429 [Typed Id Id];
    RayQueryGetIntersectionLSSRadiiNV = 5430 [Typed Id Id];
    RayQueryGetIntersectionLSSHitValueNV = 5431 [Typed Id Id]; HitObjectGetSpherePositionNV = 5432 [Typed Id];
    HitObjectGetSphereRadiusNV = 5433 [Typed Id]; HitObjectGetLSSPositionsNV = 5434 [Typed Id];
    HitObjectGetLSSRadiiNV = 5435 [Typed Id]; HitObjectIsSphereHitNV = 5436 [Typed Id];
    HitObjectIsLSSHitNV = 5437 [Typed Id]; RayQueryIsSphereHitNV = 5438 [Typed Id Id];
    RayQueryIsLSSHitNV = 5439 [Typed Id Id]; SubgroupShuffleINTEL = 5571 [Typed Id Id];
    SubgroupShuffleDownINTEL = 5572 [Typed Id Id Id]; SubgroupShuffleUpINTEL = 5573 [Typed Id Id Id];
    SubgroupShuffleXorINTEL = 5574 [Typed Id Id]; SubgroupBlockReadINTEL = 5575 [Typed Id];
    SubgroupBlockWriteINTEL = 5576 [Id Id]; SubgroupImageBlockReadINTEL = 5577 [Typed Id Id];
    SubgroupImageBlockWriteINTEL = 5578 [Id Id Id]; SubgroupImageMediaBlockReadINTEL = 5580 [Typed Id Id Id Id];
    SubgroupImageMediaBlockWriteINTEL = 5581 [Id Id Id Id Id]; UCountLeadingZerosINTEL = 5585 [Typed Id];
    UCountTrailingZerosINTEL = 5586 [Typed Id]; AbsISubINTEL = 5587 [Typed Id Id];
    AbsUSubINTEL = 5588 [Typed Id Id]; IAddSatINTEL = 5589 [Typed Id Id]; UAddSatINTEL = 5590 [Typed Id Id];
    IAverageINTEL = 5591 [Typed Id Id]; UAverageINTEL = 5592 [Typed Id Id];
    IAverageRoundedINTEL = 5593 [Typed Id Id]; UAverageRoundedINTEL = 5594 [Typed Id Id];
    ISubSatINTEL = 5595 [Typed Id Id]; USubSatINTEL = 5596 [Typed Id Id]; IMul32x16INTEL = 5597 [Typed Id Id];
    UMul32x16INTEL = 5598 [Typed Id Id]; ConstantFunctionPointerINTEL = 5600 [Typed Id];
    FunctionPointerCallINTEL = 5601 [Typed {Id}]; AsmTargetINTEL = 5609 [Result Text];
    AsmINTEL = 5610 [Typed Id Id Text Text]; AsmCallINTEL = 5611 [Typed Id {Id}];
    AtomicFMinEXT = 5614 [Typed Id Id Id Id]; AtomicFMaxEXT = 5615 [Typed Id Id Id Id]; AssumeTrueKHR = 5630 [Id];
    ExpectKHR = 5631 [Typed Id Id]; DecorateString = 5632 [Id Decoration];
    MemberDecorateString = 5633 [Id Word Decoration]; VmeImageINTEL = 5699 [Typed Id Id];
    TypeVmeImageINTEL = 5700 [Result Id]; TypeAvcImePayloadINTEL = 5701 [Result];
    TypeAvcRefPayloadINTEL = 5702 [Result]; TypeAvcSicPayloadINTEL = 5703 [Result];
    TypeAvcMcePayloadINTEL = 5704 [Result]; TypeAvcMceResultINTEL = 5705 [Result];
    TypeAvcImeResultINTEL = 5706 [Result]; TypeAvcImeResultSingleReferenceStreamoutINTEL = 5707 [Result];
    TypeAvcImeResultDualReferenceStreamoutINTEL = 5708 [Result];
    TypeAvcImeSingleReferenceStreaminINTEL = 5709 [Result]; TypeAvcImeDualReferenceStreaminINTEL = 5710 [Result];
    TypeAvcRefResultINTEL = 5711 [Result]; TypeAvcSicResultINTEL = 5712 [Result];
    SubgroupAvcMceGetDefaultInterBaseMultiReferencePenaltyINTEL = 5713 [Typed Id Id];
    SubgroupAvcMceSetInterBaseMultiReferencePenaltyINTEL = 5714 [Typed Id Id];
    SubgroupAvcMceGetDefaultInterShapePenaltyINTEL = 5715 [Typed Id Id];
    SubgroupAvcMceSetInterShapePenaltyINTEL = 5716 [Typed Id Id];
    SubgroupAvcMceGetDefaultInterDirectionPenaltyINTEL = 5717 [Typed Id Id];
    SubgroupAvcMceSetInterDirectionPenaltyINTEL = 5718 [Typed Id Id];
    SubgroupAvcMceGetDefaultIntraLumaShapePenaltyINTEL = 5719 [Typed Id Id];
    SubgroupAvcMceGetDefaultInterMotionVectorCostTableINTEL = 5720 [Typed Id Id];
    SubgroupAvcMceGetDefaultHighPenaltyCostTableINTEL = 5721 [Typed];
    SubgroupAvcMceGetDefaultMediumPenaltyCostTableINTEL = 5722 [Typed];
    SubgroupAvcMceGetDefaultLowPenaltyCostTableINTEL = 5723 [Typed];
    SubgroupAvcMceSetMotionVectorCostFunctionINTEL = 5724 [Typed Id Id Id Id];
    SubgroupAvcMceGetDefaultIntraLumaModePenaltyINTEL = 5725 [Typed Id Id];
    SubgroupAvcMceGetDefaultNonDcLumaIntraPenaltyINTEL = 5726 [Typed];
    SubgroupAvcMceGetDefaultIntraChromaModeBasePenaltyINTEL = 5727 [Typed];
    SubgroupAvcMceSetAcOnlyHaarINTEL = 5728 [Typed Id];
    SubgroupAvcMceSetSourceInterlacedFieldPolarityINTEL = 5729 [Typed Id Id];
    SubgroupAvcMceSetSingleReferenceInterlacedFieldPolarityINTEL = 5730 [Typed Id Id];
    SubgroupAvcMceSetDualReferenceInterlacedFieldPolaritiesINTEL = 5731 [Typed Id Id Id];
    SubgroupAvcMceConvertToImePayloadINTEL = 5732 [Typed Id];
    SubgroupAvcMceConvertToImeResultINTEL = 5733 [Typed Id];
    SubgroupAvcMceConvertToRefPayloadINTEL = 5734 [Typed Id];
    SubgroupAvcMceConvertToRefResultINTEL = 5735 [Typed Id];
    SubgroupAvcMceConvertToSicPayloadINTEL = 5736 [Typed Id];
    SubgroupAvcMceConvertToSicResultINTEL = 5737 [Typed Id]; SubgroupAvcMceGetMotionVectorsINTEL = 5738 [Typed Id];
    SubgroupAvcMceGetInterDistortionsINTEL = 5739 [Typed Id];
    SubgroupAvcMceGetBestInterDistortionsINTEL = 5740 [Typed Id];
    SubgroupAvcMceGetInterMajorShapeINTEL = 5741 [Typed Id];
    SubgroupAvcMceGetInterMinorShapeINTEL = 5742 [Typed Id];
    SubgroupAvcMceGetInterDirectionsINTEL = 5743 [Typed Id];
    SubgroupAvcMceGetInterMotionVectorCountINTEL = 5744 [Typed Id];
    SubgroupAvcMceGetInterReferenceIdsINTEL = 5745 [Typed Id];
    SubgroupAvcMceGetInterReferenceInterlacedFieldPolaritiesINTEL = 5746 [Typed Id Id Id];
    SubgroupAvcImeInitializeINTEL = 5747 [Typed Id Id Id];
    SubgroupAvcImeSetSingleReferenceINTEL = 5748 [Typed Id Id Id];
    SubgroupAvcImeSetDualReferenceINTEL = 5749 [Typed Id Id Id Id];
    SubgroupAvcImeRefWindowSizeINTEL = 5750 [Typed Id Id];
    SubgroupAvcImeAdjustRefOffsetINTEL = 5751 [Typed Id Id Id Id];
    SubgroupAvcImeConvertToMcePayloadINTEL = 5752 [Typed Id];
    SubgroupAvcImeSetMaxMotionVectorCountINTEL = 5753 [Typed Id Id];
    SubgroupAvcImeSetUnidirectionalMixDisableINTEL = 5754 [Typed Id];
    SubgroupAvcImeSetEarlySearchTerminationThresholdINTEL = 5755 [Typed Id Id];
    SubgroupAvcImeSetWeightedSadINTEL = 5756 [Typed Id Id];
    SubgroupAvcImeEvaluateWithSingleReferenceINTEL = 5757 [Typed Id Id Id];
    SubgroupAvcImeEvaluateWithDualReferenceINTEL = 5758 [Typed Id Id Id Id];
    SubgroupAvcImeEvaluateWithSingleReferenceStreaminINTEL = 5759 [Typed Id Id Id Id];
    SubgroupAvcImeEvaluateWithDualReferenceStreaminINTEL = 5760 [Typed Id Id Id Id Id];
    SubgroupAvcImeEvaluateWithSingleReferenceStreamoutINTEL = 5761 [Typed Id Id Id];
    SubgroupAvcImeEvaluateWithDualReferenceStreamoutINTEL = 5762 [Typed Id Id Id Id];
    SubgroupAvcImeEvaluateWithSingleReferenceStreaminoutINTEL = 5763 [Typed Id Id Id Id];
    SubgroupAvcImeEvaluateWithDualReferenceStreaminoutINTEL = 5764 [Typed Id Id Id Id Id];
    SubgroupAvcImeConvertToMceResultINTEL = 5765 [Typed Id];
    SubgroupAvcImeGetSingleReferenceStreaminINTEL = 5766 [Typed Id];
    SubgroupAvcImeGetDualReferenceStreaminINTEL = 5767 [Typed Id];
    SubgroupAvcImeStripSingleReferenceStreamoutINTEL = 5768 [Typed Id];
    SubgroupAvcImeStripDualReferenceStreamoutINTEL = 5769 [Typed Id];
    SubgroupAvcImeGetStreamoutSingleReferenceMajorShapeMotionVectorsINTEL = 5770 [Typed Id Id];
    SubgroupAvcImeGetStreamoutSingleReferenceMajorShapeDistortionsINTEL = 5771 [Typed Id Id];
    SubgroupAvcImeGetStreamoutSingleReferenceMajorShapeReferenceIdsINTEL = 5772 [Typed Id Id];
    SubgroupAvcImeGetStreamoutDualReferenceMajorShapeMotionVectorsINTEL = 5773 [Typed Id Id Id];
    SubgroupAvcImeGetStreamoutDualReferenceMajorShapeDistortionsINTEL = 5774 [Typed Id Id Id];
    SubgroupAvcImeGetStreamoutDualReferenceMajorShapeReferenceIdsINTEL = 5775 [Typed Id Id Id];
    SubgroupAvcImeGetBorderReachedINTEL = 5776 [Typed Id Id];
    SubgroupAvcImeGetTruncatedSearchIndicationINTEL = 5777 [Typed Id];
    SubgroupAvcImeGetUnidirectionalEarlySearchTerminationINTEL = 5778 [Typed Id];
    SubgroupAvcImeGetWeightingPatternMinimumMotionVectorINTEL = 5779 [Typed Id];
    SubgroupAvcImeGetWeightingPatternMinimumDistortionINTEL = 5780 [Typed Id];
    SubgroupAvcFmeInitializeINTEL = 5781 [Typed Id Id Id Id Id Id Id];
    SubgroupAvcBmeInitializeINTEL = 5782 [Typed Id Id Id Id Id Id Id Id];
    SubgroupAvcRefConvertToMcePayloadINTEL = 5783 [Typed Id];
    SubgroupAvcRefSetBidirectionalMixDisableINTEL = 5784 [Typed Id];
    SubgroupAvcRefSetBilinearFilterEnableINTEL = 5785 [Typed Id];
    SubgroupAvcRefEvaluateWithSingleReferenceINTEL = 5786 [Typed Id Id Id];
    SubgroupAvcRefEvaluateWithDualReferenceINTEL = 5787 [Typed Id Id Id Id];
    SubgroupAvcRefEvaluateWithMultiReferenceINTEL = 5788 [Typed Id Id Id];
    SubgroupAvcRefEvaluateWithMultiReferenceInterlacedINTEL = 5789 [Typed Id Id Id Id];
    SubgroupAvcRefConvertToMceResultINTEL = 5790 [Typed Id]; SubgroupAvcSicInitializeINTEL = 5791 [Typed Id];
    SubgroupAvcSicConfigureSkcINTEL = 5792 [Typed Id Id Id Id Id Id];
    SubgroupAvcSicConfigureIpeLumaINTEL = 5793 [Typed Id Id Id Id Id Id Id Id];
    SubgroupAvcSicConfigureIpeLumaChromaINTEL = 5794 [Typed Id Id Id Id Id Id Id Id Id Id Id];
    SubgroupAvcSicGetMotionVectorMaskINTEL = 5795 [Typed Id Id];
    SubgroupAvcSicConvertToMcePayloadINTEL = 5796 [Typed Id];
    SubgroupAvcSicSetIntraLumaShapePenaltyINTEL = 5797 [Typed Id Id];
    SubgroupAvcSicSetIntraLumaModeCostFunctionINTEL = 5798 [Typed Id Id Id Id];
    SubgroupAvcSicSetIntraChromaModeCostFunctionINTEL = 5799 [Typed Id Id];
    SubgroupAvcSicSetBilinearFilterEnableINTEL = 5800 [Typed Id];
    SubgroupAvcSicSetSkcForwardTransformEnableINTEL = 5801 [Typed Id Id];
    SubgroupAvcSicSetBlockBasedRawSkipSadINTEL = 5802 [Typed Id Id];
    SubgroupAvcSicEvaluateIpeINTEL = 5803 [Typed Id Id];
    SubgroupAvcSicEvaluateWithSingleReferenceINTEL = 5804 [Typed Id Id Id];
    SubgroupAvcSicEvaluateWithDualReferenceINTEL = 5805 [Typed Id Id Id Id];
    SubgroupAvcSicEvaluateWithMultiReferenceINTEL = 5806 [Typed Id Id Id];
    SubgroupAvcSicEvaluateWithMultiReferenceInterlacedINTEL = 5807 [Typed Id Id Id Id];
    SubgroupAvcSicConvertToMceResultINTEL = 5808 [Typed Id]; SubgroupAvcSicGetIpeLumaShapeINTEL = 5809 [Typed Id];
    SubgroupAvcSicGetBestIpeLumaDistortionINTEL = 5810 [Typed Id];
    SubgroupAvcSicGetBestIpeChromaDistortionINTEL = 5811 [Typed Id];
    SubgroupAvcSicGetPackedIpeLumaModesINTEL = 5812 [Typed Id];
    SubgroupAvcSicGetIpeChromaModeINTEL = 5813 [Typed Id];
    SubgroupAvcSicGetPackedSkcLumaCountThresholdINTEL = 5814 [Typed Id];
    SubgroupAvcSicGetPackedSkcLumaSumThresholdINTEL = 5815 [Typed Id];
    SubgroupAvcSicGetInterRawSadsINTEL = 5816 [Typed Id]; VariableLengthArrayINTEL = 5818 [Typed Id];
    SaveMemoryINTEL = 5819 [Typed]; RestoreMemoryINTEL = 5820 [Id];
    ArbitraryFloatSinCosPiALTERA = 5840 [Typed Id Word Word Word Word Word];
    ArbitraryFloatCastALTERA = 5841 [Typed Id Word Word Word Word Word];
    ArbitraryFloatCastFromIntALTERA = 5842 [Typed Id Word Word Word Word Word];
    ArbitraryFloatCastToIntALTERA = 5843 [Typed Id Word Word Word Word Word];
    ArbitraryFloatAddALTERA = 5846 [Typed Id Word Id Word Word Word Word Word];
    ArbitraryFloatSubALTERA = 5847 [Typed Id Word Id Word Word Word Word Word];
    ArbitraryFloatMulALTERA = 5848 [Typed Id Word Id Word Word Word Word Word];
    ArbitraryFloatDivALTERA = 5849 [Typed Id Word Id Word Word Word Word Word];
    ArbitraryFloatGTALTERA = 5850 [Typed Id Word Id Word]; ArbitraryFloatGEALTERA = 5851 [Typed Id Word Id Word];
    ArbitraryFloatLTALTERA = 5852 [Typed Id Word Id Word]; ArbitraryFloatLEALTERA = 5853 [Typed Id Word Id Word];
    ArbitraryFloatEQALTERA = 5854 [Typed Id Word Id Word];
    ArbitraryFloatRecipALTERA = 5855 [Typed Id Word Word Word Word Word];
    ArbitraryFloatRSqrtALTERA = 5856 [Typed Id Word Word Word Word Word];
    ArbitraryFloatCbrtALTERA = 5857 [Typed Id Word Word Word Word Word];
    ArbitraryFloatHypotALTERA = 5858 [Typed Id Word Id Word Word Word Word Word];
    ArbitraryFloatSqrtALTERA = 5859 [Typed Id Word Word Word Word Word];
    ArbitraryFloatLogINTEL = 5860 [Typed Id Word Word Word Word Word];
    ArbitraryFloatLog2INTEL = 5861 [Typed Id Word Word Word Word Word];
    ArbitraryFloatLog10INTEL = 5862 [Typed Id Word Word Word Word Word];
    ArbitraryFloatLog1pINTEL = 5863 [Typed Id Word Word Word Word Word];
    ArbitraryFloatExpINTEL = 5864 [Typed Id Word Word Word Word Word];
    ArbitraryFloatExp2INTEL = 5865 [Typed Id Word Word Word Word Word];
    ArbitraryFloatExp10INTEL = 5866 [Typed Id Word Word Word Word Word];
    ArbitraryFloatExpm1INTEL = 5867 [Typed Id Word Word Word Word Word];
    ArbitraryFloatSinINTEL = 5868 [Typed Id Word Word Word Word Word];
    ArbitraryFloatCosINTEL = 5869 [Typed Id Word Word Word Word Word];
    ArbitraryFloatSinCosINTEL = 5870 [Typed Id Word Word Word Word Word];
    ArbitraryFloatSinPiINTEL = 5871 [Typed Id Word Word Word Word Word];
    ArbitraryFloatCosPiINTEL = 5872 [Typed Id Word Word Word Word Word];
    ArbitraryFloatASinINTEL = 5873 [Typed Id Word Word Word Word Word];
    ArbitraryFloatASinPiINTEL = 5874 [Typed Id Word Word Word Word Word];
    ArbitraryFloatACosINTEL = 5875 [Typed Id Word Word Word Word Word];
    ArbitraryFloatACosPiINTEL = 5876 [Typed Id Word Word Word Word Word];
    ArbitraryFloatATanINTEL = 5877 [Typed Id Word Word Word Word Word];
    ArbitraryFloatATanPiINTEL = 5878 [Typed Id Word Word Word Word Word];
    ArbitraryFloatATan2INTEL = 5879 [Typed Id Word Id Word Word Word Word Word];
    ArbitraryFloatPowINTEL = 5880 [Typed Id Word Id Word Word Word Word Word];
    ArbitraryFloatPowRINTEL = 5881 [Typed Id Word Id Word Word Word Word Word];
    ArbitraryFloatPowNINTEL = 5882 [Typed Id Word Id Word Word Word Word Word]; LoopControlINTEL = 5887 [{Word}];
    AliasDomainDeclINTEL = 5911 [Result (Id)]; AliasScopeDeclINTEL = 5912 [Result Id (Id)];
    AliasScopeListDeclINTEL = 5913 [Result {Id}]; FixedSqrtALTERA = 5923 [Typed Id Word Word Word Word Word];
    FixedRecipALTERA = 5924 [Typed Id Word Word Word Word Word];
    FixedRsqrtALTERA = 5925 [Typed Id Word Word Word Word Word];
    FixedSinALTERA = 5926 [Typed Id Word Word Word Word Word];
    FixedCosALTERA = 5927 [Typed Id Word Word Word Word Word];
    FixedSinCosALTERA = 5928 [Typed Id Word Word Word Word Word];
    FixedSinPiALTERA = 5929 [Typed Id Word Word Word Word Word];
    FixedCosPiALTERA = 5930 [Typed Id Word Word Word Word Word];
    FixedSinCosPiALTERA = 5931 [Typed Id Word Word Word Word Word];
    FixedLogALTERA = 5932 [Typed Id Word Word Word Word Word];
    FixedExpALTERA = 5933 [Typed Id Word Word Word Word Word]; PtrCastToCrossWorkgroupALTERA = 5934 [Typed Id];
    CrossWorkgroupCastToPtrALTERA = 5938 [Typed Id]; ReadPipeBlockingALTERA = 5946 [Id Id Id Id];
    WritePipeBlockingALTERA = 5947 [Id Id Id Id]; FPGARegALTERA = 5949 [Typed Id];
    RayQueryGetRayTMinKHR = 6016 [Typed Id]; RayQueryGetRayFlagsKHR = 6017 [Typed Id];
    RayQueryGetIntersectionTKHR = 6018 [Typed Id Id];
    RayQueryGetIntersectionInstanceCustomIndexKHR = 6019 [Typed Id Id];
    RayQueryGetIntersectionInstanceIdKHR = 6020 [Typed Id Id];
    RayQueryGetIntersectionInstanceShaderBindingTableRecordOffsetKHR = 6021 [Typed Id Id];
    RayQueryGetIntersectionGeometryIndexKHR = 6022 [Typed Id Id];
    RayQueryGetIntersectionPrimitiveIndexKHR = 6023 [Typed Id Id];
    RayQueryGetIntersectionBarycentricsKHR = 6024 [Typed Id Id];
    RayQueryGetIntersectionFrontFaceKHR = 6025 [Typed Id Id];
    RayQueryGetIntersectionCandidateAABBOpaqueKHR = 6026 [Typed Id];
    RayQueryGetIntersectionObjectRayDirectionKHR = 6027 [Typed Id Id];
    RayQueryGetIntersectionObjectRayOriginKHR = 6028 [Typed Id Id];
    RayQueryGetWorldRayDirectionKHR = 6029 [Typed Id]; RayQueryGetWorldRayOriginKHR = 6030 [Typed Id];
    RayQueryGetIntersectionObjectToWorldKHR = 6031 [Typed Id Id];
    RayQueryGetIntersectionWorldToObjectKHR = 6032 [Typed Id Id]; AtomicFAddEXT = 6035 [Typed Id Id Id Id];
    TypeBufferSurfaceINTEL = 6086 [Result AccessQualifier]; TypeStructContinuedINTEL = 6090 [{Id}];
    ConstantCompositeContinuedINTEL = 6091 [{Id}]; SpecConstantCompositeContinuedINTEL = 6092 [{Id}];
    CompositeConstructContinuedINTEL = 6096 [{Id}]; ConvertFToBF16INTEL = 6116 [Typed Id];
    ConvertBF16ToFINTEL = 6117 [Typed Id]; ControlBarrierArriveEXT = 6142 [Id Id Id];
    ControlBarrierWaitEXT = 6143 [Id Id Id]; ArithmeticFenceEXT = 6145 [Typed Id];
    TaskSequenceCreateALTERA = 6163 [Typed Id Word Word Word Word]; TaskSequenceAsyncALTERA = 6164 [Id {Id}];
    TaskSequenceGetALTERA = 6165 [Typed Id]; TaskSequenceReleaseALTERA = 6166 [Id];
    TypeTaskSequenceALTERA = 6199 [Result]; SubgroupBlockPrefetchINTEL = 6221 [Id Id (MemoryAccess)];
    Subgroup2DBlockLoadINTEL = 6231 [Id Id Id Id Id Id Id Id Id Id];
    Subgroup2DBlockLoadTransformINTEL = 6232 [Id Id Id Id Id Id Id Id Id Id];
    Subgroup2DBlockLoadTransposeINTEL = 6233 [Id Id Id Id Id Id Id Id Id Id];
    Subgroup2DBlockPrefetchINTEL = 6234 [Id Id Id Id Id Id Id Id Id];
    Subgroup2DBlockStoreINTEL = 6235 [Id Id Id Id Id Id Id Id Id Id];
    SubgroupMatrixMultiplyAccumulateINTEL = 6237 [Typed Id Id Id Id (Word)];
    BitwiseFunctionINTEL = 6242 [Typed Id Id Id Id]; UntypedVariableLengthArrayINTEL = 6244 [Typed Id Id];
    ConditionalExtensionINTEL = 6248 [Id Text]; ConditionalEntryPointINTEL = 6249 [Id ExecutionModel Id Text {Id}];
    ConditionalCapabilityINTEL = 6250 [Id Capability]; SpecConstantTargetINTEL = 6251 [Typed Word {Word}];
    SpecConstantArchitectureINTEL = 6252 [Typed Word Word Word Word];
    SpecConstantCapabilitiesINTEL = 6253 [Typed {Capability}]; ConditionalCopyObjectINTEL = 6254 [Typed {Id}];
    PredicatedLoadINTEL = 6258 [Typed Id Id Id (MemoryAccess)];
    PredicatedStoreINTEL = 6259 [Id Id Id (MemoryAccess)]; GroupIMulKHR = 6401 [Typed Id GroupOperation Id];
    GroupFMulKHR = 6402 [Typed Id GroupOperation Id]; GroupBitwiseAndKHR = 6403 [Typed Id GroupOperation Id];
    GroupBitwiseOrKHR = 6404 [Typed Id GroupOperation Id]; GroupBitwiseXorKHR = 6405 [Typed Id GroupOperation Id];
    GroupLogicalAndKHR = 6406 [Typed Id GroupOperation Id]; GroupLogicalOrKHR = 6407 [Typed Id GroupOperation Id];
    GroupLogicalXorKHR = 6408 [Typed Id GroupOperation Id]; RoundFToTF32INTEL = 6426 [Typed Id];
    MaskedGatherINTEL = 6428 [Typed Id Word Id Id]; MaskedScatterINTEL = 6429 [Id Id Word Id];
    ConvertHandleToImageINTEL = 6529 [Typed Id]; ConvertHandleToSamplerINTEL = 6530 [Typed Id];
    ConvertHandleToSampledImageINTEL = 6531 [Typed Id]; FDot2MixAcc32VALVE = 6916 [Typed Id Id Id];
    FDot2MixAcc16VALVE = 6917 [Typed Id Id Id]; FDot4MixAcc32VALVE = 6918 [Typed Id Id Id];
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
