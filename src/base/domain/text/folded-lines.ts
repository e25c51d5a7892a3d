// Lines of JSON, folded into parts if they are long. Processing a text of hundreds of megabytes in one step would block
// the event loop. As in a shell, a part that ends in a backslash continues in the next part; JSON without whitespace
// never ends in a backslash.

/** Maximum length of a part in characters, not counting the backslash at its end. */
const partLengthMax = 1 << 20;

/** Yields the parts of a line, in order. A short line has a single part. */
export function* foldedLine(line: string): Generator<string, void> {
  let start = 0;
  while (line.length - start > partLengthMax) {
    const end = start + partLengthMax;
    // Keeps the two halves of a surrogate pair in one part.
    const isWithin = (line.charCodeAt(end) & 0xfc00) === 0xdc00;
    const next = isWithin ? end - 1 : end;
    yield `${line.slice(start, next)}\\`;
    start = next;
  }
  yield line.slice(start);
}

/**
 * Returns the text of a part without the backslash at its end. A part without a backslash completes its line, so a line
 * feed is added.
 */
export function unfolded(part: string): string {
  return part.endsWith("\\") ? part.slice(0, -1) : `${part}\n`;
}

/**
 * Converts the parts of lines, and yields a list of converted pieces for each line. The line feed belongs to a line's
 * last piece.
 *
 * @param pieceOf converts a piece as soon as it arrives, because converting a long line in one step would block the
 * event loop
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
