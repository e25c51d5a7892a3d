import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { GraphBuilder } from "../../../lib/graph/builder.ts";
import type { Graph } from "../../../lib/graph/graph.ts";
import type { WeightSource } from "../../../lib/graph/weight-source.ts";
import { mountSmallDisk } from "../../../../test/small-disk.ts";
import { cachedForSessions, mappedWeights } from "./arranged-cache.ts";

type Weights = ReadonlyMap<string, WeightSource>;

function product([outputs, inputs]: readonly [number, number]): Graph {
  const builder = new GraphBuilder();
  const x = builder.input("x", "float32", ["B", inputs]);
  const w = builder.parameter("w", [outputs, inputs]);
  return builder.build({ y: builder.matMul(x, w, { transposeB: true }) });
}

test("arranges large weights once for each content, and deletes a model's earlier ones", async () => {
  const root = mkdtempSync(join(tmpdir(), "arranged-cache-"));
  const folder = join(root, "cache");
  const shape = [4096, 4352] as const;
  const values = new Float32Array(shape[0] * shape[1]).fill(0.5);
  writeFileSync(join(root, "weights"), new Uint8Array(values.buffer));
  const weights: Weights = new Map([["w", { file: join(root, "weights"), offset: 0 }]]);
  const make = (model: string, weightsHash: string): Promise<Weights> =>
    mappedWeights(product(shape), { folder, model, weightsHash }, { weights, threads: 1 });
  const stamps = (): ReadonlyMap<string, number> =>
    new Map(readdirSync(folder).map((name) => [name, statSync(join(folder, name)).mtimeMs]));
  try {
    const readOnly = { folder, model: "one", weightsHash: "a", isReadOnly: true };
    await assert.rejects(mappedWeights(product(shape), readOnly, { weights, threads: 1 }), /is missing/);
    assert.equal(existsSync(folder), false, "nothing was written");
    assert.ok("arranged" in ((await make("one", "a")).get("w") ?? {}));
    const first = stamps();
    await make("one", "a");
    assert.deepEqual(stamps(), first, "made once");
    await make("other", "a");
    assert.equal(stamps().size, 2, "each model has its own");
    const [name = ""] = first.keys();
    mkdirSync(join(folder, `${name}.1.partial`));
    await make("one", "b");
    assert.equal(stamps().size, 2, "the file of the model's earlier weights is deleted");
    assert.ok(!stamps().has(name));
  } finally {
    rmSync(root, { recursive: true });
  }
});

/** Makes weights for {@link product} in a new folder, calls `use`, and removes the folder. */
async function withLargeWeights(
  use: (folders: {
    readonly root: string;
    readonly weights: Weights;
    readonly graph: Graph;
  }) => Promise<void>,
): Promise<void> {
  const root = mkdtempSync(join(tmpdir(), "arranged-cache-"));
  const shape = [4096, 4352] as const;
  writeFileSync(join(root, "weights"), new Uint8Array(4 * shape[0] * shape[1]));
  const weights: Weights = new Map([["w", { file: join(root, "weights"), offset: 0 }]]);
  try {
    await use({ root, weights, graph: product(shape) });
  } finally {
    rmSync(root, { recursive: true });
  }
}

const isMapped = (weights: Weights): boolean => "arranged" in (weights.get("w") ?? {});

test("a server whose partial file another server removes uses the other server's file", () =>
  withLargeWeights(async ({ root, weights, graph }) => {
    const [other, own] = ["other", "own"].map((name) => ({
      folder: join(root, name),
      model: "one",
      weightsHash: "a",
    }));
    const options = { weights, threads: 1 };
    await mappedWeights(graph, other, options);
    const [name] = readdirSync(other.folder);
    const pace = (hasOther: boolean) => async (): Promise<void> => {
      for (const partial of readdirSync(own.folder)) rmSync(join(own.folder, partial), { recursive: true });
      if (hasOther) copyFileSync(join(other.folder, name), join(own.folder, name));
    };
    await assert.rejects(mappedWeights(graph, own, { ...options, pace: pace(false) }));
    assert.ok(isMapped(await mappedWeights(graph, own, { ...options, pace: pace(true) })));
    assert.deepEqual(readdirSync(own.folder), [name]);
  }));

test("writing that is stopped or killed leaves no file with the final name, and the next writing removes the rest", () =>
  withLargeWeights(async ({ root, weights, graph }) => {
    const cache = { folder: join(root, "cache"), model: "one", weightsHash: "a" };
    const stop = (): Promise<void> => Promise.reject(new DOMException("stopped", "AbortError"));
    await assert.rejects(mappedWeights(graph, cache, { weights, threads: 1, pace: stop }), {
      name: "AbortError",
    });
    assert.deepEqual(readdirSync(cache.folder), []);
    const text = [graph, cache, [...weights]].map((value) => JSON.stringify(value)).join(", ");
    const killed = spawnSync(process.execPath, [
      "--input-type=module",
      "--eval",
      `import { cachedForSessions, mappedWeights } from ${JSON.stringify(new URL("./arranged-cache.js", import.meta.url))};
      const [graph, cache, weights] = [${text}];
      const pace = async () => process.kill(process.pid, "SIGKILL");
      await mappedWeights(graph, cache, { weights: new Map(weights), threads: 1, pace });`,
    ]);
    assert.equal(killed.signal, "SIGKILL", killed.stderr.toString());
    const left = readdirSync(cache.folder);
    assert.equal(left.length, 1);
    assert.match(left[0], /\.partial$/);
    assert.ok(!cachedForSessions({ token: graph, first: graph }, cache, { weights, threads: 1 }).isComplete);
    assert.ok(isMapped(await mappedWeights(graph, cache, { weights, threads: 1 })));
    assert.ok(cachedForSessions({ token: graph, first: graph }, cache, { weights, threads: 1 }).isComplete);
    assert.deepEqual(
      readdirSync(cache.folder).map((name) => name.endsWith(".arranged")),
      [true],
    );
  }));

test("leaves small weights, and those in memory, unchanged", async () => {
  const folder = join(tmpdir(), "never-made");
  const cache = { folder, model: "one", weightsHash: "a" };
  const inMemory: Weights = new Map([["w", { data: new Float32Array(4096 * 4352) }]]);
  assert.equal(
    await mappedWeights(product([4096, 4352]), cache, { weights: inMemory, threads: 1 }),
    inMemory,
  );
  const small: Weights = new Map([["w", { file: "not read", offset: 0 }]]);
  assert.equal(await mappedWeights(product([64, 64]), cache, { weights: small, threads: 1 }), small);
});

test("a lack of disk space is found before anything is written, and the error says how much is missing", async (context) => {
  const disk = mountSmallDisk(16);
  if (disk === null) {
    context.skip("this machine lets tests mount no small disk");
    return;
  }
  try {
    const weights: Weights = new Map([["w", { file: "not read", offset: 0 }]]);
    const cache = { folder: disk.folder, model: "one", weightsHash: "a" };
    await assert.rejects(mappedWeights(product([4096, 4352]), cache, { weights, threads: 1 }), {
      code: "unavailable",
      message: /takes 204 MiB of disk space at first.*has 16 MiB free/,
    });
    assert.deepEqual(readdirSync(disk.folder), []);
  } finally {
    disk.remove();
  }
});
