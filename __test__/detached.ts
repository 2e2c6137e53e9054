/** The same array, whose memory is then gone. */
export function detached<Values extends NodeJS.TypedArray>(array: Values): Values {
  structuredClone(array.buffer, { transfer: [array.buffer as ArrayBuffer] });
  return array;
}

/** Transfers the memory of an array, as a caller may try to. Node refuses that for some memory, and Node 20 copies it then. */
export function triedTransfer({ buffer }: NodeJS.TypedArray): void {
  try {
    structuredClone(buffer, { transfer: [buffer as ArrayBuffer] });
  } catch (thrown) {
    if ((thrown as Error).name !== 'DataCloneError') throw thrown;
  }
}

/** The same array, whose memory a stream of bytes has taken, which Node lets it do with any memory. */
export function detachedByStream<Values extends NodeJS.TypedArray>(array: Values): Values {
  const { buffer } = array;
  const taken = new Uint8Array(buffer as ArrayBuffer);
  void new ReadableStream({ type: 'bytes', start: (controller) => controller.enqueue(taken) });
  return array;
}
