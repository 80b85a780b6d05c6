//! What kernels compute, by the host, mostly in double precision: one element at a time, so that a sample will do.

use crate::rows::{Data, Row};

/// What each element of the compared argument is expected to be.
pub type Expected<'a> = Box<dyn Fn(usize) -> f64 + 'a>;

/// What a row's kernel is expected to write.
///
/// # Panics
///
/// If the kernel is not known.
#[must_use]
pub fn expected<'a>(row: &'a Row, data: &'a [Data]) -> Expected<'a> {
    let group = row.local[0];
    let number = |argument: usize| data[argument].integer(0) as usize;
    let at = move |argument: usize| move |index: usize| data[argument].at(index);
    match row.kernel {
        "vector_add" => Box::new(move |i| at(0)(i) + at(1)(i)),
        "saxpy" => Box::new(move |i| {
            if i < number(3) {
                at(0)(0) * at(1)(i) + 1.0
            } else {
                0.0
            }
        }),
        "saxpy_f16" => Box::new(move |i| 1.5 * at(0)(i) + 1.0),
        "stencil" => {
            let (width, height, of) = (number(2), number(3), at(0));
            inside(width, height, 1, move |i| {
                0.2 * (of(i) + of(i - 1) + of(i + 1) + of(i - width) + of(i + width))
            })
        }
        "convolve" => {
            let (width, height, of) = (number(3), number(4), at(0));
            inside(width, height, 3, move |i| {
                let weight = |k: usize| at(1)(k) * of(i + k / 7 * width + k % 7 - 3 * width - 3);
                (0..49).map(weight).sum()
            })
        }
        "transpose" => {
            let (width, height) = (number(2), number(3));
            Box::new(move |i| at(0)(i % height * width + i / height))
        }
        "gather" => Box::new(move |i| at(1)(data[0].integer(i) as usize)),
        "sparse" => Box::new(move |row| {
            let entries = data[0].integer(row) as usize..data[0].integer(row + 1) as usize;
            let entry = |k| at(2)(k) * at(3)(data[1].integer(k) as usize);
            entries.map(entry).sum()
        }),
        "matrix_naive" | "matrix_tiled" => {
            let n = number(3);
            Box::new(move |i| (0..n).map(|k| at(0)(i / n * n + k) * at(1)(k * n + i % n)).sum())
        }
        "bodies" | "bodies_tiled" => Box::new(move |i| pulled(&data[0], number(2), i / 4, i % 4)),
        "options" => Box::new(move |i| option(at(0)(i), at(1)(i), at(2)(i))),
        "waves" => Box::new(move |i| at(0)(i).sin() * (3.0 * at(0)(i)).cos()),
        "mandelbrot" => {
            let (width, height, most) = (number(1), number(2), number(3));
            Box::new(move |i| rounds(i % width, i / width, width, height, most))
        }
        "reduce" | "reduce_sub_groups" => Box::new(move |i| (i * group..(i + 1) * group).map(at(0)).sum()),
        "scan" => Box::new(move |i| (i / group * group..=i).map(at(0)).sum()),
        "histogram" | "histogram_local" => {
            let mut bins = vec![0.0; 256];
            (0..data[0].count()).for_each(|i| bins[data[0].integer(i) as usize] += 1.0);
            Box::new(move |i| bins[i])
        }
        "sort_step" => {
            let (distance, run) = (number(2), number(3));
            Box::new(move |i| {
                let (own, that) = (at(0)(i), at(0)(i ^ distance));
                match (i & distance == 0) == (i & run == 0) {
                    true => own.min(that),
                    false => own.max(that),
                }
            })
        }
        "fourier_step" => {
            let half = number(2);
            Box::new(move |i| turned(&data[0], half, i / 2, i % 2))
        }
        "mix_bits" => Box::new(move |i| {
            let mix = |x: u32, _| {
                let x = x ^ (x << 13);
                let x = x ^ (x >> 17);
                x ^ (x << 5)
            };
            f64::from((0..number(2)).fold(data[0].integer(i) as u32, mix).cast_signed())
        }),
        "polynomial_f64" => Box::new(move |i| (0..64).fold(0.0, |sum, _| sum * at(0)(i) + 0.5)),
        "exp_f64" => Box::new(move |i| at(0)(i).exp()),
        other => panic!("nobody knows what {other} computes"),
    }
}

/// A function of an image's pixels that are so far from its border; the others stay 0.
fn inside<'a>(width: usize, height: usize, border: usize, of: impl Fn(usize) -> f64 + 'a) -> Expected<'a> {
    Box::new(move |i| {
        let is_in = |at: usize, size: usize| at >= border && at < size - border;
        match is_in(i % width, width) && is_in(i / width, height) {
            true => of(i),
            false => 0.0,
        }
    })
}

fn pulled(place: &Data, count: usize, own: usize, axis: usize) -> f64 {
    if axis == 3 {
        return 0.0;
    }
    let pull = |other: usize| {
        let way = |axis: usize| place.at(4 * other + axis) - place.at(4 * own + axis);
        let distance = way(0).powi(2) + way(1).powi(2) + way(2).powi(2) + f64::from(0.01f32);
        way(axis) * place.at(4 * other + 3) / (distance * distance.sqrt())
    };
    (0..count).map(pull).sum()
}

fn option(price: f64, strike: f64, years: f64) -> f64 {
    let normal = |x: f64| {
        let k = 1.0 / (1.0 + 0.231_641_9 * x.abs());
        let factors = [
            1.330_274_429,
            -1.821_255_978,
            1.781_477_937,
            -0.356_563_782,
            0.319_381_53,
        ];
        let sum = factors.iter().fold(0.0, |sum, factor| k * (factor + sum));
        let tail = 0.398_942_28 * (-0.5 * x * x).exp() * sum;
        if x < 0.0 { tail } else { 1.0 - tail }
    };
    let spread = 0.3 * years.sqrt();
    let first = ((price / strike).ln() + (0.02 + 0.045) * years) / spread;
    price * normal(first) - strike * (-0.02 * years).exp() * normal(first - spread)
}

fn rounds(column: usize, row: usize, width: usize, height: usize, most: usize) -> f64 {
    let cx = 3.0 * column as f32 / width as f32 - 2.0;
    let cy = 2.0 * row as f32 / height as f32 - 1.0;
    let (mut x, mut y, mut round) = (0f32, 0f32, 0);
    while round < most && x * x + y * y < 4.0 {
        (x, y) = (x * x - y * y + cx, 2.0 * x * y + cy);
        round += 1;
    }
    round as f64
}

/// The real or the imaginary part of an element behind a step of a Fourier transformation.
fn turned(of: &Data, half: usize, element: usize, part: usize) -> f64 {
    let (k, is_right) = (element & (half - 1), element & half != 0);
    let left = element - if is_right { half } else { 0 };
    let angle = -std::f64::consts::PI * k as f64 / half as f64;
    let number = |element: usize| (of.at(2 * element), of.at(2 * element + 1));
    let (a, b) = (number(left), number(left + half));
    let turned = (
        angle.cos() * b.0 - angle.sin() * b.1,
        angle.cos() * b.1 + angle.sin() * b.0,
    );
    let sign = if is_right { -1.0 } else { 1.0 };
    match part {
        0 => a.0 + sign * turned.0,
        _ => a.1 + sign * turned.1,
    }
}

/// Compares numbers of an argument with others, all or each so many.
///
/// # Errors
///
/// How many differ by more than the row allows, and the first of them.
pub fn compare(row: &Row, found: &Data, expected: &dyn Fn(usize) -> f64, most: usize) -> Result<(), String> {
    let count = found.count();
    // A step that has no factor in common with sizes that are powers of two sees every residue.
    let step = (count / most.max(1)).max(1) | 1;
    let (mut seen, mut differ, mut first) = (0usize, 0usize, None);
    for index in (0..count).step_by(step) {
        let (own, that) = (found.at(index), expected(index));
        let allowed = row.tolerance * own.abs().max(that.abs()).max(1.0);
        seen += 1;
        if !((own - that).abs() <= allowed || own.is_nan() && that.is_nan()) {
            differ += 1;
            first.get_or_insert((index, own, that));
        }
    }
    match first {
        Some((index, own, that)) if differ as f64 * 1000.0 > row.outliers * seen as f64 => Err(format!(
            "{differ} of {seen} numbers differ; number {index} is {own}, expected {that}"
        )),
        _ => Ok(()),
    }
}
