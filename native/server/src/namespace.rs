//! A network that the kernel simulates: a server in its own network namespace, joined to ours by a pair of virtual network
//! interfaces (veth), each of which delays what it sends (netem). It needs Linux, root, `ip`, `tc`, `unshare` and `nsenter`.
//!
//! A namespace without a name ends with its last process, and takes its interface and so the pair with it: nothing is left,
//! however the server or this process ends.

use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use boundary_bench_core::private_server::{printed, program_folders};
use boundary_bench_core::{Error, Result};

/// The text that [`JOIN`] prints before the name of our interface.
const JOINED: &str = "joined by ";

/// The number of /30 networks in 198.18.0.0/15, the range that is reserved for network benchmarks.
const NETS: u32 = 32_768;

/// The script that makes the pair of interfaces with addresses in the first free network, then becomes the server. Its
/// arguments: our process id, the number of the network to try first, the server and its arguments. An interface named
/// `bb-netN` takes network N.
const JOIN: &str = r#"
set -e
ours=$1 net=$2 tries=0
shift 2
ip link set lo up
until ip link add name inside type veth peer name "bb-net$net" netns "$ours"; do
  tries=$((tries + 1))
  [ "$tries" -lt 16 ]
  net=$(((net + 1) % 32768))
done
first=$((net * 4))
block=198.$((18 + first / 65536)).$((first / 256 % 256))
here=$block.$((first % 256 + 1)) there=$block.$((first % 256 + 2))
nsenter --net="/proc/$ours/ns/net" sh -ec 'ip addr add "$1/30" dev "$2"; ip link set "$2" up' sh "$here" "bb-net$net"
ip addr add "$there/30" dev inside
ip link set inside up
echo "joined by bb-net$net"
exec "$@" --listen "$there:0" --allow-insecure-bind
"#;

/// The script that tries all commands that a simulated network needs, in a namespace that ends with the script.
const TRY: &str = r#"
set -e
nsenter --net="/proc/$1/ns/net" true
ip link add name bb-one type veth peer name bb-two
tc qdisc add dev bb-one root netem delay 1ms
"#;

/// The name of the interface inside the namespace.
const INSIDE: &str = "inside";

/// The packets that netem holds at a time, at most: more than the window of any connection has.
const MOST_PACKETS: &str = "100000";

/// Servers started in namespaces so far; with the process id, the number of the network to try first.
static NEXT_NET: AtomicU32 = AtomicU32::new(0);

/// The delay and bandwidth of a network.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct NetworkOptions {
    /// How much later each byte arrives, in each direction.
    pub delay: Duration,
    /// The bandwidth in megabits a second in each direction: of a connection where a proxy delays, of the server's network
    /// where the kernel does. `None`: unlimited.
    pub megabits: Option<f64>,
}

/// Why the kernel can't simulate a network on this machine; `None`: it can.
#[must_use]
pub fn why_no_kernel_delay() -> Option<String> {
    if cfg!(not(target_os = "linux")) {
        return Some("only Linux has network namespaces".to_owned());
    }
    let mut command = tool("unshare");
    command.args(["--net", "--", "sh", "-c", TRY, "sh"]).arg(std::process::id().to_string());
    run(&mut command).err().map(|reason| reason.lines().last().unwrap_or("unshare failed").to_owned())
}

/// The command that runs a server in its own namespace, with `--listen` and an address there as last arguments.
pub(crate) fn in_namespace(server: &Command) -> Command {
    let net = (std::process::id().wrapping_mul(64)).wrapping_add(NEXT_NET.fetch_add(1, Ordering::Relaxed)) % NETS;
    let mut command = tool("unshare");
    command.args(["--net", "--", "sh", "-c", JOIN, "sh"]);
    command.args([std::process::id().to_string(), net.to_string()]);
    command.arg(server.get_program()).args(server.get_args());
    command
}

/// The name of our interface to a server that [`in_namespace`] started; `folder` holds the server's output.
pub(crate) fn our_card(folder: &Path) -> Result<String> {
    printed(folder, JOINED).ok_or_else(|| Error::Internal("a server in a namespace has not said its card".to_owned()))
}

/// Delays the packets to and from a server. A second call replaces the first one's settings.
pub(crate) fn slow_down(card: &str, process_id: u32, network: &NetworkOptions) -> Result<()> {
    let namespace = format!("--net=/proc/{process_id}/ns/net");
    let mut inside = tool("nsenter");
    inside.args([&namespace, "--", "tc"]).args(netem(INSIDE, network));
    for mut command in [tool_with("tc", netem(card, network)), inside] {
        run(&mut command).map_err(|reason| Error::Engine {
            engine: "shards",
            message: format!("the kernel does not delay {card}: {reason}; --net-by proxy needs no kernel"),
        })?;
    }
    Ok(())
}

/// The arguments of `tc` that delay an interface.
fn netem(card: &str, network: &NetworkOptions) -> Vec<String> {
    let delay = format!("{}us", network.delay.as_micros());
    let words = ["qdisc", "replace", "dev", card, "root", "netem", "limit", MOST_PACKETS, "delay", &delay];
    let rate = network.megabits.map(|megabits| ["rate".to_owned(), format!("{:.0}bit", megabits * 1e6)]);
    words.map(str::to_owned).into_iter().chain(rate.into_iter().flatten()).collect()
}

/// The folders where system programs are looked for besides those of `PATH`; a user's `PATH` often lacks the last two.
const ELSEWHERE: [&str; 4] = ["/usr/bin", "/bin", "/usr/sbin", "/sbin"];

/// The command of a system program.
fn tool(name: &str) -> Command {
    let mut command = Command::new(name);
    // The folders came from `PATH`, so none has a colon and joining them succeeds.
    command.env("PATH", std::env::join_paths(program_folders(&ELSEWHERE)).unwrap_or_default());
    command
}

fn tool_with(name: &str, arguments: Vec<String>) -> Command {
    let mut command = tool(name);
    command.args(arguments);
    command
}

/// Runs a program to its end. Its error output is the error where the program fails.
fn run(command: &mut Command) -> std::result::Result<(), String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output = command.stdin(Stdio::null()).output().map_err(|error| format!("{name}: {error}"))?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    Err(if said.is_empty() { format!("{name}: {}", output.status) } else { said })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_delay_and_a_bandwidth_are_words_of_tc() {
        let network = NetworkOptions { delay: Duration::from_micros(500), megabits: Some(0.5) };
        let words = netem("bb-net7", &network).join(" ");
        assert_eq!(words, "qdisc replace dev bb-net7 root netem limit 100000 delay 500us rate 500000bit");
        let delay_alone = NetworkOptions { megabits: None, ..network };
        assert!(netem("x", &delay_alone).join(" ").ends_with("delay 500us"));
    }

    #[test]
    fn a_server_keeps_its_arguments_in_a_namespace() {
        let mut server = Command::new("/bin/server");
        server.args(["shard", "--shards", "3"]);
        let (first, second) = (in_namespace(&server), in_namespace(&server));
        let words: Vec<_> = first.get_args().map(|word| word.to_string_lossy().into_owned()).collect();
        assert_eq!(words[words.len() - 4..], ["/bin/server", "shard", "--shards", "3"]);
        let net = |command: &Command| command.get_args().nth(7).unwrap().to_string_lossy().parse::<u32>().unwrap();
        assert!(net(&first) < NETS && net(&second) < NETS && net(&first) != net(&second));
    }

    #[test]
    fn what_a_program_says_is_the_reason() {
        let shell = |script: &str| run(tool("sh").args(["-c", script]));
        assert_eq!(shell("true"), Ok(()));
        assert_eq!(shell("echo so >&2; exit 3"), Err("so".to_owned()));
        assert!(shell("exit 3").unwrap_err().contains("exit status: 3"));
        assert!(run(&mut tool("there-is-no-such-program")).unwrap_err().starts_with("there-is-no-such-program: "));
        let network = NetworkOptions { delay: Duration::from_micros(1), megabits: None };
        let refused = slow_down("there-is-none", std::process::id(), &network).unwrap_err().to_string();
        assert!(refused.contains("the kernel does not delay there-is-none"), "{refused}");
    }
}
