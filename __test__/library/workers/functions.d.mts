import type { WorkerContext } from '../../../src/index.ts';

export declare const NUMBER: number;
export declare function counted(): number;
export declare function chatty(value: number): number;
export declare function whichWorker(_: undefined, context: WorkerContext): { index: number; count: number };
export declare function add(numbers: { left: number; right: number }): number;
export declare function rowsOf(table: string, context: WorkerContext): Promise<number>;
export declare function insertColumns(
  share: { table: string; id: Int32Array },
  context: WorkerContext,
): Promise<number>;
export declare function longQuery(_: undefined, context: WorkerContext): Promise<object[]>;
export declare function closeConnection(_: undefined, context: WorkerContext): Promise<object[]>;
export declare function sumAndReturn(
  values: Float64Array,
  context: WorkerContext,
): { sum: number; values: Float64Array };
export declare function wait(ms: number, context: WorkerContext): Promise<number>;
export declare function waitDeaf(ms: number): Promise<number>;
export declare function spin(): void;
export declare function fail(message: string): void;
export declare function failUncloneable(): void;
export declare function failOddly(): void;
export declare function unsendable(): () => void;
export declare function exit(code: number): void;
export declare function crash(): Promise<void>;
export declare function babble(): Promise<string>;
