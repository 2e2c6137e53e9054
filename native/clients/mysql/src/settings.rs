//! The settings of a new session that the client depends on: the server may have set others at the login than it was told.

use boundary_bench_kernel::Error;

use crate::codec::{CommandResult, Failure};
use crate::connection::Connection;
use crate::url::{Collation, UTC, Url};

/// The settings of a session as the server tells them, or `None` for a setting that it does not know.
#[derive(Debug, Default)]
struct Settings {
    max_packet: Option<usize>,
    /// The character sets in which the server takes statements, compares texts and sends results.
    charsets: [Option<String>; 3],
    collation: Option<String>,
    time_zone: Option<String>,
}

const TIME_ZONE: &str = "@@time_zone";
const MAX_PACKET: &str = "@@max_allowed_packet";
const CHARSETS: &str =
    "@@character_set_client, @@character_set_connection, @@character_set_results, @@collation_connection";

impl Settings {
    /// Asks the server. One of a partial dialect may know only some of the variables.
    async fn ask(connection: &mut Connection) -> CommandResult<Self> {
        if let Some(values) = values(connection, &format!("{MAX_PACKET}, {CHARSETS}, {TIME_ZONE}")).await? {
            return Ok(Self::of(values));
        }
        let mut all = Vec::new();
        for (variables, count) in [(MAX_PACKET, 1), (CHARSETS, 4), (TIME_ZONE, 1)] {
            let mut values = values(connection, variables).await?.unwrap_or_default();
            values.resize(count, None);
            all.append(&mut values);
        }
        Ok(Self::of(all))
    }

    fn of(values: Vec<Option<String>>) -> Self {
        let mut values = values.into_iter().map(|value| value.filter(|value| !value.is_empty()));
        let mut next = || values.next().flatten();
        Self {
            max_packet: next().and_then(|text| text.parse().ok()),
            charsets: [next(), next(), next()],
            collation: next(),
            time_zone: next(),
        }
    }

    /// Whether all texts are UTF-8 of up to four bytes a character, as far as the server tells.
    fn has_utf8mb4(&self) -> bool {
        self.charsets.iter().flatten().all(|name| name.eq_ignore_ascii_case("utf8mb4"))
    }

    /// Whether all texts are UTF-8, perhaps of up to three bytes a character.
    fn has_utf8(&self) -> bool {
        let is_utf8 = |name: &String| ["utf8mb4", "utf8mb3", "utf8"].iter().any(|utf8| name.eq_ignore_ascii_case(utf8));
        self.charsets.iter().flatten().all(is_utf8)
    }

    fn has_collation(&self, collation: Collation) -> bool {
        self.collation.as_ref().is_none_or(|name| name.eq_ignore_ascii_case(collation.name()))
    }
}

/// The values of a row of variables, or `None` if the server refuses them.
async fn values(connection: &mut Connection, variables: &str) -> CommandResult<Option<Vec<Option<String>>>> {
    match connection.texts(&format!("SELECT {variables}")).await {
        Ok(rows) => Ok(Some(rows.into_iter().next().unwrap_or_default())),
        Err(Failure::Refused(_)) => Ok(None),
        Err(lost) => Err(lost),
    }
}

/// Makes sure that the session of a new connection takes and sends UTF-8 with the collation of the URL. Returns the largest packet that
/// the server takes, if it tells. A server that does not know the collation of the login silently takes another character set. In it,
/// texts would be stored as other texts.
///
/// The session also gets the time zone of the URL. The server converts `TIMESTAMP`s to it, and reads and writes them as dates and times
/// without a zone.
pub(crate) async fn settle(connection: &mut Connection, url: &Url) -> CommandResult<Option<usize>> {
    let settings = Settings::ask(connection).await?;
    let wanted = url.time_zone.as_deref().unwrap_or(UTC);
    let is_other = |zone: &String| !zone.eq_ignore_ascii_case(wanted) && (wanted, zone.as_str()) != (UTC, "UTC");
    if settings.time_zone.as_ref().map_or(url.time_zone.is_some(), is_other) {
        // A URL holds no zone with a quote.
        match connection.run(&format!("SET time_zone = '{wanted}'")).await {
            Ok(_) => {}
            // A server that knows one zone only.
            Err(Failure::Refused(_)) if url.time_zone.is_none() => {}
            Err(Failure::Refused(error)) => {
                return Err(Error::Unsupported(format!("{url} does not take the time zone {wanted}: {error}")).into());
            }
            Err(lost) => return Err(lost),
        }
    }
    if settings.has_utf8mb4() && settings.has_collation(url.collation) {
        return Ok(settings.max_packet);
    }
    let wanted = url.collation.name();
    match connection.run(&format!("SET NAMES utf8mb4 COLLATE {wanted}")).await {
        Ok(_) => {}
        // A server that has UTF-8, and no collation that was asked for by name.
        Err(Failure::Refused(_)) if settings.has_utf8() && url.collation == Collation::default() => {
            return Ok(settings.max_packet);
        }
        Err(Failure::Refused(error)) => {
            return Err(unsupported(url, &format!("does not take the collation {wanted}: {error}")));
        }
        Err(lost) => return Err(lost),
    }
    let now = Settings::ask(connection).await?;
    if now.has_utf8() {
        return Ok(now.max_packet.or(settings.max_packet));
    }
    Err(unsupported(
        url,
        &format!("has the character sets {:?} instead of utf8mb4", now.charsets.map(Option::unwrap_or_default)),
    ))
}

fn unsupported(url: &Url, problem: &str) -> Failure {
    let options = Collation::names().join(", ");
    Error::Unsupported(format!("{url} {problem}; set another collation in the URL (collation={options})")).into()
}
