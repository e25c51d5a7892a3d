// JSON lines without whitespace, folded if long, so that no text of hundreds of megabytes blocks the event loop. As in
// a shell, a part that ends in a backslash continues in the next part. JSON never ends in a backslash.

/** In characters, without the backslash. */
const partLengthMax = 1 << 20;

/** Yields the parts of a line, in order; a short line is its only part. */
export function* foldedLine(line: string): Generator<string, void> {
  let start = 0;
  while (line.length - start > partLengthMax) {
    const end = start + partLengthMax;
    // Avoids a cut between the two halves of a surrogate pair.
    const isWithin = (line.charCodeAt(end) & 0xfc00) === 0xdc00;
    const next = isWithin ? end - 1 : end;
    yield `${line.slice(start, next)}\\`;
    start = next;
  }
  yield line.slice(start);
}

/** Returns a part's contribution to a text in which each whole line ends in a line feed. */
export function unfolded(part: string): string {
  return part.endsWith("\\") ? part.slice(0, -1) : `${part}\n`;
}

/**
 * Yields, for each line, its unfolded pieces, which together are the line and its line feed.
 *
 * @param pieceOf converts a piece as soon as it arrives, since converting a long line in one step would block
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
