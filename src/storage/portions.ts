// What is written by many statements, cut so that none of them is large: a statement is made and sent in the event loop,
// and carries at most four thousand parameters.

/** Of one statement, unless a single row has more. */
const charactersMax = 1 << 20;

/** The rows in order, in portions of one statement each; taken from `rows` as they are asked for. */
export function* portions<Row>(
  rows: Iterable<Row>,
  { rowsMax, lengthOf }: { readonly rowsMax: number; readonly lengthOf: (row: Row) => number },
): Generator<readonly Row[], void> {
  let portion: Row[] = [];
  let length = 0;
  for (const row of rows) {
    portion.push(row);
    length += lengthOf(row);
    if (portion.length < rowsMax && length < charactersMax) continue;
    yield portion;
    portion = [];
    length = 0;
  }
  if (portion.length > 0) yield portion;
}
