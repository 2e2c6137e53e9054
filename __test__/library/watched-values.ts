/**
 * Values whose reads run code of the caller: each read of a part calls `onRead` first, and then returns the true part.
 */
export type Watch = <T>(value: T) => T;

const NOTICED = ['length', 'byteLength', 'byteOffset', 'buffer', Symbol.iterator] as const;

const typedArray = Object.getPrototypeOf(Uint8Array.prototype) as object;

export function watching(onRead: () => void): Watch {
  const watch: Watch = (value) => {
    if (typeof value !== 'object' || value === null) return value;
    if (ArrayBuffer.isView(value)) return withGetters(value, NOTICED, typedArray) as typeof value;
    if (value instanceof AbortSignal) return withGetters(value, ['aborted'], AbortSignal.prototype) as typeof value;
    const prototype = Object.getPrototypeOf(value) as unknown;
    if (prototype !== Object.prototype && prototype !== Array.prototype) return value;
    return new Proxy(value, {
      get: (target, name, receiver) => (onRead(), watch(Reflect.get(target, name, receiver))),
      has: (target, name) => (onRead(), Reflect.has(target, name)),
      ownKeys: (target) => (onRead(), Reflect.ownKeys(target)),
      getOwnPropertyDescriptor: (target, name) => (onRead(), Reflect.getOwnPropertyDescriptor(target, name)),
      getPrototypeOf: (target) => (onRead(), Reflect.getPrototypeOf(target)),
    });
  };

  /** Puts own getters on the value, before the getters that it inherits. */
  const withGetters = (value: object, names: readonly PropertyKey[], prototype: object): object => {
    for (const name of names) {
      const { get, value: method } = Object.getOwnPropertyDescriptor(prototype, name)!;
      Object.defineProperty(value, name, {
        get: () => (onRead(), get === undefined ? method : get.call(value)) as unknown,
        configurable: true,
      });
    }
    return value;
  };
  return watch;
}
