//! The series and fields of databases, with the types of the fields.
//!
//! All of them are in memory; the catalogue behind it is read when it is opened and written where something is new. So a
//! write of what is known takes a lock for reading and a look-up for each series and each set of fields.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use std::path::Path;
use std::sync::{Arc, PoisonError, RwLock};

use super::catalog::{Catalog, DataFile, Record};
use crate::points::{FieldKind, SeriesKey, Shape, parse_key, place_of};
use crate::{Error, Result};

/// What is registered, by name.
pub struct Registry {
    pub(super) catalog: Catalog,
    databases: RwLock<BTreeMap<String, Arc<Database>>>,
    most_series: usize,
}

/// One database.
pub struct Database {
    /// Its name.
    pub name: String,
    names: RwLock<Names>,
}

#[derive(Default)]
struct Names {
    series: HashMap<Arc<str>, u32>,
    keys: Vec<Arc<str>>,
    /// The sets of fields that were written, whose types are known to fit.
    shapes: HashMap<Shape<'static>, u32>,
    shape_list: Vec<Arc<Shape<'static>>>,
    measurements: BTreeMap<Box<str>, BTreeMap<Box<str>, FieldKind>>,
}

/// The numbers of series and sets of fields, in the order in which they were given.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resolved {
    /// Those of the series.
    pub series: Vec<u32>,
    /// Those of the sets of fields.
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
    /// Opens what is registered in a folder. A database may have so many series.
    ///
    /// # Errors
    /// Those of the embedded store.
    pub fn open(directory: &Path, most_series: usize) -> Result<Self> {
        Self::load(directory, most_series).map(|(registry, _)| registry)
    }

    /// As [`Registry::open`], with the files of points.
    pub(super) fn load(directory: &Path, most_series: usize) -> Result<(Self, Vec<DataFile>)> {
        let catalog = Catalog::open(directory)?;
        let mut databases: BTreeMap<String, Names> = BTreeMap::new();
        let mut files = Vec::new();
        for record in catalog.records() {
            match record? {
                Record::Database(name) => drop(databases.entry(name).or_default()),
                Record::Series { database, key } => databases.entry(database).or_default().add_series(&key),
                Record::Field { database, measurement, field, kind } => {
                    let names = databases.entry(database).or_default();
                    names.measurements.entry(measurement.into()).or_default().insert(field.into(), kind);
                }
                Record::File(file) => files.push(file),
            }
        }
        let opened = databases
            .into_iter()
            .map(|(name, names)| (name.clone(), Arc::new(Database { name, names: RwLock::new(names) })));
        let databases = RwLock::new(opened.collect());
        Ok((Self { catalog, databases, most_series }, files))
    }

    /// Creates a database; does nothing where it exists.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for an empty name, and those of the embedded store.
    pub fn create_database(&self, name: &str) -> Result<()> {
        if name.is_empty() {
            return Err(Error::InvalidArgument("a database needs a name".to_owned()));
        }
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

    /// A database.
    ///
    /// # Errors
    /// [`Error::DatabaseNotFound`].
    pub fn database(&self, name: &str) -> Result<Arc<Database>> {
        let databases = read!(self.databases);
        databases.get(name).cloned().ok_or_else(|| Error::DatabaseNotFound(name.to_owned()))
    }

    /// Registers the series and sets of fields of a write, all of them or none.
    ///
    /// # Errors
    /// [`Error::TypeConflict`], [`Error::Cardinality`], and those of the embedded store.
    pub fn register(&self, database: &Database, series: &[SeriesKey<'_>], shapes: &[Shape<'_>]) -> Result<Resolved> {
        let known = read!(database.names).known(series, shapes);
        if let Some(resolved) = known {
            return Ok(resolved);
        }
        let mut names = write!(database.names);
        let fields = names.new_fields(shapes)?;
        let mut added: Vec<&str> = series.iter().map(|series| series.text.as_ref()).collect();
        added.retain(|key| !names.series.contains_key(*key));
        added.sort_unstable();
        added.dedup();
        let most_of_either = (names.series.len() + added.len()).max(names.shapes.len() + shapes.len());
        if most_of_either > self.most_series {
            return Err(Error::Cardinality { database: database.name.clone(), most: self.most_series });
        }
        self.catalog.add_names(&database.name, &added, &fields)?;
        for key in added {
            names.add_series(key);
        }
        for (measurement, field, kind) in fields {
            names.measurements.entry(measurement.into()).or_default().insert(field.into(), kind);
        }
        for shape in shapes {
            names.add_shape(shape);
        }
        names
            .known(series, shapes)
            .ok_or_else(|| boundary_bench_core::Error::Internal("what was registered is not there".to_owned()).into())
    }
}

impl Names {
    fn known(&self, series: &[SeriesKey<'_>], shapes: &[Shape<'_>]) -> Option<Resolved> {
        let series = series.iter().map(|series| self.series.get(series.text.as_ref()).copied());
        // The map's keys live longer than these, so that they are compared as if they lived as long.
        let known: &HashMap<Shape<'_>, u32> = &self.shapes;
        let shapes = shapes.iter().map(|shape| known.get(shape).copied());
        Some(Resolved { series: series.collect::<Option<_>>()?, shapes: shapes.collect::<Option<_>>()? })
    }

    /// The fields that are new or become wider, each once. Their types must not contradict those that are known, nor each
    /// other.
    fn new_fields<'a>(&self, shapes: &'a [Shape<'_>]) -> Result<Vec<(&'a str, &'a str, FieldKind)>> {
        let mut added: HashMap<(&str, &str), FieldKind> = HashMap::new();
        for shape in shapes {
            let measurement = shape.measurement.as_ref();
            let known = self.measurements.get(measurement);
            for (field, kind) in &shape.fields {
                let added_before = added.get(&(measurement, field.as_ref())).copied();
                let registered = added_before.or_else(|| known.and_then(|fields| fields.get(field.as_ref()).copied()));
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

    fn add_series(&mut self, key: &str) {
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
            self.shape_list.push(Arc::new(owned));
        }
    }
}

impl Database {
    /// The key of a series that was registered.
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
        let fields = names.measurements.get(measurement).into_iter().flatten();
        fields.map(|(name, kind)| (name.to_string(), *kind)).collect()
    }

    /// The names of the tags of a measurement, sorted.
    #[must_use]
    pub fn tags(&self, measurement: &str) -> Vec<String> {
        let names = read!(self.names);
        let mut tags: Vec<String> = Vec::new();
        for key in &names.keys {
            let key = parse_key(key);
            if key.measurement() == measurement {
                tags.extend(key.tags().into_iter().map(|(name, _)| name.into_owned()));
                tags.sort_unstable();
                tags.dedup();
            }
        }
        tags
    }
}
