//! Socket reads that tell when the bytes arrived at the kernel, which is before the waiting thread runs.

use std::net::TcpStream;
use std::time::Instant;

/// The result of one read.
#[derive(Debug)]
pub(crate) struct Arrival {
    /// The number of bytes; 0 at the end of the stream.
    pub(crate) count: usize,
    /// When the last byte arrived at the kernel.
    pub(crate) at: Instant,
}

/// Asks the kernel to record when bytes arrive. On systems other than Linux, a byte counts as arrived when it is read.
pub(crate) fn remember_arrivals(stream: &TcpStream) {
    platform::remember_arrivals(stream);
}

/// Reads the available bytes into the buffer, as `Read::read` does.
pub(crate) fn read(stream: &TcpStream, buffer: &mut [u8]) -> std::io::Result<Arrival> {
    platform::read(stream, buffer)
}

#[cfg(target_os = "linux")]
mod platform {
    use std::net::TcpStream;
    use std::os::fd::AsRawFd;
    use std::time::{Duration, Instant, SystemTime};

    use super::Arrival;

    /// The age beyond which a kernel timestamp is ignored: the clock may have been set since.
    const OLDEST: Duration = Duration::from_secs(1);

    /// The words of the control buffer: several times what one timestamp and its aligned header take.
    const CONTROL_WORDS: usize = 16;

    #[expect(clippy::cast_possible_truncation, reason = "it is 4")]
    pub(super) fn remember_arrivals(stream: &TcpStream) {
        let on: libc::c_int = 1;
        let size = size_of::<libc::c_int>() as libc::socklen_t;
        let option = (&raw const on).cast();
        // SAFETY: the option is an integer that lives until the call returns, of the size given.
        let _ = unsafe { libc::setsockopt(stream.as_raw_fd(), libc::SOL_SOCKET, libc::SO_TIMESTAMPNS, option, size) };
    }

    pub(super) fn read(stream: &TcpStream, buffer: &mut [u8]) -> std::io::Result<Arrival> {
        let mut part = libc::iovec { iov_base: buffer.as_mut_ptr().cast(), iov_len: buffer.len() };
        let mut control = [0_u64; CONTROL_WORDS];
        let (count, stamp) = loop {
            // SAFETY: all its fields are integers and pointers, for which zeros are values.
            let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
            message.msg_iov = &raw mut part;
            message.msg_iovlen = 1;
            message.msg_control = control.as_mut_ptr().cast();
            message.msg_controllen = size_of_val(&control) as _;
            // SAFETY: the message points to the buffer and the control words with their sizes; both live until the call returns.
            let read = unsafe { libc::recvmsg(stream.as_raw_fd(), &raw mut message, 0) };
            if let Ok(count) = usize::try_from(read) {
                break (count, stamp(&message));
            }
            let error = std::io::Error::last_os_error();
            if error.kind() != std::io::ErrorKind::Interrupted {
                return Err(error);
            }
        };
        let now = Instant::now();
        let age = stamp.and_then(|stamp| SystemTime::UNIX_EPOCH.elapsed().ok()?.checked_sub(stamp));
        let at = age.filter(|age| *age < OLDEST).and_then(|age| now.checked_sub(age)).unwrap_or(now);
        Ok(Arrival { count, at })
    }

    /// The message's kernel timestamp, as the time since 1970.
    fn stamp(message: &libc::msghdr) -> Option<Duration> {
        // SAFETY: the kernel has filled the message's control words and told their size.
        let head = unsafe { libc::CMSG_FIRSTHDR(message) };
        // SAFETY: it is null, or within the control words, which are aligned for it.
        let head_values = unsafe { head.as_ref() }?;
        if (head_values.cmsg_level, head_values.cmsg_type) != (libc::SOL_SOCKET, libc::SCM_TIMESTAMPNS) {
            return None;
        }
        // SAFETY: what follows a head of this type is a timespec, of any alignment.
        let time: libc::timespec = unsafe { std::ptr::read_unaligned(libc::CMSG_DATA(head).cast()) };
        Some(Duration::new(time.tv_sec.try_into().ok()?, time.tv_nsec.try_into().ok()?))
    }
}

#[cfg(not(target_os = "linux"))]
mod platform {
    use std::io::Read;
    use std::net::TcpStream;
    use std::time::Instant;

    use super::Arrival;

    pub(super) fn remember_arrivals(_: &TcpStream) {}

    pub(super) fn read(mut stream: &TcpStream, buffer: &mut [u8]) -> std::io::Result<Arrival> {
        let count = stream.read(buffer)?;
        Ok(Arrival { count, at: Instant::now() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    use std::io::Write;
    use std::net::TcpListener;
    use std::time::Duration;

    fn pair() -> (TcpStream, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let writer = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        (writer, listener.accept().unwrap().0)
    }

    #[test]
    fn what_is_read_is_what_came_to_its_end() {
        let (mut writer, reader) = pair();
        remember_arrivals(&reader);
        let mut buffer = [0; 5];
        writer.write_all(b"no more than fits").unwrap();
        drop(writer);
        let mut all = Vec::new();
        loop {
            let Arrival { count, .. } = read(&reader, &mut buffer).unwrap();
            if count == 0 {
                break;
            }
            all.extend_from_slice(&buffer[..count]);
        }
        assert_eq!(all, b"no more than fits");
        // An empty buffer reads 0 bytes: neither the end nor an error.
        assert_eq!(read(&reader, &mut []).unwrap().count, 0);
    }

    #[test]
    fn bytes_came_before_they_are_read() {
        let (mut writer, reader) = pair();
        remember_arrivals(&reader);
        let mut came_before = || {
            writer.write_all(b"x").unwrap();
            let written = Instant::now();
            std::thread::sleep(Duration::from_millis(30));
            let arrival = read(&reader, &mut [0; 8]).unwrap();
            assert!(arrival.at <= Instant::now());
            // The wall clock may be corrected meanwhile, the monotonic clock is not.
            arrival.at <= written + Duration::from_millis(15)
        };
        // The kernel begins to record timestamps a little after the first socket of the machine has asked for them.
        let is_remembered = (0..100).any(|_| came_before());
        assert_eq!(is_remembered, cfg!(target_os = "linux"));
    }

    #[test]
    fn without_being_asked_the_kernel_remembers_nothing() {
        let (mut writer, reader) = pair();
        writer.write_all(b"x").unwrap();
        let before = Instant::now();
        let arrival = read(&reader, &mut [0; 8]).unwrap();
        assert_eq!(arrival.count, 1);
        assert!(arrival.at >= before);
    }

    #[test]
    fn a_broken_connection_is_an_error() {
        let (writer, reader) = pair();
        reader.set_read_timeout(Some(Duration::from_millis(1))).unwrap();
        assert!(read(&reader, &mut [0; 8]).is_err());
        drop(writer);
        assert_eq!(read(&reader, &mut [0; 8]).unwrap().count, 0);
    }
}
