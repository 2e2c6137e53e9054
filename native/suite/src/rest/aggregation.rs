//! TPC-H's first query over `lineitem`: the rows pulled by a scan and added up here, or the query pushed down to the server by
//! `RonSQL`. The expected result follows from the formulas by which the reference server makes its rows.

use std::collections::BTreeMap;
use std::fmt;

use boundary_bench_codecs::json::{Kind, Paths, Picked, Rows};
use boundary_bench_engine::checksum::{Checksum, ChecksumSum, ColumnSums};
use boundary_bench_kernel::Result;
use serde::Deserialize;
use serde_json::json;

use super::data::AggregationEntry;

/// The path of `RonSQL` on the server.
pub(super) const SQL_PATH: &str = "/0.1.0/ronsql";

/// 1995-06-17, in days since 1992-01-02, the first shipping date. Flags and statuses depend on it.
const FLAG_DAY: u64 = 1262;
/// The last shipping date that the query selects, in days since 1992-01-02.
const LAST_DAY: u64 = 2435;
/// The number of shipping dates.
const SHIP_DAYS: u64 = 2526;

/// The paths and bodies of the requests of the query.
pub(super) struct Requests {
    pub(super) scan_path: String,
    pub(super) scan: String,
    pub(super) sql: String,
    pub(super) count: String,
    last_shipdate: String,
}

impl Requests {
    pub(super) fn of(entry: &AggregationEntry) -> Self {
        let column = |name: &String| json!({ "column": name, "dataReturnType": "default" });
        let columns = entry.columns.iter().map(column).collect::<Vec<_>>();
        let count = "SELECT count(*) AS count_order FROM lineitem;";
        Self {
            scan_path: format!("/0.1.0/{}/lineitem/scan", entry.database),
            // The server requires a limit, also to return all rows.
            scan: json!({ "readColumns": columns, "limit": i32::MAX }).to_string(),
            sql: json!({ "query": entry.query, "database": entry.database }).to_string(),
            count: json!({ "query": count, "database": entry.database }).to_string(),
            last_shipdate: entry.last_shipdate.clone(),
        }
    }
}

/// A group in `RonSQL`'s answer.
#[derive(Deserialize)]
struct LineitemGroup {
    l_returnflag: String,
    l_linestatus: String,
    sum_qty: f64,
    sum_base_price: f64,
    sum_disc_price: f64,
    sum_charge: f64,
    avg_disc: f64,
    count_order: u64,
}

#[derive(Deserialize)]
struct RonSqlResponse {
    data: Vec<LineitemGroup>,
}

#[derive(Deserialize)]
struct Count {
    count_order: u64,
}

#[derive(Deserialize)]
struct Counts {
    data: Vec<Count>,
}

/// The number of rows in the table, from the server's answer to [`Requests::count`].
pub(super) fn count_of(json: &[u8]) -> Result<u64> {
    let counts: Counts = serde_json::from_slice(json).map_err(|error| malformed(&error))?;
    Ok(counts.data.first().map_or(0, |count| count.count_order))
}

fn malformed(error: &impl fmt::Display) -> boundary_bench_kernel::Error {
    super::rest_error(format!("the server's answer is not as RonDB's: {error}"))
}

/// The sums of one group.
#[derive(Debug, Clone, Copy, Default)]
struct Group {
    quantity: f64,
    price: f64,
    discounted: f64,
    charge: f64,
    discount: f64,
    count: u64,
}

impl Group {
    fn add(&mut self, quantity: f64, price: f64, discount: f64, tax: f64) {
        let discounted = price * (1.0 - discount);
        self.quantity += quantity;
        self.price += price;
        self.discounted += discounted;
        self.charge += discounted * (1.0 + tax);
        self.discount += discount;
        self.count += 1;
    }

    fn merge(&mut self, other: &Self) {
        self.quantity += other.quantity;
        self.price += other.price;
        self.discounted += other.discounted;
        self.charge += other.charge;
        self.discount += other.discount;
        self.count += other.count;
    }

    /// The sums, by their names.
    fn sums(&self) -> [(&'static str, ChecksumSum); 6] {
        [
            ("quantity", ChecksumSum::Float(self.quantity)),
            ("price", ChecksumSum::Float(self.price)),
            ("discounted", ChecksumSum::Float(self.discounted)),
            ("charge", ChecksumSum::Float(self.charge)),
            ("discount", ChecksumSum::Float(self.discount)),
            ("count", ChecksumSum::Int(self.count.into())),
        ]
    }
}

/// The groups by their return flag and line status.
type Groups = BTreeMap<[u8; 2], Group>;

/// The answer to a scan. Its rows are added up as they arrive.
pub(super) struct Scan {
    rows: Rows,
    groups: Groups,
    last_shipdate: Vec<u8>,
}

impl Scan {
    pub(super) fn new(requests: &Requests) -> Result<Self> {
        let numbers = ["l_quantity", "l_extendedprice", "l_discount", "l_tax"].map(|name| (name, Kind::Number));
        let texts = ["l_returnflag", "l_linestatus", "l_shipdate"].map(|name| (name, Kind::Text));
        let paths = Paths::new(numbers.into_iter().chain(texts))?;
        let last_shipdate = requests.last_shipdate.clone().into_bytes();
        Ok(Self { rows: Rows::new("data", paths), groups: Groups::new(), last_shipdate })
    }

    /// Takes the next bytes of the answer.
    pub(super) fn add(&mut self, json: &[u8]) -> Result<()> {
        let columns = self.rows.feed(json).map_err(|error| malformed(&error))?;
        let not_all = || malformed(&"a row lacks a column");
        let count = columns[0].len();
        if columns.iter().any(|column| column.len() != count) {
            return Err(not_all());
        }
        let numbers = |column: usize| match &columns[column] {
            Picked::Numbers { values, .. } => values.as_slice(),
            Picked::Texts { .. } => &[],
        };
        let [quantity, price, discount, tax] = [numbers(0), numbers(1), numbers(2), numbers(3)];
        let text = |column: usize, row: usize| match &columns[column] {
            Picked::Texts { ends, bytes, .. } => {
                let start = if row == 0 { 0 } else { ends[row - 1] as usize };
                &bytes[start..ends[row] as usize]
            }
            Picked::Numbers { .. } => &[],
        };
        for row in 0..count {
            if text(6, row) <= self.last_shipdate.as_slice() {
                let ([flag, ..], [status, ..]) = (text(4, row), text(5, row)) else { return Err(not_all()) };
                let group = self.groups.entry([*flag, *status]).or_default();
                group.add(quantity[row], price[row], discount[row], tax[row]);
            }
        }
        Ok(())
    }
}

/// The sums of the results of all queries of a sample, by group.
#[derive(Debug, Clone, Default)]
pub(super) struct AggregationSums {
    rows: u64,
    groups: Groups,
    /// The number of groups that came at or behind the key of the previous group in an answer.
    disordered: i128,
}

impl AggregationSums {
    /// Adds the groups of a scan that were added up here.
    pub(super) fn add_scan(&mut self, scan: &Scan) -> Result<()> {
        scan.rows.finish().map_err(|error| malformed(&error))?;
        self.add_groups(&scan.groups);
        Ok(())
    }

    /// Adds the groups in `RonSQL`'s answer.
    pub(super) fn add_answer(&mut self, json: &[u8]) -> Result<()> {
        let answers: RonSqlResponse = serde_json::from_slice(json).map_err(|error| malformed(&error))?;
        let mut last = None;
        for answer in answers.data {
            let ([flag], [status]) = (answer.l_returnflag.as_bytes(), answer.l_linestatus.as_bytes()) else {
                return Err(malformed(&"a group has another key than a flag and a status"));
            };
            let group = Group {
                quantity: answer.sum_qty,
                price: answer.sum_base_price,
                discounted: answer.sum_disc_price,
                charge: answer.sum_charge,
                discount: answer.avg_disc * answer.count_order as f64,
                count: answer.count_order,
            };
            self.rows += 1;
            let key = [*flag, *status];
            self.disordered += i128::from(last >= Some(key));
            last = Some(key);
            self.groups.entry(key).or_default().merge(&group);
        }
        Ok(())
    }

    /// Adds the groups of one query.
    fn add_groups(&mut self, groups: &Groups) {
        self.merge(&Self { rows: groups.len() as u64, groups: groups.clone(), disordered: 0 });
    }

    pub(super) fn merge(&mut self, other: &Self) {
        self.rows += other.rows;
        self.disordered += other.disordered;
        for (key, group) in &other.groups {
            self.groups.entry(*key).or_default().merge(group);
        }
    }

    pub(super) fn checksum(&self) -> Checksum {
        let sums = self.groups.iter().flat_map(|(key, group)| {
            let key = key.map(char::from).iter().collect::<String>();
            group.sums().map(|(name, sum)| (format!("{key}.{name}"), sum))
        });
        let disordered = ("disordered".to_owned(), ChecksumSum::Int(self.disordered));
        Checksum { rows: self.rows, sums: ColumnSums(sums.chain([disordered]).collect()) }
    }
}

/// The checksum that `operations` queries over `rows` rows of the reference server must return.
pub(super) fn expected(operations: u64, rows: u64) -> Checksum {
    let mut groups = Groups::new();
    for row in 0..rows {
        // Knuth's multiplicative hash spreads the numbers. Each column has its own offset and takes other bits.
        let bits = |column: u64, shift: u32| ((row + column * 7919) * 2_654_435_761 % (1 << 32)) >> shift;
        let ship = bits(5, 8) % SHIP_DAYS;
        if ship > LAST_DAY {
            continue;
        }
        let quantity = 1 + bits(1, 7) % 50;
        let price = (quantity * (90_000 + bits(2, 5) % 110_001)) as f64 / 100.0;
        let receipt = ship + 1 + bits(6, 6) % 30;
        let flag = match receipt > FLAG_DAY {
            true => b'N',
            false if bits(8, 10) % 2 == 0 => b'R',
            false => b'A',
        };
        let group = groups.entry([flag, if ship > FLAG_DAY { b'O' } else { b'F' }]).or_default();
        group.add(quantity as f64, price, (bits(3, 9) % 11) as f64 / 100.0, (bits(4, 11) % 9) as f64 / 100.0);
    }
    let mut sums = AggregationSums::default();
    (0..operations).for_each(|_| sums.add_groups(&groups));
    sums.checksum()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The answer to the query, of two groups with these flags and sums of quantities.
    fn answer([(one, first), (other, second)]: [(&str, f64); 2]) -> Vec<u8> {
        let group = |flag: &str, quantity: f64| {
            json!({
                "l_returnflag": flag, "l_linestatus": "F", "sum_qty": quantity, "sum_base_price": 1.0,
                "sum_disc_price": 1.0, "sum_charge": 1.0, "avg_disc": 0.5, "count_order": 2,
            })
        };
        json!({ "data": [group(one, first), group(other, second)] }).to_string().into_bytes()
    }

    fn checksum(answer: &[u8]) -> Checksum {
        let mut sums = AggregationSums::default();
        sums.add_answer(answer).unwrap();
        sums.checksum()
    }

    #[test]
    fn groups_are_compared_by_their_keys() {
        let right = checksum(&answer([("A", 10.0), ("R", 20.0)]));
        assert_eq!(right.rows, 2);
        for (what, wrong) in [
            ("two groups are exchanged", [("A", 20.0), ("R", 10.0)]),
            ("two groups have exchanged their keys", [("R", 10.0), ("A", 20.0)]),
            // The total stays, also if each group counts by its place.
            ("a group has what others lack", [("A", 14.0), ("R", 18.0)]),
            ("a group came twice", [("A", 10.0), ("A", 10.0)]),
            ("two groups came in another order", [("R", 20.0), ("A", 10.0)]),
            ("a group has another key", [("A", 10.0), ("N", 20.0)]),
        ] {
            assert!(!checksum(&answer(wrong)).matches(&right, 1e-9), "{what}");
        }
        assert!(AggregationSums::default().add_answer(&answer([("A", 1.0), ("", 1.0)])).is_err());
    }
}
