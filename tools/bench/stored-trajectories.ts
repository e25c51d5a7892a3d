// Measures over HTTP how long it takes to list many stored trajectories, and to read all of one. Runs the server in a
// separate process and first stores the trajectories over HTTP. Sends one request at a time.
import { parseArgs } from "node:util";
import { Hone } from "../../src/apps/client/hone.ts";
import { median } from "./median.ts";
import { ownFolder } from "./run-bench.ts";
import { serveBuild, type ServedBuild } from "./served-build.ts";
import { fillModel } from "./filled-model.ts";

const help = `Usage: node dist/tools/bench/stored-trajectories.js [--count <number>] [--rounds <number>] [--json]
Logs --count trajectories (default 100000) of 20 tokens with log-probabilities to a server on the loopback address. Then requests
pages of 50 summaries (the newest, from the middle, by split, by a reward range that one in a thousand has), the counts, and one
complete trajectory. Prints the median and the maximum of --rounds requests each (default 30), in milliseconds.`;

interface Figure {
  readonly name: string;
  readonly medianMs: number;
  readonly slowestMs: number;
}

const { values } = parseArgs({
  options: {
    count: { type: "string", default: "100000" },
    rounds: { type: "string", default: "30" },
    json: { type: "boolean", default: false },
    help: { type: "boolean", default: false },
  },
});
if (values.help) process.stdout.write(`${help}\n`);
else await measure(Number(values.count), Number(values.rounds));

async function measure(count: number, rounds: number): Promise<void> {
  const server = await serveBuild(ownFolder, { modelFolder: "models/hone-tiny", threads: 1 });
  try {
    const hone = new Hone({ baseUrl: server.url, apiKey: server.apiKey });
    const { id } = await hone.model("bench/stored", { base: "endless" });
    const logSeconds = await fillModel(server, id, count);
    const figures = await figuresOf(server, `/v1/preview/models/${id}/trajectories`, { count, rounds });
    if (values.json)
      return void process.stdout.write(`${JSON.stringify({ count, logSeconds, figures }, null, 2)}\n`);
    process.stdout.write(`${count} trajectories, logged in ${logSeconds.toFixed(1)} s\n`);
    for (const { name, medianMs, slowestMs } of figures)
      process.stdout.write(`${name.padEnd(28)} ${medianMs.toFixed(1)} ms, at most ${slowestMs.toFixed(1)}\n`);
  } finally {
    await server.stop();
  }
}

async function figuresOf(
  server: ServedBuild,
  list: string,
  { count, rounds }: { readonly count: number; readonly rounds: number },
): Promise<readonly Figure[]> {
  const middle = Math.ceil(count / 2);
  const asked = {
    "newest page": `${list}/outlines?limit=50`,
    "page from the middle": `${list}/outlines?limit=50&after=${middle}`,
    "page of a split": `${list}/outlines?limit=50&split=val&after=${middle}`,
    "page with rare rewards": `${list}/outlines?limit=50&reward_min=0.999`,
    counts: `${list}/counts`,
    "one complete trajectory": `${list}/${middle}`,
  };
  const figures: Figure[] = [];
  for (const [name, path] of Object.entries(asked)) {
    const times: number[] = [];
    for (let round = 0; round < rounds; round++) {
      const start = performance.now();
      const answer = await fetch(server.url + path, {
        headers: { authorization: `Bearer ${server.apiKey}` },
      });
      if (!answer.ok) throw new Error(`${path} was answered with ${answer.status}: ${await answer.text()}`);
      await answer.arrayBuffer();
      times.push(performance.now() - start);
    }
    figures.push({ name, medianMs: median(times), slowestMs: Math.max(...times) });
  }
  return figures;
}
