// A job whose trainer dies, answers nonsense, loses state or refuses for a while, at any request. The job still makes
// its one version, continuing from what was kept, and leaves at the server only that version's state.
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

/** Each fault occurs once, at the request with the chosen number. */
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

/** If a job sends more requests, the later ones repeat the pattern of the earlier ones. */
const requestCount = 60;

/** The result of a job on a fault-free trainer, and its number of requests. */
let soundJob: Promise<{ readonly job: TinkerJob; readonly requestCount: number }> | null = null;

async function runSound(t: TestContext): Promise<Awaited<NonNullable<typeof soundJob>>> {
  const { server, run } = await benchOf(t);
  const job = await run();
  return { job, requestCount: server.requests.length };
}

for (const [what, fault] of Object.entries(faults))
  test(`a job survives a trainer that ${what}, at any request`, async (t) => {
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
      // At most three states: the version's, the last snapshot (removed by the model's next job), and one saved before
      // its model was recorded or whose removal failed.
      assert.ok(statesOf(bench.server).length <= 3, `${named} left ${statesOf(bench.server).join(", ")}`);
    }
  });

for (const kind of ["skyrl-jax", "tinker"] as const)
  test(`a trainer (${kind}) with impossible answers makes no version, and is named in the error`, async (t) => {
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

test("repeats a forgotten operation if the server deduplicates, or else resumes from the last state", async (t) => {
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

test("a trainer that forgets each operation fails the job's attempts", async (t) => {
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

test("waits for an unreachable trainer at a job's start, without using up an attempt", async (t) => {
  const bench = await benchOf(t);
  bench.server.fault = () => ({ kind: "cut", when: "before" });
  const shortLimits = { connectionLimits: { pauseMs: 1, pauseMsMax: 2, patienceMs: 20 } };
  const isAway = (error: unknown): boolean =>
    error instanceof ServiceError && error.obstacle === "trainer-away";
  await assert.rejects(bench.run({ attemptsMax: 1 }, shortLimits), isAway);
  bench.server.fault = () => ({ kind: "answer", status: 401, body: '{"detail":"Invalid API key"}' });
  await assert.rejects(bench.run({ attemptsMax: 1 }, shortLimits), isAway);
});

test("waits for a trainer that has no room for another model", async (t) => {
  const bench = await benchOf(t);
  const full = '{"detail":"Maximum number of LoRA adapters (8) reached"}';
  bench.server.fault = (request) =>
    request === "POST create_model" ? { kind: "answer", status: 400, body: full } : null;
  await assert.rejects(bench.run({ attemptsMax: 1 }), { obstacle: "trainer-away" });
});

test("a permanent refusal fails the job in the trainer's words", async (t) => {
  const bench = await benchOf(t, "skyrl-jax", { rank: 3 });
  await assert.rejects(bench.run(), { code: "unsupported", message: /LoRA rank 2 must be 3/ });
});

test("a model continues from its last state and removes those of earlier versions", async (t) => {
  const bench = await benchOf(t);
  const first = await bench.run();
  const { adapterFolder, trainerState } = first.outcome;
  const second = await bench.run({ version: 2, from: { adapterFolder, trainerState } });
  assert.deepEqual(second.losses, []);
  // Its last snapshot is removed with it.
  const [, model] = /\/\/([^/]+)\//.exec(trainerState ?? "") ?? [];
  assert.equal(statesOf(bench.server).filter((state) => state.startsWith(`${model}/`)).length, 1);
  assert.ok(
    first.warnings.some((warning) =>
      /ignores weight decay of 0\.1, gradient clipping to a norm of 0\.1/.test(warning),
    ),
  );
  assert.ok(!second.warnings.some((warning) => warning.includes("fresh optimizer")));
});

test("takes only the two files from an archive with odd names, and makes no version of an invalid or truncated one", async (t) => {
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
    await assert.rejects(refusing.run({ attemptsMax: 2 }), ServiceError);
  }
});

test("sends the key with each request to the server, and nowhere else", async (t) => {
  const bench = await benchOf(t, "tinker");
  await bench.run();
  assert.deepEqual(new Set(bench.server.keys), new Set(["tml-key"]));
  assert.deepEqual(new Set(bench.server.keysElsewhere), new Set([undefined]));
});
