import type { ColumnStage } from './column-stage.js';
import { BoolStage, DecimalStage, FloatStage, Int64Stage, IntStage } from './fixed-stage.js';
import type { Column } from './table-definition.js';
import { BytesStage, LARGE_BYTES, TextStage } from './varying-stage.js';

/** The most bytes of the stages of a table, for values of a fixed width and the first values of text and bytes. */
const MOST_STAGE_BYTES = 16 << 20;

/** The bytes of a row of text or bytes: its offset, and the first estimate of its value. */
const VARYING_ROW_BYTES = 20;

/** The most bytes of text and bytes of all columns of a batch, roughly. */
const MOST_VARYING_BYTES = 64 << 20;

/** The number of rows to stage, at most `rows`: a table of many columns takes as much memory as one of few. */
export function stageRows(columns: readonly Column[], rows: number): number {
  const rowBytes = columns.reduce((bytes, { type }) => bytes + (type.width ?? VARYING_ROW_BYTES), 0);
  return Math.max(1, Math.min(rows, Math.floor(MOST_STAGE_BYTES / rowBytes)));
}

/** Empty stages of `capacity` rows for the columns of a table. */
export function createColumnStages(columns: readonly Column[], capacity: number): ColumnStage[] {
  const varying = columns.filter(({ type }) => type.width === undefined).length;
  const largeBytes = Math.min(LARGE_BYTES, Math.ceil(MOST_VARYING_BYTES / Math.max(1, varying)));
  return columns.map((column) => createColumnStage(column, capacity, largeBytes));
}

/** An empty stage of `capacity` rows for a column of this type. Text and bytes of more than `largeBytes` end a batch. */
export function createColumnStage(column: Column, capacity: number, largeBytes = LARGE_BYTES): ColumnStage {
  const { type, nullable } = column;
  switch (type.kind) {
    case 'bool':
      return new BoolStage(capacity, nullable);
    case 'smallint':
    case 'int':
    case 'date':
      return new IntStage(capacity, nullable, type.kind);
    case 'bigint':
    case 'timestamp':
      return new Int64Stage(capacity, nullable, type.kind === 'timestamp');
    case 'real':
    case 'double':
      return new FloatStage(capacity, nullable, type.kind);
    case 'decimal':
      return new DecimalStage(capacity, nullable, type.precision ?? 0, type.scale ?? 0);
    case 'text':
      return new TextStage(capacity, nullable, largeBytes);
    case 'bytes':
      return new BytesStage(capacity, nullable, largeBytes);
  }
}
