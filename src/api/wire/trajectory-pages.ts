// Writes a page of logged trajectories piece by piece, with one group in memory at a time. A log can have hundreds of
// megabytes; if it does not fit in a page, it is shown without its trajectories. Groups are respelled here; the caller
// chooses the thread.
import { fittingCount, type Page, pageBytesMax } from "../../base/domain/page.ts";
import { unfoldedLines } from "../../base/domain/text/folded-lines.ts";
import { notFound } from "../../base/domain/service-error.ts";
import type { TrajectoryGroup, TrajectoryLog, TrajectoryStore } from "../../base/domain/trajectory.ts";
import { pageBody } from "./page.ts";
import { trajectoryGroupBody, loggedMetricsAnswer } from "./trajectory.ts";

/** Cuts the page so that its logs' trajectories fit in a page; at least one log remains. */
export function limitContent(page: Page<TrajectoryLog>): Page<TrajectoryLog> {
  const count = fittingCount(page.items.map(shownBytes), pageBytesMax);
  return { items: page.items.slice(0, count), hasMore: page.hasMore || count < page.items.length };
}

/** The trajectories of a log that does not fit in a page are not shown. */
function shownBytes({ contentBytes }: TrajectoryLog): number {
  return contentBytes > pageBytesMax ? 0 : contentBytes;
}

/** Converts the bytes of a stored group to its JSON in an answer. */
export function respellGroup(stored: Buffer): Uint8Array<ArrayBuffer> {
  // Safe cast: `readGroupBody` wrote the line.
  const group = JSON.parse(stored.toString()) as TrajectoryGroup;
  return new TextEncoder().encode(JSON.stringify(trajectoryGroupBody(group)));
}

/** Bytes of an answer written at a time. */
const pieceBytes = 1 << 20;

/**
 * Yields the answer's JSON in pieces.
 *
 * @param respell like {@link respellGroup}, for the pieces of a group's bytes
 * @throws ServiceError `not_found` if a log of the page was deleted
 */
export async function* trajectoryPageText(
  page: Page<TrajectoryLog>,
  store: Pick<TrajectoryStore, "lines">,
  respell: (stored: readonly Uint8Array<ArrayBuffer>[]) => Promise<Uint8Array<ArrayBuffer>>,
): AsyncGenerator<string | Buffer, void> {
  const encoder = new TextEncoder();
  const { object, data, ...rest } = pageBody(page, loggedMetricsAnswer.body);
  yield `{"object":${JSON.stringify(object)},"data":[`;
  for (const [index, log] of page.items.entries()) {
    if (shownBytes(log) < log.contentBytes) {
      const left = `"trajectory_groups":[],"left_out_bytes":${log.contentBytes}}`;
      yield `${index === 0 ? "" : ","}${opened(data[index])},${left}`;
      continue;
    }
    const lines = await store.lines(log.id);
    if (lines === null) throw notFound("log of trajectories", log.id);
    yield `${index === 0 ? "" : ","}${opened(data[index])},"trajectory_groups":[`;
    let separator = "";
    for await (const stored of unfoldedLines(lines, (text) => encoder.encode(text))) {
      yield separator;
      separator = ",";
      const group = await respell(stored);
      for (let start = 0; start < group.length; start += pieceBytes)
        yield Buffer.from(group.buffer, start, Math.min(pieceBytes, group.length - start));
    }
    yield "]}";
  }
  yield `],${JSON.stringify(rest).slice(1)}`;
}

/** Returns an object's text without its closing brace. */
function opened(body: object): string {
  return JSON.stringify(body).slice(0, -1);
}
