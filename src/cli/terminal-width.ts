/** The columns of a stream that is no terminal, if `COLUMNS` does not say. */
const USUAL_COLUMNS = 120;

/** The columns that a report printed to a stream may have. */
export function terminalWidth(stream: Pick<NodeJS.WriteStream, 'columns'>, { COLUMNS } = process.env): number {
  return stream.columns || (/^[1-9]\d*$/.test(COLUMNS ?? '') ? Number(COLUMNS) : USUAL_COLUMNS);
}
