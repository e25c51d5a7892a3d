// A page of logged trajectories as the text of an answer, built piece by piece, with one group in memory at a time. A log
// can be hundreds of megabytes: one that does not fit in a page is shown without its trajectories. How a group is respelled
// is here too; where that is done is the caller's choice.
import { fittingCount, type Page, pageBytesMax } from "../../base/domain/page.ts";
import { unfoldedLines } from "../../base/domain/text/folded-lines.ts";
import { notFound } from "../../base/domain/service-error.ts";
import type { TrajectoryGroup, TrajectoryLog, TrajectoryStore } from "../../base/domain/trajectory.ts";
import { pageBody } from "./page.ts";
import { trajectoryGroupBody, loggedMetricsAnswer } from "./trajectory.ts";

/** The page, cut so that the trajectories of its logs stay within the bound of a page; at least one log stays. */
export function withinContentBound(page: Page<TrajectoryLog>): Page<TrajectoryLog> {
  const count = fittingCount(page.items.map(shownBytes), pageBytesMax);
  return { items: page.items.slice(0, count), hasMore: page.hasMore || count < page.items.length };
}

/** Of a log that does not fit in a page nothing is shown but that. */
function shownBytes({ contentBytes }: TrajectoryLog): number {
  return contentBytes > pageBytesMax ? 0 : contentBytes;
}

/** From the bytes of a stored group to those of its JSON in an answer. */
export function respellGroup(stored: Buffer): Uint8Array<ArrayBuffer> {
  // The line is what `readGroupBody` made of a group.
  const group = JSON.parse(stored.toString()) as TrajectoryGroup;
  return new TextEncoder().encode(JSON.stringify(trajectoryGroupBody(group)));
}

/** Of an answer, written at once. */
const pieceBytes = 1 << 20;

/**
 * The answer's JSON in pieces.
 *
 * @param respell as {@link respellGroup}, for the pieces of a group's bytes
 * @throws ServiceError `not_found` when a log of the page is gone
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

/** An object's text without the brace that closes it. */
function opened(body: object): string {
  return JSON.stringify(body).slice(0, -1);
}
