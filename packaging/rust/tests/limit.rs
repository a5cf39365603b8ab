//! The whole test program runs on ashlar, within a limit.
#![cfg(feature = "heap")]
use ashlar::Ashlar;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::Mutex;

#[global_allocator]
static GLOBAL: Ashlar = Ashlar;

const MIB: usize = 1 << 20;
static CACHE: Mutex<Vec<Vec<u8>>> = Mutex::new(Vec::new());
static DROPPED: AtomicUsize = AtomicUsize::new(0);

fn drop_cache(bytes: usize) {
    let Ok(mut cache) = CACHE.try_lock() else { return };
    let mut freed = 0;
    while let Some(part) = cache.pop() {
        freed += part.len();
        if freed >= bytes {
            break;
        }
    }
    DROPPED.fetch_add(freed, Ordering::Relaxed);
}

/// Whether so many bytes can be had now.
fn can_have(mib: usize) -> bool {
    Vec::<u8>::new().try_reserve(mib * MIB).is_ok()
}

fn fill_cache() {
    let parts = (0..25).map(|_| vec![1_u8; MIB]).collect();
    *CACHE.lock().unwrap() = parts;
}

#[test]
fn a_limit_refuses_after_the_caches_were_dropped() {
    assert!(!Ashlar.on_limit(None, 101));
    assert!(Ashlar.limit(64 * MIB));
    let kept = vec![1_u8; 30 * MIB];
    let above = can_have(100);
    fill_cache();
    let beside_the_cache = can_have(30);
    let is_called = Ashlar.on_limit(Some(drop_cache), 100);
    let instead_of_the_cache = can_have(30);
    let dropped = DROPPED.load(Ordering::Relaxed);
    CACHE.lock().unwrap().clear();
    fill_cache();
    let is_called_no_more = Ashlar.on_limit(None, 0);
    let beside_the_cache_again = can_have(30);
    // First, since the message of an assertion that fails needs memory.
    assert!(Ashlar.limit(0));

    assert!(!above && can_have(100));
    assert!(!beside_the_cache, "no function drops it");
    assert!(is_called && instead_of_the_cache && dropped >= 20 * MIB, "{dropped}");
    assert!(is_called_no_more && !beside_the_cache_again);
    assert_eq!(DROPPED.load(Ordering::Relaxed), dropped);
    assert_eq!(kept[MIB], 1);
}
