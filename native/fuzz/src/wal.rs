//! The write-ahead log: the replay of damaged files.

use std::cell::OnceCell;
use std::fs;
use std::path::{Path, PathBuf};

use boundary_bench_server::points::{Entry, Wal, read_entry, replay};

use crate::input::Input;
use crate::memory::Bound;

/// The bound of the reader of an entry. An entry has a few arrays, and names.
const ENTRY: Bound = Bound { times: 64, for_any: 16 << 10 };

/// A folder that is removed when its thread ends.
struct Folder(PathBuf);

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

thread_local! {
    static FOLDER: OnceCell<Folder> = const { OnceCell::new() };
}

/// Runs `work` in an empty folder, in memory if the system has `/dev/shm`: syncs take no time there.
fn in_folder<T>(work: impl FnOnce(&Path) -> T) -> T {
    FOLDER.with(|folder| {
        let Folder(path) = folder.get_or_init(|| {
            let memory = Path::new("/dev/shm");
            let parent = if memory.is_dir() { memory.to_owned() } else { std::env::temp_dir() };
            let thread = format!("{:?}", std::thread::current().id());
            let number: String = thread.chars().filter(char::is_ascii_digit).collect();
            Folder(parent.join(format!("boundary-bench-fuzz-{}-{number}", std::process::id())))
        });
        let _ = fs::remove_dir_all(path);
        fs::create_dir_all(path).expect("a folder");
        work(path)
    })
}

/// All entries, or `None` if the log is refused as damaged.
fn entries(folder: &Path) -> Option<Vec<Vec<u8>>> {
    let mut entries = Vec::new();
    let visit = |entry: &[u8]| {
        entries.push(entry.to_vec());
        Ok(())
    };
    replay(folder, 0, visit).ok().map(|()| entries)
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut files: Vec<_> = fs::read_dir(folder)
        .expect("a folder")
        .map(|file| file.expect("a file").path())
        .filter(|path| path.is_file())
        .collect();
    files.sort();
    files
}

/// The input: operations on a log, each a byte and its arguments. Appends and rotations make the files. Then the log is closed
/// and the files are damaged: cut, changed, or rewritten with bytes of the input.
pub(crate) fn log(bytes: &[u8]) {
    in_folder(|folder| {
        let mut input = Input(bytes);
        let mut appended = Vec::new();
        let operations = input.byte() % 16;
        {
            let log = Wal::open(folder, true).expect("a log");
            for _ in 0..operations {
                if input.byte() % 4 == 3 {
                    log.rotate().expect("a new file");
                } else {
                    let length = input.byte().into();
                    let entry = input.take(length).to_vec();
                    log.append(|out| out.extend_from_slice(&entry)).expect("an append");
                    appended.push(entry);
                }
            }
        }
        assert_eq!(entries(folder).as_ref(), Some(&appended), "what was appended is replayed");
        // Whether the files hold bytes of the input. These may have valid checksums.
        let mut is_foreign = false;
        while !input.is_empty() {
            let files = files(folder);
            let [file, kind] = input.array();
            let Some(path) = files.get(usize::from(file) % files.len().max(1)) else { break };
            let mut content = fs::read(path).expect("a file");
            let at = usize::from(u16::from_le_bytes(input.array())).min(content.len());
            match kind % 4 {
                0 => content.truncate(at),
                1 => content.iter_mut().skip(at).take(1).for_each(|byte| *byte ^= input.byte().max(1)),
                other => {
                    let foreign = input.sized();
                    is_foreign |= !foreign.is_empty();
                    content.truncate(if other == 2 { at } else { content.len() });
                    content.extend_from_slice(foreign);
                }
            }
            fs::write(path, content).expect("a file");
        }
        let Some(first) = entries(folder) else { return };
        // Every replayed entry was appended, and their order is the order of the appends.
        let mut rest = appended.iter();
        let is_part = first.iter().all(|entry| rest.any(|appended| appended == entry));
        assert!(is_part || is_foreign, "{first:?} of {appended:?}");
        assert_eq!(entries(folder).as_ref(), Some(&first), "a second replay sees the same");
        // An entry appended later is replayed after the kept entries.
        let Ok(log) = Wal::open(folder, true) else { return };
        log.append(|out| out.extend_from_slice(b"later")).expect("an append");
        drop(log);
        let mut expected = first;
        expected.push(b"later".to_vec());
        assert_eq!(entries(folder), Some(expected));
    });
}

pub(crate) fn entry(bytes: &[u8]) {
    let read = ENTRY.check(bytes.len(), || read_entry(bytes));
    let Some((database, points)) = read else { return };
    // All points can be read, and an entry written from the points is read as the same points.
    let values: usize = points.iter().map(|point| point.fields().count()).sum();
    assert_eq!(values, points.values.len());
    let mut written = Vec::new();
    Entry::of_points(database, &points).write(&mut written);
    let (again, same) = read_entry(&written).expect("an entry that was written");
    assert_eq!((again, format!("{same:?}")), (database, format!("{points:?}")));
}
