"""Flight SQL as clients see it that nobody here wrote: ADBC's driver, and pyarrow's Flight.

Takes the host and port of a server with an empty database, its user and its password. Prints the names of the checks that hold;
the first that does not ends it with an error.
"""

import decimal
import pathlib
import sys
import time

import adbc_driver_flightsql
import adbc_driver_flightsql.dbapi as dbapi
import adbc_driver_manager
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.flight as flight

PLACE, USER, PASSWORD = sys.argv[1:4]
ROWS = 1_000_000


def connect(**options):
    options = {"username": USER, "password": PASSWORD, **options}
    return dbapi.connect(f"grpc://{PLACE}", db_kwargs=options, autocommit=True)


def refused(work, *words):
    """The error of work that must fail, and must say so."""
    try:
        work()
    except (adbc_driver_manager.Error, flight.FlightError, pa.ArrowException) as error:
        for word in words:
            assert word.lower() in str(error).lower(), f"{word!r} is not in: {error}"
        return error
    raise AssertionError("it did not fail")


def a_login_is_asked_for():
    refused(lambda: connect(password="wrong"), "password")


def queries_with_parameters(cursor):
    cursor.execute("SELECT $1 + 1 AS next, $2 AS text, $3 AS nothing", (41, "ä漢", None))
    assert cursor.fetchall() == [(42, "ä漢", None)]
    cursor.execute("CREATE TABLE t (id INTEGER NOT NULL, name VARCHAR, price DECIMAL(10, 2), day DATE)")
    cursor.executemany("INSERT INTO t VALUES ($1, $2, $3::DECIMAL(10, 2), '2024-02-29')", [(1, "a", 1.5), (2, None, 2.25)])
    cursor.execute("SELECT id, name, price::VARCHAR, day::VARCHAR FROM t WHERE id >= ? ORDER BY id", (1,))
    assert cursor.fetchall() == [(1, "a", "1.50", "2024-02-29"), (2, None, "2.25", "2024-02-29")]
    # A statement that stays prepared.
    for parameter in (1, 2, 3):
        cursor.execute("SELECT count(*) FROM t WHERE id < ?", (parameter,))
        assert cursor.fetchone() == (parameter - 1,)


def errors_say_what_is_wrong(cursor):
    refused(lambda: cursor.execute("SELEC 1"), "syntax error")
    refused(lambda: cursor.execute("SELECT * FROM missing"), "missing")
    refused(lambda: cursor.execute("SELECT 1/0 + 'x'::INTEGER").fetchall(), "x")
    refused(lambda: cursor.execute("SELECT * FROM read_text('/etc/hostname')"), "disabled")
    cursor.execute("SELECT 1 AS one")
    assert cursor.fetchone() == (1,)


def tables_are_listed(connection):
    objects = connection.adbc_get_objects(depth="all", table_name_filter="t").read_all().to_pylist()
    tables = [t for c in objects for s in c["catalog_db_schemas"] for t in s["db_schema_tables"]]
    assert [t["table_name"] for t in tables] == ["t"], tables
    assert [c["column_name"] for c in tables[0]["table_columns"]] == ["id", "name", "price", "day"]
    schema = connection.adbc_get_table_schema("t")
    assert schema.field("id").type == pa.int32() and not schema.field("id").nullable
    assert schema.field("price").type == pa.decimal128(10, 2)
    assert set(connection.adbc_get_table_types()) == {"TABLE", "VIEW"}
    assert connection.adbc_get_info()["vendor_name"] == "boundary-bench"


def measurements():
    i = pa.array(range(ROWS), pa.int32())
    return pa.table({"id": i, "value": pc.multiply(i.cast(pa.float64()), 0.5), "text": pc.cast(i, pa.string())})


def rows_are_ingested(cursor):
    table = measurements()
    # ADBC's driver sends no message beyond 16 MiB.
    whole = lambda: table.to_reader(max_chunksize=100_000)
    create = cursor.adbc_ingest("m", whole(), mode="create")
    assert create in (ROWS, -1), create
    refused(lambda: cursor.adbc_ingest("m", table.slice(0, 1), mode="create"), "exists")
    cursor.adbc_ingest("m", table.slice(0, 10), mode="append")
    cursor.adbc_ingest("fresh", table.slice(0, 7), mode="create_append")
    cursor.execute("SELECT count(*), sum(id), count(DISTINCT text) FROM m")
    assert cursor.fetchone() == (ROWS + 10, ROWS * (ROWS - 1) // 2 + 45, ROWS)
    cursor.adbc_ingest("m", whole(), mode="replace")
    cursor.execute("SELECT count(*) FROM m")
    assert cursor.fetchone() == (ROWS,)
    refused(lambda: cursor.adbc_ingest("m", pa.table({"other": [1]}), mode="append"), "other")
    refused(lambda: cursor.adbc_ingest("gone", table.slice(0, 1), mode="append"), "gone")


def large_results_stream(cursor):
    cursor.execute("SELECT * FROM m ORDER BY id")
    reader = cursor.fetch_record_batch()
    rows, total = 0, 0
    for batch in reader:
        rows += batch.num_rows
        total += pc.sum(batch.column("id")).as_py()
    assert (rows, total) == (ROWS, ROWS * (ROWS - 1) // 2)
    # Far more rows than fit in memory: the server makes only the rows that are read.
    cursor.execute("SELECT range AS n, repeat('x', 100) AS text FROM range(10000000000)")
    reader = cursor.fetch_record_batch()
    assert reader.read_next_batch().num_rows > 0
    reader.close()
    cursor.execute("SELECT 1")
    assert cursor.fetchone() == (1,)


def wide_rows_come_in_messages_that_clients_take(cursor):
    cursor.execute("SELECT repeat('x', 1000) AS text FROM range(50000)")
    assert sum(len(text) for (text,) in cursor.fetchall()) == 50_000_000


def field(number, value):
    """A field of a message of protocol buffers: bytes, or a number."""
    def varint(n):
        out = b""
        while n > 0x7F:
            out, n = out + bytes([n & 0x7F | 0x80]), n >> 7
        return out + bytes([n])

    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    return varint(number << 3 | 2) + varint(len(value)) + value


def command(name, *fields):
    url = f"type.googleapis.com/arrow.flight.protocol.sql.{name}".encode()
    return flight.FlightDescriptor.for_command(field(1, url) + field(2, b"".join(fields)))


def query(sql):
    return command("CommandStatementQuery", field(1, sql.encode()))


def pyarrow_reads_and_writes(client, options):
    info = client.get_flight_info(query("SELECT * FROM m"), options)
    assert info.schema.names == ["id", "value", "text"]
    table = client.do_get(info.endpoints[0].ticket, options).read_all()
    assert table.num_rows == ROWS and table.schema == info.schema
    target = command("CommandStatementIngest", field(1, field(1, 1) + field(2, 1)), field(2, b"p"))
    writer, reader = client.do_put(target, table.schema, options)
    for batch in table.to_batches(max_chunksize=50_000):
        writer.write_batch(batch)
    writer.done_writing()
    result = reader.read().to_pybytes()
    assert result == field(1, ROWS), result
    writer.close()
    refused(lambda: client.get_flight_info(query("SELECT * FROM nowhere"), options), "nowhere")
    refused(lambda: client.do_get(flight.Ticket(b"none"), options), "not a")


def put(client, options, name, table):
    target = command("CommandStatementIngest", field(1, field(1, 1) + field(2, 2)), field(2, name))
    writer, reader = client.do_put(target, table.schema, options)
    writer.write_table(table)
    writer.done_writing()
    result = reader.read()
    writer.close()
    return result.to_pybytes()


def values_of_other_types_are_stored_exactly(client, options, cursor):
    given = pa.ipc.open_stream((pathlib.Path(__file__).parent / "../fixtures/arrow/types.arrows").read_bytes()).read_all()
    # The first ingestion makes the table, with the columns that hold the values; the others are compressed.
    codecs = [None, "lz4", "zstd"]
    for codec in codecs:
        compressed = flight.FlightCallOptions(headers=HEADERS, write_options=pa.ipc.IpcWriteOptions(compression=codec))
        assert put(client, compressed, b"typed", given) == field(1, 3)
    cursor.execute("SELECT uint64, decimal256, string_view, nanos, berlin, words, runs, nothing FROM typed")
    rows = cursor.fetchall()
    assert len(rows) == 3 * len(codecs) and rows[:3] == rows[3:6] == rows[6:], rows
    assert rows[2][0] == 2**64 - 1 and str(rows[2][1]) == "1234567890123456789012345678.2500", rows[2]
    assert [str(value) for value in rows[0][2:]] == ["a", "2024-02-29 12:30:15.123456", "2024-02-29 12:30:15.123456", "x", "r", "None"], rows[0]
    cursor.execute("CREATE TABLE narrow (i INTEGER, d DATE, t TIMESTAMP, p DECIMAL(5, 1))")
    for values, problem in [
        ({"i": [1, 2.5]}, 'row 1, column "i": 2.5'),
        ({"i": pa.array([2**40])}, "BIGINT"),
        ({"i": ["1"]}, 'column "i": Arrow values of type Utf8'),
        ({"t": pa.array([1], pa.timestamp("ns"))}, "00.000000001"),
        ({"d": pa.array([1], pa.timestamp("us"))}, "TIMESTAMP"),
        ({"p": pa.array([decimal.Decimal("1.25")])}, "1.25"),
    ]:
        refused(lambda: put(client, options, b"narrow", pa.table(values)), problem)
    cursor.execute("SELECT count(*) FROM narrow")
    assert cursor.fetchone() == (0,)


def deadlines_and_cancellations_end_queries(client, options):
    slow = query("SELECT count(*) FROM range(100000000) a, range(100000) b WHERE hash(a.range + b.range) = 1")
    info = client.get_flight_info(slow, options)
    began = time.monotonic()
    short = flight.FlightCallOptions(headers=HEADERS, timeout=0.5)
    error = refused(lambda: client.do_get(info.endpoints[0].ticket, short).read_all())
    assert isinstance(error, flight.FlightTimedOutError), error
    # The server does not work on the query any more, which would take hours.
    assert time.monotonic() - began < 60
    endless = client.get_flight_info(query("SELECT range FROM range(10000000000)"), options)
    stream = client.do_get(endless.endpoints[0].ticket, options)
    stream.read_chunk()
    if hasattr(client, "cancel_flight_info"):
        client.cancel_flight_info(flight.CancelFlightInfoRequest(endless), options)
    else:
        request = flight.Action("CancelFlightInfo", field(1, endless.serialize()))
        status = [result.body.to_pybytes() for result in client.do_action(request, options)]
        assert status == [field(1, 1)], status
    # pyarrow's own loops treat a cancelled call as Ctrl-C.
    refused(lambda: drain(stream), "cancelled")
    other = client.get_flight_info(query("SELECT range FROM range(10000000000)"), options)
    stream = client.do_get(other.endpoints[0].ticket, options)
    stream.read_chunk()
    stream.cancel()
    assert client.do_get(client.get_flight_info(query("SELECT 1"), options).endpoints[0].ticket, options).read_all().num_rows == 1


def drain(stream):
    while True:
        stream.read_chunk()


HEADERS = []


def main():
    print(f"adbc_driver_flightsql {adbc_driver_flightsql.__version__}, pyarrow {pa.__version__}")

    def check(name, *arguments):
        globals()[name](*arguments)
        print(name.replace("_", " "), flush=True)

    check("a_login_is_asked_for")
    with connect() as connection, connection.cursor() as cursor:
        check("queries_with_parameters", cursor)
        check("errors_say_what_is_wrong", cursor)
        check("tables_are_listed", connection)
        check("rows_are_ingested", cursor)
        check("large_results_stream", cursor)
        check("wide_rows_come_in_messages_that_clients_take", cursor)
    client = flight.FlightClient(f"grpc://{PLACE}")
    HEADERS.append(client.authenticate_basic_token(USER, PASSWORD))
    options = flight.FlightCallOptions(headers=HEADERS)
    check("pyarrow_reads_and_writes", client, options)
    with connect() as connection, connection.cursor() as cursor:
        check("values_of_other_types_are_stored_exactly", client, options, cursor)
    check("deadlines_and_cancellations_end_queries", client, options)


main()
