// Tests the checker itself. It must accept a correct history, and must name the fault in each broken one.
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { test } from "node:test";
import type { Operation, Remains } from "../history.ts";
import { adapterConfig, trainedMatrices } from "../trainer.ts";
import { checkHistory } from "./check-history.ts";

const at = { calledMs: 10, endedMs: 20 };
const done = <Result>(result: Result) => ({ kind: "done", result }) as const;
const unknown = { kind: "unknown" } as const;
const events = ["training_started", "training_ended"];
const matrices = trainedMatrices("seed", "");

/** The same hash as `hashOfFiles` computes. */
const adapterHash = createHash("sha256")
  .update(
    [
      ["adapter_config.json", adapterConfig],
      ["adapter_model.safetensors", matrices],
    ]
      .map(([name, text]) => `"${name}" ${createHash("sha256").update(text).digest("hex")}\n`)
      .join(""),
  )
  .digest("hex");

/** Final state with a model, its version and the job that trained it, and with a file, an answer and feedback. */
const remains: Remains = {
  models: ["m"],
  jobs: [
    {
      id: "j",
      modelId: "m",
      state: "succeeded",
      resultStep: 1,
      key: "k",
      pins: { seed: "seed", startStep: 0, resultStep: 1 },
      events,
    },
  ],
  versions: [
    { modelId: "m", step: 0, jobId: null, adapterHash: null, isDeleted: false },
    { modelId: "m", step: 1, jobId: "j", adapterHash, isDeleted: false },
  ],
  files: ["f"],
  answers: ["r"],
  feedback: [{ id: "b", note: "good" }],
  wasFull: false,
  disk: new Map([
    ["/adapters/m/1/adapter_config.json", adapterConfig],
    ["/adapters/m/1/adapter_model.safetensors", matrices],
    ["/files/f", "text"],
    ["/jobs", null],
  ]),
};

const history: readonly Operation[] = [
  { what: "submit", modelId: "m", key: "k", outcome: unknown, ...at },
  { what: "submit", modelId: "m", key: "k", outcome: done("j"), ...at },
  { what: "upload", content: "text", outcome: done("f"), ...at },
  { what: "record answer", modelId: "m", requestId: "r", outcome: done(true), ...at },
  { what: "give feedback", recordId: "b", note: "good", outcome: done(null), ...at },
];

const later = { calledMs: 30, endedMs: 40 };
const asked = (...more: readonly Operation[]): readonly Operation[] => [...history, ...more];
const job = (changes: Partial<Remains["jobs"][number]>): Partial<Remains> => ({
  jobs: [{ ...remains.jobs[0], ...changes }],
});
const disk = (path: string, content: string | null): Partial<Remains> => ({
  disk: new Map([...remains.disk, [path, content]]),
});
const without = (path: string): Partial<Remains> => ({
  disk: new Map([...remains.disk].filter(([one]) => one !== path)),
});

/** Broken histories, each with the message that the checker must report. */
const wrongs: readonly (readonly [
  words: RegExp,
  left: Partial<Remains>,
  operations?: readonly Operation[],
])[] = [
  [/job j was acknowledged and is gone/, { jobs: [] }],
  [
    /key k has several jobs/,
    {},
    asked({ what: "submit", modelId: "m", key: "k", outcome: done("x"), ...later }),
  ],
  [/job j is there, and nobody sent it/, job({ key: null })],
  [/job j is running/, job({ state: "running", resultStep: null })],
  [/job j is succeeded and has the events training_started$/, job({ events: ["training_started"] })],
  [/has the events training_ended, training_ended/, job({ events: ["training_ended", "training_ended"] })],
  [/job j is failed and ends with training_ended/, job({ state: "failed", resultStep: null })],
  [
    /was seen to have ended as \["failed"/,
    {},
    asked({
      what: "read job",
      jobId: "j",
      outcome: done({ state: "failed", resultStep: null, events: ["training_failed"] }),
      ...later,
    }),
  ],
  [/not found at 30 ms/, {}, asked({ what: "read job", jobId: "j", outcome: done(null), ...later })],
  [/who watched job j saw/, {}, asked({ what: "watch job", jobId: "j", outcome: done([]), ...later })],
  [/said to be cancelled/, {}, asked({ what: "cancel", jobId: "j", outcome: done("cancelled"), ...later })],
  [/a list of jobs lacks that of k/, {}, asked({ what: "list jobs", outcome: done([]), ...later })],
  [/has one of them twice/, {}, asked({ what: "list jobs", outcome: done(["j", "j"]), ...later })],
  [
    /has the versions 0, 2/,
    { versions: [remains.versions[0], { ...remains.versions[1], step: 2 }], ...job({ resultStep: 2 }) },
  ],
  [/and its jobs made j 1/, { versions: [remains.versions[0]] }],
  [/the adapter of version 1 of model m is not whole/, without("/adapters/m/1/adapter_config.json")],
  [
    /the adapter of version 1 of model m is not whole/,
    disk("/adapters/m/1/adapter_model.safetensors", "half"),
  ],
  [
    /could not be served at 40 ms/,
    {},
    asked({
      what: "serve",
      modelId: "m",
      outcome: done({ step: 1, matrices: null, isLive: true }),
      ...later,
    }),
  ],
  [
    /served otherwise than its job made it/,
    {},
    asked({
      what: "serve",
      modelId: "m",
      outcome: done({ step: 1, matrices: "other", isLive: true }),
      ...later,
    }),
  ],
  [/imported, and is not there/, {}, asked({ what: "import", modelId: "m", outcome: done(2), ...later })],
  [
    /version 1 of model m was deleted, and is there/,
    {},
    asked({ what: "delete versions", modelId: "m", outcome: done([1]), ...later }),
  ],
  [/file f was acknowledged and is not there, or not whole/, disk("/files/f", "te")],
  [/file f is known, and its bytes are not there/, without("/files/f")],
  [/file f was read as null/, {}, asked({ what: "read file", fileId: "f", outcome: done(null), ...later })],
  [
    /file f was deleted, and is there/,
    {},
    asked({ what: "delete file", fileId: "f", outcome: done(null), ...later }),
  ],
  [/the answer r was recorded, and is not there/, { answers: [] }],
  [/the answer r is recorded 2 times/, { answers: ["r", "r"] }],
  [/the answer x is there, and nobody gave it/, { answers: ["r", "x"] }],
  [/feedback b was acknowledged and is stored 0 times/, { feedback: [] }],
  [/feedback x is there, and nobody sent it/, { feedback: [...remains.feedback, { id: "x", note: "" }] }],
  [
    /feedback b was read as null/,
    {},
    asked({ what: "read feedback", recordId: "b", outcome: done(null), ...later }),
  ],
  [/a list of feedback lacks b/, {}, asked({ what: "list feedback", outcome: done([]), ...later })],
  [
    /a list of feedback has a record twice/,
    {},
    asked({ what: "list feedback", outcome: done(["b", "b"]), ...later }),
  ],
  [/\/work\/s\/half is left on the disk/, disk("/work/s/half", "")],
];

test("a correct history has no fault", () => {
  assert.deepEqual(checkHistory(history, remains), []);
});

test("deleted data may be gone, and data with an unknown outcome may exist or not", () => {
  const gone = asked(
    { what: "delete model", modelId: "m", outcome: unknown, ...later },
    { what: "delete file", fileId: "f", outcome: unknown, ...later },
    { what: "record answer", modelId: "m", requestId: "never told", outcome: unknown, ...later },
  );
  const left = { ...remains, models: [], jobs: [], versions: [], files: [], answers: [], disk: new Map() };
  assert.deepEqual(checkHistory(gone, left), []);
  assert.deepEqual(checkHistory(gone, remains), []);
});

for (const [words, left, operations = history] of wrongs) {
  test(`finds: ${words.source}`, () => {
    const faults = checkHistory(operations, { ...remains, ...left });
    assert.ok(
      faults.some((fault) => words.test(fault)),
      `${words.source} is not in ${JSON.stringify(faults)}`,
    );
  });
}
