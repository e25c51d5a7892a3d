// Writes a page of logged trajectories piece by piece, with one group in memory at a time: a log can have hundreds of
// megabytes. A log larger than the size limit of a page is shown without its trajectories. The caller chooses the
// thread that converts groups to the API's form.
import { fittingCount, type Page, pageBytesMax } from "../../base/domain/page.ts";
import { unfoldedLines } from "../../base/domain/text/folded-lines.ts";
import { notFound } from "../../base/domain/service-error.ts";
import type { TrajectoryGroup, TrajectoryLog, TrajectoryStore } from "../../base/domain/trajectory.ts";
import { pageBody } from "./page.ts";
import { trajectoryGroupBody, loggedMetricsAnswer } from "./trajectory.ts";

/** Shortens the page so that the trajectories of its logs stay within the size limit. At least one log remains. */
export function limitContent(page: Page<TrajectoryLog>): Page<TrajectoryLog> {
  const count = fittingCount(page.items.map(shownBytes), pageBytesMax);
  return { items: page.items.slice(0, count), hasMore: page.hasMore || count < page.items.length };
}

/**
 * Returns the number of bytes that a log's trajectories take in the page. It is 0 for a log above the page's size
 * limit, whose trajectories are omitted.
 */
function shownBytes({ contentBytes }: TrajectoryLog): number {
  return contentBytes > pageBytesMax ? 0 : contentBytes;
}

/** Converts a stored group, given as bytes, to the JSON form used in answers. */
export function respellGroup(stored: Buffer): Uint8Array<ArrayBuffer> {
  // Safe cast: `readGroupBody` has written the line.
  const group = JSON.parse(stored.toString()) as TrajectoryGroup;
  return new TextEncoder().encode(JSON.stringify(trajectoryGroupBody(group)));
}

/** Maximum number of bytes of a group that are written at a time. */
const pieceBytes = 1 << 20;

/**
 * Yields the JSON of the answer in pieces.
 *
 * @param respell converts a group like {@link respellGroup}, from pieces of its bytes
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

/** Returns the JSON text of an object without its closing brace, so that the caller can append members. */
function opened(body: object): string {
  return JSON.stringify(body).slice(0, -1);
}
