//! Tags, where nothing looks at them and (tests/packages) where the drop-in library is preloaded.
#![cfg(target_os = "linux")]
use std::panic::catch_unwind;
use std::thread;

fn keep(blocks: usize) {
    for _ in 0..blocks {
        std::mem::forget(vec![1_u8; 1000]);
    }
}

#[test]
fn closures_run_in_tags() {
    let inner = ashlar::with_tag(c"outer", || {
        keep(10);
        let panicked = catch_unwind(|| ashlar::with_tag(c"panics", || panic!("on purpose")));
        assert!(panicked.is_err());
        keep(10);
        thread::spawn(|| ashlar::with_tag(c"thread", || keep(5))).join().unwrap();
        ashlar::with_tag(c"inner", || {
            keep(7);
            vec![2_u8; 5000]
        })
    });
    assert_eq!(inner.len(), 5000);
    std::mem::forget(inner);
    keep(100);
}

#[test]
fn tags_end_where_they_are_dropped() {
    let outer = ashlar::Tag::enter(c"guard");
    keep(3);
    {
        let _inner = ashlar::Tag::enter(c"inner guard");
        keep(2);
    }
    let moved = std::hint::black_box([outer]);
    keep(1);
    drop(moved);
    keep(50);
    // One that is forgotten stays, and the next ones are in it.
    thread::spawn(|| {
        std::mem::forget(ashlar::Tag::enter(c"forgotten"));
        keep(1);
        ashlar::with_tag(c"in the forgotten", || keep(1));
        keep(1);
    })
    .join()
    .unwrap();
}
