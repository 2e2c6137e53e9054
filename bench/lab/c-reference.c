/*
 * insert.bulk and query.full_scan of the `measurements` family in C, over the libduckdb that the addon uses: a third reference, next to Rust
 * and the crate `duckdb`. `c-reference.mjs` compiles and runs it.
 *
 *   c-reference insert|scan ROWS PIECE reused|fresh
 *
 * Each line on the standard input asks for one execution. The answer is a line of JSON. The same part is timed as in the lanes in Rust. For
 * an insert, it is one transaction from its begin to its commit, without making the input. For a scan, it lasts from preparing the query
 * until its last value is added. `reused`: each piece of input is made in the memory of the previous piece. `fresh`: in memory that the
 * kernel has just given. The CPU time and the page faults are of the whole process, without the share for making the input.
 */
#define _GNU_SOURCE
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>

/* The part of DuckDB's C API that is needed, as its header has it. */
typedef uint64_t idx_t;
typedef struct _duckdb_database *duckdb_database;
typedef struct _duckdb_connection *duckdb_connection;
typedef struct _duckdb_prepared_statement *duckdb_prepared_statement;
typedef struct _duckdb_pending_result *duckdb_pending_result;
typedef struct _duckdb_appender *duckdb_appender;
typedef struct _duckdb_data_chunk *duckdb_data_chunk;
typedef struct _duckdb_vector *duckdb_vector;
typedef struct _duckdb_logical_type *duckdb_logical_type;
typedef struct {
  idx_t deprecated_column_count;
  idx_t deprecated_row_count;
  idx_t deprecated_rows_changed;
  void *deprecated_columns;
  char *deprecated_error_message;
  void *internal_data;
} duckdb_result;
typedef int duckdb_state;
enum { DUCKDB_TYPE_INTEGER = 4, DUCKDB_TYPE_BIGINT = 5, DUCKDB_TYPE_DOUBLE = 11 };
duckdb_state duckdb_open(const char *path, duckdb_database *out);
void duckdb_close(duckdb_database *database);
duckdb_state duckdb_connect(duckdb_database database, duckdb_connection *out);
void duckdb_disconnect(duckdb_connection *connection);
duckdb_state duckdb_query(duckdb_connection connection, const char *query, duckdb_result *out);
const char *duckdb_result_error(duckdb_result *result);
void duckdb_destroy_result(duckdb_result *result);
duckdb_state duckdb_prepare(duckdb_connection connection, const char *query, duckdb_prepared_statement *out);
void duckdb_destroy_prepare(duckdb_prepared_statement *statement);
duckdb_state duckdb_pending_prepared_streaming(duckdb_prepared_statement statement, duckdb_pending_result *out);
duckdb_state duckdb_execute_pending(duckdb_pending_result pending, duckdb_result *out);
void duckdb_destroy_pending(duckdb_pending_result *pending);
duckdb_data_chunk duckdb_fetch_chunk(duckdb_result result);
duckdb_logical_type duckdb_create_logical_type(int type);
void duckdb_destroy_logical_type(duckdb_logical_type *type);
duckdb_data_chunk duckdb_create_data_chunk(duckdb_logical_type *types, idx_t columns);
void duckdb_destroy_data_chunk(duckdb_data_chunk *chunk);
void duckdb_data_chunk_reset(duckdb_data_chunk chunk);
void duckdb_data_chunk_set_size(duckdb_data_chunk chunk, idx_t size);
idx_t duckdb_data_chunk_get_size(duckdb_data_chunk chunk);
duckdb_vector duckdb_data_chunk_get_vector(duckdb_data_chunk chunk, idx_t column);
void *duckdb_vector_get_data(duckdb_vector vector);
idx_t duckdb_vector_size(void);
duckdb_state duckdb_appender_create(duckdb_connection connection, const char *schema, const char *table, duckdb_appender *out);
duckdb_state duckdb_append_data_chunk(duckdb_appender appender, duckdb_data_chunk chunk);
duckdb_state duckdb_appender_flush(duckdb_appender appender);
duckdb_state duckdb_appender_destroy(duckdb_appender *appender);

enum { COLUMNS = 4, ROW_BYTES = 24, SENSORS = 10 };

/* The columns of a piece of input, in one piece of memory. */
typedef struct {
  int64_t *timestamp;
  double *value;
  int32_t *id;
  int32_t *sensor_id;
} Input;

/* The sums over the rows that a query returned. */
typedef struct {
  uint64_t rows;
  int64_t id;
  int64_t sensor_id;
  double value;
  __int128 timestamp;
} Sums;

/* The costs up to a point in time. */
typedef struct {
  double seconds;
  double cpu;
  long minor_faults;
} Costs;

static void fail(const char *what) {
  fprintf(stderr, "c-reference: %s\n", what);
  exit(1);
}

static void expect(duckdb_state state, const char *what) {
  if (state != 0) fail(what);
}

static Costs costs_of(int who) {
  struct timespec now, cpu;
  struct rusage usage;
  /* Reading the clock of the thread brings its account up to date. */
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &cpu);
  if (getrusage(who, &usage) != 0) fail("getrusage");
  clock_gettime(CLOCK_MONOTONIC, &now);
  const double seconds = (double)usage.ru_utime.tv_sec + (double)usage.ru_stime.tv_sec;
  const double micros = (double)usage.ru_utime.tv_usec + (double)usage.ru_stime.tv_usec;
  return (Costs){(double)now.tv_sec + (double)now.tv_nsec * 1e-9, seconds + micros * 1e-6, usage.ru_minflt};
}

static Costs difference(Costs after, Costs before) {
  return (Costs){after.seconds - before.seconds, after.cpu - before.cpu, after.minor_faults - before.minor_faults};
}

static void run(duckdb_connection connection, const char *sql) {
  duckdb_result result;
  if (duckdb_query(connection, sql, &result) != 0) fail(duckdb_result_error(&result));
  duckdb_destroy_result(&result);
}

static void *fresh_memory(size_t bytes) {
  void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) fail("no memory for the input");
  return memory;
}

static Input columns_in(void *memory, idx_t rows) {
  Input input;
  input.timestamp = memory;
  input.value = (double *)(input.timestamp + rows);
  input.id = (int32_t *)(input.value + rows);
  input.sensor_id = input.id + rows;
  return input;
}

static void make(Input input, idx_t first, idx_t rows) {
  for (idx_t row = 0; row < rows; row++) {
    const idx_t index = first + row;
    input.id[row] = (int32_t)index;
    input.sensor_id[row] = (int32_t)(index % SENSORS);
    input.value[row] = (double)index * 0.1;
    input.timestamp[row] = 1700000000000 + (int64_t)index * 1000;
  }
}

static void append(duckdb_appender appender, duckdb_data_chunk chunk, Input input, idx_t rows) {
  const idx_t most = duckdb_vector_size();
  for (idx_t start = 0; start < rows; start += most) {
    const idx_t count = rows - start < most ? rows - start : most;
    duckdb_data_chunk_reset(chunk);
    void *vectors[COLUMNS];
    for (idx_t column = 0; column < COLUMNS; column++) {
      vectors[column] = duckdb_vector_get_data(duckdb_data_chunk_get_vector(chunk, column));
    }
    memcpy(vectors[0], input.id + start, count * sizeof(int32_t));
    memcpy(vectors[1], input.sensor_id + start, count * sizeof(int32_t));
    memcpy(vectors[2], input.value + start, count * sizeof(double));
    memcpy(vectors[3], input.timestamp + start, count * sizeof(int64_t));
    duckdb_data_chunk_set_size(chunk, count);
    expect(duckdb_append_data_chunk(appender, chunk), "append");
  }
}

/* Inserts the rows into the empty table. `kept` is memory for a piece, or NULL if each piece is to have fresh memory. */
static Costs insert(duckdb_connection connection, idx_t rows, idx_t piece, void *kept) {
  const size_t bytes = piece * ROW_BYTES;
  Costs paused = {0, 0, 0};
  const Costs before = costs_of(RUSAGE_SELF);
  run(connection, "BEGIN TRANSACTION");
  duckdb_appender appender;
  expect(duckdb_appender_create(connection, NULL, "measurements", &appender), "appender");
  const int types[COLUMNS] = {DUCKDB_TYPE_INTEGER, DUCKDB_TYPE_INTEGER, DUCKDB_TYPE_DOUBLE, DUCKDB_TYPE_BIGINT};
  duckdb_logical_type logical[COLUMNS];
  for (int column = 0; column < COLUMNS; column++) logical[column] = duckdb_create_logical_type(types[column]);
  duckdb_data_chunk chunk = duckdb_create_data_chunk(logical, COLUMNS);
  for (idx_t first = 0; first < rows; first += piece) {
    const idx_t count = rows - first < piece ? rows - first : piece;
    const Costs made_before = costs_of(RUSAGE_THREAD);
    void *memory = kept != NULL ? kept : fresh_memory(bytes);
    const Input input = columns_in(memory, piece);
    make(input, first, count);
    const Costs made = difference(costs_of(RUSAGE_THREAD), made_before);
    paused = (Costs){paused.seconds + made.seconds, paused.cpu + made.cpu, paused.minor_faults + made.minor_faults};
    append(appender, chunk, input, count);
    if (kept == NULL) munmap(memory, bytes);
  }
  expect(duckdb_appender_flush(appender), "flush");
  expect(duckdb_appender_destroy(&appender), "end of the appender");
  duckdb_destroy_data_chunk(&chunk);
  for (int column = 0; column < COLUMNS; column++) duckdb_destroy_logical_type(&logical[column]);
  run(connection, "COMMIT");
  return difference(difference(costs_of(RUSAGE_SELF), before), paused);
}

/* Adds up every value of every row. */
static Costs scan(duckdb_connection connection, Sums *sums) {
  const Costs before = costs_of(RUSAGE_SELF);
  duckdb_prepared_statement statement;
  duckdb_pending_result pending;
  duckdb_result result;
  expect(duckdb_prepare(connection, "SELECT id, sensor_id, value, timestamp FROM measurements", &statement), "prepare");
  expect(duckdb_pending_prepared_streaming(statement, &pending), "pending");
  expect(duckdb_execute_pending(pending, &result), "execute");
  duckdb_data_chunk chunk;
  while ((chunk = duckdb_fetch_chunk(result)) != NULL) {
    const idx_t rows = duckdb_data_chunk_get_size(chunk);
    const int32_t *id = duckdb_vector_get_data(duckdb_data_chunk_get_vector(chunk, 0));
    const int32_t *sensor_id = duckdb_vector_get_data(duckdb_data_chunk_get_vector(chunk, 1));
    const double *value = duckdb_vector_get_data(duckdb_data_chunk_get_vector(chunk, 2));
    const int64_t *timestamp = duckdb_vector_get_data(duckdb_data_chunk_get_vector(chunk, 3));
    int64_t ids = 0, sensors = 0, times = 0;
    double values = 0;
    for (idx_t row = 0; row < rows; row++) {
      ids += id[row];
      sensors += sensor_id[row];
      values += value[row];
      times += timestamp[row];
    }
    sums->rows += rows;
    sums->id += ids;
    sums->sensor_id += sensors;
    sums->value += values;
    sums->timestamp += times;
    duckdb_destroy_data_chunk(&chunk);
  }
  duckdb_destroy_result(&result);
  duckdb_destroy_pending(&pending);
  duckdb_destroy_prepare(&statement);
  return difference(costs_of(RUSAGE_SELF), before);
}

/* Fails unless the sums equal the closed form of the rows. */
static void check(const Sums *sums, idx_t rows) {
  const int64_t ids = (int64_t)(rows * (rows - 1) / 2);
  int64_t sensors = (int64_t)(rows / SENSORS) * (SENSORS * (SENSORS - 1) / 2);
  for (idx_t rest = 0; rest < rows % SENSORS; rest++) sensors += (int64_t)rest;
  const __int128 times = (__int128)rows * 1700000000000 + (__int128)ids * 1000;
  const double value = (double)ids * 0.1, error = sums->value - value;
  const int is_near = (error < 0 ? -error : error) <= 1e-9 * value;
  if (sums->rows != rows || sums->id != ids || sums->sensor_id != sensors || sums->timestamp != times || !is_near) {
    fail("the sums do not fit the rows");
  }
}

int main(int count, char **arguments) {
  if (count != 5) fail("usage: c-reference insert|scan ROWS PIECE reused|fresh");
  const int inserts = strcmp(arguments[1], "insert") == 0;
  const idx_t rows = strtoull(arguments[2], NULL, 10), piece = strtoull(arguments[3], NULL, 10);
  if (rows == 0 || piece == 0) fail("there must be rows");
  void *kept = strcmp(arguments[4], "reused") == 0 ? fresh_memory(piece * ROW_BYTES) : NULL;
  const char *create = "CREATE OR REPLACE TABLE measurements (id INTEGER NOT NULL, sensor_id INTEGER, value DOUBLE, timestamp BIGINT)";
  duckdb_database database;
  duckdb_connection connection;
  expect(duckdb_open(NULL, &database), "open");
  expect(duckdb_connect(database, &connection), "connect");
  run(connection, create);
  if (!inserts) insert(connection, rows, piece, kept);
  char line[16];
  while (fgets(line, sizeof line, stdin) != NULL) {
    Sums sums = {0, 0, 0, 0, 0};
    Costs costs;
    if (inserts) {
      run(connection, create);
      costs = insert(connection, rows, piece, kept);
      scan(connection, &sums);
    } else {
      costs = scan(connection, &sums);
    }
    check(&sums, rows);
    printf("{\"seconds\":%.9f,\"cpuSeconds\":%.6f,\"minorFaults\":%ld}\n", costs.seconds, costs.cpu, costs.minor_faults);
    fflush(stdout);
  }
  duckdb_disconnect(&connection);
  duckdb_close(&database);
  return 0;
}
