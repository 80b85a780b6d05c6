//! Kernels from SPIR-V through offkit's compiler beside nvcc's code for the same kernels in CUDA.
//!
//! Both run in one process on the same memory, launched by the driver itself, timed by its events. What is compared are
//! samples taken in turn: what else the machine does hits both alike.

use std::time::Instant;

use crate::Result;
use crate::bundle::{Code, Compiler};
use crate::driver::{Function, Gpu, Memory, Module, Shape};
use offkit_gpu::reference::{compare, expected};
use offkit_gpu::rows::{Data, Row};

/// How many elements are compared with the host's: it computes them one by one.
const SAMPLE: usize = 4096;

/// How long a sample takes at least, of as many launches as it needs.
const SAMPLE_SECONDS: f64 = 0.5e-3;

/// How many samples of each there are at least and at most.
const SAMPLES: (usize, usize) = (9, 400);

/// The same kernels by a compiler.
pub(crate) struct Loaded<'g> {
    pub(crate) compiler: Compiler,
    module: Module<'g>,
}

/// What came of a row.
pub(crate) struct Measured {
    pub(crate) row: Row,
    /// For each compiler that there is code of, seconds of a launch.
    pub(crate) seconds: Vec<(Compiler, f64)>,
    /// For each but offkit, how much faster offkit's code is: the median over pairs of samples.
    pub(crate) ratios: Vec<(Compiler, f64)>,
    /// What is wrong with the results.
    pub(crate) wrong: Vec<String>,
}

impl Measured {
    /// How fast offkit's code is, as a part of nvcc's speed.
    pub(crate) fn ratio(&self, to: Compiler) -> Option<f64> {
        self.ratios
            .iter()
            .find(|(compiler, _)| *compiler == to)
            .map(|(_, ratio)| *ratio)
    }
}

/// Loads what there is of the measured kernels. What the driver does not take, which may be too old for nvcc's code, goes to
/// `failed` with its words.
pub(crate) fn load<'g>(
    gpu: &'g Gpu,
    code: &Code,
    failed: &mut Vec<(String, String)>,
) -> Result<Vec<Loaded<'g>>> {
    let mut loaded = Vec::new();
    for compiler in Compiler::ALL {
        if let Some((path, bytes)) = code.kernels(compiler)? {
            match gpu.load(&bytes) {
                Ok(module) => loaded.push(Loaded { compiler, module }),
                Err(error) => failed.push((path.display().to_string(), error.to_string())),
            }
        }
    }
    Ok(loaded)
}

/// Measures a row for about so many seconds.
pub(crate) fn measure(gpu: &Gpu, loaded: &[Loaded<'_>], row: &Row, seconds: f64) -> Result<Measured> {
    let data = row.data();
    let memory = data
        .iter()
        .map(|data| upload(gpu, data))
        .collect::<Result<Vec<_>>>()?;
    let mut candidates = Vec::new();
    for Loaded { compiler, module } in loaded {
        let function = module.function(row.kernel);
        let function = function.map_err(|error| format!("{} of {}: {error}", row.kernel, compiler.name()))?;
        let (shape, arguments) = launch_of(row, &data, &memory, *compiler);
        candidates.push(Candidate {
            compiler: *compiler,
            function,
            shape,
            arguments,
        });
    }
    let mut measured = Measured {
        row: row.clone(),
        seconds: Vec::new(),
        ratios: Vec::new(),
        wrong: check(gpu, row, &data, &memory, &mut candidates)?,
    };
    let samples = samples(gpu, &mut candidates, seconds)?;
    for (candidate, series) in candidates.iter().zip(&samples) {
        measured
            .seconds
            .push((candidate.compiler, median(series.clone())));
        if candidate.compiler != Compiler::Offkit {
            let pairs = series
                .iter()
                .zip(&samples[0])
                .map(|(their, own)| their / own)
                .collect();
            measured.ratios.push((candidate.compiler, median(pairs)));
        }
    }
    Ok(measured)
}

struct Candidate {
    compiler: Compiler,
    function: Function,
    shape: Shape,
    arguments: Vec<Vec<u8>>,
}

fn upload<'g>(gpu: &'g Gpu, data: &Data) -> Result<Option<Memory<'g>>> {
    if matches!(data, Data::OneF32(_) | Data::OneI32(_) | Data::Local(_)) {
        return Ok(None);
    }
    let bytes = data.bytes();
    let memory = gpu.allocate(bytes.len())?;
    memory.write(&bytes)?;
    Ok(Some(memory))
}

/// How a kernel of a compiler is launched. Local memory that is an argument is an offset to offkit's code, and nothing but
/// the launch's own memory to nvcc's.
fn launch_of(
    row: &Row,
    data: &[Data],
    memory: &[Option<Memory<'_>>],
    compiler: Compiler,
) -> (Shape, Vec<Vec<u8>>) {
    let (mut shared, mut arguments) = (0u32, Vec::new());
    for (data, memory) in data.iter().zip(memory) {
        match (data, memory) {
            (Data::Local(bytes), _) => {
                if compiler == Compiler::Offkit {
                    arguments.push(shared.to_le_bytes().to_vec());
                }
                shared += (*bytes as u32).next_multiple_of(128);
            }
            (_, Some(memory)) => arguments.push(memory.address.to_le_bytes().to_vec()),
            (number, None) => arguments.push(number.bytes()),
        }
    }
    let blocks = std::array::from_fn(|axis| (row.global[axis] / row.local[axis]) as u32);
    let threads = row.local.map(|size| size as u32);
    let shape = Shape {
        blocks,
        threads,
        shared,
    };
    (shape, arguments)
}

/// Compares what all write with the host's and with each other's.
fn check(
    gpu: &Gpu,
    row: &Row,
    data: &[Data],
    memory: &[Option<Memory<'_>>],
    candidates: &mut [Candidate],
) -> Result<Vec<String>> {
    let mut wrong = Vec::new();
    let mut first: Vec<Data> = Vec::new();
    for candidate in candidates {
        let outputs = || {
            row.outputs()
                .filter_map(|index| Some((index, memory[index].as_ref()?)))
        };
        outputs().try_for_each(|(_, memory)| memory.clear())?;
        gpu.launch(candidate.function, candidate.shape, &mut candidate.arguments)?;
        gpu.finish()?;
        let name = candidate.compiler.name();
        for (number, (index, memory)) in outputs().enumerate() {
            let found = data[index].with_bytes(&memory.read()?);
            if let Err(difference) = compare(row, &found, &*expected(row, data), SAMPLE) {
                wrong.push(format!("{name}: {difference}"));
            }
            match first.get(number) {
                None => first.push(found),
                Some(other) => {
                    if let Err(difference) = compare(row, &found, &|index| other.at(index), usize::MAX) {
                        wrong.push(format!("{name} beside offkit: {difference}"));
                    }
                }
            }
        }
    }
    Ok(wrong)
}

/// Seconds of a launch, of each candidate as many samples, taken in turn.
fn samples(gpu: &Gpu, candidates: &mut [Candidate], seconds: f64) -> Result<Vec<Vec<f64>>> {
    let (start, end) = (gpu.event()?, gpu.event()?);
    let time = |candidate: &mut Candidate, launches: u32| -> Result<f64> {
        start.record()?;
        for _ in 0..launches {
            gpu.launch(candidate.function, candidate.shape, &mut candidate.arguments)?;
        }
        end.record()?;
        Ok(end.seconds_since(&start)? / f64::from(launches))
    };
    let mut launches = Vec::new();
    for candidate in candidates.iter_mut() {
        // The first launch brings the code to the device.
        time(candidate, 1)?;
        let one = time(candidate, 3)?.max(1e-7);
        launches.push((SAMPLE_SECONDS / one).ceil().clamp(1.0, 2000.0) as u32);
    }
    let mut series = vec![Vec::new(); candidates.len()];
    let began = Instant::now();
    for round in 0..SAMPLES.1 {
        if round >= SAMPLES.0 && began.elapsed().as_secs_f64() > seconds {
            break;
        }
        // Each is first as often as the others.
        for place in 0..candidates.len() {
            let index = (place + round) % candidates.len();
            let taken = time(&mut candidates[index], launches[index])?;
            series[index].push(taken);
        }
    }
    Ok(series)
}

/// The middle one of some numbers.
pub(crate) fn median(mut numbers: Vec<f64>) -> f64 {
    numbers.sort_by(f64::total_cmp);
    match numbers.len() {
        0 => f64::NAN,
        count if count % 2 == 1 => numbers[count / 2],
        count => f64::midpoint(numbers[count / 2 - 1], numbers[count / 2]),
    }
}

/// The geometric mean.
pub(crate) fn mean(ratios: &[f64]) -> f64 {
    (ratios.iter().map(|ratio| ratio.ln()).sum::<f64>() / ratios.len() as f64).exp()
}
