// The rows of a table, packed into two texts. Passing two texts to another thread is fast, whereas passing many rows as
// objects is slow.
import type { TableRow } from "../../base/domain/traces/traced-table.ts";

export interface PackedRows {
  /** Concatenated digests of all rows; each has {@link digestLength} characters. */
  readonly digests: string;
  /** JSON of the rows, one row per line. Canonical JSON contains no line breaks, so lines are unambiguous. */
  readonly lines: string;
}

export const digestLength = 43;

export function packRows(rows: readonly TableRow[]): PackedRows {
  return {
    digests: rows.map(({ digest }) => digest).join(""),
    lines: rows.map(({ value }) => `${value}\n`).join(""),
  };
}

export function* digestsIn(digests: string): Generator<string, void> {
  for (let start = 0; start < digests.length; start += digestLength)
    yield digests.slice(start, start + digestLength);
}

export function* rowsIn({ digests, lines }: PackedRows): Generator<TableRow, void> {
  let start = 0;
  for (const digest of digestsIn(digests)) {
    const end = lines.indexOf("\n", start);
    yield { digest, value: lines.slice(start, end) };
    start = end + 1;
  }
}
