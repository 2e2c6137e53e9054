"""The sharded store as clients of gRPC see it that nobody here wrote: grpcio, whose messages come from the server's reflection,
and pyarrow, which makes and reads the rows. What is not in the reflection is done as the words of the proto say.

Takes the addresses (host:port) of empty shards in their order. Prints the names of the checks that hold; the first that does not
ends it with an error.
"""

import struct
import sys

import grpc
import pyarrow as pa
import pyarrow.compute as pc
from google.protobuf import descriptor_pool, message_factory
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha.proto_reflection_descriptor_database import ProtoReflectionDescriptorDatabase

SHARDS = sys.argv[1:]
SERVICE = "boundary_bench.shards.v1.ShardService"
ROWS = 30_000
WORD = 0xFFFFFFFF
PACKED = struct.Struct("<qidq172s")
SCHEMA = pa.schema(
    [
        pa.field("key", pa.int64(), nullable=False),
        pa.field("quantity", pa.int32(), nullable=False),
        pa.field("price", pa.float64(), nullable=False),
        pa.field("updated_at", pa.int64(), nullable=False),
        pa.field("payload", pa.binary(172), nullable=False),
    ]
)


class Shard:
    """A shard whose methods and messages are those that it tells of."""

    def __init__(self, address):
        self.channel = grpc.insecure_channel(address)
        self.database = ProtoReflectionDescriptorDatabase(self.channel)
        self.pool = descriptor_pool.DescriptorPool(self.database)
        self.service = self.pool.FindServiceByName(SERVICE)

    def message(self, name, **fields):
        descriptor = self.pool.FindMessageTypeByName(f"boundary_bench.shards.v1.{name}")
        return message_factory.GetMessageClass(descriptor)(**fields)

    def method(self, name):
        method = self.service.methods_by_name[name]
        arity = {(False, False): "unary_unary", (False, True): "unary_stream", (True, False): "stream_unary"}
        answer = message_factory.GetMessageClass(method.output_type)
        return getattr(self.channel, arity[method.client_streaming, method.server_streaming])(
            f"/{SERVICE}/{name}",
            request_serializer=lambda message: message.SerializeToString(),
            response_deserializer=answer.FromString,
        )

    def call(self, name, **fields):
        return self.method(name)(self.message(f"{name}Request", **fields), timeout=60)

    def populate(self, table, total=ROWS, replace=False, rows=None):
        return self.method("Populate")(self.pieces(table, total, replace, rows), timeout=60)

    def pieces(self, table, total, replace, rows=None):
        begin = self.message("PopulateBegin", rows=table.num_rows if rows is None else rows, total_rows=total, replace=replace)
        yield self.message("PopulateRequest", begin=begin)
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, table.schema) as writer:
            writer.write_table(table, max_chunksize=4096)
        stream = memoryview(sink.getvalue())
        at = 0
        while at < len(stream):
            end = at + 8 + struct.unpack_from("<I", stream, at + 4)[0]
            if end == at + 8:
                yield self.message("PopulateRequest", ipc_header=bytes(stream[at:end]))
                break
            body = pa.ipc.read_message(stream[at:]).body
            size = 0 if body is None else body.size
            yield self.message("PopulateRequest", ipc_header=bytes(stream[at:end]), ipc_body=bytes(stream[end : end + size]))
            at = end + size

    def scan(self):
        """All rows by pyarrow: the pieces are one stream of Arrow."""
        stream = self.method("Scan")(self.message("ScanRequest"), timeout=60)
        return pa.ipc.open_stream(b"".join(part for piece in stream for part in (piece.ipc_header, piece.ipc_body))).read_all()


def mix(x):
    x ^= x >> 16
    x = x * 0x85EBCA6B & WORD
    x ^= x >> 13
    x = x * 0xC2B2AE35 & WORD
    return x ^ x >> 16


def hash_of(key):
    return mix(key & WORD ^ mix(key >> 32 & WORD ^ 0x9E3779B9))


def shard_of(key):
    return hash_of(key) * len(SHARDS) >> 32


def made(key):
    base = mix(hash_of(key) + 0x5EED5EED & WORD)
    payload = struct.pack("<43I", *(base + j * 0x9E3779B1 & WORD for j in range(43)))
    return (key, base % 100, (base >> 8) % 40000 * 0.25, 1_700_000_000_000_000 + key * 1000, payload)


def table_of(rows):
    return pa.table([list(column) for column in zip(*rows)] if rows else [[]] * 5, schema=SCHEMA)


def refused(work, status, code=None, shard=None, *words):
    """The error of a call that must fail: its status of gRPC, and what its metadata says."""
    try:
        work()
    except grpc.RpcError as error:
        metadata = dict(error.trailing_metadata() or ())
        assert error.code() is status, error
        assert metadata.get("bb-code") == code, (metadata, error)
        assert metadata.get("bb-shard") == (None if shard is None else str(shard)), (metadata, error)
        for word in words:
            assert word in error.details(), error
        return
    raise AssertionError("it did not fail")


def shards_tell_what_they_are(shards):
    for index, shard in enumerate(shards):
        assert {SERVICE, "grpc.health.v1.Health"} <= set(shard.database.get_services()), shard.database.get_services()
        described = shard.call("Describe")
        assert (described.shard, described.shards) == (index, len(shards)), described
        assert (described.rows, described.populated, described.persistent) == (0, False, False), described
        assert described.max_message_bytes == 4 << 20


def their_health_is_told(shards):
    serving = health_pb2.HealthCheckResponse.SERVING
    for shard in shards:
        health = health_pb2_grpc.HealthStub(shard.channel)
        for service in ("", SERVICE):
            assert health.Check(health_pb2.HealthCheckRequest(service=service), timeout=60).status == serving
        watch = health.Watch(health_pb2.HealthCheckRequest(service=SERVICE), timeout=60)
        assert next(watch).status == serving
        watch.cancel()
        refused(lambda: health.Check(health_pb2.HealthCheckRequest(service="none"), timeout=60), grpc.StatusCode.NOT_FOUND)


def rows_of_pyarrow_are_taken(shards, tables):
    for index, (shard, table) in enumerate(zip(shards, tables)):
        assert shard.populate(table).rows == table.num_rows
        described = shard.call("Describe")
        assert (described.rows, described.populated, described.total_rows) == (table.num_rows, True, ROWS), described
        again = lambda: shard.populate(table)
        refused(again, grpc.StatusCode.INVALID_ARGUMENT, "BB_INVALID_ARGUMENT", index, "rows already")
        assert shard.populate(table, replace=True).rows == table.num_rows


def scans_are_streams_of_arrow(shards, tables):
    for shard, table in zip(shards, tables):
        scanned = shard.scan()
        assert scanned.schema.equals(SCHEMA), scanned.schema
        assert scanned.sort_by("key").equals(table)
        assert scanned.combine_chunks().to_batches()[0].validate(full=True) is None


def rows_are_read_by_their_keys(shards):
    for key in (0, 1, 29_999, 17, 4242):
        row = shards[shard_of(key)].call("Get", key=key).row
        assert (row.key, row.quantity, row.price, row.updated_at, row.payload) == made(key)
    for key in (-1, ROWS, 2**63 - 1, -(2**63)):
        assert not shards[shard_of(key)].call("Get", key=key).HasField("row")
    for index, shard in enumerate(shards):
        keys = [key for key in (*range(-50, 500), 7, 7, 2**62) if shard_of(key) == index]
        answer = shard.call("MultiGet", keys=keys)
        found = [bool(answer.found[place // 8] >> place % 8 & 1) for place in range(len(keys))]
        assert found == [0 <= key < ROWS for key in keys]
        assert len(answer.found) == (len(keys) + 7) // 8
        assert list(PACKED.iter_unpack(answer.rows)) == [made(key) for key in keys if 0 <= key < ROWS]
        assert shard.call("MultiGet").ByteSize() == 0


def rows_are_written(shards):
    row = (-5, -(2**31), -0.0, -(2**63), bytes(range(172)))
    shard = shards[shard_of(-5)]
    message = shard.message("Row", key=row[0], quantity=row[1], price=row[2], updated_at=row[3], payload=row[4])
    before = shard.call("Describe").rows
    shard.call("Put", row=message)
    shard.call("Put", row=message)
    assert shard.call("Get", key=-5).row == message
    other = [made(key) for key in range(ROWS, ROWS + 100) if shard_of(key) == shard_of(-5)]
    # Of several rows with one key, the last one counts.
    shard.call("PutMany", rows=b"".join(PACKED.pack(*row) for row in (*other, made(-5), *other)))
    assert shard.call("Describe").rows == before + 1 + len(other)
    answer = shard.call("MultiGet", keys=[-5, *(row[0] for row in other)])
    assert list(PACKED.iter_unpack(answer.rows)) == [made(-5), *other]


def sums_equal_the_sums_of_pyarrow(shards):
    columns = {"key": 1, "quantity": 2, "price": 3, "updated_at": 4}
    comparisons = {"equal": 1, "not_equal": 2, "less": 3, "less_equal": 4, "greater": 5, "greater_equal": 6}
    for shard in shards:
        table = shard.scan()
        for (name, column), (compare, comparison), (other, value) in (
            (column, comparison, filter)
            for column in columns.items()
            for comparison in comparisons.items()
            for filter in (("quantity", 50), ("price", 5000.25), ("key", 12_345), ("updated_at", 1_700_000_015_000_000))
        ):
            number = shard.message("Number", **{"real" if other == "price" else "integer": value})
            filter = shard.message("Filter", column=columns[other], comparison=comparison, value=number)
            answer = shard.call("Aggregate", column=column, filter=filter)
            passed = table.filter(getattr(pc, compare)(table[other], value))[name]
            assert answer.count == len(passed), (name, compare, other)
            assert answer.HasField("min") == answer.HasField("max") == (len(passed) > 0)
            if len(passed) == 0:
                continue
            kind = "real" if name == "price" else "integer"
            extremes = pc.min_max(passed).as_py()
            assert {"min": getattr(answer.min, kind), "max": getattr(answer.max, kind)} == extremes
            integer_sum = (answer.integer_sum_high << 64) + answer.integer_sum_low
            assert (answer.real_sum if name == "price" else integer_sum) == sum(passed.to_pylist())
        assert shard.call("Aggregate", column=1).count == table.num_rows


def sums_beyond_64_bits_hold(shards):
    keys = [key for key in (2**63 - 1 - i for i in range(60)) if shard_of(key) == 0][:5]
    assert len(keys) == 5
    shards[0].call("PutMany", rows=b"".join(PACKED.pack(key, 0, 0.0, sign * (2**63 - 1), b"") for key in keys for sign in (1, -1)))
    number = shards[0].message("Number", integer=2**62)
    high = shards[0].message("Filter", column=1, comparison=5, value=number)
    for column, expected in ((1, sum(keys)), (4, -5 * (2**63 - 1))):
        answer = shards[0].call("Aggregate", column=column, filter=high)
        assert (answer.integer_sum_high << 64) + answer.integer_sum_low == expected, answer


def errors_have_codes_and_shards(shards):
    for index, shard in enumerate(shards):
        invalid = (grpc.StatusCode.INVALID_ARGUMENT, "BB_INVALID_ARGUMENT", index)
        short = shard.message("Row", key=1, payload=bytes(171))
        refused(lambda: shard.call("Put"), *invalid)
        refused(lambda: shard.call("Put", row=short), *invalid, "171 bytes")
        refused(lambda: shard.call("PutMany", rows=bytes(199)), *invalid, "no whole rows")
        refused(lambda: shard.call("Aggregate"), *invalid)
        refused(lambda: shard.call("Aggregate", column=99), *invalid)
        real = shard.message("Filter", column=1, comparison=1, value=shard.message("Number", real=0.5))
        refused(lambda: shard.call("Aggregate", column=1, filter=real), *invalid)
        refused(lambda: shard.call("MultiGet", keys=[0] * 25_000), *invalid, "fit into an answer")
        # gRPC itself refuses this message, without a code of ours.
        refused(lambda: shard.call("PutMany", rows=bytes(200 * 21_000)), grpc.StatusCode.OUT_OF_RANGE)
        plain = shard.channel.unary_unary(f"/{SERVICE}/Drop", bytes, bytes)
        refused(lambda: plain(b"", timeout=60), grpc.StatusCode.UNIMPLEMENTED)
        wrong = shard.channel.unary_unary(f"/{SERVICE}/Get", bytes, bytes)
        refused(lambda: wrong(b"\xff\xff\xff", timeout=60), grpc.StatusCode.INTERNAL)
        assert shard.call("Describe").rows > 0


def populations_that_are_wrong_are_refused(shards, tables):
    shard, table = shards[2], tables[2]
    before = shard.call("Describe").rows
    populate = lambda pieces: shard.method("Populate")(iter(pieces), timeout=60)
    invalid = (grpc.StatusCode.INVALID_ARGUMENT, "BB_INVALID_ARGUMENT", 2)
    refused(lambda: populate([]), *invalid, "how to begin")
    refused(lambda: shard.populate(table), *invalid, "rows already")
    refused(lambda: shard.populate(table, replace=True, rows=2**62), grpc.StatusCode.RESOURCE_EXHAUSTED, "BB_NOT_ENOUGH_MEMORY", 2)
    assert shard.call("Describe").rows == before
    schema = (grpc.StatusCode.INVALID_ARGUMENT, "BB_SCHEMA_MISMATCH", 2)
    refused(lambda: shard.populate(table.rename_columns(["k", *table.column_names[1:]]), replace=True), *schema)
    refused(lambda: shard.populate(table.select(range(4)), replace=True), *schema)
    refused(lambda: shard.populate(table.set_column(1, "quantity", table["key"]), replace=True), *schema)
    stream = (grpc.StatusCode.INVALID_ARGUMENT, "BB_INVALID_IPC", 2)
    refused(lambda: populate(list(shard.pieces(table, ROWS, True))[:-1]), *stream, "broke off")
    begin = shard.message("PopulateBegin", rows=1, total_rows=1, replace=True)
    garbage = shard.message("PopulateRequest", begin=begin, ipc_header=bytes(range(100)))
    refused(lambda: populate([garbage]), *stream)
    # After any of these errors a population succeeds.
    assert shard.populate(table, replace=True).rows == table.num_rows
    assert shard.scan().sort_by("key").equals(table)


def deadlines_and_cancellations_end_calls(shards, tables):
    shard, table = shards[1], tables[1]
    before = shard.call("Describe").rows
    stream = shard.method("Scan")(shard.message("ScanRequest"), timeout=60)
    next(stream)
    stream.cancel()
    refused(lambda: list(stream), grpc.StatusCode.CANCELLED)

    def endless():
        yield from list(shard.pieces(table, ROWS, True))[:2]
        while True:
            yield shard.message("PopulateRequest")

    try:
        shard.method("Populate")(endless(), timeout=0.3)
        raise AssertionError("it did not fail")
    except grpc.RpcError as error:
        # Client and shard both check the deadline; the shard adds its code.
        assert error.code() is grpc.StatusCode.DEADLINE_EXCEEDED, error
        assert dict(error.trailing_metadata() or ()).get("bb-code") in (None, "BB_TIMEOUT"), error
    # A population that breaks off changes nothing.
    described = shard.call("Describe")
    assert described.populated and described.rows == before, described
    assert shard.populate(table, replace=True).rows == table.num_rows


def main():
    print(f"grpcio {grpc.__version__}, pyarrow {pa.__version__}")
    shards = [Shard(address) for address in SHARDS]
    rows = [[] for _ in SHARDS]
    for key in range(ROWS):
        rows[shard_of(key)].append(made(key))
    tables = [table_of(part) for part in rows]

    def check(name, *arguments):
        globals()[name](*arguments)
        print(name.replace("_", " "), flush=True)

    check("shards_tell_what_they_are", shards)
    check("their_health_is_told", shards)
    check("rows_of_pyarrow_are_taken", shards, tables)
    check("scans_are_streams_of_arrow", shards, tables)
    check("rows_are_read_by_their_keys", shards)
    check("rows_are_written", shards)
    check("sums_equal_the_sums_of_pyarrow", shards)
    check("sums_beyond_64_bits_hold", shards)
    check("errors_have_codes_and_shards", shards)
    check("populations_that_are_wrong_are_refused", shards, tables)
    check("deadlines_and_cancellations_end_calls", shards, tables)


main()
