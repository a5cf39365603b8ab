// As orders.cpp in Rust. bench/recording/named_bytes.py compiles it with -O -g.
use std::collections::BTreeMap;
use std::thread;

struct Order {
    name: String,
    lines: BTreeMap<usize, String>,
}

fn make_order(number: usize) -> Order {
    let lines = (0..number % 17)
        .map(|i| (i, String::from("a line of an order")))
        .collect();
    Order { name: format!("an order with a name: {number}"), lines }
}

fn serve(count: usize) -> Vec<Box<Order>> {
    (0..count)
        .map(|i| Box::new(make_order(i)))
        .filter(|order| order.lines.len() % 3 == 0)
        .collect()
}

fn main() {
    let running: Vec<_> = (1..5).map(|i| thread::spawn(move || serve(500 * i))).collect();
    let kept: usize = running
        .into_iter()
        .flat_map(|thread| thread.join().unwrap())
        .map(|order| order.name.len())
        .sum();
    assert!(kept > 0);
}
