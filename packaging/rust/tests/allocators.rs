//! Collections in the process heap, in heaps with budgets, in arenas and in pools.
use allocator_api2::alloc::{Allocator, Global, Layout};
use allocator_api2::{boxed::Box, vec::Vec};
use ashlar::{Arena, StaticPool};
use std::ptr::NonNull;

/// A block of a random program, filled with its number.
struct Live {
    block: NonNull<u8>,
    layout: Layout,
    fill: u8,
}

impl Live {
    fn new(block: NonNull<[u8]>, layout: Layout, fill: u8) -> Self {
        assert!(block.len() >= layout.size(), "{layout:?}");
        let block = block.cast::<u8>();
        assert_eq!(block.as_ptr() as usize % layout.align(), 0, "{layout:?}");
        unsafe { block.as_ptr().write_bytes(fill, layout.size()) };
        Self { block, layout, fill }
    }

    fn has(&self, block: NonNull<u8>, size: usize) -> bool {
        (0..size).all(|i| unsafe { block.as_ptr().add(i).read() } == self.fill)
    }
}

/// Random calls with layouts up to these, against what each block was filled with. Some grow in place.
fn agrees_with_a_model(heap: impl Allocator, size_max: usize, align_max: usize, steps: u32) {
    let mut live: std::vec::Vec<Live> = std::vec::Vec::new();
    let mut state = 1_u64;
    let mut random = |below: usize| {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 33) as usize % below
    };
    let (mut served, mut in_place) = (0, 0);
    for step in 0..steps {
        let bits = random(size_max.ilog2() as usize + 1);
        let size = if random(10) == 0 { 0 } else { random(1 << bits) + 1 };
        let align = 1 << random(align_max.ilog2() as usize + 1);
        let layout = Layout::from_size_align(size.min(size_max), align).unwrap();
        let fill = step as u8;
        match random(5) {
            0 | 1 if live.len() < 100 => {
                if let Ok(block) = heap.allocate(layout) {
                    served += 1;
                    live.push(Live::new(block, layout, fill));
                }
            }
            2 if live.len() < 100 => {
                if let Ok(block) = heap.allocate_zeroed(layout) {
                    let bytes = block.cast::<u8>().as_ptr();
                    assert!((0..size.min(size_max)).all(|i| unsafe { bytes.add(i).read() } == 0));
                    live.push(Live::new(block, layout, fill));
                }
            }
            3 if !live.is_empty() => {
                let at = random(live.len());
                let Live { block, layout: from, .. } = live[at];
                let larger = layout.size() >= from.size();
                let changed = unsafe {
                    if larger {
                        heap.grow(block, from, layout)
                    } else {
                        heap.shrink(block, from, layout)
                    }
                };
                if let Ok(to) = changed {
                    assert!(live[at].has(to.cast(), from.size().min(layout.size())), "{from:?} to {layout:?}");
                    in_place += u32::from(larger && from.size() != 0 && to.cast() == block);
                    live[at] = Live::new(to, layout, fill);
                }
            }
            _ if !live.is_empty() => {
                let gone = live.swap_remove(random(live.len()));
                assert!(gone.has(gone.block, gone.layout.size()), "{:?}", gone.layout);
                unsafe { heap.deallocate(gone.block, gone.layout) };
            }
            _ => {}
        }
    }
    for gone in live {
        assert!(gone.has(gone.block, gone.layout.size()), "{:?}", gone.layout);
        unsafe { heap.deallocate(gone.block, gone.layout) };
    }
    assert!(served > steps / 20, "{served}");
    assert!(in_place != 0 || cfg!(miri), "with so few steps there need be none");
}

const STEPS: u32 = if cfg!(miri) { 500 } else { 20_000 };

#[test]
fn random_programs_agree_with_a_model() {
    let mut arena = Arena::new_in(Global);
    agrees_with_a_model(&arena, 10_000, 4096, STEPS);
    arena.reset();
    agrees_with_a_model(&arena, 10_000, 4096, STEPS);
    let pool = StaticPool::<[u64; 16], 60>::new();
    agrees_with_a_model(&pool, 200, 16, STEPS);
    assert_eq!(pool.in_use(), 0);
}

#[test]
fn an_arena_uses_the_newest_blocks_bytes_again() {
    let mut arena = Arena::new_in(Global);
    let mut words = Vec::new_in(&arena);
    words.push(1_u64);
    let first = words.as_ptr();
    words.extend(2..=100);
    assert_eq!(words.as_ptr(), first, "it grows in place");
    words.shrink_to_fit();
    let next = Box::new_in(7_u64, &arena);
    assert_eq!(&*next as *const u64, unsafe { first.add(100) }, "it shrinks in place");
    drop(next);
    drop(words);
    let again = Box::new_in(8_u64, &arena);
    assert_eq!(&*again as *const u64, first, "both were the newest when they were freed");
    drop(again);
    arena.reset();
    assert_eq!(&*Box::new_in(9_u64, &arena) as *const u64, first);
    let nothing = Box::new_in((), &arena);
    drop(nothing);
    let mut many = Vec::new_in(&arena);
    (0..5000_u64).for_each(|i| many.push(i));
    let next = Box::new_in(7_u64, &arena);
    assert!(*next == 7 && many.iter().enumerate().all(|(i, &n)| n == i as u64), "it moves from a full chunk");
    drop((next, many));
    // One that has no chunk yet, and one block above all chunks.
    drop(Arena::new_in(Global));
    let large = Arena::new_in(Global);
    let mut bytes = Vec::with_capacity_in(3 << 20, &large);
    bytes.push(3_u8);
    assert_eq!(bytes, [3]);
    // Miri ends at that.
    assert!(cfg!(miri) || Vec::<u8, _>::new_in(&large).try_reserve(isize::MAX as usize - 4096).is_err());
}

#[test]
fn a_pool_serves_what_fits_into_its_blocks() {
    static POOL: StaticPool<[u64; 4], 2> = StaticPool::new();
    let one = Box::new_in([1_u64, 2], &POOL);
    let two: Box<str, _> = {
        let mut text = Vec::with_capacity_in(5, &POOL);
        text.extend_from_slice(b"hello");
        unsafe { Box::from_raw_in(Box::into_raw(text.into_boxed_slice()) as *mut str, &POOL) }
    };
    assert!(Box::try_new_in(3_u8, &POOL).is_err(), "both blocks are in use");
    assert!(Box::try_new_in((), &POOL).is_ok());
    assert_eq!((one[1], &*two, POOL.in_use()), (2, "hello", 2));
    drop((one, two));
    assert!(Box::try_new_in([0_u64; 5], &POOL).is_err(), "it does not fit");
    std::thread::spawn(|| drop(Box::new_in(1, &POOL))).join().unwrap();
    assert_eq!((POOL.in_use(), POOL.peak()), (0, 2));
}

#[cfg(feature = "heap")]
mod of_heaps {
    use super::*;
    use ashlar::{Ashlar, Heap};
    use std::mem::forget;

    const MIB: usize = 1 << 20;

    #[test]
    fn random_programs_agree_with_a_model() {
        agrees_with_a_model(Ashlar, 200_000, 16384, STEPS);
        let heap = Heap::new(c"model", 64 * MIB);
        agrees_with_a_model(&heap, 200_000, 16384, STEPS);
        let small = Heap::new(c"small", 2 * MIB); // which refuses many
        agrees_with_a_model(&small, 200_000, 16384, STEPS);
        agrees_with_a_model(Heap::new(c"owned", MIB), 5000, 64, STEPS);
        agrees_with_a_model(&Arena::new_in(&heap), 10_000, 4096, STEPS);
    }

    #[test]
    fn a_budget_that_is_used_up_is_an_error_and_not_the_end() {
        let heap = Heap::new(c"tenant", 4 * MIB);
        let mut boxes = std::vec::Vec::new();
        while let Ok(b) = Box::try_new_in([1_u8; 1000], &heap) {
            boxes.push(b);
        }
        assert!((2000..4300).contains(&boxes.len()), "{}", boxes.len());
        assert!(Vec::<u8, _>::new_in(&heap).try_reserve(100_000).is_err());
        let arena = Arena::new_in(&heap);
        assert!(Box::try_new_in([1_u8; 100_000], &arena).is_err());
        let figures = heap.stats();
        assert!(figures.in_use >= boxes.len() * 1000 && figures.committed <= 4 * MIB, "{figures:?}");
        assert!(figures.peak_committed >= figures.committed, "{figures:?}");
        drop(Box::new_in(1, &Heap::new(c"another tenant", MIB)));
        drop(boxes);
        assert!(Vec::<u8, _>::new_in(&heap).try_reserve(3 * MIB).is_ok(), "all of it is free again");
        heap.trim();
        assert!(heap.stats().committed < 200_000, "{heap:?}");
    }

    #[test]
    fn to_shrink_does_not_fail_where_nothing_is_left() {
        let heap = Heap::new(c"full", 4 * MIB);
        let (wide, from) = (Layout::from_size_align(64, 64).unwrap(), Layout::from_size_align(100_000, 64).unwrap());
        let block = heap.allocate(from).unwrap().cast::<u8>();
        unsafe { block.as_ptr().write_bytes(7, 64) };
        while heap.allocate(Layout::new::<[u8; 50_000]>()).is_ok() {}
        while heap.allocate(wide).is_ok() {}
        let kept = unsafe { heap.shrink(block, from, wide) }.expect("it stays");
        assert!((0..64).all(|i| unsafe { kept.cast::<u8>().as_ptr().add(i).read() } == 7));
    }

    #[test]
    fn large_vectors_grow_in_place_where_there_is_room() {
        fn moves(heap: impl Allocator) -> usize {
            let mut bytes = Vec::new_in(heap);
            let (mut moves, mut last) = (0, std::ptr::null());
            for i in 0..8 * MIB {
                bytes.push(i as u8);
                moves += usize::from(bytes.as_ptr() != last);
                last = bytes.as_ptr();
            }
            assert!(bytes.iter().enumerate().all(|(i, &b)| b == i as u8));
            moves
        }
        // 8 bytes are doubled 20 times.
        assert!(moves(Heap::new(c"grows", 64 * MIB)) < 20);
        assert!(moves(Ashlar) < 20);
    }

    #[test]
    fn threads_share_a_heap_and_free_what_others_allocated() {
        let heap = Heap::new(c"shared", usize::MAX);
        let made: std::vec::Vec<_> = std::thread::scope(|scope| {
            let heap = &heap;
            let threads: std::vec::Vec<_> = (0..4_usize)
                .map(|t| {
                    scope.spawn(move || {
                        let make = |i| (i, Vec::from_iter_in((0..i % 50).map(|n| n * t), heap));
                        let mut all: std::vec::Vec<_> = (0..5000).map(make).collect();
                        all.retain(|(i, _)| i % 3 == 0);
                        (t, all)
                    })
                })
                .collect();
            threads.into_iter().map(|t| t.join().unwrap()).collect()
        });
        std::thread::scope(|scope| {
            for (t, all) in made {
                scope.spawn(move || {
                    for (i, words) in all {
                        assert!(words.len() == i % 50 && words.iter().enumerate().all(|(n, &w)| w == n * t));
                    }
                });
            }
        });
        heap.trim();
        assert!(heap.stats().in_use < MIB, "{heap:?}");
        let owner = Heap::new(c"moves", MIB);
        let moved = Vec::from_iter_in(0..1000, owner);
        assert_eq!(std::thread::spawn(move || moved.iter().sum::<u32>()).join().unwrap(), 499_500);
    }

    #[test]
    fn the_end_of_a_heap_gives_back_what_was_forgotten() {
        let held = || {
            let pages = std::fs::read_to_string("/proc/self/statm").unwrap();
            pages.split(' ').nth(1).unwrap().parse::<usize>().unwrap() * 4096
        };
        let before = held();
        for _ in 0..200 {
            let heap = Heap::new(c"request", 8 * MIB);
            forget(Box::new_in([1_u8; 100_000], &heap));
            let mut bytes = Vec::with_capacity_in(2 * MIB, &heap);
            bytes.resize(2 * MIB, 1_u8);
            forget(bytes);
        }
        assert!(held() < before + 200 * MIB, "400 MiB were allocated");
    }

    trait FromIterIn<T, A: Allocator> {
        fn from_iter_in(items: impl Iterator<Item = T>, heap: A) -> Self;
    }
    impl<T, A: Allocator> FromIterIn<T, A> for Vec<T, A> {
        fn from_iter_in(items: impl Iterator<Item = T>, heap: A) -> Self {
            let mut made = Vec::new_in(heap);
            made.extend(items);
            made
        }
    }
}
