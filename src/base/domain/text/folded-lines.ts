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

/**
 * The lines one by one: the pieces of each, unfolded, which make the line and its line feed.
 *
 * @param pieceOf what becomes of a text, done as it comes: a long line's together would take long
 */
export async function* unfoldedLines<Piece>(
  parts: AsyncIterable<string>,
  pieceOf: (text: string) => Piece,
): AsyncGenerator<readonly Piece[], void> {
  let pieces: Piece[] = [];
  for await (const part of parts) {
    const text = unfolded(part);
    pieces.push(pieceOf(text));
    if (!text.endsWith("\n")) continue;
    yield pieces;
    pieces = [];
  }
}
