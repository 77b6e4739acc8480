//! What theory says about a page map under random writes, and the bare drive
//! that it speaks of. `alpha` is physical over logical size; results are write
//! amplifications in steady state.

#![allow(dead_code, reason = "each user takes a part")]

/// A drive of `dies` dies with `blocks` blocks of `pages` 4 KiB pages on each
/// of `planes` planes; `more` is the section on garbage collection and others.
pub fn drive_file(
    dies: u32,
    planes: u32,
    blocks: u32,
    pages: u32,
    user_units: u64,
    more: &str,
) -> String {
    let user = user_units * 4096;
    format!(
        r#"
        name = "test"
        kind = "page-mapped-ssd"
        summary = "test"
        host = {{ overhead = {{ value = "0 us", source = "test" }} }}
        [link]
        line_rate = {{ value = "6 Gb/s", source = "test" }}
        command_overhead = {{ value = "0 B", source = "test" }}
        queue_depth = {{ value = 32, source = "test" }}
        [capacity]
        user = {{ value = "{user} B", source = "test" }}
        [controller]
        read_overhead = {{ value = "0 us", source = "test" }}
        write_overhead = {{ value = "0 us", source = "test" }}
        [write_buffer]
        size = {{ value = "1 MiB", source = "test" }}
        [flash]
        channels = {{ value = {dies}, source = "test" }}
        dies = {{ value = {dies}, source = "test" }}
        planes = {{ value = {planes}, source = "test" }}
        page_size = {{ value = "4 KiB", source = "test" }}
        pages_per_block = {{ value = {pages}, source = "test" }}
        blocks_per_plane = {{ value = {blocks}, source = "test" }}
        read_time = {{ value = "50 us", source = "test" }}
        program_time = {{ value = "1 ms", source = "test" }}
        erase_time = {{ value = "3 ms", source = "test" }}
        bus_rate = {{ value = "200 MB/s", source = "test" }}
        [translation]
        unit = {{ value = "4 KiB", source = "test" }}
        {more}
        "#
    )
}

/// Blocks that a pool under [`paced`] collection keeps free on average, what
/// is free in open blocks counted: neither data nor spare area to the theory.
pub const KEPT_FREE: u32 = 6;

/// Collection between the writes, with further parameters of its section.
pub fn paced(more: &str) -> String {
    format!(
        r#"
        [garbage_collection]
        start_free_blocks = {{ value = {KEPT_FREE}, source = "test" }}
        burst_blocks = {{ value = 0, source = "test" }}
        {more}
        "#
    )
}

/// Units that a pool with this share of spare area holds under [`paced`]
/// collection.
pub fn units_with_spare(blocks: u32, pages: u32, spare: f64) -> u64 {
    (f64::from(blocks - KEPT_FREE) * f64::from(pages) / (1.0 + spare)) as u64
}

/// Where a condition that holds from `low` on ceases to hold.
fn boundary(mut low: f64, mut high: f64, holds: impl Fn(f64) -> bool) -> f64 {
    for _ in 0..100 {
        let middle = 0.5 * (low + high);
        if holds(middle) { low = middle } else { high = middle }
    }
    0.5 * (low + high)
}

/// Greedy collection with `b` pages per block, uniform writes: exact mean field
/// (Desnoyers, SYSTOR 2012; Van Houdt, SIGMETRICS 2013). The victim's level x
/// solves 1/alpha = (b - x) / (b S(x)), S(x) = H(b) - H(j + 1) + p / (j + 1),
/// j = floor x, p = 1 - (x - j), H the harmonic numbers.
pub fn greedy(alpha: f64, b: u32) -> f64 {
    let mut harmonic = vec![0.0];
    for i in 1..=b {
        harmonic.push(harmonic[i as usize - 1] + 1.0 / f64::from(i));
    }
    let b = f64::from(b);
    let x = boundary(0.0, b - 1e-9, |x| {
        let j = x.floor();
        let p = 1.0 - (x - j);
        let sum = harmonic[b as usize] - harmonic[j as usize + 1] + p / (j + 1.0);
        // The more valid units the victim holds, the fuller the drive.
        (b - x) / (b * sum) < 1.0 / alpha
    });
    b / (b - x)
}

/// First in, first out, uniform writes: alpha / (alpha + W(-alpha e^-alpha)), W
/// the principal branch of Lambert's function (Desnoyers, SYSTOR 2012; Xiang
/// and Kurkoski, arXiv 1110.4245).
pub fn first_in_first_out(alpha: f64) -> f64 {
    let argument = -alpha * (-alpha).exp();
    let w = boundary(-1.0, 0.0, |w| w * w.exp() < argument);
    alpha / (alpha + w)
}

/// A victim drawn at random, uniform writes.
pub fn random_victim(alpha: f64) -> f64 {
    alpha / (alpha - 1.0)
}

/// The emptiest of `d` blocks drawn at random, `b` pages per block, uniform
/// writes: mean field (Van Houdt, SIGMETRICS 2013). With f(i) the share of the
/// blocks with i valid pages and Q(i) that with i or more, in steady state
/// i f(i) = v (1 - Q(i)^d) for a rate v of victims.
pub fn choices(alpha: f64, b: u32, d: f64) -> f64 {
    let solve = |v: f64| {
        let (mut above, mut mean, mut victim) = (0.0f64, 0.0, 0.0);
        for i in (1..=b).map(f64::from).rev() {
            let share = boundary(0.0, 1.0 - above, |f| i * f < v * (1.0 - (above + f).powf(d)));
            victim += i * ((above + share).powf(d) - above.powf(d));
            mean += i * share;
            above += share;
        }
        (mean, victim)
    };
    let b_real = f64::from(b);
    let v = boundary(0.0, b_real * b_real, |v| solve(v).0 < b_real / alpha);
    b_real / (b_real - solve(v).1)
}

/// First in, first out, one write frontier, data in `classes` of (fraction of
/// the data, share of the writes), uniform within each: t solves
/// alpha = sum of r t / (1 - e^(-r t / f)), the amplification is alpha / t
/// (Desnoyers, SYSTOR 2012, for any number of classes).
pub fn first_in_first_out_of(alpha: f64, classes: &[(f64, f64)]) -> f64 {
    let size =
        |t: f64| -> f64 { classes.iter().map(|(f, r)| r * t / -f64::exp_m1(-r * t / f)).sum() };
    alpha / boundary(1e-9, alpha, |t| size(t) < alpha)
}

/// One class for each of `n` units by Zipf's law.
pub fn zipf_classes(n: u64, exponent: f64) -> Vec<(f64, f64)> {
    let weights: Vec<f64> = (1..=n).map(|k| (k as f64).powf(-exponent)).collect();
    let sum: f64 = weights.iter().sum();
    weights.into_iter().map(|weight| (1.0 / n as f64, weight / sum)).collect()
}

/// A second page map, with nothing in common with the product's: greedy
/// collection of whole blocks into the host's block, in memory only. For
/// traffic under which greedy collection has no closed form.
pub struct BareMap {
    pages: usize,
    /// Of each unit: block and place; of each place: the unit, if still valid.
    place: Vec<usize>,
    unit: Vec<Option<usize>>,
    valid: Vec<usize>,
    closed: Vec<bool>,
    free: Vec<usize>,
    open: usize,
    filled: usize,
    moved: u64,
}

impl BareMap {
    /// `units` units, written in order, on `blocks` blocks.
    pub fn new(blocks: usize, pages: usize, units: usize) -> Self {
        let mut map = Self {
            pages,
            place: vec![usize::MAX; units],
            unit: vec![None; blocks * pages],
            valid: vec![0; blocks],
            closed: vec![false; blocks],
            free: (1..blocks).rev().collect(),
            open: 0,
            filled: 0,
            moved: 0,
        };
        (0..units).for_each(|unit| map.write(unit));
        map
    }

    /// Write amplification of `writes` writes.
    pub fn amplification(&mut self, writes: u64, mut draw: impl FnMut() -> u64) -> f64 {
        self.moved = 0;
        for _ in 0..writes {
            self.write(draw() as usize);
        }
        1.0 + self.moved as f64 / writes as f64
    }

    fn write(&mut self, unit: usize) {
        let old = self.place[unit];
        if old != usize::MAX {
            self.unit[old] = None;
            self.valid[old / self.pages] -= 1;
        }
        self.put(unit);
        while self.free.is_empty() {
            let blocks = 0..self.valid.len();
            let victim = blocks.filter(|&b| self.closed[b]).min_by_key(|&b| self.valid[b]).unwrap();
            self.closed[victim] = false;
            let first = victim * self.pages;
            let rest: Vec<usize> =
                (first..first + self.pages).filter_map(|place| self.unit[place].take()).collect();
            self.valid[victim] = 0;
            self.free.push(victim);
            self.moved += rest.len() as u64;
            rest.into_iter().for_each(|unit| self.put(unit));
        }
    }

    fn put(&mut self, unit: usize) {
        if self.filled == self.pages {
            self.closed[self.open] = true;
            self.open = self.free.pop().expect("collected in time");
            self.filled = 0;
        }
        let place = self.open * self.pages + self.filled;
        self.filled += 1;
        self.place[unit] = place;
        self.unit[place] = Some(unit);
        self.valid[self.open] += 1;
    }
}
