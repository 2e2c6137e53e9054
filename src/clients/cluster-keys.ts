/** The division of keys among the servers of a Redis Cluster, for clients whose pipelines must each be for one server. */

const SLOTS = 16_384;

/** The remainders of CRC-16/XMODEM of every byte. */
const CRC = Uint16Array.from({ length: 256 }, (_, byte) => {
  let crc = byte << 8;
  for (let bit = 0; bit < 8; bit += 1) crc = (crc & 0x8000) === 0 ? crc << 1 : (crc << 1) ^ 0x1021;
  return crc;
});

/** The slot of a key: of its hash tag, the text in its first braces, if that is not empty. */
export function slotOf(key: string): number {
  const open = key.indexOf('{');
  const close = open === -1 ? -1 : key.indexOf('}', open);
  const hashed = close > open + 1 ? key.slice(open + 1, close) : key;
  let crc = 0;
  for (const byte of Buffer.from(hashed)) crc = ((crc << 8) & 0xffff) ^ CRC[(crc >> 8) ^ byte]!;
  return crc % SLOTS;
}

/** The positions of keys: for each server, and for each slot on it. */
export type DividedKeys = readonly (readonly (readonly number[])[])[];

/** Divides keys by the servers that `serverOf` names for their slots. */
export function divideKeys(keys: readonly string[], serverOf: (slot: number) => unknown): DividedKeys {
  const servers = new Map<unknown, Map<number, number[]>>();
  for (let position = 0; position < keys.length; position += 1) {
    const slot = slotOf(keys[position]!);
    const server = serverOf(slot);
    let slots = servers.get(server);
    if (slots === undefined) servers.set(server, (slots = new Map()));
    const positions = slots.get(slot);
    if (positions === undefined) slots.set(slot, [position]);
    else positions.push(position);
  }
  return Array.from(servers.values(), (slots) => [...slots.values()]);
}

/** Answers in the order of their keys, of those for all keys of one server after the other, as `divided` has them. */
export function inOrder<T>(divided: DividedKeys, answers: readonly (readonly T[])[]): T[] {
  const ordered: T[] = [];
  divided.forEach((slots, server) => {
    slots.flat().forEach((position, at) => (ordered[position] = answers[server]![at]!));
  });
  return ordered;
}
