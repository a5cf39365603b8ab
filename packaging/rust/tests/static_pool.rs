//! Pools in statics and on the stack.
use ashlar::{PoolBox, StaticPool};
use std::cell::Cell;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

#[test]
fn a_pool_gives_each_block_once_and_then_the_value_back() {
    let pool = StaticPool::<String, 3>::new();
    let mut boxes: Vec<_> = (0..3).map(|i| pool.create(i.to_string()).unwrap()).collect();
    assert_eq!(pool.create("one more".to_string()).unwrap_err(), "one more");
    assert!(boxes.iter().enumerate().all(|(i, b)| **b == i.to_string()));
    boxes[1].push('!');
    assert_eq!(*boxes[1], "1!");

    let address = &*boxes[1] as *const String;
    drop(boxes.remove(1));
    assert_eq!((pool.in_use(), pool.peak(), pool.capacity()), (2, 3, 3));
    let again = pool.create("again".to_string()).unwrap();
    assert_eq!(&*again as *const String, address, "the block that came back last is the next");
    assert_eq!(PoolBox::into_inner(again), "again");
    drop(boxes);
    assert_eq!((pool.in_use(), pool.peak()), (0, 3));
}

#[test]
fn random_programs_agree_with_a_model() {
    let pool = StaticPool::<u64, 50>::new();
    let mut live: Vec<(PoolBox<'_, u64, 50>, u64)> = Vec::new();
    let mut random = 1u64;
    for i in 0..100_000 {
        random = random.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        if (random >> 40) % 2 == 0 {
            match pool.create(i) {
                Ok(made) => live.push((made, i)),
                Err(value) => assert_eq!((value, live.len()), (i, 50)),
            }
        } else if !live.is_empty() {
            let (gone, value) = live.swap_remove((random >> 33) as usize % live.len());
            assert_eq!(*gone, value);
        }
        assert_eq!(pool.in_use(), live.len());
    }
    assert!(live.iter().all(|(made, value)| **made == *value));
    assert_eq!(pool.peak(), 50);
}

#[test]
fn types_of_any_size_and_alignment_have_room() {
    #[repr(align(128))]
    #[derive(Debug)]
    struct Wide(u8);
    let wide = StaticPool::<Wide, 2>::new();
    let (a, b) = (wide.create(Wide(1)).unwrap(), wide.create(Wide(2)).unwrap());
    assert!([&*a, &*b].iter().all(|w| *w as *const Wide as usize % 128 == 0));
    assert_eq!(a.0 + b.0, 3);
    let nothing = StaticPool::<(), 2>::new();
    let _one = nothing.create(()).unwrap();
    let _two = nothing.create(()).unwrap();
    assert!(nothing.create(()).is_err());
    assert!(StaticPool::<u8, 0>::new().create(1).is_err());
    // A free block needs room for the number of another one, and nothing else.
    assert!(std::mem::size_of::<StaticPool<u64, 100>>() <= 800 + 5 * 8);
}

#[test]
fn objects_are_dropped_once_also_when_that_panics() {
    struct Counted<'a>(&'a Cell<u32>, bool);
    impl Drop for Counted<'_> {
        fn drop(&mut self) {
            self.0.set(self.0.get() + 1);
            assert!(!self.1, "this drop panics");
        }
    }
    let count = Cell::new(0);
    let pool = StaticPool::<Counted, 1>::new();
    drop(pool.create(Counted(&count, false)).ok().unwrap());
    drop(PoolBox::into_inner(pool.create(Counted(&count, false)).ok().unwrap()));
    assert_eq!(count.get(), 2);
    let bad = pool.create(Counted(&count, true)).ok().unwrap();
    assert!(catch_unwind(AssertUnwindSafe(|| drop(bad))).is_err());
    assert_eq!((count.get(), pool.in_use()), (3, 0), "the block came back");
}

#[test]
fn threads_share_a_static() {
    static POOL: StaticPool<[usize; 4], 8> = StaticPool::new();
    static REFUSED: AtomicUsize = AtomicUsize::new(0);
    let threads: Vec<_> = (0..4)
        .map(|t| {
            thread::spawn(move || {
                for i in 0..20_000 {
                    let made: Vec<_> = (0..3).filter_map(|_| POOL.create([t, i, t, i]).ok()).collect();
                    REFUSED.fetch_add(3 - made.len(), Ordering::Relaxed);
                    assert!(made.iter().all(|m| **m == [t, i, t, i]));
                    // Another thread drops one of them.
                    if let Some(last) = made.into_iter().next() {
                        if i % 1000 == 0 {
                            thread::spawn(move || drop(last)).join().unwrap();
                        }
                    }
                }
            })
        })
        .collect();
    threads.into_iter().for_each(|t| t.join().unwrap());
    assert_eq!(POOL.in_use(), 0);
    assert!(POOL.peak() <= 8);
}
