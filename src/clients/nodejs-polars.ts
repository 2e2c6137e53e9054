/**
 * Data frames of `nodejs-polars`, queried by its SQL. Its fastest way in is one typed array per column: frames made batch by
 * batch and joined by `concat` take several times as long. 64-bit integers become numbers in its row objects.
 */
import type { MeasurementColumns } from './measurement-table.js';
import { loadPackage } from './optional-package.js';

export const POLARS = 'nodejs-polars';

/** The part of a frame that is used here. */
export interface PolarsFrame {
  readonly height: number;
  getColumn(name: string): { toTypedArray(): PolarsValues };
  toRecords(): Record<string, unknown>[];
}

export type PolarsValues = Int32Array | Uint32Array | Float64Array | BigInt64Array;

interface Polars {
  DataFrame(columns: MeasurementColumns): PolarsFrame;
  SQLContext: new (frames: Readonly<Record<string, PolarsFrame>>) => {
    execute(sql: string, options: { readonly eager: true }): PolarsFrame;
  };
}

export class PolarsClient {
  readonly #polars = loadPackage<Polars>(POLARS);

  /** Makes a frame with a copy of these columns. */
  frameOf(columns: MeasurementColumns): PolarsFrame {
    return this.#polars.DataFrame(columns);
  }

  /** The result of a query over a frame, under this table name. */
  query(frame: PolarsFrame, name: string, sql: string): PolarsFrame {
    return new this.#polars.SQLContext({ [name]: frame }).execute(sql, { eager: true });
  }
}
