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

#[test]
fn a_limit_refuses_after_the_caches_were_dropped() {
    assert!(!Ashlar.on_limit(None, 101));
    assert!(Ashlar.limit(64 * MIB));
    let mut bytes: Vec<u8> = Vec::new();
    assert!(bytes.try_reserve(100 * MIB).is_err());
    assert!(bytes.try_reserve(30 * MIB).is_ok());
    bytes.resize(30 * MIB, 1);

    let fill = || (0..25).map(|_| vec![1_u8; MIB]).collect();
    *CACHE.lock().unwrap() = fill();
    let mut more: Vec<u8> = Vec::new();
    assert!(more.try_reserve(30 * MIB).is_err(), "no function drops the cache");
    assert!(Ashlar.on_limit(Some(drop_cache), 100));
    assert!(more.try_reserve(30 * MIB).is_ok());
    assert!(DROPPED.load(Ordering::Relaxed) >= 20 * MIB);
    drop(more);

    let before = DROPPED.load(Ordering::Relaxed);
    assert!(Ashlar.on_limit(None, 0));
    CACHE.lock().unwrap().clear();
    *CACHE.lock().unwrap() = fill();
    assert!(more_than_is_left().is_err());
    assert_eq!(DROPPED.load(Ordering::Relaxed), before, "it is not called any more");
    assert!(Ashlar.limit(0));
    assert!(more_than_is_left().is_ok());
}

fn more_than_is_left() -> Result<(), std::collections::TryReserveError> {
    Vec::<u8>::new().try_reserve(100 * MIB)
}
