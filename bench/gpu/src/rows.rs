//! What is measured: kernels of `bench/cpu/kernels.cl` with their inputs.
//!
//! The inputs are larger than those for processors (`bench/cpu.py`), for a launch has to keep a GPU busy.

use half::f16;

/// An argument as a row describes it.
#[derive(Clone, Copy, Debug)]
pub enum Argument {
    /// A buffer of numbers between two.
    Random(Type, usize, f64, f64),
    /// A buffer of 0, the step, twice the step…
    Steps(usize, i32),
    /// A buffer of zeros, whose contents after one launch are compared.
    Out(Type, usize),
    /// A number.
    F32(f32),
    /// A number.
    I32(usize),
    /// So many bytes of local memory.
    Local(usize),
}

/// The type of the elements of a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Type {
    /// Half precision.
    F16,
    /// Single precision.
    F32,
    /// Double precision.
    F64,
    /// Signed integers.
    I32,
}

/// One kernel with its inputs, and what one launch does.
#[derive(Clone, Debug)]
pub struct Row {
    /// What the table calls it.
    pub title: String,
    /// The kernel.
    pub kernel: &'static str,
    /// How many work-items there are, and how many in a group.
    pub global: [usize; 3],
    /// How many are in a group.
    pub local: [usize; 3],
    /// What the kernel is given, in order.
    pub arguments: Vec<Argument>,
    /// What one launch does, in billions of the unit.
    pub work: f64,
    /// `GB`, `GFLOP`: a second's are what the table has.
    pub unit: &'static str,
    /// How far numbers may be from what is expected, relative to the larger one or 1.
    pub tolerance: f64,
    /// How many of a thousand may be farther: a rounding decides where a pixel of a fractal belongs.
    pub outliers: f64,
}

/// An argument's contents.
#[derive(Clone, Debug)]
pub enum Data {
    /// Numbers of half precision.
    F16(Vec<f16>),
    /// Numbers of single precision.
    F32(Vec<f32>),
    /// Numbers of double precision.
    F64(Vec<f64>),
    /// Integers.
    I32(Vec<i32>),
    /// A number.
    OneF32(f32),
    /// A number.
    OneI32(i32),
    /// So many bytes of local memory.
    Local(usize),
}

impl Data {
    /// The element with a number.
    #[must_use]
    pub fn at(&self, index: usize) -> f64 {
        match self {
            Data::F16(all) => all[index].to_f64(),
            Data::F32(all) => f64::from(all[index]),
            Data::F64(all) => all[index],
            Data::I32(all) => f64::from(all[index]),
            Data::OneF32(one) => f64::from(*one),
            Data::OneI32(one) => f64::from(*one),
            Data::Local(_) => 0.0,
        }
    }

    /// How many elements there are.
    #[must_use]
    pub fn count(&self) -> usize {
        match self {
            Data::F16(all) => all.len(),
            Data::F32(all) => all.len(),
            Data::F64(all) => all.len(),
            Data::I32(all) => all.len(),
            Data::OneF32(_) | Data::OneI32(_) => 1,
            Data::Local(_) => 0,
        }
    }

    /// The element with a number, as a number or an index.
    #[must_use]
    pub fn integer(&self, index: usize) -> i64 {
        self.at(index) as i64
    }

    /// As a device has it.
    #[must_use]
    pub fn bytes(&self) -> Vec<u8> {
        match self {
            Data::F16(all) => bytes(all, |one| one.to_le_bytes()),
            Data::F32(all) => bytes(all, |one| one.to_le_bytes()),
            Data::F64(all) => bytes(all, |one| one.to_le_bytes()),
            Data::I32(all) => bytes(all, |one| one.to_le_bytes()),
            Data::OneF32(one) => one.to_le_bytes().to_vec(),
            Data::OneI32(one) => one.to_le_bytes().to_vec(),
            Data::Local(_) => Vec::new(),
        }
    }

    /// The same type with other contents.
    #[must_use]
    pub fn with_bytes(&self, bytes: &[u8]) -> Data {
        match self {
            Data::F16(_) => Data::F16(elements(bytes, f16::from_le_bytes)),
            Data::F32(_) => Data::F32(elements(bytes, f32::from_le_bytes)),
            Data::F64(_) => Data::F64(elements(bytes, f64::from_le_bytes)),
            Data::I32(_) => Data::I32(elements(bytes, i32::from_le_bytes)),
            other => other.clone(),
        }
    }
}

fn bytes<T: Copy, const N: usize>(elements: &[T], write: fn(T) -> [u8; N]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(elements.len() * N);
    elements
        .iter()
        .for_each(|one| bytes.extend_from_slice(&write(*one)));
    bytes
}

fn elements<T, const N: usize>(bytes: &[u8], read: fn([u8; N]) -> T) -> Vec<T> {
    bytes.as_chunks().0.iter().map(|element| read(*element)).collect()
}

impl Row {
    /// The arguments' contents: the same each time.
    #[must_use]
    pub fn data(&self) -> Vec<Data> {
        let mut seed = 1u64;
        self.arguments
            .iter()
            .map(|argument| argument.data(&mut seed))
            .collect()
    }

    /// Which of the arguments are compared.
    pub fn outputs(&self) -> impl Iterator<Item = usize> {
        let is_out = |argument: &Argument| matches!(argument, Argument::Out(..));
        (0..self.arguments.len()).filter(move |index| is_out(&self.arguments[*index]))
    }
}

impl Argument {
    fn data(self, seed: &mut u64) -> Data {
        let mut next = |low: f64, high: f64| {
            *seed = seed
                .wrapping_mul(6364136223846793005)
                .wrapping_add(1442695040888963407);
            low + (*seed >> 33) as f64 / 2f64.powi(31) * (high - low)
        };
        match self {
            Argument::Random(of, count, low, high) => of.made(count, |_| next(low, high)),
            Argument::Steps(count, step) => Type::I32.made(count, |index| index as f64 * f64::from(step)),
            Argument::Out(of, count) => of.made(count, |_| 0.0),
            Argument::F32(number) => Data::OneF32(number),
            Argument::I32(number) => Data::OneI32(number as i32),
            Argument::Local(bytes) => Data::Local(bytes),
        }
    }
}

impl Type {
    fn made(self, count: usize, mut number: impl FnMut(usize) -> f64) -> Data {
        match self {
            Type::F16 => Data::F16((0..count).map(|index| f16::from_f64(number(index))).collect()),
            Type::F32 => Data::F32((0..count).map(|index| number(index) as f32).collect()),
            Type::F64 => Data::F64((0..count).map(&mut number).collect()),
            Type::I32 => Data::I32((0..count).map(|index| number(index) as i32).collect()),
        }
    }
}

/// How large inputs are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scale {
    /// As they are measured.
    Full,
    /// A thousandth, for devices that are slow.
    Small,
}

/// All rows.
#[must_use]
pub fn rows(scale: Scale) -> Vec<Row> {
    use Argument::{F32 as Float, I32 as Int, Local, Out, Random, Steps};
    use Type::{F16, F32, F64, I32};
    let m = if scale == Scale::Full { 1 << 20 } else { 1 << 10 };
    let by = |full: usize, small: usize| if scale == Scale::Full { full } else { small };
    let (width, height) = (by(8192, 128), by(8192, 64));
    let image = width * height;
    let side = by(2048, 64);
    let many = by(32768, 256);
    let fractal = by(4096, 64);
    let zero_to_one = |count| Random(F32, count, 0.0, 1.0);
    // GB of so many arrays that are read or written once.
    let gb = |count: usize, bytes: usize| (count * bytes) as f64 / 1e9;
    let giga = |count: usize| count as f64 / 1e9;
    let line = |count: usize, local: usize| ([count, 1, 1], [local, 1, 1]);
    let row = |title: &str,
               kernel,
               (global, local): ([usize; 3], [usize; 3]),
               arguments: &[Argument],
               work,
               unit| Row {
        title: title.to_owned(),
        kernel,
        global,
        local,
        arguments: arguments.to_vec(),
        work,
        unit,
        tolerance: 1e-4,
        outliers: 0.0,
    };
    let near = |row: Row, tolerance| Row { tolerance, ..row };
    let add = |count| [zero_to_one(count), zero_to_one(count), Out(F32, count)];
    let square = |local: [usize; 3]| ([side, side, 1], local);
    let product = [
        zero_to_one(side * side),
        zero_to_one(side * side),
        Out(F32, side * side),
        Int(side),
    ];
    let flops = 2.0 * (side as f64).powi(3) / 1e9;
    let pulls = 20.0 * (many as f64).powi(2) / 1e9;
    let places = [zero_to_one(4 * many), Out(F32, 4 * many), Int(many)];
    let sums = [zero_to_one(64 * m), Out(F32, 64 * m / 256), Local(1024)];
    vec![
        row(
            "vector add, 1 M",
            "vector_add",
            line(m, 256),
            &add(m),
            gb(m, 12),
            "GB",
        ),
        row(
            "vector add, 64 M",
            "vector_add",
            line(64 * m, 256),
            &add(64 * m),
            gb(64 * m, 12),
            "GB",
        ),
        row(
            "saxpy with a guard",
            "saxpy",
            line(64 * m, 256),
            &[Float(2.5), zero_to_one(64 * m), Out(F32, 64 * m), Int(64 * m - 5)],
            gb(64 * m, 8),
            "GB",
        ),
        near(
            row(
                "saxpy, f16",
                "saxpy_f16",
                line(64 * m, 256),
                &[Random(F16, 64 * m, 0.0, 1.0), Out(F16, 64 * m)],
                gb(64 * m, 4),
                "GB",
            ),
            4e-3,
        ),
        row(
            "stencil",
            "stencil",
            ([width, height, 1], [64, 4, 1]),
            &[zero_to_one(image), Out(F32, image), Int(width), Int(height)],
            gb(image, 8),
            "GB",
        ),
        row(
            "convolution, 7 x 7",
            "convolve",
            ([width, height, 1], [64, 4, 1]),
            &[
                zero_to_one(image),
                zero_to_one(49),
                Out(F32, image),
                Int(width),
                Int(height),
            ],
            giga(98 * image),
            "GFLOP",
        ),
        row(
            "transposition, tiled",
            "transpose",
            ([width, height, 1], [16, 16, 1]),
            &[zero_to_one(image), Out(F32, image), Int(width), Int(height)],
            gb(image, 8),
            "GB",
        ),
        row(
            "gather",
            "gather",
            line(32 * m, 256),
            &[
                Random(I32, 32 * m, 0.0, (32 * m) as f64),
                zero_to_one(32 * m),
                Out(F32, 32 * m),
            ],
            giga(32 * m),
            "Gelem",
        ),
        row(
            "sparse product, 32 in a row",
            "sparse",
            line(m, 64),
            &[
                Steps(m + 1, 32),
                Random(I32, 32 * m, 0.0, m as f64),
                zero_to_one(32 * m),
                zero_to_one(m),
                Out(F32, m),
            ],
            giga(64 * m),
            "GFLOP",
        ),
        row(
            "matrix product, naive",
            "matrix_naive",
            square([64, 4, 1]),
            &product,
            flops,
            "GFLOP",
        ),
        row(
            "matrix product, tiled",
            "matrix_tiled",
            square([16, 16, 1]),
            &product,
            flops,
            "GFLOP",
        ),
        near(
            row("bodies", "bodies", line(many, 128), &places, pulls, "GFLOP"),
            1e-3,
        ),
        near(
            row(
                "bodies, tiled",
                "bodies_tiled",
                line(many, 128),
                &[places[0], places[1], places[2], Local(128 * 16)],
                pulls,
                "GFLOP",
            ),
            1e-3,
        ),
        near(
            row(
                "options (exp, log)",
                "options",
                line(16 * m, 256),
                &[
                    Random(F32, 16 * m, 5.0, 30.0),
                    Random(F32, 16 * m, 1.0, 100.0),
                    Random(F32, 16 * m, 0.25, 10.0),
                    Out(F32, 16 * m),
                ],
                giga(16 * m),
                "Gopt",
            ),
            1e-3,
        ),
        row(
            "sin and cos",
            "waves",
            line(16 * m, 256),
            &[Random(F32, 16 * m, -10.0, 10.0), Out(F32, 16 * m)],
            giga(16 * m),
            "Gelem",
        ),
        Row {
            outliers: 10.0,
            ..near(
                row(
                    "mandelbrot",
                    "mandelbrot",
                    ([fractal, fractal, 1], [32, 8, 1]),
                    &[Out(I32, fractal * fractal), Int(fractal), Int(fractal), Int(256)],
                    giga(fractal * fractal),
                    "Gpixel",
                ),
                0.0,
            )
        },
        row(
            "reduction, barriers",
            "reduce",
            line(64 * m, 256),
            &sums,
            gb(64 * m, 4),
            "GB",
        ),
        row(
            "reduction, sub-groups",
            "reduce_sub_groups",
            line(64 * m, 256),
            &sums,
            gb(64 * m, 4),
            "GB",
        ),
        row(
            "scan",
            "scan",
            line(64 * m, 256),
            &[zero_to_one(64 * m), Out(F32, 64 * m), Local(1024)],
            gb(64 * m, 8),
            "GB",
        ),
        near(
            row(
                "histogram, global atomics",
                "histogram",
                line(32 * m, 256),
                &[Random(I32, 32 * m, 0.0, 256.0), Out(I32, 256)],
                giga(32 * m),
                "Gatom",
            ),
            0.0,
        ),
        near(
            row(
                "histogram, local atomics",
                "histogram_local",
                line(4 * m, 256),
                &[Random(I32, 64 * m, 0.0, 256.0), Out(I32, 256), Int(16)],
                giga(64 * m),
                "Gatom",
            ),
            0.0,
        ),
        near(
            row(
                "sort step",
                "sort_step",
                line(64 * m, 256),
                &[
                    Random(I32, 64 * m, 0.0, (1 << 30) as f64),
                    Out(I32, 64 * m),
                    Int(64),
                    Int(1024),
                ],
                gb(64 * m, 8),
                "GB",
            ),
            0.0,
        ),
        near(
            row(
                "fourier step",
                "fourier_step",
                line(16 * m, 256),
                &[Random(F32, 64 * m, -1.0, 1.0), Out(F32, 64 * m), Int(64)],
                gb(64 * m, 8),
                "GB",
            ),
            1e-3,
        ),
        near(
            row(
                "integer mixing",
                "mix_bits",
                line(16 * m, 256),
                &[
                    Random(I32, 16 * m, 1.0, (1 << 30) as f64),
                    Out(I32, 16 * m),
                    Int(64),
                ],
                giga(16 * m * 64 * 6),
                "Gop",
            ),
            0.0,
        ),
        near(
            row(
                "polynomial, f64",
                "polynomial_f64",
                line(16 * m, 256),
                &[Random(F64, 16 * m, 0.0, 1.0), Out(F64, 16 * m)],
                giga(16 * m * 128),
                "GFLOP",
            ),
            1e-9,
        ),
        near(
            row(
                "exp, f64",
                "exp_f64",
                line(16 * m, 256),
                &[Random(F64, 16 * m, -10.0, 10.0), Out(F64, 16 * m)],
                giga(16 * m),
                "Gelem",
            ),
            1e-9,
        ),
    ]
}
