// Selects all rows that match the filters of a list, also those of other pages, up to a limit.
import { useEffect, useState } from "preact/hooks";
import { messageOf } from "../errors/error-text.ts";
import { Failure } from "../forms/failure.tsx";
import type { Selection } from "./selection.tsx";

/** Maximum number of rows that are selected at a time. */
const selectedMax = 10_000;

export function SelectMatching<Row>({
  rows,
  selection,
  pages,
}: {
  /** Rows of the shown page. */
  readonly rows: readonly Row[];
  readonly selection: Selection<Row>;
  /** Reads all pages of the list, from the first. */
  readonly pages: (signal: AbortSignal) => AsyncIterable<readonly Row[]>;
}) {
  const [reading, setReading] = useState<{ readonly count: number; readonly stop: () => void } | null>(null);
  const [failure, setFailure] = useState<string | null>(null);
  useEffect(() => reading?.stop, [reading?.stop]);
  const select = async (): Promise<void> => {
    const leaving = new AbortController();
    const stop = (): void => leaving.abort();
    const found: Row[] = [];
    setFailure(null);
    setReading({ count: 0, stop });
    try {
      for await (const page of pages(leaving.signal)) {
        found.push(...page);
        if (leaving.signal.aborted || found.length >= selectedMax) break;
        setReading({ count: found.length, stop });
      }
      if (!leaving.signal.aborted) selection.gather(found.slice(0, selectedMax));
    } catch (error) {
      if (!leaving.signal.aborted) setFailure(messageOf(error));
    }
    setReading(null);
  };
  if (reading !== null)
    return (
      <span class="bulk">
        <span role="status">{reading.count.toLocaleString("en")} found</span>
        <button type="button" onClick={reading.stop}>
          Stop
        </button>
      </span>
    );
  if (selection.isGathered)
    return (
      <span class="muted">
        on all pages
        {selection.among(rows).length === selectedMax &&
          `; more than ${selectedMax.toLocaleString("en")} match`}
      </span>
    );
  return (
    <>
      {rows.every(selection.isSelected) && (
        <button type="button" class="plain" onClick={() => void select()}>
          Select all matching rows
        </button>
      )}
      <Failure of={failure} />
    </>
  );
}
