/**
 * An engine of your own for the `measurements` family, by the package `nodejs-polars`:
 * `boundary-bench run 1000000 --client napi:examples/polars-client.mjs` measures it next to DuckDB. Each of `insertRows`, `insertColumns`,
 * `queryObjects` and `queryColumns` is a lane, and may be left out.
 */
import pl from 'nodejs-polars';

export default {
  /** Opens the engine. Each process of the run has one. */
  async connect() {
    const frames = new Map();
    const query = (sql) => new pl.SQLContext(Object.fromEntries(frames)).execute(sql, { eager: true });
    return {
      createTable() {},
      /** Batches are copied, since their memory is used again. A frame of whole columns takes less time than one of many batches. */
      insertColumns(table, rows) {
        const columns = {
          id: new Int32Array(rows),
          sensor_id: new Int32Array(rows),
          value: new Float64Array(rows),
          timestamp: new BigInt64Array(rows),
        };
        let at = 0;
        return {
          add(batch) {
            for (const [name, values] of Object.entries(batch)) columns[name].set(values, at);
            at += batch.id.length;
          },
          finish: () => frames.set(table, pl.DataFrame(columns)),
        };
      },
      queryObjects: (sql) => query(sql).toRecords(),
      queryColumns(sql) {
        const result = query(sql);
        return [Object.fromEntries(result.columns.map((name) => [name, result.getColumn(name).toTypedArray()]))];
      },
      dropTable: (table) => frames.delete(table),
      close() {},
    };
  },
};
