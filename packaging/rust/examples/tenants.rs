//! Each tenant of a service has a heap with a budget: one that asks for too much gets an error, and the
//! others go on. Run: cargo run --example tenants --features allocator-api2
use allocator_api2::vec::Vec;
use ashlar::{Arena, Ashlar, Heap};

#[global_allocator]
static GLOBAL: Ashlar = Ashlar;

fn serve(tenant: &Heap, words: usize) -> Result<u64, &'static str> {
    let request = Arena::new_in(tenant); // what a request needs goes with it
    let mut numbers: Vec<u64, _> = Vec::new_in(&request);
    numbers.try_reserve(words).map_err(|_| "its budget is used up")?;
    numbers.extend(0..words as u64);
    Ok(numbers.iter().sum())
}

fn main() {
    Ashlar.limit(256 << 20);
    let (small, large) = (Heap::new(c"small", 1 << 20), Heap::new(c"large", 64 << 20));
    println!("small: {:?}", serve(&small, 1000));
    println!("small: {:?}", serve(&small, 1_000_000));
    println!("large: {:?}", serve(&large, 1_000_000));
    assert!(small.stats().peak_committed <= 1 << 20);
}
