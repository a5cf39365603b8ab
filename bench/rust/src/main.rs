//! Nanoseconds of what programs do with collections, on each allocator: the least of rounds in which all
//! allocators take turns in one process, and the median. Prints a table.
use allocator_api2::alloc::{AllocError, Allocator, Layout};
use allocator_api2::{boxed::Box, vec::Vec};
use ashlar::{Arena, Ashlar, Heap, StaticPool};
use std::alloc::{GlobalAlloc, System};
use std::hint::black_box;
use std::ptr::NonNull;
use std::time::Instant;

/// A peer's global allocator as an allocator of collections: as ashlar's, but that all have this code.
struct Of<G>(G);

fn block_of(block: *mut u8, layout: Layout) -> Result<NonNull<[u8]>, AllocError> {
    let block = NonNull::new(block).ok_or(AllocError)?;
    Ok(NonNull::slice_from_raw_parts(block, layout.size()))
}

// SAFETY: no collection here asks for a size of 0, nor for another alignment of a block that it has.
unsafe impl<G: GlobalAlloc> Allocator for Of<G> {
    #[inline]
    fn allocate(&self, layout: Layout) -> Result<NonNull<[u8]>, AllocError> {
        block_of(unsafe { self.0.alloc(layout) }, layout)
    }
    #[inline]
    unsafe fn deallocate(&self, block: NonNull<u8>, layout: Layout) {
        self.0.dealloc(block.as_ptr(), layout);
    }
    #[inline]
    unsafe fn grow(&self, block: NonNull<u8>, from: Layout, to: Layout) -> Result<NonNull<[u8]>, AllocError> {
        block_of(self.0.realloc(block.as_ptr(), from, to.size()), to)
    }
}

const CASES: [&str; 4] = ["Box, one at a time", "1000 Boxes, live", "1000 pushes to a Vec", "HashMap of 1000"];
const OBJECTS: usize = 1000;

/// Where 1000 objects come from. An arena is reset before each thousand, which the time has in it.
trait Source {
    type In<'a>: Allocator + Copy
    where
        Self: 'a;
    fn begin(&mut self) -> Self::In<'_>;
}
struct Lasting<A>(A);
impl<A: Allocator> Source for Lasting<A> {
    type In<'a>
        = &'a A
    where
        A: 'a;
    fn begin(&mut self) -> &A {
        &self.0
    }
}
impl Source for Arena<Ashlar> {
    type In<'a> = &'a Self;
    fn begin(&mut self) -> &Self {
        self.reset();
        self
    }
}
impl Source for bumpalo::Bump {
    type In<'a> = &'a Self;
    fn begin(&mut self) -> &Self {
        self.reset();
        self
    }
}

/// Nanoseconds of a Box and its drop, of the same where 1000 live, of a push, of an insertion.
/// Requires: the allocator refuses nothing. Where not `fits_larger`, the last two are not run.
fn measure<S: Source>(mut source: S, fits_larger: bool) -> [f64; 4] {
    const REPEATS: usize = 200;
    fn time<S: Source>(source: &mut S, act: impl Fn(S::In<'_>)) -> f64 {
        act(source.begin());
        let begin = Instant::now();
        for _ in 0..REPEATS {
            act(source.begin());
        }
        begin.elapsed().as_nanos() as f64 / (REPEATS * OBJECTS) as f64
    }
    let one = time(&mut source, |heap| {
        for i in 0..OBJECTS {
            drop(black_box(Box::new_in([i; 5], heap)));
        }
    });
    let many = time(&mut source, |heap| {
        let mut live = std::vec::Vec::with_capacity(OBJECTS);
        for i in 0..OBJECTS {
            live.push(Box::new_in([i; 5], heap));
        }
        black_box(&live);
    });
    if !fits_larger {
        return [one, many, f64::NAN, f64::NAN];
    }
    let push = time(&mut source, |heap| {
        let mut numbers = Vec::new_in(heap);
        for i in 0..OBJECTS {
            numbers.push(black_box(i));
        }
        black_box(&numbers);
    });
    let insert = time(&mut source, |heap| {
        let mut map = hashbrown::HashMap::with_hasher_in(Fixed, heap);
        for i in 0..OBJECTS {
            map.insert(i, i);
        }
        black_box(&map);
    });
    [one, many, push, insert]
}

/// A hash that takes no time, so that the allocator's share is seen.
#[derive(Clone, Copy, Default)]
struct Fixed;
struct Product(u64);
impl std::hash::BuildHasher for Fixed {
    type Hasher = Product;
    fn build_hasher(&self) -> Product {
        Product(0)
    }
}
impl std::hash::Hasher for Product {
    fn write(&mut self, _: &[u8]) {}
    fn write_usize(&mut self, n: usize) {
        self.0 = (n as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    }
    fn finish(&self) -> u64 {
        self.0
    }
}

static POOL: StaticPool<[usize; 5], 1001> = StaticPool::new();

fn main() {
    const ROUNDS: usize = 101;
    type Row<'a> = (&'a str, std::boxed::Box<dyn Fn() -> [f64; 4] + 'a>);
    let rows: [Row; 9] = [
        ("ashlar: the process heap (`Ashlar`)", std::boxed::Box::new(|| measure(Lasting(Ashlar), true))),
        ("ashlar: `&Heap`", std::boxed::Box::new(|| measure(Lasting(Heap::new(c"bench", usize::MAX)), true))),
        ("ashlar: `&Arena`, of `Ashlar`", std::boxed::Box::new(|| measure(Arena::new_in(Ashlar), true))),
        ("ashlar: `&StaticPool`", std::boxed::Box::new(|| measure(Lasting(&POOL), false))),
        ("system (glibc)", std::boxed::Box::new(|| measure(Lasting(Of(System)), true))),
        ("mimalloc 0.1.52", std::boxed::Box::new(|| measure(Lasting(Of(mimalloc::MiMalloc)), true))),
        ("snmalloc-rs 0.7.6", std::boxed::Box::new(|| measure(Lasting(Of(snmalloc_rs::SnMalloc)), true))),
        ("tikv-jemallocator 0.7.0", std::boxed::Box::new(|| measure(Lasting(Of(tikv_jemallocator::Jemalloc)), true))),
        ("bumpalo 3.20.4", std::boxed::Box::new(|| measure(bumpalo::Bump::new(), true))),
    ];
    let mut all = vec![[const { std::vec::Vec::new() }; 4]; rows.len()];
    for _ in 0..ROUNDS {
        for (figures, (_, run)) in all.iter_mut().zip(&rows) {
            figures.iter_mut().zip(run()).for_each(|(of_case, ns)| of_case.push(ns));
        }
    }
    println!("| ns, least (median) | {} |\n|---|---:|---:|---:|---:|", CASES.join(" | "));
    for (mut figures, (name, _)) in all.into_iter().zip(&rows) {
        let cell = |ns: &mut std::vec::Vec<f64>| {
            ns.sort_by(f64::total_cmp);
            match ns[0] {
                least if least.is_nan() => "–".to_string(),
                least => format!("{least:.1} ({:.1})", ns[ROUNDS / 2]),
            }
        };
        println!("| {name} | {} |", figures.each_mut().map(cell).join(" | "));
    }
}
