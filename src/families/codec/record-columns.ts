import type { BoundaryRecord } from '../boundary/functions.js';

/** The numbers of a record: six numbers, two truth values, the sizes of its two texts in bytes, and their lengths. */
const NUMBERS_OF_RECORD = 12;

/** The place of the length of the name among those numbers. The length of the city follows. */
const LENGTHS = 10;

/**
 * Records as the addon reads them into memory of the caller's: all numbers in one array, and all texts one after the
 * other. `native/suite` describes the layout, as `RecordMemory`. No objects are made, and one string of all texts.
 */
export class RecordColumns {
  /** The size of all texts in bytes, and behind it the numbers of each record. */
  readonly numbers: Float64Array;
  readonly texts: Buffer;

  /** Makes memory for `records` records, whose texts have `bytes` bytes together. */
  constructor(records: number, bytes: number) {
    this.numbers = new Float64Array(1 + records * NUMBERS_OF_RECORD);
    this.texts = Buffer.from(new ArrayBuffer(bytes));
  }

  /** The sum of the fields of the first `count` records, as `sumOfRecord` has it. A text is read where it ends in the string of all. */
  sum(count: number): number {
    const { numbers } = this;
    const all = this.#allTexts();
    const end = 1 + count * NUMBERS_OF_RECORD;
    let sum = 0;
    let textEnd = 0;
    for (let at = 1; at < end; at += NUMBERS_OF_RECORD) {
      sum +=
        numbers[at]! + numbers[at + 1]! + numbers[at + 2]! + numbers[at + 3]! + numbers[at + 4]! + numbers[at + 5]!;
      sum += numbers[at + 6]! + 2 * numbers[at + 7]!;
      for (let text = 0; text < 2; text += 1) {
        const length = numbers[at + LENGTHS + text]!;
        textEnd += length;
        if (length > 0) sum += all.charCodeAt(textEnd - 1);
      }
    }
    return sum;
  }

  /** The first `count` records as objects. */
  records(count: number): BoundaryRecord[] {
    const all = this.#allTexts();
    let textEnd = 0;
    const text = (length: number): string => {
      textEnd += length;
      return all.slice(textEnd - length, textEnd);
    };
    return Array.from({ length: count }, (_, place) => {
      const from = 1 + place * NUMBERS_OF_RECORD;
      const [id, sensor, value, timestamp, score, places, active, flagged, , , name, city] = this.numbers.subarray(
        from,
        from + NUMBERS_OF_RECORD,
      );
      return {
        id: id!,
        sensor: sensor!,
        value: value!,
        timestamp: timestamp!,
        score: score!,
        count: places!,
        active: active !== 0,
        flagged: flagged !== 0,
        name: text(name!),
        city: text(city!),
      };
    });
  }

  #allTexts(): string {
    return this.texts.toString('utf8', 0, this.numbers[0]!);
  }
}
