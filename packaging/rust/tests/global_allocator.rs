//! The whole test program runs on ashlar.
#![cfg(feature = "heap")]
use std::alloc::{alloc, alloc_zeroed, dealloc, realloc, Layout};
use std::collections::{BTreeMap, HashMap};
use std::sync::mpsc;
use std::thread;

#[global_allocator]
static GLOBAL: ashlar::Ashlar = ashlar::Ashlar;

const SIZES: [usize; 12] = [1, 8, 16, 17, 100, 256, 1000, 4096, 5000, 40_000, 140_000, 600_000];

fn alignments() -> impl Iterator<Item = usize> {
    (0..=16).map(|shift| 1 << shift)
}

unsafe fn fill(block: *mut u8, size: usize) {
    for i in 0..size {
        block.add(i).write(i as u8);
    }
}

unsafe fn is_filled(block: *const u8, size: usize) -> bool {
    (0..size).all(|i| block.add(i).read() == i as u8)
}

#[test]
fn every_block_is_aligned_and_apart_from_the_others() {
    let mut live = Vec::new();
    for align in alignments() {
        for size in SIZES {
            let layout = Layout::from_size_align(size, align).unwrap();
            let block = unsafe { alloc(layout) };
            assert!(!block.is_null() && block as usize % align == 0, "{layout:?}");
            unsafe { fill(block, size) };
            live.push((block, layout));
        }
    }
    for (block, layout) in live {
        assert!(unsafe { is_filled(block, layout.size()) }, "{layout:?}");
        unsafe { dealloc(block, layout) };
    }
}

#[test]
fn zeroed_blocks_are_zero_where_others_were() {
    for align in alignments() {
        for size in SIZES {
            let layout = Layout::from_size_align(size, align).unwrap();
            for _ in 0..3 {
                let block = unsafe { alloc_zeroed(layout) };
                assert!(!block.is_null() && block as usize % align == 0, "{layout:?}");
                assert!((0..size).all(|i| unsafe { block.add(i).read() } == 0), "{layout:?}");
                unsafe { fill(block, size) };
                unsafe { dealloc(block, layout) };
            }
        }
    }
}

#[test]
fn realloc_keeps_the_bytes_and_the_alignment() {
    for align in [1, 16, 32, 4096, 65536] {
        for from in SIZES {
            for to in SIZES {
                let layout = Layout::from_size_align(from, align).unwrap();
                let block = unsafe { alloc(layout) };
                unsafe { fill(block, from) };
                let block = unsafe { realloc(block, layout, to) };
                assert!(!block.is_null() && block as usize % align == 0, "{layout:?} to {to}");
                assert!(unsafe { is_filled(block, from.min(to)) }, "{layout:?} to {to}");
                unsafe { dealloc(block, Layout::from_size_align(to, align).unwrap()) };
            }
        }
    }
}

#[test]
fn a_request_that_no_memory_has_is_null() {
    let layout = Layout::from_size_align(isize::MAX as usize - 4096, 1).unwrap();
    assert!(unsafe { alloc(layout) }.is_null());
    let small = Layout::new::<u64>();
    let block = unsafe { alloc(small) };
    unsafe { fill(block, small.size()) };
    assert!(unsafe { realloc(block, small, layout.size()) }.is_null());
    assert!(unsafe { is_filled(block, small.size()) });
    unsafe { dealloc(block, small) };
}

#[test]
fn collections_agree_with_each_other() {
    let mut map = HashMap::new();
    let mut tree = BTreeMap::new();
    let mut words: Vec<String> = Vec::new();
    for i in 0..20_000u64 {
        let key = i.wrapping_mul(0x9E37_79B9_7F4A_7C15) % 5000;
        map.insert(key, vec![key; (key % 50) as usize]);
        tree.insert(key, vec![key; (key % 50) as usize]);
        if i % 7 == 0 {
            map.remove(&(key / 2));
            tree.remove(&(key / 2));
        }
        words.push(format!("{key}"));
    }
    assert_eq!(map.len(), tree.len());
    assert!(tree.iter().all(|(key, value)| map.get(key) == Some(value)));
    words.sort();
    assert!(words.windows(2).all(|pair| pair[0] <= pair[1]));
}

#[test]
fn threads_free_what_others_allocated() {
    let (send, receive) = mpsc::channel::<Vec<Box<[u8]>>>();
    let makers: Vec<_> = (0..4u8)
        .map(|maker| {
            let send = send.clone();
            thread::spawn(move || {
                for round in 0..200usize {
                    send.send((1..100).map(|i| vec![maker; i * 7 + round].into_boxed_slice()).collect())
                        .unwrap();
                }
            })
        })
        .collect();
    drop(send);
    let mut received = 0;
    for boxes in receive {
        assert!(boxes.iter().all(|b| b.iter().all(|&byte| byte == b[0])));
        received += boxes.len();
    }
    makers.into_iter().for_each(|maker| maker.join().unwrap());
    assert_eq!(received, 4 * 200 * 99);
}

#[test]
fn trimming_leaves_what_is_in_use() {
    let kept = vec![7u8; 100_000];
    drop(vec![1u8; 10_000_000]);
    ashlar::Ashlar.trim();
    assert!(kept.iter().all(|&byte| byte == 7));
}
