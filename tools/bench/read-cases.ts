// Read requests with large results for tools/bench/standstill.ts, each sent 12 and 24 times concurrently, and the data
// that must be stored for them. This module only defines the requests.
import type { RunningServer } from "../../test/running-server.ts";
import { list, object, type Case } from "./standstill-case.ts";

const mebibyte = 1 << 20;
const models = "/v1/preview/models";

/** Ids of the stored objects to read; set when the objects are stored. */
const stored = { fileId: "", jobId: "" };

/**
 * Returns a group of 45 MB with this many trajectories. Two trajectories are each larger than any page; a few hundred
 * are not.
 */
function largeGroup(trajectoryCount: number): string {
  const content = "the quick brown fox, é ".repeat(45e6 / 24 / trajectoryCount);
  const trajectory = { messages_and_choices: [{ role: "user", content }], reward: 1 };
  return JSON.stringify({ trajectories: Array.from({ length: trajectoryCount }, () => trajectory) });
}

/** Returns a trajectory group with many metrics. */
function measuredGroup(index: number): string {
  const metrics = Object.fromEntries(
    Array.from({ length: 5000 }, (_, key) => [`metric_of_${index}_and_${key}`, key / 7]),
  );
  return JSON.stringify({ trajectories: [{ reward: 1, metrics }] });
}

/** Stores the data that the requests read. */
export async function storeForReads(server: RunningServer, modelId: string): Promise<void> {
  const key = Buffer.from(`api:${server.apiKey}`).toString("base64");
  const send = async (
    path: string,
    body: string | Buffer | FormData,
    scheme = "Bearer",
  ): Promise<unknown> => {
    const authorization = scheme === "Basic" ? `Basic ${key}` : `Bearer ${server.apiKey}`;
    const headers = new Headers({ authorization });
    if (!(body instanceof FormData)) headers.set("content-type", "application/json");
    const sent = Buffer.isBuffer(body) ? new Uint8Array(body) : body;
    const answer = await fetch(server.url + path, { method: "POST", headers, body: sent });
    if (!answer.ok) throw new Error(`${path}: ${answer.status} ${(await answer.text()).slice(0, 500)}`);
    return answer.json();
  };
  for (const [split, trajectoryCount] of [
    ["many", 400],
    ["two", 2],
  ] as const)
    await send(
      `${models}/${modelId}/log`,
      object(`{"split":"${split}","trajectory_groups":`, list(largeGroup(trajectoryCount), 1)),
    );
  for (let index = 0; index < 20; index++)
    await send(
      `${models}/${modelId}/log`,
      `{"split":"measured","trajectory_groups":[${measuredGroup(index)}]}`,
    );
  for (let index = 0; index < 300; index++)
    await send(models, JSON.stringify({ project: "many", name: `m${index}`, base_model: "hone-tiny" }));
  const form = new FormData();
  const turns = ["user", "assistant"].map((role) => ({ role, content: "x ".repeat(1000) }));
  const line = `${JSON.stringify({ messages: turns })}\n`;
  form.set("purpose", "fine-tune");
  form.set("file", new Blob([line.repeat((45 * mebibyte) / line.length)]), "large.jsonl");
  stored.fileId = ((await send("/v1/files", form)) as { id: string }).id;
  const record = {
    project_id: "local/p",
    vendor_ref: "w:///local/p/call/1",
    feedback_type: "t",
    payload: { text: "x ".repeat(mebibyte / 4) },
  };
  await send("/feedback/create", JSON.stringify({ ...record, id: "revised" }), "Basic");
  for (let index = 0; index < 8; index++)
    await send("/feedback/replace", JSON.stringify({ ...record, feedback_id: "revised" }), "Basic");
  const trained = { role: "user", content: "hi" };
  const choice = { message: { role: "assistant", content: "yes" }, finish_reason: "stop" };
  const group = [1, 0].map((reward) => ({ messages_and_choices: [trained, choice], reward }));
  const job = { model_id: modelId, trajectory_groups: [{ trajectories: group }] };
  stored.jobId = ((await send("/v1/preview/training-jobs", JSON.stringify(job))) as { id: string }).id;
  await untilTrained(server, stored.jobId);
}

async function untilTrained({ url, apiKey }: RunningServer, jobId: string): Promise<void> {
  const headers = { authorization: `Bearer ${apiKey}` };
  for (;;) {
    const answer = await fetch(`${url}/v1/preview/training-jobs/${jobId}`, { headers });
    const { state } = (await answer.json()) as { state: string };
    if (state === "succeeded") return;
    if (state !== "queued" && state !== "running") throw new Error(`The job is ${state}.`);
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
}

/** Paths to read, by name. */
const reads: readonly (readonly [string, (modelId: string) => string])[] = [
  ["a log of 45 MB in one group", (id) => `${models}/${id}/trajectories?split=many`],
  ["10 rows of 45 MB in one group", (id) => `${models}/${id}/trajectories/rows?limit=10&split=many`],
  ["10 rows of two of 22 MB", (id) => `${models}/${id}/trajectories/rows?limit=10&split=two`],
  ["45 MB of rows as JSON lines", (id) => `${models}/${id}/trajectories/export?format=jsonl&split=many`],
  ["two rows of 22 MB as JSON lines", (id) => `${models}/${id}/trajectories/export?format=jsonl&split=two`],
  ["45 MB of rows as Parquet", (id) => `${models}/${id}/trajectories/export?format=parquet&split=many`],
  ["metrics of 5,000 names", (id) => `${models}/${id}/metrics?split=measured`],
  ["a file of 45 MB", () => `/v1/files/${stored.fileId}/content`],
  ["job events", () => `/v1/preview/training-jobs/${stored.jobId}/events?limit=100`],
  ["300 models", () => "/v1/models"],
  ["a page of models", () => `${models}?limit=100`],
  ["a merged model", (id) => `${models}/${id}/checkpoints/1/export?format=merged`],
];

const history = (times: number): Case => ({
  name: `reads: ${times} × a page of a record's history`,
  path: () => "/feedback/history",
  scheme: "Basic",
  body: () => Buffer.from(JSON.stringify({ project_id: "local/p", feedback_id: "revised" })),
  times,
});

/** The read requests; call {@link storeForReads} first. */
export const readCases: readonly Case[] = [12, 24].flatMap((times) => [
  ...reads.flatMap(([what, path]): Case[] => {
    const one = { name: `reads: ${times} × ${what}`, path, body: null, times };
    const isLong = / MB|merged/.test(what) && times === 24;
    return isLong ? [one, { ...one, name: `${one.name}, slowly`, isReadSlowly: true }] : [one];
  }),
  history(times),
]);
