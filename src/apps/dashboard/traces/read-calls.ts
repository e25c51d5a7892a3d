// Reads recorded calls, such as those of Weave's clients and of OpenTelemetry's exporters.
import type { WeaveCall } from "../../client/api.ts";
import type { BodyOf } from "../../client/calls/calls.ts";
import type { Hone } from "../../client/hone.ts";
import { inParts, inSteps } from "../components/tables/steps.ts";

type CallsQuery = BodyOf<"POST /calls/stream_query">;

/** Fields of a call that a tree or a table shows, without its output, which can be large. */
export const outlineColumns = ["display_name", "parent_id", "started_at", "ended_at", "exception", "summary"];

export async function readCalls(
  hone: Hone,
  query: CallsQuery,
  signal: AbortSignal,
): Promise<readonly WeaveCall[]> {
  const bytes = await hone.bytes("POST /calls/stream_query", { body: query }, { isRepeatable: true, signal });
  const decoder = new TextDecoder();
  const parts: string[] = [];
  for await (const piece of bytes) parts.push(decoder.decode(piece, { stream: true }));
  const lines = (parts.join("") + decoder.decode()).split("\n").filter((line) => line !== "");
  // Safe cast: the API document describes the lines as calls, but has no type for answers of several lines.
  return lines.map((line) => JSON.parse(line) as WeaveCall);
}

/** Maximum number of traces in one request, and of calls in one request for their deletion. */
const [tracesAtOnce, deletedMax] = [20, 1000];

/** Returns all calls of the traces with these ids. */
export async function wholeTraces(
  hone: Hone,
  project: string,
  traceIds: readonly string[],
  columns: readonly string[] | null = null,
): Promise<readonly WeaveCall[]> {
  const { signal } = new AbortController();
  const parts = await inSteps(inParts(traceIds, tracesAtOnce), (ids) =>
    readCalls(hone, { project_id: project, filter: { trace_ids: ids }, columns }, signal),
  );
  return parts.flat();
}

/** Deletes all calls of the traces with these ids. */
export async function deleteTraces(hone: Hone, project: string, traceIds: readonly string[]): Promise<void> {
  const calls = await wholeTraces(hone, project, traceIds, ["id"]);
  const ids = calls.map(({ id }) => id);
  await inSteps(inParts(ids, deletedMax), (part) =>
    hone.call("POST /calls/delete", { body: { project_id: project, call_ids: part } }),
  );
}
