// A page of logged trajectories as the text of an answer, built piece by piece: a single log can be hundreds of
// megabytes, and no more than one group of it is in memory at a time.
import { fittingCount, type Page, pageBytesMax } from "../domain/page.ts";
import { notFound } from "../domain/service-error.ts";
import type { TrajectoryLog, TrajectoryStore } from "../domain/trajectory.ts";
import { pageBody } from "./page.ts";
import { trajectoryGroupBody, trajectoryLogBody } from "./trajectory.ts";

/** The page, cut so that the trajectories of its logs stay within the bound of a page; at least one log stays. */
export function withinContentBound(page: Page<TrajectoryLog>): Page<TrajectoryLog> {
  const count = fittingCount(
    page.items.map(({ contentBytes }) => contentBytes),
    pageBytesMax,
  );
  return { items: page.items.slice(0, count), hasMore: page.hasMore || count < page.items.length };
}

/** The answer's JSON in pieces. @throws ServiceError `not_found` when a log of the page is gone */
export async function* trajectoryPageText(
  page: Page<TrajectoryLog>,
  store: Pick<TrajectoryStore, "groups">,
): AsyncGenerator<string, void> {
  const { object, data, ...rest } = pageBody(page, trajectoryLogBody);
  yield `{"object":${JSON.stringify(object)},"data":[`;
  for (const [index, log] of page.items.entries()) {
    const groups = await store.groups(log.id);
    if (groups === null) throw notFound("log of trajectories", log.id);
    yield `${index === 0 ? "" : ","}${opened(data[index])},"trajectory_groups":[`;
    let separator = "";
    for await (const group of groups) {
      yield separator + JSON.stringify(trajectoryGroupBody(group));
      separator = ",";
    }
    yield "]}";
  }
  yield `],${JSON.stringify(rest).slice(1)}`;
}

/** An object's text without the brace that closes it. */
function opened(body: object): string {
  return JSON.stringify(body).slice(0, -1);
}
