import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { listening, run, submit } from "../testing/commands-under-test.ts";
import { views } from "./open.ts";

test("hone open has only views that the dashboard has", () => {
  const code = readFileSync("src/apps/dashboard/frame/view-of.tsx", "utf8");
  const found = new Set([...code.matchAll(/case "(\w+)":/g)].map(([, view]) => view));
  assert.deepEqual(
    views.filter((view) => !found.has(view)),
    [],
  );
});

test("hone open prints the address of a view, a model, a job and the guide", async (t) => {
  const { server, modelId, member } = await listening(t);
  const jobId = await submit(server, modelId);
  const places = ["jobs", "p/m", jobId.slice(0, 13), "guide", "nowhere"];
  const { outputs, errors } = await run(
    places.map((place) => ["open", place]),
    member,
  );
  assert.deepEqual(
    outputs,
    [`#/jobs`, `#/models/${modelId}`, `#/jobs/${jobId}`, "guide/"]
      .map((path) => `${member.HONE_URL}/${path}\nstatus 0`)
      .concat("status 1"),
  );
  assert.match(errors, /There is no page "nowhere"; name one of models, jobs, /);
});
