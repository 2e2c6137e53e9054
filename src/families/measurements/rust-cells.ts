/** The cells of the `rust` side. Their program opens the engine and loads the tables by itself. */
import type { RowCell } from '../../records/record.js';
import { openNative } from '../native-program.js';
import type { OpenCell } from '../workload.js';
import { INSERT_TABLE, queryTables } from './addon-cells.js';
import type { CellOpener } from './table-cells.js';
import { expectedOf } from './closed-forms.js';
import { DatabaseFolder } from './connected-engine.js';
import { defaultTransport, overTransport } from './engine-uris.js';
import { matrix, workloadEntry } from './matrix.js';
import { splitRows } from './rows.js';

/** An engine as the program opens it. */
export interface RustEngine {
  readonly uri: string;
  /** The engine over the transport by which tables are loaded; absent: the same. */
  readonly loadUri?: string;
  /** Whether its tables are shared with other processes: they are loaded if they are missing, and kept. */
  readonly isShared: boolean;
  /** The most rows of a batch of a query; absent: the default of queries. */
  readonly batchRows?: number;
}

/** Opens the place of the cells of an engine. */
export async function openRustPlace(name: string, uri: string, isShared: boolean): Promise<CellOpener> {
  const { place, folder } = await DatabaseFolder.placeOf(name, uri);
  const loader = defaultTransport(name);
  return {
    versions: {},
    openCell: (cell, client) => {
      const transport = cell.transport ?? loader;
      const engine = {
        uri: overTransport(place, transport),
        ...(transport === loader ? {} : { loadUri: overTransport(place, loader) }),
        isShared,
      };
      return openRustCell(engine, cell, client);
    },
    close: async () => folder?.remove(),
  };
}

/** Opens a cell of the `rust` side. `client`: the crate that does its work, if it is not ours. */
export function openRustCell(engine: RustEngine, cell: RowCell, client?: string): Promise<OpenCell> {
  const { workload, lane, rows, workers = 1, flavor = 'sync' } = cell;
  const { batchRows, ...place } = engine;
  const isIn = workloadEntry(workload).direction === 'in';
  const spec = {
    workload,
    lane,
    flavor,
    workers,
    rows,
    table: isIn ? INSERT_TABLE : tableOf(engine, rows, workers),
    client,
    batchRows,
  };
  return openNative({ kind: 'engine', ...place, spec }, expectedOf(workload, splitRows(rows, workers)));
}

/** The table of a query. A table that is not shared has a name that no other process uses. */
function tableOf({ isShared }: RustEngine, rows: number, workers: number): string {
  return isShared ? queryTables(rows, workers).table : `${matrix.table}_rust_${rows}`;
}
