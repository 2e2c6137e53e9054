//! Files of which one operation fails, or all from one on, and a simulated crash that loses unsynced bytes.

use std::collections::BTreeMap;
use std::io::{Error, ErrorKind, Result};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard};

use boundary_bench_ingest::store::{Disk, Files, LogFile};

/// Which operations fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// One operation fails. A write leaves half of its bytes; after a failed sync the next one succeeds, without having written
    /// the bytes of the failed one, as on Linux.
    Once(ErrorKind),
    /// All operations from one on fail.
    From(ErrorKind),
}

/// The unsynced bytes that a crash leaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tail {
    Nothing,
    Half,
    Zeros,
}

#[derive(Debug, Default)]
struct World {
    operations: usize,
    fails_at: usize,
    fault: Option<Fault>,
    files: BTreeMap<PathBuf, Known>,
    /// The removed files and their contents; a crash restores them until their folder is synced.
    removed: Vec<(PathBuf, Known)>,
}

/// The state of a file on disk.
#[derive(Debug, Clone, Default)]
struct Known {
    bytes: Vec<u8>,
    /// Ranges of bytes that a failed sync did not write.
    lost: Vec<(usize, usize)>,
    /// Whether the folder's entry of the file is synced.
    is_named: bool,
}

/// An implementation of `Files` that fails.
#[derive(Debug, Clone, Default)]
pub struct Faulty(Arc<Mutex<World>>);

#[derive(Debug)]
pub struct FaultyFile {
    files: Faulty,
    path: PathBuf,
    file: std::fs::File,
}

impl Faulty {
    pub fn new(fails_at: usize, fault: Fault) -> Self {
        let world = World { fails_at, fault: Some(fault), ..World::default() };
        Self(Arc::new(Mutex::new(world)))
    }

    fn world(&self) -> MutexGuard<'_, World> {
        self.0.lock().unwrap()
    }

    /// Whether there were enough operations for one to fail.
    pub fn has_failed(&self) -> bool {
        let world = self.world();
        world.operations > world.fails_at
    }

    fn step(&self) -> Result<()> {
        let mut world = self.world();
        let number = world.operations;
        world.operations += 1;
        match world.fault {
            Some(Fault::Once(kind)) if number == world.fails_at => Err(Error::from(kind)),
            Some(Fault::From(kind)) if number >= world.fails_at => Err(Error::from(kind)),
            _ => Ok(()),
        }
    }

    /// Changes the files to their state after a crash.
    pub fn crash(&self, tail: Tail) {
        let mut world = self.world();
        let removed = std::mem::take(&mut world.removed);
        for (path, known) in std::mem::take(&mut world.files) {
            if !known.is_named {
                let _ = std::fs::remove_file(&path);
                continue;
            }
            let now = std::fs::read(&path).unwrap();
            let mut bytes = known.bytes;
            if now.len() > bytes.len() {
                let unsynced = now.len() - bytes.len();
                match tail {
                    Tail::Nothing => {}
                    Tail::Half => bytes.extend(&now[bytes.len()..now.len() - unsynced / 2]),
                    Tail::Zeros => bytes.resize(now.len(), 0),
                }
            }
            std::fs::write(&path, bytes).unwrap();
        }
        for (path, known) in removed.into_iter().filter(|(_, known)| known.is_named) {
            if !path.exists() {
                std::fs::write(&path, known.bytes).unwrap();
            }
        }
    }
}

impl LogFile for FaultyFile {
    fn write_all(&mut self, bytes: &[u8]) -> Result<()> {
        let outcome = self.files.step();
        let written = if outcome.is_ok() { bytes } else { &bytes[..bytes.len() / 2] };
        std::io::Write::write_all(&mut self.file, written)?;
        outcome
    }

    fn sync(&self) -> Result<()> {
        let outcome = self.files.step();
        let mut now = std::fs::read(&self.path)?;
        let mut world = self.files.world();
        let known = world.files.get_mut(&self.path).unwrap();
        if outcome.is_err() {
            known.lost.push((known.bytes.len(), now.len()));
            return outcome;
        }
        for (from, to) in &known.lost {
            let to = (*to).min(now.len());
            now[(*from).min(to)..to].fill(0);
        }
        known.bytes = now;
        Ok(())
    }

    fn truncate(&mut self, length: u64) -> Result<()> {
        self.files.step()?;
        let mut world = self.files.world();
        let length = usize::try_from(length).unwrap();
        if let Some(known) = world.files.get_mut(&self.path) {
            // Bytes written there from now on are new.
            known.lost.retain(|(from, _)| *from < length);
        }
        self.file.set_len(length as u64)
    }
}

impl Files for Faulty {
    type File = FaultyFile;

    fn create(&self, path: &Path) -> Result<FaultyFile> {
        self.step()?;
        let file = Disk.create(path)?;
        self.world().files.insert(path.to_owned(), Known::default());
        Ok(FaultyFile { files: self.clone(), path: path.to_owned(), file })
    }

    fn open(&self, path: &Path) -> Result<FaultyFile> {
        self.step()?;
        let file = Disk.open(path)?;
        self.world().files.entry(path.to_owned()).or_default();
        Ok(FaultyFile { files: self.clone(), path: path.to_owned(), file })
    }

    fn read(&self, path: &Path) -> Result<Vec<u8>> {
        self.step()?;
        Disk.read(path)
    }

    fn rename(&self, from: &Path, to: &Path) -> Result<()> {
        self.step()?;
        Disk.rename(from, to)?;
        let mut world = self.world();
        if let Some(known) = world.files.remove(from) {
            world.files.insert(to.to_owned(), Known { is_named: false, ..known });
        }
        Ok(())
    }

    fn remove(&self, path: &Path) -> Result<()> {
        self.step()?;
        Disk.remove(path)?;
        let mut world = self.world();
        if let Some(known) = world.files.remove(path) {
            world.removed.push((path.to_owned(), known));
        }
        Ok(())
    }

    fn create_folder(&self, path: &Path) -> Result<()> {
        self.step()?;
        Disk.create_folder(path)
    }

    fn sync_folder(&self, path: &Path) -> Result<()> {
        self.step()?;
        let mut world = self.world();
        let is_in = |file: &Path| file.parent() == Some(path);
        world.files.iter_mut().filter(|(file, _)| is_in(file)).for_each(|(_, known)| known.is_named = true);
        world.removed.retain(|(file, _)| !is_in(file));
        Ok(())
    }
}
