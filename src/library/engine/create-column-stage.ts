import type { ColumnStage } from './column-stage.js';
import { BoolStage, DecimalStage, FloatStage, Int64Stage, IntStage } from './fixed-stage.js';
import type { Column } from './table-definition.js';
import { BytesStage, TextStage } from './varying-stage.js';

/** An empty stage of `capacity` rows for a column of this type. */
export function createColumnStage(column: Column, capacity: number): ColumnStage {
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
      return new TextStage(capacity, nullable);
    case 'bytes':
      return new BytesStage(capacity, nullable);
  }
}
