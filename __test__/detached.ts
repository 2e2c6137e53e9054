/** The same array, whose memory is then gone. */
export function detached<Values extends NodeJS.TypedArray>(array: Values): Values {
  structuredClone(array.buffer, { transfer: [array.buffer as ArrayBuffer] });
  return array;
}
