// Lines of JSON without blanks, cut where they are long, so that no text of hundreds of megabytes passes through the
// event loop at once. As in a shell, a part that ends in a backslash goes on in the next one: JSON itself ends in none.

/** In characters, without the backslash. */
const partLengthMax = 1 << 20;

/** The parts of a line, in order; a line that is not long is its only part. */
export function* foldedLine(line: string): Generator<string, void> {
  let start = 0;
  while (line.length - start > partLengthMax) {
    const end = start + partLengthMax;
    // Not between the two halves of a character.
    const isWithin = (line.charCodeAt(end) & 0xfc00) === 0xdc00;
    const next = isWithin ? end - 1 : end;
    yield `${line.slice(start, next)}\\`;
    start = next;
  }
  yield line.slice(start);
}

/** What a part says in a text of whole lines, each of which ends in a line feed. */
export function unfolded(part: string): string {
  return part.endsWith("\\") ? part.slice(0, -1) : `${part}\n`;
}

/** The lines as they were before they were cut. */
export async function* wholeLines(parts: AsyncIterable<string>): AsyncGenerator<string, void> {
  let open = "";
  for await (const part of parts) {
    open += unfolded(part);
    if (!open.endsWith("\n")) continue;
    yield open.slice(0, -1);
    open = "";
  }
}
