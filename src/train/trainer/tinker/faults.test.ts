// Tests jobs whose trainer has a fault at any of its requests: it dies, sends nonsense, loses its state or refuses for
// a while. The job must still create its one version, continue from the last saved state, and leave only few states on
// the server.
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { ServiceError } from "../../../base/domain/service-error.ts";
import { searchedOf } from "../../../base/domain/testing/search.ts";
import { assertClose, flat } from "../contract/trainers-under-test.ts";
import type { ServerKindName } from "./server-kinds.ts";
import type { StubOptions } from "./testing/stub-operations.ts";
import type { Fault, StubServer } from "./testing/stub-server.ts";
import { runTinkerJob, type TinkerJob, type TinkerJobOptions } from "./testing/tinker-job.ts";
import { tinyTinker } from "./testing/tiny-tinker.ts";
import type { TinkerTrainersOptions } from "./tinker-trainers.ts";

interface Bench {
  readonly server: StubServer;
  readonly run: (
    options?: Partial<TinkerJobOptions>,
    more?: Partial<TinkerTrainersOptions>,
  ) => Promise<TinkerJob>;
}

async function benchOf(
  t: TestContext,
  kind: ServerKindName = "skyrl-jax",
  stub: Partial<StubOptions> = {},
): Promise<Bench> {
  const dataFolder = mkdtempSync(join(tmpdir(), "hone-tinker-"));
  const { server, trainersAt } = tinyTinker(kind, dataFolder, t, stub);
  t.after(() => rmSync(dataFolder, { recursive: true }));
  const url = await server.start();
  return {
    server,
    run: (options, more) => runTinkerJob(() => trainersAt(url, more), { dataFolder, ...options }),
  };
}

function statesOf(server: StubServer): readonly string[] {
  return server.kept.filter((kept) => kept.includes("/training/"));
}

/** Faults of the server. In a test, one of them occurs once, at the request with the chosen number. */
const faults: Readonly<Record<string, Fault>> = {
  "dies before it": { kind: "restart", when: "before" },
  "dies after it": { kind: "restart", when: "after" },
  "loses the connection before it": { kind: "cut", when: "before" },
  "loses the connection after it": { kind: "cut", when: "after" },
  "is too slow": { kind: "answer", status: 408, body: '{"detail":"Timeout"}' },
  "is too busy": { kind: "answer", status: 429, body: '{"detail":"Too many requests"}' },
  "has forgotten the future": { kind: "answer", status: 410, body: '{"detail":"Gone"}' },
  "has an error": { kind: "answer", status: 500, body: "Internal Server Error", contentType: "text/plain" },
  "is behind a failing proxy": {
    kind: "answer",
    status: 502,
    body: "<html>Bad Gateway</html>",
    contentType: "text/html",
  },
  "answers with garbage": { kind: "answer", status: 200, body: "}{", contentType: "application/json" },
  "answers with bytes": {
    kind: "answer",
    status: 200,
    body: "\u0000\u0001",
    contentType: "application/x-protobuf",
  },
};

/** Number of a job's first requests at which faults occur. Later requests repeat their pattern. */
const requestCount = 60;

/** The result of the job without any faults, and the number of its requests. */
let soundJob: Promise<{ readonly job: TinkerJob; readonly requestCount: number }> | null = null;

async function runSound(t: TestContext): Promise<Awaited<NonNullable<typeof soundJob>>> {
  const { server, run } = await benchOf(t);
  const job = await run();
  return { job, requestCount: server.requests.length };
}

for (const [what, fault] of searchedOf(Object.entries(faults), 6))
  test(`a job survives any request at which the trainer ${what}`, async (t) => {
    const sound = await (soundJob ??= runSound(t));
    const places = Array.from({ length: Math.min(requestCount, sound.requestCount) }, (_, index) => index);
    for (const place of searchedOf(places, 1, what)) {
      const bench = await benchOf(t);
      bench.server.fault = (_request, index) => (index === place ? fault : null);
      const job = await bench.run();
      const named = `${what} at ${bench.server.requests[place]}, request ${place}`;
      assert.ok(job.losses.length <= 1, named);
      assertClose(flat(job.adapter), flat(sound.job.adapter), 1e-4);
      assert.ok(job.outcome.trainerState?.startsWith("tinker-skyrl-jax:tinker://"), named);
      // At most three states remain. One is the version's, and one is the last snapshot, which the model's next job
      // removes. One was saved before the job recorded its model, or could not be removed.
      assert.ok(statesOf(bench.server).length <= 3, `${named} left ${statesOf(bench.server).join(", ")}`);
    }
  });

for (const kind of ["skyrl-jax", "tinker"] as const)
  test(`a job makes no version from impossible answers of a ${kind} trainer, and its error describes them`, async (t) => {
    for (const [logprobs, message] of [
      [(all: readonly Float32Array[]) => all.slice(1), /log-probabilities of \d+ sequences, where/],
      [(all: readonly Float32Array[]) => [...all, ...all], /log-probabilities of \d+ sequences, where/],
      [
        (all: readonly Float32Array[]) => all.map((each) => each.subarray(1)),
        /log-probabilities of a sequence/,
      ],
      [(all: readonly Float32Array[]) => all.map((each) => each.map(() => 0.5)), /a log-probability of 0\.5/],
      [(all: readonly Float32Array[]) => all.map((each) => each.map(() => Infinity)), /Infinity|not finite/],
      [(all: readonly Float32Array[]) => all.map((each) => each.map(() => NaN)), /not finite/],
    ] as const) {
      const bench = await benchOf(t, kind, { logprobs });
      await assert.rejects(bench.run({ attemptsMax: 1 }), { message });
      assert.ok(!bench.server.requests.includes("POST optim_step"), String(message));
    }
  });

test("repeats a forgotten operation if the server deduplicates operations, otherwise resumes from the last state", async (t) => {
  for (const [kind, lossCount] of [
    ["skyrl-jax", 0],
    ["open-rl", 1],
  ] as const) {
    const expected = await (await benchOf(t, kind)).run();
    const bench = await benchOf(t, kind);
    const { requests } = bench.server;
    let hasForgotten = false;
    bench.server.fault = (request) => {
      if (hasForgotten || request !== "POST retrieve_future" || requests.at(-1) !== "POST optim_step")
        return null;
      hasForgotten = true;
      return { kind: "answer", status: 410, body: '{"detail":"Promise expired"}' };
    };
    const job = await bench.run();
    assert.ok(hasForgotten);
    assert.equal(job.losses.length, lossCount, kind);
    assertClose(flat(job.adapter), flat(expected.adapter), 1e-4);
  }
});

test("fails the job's attempts if the trainer forgets an operation every time", async (t) => {
  const bench = await benchOf(t);
  const { requests } = bench.server;
  bench.server.fault = (request) => {
    if (request !== "POST retrieve_future" || requests.at(-1) !== "POST optim_step") return null;
    return { kind: "answer", status: 410, body: '{"detail":"Promise expired"}' };
  };
  await assert.rejects(bench.run({ attemptsMax: 2 }), {
    code: "unavailable",
    message: /has forgotten optim_step \(Promise expired\)/,
  });
  assert.equal(requests.filter((request) => request === "POST optim_step").length, 2 * 3);
});

test("waits at a job's start for an unreachable trainer, without using up an attempt", async (t) => {
  const bench = await benchOf(t);
  bench.server.fault = () => ({ kind: "cut", when: "before" });
  const shortLimits = { connectionLimits: { pauseMs: 1, pauseMsMax: 2, patienceMs: 20 } };
  const isAway = (error: unknown): boolean =>
    error instanceof ServiceError && error.obstacle === "trainer-away";
  await assert.rejects(bench.run({ attemptsMax: 1 }, shortLimits), isAway);
  bench.server.fault = () => ({ kind: "answer", status: 401, body: '{"detail":"Invalid API key"}' });
  await assert.rejects(bench.run({ attemptsMax: 1 }, shortLimits), isAway);
});

test("waits for a trainer that has no capacity for another model", async (t) => {
  const bench = await benchOf(t);
  const full = '{"detail":"Maximum number of LoRA adapters (8) reached"}';
  bench.server.fault = (request) =>
    request === "POST create_model" ? { kind: "answer", status: 400, body: full } : null;
  await assert.rejects(bench.run({ attemptsMax: 1 }), { obstacle: "trainer-away" });
});

test("fails the job with the trainer's message after a permanent refusal", async (t) => {
  const bench = await benchOf(t, "skyrl-jax", { rank: 3 });
  await assert.rejects(bench.run(), { code: "unsupported", message: /LoRA rank 2 must be 3/ });
});

test("continues a model from its last state, and removes the states of earlier versions", async (t) => {
  const bench = await benchOf(t);
  const first = await bench.run();
  const { adapterFolder, trainerState } = first.outcome;
  const second = await bench.run({ version: 2, from: { adapterFolder, trainerState } });
  assert.deepEqual(second.losses, []);
  // The second job has also removed the last snapshot of the first job.
  const [, model] = /\/\/([^/]+)\//.exec(trainerState ?? "") ?? [];
  assert.equal(statesOf(bench.server).filter((state) => state.startsWith(`${model}/`)).length, 1);
  assert.ok(
    first.warnings.some((warning) =>
      /ignores weight decay of 0\.1, gradient clipping to a norm of 0\.1/.test(warning),
    ),
  );
  assert.ok(!second.warnings.some((warning) => warning.includes("fresh optimizer")));
});

test("extracts only the two files of an adapter from an archive, and makes no version from an invalid or truncated one", async (t) => {
  const { skyrlArchive } = await import("./testing/stub-operations.ts");
  const odd = (files: ReadonlyMap<string, Buffer>): Buffer =>
    skyrlArchive(
      new Map([["../../outside.txt", Buffer.from("x")], ["README.md", Buffer.from("y")], ...files]),
    );
  const bench = await benchOf(t, "skyrl-jax", { archive: odd });
  assert.ok(flat((await bench.run()).adapter).every(Number.isFinite));
  const broken: readonly NonNullable<StubOptions["archive"]>[] = [
    () => Buffer.from("no archive"),
    (files) => skyrlArchive(files).subarray(0, 400),
    (files) => skyrlArchive(new Map([...files].slice(0, 1))),
    (files) => skyrlArchive(new Map([...files].map(([name, bytes]) => [name, bytes.subarray(0, 64)]))),
  ];
  for (const archive of broken) {
    const refusing = await benchOf(t, "skyrl-jax", { archive });
    await assert.rejects(refusing.run({ attemptsMax: 1 }), ServiceError);
  }
});

test("sends the API key with each request to the server, and to no other address", async (t) => {
  const bench = await benchOf(t, "tinker");
  await bench.run();
  assert.deepEqual(new Set(bench.server.keys), new Set(["tml-key"]));
  assert.deepEqual(new Set(bench.server.keysElsewhere), new Set([undefined]));
});
