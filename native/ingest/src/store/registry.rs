//! The registry of databases, their series and fields, and the fields' types.
//!
//! All names are in memory. The catalogue behind them is read when the registry is opened, and written where a name is new. A
//! write of known names therefore takes a read lock, and a look-up for each series and each set of fields.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::path::Path;
use std::sync::{Arc, PoisonError, RwLock};

use super::catalog::{Catalog, DataFile, Record};
use crate::points::{FieldKind, SeriesKey, Shape, parse_key, place_of};
use crate::rules::{check_name, check_series, check_shape};
use crate::{Error, Result};

/// The limits on the names of a database. Names are kept in memory, each measurement is a file of each flush, and each tag and
/// field a column of that file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// The series of a database, at most; the same limit holds for its sets of fields.
    pub series: usize,
    /// The measurements of a database, at most.
    pub measurements: usize,
    /// The tags and fields of a measurement, at most.
    pub columns: usize,
}

/// For each series that is allowed, the fields that all sets of fields may have together.
const FIELDS_PER_SERIES: usize = 4;

impl Default for Limits {
    fn default() -> Self {
        Self { series: 1_000_000, measurements: 10_000, columns: 1_024 }
    }
}

/// The registered databases, by name.
pub struct Registry {
    pub(super) catalog: Catalog,
    databases: RwLock<BTreeMap<String, Arc<Database>>>,
    limits: Limits,
}

/// The registered names of one database.
pub struct Database {
    /// The name of the database.
    pub name: String,
    names: RwLock<Names>,
}

/// A new field: its measurement, name and type.
type NewField<'a> = (&'a str, &'a str, FieldKind);

#[derive(Default)]
struct Names {
    series: HashMap<Arc<str>, u32>,
    keys: Vec<Arc<str>>,
    /// The numbers of the shapes that were written, whose types are known to fit.
    shapes: HashMap<Shape<'static>, u32>,
    shape_list: Vec<Arc<Shape<'static>>>,
    /// The number of fields in all shapes together.
    shape_fields: usize,
    measurements: BTreeMap<Box<str>, Measurement>,
}

/// The tags and fields of a measurement.
#[derive(Default)]
struct Measurement {
    tags: BTreeSet<Box<str>>,
    fields: BTreeMap<Box<str>, FieldKind>,
}

/// The numbers of the series and shapes of a write, in the order in which they were given.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resolved {
    /// The numbers of the series.
    pub series: Vec<u32>,
    /// The numbers of the shapes.
    pub shapes: Vec<u32>,
}

macro_rules! read {
    ($lock:expr) => {
        $lock.read().unwrap_or_else(PoisonError::into_inner)
    };
}

macro_rules! write {
    ($lock:expr) => {
        $lock.write().unwrap_or_else(PoisonError::into_inner)
    };
}

impl Registry {
    /// Opens the registry in a folder. A database may have at most `most_series` series.
    ///
    /// # Errors
    /// The errors of the embedded store.
    pub fn open(directory: &Path, most_series: usize) -> Result<Self> {
        let limits = Limits { series: most_series, ..Limits::default() };
        Self::load(directory, limits).map(|(registry, _)| registry)
    }

    /// Opens the registry as [`Registry::open`] does, with the files of points. Names that an older version accepted but that
    /// can't be stored are left out, so that they are refused from now on.
    pub(super) fn load(directory: &Path, limits: Limits) -> Result<(Self, Vec<DataFile>)> {
        let catalog = Catalog::open(directory)?;
        let mut databases: BTreeMap<String, Names> = BTreeMap::new();
        let mut files = Vec::new();
        for record in catalog.records() {
            match record? {
                Record::Database(name) => drop(databases.entry(name).or_default()),
                Record::Series { database, key } => {
                    let names = databases.entry(database).or_default();
                    if check_series(&parse_key(&key)).is_ok() {
                        names.add_series(&key);
                    }
                }
                Record::Field { database, measurement, field, kind } => {
                    let names = databases.entry(database).or_default();
                    let shape = Shape { measurement: measurement.into(), fields: vec![(field.into(), kind)] };
                    if check_shape(&shape).is_ok() {
                        names.add_field(&shape.measurement, &shape.fields[0].0, kind);
                    }
                }
                Record::File(file) => files.push(file),
            }
        }
        let opened = databases
            .into_iter()
            .map(|(name, names)| (name.clone(), Arc::new(Database { name, names: RwLock::new(names) })));
        let databases = RwLock::new(opened.collect());
        Ok((Self { catalog, databases, limits }, files))
    }

    /// Creates a database; does nothing where it exists.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for a name that can't be stored, and the errors of the embedded store.
    pub fn create_database(&self, name: &str) -> Result<()> {
        check_name("database", name)?;
        let mut databases = write!(self.databases);
        if !databases.contains_key(name) {
            self.catalog.add_database(name)?;
            let database = Database { name: name.to_owned(), names: RwLock::default() };
            databases.insert(name.to_owned(), Arc::new(database));
        }
        Ok(())
    }

    /// The names of the databases, sorted.
    #[must_use]
    pub fn databases(&self) -> Vec<String> {
        read!(self.databases).keys().cloned().collect()
    }

    /// The database of this name.
    ///
    /// # Errors
    /// [`Error::DatabaseNotFound`] for an unknown name.
    pub fn database(&self, name: &str) -> Result<Arc<Database>> {
        let databases = read!(self.databases);
        databases.get(name).cloned().ok_or_else(|| Error::DatabaseNotFound(name.to_owned()))
    }

    /// Registers the series and shapes of a write, all or none.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for a name that can't be stored, [`Error::TypeConflict`], [`Error::Cardinality`], and the
    /// errors of the embedded store.
    pub fn register(&self, database: &Database, series: &[SeriesKey<'_>], shapes: &[Shape<'_>]) -> Result<Resolved> {
        let known = read!(database.names).known(series, shapes);
        if let Some(resolved) = known {
            return Ok(resolved);
        }
        self.add(database, series, shapes, Some(&self.limits))
    }

    /// Registers names as [`Registry::register`] does, but without limits: a write in the log was acknowledged.
    pub(super) fn register_logged(
        &self,
        database: &Database,
        series: &[SeriesKey<'_>],
        shapes: &[Shape<'_>],
    ) -> Result<Resolved> {
        self.add(database, series, shapes, None)
    }

    fn add(
        &self,
        database: &Database,
        series: &[SeriesKey<'_>],
        shapes: &[Shape<'_>],
        limits: Option<&Limits>,
    ) -> Result<Resolved> {
        let mut names = write!(database.names);
        let mut added: Vec<&SeriesKey<'_>> =
            series.iter().filter(|series| !names.series.contains_key(series.text.as_ref())).collect();
        added.sort_unstable_by_key(|series| &series.text);
        added.dedup_by_key(|series| &series.text);
        added.iter().try_for_each(|series| check_series(series))?;
        let fields = names.new_fields(shapes)?;
        if let Some(limits) = limits {
            names.check_limits(&database.name, &added, shapes, &fields, limits)?;
        }
        let keys: Vec<&str> = added.iter().map(|series| series.text.as_ref()).collect();
        self.catalog.add_names(&database.name, &keys, &fields)?;
        for key in keys {
            names.add_series(key);
        }
        for (measurement, field, kind) in fields {
            names.add_field(measurement, field, kind);
        }
        for shape in shapes {
            names.add_shape(shape);
        }
        names
            .known(series, shapes)
            .ok_or_else(|| boundary_bench_kernel::Error::Internal("what was registered is not there".to_owned()).into())
    }
}

impl Names {
    fn known(&self, series: &[SeriesKey<'_>], shapes: &[Shape<'_>]) -> Option<Resolved> {
        let series = series.iter().map(|series| self.series.get(series.text.as_ref()).copied());
        // The map's keys have a longer lifetime; the binding shortens it for the comparison.
        let known: &HashMap<Shape<'_>, u32> = &self.shapes;
        let shapes = shapes.iter().map(|shape| known.get(shape).copied());
        Some(Resolved { series: series.collect::<Option<_>>()?, shapes: shapes.collect::<Option<_>>()? })
    }

    /// The fields that are new or become wider, each once. Their names must be storable; their types must not contradict the
    /// registered ones or each other.
    fn new_fields<'a>(&self, shapes: &'a [Shape<'_>]) -> Result<Vec<NewField<'a>>> {
        let mut added: HashMap<(&str, &str), FieldKind> = HashMap::new();
        let all: &HashMap<Shape<'_>, u32> = &self.shapes;
        for shape in shapes.iter().filter(|shape| !all.contains_key(*shape)) {
            check_shape(shape)?;
            let measurement = shape.measurement.as_ref();
            let known = self.measurements.get(measurement);
            for (field, kind) in &shape.fields {
                let added_before = added.get(&(measurement, field.as_ref())).copied();
                let registered =
                    added_before.or_else(|| known.and_then(|known| known.fields.get(field.as_ref()).copied()));
                let Some(widened) = registered.unwrap_or(*kind).widened(*kind) else {
                    return Err(Error::TypeConflict {
                        measurement: measurement.to_owned(),
                        field: field.to_string(),
                        registered: registered.unwrap_or(*kind).name(),
                        written: kind.name(),
                    });
                };
                if registered != Some(widened) {
                    added.insert((measurement, field), widened);
                }
            }
        }
        Ok(added.into_iter().map(|((measurement, field), kind)| (measurement, field, kind)).collect())
    }

    /// Checks the limits for the new names.
    fn check_limits(
        &self,
        database: &str,
        series: &[&SeriesKey<'_>],
        shapes: &[Shape<'_>],
        fields: &[NewField<'_>],
        limits: &Limits,
    ) -> Result<()> {
        // A database that exceeds a limit already stays writable, as long as nothing is added to it.
        let check = |known: usize, new: usize, most: usize, of: &dyn Fn() -> String, what: &'static str| {
            if new == 0 || known + new <= most { Ok(()) } else { Err(Error::Cardinality { of: of(), what, most }) }
        };
        let whole = || format!("the database {database:?}");
        check(self.series.len(), series.len(), limits.series, &whole, "series")?;
        let all: &HashMap<Shape<'_>, u32> = &self.shapes;
        let new_shapes = || shapes.iter().filter(|shape| !all.contains_key(*shape));
        check(self.shapes.len(), new_shapes().count(), limits.series, &whole, "sets of fields")?;
        let shape_fields: usize = new_shapes().map(|shape| shape.fields.len()).sum();
        let most = limits.series.saturating_mul(FIELDS_PER_SERIES).max(limits.columns);
        check(self.shape_fields, shape_fields, most, &whole, "fields in its sets of fields")?;
        // For each measurement, its new tags and the number of its new fields.
        let mut added: HashMap<Cow<'_, str>, (HashSet<Cow<'_, str>>, usize)> = HashMap::new();
        for series in series {
            let measurement = series.measurement();
            let known = self.measurements.get(measurement.as_ref());
            let (tags, _) = added.entry(measurement).or_default();
            let new = |name: &Cow<'_, str>| known.is_none_or(|known| !known.tags.contains(name.as_ref()));
            tags.extend(series.tags().into_iter().map(|(name, _)| Cow::Owned(name.into_owned())).filter(new));
        }
        for (measurement, _, _) in fields {
            added.entry(Cow::Borrowed(measurement)).or_default().1 += 1;
        }
        let new = added.keys().filter(|name| !self.measurements.contains_key(name.as_ref())).count();
        check(self.measurements.len(), new, limits.measurements, &whole, "measurements")?;
        added.iter().try_for_each(|(measurement, (tags, fields))| {
            let known = self.measurements.get(measurement.as_ref());
            let known = known.map_or(0, |known| known.tags.len() + known.fields.len());
            let of = || format!("the measurement {measurement:?}");
            check(known, tags.len() + fields, limits.columns, &of, "tags and fields")
        })
    }

    fn add_field(&mut self, measurement: &str, field: &str, kind: FieldKind) {
        self.measurement(measurement).fields.insert(field.into(), kind);
    }

    fn measurement(&mut self, name: &str) -> &mut Measurement {
        self.measurements.entry(name.into()).or_default()
    }

    fn add_series(&mut self, key: &str) {
        let parsed = parse_key(key);
        let measurement = self.measurement(&parsed.measurement());
        for (name, _) in parsed.tags() {
            if !measurement.tags.contains(name.as_ref()) {
                measurement.tags.insert(name.into());
            }
        }
        let key: Arc<str> = key.into();
        self.series.insert(Arc::clone(&key), place_of(self.keys.len()));
        self.keys.push(key);
    }

    fn add_shape(&mut self, shape: &Shape<'_>) {
        let fields = shape.fields.iter().map(|(name, kind)| (Cow::Owned(name.as_ref().to_owned()), *kind));
        let measurement = Cow::Owned(shape.measurement.as_ref().to_owned());
        let owned = Shape { measurement, fields: fields.collect() };
        let next = place_of(self.shape_list.len());
        if *self.shapes.entry(owned.clone()).or_insert(next) == next {
            self.shape_fields += owned.fields.len();
            self.shape_list.push(Arc::new(owned));
        }
    }
}

impl Database {
    /// The key of the series of this number; empty for an unknown number.
    #[must_use]
    pub fn series_key(&self, series: u32) -> Arc<str> {
        read!(self.names).keys.get(series as usize).cloned().unwrap_or_else(|| "".into())
    }

    pub(super) fn shape(&self, shape: u32) -> Option<Arc<Shape<'static>>> {
        read!(self.names).shape_list.get(shape as usize).cloned()
    }

    /// The number of series.
    #[must_use]
    pub fn series_count(&self) -> usize {
        read!(self.names).keys.len()
    }

    /// The measurements, sorted.
    #[must_use]
    pub fn measurements(&self) -> Vec<String> {
        read!(self.names).measurements.keys().map(ToString::to_string).collect()
    }

    /// The fields of a measurement with their types, sorted by name.
    #[must_use]
    pub fn fields(&self, measurement: &str) -> Vec<(String, FieldKind)> {
        let names = read!(self.names);
        let fields = names.measurements.get(measurement).into_iter().flat_map(|known| &known.fields);
        fields.map(|(name, kind)| (name.to_string(), *kind)).collect()
    }

    /// The names of the tags of a measurement, sorted.
    #[must_use]
    pub fn tags(&self, measurement: &str) -> Vec<String> {
        let names = read!(self.names);
        let tags = names.measurements.get(measurement).into_iter().flat_map(|known| &known.tags);
        tags.map(ToString::to_string).collect()
    }
}
